//! Common-prefix comparison (DIVERGENCE): for each failing run, the passing run with the longest
//! common prefix and the point where they diverge.

use std::collections::HashSet;

use unflake_model::{DivergencePoint, LineId, SourceLine, ThreadTrace};

use crate::divergence::aligned_runs::AlignedRuns;

/// Lines shown before and after a divergence.
const BEFORE: usize = 20;
const AFTER: usize = 100;
/// Lines from which the call stack is reconstructed.
const LINES_BACK: usize = 100_000;

/// A pair of threads that differ at a position.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ForkPoint {
    thread: usize,
    failing: usize,
    passing: usize,
    common: u64,
    when: f64,
}

/// Divergence points with their failing runs, most frequent first.
pub(crate) fn divergence_points(runs: &AlignedRuns<'_>) -> Vec<DivergencePoint> {
    let passing: Vec<usize> = (0..runs.all.len()).filter(|run| !runs.all[*run].failed).collect();
    let mut groups: Vec<(ForkSignature, DivergencePoint)> = Vec::new();
    for failing in (0..runs.all.len()).filter(|run| runs.all[*run].failed) {
        let same = |passing: &usize| common_lines(runs, failing, *passing);
        // The first of equals, so that many runs are compared with the same one.
        let Some(nearest) = passing.iter().copied().rev().max_by_key(same) else { continue };
        let mut forks = forks(runs, failing, nearest);
        forks.sort_by(|one, other| one.when.total_cmp(&other.when));
        let Some((first, others)) = forks.split_first() else { continue };
        let signature = ForkSignature::of(runs, first);
        let message = &runs.all[failing].message;
        let at = groups.iter().position(|(other, _)| *other == signature).unwrap_or_else(|| {
            groups.push((signature, describe(runs, first, others)));
            groups.len() - 1
        });
        let point = &mut groups[at].1;
        point.runs += 1;
        match point.messages.iter_mut().find(|(text, _)| text == message) {
            Some((_, times)) => *times += 1,
            None => point.messages.push((message.clone(), 1)),
        }
    }
    groups.sort_by_key(|(_, point)| std::cmp::Reverse(point.runs));
    let most_first = |mut point: DivergencePoint| {
        point.messages.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        point
    };
    groups.into_iter().map(|(_, point)| most_first(point)).collect()
}

/// Identity of a divergence point: the thread, the last common line, and the next line on either
/// side.
#[derive(PartialEq)]
struct ForkSignature(usize, [Option<LineId>; 3]);

impl ForkSignature {
    fn of(runs: &AlignedRuns<'_>, fork: &ForkPoint) -> ForkSignature {
        let line = |run, at: Option<u64>| runs.traces.lines(runs.id(run, fork.thread)?, at?, 1).first().copied();
        let last = line(fork.failing, fork.common.checked_sub(1));
        ForkSignature(fork.thread, [last, line(fork.failing, Some(fork.common)), line(fork.passing, Some(fork.common))])
    }
}

/// Total length of the common prefixes of two runs.
fn common_lines(runs: &AlignedRuns<'_>, one: usize, other: usize) -> u64 {
    let common = |thread| Some(runs.traces.common(runs.id(one, thread)?, runs.id(other, thread)?));
    (0..runs.threads.len()).filter_map(common).sum()
}

fn forks(runs: &AlignedRuns<'_>, failing: usize, passing: usize) -> Vec<ForkPoint> {
    let fork = |thread| {
        let common = match (runs.id(failing, thread), runs.id(passing, thread)) {
            (Some(one), Some(other)) => runs.traces.common(one, other),
            (None, None) => return None,
            _ => 0,
        };
        let (one, other) = (runs.thread_trace(failing, thread), runs.thread_trace(passing, thread));
        if one.zip(other).is_some_and(|(one, other)| one.events == common && other.events == common) {
            return None;
        }
        // Anything may follow the end of a truncated trace.
        let unknown = |trace: &ThreadTrace| trace.truncated.is_some() && trace.events == common;
        if one.is_some_and(unknown) || other.is_some_and(unknown) {
            return None;
        }
        let run = if one.is_some() { failing } else { passing };
        Some(ForkPoint { thread, failing, passing, common, when: runs.relative_time(run, thread, common as f64) })
    };
    (0..runs.threads.len()).filter_map(fork).collect()
}

fn describe(runs: &AlignedRuns<'_>, fork: &ForkPoint, others: &[ForkPoint]) -> DivergencePoint {
    let whole = |ids: &[LineId]| ids.iter().map(|id| runs.traces.line(*id)).collect::<Vec<SourceLine>>();
    let read = |run, from, most| runs.id(run, fork.thread).map_or(Vec::new(), |id| runs.traces.lines(id, from, most));
    let from = fork.common.saturating_sub(LINES_BACK as u64);
    let past = read(fork.failing, from, (fork.common - from) as usize);
    let before = whole(&past[past.len().saturating_sub(BEFORE)..]);
    let (failing, passing) = (read(fork.failing, fork.common, AFTER), read(fork.passing, fork.common, AFTER));
    let (only_failing, only_passing) = (alone(&failing, &passing), alone(&passing, &failing));
    let elsewhere = others.iter().map(|other| {
        let last = other.common.checked_sub(1).and_then(|at| {
            let id = runs.id(other.failing, other.thread)?;
            runs.traces.lines(id, at, 1).first().map(|line| runs.traces.line(*line))
        });
        (runs.threads[other.thread].name.clone(), last)
    });
    let calls = calls(past.iter().map(|id| runs.traces.line(*id)));
    let passed: HashSet<&str> = calls.iter().map(|line| line.function.as_str()).collect();
    DivergencePoint {
        runs: 0,
        strand: runs.threads[fork.thread].name.clone(),
        common: fork.common,
        last: before.last().cloned(),
        passing: inside(whole(only_passing), &passed),
        failing: inside(whole(only_failing), &passed),
        before,
        messages: Vec::new(),
        elsewhere: elsewhere.collect(),
        calls,
    }
}

/// The leading lines up to the first that the other side also reaches.
fn alone<'a>(one: &'a [LineId], other: &[LineId]) -> &'a [LineId] {
    let there: HashSet<&LineId> = other.iter().collect();
    let length = one.iter().skip(1).take_while(|line| !there.contains(line)).count();
    &one[..one.len().min(length + 1)]
}

/// Stops where a function returns to one of its callers: that is the return path.
fn inside(mut lines: Vec<SourceLine>, callers: &HashSet<&str>) -> Vec<SourceLine> {
    let length = lines.iter().skip(1).take_while(|line| !callers.contains(line.function.as_str())).count();
    lines.truncate(length + 1);
    lines
}

/// The call stack after these lines, outermost first, without the innermost frame. A function that
/// reappears counts as returned to: recursion is not detected.
fn calls(lines: impl Iterator<Item = SourceLine>) -> Vec<SourceLine> {
    let mut open: Vec<SourceLine> = Vec::new();
    for line in lines {
        let same = |other: &SourceLine| other.function == line.function && other.file == line.file;
        if let Some(at) = open.iter().rposition(same) {
            open.truncate(at);
        }
        open.push(line);
    }
    open.pop();
    open
}

#[cfg(test)]
mod tests;
