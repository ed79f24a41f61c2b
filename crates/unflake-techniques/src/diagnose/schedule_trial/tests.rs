//! Tests of `schedule_trial`, with simulated races.

use unflake_model::{FactorDeclaration, FactorPhrase, Outcome, declare_factors};

use super::*;
use crate::simulation::{attempt, ended, listed};

static SCHEDULE: FactorDeclaration = FactorDeclaration {
    name: "schedule",
    title: "schedule",
    phrase: FactorPhrase::When(|setting, _| format!("when delayed at {setting}")),
    ..FactorDeclaration::EMPTY
};

/// Runs a trial. `fails`: by the schedule; `delays`: what the agent says of one.
fn tried(
    names_delays: bool,
    fails: &mut dyn FnMut(Option<&str>) -> bool,
    delays: &dyn Fn(&str) -> Vec<String>,
) -> (Vec<Finding>, u32) {
    declare_factors([&SCHEDULE]);
    let kind = FactorKind::named("schedule").unwrap();
    let mut trial = ScheduleTrial::new("t".into(), kind, names_delays, Isolation::Process, 1e6);
    trial.observe(&listed(&["t"], false), Recordings::EMPTY);
    let mut runs = 0;
    loop {
        let sessions = trial.next_sessions(Recordings::EMPTY);
        if sessions.is_empty() {
            return (trial.findings(Recordings::EMPTY), runs);
        }
        for session in sessions {
            runs += 1;
            let world = session.under.clone().unwrap_or_default();
            let setting = world.factors.first().map(Factor::setting);
            let points = setting.map(delays).unwrap_or_default();
            if names_delays && !points.is_empty() {
                trial.observe(&Event::ThreadsDelayed { session: session.id, points }, Recordings::EMPTY);
            }
            let outcome = if fails(setting) { Outcome::Failed } else { Outcome::Passed };
            trial.observe(&Event::AttemptEnded(attempt(&session, &"t".into(), outcome)), Recordings::EMPTY);
            trial.observe(&ended(&session), Recordings::EMPTY);
        }
    }
}

/// A seed delays at ten lines; a list at those that it names.
fn ten_lines(setting: &str) -> Vec<String> {
    match setting.parse::<u32>() {
        Ok(seed) => (1..=10).map(|line| format!("a.py:{}#1@work-1", seed * 10 + line)).collect(),
        Err(_) => setting.split(',').map(str::to_owned).collect(),
    }
}

#[test]
fn the_delay_that_matters_is_named() {
    let mut fails =
        |setting: Option<&str>| setting.is_some_and(|it| ten_lines(it).contains(&"a.py:57#1@work-1".into()));
    let (found, _) = tried(true, &mut fails, &ten_lines);
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert_eq!(finding.sentence, "it fails when delayed at a.py:57#1@work-1");
    assert_eq!(finding.confidence(), Some(Confidence::Proven));
    assert_eq!(finding.replays[0].under.options(), ["--schedule=a.py:57#1@work-1"]);
}

#[test]
fn delays_that_matter_together_are_named_together() {
    let both =
        |it: &str| ["a.py:53#1@work-1", "a.py:58#1@work-1"].iter().all(|one| ten_lines(it).contains(&(*one).into()));
    let (found, _) = tried(true, &mut |setting| setting.is_some_and(both), &ten_lines);
    assert_eq!(found[0].sentence, "it fails when delayed at a.py:53#1@work-1,a.py:58#1@work-1");
}

#[test]
fn a_seed_is_named_where_the_delays_are_not_known() {
    let (found, _) = tried(false, &mut |setting| setting == Some("6"), &|_| Vec::new());
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert_eq!(finding.sentence, "it fails when delayed at 6");
    assert_eq!(finding.confidence(), Some(Confidence::Proven));
}

#[test]
fn a_seed_is_named_where_its_delays_alone_do_not_fail() {
    let (found, _) = tried(true, &mut |setting| setting == Some("6"), &ten_lines);
    assert_eq!(found[0].sentence, "it fails when delayed at 6");
}

#[test]
fn a_test_with_nothing_to_delay_is_left_alone() {
    let (found, runs) = tried(true, &mut |_| false, &|_| Vec::new());
    assert!(found.is_empty());
    assert_eq!(runs, AT_ONCE as u32);
}

#[test]
fn what_fails_as_often_without_a_schedule_is_not_decided_by_it() {
    assert!(tried(false, &mut |_| true, &|_| Vec::new()).0.is_empty());
    assert!(tried(false, &mut |_| false, &|_| Vec::new()).0.is_empty());
}

#[test]
fn what_fails_because_its_lines_are_watched_is_not_decided_by_a_schedule() {
    assert!(tried(false, &mut |setting| setting.is_some(), &|_| Vec::new()).0.is_empty());
    assert!(tried(true, &mut |setting| setting.is_some(), &ten_lines).0.is_empty());
}

#[test]
fn a_schedule_that_fails_often_is_no_proof() {
    let mut run = 0;
    let mut fails = |setting: Option<&str>| {
        run += 1;
        setting == Some("6") && run % 5 != 0
    };
    let (found, _) = tried(false, &mut fails, &|_| Vec::new());
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert_ne!(finding.confidence(), Some(Confidence::Proven));
    assert_eq!(finding.replays[0].shows, Shows::SometimesFails);
}
