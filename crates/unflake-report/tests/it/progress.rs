//! The progress lines of a run.

use insta::assert_snapshot;
use unflake_model::{
    Attempt, EnvironmentFacts, EnvironmentId, Event, Isolation, Outcome, Purpose, SessionId, TestId, Totals,
};
use unflake_report::{Progress, TerminalStyle};

use crate::samples::*;

/// A sequence of events with their times in seconds.
struct EventScript(Vec<(f64, Event)>);

impl EventScript {
    fn observe(&mut self, now: f64, event: Event) {
        self.0.push((now, event));
    }

    fn up(&mut self, now: f64, id: u32, origin: Isolation) {
        let environment = EnvironmentFacts {
            id: EnvironmentId(id),
            origin,
            parent: None,
            runner: "pytest 8.3.4".into(),
            language: "CPython 3.11.7".into(),
            installed: None,
        };
        self.observe(now, Event::EnvironmentStarted(environment));
    }

    fn attempt(&mut self, from: f64, to: f64, attempt: Attempt) {
        let (session, purpose, environment) = (attempt.session, attempt.purpose, attempt.environment);
        let test = attempt.test.clone();
        self.observe(from, Event::AttemptStarted { session, purpose, environment, test, run: attempt.run });
        self.observe(to, Event::AttemptEnded(attempt));
    }
}

/// 40 tests in 20 seconds: one slow, two failing, of which one passes at the end.
fn script() -> EventScript {
    let mut script = EventScript(vec![(0.0, Event::RunStarted { command: vec!["pytest".into(), "tests/".into()] })]);
    script.up(0.4, 0, Isolation::Process);
    let sample = Sample::new(0, "").passing(40);
    script.observe(0.9, Event::TestsListed { tests: sample.tests, deselected: 0, isolated: false, seconds: 0.0 });
    let failed = |id: &str| failing(id, "AssertionError", "assert Decimal('9.89') == Decimal('9.90')\n +  where");
    let mut now = 1.0;
    for (at, passed) in sample.attempts.into_iter().enumerate() {
        let takes = if at == 30 { 9.0 } else { 0.3 };
        let id = passed.test.to_string();
        let attempt = if at == 7 || at == 20 { failed(&id) } else { passed };
        script.attempt(now, now + takes, attempt);
        now += takes;
    }
    script.observe(now, Event::SessionEnded { session: SessionId(0), left: vec![], why: None });
    let later = |id: &str, session, environment, purpose, outcome| {
        let attempt = if outcome == Outcome::Passed { attempt(id, outcome) } else { failed(id) };
        Attempt { session: SessionId(session), environment: EnvironmentId(environment), purpose, ..attempt }
    };
    let (a, b) = ("tests/test_shop.py::test_7", "tests/test_shop.py::test_20");
    script.attempt(now, now + 0.5, later(a, 1, 0, Purpose::AtEnd, Outcome::Passed));
    script.attempt(now + 0.5, now + 1.0, later(b, 1, 0, Purpose::AtEnd, Outcome::Failed));
    script.observe(now + 1.0, Event::SessionEnded { session: SessionId(1), left: vec![], why: None });
    script.up(now + 2.0, 1, Isolation::Fork);
    script.attempt(now + 2.0, now + 2.5, later(b, 2, 1, Purpose::Fresh, Outcome::Failed));
    script.0.push((now + 3.0, Event::RunEnded(Totals::default())));
    script
}

/// Plays the events with ticks between them.
fn play(mut progress: Progress, script: &EventScript, every: f64) -> String {
    written(|out| {
        let mut now = 0.0;
        for (at, event) in &script.0 {
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
    assert_snapshot!(play(Progress::plain(WIDE), &script(), 1.0));
}

#[test]
fn on_a_terminal() {
    assert_snapshot!(screens(&play(Progress::terminal(TerminalStyle { width: 70, ..WIDE }), &script(), 1.0)));
}

#[test]
fn on_a_narrow_terminal() {
    assert_snapshot!(screens(&play(Progress::terminal(NARROW), &script(), 2.0)));
}

#[test]
fn a_terminal_is_redrawn_ten_times_a_second_at_most() {
    let mut script = EventScript(Vec::new());
    let sample = Sample::new(0, "").passing(20_000);
    script.observe(0.0, Event::TestsListed { tests: sample.tests, deselected: 0, isolated: false, seconds: 0.0 });
    for (at, attempt) in sample.attempts.into_iter().enumerate() {
        script.attempt(at as f64 / 10_000.0, (at + 1) as f64 / 10_000.0, attempt);
    }
    let drawn = play(Progress::terminal(WIDE), &script, 0.05).matches('\r').count();
    assert!((15..=21).contains(&drawn), "{drawn} times in 2 seconds");
}

#[test]
fn a_terminal_keeps_few_of_many_failures() {
    let mut script = EventScript(Vec::new());
    for at in 0..300 {
        script.attempt(f64::from(at), f64::from(at) + 0.5, failing(&format!("t.py::a[{at}]"), "Error", "x"));
    }
    let failures = |progress| play(progress, &script, 1000.0).matches("✗").count();
    assert_eq!(failures(Progress::terminal(WIDE)), 26, "25 failures and a line on the others");
    assert_eq!(failures(Progress::plain(WIDE)), 300);
}

#[test]
fn a_slow_test_is_named_in_a_log() {
    let mut script = script();
    let id = TestId::new("tests/test_slow.py::test_all");
    script.0.truncate(4);
    let (session, purpose, environment) = (SessionId(0), Purpose::Suite, EnvironmentId(0));
    script.observe(1.0, Event::AttemptStarted { session, purpose, environment, test: id, run: 0 });
    script.0.push((100.0, Event::RunEnded(Totals::default())));
    assert_snapshot!(play(Progress::plain(WIDE), &script, 1.0));
}

#[test]
fn tests_not_run_are_not_counted_as_done() {
    let mut script = script();
    script.0.truncate(4 + 10);
    let left = (5..40).map(|at| TestId::new(format!("tests/test_shop.py::test_{at}"))).collect();
    let why = Some("interrupted".to_owned());
    script.observe(40.0, Event::SessionEnded { session: SessionId(0), left, why });
    script.observe(80.0, Event::Note("on and on".into()));
    let log = play(Progress::plain(WIDE), &script, 1.0);
    assert!(log.contains("5/40") && !log.contains("40/40"), "{log}");
}

/// A test that passed at once, and is repeated in new environments to confirm the pass.
#[test]
fn a_confirmed_pass_is_shown_once() {
    let mut script = EventScript(Vec::new());
    let sample = Sample::new(0, "").passing(2);
    script.observe(0.0, Event::TestsListed { tests: sample.tests, deselected: 0, isolated: false, seconds: 0.0 });
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
    script.attempt(1.0, 2.0, sample.attempts[0].clone());
    script.attempt(2.0, 3.0, failed());
    script.attempt(3.0, 4.0, of(0, 0, 1, Purpose::Suite, passed()));
    script.observe(4.0, Event::SessionEnded { session: SessionId(0), left: vec![], why: None });
    for round in 1..4 {
        let at = 4.0 + 10.0 * f64::from(round);
        script.attempt(at, at + 1.0, of(round, round, 0, Purpose::Fresh, failed()));
        script.attempt(at + 1.0, at + 2.0, of(round, round, 1, Purpose::Fresh, passed()));
    }
    script.observe(80.0, Event::Note("on and on".into()));
    assert_snapshot!(play(Progress::plain(WIDE), &script, 1.0));
}

#[test]
fn a_problem_is_shown_at_once() {
    let mut script = EventScript(vec![(0.0, Event::RunStarted { command: vec!["pytest".into()] })]);
    script.observe(0.5, Event::Problem(collection_error()));
    assert_snapshot!(play(Progress::plain(WIDE), &script, 1.0));
}
