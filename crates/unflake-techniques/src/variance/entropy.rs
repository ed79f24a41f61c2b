//! Measures of inconsistency between runs (Gao 2017, chapters 3 and 4): entropy of output groups,
//! range of differences, and false positives against the first run.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// H = −Σ p·ln p over groups of these sizes: 0 if all runs are alike, ln n if no two of n are.
pub(crate) fn entropy(groups: &[u32]) -> f64 {
    let runs: f64 = groups.iter().map(|size| f64::from(*size)).sum();
    let share = groups.iter().filter(|size| **size > 0).map(|size| f64::from(*size) / runs);
    // p·ln(1/p), because −(1·ln 1) would be −0.
    share.map(|p| p * (1.0 / p).ln()).sum()
}

/// Sizes of the groups of equal outputs, largest first.
pub(crate) fn groups<T: Eq + Hash>(outputs: impl IntoIterator<Item = T>) -> Vec<u32> {
    let mut sizes: HashMap<T, u32> = HashMap::new();
    for output in outputs {
        *sizes.entry(output).or_default() += 1;
    }
    let mut sizes: Vec<u32> = sizes.into_values().collect();
    sizes.sort_unstable_by(|one, other| other.cmp(one));
    sizes
}

/// Elements in some of these outputs but not in all, with the number of runs that have them. Each
/// output comes with its number of runs and contains no duplicates.
pub(crate) fn inconsistent<'a, T: Ord + Copy + 'a>(
    outputs: impl IntoIterator<Item = (&'a [T], u32)>,
) -> BTreeMap<T, u32> {
    let mut outputs = outputs.into_iter();
    let Some((first, mut runs)) = outputs.next() else { return BTreeMap::new() };
    let mut seen: BTreeMap<T, u32> = first.iter().map(|one| (*one, runs)).collect();
    for (output, times) in outputs {
        runs += times;
        output.iter().for_each(|one| *seen.entry(*one).or_default() += times);
    }
    seen.retain(|_, times| *times != runs);
    seen
}

/// Number of later runs that differ from the first.
pub(crate) fn false_positives<T: PartialEq>(outputs: &[T]) -> u32 {
    outputs.iter().skip(1).filter(|output| **output != outputs[0]).count() as u32
}

#[cfg(test)]
mod tests;
