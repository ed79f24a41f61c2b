//! Which factor makes a test fail: one factor after the other is changed against a controlled
//! baseline, as in Table 4.2 of Gao's dissertation, then several together.
//!
//! Breadth first: one world for each factor, then the other settings. A difference in a few runs is
//! a suspicion. It is confirmed in runs that alternate with the baseline, and only these count, so
//! that it does not matter how many factors were screened.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use unflake_model::{
    Attempt, Confidence, Detail, Event, Factor, FactorEffect, FactorKind, FactorPhrase, Finding, Isolation, Layer,
    Session, TestId, UntriedFactor,
};

use crate::environment::combined_screen::combined_screen;
use crate::environment::findings::findings;
use crate::environment::threshold::{Edge, edge};
use crate::environment::trials::{TrialLog, TrialRun, TrialRunner, TrialWorld, order_of, tests_before};
use crate::search::minimize::{self, Minimized, Oracle};
use crate::search::scheduler::{Scheduler, SearchTask};
use crate::search::select::select_tests;
use crate::stats::failure_rate::{FailureCount, corrected, less_often, more_often};
use crate::{Recordings, Technique};

/// Runs of the baseline at the start, and again with twice as many uncontrolled runs.
const BASELINE_RUNS: u32 = 5;
/// Runs of every other world at first: usually, of factors of timing, and with a process for each.
const FIRST: u32 = 3;
const FIRST_TIMING: u32 = 5;
const FIRST_PROCESS: u32 = 1;
/// Additional runs where the first ones differ.
const MORE: u32 = 5;
/// A suspicion: the largest p-value and the smallest difference of the failure rates.
const SUSPECT_P: f64 = 0.25;
const SUSPECT_DIFFERENCE: f64 = 0.2;
/// Runs after which a suspicion is tested, and the runs of one turn between two worlds.
const LOOKS: [u32; 3] = [6, 12, 24];
const TURN: u32 = 3;
/// A difference is likely below this p-value, corrected for looks and suspicions.
const LIKELY: f64 = 0.01;
/// Runs of worlds in which several factors are changed.
const MIXED: u32 = 3;
/// Where only uncontrolled runs fail: seeds of a factor that are tried, and how many at once.
const MAX_SEEDS: u64 = 40;
const SEEDS_AT_ONCE: usize = 5;

/// Whether an experiment first tries many factors at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CombinedScreen {
    /// No: every factor alone.
    Never,
    /// First, then every factor alone.
    First,
    /// Nothing else is tried.
    Only,
}

#[derive(Clone, Debug)]
pub struct ExperimentConfig {
    /// The names of tests, or parts of them.
    pub names: Vec<String>,
    /// Whether they run as one, which fails if one of them does. Otherwise one test must match.
    pub together: bool,
    pub baseline: Vec<Factor>,
    /// Worlds to try, each with changes of one factor.
    pub plan: Vec<Vec<Factor>>,
    /// Changes of several factors, tried where none of them makes a difference alone.
    pub mixes: Vec<Vec<Factor>>,
    /// What cannot be tried, and why.
    pub untried: Vec<UntriedFactor>,
    pub combined: CombinedScreen,
    pub max_runs: u32,
    /// No run starts after this time.
    pub seconds: f64,
    pub fresh_by: Isolation,
    /// Runs of an interrupted experiment, each with its factors.
    pub known: Vec<(Vec<Factor>, Attempt)>,
    /// The layers at which runs are compared, besides their outcome.
    pub layers: Vec<Layer>,
}

pub struct Experiment {
    config: ExperimentConfig,
    /// The tests whose names match.
    pub matching: Vec<TestId>,
    /// All tests, as the runner lists them.
    tests: Vec<TestId>,
    task: SearchTask,
    log: Rc<RefCell<TrialLog>>,
    result: Rc<RefCell<ExperimentResult>>,
}

/// The result so far.
#[derive(Default)]
pub(crate) struct ExperimentResult {
    pub(crate) effects: Vec<Effect>,
    /// Whether the experiment ran to its end.
    pub(crate) complete: bool,
}

/// A difference between a world and the baseline.
#[derive(Clone, Debug)]
pub(crate) struct Effect {
    pub(crate) factors: Vec<Factor>,
    /// Whether it fails more often there than at the baseline.
    pub(crate) fails: bool,
    pub(crate) there: FailureCount,
    pub(crate) baseline: FailureCount,
    pub(crate) p_value: f64,
    pub(crate) confidence: Confidence,
    pub(crate) edge: Option<Edge>,
}

impl Experiment {
    pub fn new(config: ExperimentConfig) -> Self {
        let (matching, tests, task) = (Vec::new(), Vec::new(), SearchTask::default());
        Self { config, matching, tests, task, log: Rc::default(), result: Rc::default() }
    }

    /// The number of runs, including those of the interrupted experiment that it continues.
    pub fn runs(&self) -> u32 {
        self.log.borrow().runs
    }

    /// Why the baseline could not be run.
    pub fn baseline_error(&self) -> Option<String> {
        self.log.borrow().world(&TrialWorld::BASELINE).and_then(|row| row.error.clone())
    }

    fn start(&mut self, tests: Vec<TestId>, seconds: f64) {
        self.matching = select_tests(&tests, &self.config.names).tests;
        self.tests.clone_from(&tests);
        if self.matching.is_empty() || self.matching.len() > 1 && !self.config.together {
            return;
        }
        let mut known: HashMap<Vec<Factor>, VecDeque<TrialRun>> = HashMap::new();
        for (factors, attempt) in &self.config.known {
            known.entry(factors.clone()).or_default().push_back(known_run(attempt));
        }
        let scheduler = Scheduler::new(Isolation::Fork, seconds);
        let runner = TrialRunner {
            scheduler: scheduler.clone(),
            log: self.log.clone(),
            unit: self.matching.clone(),
            tests,
            baseline: self.config.baseline.clone(),
            max_runs: self.config.max_runs,
            known: RefCell::new(known),
            new_processes: Cell::new(self.config.fresh_by == Isolation::Process),
            sequential: Cell::new(false),
        };
        let (plan, mixes) = (self.config.plan.clone(), self.config.mixes.clone());
        let (combined, result) = (self.config.combined, self.result.clone());
        self.task.start(scheduler, conduct(runner, plan, mixes, combined, result));
    }
}

fn known_run(attempt: &Attempt) -> TrialRun {
    let failed = attempt.outcome.is_failure();
    TrialRun {
        failed: (failed || attempt.outcome.is_pass()).then_some(failed),
        crashed: matches!(attempt.outcome, unflake_model::Outcome::Crashed(_)),
        seconds: attempt.seconds,
        failing: failed.then(|| attempt.test.clone()).into_iter().collect(),
        attempts: Vec::new(),
    }
}

impl Technique for Experiment {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        if let Event::TestsListed { tests, seconds, .. } = event {
            self.start(tests.iter().map(|test| test.id.clone()).collect(), self.config.seconds - seconds);
        }
        self.task.observe(event);
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        self.task.next_sessions()
    }

    fn findings(&self, recordings: Recordings<'_>) -> Vec<Finding> {
        let (log, result) = (self.log.borrow(), self.result.borrow());
        let mut found = findings(&self.matching, &self.config, &log, &result, recordings.layers);
        for finding in &mut found {
            let Detail::Factor(influence) = &finding.detail else { continue };
            let Some(order) = order_of(&influence.setting) else { continue };
            for replay in &mut finding.replays {
                replay.tests.splice(0..0, tests_before(&self.tests, &self.matching, order));
            }
        }
        found
    }
}

async fn conduct(
    runner: TrialRunner,
    plan: Vec<Vec<Factor>>,
    mixes: Vec<Vec<Factor>>,
    combined: CombinedScreen,
    result: Rc<RefCell<ExperimentResult>>,
) {
    let worlds: Vec<TrialWorld> = plan.into_iter().map(TrialWorld::With).collect();
    let mut effects: Vec<Effect> = Vec::new();
    if combined != CombinedScreen::Never {
        effects = combined_screen(&runner, &worlds, &mixes).await;
        result.borrow_mut().effects.clone_from(&effects);
    }
    if combined == CombinedScreen::Only {
        // A threshold of one of several factors takes a hundred runs, which other techniques need.
        let is_wanted = |effect: &Effect| effect.factors.len() == 1;
        return refine(&runner, effects, &is_wanted, &result).await;
    }
    start_baseline(&runner).await;
    if runner.failures(&TrialWorld::BASELINE).runs == 0 {
        return;
    }
    runner.sequential.set(conflicts_with_copies(&runner, &worlds).await);
    runner.run(&[(TrialWorld::BASELINE, BASELINE_RUNS), (TrialWorld::Uncontrolled, 2 * BASELINE_RUNS)]).await;
    for wave in waves(&worlds) {
        screen(&runner, &wave).await;
        let suspects = suspects(&runner, &wave, &effects);
        effects.extend(confirm(&runner, suspects).await);
        result.borrow_mut().effects.clone_from(&effects);
    }
    if effects.is_empty() {
        effects = failing_seeds(&runner, &worlds).await;
    }
    if effects.is_empty() && runner.failures(&TrialWorld::BASELINE).share() < 0.5 {
        let combinations = combinations(&runner, mixes).await;
        effects = confirm(&runner, combinations).await;
        effects = without_bystanders(&runner, effects).await;
    }
    refine(&runner, effects, &|_| true, &result).await;
}

/// Finds the smallest change behind each effect, and the threshold where `has_threshold`.
async fn refine(
    runner: &TrialRunner,
    effects: Vec<Effect>,
    has_threshold: &dyn Fn(&Effect) -> bool,
    result: &RefCell<ExperimentResult>,
) {
    result.borrow_mut().effects.clone_from(&effects);
    for (at, effect) in effects.into_iter().enumerate() {
        let effect = narrowed(runner, effect).await;
        result.borrow_mut().effects[at] = effect.clone();
        let found = if has_threshold(&effect) { edge(runner, &effect).await } else { None };
        result.borrow_mut().effects[at].edge = found;
    }
    result.borrow_mut().complete = !runner.is_exhausted();
}

/// Runs the baseline, alone: in forks, and once in a new process. Where these differ, what they draw
/// at random may be why; in a new process that follows from the seed.
async fn start_baseline(runner: &TrialRunner) {
    let in_forks = !runner.new_processes.get();
    runner.run(&[(TrialWorld::BASELINE, BASELINE_RUNS - 1)]).await;
    runner.new_processes.set(true);
    runner.run(&[(TrialWorld::BASELINE, 1)]).await;
    runner.new_processes.set(!in_forks);
    if runner.failures(&TrialWorld::BASELINE).is_mixed() && in_forks {
        let mixed = runner.log.borrow().world(&TrialWorld::BASELINE).cloned();
        runner.forget(&TrialWorld::BASELINE);
        runner.new_processes.set(true);
        runner.run(&[(TrialWorld::BASELINE, BASELINE_RUNS)]).await;
        if runner.failures(&TrialWorld::BASELINE).is_mixed() {
            // That is not why, so the cheaper forks are as good.
            runner.new_processes.set(false);
            runner.forget(&TrialWorld::BASELINE);
            runner.log.borrow_mut().worlds.extend(mixed);
        }
    }
}

/// Whether it fails while copies of it run. Then no two worlds may run at the same time either.
async fn conflicts_with_copies(runner: &TrialRunner, worlds: &[TrialWorld]) -> bool {
    let is_copies = |world: &&TrialWorld| world.kind().is_some_and(|kind| matches!(kind.effect, FactorEffect::Copies));
    let wanted: Vec<(TrialWorld, u32)> =
        worlds.iter().filter(is_copies).map(|world| (world.clone(), 2 * BASELINE_RUNS)).collect();
    let (found, baseline) = (runner.run(&wanted).await, runner.failures(&TrialWorld::BASELINE));
    found.iter().any(|there| there.runs > 0 && there.share() > baseline.share())
}

/// The first world of each factor, then all others.
fn waves(worlds: &[TrialWorld]) -> [Vec<TrialWorld>; 2] {
    let is_first = |at: usize| worlds[..at].iter().all(|before| before.kind() != worlds[at].kind());
    let (first, rest): (Vec<usize>, Vec<usize>) = (0..worlds.len()).partition(|at| is_first(*at));
    [first, rest].map(|wave| wave.into_iter().map(|at| worlds[at].clone()).collect())
}

/// Runs every world a few times, and those that look different a few times more.
async fn screen(runner: &TrialRunner, worlds: &[TrialWorld]) {
    let first_runs = |world: &TrialWorld| match world.kind() {
        _ if runner.new_processes.get() => FIRST_PROCESS,
        Some(kind) if kind.per_process => FIRST_PROCESS,
        Some(kind) if kind.timing => FIRST_TIMING,
        _ => FIRST,
    };
    let missing = |world: &TrialWorld| first_runs(world).saturating_sub(runner.failures(world).runs);
    let untried = worlds.iter().filter(|world| missing(world) > 0);
    let wanted: Vec<(TrialWorld, u32)> = untried.map(|world| (world.clone(), missing(world))).collect();
    runner.run(&wanted).await;
    runner.exclude_unusable(worlds).await;
    let baseline = runner.failures(&TrialWorld::BASELINE);
    let looks_different = |(world, _): &&(TrialWorld, u32)| {
        let there = runner.failures(world);
        let is_mixed = baseline.is_mixed() || there.is_mixed();
        there.runs > 0 && (is_mixed || (there.share() - baseline.share()).abs() > 0.5)
    };
    let wanted: Vec<(TrialWorld, u32)> =
        wanted.iter().filter(looks_different).map(|(world, _)| (world.clone(), MORE)).collect();
    runner.run(&wanted).await;
}

/// Of each factor without an effect so far the world that differs most from the baseline, if it
/// differs enough.
fn suspects(runner: &TrialRunner, worlds: &[TrialWorld], effects: &[Effect]) -> Vec<TrialWorld> {
    let baseline = runner.failures(&TrialWorld::BASELINE);
    let has_effect = |kind: Option<FactorKind>| {
        effects.iter().flat_map(|effect| &effect.factors).any(|factor| Some(factor.kind()) == kind)
    };
    let mut best: Vec<(TrialWorld, f64)> = Vec::new();
    for world in worlds.iter().filter(|world| !has_effect(world.kind())) {
        let there = runner.failures(world);
        let difference = (there.share() - baseline.share()).abs();
        let p_value = more_often(there, baseline).min(less_often(there, baseline));
        if there.runs == 0 || difference < SUSPECT_DIFFERENCE || p_value > SUSPECT_P {
            continue;
        }
        match best.iter_mut().find(|(known, _)| known.kind() == world.kind()) {
            Some(known) if known.1 < difference => *known = (world.clone(), difference),
            Some(_) => {}
            None => best.push((world.clone(), difference)),
        }
    }
    best.into_iter().map(|(world, _)| world).collect()
}

/// Alternates suspects with the baseline, and keeps those that differ in these runs alone.
pub(crate) async fn confirm(runner: &TrialRunner, suspects: Vec<TrialWorld>) -> Vec<Effect> {
    let in_forks = !runner.new_processes.get();
    let per_process = |world: &TrialWorld| world.changes().iter().any(|factor| factor.kind().per_process);
    // The baseline of a seed that applies to processes is the other seed, in a process too.
    runner.new_processes.set(!in_forks || suspects.iter().any(per_process));
    let usual = runner.failures(&TrialWorld::BASELINE);
    let directions: Vec<bool> = suspects.iter().map(|world| runner.failures(world).share() > usual.share()).collect();
    let mut there = vec![FailureCount::default(); suspects.len()];
    let mut baseline = FailureCount::default();
    let mut effects: Vec<Option<Effect>> = vec![None; suspects.len()];
    for look in LOOKS {
        while baseline.runs < look && effects.iter().any(Option::is_none) {
            let open: Vec<usize> = (0..suspects.len()).filter(|at| effects[*at].is_none()).collect();
            let worlds = [TrialWorld::BASELINE].into_iter().chain(open.iter().map(|at| suspects[*at].clone()));
            let turn: Vec<(TrialWorld, u32)> = worlds.map(|world| (world, TURN)).collect();
            let results = runner.run(&turn).await;
            baseline = baseline + results[0];
            for (at, result) in open.iter().zip(&results[1..]) {
                there[*at] = there[*at] + *result;
            }
            if results.iter().all(|result| result.runs == 0) || runner.is_exhausted() {
                break;
            }
        }
        let p_value = |at: usize| match directions[at] {
            true => more_often(there[at], baseline),
            false => less_often(there[at], baseline),
        };
        let all = 0..suspects.len();
        let p_values: Vec<f64> = all
            .map(|at| {
                let open = || (p_value(at) * LOOKS.len() as f64).min(1.0);
                effects[at].as_ref().map_or_else(open, |known| known.p_value)
            })
            .collect();
        for (at, p_value) in corrected(&p_values).into_iter().enumerate() {
            let confidence = confidence(there[at], baseline, directions[at], p_value);
            if let (None, Some(confidence)) = (&effects[at], confidence) {
                let (factors, fails, there) = (suspects[at].changes().to_vec(), directions[at], there[at]);
                effects[at] = Some(Effect { factors, fails, there, baseline, p_value, confidence, edge: None });
            }
        }
    }
    runner.new_processes.set(!in_forks);
    effects.into_iter().flatten().collect()
}

/// None: neither proven nor likely.
fn confidence(there: FailureCount, baseline: FailureCount, fails: bool, p_value: f64) -> Option<Confidence> {
    let (failing, passing) = if fails { (there, baseline) } else { (baseline, there) };
    let decides = failing.failed == failing.runs && passing.failed == 0;
    match () {
        () if decides && there.runs.min(baseline.runs) >= LOOKS[0] => Some(Confidence::Proven),
        () if p_value < LIKELY => Some(Confidence::Likely),
        () => None,
    }
}

/// Where only uncontrolled runs fail, chance decides: tries more seeds until one fails.
async fn failing_seeds(runner: &TrialRunner, worlds: &[TrialWorld]) -> Vec<Effect> {
    let (baseline, uncontrolled) = (runner.failures(&TrialWorld::BASELINE), runner.failures(&TrialWorld::Uncontrolled));
    if baseline.failed > 0 || uncontrolled.failed == 0 {
        return Vec::new();
    }
    let mut kinds: Vec<FactorKind> = worlds.iter().filter_map(TrialWorld::kind).collect();
    kinds.retain(|kind| matches!(kind.phrase, FactorPhrase::Seeds));
    kinds.dedup();
    let seeds = (1..=MAX_SEEDS).flat_map(|seed| kinds.iter().filter_map(move |kind| kind.set(&seed.to_string()).ok()));
    let untried = seeds.map(|seed| TrialWorld::With(vec![seed])).filter(|world| !worlds.contains(world));
    let untried: Vec<TrialWorld> = untried.collect();
    for some in untried.chunks(SEEDS_AT_ONCE * kinds.len().max(1)) {
        let wanted: Vec<(TrialWorld, u32)> = some.iter().map(|world| (world.clone(), FIRST_PROCESS)).collect();
        let results = runner.run(&wanted).await;
        let failing: Vec<TrialWorld> =
            some.iter().zip(results).filter(|(_, result)| result.failed > 0).map(|(world, _)| world.clone()).collect();
        let mut effects = confirm(runner, failing).await;
        effects.dedup_by_key(|effect| effect.factors[0].kind());
        if !effects.is_empty() || runner.is_exhausted() {
            return effects;
        }
    }
    Vec::new()
}

/// Tries whether the test fails, or passes, with all factors of a list changed.
pub(crate) struct Together<'a> {
    pub(crate) runner: &'a TrialRunner,
    pub(crate) fails: bool,
}

impl Oracle<Factor> for Together<'_> {
    const COST_GROWS: bool = false;

    async fn reproduces(&self, lists: Vec<(Vec<Factor>, usize)>) -> Vec<bool> {
        let wanted: Vec<(TrialWorld, u32)> =
            lists.into_iter().map(|(list, _)| (TrialWorld::With(list), MIXED)).collect();
        let missing: Vec<(TrialWorld, u32)> =
            wanted.iter().filter(|(world, _)| self.runner.failures(world).runs < MIXED).cloned().collect();
        self.runner.run(&missing).await;
        wanted.iter().map(|(world, _)| (self.runner.failures(world).share() > 0.5) == self.fails).collect()
    }

    fn out_of_time(&self) -> bool {
        self.runner.is_exhausted()
    }
}

/// The smallest combinations with which it fails.
async fn combinations(runner: &TrialRunner, mixes: Vec<Vec<Factor>>) -> Vec<TrialWorld> {
    let oracle = Together { runner, fails: true };
    let fails = oracle.reproduces(mixes.iter().map(|mix| (mix.clone(), 0)).collect()).await;
    let mut found: Vec<TrialWorld> = Vec::new();
    for (mix, _) in mixes.into_iter().zip(fails).filter(|(_, fails)| *fails) {
        // One combination of the same factors is enough.
        let has = |kind: FactorKind| mix.iter().any(|factor| factor.kind() == kind);
        if found.iter().any(|known| known.changes().iter().all(|factor| has(factor.kind()))) {
            continue;
        }
        if let Minimized::Minimal(list) = minimize::minimize(mix, true, &oracle).await {
            found.push(TrialWorld::With(list));
        }
    }
    found
}

/// Replaces combinations by parts of them that make a difference alone. A test that fails at random
/// may have passed whenever such a part was tried alone.
async fn without_bystanders(runner: &TrialRunner, effects: Vec<Effect>) -> Vec<Effect> {
    let (mut open, mut needed) = (effects, Vec::<Effect>::new());
    while let Some(effect) = open.pop() {
        let without = |at: usize| {
            let mut rest = effect.factors.clone();
            rest.remove(at);
            TrialWorld::With(rest)
        };
        let parts: Vec<TrialWorld> = match effect.factors.len() {
            1 => Vec::new(),
            several => (0..several).map(without).collect(),
        };
        let wanted: Vec<(TrialWorld, u32)> = parts.iter().map(|part| (part.clone(), MORE)).collect();
        runner.run(&wanted).await;
        let baseline = runner.failures(&TrialWorld::BASELINE).share();
        let failing: Vec<TrialWorld> =
            parts.into_iter().filter(|part| runner.failures(part).share() > baseline).collect();
        if failing.is_empty() && needed.iter().all(|known| known.factors != effect.factors) {
            needed.push(effect);
        }
        open.extend(confirm(runner, failing).await);
    }
    needed.reverse();
    needed
}

/// Of several settings of one repeatable factor, those that matter.
async fn narrowed(runner: &TrialRunner, effect: Effect) -> Effect {
    if effect.factors.iter().filter(|factor| factor.kind().repeatable).count() < 2 {
        return effect;
    }
    let oracle = Together { runner, fails: effect.fails };
    match minimize::minimize(effect.factors.clone(), true, &oracle).await {
        Minimized::Minimal(factors) | Minimized::Reduced(factors) => Effect { factors, ..effect },
        Minimized::NotReproduced | Minimized::Untried => effect,
    }
}

#[cfg(test)]
mod tests;
