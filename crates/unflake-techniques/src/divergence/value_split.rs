//! Splits runs by the value of one feature into predicted failures and passes, with an exact
//! p-value.

use std::sync::Arc;

use crate::divergence::features::{FeatureSample, FeatureValue};
use crate::stats::exact_test::ExactTest;

/// The best split by one feature.
#[derive(Clone, Debug)]
pub(crate) struct ValueSplitRule {
    /// By run: whether a failure is predicted. Never for a run without a value.
    pub(crate) predicts: Vec<bool>,
    /// P-value for this feature alone.
    pub(crate) p_value: f64,
    pub(crate) rule: SplitRule,
}

/// The rule that is true in failing runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SplitRule {
    /// The largest number below the threshold, and the smallest that counts.
    AtLeast(Option<f64>, f64),
    /// The largest number that counts, and the smallest above the threshold.
    AtMost(f64, Option<f64>),
    Between(f64, f64),
    Outside(f64, f64),
    OneOf(Vec<Arc<str>>),
}

/// RunOutcomes of the runs.
pub(crate) struct RunOutcomes<'a> {
    pub(crate) failed: &'a [bool],
    pub(crate) exact: &'a ExactTest,
}

impl RunOutcomes<'_> {
    pub(crate) fn failing(&self) -> usize {
        self.failed.iter().filter(|failed| **failed).count()
    }

    /// Number of runs whose outcome is predicted wrongly.
    pub(crate) fn mispredicted(&self, predicts: &[bool]) -> usize {
        self.failed.iter().zip(predicts).filter(|(failed, predicts)| failed != predicts).count()
    }

    pub(crate) fn split(&self, samples: &[Option<FeatureSample>]) -> Option<ValueSplitRule> {
        let numbers: Option<Vec<Option<f64>>> = samples
            .iter()
            .map(|sample| match sample.as_ref().map(|sample| &sample.value) {
                Some(FeatureValue::Number(number)) => Some(Some(*number)),
                Some(FeatureValue::Word(_)) => None,
                None => Some(None),
            })
            .collect();
        match numbers {
            Some(numbers) => self.numbers(&numbers),
            None => self.words(samples),
        }
    }

    pub(crate) fn numbers(&self, numbers: &[Option<f64>]) -> Option<ValueSplitRule> {
        let mut sorted: Vec<(f64, bool)> =
            numbers.iter().zip(self.failed).filter_map(|(number, failed)| Some(((*number)?, *failed))).collect();
        sorted.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (all, failing) = (self.failed.len(), self.failing());
        // Boundaries between different numbers, with the number of failing runs below each.
        let (mut cuts, mut before) = (Vec::new(), 0);
        for at in 1..sorted.len() {
            before += usize::from(sorted[at - 1].1);
            if sorted[at - 1].0 < sorted[at].0 {
                cuts.push((at, before));
            }
        }
        let there = sorted.iter().filter(|(_, failed)| *failed).count();
        let below = cuts.iter().map(|(at, hits)| (self.exact.at_least(*hits, *at, failing, all), *at, false));
        let above = cuts
            .iter()
            .map(|(at, hits)| (self.exact.at_least(there - hits, sorted.len() - at, failing, all), *at, true));
        let (one, at, is_above) = below.chain(above).min_by(|one, other| one.0.total_cmp(&other.0))?;
        let (last, next) = (sorted[at - 1].0, sorted[at].0);
        let rule = if is_above { SplitRule::AtLeast(Some(last), next) } else { SplitRule::AtMost(last, Some(next)) };
        let predicts = predictions(numbers, &rule);
        // Of all arrangements of outcomes, one on either side splits without a misprediction.
        let ways = if self.mispredicted(&predicts) == 0 { 2.0 } else { 2.0 * cuts.len() as f64 };
        let threshold = ValueSplitRule { predicts, p_value: (one * ways).min(1.0), rule };
        let range = self.range(numbers, &sorted).filter(|range| range.p_value < threshold.p_value);
        Some(range.unwrap_or(threshold))
    }

    /// Failing runs in the middle and passing ones around them, or vice versa; without
    /// mispredictions.
    fn range(&self, numbers: &[Option<f64>], sorted: &[(f64, bool)]) -> Option<ValueSplitRule> {
        let (all, failing) = (self.failed.len(), self.failing());
        let ends = |failed: bool| {
            let mut those = sorted.iter().filter(|(_, other)| *other == failed).map(|(number, _)| *number);
            let first = those.next()?;
            Some((first, those.next_back().unwrap_or(first)))
        };
        let ((low, high), (least, most)) = (ends(true)?, ends(false)?);
        let candidates =
            [(SplitRule::Between(low, high), all - failing + 1), (SplitRule::Outside(least, most), failing + 1)];
        candidates.into_iter().find_map(|(rule, ways)| {
            let predicts = predictions(numbers, &rule);
            let p_value = 2.0 * ways as f64 * self.exact.one_assignment(all, failing);
            (self.mispredicted(&predicts) == 0).then_some(ValueSplitRule { predicts, p_value: p_value.min(1.0), rule })
        })
    }

    fn words(&self, samples: &[Option<FeatureSample>]) -> Option<ValueSplitRule> {
        // Each word with its number of failing and passing runs.
        let mut groups: Vec<(Option<&Arc<str>>, [usize; 2])> = Vec::new();
        for (sample, failed) in samples.iter().zip(self.failed) {
            let word = sample.as_ref().map(|sample| match &sample.value {
                FeatureValue::Word(word) => word,
                FeatureValue::Number(_) => &sample.shown,
            });
            let at = groups.iter().position(|(other, _)| *other == word).unwrap_or_else(|| {
                groups.push((word, [0, 0]));
                groups.len() - 1
            });
            groups[at].1[usize::from(!*failed)] += 1;
        }
        if groups.len() < 2 {
            return None;
        }
        let is_failing =
            |(word, [failing, passing]): &(Option<&Arc<str>>, [usize; 2])| word.is_some() && failing > passing;
        let mut failing: Vec<_> = groups.iter().filter(|group| is_failing(group)).collect();
        failing.sort_by_key(|(_, [failing, _])| std::cmp::Reverse(*failing));
        let words: Vec<Arc<str>> = failing.iter().filter_map(|(word, _)| word.cloned()).collect();
        let predicts: Vec<bool> = samples
            .iter()
            .map(|sample| {
                sample.as_ref().is_some_and(|sample| match &sample.value {
                    FeatureValue::Word(word) => words.contains(word),
                    FeatureValue::Number(_) => words.contains(&sample.shown),
                })
            })
            .collect();
        let strays = self.mispredicted(&predicts);
        if words.is_empty() {
            return None;
        }
        let all = self.failed.len();
        let p_value = if strays * 5 > all {
            // Far from pure: these words were merely selected from all there are.
            let chosen = predicts.iter().filter(|predicts| **predicts).count();
            let hits = self.failed.iter().zip(&predicts).filter(|(failed, predicts)| **failed && **predicts).count();
            self.exact.at_least(hits, chosen, self.failing(), all) * 2_f64.powi(groups.len() as i32)
        } else {
            let sizes: Vec<usize> = groups.iter().map(|(_, [failing, passing])| failing + passing).collect();
            self.exact.as_pure(&sizes, strays, self.failing(), all)
        };
        let p_value = p_value.min(1.0);
        Some(ValueSplitRule { predicts, p_value, rule: SplitRule::OneOf(words) })
    }
}

fn predictions(numbers: &[Option<f64>], rule: &SplitRule) -> Vec<bool> {
    let is_so = |number: f64| match rule {
        SplitRule::AtLeast(_, least) => number >= *least,
        SplitRule::AtMost(most, _) => number <= *most,
        SplitRule::Between(low, high) => number >= *low && number <= *high,
        SplitRule::Outside(low, high) => number < *low || number > *high,
        SplitRule::OneOf(_) => false,
    };
    numbers.iter().map(|number| number.is_some_and(is_so)).collect()
}

/// The shortest decimal that separates the numbers on both sides of a threshold.
pub(crate) fn shortest_between(number: f64, other: Option<f64>) -> String {
    let is_apart = |short: f64| match other {
        Some(other) if other < number => short > other && short <= number,
        Some(other) => short < other && short >= number,
        None => short == number,
    };
    let down = other.is_none_or(|other| other < number);
    for digits in 0..15 {
        let scale = 10_f64.powi(digits);
        let short = if down { (number * scale).floor() / scale } else { (number * scale).ceil() / scale };
        if is_apart(short) {
            return format!("{short:.*}", digits as usize);
        }
    }
    number.to_string()
}

#[cfg(test)]
mod tests;
