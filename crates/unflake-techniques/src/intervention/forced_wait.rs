//! Forces how long a test waits at each line that waits, until one decides the outcome: without the
//! wait it fails every time and with a longer one it passes every time, or the other way round.
//!
//! A few passes of a test that rarely fails say little. So its waits are forced where it fails
//! often: as it is, or else in the first of some worlds that disturb its timing. Where clocks that run
//! slower make it pass every time, waits are forced there, and five runs each are enough. That shows
//! which wait the test needs; whether its length is what fails is then tried where it often fails.

use std::cell::RefCell;
use std::rc::Rc;

use unflake_model::{
    Cause, Detail, Divergence, DivergenceKind, Event, Factor, FactorKind, Failure, Finding, ForcedValue, Isolation,
    Location, Outcome, Purpose, Replay, Session, Shows, SourceLine, TestId, World,
};

use crate::finding::finding;
use crate::intervention::forced_value::{MOST_TIMES, TIMES, runs_against_chance};
use crate::search::scheduler::{Scheduler, SearchTask, SessionRequest};
use crate::stats::failure_rate::FailureCount;
use crate::{Recordings, Technique};

/// Runs that measure how often the test fails, and after how many without a failure they end.
const MEASURED: u32 = 20;
const FEW: u32 = 8;
/// Below this failure rate too many passes would be needed.
const OFTEN: f64 = 0.12;
/// Runs in a world until one fails in the examined way or passes.
const TRIES: u32 = 3;
/// Runs that measure how often it fails where it should often fail, and the rate that is enough.
const SCREENED: u32 = 8;
const MOSTLY: f64 = 0.5;
/// Settings of a wait.
const NONE: &str = "0";
const LONGER: &str = "+1";
const AS_IT_IS: &str = "+0";

#[derive(Clone, Debug)]
pub struct WaitInterventionConfig {
    pub test: TestId,
    /// The lines that wait, the likeliest first.
    pub waits: Vec<SourceLine>,
    /// The factor that forces a value at a line.
    pub kind: FactorKind,
    /// The failures that were seen: others are effects of the intervention.
    pub failures: Vec<Failure>,
    /// Worlds that disturb the timing, the likeliest to make it fail first.
    pub disturbed: Vec<Vec<Factor>>,
    /// A world in which it passes every time, where one is known.
    pub passing: Option<PassingWorld>,
    pub fresh_by: Isolation,
    pub seconds: f64,
}

/// A world in which a test passes every time that fails elsewhere.
#[derive(Clone, Debug)]
pub struct PassingWorld {
    pub factors: Vec<Factor>,
    /// How it fails elsewhere, the most frequent first.
    pub failures: Vec<Failure>,
    /// Worlds in which it may often fail, the likeliest first.
    pub failing: Vec<Vec<Factor>>,
    /// Failures and runs without an intervention.
    pub alone: (u32, u32),
}

pub struct WaitIntervention {
    config: WaitInterventionConfig,
    task: SearchTask,
    result: Rc<RefCell<Option<DecidingWait>>>,
}

struct DecidingWait {
    condition: Condition,
    proof: ForcedValue,
    /// Where the test passes it needs the wait; whether that is why it fails is not known.
    is_needed_only: bool,
    /// Where it often fails and the other wait prevents that. None: the outcomes above are enough.
    prevented: Option<Prevented>,
}

/// A world in which a test often fails, and passed every time with another wait.
#[derive(Clone)]
struct Prevented {
    factors: Vec<Factor>,
    count: FailureCount,
    passed: u32,
}

/// Where the test often fails in one way, and how often.
struct Condition {
    factors: Vec<Factor>,
    /// Whether it passes every time in this world with the waits as they are.
    passes: bool,
    failure: Failure,
    count: FailureCount,
    /// Runs with the failing wait, and with the passing one.
    times: [u32; 2],
}

impl WaitIntervention {
    pub fn new(config: WaitInterventionConfig) -> Self {
        Self { config, task: SearchTask::default(), result: Rc::default() }
    }
}

impl Technique for WaitIntervention {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        if let Event::TestsListed { seconds, .. } = event {
            let scheduler = Scheduler::new(self.config.fresh_by, self.config.seconds - seconds);
            let trial = WaitTrial { scheduler: scheduler.sequential(), config: self.config.clone() };
            let result = self.result.clone();
            self.task.start(scheduler, async move {
                *result.borrow_mut() = trial.run().await;
            });
        }
        self.task.observe(event);
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        self.task.next_sessions()
    }

    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        self.result.borrow().iter().filter_map(|found| found.finding(&self.config)).collect()
    }
}

impl DecidingWait {
    fn finding(&self, config: &WaitInterventionConfig) -> Option<Finding> {
        let Self { condition, proof, prevented, is_needed_only } = self;
        let Condition { factors, passes: passes_there, count, failure, .. } = condition;
        let options = World::of(factors.clone()).options().join(" ");
        let is_too_short = proof.failing == NONE;
        let (too, fails, passes) = match is_too_short {
            true => ("short", "without it", "a second longer"),
            false => ("long", "a second longer", "without it"),
        };
        let FailureCount { failed, runs } = *count;
        let decides = match *passes_there {
            // The counts are those without a world.
            true => {
                let seen = prevented.as_ref().map_or(String::new(), |prevented| prevented.sentence(passes));
                format!(
                    "with {options} the test fails {fails} and passes as it is; without {options}, it fails {failed} \
                     of {runs} runs{seen}"
                )
            }
            false => {
                let under = if options.is_empty() { String::new() } else { format!(" with {options}") };
                format!("{fails} the test fails, {passes} it passes; as it is, it fails {failed} of {runs} runs{under}")
            }
        };
        let is = if *is_needed_only { "may be" } else { "is sometimes" };
        let sentence = format!("the wait {is} too {too}: {decides}");
        let (line, test) = (proof.line.clone(), &config.test);
        let start = Location {
            line: line.clone(),
            how: DivergenceKind::Order,
            failing: count.failed,
            passing: 0,
            chance: 1.0,
            sentence: sentence.clone(),
            value: None,
            rejected: false,
        };
        let raised = failure.file.clone().zip(failure.line);
        let divergence = Divergence {
            kind: Cause::AsyncWait,
            because: format!("how long {}:{} waits decides", line.file, line.line),
            locations: vec![start],
            shows: raised.map(|(file, line)| SourceLine { file, line, function: String::new() }),
            runs: count.runs,
            failed: count.failed,
            timed_out: 0,
            points: Vec::new(),
            unknown: Vec::new(),
            proof: (!is_needed_only).then(|| proof.clone()),
        };
        let [fails, passes] = config.worlds(condition, proof)?;
        let replay = |under, shows| Replay { under, shows, ..Replay::fails(vec![test.clone()]) };
        let replays = vec![replay(fails, Shows::AlwaysFails), replay(passes, Shows::Passes)];
        let sentence = format!("starts at {}:{}: {sentence}", line.file, line.line);
        Some(finding(test, Detail::Divergence(divergence), sentence, replays))
    }
}

impl Prevented {
    fn sentence(&self, passes: &str) -> String {
        let Self { factors, count, passed } = self;
        let options = World::of(factors.clone()).options().join(" ");
        let under = if options.is_empty() { "as it is".to_owned() } else { format!("with {options}") };
        let FailureCount { failed, runs } = count;
        format!("; {under}, it fails {failed} of {runs} runs, and {passes} it passes {passed} of {passed}")
    }
}

impl WaitInterventionConfig {
    /// With the failing and with the passing wait.
    fn worlds(&self, condition: &Condition, proof: &ForcedValue) -> Option<[World; 2]> {
        let world = |fails| {
            let forced = self.kind.set(&proof.setting(fails)).ok()?;
            Some(World::of(condition.factors.iter().cloned().chain([forced]).collect()))
        };
        Some([world(true)?, world(false)?])
    }
}

struct WaitTrial {
    scheduler: Scheduler,
    config: WaitInterventionConfig,
}

impl WaitTrial {
    async fn run(self) -> Option<DecidingWait> {
        let mut needed = None;
        'ways: for condition in self.conditions().await {
            let mut elsewhere = None;
            let times = condition.times;
            for line in nearest_first(&self.config.waits, &condition.failure) {
                for (failing, passing) in [(NONE, LONGER), (LONGER, NONE)] {
                    let passing = if condition.passes { AS_IT_IS } else { passing };
                    let (failed, passed) = (times[0], times[1]);
                    let (failing, passing) = (failing.to_owned(), passing.to_owned());
                    let name = ForcedValue::WAIT.to_owned();
                    let proof = ForcedValue { line: line.clone(), name, failing, failed, passing, passed };
                    if self.decides(&condition, &proof, times).await != Some(true) {
                        continue;
                    }
                    if !condition.passes {
                        return Some(DecidingWait { condition, proof, prevented: None, is_needed_only: false });
                    }
                    // Many tests need a wait to which their failures have no relation.
                    if elsewhere.is_none() {
                        elsewhere = Some(self.often_failing(&condition.failure).await);
                    }
                    let Some((factors, count)) = elsewhere.clone().flatten() else {
                        let found = DecidingWait { condition, proof, prevented: None, is_needed_only: true };
                        needed.get_or_insert(found);
                        continue 'ways;
                    };
                    let longer = if proof.failing == NONE { LONGER } else { NONE };
                    if let Some(prevented) = self.prevents(&condition, &proof, longer, factors, count).await {
                        let prevented = Some(prevented);
                        return Some(DecidingWait { condition, proof, prevented, is_needed_only: false });
                    }
                }
            }
        }
        needed
    }

    /// The ways in which the test often fails as it is, or else in the first world that disturbs it.
    async fn conditions(&self) -> Vec<Condition> {
        if let Some(PassingWorld { factors, failures, alone, .. }) = &self.config.passing {
            let count = FailureCount::new(alone.0, alone.1);
            let condition = |failure: &Failure| Condition {
                factors: factors.clone(),
                passes: true,
                failure: failure.clone(),
                count,
                times: [TIMES; 2],
            };
            return failures.iter().map(condition).collect();
        }
        let as_it_is = Vec::new();
        for factors in std::iter::once(&as_it_is).chain(&self.config.disturbed) {
            let world = (!factors.is_empty()).then(|| World::of(factors.clone()));
            let mut ways: Vec<(Failure, u32)> = Vec::new();
            let mut runs = 0;
            while runs < MEASURED && !(runs == FEW && ways.is_empty()) && !self.scheduler.out_of_time() {
                runs += 1;
                let Some(Some(failure)) = self.outcome(world.as_ref()).await else { continue };
                match ways.iter_mut().find(|(other, _)| is_same(other, &failure)) {
                    Some((_, times)) => *times += 1,
                    None => ways.push((failure, 1)),
                }
            }
            let seen = &self.config.failures;
            ways.retain(|(failure, _)| seen.is_empty() || seen.iter().any(|other| is_same(failure, other)));
            ways.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
            let conditions = ways.into_iter().map(|(failure, times)| {
                let count = FailureCount::new(times, runs);
                let rate = count.share();
                // Where it nearly always fails as it is, the passes tell.
                let times = [runs_against_chance(rate).min(MOST_TIMES), runs_against_chance(1.0 - rate)];
                Condition { factors: factors.clone(), passes: false, failure, count, times }
            });
            let often: Vec<Condition> = conditions.filter(|condition| condition.count.share() >= OFTEN).collect();
            if !often.is_empty() {
                return often;
            }
        }
        Vec::new()
    }

    /// The first world in which it mostly fails in this way, and how often.
    async fn often_failing(&self, way: &Failure) -> Option<(Vec<Factor>, FailureCount)> {
        for factors in &self.config.passing.as_ref()?.failing {
            let world = (!factors.is_empty()).then(|| World::of(factors.clone()));
            let mut count = FailureCount::default();
            while count.runs < SCREENED && !self.scheduler.out_of_time() {
                let failed = self.outcome(world.as_ref()).await?.is_some_and(|failure| is_same(&failure, way));
                count = count + FailureCount::new(u32::from(failed), 1);
                // It can no longer fail often enough.
                if f64::from(count.runs - count.failed) > f64::from(SCREENED) * (1.0 - MOSTLY) {
                    break;
                }
            }
            if count.runs == SCREENED && count.share() >= MOSTLY {
                return Some((factors.clone(), count));
            }
        }
        None
    }

    /// Whether a wait of another length prevents the failure where it is frequent.
    async fn prevents(
        &self,
        condition: &Condition,
        proof: &ForcedValue,
        setting: &str,
        factors: Vec<Factor>,
        count: FailureCount,
    ) -> Option<Prevented> {
        let forced = self.config.kind.set(&ForcedValue { passing: setting.to_owned(), ..proof.clone() }.setting(false));
        let world = World::of(factors.iter().cloned().chain([forced.ok()?]).collect());
        let passed = runs_against_chance(1.0 - count.share());
        for _ in 0..passed {
            if self.scheduler.out_of_time()
                || self.outcome(Some(&world)).await?.is_some_and(|failure| is_same(&failure, &condition.failure))
            {
                return None;
            }
        }
        Some(Prevented { factors, count, passed })
    }

    /// Whether the outcome follows the wait every time. None: that could not be tried.
    async fn decides(&self, condition: &Condition, proof: &ForcedValue, times: [u32; 2]) -> Option<bool> {
        let worlds = self.config.worlds(condition, proof)?;
        for round in 0..times[0].max(times[1]) {
            for (at, fails) in [(0, true), (1, false)] {
                if round < times[at] && self.fails(&worlds[at], &condition.failure).await? != fails {
                    return Some(false);
                }
            }
        }
        Some(true)
    }

    /// Whether the test fails in this way. A run that fails in another says nothing. None: it did not
    /// run, or always failed in another way.
    async fn fails(&self, world: &World, way: &Failure) -> Option<bool> {
        for _ in 0..TRIES {
            if self.scheduler.out_of_time() {
                return None;
            }
            match self.outcome(Some(world)).await? {
                None => return Some(false),
                Some(failure) if is_same(&failure, way) => return Some(true),
                Some(_) => {}
            }
        }
        None
    }

    /// How the test fails in this world; inside None: it passes. Outside None: it did not run.
    async fn outcome(&self, world: Option<&World>) -> Option<Option<Failure>> {
        let request = SessionRequest {
            under: world.cloned(),
            ..SessionRequest::new(Purpose::Factor, vec![self.config.test.clone()])
        };
        let result = self.scheduler.run_one(request).await;
        let last = result.last()?;
        match last.outcome {
            outcome if outcome.is_pass() => Some(None),
            Outcome::Skipped => None,
            _ => last.failure.clone().map(Some),
        }
    }
}

/// Whether two failures are raised at the same line with the same type.
fn is_same(one: &Failure, other: &Failure) -> bool {
    one.kind == other.kind && one.file == other.file && one.line == other.line
}

/// Waits shortly before the failing line come first.
fn nearest_first(waits: &[SourceLine], failure: &Failure) -> Vec<SourceLine> {
    let distance = |wait: &SourceLine| {
        let (file, line) = (failure.file.as_deref()?, failure.line?);
        let is_there = file == wait.file || file.ends_with(&format!("/{}", wait.file));
        line.checked_sub(wait.line).filter(|_| is_there)
    };
    let mut waits = waits.to_vec();
    waits.sort_by_key(|wait| distance(wait).unwrap_or(u32::MAX));
    waits
}

#[cfg(test)]
mod tests;
