//! Screens many factors in few runs: worlds that change one setting of every factor at once, then
//! the factors of those that differ from the baseline, one by one.
//!
//! Each world costs one run, so this comes first where a run takes seconds. It finds what decides
//! each time, such as a time zone or the order of collections. What it does not find is not excluded:
//! one factor can hide the effect of another.

use unflake_model::{FactorEffect, ScaleShape};

use crate::environment::experiment::{Effect, confirm};
use crate::environment::trials::{TrialRunner, TrialWorld};

/// Runs of the baseline. Where they differ, chance decides, and a single run in a world says little.
const BASELINE_RUNS: u32 = 2;

/// Returns effects that are proven or likely.
pub(crate) async fn combined_screen(runner: &TrialRunner, worlds: &[TrialWorld]) -> Vec<Effect> {
    let baseline = runner.run(&[(TrialWorld::BASELINE, BASELINE_RUNS)]).await[0];
    if baseline.is_mixed() || baseline.runs == 0 {
        return Vec::new();
    }
    let usual = baseline.failed > 0;
    let combined = combined(worlds);
    let results = runner.run(&once(&combined)).await;
    let differs = |at: usize| results.get(at).is_some_and(|there| there.runs > 0 && (there.failed > 0) != usual);
    let is_same = |at: usize| results.get(at).is_some_and(|there| there.runs > 0) && !differs(at);
    let has = |at: usize, world: &TrialWorld| world.changes().iter().all(|one| combined[at].changes().contains(one));
    let open: Vec<TrialWorld> = worlds
        .iter()
        .filter(|world| (0..combined.len()).any(|at| differs(at) && has(at, world)))
        .filter(|world| !(0..combined.len()).any(|at| is_same(at) && has(at, world)))
        .cloned()
        .collect();
    runner.run(&once(&open)).await;
    runner.exclude_unusable(&open).await;
    let mut suspects: Vec<TrialWorld> = open;
    suspects.retain(|world| {
        let there = runner.failures(world);
        there.runs > 0 && (there.failed > 0) != usual
    });
    // Settings of one factor have one cause.
    suspects.dedup_by_key(|world| world.kind());
    confirm(runner, suspects).await
}

fn once(worlds: &[TrialWorld]) -> Vec<(TrialWorld, u32)> {
    worlds.iter().map(|world| (world.clone(), 1)).collect()
}

/// Worlds that change one setting of every factor that can decide each time, so that each setting
/// is in one of them.
fn combined(worlds: &[TrialWorld]) -> Vec<TrialWorld> {
    let mut combined: Vec<TrialWorld> = Vec::new();
    for world in worlds.iter().filter(|world| is_combinable(world)) {
        let lacks = |mix: &&mut TrialWorld| mix.changes().iter().all(|other| Some(other.kind()) != world.kind());
        match combined.iter_mut().find(lacks) {
            Some(TrialWorld::With(factors)) => factors.extend_from_slice(world.changes()),
            _ => combined.push(world.clone()),
        }
    }
    combined
}

/// Whether a world only changes what the process sees, and takes nothing away from it.
fn is_combinable(world: &TrialWorld) -> bool {
    world.kind().is_some_and(|kind| {
        let is_amount = kind.scale.as_ref().is_some_and(|scale| matches!(scale.shape, ScaleShape::Amount { .. }));
        let needs_other_runs = matches!(kind.effect, FactorEffect::TestOrder | FactorEffect::Copies);
        !needs_other_runs && !is_amount && !kind.timing && !kind.exclusive && !kind.repeatable
    })
}
