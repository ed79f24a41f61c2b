//! Confirms passes: does a pass hold beyond its process?
//!
//! A pass in a process in which the test had failed before may be chance. It may also mean that the
//! test fails the first time in every process, so that every plain run is red. Before such a pass
//! excuses anything, the test runs in fresh environments, one after the other, as often in each as
//! it took to pass. The first environment that behaves differently decides.

use unflake_model::SessionId;

use crate::rerun::failing_test::{AttemptRecord, FailedTest};

/// Number of fresh environments in which a test must first fail and then pass before that counts as
/// its pattern.
pub(crate) const CONFIRMATIONS: u32 = 3;

/// A session requested to confirm a pass.
pub(crate) struct Confirmation {
    pub(crate) session: SessionId,
    /// `None` while it runs; an error if the test could not run in it.
    pub(crate) end: Option<Result<(), String>>,
}

/// What is known of the first pass of a test that had failed.
#[derive(Debug, PartialEq)]
pub(crate) enum PassStatus {
    /// In some process the test did not follow the pattern of failing first and passing later.
    Confirmed {
        /// It never passed in that process.
        only_failed: bool,
    },
    /// It failed first and passed later in every process.
    Refuted,
    /// Another fresh environment will decide.
    Open,
    /// A fresh environment was requested and could not decide.
    Unknown(String),
}

impl PassStatus {
    /// The status of `pass`, the index of one of the attempts.
    pub(crate) fn of(test: &FailedTest, pass: usize) -> Self {
        if test.is_first_in_its_process(pass) {
            return Self::Confirmed { only_failed: false };
        }
        for confirmation in &test.confirmations {
            let attempts =
                || (pass + 1..test.attempts.len()).filter(|at| test.attempts[*at].session == confirmation.session);
            let outcome = |at: usize| test.attempts[at].outcome;
            match &confirmation.end {
                None => return Self::Open,
                Some(Err(reason)) => {
                    return Self::Unknown(format!("it could not run in a fresh environment: {reason}"));
                }
                Some(Ok(())) => {}
            }
            if attempts().any(|at| outcome(at).is_pass() && test.is_first_in_its_process(at)) {
                return Self::Confirmed { only_failed: false };
            }
            if attempts().any(|at| outcome(at).is_pass()) {
                continue;
            }
            if attempts().any(|at| !outcome(at).is_failure()) {
                return Self::Unknown("it was skipped in a fresh environment".to_owned());
            }
            if attempts().next().is_none() {
                return Self::Unknown("it did not run in a fresh environment".to_owned());
            }
            return Self::Confirmed { only_failed: true };
        }
        if test.confirmations.len() < CONFIRMATIONS as usize { Self::Open } else { Self::Refuted }
    }
}

impl FailedTest {
    /// How often to rerun the test in the next fresh environment, if its pass needs confirmation.
    pub(crate) fn to_confirm(&self) -> Option<u32> {
        let pass = self.pass()?;
        let under_way = self.confirmations.iter().any(|one| one.end.is_none());
        let needed = self.never_excuse.is_none() && !under_way && PassStatus::of(self, pass) == PassStatus::Open;
        needed.then(|| self.before_in_its_process(pass).count() as u32)
    }

    /// Whether it is the first attempt at the test in its process.
    fn is_first_in_its_process(&self, at: usize) -> bool {
        self.before_in_its_process(at).next().is_none()
    }

    /// Earlier attempts at this test in the same process.
    fn before_in_its_process(&self, at: usize) -> impl Iterator<Item = &AttemptRecord> {
        let environment = self.attempts[at].environment;
        self.attempts[..at].iter().filter(move |one| one.environment == environment)
    }

    /// Number of processes whose first attempt failed, and number of processes.
    pub(crate) fn failed_first(&self) -> (usize, usize) {
        let first: Vec<usize> = (0..self.attempts.len()).filter(|at| self.is_first_in_its_process(*at)).collect();
        (first.iter().filter(|at| self.attempts[**at].outcome.is_failure()).count(), first.len())
    }
}
