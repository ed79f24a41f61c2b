//! The ladder where every session has processes of its own.

use std::collections::VecDeque;

use unflake_model::{EnvironmentId, Outcome, Test, Timestamp};

use super::*;
use Outcome::{Failed, Passed};

/// Plays the ladder on tests `a` and `t`; `a` always passes. `shared`: the tests of one session share a process, and nothing
/// is run again in it. What was asked for, and what was found of `t`.
fn play(shared: bool, rungs: Rungs, outcomes_of_t: &[Outcome]) -> (Vec<String>, String) {
    let mut ladder = Ladder::new(rungs, NeverExcuse::default());
    let tests = ["a", "t"].map(|id| Test { id: id.into(), file: None, line: None, command: Vec::new() }).to_vec();
    ladder.hear(&Event::TestsListed { tests, deselected: 0, isolated: true });
    let mut outcomes: VecDeque<Outcome> = outcomes_of_t.iter().copied().collect();
    let (mut asked, mut process) = (Vec::new(), 0);
    loop {
        let sessions = ladder.ask();
        for session in &sessions {
            let tests: Vec<&str> = session.tests.iter().map(TestId::as_str).collect();
            asked.push(format!("{} {}", session.purpose.word(), tests.join(" ")));
            process += 1;
            let mut position = 0;
            for test in &session.tests {
                for run in 0..=if shared { 0 } else { session.again } {
                    if !shared {
                        process += 1;
                        position = 0;
                    }
                    let outcome = if test.as_str() == "t" { outcomes.pop_front().unwrap() } else { Passed };
                    ladder.hear(&Event::AttemptEnded(Attempt {
                        test: test.clone(),
                        session: session.id,
                        purpose: session.purpose,
                        environment: EnvironmentId(process),
                        origin: Isolation::Process,
                        position,
                        run,
                        outcome,
                        started: Timestamp(0),
                        seconds: 0.1,
                        failure: None,
                        stdout: String::new(),
                        stderr: String::new(),
                    }));
                    position += 1;
                    if !outcome.is_failure() {
                        break;
                    }
                }
            }
            ladder.hear(&Event::SessionEnded { session: session.id, left: Vec::new(), why: None });
        }
        if sessions.is_empty() {
            break;
        }
    }
    let found = ladder.findings().into_iter().map(|finding| {
        let verdict = finding.verdict().unwrap();
        format!("{:?}, {:?}, fresh {:?}: {}", verdict.kind, verdict.rung, verdict.evidence.fresh, finding.sentence)
    });
    (asked, found.collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_pass_at_once_in_a_process_of_its_own_is_its_own_proof() {
    let (asked, found) = play(false, Rungs::default(), &[Failed, Passed]);
    assert_eq!(asked, ["suite a t"]);
    assert_eq!(
        found,
        "FlakyIndependent, Some(Immediate), fresh Some(Process): passed when run again at once, in a new process"
    );
}

#[test]
fn later_it_runs_alone_as_it_did_before() {
    let (asked, found) = play(false, Rungs::default(), &[Failed, Failed, Passed]);
    assert_eq!(asked, ["suite a t", "at-end t"]);
    assert_eq!(
        found,
        "FlakyBursty, Some(AtEnd), fresh Some(Process): passed when run again after the whole suite, in a new process"
    );
}

#[test]
fn it_was_in_a_fresh_environment_from_the_first() {
    let (asked, found) = play(false, Rungs::default(), &[Failed; 3]);
    assert_eq!(asked, ["suite a t", "at-end t"]);
    assert_eq!(found, "Real, None, fresh Some(Process): failed 3 of 3 times, in a new process too");
}

#[test]
fn where_tests_share_a_process_all_of_it_is_run_again() {
    let (asked, found) = play(true, Rungs::default(), &[Failed, Passed]);
    assert_eq!(asked, ["suite a t", "again a t"]);
    assert_eq!(
        found,
        "FlakyIndependent, Some(Immediate), fresh Some(Process): passed when the tests of its process were run again, \
         in a new process"
    );
}

#[test]
fn what_fails_after_the_others_only_depends_on_them() {
    let (asked, found) = play(true, Rungs::default(), &[Failed, Failed, Passed]);
    assert_eq!(asked, ["suite a t", "again a t", "fresh t"]);
    assert_eq!(
        found,
        "FlakyStateDependent, Some(Fresh), fresh Some(Process): passed only in a process of its own, and not with the \
         other tests of its program"
    );
}

#[test]
fn without_reruns_only_a_fresh_process_is_tried() {
    let (asked, _) = play(true, Rungs { immediate: 0, ..Rungs::default() }, &[Failed, Failed]);
    assert_eq!(asked, ["suite a t", "fresh t"]);
}
