//! Words the verdict on a failing test.

use unflake_model::{Day, EarlierRuns, Evidence, Isolation, LeftFile, Outcome, Purpose, VerdictKind};

use crate::finding::load_remark;
use crate::rerun::confirmation::PassStatus;
use crate::rerun::failing_test::{AttemptRecord, FailedTest};
use crate::rerun::other_seeds::NewProcesses;

impl FailedTest {
    pub(crate) fn flaky_sentence(
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
            VerdictKind::FlakyIndependent if pass.purpose == Purpose::Suite && first.purpose == Purpose::Again => {
                return sentence + ", passed in the suite and failed when the tests of its process ran again";
            }
            VerdictKind::FlakyIndependent if pass.run > 1 => format!(", passed in immediate retry {}", pass.run),
            VerdictKind::FlakyIndependent if pass.purpose == Purpose::Again => {
                ", passed when the tests of its process ran again".to_owned()
            }
            VerdictKind::FlakySeedDependent => {
                let NewProcesses { tried, failed } = self.new_processes();
                format!(", in {failed} of {tried} new processes with other seeds and addresses")
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
        if *status == (PassStatus::Confirmed { only_failed: true }) {
            sentence.push_str(&format!(", failed in {}", fresh_environment(evidence)));
        }
        if let Some(why) = &evidence.not_rerun {
            sentence.push_str(&format!("; not confirmed in a fresh process: {why}"));
        }
        sentence
    }

    pub(crate) fn first_time_sentence(&self) -> String {
        let (failed, processes) = self.failed_first();
        format!(
            "fails the first time in every process ({failed} of {processes}) and passes in a retry there: check one-time initialization"
        )
    }

    /// For a failure that never passed, or that no pass excuses.
    pub(crate) fn failed_sentence(&self, evidence: &Evidence) -> String {
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
        match evidence.earlier.passed.map(Day::of) {
            Some(when) => sentence
                .push_str(&format!("; it passed with the same files on {when}: something outside of them changed")),
            None => sentence.push_str(&known_to_be_flaky(&evidence.earlier)),
        }
        if let Some(why) = &evidence.not_rerun {
            sentence.push_str(&format!("; {why}"));
        }
        sentence
    }
}

/// What the history knows of its flakiness; empty if nothing.
fn known_to_be_flaky(earlier: &EarlierRuns) -> String {
    let Some(last) = earlier.flaky.map(Day::of) else { return String::new() };
    let when = match earlier.flaky_days {
        0 | 1 => format!("on {last}"),
        days => format!("on {days} of the last {} days, last on {last}", EarlierRuns::DAYS),
    };
    let proof = earlier.proven_by.as_ref().map_or(String::new(), |by| format!(", proven by {by}"));
    format!("; it was flaky {when}{proof}: compare the failures")
}

impl FailedTest {
    /// A remark where the machine was busy in all failing attempts. Where a seed or a file decides, it
    /// does not matter.
    pub(crate) fn load_remark(&self) -> Option<String> {
        load_remark(self.attempts.iter().filter(|one| one.outcome.is_failure()).map(|one| one.load))
    }
}

/// Files named in a sentence.
const NAMED: usize = 3;

pub(crate) fn left_files_sentence(files: &[LeftFile], evidence: &Evidence) -> String {
    let mut named: Vec<&str> = files.iter().take(NAMED).map(|file| file.path.as_str()).collect();
    let more = format!("{} more", files.len().saturating_sub(NAMED));
    if files.len() > NAMED {
        named.push(&more);
    }
    let (named, failed) = (named.join(", "), failed_attempts(evidence));
    if files.iter().all(|file| file.is_leftover) {
        format!("state-dependent: {failed}; passes without {named}, which an earlier run of it left behind")
    } else {
        format!("{failed}; passes without {named}, which it writes itself: remove it, unless it belongs to the project")
    }
}

pub(crate) fn failed_attempts(evidence: &Evidence) -> String {
    format!("{} of {} attempts failed", evidence.failed, evidence.attempts)
}

fn fresh_environment(evidence: &Evidence) -> &'static str {
    match evidence.fresh {
        Some(Isolation::Process) => "a new process",
        _ => "a fresh environment",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NeverExcuse;
    use crate::simulation;
    use unflake_model::{Attempt, Session, SessionId};

    #[test]
    fn a_busy_machine_is_mentioned() {
        let remark = |loads: [Option<f64>; 2]| {
            let mut failed = FailedTest::new("t".into());
            let session = Session::fresh(SessionId(0), Purpose::Suite, Isolation::Fork, vec!["t".into()]);
            for load in loads {
                let attempt = simulation::attempt(&session, &"t".into(), Outcome::Failed);
                failed.observe(&Attempt { load, ..attempt }, &NeverExcuse::default());
            }
            failed.load_remark()
        };
        let busy = "; the machine was busy whenever it failed (load of 3.5 per core or more)";
        assert_eq!(remark([Some(12.0), Some(3.5)]).as_deref(), Some(busy));
        assert_eq!(remark([Some(12.0), Some(0.4)]), None);
        assert_eq!(remark([Some(12.0), None]), None);
    }
}
