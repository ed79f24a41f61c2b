//! Finds tests that depend on the order in which they run, and what they depend on.
//!
//! Runs every test alone, then the suite forwards and backwards, then orders in which every file
//! and later every test directly follows every other, then random orders, as far as the budget
//! allows. Every test whose outcome differs from its outcome alone is examined at once.

use std::cell::RefCell;
use std::rc::Rc;

use unflake_model::{Finding, Isolation, Observation, OrderKind, Purpose, Session, TestId};

use crate::Technique;
use crate::leaked_state::proof::{self, Turned};
use crate::order::findings::findings;
use crate::order::import_dependence::loading;
use crate::order::order_cover::{Chance, covering};
use crate::order::polluter_search::{Answered, culprits};
use crate::order::progress::{Book, Case};
use crate::search::coverage::Coverage;
use crate::search::minimize::LONG;
use crate::search::scheduler::{Desk, Question, Work, together};

/// Single-test sessions per batch, so that little is lost when a run is interrupted.
const AT_ONCE: usize = 64;
/// Orders of all tests per batch.
const ORDERS_AT_ONCE: usize = 8;
/// Tests failing alone that are tried in new processes without being requested.
const AS_NEW_AT_MOST: usize = 8;
/// Suspects examined in parallel.
const SUSPECTS_AT_ONCE: usize = 4;
/// Sequential runs of a test that seems random: alone, and after the others.
const TIMES_BY_ITSELF: usize = 12;
const TIMES_AFTER_OTHERS: usize = 3;

/// What to search, and the budget.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderConfig {
    /// Names of the requested tests, or parts of them. `None`: all.
    pub only: Option<Vec<String>>,
    /// Budget in seconds.
    pub seconds: f64,
    /// Maximum number of random orders, and their seed.
    pub random: u32,
    pub seed: u64,
    /// Whether to search all culprits and cleaners in a large suite too.
    pub thorough: bool,
    /// Whether to search the leaked state.
    pub state: bool,
    pub fresh_by: Isolation,
}

pub struct Order {
    ordering: OrderConfig,
    book: Rc<RefCell<Book>>,
    work: Option<Work>,
}

impl Order {
    pub fn new(ordering: OrderConfig) -> Self {
        Self { ordering, book: Rc::default(), work: None }
    }

    /// Requested names without a matching test.
    pub fn nobody(&self) -> Vec<String> {
        self.book.borrow().nobody.clone()
    }

    /// Tests that failed only while other sessions ran in parallel.
    pub fn only_beside_others(&self) -> Vec<TestId> {
        let book = self.book.borrow();
        let beside = book.cases.iter().filter(|case| matches!(case.answered, Some(Answered::OnlyBesideOthers)));
        beside.map(|case| case.suspect.test.clone()).collect()
    }

    /// What has been covered so far: what a search without findings is worth.
    pub fn coverage(&self) -> Coverage {
        self.book.borrow().coverage.clone()
    }
}

impl Technique for Order {
    fn hear(&mut self, observation: &Observation) {
        if let Observation::Listed { tests, isolated, .. } = observation {
            let mut book = Book::new(tests, *isolated, self.ordering.seed);
            if let Some(only) = &self.ordering.only {
                book.choose(only);
            }
            *self.book.borrow_mut() = book;
            let desk = Desk::new(self.ordering.fresh_by, self.ordering.seconds);
            let search = Search { desk: desk.clone(), ordering: self.ordering.clone(), book: self.book.clone() };
            self.work = Some(Work::new(desk, search.run()));
        }
        if let Some(work) = &mut self.work {
            work.hear(observation);
        }
    }

    fn ask(&mut self) -> Vec<Session> {
        self.work.as_mut().map(Work::ask).unwrap_or_default()
    }

    fn findings(&self) -> Vec<Finding> {
        self.book.borrow().cases.iter().flat_map(findings).collect()
    }
}

struct Search {
    desk: Desk,
    ordering: OrderConfig,
    book: Rc<RefCell<Book>>,
}

impl Search {
    async fn run(self) {
        let given = self.book.borrow().given.clone();
        let over = match given {
            Some(tests) => self.given(tests).await,
            None => self.all().await,
        };
        self.book.borrow_mut().coverage.finished = over.is_some();
    }

    /// Searches the whole suite. `None`: budget exhausted.
    async fn all(&self) -> Option<()> {
        let n = self.book.borrow().suite.len();
        self.each_alone((0..n).collect()).await?;
        self.orders([(0..n).collect(), (0..n).rev().collect()].into_iter()).await?;
        let failing: Vec<usize> = {
            let book = self.book.borrow();
            let failing = book.alone.iter().filter(|(_, outcome)| outcome.is_failure()).map(|(at, _)| *at);
            failing.filter(|at| book.is_open(*at)).take(AS_NEW_AT_MOST).collect()
        };
        self.try_loading(&failing).await?;
        let running = self.book.borrow_mut().running();
        let files = self.book.borrow().files.clone();
        if files.len() > 1 && files.len() < n {
            let of_file = |at: &usize| files[*at].iter().copied().filter(|test| running.binary_search(test).is_ok());
            self.orders(covering(files.len()).map(|order| order.iter().flat_map(of_file).collect())).await?;
        }
        self.orders(covering(running.len()).map(|order| order.iter().map(|at| running[*at]).collect())).await?;
        let mut chance = Chance(self.ordering.seed);
        let random = (0..self.ordering.random).map(|_| {
            let mut order = running.clone();
            chance.shuffle(&mut order);
            order
        });
        self.orders(random).await
    }

    async fn each_alone(&self, tests: Vec<usize>) -> Option<()> {
        for some in tests.chunks(AT_ONCE) {
            if self.desk.is_late() {
                return None;
            }
            let test = |at: &usize| self.book.borrow().suite[*at].clone();
            let questions = some.iter().map(|at| Question::new(Purpose::Order, vec![test(at)]));
            let answers = self.desk.ask(questions.collect()).await;
            let outcomes = answers.iter().map(|answer| answer.last().map(|last| last.outcome));
            let known = some.iter().zip(outcomes).filter_map(|(at, outcome)| Some((*at, outcome?)));
            self.book.borrow_mut().alone.extend(known);
        }
        Some(())
    }

    /// Runs these orders, and examines every test whose outcome differs from its outcome alone.
    async fn orders(&self, mut orders: impl Iterator<Item = Vec<usize>>) -> Option<()> {
        loop {
            let each = self.desk.seconds_each() * self.book.borrow().suite.len() as f64;
            let fit = (self.desk.seconds_left() / each.max(1e-6)) as usize;
            let some: Vec<Vec<usize>> = orders.by_ref().take(fit.clamp(1, ORDERS_AT_ONCE)).collect();
            if some.is_empty() {
                return Some(());
            }
            if fit == 0 {
                return None;
            }
            let question = |order: &Vec<usize>| Question::new(Purpose::Order, self.book.borrow().tests(order));
            let answers = self.desk.ask(some.iter().map(question).collect()).await;
            answers.iter().for_each(|answer| self.book.borrow_mut().take_note(&answer.attempts));
            self.examine().await;
        }
    }

    /// Examines every suspect that has no conclusion yet.
    async fn examine(&self) {
        let open: Vec<usize> = {
            let book = self.book.borrow();
            (0..book.cases.len()).filter(|at| book.cases[*at].answered.is_none()).collect()
        };
        for some in open.chunks(SUSPECTS_AT_ONCE) {
            together(some.iter().map(|at| self.look_into(&self.desk, *at)).collect()).await;
        }
        for at in open {
            if matches!(self.book.borrow().cases[at].answered, Some(Answered::Chance { .. })) {
                self.with_nobody_beside(at).await;
            }
        }
    }

    /// Parallel copies of a project may collide on a port or a file. So a varying outcome is
    /// checked sequentially before it is called random.
    async fn with_nobody_beside(&self, at: usize) {
        let test = self.book.borrow().cases[at].suspect.test.clone();
        let before = self.book.borrow().cases[at].suspect.before.clone();
        let Some(0) = self.failed_by_itself(vec![test.clone()], TIMES_BY_ITSELF).await else { return };
        self.book.borrow_mut().passes_alone(at);
        match self.failed_by_itself([before, vec![test]].concat(), TIMES_AFTER_OTHERS).await {
            Some(0) => self.book.borrow_mut().cases[at].answered = Some(Answered::OnlyBesideOthers),
            Some(TIMES_AFTER_OTHERS) => self.look_into(&self.desk.one_at_a_time(), at).await,
            _ => {}
        }
    }

    /// How often the last of these tests fails in sequential runs. `None`: unknown.
    async fn failed_by_itself(&self, order: Vec<TestId>, times: usize) -> Option<usize> {
        if self.desk.is_late() {
            return None;
        }
        let questions = vec![Question::new(Purpose::Search, order); times];
        let answers = self.desk.one_at_a_time().ask(questions).await;
        let failed = answers.iter().map(|answer| answer.last().map(|last| usize::from(!last.outcome.is_pass())));
        failed.sum()
    }

    async fn look_into(&self, desk: &Desk, at: usize) {
        if desk.is_late() {
            return;
        }
        let Case { mut suspect, best, .. } = self.book.borrow().cases[at].clone();
        suspect.guesses = self.book.borrow().guesses(&suspect);
        let answered = culprits(desk, &suspect, self.ordering.thorough, &best).await;
        {
            let case = &mut self.book.borrow_mut().cases[at];
            case.tally = desk.tally(&suspect.test);
            case.answered.clone_from(&answered);
        }
        // With randomness involved, a single run proves nothing about state.
        if let Some(Answered::Depends(found)) = answered
            && self.ordering.state
            && found.unfinished.is_none()
            && !found.by_loading
            && found.evidence.seen == found.evidence.tried
        {
            let turned = match found.kind {
                OrderKind::Victim => Turned::Passes,
                OrderKind::Brittle => Turned::Fails(found.alone, found.failure.clone()),
            };
            let state = proof::state(desk, &found.culprits[0], &suspect.test, &turned).await;
            self.book.borrow_mut().cases[at].state = state;
        }
    }

    /// Examines the requested tests until something is found or everything has been tried.
    async fn given(&self, tests: Vec<usize>) -> Option<()> {
        let suite: Vec<usize> = (0..self.book.borrow().suite.len()).collect();
        self.each_alone(tests.clone()).await?;
        // In a long suite all tests are tried in parts later, including the first few.
        let (early, late): (Vec<usize>, Vec<usize>) = tests.iter().partition(|at| **at <= LONG && suite.len() > LONG);
        self.try_in_place(&early).await?;
        self.try_after(&late, |at| suite[..at].to_vec()).await?;
        // A test that passes alone seldom depends on loaded files, and finding out takes new
        // processes.
        let fails_alone = |at: &usize| self.book.borrow().alone.get(at).is_some_and(|outcome| outcome.is_failure());
        let (failing, others): (Vec<usize>, Vec<usize>) = tests.iter().partition(|at| fails_alone(at));
        self.try_loading(&failing).await?;
        self.try_after(&tests, |at| suite.iter().rev().copied().filter(|other| *other != at).collect()).await?;
        self.try_loading(&others).await?;
        self.try_after_each(&tests).await?;
        let mut chance = Chance(self.ordering.seed);
        for _ in 0..self.ordering.random {
            let mut order = suite.clone();
            chance.shuffle(&mut order);
            self.try_after(&tests, |at| order.iter().copied().filter(|other| *other != at).collect()).await?;
        }
        Some(())
    }

    /// Runs these tests after everything that precedes them in the suite, where they were usually
    /// seen to fail.
    async fn try_in_place(&self, tests: &[usize]) -> Option<()> {
        for at in tests {
            if self.desk.is_late() {
                return None;
            }
            let question = Question::new(Purpose::Order, self.book.borrow().tests(&(0..=*at).collect::<Vec<_>>()));
            let answer = self.desk.ask(vec![question]).await.remove(0);
            let mut book = self.book.borrow_mut();
            let (Some(last), Some(alone)) = (answer.last(), book.alone.get(at)) else { continue };
            if last.outcome.is_failure() != alone.is_failure() {
                let same = answer.attempts.iter().filter(|heard| heard.environment == last.environment);
                let before = same.map(|heard| heard.test.clone()).filter(|test| *test != last.test).collect();
                book.reopen(*at, before, true);
            }
        }
        self.examine().await;
        (!self.desk.is_late()).then_some(())
    }

    /// Searches culprits of these tests among others, while none is known.
    async fn try_after(&self, tests: &[usize], before: impl Fn(usize) -> Vec<usize>) -> Option<()> {
        for at in tests {
            let mut book = self.book.borrow_mut();
            let before = book.tests(&before(*at));
            book.reopen(*at, before, false);
        }
        self.examine().await;
        (!self.desk.is_late()).then_some(())
    }

    /// Checks whether the outcome of these tests depends on which files are loaded. Takes several
    /// new processes each.
    async fn try_loading(&self, tests: &[usize]) -> Option<()> {
        for at in tests {
            if self.desk.is_late() {
                return None;
            }
            let (test, others) = {
                let book = self.book.borrow();
                if !book.is_open(*at) || book.isolated {
                    continue;
                }
                let others = book.files.iter().filter(|file| !file.contains(at)).map(|file| file[0]);
                (book.suite[*at].clone(), book.tests(&others.collect::<Vec<_>>()))
            };
            if others.is_empty() {
                continue;
            }
            if let Some(found) = loading(&self.desk, &test, &others).await {
                let mut book = self.book.borrow_mut();
                book.reopen(*at, Vec::new(), false);
                book.answer(&test, Answered::Depends(Box::new(found)));
            }
        }
        Some(())
    }

    /// Runs every other test directly before these.
    async fn try_after_each(&self, tests: &[usize]) -> Option<()> {
        let others: Vec<usize> = (0..self.book.borrow().suite.len()).collect();
        for test in tests {
            for some in others.chunks(AT_ONCE) {
                if self.desk.is_late() {
                    return None;
                }
                if !self.book.borrow().is_open(*test) {
                    break;
                }
                let pair = |other: &usize| self.book.borrow().tests(&[*other, *test]);
                let questions = some.iter().filter(|other| *other != test).map(pair);
                let questions = questions.map(|tests| Question::new(Purpose::Order, tests)).collect();
                let answers = self.desk.ask(questions).await;
                answers.iter().for_each(|answer| self.book.borrow_mut().take_note(&answer.attempts));
                self.examine().await;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
