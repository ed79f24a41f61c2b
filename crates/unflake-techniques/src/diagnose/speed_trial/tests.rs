//! Tests of `speed_trial`, with simulated tests that rely on the speed of the machine.

use unflake_model::{Confidence, FactorDeclaration, Placement, declare_factors};

use super::*;
use crate::simulation::{attempt, ended, failure, listed};

static SPEED: FactorDeclaration = FactorDeclaration { name: "speed", title: "clock speed", ..FactorDeclaration::EMPTY };

fn at(line: u32) -> Failure {
    Failure { file: Some("a.py".into()), line: Some(line), ..failure("AssertionError") }
}

/// `fails`: by the speed and the number of the run, the failure.
fn tried(alone: &[Option<u32>], fails: &mut dyn FnMut(f64, u32) -> Option<Failure>) -> (Vec<Finding>, u32) {
    declare_factors([&SPEED]);
    let failures: Vec<Failure> = alone.iter().flatten().map(|line| at(*line)).collect();
    let count = FailureCount::new(failures.len() as u32, alone.len() as u32);
    let alone = PlainRuns { count, failures, seconds: Some(0.1) };
    let mut trial = SpeedTrial::new("t".into(), FactorKind::named("speed").unwrap(), alone, Isolation::Fork, 100.0);
    trial.observe(&listed(&["t"], false), Recordings::EMPTY);
    let (mut runs, mut processes) = (0, 0);
    loop {
        let sessions = trial.next_sessions(Recordings::EMPTY);
        if sessions.is_empty() {
            let found = trial.findings(Recordings::EMPTY);
            assert!(found.is_empty() || processes >= TIMES, "forks share a hash seed");
            return (found, runs);
        }
        for session in sessions {
            runs += 1;
            processes += u32::from(session.place == Placement::Fresh(Isolation::Process));
            let speed = session.under.as_ref().map_or(1.0, |world| world.factors[0].setting().parse().unwrap());
            let mut made = attempt(&session, &"t".into(), Outcome::Passed);
            if let Some(failure) = fails(speed, runs) {
                (made.outcome, made.failure) = (Outcome::Failed, Some(failure));
            }
            trial.observe(&Event::AttemptEnded(made), Recordings::EMPTY);
            trial.observe(&ended(&session), Recordings::EMPTY);
        }
    }
}

#[test]
fn a_limit_that_a_slow_machine_exceeds_is_proven_at_its_line() {
    let (found, runs) = tried(&[None, Some(40), None], &mut |speed, _| (speed > 5.0).then(|| at(40)));
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert_eq!(finding.confidence(), Some(Confidence::Proven));
    let Detail::Divergence(divergence) = &finding.detail else { panic!() };
    assert_eq!((divergence.kind, divergence.locations[0].line.line), (Cause::Time, 40));
    let options: Vec<Vec<String>> = finding.replays.iter().map(|replay| replay.under.options()).collect();
    assert_eq!(options, [["--speed=10"], ["--speed=0.1"]]);
    assert_eq!(runs, 2 * (SCREENED + TIMES));
}

#[test]
fn a_test_that_needs_a_slow_machine_is_proven_too() {
    let (found, _) = tried(&[Some(7), None], &mut |speed, _| (speed < 5.0).then(|| at(7)));
    assert!(found[0].sentence.contains("slow enough"), "{}", found[0].sentence);
}

#[test]
fn chance_is_not_blamed_on_the_speed() {
    let (found, runs) = tried(&[None, Some(40)], &mut |_, run| run.is_multiple_of(2).then(|| at(40)));
    assert_eq!((found.len(), runs), (0, 4), "two speeds");
}

#[test]
fn a_test_that_fails_at_every_speed_costs_few_runs() {
    let (found, runs) = tried(&[Some(40); 6], &mut |_, _| Some(at(40)));
    assert_eq!((found.len(), runs), (0, 2), "two speeds");
}

#[test]
fn another_failure_proves_nothing() {
    let other = || Failure { file: Some("b.py".into()), line: Some(3), ..failure("TimeoutError") };
    let (found, _) = tried(&[None, Some(40)], &mut |speed, _| (speed > 5.0).then(other));
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn of_a_test_that_never_failed_it_is_not_proven() {
    let (found, _) = tried(&[None; 6], &mut |speed, _| (speed > 5.0).then(|| at(40)));
    assert_eq!(found[0].confidence(), Some(Confidence::Likely));
    let (found, _) = tried(&[None; 6], &mut |speed, _| (speed > 50.0).then(|| at(40)));
    assert_eq!(found[0].confidence(), Some(Confidence::Possible), "a hundred times as fast is far from the truth");
}

#[test]
fn a_test_that_no_speed_makes_fail_is_compared_with_slow_clocks() {
    // Waits of both sides are shorter where clocks run faster.
    let (often, seldom) = ([Some(40), Some(40), Some(40), Some(40), Some(40), None], [Some(40), None, None]);
    let (found, _) = tried(&often, &mut |_, _| None);
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert_eq!(finding.confidence(), Some(Confidence::Likely));
    assert!(finding.sentence.contains("when clocks run 0.1 times as fast"), "{}", finding.sentence);
    let (found, _) = tried(&seldom, &mut |_, _| None);
    assert!(found.is_empty(), "chance passes as often: {found:?}");
}

#[test]
fn a_test_that_always_fails_and_passes_with_slow_clocks_is_proven() {
    let (found, runs) = tried(&[Some(40); 6], &mut |speed, _| (speed == 1.0).then(|| at(40)));
    assert_eq!(found[0].confidence(), Some(Confidence::Proven));
    assert_eq!(runs, SCREENED + 2 * TIMES);
    let (found, _) = tried(&[Some(40); 6], &mut |_, _| None);
    assert!(found.is_empty(), "new processes pass as it is, so forks shared what decides: {found:?}");
}
