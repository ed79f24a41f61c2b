//! Concludes from many traced runs where a test starts to fail. Pure: it sees traces and nothing
//! else.
//!
//! The published answer, where a failing run leaves its nearest passing run, is in `common_prefix`.
//! It reports the first difference whether or not that relates to the failure. So every difference
//! is also scored by how well it separates failing from passing runs over all of them: control-flow
//! edges (`edges`) and values (`values`). The earliest that separates them wins, because
//! consequences of a failure come after it.

use std::collections::HashSet;

use unflake_model::{Divergence, DivergenceKind, Location, Traces};

use crate::divergence::aligned_runs::AlignedRuns;
pub(crate) use crate::divergence::aligned_runs::TracedRun;
use crate::divergence::candidate::Candidate;
use crate::divergence::cause::{CauseHypothesis, cause};
use crate::divergence::common_prefix::divergence_points;
use crate::divergence::edges::edge_candidates;
use crate::divergence::no_divergence::no_divergence;
use crate::divergence::values::value_candidates;

/// A value is blamed only below this p-value.
const BLAMED: f64 = 0.01;
const MOST_LOCATIONS: usize = 5;
/// Failing runs that remain unexplained are analysed on their own if there are this many.
const SMALLEST_GROUP: usize = 3;
const MOST_GROUPS: usize = 3;
/// Lines before a failure that are searched for functions entered earlier.
const LINES_BACK: u64 = 2000;

pub(crate) fn divergence(traces: &dyn Traces, all: &[TracedRun]) -> Divergence {
    let runs = AlignedRuns::new(traces, all);
    let mut unknown = traces.gaps().to_vec();
    let is_cut = |run: &&TracedRun| traces.strands(run.trace).iter().any(|thread| thread.truncated.is_some());
    let cut = all.iter().filter(is_cut).count();
    if cut > 0 {
        unknown.push(format!("{cut} of {} traces are truncated; later lines were not compared", all.len()));
    }
    let StartLocations { mut locations, why, mut left, is_invisible } = by_kind(&runs, &mut unknown);
    for _ in 1..MOST_GROUPS {
        if is_invisible || left.iter().filter(|run| run.failed).count() < SMALLEST_GROUP {
            break;
        }
        let next = starts(&AlignedRuns::new(traces, &left), &mut unknown);
        if next.is_invisible {
            break;
        }
        let is_new = |one: &Location| !locations.iter().any(|other| other.line == one.line);
        if let Some(mut location) = next.locations.into_iter().find(is_new) {
            location.sentence = location.sentence.replacen("failing run", "other failing run", 1);
            locations.insert(1.min(locations.len()), location);
        }
        left = next.left;
    }
    locations.truncate(MOST_LOCATIONS);
    unknown.dedup();
    Divergence {
        kind: why.cause,
        because: why.because,
        locations,
        shows: runs.failure_line(),
        runs: all.len() as u32,
        failed: runs.failed() as u32,
        timed_out: 0,
        points: divergence_points(&runs),
        unknown,
        proof: None,
    }
}

/// Start locations, most likely first.
struct StartLocations {
    locations: Vec<Location>,
    why: CauseHypothesis,
    /// Failing runs that the first location does not explain, with all passing runs.
    left: Vec<TracedRun>,
    /// Nothing recorded separates the runs.
    is_invisible: bool,
}

/// When nothing separates all failing runs, each kind of failure may have its own start.
fn by_kind(runs: &AlignedRuns<'_>, unknown: &mut Vec<String>) -> StartLocations {
    let whole = starts(runs, unknown);
    let failing: Vec<&TracedRun> = runs.all.iter().filter(|run| run.failed).collect();
    let of = |kind: &&str| failing.iter().filter(|run| run.kind == **kind).count();
    let mut kinds: Vec<&str> = failing.iter().map(|run| run.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.sort_by_key(|kind| std::cmp::Reverse(of(kind)));
    if !whole.is_invisible || kinds.len() < 2 {
        return whole;
    }
    let mut all: Option<StartLocations> = None;
    for kind in kinds.iter().take(MOST_GROUPS).filter(|kind| of(kind) > 1) {
        let group: Vec<TracedRun> = runs.all.iter().filter(|run| !run.failed || run.kind == *kind).cloned().collect();
        let mut found = starts(&AlignedRuns::new(runs.traces, &group), unknown);
        if found.is_invisible {
            continue;
        }
        found.locations.truncate(1);
        let all = all.get_or_insert(StartLocations {
            locations: Vec::new(),
            why: found.why,
            left: Vec::new(),
            is_invisible: false,
        });
        all.locations.extend(found.locations.into_iter().map(|mut location| {
            location.sentence += &format!(" (of {} that fail in this way)", of(kind));
            location
        }));
    }
    all.unwrap_or(whole)
}

fn starts(runs: &AlignedRuns<'_>, unknown: &mut Vec<String>) -> StartLocations {
    let values = value_candidates(runs);
    if values.like_clocks {
        let note = "some values and the outcomes both follow the clock, so they may be unrelated";
        unknown.push(note.to_owned());
    }
    let (edges, comparisons) = edge_candidates(runs, values.examined);
    let corrected = values.found.into_iter().map(|mut one| {
        one.correct(comparisons);
        one
    });
    let mut all: Vec<Candidate> = corrected.filter(|one| one.p_value < BLAMED).chain(edges).collect();
    all.retain(|one| one.is_perfect(runs) || one.p_value < BLAMED);
    all.sort_by(|one, other| one.when.total_cmp(&other.when).then(one.p_value.total_cmp(&other.p_value)));

    let (late, early): (Vec<Candidate>, Vec<Candidate>) = all.into_iter().partition(|one| is_consequence(runs, one));
    let (perfect, others): (Vec<Candidate>, Vec<Candidate>) = early.into_iter().partition(|one| one.is_perfect(runs));
    let (good, mut partial): (Vec<Candidate>, Vec<Candidate>) = others.into_iter().partition(|one| one.is_good(runs));
    // A candidate that explains only some failing runs is reported if nothing explains most of
    // them.
    partial.retain(|one| one.is_partial(runs));
    partial.sort_by_key(|one| std::cmp::Reverse(one.predicted(runs).0));
    partial.truncate(usize::from(perfect.is_empty() && good.is_empty()));
    let mut lines = HashSet::new();
    let mut is_new = |one: &Candidate| {
        let line = runs.traces.line(one.line);
        lines.insert((line.file, line.line))
    };
    let in_order: Vec<Candidate> = perfect.into_iter().chain(good).chain(partial).filter(|one| is_new(one)).collect();
    if let Some(first) = in_order.first() {
        let is_left = |at: usize| !runs.all[at].failed || !first.predicts[at];
        let left = (0..runs.all.len()).filter(|at| is_left(*at)).map(|at| runs.all[at].clone()).collect();
        let locations = in_order.iter().map(|one| one.location(runs)).take(MOST_LOCATIONS).collect();
        return StartLocations { locations, why: cause(runs, first), left, is_invisible: false };
    }
    let failure = late.into_iter().find(|one| one.is_good(runs));
    let (start, why) = no_divergence(runs, failure.as_ref());
    let locations = start.into_iter().chain(failure.map(|late| late.location(runs))).collect();
    StartLocations { locations, why, left: Vec::new(), is_invisible: true }
}

/// Whether the candidate is the failure itself or a consequence of it. Calls made by the raising
/// line come after that line, and may well be the start.
fn is_consequence(runs: &AlignedRuns<'_>, one: &Candidate) -> bool {
    let predicted = (0..runs.all.len()).filter(|run| runs.all[*run].failed && one.predicts[*run]);
    let known = |run: usize| {
        let (thread, raised) = runs.raised_at(run)?;
        let at = one.at[run].filter(|_| thread == one.thread)?;
        if at <= raised as f64 + f64::from(u8::from(one.how == DivergenceKind::Value)) {
            return Some(false);
        }
        let from = raised.saturating_sub(LINES_BACK);
        let before = runs.traces.lines(runs.id(run, thread)?, from, (raised + 1 - from) as usize);
        let raised_in = runs.traces.line(*before.last()?);
        let line = runs.traces.line(one.line);
        let Some(to) = one.to.map(|to| runs.traces.line(to)) else {
            return Some(
                one.how == DivergenceKind::Control || line.function == raised_in.function && line != raised_in,
            );
        };
        // An edge back into a function entered earlier: the return path.
        let was_there = || before.iter().any(|line| runs.traces.line(*line).function == to.function);
        Some(line.function == raised_in.function || to.function != line.function && was_there())
    };
    predicted.filter_map(known).next().unwrap_or(false)
}

#[cfg(test)]
mod tests;
