//! Features of the values that a name had at a line: each yields a number or a word per run.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::divergence::value_text::{compare, items, number};

/// Later occurrences are covered by the last, the largest and the smallest only.
const MOST_TIMES: usize = 32;
/// Containers with more distinct items get no membership features.
const MOST_ITEMS: usize = 24;

/// A value with its position in the trace (fractional, as several values can follow one line).
pub(crate) type Moment = (f64, Arc<str>);

/// One property of a value, evaluated for every run.
#[derive(Clone, Debug)]
pub(crate) struct Feature {
    /// The property: which occurrence, and which aspect of it.
    pub(crate) about: About,
    pub(crate) answers: Vec<Option<Answer>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// Position in the trace.
    pub(crate) at: f64,
    pub(crate) is: Is,
    /// As shown to people.
    pub(crate) shown: Arc<str>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Is {
    Number(f64),
    Word(Arc<str>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct About {
    pub(crate) which: Which,
    pub(crate) aspect: Aspect,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Which {
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
pub(crate) fn features(seen: &[Vec<Moment>]) -> Vec<Feature> {
    let most = seen.iter().map(Vec::len).max().unwrap_or_default();
    let mut asked = Vec::new();
    for time in 0..most.min(MOST_TIMES) {
        let which = if most == 1 { Which::Only } else { Which::Time(time + 1) };
        aspects(which, seen.iter().map(|all| all.get(time)).collect(), &mut asked);
        if time > 0 {
            let about = About { which, aspect: Aspect::AgainstBefore };
            let answers = seen.iter().map(|all| against(all.get(time - 1)?, all.get(time)?)).collect();
            asked.push(Feature { about, answers });
        }
    }
    if most > 1 {
        aspects(Which::Last, seen.iter().map(|all| all.last()).collect(), &mut asked);
        let by = |one: &&Moment, other: &&Moment| compare(&one.1, &other.1);
        let numbers = |all: &Vec<Moment>| all.iter().all(|(_, text)| number(text).is_some());
        if seen.iter().all(numbers) {
            aspects(Which::Largest, seen.iter().map(|all| all.iter().rev().max_by(by)).collect(), &mut asked);
            aspects(Which::Smallest, seen.iter().map(|all| all.iter().min_by(by)).collect(), &mut asked);
        }
    }
    asked
}

/// Extracts a feature from a value, with its display text.
type Question<'a> = &'a dyn Fn(&Moment) -> Option<(Is, Arc<str>)>;

fn aspects(which: Which, values: Vec<Option<&Moment>>, asked: &mut Vec<Feature>) {
    let all_numbers = values.iter().flatten().all(|(_, text)| number(text).is_some());
    let mut ask = |aspect, answer: Question<'_>| {
        let answer = |value: &Option<&Moment>| {
            let value = (*value)?;
            answer(value).map(|(is, shown)| Answer { at: value.0, is, shown })
        };
        asked.push(Feature { about: About { which, aspect }, answers: values.iter().map(answer).collect() });
    };
    ask(Aspect::Itself, &|(_, text)| {
        let is = number(text).filter(|_| all_numbers).map_or_else(|| Is::Word(text.clone()), Is::Number);
        Some((is, text.clone()))
    });
    if !values.iter().flatten().any(|(_, text)| items(text).is_some()) {
        return;
    }
    ask(Aspect::Length, &|(_, text)| {
        let length = items(text)?.length;
        Some((Is::Number(length as f64), length.to_string().into()))
    });
    ask(Aspect::First, &|(_, text)| {
        let first: Arc<str> = items(text)?.shown.first().copied()?.into();
        Some((Is::Word(first.clone()), first))
    });
    for item in different(&values) {
        ask(Aspect::Has(item.into()), &|(_, text)| {
            let has = items(text)?.shown.contains(&item);
            Some((Is::Word(if has { "yes" } else { "no" }.into()), text.clone()))
        });
    }
    ask(Aspect::InOrder, &|(_, text)| {
        let items = items(text)?.shown;
        let rising = items.is_sorted_by(|one, other| compare(one, other) != Ordering::Greater);
        Some((Is::Word(if rising { "in order" } else { "out of order" }.into()), text.clone()))
    });
}

/// Distinct items of these containers, if all are known and few.
fn different<'a>(values: &[Option<&'a Moment>]) -> Vec<&'a str> {
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

fn against(before: &Moment, now: &Moment) -> Option<Answer> {
    let word = match compare(&before.1, &now.1) {
        Ordering::Less => "more",
        Ordering::Equal => "the same",
        Ordering::Greater => "less",
    };
    let shown = format!("{}, then {}", before.1, now.1);
    Some(Answer { at: now.0, is: Is::Word(word.into()), shown: shown.into() })
}
