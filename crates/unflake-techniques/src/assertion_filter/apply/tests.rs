//! Tests of `apply`.

use unflake_model::{AssertionKey, AssertionSample, Detail, EnvironmentId, Event, ValueGroup};

use super::*;
use crate::{Ladder, NeverExcuse, Recordings, Rungs, Technique, simulation};
use Happens::{Breaks, Sees};

const TEST: &str = "t.py::test_a";

fn spot() -> AssertionKey {
    let (file, function) = ("t.py".to_owned(), "test_a".to_owned());
    AssertionKey { file, function, expression: "width == 358".to_owned(), ordinal: 0 }
}

fn assertion() -> Assertion {
    Assertion { test: TEST.into(), spot: spot() }
}

/// An entry that failed three times of ten, with 348.
fn entry() -> FilterEntry {
    let learned =
        LearnedAssertion { assertion: assertion(), body: "b1".to_owned(), same: 1, source: None, alike: false };
    FilterEntry { learned, score: 0.61, runs: 10, failed: 3, failing: vec!["width = 348".to_owned()], inert: None }
}

/// What happens in an attempt of the one test: the value its assertion sees, or another error.
enum Happens {
    Sees(u32),
    Breaks,
}

/// Runs a suite of one test with a filter. What happens in each attempt is scripted; the last
/// repeats.
fn run(entries: Vec<FilterEntry>, known: &[Flakiness], rule: FilterRule, script: &[Happens]) -> (Vec<Finding>, usize) {
    let rungs = Rungs { immediate: 0, verify_base: crate::AtBase::Never, ..Rungs::default() };
    let mut ladder = Ladder::new(rungs, NeverExcuse::new::<String>(&[]).unwrap());
    let mut filter = AssertionFilter::new(entries, known, rule);
    let test = Test { file: Some("t.py".into()), ..simulation::test(TEST) };
    let listed = Event::TestsListed { tests: vec![test.clone()], deselected: 0, isolated: false, seconds: 0.0 };
    ladder.observe(&listed, Recordings::EMPTY);
    let site = AssertionSite { spot: spot(), line: 7, body: "b1".to_owned() };
    let may_fail = !filter.start(&[test], &[site], &HashMap::new()).is_empty();
    let mut made = 0;
    loop {
        let mut sessions = ladder.next_sessions(Recordings::EMPTY);
        if sessions.is_empty() {
            sessions = filter.next_sessions(&ladder.findings(Recordings::EMPTY));
        }
        if sessions.is_empty() {
            return (filter.findings(ladder.findings(Recordings::EMPTY)), made);
        }
        for session in sessions {
            let happens = &script[made.min(script.len() - 1)];
            made += 1;
            let values = |seen| format!("width = {seen}");
            let (how, seen, passed) = match happens {
                Sees(358) => (AssertionOutcome::Held, 358, true),
                Sees(other) if may_fail => (AssertionOutcome::Filtered, *other, true),
                Sees(other) => (AssertionOutcome::Failed, *other, false),
                Breaks => (AssertionOutcome::Held, 358, false),
            };
            let failing = if how.is_failure() { vec![values(seen)] } else { Vec::new() };
            let record = AssertionRecord { spot: spot(), line: 7, how, values: values(seen), failing };
            let outcome = if passed { Outcome::Passed } else { Outcome::Failed };
            let environment = EnvironmentId(made as u32);
            let attempt = Attempt { environment, ..simulation::attempt(&session, &TEST.into(), outcome) };
            let judged = filter.judge(&attempt, Some(vec![record]));
            if !filter.owns(session.id) {
                ladder.observe(&Event::AttemptEnded(judged), Recordings::EMPTY);
                ladder.observe(&simulation::ended(&session), Recordings::EMPTY);
            }
        }
    }
}

fn kinds(findings: &[Finding]) -> Vec<FilterKind> {
    let kind = |finding: &Finding| match &finding.detail {
        Detail::Filter(filtered) => Some(filtered.kind),
        _ => None,
    };
    findings.iter().filter_map(kind).collect()
}

fn is_real(findings: &[Finding]) -> bool {
    findings.iter().any(Finding::is_real)
}

#[test]
fn a_known_failure_is_tolerated_once_the_assertion_has_held() {
    let (findings, _) = run(vec![entry()], &[], FilterRule::Strict, &[Sees(348), Sees(348), Sees(358)]);
    assert_eq!((kinds(&findings), is_real(&findings)), (vec![FilterKind::Flaky], false));
    let sentence = &findings[0].sentence;
    let expected = ["width = 348", "0.61", "10 runs"];
    assert!(expected.iter().all(|part| sentence.contains(part)), "{sentence}");
}

#[test]
fn failing_every_time_is_real_although_the_values_are_known() {
    let (findings, made) = run(vec![entry()], &[], FilterRule::Strict, &[Sees(348)]);
    assert_eq!((kinds(&findings), is_real(&findings)), (vec![FilterKind::EveryTime], true));
    // Three of ten is compatible with a rate of 0.6, which ten failures in a row exclude: one for
    // the suite and its four forks, and nine processes.
    assert_eq!(made, 1 + 4 + 9);
    let verdict = findings.iter().find(|one| one.is_real()).unwrap();
    assert!(verdict.sentence.contains("before 3 of 10"), "{}", verdict.sentence);
}

#[test]
fn forks_of_one_process_are_one_sample() {
    // One of ten is compatible with 0.4, which six in a row would exclude, but the first five share
    // their hash seed.
    let seldom = FilterEntry { failed: 1, ..entry() };
    let mut script: Vec<Happens> = (0..8).map(|_| Sees(348)).collect();
    script.push(Sees(358));
    let (findings, _) = run(vec![seldom], &[], FilterRule::Strict, &script);
    assert_eq!((kinds(&findings), is_real(&findings)), (vec![FilterKind::Flaky], false));
}

#[test]
fn a_failure_with_new_values_is_real_unless_it_disappears() {
    let (findings, _) = run(vec![entry()], &[], FilterRule::Strict, &[Sees(7)]);
    assert_eq!((kinds(&findings), is_real(&findings)), (vec![FilterKind::NeverLikeThis], true));
    let (findings, _) = run(vec![entry()], &[], FilterRule::Strict, &[Sees(7), Sees(358)]);
    assert!(!is_real(&findings), "{findings:?}");
}

#[test]
fn the_published_rule_tolerates_everything_that_ever_varied() {
    let (findings, made) = run(vec![entry()], &[], FilterRule::Published, &[Sees(7)]);
    assert_eq!((kinds(&findings), is_real(&findings), made), (vec![FilterKind::Flaky], false, 1));
}

#[test]
fn other_errors_are_never_tolerated() {
    assert!(is_real(&run(vec![entry()], &[], FilterRule::Strict, &[Breaks]).0));
}

#[test]
fn an_inert_entry_tolerates_nothing() {
    let inert = FilterEntry { inert: Some("it expired on 2026-11-01".to_owned()), ..entry() };
    let (findings, _) = run(vec![inert], &[], FilterRule::Strict, &[Sees(348)]);
    assert_eq!((kinds(&findings), is_real(&findings)), (vec![FilterKind::NotInForce], true));
    assert!(findings.last().unwrap().sentence.contains("expired"));
}

#[test]
fn failures_that_count_are_classified_by_their_samples() {
    let group =
        ValueGroup { how: AssertionOutcome::Held, values: "width = 358".to_owned(), failing: Vec::new(), times: 10 };
    let sample = AssertionSample {
        assertion: assertion(),
        body: "b1".to_owned(),
        version: "v1".to_owned(),
        groups: vec![group],
    };
    let stable = crate::accumulate([sample]);
    assert_eq!(kinds(&run(Vec::new(), &stable, FilterRule::Strict, &[Sees(348)]).0), [FilterKind::NeverVaried]);
    assert_eq!(kinds(&run(Vec::new(), &[], FilterRule::Strict, &[Sees(348)]).0), [FilterKind::Unknown]);
}

#[test]
fn an_assertion_that_nearly_always_fails_must_hold_once() {
    let often = || vec![FilterEntry { failed: 9, ..entry() }];
    let (findings, made) = run(often(), &[], FilterRule::Strict, &[Sees(348)]);
    assert_eq!((kinds(&findings), is_real(&findings), made), (vec![FilterKind::EveryTime], true, 1 + 4 + 19));
    let mut script: Vec<Happens> = (0..15).map(|_| Sees(348)).collect();
    script.extend([Sees(358), Sees(348)]);
    let (findings, _) = run(often(), &[], FilterRule::Strict, &script);
    assert_eq!((kinds(&findings), is_real(&findings)), (vec![FilterKind::Flaky], false));
}
