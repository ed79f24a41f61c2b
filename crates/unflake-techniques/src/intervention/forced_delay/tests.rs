//! Tests of `forced_delay`, with simulated tests.

use unflake_model::{Confidence, Factor, FactorDeclaration, FactorPhrase, declare_factors};

use super::*;
use crate::simulation::{attempt, ended, failure, listed};

static SCHEDULE: FactorDeclaration = FactorDeclaration {
    name: "schedule",
    title: "schedule",
    phrase: FactorPhrase::When(|setting, _| format!("when delayed at {setting}")),
    ..FactorDeclaration::EMPTY
};

fn point(file: &str, line: u32, thread: &str) -> DelayPoint {
    let line = SourceLine { file: file.to_owned(), line, function: String::new() };
    DelayPoint { line, thread: thread.to_owned(), times: 1, reads_clock: false, sleeps: true }
}

fn failure_at(line: u32) -> Failure {
    Failure { file: Some("tests/a.rs".to_owned()), line: Some(line), ..failure("panic") }
}

/// A delay of one setting: its line, thread and milliseconds. None: the control.
fn delay(setting: &str) -> Option<Delay<'_>> {
    let (place, milliseconds) = setting.rsplit_once('=')?;
    let (place, thread) = place.split_once("#1@")?;
    Some((place.rsplit_once(':')?.1.parse().ok()?, thread, milliseconds.parse().ok()?))
}

/// The line, the thread and the milliseconds of a delay.
type Delay<'a> = (u32, &'a str, u32);

/// Runs an intervention. `fails`: the line of the failure, by the delay.
fn tried(alone: (u32, u32), seen: &[u32], fails: &mut dyn FnMut(Option<Delay<'_>>) -> Option<u32>) -> Vec<Finding> {
    run(config(alone, seen), &mut |setting| fails(delay(setting)))
}

fn config(alone: (u32, u32), seen: &[u32]) -> DelayInterventionConfig {
    declare_factors([&SCHEDULE]);
    let main = (1..=9).map(|line| point("tests/a.rs", line, "main"));
    let other = (21..=24).map(|line| point("src/b.rs", line, "main.0"));
    DelayInterventionConfig {
        test: "t".into(),
        points: main.chain(other).collect(),
        waits: Vec::new(),
        kind: FactorKind::named("schedule").unwrap(),
        failures: seen.iter().map(|line| failure_at(*line)).collect(),
        alone,
        names_threads: true,
        fresh_by: Isolation::Process,
        seconds: 1e6,
    }
}

/// `fails`: the line of the failure, by the setting of the schedule.
fn run(config: DelayInterventionConfig, fails: &mut dyn FnMut(&str) -> Option<u32>) -> Vec<Finding> {
    let mut intervention = DelayIntervention::new(config);
    intervention.observe(&listed(&["t"], false), Recordings::EMPTY);
    loop {
        let sessions = intervention.next_sessions(Recordings::EMPTY);
        if sessions.is_empty() {
            return intervention.findings(Recordings::EMPTY);
        }
        for session in sessions {
            let world = session.under.clone().unwrap_or_default();
            let line = fails(world.factors.first().map(Factor::setting).unwrap_or_default());
            let outcome = if line.is_some() { Outcome::Failed } else { Outcome::Passed };
            let mut ran = attempt(&session, &"t".into(), outcome);
            ran.failure = line.map(failure_at);
            intervention.observe(&Event::AttemptEnded(ran), Recordings::EMPTY);
            intervention.observe(&ended(&session), Recordings::EMPTY);
        }
    }
}

fn place(finding: &Finding) -> (&str, u32) {
    let Detail::Divergence(divergence) = &finding.detail else { panic!("{finding:?}") };
    let start = &divergence.locations[0].line;
    (&start.file, start.line)
}

#[test]
fn the_last_line_at_which_the_test_may_be_late_is_named_with_the_first_one() {
    let found = tried((0, 12), &[], &mut |delay| {
        let (line, thread, milliseconds) = delay?;
        (thread == "main" && (4..=7).contains(&line) && milliseconds > 100).then_some(8)
    });
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert_eq!(place(finding), ("tests/a.rs", 7));
    assert_eq!(finding.confidence(), Some(Confidence::Proven));
    // Half of 250 is enough to fail, so 250 surely is.
    let expected = "starts at tests/a.rs:7: the test fails when it is this much slower here: a delay of 250 ms of the \
                    thread main makes it fail, like one anywhere since line 4";
    assert_eq!(finding.sentence, expected);
    assert_eq!(finding.replays[0].under.options(), ["--schedule=tests/a.rs:7#1@main=250"]);
}

#[test]
fn another_thread_whose_delay_decides_is_named() {
    let found = tried((0, 12), &[], &mut |delay| (delay?.1 == "main.0" && delay?.0 == 22).then_some(9));
    assert_eq!(place(&found[0]), ("src/b.rs", 22));
    assert!(found[0].sentence.contains("it matters when this thread comes here"), "{}", found[0].sentence);
}

#[test]
fn a_test_that_fails_as_it_is_must_pass_every_time_when_another_line_is_delayed() {
    // Alone every second run fails, whatever is delayed in other places.
    let mut runs = 0;
    let mut chance = move || {
        runs += 1;
        runs % 2 == 0
    };
    let found = tried((6, 12), &[9], &mut |delay| match delay {
        Some((22, "main.0", _)) => Some(9),
        Some((8, "main", _)) => None,
        _ => chance().then_some(9),
    });
    assert_eq!(place(&found[0]), ("src/b.rs", 22));
    assert_eq!(found[0].replays[1].under.options()[0].split('#').next(), Some("--schedule=tests/a.rs:8"));
    assert!(found[0].sentence.ends_with("as it is, it fails 6 of 12 runs"), "{}", found[0].sentence);
}

#[test]
fn chance_is_not_taken_for_a_delay_that_decides() {
    let mut runs = 0;
    let mut chance = move || {
        runs += 1;
        runs % 3 == 0
    };
    assert_eq!(tried((4, 12), &[9], &mut |_| chance().then_some(9)), []);
}

#[test]
fn another_failure_than_the_one_that_was_seen_proves_nothing() {
    assert_eq!(tried((1, 40), &[9], &mut |delay| (delay?.0 == 5).then_some(6)), []);
}

#[test]
fn a_line_in_a_loop_is_delayed_each_time() {
    let mut config = config((0, 12), &[]);
    config.points[10].times = 10;
    // The first time a delay does no harm.
    let found = run(config, &mut |setting| setting.starts_with("src/b.rs:22@main.0=").then_some(9));
    assert_eq!(place(&found[0]), ("src/b.rs", 22));
    assert!(found[0].sentence.contains("a delay of 50 ms each time of the thread main.0"), "{}", found[0].sentence);
}

#[test]
fn nothing_is_claimed_of_a_test_that_always_fails() {
    assert_eq!(tried((5, 5), &[9], &mut |_| Some(9)), []);
}

#[test]
fn a_longer_delay_is_tried_where_a_short_one_changes_nothing() {
    let found = tried((0, 12), &[], &mut |delay| (delay?.0 == 3 && delay?.2 > 1500).then_some(8));
    assert_eq!(place(&found[0]), ("tests/a.rs", 3));
    assert!(found[0].sentence.contains("a delay of 2000 ms"), "{}", found[0].sentence);
}
