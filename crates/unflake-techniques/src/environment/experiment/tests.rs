use proptest::prelude::*;
use unflake_model::{Detail, EnvironmentId, Influence, Moment, Outcome as Ended, Purpose, SessionId, Test, Timestamp};
use unflake_model::{Fact, FactId, Gap, OutputId, SuppressedNoise};
use unflake_model::{FactorDeclaration, FactorEffect, FactorPhrase, declare_factors};

use super::*;
use crate::order::order_cover::Chance;

const BASELINE: [&str; 4] = ["date=2026-11-15", "time-zone=UTC", "hash-seed=0", "random-seed=0"];
const PLAN: [&str; 18] = [
    "date=2027-01-31",
    "date=2028-02-29",
    "date=2026-12-31T23:59:30",
    "date=2038-01-20",
    "time-zone=Pacific/Kiritimati",
    "time-zone=Europe/Berlin",
    "hash-seed=1",
    "hash-seed=2",
    "random-seed=1",
    "random-seed=2",
    "load=16",
    "delays=50ms/2@1",
    "network=off",
    "listing=reversed",
    "state=fresh",
    "memory=512M",
    "order=1",
    "locale=tr_TR.UTF-8",
];
const MIXES: [&str; 2] = [
    "date=2027-03-28T01:30:00 time-zone=Europe/Berlin hash-seed=1 listing=reversed state=fresh",
    "date=2028-02-29 time-zone=Pacific/Kiritimati hash-seed=2 network=off",
];

/// A factor that a runner declares.
static HASH_SEED: FactorDeclaration = FactorDeclaration {
    name: "hash-seed",
    title: "hash seed",
    settings: "a number",
    parse: |setting| Some(setting.to_owned()),
    scale: None,
    works_in_time: false,
    phrase: FactorPhrase::Seeds,
    effect: FactorEffect::None,
    baseline: Some("0"),
    plan: |_| Ok(Vec::new()),
    elsewhere: "",
    unaffected: "",
};

fn factors(words: &str) -> Vec<Factor> {
    declare_factors([&HASH_SEED]);
    words.split(' ').map(|word| word.parse().unwrap()).collect()
}

fn asked() -> ExperimentConfig {
    ExperimentConfig {
        names: vec!["t".to_owned()],
        together: false,
        baseline: factors(&BASELINE.join(" ")),
        plan: PLAN.map(factors).to_vec(),
        mixes: MIXES.map(factors).to_vec(),
        untried: Vec::new(),
        runs: 1000,
        seconds: 1e6,
        fresh_by: Isolation::Fork,
        known: Vec::new(),
        layers: vec![Layer::Code],
    }
}

/// Whether it fails in a world; None: that cannot be brought about.
type Fails<'a> = &'a dyn Fn(&Seen<'_>, &mut Chance) -> Option<bool>;

/// A world as a test sees it.
struct Seen<'a> {
    factors: &'a [Factor],
    /// Whether the run is the only one of its process.
    anew: bool,
}

impl Seen<'_> {
    fn setting(&self, kind: FactorKind) -> String {
        self.factors.iter().find(|factor| factor.kind() == kind).map(Factor::setting).unwrap_or_default()
    }

    fn number(&self, kind: FactorKind) -> f64 {
        self.factors.iter().find(|factor| factor.kind() == kind).and_then(Factor::number).unwrap_or(0.0)
    }

    fn is(&self, word: &str) -> bool {
        self.factors.iter().any(|factor| factor.to_string() == word)
    }
}

/// Every second attempt runs through a line more than the others.
struct Lines;

impl LayerFacts for Lines {
    fn output(&self, attempt: usize, layer: Layer) -> Option<OutputId> {
        (layer == Layer::Code).then_some(OutputId(attempt as u32 % 2))
    }

    fn facts(&self, output: OutputId) -> &[FactId] {
        &[FactId(7), FactId(8)][..1 + output.0 as usize]
    }

    fn fact(&self, _: FactId) -> Fact {
        unreachable!("nobody asks what it is")
    }

    fn unit(&self, fact: FactId) -> u32 {
        fact.0
    }

    fn is_order(&self, _: FactId) -> bool {
        false
    }

    fn support(&self, _: FactId) -> Option<u32> {
        None
    }

    fn gaps(&self) -> Vec<Gap> {
        Vec::new()
    }

    fn hidden(&self) -> Vec<SuppressedNoise> {
        Vec::new()
    }
}

struct Played {
    found: Vec<Finding>,
    attempts: Vec<(Vec<Factor>, Attempt)>,
}

fn play_until(asked: ExperimentConfig, fails: Fails, seed: u64, batches: usize) -> Played {
    let mut experiment = Experiment::new(asked, Rc::new(RefCell::new(Lines)));
    let test = |id: &str| Test { id: id.into(), file: None, line: None, command: Vec::new() };
    let tests = vec![test("a"), test("t"), test("z")];
    experiment.hear(&Event::TestsListed { tests, deselected: 0, isolated: false });
    let (mut chance, mut attempts, mut now) = (Chance(seed), Vec::new(), 0);
    for _ in 0..batches {
        let sessions = experiment.ask();
        if sessions.is_empty() {
            break;
        }
        for session in sessions {
            let world = session.under.clone().expect("every session has a world");
            let seen =
                Seen { factors: &world, anew: session.place == unflake_model::Placement::Fresh(Isolation::Process) };
            let Some(failed) = fails(&seen, &mut chance) else {
                let why = Some("cannot be set here".to_owned());
                experiment.hear(&Event::SessionEnded { session: session.id, left: session.tests, why });
                continue;
            };
            for test in &session.tests {
                now += 1000;
                let outcome = if failed && test.as_str() == "t" { Ended::Failed } else { Ended::Passed };
                let attempt = attempt(test, session.id, outcome, now);
                if test.as_str() == "t" {
                    attempts.push((world.clone(), attempt.clone()));
                }
                experiment.hear(&Event::AttemptEnded(attempt));
            }
            experiment.hear(&Event::SessionEnded { session: session.id, left: Vec::new(), why: None });
        }
    }
    Played { found: experiment.findings(), attempts }
}

fn attempt(test: &TestId, session: SessionId, outcome: Ended, now: i64) -> Attempt {
    Attempt {
        test: test.clone(),
        session,
        purpose: Purpose::Factor,
        environment: EnvironmentId(0),
        origin: Isolation::Fork,
        position: 0,
        run: 0,
        outcome,
        started: Timestamp(now),
        seconds: 0.001,
        failure: None,
        stdout: String::new(),
        stderr: String::new(),
    }
}

fn play(fails: Fails) -> Vec<Finding> {
    play_until(asked(), fails, 7, usize::MAX).found
}

fn of(finding: &Finding) -> &Influence {
    match &finding.detail {
        Detail::Factor(influence) => influence,
        other => panic!("{other:?}"),
    }
}

/// Exactly one factor is blamed, in these words.
#[track_caller]
fn check(kind: &str, words: &str, fails: Fails) -> Vec<Finding> {
    let found = play(fails);
    let told: Vec<_> = found.iter().map(|one| (of(one).kind.as_str(), one.sentence.as_str())).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].0, kind, "{told:?}");
    assert!(told[0].1.contains(words), "{told:?}");
    found
}

fn date(text: &str) -> f64 {
    FactorKind::Date.set(text).unwrap().number().unwrap()
}

#[test]
fn a_date_is_narrowed_down_to_its_edge() {
    check("date", "fails when the date is past 2026-12-31 (6 of 6 runs), and otherwise passes (6 of 6)", &|seen, _| {
        Some(seen.number(FactorKind::Date) >= date("2027-01-01T00:00:00"))
    });
    check("date", "fails from 2038-01-19 03:14:08 on", &|seen, _| {
        Some(seen.number(FactorKind::Date) >= 2_147_483_648.0)
    });
}

#[test]
fn days_that_come_again_are_named() {
    let day = |seen: &Seen| Moment::at(seen.number(FactorKind::Date) as i64).unwrap();
    check("date", "fails on 29 February (", &|seen, _| Some((day(seen).month, day(seen).day) == (2, 29)));
    check("date", "fails on the 31st of a month (", &|seen, _| Some(day(seen).day == 31));
    check("date", "fails from 23:00:00 to 23:59:59 on the 31st of a month", &|seen, _| {
        Some(day(seen).day == 31 && day(seen).hour == 23)
    });
}

#[test]
fn a_test_that_has_expired_fails_at_the_baseline() {
    let expired = |seen: &Seen, _: &mut Chance| Some(seen.number(FactorKind::Date) >= date("2026-11-01T00:00:00"));
    let mut asked = asked();
    asked.plan.push(factors("date=2026-10-01"));
    let found = play_until(asked, &expired, 7, usize::MAX).found;
    assert_eq!((found.len(), of(&found[0]).kind.as_str(), of(&found[0]).fails), (1, "date", false));
    assert!(
        found[0].sentence.starts_with("fails (6 of 6 runs), but before 2026-11-01 passes"),
        "{}",
        found[0].sentence
    );
}

#[test]
fn settings_without_an_order_are_told_as_they_are() {
    let zone = "time-zone=Pacific/Kiritimati";
    check("time-zone", "in the time zone Pacific/Kiritimati (6 of 6", &|seen, _| Some(seen.is(zone)));
    check("hash-seed", "with the hash seed 2 (6 of 6", &|seen, _| Some(seen.is("hash-seed=2")));
    check("network", "without a network", &|seen, _| Some(seen.is("network=off")));
    check("listing", "the other way round", &|seen, _| Some(seen.is("listing=reversed")));
    check("order", "when the tests after it run first", &|seen, _| Some(seen.is("order=1")));
}

#[test]
fn chance_is_told_from_what_is_set() {
    // Copies of a process draw each something else; a process that begins anew draws what its seed says.
    check("random-seed", "with the random seed 1 (6 of 6", &|seen, chance| {
        Some(if seen.anew { seen.is("random-seed=1") } else { chance.below(2) == 0 })
    });
}

#[test]
fn amounts_have_a_threshold() {
    let found = check("load", "with 6 or more busy processes", &|seen, _| Some(seen.number(FactorKind::Load) >= 6.0));
    let threshold = of(&found[0]).threshold.as_ref().unwrap();
    assert_eq!((threshold.before.as_deref(), threshold.from.as_str()), (Some("5"), "6"));
    check("memory", "MB of memory or less", &|seen, _| Some((1.0..700e6).contains(&seen.number(FactorKind::Memory))));
    check("delays", "when waits and locks are delayed by up to 2", &|seen, _| {
        Some(seen.number(FactorKind::Delays) >= 0.02)
    });
}

#[test]
fn a_factor_need_not_do_it_every_time() {
    check("load", "busy processes", &|seen, chance| Some(seen.number(FactorKind::Load) >= 6.0 && chance.below(10) < 7));
}

#[test]
fn two_factors_may_do_it_together() {
    let found = check("date+time-zone", "and in the time zone Europe/Berlin", &|seen, _| {
        let now = seen.number(FactorKind::Date);
        let gap = date("2027-03-28T01:00:00")..date("2027-03-28T02:00:00");
        Some(seen.setting(FactorKind::TimeZone) == "Europe/Berlin" && gap.contains(&now))
    });
    let words = "fails from 01:00:00 to 01:59:59 on 2027-03-28 and in the time zone Europe/Berlin";
    assert!(found[0].sentence.starts_with(words), "{}", found[0].sentence);
    assert_eq!(of(&found[0]).setting, factors("date=2027-03-28T01:30:00 time-zone=Europe/Berlin"));
}

#[test]
fn of_many_variables_the_one_that_matters_is_named() {
    let mut asked = asked();
    asked.plan.push(factors("variable=A variable=LANGUAGE variable=B variable=C"));
    let fails = |seen: &Seen, _: &mut Chance| Some(seen.is("variable=LANGUAGE"));
    let found = play_until(asked, &fails, 7, usize::MAX).found;
    assert_eq!(found.len(), 1);
    assert!(found[0].sentence.starts_with("fails without the variable LANGUAGE (6 of 6"), "{}", found[0].sentence);
}

#[test]
fn what_cannot_be_brought_about_is_told_as_not_tried() {
    let found = check("none", "no factor tried makes a difference (10 factors, ", &|seen, _| {
        (!seen.is("network=off") && !seen.is("locale=tr_TR.UTF-8")).then_some(false)
    });
    let untried: Vec<_> = of(&found[0]).untried.iter().map(|one| one.name.as_str()).collect();
    assert!(untried.starts_with(&["network=off", "locale=tr_TR.UTF-8"]), "{untried:?}");
    assert_eq!(of(&found[0]).plan[0].name, "baseline");
    assert_eq!(of(&found[0]).plan[1].name, "uncontrolled");
    assert_eq!(of(&found[0]).plan.len(), 19);
}

#[test]
fn other_layers_are_told_of_each_world() {
    let found = play(&|_, _| Some(false));
    let baseline = &of(&found[0]).plan[0];
    assert_eq!((baseline.rate.of, baseline.layers.len()), (10, 1));
    let code = &baseline.layers[0];
    assert_eq!((code.layer, code.runs, code.range), (Layer::Code, 10, 1));
    assert!(code.entropy > 0.6 && code.false_positives > 40.0, "{code:?}");
}

#[test]
fn nothing_is_said_of_a_baseline_that_cannot_be_run() {
    assert_eq!(play(&|_, _| None), []);
}

#[test]
fn the_budget_is_kept() {
    let asked = ExperimentConfig { runs: 40, ..asked() };
    let played = play_until(asked, &|seen, _| Some(seen.is("listing=reversed")), 7, usize::MAX);
    assert_eq!(played.attempts.len(), 40);
    assert!(played.found[0].sentence.ends_with(", as far as the experiment went"), "{}", played.found[0].sentence);
}

#[test]
fn an_experiment_that_was_stopped_goes_on_where_it_was() {
    let fails = |seen: &Seen, _: &mut Chance| Some(seen.number(FactorKind::Load) >= 6.0);
    let whole = play_until(asked(), &fails, 7, usize::MAX);
    for batches in [0, 1, 2, 3, 5, 8] {
        let known = play_until(asked(), &fails, 7, batches).attempts;
        let before = known.len();
        let rest = play_until(ExperimentConfig { known, ..asked() }, &fails, 7, usize::MAX);
        assert_eq!(before + rest.attempts.len(), whole.attempts.len(), "after {batches} batches");
        assert_eq!(rest.found[0].sentence, whole.found[0].sentence);
    }
}

/// In how many of a hundred experiments with a test that fails by chance alone something is blamed.
fn blamed(percent: usize) -> usize {
    let by_chance = |_: &Seen, chance: &mut Chance| Some(chance.below(100) < percent);
    let blames = |seed: u64| {
        play_until(asked(), &by_chance, seed * 7919 + 1, usize::MAX).found.iter().any(|one| of(one).kind != "none")
    };
    (0..100).filter(|seed| blames(*seed)).count()
}

#[test]
fn chance_is_seldom_taken_for_a_cause() {
    let blamed: Vec<usize> = [2, 5, 10, 20, 30, 50, 70, 90, 98].into_iter().map(blamed).collect();
    let sum: usize = blamed.iter().sum();
    assert!(blamed.iter().all(|blamed| *blamed <= 9), "{blamed:?}");
    assert!(sum * 100 <= 5 * 100 * blamed.len(), "{blamed:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_setting_that_does_it_is_found_and_no_other(at in 0..PLAN.len(), seed in any::<u64>()) {
        let fails = |seen: &Seen, _: &mut Chance| Some(seen.is(PLAN[at]));
        let found = play_until(asked(), &fails, seed, usize::MAX).found;
        let kind = PLAN[at].split('=').next().unwrap();
        prop_assert_eq!(found.iter().map(|one| of(one).kind.as_str()).collect::<Vec<_>>(), vec![kind]);
    }
}

#[test]
fn what_fails_half_of_the_time_by_itself_is_not_blamed_on_what_was_set_with_it() {
    let half = |seen: &Seen, chance: &mut Chance| Some(seen.is("network=off") && chance.below(2) == 0);
    let several = |seed: &u64| {
        let found = play_until(asked(), &half, *seed, usize::MAX).found;
        found.iter().any(|finding| of(finding).setting.len() > 1)
    };
    assert_eq!((0..400).filter(several).count(), 0);
}
