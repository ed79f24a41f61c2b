//! Snapshots of the factor reports.

use insta::assert_snapshot;
use quick_xml::Reader;
use quick_xml::events::Event;
use unflake_model::{Detail, Factor, FactorTrial, Finding, Influence, Rate, Reproduction, Threshold, UntriedFactor};
use unflake_report::{ExperimentReport, TerminalStyle, factors, factors_page};

use crate::samples::{ASCII, NARROW, WIDE};

fn set(words: &str) -> Vec<Factor> {
    words.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

fn rate(seen: u32, of: u32, low: f64, high: f64) -> Rate {
    Rate { seen, of, low, high }
}

fn tried(name: &str, words: &str, rate: Rate, chance: Option<f64>) -> FactorTrial {
    let seconds = (0..rate.of).map(|run| (0.01 + f64::from(run) * 0.004, run < rate.seen)).collect();
    let (entropy, range, false_positives) = (0.0, 0, 0.0);
    let factors = set(words);
    FactorTrial {
        name: name.to_owned(),
        factors,
        rate,
        entropy,
        range,
        false_positives,
        chance,
        seconds,
        skipped: 0,
        layers: Vec::new(),
    }
}

fn leap_day() -> Finding {
    let influence = Influence {
        kind: "date".to_owned(),
        setting: set("date=2028-02-29"),
        fails: true,
        threshold: Some(Threshold {
            before: Some("2028-02-28T23:59:59".to_owned()),
            from: "2028-02-29T00:00:00".to_owned(),
            to: Some("2028-02-29T23:59:59".to_owned()),
            after: Some("2028-03-01T00:00:00".to_owned()),
            words: "on 29 February".to_owned(),
        }),
        rate: rate(6, 6, 0.61, 1.0),
        baseline: rate(0, 6, 0.0, 0.39),
        chance: 0.0032,
        plan: vec![
            tried("baseline", "", rate(0, 16, 0.0, 0.19), None),
            tried("uncontrolled", "", rate(0, 10, 0.0, 0.28), Some(1.0)),
            tried("date=2028-02-29", "date=2028-02-29", rate(14, 14, 0.78, 1.0), Some(0.000_000_1)),
            tried("time-zone=Asia/Kolkata", "time-zone=Asia/Kolkata", rate(0, 3, 0.0, 0.56), Some(1.0)),
            tried("load=16", "load=16", rate(1, 8, 0.02, 0.47), Some(0.33)),
        ],
        untried: vec![UntriedFactor { name: "cores".to_owned(), why: "there is a single core anyway".to_owned() }],
        worst: set("date=2028-02-29 time-zone=UTC"),
        best: set("date=2026-11-15 time-zone=UTC"),
        runs: 169,
    };
    Finding {
        test: "tests/test_invoice.py::test_due".into(),
        detail: Detail::Factor(Box::new(influence)),
        sentence: "fails on 29 February (6 of 6 runs), and otherwise passes (6 of 6)".to_owned(),
        reproduce: vec![Reproduction::fails(
            "unflake under --date=2028-02-29 -- pytest tests/test_invoice.py::test_due",
        )],
        replays: Vec::new(),
    }
}

fn told(findings: &[Finding]) -> ExperimentReport<'_> {
    ExperimentReport {
        findings,
        fails_by: Some("unflake under --date=2028-02-29 --time-zone=UTC -- pytest t"),
        passes_by: Some("unflake under --date=2026-11-15 --time-zone=UTC -- pytest t"),
        seconds: 31.2,
        page: Some(".unflake/reports/test_due.factors.html"),
    }
}

fn terminal(findings: &[Finding], style: &TerminalStyle, quiet: bool) -> String {
    let mut out = Vec::new();
    factors(&told(findings), style, quiet, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn page(findings: &[Finding]) -> String {
    let mut out = Vec::new();
    factors_page(&told(findings), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_date_that_decides() {
    assert_snapshot!(terminal(&[leap_day()], &WIDE, false));
    assert_snapshot!(terminal(&[leap_day()], &NARROW, false));
    assert_snapshot!(terminal(&[leap_day()], &WIDE, true));
    assert!(terminal(&[leap_day()], &ASCII, false).is_ascii());
}

#[test]
fn nothing_that_matters() {
    let mut finding = leap_day();
    finding.sentence =
        "no factor tried makes a difference (3 factors, 51 runs; failed 0 of 16 times at the baseline)".to_owned();
    finding.reproduce.clear();
    if let Detail::Factor(influence) = &mut finding.detail {
        (influence.kind, influence.setting, influence.threshold) = ("none".to_owned(), Vec::new(), None);
        influence.plan.remove(2);
    }
    assert_snapshot!(terminal(&[finding], &WIDE, false));
}

#[test]
fn the_page_is_well_formed_and_harmless() {
    let mut finding = leap_day();
    finding.test = "t.py::a[<script>alert('&')</script>]".into();
    finding.sentence = "fails <b>now</b>".to_owned();
    let page = page(&[finding]);
    assert!(!page.contains("<script") && !page.contains("<b>"), "{page}");
    let mut reader = Reader::from_str(page.trim_start_matches("<!DOCTYPE html>"));
    let (mut depth, mut boxes) = (0, 0);
    loop {
        match reader.read_event().unwrap() {
            Event::Start(tag) => {
                depth += 1;
                boxes += u32::from(tag.name().as_ref() == b"svg");
            }
            Event::End(_) => depth -= 1,
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!((depth, boxes), (0, 5), "a box plot for each world");
}
