//! The test alone, a few times, one after the other: whether it varies without anything else.
//!
//! Where runs are quick and end alike, more follow: a test that fails once in ten runs passes six
//! times more often than not, and is then searched for in orders of tests. A few new processes show
//! what forks of one process share, such as a hash seed.

use std::cell::Cell;
use std::rc::Rc;

use unflake_model::{Event, Finding, Isolation, Purpose, Session, TestId};

use crate::search::scheduler::{Scheduler, SearchTask, SessionRequest};
use crate::stats::failure_rate::FailureCount;
use crate::{Recordings, Technique};

/// Runs, each in an environment of its own: of a slow test, of another, and at most where none failed.
const FEW: u32 = 3;
const TIMES: u32 = 6;
const MOST: u32 = 40;
/// A test is slow if that many runs take this share of the budget.
const SLOW: f64 = 0.15;
/// New processes at most.
const PROCESSES: u32 = 4;
/// What further runs may take of the budget, those of either kind.
const SHARE: f64 = 0.04;

pub(crate) struct Retries {
    test: TestId,
    fresh_by: Isolation,
    seconds: f64,
    task: SearchTask,
    differs: Rc<Cell<bool>>,
}

impl Retries {
    pub(crate) fn new(test: TestId, fresh_by: Isolation, seconds: f64) -> Self {
        Self { test, fresh_by, seconds, task: SearchTask::default(), differs: Rc::default() }
    }

    /// Whether forks of one process ended alike and new processes did not. Shared with who started
    /// the runs.
    pub(crate) fn differs_by_process(&self) -> Rc<Cell<bool>> {
        self.differs.clone()
    }
}

impl Technique for Retries {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        if let Event::TestsListed { .. } = event {
            let scheduler = Scheduler::new(self.fresh_by, self.seconds);
            let runs = PlainRetries {
                scheduler: scheduler.sequential(),
                test: self.test.clone(),
                forks: self.fresh_by == Isolation::Fork,
                seconds: self.seconds,
            };
            let differs = self.differs.clone();
            self.task.start(scheduler, async move { differs.set(runs.run().await) });
        }
        self.task.observe(event);
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        self.task.next_sessions()
    }

    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        Vec::new()
    }
}

struct PlainRetries {
    scheduler: Scheduler,
    test: TestId,
    forks: bool,
    /// The budget.
    seconds: f64,
}

impl PlainRetries {
    /// Whether forks ended alike and new processes did not.
    async fn run(&self) -> bool {
        let mut count = FailureCount::default();
        let began = self.scheduler.seconds_left();
        for run in 0..TIMES {
            if run < FEW || began - self.scheduler.seconds_left() < self.seconds * SLOW {
                count = count + self.one(false).await;
            }
        }
        let left = self.scheduler.seconds_left();
        while count.failed == 0 && (1..MOST).contains(&count.runs) && self.has_time(left) {
            count = count + self.one(false).await;
        }
        let left = self.scheduler.seconds_left();
        let mut all = count;
        for _ in 0..if self.forks && count.runs > 0 { PROCESSES } else { 0 } {
            if !all.is_mixed() && self.has_time(left) {
                all = all + self.one(true).await;
            }
        }
        !count.is_mixed() && all.is_mixed()
    }

    /// `left`: the seconds that were left before the first run of this kind.
    fn has_time(&self, left: f64) -> bool {
        let used = left - self.scheduler.seconds_left() + self.scheduler.mean_seconds();
        used < self.seconds * SHARE && !self.scheduler.out_of_time()
    }

    async fn one(&self, new_process: bool) -> FailureCount {
        let request = SessionRequest { new_process, ..SessionRequest::new(Purpose::Fresh, vec![self.test.clone()]) };
        let outcome = self.scheduler.run_one(request).await.last().map(|last| last.outcome);
        match outcome {
            Some(outcome) if outcome.is_failure() => FailureCount::new(1, 1),
            Some(outcome) if outcome.is_pass() => FailureCount::new(0, 1),
            _ => FailureCount::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{attempt, ended, listed};
    use unflake_model::{Attempt, Outcome, Placement, Timestamp};

    /// `fails`: by whether it is a new process and the number of the run. Runs, and whether processes differ.
    /// A run takes a second.
    fn tried(seconds: f64, fails: &dyn Fn(bool, u32) -> bool) -> (u32, bool) {
        let mut retries = Retries::new("t".into(), Isolation::Fork, seconds);
        let differs = retries.differs_by_process();
        retries.observe(&listed(&["t"], false), Recordings::EMPTY);
        let mut runs = 0;
        loop {
            let sessions = retries.next_sessions(Recordings::EMPTY);
            if sessions.is_empty() {
                return (runs, differs.get());
            }
            for session in sessions {
                runs += 1;
                let is_new = session.place == Placement::Fresh(Isolation::Process);
                let outcome = if fails(is_new, runs) { Outcome::Failed } else { Outcome::Passed };
                let started = Timestamp(i64::from(runs) * 1_000_000);
                let made = Attempt { started, seconds: 1.0, ..attempt(&session, &"t".into(), outcome) };
                retries.observe(&Event::AttemptEnded(made), Recordings::EMPTY);
                retries.observe(&ended(&session), Recordings::EMPTY);
            }
        }
    }

    #[test]
    fn a_test_that_varies_needs_no_more_runs() {
        assert_eq!(tried(1e6, &|_, run| run == 3), (TIMES, false));
    }

    #[test]
    fn a_rare_failure_is_waited_for() {
        assert_eq!(tried(1e6, &|_, run| run == 20), (20, false));
        assert_eq!(tried(1e6, &|_, _| false), (MOST + PROCESSES, false));
    }

    #[test]
    fn new_processes_tell_what_forks_share() {
        assert_eq!(tried(1e6, &|is_new, run| is_new && run == MOST + 2), (MOST + 2, true));
        assert_eq!(tried(1e6, &|is_new, _| !is_new), (TIMES + 1, true));
    }

    #[test]
    fn further_runs_take_a_small_part_of_the_budget() {
        assert_eq!(tried(100.0, &|_, _| false).0, TIMES + 3 + 3);
        assert_eq!(tried(10.0, &|_, _| false).0, FEW, "six of a slow test would leave no time for a proof");
    }
}
