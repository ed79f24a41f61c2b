//! Sentences and findings of the assertion filter.

use unflake_model::{
    Assertion, AssertionRecord, Detail, Failure, FilterKind, Filtered, Finding, Isolation, Phase, Replay, TestId,
    VerdictKind,
};

use crate::finding::counted_verdict;

/// A finding on a failed assertion. `known` is its score and the number of runs behind the score.
pub(crate) fn finding(
    kind: FilterKind,
    assertion: Assertion,
    record: &AssertionRecord,
    known: Option<(f64, u32)>,
    reason: Option<&str>,
) -> Finding {
    let assertion_text = format!("`{}`", record.spot.expression);
    let values = record.failing.first().unwrap_or(&record.values).lines().collect::<Vec<_>>().join(", ");
    let (score, runs) = (known.map(|known| known.0), known.map_or(0, |known| known.1));
    let varied = score.map_or(String::new(), |score| format!("score {score:.2} in {runs} runs"));
    let sentence = match kind {
        FilterKind::Flaky => {
            format!("{assertion_text} failed and was excused: {values}; it varies without a change ({varied})")
        }
        FilterKind::NeverLikeThis => {
            format!("{assertion_text} varies without a change ({varied}), but never failed like this: {values}")
        }
        FilterKind::EveryTime => {
            format!("{assertion_text} varies without a change ({varied}), but fails every time now: {values}")
        }
        FilterKind::NeverVaried => format!("{assertion_text} never varied without a change ({runs} runs)"),
        FilterKind::NotInForce => {
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("{assertion_text} varied without a change ({varied}), but is not excused{reason}")
        }
        FilterKind::Unknown => format!("no samples of {assertion_text} without a change"),
    };
    let test = assertion.test.clone();
    let filtered = Filtered { kind, assertion, line: record.line, saw: values, score, runs };
    let replay = match kind {
        FilterKind::EveryTime => Replay::fails(vec![test.clone()]),
        _ => Replay::sometimes_fails(vec![test.clone()]),
    };
    crate::finding::finding(&test, Detail::Filter(filtered), sentence, vec![replay])
}

/// Verdict for a test in which a filtered assertion fails every time. `before`: failures and runs
/// without a change.
pub(crate) fn verdict(test: &TestId, failed: u32, before: Option<(u32, u32)>) -> Finding {
    let before = before.map_or(String::new(), |(failed, runs)| format!(", before {failed} of {runs}"));
    let sentence = format!("an assertion in the filter failed in {failed} of {failed} runs{before}");
    counted_verdict(test, VerdictKind::Real, (failed, failed), Isolation::Fork, sentence)
}

/// The failure of an assertion that is in the filter but may not fail this way.
pub(crate) fn failure(record: &AssertionRecord, reason: &str) -> Failure {
    let values = record.failing.first().unwrap_or(&record.values);
    let values: String = values.lines().map(|line| format!("\n  {line}")).collect();
    let expression = &record.spot.expression;
    // Assertion calls such as `assertEqual(…)` already contain the word.
    let has_assert = expression.starts_with("assert") || expression.contains(".assert");
    let message = format!("{}{expression}{values}\n{reason}", if has_assert { "" } else { "assert " });
    Failure {
        phase: Phase::Call,
        kind: "AssertionError".to_owned(),
        trace: message.clone(),
        message,
        file: Some(record.spot.file.clone()),
        line: Some(record.line),
    }
}
