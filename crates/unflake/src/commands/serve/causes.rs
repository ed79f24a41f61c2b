//! Groups failures by cause, and sums up the time that each cause has cost.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use unflake_model::{Failure, Phase, Timestamp};
use unflake_store::{FailureRef, Source, Store, StoredTest, TestKey, TextKey};
use unflake_techniques::{ScoredRun, TestStanding};

use super::overview::concerns;
use crate::error::CommandError;
use crate::hash::hex;
use crate::history::scores::TestScores;
use crate::history::test_table::KeyIndex;

/// Failures of one test with the same fingerprint.
#[derive(Clone, Debug)]
pub(crate) struct SeenFailure {
    pub(crate) cause: String,
    pub(crate) fingerprint: String,
    pub(crate) count: usize,
    pub(crate) last: Timestamp,
    pub(crate) newest: FailureRef,
}

/// A cause with the failures and tests that it explains.
#[derive(Clone, Debug)]
pub(crate) struct CauseFacts {
    pub(crate) id: String,
    pub(crate) failures: usize,
    pub(crate) seconds_lost: f64,
    pub(crate) last: Option<Timestamp>,
    /// None where its failures have no text.
    pub(crate) newest: Option<FailureRef>,
    /// Those that cost most time first.
    pub(crate) tests: Vec<TestKey>,
}

/// The failures of the tests that need attention, each since the last change of its failure rate.
#[derive(Default)]
pub(super) struct Failures {
    /// The causes of tests that have been diagnosed.
    diagnosed: HashMap<TestKey, String>,
    seen: HashMap<TestKey, Vec<SeenFailure>>,
    /// The fingerprint of each distinct failure text.
    known: HashMap<(Option<Phase>, TextKey, TextKey, Option<TextKey>), String>,
}

impl Failures {
    pub(super) fn new(diagnosed: HashMap<TestKey, String>) -> Self {
        Self { diagnosed, ..Self::default() }
    }

    pub(super) fn read(
        mut self,
        store: &Store,
        scores: &TestScores,
        at: &KeyIndex,
    ) -> Result<HashMap<TestKey, Vec<SeenFailure>>, CommandError> {
        let from: HashMap<TestKey, u32> = (scores.all.iter())
            .filter(|(_, standing)| concerns(standing))
            .map(|(key, standing)| (*key, since(standing)))
            .collect();
        let Some(earliest) = from.values().min() else { return Ok(self.seen) };
        for (run, parts) in (0..).zip(&scores.parts).skip(*earliest as usize) {
            if scores.bad_days.contains(&run) {
                continue;
            }
            let when = scores.runs[run as usize].started;
            for part in parts {
                let mut failed = Vec::new();
                store.failed_in(*part, &mut |test, failure| {
                    let test = scores.today(test);
                    if at.get(test).is_some() && from.get(&test).is_some_and(|from| run >= *from) {
                        failed.push((test, failure));
                    }
                })?;
                for (test, failure) in failed {
                    self.add(store, scores.tests.get(&test), test, failure, when)?;
                }
            }
        }
        let merged = merged_causes(&self.seen);
        for seen in self.seen.values_mut().flatten() {
            if let Some(cause) = merged.get(&seen.cause) {
                seen.cause.clone_from(cause);
            }
        }
        for seen in self.seen.values_mut() {
            seen.sort_by(|one, other| other.count.cmp(&one.count).then(other.last.cmp(&one.last)));
        }
        Ok(self.seen)
    }

    fn add(
        &mut self,
        store: &Store,
        stored: Option<&StoredTest>,
        test: TestKey,
        failure: FailureRef,
        when: Timestamp,
    ) -> Result<(), CommandError> {
        let texts = (failure.phase, failure.kind, failure.message, failure.file);
        let fingerprint = match self.known.entry(texts) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(fingerprint(store, failure)?),
        };
        // The same text in another file is another cause. Imported reports do not name the file of
        // a failure.
        let cause = match (self.diagnosed.get(&test), failure.file, stored) {
            (Some(cause), ..) => cause.clone(),
            (None, None, Some(stored)) => joined(&[fingerprint, file_of(stored)]),
            _ => fingerprint.clone(),
        };
        let all = self.seen.entry(test).or_default();
        match all.iter_mut().find(|one| one.fingerprint == *fingerprint) {
            Some(known) => {
                known.count += 1;
                if when >= known.last {
                    (known.last, known.newest) = (when, failure);
                }
            }
            None => {
                all.push(SeenFailure { cause, fingerprint: fingerprint.clone(), count: 1, last: when, newest: failure })
            }
        }
        Ok(())
    }
}

/// What each cause becomes where failures of one test at one line have several: only their messages
/// differ.
fn merged_causes(seen: &HashMap<TestKey, Vec<SeenFailure>>) -> HashMap<String, String> {
    let mut merged: HashMap<String, String> = HashMap::new();
    let mut tests: Vec<_> = seen.iter().collect();
    tests.sort_by_key(|(test, _)| **test);
    for (_, failures) in tests {
        let mut at_line: HashMap<(TextKey, TextKey, u32), &str> = HashMap::new();
        for one in failures {
            let (Some(file), Some(line)) = (one.newest.file, one.newest.line) else { continue };
            let first = *at_line.entry((one.newest.kind, file, line)).or_insert(&one.cause);
            let (from, to) = (current(&merged, &one.cause), current(&merged, first));
            if from != to {
                merged.insert(from, to);
            }
        }
    }
    merged.keys().map(|cause| (cause.clone(), current(&merged, cause))).collect()
}

/// Follows a cause to the one that it was merged into.
fn current(merged: &HashMap<String, String>, cause: &str) -> String {
    let mut cause = cause;
    while let Some(next) = merged.get(cause) {
        cause = next;
    }
    cause.to_owned()
}

fn fingerprint(store: &Store, failure: FailureRef) -> Result<String, CommandError> {
    let whole = Failure {
        phase: failure.phase.unwrap_or(Phase::Call),
        kind: store.text(failure.kind)?,
        message: store.text(failure.message)?,
        trace: String::new(),
        file: failure.file.map(|file| store.text(file)).transpose()?,
        line: None,
    };
    Ok(whole.fingerprint().0)
}

/// The file of a test, else the part of its name before the last `::`.
fn file_of(stored: &StoredTest) -> &str {
    let name = stored.test.as_str();
    stored.file.as_deref().unwrap_or_else(|| name.rsplit_once("::").map_or(name, |(before, _)| before))
}

/// The number of the run since which the failure rate of a test is unchanged.
fn since(standing: &TestStanding) -> u32 {
    let since = standing.score.since.map_or(0, |since| since.run);
    standing.strip.get(since).map_or(0, |(run, _)| *run)
}

/// The time that a test has cost since then: its total, in proportion to the failing runs.
pub(super) fn lost(standing: &TestStanding) -> f64 {
    let failed =
        |from: u32| standing.strip.iter().filter(|(run, seen)| *run >= from && *seen != ScoredRun::Passed).count();
    let all = failed(0).max(1) as f64;
    f64::from(standing.seconds_lost) * failed(since(standing)) as f64 / all
}

fn joined(parts: &[&str]) -> String {
    hex(parts.join("\n").as_bytes())
}

pub(super) fn causes(
    scores: &TestScores,
    at: &KeyIndex,
    failures: &HashMap<TestKey, Vec<SeenFailure>>,
) -> Vec<CauseFacts> {
    let mut causes: HashMap<String, CauseFacts> = HashMap::new();
    let new = |id: &str| CauseFacts {
        id: id.to_owned(),
        failures: 0,
        seconds_lost: 0.0,
        last: None,
        newest: None,
        tests: Vec::new(),
    };
    for (key, standing) in scores.all.iter().filter(|(_, standing)| concerns(standing)) {
        let lost = lost(standing);
        let seen = failures.get(key).map_or(&[][..], Vec::as_slice);
        let all: usize = seen.iter().map(|one| one.count).sum();
        for one in seen {
            let cause = causes.entry(one.cause.clone()).or_insert_with(|| new(&one.cause));
            cause.failures += one.count;
            // The cost of a test that fails in several ways is divided among them.
            cause.seconds_lost += lost * one.count as f64 / all as f64;
            if cause.last.is_none_or(|last| last <= one.last) {
                (cause.last, cause.newest) = (Some(one.last), Some(one.newest));
            }
            if cause.tests.last() != Some(key) {
                cause.tests.push(*key);
            }
        }
        if seen.is_empty() {
            let name = scores.tests.get(key).map_or("", |stored| stored.test.as_str());
            let cause = CauseFacts {
                failures: standing.score.failures + standing.score.broken,
                seconds_lost: lost,
                last: last_failed(standing, scores).map(|run| run.started),
                tests: vec![*key],
                ..new(&joined(&["says nothing", name]))
            };
            causes.insert(cause.id.clone(), cause);
        }
    }
    let mut causes: Vec<CauseFacts> = causes.into_values().collect();
    let lost = |key: &TestKey| at.get(*key).map_or(0.0, |at| lost(&scores.all[at].1));
    for cause in &mut causes {
        cause.tests.sort_by(|one, other| lost(other).total_cmp(&lost(one)).then(one.cmp(other)));
    }
    causes.sort_by(|one, other| other.seconds_lost.total_cmp(&one.seconds_lost).then_with(|| one.id.cmp(&other.id)));
    causes
}

fn last_failed<'a>(standing: &TestStanding, scores: &'a TestScores) -> Option<&'a Source> {
    let last = standing.strip.iter().rev().find(|(_, seen)| *seen != ScoredRun::Passed)?;
    scores.runs.get(last.0 as usize)
}

#[cfg(test)]
mod tests;
