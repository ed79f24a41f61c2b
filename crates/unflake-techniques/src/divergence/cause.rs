//! Classifies the root cause: from the nondeterministic calls of the blamed lines, else from the
//! thread structure.

use std::collections::HashSet;

use unflake_model::{Cause, LineId, NondeterministicCall, TraceId};

use crate::divergence::aligned_runs::AlignedRuns;
use crate::divergence::candidate::Candidate;
use crate::divergence::value_text::items;

/// Preceding lines in which a nondeterministic call counts before the thread structure does.
const LINES_BACK: u64 = 60;
/// Lines further back are read in pieces of this length.
const PIECE: u64 = 4096;

/// A cause with its justification, worded to follow "because".
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CauseHypothesis {
    pub(crate) cause: Cause,
    pub(crate) because: String,
}

/// Causes of one line in order of likelihood. Calls that return another value each time come first,
/// then those that depend on the environment. Waits and threads come last: such lines run every
/// time, and only their order differs.
const LIKELY: [Cause; 12] = [
    Cause::Randomness,
    Cause::Time,
    Cause::UnorderedCollection,
    Cause::Network,
    Cause::Io,
    Cause::LeakedState,
    Cause::FloatingPoint,
    Cause::AsyncWait,
    Cause::Race,
    Cause::Resource,
    Cause::Environment,
    Cause::Unknown,
];

/// The cause of the divergence that begins at this candidate.
pub(crate) fn cause(runs: &AlignedRuns<'_>, start: &Candidate) -> CauseHypothesis {
    let name = |line: LineId| {
        let line = runs.traces.line(line);
        format!("{}:{}", line.file, line.line)
    };
    if let Some(reach) = reach(runs.traces.reaches(), start.line) {
        let because = format!("{} uses {}", name(start.line), reach.what);
        return CauseHypothesis { cause: reach.cause, because };
    }
    let near = lines_before(runs, start).into_iter().find_map(|line| reach(runs.traces.reaches(), line));
    // A random draw may shuffle, and results of several threads arrive in completion order. Apart
    // from these, equal items in another order come from an unordered collection.
    let arrives = |cause| matches!(cause, Cause::AsyncWait | Cause::Race) && tasks(runs).max(threads(runs)) > 1;
    if is_shuffled(start) && near.is_none_or(|near| near.cause != Cause::Randomness && !arrives(near.cause)) {
        let because = format!("{} has the same items in another order", name(start.line));
        return CauseHypothesis { cause: Cause::UnorderedCollection, because };
    }
    // A lock that another thread takes says little where the failing one relies on time.
    if near.is_none_or(|near| near.cause == Cause::Race)
        && let Some(sleep) = slept_before_failure(runs, start)
    {
        let because = format!("{}, before the failure, uses {}", name(sleep.line), sleep.what);
        return CauseHypothesis { cause: Cause::AsyncWait, because };
    }
    if let Some(reach) = near {
        let because = format!("{}, just before it, uses {}", name(reach.line), reach.what);
        return CauseHypothesis { cause: reach.cause, because };
    }
    let by_structure = structure(runs);
    if by_structure.cause == Cause::Unknown
        && let Some((reach, steps)) = far_call(runs, start)
    {
        let because = format!("{}, {steps} steps before it, uses {}", name(reach.line), reach.what);
        return CauseHypothesis { cause: reach.cause, because };
    }
    by_structure
}

/// The last nondeterministic call before the candidate, however far back, and how many steps.
fn far_call<'a>(runs: &AlignedRuns<'a>, start: &Candidate) -> Option<(&'a NondeterministicCall, u64)> {
    let reaches = runs.traces.reaches();
    let (id, until) = failing_position(runs, start)?;
    let mut to = until;
    while to > 0 && !reaches.is_empty() {
        let from = to.saturating_sub(PIECE);
        let lines = runs.traces.lines(id, from, (to - from) as usize);
        let found =
            lines.iter().enumerate().rev().find_map(|(at, line)| Some((reach(reaches, *line)?, from + at as u64)));
        if let Some((reach, at)) = found {
            return Some((reach, until - at));
        }
        to = from;
    }
    None
}

/// The last sleep of the thread that fails, shortly before it does, where other threads work meanwhile.
fn slept_before_failure<'a>(runs: &AlignedRuns<'a>, start: &Candidate) -> Option<&'a NondeterministicCall> {
    let fails_so = |run: &usize| runs.all[*run].raised.is_some() && start.predicts[*run];
    let run = (0..runs.all.len()).filter(|run| runs.all[*run].failed).find(fails_so)?;
    let (thread, raised) = runs.raised_at(run).filter(|_| threads(runs).max(tasks(runs)) > 1)?;
    let from = raised.saturating_sub(LINES_BACK);
    let lines = runs.traces.lines(runs.id(run, thread)?, from, (raised - from) as usize);
    let sleeps = |line: &LineId| {
        let of_line = runs.traces.reaches().iter().filter(|reach| reach.line == *line);
        of_line.into_iter().find(|reach| reach.cause == Cause::AsyncWait && reach.what.contains("sleep"))
    };
    lines.iter().rev().find_map(sleeps)
}

/// Whether the value contains the same items in every run, in different orders.
fn is_shuffled(start: &Candidate) -> bool {
    let texts: HashSet<&str> = start.shown.iter().flatten().map(|text| &**text).collect();
    let held: HashSet<Option<Vec<&str>>> = texts.iter().map(|text| sorted(text)).collect();
    texts.len() > 1 && held.len() == 1 && !held.contains(&None)
}

/// The items of a container, sorted; `None` unless all of them are known.
fn sorted(text: &str) -> Option<Vec<&str>> {
    let found = items(text)?;
    let mut shown = found.shown;
    shown.sort_unstable();
    (shown.len() == found.length).then_some(shown)
}

/// Fallback that uses the thread structure alone.
pub(crate) fn structure(runs: &AlignedRuns<'_>) -> CauseHypothesis {
    let (tasks, threads) = (tasks(runs), threads(runs));
    if tasks > 1 {
        let because = format!("{tasks} tasks interleave, in the order in which their waits end");
        return CauseHypothesis { cause: Cause::AsyncWait, because };
    }
    if threads > 1 {
        let because = format!("{threads} threads interleave, and nothing recorded predicts their order");
        return CauseHypothesis { cause: Cause::Race, because };
    }
    let because = "no line before it uses anything known to vary".to_owned();
    CauseHypothesis { cause: Cause::Unknown, because }
}

fn tasks(runs: &AlignedRuns<'_>) -> usize {
    runs.threads.iter().filter(|thread| thread.is_task()).count()
}

/// Threads that do any work; one with hardly any events only waits.
fn threads(runs: &AlignedRuns<'_>) -> usize {
    let works = |thread: &usize| {
        (0..runs.all.len()).any(|run| runs.thread_trace(run, *thread).is_some_and(|one| one.events > 2))
    };
    let threads = (0..runs.threads.len())
        .filter(|thread| !runs.threads[*thread].is_task() && !runs.threads[*thread].is_loading());
    threads.filter(works).count()
}

/// The most likely nondeterministic call of a line.
pub(crate) fn reach(reaches: &[NondeterministicCall], line: LineId) -> Option<&NondeterministicCall> {
    let rank = |reach: &&NondeterministicCall| LIKELY.iter().position(|cause| *cause == reach.cause);
    reaches.iter().filter(|reach| reach.line == line).min_by_key(rank)
}

/// Lines that ran before the candidate in a failing run, nearest first: calls made by its own line,
/// then earlier lines.
fn lines_before(runs: &AlignedRuns<'_>, start: &Candidate) -> Vec<LineId> {
    let Some((id, until)) = failing_position(runs, start) else { return Vec::new() };
    let from = until.saturating_sub(LINES_BACK);
    let mut lines = runs.traces.lines(id, from, (until - from) as usize);
    lines.reverse();
    lines
}

/// Where the candidate is in the trace of a failing run.
fn failing_position(runs: &AlignedRuns<'_>, start: &Candidate) -> Option<((TraceId, usize), u64)> {
    let predicted = |run: &usize| runs.all[*run].failed && start.predicts[*run] && start.at[*run].is_some();
    let run = (0..runs.all.len()).find(predicted)?;
    Some((runs.id(run, start.thread)?, start.at[run]?.ceil() as u64))
}

#[cfg(test)]
mod tests;
