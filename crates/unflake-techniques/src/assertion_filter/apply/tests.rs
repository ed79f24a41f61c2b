use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use unflake_model::{AssertionKey, AssertionSample, Detail, EnvironmentId, Timestamp, ValueGroup};

use super::*;
use crate::{Ladder, NeverExcuse, Rungs};

const TEST: &str = "t.py::test_a";

fn spot() -> AssertionKey {
    let (file, function) = ("t.py".to_owned(), "test_a".to_owned());
    AssertionKey { file, function, expression: "width == 358".to_owned(), ordinal: 0 }
}

fn assertion() -> Assertion {
    Assertion { test: TEST.into(), spot: spot() }
}

/// Failed three times of ten, with 348.
fn entry() -> FilterEntry {
    let learned =
        LearnedAssertion { assertion: assertion(), body: "b1".to_owned(), same: 1, source: None, alike: false };
    FilterEntry { learned, score: 0.61, runs: 10, failed: 3, failing: vec!["width = 348".to_owned()], inert: None }
}

/// An attempt of the one test: what its assertion sees, or an error of its own.
enum World {
    Sees(u32),
    Breaks,
}

/// Runs a suite of one test, which is another world in each attempt; the last goes on for ever.
fn run(entries: Vec<FilterEntry>, known: &[Flakiness], rule: FilterRule, worlds: &[World]) -> (Vec<Finding>, usize) {
    let rungs = Rungs {
        immediate: 0,
        at_end: 1,
        fresh: 1,
        fresh_by: Isolation::Fork,
        too_many: 1.0,
        intersect: None,
        verify_base: crate::AtBase::Never,
    };
    let ladder = Ladder::new(rungs, NeverExcuse::new::<String>(&[]).unwrap());
    let next: Rc<RefCell<Vec<AssertionRecord>>> = Rc::default();
    let read = next.clone();
    let mut filter = Filter::new(Box::new(ladder), entries, known, rule, Box::new(move |_| read.borrow().clone()));
    let test = Test { id: TEST.into(), file: Some("t.py".into()), line: None, command: Vec::new() };
    filter.hear(&Event::TestsListed { tests: vec![test], deselected: 0, isolated: false });
    let site = AssertionSite { spot: spot(), line: 7, body: "b1".to_owned() };
    let may_fail = !filter.let_fail(&[site], &HashMap::new()).is_empty();
    let mut made = 0;
    loop {
        let sessions = filter.ask();
        if sessions.is_empty() {
            return (filter.findings(), made);
        }
        for session in sessions {
            let world = &worlds[made.min(worlds.len() - 1)];
            made += 1;
            let values = |seen| format!("width = {seen}");
            let (how, seen, passed) = match world {
                World::Sees(358) => (AssertionOutcome::Held, 358, true),
                World::Sees(other) if may_fail => (AssertionOutcome::Filtered, *other, true),
                World::Sees(other) => (AssertionOutcome::Failed, *other, false),
                World::Breaks => (AssertionOutcome::Held, 358, false),
            };
            let failing = if how.is_failure() { vec![values(seen)] } else { Vec::new() };
            *next.borrow_mut() = vec![AssertionRecord { spot: spot(), line: 7, how, values: values(seen), failing }];
            let environment = EnvironmentId(made as u32);
            let attempt = Attempt {
                test: TEST.into(),
                session: session.id,
                purpose: session.purpose,
                environment,
                origin: match session.place {
                    unflake_model::Placement::Fresh(origin) => origin,
                    _ => Isolation::Fork,
                },
                position: 0,
                run: 0,
                outcome: if passed { Outcome::Passed } else { Outcome::Failed },
                started: Timestamp(0),
                seconds: 0.0,
                failure: None,
                stdout: String::new(),
                stderr: String::new(),
            };
            let looked = Event::LayersRecorded { test: TEST.into(), environment, file: PathBuf::new() };
            let ended = Event::SessionEnded { session: session.id, left: Vec::new(), why: None };
            let seen = [looked, Event::AttemptEnded(attempt), ended];
            filter.instead(&seen).unwrap().iter().for_each(|one| filter.hear(one));
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

use World::{Breaks, Sees};

#[test]
fn a_failure_like_those_before_does_not_count_once_the_assertion_has_held_here_too() {
    let (findings, _) = run(vec![entry()], &[], FilterRule::Strict, &[Sees(348), Sees(348), Sees(358)]);
    assert_eq!((kinds(&findings), is_real(&findings)), (vec![FilterKind::Flaky], false));
    let said = &findings[0].sentence;
    assert!(said.contains("width = 348") && said.contains("0.61") && said.contains("10 runs"), "{said}");
}

#[test]
fn what_fails_every_time_is_real_although_it_fails_like_before() {
    let (findings, made) = run(vec![entry()], &[], FilterRule::Strict, &[Sees(348)]);
    assert_eq!((kinds(&findings), is_real(&findings)), (vec![FilterKind::EveryTime], true));
    // Three of ten may be as much as 0.6: ten times in a row is then less than one in a hundred. That is
    // one for the suite and its four copies, and nine processes.
    assert_eq!(made, 1 + 4 + 9);
    let verdict = findings.iter().find(|one| one.is_real()).unwrap();
    assert!(verdict.sentence.contains("before 3 of 10"), "{}", verdict.sentence);
}

#[test]
fn copies_of_one_process_are_one_sample() {
    // One of ten may be as much as 0.4: six in a row would be too many, but the first five share the seed of their hashes.
    let seldom = FilterEntry { failed: 1, ..entry() };
    let mut worlds: Vec<World> = (0..8).map(|_| Sees(348)).collect();
    worlds.push(Sees(358));
    let (findings, _) = run(vec![seldom], &[], FilterRule::Strict, &worlds);
    assert_eq!((kinds(&findings), is_real(&findings)), (vec![FilterKind::Flaky], false));
}

#[test]
fn a_failure_with_other_values_is_real_unless_it_goes_away() {
    let (findings, _) = run(vec![entry()], &[], FilterRule::Strict, &[Sees(7)]);
    assert_eq!((kinds(&findings), is_real(&findings)), (vec![FilterKind::NeverLikeThis], true));
    let (findings, _) = run(vec![entry()], &[], FilterRule::Strict, &[Sees(7), Sees(358)]);
    assert!(!is_real(&findings), "{findings:?}");
}

#[test]
fn the_published_rule_lets_everything_go_that_ever_varied() {
    let (findings, made) = run(vec![entry()], &[], FilterRule::Published, &[Sees(7)]);
    assert_eq!((kinds(&findings), is_real(&findings), made), (vec![FilterKind::Flaky], false, 1));
}

#[test]
fn an_error_that_is_no_assertion_s_is_never_let_go() {
    assert!(is_real(&run(vec![entry()], &[], FilterRule::Strict, &[Breaks]).0));
}

#[test]
fn an_entry_that_is_inert_lets_nothing_go() {
    let inert = FilterEntry { inert: Some("it expired on 2026-11-01".to_owned()), ..entry() };
    let (findings, _) = run(vec![inert], &[], FilterRule::Strict, &[Sees(348)]);
    assert_eq!((kinds(&findings), is_real(&findings)), (vec![FilterKind::NotInForce], true));
    assert!(findings.last().unwrap().sentence.contains("expired"));
}

#[test]
fn what_counts_is_told_with_what_is_known_of_it() {
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
fn an_assertion_that_fails_nearly_always_must_hold_once_to_be_let_go() {
    let often = || vec![FilterEntry { failed: 9, ..entry() }];
    let (findings, made) = run(often(), &[], FilterRule::Strict, &[Sees(348)]);
    assert_eq!((kinds(&findings), is_real(&findings), made), (vec![FilterKind::EveryTime], true, 1 + 4 + 19));
    let mut worlds: Vec<World> = (0..15).map(|_| Sees(348)).collect();
    worlds.extend([Sees(358), Sees(348)]);
    let (findings, _) = run(often(), &[], FilterRule::Strict, &worlds);
    assert_eq!((kinds(&findings), is_real(&findings)), (vec![FilterKind::Flaky], false));
}
