//! What can be asked of the values that a name had at a line: each question gives every run an answer, a number or a word.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::divergence::value_text::{compare, items, number};

/// Later times than this are seen by the last, the largest and the smallest alone.
const MOST_TIMES: usize = 32;
/// Of containers with more different items than this is not asked which of them they have.
const MOST_ITEMS: usize = 24;

/// A value at a moment: after how many lines (with a fraction, as several values may be seen after one), and its text.
pub(crate) type Moment = (f64, Arc<str>);

/// The same question put to every run.
#[derive(Clone, Debug)]
pub(crate) struct Feature {
    /// What is asked about: the name, and where it was seen more than once, which time.
    pub(crate) about: About,
    pub(crate) answers: Vec<Option<Answer>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// How many lines came before.
    pub(crate) at: f64,
    pub(crate) is: Is,
    /// As people see it.
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
    /// It was never seen more than once.
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
    /// Whether this is among its items.
    Has(Arc<str>),
    /// Whether its items are in their order.
    InOrder,
    /// Less, the same or more than the time before.
    AgainstBefore,
}

/// All that can be asked of what a name was at a line, in every run.
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

/// What a value answers, and how that is shown.
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

/// The items that some of these containers have, if all are known and they are few.
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
