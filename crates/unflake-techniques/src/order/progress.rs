//! State of a search for order dependence: outcomes of tests alone, covered pairs, and suspects.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use unflake_model::{Outcome, Test, TestId};

use crate::leaked_state::proof::Conclusion;
use crate::order::order_cover::Pairs;
use crate::order::polluter_search::{Answered, Suspect};
use crate::search::coverage::Coverage;
use crate::search::scheduler::Heard;
use crate::search::select::chosen;

/// A test that fails only in parallel is examined again this often when it fails again: it may also
/// be a victim.
const AGAIN: u32 = 3;
/// Maximum number of guessed culprits per suspect.
const GUESSES: usize = 4;

#[derive(Default)]
pub(crate) struct Book {
    pub(crate) suite: Vec<TestId>,
    at: HashMap<TestId, usize>,
    /// Indexes of the requested tests, if only some were requested.
    pub(crate) given: Option<Vec<usize>>,
    /// Requested names without a matching test.
    pub(crate) nobody: Vec<String>,
    pub(crate) files: Vec<Vec<usize>>,
    /// Whether every session has its own processes.
    pub(crate) isolated: bool,
    /// Outcome of each test alone.
    pub(crate) alone: BTreeMap<usize, Outcome>,
    pub(crate) cases: Vec<Case>,
    pub(crate) coverage: Coverage,
}

/// A test under examination.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) suspect: Suspect,
    /// The shortest list of tests after which its outcome differed from the outcome alone.
    pub(crate) best: Rc<RefCell<Vec<TestId>>>,
    /// `None`: not examined yet, or out of time.
    pub(crate) answered: Option<Answered>,
    pub(crate) alone: Option<Outcome>,
    pub(crate) tally: (u32, u32),
    /// How often it was examined again after failing only in parallel.
    again: u32,
    pub(crate) state: Option<Conclusion>,
}

impl Book {
    pub(crate) fn new(tests: &[Test], isolated: bool, seed: u64) -> Self {
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
            files: files.into_iter().map(|(_, tests)| tests).collect(),
            coverage: Coverage::new(Pairs::new(tests.len()), tests.len(), seed),
            ..Self::default()
        }
    }

    pub(crate) fn choose(&mut self, names: &[String]) {
        let (given, nobody) = chosen(&self.suite, names);
        self.coverage.given = Some(given.len());
        self.given = Some(given.iter().map(|test| self.at[test]).collect());
        self.nobody = nobody;
    }

    pub(crate) fn tests(&self, order: &[usize]) -> Vec<TestId> {
        order.iter().map(|at| self.suite[*at].clone()).collect()
    }

    /// Records an executed order: adjacent pairs, and new suspects.
    pub(crate) fn take_note(&mut self, attempts: &[Heard]) {
        self.coverage.orders += 1;
        let mut before: Vec<usize> = Vec::new();
        let mut environment = None;
        for heard in attempts {
            // A process that replaced a crashed one has not run the earlier tests.
            if environment.replace(heard.environment) != Some(heard.environment) {
                before.clear();
            }
            let Some(at) = self.at.get(&heard.test).copied() else { continue };
            if let Some(last) = before.last()
                && self.runs(*last)
                && self.runs(at)
                && self.given.as_ref().is_none_or(|given| given.contains(&at))
            {
                self.coverage.pairs.see(*last, at);
            }
            let alone = self.alone.get(&at);
            let other = match alone {
                Some(alone) if alone.is_pass() => heard.outcome.is_failure(),
                Some(alone) if alone.is_failure() => heard.outcome.is_pass(),
                Some(_) => false,
                None => heard.outcome.is_failure(),
            };
            if other && !self.cases.iter().any(|case| case.suspect.test == heard.test && !case.is_open()) {
                let (before, seen) = (self.tests(&before), alone.is_some());
                self.reopen(at, before, seen);
            }
            before.push(at);
        }
    }

    pub(crate) fn is_open(&self, at: usize) -> bool {
        self.cases.iter().all(|case| case.suspect.test != self.suite[at] || case.is_open())
    }

    /// Culprits of other tests that precede this suspect, most recent first.
    pub(crate) fn guesses(&self, suspect: &Suspect) -> Vec<Vec<TestId>> {
        let before: HashSet<&TestId> = suspect.before.iter().collect();
        let mut guesses: Vec<Vec<TestId>> = Vec::new();
        for case in self.cases.iter().rev() {
            let Some(Answered::Depends(found)) = &case.answered else { continue };
            for list in found.culprits.iter().filter(|_| !found.by_loading) {
                if guesses.len() < GUESSES && !guesses.contains(list) && list.iter().all(|test| before.contains(test)) {
                    guesses.push(list.clone());
                }
            }
        }
        guesses
    }

    /// Tests that can be placed next to others: neither skipped nor ending their process.
    pub(crate) fn running(&mut self) -> Vec<usize> {
        let running: Vec<usize> = (0..self.suite.len()).filter(|at| self.runs(*at)).collect();
        self.coverage.left_out = self.suite.len() - running.len();
        running
    }

    fn runs(&self, at: usize) -> bool {
        !matches!(self.alone.get(&at), Some(Outcome::Skipped | Outcome::TimedOut | Outcome::Crashed(_)))
    }

    /// The test passes when nothing runs in parallel, however it ended before.
    pub(crate) fn passes_alone(&mut self, case: usize) {
        let case = &mut self.cases[case];
        case.alone = Some(Outcome::Passed);
        self.alone.insert(self.at[&case.suspect.test], Outcome::Passed);
    }

    pub(crate) fn answer(&mut self, test: &TestId, answered: Answered) {
        if let Some(case) = self.cases.iter_mut().find(|case| case.suspect.test == *test) {
            case.answered = Some(answered);
        }
    }

    /// Opens a suspect, or reopens one that is still undecided, with new preceding tests.
    pub(crate) fn reopen(&mut self, at: usize, before: Vec<TestId>, seen: bool) {
        let test = self.suite[at].clone();
        let tried: HashSet<&TestId> = before.iter().chain([&test]).collect();
        let others = self.suite.iter().filter(|other| !tried.contains(other)).cloned().collect();
        let suspect = Suspect { test: test.clone(), before, seen, guesses: Vec::new(), others };
        match self.cases.iter_mut().find(|case| case.suspect.test == test) {
            Some(case) if case.answered.is_some() && case.is_open() => {
                case.again += u32::from(matches!(case.answered, Some(Answered::OnlyBesideOthers)));
                (case.suspect, case.answered) = (suspect, None);
            }
            Some(_) => {}
            None => self.cases.push(Case {
                suspect,
                best: Rc::default(),
                answered: None,
                alone: self.alone.get(&at).copied(),
                tally: (0, 0),
                again: 0,
                state: None,
            }),
        }
    }
}

impl Case {
    /// Whether more orders could still tell something about it.
    fn is_open(&self) -> bool {
        match self.answered {
            None | Some(Answered::Nothing) => true,
            Some(Answered::OnlyBesideOthers) => self.again < AGAIN,
            _ => false,
        }
    }
}
