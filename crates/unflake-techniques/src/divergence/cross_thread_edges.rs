//! Control-flow edges that several threads take, counted over all threads. Two threads may each
//! sell any number of seats in any run; that both together sell too many is visible in neither
//! thread alone.

use std::collections::{BTreeMap, HashSet};

use unflake_model::{DivergenceKind, LineId};

use crate::divergence::aligned_runs::Runs;
use crate::divergence::candidate::Candidate;
use crate::divergence::edges::{ANYWHERE, Edge, OUTSIDE, Way, best};
use crate::stats::fisher::Chance;

/// Sums can be formed in many ways, so a sum must be significant to be reported.
const SURE: f64 = 0.01;

/// Edges that threads together take more often in failing runs. Taking an edge less often mostly
/// means that nobody waited for a thread, which that thread's own edges show. `taken`: edge counts
/// by thread and run.
pub(crate) fn together(
    runs: &Runs<'_>,
    taken: &[Vec<Way>],
    chance: &Chance,
    looked_at: &mut HashSet<Vec<bool>>,
) -> Vec<Candidate> {
    // By edge, the last thread that takes it: a started thread rather than its starter.
    let mut shared: BTreeMap<Edge, usize> = BTreeMap::new();
    for run in 0..runs.all.len() {
        let mut first: HashSet<Edge> = HashSet::new();
        for (key, ways) in taken.iter().enumerate().filter(|(key, _)| !runs.keys[*key].is_loading()) {
            for edge in ways[run].keys().filter(|(from, to)| *from < ANYWHERE && *to != OUTSIDE) {
                if !first.insert(*edge) {
                    let last = shared.entry(*edge).or_insert(key);
                    *last = key.max(*last);
                }
            }
        }
    }
    let found = shared.into_iter().filter_map(|(edge, key)| {
        let times = |run: usize| taken.iter().filter_map(|ways| Some(ways[run].get(&edge)?.times)).sum::<u64>();
        let times: Vec<u64> = (0..runs.all.len()).map(times).collect();
        let best = best(runs, &times, &[true], chance, looked_at)?;
        let at: Vec<Option<f64>> = (0..runs.all.len())
            .map(|run| match taken[key][run].get(&edge) {
                Some(one) => Some(one.at[1] as f64),
                None => Some(runs.strand(run, key)?.events as f64),
            })
            .collect();
        let when = Candidate::moment(runs, key, &best.says, &at)?;
        let (line, to) = (LineId(edge.0), LineId(edge.1));
        let who = if runs.keys[key].is_task() { "tasks" } else { "threads" };
        let what = format!("line {} comes next more often, all {who} together", runs.traces.line(to).line);
        let (says, chance) = (best.says, best.chance);
        let to = Some(to);
        Some(Candidate {
            how: DivergenceKind::Control,
            key,
            line,
            to,
            says,
            at,
            when,
            chance,
            what,
            value: None,
            shown: Vec::new(),
        })
    });
    found.collect()
}

/// The significant sums, once the number of comparisons is known.
pub(crate) fn sure(found: Vec<Candidate>, ways: f64) -> impl Iterator<Item = Candidate> {
    found.into_iter().filter(move |one| one.chance * ways < SURE)
}
