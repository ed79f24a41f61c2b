//! The interface between the run loop and the assertion filter.

use std::collections::HashMap;

use unflake_model::{Assertion, AssertionRecord, AssertionSite, Attempt, Finding, Session, SessionId, Test};

/// Decides which assertions may fail during a run, and how attempts count in which some did.
///
/// The run loop consults it beside a technique, which only sees the judged attempts.
pub trait AssertionPolicy {
    /// Called once, when the tests and assertions of the project are known, with hashes of the test
    /// files. Returns the assertions that may fail.
    fn start(
        &mut self,
        tests: &[Test],
        sites: &[AssertionSite],
        source_hashes: &HashMap<String, String>,
    ) -> Vec<Assertion>;

    /// The assertions that may fail from now on, if they have changed. Called before each batch.
    fn changed_assertions(&mut self) -> Option<Vec<Assertion>> {
        None
    }

    /// The attempt as it counts, given the records of its assertions, if there are any.
    fn judge(&mut self, attempt: &Attempt, records: Option<Vec<AssertionRecord>>) -> Attempt;

    /// Sessions of the policy itself, once the technique, with these findings, needs no more.
    fn next_sessions(&mut self, _findings: &[Finding]) -> Vec<Session> {
        Vec::new()
    }

    /// Whether a session is the policy's own. The technique does not observe those.
    fn owns(&self, _session: SessionId) -> bool {
        false
    }

    /// The findings of the run, given those of the technique.
    fn findings(&self, of_technique: Vec<Finding>) -> Vec<Finding> {
        of_technique
    }
}
