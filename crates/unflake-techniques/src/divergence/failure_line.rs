//! Locates failures in traces: the project line that raised them.

use std::collections::{HashMap, HashSet};

use unflake_model::{LineId, SourceLine};

use crate::divergence::aligned_runs::AlignedRuns;

/// Failures are searched in this many final lines: tear-down may follow them.
const LINES_BACK: u64 = 20_000;

impl AlignedRuns<'_> {
    /// Thread and position at which the failure of a run was raised. If that line is outside the
    /// project, the last line of the run.
    pub(crate) fn raised_at(&self, run: usize) -> Option<(usize, u64)> {
        let known = (0..self.threads.len()).find_map(|thread| self.raised_in(run, thread));
        let last = || {
            let thread = (0..self.threads.len())
                .find(|thread| !self.threads[*thread].is_loading() && self.id(run, *thread).is_some())?;
            Some((thread, self.thread_trace(run, thread)?.events.checked_sub(1)?))
        };
        known.or_else(last)
    }

    fn raised_in(&self, run: usize, thread: usize) -> Option<(usize, u64)> {
        let (file, line) = self.all[run].raised.as_ref()?;
        let is_it = |found: &SourceLine| {
            found.line == *line && (found.file == *file || file.ends_with(&format!("/{}", found.file)))
        };
        let (id, events) = (self.id(run, thread)?, self.thread_trace(run, thread)?.events);
        let from = events.saturating_sub(LINES_BACK);
        let lines = self.traces.lines(id, from, LINES_BACK as usize);
        let all: HashSet<LineId> = lines.iter().copied().collect();
        let here = all.into_iter().filter(|line| is_it(&self.traces.line(*line)));
        // A nested function has a longer name than the function that contains the line.
        let outer = here.min_by_key(|line| (self.traces.line(*line).function.len(), *line))?;
        let at = lines.iter().rposition(|line| *line == outer)?;
        Some((thread, from + at as u64))
    }

    /// By run: position at which a thread has passed the failing line for good. What a passing run
    /// does afterwards follows from passing. `None`: it never reaches that line, or failures are
    /// not raised in this thread.
    pub(crate) fn past_failure(&self, thread: usize) -> Vec<Option<f64>> {
        let failing = (0..self.all.len()).filter(|run| self.all[*run].failed);
        let line = |run: usize| {
            let (_, at) = self.raised_in(run, thread)?;
            self.traces.lines(self.id(run, thread)?, at, 1).first().copied()
        };
        let lines: HashSet<LineId> = failing.filter_map(line).collect();
        let functions: HashSet<String> = lines.iter().map(|line| self.traces.line(*line).function).collect();
        let mut is_there: HashMap<LineId, bool> = HashMap::new();
        let mut past = |run: usize| {
            let (id, events) = (self.id(run, thread)?, self.thread_trace(run, thread)?.events);
            let from = events.saturating_sub(LINES_BACK);
            let went = self.traces.lines(id, from, LINES_BACK as usize);
            let last = went.iter().rposition(|line| lines.contains(line))?;
            let mut goes_on = |line: &LineId| {
                let known = is_there.entry(*line);
                *known.or_insert_with(|| functions.contains(&self.traces.line(*line).function))
            };
            let next = went[last + 1..].iter().position(&mut goes_on)?;
            Some((from + (last + 1 + next) as u64) as f64)
        };
        (0..self.all.len()).map(|run| if self.all[run].failed { None } else { past(run) }).collect()
    }

    /// The line that raised most failures.
    pub(crate) fn failure_line(&self) -> Option<SourceLine> {
        let failing = (0..self.all.len()).filter(|run| self.all[*run].failed);
        let line = |run: usize| {
            let (thread, at) = self.raised_at(run)?;
            self.traces.lines(self.id(run, thread)?, at, 1).first().copied()
        };
        let lines: Vec<LineId> = failing.filter_map(line).collect();
        let times = |line: &&LineId| lines.iter().filter(|other| other == line).count();
        lines.iter().rev().max_by_key(times).map(|line| self.traces.line(*line))
    }
}
