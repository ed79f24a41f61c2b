use unflake_model::{Death, Timestamp};

use super::*;

fn attempt(session: &Session, test: &str, environment: u32, outcome: Outcome) -> Event {
    Event::AttemptEnded(Attempt {
        test: test.into(),
        session: session.id,
        purpose: session.purpose,
        environment: EnvironmentId(environment),
        origin: Isolation::Fork,
        position: 0,
        run: 0,
        outcome,
        started: Timestamp(i64::from(environment) * 1_000_000),
        seconds: 0.5,
        failure: None,
        stdout: String::new(),
        stderr: String::new(),
    })
}

fn ended(session: &Session, left: &[&str]) -> Event {
    let left = left.iter().map(|test| TestId::from(*test)).collect();
    Event::SessionEnded { session: session.id, left, why: None }
}

const CRASHED: Outcome = Outcome::Crashed(Death::Signal(11));

/// Asks these questions at once, tells what is made of the sessions, and says how the last test of each is known to have ended.
fn last(questions: &[(&[&str], usize)], isolated: bool, tell: fn(&[Session]) -> Vec<Event>) -> Vec<Option<Outcome>> {
    let desk = Desk::new(Isolation::Fork, 100.0);
    let question = |(tests, prefix): &(&[&str], usize)| {
        Question::new(Purpose::Search, tests.iter().map(|test| TestId::from(*test)).collect()).sharing(*prefix)
    };
    let questions: Vec<Question> = questions.iter().map(question).collect();
    let heard = Rc::new(RefCell::new(Vec::new()));
    let (at, told) = (desk.clone(), heard.clone());
    let search = async move {
        // As if each came from a search of its own.
        for answers in together(questions.into_iter().map(|question| at.ask(vec![question])).collect()).await {
            told.borrow_mut().push(answers[0].last().map(|last| last.outcome));
        }
    };
    let mut work = Work::new(desk, search);
    work.hear(&Event::TestsListed { tests: Vec::new(), deselected: 0, isolated });
    let sessions = work.ask();
    for event in tell(&sessions) {
        work.hear(&event);
    }
    assert!(work.ask().is_empty());
    heard.take()
}

#[test]
fn searches_that_go_on_side_by_side_share_a_batch() {
    let answers = last(&[(&["a", "v"], 1), (&["a", "b", "v"], 2)], false, |sessions| {
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
    assert_eq!(answers, [Some(Outcome::Passed), Some(Outcome::Failed)]);
}

#[test]
fn a_death_in_a_shared_beginning_counts_for_all_that_begin_alike() {
    let answers = last(&[(&["a", "b", "v"], 2), (&["a", "b", "w"], 2), (&["a", "x"], 1)], false, |sessions| {
        vec![
            attempt(&sessions[0], "a", 1, Outcome::Passed),
            attempt(&sessions[0], "b", 1, CRASHED),
            ended(&sessions[0], &["v"]),
            // Whatever ran here, it did not run after b.
            attempt(&sessions[1], "w", 2, Outcome::Passed),
            ended(&sessions[1], &[]),
            attempt(&sessions[2], "x", 3, Outcome::Passed),
            ended(&sessions[2], &[]),
        ]
    });
    assert_eq!(answers, [None, None, Some(Outcome::Passed)]);
}

#[test]
fn what_ran_in_another_process_than_the_tests_before_it_says_nothing() {
    let tell: fn(&[Session]) -> Vec<Event> = |sessions| {
        vec![
            attempt(&sessions[0], "a", 1, Outcome::Passed),
            attempt(&sessions[0], "v", 2, Outcome::Passed),
            ended(&sessions[0], &[]),
        ]
    };
    assert_eq!(last(&[(&["a", "v"], 0)], false, tell), [None]);
    // A copy of the process that reached the state is another one by right; where nothing is copied, it is not.
    assert_eq!(last(&[(&["a", "v"], 1)], false, tell), [Some(Outcome::Passed)]);
    assert_eq!(last(&[(&["a", "v"], 1)], true, tell), [None]);
}

#[test]
fn what_was_left_out_is_not_known() {
    let tell: fn(&[Session]) -> Vec<Event> =
        |sessions| vec![attempt(&sessions[0], "a", 1, Outcome::Passed), ended(&sessions[0], &["v"])];
    assert_eq!(last(&[(&["a", "v"], 1)], false, tell), [None]);
    // Cut short: nobody has said that it ended.
    let tell: fn(&[Session]) -> Vec<Event> = |sessions| vec![attempt(&sessions[0], "a", 1, Outcome::Passed)];
    assert_eq!(last(&[(&["a"], 0)], false, tell), [None]);
}

#[test]
fn time_is_what_attempts_tell() {
    let desk = Desk::new(Isolation::Fork, 2.0);
    let at = desk.clone();
    let ask = async move {
        at.ask(vec![Question::new(Purpose::Order, vec!["a".into(), "b".into()])]).await;
    };
    let mut work = Work::new(desk.clone(), ask);
    let sessions = work.ask();
    assert!(!desk.is_late());
    work.hear(&attempt(&sessions[0], "a", 1, Outcome::Passed));
    assert_eq!((desk.seconds_left(), desk.seconds_each()), (1.5, 0.5));
    work.hear(&attempt(&sessions[0], "b", 3, Outcome::Passed));
    assert!(desk.is_late());
}
