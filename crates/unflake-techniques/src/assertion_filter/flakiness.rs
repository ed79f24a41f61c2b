//! Flakiness scores (Gao 2017, chapter 5): how much an assertion varies on unchanged code, per
//! version and over all versions.

use std::collections::BTreeMap;

use unflake_model::{Assertion, AssertionOutcome, AssertionSample, TestId, ValueGroup};

use crate::variance::entropy::entropy;

/// An assertion with its samples on each version.
#[derive(Clone, Debug, PartialEq)]
pub struct Flakiness {
    pub assertion: Assertion,
    /// Body hash of the latest sample.
    pub body: String,
    /// Oldest first.
    pub versions: Vec<VersionSample>,
}

/// What an assertion evaluated to on one version.
#[derive(Clone, Debug, PartialEq)]
pub struct VersionSample {
    pub version: String,
    pub groups: Vec<ValueGroup>,
}

impl VersionSample {
    /// F(a) = −Σ p·ln p over the observed values (5.1).
    pub fn score(&self) -> f64 {
        entropy(&self.groups.iter().map(|group| group.times).collect::<Vec<_>>())
    }

    pub fn runs(&self) -> u32 {
        self.groups.iter().map(|group| group.times).sum()
    }

    /// Whether it both passed and failed. Values that vary while the assertion passes do not matter.
    pub fn is_inconsistent(&self) -> bool {
        is_inconsistent(&self.groups)
    }
}

impl Flakiness {
    /// The version with the highest score; a flaky assertion is one that is flaky on any version.
    pub fn worst(&self) -> &VersionSample {
        let worst = self.versions.iter().max_by(|one, other| one.score().total_cmp(&other.score()));
        worst.expect("every assertion has a sample")
    }

    pub fn score(&self) -> f64 {
        self.worst().score()
    }

    /// The highest-scoring version on which it both passed and failed.
    pub fn worst_inconsistent(&self) -> Option<&VersionSample> {
        let flaky = self.versions.iter().filter(|sample| sample.is_inconsistent());
        flaky.max_by(|one, other| one.score().total_cmp(&other.score()))
    }

    /// Values of failing evaluations on any version, most frequent first.
    pub fn failing(&self) -> Vec<String> {
        let mut times: BTreeMap<&str, u32> = BTreeMap::new();
        for group in self.versions.iter().flat_map(|sample| &sample.groups) {
            group.failing.iter().for_each(|one| *times.entry(one).or_default() += group.times);
        }
        let mut failing: Vec<(&str, u32)> = times.into_iter().collect();
        failing.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        failing.into_iter().map(|(values, _)| values.to_owned()).collect()
    }

    /// The first sub-expression whose value was not the same in every run.
    pub fn varying(&self) -> Option<&str> {
        let first = |group: &'_ ValueGroup| -> Vec<String> { group.values.lines().map(str::to_owned).collect() };
        let groups = &self.worst().groups;
        let rest: Vec<Vec<String>> = groups.iter().skip(1).map(first).collect();
        let differs =
            |(at, line): &(usize, &str)| rest.iter().any(|one| one.get(*at).is_none_or(|other| other != line));
        let (_, line) = groups.first()?.values.lines().enumerate().find(differs)?;
        line.split_once(" = ").map(|(expression, _)| expression)
    }
}

/// Groups samples by assertion and version, oldest sample first.
pub fn accumulate(samples: impl IntoIterator<Item = AssertionSample>) -> Vec<Flakiness> {
    let mut all: BTreeMap<Assertion, Flakiness> = BTreeMap::new();
    for AssertionSample { assertion, body, version, groups } in samples {
        let flakiness = all.entry(assertion.clone());
        let flakiness = flakiness.or_insert_with(|| Flakiness { assertion, body: String::new(), versions: Vec::new() });
        flakiness.body = body;
        let at = flakiness.versions.iter().position(|sample| sample.version == version).unwrap_or_else(|| {
            flakiness.versions.push(VersionSample { version, groups: Vec::new() });
            flakiness.versions.len() - 1
        });
        groups.into_iter().for_each(|group| add(&mut flakiness.versions[at].groups, group));
    }
    all.into_values().collect()
}

pub(crate) fn is_inconsistent(groups: &[ValueGroup]) -> bool {
    let any = |outcome: fn(AssertionOutcome) -> bool| groups.iter().any(|group| outcome(group.how));
    any(|outcome| outcome == AssertionOutcome::Held) && any(AssertionOutcome::is_failure)
}

/// Merges a group of equal values into those of a version.
pub(crate) fn add(groups: &mut Vec<ValueGroup>, group: ValueGroup) {
    match groups.iter_mut().find(|there| there.how == group.how && there.values == group.values) {
        Some(there) => there.times += group.times,
        None => groups.push(group),
    }
}

/// F(test) = the largest F of its assertions (5.2), most flaky test first.
pub fn test_scores(assertions: &[Flakiness]) -> Vec<(&TestId, f64)> {
    largest(assertions.iter().map(|one| (&one.assertion.test, one.score())))
}

/// The same per object under test: the part of the varying expression before its last dot, with its
/// location.
pub fn object_scores(assertions: &[Flakiness]) -> Vec<((String, String), f64)> {
    largest(assertions.iter().filter_map(|one| {
        let varying = one.varying()?;
        let object = varying.rsplit_once('.').map_or(varying, |(object, _)| object);
        let spot = &one.assertion.spot;
        Some(((object.to_owned(), format!("{} in {}", spot.function, spot.file)), one.score()))
    }))
}

fn largest<K: Ord>(scores: impl Iterator<Item = (K, f64)>) -> Vec<(K, f64)> {
    let mut of: BTreeMap<K, f64> = BTreeMap::new();
    for (key, score) in scores {
        let known = of.entry(key).or_default();
        *known = known.max(score);
    }
    let mut of: Vec<(K, f64)> = of.into_iter().collect();
    of.sort_by(|one, other| other.1.total_cmp(&one.1));
    of
}

#[cfg(test)]
mod tests;
