//! Tests of `company_schedule_trial`, with simulated tests that disturb each other.

use unflake_model::{FactorDeclaration, FactorPhrase, Outcome, declare_factors};

use super::*;
use crate::simulation::{attempt, ended, listed};

static SCHEDULE: FactorDeclaration = FactorDeclaration {
    name: "schedule",
    title: "schedule",
    phrase: FactorPhrase::When(|setting, _| format!("when delayed at {setting}")),
    ..FactorDeclaration::EMPTY
};

/// Findings about `t3` of a program of `count` tests. `fails`: beside these, with this setting.
fn tried(count: usize, fails: impl Fn(&[&str], &str) -> bool) -> Vec<Finding> {
    declare_factors([&SCHEDULE]);
    let kind = FactorKind::named("schedule").unwrap();
    let names: Vec<String> = (0..count).map(|at| format!("t{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut trial = CompanyScheduleTrial::new("t3".into(), kind, 1e6);
    trial.observe(&listed(&names, true), Recordings::EMPTY);
    loop {
        let sessions = trial.next_sessions(Recordings::EMPTY);
        if sessions.is_empty() {
            return trial.findings(Recordings::EMPTY);
        }
        for session in sessions {
            let world = session.under.clone().unwrap_or_default();
            let all: Vec<&str> = session.tests.iter().map(TestId::as_str).collect();
            assert_eq!(session.at_once as usize, all.len());
            for test in &session.tests {
                let failed = test.as_str() == "t3" && fails(&all, world.factors[0].setting());
                let outcome = if failed { Outcome::Failed } else { Outcome::Passed };
                trial.observe(&Event::AttemptEnded(attempt(&session, test, outcome)), Recordings::EMPTY);
            }
            trial.observe(&ended(&session), Recordings::EMPTY);
        }
    }
}

#[test]
fn the_test_that_disturbs_it_is_proven() {
    for count in [5, 12] {
        let found = tried(count, |all, setting| all.contains(&"t1") && setting == "4+0");
        let [finding] = &found[..] else { panic!("{found:?}") };
        let expected = "it fails at the same time as t1 in one process, when delayed at 4+0; alone with the same delays it \
                        passes 5 of 5";
        assert_eq!(finding.sentence, expected);
        assert_eq!(finding.confidence(), Some(Confidence::Proven));
        assert_eq!((finding.replays[0].at_once, finding.replays[0].tests.len()), (2, 2));
    }
}

#[test]
fn what_fails_in_some_runs_with_delays_is_likely() {
    let run = std::cell::Cell::new(0);
    let found = tried(5, |all, setting| {
        run.set(run.get() + 1);
        all.contains(&"t1") && setting != "off" && run.get() % 3 != 0
    });
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert_eq!(finding.confidence(), Some(Confidence::Likely), "{}", finding.sentence);
    assert_eq!(finding.replays[0].shows, Shows::SometimesFails);
}

#[test]
fn a_test_that_a_delay_alone_makes_fail_is_not_disturbed() {
    assert!(tried(5, |_, setting| setting.starts_with('4')).is_empty());
}

#[test]
fn what_fails_as_often_without_delays_is_not_blamed_on_a_schedule() {
    assert!(tried(5, |all, _| all.contains(&"t1")).is_empty());
    assert!(tried(5, |_, _| false).is_empty());
}
