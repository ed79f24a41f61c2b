//! Describes a divergence in sentences, shared by the terminal and the HTML report.

use std::borrow::Cow;

use unflake_model::{
    Cause, Detail, Divergence, DivergenceKind, DivergencePoint, Finding, ForcedValue, Location, SourceLine, ValueSplit,
};

use crate::one_line;
use crate::text::confidence::confidence;
use crate::text::sanitize::keep_start;

/// With commas between the thousands.
pub(crate) fn grouped_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The sentence of a finding with its confidence. Follows the test name.
pub fn finding_sentence(finding: &Finding) -> Cow<'_, str> {
    match &finding.detail {
        Detail::Divergence(divergence) => match divergence.locations.first() {
            Some(start) => {
                let confidence = confidence(finding).unwrap_or_default();
                format!("starts at {} ({confidence}): {}", file_and_line(&start.line), start.sentence).into()
            }
            None => format!("root cause not found: {}", no_location_reason(divergence)).into(),
        },
        _ => match confidence(finding) {
            Some(confidence) => format!("{} ({confidence})", finding.sentence).into(),
            None => finding.sentence.as_str().into(),
        },
    }
}

pub(crate) fn file_and_line(line: &SourceLine) -> String {
    format!("{}:{}", line.file, line.line)
}

pub(crate) fn same_line(one: &SourceLine, other: &SourceLine) -> bool {
    (&one.file, one.line) == (&other.file, other.line)
}

/// The divergence point of the most likely location, and all others.
pub(crate) fn divergence_points(divergence: &Divergence) -> (Option<&DivergencePoint>, Vec<&DivergencePoint>) {
    let start = divergence.locations.first().map(|location| &location.line);
    let at_start =
        |point: &DivergencePoint| point.last.as_ref().zip(start).is_some_and(|(last, start)| same_line(last, start));
    let main = divergence.points.iter().position(at_start).unwrap_or(0);
    let others = divergence.points.iter().enumerate().filter(|(at, _)| *at != main).map(|(_, one)| one).collect();
    (divergence.points.get(main), others)
}

/// Where failing runs diverge from passing ones, to follow "diverge".
pub(crate) fn diverges_where(point: &DivergencePoint) -> String {
    match &point.last {
        Some(last) => format!("after {}", file_and_line(last)),
        None => "at once".to_owned(),
    }
}

/// The explanation where no location was found.
pub(crate) fn no_location_reason(divergence: &Divergence) -> String {
    let (runs, failed) = (divergence.runs, divergence.failed);
    match (runs, failed) {
        (0, _) => "no run ended in time".to_owned(),
        (_, 0) => format!("it passed in all {runs} runs"),
        _ if failed == runs => format!("it failed in all {runs} runs"),
        _ => match divergence_points(divergence).0 {
            None => format!("nothing recorded separates the {failed} failing runs from the others of {runs}"),
            Some(point) => format!(
                "no line separates the {failed} failing runs from the others of {runs} better than chance; {} of {failed} \
                 diverge {}",
                point.runs,
                diverges_where(point)
            ),
        },
    }
}

/// `forcing jitter = 0.99 there: fails 5 of 5; forcing 0.01: passes 5 of 5`.
pub(crate) fn proof_text(proof: &ForcedValue) -> String {
    let ForcedValue { name, failing, failed, passing, passed, .. } = proof;
    if name == ForcedValue::WAIT {
        let wait = |length: &str| match length.strip_prefix('+') {
            Some("0") => "waiting as it does".to_owned(),
            Some(more) => format!("waiting {more} s longer there"),
            None => format!("waiting {length} s there"),
        };
        let (failing, passing) = (wait(failing), wait(passing));
        return format!("{failing}: fails {failed} of {failed}; {passing}: passes {passed} of {passed}");
    }
    if name == ForcedValue::DELAY {
        let passing = match passing.split_once(" at ") {
            Some((delay, line)) => format!("delayed by {delay} ms at {line} instead"),
            None => "not delayed".to_owned(),
        };
        let fails = match &**failing {
            "" => format!("delayed there: fails {failed} of {failed}"),
            length => format!("delayed by {length} ms there: fails {failed} of {failed}"),
        };
        return format!("{fails}; {passing}: passes {passed} of {passed}");
    }
    if name == ForcedValue::SPEED {
        let [failing, passing] = [failing, passing].map(|speed| match &**speed {
            "1" => "as it is".to_owned(),
            speed => format!("clocks {speed} times as fast"),
        });
        return format!("{failing}: fails {failed} of {failed}; {passing}: passes {passed} of {passed}");
    }
    format!(
        "forcing {name} = {failing} there: fails {failed} of {failed}; forcing {passing}: passes {passed} of {passed}"
    )
}

pub(crate) fn kind_text(kind: DivergenceKind) -> &'static str {
    match kind {
        DivergenceKind::Control => "other lines follow",
        DivergenceKind::Value => "a value differs",
        DivergenceKind::Order => "the same lines run in another order",
    }
}

/// How many of the failing and passing runs a location separates.
pub(crate) fn separated_runs(location: &Location, divergence: &Divergence) -> String {
    let passed = divergence.runs.saturating_sub(divergence.failed);
    format!("{} of {} failing runs, {} of {passed} passing", location.failing, divergence.failed, location.passing)
}

/// `failing 0.93–0.99 · passing 0.01–0.92`, safe to print.
pub(crate) fn value_ranges(split: &ValueSplit, columns: usize, separator: &str, ellipsis: &str) -> String {
    let list = |values: &[String]| examples(values, columns, ellipsis);
    format!("failing {}{separator}passing {}", list(&split.failing), list(&split.passing))
}

/// Some of the values, each in at most `columns` columns.
fn examples(values: &[String], columns: usize, ellipsis: &str) -> String {
    const SHOWN: usize = 3;
    if values.is_empty() {
        return "none".to_owned();
    }
    let shown = values.iter().take(SHOWN).map(|value| keep_start(&one_line(value), columns, ellipsis).into_owned());
    let more = (values.len() > SHOWN).then(|| ellipsis.to_owned());
    shown.chain(more).collect::<Vec<_>>().join(", ").replace(" – ", "–")
}

pub(crate) fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::Randomness => "randomness",
        Cause::Time => "time",
        Cause::UnorderedCollection => "unordered collection",
        Cause::AsyncWait => "asynchronous wait",
        Cause::Race => "race condition",
        Cause::Network => "network",
        Cause::Io => "input and output",
        Cause::LeakedState => "leaked state",
        Cause::Resource => "resource shortage",
        Cause::FloatingPoint => "floating-point rounding",
        Cause::Environment => "environment",
        Cause::Unknown => "unknown",
    }
}

/// What to do about this kind of cause.
pub(crate) fn advice(divergence: &Divergence) -> &'static str {
    match divergence.kind {
        Cause::Randomness => {
            "Fix the seed in the test, or assert only what is true for every value. If some values break the code \
             itself, that is a bug: keep such a value as a test of its own."
        }
        Cause::Time => {
            "Give the code a clock that the test sets, instead of the real one. Compare times with room to spare, and \
             read the clock once where two readings must agree."
        }
        Cause::UnorderedCollection => {
            "Sort before comparing, or compare in a way that ignores order. If users see the order, give it a fixed one in the code."
        }
        Cause::AsyncWait => {
            "Wait for the condition instead of for a time, with a generous limit that only a real failure reaches."
        }
        Cause::Race => {
            "Make one side wait for the other: join the thread, await the task, or hold a lock around what both use. A \
             longer sleep only makes it rarer."
        }
        Cause::Network => {
            "Answer from a server that the test starts itself on this machine, at a port that the system picks. Where the \
             real one is the point, run that test separately from those that must always pass."
        }
        Cause::Io => {
            "Give each test a directory of its own, and close and flush what is written before it is read. Sort listings \
             of directories."
        }
        Cause::LeakedState => {
            "Set up in the test what it needs, and restore what it changes. `unflake order` names the polluter."
        }
        Cause::Resource => {
            "Let the system pick ports and names, release what was taken even when the test fails, and do not count on \
             how much is free."
        }
        Cause::FloatingPoint => "Compare with a tolerance that fits the calculation, or add up in a fixed order.",
        Cause::Environment => {
            "Set in the test what it relies on (variables, locale, time zone, number of processors) instead of taking \
             what the machine has."
        }
        Cause::Unknown if divergence.failed == 0 => {
            "Run it more often, or where it fails: with the tests around it, on a machine that is as busy."
        }
        Cause::Unknown if divergence.failed == divergence.runs => {
            "Look for a plain bug first: a test that always fails is not flaky here."
        }
        Cause::Unknown if divergence.points.is_empty() => {
            "Run it more often, so that more failing runs can be compared, and look at what the failing line gets from \
             outside of the project: other programs, libraries, the machine."
        }
        Cause::Unknown => {
            "Compare both paths after the divergence: what decided there? If that is not clear, run the test more \
             often, so that more failing runs can be compared."
        }
    }
}
