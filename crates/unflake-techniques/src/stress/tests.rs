//! Tests of stress: which tests run how often, and which outcomes are findings.

use unflake_model::{Privacy, Problem, Timestamp};

use super::*;
use crate::simulation::{attempt, listed};

fn stress(tests: &[&str], seconds: f64, times: Option<u32>) -> Stress {
    stress_with(tests, StressConfig { seconds, times, ..config() })
}

pub(super) fn config() -> StressConfig {
    let (fresh_by, earlier) = (Isolation::Fork, HashMap::new());
    StressConfig { seconds: 60.0, times: None, copies: 3, fresh_by, threads: 1, earlier, seed: 1 }
}

fn stress_with(tests: &[&str], config: StressConfig) -> Stress {
    let mut stress = Stress::new(config);
    stress.observe(&listed(tests, true), Recordings::EMPTY);
    stress
}

/// Runs the sessions; every attempt takes a second, three at a time.
fn run_stress(stress: &mut Stress, mut outcome: impl FnMut(&str, u32) -> Outcome) -> Vec<String> {
    let mut times: HashMap<TestId, u32> = HashMap::new();
    let mut rounds = Vec::new();
    let mut clock = 0;
    loop {
        let sessions = stress.next_sessions(Recordings::EMPTY);
        if sessions.is_empty() {
            return rounds;
        }
        rounds.push(sessions.iter().map(|session| session.tests[0].as_str()).collect::<Vec<_>>().join(" "));
        for (at, session) in sessions.iter().enumerate() {
            let test = session.tests[0].clone();
            let time = times.entry(test.clone()).or_default();
            *time += 1;
            let outcome = outcome(test.as_str(), *time);
            let started = Timestamp(clock + at as i64 / 3 * 1_000_000);
            let attempt = Attempt { started, seconds: 1.0, ..attempt(session, &test, outcome) };
            stress.observe(&Event::AttemptEnded(attempt), Recordings::EMPTY);
        }
        clock += sessions.len().div_ceil(3) as i64 * 1_000_000;
    }
}

#[test]
fn a_failed_test_stops_and_the_others_continue() {
    let mut stress = stress(&["a", "b"], 6.0, None);
    let rounds = run_stress(&mut stress, |test, time| match (test, time) {
        ("a", 2) => Outcome::Failed,
        _ => Outcome::Passed,
    });
    assert_eq!(rounds, ["a b", "a a a", "b b b", "b b b", "b b b", "b b b"]);
    let findings = stress.findings(Recordings::EMPTY);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].sentence, "random: failed in 1 of 4 runs under stress, first in run 2");
    assert_eq!(findings[0].verdict().unwrap().kind, VerdictKind::FlakyIndependent);
}

#[test]
fn the_time_that_listing_took_is_part_of_the_budget() {
    let config = StressConfig { seconds: 6.0, ..config() };
    let mut stress = Stress::new(config);
    let Event::TestsListed { tests, deselected, isolated, .. } = listed(&["a"], true) else { unreachable!() };
    stress.observe(&Event::TestsListed { tests, deselected, isolated, seconds: 4.5 }, Recordings::EMPTY);
    let rounds = run_stress(&mut stress, |_, _| Outcome::Passed);
    assert_eq!(rounds.len(), 2, "each takes a second: {rounds:?}");
}

#[test]
fn a_test_that_always_fails_is_real() {
    let mut stress = stress(&["a"], 60.0, None);
    run_stress(&mut stress, |_, _| Outcome::Failed);
    assert_eq!(stress.findings(Recordings::EMPTY)[0].verdict().unwrap().kind, VerdictKind::Real);
    assert_eq!(stress.findings(Recordings::EMPTY)[0].sentence, "failed in 4 of 4 runs under stress");
}

/// Runs sessions in worlds where `private` is private; the outcome depends on whether a session is alone.
fn run_in_worlds(stress: &mut Stress, private: Privacy, fails: impl Fn(bool) -> bool) -> usize {
    let world = World { private, ..World::default() };
    stress.observe(&Event::WorldEntered(world.clone()), Recordings::EMPTY);
    let mut alone = 0;
    for _ in 0..20 {
        let sessions = stress.next_sessions(Recordings::EMPTY);
        for session in &sessions {
            alone += usize::from(!session.private);
            assert!(session.private || sessions.len() == 1, "nothing runs beside it");
            let outcome = if fails(session.private) { Outcome::Failed } else { Outcome::Passed };
            let world = session.private.then(|| world.id());
            let attempt = Attempt { world, ..attempt(session, &session.tests[0], outcome) };
            stress.observe(&Event::AttemptEnded(attempt), Recordings::EMPTY);
        }
    }
    alone
}

#[test]
fn what_fails_in_every_private_world_and_passes_alone_is_no_finding() {
    let mut stress = stress(&["a"], 600.0, None);
    assert_eq!(run_in_worlds(&mut stress, Privacy::all(), |private| private), 1);
    assert!(stress.findings(Recordings::EMPTY).is_empty());
}

#[test]
fn what_fails_beside_copies_only_says_what_they_share() {
    let mut stress = stress(&["a"], 600.0, None);
    let private = Privacy::all().without(PrivatePart::Network);
    assert_eq!(run_in_worlds(&mut stress, private, |private| private), 4);
    let finding = stress.findings(Recordings::EMPTY).remove(0);
    let expected = "fails when two run at once: failed in 7 of 7 runs in parallel with copies and in 0 of 3 alone; \
                    copies share ports";
    assert_eq!(finding.sentence, expected);
    assert_eq!(finding.replays[0].copies, 4, "alone it passes");
    assert_eq!(stress.recording.len(), 1, "the files that it writes are recorded once");
}

#[test]
fn a_finding_names_the_files_that_copies_write() {
    let mut stress = stress(&["a"], 600.0, None);
    run_in_worlds(&mut stress, Privacy::default(), |private| private);
    let session = *stress.recording.keys().next().unwrap();
    let written = ["b", "a", "c", "d"].map(str::to_owned).into();
    let on = Box::new(unflake_model::Dependencies { written, ..Default::default() });
    stress.observe(&Event::DependenciesRecorded { session, test: "a".into(), on }, Recordings::EMPTY);
    let sentence = stress.findings(Recordings::EMPTY).remove(0).sentence;
    assert!(sentence.ends_with("host name; each writes a, b, c and 1 more"), "{sentence}");
}

#[test]
fn what_fails_alone_too_is_real() {
    let mut stress = stress(&["a"], 600.0, None);
    assert_eq!(run_in_worlds(&mut stress, Privacy::default(), |_| true), 1);
    assert_eq!(stress.findings(Recordings::EMPTY)[0].verdict().unwrap().kind, VerdictKind::Real);
}

/// Quick tests promise more failures in a second, and would use up the budget.
#[test]
fn what_failed_in_its_only_run_comes_first_however_long_it_takes() {
    let mut stress = stress(&["quick", "slow"], 600.0, None);
    let first = stress.next_sessions(Recordings::EMPTY);
    for session in &first {
        let test = session.tests[0].clone();
        let is_slow = test.as_str() == "slow";
        let (outcome, seconds) = if is_slow { (Outcome::Failed, 50.0) } else { (Outcome::Passed, 0.01) };
        stress
            .observe(&Event::AttemptEnded(Attempt { seconds, ..attempt(session, &test, outcome) }), Recordings::EMPTY);
    }
    let next = stress.next_sessions(Recordings::EMPTY);
    assert_eq!(next.iter().map(|session| session.tests[0].as_str()).collect::<Vec<_>>(), ["slow"; 3]);
    assert!(next.iter().all(|session| session.private));
}

#[test]
fn nothing_runs_after_results_were_lost() {
    let mut stress = stress(&["a"], 600.0, Some(4));
    assert_eq!(stress.next_sessions(Recordings::EMPTY).len(), 1);
    let problem = Problem { kind: ProblemKind::Protocol, place: None, text: "it could not be started".to_owned() };
    stress.observe(&Event::Problem(problem), Recordings::EMPTY);
    assert!(stress.next_sessions(Recordings::EMPTY).is_empty());
}

#[test]
fn what_fails_only_while_the_machine_is_busy_is_not_decided() {
    let verdict = |loads: [f64; 2]| {
        let mut stress = stress(&["a"], 600.0, None);
        for _ in 0..20 {
            for session in stress.next_sessions(Recordings::EMPTY) {
                let load = Some(loads[usize::from(!session.private)]);
                let attempt = Attempt { load, ..attempt(&session, &session.tests[0], Outcome::Failed) };
                stress.observe(&Event::AttemptEnded(attempt), Recordings::EMPTY);
            }
        }
        let finding = stress.findings(Recordings::EMPTY).remove(0);
        (finding.verdict().unwrap().kind, finding.sentence)
    };
    let busy =
        "failed in 4 of 4 runs under stress; the machine was busy whenever it failed (load of 3.5 per core or more)";
    assert_eq!(verdict([12.0, 3.5]), (VerdictKind::NotDecided, busy.to_owned()));
    assert_eq!(verdict([12.0, 0.5]), (VerdictKind::Real, "failed in 4 of 4 runs under stress".to_owned()));
}

#[test]
fn one_failure_decides_nothing() {
    let mut stress = stress(&["a"], 60.0, Some(1));
    run_stress(&mut stress, |_, _| Outcome::Failed);
    let findings = stress.findings(Recordings::EMPTY);
    assert_eq!(findings[0].verdict().unwrap().kind, VerdictKind::NotDecided);
    assert_eq!(findings[0].sentence, "failed in its only run");
}

#[test]
fn every_test_runs_once_first_and_then_the_most_promising_come_first() {
    let earlier = HashMap::from([(TestId::from("failed before"), (4, 9))]);
    let mut stress =
        stress_with(&["slow", "quick", "failed before"], StressConfig { seconds: 20.0, earlier, ..config() });
    let sessions = stress.next_sessions(Recordings::EMPTY);
    assert_eq!(sessions.len(), 3);
    for session in &sessions {
        let seconds = if session.tests[0].as_str() == "quick" { 0.3 } else { 0.9 };
        let attempt = Attempt { seconds, ..attempt(session, &session.tests[0], Outcome::Passed) };
        stress.observe(&Event::AttemptEnded(attempt), Recordings::EMPTY);
    }
    let mut chosen = Vec::new();
    for _ in 0..8 {
        let sessions = stress.next_sessions(Recordings::EMPTY);
        chosen.extend(sessions.iter().step_by(3).map(|session| session.tests[0].to_string()));
        for session in &sessions {
            let seconds = if session.tests[0].as_str() == "quick" { 0.3 } else { 0.9 };
            let attempt = Attempt { seconds, ..attempt(session, &session.tests[0], Outcome::Passed) };
            stress.observe(&Event::AttemptEnded(attempt), Recordings::EMPTY);
        }
    }
    let times = |name: &str| chosen.iter().filter(|one| *one == name).count();
    assert_eq!(chosen[0], "quick");
    assert!(times("slow") > 0, "{chosen:?}");
    assert!(times("failed before") > times("slow"), "{chosen:?}");
}

#[test]
fn the_repetition_limit_applies_and_skipped_tests_are_not_repeated() {
    let mut stress = stress(&["a", "s"], 60.0, Some(4));
    let rounds = run_stress(&mut stress, |test, _| if test == "s" { Outcome::Skipped } else { Outcome::Passed });
    assert_eq!(rounds, ["a s", "a a a"]);
    assert!(stress.findings(Recordings::EMPTY).is_empty());
}

#[test]
fn a_crash_is_never_flaky() {
    let mut stress = stress(&["a"], 3.0, None);
    run_stress(&mut stress, |_, time| match time {
        3 => Outcome::Crashed(unflake_model::Death::Signal(11)),
        _ => Outcome::Passed,
    });
    assert_eq!(stress.findings(Recordings::EMPTY)[0].verdict().unwrap().kind, VerdictKind::Real);
}

#[test]
fn a_test_for_which_no_time_was_left_is_not_left_out() {
    let mut stress = stress(&["a", "b", "c"], 60.0, None);
    let sessions = stress.next_sessions(Recordings::EMPTY);
    let [a, b, c] = &sessions[..] else { panic!("{sessions:?}") };
    stress.observe(&Event::AttemptEnded(attempt(a, &a.tests[0], Outcome::Passed)), Recordings::EMPTY);
    for (session, why) in [(b, BUDGET_EXHAUSTED), (c, "its process could not be started")] {
        let (left, why) = (session.tests.clone(), Some(why.to_owned()));
        stress.observe(&Event::SessionEnded { session: session.id, left, why }, Recordings::EMPTY);
    }
    let coverage = stress.coverage().unwrap();
    assert_eq!((coverage.tests, coverage.tried, coverage.left_out, coverage.complete), (3, 1, 1, false));
}
