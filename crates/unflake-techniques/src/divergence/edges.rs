//! Control-flow differences: edges between consecutive lines that failing runs take more or less
//! often than passing ones.
//!
//! AlignedRuns are not compared position by position: a loop that iterates three or four times,
//! whatever the outcome, shifts everything after it.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use unflake_model::{DivergenceKind, LineId};

use crate::divergence::aligned_runs::AlignedRuns;
use crate::divergence::candidate::Candidate;
use crate::divergence::cross_thread_edges::{cross_thread_edges, significant};
use crate::stats::exact_test::ExactTest;

/// Stands for the position before the first and after the last line of a thread.
pub(crate) const OUTSIDE: u32 = u32::MAX;
/// Lines read per chunk.
const CHUNK: usize = 16 << 10;
/// Count thresholds tried per edge.
const MOST_TIMES: usize = 64;

/// Stands for any preceding line: the edge means that a line is reached at all.
pub(crate) const ANYWHERE: u32 = u32::MAX - 1;

pub(crate) type LineEdge = (u32, u32);

/// LineEdge counts of one thread in one run.
pub(crate) type EdgeCounts = HashMap<LineEdge, EdgeUse, BuildHasherDefault<EdgeHasher>>;

/// A fast hasher: there are hundreds of millions of edges, and no attacker crafts collisions.
#[derive(Default)]
pub(crate) struct EdgeHasher(u64);

impl Hasher for EdgeHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0.rotate_left(29) ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

/// How one run takes an edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgeUse {
    pub(crate) times: u64,
    /// Lines before its first and its last occurrence.
    pub(crate) at: [u64; 2],
    /// How often the run had visited the source line at its first and last occurrence.
    visit: [u64; 2],
}

impl EdgeUse {
    /// Value at the nth occurrence, interpolated between the first and the last.
    fn nth(&self, nth: u64, of: [u64; 2]) -> f64 {
        let share = (nth - 1) as f64 / (self.times - 1).max(1) as f64;
        of[0] as f64 + share * (of[1] - of[0]) as f64
    }
}

/// Every edge that separates at least some failing runs from passing ones, and how many comparisons
/// were made in all: `others` were made of something else, and p-values are corrected for both.
pub(crate) fn edge_candidates(runs: &AlignedRuns<'_>, others: usize) -> (Vec<Candidate>, usize) {
    let exact = ExactTest::new(runs.all.len());
    let mut found = Vec::new();
    let mut examined: HashSet<Vec<bool>> = HashSet::new();
    let counts = |thread: usize| -> Vec<EdgeCounts> {
        let from = runs.common_prefix(thread).saturating_sub(1);
        (0..runs.all.len()).map(|run| count_edges(runs, thread, run, from)).collect()
    };
    let all_taken: Vec<Vec<EdgeCounts>> = (0..runs.threads.len()).map(counts).collect();
    for (thread, taken) in all_taken.iter().enumerate() {
        let mut edges: Vec<LineEdge> = taken.iter().flat_map(HashMap::keys).copied().collect();
        edges.sort_unstable_by_key(|edge| (edge.0 == ANYWHERE, *edge));
        edges.dedup();
        let mut led_to: HashSet<(LineId, Vec<bool>)> = HashSet::new();
        for edge in edges {
            let times: Vec<u64> = taken.iter().map(|all| all.get(&edge).map_or(0, |taken| taken.times)).collect();
            let ways: &[bool] = if edge.0 == ANYWHERE { &[true] } else { &[true, false] };
            let best = best_threshold(runs, &times, ways, &exact, &mut examined);
            let Some(one) = best.and_then(|best| candidate(runs, thread, edge, best, taken)) else { continue };
            // Reaching a line adds nothing to the edge that leads to it.
            if one.to.is_none_or(|to| led_to.insert((to, one.predicts.clone()))) || edge.0 != ANYWHERE {
                found.push(one);
            }
        }
    }
    let sums = cross_thread_edges(runs, &all_taken, &exact, &mut examined);
    let all = examined.len() + others;
    found.extend(significant(sums, all as f64));
    found.iter_mut().for_each(|one| one.correct(all));
    (found, all)
}

/// Edges of one thread of one run, from where runs begin to differ.
fn count_edges(runs: &AlignedRuns<'_>, thread: usize, run: usize, from: u64) -> EdgeCounts {
    let mut taken = EdgeCounts::default();
    let Some(id) = runs.id(run, thread) else { return taken };
    let mut visits: Vec<u64> = Vec::new();
    let mut put = |edge: LineEdge, at: u64| {
        let line = edge.0.wrapping_add(1) as usize;
        if visits.len() <= line {
            visits.resize(line + 1, 0);
        }
        visits[line] += 1;
        let visit = visits[line];
        let one = taken.entry(edge).or_insert(EdgeUse { times: 0, at: [at; 2], visit: [visit; 2] });
        one.times += 1;
        (one.at[1], one.visit[1]) = (at, visit);
    };
    let mut before = OUTSIDE;
    let mut at = from;
    if from > 0 {
        // The shared prefix is represented by its first edge, for threads that some runs lack.
        put((OUTSIDE, runs.traces.lines(id, 0, 1)[0].0), 0);
        before = runs.traces.lines(id, from, 1)[0].0;
        at += 1;
    }
    loop {
        let lines = runs.traces.lines(id, at, CHUNK);
        for line in &lines {
            put((before, line.0), at);
            before = line.0;
            at += 1;
        }
        if lines.len() < CHUNK {
            break;
        }
    }
    if runs.thread_trace(run, thread).is_some_and(|trace| trace.truncated.is_none()) {
        put((before, OUTSIDE), at);
    }
    for ((_, to), one) in taken.clone().into_iter().filter(|((_, to), _)| *to != OUTSIDE) {
        let line = taken.entry((ANYWHERE, to)).or_insert(EdgeUse { times: 0, visit: [1; 2], ..one });
        line.times += one.times;
        line.at = [line.at[0].min(one.at[0]), line.at[1].max(one.at[1])];
    }
    taken
}

/// The count threshold that best separates failing from passing runs.
pub(crate) struct BestThreshold {
    least: u64,
    more: bool,
    pub(crate) predicts: Vec<bool>,
    pub(crate) p_value: f64,
}

pub(crate) fn best_threshold(
    runs: &AlignedRuns<'_>,
    times: &[u64],
    ways: &[bool],
    exact: &ExactTest,
    examined: &mut HashSet<Vec<bool>>,
) -> Option<BestThreshold> {
    let (all, failed) = (runs.all.len(), runs.failed());
    let mut least: Vec<u64> = times.to_vec();
    least.sort_unstable();
    least.dedup();
    let mut best: Option<BestThreshold> = None;
    for least in least.into_iter().skip(1).take(MOST_TIMES) {
        for more in ways.iter().copied() {
            let predicts: Vec<bool> = times.iter().map(|times| (*times >= least) == more).collect();
            let chosen = predicts.iter().filter(|predicts| **predicts).count();
            let hits = runs.all.iter().zip(&predicts).filter(|(run, predicts)| run.failed && **predicts).count();
            let p_value = exact.at_least(hits, chosen, failed, all);
            examined.insert(predicts.clone());
            if best.as_ref().is_none_or(|best| p_value < best.p_value) {
                best = Some(BestThreshold { least, more, predicts, p_value });
            }
        }
    }
    best
}

fn candidate(
    runs: &AlignedRuns<'_>,
    thread: usize,
    edge: LineEdge,
    best: BestThreshold,
    taken: &[EdgeCounts],
) -> Option<Candidate> {
    let (from, to) = edge;
    let at: Vec<Option<f64>> = match best.more {
        true => taken
            .iter()
            .map(|all| all.get(&edge).filter(|one| one.times >= best.least))
            .map(|one| Some(one?.nth(best.least, one?.at) + if from == ANYWHERE { 0.2 } else { 0.0 }))
            .collect(),
        false => positions_without(runs, edge, best.least, taken),
    };
    // A run that never reached the source line diverged earlier.
    let predicted = (0..at.len()).filter(|run| runs.all[*run].failed && best.predicts[*run]);
    if predicted.clone().filter(|run| at[*run].is_none()).count() * 5 > predicted.count() {
        return None;
    }
    let when = Candidate::moment(runs, thread, &best.predicts, &at)?;
    let line = LineId(if from >= ANYWHERE { to } else { from });
    if line.0 == OUTSIDE {
        return None;
    }
    let what = sentence(runs, from, to, &best);
    let BestThreshold { predicts, p_value, .. } = best;
    let to = (to != OUTSIDE).then_some(LineId(to));
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
}

/// Positions at which runs that take an edge fewer than `least` times take another one instead: at
/// the visit to its source line at which passing runs take it for the last time that counts.
fn positions_without(runs: &AlignedRuns<'_>, edge: LineEdge, least: u64, taken: &[EdgeCounts]) -> Vec<Option<f64>> {
    let passing = taken.iter().zip(runs.all).filter(|(_, run)| !run.failed);
    let visits = passing
        .filter_map(|(all, _)| all.get(&edge).filter(|one| one.times >= least).map(|one| one.nth(least, one.visit)));
    let Some(visit) = visits.min_by(f64::total_cmp) else { return vec![None; taken.len()] };
    let instead = |all: &EdgeCounts| {
        let others = all.iter().filter(|(other, _)| other.0 == edge.0 && other.1 != edge.1);
        let later = others.filter(|(_, one)| one.visit[1] as f64 >= visit);
        // The nearest known position: each edge occurs between its first and last position.
        later.map(|(_, one)| if one.visit[0] as f64 >= visit { one.at[0] } else { one.at[1] }).min()
    };
    // An action explains more than its absence.
    taken.iter().map(|all| instead(all).map(|at| at as f64 + 0.1)).collect()
}

fn sentence(runs: &AlignedRuns<'_>, from: u32, to: u32, best: &BestThreshold) -> String {
    let name = |line: u32| {
        let to = runs.traces.line(LineId(line));
        match from < ANYWHERE && runs.traces.line(LineId(from)).file == to.file {
            true => format!("line {}", to.line),
            false => format!("{}:{}", to.file, to.line),
        }
    };
    let never = !best.more && best.least == 1;
    let what = match (from, to) {
        (ANYWHERE, _) => "it is reached".to_owned(),
        (OUTSIDE, _) if never => "it does not start".to_owned(),
        (OUTSIDE, _) => "it starts".to_owned(),
        (_, OUTSIDE) if never => "another line follows".to_owned(),
        (_, OUTSIDE) => "no line follows".to_owned(),
        (from, to) if from == to && never => "it does not repeat".to_owned(),
        (from, to) if from == to => "it repeats".to_owned(),
        (_, to) if never => format!("{} does not follow", name(to)),
        (_, to) => format!("{} follows", name(to)),
    };
    match best.least {
        1 => what,
        least if best.more => format!("{what} {least} times or more"),
        least => format!("{what} fewer than {least} times"),
    }
}

#[cfg(test)]
mod tests;
