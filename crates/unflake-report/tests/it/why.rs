//! Reports of `unflake why`.

use insta::assert_snapshot;
use unflake_model::{Cell, Detail, Failure, Finding, ForcedValue, Phase, Reproduction, Shows};
use unflake_report::{TerminalStyle, WhyReport, WhyStep, why};

use crate::divergences::drawn;
use crate::order_and_nio::{leak, victim};
use crate::samples::{ASCII, WIDE, written};

const STEPS: [WhyStep; 3] = [
    WhyStep { name: "retries", executions: 6 },
    WhyStep { name: "idempotence", executions: 2 },
    WhyStep { name: "order", executions: 45 },
];

fn report(findings: &[Finding], style: &TerminalStyle, quiet: bool) -> String {
    report_after((0, 6), findings, style, quiet)
}

fn report_after(ever: (u32, u32), findings: &[Finding], style: &TerminalStyle, quiet: bool) -> String {
    let sources = |_: &str| None;
    let (steps, alone, page) = (&STEPS, (0, 6), Some("page.html"));
    let (untried, cut_short, ways, seconds) = (&[], &[], &[], 4.1);
    let report = WhyReport { findings, sources: &sources, steps, untried, cut_short, ways, alone, ever, seconds, page };
    written(|out| why(&report, style, quiet, out))
}

#[test]
fn leaked_state_names_the_polluter_and_the_proof() {
    let findings = [leak("tests/test_cache.py::test_cold"), victim("tests/test_cache.py::test_cold")];
    assert_snapshot!(report(&findings, &WIDE, false));
    assert!(report(&findings, &ASCII, true).is_ascii());
}

#[test]
fn each_of_several_cells_has_the_line_that_wrote_it() {
    let mut finding = leak("tests/test_cache.py::test_cold");
    finding.reproduce.clear();
    if let Detail::State(leak) = &mut finding.detail {
        leak.after = vec![finding.test.clone()];
        let first = leak.cells[0].clone();
        leak.cells.extend((1..10).map(|at| Cell { path: format!("shop.cache._entries[{at}]"), ..first.clone() }));
    }
    assert_snapshot!(report(&[finding], &WIDE, false));
}

#[test]
fn a_line_has_its_source() {
    assert_snapshot!(report(&[drawn().finding], &WIDE, false));
}

#[test]
fn a_forced_value_proves_a_line() {
    let mut proven = drawn();
    let line = proven.divergence().locations[0].line.clone();
    let (name, failing, passing) = ("jitter".to_owned(), "0.99".to_owned(), "0.01".to_owned());
    proven.divergence().proof = Some(ForcedValue { line, name, failing, failed: 5, passing, passed: 5 });
    let command = |value: &str, shows| Reproduction {
        command: format!("unflake under --forced-value=mail/backoff.py:18:jitter={value} -- pytest"),
        shows,
    };
    proven.finding.reproduce = vec![command("0.99", Shows::AlwaysFails), command("0.01", Shows::Passes)];
    assert_snapshot!(report(&[proven.finding], &WIDE, true));
}

#[test]
fn a_forced_wait_proves_a_line() {
    let mut proven = drawn();
    let line = proven.divergence().locations[0].line.clone();
    let (name, failing, passing) = (ForcedValue::WAIT.to_owned(), "0".to_owned(), "+1".to_owned());
    proven.divergence().proof = Some(ForcedValue { line, name, failing, failed: 5, passing, passed: 13 });
    let text = report(&[proven.finding], &WIDE, true);
    let proof = "waiting 0 s there: fails 5 of 5; waiting 1 s longer there: passes 13 of 13";
    assert!(text.contains(proof), "{text}");
}

#[test]
fn nothing_found_says_how_it_ended() {
    assert_snapshot!(report(&[], &WIDE, false));
    let failed = report_after((11, 988), &[], &WIDE, false);
    assert!(failed.contains("it passed 6 of 6 times alone, and failed 11 of 988 times in all"), "{failed}");
}

#[test]
fn what_the_budget_left_out_is_named() {
    let sources = |_: &str| None;
    let (findings, steps, untried, alone, ever) = (&[], &STEPS, &["schedules", "factors"], (0, 6), (0, 53));
    let (cut_short, ways, seconds, page) = (&["order", "clock speed"], &[], 4.1, None);
    let report = WhyReport { findings, sources: &sources, steps, untried, cut_short, ways, alone, ever, seconds, page };
    assert_snapshot!(written(|out| why(&report, &WIDE, false, out)));
}

#[test]
fn the_ways_in_which_it_failed_are_shown_without_a_cause() {
    let failure = |line, message: &str| Failure {
        phase: Phase::Call,
        kind: "AssertionError".to_owned(),
        message: message.to_owned(),
        trace: String::new(),
        file: Some("test_a.py".to_owned()),
        line: Some(line),
    };
    let ways = [(failure(40, "assert 3 < 2"), 6), (failure(45, "AssertionError: late"), 1)];
    let sources = |_: &str| None;
    let (steps, alone, ever, cut_short, seconds) = (&STEPS, (7, 7), (7, 7), &[], 4.1);
    let (findings, untried, page) = (&[], &[], None);
    let report =
        WhyReport { findings, sources: &sources, steps, untried, cut_short, ways: &ways, alone, ever, seconds, page };
    let text = written(|out| why(&report, &WIDE, false, out));
    assert!(text.contains("failure    test_a.py:40: AssertionError: assert 3 < 2 (6 of 7 failures)"), "{text}");
    assert!(text.contains("test_a.py:45: AssertionError: late (1 of 7 failures)"), "{text}");
}

#[test]
fn the_speed_of_clocks_proves_a_line() {
    let mut proven = drawn();
    let line = proven.divergence().locations[0].line.clone();
    let (name, failing, passing) = (ForcedValue::SPEED.to_owned(), "10".to_owned(), "0.1".to_owned());
    proven.divergence().proof = Some(ForcedValue { line, name, failing, failed: 6, passing, passed: 6 });
    let text = report(&[proven.finding], &WIDE, true);
    let proof = "clocks 10 times as fast: fails 6 of 6; clocks 0.1 times as fast: passes 6 of 6";
    assert!(text.contains(proof), "{text}");
}
