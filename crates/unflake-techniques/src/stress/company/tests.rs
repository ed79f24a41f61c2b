//! Tests of the search for tests that fail in company.

use unflake_model::{Event, Outcome, Timestamp};

use crate::simulation::{attempt, listed};
use crate::stress::{Stress, StressConfig};
use crate::{Recordings, Technique};

use super::*;

/// Runs stress on tests of one program. `fails`: whether a test fails at the same time as others.
fn stress(tests: &[&str], seconds: f64, fails: impl Fn(&str, &[&str], u32) -> bool) -> Vec<Finding> {
    let mut stress = Stress::new(StressConfig {
        seconds,
        times: None,
        copies: 4,
        fresh_by: Isolation::Process,
        threads: 2,
        earlier: HashMap::new(),
        seed: 7,
    });
    stress.observe(&listed(tests, true), Recordings::EMPTY);
    let mut clock = 0;
    loop {
        let sessions = stress.next_sessions(Recordings::EMPTY);
        if sessions.is_empty() {
            return stress.findings(Recordings::EMPTY);
        }
        for session in &sessions {
            let all: Vec<&str> = session.tests.iter().map(TestId::as_str).collect();
            for test in &session.tests {
                let failed = fails(test.as_str(), &all, session.at_once);
                let outcome = if failed { Outcome::Failed } else { Outcome::Passed };
                let attempt = Attempt { started: Timestamp(clock), seconds: 0.01, ..attempt(session, test, outcome) };
                stress.observe(&Event::AttemptEnded(attempt), Recordings::EMPTY);
                clock += 3_000;
            }
        }
    }
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("t{at:02}")).collect()
}

#[test]
fn the_pair_that_disturbs_each_other_is_named() {
    for count in [2, 5, 40] {
        let names = names(count);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let findings = stress(&names, 60.0, |test, all, at_once| test == "t00" && all.contains(&"t01") && at_once > 1);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].test, "t00".into());
        let start = "fails when it runs at the same time as t01 in one process: ";
        assert!(findings[0].sentence.starts_with(start), "{}", findings[0].sentence);
        let verdict = findings[0].verdict().unwrap();
        assert_eq!((verdict.kind, &verdict.evidence.beside[..]), (VerdictKind::FlakyIndependent, &["t01".into()][..]));
        assert_eq!(findings[0].replays[0].at_once, 2);
    }
}

#[test]
fn a_pair_that_seldom_fails_is_named_too() {
    for count in [2, 6, 20] {
        let (names, joint) = (names(count), std::cell::Cell::new(0_usize));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let findings = stress(&names, 120.0, |test, all, at_once| {
            let is_joint = test == "t00" && all.contains(&"t01") && at_once > 1;
            joint.set(joint.get() + usize::from(is_joint));
            is_joint && joint.get().is_multiple_of(5)
        });
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].verdict().unwrap().evidence.beside, ["t01".into()], "{}", findings[0].sentence);
    }
}

#[test]
fn what_also_fails_one_after_the_other_is_a_matter_of_state() {
    let findings = stress(&["a", "b"], 30.0, |test, all, _| test == "a" && all.len() > 1);
    assert_eq!(findings[0].verdict().unwrap().kind, VerdictKind::FlakyStateDependent);
    assert!(findings[0].sentence.starts_with("fails in one process with b: "), "{}", findings[0].sentence);
}

#[test]
fn a_test_that_fails_alone_is_not_blamed_on_others() {
    let count = std::cell::Cell::new(0_usize);
    let findings = stress(&["a", "b", "c"], 30.0, |test, _, _| {
        count.set(count.get() + usize::from(test == "a"));
        test == "a" && count.get().is_multiple_of(3)
    });
    assert_eq!(findings.len(), 1);
    assert!(findings[0].verdict().unwrap().evidence.beside.is_empty());
    assert!(findings[0].sentence.starts_with("random: "), "{}", findings[0].sentence);
}

#[test]
fn healthy_tests_have_no_findings_and_all_of_them_run() {
    let ran = std::cell::RefCell::new(std::collections::BTreeSet::new());
    let names = names(30);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let findings = stress(&names, 20.0, |test, all, _| {
        ran.borrow_mut().insert((test.to_owned(), all.len() > 1));
        false
    });
    assert!(findings.is_empty());
    assert_eq!(ran.borrow().len(), 60);
}
