//! What controls a test: one factor of its world after the other is set otherwise than at a controlled baseline, as in Table 4.2 of
//! Gao's dissertation; then several together; and where settings can be more or less, from where on.
//!
//! What looks different in a few runs is a suspicion. It counts only if it holds in runs that are made to make sure, in turns with
//! as many of the baseline: so it does not matter how often, and for how many factors, one has looked before.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use unflake_model::{
    Attempt, Detail, Event, Factor, FactorKind, Finding, Isolation, Layer, Session, TestId, UntriedFactor,
};

use crate::environment::findings::findings;
use crate::environment::threshold::{Edge, edge};
use crate::environment::trials::{Bench, Book, Run, World, before, order_of};
use crate::search::minimize::{self, Minimized, Oracle};
use crate::search::scheduler::{Scheduler, SearchTask};
use crate::search::select::select_tests;
use crate::stats::failure_rate::{FailureCount, corrected, less_often, more_often};
use crate::{Recordings, Technique};

/// How often the baseline is run to begin with, and then once more; the uncontrolled world as often as both.
const PART: u32 = 5;
/// How often every other world is run first, those that task through time more often; and how often more where that looks different.
const FIRST: u32 = 3;
const FIRST_IN_TIME: u32 = 5;
/// Where every run has a process to itself.
const FIRST_DEAR: u32 = 1;
const MORE: u32 = 5;
/// A suspicion: so likely by chance at most, and the rates so far apart at least.
const SUSPECT: f64 = 0.25;
const APART: f64 = 0.2;
/// How many runs, all together, the looks rest on in which a suspicion is made sure of; how many are made in turn.
const LOOKS: [u32; 3] = [6, 12, 24];
const TURN: u32 = 3;
/// All looks at all suspicions together may be wrong in so many experiments of those in which nothing matters.
const WRONG: f64 = 0.04;
/// In how many mixed worlds a combination is looked for, one after the other.
const MIXED: u32 = 3;

/// An experiment as it is asked for.
#[derive(Clone, Debug)]
pub struct ExperimentConfig {
    /// The names of tests, or parts of them.
    pub names: Vec<String>,
    /// Whether they are one thing together, which fails if one of them does. Otherwise there may be one only.
    pub together: bool,
    pub baseline: Vec<Factor>,
    /// What is tried, each of one kind, beside the baseline.
    pub plan: Vec<Vec<Factor>>,
    /// Several kinds at once, tried where none of them alone makes a difference.
    pub mixes: Vec<Vec<Factor>>,
    /// What cannot be tried, and why.
    pub untried: Vec<UntriedFactor>,
    /// How many runs may be made.
    pub runs: u32,
    /// No run is begun after so many seconds.
    pub seconds: f64,
    pub fresh_by: Isolation,
    /// Runs of an experiment that was stopped, with what was set in each.
    pub known: Vec<(Vec<Factor>, Attempt)>,
    /// At which layers runs are looked at, beside how they end.
    pub layers: Vec<Layer>,
}

pub struct Experiment {
    asked: ExperimentConfig,
    /// The tests that are meant.
    pub matching: Vec<TestId>,
    /// All, as the runner lists them.
    tests: Vec<TestId>,
    task: Option<SearchTask>,
    book: Rc<RefCell<Book>>,
    outcome: Rc<RefCell<Outcome>>,
}

/// What is known in the end, or up to now.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) effects: Vec<Effect>,
    /// It was carried out to its end.
    pub(crate) complete: bool,
}

/// A difference that holds.
#[derive(Clone, Debug)]
pub(crate) struct Effect {
    pub(crate) factors: Vec<Factor>,
    /// Whether it fails more often there than at the baseline.
    pub(crate) fails: bool,
    pub(crate) there: FailureCount,
    pub(crate) baseline: FailureCount,
    pub(crate) chance: f64,
    pub(crate) edge: Option<Edge>,
}

impl Experiment {
    pub fn new(asked: ExperimentConfig) -> Self {
        let (matching, tests, task) = (Vec::new(), Vec::new(), None);
        Self { asked, matching, tests, task, book: Rc::default(), outcome: Rc::default() }
    }

    /// How many runs were made, those of an earlier experiment that this one went on from among them.
    pub fn runs(&self) -> u32 {
        self.book.borrow().made
    }

    /// Why not even the baseline could be run.
    pub fn cannot(&self) -> Option<String> {
        self.book.borrow().row(&World::BASELINE).and_then(|row| row.cannot.clone())
    }

    fn begin(&mut self, tests: Vec<TestId>) {
        self.matching = select_tests(&tests, &self.asked.names).tests;
        self.tests.clone_from(&tests);
        if self.matching.is_empty() || self.matching.len() > 1 && !self.asked.together {
            return;
        }
        let mut known: HashMap<Vec<Factor>, VecDeque<Run>> = HashMap::new();
        for (factors, attempt) in &self.asked.known {
            let failed = attempt.outcome.is_failure();
            let told = failed || attempt.outcome.is_pass();
            let failing = failed.then(|| attempt.test.clone()).into_iter().collect();
            let run = Run { failed: told.then_some(failed), seconds: attempt.seconds, failing, attempts: Vec::new() };
            known.entry(factors.clone()).or_default().push_back(run);
        }
        let scheduler = Scheduler::new(Isolation::Fork, self.asked.seconds);
        let bench = Bench {
            scheduler: scheduler.clone(),
            book: self.book.clone(),
            unit: self.matching.clone(),
            tests,
            baseline: self.asked.baseline.clone(),
            budget: self.asked.runs,
            known: RefCell::new(known),
            anew: Cell::new(self.asked.fresh_by == Isolation::Process),
            alone: Cell::new(false),
        };
        let (plan, mixes) = (self.asked.plan.clone(), self.asked.mixes.clone());
        self.task = Some(SearchTask::new(scheduler, conduct(bench, plan, mixes, self.outcome.clone())));
    }
}

impl Technique for Experiment {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        if let Event::TestsListed { tests, .. } = event {
            self.begin(tests.iter().map(|test| test.id.clone()).collect());
        }
        if let Some(task) = &mut self.task {
            task.observe(event);
        }
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        self.task.as_mut().map_or(Vec::new(), SearchTask::next_sessions)
    }

    fn findings(&self, recordings: Recordings<'_>) -> Vec<Finding> {
        let mut found =
            findings(&self.matching, &self.asked, &self.book.borrow(), &self.outcome.borrow(), recordings.layers);
        for finding in &mut found {
            let Detail::Factor(influence) = &finding.detail else { continue };
            let Some(order) = order_of(&influence.setting) else { continue };
            for replay in &mut finding.replays {
                replay.tests.splice(0..0, before(&self.tests, &self.matching, order));
            }
        }
        found
    }
}

async fn conduct(bench: Bench, plan: Vec<Vec<Factor>>, mixes: Vec<Vec<Factor>>, outcome: Rc<RefCell<Outcome>>) {
    begin(&bench).await;
    if bench.failures(&World::BASELINE).runs == 0 {
        return;
    }
    let singles: Vec<World> = plan.into_iter().map(World::With).collect();
    bench.alone.set(minds_itself(&bench, &singles).await);
    bench.run(&[(World::BASELINE, PART), (World::Uncontrolled, 2 * PART)]).await;
    screen(&bench, &singles).await;
    let mut effects = make_sure(&bench, suspects(&bench, &singles)).await;
    if effects.is_empty() && bench.failures(&World::BASELINE).share() < 0.5 {
        let together = combinations(&bench, mixes).await;
        effects = make_sure(&bench, together).await;
        effects = without_bystanders(&bench, effects).await;
    }
    outcome.borrow_mut().effects.clone_from(&effects);
    for (at, effect) in effects.into_iter().enumerate() {
        let effect = narrowed(&bench, effect).await;
        outcome.borrow_mut().effects[at] = effect.clone();
        let found = edge(&bench, &effect).await;
        outcome.borrow_mut().effects[at].edge = found;
    }
    outcome.borrow_mut().complete = !bench.is_over();
}

/// The baseline, with nobody beside it. Where runs of it differ that were copies of one process, what each draws by chance may be
/// why; it is the same where each has a process from its beginning.
async fn begin(bench: &Bench) {
    bench.run(&[(World::BASELINE, PART)]).await;
    if bench.failures(&World::BASELINE).is_mixed() && !bench.anew.get() {
        let in_copies = bench.book.borrow().row(&World::BASELINE).cloned();
        bench.forget(&World::BASELINE);
        bench.anew.set(true);
        bench.run(&[(World::BASELINE, PART)]).await;
        if bench.failures(&World::BASELINE).is_mixed() {
            // It is not that, so the cheaper way will do.
            bench.anew.set(false);
            bench.forget(&World::BASELINE);
            bench.book.borrow_mut().rows.extend(in_copies);
        }
    }
}

/// Whether it fails beside copies of itself. Then worlds may not be beside each other either.
async fn minds_itself(bench: &Bench, singles: &[World]) -> bool {
    let beside = singles.iter().filter(|world| world.kind() == Some(FactorKind::Beside));
    let wanted: Vec<(World, u32)> = beside.map(|world| (world.clone(), 2 * PART)).collect();
    let (found, usual) = (bench.run(&wanted).await, bench.failures(&World::BASELINE));
    found.iter().any(|there| there.runs > 0 && there.share() > usual.share())
}

/// Every world of the plan a few times, and where that looks different a few times more.
async fn screen(bench: &Bench, singles: &[World]) {
    let first = |world: &World| match world.kind() {
        Some(FactorKind::RandomSeed) => FIRST_DEAR,
        _ if bench.anew.get() => FIRST_DEAR,
        _ if world.differs_in().iter().any(works_in_time) => FIRST_IN_TIME,
        _ => FIRST,
    };
    let singles: Vec<&World> = singles.iter().filter(|world| bench.failures(world).runs == 0).collect();
    let wanted: Vec<(World, u32)> = singles.iter().map(|world| ((*world).clone(), first(world))).collect();
    bench.run(&wanted).await;
    let usual = bench.failures(&World::BASELINE);
    let looks_different = |world: &&&World| {
        let there = bench.failures(world);
        there.runs > 0 && (usual.is_mixed() || there.is_mixed() || (there.share() - usual.share()).abs() > 0.5)
    };
    let wanted: Vec<(World, u32)> =
        singles.iter().filter(looks_different).map(|world| ((*world).clone(), MORE)).collect();
    bench.run(&wanted).await;
}

/// Whether what it does is a matter of how long things take, so that it need not do it every time.
fn works_in_time(factor: &Factor) -> bool {
    use FactorKind::{Beside, Cores, Declared, Delays, Load, Network, Speed};
    match factor.kind() {
        Declared(declared) => declared.works_in_time,
        kind => matches!(kind, Beside | Cores | Delays | Load | Network | Speed),
    }
}

/// Of each kind the world that differs most from the baseline, if that is more than a little.
fn suspects(bench: &Bench, singles: &[World]) -> Vec<World> {
    let usual = bench.failures(&World::BASELINE);
    let mut best: Vec<(World, f64)> = Vec::new();
    for world in singles {
        let there = bench.failures(world);
        let apart = (there.share() - usual.share()).abs();
        let chance = more_often(there, usual).min(less_often(there, usual));
        if there.runs == 0 || apart < APART || chance > SUSPECT {
            continue;
        }
        match best.iter_mut().find(|(known, _)| known.kind() == world.kind()) {
            Some(known) if known.1 < apart => *known = (world.clone(), apart),
            Some(_) => {}
            None => best.push((world.clone(), apart)),
        }
    }
    best.into_iter().map(|(world, _)| world).collect()
}

/// Runs suspects and the baseline in turns, and keeps what differs by more than chance in these runs alone.
async fn make_sure(bench: &Bench, suspects: Vec<World>) -> Vec<Effect> {
    let usual = bench.failures(&World::BASELINE);
    let directions: Vec<bool> = suspects.iter().map(|world| bench.failures(world).share() > usual.share()).collect();
    let mut there = vec![FailureCount::default(); suspects.len()];
    let mut baseline = FailureCount::default();
    let mut sure: Vec<Option<Effect>> = vec![None; suspects.len()];
    for look in LOOKS {
        while baseline.runs < look && sure.iter().any(Option::is_none) {
            let open = (0..suspects.len()).filter(|at| sure[*at].is_none());
            let open: Vec<usize> = open.collect();
            let worlds = [World::BASELINE].into_iter().chain(open.iter().map(|at| suspects[*at].clone()));
            let turn: Vec<(World, u32)> = worlds.map(|world| (world, TURN)).collect();
            let attempt = bench.run(&turn).await;
            baseline = sum(baseline, attempt[0]);
            for (at, attempt) in open.iter().zip(&attempt[1..]) {
                there[*at] = sum(there[*at], *attempt);
            }
            if attempt.iter().all(|attempt| attempt.runs == 0) || bench.is_over() {
                break;
            }
        }
        let chance = |at: usize| match directions[at] {
            true => more_often(there[at], baseline),
            false => less_often(there[at], baseline),
        };
        let chances: Vec<f64> = (0..suspects.len())
            .map(|at| {
                sure[at].as_ref().map_or_else(|| (chance(at) * LOOKS.len() as f64).min(1.0), |known| known.chance)
            })
            .collect();
        for (at, chance) in corrected(&chances).into_iter().enumerate() {
            if sure[at].is_none() && chance < WRONG {
                sure[at] = Some(Effect {
                    factors: suspects[at].differs_in().to_vec(),
                    fails: directions[at],
                    there: there[at],
                    baseline,
                    chance,
                    edge: None,
                });
            }
        }
    }
    sure.into_iter().flatten().collect()
}

fn sum(one: FailureCount, other: FailureCount) -> FailureCount {
    FailureCount::new(one.failed + other.failed, one.runs + other.runs)
}

/// Lists of factors that are tried for whether the test fails under all of them together.
struct Together<'a> {
    bench: &'a Bench,
    /// Whether it is to fail.
    fails: bool,
}

impl Oracle<Factor> for Together<'_> {
    const COST_GROWS: bool = false;

    async fn reproduces(&self, lists: Vec<(Vec<Factor>, usize)>) -> Vec<bool> {
        let wanted: Vec<(World, u32)> = lists.into_iter().map(|(list, _)| (World::With(list), MIXED)).collect();
        let missing: Vec<(World, u32)> =
            wanted.iter().filter(|(world, _)| self.bench.failures(world).runs < MIXED).cloned().collect();
        self.bench.run(&missing).await;
        wanted.iter().map(|(world, _)| (self.bench.failures(world).share() > 0.5) == self.fails).collect()
    }

    fn out_of_time(&self) -> bool {
        self.bench.is_over()
    }
}

/// The smallest combinations that make it fail, of worlds in which everything is set otherwise at once.
async fn combinations(bench: &Bench, mixes: Vec<Vec<Factor>>) -> Vec<World> {
    let trial = Together { bench, fails: true };
    let shows = trial.reproduces(mixes.iter().map(|mix| (mix.clone(), 0)).collect()).await;
    let mut found: Vec<World> = Vec::new();
    for (mix, _) in mixes.into_iter().zip(shows).filter(|(_, shows)| *shows) {
        // One of the same kinds is enough.
        let has = |kind: FactorKind| mix.iter().any(|factor| factor.kind() == kind);
        if found.iter().any(|known| known.differs_in().iter().all(|factor| has(factor.kind()))) {
            continue;
        }
        if let Minimized::Minimal(list) = minimize::minimize(mix, true, &trial).await {
            found.push(World::With(list));
        }
    }
    found
}

/// Where a part of a combination makes a difference too, that part. What fails now and then by itself may have passed whenever it was
/// alone, and failed beside something that has nothing to do with it.
async fn without_bystanders(bench: &Bench, effects: Vec<Effect>) -> Vec<Effect> {
    let (mut open, mut needed) = (effects, Vec::<Effect>::new());
    while let Some(effect) = open.pop() {
        let without = |at: usize| {
            let mut rest = effect.factors.clone();
            rest.remove(at);
            World::With(rest)
        };
        let parts: Vec<World> = match effect.factors.len() {
            1 => Vec::new(),
            several => (0..several).map(without).collect(),
        };
        let wanted: Vec<(World, u32)> = parts.iter().map(|part| (part.clone(), MORE)).collect();
        bench.run(&wanted).await;
        let usual = bench.failures(&World::BASELINE).share();
        let failing = parts.into_iter().filter(|part| bench.failures(part).share() > usual).collect();
        let smaller = make_sure(bench, failing).await;
        if smaller.is_empty() && needed.iter().all(|known| known.factors != effect.factors) {
            needed.push(effect);
        }
        open.extend(smaller);
    }
    needed.reverse();
    needed
}

/// Of several variables, those that matter.
async fn narrowed(bench: &Bench, effect: Effect) -> Effect {
    let variables = effect.factors.iter().filter(|factor| factor.kind() == FactorKind::Variable).count();
    if variables < 2 {
        return effect;
    }
    let trial = Together { bench, fails: effect.fails };
    match minimize::minimize(effect.factors.clone(), true, &trial).await {
        Minimized::Minimal(factors) | Minimized::Reduced(factors) => Effect { factors, ..effect },
        Minimized::NotReproduced | Minimized::Untried => effect,
    }
}

#[cfg(test)]
mod tests;
