//! Proves through which state tests change each other's outcome, by restoring it.
//!
//! The cells that differ after the culprits are listed; all that can be restored are, and the test
//! runs. If its outcome changes, the smallest set of cells that changes it is necessary: the other
//! differences alone do not have the effect. If everything but that set is restored and the outcome
//! stays, the set is sufficient too; where it is not, the cells that take part are added. If restoring
//! changes nothing, the cells are only a possible cause.
//!
//! An instrument may have to restore cells before the tests to be able to compare (`Cell::preset`).
//! If that alone changes the outcome, the proof is about these cells.

use unflake_model::{
    Cell, Detail, Failure, Finding, Leak, LeakKind, Outcome, Probe, Purpose, Replay, RestoreCounts, TestId,
};

use crate::finding::finding;
use crate::search::minimize::{Minimized, Oracle, minimize, reproducing_parts};
use crate::search::scheduler::{AttemptSummary, Scheduler, SessionRequest, SessionResult};

/// Repetitions of the proof.
const TIMES: usize = 3;
/// Why cells that can be restored are only possible.
const NOT_RESTORED: &str = "budget exhausted before any of it was restored";
/// If there are more cells than this, only the first are named.
const NAMED: usize = 3;

/// How the outcome must change when the relevant state is restored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ExpectedChange {
    /// The test fails after the culprits and must pass.
    Passes,
    /// The test passes after the culprits and must fail as it does alone.
    Fails(Outcome, Option<Failure>),
}

/// A conclusion about state, with its repetitions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StateConclusion {
    pub(crate) leak: Leak,
    /// Whether the test passes with the cells restored.
    passes_then: bool,
}

/// Does the outcome change when these cells are restored?
struct RestoreTrial<'a> {
    scheduler: &'a Scheduler,
    after: &'a [TestId],
    test: &'a TestId,
    expected: &'a ExpectedChange,
    /// Whether the cells are those that the instrument otherwise restores by itself.
    of_presets: bool,
    /// Whether a run did not reach the test, because the budget ended before.
    cut_short: std::cell::Cell<bool>,
}

impl RestoreTrial<'_> {
    fn request(&self, probe: Probe) -> SessionRequest {
        let tests = [self.after, std::slice::from_ref(self.test)].concat();
        SessionRequest {
            probe: Some(probe),
            ..SessionRequest::new(Purpose::State, tests).with_prefix(self.after.len())
        }
    }

    fn restoring(&self, cells: &[Cell]) -> SessionRequest {
        let restore = cells.iter().map(|cell| cell.path.clone()).collect();
        self.request(Probe { restore, watch: Vec::new(), bare: self.of_presets })
    }

    /// A run in which the lines that write these cells are searched.
    fn watching(&self, cells: &[Cell]) -> SessionRequest {
        let watch = cells.iter().map(|cell| cell.path.clone()).collect();
        self.request(Probe { restore: Vec::new(), watch, bare: self.of_presets })
    }

    fn was_cut_short(&self) -> bool {
        self.cut_short.get() || self.scheduler.out_of_time()
    }

    fn has_changed(&self, result: &SessionResult) -> bool {
        let Some(last) = result.last() else {
            self.cut_short.set(true);
            return false;
        };
        match self.expected {
            ExpectedChange::Passes => last.outcome.is_pass(),
            // Restoring state may break a test in other ways.
            ExpectedChange::Fails(outcome, failure) => {
                let kind = |failure: &Option<Failure>| failure.as_ref().map(|failure| failure.kind.clone());
                last.outcome == *outcome && kind(&last.failure) == kind(failure)
            }
        }
    }
}

impl Oracle<Cell> for RestoreTrial<'_> {
    const COST_GROWS: bool = false;

    async fn reproduces(&self, lists: Vec<(Vec<Cell>, usize)>) -> Vec<bool> {
        let results = self.scheduler.run(lists.iter().map(|(cells, _)| self.restoring(cells)).collect()).await;
        // A proof requires that every cell was actually restored.
        results.iter().map(|result| result.not_restored.is_empty() && self.has_changed(result)).collect()
    }

    fn out_of_time(&self) -> bool {
        self.scheduler.out_of_time()
    }
}

/// Does the outcome stay when everything but these cells is restored?
struct KeepTrial<'a> {
    restore: &'a RestoreTrial<'a>,
    /// What can be restored.
    all: &'a [Cell],
    /// Always kept.
    needed: &'a [Cell],
    /// How the test ended with nothing restored.
    as_left: &'a AttemptSummary,
}

impl KeepTrial<'_> {
    fn keeping(&self, cells: &[Cell]) -> SessionRequest {
        let is_kept = |cell: &Cell| [self.needed, cells].iter().any(|kept| kept.iter().any(|one| is_part(one, cell)));
        let others: Vec<Cell> = self.all.iter().filter(|cell| !is_kept(cell)).cloned().collect();
        self.restore.restoring(&others)
    }

    /// Restoring much may break a test in other ways: a failure must be the same one.
    fn has_stayed(&self, result: &SessionResult) -> bool {
        let kind = |attempt: &AttemptSummary| attempt.failure.as_ref().map(|failure| failure.kind.clone());
        let Some(last) = result.last() else {
            self.restore.cut_short.set(true);
            return false;
        };
        last.outcome == self.as_left.outcome && kind(last) == kind(self.as_left)
    }
}

/// Whether a cell is another, or inside of it.
fn is_part(cell: &Cell, whole: &Cell) -> bool {
    cell.path == whole.path || whole.inside.iter().any(|inside| inside.path == cell.path)
}

impl Oracle<Cell> for KeepTrial<'_> {
    const COST_GROWS: bool = false;

    async fn reproduces(&self, lists: Vec<(Vec<Cell>, usize)>) -> Vec<bool> {
        let requests = lists.iter().map(|(cells, _)| self.keeping(cells)).collect();
        self.restore.scheduler.run(requests).await.iter().map(|result| self.has_stayed(result)).collect()
    }

    fn out_of_time(&self) -> bool {
        self.restore.scheduler.out_of_time()
    }
}

/// `known`: cells through which these culprits change another test. They are tried first.
/// `None`: the state could not be inspected.
pub(crate) async fn prove_leak(
    scheduler: &Scheduler,
    after: &[TestId],
    test: &TestId,
    expected: &ExpectedChange,
    known: &[Cell],
) -> Option<StateConclusion> {
    let mut trial =
        RestoreTrial { scheduler, after, test, expected, of_presets: false, cut_short: std::cell::Cell::new(false) };
    let mut as_left = scheduler.run_one(trial.restoring(&[])).await;
    let (mut cells, mut unknown) = as_left.state.clone()?;
    let preset: Vec<Cell> = cells.extract_if(.., |cell| cell.preset).collect();
    if !preset.is_empty() && trial.has_changed(&as_left) {
        trial.of_presets = true;
        as_left = scheduler.run_one(trial.restoring(&[])).await;
        let (bare, others) = as_left.state.clone()?;
        (cells, unknown) = (with_both_values(preset, &bare), others);
    }
    let passes_then = *expected == ExpectedChange::Passes;
    let possible = |cells: Vec<Cell>, reason: String| {
        let unknown = std::iter::once(reason).chain(unknown.iter().cloned()).collect();
        let leak = Leak { kind: LeakKind::Possible, after: after.to_vec(), cells, unknown, evidence: None };
        Some(StateConclusion { leak, passes_then })
    };
    let Some(left) = as_left.last().filter(|_| !trial.has_changed(&as_left)) else {
        if as_left.last().is_none() {
            return possible(cells, NOT_RESTORED.to_owned());
        }
        return possible(cells, "the outcome differs in a fork of the process".to_owned());
    };
    let by_known = known_cells(&trial, known, &cells).await;
    let is_known = by_known.is_some();
    let necessary = match by_known {
        Some(found) => Ok(found),
        None => necessary_cells(&trial, cells).await,
    };
    let Necessary { cells: necessary, all } = match necessary {
        Ok(found) => found,
        Err((cells, reason)) => return possible(cells, reason),
    };
    let keep = KeepTrial { restore: &trial, all: &all, needed: &necessary, as_left: left };
    let (found, is_sufficient) = match with_companions(&keep).await {
        Some(companions) => ([&necessary[..], &companions].concat(), true),
        None => (necessary.clone(), false),
    };
    let times = |request: SessionRequest| std::iter::repeat_n(request, TIMES);
    let mut requests: Vec<SessionRequest> = times(trial.restoring(&found)).chain(times(trial.restoring(&[]))).collect();
    if is_sufficient {
        requests.extend(times(keep.keeping(&found)));
    }
    let has_write_sites = is_known && found == known;
    if !has_write_sites {
        requests.push(trial.watching(&found));
    }
    let mut results = scheduler.run(requests).await;
    let watched = results.pop_if(|_| !has_write_sites);
    let count = |results: &[SessionResult], is_wanted: &dyn Fn(&SessionResult) -> bool| {
        let known = results.iter().filter(|result| result.last().is_some());
        (known.clone().filter(|result| is_wanted(result)).count() as u32, known.count() as u32)
    };
    let (changed, restored) = count(&results[..TIMES], &|result| trial.has_changed(result));
    let (stayed, kept) = count(&results[TIMES..2 * TIMES], &|result| !trial.has_changed(result));
    let (sufficed, alone) = count(&results[2 * TIMES..], &|result| keep.has_stayed(result));
    let evidence = RestoreCounts { changed, restored, stayed, kept, sufficed, alone };
    let times = TIMES as u32;
    if (changed, stayed) == (restored, kept) && restored.min(kept) < times {
        let it = if found.len() == 1 { "it" } else { "them" };
        return possible(
            found,
            format!("restoring {it} changed the outcome, and the budget was exhausted before repeats"),
        );
    }
    if [changed, restored, stayed, kept] != [times; 4] {
        return possible(found, "restoring it changed the outcome only sometimes".to_owned());
    }
    let unknown = match (is_sufficient, sufficed == alone) {
        (true, true) if alone == times => Vec::new(),
        (true, true) | (false, _) if trial.was_cut_short() => {
            vec!["other state may take part: the budget was exhausted before only this was left".to_owned()]
        }
        (true, true) => Vec::new(),
        _ => vec!["other state may take part: with only this left, the outcome was another".to_owned()],
    };
    let cells = with_write_sites(found, watched);
    let leak = Leak { kind: LeakKind::Proven, after: after.to_vec(), cells, unknown, evidence: Some(evidence) };
    Some(StateConclusion { leak, passes_then })
}

/// The cells without which the outcome changes.
struct Necessary {
    cells: Vec<Cell>,
    /// Everything that could be restored in their stead.
    all: Vec<Cell>,
}

/// What shared set-up made is left alone at first: a test that shares the set-up needs it.
async fn necessary_cells(trial: &RestoreTrial<'_>, cells: Vec<Cell>) -> Result<Necessary, (Vec<Cell>, String)> {
    let (set_up, others): (Vec<Cell>, Vec<Cell>) = cells.clone().into_iter().partition(|cell| cell.set_up);
    if !set_up.is_empty()
        && !others.is_empty()
        && let Ok(found) = minimal_cells(trial, others).await
    {
        return Ok(found);
    }
    minimal_cells(trial, cells).await
}

/// The fewest cells that reproduce the outcome together with the necessary ones, when everything else
/// is restored. None: they do not, or the budget is exhausted.
async fn with_companions(keep: &KeepTrial<'_>) -> Option<Vec<Cell>> {
    if keep.has_stayed(&keep.restore.scheduler.run_one(keep.keeping(&[])).await) {
        return Some(Vec::new());
    }
    let is_needed = |cell: &Cell| keep.needed.iter().any(|needed| is_part(needed, cell));
    let others = keep.all.iter().filter(|cell| !is_needed(cell)).cloned().collect();
    match minimize(others, true, keep).await {
        Minimized::Minimal(cells) => Some(cells),
        _ => None,
    }
}

/// Names the parts of replaced objects that matter instead of the objects, where restoring these
/// alone has the same effect.
async fn by_parts(trial: &RestoreTrial<'_>, cells: Vec<Cell>) -> Vec<Cell> {
    let parts = |cell: &Cell| match cell.inside.iter().all(|part| part.fixed.is_none()) {
        true if !cell.inside.is_empty() => cell.inside.clone(),
        _ => vec![cell.clone()],
    };
    let opened: Vec<Cell> = cells.iter().flat_map(parts).collect();
    if opened == cells {
        return cells;
    }
    match minimize(opened, false, trial).await {
        Minimized::Minimal(parts) => parts,
        _ => cells,
    }
}

/// The smallest set of cells that changes the outcome, or the possibly relevant ones with the
/// reason why no more is known.
async fn minimal_cells(trial: &RestoreTrial<'_>, cells: Vec<Cell>) -> Result<Necessary, (Vec<Cell>, String)> {
    let (mut restorable, mut fixed): (Vec<Cell>, Vec<Cell>) = cells.into_iter().partition(|cell| cell.fixed.is_none());
    let all = trial.scheduler.run_one(trial.restoring(&restorable)).await;
    for (path, why) in &all.not_restored {
        if let Some(at) = restorable.iter().position(|cell| cell.path == *path) {
            fixed.push(Cell { fixed: Some(why.clone()), ..restorable.remove(at) });
        }
    }
    if all.last().is_none() {
        return Err(([restorable, fixed].concat(), NOT_RESTORED.to_owned()));
    }
    if !trial.has_changed(&all) {
        let why = match (restorable.len(), fixed.len()) {
            (0, 0) => "no inspected state differs".to_owned(),
            (0, _) => "it cannot be restored".to_owned(),
            (1, 0) => format!("restoring {} does not change the outcome", restorable[0].path),
            (some, 0) => {
                format!("restoring all {some} differences does not change the outcome ({})", named(&restorable))
            }
            (some, _) => format!("it cannot be restored, and restoring the other {some} does not change the outcome"),
        };
        return Err((fixed, why));
    }
    let reproducing = reproducing_parts(&restorable, trial).await;
    let found = match reproducing.first() {
        Some(part) => minimize(part.clone(), true, trial).await,
        None => minimize(restorable.clone(), false, trial).await,
    };
    match found {
        Minimized::Minimal(cells) => Ok(Necessary { cells: by_parts(trial, cells).await, all: restorable }),
        Minimized::Reduced(cells) => Err((cells, "budget exhausted before fewer of them were tried".to_owned())),
        Minimized::NotReproduced | Minimized::Untried if trial.was_cut_short() => {
            Err((restorable, "budget exhausted before fewer of them were tried".to_owned()))
        }
        Minimized::NotReproduced | Minimized::Untried => {
            Err((restorable, "restoring all of it changed the outcome once and not again".to_owned()))
        }
    }
}

/// The cells that the instrument restores, with the parts that are different when it does not.
fn with_both_values(preset: Vec<Cell>, bare: &[Cell]) -> Vec<Cell> {
    let changed = |part: Cell, left: &Cell| {
        let after = left.inside.iter().find(|one| one.path == part.path)?.after.clone();
        (part.after != after).then_some(Cell { before: part.after, after, ..part })
    };
    let text = |parts: &[Cell], value: fn(&Cell) -> &Option<String>| {
        let one = |part: &Cell| format!("{} = {}", part.path, value(part).as_deref().unwrap_or("absent"));
        (!parts.is_empty()).then(|| parts.iter().take(NAMED).map(one).collect::<Vec<_>>().join(", "))
    };
    let both = |cell: Cell| {
        let left = bare.iter().find(|left| left.path == cell.path)?;
        let inside: Vec<Cell> = cell.inside.into_iter().filter_map(|part| changed(part, left)).collect();
        let (before, after) = (text(&inside, |part| &part.before), text(&inside, |part| &part.after));
        Some(Cell { before, after, inside, ..cell })
    };
    let mut cells: Vec<Cell> = preset.into_iter().filter_map(both).collect();
    // What has another value is the more probable cause.
    cells.sort_by_key(|cell| cell.inside.is_empty());
    cells
}

/// Adds the source lines that wrote the cells, where known.
fn with_write_sites(mut cells: Vec<Cell>, watched: Option<SessionResult>) -> Vec<Cell> {
    let watched: Vec<Cell> = watched.and_then(|result| result.state).map_or(Vec::new(), |(cells, _)| cells);
    for cell in &mut cells {
        if let Some(found) = with_parts(&watched).find(|one| one.path == cell.path) {
            cell.written.clone_from(&found.written);
        }
    }
    cells
}

/// Cells, and the parts of those that can be named by parts.
fn with_parts(cells: &[Cell]) -> impl Iterator<Item = &Cell> {
    cells.iter().flat_map(|cell| std::iter::once(cell).chain(&cell.inside))
}

/// Cells that are known to make another test depend on the same culprits, where these left them here
/// too and restoring them has the same effect.
async fn known_cells(trial: &RestoreTrial<'_>, known: &[Cell], cells: &[Cell]) -> Option<Necessary> {
    let is_left = |one: &Cell| with_parts(cells).any(|cell| cell.path == one.path && cell.fixed.is_none());
    if known.is_empty() || !known.iter().all(is_left) || !trial.reproduces(vec![(known.to_vec(), 0)]).await[0] {
        return None;
    }
    let all = cells.iter().filter(|cell| cell.fixed.is_none()).cloned().collect();
    Some(Necessary { cells: known.to_vec(), all })
}

impl StateConclusion {
    /// What was proven to be left by these tests; nothing if it was not.
    pub(crate) fn proven_cells(&self, after: &[TestId]) -> &[Cell] {
        match self.leak.kind == LeakKind::Proven && self.leak.after == after {
            true => &self.leak.cells,
            false => &[],
        }
    }

    /// `replays`: the sessions that reproduce what the state explains.
    pub(crate) fn finding(&self, test: &TestId, replays: Vec<Replay>) -> Finding {
        finding(test, Detail::State(self.leak.clone()), self.sentence(test), replays)
    }

    fn sentence(&self, test: &TestId) -> String {
        let after = &self.leak.after;
        let who = match &after[..] {
            [one] if one == test => "its own first run".to_owned(),
            [one] => one.to_string(),
            [one, two] => format!("{one} and {two}"),
            _ => format!("{} tests before it", after.len()),
        };
        let leave = if after.len() > 1 { "leave" } else { "leaves" };
        let cells = named(&self.leak.cells);
        let Some(evidence) = self.leak.evidence else {
            let why = self.leak.unknown.join("; ");
            return match self.leak.cells.len() {
                0 => format!("leaked state not found: {why}"),
                _ => format!("{who} {leave} {cells} behind; not proven: {why}"),
            };
        };
        let RestoreCounts { changed, restored, stayed, kept, sufficed, alone } = evidence;
        let (then, now) = if self.passes_then { ("passes", "fails") } else { ("fails", "passes") };
        let it = if self.leak.cells.len() == 1 { "it" } else { "them" };
        let written = match self.leak.cells.iter().find_map(|cell| cell.written.as_ref()) {
            Some(at) => format!(" (written at {}:{})", at.file, at.line),
            None => String::new(),
        };
        let alone = match alone {
            0 => String::new(),
            _ => format!(", keeping only {it}: {now} {sufficed} of {alone}"),
        };
        format!(
            "{who} {leave} {cells} behind{written}; restoring {it}: {then} {changed} of {restored}, keeping {it}: {now} {stayed} of {kept}{alone}"
        )
    }
}

fn named(cells: &[Cell]) -> String {
    let names: Vec<&str> = cells.iter().take(NAMED).map(|cell| cell.path.as_str()).collect();
    match cells.len().saturating_sub(NAMED) {
        0 => names.join(" and "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

#[cfg(test)]
mod tests;
