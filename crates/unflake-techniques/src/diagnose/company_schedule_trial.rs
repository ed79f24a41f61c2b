//! Whether another test of its program disturbs the test when threads run in another order: the two
//! at the same time in one process, under schedules.
//!
//! Tests that share a variable meet rarely: each touches it for microseconds. Delays make them meet.
//! A delay alone may let a test exceed a limit on time, so the test must pass alone with the very
//! delays that it had beside the other test.

use std::cell::RefCell;
use std::rc::Rc;

use unflake_model::{
    Confidence, Detail, Event, Factor, FactorKind, Finding, Influence, Isolation, Purpose, Replay, Session, Shows,
    Test, TestId, World,
};

use crate::environment::findings::rate;
use crate::finding::finding;
use crate::search::scheduler::{Scheduler, SearchTask, SessionRequest, SessionResult};
use crate::stats::failure_rate::{FailureCount, more_often};
use crate::{Recordings, Technique};

/// Schedules that are tried for each group of companions, and for each companion of a group.
const SCHEDULES: u32 = 8;
/// How many companions run at the same time as the test until it fails.
const GROUP: usize = 3;
/// Runs of each kind that count.
const TIMES: u32 = 5;
/// With so many failing schedules of one companion no others are tried; and runs that count then.
const ENOUGH: usize = 3;
const MANY: usize = 12;
/// A schedule that passes more often is not tried further.
const MOST_PASSES: u32 = 1;
/// A result is likely below this p-value.
const LIKELY: f64 = 0.01;
/// Lines are watched and nothing is delayed.
const CONTROL: &str = "off";

pub(crate) struct CompanyScheduleTrial {
    test: TestId,
    kind: FactorKind,
    seconds: f64,
    /// The companions to try. Empty: all other tests of its program.
    only: Vec<TestId>,
    task: SearchTask,
    found: Rc<RefCell<Option<Disturbance>>>,
}

/// Another test that makes the test fail, and the schedule.
#[derive(Clone, Debug)]
struct Disturbance {
    other: TestId,
    schedule: Factor,
    /// At the same time, with the schedule.
    failing: FailureCount,
    /// At the same time, without a delay.
    without: FailureCount,
    /// The test alone, with the same delays.
    alone: FailureCount,
}

impl CompanyScheduleTrial {
    pub(crate) fn new(test: TestId, kind: FactorKind, seconds: f64) -> Self {
        Self { test, kind, seconds, only: Vec::new(), task: SearchTask::default(), found: Rc::default() }
    }

    /// The same beside these only, if any are known.
    pub(crate) fn beside_only(self, companions: &[TestId]) -> Self {
        Self { only: companions.to_vec(), ..self }
    }
}

impl Technique for CompanyScheduleTrial {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        if let Event::TestsListed { tests, .. } = event {
            let scheduler = Scheduler::new(Isolation::Process, self.seconds);
            let mut companions = companions(tests, &self.test);
            companions.retain(|other| self.only.is_empty() || self.only.contains(other));
            let runs = CompanionRuns { scheduler: scheduler.clone(), test: self.test.clone(), kind: self.kind };
            let found = self.found.clone();
            self.task.start(scheduler, async move {
                *found.borrow_mut() = runs.search(companions).await;
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

/// The other tests of its program.
fn companions(tests: &[Test], test: &TestId) -> Vec<TestId> {
    let Some(own) = tests.iter().find(|one| one.id == *test) else { return Vec::new() };
    let is_companion = |one: &&Test| one.file == own.file && one.id != own.id;
    tests.iter().filter(is_companion).map(|one| one.id.clone()).collect()
}

impl Disturbance {
    fn confidence(&self) -> Confidence {
        let is_controlled = self.without.failed == 0 && self.alone.failed == 0;
        match () {
            () if (self.failing.failed, self.failing.runs) == (TIMES, TIMES) && is_controlled => Confidence::Proven,
            () if more_often(self.failing, self.without + self.alone) < LIKELY => Confidence::Likely,
            () => Confidence::Possible,
        }
    }

    fn finding(&self, test: &TestId) -> Finding {
        let Self { other, schedule, failing, without, alone } = self;
        let sentence = format!(
            "it fails at the same time as {other} in one process, {}; alone with the same delays it passes {} of {}",
            schedule.when(),
            alone.runs - alone.failed,
            alone.runs
        );
        let influence = Influence {
            kind: schedule.kind().name.to_owned(),
            confidence: self.confidence(),
            setting: vec![schedule.clone()],
            fails: true,
            threshold: None,
            rate: rate(*failing),
            baseline: rate(*without),
            p_value: more_often(*failing, *without + *alone),
            plan: Vec::new(),
            untried: Vec::new(),
            worst: vec![schedule.clone()],
            best: Vec::new(),
            runs: failing.runs + without.runs + alone.runs,
        };
        let shows = if failing.failed == failing.runs { Shows::AlwaysFails } else { Shows::SometimesFails };
        let under = World::of(vec![schedule.clone()]);
        let replay = Replay { under, shows, at_once: 2, ..Replay::fails(vec![other.clone(), test.clone()]) };
        finding(test, Detail::Factor(Box::new(influence)), sentence, vec![replay])
    }
}

struct CompanionRuns {
    scheduler: Scheduler,
    test: TestId,
    kind: FactorKind,
}

impl CompanionRuns {
    async fn search(&self, companions: Vec<TestId>) -> Option<Disturbance> {
        if companions.len() <= GROUP {
            return self.disturbing(&companions).await;
        }
        for seed in 1..=SCHEDULES {
            for group in companions.chunks(GROUP) {
                if self.scheduler.out_of_time() {
                    return None;
                }
                if self.beside(group, &own_delays(seed)).await == Some(true)
                    && let Some(found) = self.disturbing(group).await
                {
                    return Some(found);
                }
            }
        }
        None
    }

    /// The one of these companions that disturbs the test.
    async fn disturbing(&self, companions: &[TestId]) -> Option<Disturbance> {
        // By companion: schedules with which the test failed.
        let mut failing: Vec<Vec<u32>> = vec![Vec::new(); companions.len()];
        for seed in 1..=SCHEDULES {
            for (other, seeds) in companions.iter().zip(&mut failing) {
                if self.scheduler.out_of_time() {
                    return None;
                }
                if self.beside(std::slice::from_ref(other), &own_delays(seed)).await != Some(true) {
                    continue;
                }
                seeds.push(seed);
                if let Some(found) = self.confirmed(other, seed).await {
                    return Some(found);
                }
                if seeds.len() == ENOUGH {
                    return self.often(other, seeds).await;
                }
            }
        }
        let (other, seeds) = companions.iter().zip(failing).max_by_key(|(_, seeds)| seeds.len())?;
        if seeds.is_empty() { None } else { self.often(other, &seeds).await }
    }

    /// Whether the test fails more often beside this one with these schedules than otherwise: on a busy
    /// machine no schedule makes two tests meet every time.
    async fn often(&self, other: &TestId, seeds: &[u32]) -> Option<Disturbance> {
        let one = std::slice::from_ref(other);
        let [mut failing, mut without, mut alone] = [FailureCount::default(); 3];
        let mut by_seed = vec![0; seeds.len()];
        for at in 0..MANY {
            let (number, seed) = (at % seeds.len(), seeds[at % seeds.len()]);
            let failed = self.beside(one, &own_delays(seed)).await?;
            by_seed[number] += u32::from(failed);
            failing = failing + FailureCount::new(u32::from(failed), 1);
            alone = alone + FailureCount::new(u32::from(self.beside(&[], &self.delays_beside(other, seed)).await?), 1);
            if at % 2 == 0 {
                without = without + FailureCount::new(u32::from(self.beside(one, CONTROL).await?), 1);
            }
        }
        let (number, _) = by_seed.iter().enumerate().max_by_key(|(_, failed)| **failed)?;
        let schedule = self.kind.set(&own_delays(seeds[number])).ok()?;
        let found = Disturbance { other: other.clone(), schedule, failing, without, alone };
        let is_different = failing.share() > without.share() && more_often(failing, without + alone) < LIKELY;
        (alone.failed == 0 && is_different).then_some(found)
    }

    /// The delays that the test has beside this one. The harness starts the tests of a program in
    /// alphabetical order, a thread each.
    fn delays_beside(&self, other: &TestId, seed: u32) -> String {
        format!("{seed}+{}", if *other < self.test { 2 } else { 1 })
    }

    /// New runs: the one that chose the schedule does not count.
    async fn confirmed(&self, other: &TestId, seed: u32) -> Option<Disturbance> {
        let (one, setting) = (std::slice::from_ref(other), &own_delays(seed));
        let mut failing = FailureCount::default();
        while failing.runs < TIMES {
            failing = failing + FailureCount::new(u32::from(self.beside(one, setting).await?), 1);
            if failing.runs - failing.failed > MOST_PASSES {
                return None;
            }
        }
        let same_delays = self.delays_beside(other, seed);
        let (mut without, mut alone) = (FailureCount::default(), FailureCount::default());
        for _ in 0..TIMES {
            without = without + FailureCount::new(u32::from(self.beside(one, CONTROL).await?), 1);
            alone = alone + FailureCount::new(u32::from(self.beside(&[], &same_delays).await?), 1);
        }
        let schedule = self.kind.set(setting).ok()?;
        let found = Disturbance { other: other.clone(), schedule, failing, without, alone };
        // What fails alone, too, relies on time.
        (alone.failed == 0 && failing.share() > without.share()).then_some(found)
    }

    /// Whether the test fails at the same time as these. None: it did not run.
    async fn beside(&self, companions: &[TestId], setting: &str) -> Option<bool> {
        let factor = self.kind.set(setting).ok()?;
        let tests = [companions, std::slice::from_ref(&self.test)].concat();
        let request = SessionRequest {
            under: Some(World::of(vec![factor])),
            at_once: tests.len() as u32,
            ..SessionRequest::new(Purpose::Factor, tests)
        };
        let result = self.scheduler.sequential().run_one(request).await;
        failed(&result, &self.test)
    }
}

/// Tests can be over before the next one starts, so threads are delayed from the start.
fn own_delays(seed: u32) -> String {
    format!("{seed}+0")
}

/// Whether the test failed in one process with all others of the session. None: it did not run so.
fn failed(result: &SessionResult, test: &TestId) -> Option<bool> {
    let own = result.attempts.iter().find(|attempt| attempt.test == *test)?;
    let together = result.attempts.iter().all(|attempt| attempt.environment == own.environment);
    let has_ended = own.outcome.is_failure() || own.outcome.is_pass();
    (together && has_ended && result.not_run.is_empty()).then(|| own.outcome.is_failure())
}

#[cfg(test)]
mod tests;
