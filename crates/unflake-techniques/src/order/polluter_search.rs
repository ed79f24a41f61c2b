//! Which tests make another one fail, or let it pass: the smallest order that shows it.
//!
//! Parts of the tests before it are tried on their own first, side by side; most often one test is to blame, and then all the
//! others are out of the way at once. Where no part shows it, several tests are needed together, and they are found one after the
//! other, the last one first. Nothing is called dependent before it has been repeated in environments that share nothing.

use std::cell::RefCell;

use unflake_model::{Failure, OrderKind, Outcome, Repeats, TestId};

use crate::order::victim_trial::After;
use crate::search::minimize::{Found, LONG, Trial, fewer_by_one, parts, showing_parts, smallest};
use crate::search::scheduler::{Answer, Desk};

/// Further culprits and cleaners are looked for until there are so many.
pub(crate) const MANY: usize = 5;
/// With how much patience it is looked for: how often one list is tried, and how often the result is repeated after its culprits and
/// alone. More of it only where the outcome varies.
const PATIENCE: [(usize, usize); 3] = [(1, 5), (3, 20), (12, 30)];
/// How often it is run after all others before it is said to end the same way.
const TIMES_AFTER_ALL: usize = 5;
/// How often each test is left out of what was found.
const TIMES_WITHOUT: usize = 5;
/// How often it is run alone to see whether chance is all there is to it.
const TIMES_ALONE: usize = 10;

/// A test whose outcome may hang on those before it.
#[derive(Clone, Debug)]
pub(crate) struct Suspect {
    pub(crate) test: TestId,
    /// The tests among which the culprit is looked for, in the order in which they ran.
    pub(crate) before: Vec<TestId>,
    /// Whether it has been seen to end otherwise after them than alone.
    pub(crate) seen: bool,
    /// What was found to be the culprit of other tests.
    pub(crate) guesses: Vec<Vec<TestId>>,
    /// The other tests.
    pub(crate) others: Vec<TestId>,
}

/// What came of a search.
#[derive(Clone, Debug)]
pub(crate) enum Answered {
    Depends(Box<Dependence>),
    /// It ended now this way, now that, and no order shows it. Of so many times alone, how often it ended otherwise than the first.
    Chance {
        alone: u32,
        other: u32,
    },
    /// It ended otherwise only while copies of the project ran beside it.
    OnlyBesideOthers,
    /// It ended the same way after all of them.
    Nothing,
    /// It could not be run alone, or it is skipped.
    Unknown,
}

#[derive(Clone, Debug)]
pub(crate) struct Dependence {
    pub(crate) kind: OrderKind,
    pub(crate) alone: Outcome,
    /// Alternatives, the one that was confirmed first.
    pub(crate) culprits: Vec<Vec<TestId>>,
    pub(crate) cleaners: Vec<TestId>,
    pub(crate) evidence: Repeats,
    pub(crate) failure: Option<Failure>,
    /// Of how many tests each was tried right before it, all that could be.
    pub(crate) each_tried: Option<usize>,
    /// Whether it is enough that the files of the culprits are loaded.
    pub(crate) by_loading: bool,
    pub(crate) unfinished: Option<String>,
}

/// Looks for the culprits of one test. None: the time was over before anything could be said. `best` has at any moment the
/// shortest list after which it was seen to end otherwise.
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
        // Before anybody looks for a culprit with more patience: is there anything to find, and is it not chance alone?
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

/// A smallest list, and the parts of all that show it on their own, where they were tried.
async fn search(after: &After<'_>, suspect: &Suspect) -> (Found<TestId>, Option<Vec<Vec<TestId>>>) {
    let before = after.alive(&suspect.before);
    if before.is_empty() {
        after.shows(Vec::new()).await;
        return (Found::Nothing, None);
    }
    let mut guesses = suspect.guesses.clone();
    // In an order that was made to bring two tests together, it is the last one.
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

/// Where chance has a part in it, a test that is not needed may look as if it were. So each is left out several times.
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

/// Other lists that do the same, in the parts that show it on their own.
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

/// Tests that undo what the culprits did to a victim.
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
    // In a copy it may pass whatever comes between.
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
