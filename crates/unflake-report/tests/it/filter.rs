//! Reports of filtered assertions.

use insta::assert_snapshot;
use proptest::prelude::*;
use unflake_model::{Assertion, AssertionKey, Detail, FilterKind, Filtered, Finding, Outcome, Replay, TestId};
use unflake_report::{
    LearnedFilter, TerminalStyle, TuneReport, VaryingAssertion, filter_learned, tune_page, tune_report,
};

use crate::samples::*;

fn assertion(test: &str, expression: &str) -> Assertion {
    let (file, function) = ("tests/test_cart.py".to_owned(), "test_total".to_owned());
    Assertion {
        test: TestId::new(test),
        spot: AssertionKey { file, function, expression: expression.to_owned(), ordinal: 0 },
    }
}

fn filtered(test: &str, kind: FilterKind, expression: &str, sentence: &str) -> Finding {
    let detail = Filtered {
        kind,
        assertion: assertion(test, expression),
        line: 41,
        saw: "cart.width = 348".to_owned(),
        score: Some(1.03),
        runs: 10,
    };
    let (test, detail) = (TestId::new(test), Detail::Filter(detail));
    Finding {
        replays: vec![Replay::fails(vec![test.clone()])],
        test,
        detail,
        sentence: sentence.to_owned(),
        reproduce: Vec::new(),
    }
}

fn excused() -> Sample {
    let sentence = "`cart.width == 358` failed and did not count: cart.width = 348; it varies without a change (score 1.03 in 10 runs)";
    Sample::new(0, "everything else passed; one failure was excused")
        .with(TOTAL, [attempt(TOTAL, Outcome::Passed)])
        .passing(3)
        .found(filtered(TOTAL, FilterKind::Flaky, "cart.width == 358", sentence))
}

#[test]
fn excused_failures_are_always_shown() {
    assert_snapshot!(excused().summary(&WIDE, false));
    assert!(excused().summary(&WIDE, true).contains("cart.width = 348"), "quiet or not");
    let junit = written(|out| unflake_report::junit(&excused().run(), out));
    assert!(junit.contains("name=\"unflake.filter\"") && junit.contains("<system-out>"), "{junit}");
}

#[test]
fn new_kinds_of_failure_come_before_unknown_ones() {
    let sentence = "`cart.width == 358` varies without a change (score 1.03 in 10 runs), but never failed like this: cart.width = 0";
    let sample = Sample::new(1, "2 real failures")
        .with(COLD, [failing(COLD, "AssertionError", "assert 1 == 2")])
        .with(TOTAL, [failing(TOTAL, "AssertionError", "assert cart.width == 358")])
        .found(real(COLD))
        .found(real(TOTAL))
        .found(filtered(TOTAL, FilterKind::NeverLikeThis, "cart.width == 358", sentence));
    let summary = sample.summary(&TerminalStyle { width: usize::MAX, ..WIDE }, false);
    let at = |text: &str| summary.find(text).unwrap_or_else(|| panic!("{text} is not in\n{summary}"));
    assert!(at(TOTAL) < at(COLD) && at("never failed like this") < at(COLD), "{summary}");
}

#[test]
fn the_learned_filter() {
    let one = VaryingAssertion {
        assertion: assertion(TOTAL, "cart.width == 358"),
        score: 1.0297,
        runs: 10,
        failed: 5,
        versions: 1,
        saw: vec![("cart.width = 358".into(), 5), ("cart.width = 348".into(), 3), ("cart.width = 338".into(), 2)],
        in_filter: true,
    };
    let varying = [one.clone(), VaryingAssertion { failed: 0, in_filter: false, ..one }];
    let learned = LearnedFilter {
        runs: 10,
        assertions: 118,
        varying: &varying,
        file: Some("unflake-filter.toml"),
        expires: Some("2027-02-14".to_owned()),
    };
    let sample = Sample::new(0, "one assertion both passed and failed").passing(3);
    assert_snapshot!(written(|out| filter_learned(&sample.run(), &learned, &WIDE, false, out)));
}

fn example() -> TuneReport {
    let curve = [(0.0, 1.0, 0.5), (0.3, 1.0, 0.5), (0.4, 0.75, 1.0), (1.3, 0.0, 1.0)];
    TuneReport {
        threshold: 0.33,
        removed: 0.75,
        kept: 1.0,
        balance: Some((0.3667, 0.8333)),
        curve: curve.iter().map(|at| (at.0, Some(at.1), Some(at.2))).collect(),
        bugs: 2,
        updates: 0,
        flaky: 3,
        varied: 4,
        unknown: 1,
        may_lose: 0.776,
    }
}

#[test]
fn a_tuned_threshold_with_its_evidence() {
    assert_snapshot!(written(|out| tune_report(&example(), &WIDE, out)));
    let page = written(|out| tune_page(&example(), out));
    assert_eq!(page.matches("<polyline").count(), 2);
    assert_eq!(page.matches("<circle").count(), 8);
    assert!(page.contains("Both curves meet at 0.37: 83 %"), "{page}");
}

proptest! {
    #[test]
    fn text_of_tests_is_escaped(test in hostile(), expression in hostile(), saw in hostile()) {
        let finding = filtered(&test, FilterKind::Flaky, &expression, &saw);
        let sample = Sample::new(0, "done").with(&test, [attempt(&test, Outcome::Passed)]).found(finding);
        let text = sample.summary(&WIDE, false);
        let is_command = |letter: char| letter == '\u{1b}' || letter == '\u{7}';
        prop_assert!(!text.contains(is_command), "{}", text);
    }
}
