//! Which tests depend on the order in which they run, and on what in it?
//!
//! Every test alone, then the suite as it is and backwards, then orders in which every file and later every test comes right after
//! every other, then random ones, while there is time. Whatever ends otherwise than alone is looked into at once.

use std::cell::RefCell;
use std::rc::Rc;

use unflake_model::{Event, Finding, Isolation, OrderKind, Purpose, Session, TestId};

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

/// So many sessions of one test are asked for at once, so that little is lost when a run is cut short.
const AT_ONCE: usize = 64;
/// So many orders of all tests.
const ORDERS_AT_ONCE: usize = 8;
/// So many tests that fail alone are tried in new processes without anybody having asked for it.
const AS_NEW_AT_MOST: usize = 8;
/// So many suspects are looked into side by side.
const SUSPECTS_AT_ONCE: usize = 4;
/// How often a test that seems to fail by chance is run with nobody beside it, alone and after the others.
const TIMES_BY_ITSELF: usize = 12;
const TIMES_AFTER_OTHERS: usize = 3;

/// What is looked for, and for how long.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderConfig {
    /// Tests to look into, by their names or parts of them. None: all.
    pub only: Option<Vec<String>>,
    /// No question is put after so many seconds.
    pub seconds: f64,
    /// How many random orders to try at most, and what they are drawn from.
    pub random: u32,
    pub seed: u64,
    /// Whether to look for all culprits and cleaners in a large suite, too.
    pub thorough: bool,
    /// Whether to look for the state behind it.
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

    /// Names that were asked for and fit no test.
    pub fn nobody(&self) -> Vec<String> {
        self.book.borrow().nobody.clone()
    }

    /// Tests that failed only while copies of the project ran beside them.
    pub fn only_beside_others(&self) -> Vec<TestId> {
        let book = self.book.borrow();
        let beside = book.cases.iter().filter(|case| matches!(case.answered, Some(Answered::OnlyBesideOthers)));
        beside.map(|case| case.suspect.test.clone()).collect()
    }

    /// What has been tried so far, for whoever wants to know what a search without findings is worth.
    pub fn coverage(&self) -> Coverage {
        self.book.borrow().coverage.clone()
    }
}

impl Technique for Order {
    fn hear(&mut self, event: &Event) {
        if let Event::TestsListed { tests, isolated, .. } = event {
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
            work.hear(event);
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

    /// Looks for tests that depend on the order. None: the time was over.
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

    /// Runs these orders, and looks into whatever ends otherwise than alone.
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

    /// Looks into every suspect that nobody has looked into yet.
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

    /// Copies of a project may meet on a port or a file. What varies is run with nobody beside it before it is called chance.
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

    /// How often the last of these tests fails, of so many times with nobody beside. None: nobody knows.
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
        // Where chance has a part in it, one run proves nothing about state.
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

    /// Looks into the tests that were named, until something is found or there is nothing more to try.
    async fn given(&self, tests: Vec<usize>) -> Option<()> {
        let suite: Vec<usize> = (0..self.book.borrow().suite.len()).collect();
        self.each_alone(tests.clone()).await?;
        // Of a long suite all tests are tried in parts later on, the first few among them.
        let (early, late): (Vec<usize>, Vec<usize>) = tests.iter().partition(|at| **at <= LONG && suite.len() > LONG);
        self.try_in_place(&early).await?;
        self.try_after(&late, |at| suite[..at].to_vec()).await?;
        // What passes alone seldom hangs on which files are loaded, and that takes new processes to find out.
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

    /// These tests after all that come before them in the suite, which is most often where they were seen to fail.
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

    /// Looks for culprits of these tests among others, as long as none is known.
    async fn try_after(&self, tests: &[usize], before: impl Fn(usize) -> Vec<usize>) -> Option<()> {
        for at in tests {
            let mut book = self.book.borrow_mut();
            let before = book.tests(&before(*at));
            book.reopen(*at, before, false);
        }
        self.examine().await;
        (!self.desk.is_late()).then_some(())
    }

    /// Whether it matters to these tests which files are loaded. Takes several new processes each.
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

    /// Every other test right before these.
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
