//! When a run stops early: interrupts by the user, and the time budget of all sessions.

use std::time::{Duration, Instant};

use tracing::{debug, info};
use unflake_model::BUDGET_EXHAUSTED;

const INTERRUPTED: &str = "interrupted";
/// How long a runner may take to stop after Ctrl-C.
const GRACE: Duration = Duration::from_secs(5);

pub(crate) struct StopControl {
    began: Instant,
    interrupts: u32,
    interrupted_at: Option<Instant>,
    /// When the budget is exhausted.
    deadline: Option<Instant>,
    is_exhausted: bool,
    /// Why the engine cannot continue.
    failure: Option<&'static str>,
}

impl StopControl {
    pub(crate) fn new(began: Instant, budget: Option<Duration>) -> Self {
        let deadline = budget.and_then(|budget| began.checked_add(budget));
        Self { began, interrupts: 0, interrupted_at: None, deadline, is_exhausted: false, failure: None }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// What remains of the budget. None: there is no limit.
    pub(crate) fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Whether the budget has just become exhausted.
    pub(crate) fn exhaust(&mut self, now: Instant) -> bool {
        let is_new = !self.is_exhausted && self.deadline.is_some_and(|deadline| now >= deadline);
        if is_new {
            info!("the time budget is exhausted");
            self.is_exhausted = true;
        }
        is_new
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }

    /// The engine cannot continue, for this reason.
    pub(crate) fn fail(&mut self, why: &'static str) {
        self.failure = Some(why);
    }

    pub(crate) fn interrupt(&mut self) {
        self.interrupts += 1;
        self.interrupted_at.get_or_insert(Instant::now());
        info!(interrupts = self.interrupts, "interrupted");
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupts > 0
    }

    /// Interrupted more than once: nothing is waited for.
    pub(crate) fn is_forced(&self) -> bool {
        self.interrupts > 1
    }

    /// Whether the runner has had its time to stop. Again after the same time.
    pub(crate) fn is_grace_over(&mut self, now: Instant) -> bool {
        let is_over = self.interrupted_at.is_some_and(|since| now - since > GRACE);
        if is_over {
            debug!("the runner did not stop in time");
            self.interrupted_at = Some(now);
        }
        is_over
    }

    /// Why nothing is started any more, and running tests are not waited for.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        match () {
            () if self.is_interrupted() => Some(INTERRUPTED),
            () if self.is_exhausted => Some(BUDGET_EXHAUSTED),
            () => self.failure,
        }
    }
}
