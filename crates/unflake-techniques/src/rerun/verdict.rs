//! The verdict on a failing test: what its attempts prove.

use unflake_model::{
    Comparison, Detail, EarlierRuns, EnvironmentId, Evidence, Finding, Granularity, Isolation, Purpose, Replay, Rung,
    Verdict, VerdictKind, World,
};

use crate::finding::finding;
use crate::rerun::confirmation::PassStatus;
use crate::rerun::failing_test::{AttemptRecord, FailedTest};
use crate::rerun::sentences::{failed_attempts, left_files_sentence};

/// Why further attempts were not made on any test.
pub(crate) struct MissingAttempts {
    /// Attempts at a test that has not passed yet.
    pub(crate) rerun: Option<String>,
    /// Attempts that would confirm a pass.
    pub(crate) confirmation: Option<&'static str>,
}

impl FailedTest {
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
        let left_files =
            if pass.is_none() && self.never_excuse.is_none() { self.left_files.decisive() } else { Vec::new() };
        let rung = match excused {
            _ if !left_files.is_empty() => Some(Rung::WithoutFiles),
            Some(_) => Some(Rung::Intersect),
            None => passed_on,
        };
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
            Some(Rung::WithoutFiles) if left_files.iter().all(|file| file.is_leftover) => {
                VerdictKind::FlakyStateDependent
            }
            // It may be a file of the project, such as an expected result that it writes where it is missing.
            Some(Rung::WithoutFiles) => VerdictKind::NotDecided,
            // Something outside of the code has changed.
            None if self.earlier.passed.is_some() => VerdictKind::NotDecided,
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
                Some(PassStatus::Confirmed { .. }) => Some(true),
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
            left_files: left_files.iter().map(|file| file.path.clone()).collect(),
            beside: Vec::new(),
            earlier: if pass.is_none() { self.earlier.clone() } else { EarlierRuns::default() },
        };
        let mut sentence = match (pass, &status) {
            _ if kind == VerdictKind::UnaffectedByChange => excused.map_or(String::new(), |(compared, granularity)| {
                self.suspicion.excuse(&self.test, compared, granularity)
            }),
            _ if rung == Some(Rung::WithoutFiles) => left_files_sentence(&left_files, &evidence),
            (Some(_), _) if kind == VerdictKind::FlakyStateDependent && isolated => {
                format!(
                    "order-dependent: {}, passed only in a process without the other tests",
                    failed_attempts(&evidence)
                )
            }
            (Some(pass), Some(status)) if kind.is_flaky() => self.flaky_sentence(pass, kind, status, &evidence),
            (_, Some(PassStatus::Refuted)) => self.first_time_sentence(),
            _ => self.failed_sentence(&evidence),
        };
        if rung != Some(Rung::WithoutFiles) && kind != VerdictKind::FlakySeedDependent {
            sentence.push_str(&self.load_remark().unwrap_or_default());
        }
        let (alone, whole_command) = (vec![self.test.clone()], Vec::new());
        let replay = match kind {
            _ if rung == Some(Rung::WithoutFiles) => Replay::fails(alone.clone()),
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
        let mut replays = vec![replay];
        if rung == Some(Rung::WithoutFiles) {
            let under = self.left_files.world_without(&left_files);
            replays.push(Replay { under, ..Replay::passes(vec![self.test.clone()]) });
        }
        if kind == VerdictKind::FlakySeedDependent {
            let under = |seed| World { seed: Some(seed), ..World::default() };
            let seeded = |seed| Replay { under: under(seed), ..Replay::sometimes_fails(vec![self.test.clone()]) };
            replays.extend(self.deciding_seeds().map(seeded));
        }
        finding(&self.test, Detail::Verdict(Verdict { kind, rung, evidence }), sentence, replays)
    }
}
