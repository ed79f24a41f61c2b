//! The ladder where every session has its own processes.

use std::collections::VecDeque;

use Outcome::{Failed, Passed};
use unflake_model::{EnvironmentId, Outcome};

use super::*;
use crate::simulation::{attempt, ended, listed};

/// Runs the ladder on tests `a` and `t`; `a` always passes. `shared`: the tests of a session share
/// a process, and nothing is rerun in it. Returns the requested sessions and the finding on `t`.
fn run_ladder(shared: bool, rungs: Rungs, outcomes_of_t: &[Outcome]) -> (Vec<String>, String) {
    let mut ladder = Ladder::new(rungs, NeverExcuse::default());
    ladder.observe(&listed(&["a", "t"], true), Recordings::EMPTY);
    let mut outcomes: VecDeque<Outcome> = outcomes_of_t.iter().copied().collect();
    let (mut requested, mut process) = (Vec::new(), 0);
    loop {
        let sessions = ladder.next_sessions(Recordings::EMPTY);
        for session in &sessions {
            let tests: Vec<&str> = session.tests.iter().map(TestId::as_str).collect();
            requested.push(format!("{} {}", session.purpose.word(), tests.join(" ")));
            process += 1;
            let mut position = 0;
            for test in &session.tests {
                for run in 0..=if shared { 0 } else { session.again } {
                    if !shared {
                        process += 1;
                        position = 0;
                    }
                    let outcome = if test.as_str() == "t" { outcomes.pop_front().unwrap() } else { Passed };
                    let environment = EnvironmentId(process);
                    let attempt = attempt(session, test, outcome);
                    let attempt = Attempt { environment, origin: Isolation::Process, position, run, ..attempt };
                    ladder.observe(&Event::AttemptEnded(attempt), Recordings::EMPTY);
                    position += 1;
                    if !outcome.is_failure() {
                        break;
                    }
                }
            }
            ladder.observe(&ended(session), Recordings::EMPTY);
        }
        if sessions.is_empty() {
            break;
        }
    }
    let found = ladder.findings(Recordings::EMPTY).into_iter().map(|finding| {
        let verdict = finding.verdict().unwrap();
        format!("{:?}, {:?}, fresh {:?}: {}", verdict.kind, verdict.rung, verdict.evidence.fresh, finding.sentence)
    });
    (requested, found.collect::<Vec<_>>().join("\n"))
}

#[test]
fn an_immediate_pass_in_its_own_process_needs_no_confirmation() {
    let (requested, found) = run_ladder(false, Rungs::default(), &[Failed, Passed]);
    assert_eq!(requested, ["suite a t"]);
    assert_eq!(
        found,
        "FlakyIndependent, Some(Immediate), fresh Some(Process): random: 1 of 2 attempts failed, passed in an immediate retry in a new process"
    );
}

#[test]
fn later_attempts_run_alone_as_well() {
    let (requested, found) = run_ladder(false, Rungs::default(), &[Failed, Failed, Passed]);
    assert_eq!(requested, ["suite a t", "at-end t"]);
    assert_eq!(
        found,
        "FlakyBursty, Some(AtEnd), fresh Some(Process): bursty: 2 of 3 attempts failed, passed at the end of the suite in a new process"
    );
}

#[test]
fn no_further_fresh_environment_is_needed() {
    let (requested, found) = run_ladder(false, Rungs::default(), &[Failed; 5]);
    assert_eq!(requested, ["suite a t", "at-end t", "other-seeds t", "other-seeds t"]);
    assert_eq!(
        found,
        "Real, None, fresh Some(Process): failed 5 of 5 attempts, including 2 new processes with other seeds"
    );
}

#[test]
fn a_shared_process_is_repeated_as_a_whole() {
    let (requested, found) = run_ladder(true, Rungs::default(), &[Failed, Passed]);
    assert_eq!(requested, ["suite a t", "again a t"]);
    assert_eq!(
        found,
        "FlakyIndependent, Some(Immediate), fresh Some(Process): random: 1 of 2 attempts failed, passed when \
         the tests of its process ran again in a new process"
    );
}

#[test]
fn a_test_that_fails_only_in_company_is_state_dependent() {
    let (requested, found) = run_ladder(true, Rungs::default(), &[Failed, Failed, Passed, Passed, Passed]);
    assert_eq!(requested, ["suite a t", "again a t", "fresh t", "other-seeds t", "other-seeds t"]);
    assert_eq!(
        found,
        "FlakyStateDependent, Some(Fresh), fresh Some(Process): order-dependent: 2 of 5 attempts failed, passed only \
         in a process without the other tests"
    );
}

#[test]
fn a_test_that_fails_alone_too_is_not_blamed_on_its_company() {
    let (_, found) = run_ladder(true, Rungs::default(), &[Failed, Failed, Passed, Failed, Passed]);
    assert_eq!(
        found,
        "FlakyIndependent, Some(Fresh), fresh Some(Process): random: 3 of 5 attempts failed, in 1 of 3 new processes"
    );
}

#[test]
fn without_reruns_only_a_fresh_process_is_tried() {
    let (requested, _) = run_ladder(true, Rungs { immediate: 0, ..Rungs::default() }, &[Failed; 4]);
    assert_eq!(requested, ["suite a t", "fresh t", "other-seeds t", "other-seeds t"]);
}
