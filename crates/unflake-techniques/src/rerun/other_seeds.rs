//! New processes with other seeds: is an outcome decided by what a process draws once?
//!
//! Retries in one process, and in forks of one, share its hash seed, its address layout and the
//! seeds of plugins: a failure that repeats there is no evidence against chance. Before a failure is
//! called real, it has failed in new processes with other seeds. Before a pass in a fresh
//! environment is attributed to earlier tests, the test has passed in several of them.

use unflake_model::{Attempt, EnvironmentId, Isolation, Outcome, Purpose, TestId};

use crate::rerun::failing_test::{AttemptRecord, FailedTest};

/// New processes in which a test must fail or pass where every attempt had a process of its own.
const ISOLATED: usize = 2;
/// New processes in which it must pass before earlier tests are held responsible, at most.
const PASSES: usize = 6;
/// A test that takes longer has one new process only.
const SLOW_SECONDS: f64 = 5.0;
/// From so many tests on, those that never passed first fail together in one process, isolated from
/// each other inside it. Only a test that passes there needs processes of its own.
const TOGETHER_FROM: usize = 3;
/// Immediate retries in each of these processes: do attempts in one process agree?
pub(crate) const RETRIES: u32 = 1;

/// What the ladder knows beside the attempts.
#[derive(Clone, Copy)]
pub(crate) struct Circumstances {
    /// Every test has processes of its own.
    pub(crate) isolated: bool,
    pub(crate) too_many: bool,
    /// New processes in which a test must fail with the same message before the failure is real.
    pub(crate) new_processes: usize,
}

/// First attempts in new processes that ran nothing before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct NewProcesses {
    pub(crate) tried: usize,
    pub(crate) failed: usize,
}

impl FailedTest {
    /// How many more new processes with other seeds it needs.
    pub(crate) fn other_seeds_needed(&self, circumstances: Circumstances) -> usize {
        let cannot_run = self.not_rerun.is_some() && self.other_seeds_requested > 0;
        if self.never_excuse.is_some() || cannot_run {
            return 0;
        }
        let wanted = match self.pass() {
            None => self.wanted_failures(circumstances),
            Some(pass) if !self.is_only_fresh(pass, circumstances.isolated) => 0,
            // Chance has been shown.
            Some(_) if self.new_processes().failed > 0 => 0,
            Some(_) if self.is_slow() => 1,
            Some(_) if circumstances.isolated => ISOLATED,
            Some(_) => PASSES.min(circumstances.new_processes),
        };
        wanted.saturating_sub(self.other_seeds_requested)
    }

    /// Whether it may run with others in one process, isolated from them.
    fn may_run_together(&self, circumstances: Circumstances) -> bool {
        self.pass().is_none() && !self.is_slow() && self.other_seeds_needed(circumstances) > 0
    }

    /// The result of an attempt with others in one process. A failure is one in a new process. A pass
    /// may be due to the isolation, or to the others: processes of its own decide.
    pub(crate) fn counts_together(&mut self, attempt: &Attempt) -> bool {
        let is_apart = attempt.origin == Isolation::InProcess || attempt.position == 0;
        let counts = is_apart && attempt.outcome.is_failure();
        if counts && !self.passed_together {
            self.other_seeds_requested += 1;
        } else if !counts {
            self.passed_together = true;
            self.other_seeds_requested = 0;
        }
        counts
    }

    fn wanted_failures(&self, circumstances: Circumstances) -> usize {
        match circumstances {
            _ if self.is_slow() => 1,
            Circumstances { too_many: true, .. } => 1,
            Circumstances { isolated: true, .. } => ISOLATED,
            // A message that differs between attempts suggests chance.
            Circumstances { new_processes, .. } if self.is_message_varying => new_processes + new_processes / 4,
            Circumstances { new_processes, .. } => new_processes,
        }
    }

    /// First attempts in processes in which no test ran before, apart from that of the suite.
    pub(crate) fn new_processes(&self) -> NewProcesses {
        let mut seen: Vec<EnvironmentId> = vec![self.attempts[0].environment];
        let mut found = NewProcesses::default();
        for attempt in &self.attempts {
            if attempt.position == 0 && !seen.contains(&attempt.environment) {
                seen.push(attempt.environment);
                found.tried += 1;
                found.failed += usize::from(attempt.outcome.is_failure());
            }
        }
        found
    }

    /// New processes with other seeds in which it failed at first.
    pub(crate) fn failed_with_other_seeds(&self) -> usize {
        let is_first =
            |one: &&AttemptRecord| matches!(one.purpose, Purpose::OtherSeeds | Purpose::Together) && one.run == 0;
        self.attempts.iter().filter(is_first).filter(|one| one.outcome.is_failure()).count()
    }

    /// The first seed with which it failed, and the first with which it passed.
    pub(crate) fn deciding_seeds(&self) -> impl Iterator<Item = u64> {
        let first = |wanted: fn(Outcome) -> bool| self.seeds.iter().find(|(_, outcome)| wanted(*outcome));
        [first(Outcome::is_failure), first(Outcome::is_pass)].into_iter().flatten().map(|(seed, _)| *seed)
    }

    /// Whether all attempts within each process agree, in more than one process that failed.
    pub(crate) fn is_decided_per_process(&self) -> bool {
        let environments = || self.attempts.iter().map(|attempt| attempt.environment);
        let outcomes = |environment| {
            self.attempts.iter().filter(move |one| one.environment == environment).map(|one| one.outcome.is_pass())
        };
        let agrees = |environment| {
            let mut all = outcomes(environment);
            let first = all.next();
            all.all(|outcome| Some(outcome) == first)
        };
        let repeated = |environment: &EnvironmentId| outcomes(*environment).count() > 1;
        environments().all(agrees) && environments().any(|environment| repeated(&environment))
    }

    /// Whether a pass suggests that earlier tests matter: it was no retry, and not in the process of
    /// the first failure.
    fn is_only_fresh(&self, pass: usize, isolated: bool) -> bool {
        let pass = &self.attempts[pass];
        let is_retry =
            matches!(pass.purpose, Purpose::Suite | Purpose::Again) || isolated && pass.purpose == Purpose::AtEnd;
        !is_retry && pass.environment != self.attempts[0].environment
    }

    fn is_slow(&self) -> bool {
        self.attempts.iter().any(|one| one.outcome == Outcome::TimedOut || one.seconds > SLOW_SECONDS)
    }
}

/// The tests that fail together in one process first, in the orders of its sessions: a test that others
/// disturb past the isolation comes before them in one of the two.
pub(crate) fn tests_together(failing: &[FailedTest], circumstances: Circumstances) -> Vec<Vec<TestId>> {
    let may = failing.iter().filter(|one| one.may_run_together(circumstances));
    let tests: Vec<TestId> = may.map(|one| one.test.clone()).collect();
    if !circumstances.isolated || tests.len() < TOGETHER_FROM {
        return Vec::new();
    }
    let reversed = tests.iter().rev().cloned().collect();
    vec![tests, reversed]
}

/// The text of a failure without addresses, which differ between processes.
pub(crate) fn without_addresses(text: &str) -> String {
    let mut parts = text.split("0x");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |kept, part| kept + "0x" + part.trim_start_matches(|letter: char| letter.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_do_not_make_a_message_vary() {
        let check = |text: &str, expected: &str| assert_eq!(without_addresses(text), expected);
        check("<Cart object at 0x7f8f91261310> is empty", "<Cart object at 0x> is empty");
        check("0xdeadbeef0x1, 0X12", "0x0x, 0X12");
        check("assert 'd' in 'ab'", "assert 'd' in 'ab'");
    }
}
