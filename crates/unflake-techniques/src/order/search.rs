//! Finds tests that depend on the order in which they run, and what they depend on.
//!
//! Runs every test alone, then the suite forwards and backwards, then orders in which every file
//! and later every test directly follows every other, then random orders, as far as the budget
//! allows. Every test whose outcome differs from its outcome alone is examined at once.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use unflake_model::{Coverage, Event, Finding, Isolation, OrderKind, Probe, Purpose, Session, TestId};

use crate::leaked_state::proof::{ExpectedChange, prove_leak};
use crate::order::findings::findings;
use crate::order::import_dependence::import_dependence;
use crate::order::order_cover::{covering_orders, covering_selections, leading_orders};
use crate::order::polluter_search::{Dependence, SearchConclusion, find_culprits};
use crate::order::progress::{OrderProgress, SuspectRecord};
use crate::search::minimize::SHORT_LIST;
use crate::search::rng::SeededRng;
use crate::search::scheduler::{Scheduler, SearchTask, SessionRequest, SessionResult, join_all};
use crate::{Recordings, Technique};

/// Single-test sessions per batch, so that little is lost when a run is interrupted.
const SESSIONS_AT_ONCE: usize = 64;
/// A test takes at least this much longer in an environment of its own than among others: it loads
/// what they share.
const SLOWER_ALONE: f64 = 4.0;
/// Orders of all tests per batch.
const ORDERS_AT_ONCE: usize = 8;
/// In fewer tests it costs more to compare their state than to run all pairs.
const FEW: usize = 64;
/// Tests failing alone that are tried in new processes without being requested.
const MOST_IMPORT_CHECKS: usize = 8;
/// Suspects examined in parallel.
const SUSPECTS_AT_ONCE: usize = 4;
/// Sequential runs of a test that seems random: alone, and after the others.
const TIMES_ALONE: usize = 12;
const TIMES_AFTER_OTHERS: usize = 3;

/// What to search, and the budget.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderConfig {
    /// Names of the requested tests, or parts of them. `None`: all.
    pub only: Option<Vec<String>>,
    /// Budget in seconds.
    pub seconds: f64,
    /// Seconds after which the search ends if no test has failed in an order and passed alone.
    pub patience: f64,
    /// Whether a change that was seen once must be seen again in the same order before its cause is
    /// searched: a test that fails by chance would have its polluter searched in hundreds of runs.
    pub doubts: bool,
    /// Maximum number of random orders, and their seed.
    pub random: u32,
    pub seed: u64,
    /// Whether to search all culprits and cleaners in a large suite too.
    pub thorough: bool,
    /// Whether a process runs its tests in an order of its own: any selection of tests is possible, in
    /// the order of the suite.
    pub own_order: bool,
    /// Whether to search the leaked state.
    pub state: bool,
    pub fresh_by: Isolation,
    /// The tests after which a requested test failed in its process in an earlier run.
    pub failed_after: BTreeMap<TestId, Vec<TestId>>,
}

pub struct OrderDetection {
    config: OrderConfig,
    progress: Rc<RefCell<OrderProgress>>,
    task: SearchTask,
}

impl OrderDetection {
    pub fn new(config: OrderConfig) -> Self {
        Self { config, progress: Rc::default(), task: SearchTask::default() }
    }

    /// Requested names without a matching test.
    pub fn unmatched_names(&self) -> Vec<String> {
        self.progress.borrow().unmatched.clone()
    }

    /// Number of tests that leave no state behind: nothing needs to run directly after them.
    pub fn without_state(&self) -> usize {
        self.progress.borrow().harmless.as_ref().map_or(0, BTreeSet::len)
    }

    /// Tests that failed only while other sessions ran in parallel.
    pub fn only_in_parallel(&self) -> Vec<TestId> {
        let progress = self.progress.borrow();
        let parallel = progress
            .suspects
            .iter()
            .filter(|record| matches!(record.conclusion, Some(SearchConclusion::OnlyInParallel)));
        parallel.map(|record| record.suspect.test.clone()).collect()
    }
}

impl Technique for OrderDetection {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        if let Event::TestsListed { tests, isolated, seconds, .. } = event {
            let mut progress = OrderProgress::new(tests, *isolated, self.config.own_order);
            if let Some(only) = &self.config.only {
                progress.select(only);
            }
            *self.progress.borrow_mut() = progress;
            let scheduler = Scheduler::new(self.config.fresh_by, self.config.seconds - seconds);
            let search = OrderSearch {
                scheduler: scheduler.clone(),
                config: self.config.clone(),
                progress: self.progress.clone(),
                test_seconds: Cell::new(None),
            };
            self.task.start(scheduler, search.run());
        }
        self.task.observe(event);
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        self.task.next_sessions()
    }

    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        self.progress.borrow().suspects.iter().flat_map(findings).collect()
    }

    fn coverage(&self) -> Option<Coverage> {
        let progress = self.progress.borrow();
        Some(progress.coverage.summary(progress.alone.len()))
    }
}

struct OrderSearch {
    scheduler: Scheduler,
    config: OrderConfig,
    progress: Rc<RefCell<OrderProgress>>,
    /// How long a test took, on average, in the slowest order of the last batch.
    test_seconds: Cell<Option<f64>>,
}

impl OrderSearch {
    async fn run(self) {
        let given = self.progress.borrow().given.clone();
        let finished = match given {
            Some(tests) => self.search_requested(tests).await,
            None => self.search_all().await,
        };
        self.progress.borrow_mut().coverage.finished = finished.is_some();
    }

    /// Searches the whole suite. `None`: budget exhausted.
    async fn search_all(&self) -> Option<()> {
        let n = self.progress.borrow().suite.len();
        match self.compares_state(n) {
            true => self.each_compared((0..n).collect()).await?,
            false => self.each_alone((0..n).collect()).await?,
        }
        if self.config.own_order {
            return self.search_selections(n).await;
        }
        self.orders([(0..n).collect(), (0..n).rev().collect()].into_iter()).await?;
        let failing: Vec<usize> = {
            let progress = self.progress.borrow();
            let failing = progress.alone.iter().filter(|(_, outcome)| outcome.is_failure()).map(|(at, _)| *at);
            failing.filter(|at| progress.is_open(*at)).take(MOST_IMPORT_CHECKS).collect()
        };
        self.try_imports(&failing).await?;
        let runnable = self.progress.borrow_mut().runnable();
        let (leading, others) = self.progress.borrow().by_state(&runnable);
        let pairs = 2 * leading.len() * others.len() + leading.len() * leading.len();
        let files = self.progress.borrow().files.clone();
        if files.len() > 1 && files.len() < n && files.len() * n <= pairs {
            let of_file = |at: &usize| files[*at].iter().copied().filter(|test| runnable.binary_search(test).is_ok());
            self.orders(covering_orders(files.len()).map(|order| order.iter().flat_map(of_file).collect())).await?;
        }
        self.orders(leading_orders(&leading, &others)).await?;
        self.progress.borrow_mut().coverage.need_not_follow(&others, &runnable);
        let mut rng = SeededRng(self.config.seed);
        let random = (0..self.config.random).map(|_| {
            let mut order = runnable.clone();
            rng.shuffle(&mut order);
            order
        });
        self.orders(random).await
    }

    /// Searches a suite whose order is fixed: all tests, selections in which every test directly follows
    /// every test before it, and random ones.
    async fn search_selections(&self, n: usize) -> Option<()> {
        self.orders(std::iter::once((0..n).collect())).await?;
        let runnable = self.progress.borrow_mut().runnable();
        let selected = |of: Vec<usize>| of.into_iter().map(|at| runnable[at]).collect();
        self.orders(covering_selections(runnable.len()).map(selected)).await?;
        let mut rng = SeededRng(self.config.seed);
        let random = (0..self.config.random).map(|_| runnable.iter().copied().filter(|_| rng.below(2) == 0).collect());
        self.orders(random.filter(|selection: &Vec<usize>| selection.len() > 1)).await
    }

    async fn each_alone(&self, tests: Vec<usize>) -> Option<()> {
        for batch in tests.chunks(SESSIONS_AT_ONCE) {
            if self.scheduler.out_of_time() {
                return None;
            }
            let test = |at: &usize| self.progress.borrow().suite[*at].clone();
            let requests = batch.iter().map(|at| SessionRequest::new(Purpose::Order, vec![test(at)]));
            let results = self.scheduler.run(requests.collect()).await;
            let outcomes = results.iter().map(|result| result.last().map(|last| last.outcome));
            let known = batch.iter().zip(outcomes).filter_map(|(at, outcome)| Some((*at, outcome?)));
            self.progress.borrow_mut().alone.extend(known);
        }
        Some(())
    }

    /// Whether the state of so many tests is compared instead of running all pairs. Forks share what
    /// is remembered of it; other environments do not.
    fn compares_state(&self, tests: usize) -> bool {
        let OrderConfig { state, thorough, own_order, fresh_by, .. } = self.config;
        let is_cheap = fresh_by == Isolation::Fork && !self.progress.borrow().isolated;
        state && !thorough && !own_order && is_cheap && tests > FEW
    }

    /// Runs each test alone and compares the state that it leaves with the one before.
    async fn each_compared(&self, tests: Vec<usize>) -> Option<()> {
        let mut harmless = BTreeSet::new();
        for batch in tests.chunks(SESSIONS_AT_ONCE) {
            if self.scheduler.out_of_time() {
                return None;
            }
            let request = |at: &usize| {
                let test = self.progress.borrow().suite[*at].clone();
                let request = SessionRequest::new(Purpose::State, vec![test]).with_prefix(1);
                SessionRequest { probe: Some(Probe::default()), ..request }
            };
            let results = self.scheduler.run(batch.iter().map(request).collect()).await;
            let mut unknown = Vec::new();
            for (at, result) in batch.iter().zip(&results) {
                match result.attempts.last() {
                    Some(last) => _ = self.progress.borrow_mut().alone.insert(*at, last.outcome),
                    None => unknown.push(*at),
                }
                let same = |(cells, unknown): &(Vec<_>, Vec<_>)| cells.is_empty() && unknown.is_empty();
                if result.last().is_some() && result.state.as_ref().is_some_and(same) {
                    harmless.insert(*at);
                }
            }
            self.each_alone(unknown).await?;
        }
        self.progress.borrow_mut().harmless = Some(harmless);
        Some(())
    }

    /// Runs these orders, and examines every test whose outcome differs from its outcome alone.
    async fn orders(&self, orders: impl Iterator<Item = Vec<usize>>) -> Option<()> {
        let mut orders = orders.peekable();
        loop {
            let expected = || self.scheduler.mean_seconds() / SLOWER_ALONE;
            let each = self.test_seconds.get().unwrap_or_else(expected).max(1e-9);
            let (suite, left) = (self.progress.borrow().suite.len(), self.scheduler.seconds_left() / each);
            let (mut batch, mut size) = (Vec::new(), 0);
            while let Some(order) = orders.peek()
                && (size + order.len()) as f64 <= left
                && (batch.is_empty() || size + order.len() <= ORDERS_AT_ONCE * suite && batch.len() < SESSIONS_AT_ONCE)
            {
                size += order.len();
                batch.extend(orders.next());
            }
            if batch.is_empty() {
                return orders.peek().is_none().then_some(());
            }
            let request = |order: &Vec<usize>| SessionRequest::new(Purpose::Order, self.progress.borrow().tests(order));
            let results = self.scheduler.run(batch.iter().map(request).collect()).await;
            let seconds = |result: &SessionResult| {
                let all: f64 = result.attempts.iter().map(|one| one.seconds).sum();
                all / result.attempts.len().max(1) as f64
            };
            self.test_seconds.set(results.iter().map(seconds).reduce(f64::max));
            results.iter().for_each(|result| self.progress.borrow_mut().record_order(&result.attempts));
            self.examine().await;
            if self.is_pointless() {
                return None;
            }
        }
    }

    /// Whether the patience is exhausted and nothing suggests that order matters.
    fn is_pointless(&self) -> bool {
        let seconds = self.config.seconds - self.scheduler.seconds_left();
        let is_suspicious = |record: &SuspectRecord| match &record.conclusion {
            None => record.suspect.seen,
            Some(SearchConclusion::Depends(_)) => true,
            Some(SearchConclusion::OnlyInParallel) => !self.config.doubts,
            Some(_) => false,
        };
        seconds > self.config.patience && !self.progress.borrow().suspects.iter().any(is_suspicious)
    }

    /// Whether a requested test failed and no order explains it: others are then as little to blame.
    fn is_chance(&self) -> bool {
        let is_random = |record: &SuspectRecord| {
            matches!(record.conclusion, Some(SearchConclusion::Random { .. } | SearchConclusion::OnlyInParallel))
        };
        self.config.doubts && self.progress.borrow().suspects.iter().any(is_random)
    }

    /// Examines every suspect that has no conclusion yet.
    async fn examine(&self) {
        let open: Vec<usize> = {
            let progress = self.progress.borrow();
            (0..progress.suspects.len()).filter(|at| progress.suspects[*at].conclusion.is_none()).collect()
        };
        let mut left = open.clone();
        while !left.is_empty() {
            // The first is searched before the others: they may have the same cause.
            let first = left.remove(0);
            self.examine_suspect(&self.scheduler, first, None).await;
            let twins = self.twins(first, &left).await;
            left.retain(|at| !twins.contains(at));
            for batch in twins.chunks(SUSPECTS_AT_ONCE) {
                join_all(batch.iter().map(|at| self.examine_suspect(&self.scheduler, *at, Some(first))).collect())
                    .await;
            }
        }
        for at in open {
            if matches!(self.progress.borrow().suspects[at].conclusion, Some(SearchConclusion::Random { .. })) {
                self.check_sequentially(at).await;
            }
        }
    }

    /// The suspects whose outcome the culprits of another one change, too.
    async fn twins(&self, of: usize, suspects: &[usize]) -> Vec<usize> {
        let (candidates, requests): (Vec<(usize, bool)>, Vec<SessionRequest>) = {
            let progress = self.progress.borrow();
            let Some(SearchConclusion::Depends(found)) = &progress.suspects[of].conclusion else { return Vec::new() };
            if found.by_loading || self.scheduler.out_of_time() {
                return Vec::new();
            }
            let request = |at: &usize| {
                let SuspectRecord { suspect, alone, .. } = &progress.suspects[*at];
                let after = &found.culprits[0];
                let fails_alone = alone.filter(|_| !after.contains(&suspect.test))?.is_failure();
                let tests = [&after[..], std::slice::from_ref(&suspect.test)].concat();
                Some(((*at, fails_alone), SessionRequest::new(Purpose::Search, tests)))
            };
            suspects.iter().filter_map(request).unzip()
        };
        let results = self.scheduler.run(requests).await;
        let differs = |fails_alone: bool, result: &SessionResult| {
            result
                .last()
                .is_some_and(|last| if fails_alone { last.outcome.is_pass() } else { last.outcome.is_failure() })
        };
        let found =
            candidates.into_iter().zip(&results).filter(|((_, fails_alone), result)| differs(*fails_alone, result));
        found.map(|((at, _), _)| at).collect()
    }

    /// Parallel copies of a project may collide on a port or a file. So a varying outcome is
    /// checked sequentially before it is called random.
    async fn check_sequentially(&self, at: usize) {
        let test = self.progress.borrow().suspects[at].suspect.test.clone();
        let before = self.progress.borrow().suspects[at].suspect.before.clone();
        let Some(0) = self.failures_in_sequence(vec![test.clone()], TIMES_ALONE).await else { return };
        self.progress.borrow_mut().passes_alone(at);
        match self.failures_in_sequence([before, vec![test]].concat(), TIMES_AFTER_OTHERS).await {
            Some(0) => self.progress.borrow_mut().suspects[at].conclusion = Some(SearchConclusion::OnlyInParallel),
            Some(TIMES_AFTER_OTHERS) => self.examine_suspect(&self.scheduler.sequential(), at, None).await,
            _ => {}
        }
    }

    /// How often the last of these tests fails in sequential runs. `None`: unknown.
    async fn failures_in_sequence(&self, order: Vec<TestId>, times: usize) -> Option<usize> {
        if self.scheduler.out_of_time() {
            return None;
        }
        let requests = vec![SessionRequest::new(Purpose::Search, order); times];
        let results = self.scheduler.sequential().run(requests).await;
        let failed = results.iter().map(|result| result.last().map(|last| usize::from(!last.outcome.is_pass())));
        failed.sum()
    }

    /// `twin`: a suspect whose culprits are known to change the outcome of this one, too.
    async fn examine_suspect(&self, scheduler: &Scheduler, at: usize, twin: Option<usize>) {
        if scheduler.out_of_time() {
            return;
        }
        let SuspectRecord { mut suspect, best, .. } = self.progress.borrow().suspects[at].clone();
        suspect.guesses = self.progress.borrow().guesses(&suspect);
        suspect.twin = twin.and_then(|twin| self.progress.borrow().as_twin(twin));
        if let Some(twin) = &suspect.twin {
            suspect.guesses = vec![twin.culprits[0].clone()];
        }
        let confirmed = async |found: &mut Dependence| {
            if let Some(by_loading) = self.dependence_on_loading(scheduler, &suspect.test, found).await {
                *found = by_loading;
            }
            let conclusion = SearchConclusion::Depends(Box::new(found.clone()));
            self.progress.borrow_mut().suspects[at].conclusion = Some(conclusion);
            self.prove_state(scheduler, at, found).await;
        };
        let conclusion = find_culprits(scheduler, &suspect, &self.config, &best, confirmed).await;
        let record = &mut self.progress.borrow_mut().suspects[at];
        record.tally = scheduler.tally(&suspect.test);
        record.conclusion = conclusion;
    }

    /// Searches the state through which the first culprits of a suspect change its outcome.
    async fn prove_state(&self, scheduler: &Scheduler, at: usize, found: &Dependence) {
        // With randomness involved, a single run proves nothing about state.
        let is_certain = found.evidence.seen == found.evidence.tried;
        if !self.config.state || found.unfinished.is_some() || found.by_loading || !is_certain {
            return;
        }
        let expected = match found.kind {
            OrderKind::Victim => ExpectedChange::Passes,
            OrderKind::Brittle => ExpectedChange::Fails(found.alone, found.failure.clone()),
        };
        let (after, test) = (&found.culprits[0], self.progress.borrow().suspects[at].suspect.test.clone());
        let known = self.progress.borrow().proven_cells(after);
        let state = prove_leak(scheduler, after, &test, &expected, &known).await;
        self.progress.borrow_mut().suspects[at].state = state;
    }

    /// Whether loading another file is what changes the outcome, and not running its tests. A fork has
    /// loaded all files, so a test that fails alone there may pass alone in the user's own command; a
    /// new process loads the files of the tests before it.
    async fn dependence_on_loading(
        &self,
        scheduler: &Scheduler,
        test: &TestId,
        found: &Dependence,
    ) -> Option<Dependence> {
        let others = {
            let progress = self.progress.borrow();
            match found.kind {
                _ if progress.isolated => return None,
                OrderKind::Brittle => progress.one_of_every_other_file(test),
                OrderKind::Victim if self.config.fresh_by == Isolation::Process => found.culprits[0].clone(),
                OrderKind::Victim => return None,
            }
        };
        if others.is_empty() || scheduler.out_of_time() {
            return None;
        }
        self.import_dependence(scheduler, test, &others).await
    }

    /// Whether the outcome depends on which files are loaded, and on which.
    async fn import_dependence(&self, scheduler: &Scheduler, test: &TestId, others: &[TestId]) -> Option<Dependence> {
        let mut found = import_dependence(scheduler, test, others).await?;
        found.loaded = self.progress.borrow().files_of(&found.culprits[0]);
        Some(found)
    }

    /// Examines the requested tests until something is found or everything has been tried.
    async fn search_requested(&self, tests: Vec<usize>) -> Option<()> {
        let suite: Vec<usize> = (0..self.progress.borrow().suite.len()).collect();
        self.each_alone(tests.clone()).await?;
        let failed_after: BTreeMap<usize, Vec<usize>> =
            tests.iter().filter_map(|at| Some((*at, self.failed_after(*at)?))).collect();
        let seen_to_fail: Vec<usize> = failed_after.keys().copied().collect();
        self.try_after(&seen_to_fail, |at| failed_after[&at].clone()).await?;
        // In a long suite all tests are tried in parts later, including the first few.
        let (early, late): (Vec<usize>, Vec<usize>) =
            tests.iter().partition(|at| **at <= SHORT_LIST && suite.len() > SHORT_LIST);
        self.try_in_place(&early).await?;
        self.try_after(&late, |at| suite[..at].to_vec()).await?;
        if self.config.own_order {
            return self.try_after_each(&tests).await;
        }
        // A test that passes alone seldom depends on loaded files, and finding out takes new
        // processes.
        let fails_alone = |at: &usize| self.progress.borrow().alone.get(at).is_some_and(|outcome| outcome.is_failure());
        let (failing, others): (Vec<usize>, Vec<usize>) = tests.iter().partition(|at| fails_alone(at));
        self.try_imports(&failing).await?;
        self.try_after(&tests, |at| suite.iter().rev().copied().filter(|other| *other != at).collect()).await?;
        self.try_imports(&others).await?;
        self.try_after_each(&tests).await?;
        let mut rng = SeededRng(self.config.seed);
        for _ in 0..self.config.random {
            let mut order = suite.clone();
            rng.shuffle(&mut order);
            self.try_after(&tests, |at| order.iter().copied().filter(|other| *other != at).collect()).await?;
        }
        Some(())
    }

    /// The tests that ran before a requested test when it failed in an earlier run, unless these are
    /// those before it in the suite: a suite may run in several processes.
    fn failed_after(&self, at: usize) -> Option<Vec<usize>> {
        let progress = self.progress.borrow();
        let before = self.config.failed_after.get(&progress.suite[at])?;
        let before: Vec<usize> = before.iter().filter_map(|test| progress.index_of(test)).collect();
        (!before.is_empty() && before.iter().copied().ne(0..at)).then_some(before)
    }

    /// Runs these tests after everything that precedes them in the suite, where they were usually
    /// seen to fail.
    async fn try_in_place(&self, tests: &[usize]) -> Option<()> {
        for at in tests {
            if self.scheduler.out_of_time() {
                return None;
            }
            let request =
                SessionRequest::new(Purpose::Order, self.progress.borrow().tests(&(0..=*at).collect::<Vec<_>>()));
            let result = self.scheduler.run(vec![request]).await.remove(0);
            let mut progress = self.progress.borrow_mut();
            let (Some(last), Some(alone)) = (result.last(), progress.alone.get(at)) else { continue };
            if last.outcome.is_failure() != alone.is_failure() {
                let same = result.attempts.iter().filter(|attempt| attempt.environment == last.environment);
                let before = same.map(|attempt| attempt.test.clone()).filter(|test| *test != last.test).collect();
                progress.reopen(*at, before, true);
            }
        }
        self.examine().await;
        (!self.scheduler.out_of_time() && !self.is_chance()).then_some(())
    }

    /// Searches culprits of these tests among others, while none is known.
    async fn try_after(&self, tests: &[usize], before: impl Fn(usize) -> Vec<usize>) -> Option<()> {
        for at in tests {
            let mut progress = self.progress.borrow_mut();
            let before = progress.tests(&before(*at));
            progress.reopen(*at, before, false);
        }
        self.examine().await;
        let is_over = self.is_pointless() || self.is_chance();
        (!self.scheduler.out_of_time() && (tests.is_empty() || !is_over)).then_some(())
    }

    /// Checks whether the outcome of these tests depends on which files are loaded. Takes several
    /// new processes each.
    async fn try_imports(&self, tests: &[usize]) -> Option<()> {
        for at in tests {
            if self.scheduler.out_of_time() {
                return None;
            }
            let (test, others) = {
                let progress = self.progress.borrow();
                if !progress.is_open(*at) || progress.isolated {
                    continue;
                }
                let test = progress.suite[*at].clone();
                let others = progress.one_of_every_other_file(&test);
                (test, others)
            };
            if others.is_empty() {
                continue;
            }
            if let Some(found) = self.import_dependence(&self.scheduler, &test, &others).await {
                let mut progress = self.progress.borrow_mut();
                progress.reopen(*at, Vec::new(), false);
                progress.conclude(&test, SearchConclusion::Depends(Box::new(found)));
            }
        }
        Some(())
    }

    /// Runs every other test directly before these.
    async fn try_after_each(&self, tests: &[usize]) -> Option<()> {
        let others: Vec<usize> = (0..self.progress.borrow().suite.len()).collect();
        for test in tests {
            let mut left = if self.config.own_order { &others[..*test] } else { &others[..] };
            while !left.is_empty() {
                // On a busy machine a large batch takes much longer than what is left of the budget.
                let fit = self.scheduler.seconds_left() / (2.0 * self.scheduler.mean_seconds()).max(1e-6);
                let (batch, more) = left.split_at((fit as usize).clamp(1, SESSIONS_AT_ONCE).min(left.len()));
                left = more;
                if self.scheduler.out_of_time() || self.is_pointless() || self.is_chance() {
                    return None;
                }
                if !self.progress.borrow().is_open(*test) {
                    break;
                }
                let pair = |other: &usize| self.progress.borrow().tests(&[*other, *test]);
                let requests = batch.iter().filter(|other| *other != test).map(pair);
                let requests = requests.map(|tests| SessionRequest::new(Purpose::Order, tests)).collect();
                let results = self.scheduler.run(requests).await;
                results.iter().for_each(|result| self.progress.borrow_mut().record_order(&result.attempts));
                self.examine().await;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
