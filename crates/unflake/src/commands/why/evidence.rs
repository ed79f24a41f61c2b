//! What the runs of a diagnosis have shown so far, and which worlds follow from it.

use std::ops::RangeInclusive;

use unflake_model::{
    Attempt, Confidence, Detail, Factor, FactorEffect, Failure, Finding, ForcedValue, Purpose, TestId, World,
};
use unflake_techniques::PassingWorld;
use unflake_worlds::is_seed;

use crate::run_loop::Gathered;

/// The factor that forks follow, too.
pub(super) const SEED_OF_FORKS: &str = "random-seed";
/// Seeds that are compared with one that makes a test fail.
const OTHER_SEEDS: RangeInclusive<u64> = 1001..=1010;
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

/// Two worlds of which a proven factor makes one fail, for traces of failing and passing runs. Empty: no
/// such factor is proven. Seeds that forks follow, timing and schedules are compared in other ways.
pub(super) fn compared_worlds(record: &Gathered) -> Vec<World> {
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
    proven.map_or(Vec::new(), |influence| {
        [&influence.worst, &influence.best].map(|factors| World::of(factors.clone())).into()
    })
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

    #[test]
    fn recording_that_changes_how_often_a_test_fails_is_reported() {
        assert_eq!(effect_of_tracing((2, 40), (3, 50)), None);
        let note = effect_of_tracing((0, 44), (30, 50)).unwrap();
        assert!(
            note.starts_with("the test failed 30 of 50 times while its lines were recorded, and 0 of 44"),
            "{note}"
        );
    }
}
