//! Whether the order of threads or tasks decides: the test under schedules, until one makes it fail,
//! then that one several times, reduced to the delays that matter.
//!
//! A schedule is a seed that chooses delays. Where the agent names them, a minimal list of delays
//! takes the place of the seed: it names the lines of the race.

use std::cell::RefCell;
use std::rc::Rc;

use unflake_model::{
    Confidence, Detail, Event, Factor, FactorKind, Finding, Influence, Isolation, Purpose, Replay, Session, Shows,
    TestId, World,
};

use crate::environment::findings::rate;
use crate::finding::finding;
use crate::search::minimize::{Minimized, Oracle, minimize};
use crate::search::scheduler::{Scheduler, SearchTask, SessionRequest, SessionResult};
use crate::stats::failure_rate::{FailureCount, more_often};
use crate::{Recordings, Technique};

/// Schedules that are tried, and how many at once.
const SCHEDULES: u32 = 32;
const AT_ONCE: usize = 4;
/// Failing schedules that are tried again, the first that fails every time is taken.
const CANDIDATES: usize = 6;
/// Runs with the schedule, and without.
const TIMES: u32 = 5;
/// A schedule that passes more often is not tried further.
const MOST_PASSES: u32 = 1;
/// Runs of a list of delays that must fail while lists are compared.
const TRIALS: usize = 2;
/// Delays of a schedule that are considered: the first ones.
const MAX_DELAYS: usize = 100;
/// Delays that are tried each on its own.
const SINGLES: usize = 24;
/// Lines are watched and nothing is delayed: a build that can be delayed is slower, and may fail for
/// that alone.
const CONTROL: &str = "off";
/// A result is likely below this p-value.
const LIKELY: f64 = 0.01;

pub(crate) struct ScheduleTrial {
    test: TestId,
    kind: FactorKind,
    /// Whether the agent says where it delayed threads.
    names_delays: bool,
    fresh_by: Isolation,
    seconds: f64,
    task: SearchTask,
    found: Rc<RefCell<Option<DecidingSchedule>>>,
}

/// A schedule with which the test fails more often than without.
#[derive(Clone, Debug)]
struct DecidingSchedule {
    schedule: Factor,
    failing: FailureCount,
    without: FailureCount,
    runs: u32,
}

impl ScheduleTrial {
    pub(crate) fn new(test: TestId, kind: FactorKind, names_delays: bool, fresh_by: Isolation, seconds: f64) -> Self {
        Self { test, kind, names_delays, fresh_by, seconds, task: SearchTask::default(), found: Rc::default() }
    }
}

impl Technique for ScheduleTrial {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        if let Event::TestsListed { .. } = event {
            let scheduler = Scheduler::new(self.fresh_by, self.seconds);
            let runs = ScheduledRuns { scheduler: scheduler.clone(), test: self.test.clone(), kind: self.kind };
            let (found, names_delays) = (self.found.clone(), self.names_delays);
            self.task.start(scheduler, async move {
                *found.borrow_mut() = runs.search(names_delays).await;
            });
        }
        self.task.observe(event);
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        self.task.next_sessions()
    }

    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        self.found.borrow().iter().map(|found| found.finding(&self.test)).collect()
    }
}

impl DecidingSchedule {
    fn confidence(&self) -> Confidence {
        match () {
            () if self.failing.failed == TIMES && self.without.failed == 0 => Confidence::Proven,
            () if more_often(self.failing, self.without) < LIKELY => Confidence::Likely,
            () => Confidence::Possible,
        }
    }

    fn finding(&self, test: &TestId) -> Finding {
        let Self { schedule, failing, without, runs } = self;
        let sentence = format!("it fails {}", schedule.when());
        let influence = Influence {
            kind: schedule.kind().name.to_owned(),
            confidence: self.confidence(),
            setting: vec![schedule.clone()],
            fails: true,
            threshold: None,
            rate: rate(*failing),
            baseline: rate(*without),
            p_value: more_often(*failing, *without),
            plan: Vec::new(),
            untried: Vec::new(),
            worst: vec![schedule.clone()],
            best: Vec::new(),
            runs: *runs,
        };
        let shows = if failing.failed == failing.runs { Shows::AlwaysFails } else { Shows::SometimesFails };
        let fails = Replay { under: World::of(vec![schedule.clone()]), shows, ..Replay::fails(vec![test.clone()]) };
        finding(test, Detail::Factor(Box::new(influence)), sentence, vec![fails])
    }
}

struct ScheduledRuns {
    scheduler: Scheduler,
    test: TestId,
    kind: FactorKind,
}

impl ScheduledRuns {
    async fn search(&self, names_delays: bool) -> Option<DecidingSchedule> {
        let mut best: Option<(DecidingSchedule, Vec<String>)> = None;
        let mut candidates = 0;
        let seeds: Vec<u32> = (1..=SCHEDULES).collect();
        'search: for (round, some) in seeds.chunks(AT_ONCE).enumerate() {
            let settings: Vec<String> = some.iter().map(u32::to_string).collect();
            let results = self.under(&self.scheduler, &settings).await;
            if round == 0 && names_delays && results.iter().all(|result| result.delays.is_empty()) {
                // There is nothing to delay: one thread, and no task that waits.
                return None;
            }
            for (setting, result) in settings.iter().zip(results).filter(|(_, result)| failed(result) == Some(true)) {
                let Some((tried, delays)) = self.repeat(setting, result.delays).await else { continue };
                candidates += 1;
                let is_better = best.as_ref().is_none_or(|(best, _)| best.failing.share() < tried.failing.share());
                if is_better {
                    best = Some((tried, delays));
                }
                let is_sure = best.as_ref().is_some_and(|(best, _)| best.failing.failed == best.failing.runs);
                if is_sure || candidates == CANDIDATES {
                    break 'search;
                }
            }
            if self.scheduler.out_of_time() {
                break;
            }
        }
        let (seeded, delays) = best?;
        let seeded = self.with_control(seeded).await?;
        match self.minimized(delays, seeded.without).await {
            Some(named) => Some(named),
            None => Some(seeded),
        }
    }

    /// A schedule several times, one after the other. None: it cannot be set, or the runs did not end.
    async fn repeat(&self, setting: &str, delays: Vec<String>) -> Option<(DecidingSchedule, Vec<String>)> {
        let schedule = self.kind.set(setting).ok()?;
        // The run that found it was chosen because it failed, so it does not count.
        let mut failing = FailureCount::default();
        while failing.runs < TIMES && failing.runs - failing.failed <= MOST_PASSES {
            failing = failing + self.count(&[setting.to_owned()]).await?;
        }
        let without = FailureCount::default();
        (failing.failed > 0).then_some((DecidingSchedule { schedule, failing, without, runs: failing.runs }, delays))
    }

    /// The same, with control runs whose lines are watched, too, and where nothing is delayed.
    async fn with_control(&self, found: DecidingSchedule) -> Option<DecidingSchedule> {
        let without = self.count(&vec![CONTROL.to_owned(); TIMES as usize]).await?;
        let is_different = found.failing.share() > without.share();
        is_different.then(|| DecidingSchedule { without, runs: found.runs + without.runs, ..found })
    }

    /// The fewest of these delays with which it fails every time.
    async fn minimized(&self, mut delays: Vec<String>, without: FailureCount) -> Option<DecidingSchedule> {
        delays.truncate(MAX_DELAYS);
        let delays = match self.single(&delays).await {
            Some(single) => vec![single],
            None => match minimize(delays, false, self).await {
                Minimized::Minimal(delays) | Minimized::Reduced(delays) => delays,
                Minimized::NotReproduced | Minimized::Untried => return None,
            },
        };
        let setting = delays.join(",");
        let schedule = self.kind.set(&setting).ok()?;
        let failing = self.count(&vec![setting; TIMES as usize]).await?;
        let runs = failing.runs + without.runs;
        (failing.failed == TIMES).then_some(DecidingSchedule { schedule, failing, without, runs })
    }

    /// The first of these delays that is enough. Two delays that matter only together depend on each
    /// other's length, so one is better.
    async fn single(&self, delays: &[String]) -> Option<String> {
        for delay in delays.iter().take(SINGLES) {
            if self.scheduler.out_of_time() {
                return None;
            }
            if self.reproduces(vec![(vec![delay.clone()], 0)]).await == [true] {
                return Some(delay.clone());
            }
        }
        None
    }

    /// Failures with these settings, one run after the other. None: a run did not end.
    async fn count(&self, settings: &[String]) -> Option<FailureCount> {
        let results = self.under(&self.scheduler.sequential(), settings).await;
        let mut count = FailureCount::default();
        for result in &results {
            count = count + FailureCount::new(u32::from(failed(result)?), 1);
        }
        Some(count)
    }

    async fn under(&self, scheduler: &Scheduler, settings: &[String]) -> Vec<SessionResult> {
        let factors = settings.iter().filter_map(|setting| self.kind.set(setting).ok());
        let request = |factor| SessionRequest {
            under: Some(World::of(vec![factor])),
            ..SessionRequest::new(Purpose::Factor, vec![self.test.clone()])
        };
        scheduler.run(factors.map(request).collect()).await
    }
}

/// Lists of delays: each must fail every time.
impl Oracle<String> for ScheduledRuns {
    const COST_GROWS: bool = false;

    async fn reproduces(&self, lists: Vec<(Vec<String>, usize)>) -> Vec<bool> {
        let mut all = Vec::new();
        for (delays, _) in lists {
            let mut fails = !delays.is_empty();
            for _ in 0..TRIALS {
                fails = fails && !self.scheduler.out_of_time() && {
                    let results = self.under(&self.scheduler.sequential(), &[delays.join(",")]).await;
                    results.first().and_then(failed) == Some(true)
                };
            }
            all.push(fails);
        }
        all
    }

    fn out_of_time(&self) -> bool {
        self.scheduler.out_of_time()
    }
}

/// Whether the test failed. None: it did not run, or was skipped.
fn failed(result: &SessionResult) -> Option<bool> {
    let outcome = result.last()?.outcome;
    (outcome.is_failure() || outcome.is_pass()).then(|| outcome.is_failure())
}

#[cfg(test)]
mod tests;
