//! A test that failed at least once: all attempts at it, and the verdict they lead to.

use unflake_model::{
    Attempt, Comparison, Dependencies, Detail, EnvironmentId, Evidence, Finding, Granularity, Isolation, Outcome,
    Purpose, Replay, Rung, SessionId, TestId, Verdict, VerdictKind,
};

use crate::NeverExcuse;
use crate::change_impact::unaffected::ChangeSuspicion;
use crate::finding::finding;
use crate::rerun::confirmation::{Confirmation, PassStatus};
use crate::rerun::other_seeds::{NewProcesses, without_addresses};

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
    /// Number of new processes with other seeds that were requested.
    pub(crate) other_seeds_requested: usize,
    /// Dependencies of the attempt that is about to be observed.
    pub(crate) depends: Option<Box<Dependencies>>,
    pub(crate) suspicion: ChangeSuspicion,
    /// Why a requested attempt could not be made.
    not_rerun: Option<String>,
}

/// The part of an attempt that the verdict rests on.
pub(crate) struct AttemptRecord {
    pub(crate) session: SessionId,
    pub(crate) purpose: Purpose,
    pub(crate) run: u32,
    pub(crate) environment: EnvironmentId,
    origin: Isolation,
    pub(crate) position: u32,
    pub(crate) outcome: Outcome,
    pub(crate) seconds: f64,
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
            is_message_varying: false,
            first_message: None,
            other_seeds_requested: 0,
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
            seconds: attempt.seconds,
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
    pub(crate) fn left_out(&mut self, reason: &str) {
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
            // Where the process of the suite is gone, this is a new one.
            Purpose::AtEnd if isolated || one.environment == first.environment => Rung::AtEnd,
            Purpose::OtherSeeds => Rung::OtherSeeds,
            _ => Rung::Fresh,
        });
        let rung = if excused.is_some() { Some(Rung::Intersect) } else { passed_on };
        let failed_alone = self.new_processes().failed > 0;
        let kind = match rung {
            _ if self.never_excuse.is_some() => VerdictKind::Real,
            _ if status == Some(PassStatus::Refuted) => VerdictKind::Real,
            Some(Rung::Immediate) => VerdictKind::FlakyIndependent,
            Some(Rung::AtEnd) => VerdictKind::FlakyBursty,
            // It had no company when it failed, either.
            Some(Rung::Fresh | Rung::OtherSeeds) if isolated && (failed_alone || !in_company(first.environment)) => {
                VerdictKind::FlakyIndependent
            }
            Some(Rung::Fresh | Rung::OtherSeeds) if failed_alone && self.is_decided_per_process() => {
                VerdictKind::FlakySeedDependent
            }
            Some(Rung::Fresh | Rung::OtherSeeds) if failed_alone => VerdictKind::FlakyIndependent,
            Some(Rung::Fresh | Rung::OtherSeeds) => VerdictKind::FlakyStateDependent,
            Some(Rung::Intersect) => VerdictKind::UnaffectedByChange,
            None if self.failed_with_other_seeds() > 0 => VerdictKind::Real,
            None => VerdictKind::NotDecided,
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
            other_seeds_failed: self.failed_with_other_seeds() as u32,
        };
        let sentence = match (pass, &status) {
            _ if kind == VerdictKind::UnaffectedByChange => excused.map_or(String::new(), |(compared, granularity)| {
                self.suspicion.excuse(&self.test, compared, granularity)
            }),
            (Some(_), _) if kind == VerdictKind::FlakyStateDependent && isolated => {
                format!(
                    "order-dependent: {}, passed only in a process without the other tests",
                    failed_attempts(&evidence)
                )
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
            VerdictKind::FlakyIndependent | VerdictKind::FlakySeedDependent | VerdictKind::NotDecided => {
                Replay::sometimes_fails(alone)
            }
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
            VerdictKind::FlakyIndependent => format!("random: {}", failed_attempts(evidence)),
            VerdictKind::FlakyBursty => format!("bursty: {}", failed_attempts(evidence)),
            VerdictKind::FlakySeedDependent => format!("seed-dependent: {}", failed_attempts(evidence)),
            _ => format!("order-dependent: {}", failed_attempts(evidence)),
        };
        if first.outcome == Outcome::TimedOut {
            sentence.push_str(", the first timed out");
        }
        sentence.push_str(&match kind {
            VerdictKind::FlakyIndependent if pass.run > 1 => format!(", passed in immediate retry {}", pass.run),
            VerdictKind::FlakyIndependent if pass.purpose == Purpose::Again => {
                ", passed when the tests of its process ran again".to_owned()
            }
            VerdictKind::FlakySeedDependent => {
                let NewProcesses { tried, failed } = self.new_processes();
                format!(
                    ", in {failed} of {tried} new processes: the hash seed, another seed or the address layout may decide"
                )
            }
            VerdictKind::FlakyIndependent if !matches!(pass.purpose, Purpose::Suite | Purpose::Again) => {
                let NewProcesses { tried, failed } = self.new_processes();
                format!(", in {failed} of {tried} new processes")
            }
            VerdictKind::FlakyIndependent => ", passed in an immediate retry".to_owned(),
            VerdictKind::FlakyBursty => ", passed at the end of the suite".to_owned(),
            _ => format!(", passed only in {}", fresh_environment(evidence)),
        });
        if kind == VerdictKind::FlakyStateDependent {
            sentence.push_str(&match first.position {
                0 => "; no test ran before it, so loading other files may cause it".to_owned(),
                1 => "; 1 test ran before it".to_owned(),
                before => format!("; {before} tests ran before it"),
            });
        } else if !matches!(pass.purpose, Purpose::Fresh | Purpose::OtherSeeds) && pass.environment != first.environment
        {
            sentence.push_str(" in a new process");
        }
        if *status == (PassStatus::Holds { only_failed: true }) {
            sentence.push_str(&format!(", failed in {}", fresh_environment(evidence)));
        }
        if let Some(why) = &evidence.not_rerun {
            sentence.push_str(&format!("; not confirmed in a fresh process: {why}"));
        }
        sentence
    }

    fn first_time_sentence(&self) -> String {
        let (failed, processes) = self.failed_first();
        format!(
            "fails the first time in every process ({failed} of {processes}) and passes in a retry there: check one-time initialization"
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
        let joint = if verb == "failed" { "" } else { " in" };
        let same = self.attempts.iter().filter(|one| one.outcome.is_failure()).all(|one| one.outcome == first);
        let mut sentence = match (evidence.failed, evidence.attempts) {
            (1, 1) => format!("{verb}{joint} its only attempt"),
            (failed, attempts) if same => format!("{verb}{joint} {failed} of {attempts} attempts"),
            (failed, attempts) => format!("{verb} first, {failed} of {attempts} attempts did not pass"),
        };
        if evidence.failed == evidence.attempts {
            match evidence.other_seeds_failed {
                0 if evidence.fresh.is_some() => {
                    sentence.push_str(&format!(", including {}", fresh_environment(evidence)));
                }
                0 => {}
                1 => sentence.push_str(", including a new process with other seeds"),
                several => sentence.push_str(&format!(", including {several} new processes with other seeds")),
            }
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

fn failed_attempts(evidence: &Evidence) -> String {
    format!("{} of {} attempts failed", evidence.failed, evidence.attempts)
}

fn fresh_environment(evidence: &Evidence) -> &'static str {
    match evidence.fresh {
        Some(Isolation::Process) => "a new process",
        _ => "a fresh environment",
    }
}

/// Error type and line of a failure: independent of where its files are.
pub(crate) fn failure_site(attempt: &Attempt) -> Option<(String, Option<u32>)> {
    attempt.failure.as_ref().map(|failure| (failure.kind.clone(), failure.line))
}
