//! Finds the tests that make another one fail (polluters) or pass (state-setters): the smallest
//! order that reproduces it.
//!
//! Parts of the preceding tests are tried on their own first, in parallel; usually one test is to
//! blame, and then all others are excluded at once. If no part reproduces it, several tests are
//! needed together, and they are found one by one, the last first. Nothing is reported as dependent
//! before it has been repeated in environments that share nothing.

use std::cell::RefCell;
use std::sync::Arc;

use unflake_model::{Failure, OrderKind, Outcome, Repeats, TestId};

use crate::order::search::OrderConfig;
use crate::order::victim_trial::VictimTrial;
use crate::search::minimize::{
    Minimized, Oracle, SHORT_LIST, first_reproducing, minimize, parts, reproducing_parts, without_each,
};
use crate::search::scheduler::{Scheduler, SessionResult};

/// The search for further culprits among many tests stops at this many, unless it is thorough.
const MANY: usize = 5;
/// Levels of persistence: how often each list is tried, and how often the result is repeated, after
/// its culprits and alone. Higher levels are used only when the outcome varies.
const PERSISTENCE: [(usize, usize); 3] = [(1, 5), (3, 20), (12, 30)];
/// Runs after all other tests before the outcome is called unchanged.
const TIMES_AFTER_ALL: usize = 5;
/// Runs in the order in which a change was seen once, and alone.
const TIMES_SEEN_AGAIN: usize = 5;
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
    /// Another test on which the first of these culprits have the same effect. What is known of it is
    /// tried, and nothing else.
    pub(crate) twin: Option<Twin>,
    /// All remaining tests that could run before it.
    pub(crate) others: Vec<TestId>,
    /// Where tests run in the order of the suite only: those before it.
    pub(crate) preceding: Option<Vec<TestId>>,
}

/// What is known of a test that depends on the same culprits.
#[derive(Clone, Debug)]
pub(crate) struct Twin {
    pub(crate) culprits: Vec<Vec<TestId>>,
    pub(crate) cleaners: Vec<TestId>,
}

/// Result of a search.
#[derive(Clone, Debug)]
pub(crate) enum SearchConclusion {
    Depends(Box<Dependence>),
    /// The outcome varies and no order explains it. Runs alone, and how many of them differed from
    /// the first.
    Random {
        alone: u32,
        other: u32,
    },
    /// It fails only while other sessions run in parallel.
    OnlyInParallel,
    /// The outcome is the same after all of them.
    Unchanged,
    /// It could not be run alone, or is skipped.
    Unknown,
}

#[derive(Clone, Debug)]
pub(crate) struct Dependence {
    pub(crate) kind: OrderKind,
    pub(crate) alone: Outcome,
    /// Alternatives; the confirmed one is first.
    pub(crate) culprits: Vec<Vec<TestId>>,
    /// Whether the search for alternatives stopped before all were known.
    pub(crate) has_more: bool,
    pub(crate) cleaners: Vec<TestId>,
    pub(crate) evidence: Repeats,
    pub(crate) failure: Option<Failure>,
    /// If each test could be tried directly before it: how many were.
    pub(crate) each_tried: Option<usize>,
    /// Whether loading the culprits' files is enough.
    pub(crate) by_loading: bool,
    /// These files, where known.
    pub(crate) loaded: Vec<Arc<str>>,
    pub(crate) unfinished: Option<String>,
}

/// Searches the culprits of one test. `None`: the budget was exhausted before anything was known.
/// `best` is always the shortest list after which the outcome differed. `confirmed`: what to do with
/// the first culprits before others are searched, which takes as many sessions as there are tests.
pub(crate) async fn find_culprits(
    scheduler: &Scheduler,
    suspect: &Suspect,
    config: &OrderConfig,
    best: &RefCell<Vec<TestId>>,
    confirmed: impl AsyncFnOnce(&mut Dependence),
) -> Option<SearchConclusion> {
    let (thorough, mut trial) = (config.thorough, VictimTrial::new(scheduler, &suspect.test, best));
    if config.doubts && suspect.seen && suspect.twin.is_none() && !is_seen_again(&mut trial, suspect).await {
        let (alone, other) = trial.alone();
        return Some(SearchConclusion::Random { alone, other });
    }
    for (tries, times) in PERSISTENCE {
        trial.tries = tries;
        let (found, reproducing) = search(&trial, suspect).await;
        let Some(alone) = trial.first_alone() else { return Some(SearchConclusion::Unknown) };
        let (list, unfinished) = match found {
            Minimized::Minimal(list) => (trial.runnable(&list), None),
            Minimized::Reduced(list) => {
                (trial.runnable(&list), Some("budget exhausted before the order was minimized".to_owned()))
            }
            Minimized::NotReproduced => (Vec::new(), None),
            Minimized::Untried => return None,
        };
        if !list.is_empty() {
            let list = if unfinished.is_none() { without_superfluous(&mut trial, list).await } else { list };
            let evidence = trial.repeat(&list, times).await;
            if trial.is_significant(&evidence) {
                let mut dependence = Dependence {
                    kind: if alone.outcome.is_failure() { OrderKind::Brittle } else { OrderKind::Victim },
                    alone: alone.outcome,
                    culprits: vec![list],
                    has_more: false,
                    cleaners: Vec::new(),
                    evidence,
                    failure: trial.failure(),
                    each_tried: None,
                    by_loading: false,
                    loaded: Vec::new(),
                    unfinished,
                };
                confirmed(&mut dependence).await;
                if dependence.unfinished.is_none() && !dependence.by_loading {
                    alternatives(&trial, suspect, reproducing, thorough, &mut dependence).await;
                    cleaners(&trial, suspect, thorough, &mut dependence).await;
                }
                return Some(SearchConclusion::Depends(Box::new(dependence)));
            }
            if config.doubts && 2 * evidence.seen < evidence.tried {
                let (alone, other) = trial.alone();
                return Some(SearchConclusion::Random { alone, other });
            }
        }
        if scheduler.out_of_time() {
            return None;
        }
        // Before searching with more persistence: is there anything to find, and is it not merely
        // random?
        if !suspect.seen && best.borrow().is_empty() {
            trial.tries = TIMES_AFTER_ALL;
            if !trial.reproduces(vec![(suspect.before.clone(), suspect.before.len())]).await[0] {
                break;
            }
        }
        if trial.repeat_alone(TIMES_ALONE).await > 0 {
            break;
        }
    }
    let (alone, other) = trial.alone();
    let was_seen = suspect.seen || !best.borrow().is_empty();
    Some(if was_seen || other > 0 { SearchConclusion::Random { alone, other } } else { SearchConclusion::Unchanged })
}

/// Whether the outcome changes once more after the same tests, in as many runs as show a change that comes
/// every second time.
async fn is_seen_again(trial: &mut VictimTrial<'_>, suspect: &Suspect) -> bool {
    let before = trial.runnable(&suspect.before);
    trial.tries = TIMES_SEEN_AGAIN;
    let seen = trial.reproduces(vec![(before.clone(), before.len())]).await == [true];
    seen && trial.repeat_alone(TIMES_SEEN_AGAIN).await == 0
}

/// A minimal list, and the parts that reproduce the change on their own, if tried.
async fn search(trial: &VictimTrial<'_>, suspect: &Suspect) -> (Minimized<TestId>, Option<Vec<Vec<TestId>>>) {
    let before = trial.runnable(&suspect.before);
    if before.is_empty() {
        trial.reproduces(Vec::new()).await;
        return (Minimized::NotReproduced, None);
    }
    let mut guesses = suspect.guesses.clone();
    // In an order made to bring two tests together, it is the last one.
    guesses.extend(before.last().filter(|_| suspect.seen).map(|last| vec![last.clone()]));
    if !guesses.is_empty()
        && let Some(guess) = first_reproducing(guesses, trial).await
    {
        return (minimize(guess, true, trial).await, None);
    }
    let reproducing = reproducing_parts(&before, trial).await;
    let found = match reproducing.first() {
        Some(part) => minimize(part.clone(), true, trial).await,
        None => minimize(before, false, trial).await,
    };
    (found, Some(reproducing))
}

/// With randomness involved, a superfluous test can look necessary. So each one is removed several
/// times.
async fn without_superfluous(trial: &mut VictimTrial<'_>, mut list: Vec<TestId>) -> Vec<TestId> {
    let tries = trial.tries;
    trial.tries = tries.max(TIMES_WITHOUT);
    while list.len() > 1 {
        let Some(shorter) = first_reproducing(without_each(&list), trial).await else { break };
        list = shorter;
    }
    trial.tries = tries;
    list
}

/// Other lists with the same effect, within the parts that reproduce it.
async fn alternatives(
    trial: &VictimTrial<'_>,
    suspect: &Suspect,
    reproducing: Option<Vec<Vec<TestId>>>,
    thorough: bool,
    dependence: &mut Dependence,
) {
    if let Some(twin) = &suspect.twin {
        return alternatives_of_twin(trial, twin, dependence).await;
    }
    let mut tried = vec![trial.runnable(&suspect.before); usize::from(reproducing.is_some())];
    let mut reproducing = reproducing.unwrap_or_default();
    for more in [&suspect.before, &suspect.others].into_iter().skip(tried.len()) {
        if (thorough || more.len() <= SHORT_LIST) && !trial.out_of_time() {
            let more = trial.runnable(more);
            reproducing.extend(reproducing_parts(&more, trial).await);
            tried.push(more);
        }
    }
    if tried.len() == 2 && tried.iter().all(|tests| tests.len() <= SHORT_LIST) {
        dependence.each_tried = Some(tried.concat().len());
    }
    let culprits = &mut dependence.culprits;
    for mut part in reproducing {
        let whole = part.len();
        part.retain(|test| !culprits[0].contains(test));
        let mut known = part.len() == whole;
        while !part.is_empty() && !trial.out_of_time() {
            // A single test needs no search.
            if culprits.len() >= MANY && !thorough && (part.len() > 1 || !known) {
                dependence.has_more = true;
                break;
            }
            let Minimized::Minimal(list) = minimize(part.clone(), known, trial).await else { break };
            part.retain(|test| !list.contains(test));
            known = false;
            if trial.reproduces(vec![(list.clone(), 0)]).await[0] {
                culprits.push(list);
            }
        }
    }
}

/// The culprits of a twin that have the same effect here. What is needed there together need not be here.
async fn alternatives_of_twin(trial: &VictimTrial<'_>, twin: &Twin, dependence: &mut Dependence) {
    let is_other = |list: &&Vec<TestId>| **list != dependence.culprits[0] && !list.contains(trial.test);
    let others: Vec<Vec<TestId>> = twin.culprits.iter().filter(is_other).cloned().collect();
    let reproducing = trial.reproduces(others.iter().map(|list| (list.clone(), 0)).collect()).await;
    for (list, _) in others.into_iter().zip(reproducing).filter(|(_, reproduces)| *reproduces) {
        let has_known = dependence.culprits.iter().any(|known| known.iter().all(|test| list.contains(test)));
        if !has_known && let Minimized::Minimal(list) = minimize(list, true, trial).await {
            dependence.culprits.push(list);
        }
    }
}

/// Tests that undo the effect of the culprits on a victim.
async fn cleaners(trial: &VictimTrial<'_>, suspect: &Suspect, thorough: bool, dependence: &mut Dependence) {
    let culprit = dependence.culprits[0].clone();
    let mut candidates = match &suspect.twin {
        Some(twin) => trial.runnable(&twin.cleaners),
        None => trial.runnable(&[&suspect.before[..], &suspect.others[..]].concat()),
    };
    if let Some(preceding) = &suspect.preceding {
        // What cannot run between the culprits and the test undoes nothing.
        let after = preceding.iter().rposition(|test| culprit.contains(test)).map_or(0, |at| at + 1);
        candidates.retain(|test| preceding[after..].contains(test));
    }
    candidates.retain(|test| !dependence.culprits.iter().any(|list| list.contains(test)));
    let has_cleaners = dependence.kind == OrderKind::Victim && dependence.evidence.seen == dependence.evidence.tried;
    if candidates.is_empty() || !has_cleaners || trial.out_of_time() || !(thorough || candidates.len() <= SHORT_LIST) {
        return;
    }
    let passing = async |lists: Vec<Vec<TestId>>| {
        let request = |list: &Vec<TestId>| trial.request([&culprit[..], list].concat(), culprit.len());
        let results = trial.scheduler.run(lists.iter().map(request).collect()).await;
        let passes = |result: &SessionResult| result.last().is_some_and(|last| last.outcome.is_pass());
        lists.into_iter().zip(results).filter(|(_, result)| passes(result)).map(|(list, _)| list).collect::<Vec<_>>()
    };
    // A forked victim may pass whatever runs in between.
    if !passing(vec![Vec::new()]).await.is_empty() {
        return;
    }
    for part in passing(parts(&candidates)).await {
        if part.len() == 1 {
            dependence.cleaners.extend(part);
        } else if !trial.out_of_time() {
            let each = part.into_iter().map(|test| vec![test]).collect();
            dependence.cleaners.extend(passing(each).await.concat());
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
