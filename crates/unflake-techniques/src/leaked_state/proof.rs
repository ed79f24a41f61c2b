//! Proves through which state tests change each other's outcome, by restoring it.
//!
//! The cells that differ after the culprits are listed; all that can be restored are, and the test
//! runs. If its outcome changes, the smallest set of cells that changes it is the proof, and the
//! other differences are irrelevant. If it does not change, the cells are only a possible cause.

use unflake_model::{
    Cell, Detail, Failure, Finding, Leak, LeakKind, Outcome, Probe, Purpose, Replay, RestoreCounts, TestId,
};

use crate::finding::finding;
use crate::search::minimize::{Minimized, Oracle, minimize, reproducing_parts};
use crate::search::scheduler::{Scheduler, SessionRequest, SessionResult};

/// Repetitions of the proof.
const TIMES: usize = 3;
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
        self.request(Probe { restore, watch: Vec::new() })
    }

    fn has_changed(&self, result: &SessionResult) -> bool {
        let Some(last) = result.last() else { return false };
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

/// `None`: the state could not be inspected.
pub(crate) async fn prove_leak(
    scheduler: &Scheduler,
    after: &[TestId],
    test: &TestId,
    expected: &ExpectedChange,
) -> Option<StateConclusion> {
    let trial = RestoreTrial { scheduler, after, test, expected };
    let as_left = scheduler.run_one(trial.restoring(&[])).await;
    let (cells, unknown) = as_left.state.clone()?;
    let passes_then = *expected == ExpectedChange::Passes;
    let possible = |cells: Vec<Cell>, reason: String| {
        let unknown = std::iter::once(reason).chain(unknown.iter().cloned()).collect();
        let leak = Leak { kind: LeakKind::Possible, after: after.to_vec(), cells, unknown, evidence: None };
        Some(StateConclusion { leak, passes_then })
    };
    if as_left.last().is_none() || trial.has_changed(&as_left) {
        return possible(cells, "the outcome differs in a fork of the process".to_owned());
    }
    let found = match minimal_cells(&trial, cells).await {
        Ok(found) => found,
        Err((cells, reason)) => return possible(cells, reason),
    };
    let proof = std::iter::repeat_n(trial.restoring(&found), TIMES);
    let unrestored = std::iter::repeat_n(trial.restoring(&[]), TIMES);
    let results = scheduler.run(proof.chain(unrestored).collect()).await;
    let count = |results: &[SessionResult], wanted: bool| {
        let known = results.iter().filter(|result| result.last().is_some());
        (known.clone().filter(|result| trial.has_changed(result) == wanted).count() as u32, known.count() as u32)
    };
    let ((changed, restored), (stayed, kept)) = (count(&results[..TIMES], true), count(&results[TIMES..], false));
    let evidence = RestoreCounts { changed, restored, stayed, kept };
    if [changed, restored, stayed, kept] != [TIMES as u32; 4] {
        return possible(found, "restoring it changed the outcome only sometimes".to_owned());
    }
    let cells = with_write_sites(&trial, found).await;
    let leak =
        Leak { kind: LeakKind::Proven, after: after.to_vec(), cells, unknown: Vec::new(), evidence: Some(evidence) };
    Some(StateConclusion { leak, passes_then })
}

/// The smallest set of cells that changes the outcome, or the possibly relevant ones with the
/// reason why no more is known.
async fn minimal_cells(trial: &RestoreTrial<'_>, cells: Vec<Cell>) -> Result<Vec<Cell>, (Vec<Cell>, String)> {
    let (mut restorable, mut fixed): (Vec<Cell>, Vec<Cell>) = cells.into_iter().partition(|cell| cell.fixed.is_none());
    let all = trial.scheduler.run_one(trial.restoring(&restorable)).await;
    for (path, why) in &all.not_restored {
        if let Some(at) = restorable.iter().position(|cell| cell.path == *path) {
            fixed.push(Cell { fixed: Some(why.clone()), ..restorable.remove(at) });
        }
    }
    if !trial.has_changed(&all) {
        let why = match (restorable.len(), fixed.len()) {
            (0, 0) => "no inspected state differs".to_owned(),
            (0, _) => "it cannot be restored".to_owned(),
            (1, 0) => format!("restoring {} does not change the outcome", restorable[0].path),
            (some, 0) => format!("restoring all {some} differences does not change the outcome"),
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
        Minimized::Minimal(cells) => Ok(cells),
        Minimized::Reduced(cells) => Err((cells, "budget exhausted before fewer of them were tried".to_owned())),
        Minimized::NotReproduced | Minimized::Untried => {
            Err((restorable, "restoring all of it changed the outcome once and not again".to_owned()))
        }
    }
}

/// Adds the source lines that wrote the cells, where known.
async fn with_write_sites(trial: &RestoreTrial<'_>, mut cells: Vec<Cell>) -> Vec<Cell> {
    let watch = cells.iter().map(|cell| cell.path.clone()).collect();
    let result = trial.scheduler.run_one(trial.request(Probe { restore: Vec::new(), watch })).await;
    for watched in result.state.into_iter().flat_map(|(cells, _)| cells) {
        if let Some(cell) = cells.iter_mut().find(|cell| cell.path == watched.path) {
            cell.written = watched.written;
        }
    }
    cells
}

impl StateConclusion {
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
        let RestoreCounts { changed, restored, stayed, kept } = evidence;
        let (then, now) = if self.passes_then { ("passes", "fails") } else { ("fails", "passes") };
        let it = if self.leak.cells.len() == 1 { "it" } else { "them" };
        let written = match self.leak.cells.iter().find_map(|cell| cell.written.as_ref()) {
            Some(at) => format!(" (written at {}:{})", at.file, at.line),
            None => String::new(),
        };
        format!(
            "{who} {leave} {cells} behind{written}; restoring {it}: {then} {changed} of {restored}, keeping {it}: {now} {stayed} of {kept}"
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
