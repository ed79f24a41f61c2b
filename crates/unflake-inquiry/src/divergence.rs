//! What many traced runs of one test say about where it starts to fail. Pure: it sees traces and nothing else.
//!
//! The paper's answer, where a failing run leaves the passing run that is nearest to it, is in `parting.rs`. It points at the
//! first difference, whether or not that has to do with the failure. So every difference is also asked how well it tells
//! failing runs from passing ones, over all runs: steps (`edges.rs`) and values (`values.rs`). The earliest that does so wins,
//! because whatever follows from a failure comes after it.

use std::collections::HashSet;

use unflake_model::{Cause, Divergence, How, Line, Location, Parting, Traces};

use crate::candidate::Candidate;
use crate::cause::{Why, cause, meeting, structure};
use crate::edges::steps;
use crate::parting::partings;
pub(crate) use crate::runs::Run;
use crate::runs::Runs;
use crate::values::values;

/// A value is blamed only if chance would hardly do it.
const BLAMED: f64 = 0.01;
const MOST_LOCATIONS: usize = 5;
/// Failing runs that nothing tells apart so far are looked at by themselves, if there are so many.
const A_GROUP: usize = 2;
const MOST_GROUPS: usize = 3;
/// Functions that were there before a failure are looked for in so many lines.
const LOOKED_BACK: u64 = 2000;

pub(crate) fn divergence(traces: &dyn Traces, all: &[Run]) -> Divergence {
    let runs = Runs::new(traces, all);
    let mut unknown = traces.gaps().to_vec();
    let cut =
        all.iter().filter(|run| traces.strands(run.trace).iter().any(|strand| strand.truncated.is_some())).count();
    if cut > 0 {
        unknown.push(format!("{cut} of {} traces are cut short: what comes behind was not compared", all.len()));
    }
    let parted = partings(&runs);
    let (mut locations, mut why) = starts(&runs, &parted, &mut unknown);
    for group in groups(&runs, &locations) {
        let part = Runs::new(traces, &group);
        let (found, cause) = starts(&part, &partings(&part), &mut unknown);
        for mut location in found.into_iter().take(1) {
            let of = group.iter().filter(|run| run.failed).count();
            location.sentence = format!("{} (of {of} that fail in this way)", location.sentence);
            if locations.iter().all(|other| other.line != location.line) {
                locations.push(location);
            }
        }
        if why.cause == Cause::Unknown {
            why = cause;
        }
    }
    locations.sort_by_key(|location| std::cmp::Reverse(location.failing));
    locations.truncate(MOST_LOCATIONS);
    unknown.dedup();
    Divergence {
        kind: why.cause,
        because: why.because,
        locations,
        shows: shows(&runs),
        runs: all.len() as u32,
        failed: runs.failed() as u32,
        timed_out: 0,
        partings: parted,
        unknown,
    }
}

/// Where it starts, likeliest first, and why.
fn starts(runs: &Runs<'_>, partings: &[Parting], unknown: &mut Vec<String>) -> (Vec<Location>, Why) {
    let seen = values(runs);
    if seen.like_clocks {
        unknown.push(
            "values that follow the clock differ too, but so does the order of the runs: no more can be told from them"
                .to_owned(),
        );
    }
    let blamed = seen.found.into_iter().filter(|one| one.chance < BLAMED);
    let mut all: Vec<Candidate> = blamed.chain(steps(runs)).filter(|one| one.is_good(runs)).collect();
    all.retain(|one| one.is_perfect(runs) || one.chance < BLAMED);
    all.sort_by(|one, other| one.when.total_cmp(&other.when).then(one.chance.total_cmp(&other.chance)));

    let (late, early): (Vec<Candidate>, Vec<Candidate>) = all.into_iter().partition(|one| is_late(runs, one));
    let (perfect, good): (Vec<Candidate>, Vec<Candidate>) = early.into_iter().partition(|one| one.is_perfect(runs));
    let mut lines = HashSet::new();
    let in_order: Vec<Candidate> = perfect.into_iter().chain(good).filter(|one| lines.insert(one.line)).collect();
    if let Some(first) = in_order.first() {
        let why = cause(runs, first);
        return (in_order.iter().map(|one| one.location(runs)).take(MOST_LOCATIONS).collect(), why);
    }
    let mut locations: Vec<Location> = late.iter().take(1).map(|one| one.location(runs)).collect();
    let (order, why) = other_order(runs, partings, late.first());
    locations.splice(0..0, order);
    (locations, why)
}

/// Whether it is no more than the failure itself, or what comes of it. The line that raised it was come to before the calls that it
/// made, and those may well be where it starts.
fn is_late(runs: &Runs<'_>, one: &Candidate) -> bool {
    let told = (0..runs.all.len()).filter(|run| runs.all[*run].failed && one.says[*run]);
    let known = |run: usize| {
        let (key, raised) = runs.raised(run)?;
        let at = one.at[run].filter(|_| key == one.key)?;
        if at <= raised as f64 + f64::from(u8::from(one.how == How::Value)) {
            return Some(false);
        }
        let from = raised.saturating_sub(LOOKED_BACK);
        let before = runs.traces.lines(runs.id(run, key)?, from, (raised + 1 - from) as usize);
        let raised_in = runs.traces.line(*before.last()?);
        let line = runs.traces.line(one.line);
        let Some(to) = one.to.map(|to| runs.traces.line(to)) else {
            return Some(one.how == How::Control || line.function == raised_in.function && line != raised_in);
        };
        // A step back into a function that was there before: the way out.
        let leaves =
            to.function != line.function && before.iter().any(|line| runs.traces.line(*line).function == to.function);
        Some(line.function == raised_in.function || leaves)
    };
    told.filter_map(known).next().unwrap_or(false)
}

/// Nothing that was recorded differs in the failing strand before the failure. Where several strands take part, who comes first may.
fn other_order(runs: &Runs<'_>, partings: &[Parting], failure: Option<&Candidate>) -> (Option<Location>, Why) {
    let why = structure(runs);
    let Some(run) = (0..runs.all.len()).find(|run| runs.all[*run].failed) else { return (None, why) };
    let raised = runs.raised(run);
    let several = runs.keys.iter().filter(|key| !key.is_loading()).count() > 1;
    let elsewhere = part_elsewhere(runs, partings, raised.map(|(key, _)| key));
    let until = |key: usize| {
        let at = failure.filter(|late| late.key == key).and_then(|late| late.at[run]);
        at.map_or(runs.strand(run, key).map_or(0, |strand| strand.events), |at| at as u64)
    };
    let meeting = raised.and_then(|(key, at)| meeting(runs, run, key, until(key).max(at + 1)));
    let (line, sentence, why) = match (elsewhere, meeting) {
        (Some(line), _) if several => {
            let sentence = "from here on the threads or tasks share the work in another way in every run, and nothing else differs";
            (line, sentence.to_owned(), why)
        }
        (_, Some(reach)) => {
            let line = runs.traces.line(reach.line);
            let place = format!("{}:{}", line.file, line.line);
            let because = format!("{place} reaches for {}, and nothing differs before the failure", reach.what);
            let sentence = format!(
                "nothing differs before the failure; this is the last line before it that waits for others or starts them ({})",
                reach.what
            );
            (line, sentence, Why { cause: reach.cause, because })
        }
        (_, None) => match shows(runs).filter(|_| several) {
            Some(line) => {
                let sentence = "nothing differs before the failure but which of the threads or tasks came first";
                (line, sentence.to_owned(), why)
            }
            None => return (None, why),
        },
    };
    let (failing, passing) = (runs.failed() as u32, (runs.all.len() - runs.failed()) as u32);
    (Some(Location { line, how: How::Order, failing, passing, chance: 1.0, sentence, value: None }), why)
}

/// The line at which most failing runs part from passing ones, if that is in another strand than the one that fails.
fn part_elsewhere(runs: &Runs<'_>, partings: &[Parting], raised_in: Option<usize>) -> Option<Line> {
    let name = &runs.keys[raised_in?].name;
    let mut counted: Vec<(&Line, u32)> = Vec::new();
    for (parting, line) in partings.iter().filter_map(|parting| Some((parting, parting.last.as_ref()?))) {
        match counted.iter_mut().find(|(other, _)| *other == line) {
            _ if parting.strand == *name => {}
            Some((_, times)) => *times += parting.runs,
            None => counted.push((line, parting.runs)),
        }
    }
    let all: u32 = counted.iter().map(|(_, times)| times).sum();
    let most = counted.into_iter().rev().max_by_key(|(_, times)| *times)?;
    (all as usize * 2 >= runs.failed()).then(|| most.0.clone())
}

/// Where one start does not explain all failing runs, the failing runs by kind, or those that are left, each with all passing ones.
fn groups(runs: &Runs<'_>, found: &[Location]) -> Vec<Vec<Run>> {
    let explained = found.first().filter(|first| first.how != How::Order).map_or(0, |first| first.failing as usize);
    let failing: Vec<&Run> = runs.all.iter().filter(|run| run.failed).collect();
    if explained * 10 >= failing.len() * 9 {
        return Vec::new();
    }
    let mut kinds: Vec<&str> = failing.iter().map(|run| run.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    if kinds.len() < 2 {
        return Vec::new();
    }
    let of = |kind: &&str| failing.iter().filter(|run| run.kind == **kind).count();
    kinds.retain(|kind| of(kind) >= A_GROUP);
    kinds.sort_by_key(|kind| std::cmp::Reverse(of(kind)));
    let group = |kind: &str| runs.all.iter().filter(|run| !run.failed || run.kind == kind).cloned().collect();
    kinds.into_iter().take(MOST_GROUPS).map(group).collect()
}

/// The line of the project at which most failures were raised.
fn shows(runs: &Runs<'_>) -> Option<Line> {
    let failing: Vec<usize> = (0..runs.all.len()).filter(|run| runs.all[*run].failed).collect();
    let times =
        |place: &(String, u32)| failing.iter().filter(|run| runs.all[**run].raised.as_ref() == Some(place)).count();
    let most = failing.iter().filter_map(|run| runs.all[*run].raised.as_ref()).max_by_key(|place| times(place));
    let Some((file, line)) = most else {
        // It died without a word: the last line that its first strand came to.
        let run = *failing.first()?;
        let strand = runs.strand(run, 0)?;
        let last = runs.traces.lines(runs.id(run, 0)?, strand.events.checked_sub(1)?, 1);
        return last.first().map(|line| runs.traces.line(*line));
    };
    let run = failing.iter().copied().find(|run| runs.all[*run].raised.as_ref() == most)?;
    let traced = runs.raised(run).and_then(|(key, at)| runs.traces.lines(runs.id(run, key)?, at, 1).first().copied());
    let unseen = || Line { file: file.clone(), line: *line, function: String::new() };
    Some(traced.map_or_else(unseen, |line| runs.traces.line(line)))
}

#[cfg(test)]
#[path = "divergence_tests.rs"]
mod tests;
