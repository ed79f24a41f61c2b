//! Whether the speed of the machine decides: the test where clocks run faster and slower.
//!
//! Where clocks run ten times as fast, the machine is ten times as slow for the test: a limit on
//! measured time is exceeded, and a wait ends before what it waits for. Where clocks run slower,
//! there is time for everything. A test that fails every time one way and passes every time the other
//! relies on how fast the machine is, and its failing line is where it does.

use std::cell::RefCell;
use std::rc::Rc;

use unflake_model::{
    Cause, Detail, Divergence, DivergenceKind, Event, Factor, FactorKind, Failure, Finding, ForcedValue, Isolation,
    Location, Outcome, Purpose, Replay, Session, Shows, SourceLine, TestId, World,
};

use crate::finding::finding;
use crate::search::scheduler::{Scheduler, SearchTask, SessionRequest};
use crate::stats::failure_rate::{FailureCount, more_often};
use crate::{Recordings, Technique};

/// Clocks that run faster, the least first: further from the truth, less believable.
const FASTER: [&str; 2] = ["10", "40"];
/// Of a test that never failed. At the last one the result is possible at most.
const FASTER_OF_PASSING: [&str; 2] = ["10", FAR];
const FAR: &str = "100";
/// Clocks that run slower, the slowest first: what waits takes longer there, and the first that the
/// budget allows is taken.
const SLOWER: [&str; 4] = ["0.01", "0.03", "0.1", "0.3"];
/// Runs at a speed that must end alike before it is examined further.
const SCREENED: u32 = 3;
/// Runs at either speed that count, all of them new processes: forks share a hash seed. All against none: p = 0.004.
const TIMES: u32 = 5;
/// A result is likely below this p-value.
const LIKELY: f64 = 0.01;
/// Runs at the slow speed may take this share of the budget, and more where that was not slow enough.
const SHARE: f64 = 0.1;
const MOST_SHARE: f64 = 0.5;

pub(crate) struct SpeedTrial {
    test: TestId,
    kind: FactorKind,
    alone: PlainRuns,
    fresh_by: Isolation,
    seconds: f64,
    task: SearchTask,
    found: Rc<RefCell<Option<DecidingSpeed>>>,
    passing: PassingSpeed,
}

/// A speed at which the few runs that were made passed. Shared with who started the trial: waits are
/// forced there, whether or not that speed decides.
pub(crate) type PassingSpeed = Rc<RefCell<Option<Factor>>>;

/// How the test ended without any intervention.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlainRuns {
    pub(crate) count: FailureCount,
    pub(crate) failures: Vec<Failure>,
    /// The shortest run.
    pub(crate) seconds: Option<f64>,
}

/// A speed at which the test passes every time, and where it fails.
#[derive(Clone, Debug)]
struct DecidingSpeed {
    passes: Factor,
    fails: FailingSpeed,
    /// The failure that most runs have.
    failure: Failure,
}

#[derive(Clone, Debug)]
enum FailingSpeed {
    /// At this speed it fails every time.
    Forced(Factor),
    /// As it is, it fails more often; and how many runs passed at the other speed.
    AsItIs { count: FailureCount, passed: u32 },
}

impl SpeedTrial {
    pub(crate) fn new(test: TestId, kind: FactorKind, alone: PlainRuns, fresh_by: Isolation, seconds: f64) -> Self {
        let passing = Rc::default();
        Self { test, kind, alone, fresh_by, seconds, task: SearchTask::default(), found: Rc::default(), passing }
    }
}

impl SpeedTrial {
    pub(crate) fn passing(&self) -> PassingSpeed {
        self.passing.clone()
    }
}

impl Technique for SpeedTrial {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        if let Event::TestsListed { .. } = event {
            let scheduler = Scheduler::new(self.fresh_by, self.seconds);
            let at_once = f64::from(TIMES + SCREENED) * self.alone.seconds.unwrap_or(0.0);
            let share = |speed: &str| at_once / speed.parse::<f64>().unwrap_or(1.0) / self.seconds;
            let first = SLOWER.into_iter().rposition(|speed| share(speed) >= SHARE).map_or(0, |longer| longer + 1);
            let first = first.min(SLOWER.len() - 1);
            let still_slower = SLOWER[..first].iter().rev().filter(|speed| share(speed) < MOST_SHARE);
            let slower = std::iter::once(SLOWER[first]).chain(still_slower.copied()).collect();
            let runs = SpeedRuns {
                scheduler: scheduler.sequential(),
                test: self.test.clone(),
                kind: self.kind,
                alone: self.alone.clone(),
                slower,
                passing: self.passing.clone(),
            };
            let found = self.found.clone();
            self.task.start(scheduler, async move {
                *found.borrow_mut() = runs.search().await;
            });
        }
        self.task.observe(event);
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        self.task.next_sessions()
    }

    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        self.found.borrow().iter().filter_map(|found| found.finding(&self.test, &self.alone)).collect()
    }
}

impl DecidingSpeed {
    fn finding(&self, test: &TestId, alone: &PlainRuns) -> Option<Finding> {
        let Self { fails, passes, failure } = self;
        let (file, line) = (failure.file.clone()?, failure.line?);
        let place = format!("{file}:{line}");
        let line = SourceLine { file, line, function: String::new() };
        let enough = if SLOWER.contains(&passes.setting()) { "fast" } else { "slow" };
        let there = format!("clocks run {} times as fast", passes.setting());
        let (as_it_is, seen, chance) = match fails {
            FailingSpeed::Forced(fails) => {
                let seen =
                    format!("it fails when clocks run {} times as fast, and passes when {there}", fails.setting());
                let sides = [FailureCount::new(TIMES, TIMES), FailureCount::new(0, TIMES)];
                let chance = if fails.setting() == FAR { 1.0 } else { more_often(sides[0], sides[1]) };
                (alone.count, seen, chance)
            }
            FailingSpeed::AsItIs { count, passed } => {
                let seen = format!("it passes {passed} of {passed} runs when {there}");
                (*count, seen, more_often(*count, FailureCount::new(0, *passed)))
            }
        };
        let FailureCount { failed, runs } = as_it_is;
        let sentence = format!(
            "it relies on a machine that is {enough} enough: {seen}; as it is, it fails {failed} of {runs} runs"
        );
        let proof = match fails {
            // What a test that never failed does elsewhere need not be why it is called flaky.
            FailingSpeed::Forced(fails) if failed > 0 => Some(ForcedValue {
                line: line.clone(),
                name: ForcedValue::SPEED.to_owned(),
                failing: fails.setting().to_owned(),
                failed: TIMES,
                passing: passes.setting().to_owned(),
                passed: TIMES,
            }),
            // It fails every time as it is, and passes every time at the other speed.
            FailingSpeed::AsItIs { count, passed } if count.failed == count.runs => Some(ForcedValue {
                line: line.clone(),
                name: ForcedValue::SPEED.to_owned(),
                failing: "1".to_owned(),
                failed: count.failed,
                passing: passes.setting().to_owned(),
                passed: *passed,
            }),
            _ => None,
        };
        let (failing, all) = match fails {
            FailingSpeed::Forced(_) => (TIMES, 2 * TIMES),
            FailingSpeed::AsItIs { count, passed } => (count.failed, count.runs + passed),
        };
        let start = Location {
            line: line.clone(),
            how: DivergenceKind::Value,
            failing,
            passing: 0,
            chance,
            sentence: sentence.clone(),
            value: None,
            rejected: false,
        };
        let message = failure.message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
        let divergence = Divergence {
            kind: Cause::Time,
            because: format!("at {place} it failed with: {message}"),
            locations: vec![start],
            shows: Some(line),
            runs: all,
            failed: failing,
            timed_out: 0,
            points: Vec::new(),
            unknown: Vec::new(),
            proof,
        };
        let replay = |factor: &Factor, shows| Replay {
            under: World::of(vec![factor.clone()]),
            shows,
            ..Replay::fails(vec![test.clone()])
        };
        let failing = match fails {
            FailingSpeed::Forced(fails) => replay(fails, Shows::AlwaysFails),
            FailingSpeed::AsItIs { count, .. } if count.failed == count.runs => Replay::fails(vec![test.clone()]),
            FailingSpeed::AsItIs { .. } => Replay::sometimes_fails(vec![test.clone()]),
        };
        let sentence = format!("starts at {place}: {sentence}");
        Some(finding(test, Detail::Divergence(divergence), sentence, vec![failing, replay(passes, Shows::Passes)]))
    }
}

/// How runs at one speed ended.
enum AtSpeed {
    Fails,
    Passes,
    Varies,
}

struct SpeedRuns {
    scheduler: Scheduler,
    test: TestId,
    kind: FactorKind,
    alone: PlainRuns,
    /// Speeds of clocks that run slower, the one to begin with first.
    slower: Vec<&'static str>,
    passing: PassingSpeed,
}

impl SpeedRuns {
    async fn search(&self) -> Option<DecidingSpeed> {
        let count = self.alone.count;
        let faster = if count.failed == 0 { FASTER_OF_PASSING } else { FASTER };
        for slow in &self.slower {
            match self.screen(slow).await? {
                AtSpeed::Passes => {
                    *self.passing.borrow_mut() = self.kind.set(slow).ok();
                    if count.failed == count.runs {
                        return self.compared(slow, 0).await;
                    }
                    for fast in faster {
                        if let AtSpeed::Fails = self.screen(fast).await?
                            && let Some(found) = self.confirmed(fast, slow).await
                        {
                            return Some(found);
                        }
                    }
                    return if count.failed == 0 { None } else { self.compared(slow, SCREENED).await };
                }
                AtSpeed::Fails if count.failed < count.runs => {
                    return match self.screen(FASTER[0]).await? {
                        AtSpeed::Passes => self.confirmed(slow, FASTER[0]).await,
                        _ => None,
                    };
                }
                // On a busy machine clocks must run slower still.
                AtSpeed::Fails | AtSpeed::Varies => {}
            }
        }
        None
    }

    /// A few runs at a speed, as long as they end alike. None: they did not end.
    async fn screen(&self, speed: &str) -> Option<AtSpeed> {
        let always_failed = self.alone.count.failed == self.alone.count.runs;
        let mut all = None;
        for _ in 0..SCREENED {
            let fails = self.failure(Some(speed), false).await?.is_some();
            if *all.get_or_insert(fails) != fails {
                return Some(AtSpeed::Varies);
            }
            if fails && always_failed && SLOWER.contains(&speed) {
                return Some(AtSpeed::Fails);
            }
        }
        all.map(|fails| if fails { AtSpeed::Fails } else { AtSpeed::Passes })
    }

    /// New runs at both speeds in turns: those before chose the speeds, so they do not count.
    async fn confirmed(&self, fails: &str, passes: &str) -> Option<DecidingSpeed> {
        let mut failures: Vec<Failure> = Vec::new();
        for _ in 0..TIMES {
            failures.push(self.failure(Some(fails), true).await??);
            if self.failure(Some(passes), true).await?.is_some() {
                return None;
            }
        }
        let fails = FailingSpeed::Forced(self.kind.set(fails).ok()?);
        let failure = self.most_common(&failures)?;
        Some(DecidingSpeed { fails, passes: self.kind.set(passes).ok()?, failure })
    }

    /// More runs at a slower speed, against those as it is. `passed`: earlier ones that count.
    async fn compared(&self, passes: &str, mut passed: u32) -> Option<DecidingSpeed> {
        let always_failed = self.alone.count.failed == self.alone.count.runs;
        for _ in 0..TIMES {
            // Its runs alone may be forks that share a hash seed, which would decide for the speed.
            if always_failed && self.failure(None, true).await?.is_none() {
                return None;
            }
            if self.failure(Some(passes), true).await?.is_some() {
                return None;
            }
            passed += 1;
        }
        let count = self.alone.count;
        let is_likely = more_often(count, FailureCount::new(0, passed)) < LIKELY;
        let failure = self.most_common(&self.alone.failures).filter(|_| is_likely)?;
        let fails = FailingSpeed::AsItIs { count, passed };
        Some(DecidingSpeed { fails, passes: self.kind.set(passes).ok()?, failure })
    }

    /// The failure at the line that most of these have, those without an intervention first.
    fn most_common(&self, failures: &[Failure]) -> Option<Failure> {
        let times = |one: &Failure| {
            let is_it = |other: &&Failure| (&other.file, other.line) == (&one.file, one.line);
            (self.alone.failures.iter().any(|seen| is_it(&seen)), failures.iter().filter(is_it).count())
        };
        failures.iter().max_by_key(|failure| times(failure)).cloned()
    }

    /// How the test fails at a speed, or as it is; inside None: it passes. Outside None: it did not run, or failed in
    /// a way that is unlike those without an intervention, or there is no time left.
    async fn failure(&self, speed: Option<&str>, new_process: bool) -> Option<Option<Failure>> {
        if self.scheduler.out_of_time() {
            return None;
        }
        let under = match speed {
            Some(speed) => Some(World::of(vec![self.kind.set(speed).ok()?])),
            None => None,
        };
        let request =
            SessionRequest { under, new_process, ..SessionRequest::new(Purpose::Factor, vec![self.test.clone()]) };
        let result = self.scheduler.run_one(request).await;
        let last = result.last()?;
        match last.outcome {
            Outcome::Skipped => None,
            outcome if outcome.is_pass() => Some(None),
            _ => {
                let failure = last.failure.clone()?;
                let seen = &self.alone.failures;
                let is_known = seen.is_empty() || seen.iter().any(|other| is_alike(&failure, other));
                is_known.then_some(Some(failure))
            }
        }
    }
}

/// Whether two failures have the same type and are raised in the same file. A test with several
/// limits fails at several lines.
fn is_alike(one: &Failure, other: &Failure) -> bool {
    one.kind == other.kind && one.file == other.file
}

#[cfg(test)]
mod tests;
