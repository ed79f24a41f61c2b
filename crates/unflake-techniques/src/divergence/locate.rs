//! DIVERGENCE: runs one flaky test many times with tracing until it is clear where failing runs
//! diverge from passing ones.
//!
//! This module decides what to run and when to stop; `conclusion` compares the traces.

use std::collections::HashMap;

use unflake_model::{
    Attempt, Cause, Coverage, Detail, Divergence, DivergenceKind, EnvironmentId, Event, Factor, Failure, Finding,
    Isolation, Location, Outcome, Purpose, Replay, Session, SessionId, SourceLine, TestId, TraceId, Traces, World,
};

use crate::divergence::conclusion::{TracedRun, divergence};
use crate::divergence::delay_points::{DelayPoint, delay_points};
use crate::divergence::wait_lines::wait_lines;
use crate::finding::finding;
use crate::intervention::delayed_line::{ObservedDelays, delayed_line};
use crate::search::budget::Budget;
use crate::search::select::select_one;
use crate::{Recordings, Technique};

/// AlignedRuns requested per batch; the result is examined after each.
const BATCH: u32 = 10;
/// With this many runs of either outcome, more runs may be superfluous. With fewer it goes on.
const ENOUGH_OF_EACH: usize = 5;
/// Passing runs that are compared at most: of a rare failure there are many.
const MOST_PASSING: usize = 200;
const SIGNIFICANT: f64 = 0.001;

/// What to locate, and the budget.
#[derive(Clone, Debug, PartialEq)]
pub struct LocateConfig {
    /// A test id, or a part of it that no other test has.
    pub test: String,
    /// Number of runs to compare.
    pub runs: u32,
    /// Upper bound while few runs fail, or few pass.
    pub most: u32,
    pub fresh_by: Isolation,
    /// Budget: no run begins after this many seconds.
    pub seconds: f64,
    /// Number of parallel runs.
    pub jobs: usize,
    /// Worlds in which the runs take turns. Empty: all run as the user runs them. One that is only a
    /// seed needs no processes of its own.
    pub worlds: Vec<World>,
    /// A proven schedule whose line and cause are asked for, and how the test fails with it. Nothing else is
    /// concluded then.
    pub schedule: Option<(Finding, Failure)>,
}

/// Outcome counts of the runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocateCounts {
    pub passed: u32,
    pub failed: u32,
    pub timed_out: u32,
    /// Neither a pass nor a failure.
    pub skipped: u32,
    /// Passing and failing runs without a trace.
    pub untraced: u32,
}

pub struct Locate {
    config: LocateConfig,
    budget: Budget,
    /// Tests with the requested id, or else tests that contain it.
    pub matching: Vec<TestId>,
    /// The lines of the test that wait, the likeliest to decide first.
    pub waits: Vec<SourceLine>,
    /// Where its threads can be delayed.
    pub points: Vec<DelayPoint>,
    isolated: bool,
    runs: Vec<TracedRun>,
    counts: LocateCounts,
    /// Traces whose attempt has not been observed yet.
    pending: HashMap<EnvironmentId, TraceId>,
    traced: u32,
    requested: u32,
    /// Examinations so far. Each is another chance to find a difference that means nothing.
    examined: u32,
    /// Start location of the previous examination.
    previous: Option<(SourceLine, DivergenceKind)>,
    /// No more runs are possible or needed.
    done: bool,
    /// Whether no run was left out for want of time.
    complete: bool,
}

impl Locate {
    pub fn new(config: LocateConfig) -> Self {
        Self {
            budget: Budget::new(config.seconds),
            config,
            matching: Vec::new(),
            waits: Vec::new(),
            points: Vec::new(),
            isolated: false,
            runs: Vec::new(),
            counts: LocateCounts::default(),
            pending: HashMap::new(),
            traced: 0,
            requested: 0,
            examined: 0,
            previous: None,
            done: false,
            complete: false,
        }
    }

    pub fn counts(&self) -> LocateCounts {
        self.counts
    }

    fn observe_attempt(&mut self, attempt: &Attempt, traces: &dyn Traces) {
        let trace = self.pending.remove(&attempt.environment);
        if self.matching != [attempt.test.clone()] {
            return;
        }
        self.budget.observe(attempt);
        match attempt.outcome {
            Outcome::TimedOut => self.counts.timed_out += 1,
            outcome if outcome.is_failure() => self.counts.failed += 1,
            outcome if outcome.is_pass() => self.counts.passed += 1,
            _ => self.counts.skipped += 1,
        }
        let completed = attempt.outcome != Outcome::TimedOut && attempt.outcome != Outcome::Skipped;
        let trace = trace.filter(|trace| !traces.strands(*trace).is_empty());
        match trace {
            Some(trace) if completed => self.runs.push(TracedRun::new(trace, attempt)),
            None if completed => self.counts.untraced += 1,
            _ => {}
        }
    }

    /// The runs to compare. Forked and new processes differ in what is traced, so one kind is used
    /// alone if it shows both outcomes.
    fn compared(&self) -> Vec<&TracedRun> {
        let of = |origin| self.runs.iter().filter(|run| run.origin == origin).collect::<Vec<_>>();
        let (copies, processes) = (of(Isolation::Fork), of(Isolation::Process));
        let mut compared = match (both(&copies), both(&processes)) {
            (_, true) if processes.len() >= copies.len() || !both(&copies) => processes,
            (true, _) => copies,
            _ => self.runs.iter().collect(),
        };
        let mut passing = 0;
        compared.retain(|run| {
            passing += usize::from(!run.failed);
            run.failed || passing <= MOST_PASSING
        });
        compared
    }

    /// Isolation of the next runs.
    fn next_isolation(&self) -> Vec<Isolation> {
        let by = self.config.fresh_by;
        let compared = self.compared();
        let processes = compared.iter().filter(|run| run.origin == Isolation::Process).count();
        let (made, needed) = match both(&compared) {
            true if is_mixed(&compared) => (processes as u32, self.config.runs),
            true if has_enough(&compared) => (compared.len() as u32, self.config.runs),
            _ => (self.requested, self.config.most.max(self.config.runs)),
        };
        let batch = BATCH.max(self.config.jobs as u32);
        let all_left = self.config.most.max(self.config.runs).saturating_sub(self.requested);
        let batch = batch.min(needed.saturating_sub(made)).min(all_left);
        if by == Isolation::Process || self.isolated || self.requested == 0 {
            return vec![if self.isolated { Isolation::Process } else { by }; batch as usize];
        }
        match both(&compared) {
            // Either may be chance or an effect of the isolation: new processes can tell.
            true if is_mixed(&compared) => vec![Isolation::Process; batch as usize],
            true => vec![compared[0].origin; batch as usize],
            // Forks share whatever was drawn while loading, so every other run is a new process.
            false => (0..batch).map(|at| if at % 2 == 0 { Isolation::Process } else { Isolation::Fork }).collect(),
        }
    }

    /// The cause that follows from what the first two worlds differ in, whatever a line uses.
    fn cause_of_worlds(&self) -> Option<(Cause, String)> {
        let [fails, passes, ..] = &self.config.worlds[..] else { return None };
        if fails.seed.is_some() && fails.factors.is_empty() {
            return Some((Cause::Randomness, "the random seed decides".to_owned()));
        }
        let differs = |factor: &&Factor| !passes.factors.contains(factor) && factor.kind().cause != Cause::Unknown;
        let factor = fails.factors.iter().find(differs)?;
        Some((factor.kind().cause, format!("the {} decides", factor.kind().title)))
    }

    /// Whether more runs would hardly change the answer.
    fn is_clear(&mut self, traces: &dyn Traces) -> bool {
        let compared = self.compared();
        if !has_enough(&compared) || is_mixed(&compared) {
            return false;
        }
        self.examined += 1;
        let found = self.examine(traces);
        let best = found.locations.first();
        let now = best.map(|best| (best.line.clone(), best.how));
        let explains = |best: &Location| best.chance < SIGNIFICANT && best.failing == found.failed;
        let clear = best.is_some_and(explains) && now == self.previous;
        self.previous = now;
        clear
    }

    fn examine(&self, traces: &dyn Traces) -> Divergence {
        let compared = self.compared();
        let runs: Vec<TracedRun> = compared.iter().copied().cloned().collect();
        let mut found = divergence(traces, &runs);
        found.timed_out = self.counts.timed_out;
        if both(&compared) && is_mixed(&compared) {
            let note = "forks and new processes ended differently, and they differ in more than one way";
            found.unknown.push(note.to_owned());
        }
        found
    }
}

fn both(runs: &[&TracedRun]) -> bool {
    runs.iter().any(|run| run.failed) && runs.iter().any(|run| !run.failed)
}

fn has_enough(runs: &[&TracedRun]) -> bool {
    let failed = runs.iter().filter(|run| run.failed).count();
    failed >= ENOUGH_OF_EACH && runs.len() - failed >= ENOUGH_OF_EACH
}

/// Whether both forked and new processes are among them.
fn is_mixed(runs: &[&TracedRun]) -> bool {
    runs.iter().any(|run| run.origin != runs[0].origin)
}

impl Technique for Locate {
    fn observe(&mut self, event: &Event, recordings: Recordings<'_>) {
        match event {
            Event::TestsListed { tests, isolated, seconds, .. } => {
                self.budget = Budget::new(self.config.seconds - seconds);
                self.isolated = *isolated;
                self.matching = select_one(tests, &self.config.test);
            }
            Event::TraceRecorded { environment, .. } => {
                self.pending.insert(*environment, TraceId(self.traced));
                self.traced += 1;
            }
            Event::AttemptEnded(attempt) => {
                self.observe_attempt(attempt, recordings.traces);
                // Of the first run and the first that fails: a budget may end before the next batch.
                let is_first_failure = self.counts.failed == 1 && attempt.outcome.is_failure();
                if self.runs.len() == 1 || is_first_failure {
                    self.waits = wait_lines(recordings.traces, &self.runs);
                    self.points = delay_points(recordings.traces, &self.runs);
                }
            }
            // A test that cannot run once cannot run at all.
            Event::SessionEnded { left, why: Some(_), .. } if !left.is_empty() => self.done = true,
            _ => {}
        }
    }

    fn next_sessions(&mut self, recordings: Recordings<'_>) -> Vec<Session> {
        let [test] = &self.matching[..] else { return Vec::new() };
        let test = test.clone();
        self.waits = wait_lines(recordings.traces, &self.runs);
        self.points = delay_points(recordings.traces, &self.runs);
        // If the first runs yield nothing (skipped, timed out, no trace), neither will more.
        let in_vain = self.requested > 0 && self.runs.is_empty();
        if self.done || in_vain || self.budget.is_exhausted() || self.is_clear(recordings.traces) {
            self.complete = !self.budget.is_exhausted();
            return Vec::new();
        }
        let mut sessions = Vec::new();
        for origin in self.next_isolation() {
            self.requested += 1;
            sessions.push(Session::fresh(SessionId(self.requested), Purpose::Look, origin, vec![test.clone()]));
        }
        let worlds = &self.config.worlds;
        // Copies of the test that run at the same time must not meet in a file.
        let private = sessions.len() > 1 && worlds.is_empty();
        for session in &mut sessions {
            session.private = private;
            let world = worlds.get((session.id.0 as usize - 1) % worlds.len().max(1));
            session.under = world.filter(|world| !world.factors.is_empty()).cloned();
            session.seed = world.and_then(|world| world.seed);
        }
        self.complete = sessions.is_empty();
        sessions
    }

    fn findings(&self, recordings: Recordings<'_>) -> Vec<Finding> {
        if let Some((schedule, failure)) = &self.config.schedule {
            let (waits, points, failure) = (self.waits.clone(), self.points.clone(), failure.clone());
            return delayed_line(schedule, &ObservedDelays { waits, points, failure }).into_iter().collect();
        }
        let ([test], true) = (&self.matching[..], both(&self.compared())) else { return Vec::new() };
        let mut found = self.examine(recordings.traces);
        for location in &mut found.locations {
            location.chance = (location.chance * f64::from(self.examined.max(1))).min(1.0);
            if !self.config.worlds.is_empty() {
                // Failing runs differ from passing ones in their worlds, whatever decides.
                location.chance = 1.0;
            }
        }
        if let Some((cause, because)) = self.cause_of_worlds().filter(|(cause, _)| *cause != found.kind) {
            (found.kind, found.because) = (cause, because);
        }
        let sentence = match found.locations.first() {
            Some(start) => format!("starts at {}:{}: {}", start.line.file, start.line.line, start.sentence),
            None => "no recorded line or value separates its failing runs from the passing ones".to_owned(),
        };
        let under = self.config.worlds.first().cloned().unwrap_or_default();
        let replay = Replay { under, ..Replay::sometimes_fails(vec![test.clone()]) };
        vec![finding(test, Detail::Divergence(found), sentence, vec![replay])]
    }

    fn coverage(&self) -> Option<Coverage> {
        let tests = self.matching.len() as u32;
        let tried = if self.runs.is_empty() { 0 } else { tests };
        Some(Coverage { tests, tried, left_out: 0, pairs: None, complete: self.complete })
    }
}

#[cfg(test)]
mod tests;
