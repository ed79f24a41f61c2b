use insta::assert_snapshot;
use unflake_model::{
    Attempt, Environment, EnvironmentId, Event, Isolation, Observation, Outcome, Purpose, SessionId, TestId, Totals,
};
use unflake_report::{Progress, TerminalStyle};

use crate::samples::*;

/// A sequence of events with their times in seconds.
struct Story(Vec<(f64, Event)>);

impl Story {
    fn tell(&mut self, now: f64, observation: Observation) {
        self.0.push((now, Event::Observed(observation)));
    }

    fn up(&mut self, now: f64, id: u32, origin: Isolation) {
        let environment = Environment {
            id: EnvironmentId(id),
            origin,
            parent: None,
            runner: "pytest 8.3.4".into(),
            language: "CPython 3.11.7".into(),
        };
        self.tell(now, Observation::EnvironmentUp(environment));
    }

    fn attempt(&mut self, from: f64, to: f64, attempt: Attempt) {
        let (session, purpose, environment) = (attempt.session, attempt.purpose, attempt.environment);
        let test = attempt.test.clone();
        self.tell(from, Observation::Started { session, purpose, environment, test, run: attempt.run });
        self.tell(to, Observation::Attempted(attempt));
    }
}

/// 40 tests in 20 seconds: one slow, two failing, of which one passes at the end.
fn story() -> Story {
    let mut story = Story(vec![(0.0, Event::Began { command: vec!["pytest".into(), "tests/".into()] })]);
    story.up(0.4, 0, Isolation::Process);
    let sample = Sample::new(0, "").passing(40);
    story.tell(0.9, Observation::Listed { tests: sample.tests, deselected: 0, isolated: false });
    let failed = |id: &str| failing(id, "AssertionError", "assert Decimal('9.89') == Decimal('9.90')\n +  where");
    let mut now = 1.0;
    for (at, passed) in sample.attempts.into_iter().enumerate() {
        let takes = if at == 30 { 9.0 } else { 0.3 };
        let id = passed.test.to_string();
        let attempt = if at == 7 || at == 20 { failed(&id) } else { passed };
        story.attempt(now, now + takes, attempt);
        now += takes;
    }
    story.tell(now, Observation::SessionEnded { session: SessionId(0), left: vec![], why: None });
    let later = |id: &str, session, environment, purpose, outcome| {
        let attempt = if outcome == Outcome::Passed { attempt(id, outcome) } else { failed(id) };
        Attempt { session: SessionId(session), environment: EnvironmentId(environment), purpose, ..attempt }
    };
    let (a, b) = ("tests/test_shop.py::test_7", "tests/test_shop.py::test_20");
    story.attempt(now, now + 0.5, later(a, 1, 0, Purpose::AtEnd, Outcome::Passed));
    story.attempt(now + 0.5, now + 1.0, later(b, 1, 0, Purpose::AtEnd, Outcome::Failed));
    story.tell(now + 1.0, Observation::SessionEnded { session: SessionId(1), left: vec![], why: None });
    story.up(now + 2.0, 1, Isolation::Fork);
    story.attempt(now + 2.0, now + 2.5, later(b, 2, 1, Purpose::Fresh, Outcome::Failed));
    story.0.push((now + 3.0, Event::Ended(Totals::default())));
    story
}

/// Plays the events with ticks between them.
fn play(mut progress: Progress, story: &Story, every: f64) -> String {
    written(|out| {
        let mut now = 0.0;
        for (at, event) in &story.0 {
            while now < *at {
                progress.tick(now, out)?;
                now += every;
            }
            progress.event(*at, event, out)?;
        }
        Ok(())
    })
}

/// Every state of the screen in a line of its own.
fn screens(written: &str) -> String {
    written
        .replace("\x1b[K", "")
        .replace('\r', "\n")
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn in_a_log() {
    assert_snapshot!(play(Progress::plain(WIDE), &story(), 1.0));
}

#[test]
fn on_a_terminal() {
    assert_snapshot!(screens(&play(Progress::terminal(TerminalStyle { width: 70, ..WIDE }), &story(), 1.0)));
}

#[test]
fn on_a_narrow_terminal() {
    assert_snapshot!(screens(&play(Progress::terminal(NARROW), &story(), 2.0)));
}

#[test]
fn a_terminal_is_redrawn_ten_times_a_second_at_most() {
    let mut story = Story(Vec::new());
    let sample = Sample::new(0, "").passing(20_000);
    story.tell(0.0, Observation::Listed { tests: sample.tests, deselected: 0, isolated: false });
    for (at, attempt) in sample.attempts.into_iter().enumerate() {
        story.attempt(at as f64 / 10_000.0, (at + 1) as f64 / 10_000.0, attempt);
    }
    let drawn = play(Progress::terminal(WIDE), &story, 0.05).matches('\r').count();
    assert!((15..=21).contains(&drawn), "{drawn} times in 2 seconds");
}

#[test]
fn a_long_silence_is_explained_in_a_log() {
    let mut story = story();
    let id = TestId::new("tests/test_slow.py::test_all");
    story.0.truncate(4);
    let (session, purpose, environment) = (SessionId(0), Purpose::Suite, EnvironmentId(0));
    story.tell(1.0, Observation::Started { session, purpose, environment, test: id, run: 0 });
    story.0.push((100.0, Event::Ended(Totals::default())));
    assert_snapshot!(play(Progress::plain(WIDE), &story, 1.0));
}

#[test]
fn what_was_not_run_is_not_counted_as_done() {
    let mut story = story();
    story.0.truncate(4 + 10);
    let left = (5..40).map(|at| TestId::new(format!("tests/test_shop.py::test_{at}"))).collect();
    let why = Some("you stopped the run".to_owned());
    story.tell(40.0, Observation::SessionEnded { session: SessionId(0), left, why });
    story.tell(80.0, Observation::Note("on and on".into()));
    let told = play(Progress::plain(WIDE), &story, 1.0);
    assert!(told.contains("5/40") && !told.contains("40/40"), "{told}");
}

/// A test that passed at once, and is repeated in new environments to confirm the pass.
#[test]
fn a_test_whose_pass_is_confirmed_is_told_once() {
    let mut story = Story(Vec::new());
    let sample = Sample::new(0, "").passing(2);
    story.tell(0.0, Observation::Listed { tests: sample.tests, deselected: 0, isolated: false });
    let id = "tests/test_shop.py::test_1";
    let of = |session, environment, run, purpose, attempt: Attempt| Attempt {
        session: SessionId(session),
        environment: EnvironmentId(environment),
        run,
        purpose,
        ..attempt
    };
    let failed = || failing(id, "KeyError", "'vat'");
    let passed = || attempt(id, Outcome::Passed);
    story.attempt(1.0, 2.0, sample.attempts[0].clone());
    story.attempt(2.0, 3.0, failed());
    story.attempt(3.0, 4.0, of(0, 0, 1, Purpose::Suite, passed()));
    story.tell(4.0, Observation::SessionEnded { session: SessionId(0), left: vec![], why: None });
    for round in 1..4 {
        let at = 4.0 + 10.0 * f64::from(round);
        story.attempt(at, at + 1.0, of(round, round, 0, Purpose::Fresh, failed()));
        story.attempt(at + 1.0, at + 2.0, of(round, round, 1, Purpose::Fresh, passed()));
    }
    story.tell(80.0, Observation::Note("on and on".into()));
    assert_snapshot!(play(Progress::plain(WIDE), &story, 1.0));
}

#[test]
fn a_problem_is_shown_at_once() {
    let mut story = Story(vec![(0.0, Event::Began { command: vec!["pytest".into()] })]);
    story.tell(0.5, Observation::Problem(collection_error()));
    assert_snapshot!(play(Progress::plain(WIDE), &story, 1.0));
}
