//! Tests of `forced_wait`.

use super::*;
use crate::simulation::{attempt, ended, failure, listed};
use unflake_model::{Confidence, FactorDeclaration, declare_factors};

static FORCE: FactorDeclaration =
    FactorDeclaration { name: "forced-value", title: "forced value", ..FactorDeclaration::EMPTY };
static LOAD: FactorDeclaration = FactorDeclaration { name: "load", title: "CPU load", ..FactorDeclaration::EMPTY };

fn line(line: u32) -> SourceLine {
    SourceLine { file: "a.py".into(), line, function: "test".into() }
}

fn at(line: u32) -> Failure {
    Failure { file: Some("a.py".into()), line: Some(line), ..failure("AssertionError") }
}

/// `fails`: by the options of the world and the number of the run, the failing line.
fn tried(fails: &mut dyn FnMut(&str, u32) -> Option<u32>) -> (Vec<Finding>, u32) {
    tried_where(None, fails)
}

fn tried_where(passing: Option<PassingWorld>, fails: &mut dyn FnMut(&str, u32) -> Option<u32>) -> (Vec<Finding>, u32) {
    declare_factors([&FORCE, &LOAD]);
    let mut intervention = WaitIntervention::new(WaitInterventionConfig {
        test: "t".into(),
        waits: vec![line(3), line(7)],
        kind: FactorKind::named("forced-value").unwrap(),
        failures: vec![at(8)],
        disturbed: vec![vec![FactorKind::named("load").unwrap().set("10").unwrap()]],
        passing,
        fresh_by: Isolation::Fork,
        seconds: 1e6,
    });
    intervention.observe(&listed(&["t"], false), Recordings::EMPTY);
    let mut runs = 0;
    loop {
        let sessions = intervention.next_sessions(Recordings::EMPTY);
        if sessions.is_empty() {
            return (intervention.findings(Recordings::EMPTY), runs);
        }
        for session in sessions {
            runs += 1;
            let options = session.under.clone().map_or(String::new(), |world| world.options().join(" "));
            let mut made = attempt(&session, &"t".into(), Outcome::Passed);
            if let Some(line) = fails(&options, runs) {
                (made.outcome, made.failure) = (Outcome::Failed, Some(at(line)));
            }
            intervention.observe(&Event::AttemptEnded(made), Recordings::EMPTY);
            intervention.observe(&ended(&session), Recordings::EMPTY);
        }
    }
}

#[test]
fn a_wait_that_is_too_short_is_proven() {
    let (found, _) = tried(&mut |options, run| {
        let fails = match options {
            "" => run % 3 == 0,
            "--forced-value=a.py:7:wait()=0" => true,
            "--forced-value=a.py:7:wait()=+1" => false,
            _ => run % 3 == 0,
        };
        fails.then_some(8)
    });
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert_eq!(finding.confidence(), Some(Confidence::Proven));
    let Detail::Divergence(divergence) = &finding.detail else { panic!() };
    assert_eq!(divergence.kind, Cause::AsyncWait);
    assert_eq!(divergence.locations[0].line, line(7));
    assert_eq!(
        divergence.locations[0].sentence,
        "the wait is sometimes too short: without it the test fails, a second longer it passes; as it is, it fails 6 \
         of 20 runs"
    );
    let proof = divergence.proof.as_ref().unwrap();
    assert_eq!((proof.failed, proof.passed), (5, 13), "as many as chance alone rarely gives");
    assert_eq!(finding.replays[0].under.options(), ["--forced-value=a.py:7:wait()=0"]);
}

#[test]
fn a_wait_that_is_too_long_is_proven_on_a_busy_machine() {
    let (found, _) = tried(&mut |options, run| match options {
        "--load=10" => (run % 2 == 0).then_some(8),
        "--load=10 --forced-value=a.py:3:wait()=+1" => Some(8),
        _ => None,
    });
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert!(finding.sentence.contains("too long"), "{}", finding.sentence);
    assert!(finding.sentence.ends_with("it fails 10 of 20 runs with --load=10"), "{}", finding.sentence);
}

#[test]
fn each_failing_line_has_its_own_wait() {
    // Lines 4 and 8 fail, each after its own wait, and neither wait prevents the other failure.
    let (found, _) = tried(&mut |options, run| match options {
        "--forced-value=a.py:7:wait()=0" => Some(8),
        "--forced-value=a.py:7:wait()=+1" => (run % 3 == 0).then_some(4),
        _ => [Some(4), Some(8), None][run as usize % 3],
    });
    let [finding] = &found[..] else { panic!("{found:?}") };
    let Detail::Divergence(divergence) = &finding.detail else { panic!() };
    assert_eq!(divergence.locations[0].line, line(7));
    assert_eq!(divergence.shows.as_ref().map(|shows| shows.line), Some(8));
}

#[test]
fn a_failure_at_another_line_proves_nothing() {
    let (found, _) = tried(&mut |options, run| match options {
        "" => (run % 3 == 0).then_some(8),
        _ => options.ends_with("wait()=0").then_some(9),
    });
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn waits_of_a_test_that_does_not_fail_are_not_forced() {
    let (found, runs) = tried(&mut |options, _| options.ends_with("wait()=0").then_some(8));
    assert_eq!((found.len(), runs), (0, 2 * FEW));
}

fn passing_under(load: &str) -> PassingWorld {
    declare_factors([&FORCE, &LOAD]);
    let load_of = |load: &str| vec![FactorKind::named("load").unwrap().set(load).unwrap()];
    let failing = vec![Vec::new(), load_of("10")];
    PassingWorld { factors: load_of(load), failures: vec![at(8)], failing, alone: (1, 6) }
}

#[test]
fn where_a_world_makes_it_pass_a_wait_is_forced_there() {
    let (found, runs) = tried_where(Some(passing_under("1")), &mut |options, run| {
        let fails = match options {
            "--load=1 --forced-value=a.py:7:wait()=0" | "--load=10" => true,
            "" => run % 6 == 0,
            _ => false,
        };
        fails.then_some(8)
    });
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert_eq!(finding.confidence(), Some(Confidence::Proven));
    let end = "with --load=1 the test fails without it and passes as it is; without --load=1, it fails 1 of 6 runs; \
               with --load=10, it fails 8 of 8 runs, and a second longer it passes 5 of 5";
    assert!(finding.sentence.ends_with(end), "{}", finding.sentence);
    assert!(runs <= 10 + 8 + 8 + 5, "{runs} runs");
}

#[test]
fn a_wait_that_a_test_needs_is_not_why_it_fails() {
    // Without either wait it fails, and only the length of the first one is ever too short.
    let (found, _) = tried_where(Some(passing_under("1")), &mut |options, _| {
        let fails = match options {
            "--load=1 --forced-value=a.py:7:wait()=0" | "--load=1 --forced-value=a.py:3:wait()=0" => true,
            "--load=10 --forced-value=a.py:3:wait()=+1" => false,
            _ => options.starts_with("--load=10"),
        };
        fails.then_some(8)
    });
    let [finding] = &found[..] else { panic!("{found:?}") };
    let Detail::Divergence(divergence) = &finding.detail else { panic!() };
    assert_eq!(divergence.locations[0].line, line(3), "the wait at line 7 is nearer, and does not help");
}

#[test]
fn a_wait_is_not_proven_where_nothing_makes_the_test_fail() {
    let (found, _) = tried_where(Some(passing_under("1")), &mut |options, _| {
        options.ends_with("--load=1 --forced-value=a.py:7:wait()=0").then_some(8)
    });
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert_eq!(finding.confidence(), Some(Confidence::Possible));
    assert!(finding.sentence.contains("may be too short"), "{}", finding.sentence);
}
