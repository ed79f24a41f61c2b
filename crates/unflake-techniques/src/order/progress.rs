//! State of a search for order dependence: outcomes of tests alone, covered pairs, and suspects.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use unflake_model::{Cell, Outcome, Test, TestId};

use crate::leaked_state::proof::StateConclusion;
use crate::order::polluter_search::{SearchConclusion, Suspect, Twin};
use crate::search::coverage::OrderCoverage;
use crate::search::scheduler::AttemptSummary;
use crate::search::select::select_tests;

/// A test that fails only in parallel is examined again this often when it fails again: it may also
/// be a victim.
const REEXAMINATIONS: u32 = 3;
/// Maximum number of guessed culprits per suspect.
const MOST_GUESSES: usize = 4;

#[derive(Default)]
pub(crate) struct OrderProgress {
    pub(crate) suite: Vec<TestId>,
    at: HashMap<TestId, usize>,
    /// Indexes of the requested tests, if only some were requested.
    pub(crate) given: Option<Vec<usize>>,
    /// Requested names without a matching test.
    pub(crate) unmatched: Vec<String>,
    pub(crate) files: Vec<Vec<usize>>,
    /// The file of each test.
    file_of: Vec<Option<Arc<str>>>,
    /// Whether every session has its own processes.
    pub(crate) isolated: bool,
    /// Whether tests run in the order of the suite only.
    pub(crate) own_order: bool,
    /// Outcome of each test alone.
    pub(crate) alone: BTreeMap<usize, Outcome>,
    /// Tests that leave no state behind. `None`: not compared.
    pub(crate) harmless: Option<BTreeSet<usize>>,
    pub(crate) suspects: Vec<SuspectRecord>,
    pub(crate) coverage: OrderCoverage,
}

/// A test under examination.
#[derive(Clone)]
pub(crate) struct SuspectRecord {
    pub(crate) suspect: Suspect,
    /// The shortest list of tests after which its outcome differed from the outcome alone.
    pub(crate) best: Rc<RefCell<Vec<TestId>>>,
    /// `None`: not examined yet, or out of time.
    pub(crate) conclusion: Option<SearchConclusion>,
    pub(crate) alone: Option<Outcome>,
    pub(crate) tally: (u32, u32),
    /// How often it was examined again after failing only in parallel.
    reexamined: u32,
    pub(crate) state: Option<StateConclusion>,
}

impl OrderProgress {
    pub(crate) fn new(tests: &[Test], isolated: bool, own_order: bool) -> Self {
        let mut files: Vec<(Option<Arc<str>>, Vec<usize>)> = Vec::new();
        for (at, test) in tests.iter().enumerate() {
            match files.iter_mut().find(|(file, _)| *file == test.file) {
                Some((_, tests)) => tests.push(at),
                None => files.push((test.file.clone(), vec![at])),
            }
        }
        Self {
            suite: tests.iter().map(|test| test.id.clone()).collect(),
            at: tests.iter().enumerate().map(|(at, test)| (test.id.clone(), at)).collect(),
            isolated,
            file_of: tests.iter().map(|test| test.file.clone()).collect(),
            files: files.into_iter().map(|(_, tests)| tests).collect(),
            own_order,
            coverage: OrderCoverage::new(tests.len(), own_order),
            ..Self::default()
        }
    }

    pub(crate) fn select(&mut self, names: &[String]) {
        let selection = select_tests(&self.suite, names);
        self.coverage.given = Some(selection.tests.len());
        self.given = Some(selection.tests.iter().map(|test| self.at[test]).collect());
        self.unmatched = selection.unmatched;
    }

    pub(crate) fn index_of(&self, test: &TestId) -> Option<usize> {
        self.at.get(test).copied()
    }

    pub(crate) fn tests(&self, order: &[usize]) -> Vec<TestId> {
        order.iter().map(|at| self.suite[*at].clone()).collect()
    }

    /// The first test of every file but that of the given test.
    pub(crate) fn one_of_every_other_file(&self, test: &TestId) -> Vec<TestId> {
        let is_own = |file: &[usize]| file.iter().any(|at| self.suite[*at] == *test);
        self.files.iter().filter(|file| !is_own(file)).map(|file| self.suite[file[0]].clone()).collect()
    }

    /// The files of these tests, if all are known.
    pub(crate) fn files_of(&self, tests: &[TestId]) -> Vec<Arc<str>> {
        let file = |test: &TestId| self.index_of(test).and_then(|at| self.file_of[at].clone());
        tests.iter().map(file).collect::<Option<_>>().unwrap_or_default()
    }

    /// Records an executed order: adjacent pairs, and new suspects.
    pub(crate) fn record_order(&mut self, attempts: &[AttemptSummary]) {
        let mut before: Vec<usize> = Vec::new();
        let mut environment = None;
        for attempt in attempts {
            // A process that replaced a crashed one has not run the earlier tests.
            if environment.replace(attempt.environment) != Some(attempt.environment) {
                before.clear();
            }
            let Some(at) = self.at.get(&attempt.test).copied() else { continue };
            if let Some(last) = before.last()
                && self.can_run(*last)
                && self.can_run(at)
                && self.given.as_ref().is_none_or(|given| given.contains(&at))
            {
                self.coverage.pairs.add(*last, at);
            }
            let alone = self.alone.get(&at);
            let differs = match alone {
                Some(alone) if alone.is_pass() => attempt.outcome.is_failure(),
                Some(alone) if alone.is_failure() => attempt.outcome.is_pass(),
                Some(_) => false,
                None => attempt.outcome.is_failure(),
            };
            if differs && !self.suspects.iter().any(|record| record.suspect.test == attempt.test && !record.is_open()) {
                let (before, seen) = (self.tests(&before), alone.is_some());
                self.reopen(at, before, seen);
            }
            before.push(at);
        }
    }

    pub(crate) fn is_open(&self, at: usize) -> bool {
        self.suspects.iter().all(|record| record.suspect.test != self.suite[at] || record.is_open())
    }

    /// Culprits of other tests that precede this suspect, most recent first.
    pub(crate) fn guesses(&self, suspect: &Suspect) -> Vec<Vec<TestId>> {
        let before: HashSet<&TestId> = suspect.before.iter().collect();
        let mut guesses: Vec<Vec<TestId>> = Vec::new();
        for record in self.suspects.iter().rev() {
            let Some(SearchConclusion::Depends(found)) = &record.conclusion else { continue };
            for list in found.culprits.iter().filter(|_| !found.by_loading) {
                if guesses.len() < MOST_GUESSES
                    && !guesses.contains(list)
                    && list.iter().all(|test| before.contains(test))
                {
                    guesses.push(list.clone());
                }
            }
        }
        guesses
    }

    /// What is known of a suspect, for another with the same culprits.
    pub(crate) fn as_twin(&self, suspect: usize) -> Option<Twin> {
        match &self.suspects[suspect].conclusion {
            Some(SearchConclusion::Depends(found)) => {
                Some(Twin { culprits: found.culprits.clone(), cleaners: found.cleaners.clone() })
            }
            _ => None,
        }
    }

    /// The cells through which these culprits were proven to change a test.
    pub(crate) fn proven_cells(&self, after: &[TestId]) -> Vec<Cell> {
        let states = self.suspects.iter().filter_map(|record| record.state.as_ref());
        states.map(|state| state.proven_cells(after)).find(|cells| !cells.is_empty()).unwrap_or_default().to_vec()
    }

    /// Tests that can be placed next to others: neither skipped nor ending their process.
    pub(crate) fn runnable(&mut self) -> Vec<usize> {
        let runnable: Vec<usize> = (0..self.suite.len()).filter(|at| self.can_run(*at)).collect();
        self.coverage.left_out = self.suite.len() - runnable.len();
        runnable
    }

    /// These tests by whether they may leave state behind.
    pub(crate) fn by_state(&self, tests: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let leaves = |at: &&usize| self.harmless.as_ref().is_none_or(|harmless| !harmless.contains(*at));
        tests.iter().partition(leaves)
    }

    fn can_run(&self, at: usize) -> bool {
        !matches!(self.alone.get(&at), Some(Outcome::Skipped | Outcome::TimedOut | Outcome::Crashed(_)))
    }

    /// The test passes when nothing runs in parallel, however it ended before.
    pub(crate) fn passes_alone(&mut self, suspect: usize) {
        let record = &mut self.suspects[suspect];
        record.alone = Some(Outcome::Passed);
        self.alone.insert(self.at[&record.suspect.test], Outcome::Passed);
    }

    pub(crate) fn conclude(&mut self, test: &TestId, conclusion: SearchConclusion) {
        if let Some(record) = self.suspects.iter_mut().find(|record| record.suspect.test == *test) {
            record.conclusion = Some(conclusion);
        }
    }

    /// Opens a suspect, or reopens one that is still undecided, with new preceding tests.
    pub(crate) fn reopen(&mut self, at: usize, before: Vec<TestId>, seen: bool) {
        let test = self.suite[at].clone();
        let tried: HashSet<&TestId> = before.iter().chain([&test]).collect();
        // Those before it that were left out of the order. None can run after it.
        let possible = if self.own_order { &self.suite[..at] } else { &self.suite[..] };
        let others = possible.iter().filter(|other| !tried.contains(other)).cloned().collect();
        let preceding = self.own_order.then(|| possible.to_vec());
        let suspect = Suspect { test: test.clone(), before, seen, guesses: Vec::new(), twin: None, others, preceding };
        match self.suspects.iter_mut().find(|record| record.suspect.test == test) {
            Some(record) if record.conclusion.is_some() && record.is_open() => {
                record.reexamined += u32::from(matches!(record.conclusion, Some(SearchConclusion::OnlyInParallel)));
                (record.suspect, record.conclusion) = (suspect, None);
            }
            Some(_) => {}
            None => self.suspects.push(SuspectRecord {
                suspect,
                best: Rc::default(),
                conclusion: None,
                alone: self.alone.get(&at).copied(),
                tally: (0, 0),
                reexamined: 0,
                state: None,
            }),
        }
    }
}

impl SuspectRecord {
    /// Whether more orders could still tell something about it.
    fn is_open(&self) -> bool {
        match self.conclusion {
            None | Some(SearchConclusion::Unchanged) => true,
            Some(SearchConclusion::OnlyInParallel) => self.reexamined < REEXAMINATIONS,
            _ => false,
        }
    }
}
