//! The history of one test on a terminal.

use insta::assert_snapshot;
use unflake_model::{Death, Isolation, Outcome, Purpose, TestId, Timestamp};
use unflake_report::{HistoryRow, TerminalStyle, TimeZone, attempts_table};

use crate::samples::*;

fn row(minute: i64, outcome: Outcome, purpose: Purpose, run: u32, message: &str) -> HistoryRow<'_> {
    HistoryRow {
        when: Timestamp(1_794_740_866_000_000 + minute * 60_000_000),
        outcome,
        seconds: 0.25 * minute as f64,
        revision: (minute > 0).then_some("1437f11"),
        purpose,
        origin: Isolation::Fork,
        position: if purpose == Purpose::Fresh { 0 } else { 411 },
        run,
        imported_from: None,
        message,
    }
}

fn table(style: &TerminalStyle) -> String {
    let rows = [
        row(0, Outcome::Passed, Purpose::Suite, 0, ""),
        row(
            1,
            Outcome::Failed,
            Purpose::Suite,
            0,
            "AssertionError: assert Decimal('9.89') == Decimal('9.90')\n + where",
        ),
        row(2, Outcome::Crashed(Death::Signal(11)), Purpose::Suite, 1, "killed by SIGSEGV"),
        row(3, Outcome::TimedOut, Purpose::AtEnd, 0, ""),
        row(4, Outcome::Passed, Purpose::Fresh, 0, ""),
        row(5, Outcome::Skipped, Purpose::Suite, 0, "needs Windows"),
    ];
    written(|out| attempts_table(&TestId::new(TOTAL), None, &rows, &TimeZone::UTC, style, out))
}

#[test]
fn the_attempts_of_a_test_newest_first() {
    assert_snapshot!(table(&TerminalStyle { width: 130, ..WIDE }));
}

#[test]
fn the_same_narrow() {
    assert_snapshot!(table(&NARROW));
}

#[test]
fn an_unknown_test() {
    assert_snapshot!(written(|out| attempts_table(&TestId::new(TOTAL), None, &[], &TimeZone::UTC, &WIDE, out)), @"
      tests/test_cart.py::test_total
      no attempts
    ");
}
