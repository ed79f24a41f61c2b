//! Control-flow edges that several threads take, counted over all threads. Two threads may each
//! sell any number of seats in any run; that both together sell too many is visible in neither
//! thread alone.

use std::collections::{BTreeMap, HashSet};

use unflake_model::{DivergenceKind, LineId};

use crate::divergence::aligned_runs::AlignedRuns;
use crate::divergence::candidate::Candidate;
use crate::divergence::edges::{ANYWHERE, EdgeCounts, LineEdge, OUTSIDE, best_threshold};
use crate::stats::exact_test::ExactTest;

/// Sums can be formed in many ways, so a sum must be significant to be reported.
const SIGNIFICANT: f64 = 0.01;

/// Edges that threads together take more often in failing runs. Taking an edge less often mostly
/// means that a thread was not waited for, which its own edges show. `taken`: edge counts
/// by thread and run.
pub(crate) fn cross_thread_edges(
    runs: &AlignedRuns<'_>,
    taken: &[Vec<EdgeCounts>],
    exact: &ExactTest,
    examined: &mut HashSet<Vec<bool>>,
) -> Vec<Candidate> {
    // By edge, the last thread that takes it: a started thread rather than its starter.
    let mut shared: BTreeMap<LineEdge, usize> = BTreeMap::new();
    for run in 0..runs.all.len() {
        let mut first: HashSet<LineEdge> = HashSet::new();
        for (thread, ways) in taken.iter().enumerate().filter(|(thread, _)| !runs.threads[*thread].is_loading()) {
            for edge in ways[run].keys().filter(|(from, to)| *from < ANYWHERE && *to != OUTSIDE) {
                if !first.insert(*edge) {
                    let last = shared.entry(*edge).or_insert(thread);
                    *last = thread.max(*last);
                }
            }
        }
    }
    let found = shared.into_iter().filter_map(|(edge, thread)| {
        let times = |run: usize| taken.iter().filter_map(|ways| Some(ways[run].get(&edge)?.times)).sum::<u64>();
        let times: Vec<u64> = (0..runs.all.len()).map(times).collect();
        let best = best_threshold(runs, &times, &[true], exact, examined)?;
        let at: Vec<Option<f64>> = (0..runs.all.len())
            .map(|run| match taken[thread][run].get(&edge) {
                Some(one) => Some(one.at[1] as f64),
                None => Some(runs.thread_trace(run, thread)?.events as f64),
            })
            .collect();
        let when = Candidate::moment(runs, thread, &best.predicts, &at)?;
        let (line, to) = (LineId(edge.0), LineId(edge.1));
        let who = if runs.threads[thread].is_task() { "tasks" } else { "threads" };
        let what = format!("line {} follows more often across all {who}", runs.traces.line(to).line);
        let (predicts, p_value) = (best.predicts, best.p_value);
        let to = Some(to);
        Some(Candidate {
            how: DivergenceKind::Control,
            thread,
            line,
            to,
            predicts,
            at,
            when,
            p_value,
            what,
            value: None,
            shown: Vec::new(),
        })
    });
    found.collect()
}

/// The significant sums, once the number of comparisons is known.
pub(crate) fn significant(found: Vec<Candidate>, ways: f64) -> impl Iterator<Item = Candidate> {
    found.into_iter().filter(move |one| one.p_value * ways < SIGNIFICANT)
}
