//! Screens many factors in few runs: worlds that change one setting of every factor at once, then
//! the factors of those that differ from the baseline, one by one.
//!
//! Each world costs one process, so this comes first where a run takes seconds, or where one factor
//! after the other would take hundreds of runs. It finds what decides each time, such as a time zone,
//! a date or the order of collections. What it does not find is not excluded: one factor can hide the
//! effect of another.

use unflake_model::{Confidence, Factor, FactorEffect, FactorKind, FactorPhrase, ScaleShape};

use crate::environment::experiment::{Effect, Together, confirm};
use crate::environment::trials::{TrialRunner, TrialWorld};
use crate::search::minimize::{Minimized, minimize};
use crate::stats::failure_rate::{less_often, more_often};

/// How much of its time it takes where no world differs.
const PATIENCE: f64 = 0.5;
/// Runs of the baseline. Where they differ, chance decides, and a single run in a world says little.
const BASELINE_RUNS: u32 = 2;
/// Worlds that run before those that differ are examined.
const AT_ONCE: usize = 6;
/// Differing worlds whose factors are tried one by one.
const EXAMINED: usize = 3;
/// Worlds in which no factor decides alone that are reduced to the factors that matter together.
const REDUCED: usize = 2;

/// `mixes`: settings that may matter only together. Returns effects that are proven or likely.
pub(crate) async fn combined_screen(runner: &TrialRunner, worlds: &[TrialWorld], mixes: &[Vec<Factor>]) -> Vec<Effect> {
    let seconds = runner.scheduler.seconds_left();
    let baseline = runner.run(&[(TrialWorld::BASELINE, BASELINE_RUNS)]).await[0];
    if baseline.is_mixed() || baseline.runs == 0 {
        return Vec::new();
    }
    let mut screen = FactorScreen { runner, usual: baseline.failed > 0, same: Vec::new() };
    for some in combined(worlds, mixes).chunks(AT_ONCE) {
        let results = runner.run(&once(some)).await;
        let (mut differing, mut same) = (Vec::new(), Vec::new());
        for (world, there) in some.iter().zip(&results).filter(|(_, there)| there.runs > 0) {
            let list = if (there.failed > 0) == screen.usual { &mut same } else { &mut differing };
            list.push(world.clone());
        }
        screen.same.extend(same);
        // What chance changed once is seldom so again.
        let again = runner.run(&once(&differing)).await;
        let mut again = again.iter().map(|there| there.runs > 0 && (there.failed > 0) != screen.usual);
        differing.retain(|_| again.next().unwrap_or(false));
        runner.exclude_unusable(&differing).await;
        differing.retain(|world| screen.differs(world));
        let effects = screen.examined(differing).await;
        let is_long = runner.scheduler.seconds_left() < seconds * (1.0 - PATIENCE);
        if !effects.is_empty() || runner.is_exhausted() || is_long {
            return effects;
        }
    }
    Vec::new()
}

struct FactorScreen<'a> {
    runner: &'a TrialRunner,
    /// Whether it fails at the baseline.
    usual: bool,
    /// Worlds in which it ended as it usually does.
    same: Vec<TrialWorld>,
}

impl FactorScreen<'_> {
    fn differs(&self, world: &TrialWorld) -> bool {
        let there = self.runner.failures(world);
        there.runs > 0 && (there.failed > 0) != self.usual
    }

    /// The factors that decide in one of these worlds: one of them alone, or else several together.
    async fn examined(&self, differing: Vec<TrialWorld>) -> Vec<Effect> {
        let excluded = |factor: &&Factor| self.same.iter().any(|world| world.changes().contains(factor));
        let mut tried: Vec<TrialWorld> = Vec::new();
        // All usually differ for one reason, so one world after the other.
        for world in differing.iter().take(EXAMINED) {
            let single = |factor: &Factor| TrialWorld::With(vec![factor.clone()]);
            let mut open: Vec<TrialWorld> =
                world.changes().iter().filter(|factor| !excluded(factor)).map(single).collect();
            open.retain(|world| !tried.contains(world));
            tried.extend(open.iter().cloned());
            self.runner.run(&once(&open)).await;
            self.runner.exclude_unusable(&open).await;
            open.retain(|world| self.differs(world));
            let effects = confirm(self.runner, open).await;
            if !effects.is_empty() {
                return effects;
            }
            if self.runner.is_exhausted() {
                return vec![self.unexamined(world)];
            }
        }
        let oracle = Together { runner: self.runner, fails: !self.usual };
        let mut together = Vec::new();
        for world in differing.iter().take(REDUCED) {
            if let Minimized::Minimal(list) = minimize(world.changes().to_vec(), true, &oracle).await {
                together.push(TrialWorld::With(list));
            }
        }
        together.dedup_by_key(|world| world.changes().iter().map(Factor::kind).collect::<Vec<FactorKind>>());
        let effects = confirm(self.runner, together).await;
        match differing.first() {
            Some(world) if effects.is_empty() && self.runner.is_exhausted() => vec![self.unexamined(world)],
            _ => effects,
        }
    }

    /// That it ends otherwise in a world, where which of its factors decides is not known.
    fn unexamined(&self, world: &TrialWorld) -> Effect {
        let (there, baseline) = (self.runner.failures(world), self.runner.failures(&TrialWorld::BASELINE));
        Effect {
            factors: world.changes().to_vec(),
            fails: !self.usual,
            there,
            baseline,
            p_value: more_often(there, baseline).min(less_often(there, baseline)),
            confidence: Confidence::Possible,
            edge: None,
        }
    }
}

fn once(worlds: &[TrialWorld]) -> Vec<(TrialWorld, u32)> {
    worlds.iter().map(|world| (world.clone(), 1)).collect()
}

/// Worlds that change every factor that can decide each time. Each setting is in one of them at least;
/// where a factor has few settings, they come again, and a seed is another in each world.
fn combined(worlds: &[TrialWorld], mixes: &[Vec<Factor>]) -> Vec<TrialWorld> {
    let mut kinds: Vec<(FactorKind, Vec<Factor>)> = Vec::new();
    for world in worlds.iter().filter(|world| is_combinable(world)) {
        for factor in world.changes() {
            match kinds.iter_mut().find(|(kind, _)| *kind == factor.kind()) {
                Some((_, settings)) => settings.push(factor.clone()),
                None => kinds.push((factor.kind(), vec![factor.clone()])),
            }
        }
    }
    let count = kinds.iter().map(|(_, settings)| settings.len()).max().unwrap_or(0);
    let setting = |at: usize, (kind, settings): &(FactorKind, Vec<Factor>)| match at.checked_sub(settings.len()) {
        Some(_) if matches!(kind.phrase, FactorPhrase::Seeds) => {
            kind.set(&(at + 1).to_string()).unwrap_or_else(|_| settings[at % settings.len()].clone())
        }
        _ => settings[at % settings.len()].clone(),
    };
    let all = (0..count).map(|at| kinds.iter().map(|kind| setting(at, kind)).collect());
    let is_fit = |mix: &&Vec<Factor>| {
        mix.len() > 1 && mix.iter().all(|factor| is_combinable(&TrialWorld::With(vec![factor.clone()])))
    };
    all.map(TrialWorld::With).chain(mixes.iter().filter(is_fit).cloned().map(TrialWorld::With)).collect()
}

/// Whether a world only changes what the process sees, and takes nothing away from it.
fn is_combinable(world: &TrialWorld) -> bool {
    world.kind().is_some_and(|kind| {
        let is_amount = kind.scale.as_ref().is_some_and(|scale| matches!(scale.shape, ScaleShape::Amount { .. }));
        let needs_other_runs = matches!(kind.effect, FactorEffect::TestOrder | FactorEffect::Copies);
        !needs_other_runs && !is_amount && !kind.timing && !kind.exclusive && !kind.repeatable
    })
}
