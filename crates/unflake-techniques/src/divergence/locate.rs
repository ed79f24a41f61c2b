//! DIVERGENCE: one flaky test many times, traced, until it is clear where its failing runs part from the passing ones.
//!
//! This file decides what to run and when to stop; `divergence.rs` compares.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use unflake_model::{
    Attempt, Detail, Divergence, DivergenceKind, EnvironmentId, Event, Finding, Isolation, Location, Outcome, Purpose,
    Session, SessionId, SourceLine, TestId, TraceId, Traces,
};

use crate::Technique;
use crate::divergence::conclusion::{Run, divergence};

/// So many runs are asked for together; then what was found is looked at.
const BATCH: u32 = 10;
/// With so many runs of either outcome more of them may be superfluous.
const ENOUGH: usize = 5;
const SURE: f64 = 0.001;

/// What is to be located, and at what price.
#[derive(Clone, Debug, PartialEq)]
pub struct LocateConfig {
    /// The name of a test, or a part of it that no other has.
    pub test: String,
    /// How many runs to compare.
    pub runs: u32,
    /// How many to make at most as long as they all end alike.
    pub most: u32,
    pub fresh_by: Isolation,
    /// No run is begun after so many seconds.
    pub seconds: f64,
    /// How many runs go on at once.
    pub jobs: usize,
}

/// How the runs ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocateCounts {
    pub passed: u32,
    pub failed: u32,
    pub timed_out: u32,
    /// Skipped: neither a pass nor a failure.
    pub skipped: u32,
    /// Of those that passed or failed, the ones that left no trace.
    pub untraced: u32,
}

pub struct Locate {
    locating: LocateConfig,
    traces: Rc<RefCell<dyn Traces>>,
    /// The tests that have that name, or where there is none that have it as a part of theirs.
    pub matching: Vec<TestId>,
    isolated: bool,
    runs: Vec<Run>,
    counts: LocateCounts,
    /// Traces whose attempts are still to be told.
    coming: HashMap<EnvironmentId, TraceId>,
    traced: u32,
    asked: u32,
    /// Microseconds: when the first attempt began, and when the latest one known to us ended.
    first: Option<i64>,
    latest: i64,
    /// Where it started in the look before, and how.
    before: Option<(SourceLine, DivergenceKind)>,
    /// Nothing more can or need be run.
    done: bool,
}

impl Locate {
    pub fn new(locating: LocateConfig, traces: Rc<RefCell<dyn Traces>>) -> Self {
        Self {
            locating,
            traces,
            matching: Vec::new(),
            isolated: false,
            runs: Vec::new(),
            counts: LocateCounts::default(),
            coming: HashMap::new(),
            traced: 0,
            asked: 0,
            first: None,
            latest: 0,
            before: None,
            done: false,
        }
    }

    pub fn counts(&self) -> LocateCounts {
        self.counts
    }

    fn hear_attempt(&mut self, attempt: &Attempt) {
        let trace = self.coming.remove(&attempt.environment);
        if self.matching != [attempt.test.clone()] {
            return;
        }
        let began = attempt.started.0;
        self.first = Some(self.first.unwrap_or(began).min(began));
        self.latest = self.latest.max(began + (attempt.seconds * 1e6) as i64);
        match attempt.outcome {
            Outcome::TimedOut => self.counts.timed_out += 1,
            outcome if outcome.is_failure() => self.counts.failed += 1,
            outcome if outcome.is_pass() => self.counts.passed += 1,
            _ => self.counts.skipped += 1,
        }
        let told = attempt.outcome != Outcome::TimedOut && attempt.outcome != Outcome::Skipped;
        let trace = trace.filter(|trace| !self.traces.borrow().strands(*trace).is_empty());
        match trace {
            Some(trace) if told => self.runs.push(Run::new(trace, attempt)),
            None if told => self.counts.untraced += 1,
            _ => {}
        }
    }

    /// The runs that are compared. Copies of one process and processes of their own differ in what is traced, so only
    /// one kind is taken if it shows both outcomes.
    fn compared(&self) -> Vec<&Run> {
        let of = |origin| self.runs.iter().filter(|run| run.origin == origin).collect::<Vec<_>>();
        let (copies, processes) = (of(Isolation::Fork), of(Isolation::Process));
        match (both(&copies), both(&processes)) {
            (_, true) if processes.len() >= copies.len() || !both(&copies) => processes,
            (true, _) => copies,
            _ => self.runs.iter().collect(),
        }
    }

    /// The origins of the next runs.
    fn next(&self) -> Vec<Isolation> {
        let by = self.locating.fresh_by;
        let compared = self.compared();
        let processes = compared.iter().filter(|run| run.origin == Isolation::Process).count();
        let (seen, wanted) = match both(&compared) {
            true if is_mixed(&compared) => (processes as u32, self.locating.runs),
            true => (compared.len() as u32, self.locating.runs),
            false => (self.asked, self.locating.most.max(self.locating.runs)),
        };
        let batch = BATCH.max(self.locating.jobs as u32);
        let all_left = self.locating.most.max(self.locating.runs).saturating_sub(self.asked);
        let batch = batch.min(wanted.saturating_sub(seen)).min(all_left);
        if by == Isolation::Process || self.isolated || self.asked == 0 {
            return vec![if self.isolated { Isolation::Process } else { by }; batch as usize];
        }
        match both(&compared) {
            // Either may be chance or come of how the process was made: processes of their own can tell.
            true if is_mixed(&compared) => vec![Isolation::Process; batch as usize],
            true => vec![compared[0].origin; batch as usize],
            // Copies share what was drawn while loading: every other run is now a process of its own.
            false => (0..batch).map(|at| if at % 2 == 0 { Isolation::Process } else { Isolation::Fork }).collect(),
        }
    }

    /// Whether more runs would hardly change the answer.
    fn is_clear(&mut self) -> bool {
        let compared = self.compared();
        let failed = compared.iter().filter(|run| run.failed).count();
        if failed < ENOUGH || compared.len() - failed < ENOUGH || is_mixed(&compared) {
            return false;
        }
        let found = self.look();
        let best = found.locations.first();
        let now = best.map(|best| (best.line.clone(), best.how));
        let explains = |best: &Location| best.chance < SURE && best.failing == found.failed;
        let clear = best.is_some_and(explains) && now == self.before;
        self.before = now;
        clear
    }

    fn is_over(&self) -> bool {
        self.first.is_some_and(|first| (self.latest - first) as f64 >= self.locating.seconds * 1e6)
    }

    fn look(&self) -> Divergence {
        let compared = self.compared();
        let runs: Vec<Run> = compared.iter().copied().cloned().collect();
        let mut found = divergence(&*self.traces.borrow(), &runs);
        found.timed_out = self.counts.timed_out;
        if both(&compared) && is_mixed(&compared) {
            let note = "copies of one process and processes of their own ended differently, and they differ in more than one way";
            found.unknown.push(note.to_owned());
        }
        found
    }
}

fn both(runs: &[&Run]) -> bool {
    runs.iter().any(|run| run.failed) && runs.iter().any(|run| !run.failed)
}

/// Whether some are copies of one process and others processes of their own.
fn is_mixed(runs: &[&Run]) -> bool {
    runs.iter().any(|run| run.origin != runs[0].origin)
}

impl Technique for Locate {
    fn hear(&mut self, event: &Event) {
        match event {
            Event::TestsListed { tests, isolated, .. } => {
                self.isolated = *isolated;
                let ids = || tests.iter().map(|test| test.id.clone());
                let named: Vec<TestId> = ids().filter(|id| id.as_str() == self.locating.test).collect();
                let part: Vec<TestId> = ids().filter(|id| id.as_str().contains(&self.locating.test)).collect();
                self.matching = if named.is_empty() { part } else { named };
            }
            Event::TraceRecorded { environment, .. } => {
                self.coming.insert(*environment, TraceId(self.traced));
                self.traced += 1;
            }
            Event::AttemptEnded(attempt) => self.hear_attempt(attempt),
            // What cannot be run once cannot be run at all.
            Event::SessionEnded { left, why: Some(_), .. } if !left.is_empty() => self.done = true,
            _ => {}
        }
    }

    fn ask(&mut self) -> Vec<Session> {
        let [test] = &self.matching[..] else { return Vec::new() };
        let test = test.clone();
        // Where the first runs say nothing (skipped, out of time, no trace), neither will others.
        let in_vain = self.asked > 0 && self.runs.is_empty();
        if self.done || in_vain || self.is_over() || self.is_clear() {
            return Vec::new();
        }
        let mut sessions = Vec::new();
        for origin in self.next() {
            self.asked += 1;
            sessions.push(Session::fresh(SessionId(self.asked), Purpose::Look, origin, vec![test.clone()]));
        }
        sessions
    }

    fn findings(&self) -> Vec<Finding> {
        let ([test], true) = (&self.matching[..], both(&self.compared())) else { return Vec::new() };
        let found = self.look();
        let sentence = match found.locations.first() {
            Some(start) => format!("starts at {}:{}: {}", start.line.file, start.line.line, start.sentence),
            None => "nothing that was recorded tells its failing runs from the passing ones".to_owned(),
        };
        let replay = vec![test.clone()];
        vec![Finding { test: test.clone(), detail: Detail::Divergence(found), sentence, repeat: None, replay }]
    }
}

#[cfg(test)]
mod tests;
