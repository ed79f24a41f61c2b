//! Which tests make another one fail, or let it pass: the smallest order that shows it.
//!
//! Parts of the tests before it are tried on their own first, side by side; most often one test is to blame, and then all the
//! others are out of the way at once. Where no part shows it, several tests are needed together, and they are found one after the
//! other, the last one first. Nothing is called dependent before it has been repeated in environments that share nothing.

use std::cell::{Cell, RefCell};

use unflake_model::{Failure, OrderKind, Outcome, Purpose, Repeats, TestId};

use crate::desk::{Answer, Desk, Question};
use crate::smallest::{Found, PARTS, Trial, parts, showing_parts, smallest};

/// Further culprits and cleaners are looked for until there are so many.
pub(crate) const MANY: usize = 5;
/// So many tests more are tried without anybody having asked for it.
const FEW: usize = 64;
/// With how much patience it is looked for: how often one list is tried, and how often the result is repeated after its culprits and
/// alone. More of it only where the outcome varies.
const PATIENCE: [(usize, usize); 3] = [(1, 3), (3, 10), (8, 10)];
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
    pub(crate) unfinished: Option<String>,
}

/// The trial: does the test end otherwise after a list of tests than alone?
struct After<'a> {
    desk: &'a Desk,
    test: &'a TestId,
    fails_alone: bool,
    tries: usize,
    failure: RefCell<Option<Failure>>,
    /// How often it was run alone, and ended otherwise than the first time.
    alone: Cell<(u32, u32)>,
    best: &'a RefCell<Vec<TestId>>,
}

impl After<'_> {
    fn is_other(&self, answer: &Answer) -> Option<bool> {
        let last = answer.last()?;
        if last.outcome.is_failure() && self.failure.borrow().is_none() {
            self.failure.borrow_mut().clone_from(&last.failure);
        }
        Some(if self.fails_alone { last.outcome.is_pass() } else { last.outcome.is_failure() })
    }

    /// What can be run before it: tests that end their process would leave nothing behind but a new one.
    fn alive(&self, list: &[TestId]) -> Vec<TestId> {
        list.iter().filter(|test| *test != self.test && !self.desk.is_deadly(test)).cloned().collect()
    }

    fn question(&self, list: Vec<TestId>, prefix: usize) -> Question {
        Question::new(Purpose::Search, [&list[..], std::slice::from_ref(self.test)].concat()).sharing(prefix)
    }

    /// How often it ended otherwise after this list, and how often it passed alone.
    async fn repeat(&self, list: &[TestId], times: usize) -> Repeats {
        let alone = std::iter::repeat_n(self.question(Vec::new(), 0), times);
        let after = std::iter::repeat_n(self.question(list.to_vec(), 0), times);
        let answers = self.desk.ask(after.chain(alone).collect()).await;
        let (after, alone) = answers.split_at(times);
        let alone_other = self.count_alone(alone);
        let alone_tried = alone.iter().filter(|answer| answer.last().is_some()).count() as u32;
        let other: Vec<bool> = after.iter().filter_map(|answer| self.is_other(answer)).collect();
        Repeats {
            seen: other.iter().filter(|other| **other).count() as u32,
            tried: other.len() as u32,
            alone_passed: if self.fails_alone { alone_other } else { alone_tried - alone_other },
            alone_tried,
        }
    }

    /// How often it ended otherwise than the first time.
    fn count_alone(&self, answers: &[Answer]) -> u32 {
        let known = answers.iter().filter_map(Answer::last);
        let other = known.clone().filter(|one| one.outcome.is_failure() != self.fails_alone).count() as u32;
        let (before, other_before) = self.alone.get();
        self.alone.set((before + known.count() as u32, other_before + other));
        other
    }

    /// Whether repetitions show more than chance.
    fn holds(&self, evidence: &Repeats) -> bool {
        let same = if self.fails_alone { 0 } else { evidence.alone_tried };
        evidence.alone_passed == same && by_chance(evidence.seen, evidence.tried, evidence.alone_tried) < 0.051
    }
}

/// How likely it is that all of `seen` fall among the first `tried`, if it made no difference to them where they fall.
fn by_chance(seen: u32, tried: u32, others: u32) -> f64 {
    let all = tried + others;
    if seen == 0 {
        return 1.0;
    }
    (0..seen).map(|at| f64::from(tried.saturating_sub(at)) / f64::from(all - at)).product()
}

impl Trial<TestId> for After<'_> {
    const GROWS: bool = true;

    async fn shows(&self, lists: Vec<(Vec<TestId>, usize)>) -> Vec<bool> {
        let mut shows: Vec<Option<bool>> = vec![None; lists.len()];
        // What dies on the way is left out the next time.
        for _ in 0..3 {
            let mut asked = Vec::new();
            let mut questions = Vec::new();
            for (at, (list, prefix)) in lists.iter().enumerate() {
                if shows[at].is_some() {
                    continue;
                }
                let (list, prefix) = (self.alive(list), self.alive(&list[..*prefix]).len());
                if list.is_empty() {
                    shows[at] = Some(false);
                } else {
                    asked.push(at);
                    questions.extend(std::iter::repeat_n(self.question(list, prefix), self.tries));
                }
            }
            let answers = self.desk.ask(questions).await;
            for (at, answers) in asked.into_iter().zip(answers.chunks(self.tries)) {
                shows[at] = answers.iter().filter_map(|answer| self.is_other(answer)).reduce(|one, two| one || two);
                let mut best = self.best.borrow_mut();
                if shows[at] == Some(true) && (best.is_empty() || lists[at].0.len() < best.len()) {
                    *best = self.alive(&lists[at].0);
                }
            }
            if shows.iter().all(Option::is_some) {
                break;
            }
        }
        shows.into_iter().map(|shows| shows == Some(true)).collect()
    }

    fn is_over(&self) -> bool {
        self.desk.is_late()
    }
}

/// Looks for the culprits of one test. None: the time was over before anything could be said. `best` has at any moment the
/// shortest list after which it was seen to end otherwise.
pub(crate) async fn culprits(
    desk: &Desk,
    suspect: &Suspect,
    thorough: bool,
    best: &RefCell<Vec<TestId>>,
) -> Option<Answered> {
    let test = &suspect.test;
    let alone = desk.ask(vec![Question::new(Purpose::Search, vec![test.clone()])]).await;
    let Some(alone) = alone[0].last().filter(|one| one.outcome.is_pass() || one.outcome.is_failure()) else {
        return Some(Answered::Unknown);
    };
    let fails_alone = alone.outcome.is_failure();
    let failure = RefCell::new(alone.failure.clone());
    let mut after = After { desk, test, fails_alone, tries: 1, failure, alone: Cell::new((1, 0)), best };
    for (tries, times) in PATIENCE {
        after.tries = tries;
        let (found, showing) = search(&after, suspect).await;
        let mut unfinished = None;
        let list = match found {
            Found::Smallest(list) => Some(list),
            Found::Smaller(list) => {
                unfinished = Some("the time was over before a smaller order could be looked for".to_owned());
                Some(list)
            }
            Found::Nothing => None,
            Found::Untried => return None,
        };
        if let Some(list) = list.map(|list| after.alive(&list)).filter(|list| !list.is_empty()) {
            let evidence = after.repeat(&list, times).await;
            if after.holds(&evidence) {
                let mut dependence = Dependence {
                    kind: if fails_alone { OrderKind::Brittle } else { OrderKind::Victim },
                    alone: alone.outcome,
                    culprits: vec![list],
                    cleaners: Vec::new(),
                    evidence,
                    failure: after.failure.borrow().clone(),
                    each_tried: None,
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
        // Before anybody looks for a culprit with more patience: is it chance alone?
        let questions = std::iter::repeat_n(after.question(Vec::new(), 0), TIMES_ALONE);
        let other = after.count_alone(&desk.ask(questions.collect()).await);
        let was_seen = suspect.seen || !best.borrow().is_empty();
        if other > 0 || !was_seen && tries > 1 {
            break;
        }
    }
    let (alone, other) = after.alone.get();
    let was_seen = suspect.seen || !best.borrow().is_empty();
    Some(if was_seen || other > 0 { Answered::Chance { alone, other } } else { Answered::Nothing })
}

/// A smallest list, and the parts of all that show it on their own, where they were tried.
async fn search(after: &After<'_>, suspect: &Suspect) -> (Found<TestId>, Option<Vec<Vec<TestId>>>) {
    let before = after.alive(&suspect.before);
    // In an order that was made to bring two tests together, the last one is the first guess.
    if suspect.seen
        && let Some(last) = before.last()
        && after.shows(vec![(vec![last.clone()], 0)]).await[0]
    {
        return (Found::Smallest(vec![last.clone()]), None);
    }
    if before.is_empty() {
        return (Found::Nothing, None);
    }
    let showing = showing_parts(&before, after).await;
    let found = match showing.first() {
        Some(part) => smallest(part.clone(), true, after).await,
        None => smallest(before, false, after).await,
    };
    (found, Some(showing))
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
        if (thorough || more.len() <= FEW) && !after.is_over() {
            let more = after.alive(more);
            showing.extend(showing_parts(&more, after).await);
            tried.push(more);
        }
    }
    if tried.len() == 2 && tried.iter().all(|tests| tests.len() <= PARTS) {
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
    if !wanted || after.is_over() || !(thorough || candidates.len() <= FEW) {
        return;
    }
    let passing = async |lists: Vec<Vec<TestId>>| {
        let question = |list: &Vec<TestId>| after.question([&culprit[..], list].concat(), culprit.len());
        let answers = after.desk.ask(lists.iter().map(question).collect()).await;
        let passes = |answer: &Answer| answer.last().is_some_and(|last| last.outcome.is_pass());
        lists.into_iter().zip(answers).filter(|(_, answer)| passes(answer)).map(|(list, _)| list).collect::<Vec<_>>()
    };
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
