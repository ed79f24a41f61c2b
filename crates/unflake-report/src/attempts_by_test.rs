//! Groups the attempts of a run by test.

use std::collections::HashMap;

use unflake_model::{Attempt, Detail, Finding, Outcome, Purpose, TestId};

use crate::RunReport;

/// One test with its attempts and findings.
pub(crate) struct TestAttempts<'a> {
    pub(crate) id: &'a TestId,
    /// The file that defines it.
    pub(crate) file: Option<&'a str>,
    pub(crate) line: Option<u32>,
    pub(crate) attempts: Vec<&'a Attempt>,
    /// The verdict on it.
    pub(crate) finding: Option<&'a Finding>,
    /// Findings of the assertion filter about assertions that failed in it.
    pub(crate) filtered: Vec<&'a Finding>,
    /// Whether the change can have caused the failure.
    pub(crate) intersect: Option<&'a Finding>,
}

impl<'a> TestAttempts<'a> {
    fn new(id: &'a TestId) -> Self {
        Self { id, file: None, line: None, attempts: Vec::new(), finding: None, filtered: Vec::new(), intersect: None }
    }

    pub(crate) fn failures(&self) -> impl Iterator<Item = &'a Attempt> {
        self.attempts.iter().copied().filter(|attempt| attempt.outcome.is_failure())
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failures().next().is_some()
    }

    pub(crate) fn has_passed(&self) -> bool {
        self.attempts.iter().any(|attempt| attempt.outcome.is_pass())
    }

    /// The outcome of the first attempt. Later ones are retries of a failed test.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        self.attempts.first().map(|attempt| attempt.outcome)
    }

    pub(crate) fn is_real(&self) -> bool {
        self.finding.is_some_and(Finding::is_real)
    }
}

/// Every test of a run: the listed ones in the runner's order, then those run without being listed.
pub(crate) struct AttemptsByTest<'a> {
    pub(crate) list: Vec<TestAttempts<'a>>,
    index: HashMap<&'a TestId, usize>,
}

impl<'a> AttemptsByTest<'a> {
    pub(crate) fn of(run: &RunReport<'a>) -> Self {
        let mut cases = Self { list: Vec::with_capacity(run.tests.len()), index: HashMap::new() };
        for test in run.tests {
            let case = cases.entry(&test.id);
            case.file = test.file.as_deref();
            case.line = test.line;
        }
        // Attempts at the merge base belong to another version of the test.
        for attempt in run.attempts.iter().filter(|attempt| attempt.purpose != Purpose::Base) {
            cases.entry(&attempt.test).attempts.push(attempt);
        }
        for finding in run.findings {
            let case = cases.entry(&finding.test);
            match finding.detail {
                Detail::Verdict(_) => drop(case.finding.get_or_insert(finding)),
                Detail::Filter(_) => case.filtered.push(finding),
                Detail::Intersect(_) => drop(case.intersect.get_or_insert(finding)),
                _ => {}
            }
        }
        for id in run.left {
            cases.entry(id);
        }
        cases
    }

    pub(crate) fn get(&self, id: &TestId) -> Option<&TestAttempts<'a>> {
        self.index.get(id).map(|&at| &self.list[at])
    }

    /// How many tests had at least one attempt.
    pub(crate) fn ran(&self) -> usize {
        self.list.iter().filter(|case| !case.attempts.is_empty()).count()
    }

    fn entry(&mut self, id: &'a TestId) -> &mut TestAttempts<'a> {
        let at = *self.index.entry(id).or_insert_with(|| {
            self.list.push(TestAttempts::new(id));
            self.list.len() - 1
        });
        &mut self.list[at]
    }
}
