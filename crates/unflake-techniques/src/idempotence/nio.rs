//! Finds tests that pass, and fail when run once more in the same environment (Wei et al. 2022).
//!
//! Every test runs twice in its own environment. Where there are many, environments that they share
//! first tell which tests need one of their own. Every test that does not pass both times is repeated
//! several times, twice in a row and once alone. Only consistent behaviour is classified; the rest is
//! non-deterministic.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::rc::Rc;

use unflake_model::{Coverage, Event, Finding, Isolation, NioKind, NioMode, Outcome, Purpose, Session, TestId};

use crate::idempotence::classify::{NioSuspect, last_two, record_suspects};
use crate::idempotence::prefilter::{Prefilter, ScreenIn};
use crate::leaked_state::proof::{ExpectedChange, prove_leak};
use crate::search::scheduler::{Scheduler, SearchTask, SessionRequest, SessionResult, join_all};
use crate::search::select::select_listed;
use crate::{Recordings, Technique};

/// Repetitions of a suspicion, twice in a row and once alone.
const TIMES: usize = 3;
/// If at most this many tests always fail, they are also run sequentially.
const FEW_BROKEN: usize = 20;
/// Sessions per batch, so that little is lost when a run is interrupted.
const AT_ONCE: usize = 64;

/// What to run twice, and where.
#[derive(Clone, Debug)]
pub struct NioConfig {
    pub mode: NioMode,
    /// Names of the requested tests, or parts of them. `None`: all.
    pub only: Option<Vec<String>>,
    /// The class of a test. Only the runner knows.
    pub class_of: fn(&str) -> &str,
    pub fresh_by: Isolation,
    /// Where to screen first. `None`: nowhere.
    pub screen: Option<ScreenIn>,
    /// Number of parallel processes.
    pub jobs: usize,
    /// Whether to search the state that the first run leaks.
    pub state: bool,
    /// Budget in seconds.
    pub seconds: f64,
}

pub struct NioDetection {
    config: NioConfig,
    task: SearchTask,
    progress: Rc<RefCell<NioProgress>>,
}

/// What is known so far.
#[derive(Default)]
pub(crate) struct NioProgress {
    pub(crate) mode: NioMode,
    pub(crate) passed_in_suite: BTreeSet<TestId>,
    pub(crate) suspects: Vec<NioSuspect>,
    /// Requested names without a matching test.
    unmatched: Vec<String>,
    /// Tests that could not run twice in one process.
    pub(crate) untried: Vec<TestId>,
    /// Number of tests to run twice.
    requested: usize,
    /// Number of them that have not run yet.
    left: usize,
    /// Number of tests that were screened only.
    screened_only: usize,
    pub(crate) over: bool,
}

impl NioProgress {
    fn is_broken(&self, test: &TestId) -> bool {
        self.suspects.iter().any(|suspect| suspect.test == *test && suspect.kind(self) == Some(NioKind::Broken))
    }

    /// The suite up to the last test that always fails.
    fn before_broken(&self, suite: &[TestId]) -> Vec<TestId> {
        let last = suite.iter().rposition(|test| self.is_broken(test));
        last.map_or(Vec::new(), |last| suite[..=last].to_vec())
    }

    fn has_passing_broken(&self, result: &SessionResult) -> bool {
        result.attempts.iter().any(|attempt| attempt.outcome.is_pass() && self.is_broken(&attempt.test))
    }

    /// A test that passes in the suite every time needs other tests before it; one that passes
    /// sometimes is non-deterministic.
    fn record_suites(&mut self, results: &[SessionResult]) {
        for at in 0..self.suspects.len() {
            let test = self.suspects[at].test.clone();
            let attempts = results.iter().filter_map(|result| result.attempts.iter().find(|one| one.test == test));
            let outcomes: Vec<Outcome> = attempts.map(|one| one.outcome).collect();
            let passed = outcomes.iter().filter(|outcome| outcome.is_pass()).count();
            if passed == TIMES {
                self.passed_in_suite.insert(test);
            } else if passed > 0 && self.suspects[at].kind(self) == Some(NioKind::Broken) {
                self.suspects[at].alone.extend(outcomes);
            }
        }
    }
}

impl NioDetection {
    pub fn new(config: NioConfig) -> Self {
        let progress = Rc::new(RefCell::new(NioProgress { mode: config.mode, ..NioProgress::default() }));
        Self { config, task: SearchTask::default(), progress }
    }

    /// Requested names without a matching test.
    pub fn unmatched_names(&self) -> Vec<String> {
        self.progress.borrow().unmatched.clone()
    }

    /// Number of tests that were screened only.
    pub fn screened_only(&self) -> usize {
        self.progress.borrow().screened_only
    }

    /// Tests that failed only while other sessions ran in parallel.
    pub fn only_in_parallel(&self) -> Vec<TestId> {
        let progress = self.progress.borrow();
        progress
            .suspects
            .iter()
            .filter(|suspect| suspect.only_in_parallel)
            .map(|suspect| suspect.test.clone())
            .collect()
    }

    /// Tests without a result, because they could not run twice in one process.
    pub fn untried(&self) -> Vec<TestId> {
        self.progress.borrow().untried.clone()
    }
}

impl Technique for NioDetection {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        if let Event::TestsListed { tests, isolated, seconds, .. } = event {
            let seconds = self.config.seconds - seconds;
            let suite = tests.iter().map(|test| test.id.clone()).collect();
            let selection = select_listed(tests, self.config.only.as_deref());
            {
                let mut progress = self.progress.borrow_mut();
                progress.unmatched = selection.unmatched;
                (progress.requested, progress.left) = (selection.tests.len(), selection.tests.len());
            }
            let scheduler = Scheduler::new(self.config.fresh_by, seconds);
            let groups = groups(selection.tests, &self.config);
            let is_shared = |place: &ScreenIn| *place == ScreenIn::InProcess || !isolated;
            let screen = self.config.screen.filter(|_| self.config.mode == NioMode::IsolatedMethod).filter(is_shared);
            let prefilter = screen.and_then(|place| Prefilter::new(place, groups.len(), self.config.jobs, seconds));
            let search = NioSearch {
                scheduler: scheduler.clone(),
                search_state: self.config.state,
                progress: self.progress.clone(),
            };
            let search = search.run(suite, groups, prefilter);
            self.task.start(scheduler, search);
        }
        if let Event::AttemptEnded(attempt) = event
            && attempt.purpose == Purpose::Suite
            && attempt.outcome.is_pass()
        {
            self.progress.borrow_mut().passed_in_suite.insert(attempt.test.clone());
        }
        self.task.observe(event);
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        self.task.next_sessions()
    }

    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        let progress = self.progress.borrow();
        progress.suspects.iter().flat_map(|suspect| suspect.findings(&progress)).collect()
    }

    fn coverage(&self) -> Option<Coverage> {
        let progress = self.progress.borrow();
        let (tests, left, left_out) = (progress.requested, progress.left, progress.untried.len());
        Some(Coverage {
            tests: tests as u32,
            tried: tests.saturating_sub(left + left_out) as u32,
            left_out: left_out as u32,
            pairs: None,
            complete: progress.over,
        })
    }
}

/// The groups of tests that share an environment.
fn groups(tests: Vec<TestId>, config: &NioConfig) -> Vec<Vec<TestId>> {
    match config.mode {
        NioMode::IsolatedMethod => tests.into_iter().map(|test| vec![test]).collect(),
        NioMode::EntireSuite => vec![tests],
        NioMode::IsolatedClass => {
            let mut groups: Vec<Vec<TestId>> = Vec::new();
            let mut group_of: HashMap<String, usize> = HashMap::new();
            for test in tests {
                let class = (config.class_of)(test.as_str()).to_owned();
                let at = *group_of.entry(class).or_insert(groups.len());
                if at == groups.len() {
                    groups.push(Vec::new());
                }
                groups[at].push(test);
            }
            groups
        }
    }
}

struct NioSearch {
    scheduler: Scheduler,
    search_state: bool,
    progress: Rc<RefCell<NioProgress>>,
}

impl NioSearch {
    async fn run(self, suite: Vec<TestId>, groups: Vec<Vec<TestId>>, mut prefilter: Option<Prefilter>) {
        let mut groups = VecDeque::from(groups);
        // Tests that failed the screening.
        let mut suspects: VecDeque<Vec<TestId>> = VecDeque::new();
        while !groups.is_empty() || !suspects.is_empty() {
            self.progress.borrow_mut().left = groups.iter().chain(&suspects).map(Vec::len).sum();
            if self.scheduler.out_of_time() {
                return;
            }
            if suspects.is_empty()
                && let Some(prefilter) = prefilter.as_mut().filter(|prefilter| prefilter.is_useful())
            {
                let size = prefilter.size(&self.scheduler).min(groups.len());
                let tests: Vec<TestId> = groups.drain(..size).flatten().collect();
                suspects =
                    prefilter.suspects(&self.scheduler, &tests).await.into_iter().map(|test| vec![test]).collect();
                self.progress.borrow_mut().screened_only = prefilter.passed();
                continue;
            }
            let next = if suspects.is_empty() { &mut groups } else { &mut suspects };
            let groups: Vec<Vec<TestId>> = next.drain(..AT_ONCE.min(next.len())).collect();
            let double = |group: &Vec<TestId>| group.iter().flat_map(|test| [test.clone(), test.clone()]).collect();
            let requests = groups.iter().map(|group| SessionRequest::new(Purpose::Twice, double(group)));
            let results = self.scheduler.run(requests.collect()).await;
            let first = self.progress.borrow().suspects.len();
            for (group, result) in groups.iter().zip(results) {
                record_suspects(group, &result, &mut self.progress.borrow_mut());
            }
            let suspects = first..self.progress.borrow().suspects.len();
            join_all(suspects.map(|at| self.confirm(at)).collect()).await;
        }
        self.progress.borrow_mut().left = 0;
        let undecided: Vec<usize> = {
            let progress = self.progress.borrow();
            let kind = |at: &usize| progress.suspects[*at].kind(&progress);
            let of = |wanted: NioKind| {
                (0..progress.suspects.len()).filter(move |at| kind(at) == Some(wanted)).collect::<Vec<_>>()
            };
            // A parallel copy that uses a shared resource can make a test fail every time. Many
            // failures have other reasons.
            let broken = of(NioKind::Broken);
            let broken = if broken.len() <= FEW_BROKEN { broken } else { Vec::new() };
            [of(NioKind::NonDeterministic), broken].concat()
        };
        for at in undecided {
            if !self.scheduler.out_of_time() {
                self.check_sequentially(at).await;
            }
        }
        // A test that fails alone may pass after others.
        let before_broken = self.progress.borrow().before_broken(&suite);
        if !before_broken.is_empty() && !self.scheduler.out_of_time() {
            let request = SessionRequest::new(Purpose::Order, before_broken);
            let mut results = vec![self.scheduler.run_one(request.clone()).await];
            if self.progress.borrow().has_passing_broken(&results[0]) {
                for _ in 1..TIMES {
                    results.push(self.scheduler.run_one(request.clone()).await);
                }
            }
            self.progress.borrow_mut().record_suites(&results);
        }
        self.progress.borrow_mut().over = true;
    }

    /// Parallel copies of a project may collide on a port or a file. So a varying outcome is
    /// checked sequentially before it is called random.
    async fn check_sequentially(&self, at: usize) {
        let test = self.progress.borrow().suspects[at].test.clone();
        let pair = vec![test.clone(), test.clone()];
        let mut suspect =
            NioSuspect { twice: Vec::new(), order: pair.clone(), ..self.progress.borrow().suspects[at].clone() };
        suspect.alone.clear();
        for round in 0..=TIMES {
            let result = self.scheduler.run_one(SessionRequest::new(Purpose::Twice, pair.clone())).await;
            suspect.add_isolation(&result.attempts);
            suspect.twice.extend(last_two(&result.attempts));
            suspect.second_failure = result.last().and_then(|last| last.failure.clone()).or(suspect.second_failure);
            // An uneven rhythm, so that alternating outcomes cannot stay in step with it.
            for _ in 0..=round % 2 {
                let result = self.scheduler.run_one(SessionRequest::new(Purpose::Twice, vec![test.clone()])).await;
                suspect.add_isolation(&result.attempts);
                suspect.alone.extend(result.last().map(|last| last.outcome));
            }
        }
        if suspect.twice.is_empty() || suspect.alone.is_empty() {
            return;
        }
        let twice_well = suspect.twice.iter().all(|(one, two)| one.is_pass() && two.is_pass());
        suspect.only_in_parallel = twice_well && suspect.alone.iter().all(|outcome| outcome.is_pass());
        let kind = suspect.kind(&self.progress.borrow());
        // A test that has passed is not broken, however often it fails later.
        let has_passed = self.progress.borrow().suspects[at].has_passed();
        if kind == Some(NioKind::NonDeterministic) || kind == Some(NioKind::Broken) && has_passed {
            return;
        }
        self.progress.borrow_mut().suspects[at] = suspect;
        if kind == Some(NioKind::Nio) && self.search_state && !self.scheduler.out_of_time() {
            self.prove_state(at, &test).await;
        }
    }

    async fn prove_state(&self, at: usize, test: &TestId) {
        let after = std::slice::from_ref(test);
        let state = prove_leak(&self.scheduler, after, test, &ExpectedChange::Passes, &[]).await;
        self.progress.borrow_mut().suspects[at].state = state;
    }

    async fn confirm(&self, at: usize) {
        let mut suspect = self.progress.borrow().suspects[at].clone();
        let test = suspect.test.clone();
        let pair = vec![test.clone(), test.clone()];
        let alone = std::iter::repeat_n(SessionRequest::new(Purpose::Twice, vec![test.clone()]), TIMES);
        let twice = |order: &[TestId]| std::iter::repeat_n(SessionRequest::new(Purpose::Twice, order.to_vec()), TIMES);
        let results = self.scheduler.run(twice(&pair).chain(alone).collect()).await;
        suspect.add_isolation(results.iter().flat_map(|result| &result.attempts));
        suspect.alone.extend(results[TIMES..].iter().filter_map(SessionResult::last).map(|one| one.outcome));
        let in_company = suspect.order.len() > 2;
        let first = suspect.twice[0];
        let of_pair: Vec<(Outcome, Outcome)> =
            results[..TIMES].iter().filter_map(|result| last_two(&result.attempts)).collect();
        if in_company && of_pair.iter().all(|(one, two)| one.is_pass() && two.is_pass()) {
            // It can run twice alone, so the other tests of its group are involved.
            let results = self.scheduler.run(twice(&suspect.order).collect()).await;
            suspect.add_isolation(results.iter().flat_map(|result| &result.attempts));
            suspect.twice.extend(results.iter().filter_map(|result| last_two(&result.attempts)));
        } else {
            // Behaviour in company is no evidence of behaviour alone.
            if in_company {
                suspect.twice.clear();
                suspect.order = pair;
            }
            suspect.twice.extend(of_pair);
            if suspect.twice.is_empty() {
                suspect.twice.push(first);
            }
            for result in &results[..TIMES] {
                if suspect.second_failure.is_none() {
                    suspect.second_failure = result.last().and_then(|last| last.failure.clone());
                }
            }
        }
        self.progress.borrow_mut().suspects[at] = suspect.clone();
        let leaves_state =
            suspect.kind(&self.progress.borrow()) == Some(NioKind::Nio) || suspect.may_outlive_its_process();
        if leaves_state && self.search_state && suspect.order.len() == 2 && !self.scheduler.out_of_time() {
            self.prove_state(at, &test).await;
        }
    }
}

#[cfg(test)]
mod tests;
