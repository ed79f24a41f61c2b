//! A test that failed at least once: all attempts at it, and the verdict they lead to.

use unflake_model::{
    Attempt, Comparison, Dependencies, Detail, EnvironmentId, Evidence, Finding, Granularity, Isolation, Outcome,
    Purpose, Replay, Rung, SessionId, TestId, Verdict, VerdictKind,
};

use crate::NeverExcuse;
use crate::change_impact::unaffected::ChangeSuspicion;
use crate::finding::finding;
use crate::rerun::confirmation::{Confirmation, PassStatus};

pub(crate) struct FailedTest {
    pub(crate) test: TestId,
    /// In execution order; the first one failed.
    pub(crate) attempts: Vec<AttemptRecord>,
    pub(crate) never_excuse: Option<String>,
    /// Sessions that confirm its pass, in the order of their requests.
    pub(crate) confirmations: Vec<Confirmation>,
    /// Error type and line of its first failure.
    pub(crate) first_failure: Option<(String, Option<u32>)>,
    /// Dependencies of the attempt that is about to be observed.
    pub(crate) depends: Option<Box<Dependencies>>,
    pub(crate) suspicion: ChangeSuspicion,
    /// Why a requested attempt could not be made.
    not_rerun: Option<String>,
}

/// The part of an attempt that the verdict rests on.
pub(crate) struct AttemptRecord {
    pub(crate) session: SessionId,
    purpose: Purpose,
    run: u32,
    pub(crate) environment: EnvironmentId,
    origin: Isolation,
    pub(crate) position: u32,
    pub(crate) outcome: Outcome,
}

/// Why further attempts were not made on any test.
pub(crate) struct MissingAttempts {
    /// Attempts at a test that has not passed yet.
    pub(crate) rerun: Option<String>,
    /// Attempts that would confirm a pass.
    pub(crate) confirmation: Option<&'static str>,
}

impl FailedTest {
    pub(crate) fn new(test: TestId) -> Self {
        Self {
            test,
            attempts: Vec::new(),
            never_excuse: None,
            confirmations: Vec::new(),
            first_failure: None,
            depends: None,
            suspicion: ChangeSuspicion::default(),
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
        });
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
    pub(crate) fn left_out(&mut self, reason: &str) {
        self.not_rerun = Some(format!("could not be run again: {reason}"));
    }

    /// Index of the first passing attempt after the first failure.
    pub(crate) fn pass(&self) -> Option<usize> {
        self.attempts.iter().skip(1).position(|one| one.outcome.is_pass()).map(|at| at + 1)
    }

    /// Whether it never passed before it ran at the base, so that the change may have caused it.
    pub(crate) fn is_suspected(&self) -> bool {
        self.pass().is_none() || !self.suspicion.here.is_empty()
    }

    /// `in_company`: whether a process has run several tests.
    pub(crate) fn finding(
        &self,
        missing: &MissingAttempts,
        isolated: bool,
        in_company: &dyn Fn(EnvironmentId) -> bool,
        compared: Option<(&Result<Comparison, String>, Granularity)>,
    ) -> Finding {
        let first = &self.attempts[0];
        let pass = self.pass();
        let status = pass.filter(|_| self.never_excuse.is_none()).map(|pass| PassStatus::of(self, pass));
        let pass = pass.map(|at| &self.attempts[at]);
        let excused = compared.filter(|(compared, granularity)| {
            let unaffected = |compared| self.suspicion.excuses(&self.test, compared, *granularity);
            self.never_excuse.is_none() && compared.as_ref().is_ok_and(unaffected)
        });
        let passed_on = pass.map(|one| match one.purpose {
            Purpose::Suite => Rung::Immediate,
            // Unless it had to have a process of its own.
            Purpose::Again if !isolated || in_company(one.environment) => Rung::Immediate,
            Purpose::AtEnd => Rung::AtEnd,
            _ => Rung::Fresh,
        });
        let rung = if excused.is_some() { Some(Rung::Intersect) } else { passed_on };
        let kind = match rung {
            _ if self.never_excuse.is_some() => VerdictKind::Real,
            _ if status == Some(PassStatus::Refuted) => VerdictKind::Real,
            Some(Rung::Immediate) => VerdictKind::FlakyIndependent,
            Some(Rung::AtEnd) => VerdictKind::FlakyBursty,
            Some(Rung::Fresh) => VerdictKind::FlakyStateDependent,
            Some(Rung::Intersect) => VerdictKind::UnaffectedByChange,
            None => VerdictKind::Real,
        };
        let is_fresh =
            |one: &&AttemptRecord| one.purpose == Purpose::Fresh || isolated && one.environment != first.environment;
        let fresh = self.attempts.iter().filter(is_fresh).map(|one| one.origin);
        let evidence = Evidence {
            attempts: self.attempts.len() as u32,
            failed: self.attempts.iter().filter(|one| one.outcome.is_failure()).count() as u32,
            fresh: fresh.max_by_key(|origin| *origin == Isolation::Process),
            after: first.position,
            never_excuse: self.never_excuse.clone(),
            confirmed: match status {
                Some(PassStatus::Holds { .. }) => Some(true),
                Some(PassStatus::Refuted) => Some(false),
                Some(PassStatus::Open | PassStatus::Unknown(_)) | None => None,
            },
            not_rerun: match &status {
                Some(PassStatus::Open) => missing.confirmation.map(str::to_owned),
                Some(PassStatus::Unknown(why)) => Some(why.clone()),
                None if pass.is_none() => self.not_rerun.clone().or_else(|| missing.rerun.clone()),
                _ => None,
            },
        };
        let sentence = match (pass, &status) {
            _ if kind == VerdictKind::UnaffectedByChange => excused.map_or(String::new(), |(compared, granularity)| {
                self.suspicion.excuse(&self.test, compared, granularity)
            }),
            (Some(_), _) if kind == VerdictKind::FlakyStateDependent && isolated => {
                "passed only in a process of its own, and not with the other tests of its program".to_owned()
            }
            (Some(pass), Some(status)) if kind.is_flaky() => self.flaky_sentence(pass, kind, status, &evidence),
            (_, Some(PassStatus::Refuted)) => self.first_time_sentence(),
            _ => self.real_sentence(&evidence),
        };
        let (alone, whole_command) = (vec![self.test.clone()], Vec::new());
        let replay = match kind {
            VerdictKind::Real if status == Some(PassStatus::Refuted) => Replay::fails(alone),
            VerdictKind::Real | VerdictKind::UnaffectedByChange if evidence.failed == evidence.attempts => {
                Replay::fails(alone)
            }
            VerdictKind::FlakyIndependent => Replay::sometimes_fails(alone),
            // What it depends on is not known, so only what has failed can be named.
            _ => Replay::sometimes_fails(whole_command),
        };
        finding(&self.test, Detail::Verdict(Verdict { kind, rung, evidence }), sentence, vec![replay])
    }

    fn flaky_sentence(
        &self,
        pass: &AttemptRecord,
        kind: VerdictKind,
        status: &PassStatus,
        evidence: &Evidence,
    ) -> String {
        let first = &self.attempts[0];
        let mut sentence = match kind {
            VerdictKind::FlakyIndependent if pass.run > 1 => {
                format!("passed when run again at once, the {} time", ordinal(pass.run))
            }
            VerdictKind::FlakyIndependent if pass.purpose == Purpose::Again => {
                "passed when the tests of its process were run again".to_owned()
            }
            VerdictKind::FlakyIndependent => "passed when run again at once".to_owned(),
            VerdictKind::FlakyBursty => "passed when run again after the whole suite, in the same process".to_owned(),
            _ if first.position == 0 => {
                "passed only in a fresh environment, though no test had run before it: loading the other files may do it"
                    .to_owned()
            }
            _ if first.position == 1 => {
                "passed only in a fresh environment: the test before it leaves something behind".to_owned()
            }
            _ => format!(
                "passed only in a fresh environment: one of the {} attempts before it leaves something behind",
                first.position
            ),
        };
        if first.outcome == Outcome::TimedOut {
            sentence.insert_str(0, "timed out, and ");
        }
        // The rung implies the same environment; if it was another one, the sentence mentions it.
        if kind != VerdictKind::FlakyStateDependent && pass.environment != first.environment {
            sentence = sentence.replace(", in the same process", "");
            sentence.push_str(", in a new process");
            if first.outcome == Outcome::TimedOut {
                sentence.push_str(" because the first had to be ended");
            }
        }
        if *status == (PassStatus::Holds { only_failed: true }) {
            sentence.push_str(", but not in a fresh environment");
        }
        if let Some(why) = &evidence.not_rerun {
            sentence.push_str(&format!("; it may still fail the first time in every process: {why}"));
        }
        sentence
    }

    fn first_time_sentence(&self) -> String {
        let (failed, processes) = self.failed_first();
        format!(
            "fails the first time in every process ({failed} of {processes}), and passes when run again there: look at what is done at first use only"
        )
    }

    fn real_sentence(&self, evidence: &Evidence) -> String {
        let first = self.attempts[0].outcome;
        let verb = match first {
            Outcome::Crashed(death) => format!("crashed ({death})"),
            Outcome::TimedOut => "timed out".to_owned(),
            Outcome::Error => "had an error in set-up or tear-down".to_owned(),
            _ => "failed".to_owned(),
        };
        let same = self.attempts.iter().filter(|one| one.outcome.is_failure()).all(|one| one.outcome == first);
        let mut sentence = match (evidence.failed, evidence.attempts) {
            (1, 1) => format!("{verb} the one time it ran"),
            (failed, attempts) if same => format!("{verb} {failed} of {attempts} times"),
            (failed, attempts) => format!("{verb} at first, and went wrong {failed} of {attempts} times"),
        };
        match evidence.fresh {
            _ if evidence.failed < evidence.attempts => {}
            Some(Isolation::Process) => sentence.push_str(", in a new process too"),
            Some(Isolation::Fork | Isolation::InProcess) => sentence.push_str(", in a fresh environment too"),
            None => {}
        }
        if let (Some(rule), true) = (&evidence.never_excuse, evidence.failed < evidence.attempts) {
            sentence.push_str(&format!("; {rule} is never excused by a later pass"));
        }
        if let Some(why) = &evidence.not_rerun {
            sentence.push_str(&format!("; {why}"));
        }
        sentence
    }
}

/// Error type and line of a failure: independent of where its files are.
pub(crate) fn failure_site(attempt: &Attempt) -> Option<(String, Option<u32>)> {
    attempt.failure.as_ref().map(|failure| (failure.kind.clone(), failure.line))
}

fn ordinal(number: u32) -> String {
    match number {
        1 => "first".to_owned(),
        2 => "second".to_owned(),
        3 => "third".to_owned(),
        _ => format!("{number}th"),
    }
}
