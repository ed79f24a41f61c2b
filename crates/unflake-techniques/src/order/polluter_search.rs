//! Finds the tests that make another one fail (polluters) or pass (state-setters): the smallest
//! order that reproduces it.
//!
//! Parts of the preceding tests are tried on their own first, in parallel; usually one test is to
//! blame, and then all others are excluded at once. If no part reproduces it, several tests are
//! needed together, and they are found one by one, the last first. Nothing is reported as dependent
//! before it has been repeated in environments that share nothing.

use std::cell::RefCell;

use unflake_model::{Failure, OrderKind, Outcome, Repeats, TestId};

use crate::order::victim_trial::After;
use crate::search::minimize::{Found, LONG, Trial, fewer_by_one, parts, showing_parts, smallest};
use crate::search::scheduler::{Answer, Desk};

/// The search for further culprits and cleaners stops at this many.
pub(crate) const MANY: usize = 5;
/// Levels of persistence: how often each list is tried, and how often the result is repeated, after
/// its culprits and alone. Higher levels are used only when the outcome varies.
const PATIENCE: [(usize, usize); 3] = [(1, 5), (3, 20), (12, 30)];
/// Runs after all other tests before the outcome is called unchanged.
const TIMES_AFTER_ALL: usize = 5;
/// Runs without each test of the result.
const TIMES_WITHOUT: usize = 5;
/// Runs alone to see whether the outcome is merely random.
const TIMES_ALONE: usize = 10;

/// A test whose outcome may depend on preceding tests.
#[derive(Clone, Debug)]
pub(crate) struct Suspect {
    pub(crate) test: TestId,
    /// Tests among which the culprit is searched, in execution order.
    pub(crate) before: Vec<TestId>,
    /// Whether its outcome after them has been seen to differ from its outcome alone.
    pub(crate) seen: bool,
    /// Culprits of other tests.
    pub(crate) guesses: Vec<Vec<TestId>>,
    /// All remaining tests.
    pub(crate) others: Vec<TestId>,
}

/// Result of a search.
#[derive(Clone, Debug)]
pub(crate) enum Answered {
    Depends(Box<Dependence>),
    /// The outcome varies and no order explains it. Runs alone, and how many of them differed from
    /// the first.
    Chance {
        alone: u32,
        other: u32,
    },
    /// It fails only while other sessions run in parallel.
    OnlyBesideOthers,
    /// The outcome is the same after all of them.
    Nothing,
    /// It could not be run alone, or is skipped.
    Unknown,
}

#[derive(Clone, Debug)]
pub(crate) struct Dependence {
    pub(crate) kind: OrderKind,
    pub(crate) alone: Outcome,
    /// Alternatives; the confirmed one is first.
    pub(crate) culprits: Vec<Vec<TestId>>,
    pub(crate) cleaners: Vec<TestId>,
    pub(crate) evidence: Repeats,
    pub(crate) failure: Option<Failure>,
    /// If each test could be tried directly before it: how many were.
    pub(crate) each_tried: Option<usize>,
    /// Whether loading the culprits' files is enough.
    pub(crate) by_loading: bool,
    pub(crate) unfinished: Option<String>,
}

/// Searches the culprits of one test. `None`: the budget was exhausted before anything was known.
/// `best` always holds the shortest list after which the outcome differed.
pub(crate) async fn culprits(
    desk: &Desk,
    suspect: &Suspect,
    thorough: bool,
    best: &RefCell<Vec<TestId>>,
) -> Option<Answered> {
    let mut after = After::new(desk, &suspect.test, best);
    for (tries, times) in PATIENCE {
        after.tries = tries;
        let (found, showing) = search(&after, suspect).await;
        let Some(alone) = after.first() else { return Some(Answered::Unknown) };
        let (list, unfinished) = match found {
            Found::Smallest(list) => (after.alive(&list), None),
            Found::Smaller(list) => {
                (after.alive(&list), Some("the time was over before a smaller order could be looked for".to_owned()))
            }
            Found::Nothing => (Vec::new(), None),
            Found::Untried => return None,
        };
        if !list.is_empty() {
            let list = if unfinished.is_none() { without_spare(&mut after, list).await } else { list };
            let evidence = after.repeat(&list, times).await;
            if after.holds(&evidence) {
                let mut dependence = Dependence {
                    kind: if alone.outcome.is_failure() { OrderKind::Brittle } else { OrderKind::Victim },
                    alone: alone.outcome,
                    culprits: vec![list],
                    cleaners: Vec::new(),
                    evidence,
                    failure: after.failure(),
                    each_tried: None,
                    by_loading: false,
                    unfinished,
                };
                if dependence.unfinished.is_none() {
                    alternatives(&after, suspect, showing, thorough, &mut dependence).await;
                    cleaners(&after, suspect, thorough, &mut dependence).await;
                }
                return Some(Answered::Depends(Box::new(dependence)));
            }
        }
        if desk.is_late() {
            return None;
        }
        // Before searching with more persistence: is there anything to find, and is it not merely
        // random?
        if !suspect.seen && best.borrow().is_empty() {
            after.tries = TIMES_AFTER_ALL;
            if !after.shows(vec![(suspect.before.clone(), suspect.before.len())]).await[0] {
                break;
            }
        }
        if after.repeat_alone(TIMES_ALONE).await > 0 {
            break;
        }
    }
    let (alone, other) = after.alone();
    let was_seen = suspect.seen || !best.borrow().is_empty();
    Some(if was_seen || other > 0 { Answered::Chance { alone, other } } else { Answered::Nothing })
}

/// A minimal list, and the parts that reproduce the change on their own, if tried.
async fn search(after: &After<'_>, suspect: &Suspect) -> (Found<TestId>, Option<Vec<Vec<TestId>>>) {
    let before = after.alive(&suspect.before);
    if before.is_empty() {
        after.shows(Vec::new()).await;
        return (Found::Nothing, None);
    }
    let mut guesses = suspect.guesses.clone();
    // In an order made to bring two tests together, it is the last one.
    guesses.extend(before.last().filter(|_| suspect.seen).map(|last| vec![last.clone()]));
    if !guesses.is_empty() {
        let shows = after.shows(guesses.iter().map(|guess| (guess.clone(), 0)).collect()).await;
        if let Some((guess, _)) = guesses.into_iter().zip(shows).find(|(_, shows)| *shows) {
            return (smallest(guess, true, after).await, None);
        }
    }
    let showing = showing_parts(&before, after).await;
    let found = match showing.first() {
        Some(part) => smallest(part.clone(), true, after).await,
        None => smallest(before, false, after).await,
    };
    (found, Some(showing))
}

/// With randomness involved, a superfluous test can look necessary. So each one is removed several
/// times.
async fn without_spare(after: &mut After<'_>, mut list: Vec<TestId>) -> Vec<TestId> {
    let tries = after.tries;
    after.tries = tries.max(TIMES_WITHOUT);
    while list.len() > 1 {
        let fewer = fewer_by_one(&list);
        let shows = after.shows(fewer.iter().map(|list| (list.clone(), 0)).collect()).await;
        let Some((shorter, _)) = fewer.into_iter().zip(shows).find(|(_, shows)| *shows) else { break };
        list = shorter;
    }
    after.tries = tries;
    list
}

/// Other lists with the same effect, within the parts that reproduce it.
async fn alternatives(
    after: &After<'_>,
    suspect: &Suspect,
    showing: Option<Vec<Vec<TestId>>>,
    thorough: bool,
    dependence: &mut Dependence,
) {
    let mut tried = vec![after.alive(&suspect.before); usize::from(showing.is_some())];
    let mut showing = showing.unwrap_or_default();
    for more in [&suspect.before, &suspect.others].into_iter().skip(tried.len()) {
        if (thorough || more.len() <= LONG) && !after.is_over() {
            let more = after.alive(more);
            showing.extend(showing_parts(&more, after).await);
            tried.push(more);
        }
    }
    if tried.len() == 2 && tried.iter().all(|tests| tests.len() <= LONG) {
        dependence.each_tried = Some(tried.concat().len());
    }
    let culprits = &mut dependence.culprits;
    for mut part in showing {
        let whole = part.len();
        part.retain(|test| !culprits[0].contains(test));
        let mut known = part.len() == whole;
        while culprits.len() < MANY && !part.is_empty() && !after.is_over() {
            let Found::Smallest(list) = smallest(part.clone(), known, after).await else { break };
            part.retain(|test| !list.contains(test));
            known = false;
            if after.shows(vec![(list.clone(), 0)]).await[0] {
                culprits.push(list);
            }
        }
    }
}

/// Tests that undo the effect of the culprits on a victim.
async fn cleaners(after: &After<'_>, suspect: &Suspect, thorough: bool, dependence: &mut Dependence) {
    let culprit = dependence.culprits[0].clone();
    let mut candidates = after.alive(&[&suspect.before[..], &suspect.others[..]].concat());
    candidates.retain(|test| !dependence.culprits.iter().any(|list| list.contains(test)));
    let wanted = dependence.kind == OrderKind::Victim && dependence.evidence.seen == dependence.evidence.tried;
    if !wanted || after.is_over() || !(thorough || candidates.len() <= LONG) {
        return;
    }
    let passing = async |lists: Vec<Vec<TestId>>| {
        let question = |list: &Vec<TestId>| after.question([&culprit[..], list].concat(), culprit.len());
        let answers = after.desk.ask(lists.iter().map(question).collect()).await;
        let passes = |answer: &Answer| answer.last().is_some_and(|last| last.outcome.is_pass());
        lists.into_iter().zip(answers).filter(|(_, answer)| passes(answer)).map(|(list, _)| list).collect::<Vec<_>>()
    };
    // A forked victim may pass whatever runs in between.
    if !passing(vec![Vec::new()]).await.is_empty() {
        return;
    }
    for part in passing(parts(&candidates)).await {
        if part.len() == 1 {
            dependence.cleaners.extend(part);
        } else if dependence.cleaners.len() < MANY && !after.is_over() {
            let each = part.into_iter().map(|test| vec![test]).collect();
            dependence.cleaners.extend(passing(each).await.concat());
        }
    }
    dependence.cleaners.truncate(MANY);
}

#[cfg(test)]
pub(crate) mod tests;
