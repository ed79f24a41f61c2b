//! Splits runs by the value of one feature into predicted failures and passes, with an exact
//! p-value.

use std::sync::Arc;

use crate::divergence::features::{Answer, Is};
use crate::stats::fisher::Chance;

/// The best split by one feature.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// By run: whether a failure is predicted. Never for a run without a value.
    pub(crate) says: Vec<bool>,
    /// P-value for this feature alone.
    pub(crate) chance: f64,
    pub(crate) test: Test,
}

/// The rule that holds in failing runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Test {
    /// The largest number below the threshold, and the smallest that counts.
    AtLeast(Option<f64>, f64),
    /// The largest number that counts, and the smallest above the threshold.
    AtMost(f64, Option<f64>),
    Between(f64, f64),
    Outside(f64, f64),
    OneOf(Vec<Arc<str>>),
}

/// Outcomes of the runs.
pub(crate) struct Outcomes<'a> {
    pub(crate) failed: &'a [bool],
    pub(crate) chance: &'a Chance,
}

impl Outcomes<'_> {
    pub(crate) fn failing(&self) -> usize {
        self.failed.iter().filter(|failed| **failed).count()
    }

    /// Number of runs whose outcome is predicted wrongly.
    pub(crate) fn strays(&self, says: &[bool]) -> usize {
        self.failed.iter().zip(says).filter(|(failed, says)| failed != says).count()
    }

    pub(crate) fn split(&self, answers: &[Option<Answer>]) -> Option<Found> {
        let numbers: Option<Vec<Option<f64>>> = answers
            .iter()
            .map(|answer| match answer.as_ref().map(|answer| &answer.is) {
                Some(Is::Number(number)) => Some(Some(*number)),
                Some(Is::Word(_)) => None,
                None => Some(None),
            })
            .collect();
        match numbers {
            Some(numbers) => self.numbers(&numbers),
            None => self.words(answers),
        }
    }

    pub(crate) fn numbers(&self, numbers: &[Option<f64>]) -> Option<Found> {
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
        let below = cuts.iter().map(|(at, hits)| (self.chance.at_least(*hits, *at, failing, all), *at, false));
        let above = cuts
            .iter()
            .map(|(at, hits)| (self.chance.at_least(there - hits, sorted.len() - at, failing, all), *at, true));
        let (one, at, is_above) = below.chain(above).min_by(|one, other| one.0.total_cmp(&other.0))?;
        let (last, next) = (sorted[at - 1].0, sorted[at].0);
        let test = if is_above { Test::AtLeast(Some(last), next) } else { Test::AtMost(last, Some(next)) };
        let says = says(numbers, &test);
        // Of all arrangements of outcomes, one on either side splits without a misprediction.
        let ways = if self.strays(&says) == 0 { 2.0 } else { 2.0 * cuts.len() as f64 };
        let threshold = Found { says, chance: (one * ways).min(1.0), test };
        let range = self.range(numbers, &sorted).filter(|range| range.chance < threshold.chance);
        Some(range.unwrap_or(threshold))
    }

    /// Failing runs in the middle and passing ones around them, or vice versa; without
    /// mispredictions.
    fn range(&self, numbers: &[Option<f64>], sorted: &[(f64, bool)]) -> Option<Found> {
        let (all, failing) = (self.failed.len(), self.failing());
        let ends = |failed: bool| {
            let mut those = sorted.iter().filter(|(_, other)| *other == failed).map(|(number, _)| *number);
            let first = those.next()?;
            Some((first, those.next_back().unwrap_or(first)))
        };
        let ((low, high), (least, most)) = (ends(true)?, ends(false)?);
        let candidates = [(Test::Between(low, high), all - failing + 1), (Test::Outside(least, most), failing + 1)];
        candidates.into_iter().find_map(|(test, ways)| {
            let says = says(numbers, &test);
            let chance = 2.0 * ways as f64 * self.chance.one_way(all, failing);
            (self.strays(&says) == 0).then_some(Found { says, chance: chance.min(1.0), test })
        })
    }

    fn words(&self, answers: &[Option<Answer>]) -> Option<Found> {
        // Each word with its number of failing and passing runs.
        let mut groups: Vec<(Option<&Arc<str>>, [usize; 2])> = Vec::new();
        for (answer, failed) in answers.iter().zip(self.failed) {
            let word = answer.as_ref().map(|answer| match &answer.is {
                Is::Word(word) => word,
                Is::Number(_) => &answer.shown,
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
        let says: Vec<bool> = answers
            .iter()
            .map(|answer| {
                answer.as_ref().is_some_and(|answer| match &answer.is {
                    Is::Word(word) => words.contains(word),
                    Is::Number(_) => words.contains(&answer.shown),
                })
            })
            .collect();
        let strays = self.strays(&says);
        if words.is_empty() {
            return None;
        }
        let all = self.failed.len();
        let chance = if strays * 5 > all {
            // Far from pure: these words were merely selected from all there are.
            let chosen = says.iter().filter(|says| **says).count();
            let hits = self.failed.iter().zip(&says).filter(|(failed, says)| **failed && **says).count();
            self.chance.at_least(hits, chosen, self.failing(), all) * 2_f64.powi(groups.len() as i32)
        } else {
            let sizes: Vec<usize> = groups.iter().map(|(_, [failing, passing])| failing + passing).collect();
            self.chance.as_pure(&sizes, strays, self.failing(), all)
        };
        let chance = chance.min(1.0);
        Some(Found { says, chance, test: Test::OneOf(words) })
    }
}

fn says(numbers: &[Option<f64>], test: &Test) -> Vec<bool> {
    let is_so = |number: f64| match test {
        Test::AtLeast(_, least) => number >= *least,
        Test::AtMost(most, _) => number <= *most,
        Test::Between(low, high) => number >= *low && number <= *high,
        Test::Outside(low, high) => number < *low || number > *high,
        Test::OneOf(_) => false,
    };
    numbers.iter().map(|number| number.is_some_and(is_so)).collect()
}

/// The shortest decimal that separates the numbers on both sides of a threshold.
pub(crate) fn between(number: f64, other: Option<f64>) -> String {
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
