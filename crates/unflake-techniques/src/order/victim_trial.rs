//! Trial of a suspect: does its outcome after a list of tests differ from its outcome alone?

use std::cell::{Cell, RefCell};

use unflake_model::{Failure, Purpose, Repeats, TestId};

use crate::search::minimize::Trial;
use crate::search::scheduler::{Answer, Desk, Heard, Question};

pub(crate) struct After<'a> {
    pub(crate) desk: &'a Desk,
    pub(crate) test: &'a TestId,
    /// How often each list is tried.
    pub(crate) tries: usize,
    /// Its first outcome alone, determined together with the first lists.
    first: RefCell<Option<Heard>>,
    /// Its failure after other tests.
    failure: RefCell<Option<Failure>>,
    /// Runs alone, and how many of them differed from the first.
    alone: Cell<(u32, u32)>,
    /// Accumulated repetitions per list.
    repeated: RefCell<Vec<(Vec<TestId>, Repeats)>>,
    /// The shortest list after which the outcome differed.
    best: &'a RefCell<Vec<TestId>>,
}

impl<'a> After<'a> {
    pub(crate) fn new(desk: &'a Desk, test: &'a TestId, best: &'a RefCell<Vec<TestId>>) -> Self {
        let (first, failure, alone) = (RefCell::default(), RefCell::default(), Cell::new((0, 0)));
        Self { desk, test, tries: 1, first, failure, alone, repeated: RefCell::default(), best }
    }

    /// Its first outcome alone. `None` if unknown or skipped.
    pub(crate) fn first(&self) -> Option<Heard> {
        self.first.borrow().clone().filter(|first| first.outcome.is_pass() || first.outcome.is_failure())
    }

    /// Its failure: alone if it fails there, else after others.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let alone = self.first.borrow().as_ref().and_then(|first| first.failure.clone());
        alone.or_else(|| self.failure.borrow().clone())
    }

    fn fails_alone(&self) -> bool {
        self.first.borrow().as_ref().is_some_and(|first| first.outcome.is_failure())
    }

    /// Runs alone, and how many of them differed from the first.
    pub(crate) fn alone(&self) -> (u32, u32) {
        self.alone.get()
    }

    fn is_other(&self, answer: &Answer) -> Option<bool> {
        self.first()?;
        let last = answer.last()?;
        if last.outcome.is_failure() && self.failure.borrow().is_none() {
            self.failure.borrow_mut().clone_from(&last.failure);
        }
        Some(if self.fails_alone() { last.outcome.is_pass() } else { last.outcome.is_failure() })
    }

    /// Tests that can run before it: one that ends its process leaves no state behind.
    pub(crate) fn alive(&self, list: &[TestId]) -> Vec<TestId> {
        list.iter().filter(|test| *test != self.test && !self.desk.is_deadly(test)).cloned().collect()
    }

    pub(crate) fn question(&self, list: Vec<TestId>, prefix: usize) -> Question {
        Question::new(Purpose::Search, [&list[..], std::slice::from_ref(self.test)].concat()).sharing(prefix)
    }

    /// Repeats a list and the test alone; returns the totals over all repetitions of the list.
    pub(crate) async fn repeat(&self, list: &[TestId], times: usize) -> Repeats {
        let alone = std::iter::repeat_n(self.question(Vec::new(), 0), times);
        let after = std::iter::repeat_n(self.question(list.to_vec(), 0), times);
        let answers = self.desk.ask(after.chain(alone).collect()).await;
        let (after, alone) = answers.split_at(times);
        let alone_other = self.count_alone(alone);
        let alone_tried = alone.iter().filter(|answer| answer.last().is_some()).count() as u32;
        let other: Vec<bool> = after.iter().filter_map(|answer| self.is_other(answer)).collect();
        let mut repeated = self.repeated.borrow_mut();
        let at = repeated.iter().position(|(one, _)| one == list).unwrap_or(repeated.len());
        if at == repeated.len() {
            repeated.push((list.to_vec(), Repeats::default()));
        }
        let evidence = &mut repeated[at].1;
        evidence.seen += other.iter().filter(|other| **other).count() as u32;
        evidence.tried += other.len() as u32;
        evidence.alone_passed += if self.fails_alone() { alone_other } else { alone_tried - alone_other };
        evidence.alone_tried += alone_tried;
        *evidence
    }

    /// Runs it alone; returns how many outcomes differed from the first.
    pub(crate) async fn repeat_alone(&self, times: usize) -> u32 {
        let questions = std::iter::repeat_n(self.question(Vec::new(), 0), times);
        self.count_alone(&self.desk.ask(questions.collect()).await)
    }

    fn count_alone(&self, answers: &[Answer]) -> u32 {
        let known = answers.iter().filter_map(Answer::last);
        let other = known.clone().filter(|one| one.outcome.is_failure() != self.fails_alone()).count() as u32;
        let (before, other_before) = self.alone.get();
        self.alone.set((before + known.count() as u32, other_before + other));
        other
    }

    /// Whether the repetitions are significant (p < 0.01) and the outcome alone never varied.
    pub(crate) fn holds(&self, evidence: &Repeats) -> bool {
        let same = if self.fails_alone() { 0 } else { evidence.alone_tried };
        evidence.alone_passed == same && by_chance(evidence.seen, evidence.tried, evidence.alone_tried) < 0.01
    }
}

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
        // Tests that end the process are excluded from the next round.
        for _ in 0..3 {
            let mut asked = Vec::new();
            let is_first = self.first.borrow().is_none();
            let mut questions = vec![self.question(Vec::new(), 0); usize::from(is_first)];
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
            let mut answers = self.desk.ask(questions).await;
            if is_first {
                *self.first.borrow_mut() = answers.remove(0).last().cloned();
                self.alone.set((1, 0));
            }
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

#[cfg(test)]
mod tests {
    use unflake_model::Isolation;

    use super::*;

    fn holds(seen: u32, tried: u32, alone_passed: u32, alone_tried: u32) -> bool {
        let (desk, test, best) = (Desk::new(Isolation::Fork, 1.0), TestId::from("v"), RefCell::default());
        After::new(&desk, &test, &best).holds(&Repeats { seen, tried, alone_passed, alone_tried })
    }

    #[test]
    fn five_of_five_is_significant_and_less_is_not() {
        assert!(holds(5, 5, 5, 5));
        assert!(!holds(4, 5, 5, 5));
        assert!(!holds(5, 5, 4, 5));
        assert!(!holds(3, 3, 3, 3));
        assert!(!holds(5, 5, 0, 0));
        assert!(!holds(0, 0, 5, 5));
    }

    #[test]
    fn a_varying_outcome_needs_more_repetitions() {
        assert!(holds(7, 20, 20, 20));
        assert!(!holds(5, 20, 20, 20));
        assert!(!holds(20, 20, 19, 20));
    }
}
