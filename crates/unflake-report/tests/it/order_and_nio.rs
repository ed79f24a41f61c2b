//! Reports of `unflake order` and `unflake nio`.

use insta::assert_snapshot;
use unflake_model::{
    Cell, Coverage, Detail, Failure, Finding, Leak, LeakKind, OrderDependence, OrderKind, PairCount, Phase, Repeats,
    Reproduction, RestoreCounts, Searched, Shows, TestId, WriteSite,
};
use unflake_report::{RunReport, TerminalStyle, order_and_nio};

use crate::samples::{ASCII, NARROW, Sample, WIDE, written};

const POLLUTER: &str = "tests/test_warm.py::test_warmup";

pub(crate) fn victim(test: &str) -> Finding {
    let detail = OrderDependence {
        kind: OrderKind::Victim,
        culprits: vec![vec![POLLUTER.into()]],
        cleaners: Vec::new(),
        order: vec![POLLUTER.into(), test.into()],
        evidence: Repeats { seen: 5, tried: 5, alone_passed: 5, alone_tried: 5 },
        failure: Some(Failure {
            phase: Phase::Call,
            kind: "KeyError".into(),
            message: "'vat'".into(),
            trace: String::new(),
            file: Some("tests/test_cache.py".into()),
            line: Some(14),
        }),
        unfinished: None,
    };
    Finding {
        test: test.into(),
        detail: Detail::Order(detail),
        sentence: format!("fails after {POLLUTER} (5 of 5 runs), passes alone (5 of 5 runs)"),
        reproduce: vec![Reproduction::fails(format!("pytest {POLLUTER} {test}"))],
        replays: Vec::new(),
    }
}

pub(crate) fn leak(test: &str) -> Finding {
    let cell = Cell {
        path: "shop.cache._entries['vat']".into(),
        kind: "module global".into(),
        after: Some("20".into()),
        written: Some(WriteSite { file: "shop/cache.py".into(), line: 27, function: "warm".into() }),
        ..Cell::default()
    };
    let evidence = Some(RestoreCounts { changed: 5, restored: 5, stayed: 5, kept: 5, sufficed: 5, alone: 5 });
    let after = vec![POLLUTER.into()];
    let leak = Leak { kind: LeakKind::Proven, after, cells: vec![cell], unknown: Vec::new(), evidence };
    Finding {
        test: test.into(),
        detail: Detail::State(leak),
        sentence: format!(
            "{POLLUTER} leaves shop.cache._entries['vat'] behind (written at shop/cache.py:27); restoring it: passes 5 of 5, keeping it: fails 5 of 5"
        ),
        reproduce: vec![Reproduction::fails(format!("pytest {POLLUTER} {test}"))],
        replays: Vec::new(),
    }
}

fn brittle(test: &str) -> Finding {
    let mut finding = victim(test);
    if let Detail::Order(order) = &mut finding.detail {
        (order.kind, order.failure) = (OrderKind::Brittle, None);
        order.culprits = vec![vec!["tests/test_setup.py::test_login".into()]];
    }
    finding.sentence = "passes after tests/test_setup.py::test_login (5 of 5 runs), fails alone (5 of 5 runs)".into();
    let after = Reproduction { command: format!("pytest tests/test_setup.py {test}"), shows: Shows::Passes };
    finding.reproduce = vec![after, Reproduction::fails(format!("pytest {test}"))];
    finding
}

fn searched(covered: u64, complete: bool) -> Searched {
    let pairs = Some(PairCount { covered, by_state: 0, of: 90 });
    let coverage = Coverage { tests: 10, tried: 10, left_out: 0, pairs, complete };
    Searched { coverage, sessions: 88, seconds: 9.0, budget: Some(45.0) }
}

fn shown(sample: &Sample, searched: Searched, style: &TerminalStyle) -> String {
    let run = RunReport { searched: Some(&searched), ..sample.run() };
    written(|out| order_and_nio(&run, style, false, out))
}

#[test]
fn a_victim_and_a_brittle_test() {
    let sample = Sample::new(1, "2 flaky tests")
        .passing(10)
        .found(victim("tests/test_cache.py::test_cold"))
        .found(leak("tests/test_cache.py::test_cold"))
        .found(brittle("tests/test_page.py::test_shows"));
    assert_snapshot!(shown(&sample, searched(90, true), &WIDE));
    assert_snapshot!("a_victim_and_a_brittle_test_narrow", shown(&sample, searched(90, true), &NARROW));
}

#[test]
fn victims_of_one_cell_are_one_block() {
    let mut sample = Sample::new(1, "25 flaky tests").passing(10);
    for at in 0..25 {
        let test = format!("tests/test_cache.py::test_{at}");
        sample = sample.found(victim(&test)).found(leak(&test));
    }
    let text = shown(&sample, searched(90, true), &TerminalStyle { lines: 200, ..WIDE });
    assert_eq!(text.matches("VICTIM").count(), 1, "{text}");
    assert_eq!(text.matches("written at").count(), 2, "{text}");
    assert_eq!(text.matches("reproduce").count(), 5, "{text}");
    assert!(text.contains("and 5 more tests with this cause"), "{text}");
    let whole = shown(&sample, searched(90, true), &WIDE);
    assert_eq!(whole.matches("reproduce").count(), 25, "{whole}");
    sample.findings.truncate(4);
    assert_snapshot!(shown(&sample, searched(90, true), &WIDE));
}

#[test]
fn few_of_many_possible_findings_have_a_block() {
    let mut sample = Sample::new(1, "30 flaky tests").passing(30);
    for at in 0..30 {
        let mut possible = victim(&format!("tests/test_cache.py::test_{at}"));
        let Detail::Order(order) = &mut possible.detail else { panic!("a victim") };
        order.culprits.clear();
        sample = sample.found(possible);
    }
    let text = shown(&sample, searched(90, true), &TerminalStyle { lines: 200, ..WIDE });
    assert_eq!(text.matches("VICTIM").count(), 10, "{text}");
    assert!(text.contains("and 20 more possible findings"), "{text}");
}

#[test]
fn a_search_that_covered_little_says_how_to_cover_more() {
    let sample = Sample::new(0, "search incomplete").passing(10);
    let text = shown(&sample, searched(9, false), &ASCII);
    assert!(text.contains("search longer: --for 8m"), "{text}");
    assert!(!shown(&sample, searched(90, true), &ASCII).contains("search longer"));
}

#[test]
fn a_long_report_is_cut_and_says_so_last() {
    let mut sample = Sample::new(1, "60 flaky tests").passing(10);
    for at in 0..60 {
        let test = format!("tests/test_{at}.py::test_a");
        let mut finding = victim(&test);
        if let Detail::Order(order) = &mut finding.detail {
            order.culprits = vec![vec![TestId::new(format!("tests/test_{at}.py::test_b"))]];
        }
        sample = sample.found(finding);
    }
    let text = shown(&sample, searched(90, true), &TerminalStyle { lines: 196, ..WIDE });
    assert!(text.lines().count() <= 200, "{}", text.lines().count());
    let last = text.lines().last().unwrap();
    assert!(last.ends_with("lines left out; --full shows them, --json FILE has everything"), "{last}");
    assert!(text.contains("exit 1: 60 flaky tests"), "{text}");
    assert!(shown(&sample, searched(90, true), &WIDE).lines().count() > 300);
}

#[test]
fn ascii_terminals_get_ascii_only() {
    let mut finding = victim("tests/test_cache.py::test_cold");
    finding.sentence = "fails with x ≥ 3 – 5 … always".into();
    let sample = Sample::new(1, "1 flaky test").passing(2).found(finding);
    let text = shown(&sample, searched(90, true), &ASCII);
    assert!(text.is_ascii(), "{text}");
}
