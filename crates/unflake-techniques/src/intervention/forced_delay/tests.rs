//! Tests of `forced_delay`, with simulated tests.

use unflake_model::{Cause, Confidence, Detail, Factor, FactorDeclaration, FactorPhrase, declare_factors};

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

/// A test that fails when the thread `main.0` comes late to line 22 of `src/b.rs`, unless the test waits long enough.
fn needs_the_other_thread(setting: &str, wait: u32) -> Option<u32> {
    let delays: Vec<Delay<'_>> = setting.split(',').filter_map(delay).collect();
    let of = |line: u32, thread: &str| {
        delays.iter().filter(|delay| (delay.0, delay.1) == (line, thread)).map(|delay| delay.2).sum::<u32>()
    };
    (of(22, "main.0") > 100 + of(wait, "main")).then_some(9)
}

#[test]
fn the_wait_that_is_too_short_is_named() {
    let mut config = config((0, 12), &[]);
    let wait = |line: u32| SourceLine { file: "tests/a.rs".to_owned(), line, function: String::new() };
    config.waits = vec![wait(8), wait(5)];
    let found = run(config, &mut |setting| needs_the_other_thread(setting, 5));
    assert_eq!(place(&found[0]), ("tests/a.rs", 5));
    let Detail::Divergence(divergence) = &found[0].detail else { panic!("{found:?}") };
    assert_eq!(divergence.kind, Cause::AsyncWait);
    assert_eq!(found[0].confidence(), Some(Confidence::Proven));
    let expected = "this wait is too short: a delay of 250 ms of the thread main.0 at src/b.rs:22 makes the test fail, \
                    and waiting 500 ms longer here prevents that";
    assert!(found[0].sentence.contains(expected), "{}", found[0].sentence);
    let commands: Vec<_> = found[0].replays.iter().map(|replay| replay.under.options()).collect();
    let fails = "--schedule=src/b.rs:22#1@main.0=250";
    assert_eq!(commands, [[fails.to_owned()], [format!("{fails},tests/a.rs:5#1@main=500")]]);
}

#[test]
fn a_wait_that_changes_nothing_is_not_named() {
    let mut config = config((0, 12), &[]);
    config.waits = vec![SourceLine { file: "tests/a.rs".to_owned(), line: 8, function: String::new() }];
    let found = run(config, &mut |setting| needs_the_other_thread(setting, 5));
    assert_eq!(place(&found[0]), ("src/b.rs", 22));
}

#[test]
fn the_thread_of_the_test_is_not_that_of_its_harness() {
    let mut config = config((0, 12), &[]);
    let lines = (2..=6).map(|line| point("tests/a.rs", line, "main.0"));
    config.points = std::iter::once(point("tests/a.rs", 1, "main")).chain(lines).collect();
    config.points.extend((1..=40).map(|line| point("src/b.rs", line, "main.0.0")));
    let mut runs = 0;
    let found = run(config, &mut |setting| {
        runs += 1;
        (delay(setting)?.1 == "main.0" && delay(setting)?.0 == 3).then_some(6)
    });
    assert_eq!(place(&found[0]), ("tests/a.rs", 3));
    assert!(found[0].sentence.contains("the test fails when it is this much slower here"), "{}", found[0].sentence);
    assert!(runs < 40, "{runs}");
}
