//! Steps that several strands take, counted over all of them. Each of two threads may sell any number of seats in any run: that both
//! together sell more of them than there are, no trace of a thread alone has in it.

use std::collections::{BTreeMap, HashSet};

use unflake_model::{DivergenceKind, LineId};

use crate::divergence::aligned_runs::Runs;
use crate::divergence::candidate::Candidate;
use crate::divergence::edges::{ANYWHERE, Edge, OUTSIDE, Way, best};
use crate::stats::fisher::Chance;

/// There are many ways to add things up: what is told of a sum must not be chance.
const SURE: f64 = 0.01;

/// What strands do together more often in failing runs. That they do something less often mostly says that somebody did not wait for
/// them, and each strand says that itself. `taken`: the steps by strand and run.
pub(crate) fn together(
    runs: &Runs<'_>,
    taken: &[Vec<Way>],
    chance: &Chance,
    looked_at: &mut HashSet<Vec<bool>>,
) -> Vec<Candidate> {
    // By step, the last strand that takes it: one that was started rather than the one that started it.
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

/// Those of them that are told, when it is known how many ways there were to find something.
pub(crate) fn sure(found: Vec<Candidate>, ways: f64) -> impl Iterator<Item = Candidate> {
    found.into_iter().filter(move |one| one.chance * ways < SURE)
}
