//! Ways that failing runs go and passing ones do not: which line follows which, and how often.
//!
//! Runs are not compared position by position here. A loop that turns three times or four, whatever the outcome, moves all
//! that comes behind it, and what matters may come behind it.

use std::collections::{HashMap, HashSet};

use unflake_model::{How, LineId};

use crate::candidate::Candidate;
use crate::chance::Chance;
use crate::runs::Runs;

/// Stands for what is before the first line of a strand and behind its last.
const OUTSIDE: u32 = u32::MAX;
/// So many lines are looked at together.
const CHUNK: usize = 16 << 10;
/// Numbers of times that are tried for one step.
const MOST_TIMES: usize = 64;

type Edge = (u32, u32);

/// A step from one line to the next, as one run takes it.
#[derive(Clone, Copy, Debug)]
struct Taken {
    times: u64,
    /// How many lines come before it, the first time and the last.
    first: u64,
    last: u64,
}

/// Everything that tells at least some failing runs from passing ones.
pub(crate) fn steps(runs: &Runs<'_>) -> Vec<Candidate> {
    let chance = Chance::new(runs.all.len());
    let mut found = Vec::new();
    let mut looked_at: HashSet<Vec<bool>> = HashSet::new();
    for key in 0..runs.keys.len() {
        let from = runs.shared(key).saturating_sub(1);
        let taken: Vec<HashMap<Edge, Taken>> = (0..runs.all.len()).map(|run| walk(runs, key, run, from)).collect();
        let edges: HashSet<Edge> = taken.iter().flat_map(HashMap::keys).copied().collect();
        for edge in edges {
            let times: Vec<u64> = taken.iter().map(|all| all.get(&edge).map_or(0, |taken| taken.times)).collect();
            if let Some(best) = best(runs, &times, &chance, &mut looked_at) {
                found.extend(candidate(runs, key, edge, best, &taken));
            }
        }
    }
    let all = looked_at.len() as f64;
    found.iter_mut().for_each(|one| one.chance = (one.chance * all).min(1.0));
    found
}

/// The steps of one strand of one run, from where not all runs are the same any more.
fn walk(runs: &Runs<'_>, key: usize, run: usize, from: u64) -> HashMap<Edge, Taken> {
    let mut taken = HashMap::new();
    let Some(id) = runs.id(run, key) else { return taken };
    let mut put = |edge: Edge, at: u64| {
        let one = taken.entry(edge).or_insert(Taken { times: 0, first: at, last: at });
        one.times += 1;
        one.last = at;
    };
    let mut before = OUTSIDE;
    let mut at = from;
    if from > 0 {
        // All that is the same in all runs is as good as its first step, where not all runs have the strand.
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
    if runs.strand(run, key).is_some_and(|strand| strand.truncated.is_none()) {
        put((before, OUTSIDE), at);
    }
    taken
}

/// So many times or more, or fewer than that, tells failing runs.
struct Best {
    least: u64,
    more: bool,
    says: Vec<bool>,
    chance: f64,
}

fn best(runs: &Runs<'_>, times: &[u64], chance: &Chance, looked_at: &mut HashSet<Vec<bool>>) -> Option<Best> {
    let (all, failed) = (runs.all.len(), runs.failed());
    let mut least: Vec<u64> = times.to_vec();
    least.sort_unstable();
    least.dedup();
    let mut best: Option<Best> = None;
    for least in least.into_iter().skip(1).take(MOST_TIMES) {
        for more in [true, false] {
            let says: Vec<bool> = times.iter().map(|times| (*times >= least) == more).collect();
            let chosen = says.iter().filter(|says| **says).count();
            let hits = runs.all.iter().zip(&says).filter(|(run, says)| run.failed && **says).count();
            let by_chance = chance.at_least(hits, chosen, failed, all);
            looked_at.insert(says.clone());
            if best.as_ref().is_none_or(|best| by_chance < best.chance) {
                best = Some(Best { least, more, says, chance: by_chance });
            }
        }
    }
    best
}

fn candidate(runs: &Runs<'_>, key: usize, edge: Edge, best: Best, taken: &[HashMap<Edge, Taken>]) -> Option<Candidate> {
    let (from, to) = edge;
    let at: Vec<Option<f64>> = taken.iter().map(|all| moment(all, edge, &best)).collect();
    let when = Candidate::moment(runs, key, &best.says, &at)?;
    // Who never came to the line has parted before it.
    let there = (0..at.len()).filter(|run| runs.all[*run].failed && best.says[*run]);
    if there.clone().filter(|run| at[*run].is_none()).count() * 5 > there.count() {
        return None;
    }
    let line = LineId(if from == OUTSIDE { to } else { from });
    if line.0 == OUTSIDE {
        return None;
    }
    let what = words(runs, from, to, &best);
    let Best { says, chance, .. } = best;
    Some(Candidate { how: How::Control, key, line, says, at, when, chance, what, value: None })
}

/// Where in a run it shows: at the step that is one too many, or where another one is taken instead.
fn moment(all: &HashMap<Edge, Taken>, edge: Edge, best: &Best) -> Option<f64> {
    if best.more {
        let taken = all.get(&edge).filter(|taken| taken.times >= best.least)?;
        // Only the first and the last time are known; those in between are taken to come evenly.
        let share = (best.least - 1) as f64 / (taken.times - 1).max(1) as f64;
        return Some(taken.first as f64 + share * (taken.last - taken.first) as f64);
    }
    let instead = all.iter().filter(|(other, _)| other.0 == edge.0 && other.1 != edge.1).map(|(_, taken)| taken);
    let at = match best.least {
        1 => instead.map(|taken| taken.first).min(),
        _ => instead.map(|taken| taken.last).max(),
    };
    // What is done says more than what is not.
    at.map(|at| at as f64 + 0.1)
}

fn words(runs: &Runs<'_>, from: u32, to: u32, best: &Best) -> String {
    let name = |line: u32| {
        let to = runs.traces.line(LineId(line));
        match from != OUTSIDE && runs.traces.line(LineId(from)).file == to.file {
            true => format!("line {}", to.line),
            false => format!("{}:{}", to.file, to.line),
        }
    };
    let never = !best.more && best.least == 1;
    let what = match (from, to) {
        (OUTSIDE, _) if never => "it is not begun".to_owned(),
        (OUTSIDE, _) => "it is begun".to_owned(),
        (_, OUTSIDE) if never => "something comes after it".to_owned(),
        (_, OUTSIDE) => "nothing comes after it".to_owned(),
        (from, to) if from == to && never => "it does not come again at once".to_owned(),
        (from, to) if from == to => "it comes again at once".to_owned(),
        (_, to) if never => format!("{} does not come next", name(to)),
        (_, to) => format!("{} comes next", name(to)),
    };
    match best.least {
        1 => what,
        least if best.more => format!("{what} {least} times or more"),
        least => format!("{what} fewer than {least} times"),
    }
}

#[cfg(test)]
#[path = "edges_tests.rs"]
mod tests;
