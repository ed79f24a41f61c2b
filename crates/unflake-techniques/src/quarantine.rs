//! Decides which failures of a run are excused by the quarantine, and the standing of each entry.
//!
//! An entry excuses one failure of one test until a date. A test that fails differently, or after
//! that date, fails the run.

use std::collections::BTreeSet;

use unflake_model::{Attempt, Day, QuarantineMode, QuarantineStanding, Quarantined, TestId};

/// The standing of an entry, given all attempts of a run.
pub fn quarantine_standing(
    entry: &Quarantined,
    today: Day,
    listed: &BTreeSet<&TestId>,
    attempts: &[Attempt],
) -> QuarantineStanding {
    if entry.expires < today {
        return QuarantineStanding::Expired;
    }
    if !listed.contains(&entry.test) {
        return QuarantineStanding::Unknown;
    }
    let of_test = || attempts.iter().filter(|attempt| attempt.test == entry.test);
    let mut failed = of_test().filter(|attempt| attempt.outcome.is_failure()).peekable();
    if failed.peek().is_none() {
        return match entry.mode {
            _ if of_test().next().is_some() => QuarantineStanding::Passed,
            QuarantineMode::Skip => QuarantineStanding::LeftOut,
            QuarantineMode::Run => QuarantineStanding::NotRun,
        };
    }
    let is_known = |attempt: &Attempt| {
        attempt.failure.as_ref().is_some_and(|failure| {
            // An entry can come from an imported report, which has only a message.
            let mut fingerprints = failure.message_fingerprints().into_iter().chain([failure.fingerprint()]);
            fingerprints.any(|fingerprint| entry.failures.contains(&fingerprint))
        })
    };
    if failed.all(is_known) { QuarantineStanding::Excused } else { QuarantineStanding::FailedOtherwise }
}

#[cfg(test)]
mod tests {
    use unflake_model::{Failure, Isolation, Outcome, Purpose, Session, SessionId};

    use super::*;
    use crate::simulation;

    fn failure(message: &str) -> Failure {
        Failure { message: message.to_owned(), ..simulation::failure("AssertionError") }
    }

    fn attempt(message: Option<&str>) -> Attempt {
        let session = Session::fresh(SessionId(0), Purpose::Suite, Isolation::Fork, vec![TestId::new("t::a")]);
        let outcome = if message.is_some() { Outcome::Failed } else { Outcome::Passed };
        Attempt { failure: message.map(failure), ..simulation::attempt(&session, &session.tests[0], outcome) }
    }

    fn entry() -> Quarantined {
        Quarantined {
            test: TestId::new("t::a"),
            reason: "the server is slow on Mondays".to_owned(),
            owner: "@ada".to_owned(),
            issue: None,
            added: day("2026-11-01"),
            expires: day("2026-11-15"),
            mode: QuarantineMode::Run,
            failures: vec![failure("no answer").fingerprint()],
        }
    }

    fn day(text: &str) -> Day {
        text.parse().expect("a day")
    }

    fn of(today: &str, attempts: &[Attempt]) -> QuarantineStanding {
        let test = TestId::new("t::a");
        quarantine_standing(&entry(), day(today), &BTreeSet::from([&test]), attempts)
    }

    #[test]
    fn only_the_named_failure_is_excused() {
        assert_eq!(of("2026-11-10", &[attempt(Some("no answer"))]), QuarantineStanding::Excused);
        assert_eq!(of("2026-11-10", &[attempt(Some("no answer")), attempt(None)]), QuarantineStanding::Excused);
        assert_eq!(of("2026-11-10", &[attempt(Some("wrong answer"))]), QuarantineStanding::FailedOtherwise);
        let both = [attempt(Some("no answer")), attempt(Some("wrong answer"))];
        assert_eq!(of("2026-11-10", &both), QuarantineStanding::FailedOtherwise);
    }

    #[test]
    fn an_entry_is_valid_through_its_last_day() {
        assert_eq!(of("2026-11-15", &[attempt(Some("no answer"))]), QuarantineStanding::Excused);
        assert_eq!(of("2026-11-16", &[attempt(Some("no answer"))]), QuarantineStanding::Expired);
    }

    #[test]
    fn a_test_that_did_not_fail_needs_no_excuse() {
        assert_eq!(of("2026-11-10", &[attempt(None)]), QuarantineStanding::Passed);
        assert_eq!(of("2026-11-10", &[]), QuarantineStanding::NotRun);
        assert_eq!(
            quarantine_standing(&entry(), day("2026-11-10"), &BTreeSet::new(), &[]),
            QuarantineStanding::Unknown
        );
    }

    #[test]
    fn a_skipped_entry_that_did_not_run_was_left_out() {
        let test = TestId::new("t::a");
        let entry = Quarantined { mode: QuarantineMode::Skip, ..entry() };
        assert_eq!(
            quarantine_standing(&entry, day("2026-11-10"), &BTreeSet::from([&test]), &[]),
            QuarantineStanding::LeftOut
        );
    }

    #[test]
    fn an_entry_without_failures_excuses_nothing() {
        let test = TestId::new("t::a");
        let entry = Quarantined { failures: Vec::new(), ..entry() };
        let listed = BTreeSet::from([&test]);
        let attempts = [attempt(Some("no answer"))];
        assert_eq!(
            quarantine_standing(&entry, day("2026-11-10"), &listed, &attempts),
            QuarantineStanding::FailedOtherwise
        );
    }
}
