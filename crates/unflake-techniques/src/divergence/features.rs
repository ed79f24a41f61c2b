//! Features of the values that a name had at a line: each yields a number or a word per run.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::divergence::value_text::{compare, items, number};

/// Later occurrences are covered by the last, the largest and the smallest only.
const MOST_TIMES: usize = 32;
/// Containers with more distinct items get no membership features.
const MOST_ITEMS: usize = 24;

/// A value with its position in the trace (fractional, as several values can follow one line).
pub(crate) type TimedValue = (f64, Arc<str>);

/// One property of a value, evaluated for every run.
#[derive(Clone, Debug)]
pub(crate) struct Feature {
    /// The property: which occurrence, and which aspect of it.
    pub(crate) kind: FeatureKind,
    pub(crate) samples: Vec<Option<FeatureSample>>,
}

#[derive(Clone, Debug)]
pub(crate) struct FeatureSample {
    /// Position in the trace.
    pub(crate) at: f64,
    pub(crate) value: FeatureValue,
    /// As shown to people.
    pub(crate) shown: Arc<str>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FeatureValue {
    Number(f64),
    Word(Arc<str>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FeatureKind {
    pub(crate) which: Occurrence,
    pub(crate) aspect: Aspect,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Occurrence {
    /// The name was never seen more than once.
    Only,
    /// Counted from 1.
    Time(usize),
    Last,
    Largest,
    Smallest,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Aspect {
    Itself,
    Length,
    First,
    /// Whether it contains this item.
    Has(Arc<str>),
    /// Whether its items are sorted.
    InOrder,
    /// Compared with the previous occurrence: less, the same or more.
    AgainstBefore,
}

/// All features of a name at a line.
pub(crate) fn features(seen: &[Vec<TimedValue>]) -> Vec<Feature> {
    let most = seen.iter().map(Vec::len).max().unwrap_or_default();
    let mut features = Vec::new();
    for time in 0..most.min(MOST_TIMES) {
        let which = if most == 1 { Occurrence::Only } else { Occurrence::Time(time + 1) };
        aspects(which, seen.iter().map(|all| all.get(time)).collect(), &mut features);
        if time > 0 {
            let kind = FeatureKind { which, aspect: Aspect::AgainstBefore };
            let samples = seen.iter().map(|all| compared(all.get(time - 1)?, all.get(time)?)).collect();
            features.push(Feature { kind, samples });
        }
    }
    if most > 1 {
        aspects(Occurrence::Last, seen.iter().map(|all| all.last()).collect(), &mut features);
        let by = |one: &&TimedValue, other: &&TimedValue| compare(&one.1, &other.1);
        let numbers = |all: &Vec<TimedValue>| all.iter().all(|(_, text)| number(text).is_some());
        if seen.iter().all(numbers) {
            aspects(Occurrence::Largest, seen.iter().map(|all| all.iter().rev().max_by(by)).collect(), &mut features);
            aspects(Occurrence::Smallest, seen.iter().map(|all| all.iter().min_by(by)).collect(), &mut features);
        }
    }
    features
}

/// Extracts a feature from a value, with its display text.
type Extractor<'a> = &'a dyn Fn(&TimedValue) -> Option<(FeatureValue, Arc<str>)>;

fn aspects(which: Occurrence, values: Vec<Option<&TimedValue>>, features: &mut Vec<Feature>) {
    let all_numbers = values.iter().flatten().all(|(_, text)| number(text).is_some());
    let mut add = |aspect, extract: Extractor<'_>| {
        let sample = |seen: &Option<&TimedValue>| {
            let seen = (*seen)?;
            extract(seen).map(|(value, shown)| FeatureSample { at: seen.0, value, shown })
        };
        features.push(Feature { kind: FeatureKind { which, aspect }, samples: values.iter().map(sample).collect() });
    };
    add(Aspect::Itself, &|(_, text)| {
        let value =
            number(text).filter(|_| all_numbers).map_or_else(|| FeatureValue::Word(text.clone()), FeatureValue::Number);
        Some((value, text.clone()))
    });
    if !values.iter().flatten().any(|(_, text)| items(text).is_some()) {
        return;
    }
    add(Aspect::Length, &|(_, text)| {
        let length = items(text)?.length;
        Some((FeatureValue::Number(length as f64), length.to_string().into()))
    });
    add(Aspect::First, &|(_, text)| {
        let first: Arc<str> = items(text)?.shown.first().copied()?.into();
        Some((FeatureValue::Word(first.clone()), first))
    });
    for item in different(&values) {
        add(Aspect::Has(item.into()), &|(_, text)| {
            let has = items(text)?.shown.contains(&item);
            Some((FeatureValue::Word(if has { "yes" } else { "no" }.into()), text.clone()))
        });
    }
    add(Aspect::InOrder, &|(_, text)| {
        let items = items(text)?.shown;
        let rising = items.is_sorted_by(|one, other| compare(one, other) != Ordering::Greater);
        Some((FeatureValue::Word(if rising { "in order" } else { "out of order" }.into()), text.clone()))
    });
}

/// Distinct items of these containers, if all are known and few.
fn different<'a>(values: &[Option<&'a TimedValue>]) -> Vec<&'a str> {
    let mut different: Vec<&str> = Vec::new();
    for (_, text) in values.iter().flatten() {
        let Some(items) = items(text).filter(|items| items.shown.len() == items.length) else { return Vec::new() };
        for item in items.shown {
            if !different.contains(&item) {
                different.push(item);
            }
        }
        if different.len() > MOST_ITEMS {
            return Vec::new();
        }
    }
    different
}

fn compared(before: &TimedValue, now: &TimedValue) -> Option<FeatureSample> {
    let word = match compare(&before.1, &now.1) {
        Ordering::Less => "more",
        Ordering::Equal => "the same",
        Ordering::Greater => "less",
    };
    let shown = format!("{}, then {}", before.1, now.1);
    Some(FeatureSample { at: now.0, value: FeatureValue::Word(word.into()), shown: shown.into() })
}
