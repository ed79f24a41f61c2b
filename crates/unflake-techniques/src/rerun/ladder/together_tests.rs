//! The ladder where failing tests can share a new process, isolated from each other inside it.

use Outcome::{Failed, Passed};
use unflake_model::{EnvironmentId, Outcome, VerdictKind};

use super::*;
use crate::simulation::{attempt, ended, listed};

/// Runs the ladder on tests that share a process in the suite. `outcome` says how a test ends in a
/// session. Returns the sessions after the suite and the kind of each finding.
fn run_ladder(
    tests: &[&str],
    is_isolating: bool,
    outcome: impl Fn(&Session, &str) -> Outcome,
) -> (Vec<String>, Vec<(String, VerdictKind, u32)>) {
    let mut ladder = Ladder::new(Rungs { together: true, ..Rungs::default() }, NeverExcuse::default());
    ladder.observe(&listed(tests, true), Recordings::EMPTY);
    let (mut requested, mut process) = (Vec::new(), 0);
    loop {
        let sessions = ladder.next_sessions(Recordings::EMPTY);
        if sessions.is_empty() {
            break;
        }
        for session in &sessions {
            process += 1;
            let names: Vec<&str> = session.tests.iter().map(TestId::as_str).collect();
            if session.purpose != Purpose::Suite {
                requested.push(format!("{} {}", session.purpose.word(), names.join(" ")));
            }
            let is_isolated = session.place == Placement::Fresh(Isolation::InProcess) && is_isolating;
            let origin = if is_isolated { Isolation::InProcess } else { Isolation::Process };
            for (position, test) in session.tests.iter().enumerate() {
                let attempt = attempt(session, test, outcome(session, test.as_str()));
                let environment = EnvironmentId(process);
                let attempt = Attempt { environment, origin, position: position as u32, ..attempt };
                ladder.observe(&Event::AttemptEnded(attempt), Recordings::EMPTY);
            }
            ladder.observe(&ended(session), Recordings::EMPTY);
        }
    }
    let verdicts = ladder.findings(Recordings::EMPTY).into_iter().map(|finding| {
        let verdict = finding.verdict().unwrap();
        (finding.test.as_str().to_owned(), verdict.kind, verdict.evidence.other_seeds_failed)
    });
    (requested, verdicts.collect())
}

fn fails(_: &Session, test: &str) -> Outcome {
    if test == "a" { Passed } else { Failed }
}

#[test]
fn failures_that_repeat_together_need_no_processes_of_their_own() {
    let (requested, verdicts) = run_ladder(&["a", "x", "y", "z"], true, fails);
    let expected = ["again a x y z", "fresh x", "fresh y", "fresh z", "together x y z", "together z y x"];
    assert_eq!(requested, expected);
    for (_, kind, other_seeds_failed) in verdicts {
        assert_eq!((kind, other_seeds_failed), (VerdictKind::Real, 2));
    }
}

#[test]
fn two_failures_have_processes_of_their_own() {
    let (requested, _) = run_ladder(&["a", "x", "y"], true, fails);
    assert_eq!(requested.iter().filter(|one| one.starts_with("other-seeds")).count(), 4);
    assert!(!requested.iter().any(|one| one.starts_with("together")));
}

#[test]
fn a_pass_together_excuses_nothing() {
    let outcome = |session: &Session, test: &str| match (session.purpose, test) {
        (Purpose::Together, "y") => Passed,
        _ => fails(session, test),
    };
    let (requested, verdicts) = run_ladder(&["a", "x", "y", "z"], true, outcome);
    assert_eq!(requested[6..], ["other-seeds y", "other-seeds y"]);
    assert!(verdicts.iter().all(|(_, kind, failed)| (*kind, *failed) == (VerdictKind::Real, 2)));
}

#[test]
fn a_test_that_others_disturb_in_one_order_only_is_decided_by_processes_of_its_own() {
    // `x` leaves something behind in the process itself, past the isolation.
    let outcome = |session: &Session, test: &str| {
        let place = |name: &str| session.tests.iter().position(|one| one.as_str() == name);
        match test {
            "y" if place("x") < place("y") && place("x").is_some() => Failed,
            "y" => Passed,
            _ => fails(session, test),
        }
    };
    let (requested, verdicts) = run_ladder(&["a", "x", "y", "z", "u"], true, outcome);
    assert_eq!(requested[1..5], ["fresh x", "fresh y", "fresh z", "fresh u"]);
    let of_y = verdicts.iter().find(|(test, ..)| test == "y").unwrap();
    assert_eq!(of_y.1, VerdictKind::FlakyStateDependent);

    // With too many failures there is no other fresh attempt.
    let names: Vec<String> = (0..12).map(|number| format!("f{number}")).collect();
    let tests: Vec<&str> = ["a", "x", "y"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let (requested, verdicts) = run_ladder(&tests, true, outcome);
    let rest: Vec<&String> = requested.iter().filter(|one| !one.starts_with("again")).collect();
    assert_eq!(rest.len(), 3, "{rest:?}");
    assert_eq!(rest[2], "other-seeds y");
    for (test, kind, _) in verdicts {
        let expected = if test == "y" { VerdictKind::FlakyStateDependent } else { VerdictKind::Real };
        assert_eq!(kind, expected, "{test}");
    }
}

#[test]
fn without_isolation_only_the_first_test_counts() {
    let (requested, verdicts) = run_ladder(&["a", "x", "y", "z"], false, fails);
    let own: Vec<&String> = requested.iter().filter(|one| one.starts_with("other-seeds")).collect();
    assert_eq!(
        own,
        ["other-seeds x", "other-seeds y", "other-seeds z", "other-seeds x", "other-seeds y", "other-seeds z"]
    );
    assert!(verdicts.iter().all(|(_, kind, _)| *kind == VerdictKind::Real));
}
