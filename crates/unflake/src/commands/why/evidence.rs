//! What the runs of a diagnosis have shown so far, and which worlds follow from it.

use std::ops::RangeInclusive;

use unflake_model::{
    Attempt, Confidence, Detail, Factor, FactorEffect, Failure, Finding, ForcedValue, Influence, Purpose, ScaleShape,
    TestId, World,
};
use unflake_techniques::PassingWorld;
use unflake_worlds::is_seed;

use crate::run_loop::Gathered;

/// The factor that forks follow, too.
pub(super) const SEED_OF_FORKS: &str = "random-seed";
/// Seeds that are compared with one that makes a test fail.
const OTHER_SEEDS: RangeInclusive<u64> = 1001..=1010;
/// How many processes each of two compared worlds has.
const ROUNDS: u64 = 3;
const OTHER_SCHEDULES: [&str; 5] = ["off", "1001", "1002", "off", "1003"];
/// Speeds of clocks at which a test that relies on time may often fail.
const FASTER_CLOCKS: [&str; 3] = ["10", "40", "3"];
/// Ways to fail whose waits are forced.
const MOST_WAYS: usize = 3;

/// A proven schedule and others, for traces of failing and passing runs. Empty: none is proven.
pub(super) fn compared_schedules(record: &Gathered) -> Vec<World> {
    let proven = record.findings.iter().find_map(|finding| match &finding.detail {
        Detail::Factor(influence) if influence.confidence == Confidence::Proven => {
            influence.setting.iter().find(|factor| factor.kind().at_lines)
        }
        _ => None,
    });
    let Some(fails) = proven else { return Vec::new() };
    // Others delay threads, too: what any delay changes is no difference then.
    let others = OTHER_SCHEDULES.iter().filter_map(|setting| fails.kind().set(setting).ok());
    others.flat_map(|other| [fails.clone(), other]).map(|factor| World::of(vec![factor])).collect()
}

/// Worlds of which a proven setting makes every other one fail, for traces of failing and passing runs. Empty:
/// none is proven. Seeds that forks follow, timing and schedules are compared in other ways.
///
/// Where several factors decide together, each of them alone passes, too: what only one of them changes is
/// no difference then, such as the present time. The second list, if any, is for where the first one does
/// not show both outcomes.
pub(super) fn compared_worlds(record: &Gathered) -> Vec<Vec<World>> {
    let is_fit = |factor: &Factor| {
        let kind = factor.kind();
        let is_of_process = matches!(kind.effect, FactorEffect::Process(_));
        is_of_process && !kind.at_lines && !kind.timing && kind.name != SEED_OF_FORKS
    };
    let proven = record.findings.iter().find_map(|finding| match &finding.detail {
        Detail::Factor(influence) if influence.confidence == Confidence::Proven => Some(influence),
        _ => None,
    });
    let proven = proven.filter(|influence| influence.setting.iter().all(is_fit));
    proven.map_or(Vec::new(), |influence| compared_with(influence))
}

/// The failing world of a factor and the passing ones.
fn compared_with(influence: &Influence) -> Vec<Vec<World>> {
    let pinned = alternating(influence, &influence.worst, &influence.best);
    // A date that is the same in all worlds is another moment in each time zone.
    let is_moment =
        |factor: &Factor| factor.kind().scale.as_ref().is_some_and(|scale| matches!(scale.shape, ScaleShape::Moments));
    if influence.setting.iter().any(is_moment) || !influence.worst.iter().any(is_moment) {
        return vec![pinned];
    }
    let now = |all: &[Factor]| all.iter().filter(|factor| !is_moment(factor)).cloned().collect::<Vec<Factor>>();
    vec![alternating(influence, &now(&influence.worst), &now(&influence.best)), pinned]
}

/// The failing world and the passing ones in turn.
fn alternating(influence: &Influence, worst: &[Factor], best: &[Factor]) -> Vec<World> {
    let mut passing = vec![best.to_vec()];
    let changed: Vec<&Factor> = worst.iter().filter(|factor| !best.contains(factor)).collect();
    if changed.len() > 1 && influence.setting.len() > 1 {
        // As in the failing world, but for one factor.
        let usual = |changed: &Factor| best.iter().find(|factor| factor.kind() == changed.kind()).cloned();
        let without = |left_out: &&Factor| {
            let other = |factor: &Factor| if factor == *left_out { usual(factor) } else { Some(factor.clone()) };
            worst.iter().filter_map(other).collect::<Vec<Factor>>()
        };
        passing.extend(changed.iter().map(without));
    }
    // One process for each world would make everything differ that processes draw, such as addresses.
    let drawn = |factor: &Factor, round: u64| {
        let is_drawn = is_seed(&factor.kind()) && factor.kind().name != SEED_OF_FORKS;
        let other = factor.kind().set(&round.to_string()).ok().filter(|_| is_drawn && round > 0);
        other.filter(|_| !influence.setting.contains(factor)).unwrap_or_else(|| factor.clone())
    };
    let in_round = |factors: &[Factor], round| World::of(factors.iter().map(|factor| drawn(factor, round)).collect());
    let rounds = (0..ROUNDS).flat_map(|round| {
        passing.iter().flat_map(move |passes| [(worst, round), (passes, round)]).collect::<Vec<(&[Factor], u64)>>()
    });
    rounds.map(|(factors, round)| in_round(factors, round)).collect()
}

/// A proven seed and one with which the test passes, for traces of failing and passing runs. Empty: none is
/// proven.
pub(super) fn compared_seeds(record: &Gathered) -> Vec<World> {
    let proven = record.findings.iter().filter(|finding| is_proven_seed(finding)).find_map(|finding| {
        let Detail::Factor(influence) = &finding.detail else { return None };
        (!influence.best.is_empty()).then_some([&influence.worst, &influence.best])
    });
    proven.into_iter().flatten().map(|factors| World::of(factors.clone())).collect()
}

/// A proven seed that forks follow, and many others, whose runs cost little. Empty: none is proven.
pub(super) fn compared_seeds_of_forks(record: &Gathered) -> Vec<World> {
    let proven = record.findings.iter().filter(|finding| is_proven_seed(finding)).find_map(|finding| {
        let Detail::Factor(influence) = &finding.detail else { return None };
        let [seed] = &influence.setting[..] else { return None };
        if seed.kind().name == SEED_OF_FORKS { seed.setting().parse::<u64>().ok() } else { None }
    });
    let seeded = |seed| World { seed: Some(seed), ..World::default() };
    proven.map_or(Vec::new(), |fails| OTHER_SEEDS.flat_map(|other| [seeded(fails), seeded(other)]).collect())
}

/// Failures and runs of a test.
pub(super) fn outcomes(attempts: &[Attempt], test: &TestId) -> (u32, u32) {
    let of_test = || attempts.iter().filter(|attempt| attempt.test == *test);
    (of_test().filter(|attempt| attempt.outcome.is_failure()).count() as u32, of_test().count() as u32)
}

/// What to say where recording lines changes how often the test fails.
pub(super) fn effect_of_tracing(alone: (u32, u32), traced: (u32, u32)) -> Option<String> {
    let ((failed, runs), (traced_failed, traced_runs)) = (alone, traced);
    (unflake_techniques::rate_difference(alone, traced) < 0.01).then(|| {
        format!(
            "the test failed {traced_failed} of {traced_runs} times while its lines were recorded, and {failed} of {runs} \
             times without: recording slows it down, and its timing matters"
        )
    })
}

/// The settings of factors that make the test fail.
pub(super) fn worlds_that_fail(record: &Gathered) -> impl Iterator<Item = Vec<Factor>> {
    record.findings.iter().filter_map(|finding| match &finding.detail {
        Detail::Factor(influence) if influence.fails => Some(influence.setting.clone()),
        _ => None,
    })
}

/// How the test fails where its clocks do not run at a speed at which it passes.
pub(super) fn passing_world(speed: Factor, record: &Gathered, test: &TestId, alone: (u32, u32)) -> PassingWorld {
    let failures =
        ways_to_fail(&record.attempts, test).into_iter().map(|(failure, _)| failure).take(MOST_WAYS).collect();
    let faster = FASTER_CLOCKS.iter().filter_map(|faster| Some(vec![speed.kind().set(faster).ok()?]));
    let as_it_is = (2 * alone.0 >= alone.1).then(Vec::new);
    let failing = as_it_is.into_iter().chain(faster).collect();
    PassingWorld { factors: vec![speed], failures, failing, alone }
}

/// The failures of a test by type and line, with their counts, the most frequent first.
pub(super) fn ways_to_fail(attempts: &[Attempt], test: &TestId) -> Vec<(Failure, u32)> {
    let of_test = attempts.iter().filter(|attempt| attempt.test == *test);
    let mut ways: Vec<(Failure, u32)> = Vec::new();
    for failure in of_test.filter_map(|attempt| attempt.failure.as_ref()) {
        let place = |failure: &Failure| (failure.kind.clone(), failure.file.clone(), failure.line);
        match ways.iter_mut().find(|(other, _)| place(other) == place(failure)) {
            Some((_, times)) => *times += 1,
            None => ways.push((failure.clone(), 1)),
        }
    }
    ways.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    ways
}

/// How the test failed without other tests and without a chosen world.
pub(super) fn failures_alone(attempts: &[Attempt], test: &TestId) -> Vec<Failure> {
    let is_alone = |attempt: &&Attempt| {
        attempt.test == *test
            && attempt.position == 0
            && attempt.outcome.is_failure()
            && matches!(attempt.purpose, Purpose::Fresh | Purpose::Look)
    };
    attempts.iter().filter(is_alone).filter_map(|attempt| attempt.failure.clone()).collect()
}

/// Whether a finding is about factors: they say what makes the test fail, not where.
pub(super) fn is_factor(finding: &Finding) -> bool {
    matches!(finding.detail, Detail::Factor(_))
}

/// Whether a delay was proven to decide.
pub(super) fn is_forced_delay(finding: &Finding) -> bool {
    match &finding.detail {
        Detail::Divergence(found) => found.proof.as_ref().is_some_and(|proof| proof.name == ForcedValue::DELAY),
        _ => false,
    }
}

/// Whether seeds were proven to decide.
pub(super) fn is_proven_seed(finding: &Finding) -> bool {
    match &finding.detail {
        Detail::Factor(influence) => {
            influence.confidence == Confidence::Proven && influence.setting.iter().all(|factor| is_seed(&factor.kind()))
        }
        _ => false,
    }
}

/// Whether a finding is more than possible.
pub(super) fn is_sure(finding: &Finding) -> bool {
    finding.confidence().is_some_and(|confidence| confidence < Confidence::Possible)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unflake_model::FactorKind;

    #[test]
    fn recording_that_changes_how_often_a_test_fails_is_reported() {
        assert_eq!(effect_of_tracing((2, 40), (3, 50)), None);
        let note = effect_of_tracing((0, 44), (30, 50)).unwrap();
        assert!(
            note.starts_with("the test failed 30 of 50 times while its lines were recorded, and 0 of 44"),
            "{note}"
        );
    }

    fn factors(settings: &[&str]) -> Vec<Factor> {
        crate::commands::under::declare_all();
        let factor = |text: &&str| text.split_once('=').map(|(kind, set)| FactorKind::named(kind).unwrap().set(set));
        settings.iter().map(|text| factor(text).unwrap().unwrap()).collect()
    }

    fn compared(setting: &[&str], worst: &[&str], best: &[&str]) -> Vec<Vec<Vec<String>>> {
        let rate = || unflake_model::Rate { seen: 6, of: 6, low: 0.5, high: 1.0 };
        let influence = Influence {
            kind: String::new(),
            confidence: Confidence::Proven,
            setting: factors(setting),
            fails: true,
            threshold: None,
            rate: rate(),
            baseline: rate(),
            p_value: 0.0,
            plan: Vec::new(),
            untried: Vec::new(),
            worst: factors(worst),
            best: factors(best),
            runs: 12,
        };
        let names = |world: &World| world.factors.iter().map(ToString::to_string).collect();
        let lists = compared_with(&influence);
        lists.iter().map(|worlds| worlds.iter().map(names).collect()).collect()
    }

    #[test]
    fn each_factor_of_a_failing_world_is_left_out_once() {
        let (late, berlin) = ("date=2027-05-31", "time-zone=Europe/Berlin");
        let lists = compared(&[late, berlin], &[late, berlin], &["date=2026-01-01", "time-zone=UTC"]);
        let [worlds] = &lists[..] else { panic!("{lists:?}") };
        let passing: Vec<String> = worlds.iter().skip(1).step_by(2).take(3).map(|world| world.join(" ")).collect();
        let expected = [
            "date=2026-01-01 time-zone=UTC",
            "date=2026-01-01 time-zone=Europe/Berlin",
            "date=2027-05-31 time-zone=UTC",
        ];
        assert_eq!(passing, expected);
        assert!(worlds.iter().step_by(2).all(|world| *world == [late, berlin]), "{worlds:?}");
    }

    #[test]
    fn a_date_that_does_not_matter_is_free_and_addresses_vary() {
        let (worst, best) = (
            ["date=2026-01-01", "address-seed=0", "time-zone=Europe/Berlin"],
            ["date=2026-01-01", "address-seed=0", "time-zone=UTC"],
        );
        let lists = compared(&[worst[2]], &worst, &best);
        assert_eq!(lists.len(), 2, "{lists:?}");
        let has_date = |worlds: &Vec<Vec<String>>| worlds.iter().flatten().any(|factor| factor.starts_with("date="));
        assert_eq!(lists.iter().map(has_date).collect::<Vec<bool>>(), [false, true]);
        let addresses: Vec<&str> = lists[0].iter().map(|world| &*world[0]).collect();
        assert_eq!(addresses[..4], ["address-seed=0", "address-seed=0", "address-seed=1", "address-seed=1"]);
    }
}
