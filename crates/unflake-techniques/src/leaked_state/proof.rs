//! Proves through which state tests change each other's outcome, by restoring it.
//!
//! The cells that differ after the culprits are listed; all that can be restored are, and the test
//! runs. If its outcome changes, the smallest set of cells that changes it is the proof, and the
//! other differences are irrelevant. If it does not change, the cells are only suspected.

use unflake_model::{Cell, Detail, Failure, Finding, Leak, LeakKind, Outcome, Probe, Purpose, TestId};

use crate::search::minimize::{Found, Trial, showing_parts, smallest};
use crate::search::scheduler::{Answer, Desk, Question};

/// Repetitions of the proof.
const TIMES: usize = 3;
/// If there are more cells than this, only the first are named.
const NAMED: usize = 3;

/// How the outcome must change when the relevant state is restored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Turned {
    /// The test fails after the culprits and must pass.
    Passes,
    /// The test passes after the culprits and must fail as it does alone.
    Fails(Outcome, Option<Failure>),
}

/// A conclusion about state, with its repetitions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Conclusion {
    pub(crate) leak: Leak,
    /// How often the outcome changed with the cells restored, and how often it stayed without, each
    /// with the number of runs.
    turned: (usize, usize),
    stayed: (usize, usize),
    passes_then: bool,
}

/// Does the outcome change when these cells are restored?
struct Restoring<'a> {
    desk: &'a Desk,
    after: &'a [TestId],
    test: &'a TestId,
    turned: &'a Turned,
}

impl Restoring<'_> {
    fn question(&self, probe: Probe) -> Question {
        let tests = [self.after, std::slice::from_ref(self.test)].concat();
        Question { probe: Some(probe), ..Question::new(Purpose::State, tests).sharing(self.after.len()) }
    }

    fn restoring(&self, cells: &[Cell]) -> Question {
        let restore = cells.iter().map(|cell| cell.path.clone()).collect();
        self.question(Probe { restore, watch: Vec::new() })
    }

    fn is_turned(&self, answer: &Answer) -> bool {
        let Some(last) = answer.last() else { return false };
        match self.turned {
            Turned::Passes => last.outcome.is_pass(),
            // Restoring state may break a test in other ways.
            Turned::Fails(outcome, failure) => {
                let kind = |failure: &Option<Failure>| failure.as_ref().map(|failure| failure.kind.clone());
                last.outcome == *outcome && kind(&last.failure) == kind(failure)
            }
        }
    }
}

impl Trial<Cell> for Restoring<'_> {
    const GROWS: bool = false;

    async fn shows(&self, lists: Vec<(Vec<Cell>, usize)>) -> Vec<bool> {
        let answers = self.desk.ask(lists.iter().map(|(cells, _)| self.restoring(cells)).collect()).await;
        // A proof requires that every cell was actually restored.
        answers.iter().map(|answer| answer.not_restored.is_empty() && self.is_turned(answer)).collect()
    }

    fn is_over(&self) -> bool {
        self.desk.is_late()
    }
}

/// `None`: the state could not be inspected.
pub(crate) async fn state(desk: &Desk, after: &[TestId], test: &TestId, turned: &Turned) -> Option<Conclusion> {
    let restoring = Restoring { desk, after, test, turned };
    let look = desk.ask(vec![restoring.restoring(&[])]).await.remove(0);
    let (cells, unknown) = look.state.clone()?;
    let passes_then = *turned == Turned::Passes;
    let suspected = |cells: Vec<Cell>, why: String| {
        let unknown = std::iter::once(why).chain(unknown.iter().cloned()).collect();
        let leak = Leak { kind: LeakKind::Suspected, after: after.to_vec(), cells, unknown };
        Some(Conclusion { leak, turned: (0, 0), stayed: (0, 0), passes_then })
    };
    if look.last().is_none() || restoring.is_turned(&look) {
        return suspected(cells, "it ended otherwise in a copy of the process".to_owned());
    }
    let found = match smallest_set(&restoring, cells).await {
        Ok(found) => found,
        Err((cells, why)) => return suspected(cells, why),
    };
    let proof = std::iter::repeat_n(restoring.restoring(&found), TIMES);
    let as_left = std::iter::repeat_n(restoring.restoring(&[]), TIMES);
    let answers = desk.ask(proof.chain(as_left).collect()).await;
    let count = |answers: &[Answer], wanted: bool| {
        let known = answers.iter().filter(|answer| answer.last().is_some());
        (known.clone().filter(|answer| restoring.is_turned(answer) == wanted).count(), known.count())
    };
    let (turned, stayed) = (count(&answers[..TIMES], true), count(&answers[TIMES..], false));
    if turned != (TIMES, TIMES) || stayed != (TIMES, TIMES) {
        return suspected(found, "to put it back changed the outcome only sometimes".to_owned());
    }
    let cells = with_lines(&restoring, found).await;
    let leak = Leak { kind: LeakKind::Proven, after: after.to_vec(), cells, unknown: Vec::new() };
    Some(Conclusion { leak, turned, stayed, passes_then })
}

/// The smallest set of cells that changes the outcome, or the possibly relevant ones with the
/// reason why no more is known.
async fn smallest_set(restoring: &Restoring<'_>, cells: Vec<Cell>) -> Result<Vec<Cell>, (Vec<Cell>, String)> {
    let (mut restorable, mut fixed): (Vec<Cell>, Vec<Cell>) = cells.into_iter().partition(|cell| cell.fixed.is_none());
    let all = restoring.desk.ask(vec![restoring.restoring(&restorable)]).await.remove(0);
    for (path, why) in &all.not_restored {
        if let Some(at) = restorable.iter().position(|cell| cell.path == *path) {
            fixed.push(Cell { fixed: Some(why.clone()), ..restorable.remove(at) });
        }
    }
    if !restoring.is_turned(&all) {
        let why = match (restorable.len(), fixed.len()) {
            (0, 0) => "nothing that was looked at differs".to_owned(),
            (0, _) => "it cannot be put back".to_owned(),
            (1, 0) => "the one difference was put back, and it ended the same way".to_owned(),
            (some, 0) => format!("all {some} differences were put back, and it ended the same way"),
            (some, _) => format!("it cannot be put back, and what can be ({some} more) makes no difference alone"),
        };
        return Err((fixed, why));
    }
    let showing = showing_parts(&restorable, restoring).await;
    let found = match showing.first() {
        Some(part) => smallest(part.clone(), true, restoring).await,
        None => smallest(restorable.clone(), false, restoring).await,
    };
    match found {
        Found::Smallest(cells) => Ok(cells),
        Found::Smaller(cells) => Err((cells, "the time was over before fewer of them could be tried".to_owned())),
        Found::Nothing | Found::Untried => Err((restorable, "to put it all back helped once and not again".to_owned())),
    }
}

/// Adds the source lines that wrote the cells, where known.
async fn with_lines(restoring: &Restoring<'_>, mut cells: Vec<Cell>) -> Vec<Cell> {
    let watch = cells.iter().map(|cell| cell.path.clone()).collect();
    let answer = restoring.desk.ask(vec![restoring.question(Probe { restore: Vec::new(), watch })]).await.remove(0);
    for seen in answer.state.into_iter().flat_map(|(cells, _)| cells) {
        if let Some(cell) = cells.iter_mut().find(|cell| cell.path == seen.path) {
            cell.written = seen.written;
        }
    }
    cells
}

impl Conclusion {
    pub(crate) fn finding(&self, test: &TestId) -> Finding {
        let mut replay = self.leak.after.clone();
        replay.push(test.clone());
        Finding {
            test: test.clone(),
            sentence: self.sentence(test),
            detail: Detail::State(self.leak.clone()),
            repeat: None,
            replay,
        }
    }

    fn sentence(&self, test: &TestId) -> String {
        let after = &self.leak.after;
        let of_writer = || "the tear-down of the one that writes it".to_owned();
        let (who, where_to) = match &after[..] {
            [one] if one == test => ("its own first run".to_owned(), "its tear-down".to_owned()),
            [one] => (one.to_string(), format!("the tear-down of {one}")),
            [one, two] => (format!("{one} and {two}"), of_writer()),
            _ => (format!("{} tests before it", after.len()), of_writer()),
        };
        let leave = if after.len() > 1 { "leave" } else { "leaves" };
        let cells = named(&self.leak.cells);
        if self.leak.kind == LeakKind::Suspected {
            let why = self.leak.unknown.join("; ");
            return match self.leak.cells.len() {
                0 => format!("what {who} {leave} behind was not found: {why}"),
                _ => format!("{who} {leave} {cells} behind, which may be the reason, but is not proven: {why}"),
            };
        }
        let ((turned, of), (stayed, of_stayed)) = (self.turned, self.stayed);
        let (then, now) = if self.passes_then { ("passes", "fails") } else { ("fails", "passes") };
        let it = if self.leak.cells.len() == 1 { "it" } else { "them" };
        let written = match self.leak.cells.iter().find_map(|cell| cell.written.as_ref()) {
            Some(at) => format!(" (written at {}:{})", at.file, at.line),
            None => String::new(),
        };
        let what_to_do = match self.passes_then {
            true => format!("reset {it} in a fixture or in {where_to}"),
            false => format!("set {it} up in a fixture of this test"),
        };
        format!(
            "{now} because {who} {leave} {cells} behind{written}: with {it} put back {then} ({turned} of {of}), without {now} ({stayed} of {of_stayed}); {what_to_do}"
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
