//! A test that failed at least once, with all attempts at it.

use unflake_model::{
    Attempt, Dependencies, EarlierRuns, EnvironmentId, Isolation, Outcome, Purpose, SessionId, TestId,
};

use crate::NeverExcuse;
use crate::change_impact::unaffected::ChangeSuspicion;
use crate::rerun::confirmation::Confirmation;
use crate::rerun::left_files::LeftFiles;
use crate::rerun::other_seeds::without_addresses;

pub(crate) struct FailedTest {
    pub(crate) test: TestId,
    /// In execution order; the first one failed.
    pub(crate) attempts: Vec<AttemptRecord>,
    pub(crate) never_excuse: Option<String>,
    /// Sessions that confirm its pass, in the order of their requests.
    pub(crate) confirmations: Vec<Confirmation>,
    /// Error type and line of its first failure.
    pub(crate) first_failure: Option<(String, Option<u32>)>,
    /// Whether the messages of its failures differ, apart from addresses.
    pub(crate) is_message_varying: bool,
    first_message: Option<String>,
    /// Seeds of the worlds that it ran in, with the outcomes there.
    pub(crate) seeds: Vec<(u64, Outcome)>,
    /// Number of new processes with other seeds that were requested.
    pub(crate) other_seeds_requested: usize,
    /// It passed, or was not isolated, with others in one process: only processes of its own count.
    pub(crate) passed_together: bool,
    /// Dependencies of the attempt that is about to be observed.
    pub(crate) depends: Option<Box<Dependencies>>,
    pub(crate) suspicion: ChangeSuspicion,
    /// Files that it left, and whether it passes without them.
    pub(crate) left_files: LeftFiles,
    pub(crate) earlier: EarlierRuns,
    /// Why a requested attempt could not be made.
    pub(crate) not_rerun: Option<String>,
}

/// The part of an attempt that the verdict rests on.
pub(crate) struct AttemptRecord {
    pub(crate) session: SessionId,
    pub(crate) purpose: Purpose,
    pub(crate) run: u32,
    pub(crate) environment: EnvironmentId,
    pub(crate) origin: Isolation,
    pub(crate) position: u32,
    pub(crate) outcome: Outcome,
    pub(crate) seconds: f64,
    pub(crate) load: Option<f64>,
}

impl FailedTest {
    pub(crate) fn new(test: TestId) -> Self {
        Self {
            test,
            attempts: Vec::new(),
            never_excuse: None,
            confirmations: Vec::new(),
            first_failure: None,
            is_message_varying: false,
            first_message: None,
            seeds: Vec::new(),
            other_seeds_requested: 0,
            passed_together: false,
            depends: None,
            suspicion: ChangeSuspicion::default(),
            left_files: LeftFiles::default(),
            earlier: EarlierRuns::default(),
            not_rerun: None,
        }
    }

    pub(crate) fn observe(&mut self, attempt: &Attempt, never_excuse: &NeverExcuse) {
        if self.attempts.is_empty() {
            self.first_failure = failure_site(attempt);
        }
        self.attempts.push(AttemptRecord {
            session: attempt.session,
            purpose: attempt.purpose,
            run: attempt.run,
            environment: attempt.environment,
            origin: attempt.origin,
            position: attempt.position,
            outcome: attempt.outcome,
            seconds: attempt.seconds,
            load: attempt.load,
        });
        if let Some(failure) = &attempt.failure {
            let message = without_addresses(&failure.message);
            self.is_message_varying |= self.first_message.as_ref().is_some_and(|first| *first != message);
            self.first_message.get_or_insert(message);
        }
        if let Some(on) = self.depends.take()
            && attempt.outcome.is_failure()
        {
            self.suspicion.alone = Some(on);
        }
        if self.never_excuse.is_none() {
            self.never_excuse = never_excuse.rule_for(attempt);
        }
    }

    /// A session that was to give it its first pass ended without running it.
    pub(crate) fn left_out(&mut self, session: SessionId, reason: &str) {
        // Without some files nothing may run at all, which says nothing of the failure.
        if self.left_files.has_requested(session) {
            return;
        }
        self.not_rerun = Some(format!("it could not run again: {reason}"));
    }

    /// Index of the first passing attempt after the first failure.
    pub(crate) fn pass(&self) -> Option<usize> {
        self.attempts.iter().skip(1).position(|one| one.outcome.is_pass()).map(|at| at + 1)
    }

    /// Whether it never passed before it ran at the base, so that the change may have caused it.
    pub(crate) fn is_suspected(&self) -> bool {
        self.pass().is_none() || !self.suspicion.here.is_empty()
    }
}

/// Error type and line of a failure: independent of where its files are.
pub(crate) fn failure_site(attempt: &Attempt) -> Option<(String, Option<u32>)> {
    attempt.failure.as_ref().map(|failure| (failure.kind.clone(), failure.line))
}
