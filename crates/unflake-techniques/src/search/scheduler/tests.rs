//! Tests of `scheduler`.

use unflake_model::{Death, Timestamp};

use super::*;
use crate::simulation;

fn attempt(session: &Session, test: &str, environment: u32, outcome: Outcome) -> Event {
    Event::AttemptEnded(Attempt {
        environment: EnvironmentId(environment),
        started: Timestamp(i64::from(environment) * 1_000_000),
        seconds: 0.5,
        ..simulation::attempt(session, &test.into(), outcome)
    })
}

fn ended(session: &Session, left: &[&str]) -> Event {
    let left = left.iter().map(|test| TestId::from(*test)).collect();
    Event::SessionEnded { session: session.id, left, why: None }
}

const CRASHED: Outcome = Outcome::Crashed(Death::Signal(11));

/// Requests these sessions concurrently and observes what `observe` makes of them. Returns the
/// known outcome of the last test of each.
fn last(requests: &[(&[&str], usize)], isolated: bool, observe: fn(&[Session]) -> Vec<Event>) -> Vec<Option<Outcome>> {
    let scheduler = Scheduler::new(Isolation::Fork, 100.0);
    let request = |(tests, prefix): &(&[&str], usize)| {
        SessionRequest::new(Purpose::Search, tests.iter().map(|test| TestId::from(*test)).collect())
            .with_prefix(*prefix)
    };
    let requests: Vec<SessionRequest> = requests.iter().map(request).collect();
    let collected = Rc::new(RefCell::new(Vec::new()));
    let (at, outcomes) = (scheduler.clone(), collected.clone());
    let search = async move {
        // As if each came from a search of its own.
        for results in join_all(requests.into_iter().map(|request| at.run(vec![request])).collect()).await {
            outcomes.borrow_mut().push(results[0].last().map(|last| last.outcome));
        }
    };
    let mut task = SearchTask::default();
    task.start(scheduler, search);
    task.observe(&Event::TestsListed { tests: Vec::new(), deselected: 0, isolated, seconds: 0.0 });
    let sessions = task.next_sessions();
    for event in observe(&sessions) {
        task.observe(&event);
    }
    assert!(task.next_sessions().is_empty());
    collected.take()
}

#[test]
fn concurrent_searches_share_a_batch() {
    let results = last(&[(&["a", "v"], 1), (&["a", "b", "v"], 2)], false, |sessions| {
        assert_eq!(sessions.len(), 2);
        vec![
            attempt(&sessions[0], "a", 1, Outcome::Passed),
            attempt(&sessions[1], "b", 1, Outcome::Passed),
            attempt(&sessions[1], "v", 3, Outcome::Failed),
            ended(&sessions[1], &[]),
            attempt(&sessions[0], "v", 2, Outcome::Passed),
            ended(&sessions[0], &[]),
        ]
    });
    assert_eq!(results, [Some(Outcome::Passed), Some(Outcome::Failed)]);
}

#[test]
fn a_crash_in_a_shared_prefix_affects_all_its_sessions() {
    let results = last(&[(&["a", "b", "v"], 2), (&["a", "b", "w"], 2), (&["a", "x"], 1)], false, |sessions| {
        vec![
            attempt(&sessions[0], "a", 1, Outcome::Passed),
            attempt(&sessions[0], "b", 1, CRASHED),
            ended(&sessions[0], &["v"]),
            // This did not run after b.
            attempt(&sessions[1], "w", 2, Outcome::Passed),
            ended(&sessions[1], &[]),
            attempt(&sessions[2], "x", 3, Outcome::Passed),
            ended(&sessions[2], &[]),
        ]
    });
    assert_eq!(results, [None, None, Some(Outcome::Passed)]);
}

#[test]
fn an_attempt_in_another_process_is_no_result() {
    let observe: fn(&[Session]) -> Vec<Event> = |sessions| {
        vec![
            attempt(&sessions[0], "a", 1, Outcome::Passed),
            attempt(&sessions[0], "v", 2, Outcome::Passed),
            ended(&sessions[0], &[]),
        ]
    };
    assert_eq!(last(&[(&["a", "v"], 0)], false, observe), [None]);
    // A fork of the process that reached the state is fine, unless nothing is forked.
    assert_eq!(last(&[(&["a", "v"], 1)], false, observe), [Some(Outcome::Passed)]);
    assert_eq!(last(&[(&["a", "v"], 1)], true, observe), [None]);
}

#[test]
fn tests_that_did_not_run_have_no_result() {
    let observe: fn(&[Session]) -> Vec<Event> =
        |sessions| vec![attempt(&sessions[0], "a", 1, Outcome::Passed), ended(&sessions[0], &["v"])];
    assert_eq!(last(&[(&["a", "v"], 1)], false, observe), [None]);
    // Interrupted before the session ended.
    let observe: fn(&[Session]) -> Vec<Event> = |sessions| vec![attempt(&sessions[0], "a", 1, Outcome::Passed)];
    assert_eq!(last(&[(&["a"], 0)], false, observe), [None]);
}

#[test]
fn time_is_measured_by_attempts() {
    let scheduler = Scheduler::new(Isolation::Fork, 2.0);
    let at = scheduler.clone();
    let search = async move {
        at.run(vec![SessionRequest::new(Purpose::Order, vec!["a".into(), "b".into()])]).await;
    };
    let mut task = SearchTask::default();
    task.start(scheduler.clone(), search);
    let sessions = task.next_sessions();
    assert!(!scheduler.out_of_time());
    task.observe(&attempt(&sessions[0], "a", 1, Outcome::Passed));
    assert_eq!((scheduler.seconds_left(), scheduler.mean_seconds()), (1.5, 0.5));
    task.observe(&attempt(&sessions[0], "b", 3, Outcome::Passed));
    assert!(scheduler.out_of_time());
}
