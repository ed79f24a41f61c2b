//! The answer when nothing recorded before the failure separates failing from passing runs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use unflake_model::{Cause, DivergenceKind, DivergencePoint, LineId, Location, NondeterministicCall, SourceLine};

use crate::divergence::aligned_runs::AlignedRuns;
use crate::divergence::candidate::Candidate;
use crate::divergence::cause::{CauseHypothesis, reach, structure};
use crate::divergence::common_prefix::divergence_points;
use crate::divergence::value_text::items;

/// Lines before the failure that are searched for nondeterministic calls.
const LINES_BACK: u64 = 600;

/// The most likely line, if any. `failure` is where runs diverge because some of them fail.
pub(crate) fn no_divergence(
    runs: &AlignedRuns<'_>,
    failure: Option<&Candidate>,
) -> (Option<Location>, CauseHypothesis) {
    let why = structure(runs);
    let Some(run) = (0..runs.all.len()).find(|run| runs.all[*run].failed) else { return (None, why) };
    let Some((thread, raised)) = runs.raised_at(run) else { return (None, why) };
    let several = runs.threads.iter().filter(|thread| !thread.is_loading()).count() > 1;
    if several {
        if let Some((line, name)) = modified_by_several(runs, run, thread) {
            let line = runs.traces.line(line);
            let sentence = format!(
                "several threads or tasks change {name} here; nothing else recorded before the failure separates the runs"
            );
            return (Some(unmeasured(runs, line, sentence)), why);
        }
        if let Some(line) = diverging_elsewhere(runs, &divergence_points(runs), thread) {
            let sentence = "threads or tasks diverge here in almost every run; nothing else recorded before the failure separates the runs";
            return (Some(unmeasured(runs, line, sentence.to_owned())), why);
        }
    }
    let until = failure.filter(|late| late.thread == thread).and_then(|late| late.at[run]).map(|at| at as u64);
    let until = until.unwrap_or_else(|| runs.thread_trace(run, thread).map_or(0, |trace| trace.events)).max(raised + 1);
    match last_call(runs, run, thread, until, several) {
        Some(reach) => {
            let line = runs.traces.line(reach.line);
            let because = format!(
                "{}:{} uses {}, and nothing recorded before the failure separates the runs",
                line.file, line.line, reach.what
            );
            let sentence = format!(
                "last line before the failure that uses something that varies ({}); nothing recorded separates the runs",
                reach.what
            );
            let how = if waits(reach) { DivergenceKind::Order } else { DivergenceKind::Value };
            (
                Some(Location { how, ..unmeasured(runs, line, sentence) }),
                CauseHypothesis { cause: reach.cause, because },
            )
        }
        None => {
            let sentence = "the failure is here; nothing recorded before it separates the runs";
            let how = if several { DivergenceKind::Order } else { DivergenceKind::Value };
            let location =
                runs.failure_line().map(|line| Location { how, ..unmeasured(runs, line, sentence.to_owned()) });
            (location, why)
        }
    }
}

/// A location without a measurement: it claims no significance.
fn unmeasured(runs: &AlignedRuns<'_>, line: SourceLine, sentence: String) -> Location {
    let (failing, passing) = (runs.failed() as u32, (runs.all.len() - runs.failed()) as u32);
    Location { line, how: DivergenceKind::Order, failing, passing, chance: 1.0, sentence, value: None, rejected: false }
}

/// A line at which several other threads modify a container of the failing thread.
fn modified_by_several(runs: &AlignedRuns<'_>, run: usize, failing: usize) -> Option<(LineId, Arc<str>)> {
    let names = |thread: usize| runs.id(run, thread).map_or(Vec::new(), |id| runs.traces.values(id));
    let known: HashSet<Arc<str>> = names(failing).into_iter().map(|seen| seen.name).collect();
    let mut changed: HashMap<(LineId, Arc<str>), (HashSet<usize>, usize)> = HashMap::new();
    for thread in (0..runs.threads.len()).filter(|thread| *thread != failing && !runs.threads[*thread].is_loading()) {
        for seen in names(thread) {
            if known.contains(&seen.name) && items(&seen.text).is_some() {
                let (threads, times) = changed.entry((seen.line, seen.name)).or_default();
                threads.insert(thread);
                *times += 1;
            }
        }
    }
    let by_several = changed.into_iter().filter(|(_, (threads, _))| threads.len() > 1);
    let most = by_several.max_by_key(|((line, _), (_, times))| (*times, std::cmp::Reverse(*line)));
    most.map(|(place, _)| place)
}

/// The line at which most failing runs diverge, if in another thread than the failing one.
fn diverging_elsewhere(runs: &AlignedRuns<'_>, points: &[DivergencePoint], failing: usize) -> Option<SourceLine> {
    let mut counted: Vec<(&SourceLine, u32)> = Vec::new();
    for (point, line) in points.iter().filter_map(|point| Some((point, point.last.as_ref()?))) {
        match counted.iter_mut().find(|(other, _)| *other == line) {
            _ if point.strand == runs.threads[failing].name => {}
            Some((_, times)) => *times += point.runs,
            None => counted.push((line, point.runs)),
        }
    }
    let all: u32 = counted.iter().map(|(_, times)| times).sum();
    let most = counted.into_iter().rev().max_by_key(|(_, times)| *times)?;
    (all as usize * 2 >= runs.failed()).then(|| most.0.clone())
}

/// The last nondeterministic call before a failure: waits first, then anything else that may vary.
/// Where no other thread does anything, none is in a race with it.
fn last_call<'a>(
    runs: &'a AlignedRuns<'_>,
    run: usize,
    thread: usize,
    until: u64,
    several: bool,
) -> Option<&'a NondeterministicCall> {
    let from = until.saturating_sub(LINES_BACK);
    let lines = runs.traces.lines(runs.id(run, thread)?, from, (until - from) as usize);
    let all = runs.traces.reaches();
    let fits = |reach: &&NondeterministicCall| several || reach.cause != Cause::Race;
    let waiting = |line: &LineId| {
        let of_line = all.iter().filter(|reach| reach.line == *line);
        of_line.filter(fits).find(|reach| waits(reach))
    };
    lines.iter().rev().find_map(waiting).or_else(|| lines.iter().rev().find_map(|line| reach(all, *line).filter(fits)))
}

fn waits(reach: &NondeterministicCall) -> bool {
    matches!(reach.cause, Cause::AsyncWait | Cause::Race | Cause::Network)
}
