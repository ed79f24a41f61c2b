//! Snapshots of prepared reports.

use insta::assert_snapshot;
use unflake_report::{ExitMeaning, PreparedBatch, PreparedEntry, PreparedKind, prepared_totals};

use crate::divergences::drawn;
use crate::samples::{NARROW, WIDE, written};

fn of(test: &str, score: f64, kind: PreparedKind, meaning: &str) -> PreparedEntry {
    PreparedEntry { test: test.into(), score, kind, meaning: meaning.into(), finding: None, page: None }
}

fn batch() -> Vec<PreparedEntry> {
    let page = Some(".unflake/reports/test_retry-fe3c4e19.html".to_owned());
    vec![
        PreparedEntry {
            finding: Some(drawn().finding),
            page: page.clone(),
            ..of("tests/test_mail.py::test_retry", 0.31, PreparedKind::Located, "flaky: 11 of 50 runs failed")
        },
        PreparedEntry {
            finding: Some(drawn().finding),
            page,
            ..of("tests/test_mail.py::test_again", 0.22, PreparedKind::Ready, "flaky: 11 of 50 runs failed")
        },
        of(
            "tests/test_sync.py::test_twice",
            0.094,
            PreparedKind::NotReproduced,
            "passed in all 200 runs: nothing to compare",
        ),
        of("tests/test_sync.py::test_slow", 0.05, PreparedKind::CutShort, "passed in all 12 runs: nothing to compare"),
        of("tests/test_old.py::test_gone", 0.03, PreparedKind::Failed, "no test has `test_gone` in its name"),
        of("tests/test_sync.py::test_\u{1b}[31mlate", 0.021, PreparedKind::Left, "budget exhausted"),
    ]
}

fn shown(tests: &[PreparedEntry], style: &unflake_report::TerminalStyle, quiet: bool) -> String {
    let meaning = prepared_totals(tests);
    let preparing = PreparedBatch {
        schema: 1,
        command: "prepare",
        exit: ExitMeaning { code: 0, meaning: &meaning },
        tree: "7ree",
        at_least: 0.01,
        seconds: 48.2,
        tests,
        notes: &["something to know".to_owned()],
    };
    written(|out| preparing.write(style, quiet, out))
}

#[test]
fn a_prepared_batch() {
    assert_snapshot!(shown(&batch(), &WIDE, false));
    assert_snapshot!(shown(&batch(), &NARROW, true));
    assert!(shown(&[], &WIDE, false).ends_with("exit 0: no test reaches this score\n"));
}
