//! Values that separate failing from passing runs, often before their control flow diverges.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use unflake_model::{DivergenceKind, LineId, ValueSplit};

use crate::divergence::aligned_runs::AlignedRuns;
use crate::divergence::candidate::Candidate;
use crate::divergence::features::{
    Aspect, Feature, FeatureKind, FeatureSample, FeatureValue, Occurrence, TimedValue, features,
};
use crate::divergence::value_split::{RunOutcomes, SplitRule, ValueSplitRule, shortest_between};
use crate::stats::exact_test::ExactTest;

/// Name under which return values are recorded.
const RETURNS: &str = "returns";
/// Number of examples shown for non-numeric values.
const EXAMPLES: usize = 4;
/// A value is seen after its line and before the next one.
const BEFORE_NEXT: f64 = 0.25;

/// Value candidates, and whether any were discarded.
pub(crate) struct ValueCandidates {
    /// Their p-values are not corrected, yet.
    pub(crate) found: Vec<Candidate>,
    /// Number of different comparisons.
    pub(crate) examined: usize,
    /// Some values and the outcomes both follow the order of the runs, as clocks do.
    pub(crate) like_clocks: bool,
}

type ValueName = (LineId, Arc<str>);

pub(crate) fn value_candidates(runs: &AlignedRuns<'_>) -> ValueCandidates {
    let exact = ExactTest::new(runs.all.len());
    let failed: Vec<bool> = runs.all.iter().map(|run| run.failed).collect();
    let outcomes = RunOutcomes { failed: &failed, exact: &exact };
    let order: Vec<Option<f64>> = (0..failed.len()).map(|run| Some(run as f64)).collect();
    let by_order = outcomes.numbers(&order).map_or(usize::MAX, |found| outcomes.mispredicted(&found.predicts));
    let (mut all, mut examined) =
        (ValueCandidates { found: Vec::new(), examined: 0, like_clocks: false }, HashSet::new());
    for thread in 0..runs.threads.len() {
        for ((line, name), seen) in values_by_name(runs, thread) {
            let features = features(&seen);
            for feature in &features {
                let Some((fingerprint, varies)) = fingerprint(&feature.samples) else { continue };
                examined.insert(fingerprint);
                let Some(found) = outcomes.split(&feature.samples) else { continue };
                // A split with many false alarms is never blamed.
                let false_alarms =
                    failed.iter().zip(&found.predicts).filter(|(failed, predicts)| **predicts && !**failed).count();
                if false_alarms * 10 > failed.len() {
                    continue;
                }
                let mispredicted = outcomes.mispredicted(&found.predicts);
                if varies && is_monotonic(&feature.samples) && by_order <= mispredicted {
                    all.like_clocks = true;
                    continue;
                }
                all.found.extend(candidate(runs, thread, line, &name, &features, feature, found));
            }
        }
    }
    all.examined = examined.len();
    all
}

/// By line and name: the values seen in each run.
fn values_by_name(runs: &AlignedRuns<'_>, thread: usize) -> HashMap<ValueName, Vec<Vec<TimedValue>>> {
    let mut gathered: HashMap<ValueName, Vec<Vec<TimedValue>>> = HashMap::new();
    let past = runs.past_failure(thread);
    for run in 0..runs.all.len() {
        let values = runs.id(run, thread).map_or(Vec::new(), |id| runs.traces.values(id));
        let of = values.len() as f64;
        for (nth, seen) in values.into_iter().enumerate() {
            let at = seen.at as f64 - BEFORE_NEXT + nth as f64 / of * BEFORE_NEXT / 2.0;
            if past[run].is_some_and(|past| at > past) {
                break;
            }
            let all = gathered.entry((seen.line, seen.name)).or_insert_with(|| vec![Vec::new(); runs.all.len()]);
            all[run].push((at, seen.text));
        }
    }
    // Most values are always the same and need no examination.
    gathered.retain(|_, seen| seen.iter().any(|run| !same(run, &seen[0])));
    gathered
}

fn same(one: &[TimedValue], other: &[TimedValue]) -> bool {
    one.iter().map(|(_, text)| text).eq(other.iter().map(|(_, text)| text))
}

/// Fingerprint of which runs share a value (and of the order of values), and whether most values
/// differ. `None`: all are equal.
fn fingerprint(samples: &[Option<FeatureSample>]) -> Option<(u64, bool)> {
    let mut distinct: Vec<&FeatureValue> = Vec::new();
    for is in samples.iter().flatten().map(|sample| &sample.value) {
        if !distinct.contains(&is) {
            distinct.push(is);
        }
    }
    let absent = samples.iter().any(Option::is_none);
    if distinct.len() + usize::from(absent) < 2 || distinct.is_empty() {
        return None;
    }
    let varies = distinct.len() * 2 > samples.len();
    distinct.sort_by(|one, other| match (one, other) {
        (FeatureValue::Number(one), FeatureValue::Number(other)) => one.total_cmp(other),
        _ => std::cmp::Ordering::Equal, // Words keep the order in which they appeared.
    });
    let mut hash = DefaultHasher::new();
    for sample in samples {
        sample.as_ref().and_then(|sample| distinct.iter().position(|is| **is == sample.value)).hash(&mut hash);
    }
    Some((hash.finish(), varies))
}

/// Whether the values rise or fall from run to run.
fn is_monotonic(samples: &[Option<FeatureSample>]) -> bool {
    let numbers: Vec<f64> = samples
        .iter()
        .flatten()
        .filter_map(|sample| match sample.value {
            FeatureValue::Number(number) => Some(number),
            FeatureValue::Word(_) => None,
        })
        .collect();
    let steps = numbers.len().saturating_sub(1);
    let rising = numbers.windows(2).filter(|pair| pair[0] <= pair[1]).count();
    steps > 2 && (rising * 10 >= steps * 9 || (steps - rising) * 10 >= steps * 9)
}

fn candidate(
    runs: &AlignedRuns<'_>,
    thread: usize,
    line: LineId,
    name: &str,
    all: &[Feature],
    feature: &Feature,
    found: ValueSplitRule,
) -> Option<Candidate> {
    // That something never happened is not visible at any position.
    let never = match (feature.kind.which, &found.rule) {
        (Occurrence::Largest, rule) => !matches!(rule, SplitRule::AtLeast(..)),
        (Occurrence::Smallest, rule) => !matches!(rule, SplitRule::AtMost(..)),
        _ => false,
    };
    if never {
        return None;
    }
    let at: Vec<Option<f64>> = (0..runs.all.len()).map(|run| moment(runs, thread, run, feature, all)).collect();
    let when = Candidate::moment(runs, thread, &found.predicts, &at)?;
    let what = sentence(name, &feature.kind, &found.rule, common_value(feature, &found.predicts));
    let [failing, passing] = shown_values(runs, feature, &found.rule);
    let value = Some(ValueSplit { name: name.to_owned(), failing, passing });
    let shown = feature.samples.iter().map(|sample| sample.as_ref().map(|sample| sample.shown.clone())).collect();
    let ValueSplitRule { predicts, p_value, .. } = found;
    Some(Candidate {
        how: DivergenceKind::Value,
        thread,
        line,
        to: None,
        predicts,
        at,
        when,
        p_value,
        what,
        value,
        shown,
    })
}

/// Position at which the value of a run was distinct. That an occurrence is the last is distinct at
/// the end, unless no passing run has that value at that time.
fn moment(runs: &AlignedRuns<'_>, thread: usize, run: usize, feature: &Feature, all: &[Feature]) -> Option<f64> {
    let sample = feature.samples[run].as_ref()?;
    let FeatureKind { which: Occurrence::Last, aspect } = &feature.kind else { return Some(sample.at) };
    let is_it = |one: &&Feature| one.kind.aspect == *aspect && matches!(one.kind.which, Occurrence::Time(_));
    let at_the_time =
        all.iter().filter(is_it).find(|one| one.samples[run].as_ref().is_some_and(|it| it.at == sample.at));
    let same = |other: usize| {
        let theirs = at_the_time.and_then(|one| one.samples[other].as_ref());
        !runs.all[other].failed && theirs.is_some_and(|theirs| theirs.value == sample.value)
    };
    let passes_so = at_the_time.is_none() || (0..runs.all.len()).any(same);
    Some(if passes_so { runs.thread_trace(run, thread)?.events as f64 } else { sample.at })
}

/// The value that several runs with a predicted failure have, if it is the same in all of them.
fn common_value<'a>(feature: &'a Feature, predicts: &[bool]) -> Option<&'a str> {
    let mut predicted = feature.samples.iter().zip(predicts).filter(|(_, predicts)| **predicts);
    let first = predicted.next()?.0.as_ref()?;
    let mut others = predicted.map(|(sample, _)| sample.as_ref()).peekable();
    others.peek()?;
    others.all(|other| other.is_some_and(|other| other.value == first.value)).then_some(&*first.shown)
}

/// The values of failing and of passing runs. Where their ranges overlap, they are described by the
/// rule.
fn shown_values(runs: &AlignedRuns<'_>, feature: &Feature, rule: &SplitRule) -> [Vec<String>; 2] {
    let sides = [true, false].map(|failed| {
        let samples = feature.samples.iter().zip(runs.all).filter(|(_, run)| run.failed == failed);
        samples.filter_map(|(sample, _)| sample.as_ref()).collect::<Vec<&FeatureSample>>()
    });
    if !overlap(&sides[0], &sides[1]) {
        return sides.map(|samples| examples(&samples));
    }
    sides.map(|samples| match rule {
        SplitRule::AtLeast(below, least) => {
            let bound = format!("≥ {}", shortest_between(*least, *below));
            vec![counted_values(&samples, &bound, |number| number >= *least)]
        }
        SplitRule::AtMost(most, above) => {
            let bound = format!("≤ {}", shortest_between(*most, *above));
            vec![counted_values(&samples, &bound, |number| number <= *most)]
        }
        SplitRule::Between(low, high) | SplitRule::Outside(low, high) => {
            let part = |is_in: &dyn Fn(f64) -> bool| {
                let samples: Vec<_> =
                    samples.iter().copied().filter(|sample| number(sample).is_some_and(is_in)).collect();
                examples(&samples)
            };
            [
                part(&|number| number < *low),
                part(&|number| (*low..=*high).contains(&number)),
                part(&|number| number > *high),
            ]
            .concat()
        }
        SplitRule::OneOf(_) => examples(&samples),
    })
}

/// Whether two ranges of numbers overlap, of which at least one has many different ones.
fn overlap(one: &[&FeatureSample], other: &[&FeatureSample]) -> bool {
    let range = |samples: &[&FeatureSample]| {
        let numbers: Option<Vec<f64>> = samples.iter().map(|sample| number(sample)).collect();
        let mut numbers = numbers?;
        numbers.sort_by(f64::total_cmp);
        let (least, most) = (*numbers.first()?, *numbers.last()?);
        numbers.dedup();
        Some((least, most, numbers.len() > EXAMPLES))
    };
    let Some(((least, most, many), (from, to, more))) = range(one).zip(range(other)) else { return false };
    (many || more) && least.max(from) <= most.min(to)
}

/// `≥ 0.3 in 9 of 11`.
fn counted_values(samples: &[&FeatureSample], bound: &str, is_so: impl Fn(f64) -> bool) -> String {
    let count = samples.iter().filter(|sample| number(sample).is_some_and(&is_so)).count();
    format!("{bound} in {count} of {}", samples.len())
}

fn number(sample: &FeatureSample) -> Option<f64> {
    match sample.value {
        FeatureValue::Number(number) => Some(number),
        FeatureValue::Word(_) => None,
    }
}

/// A range of numbers, or the most frequent other values.
fn examples(samples: &[&FeatureSample]) -> Vec<String> {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for sample in samples {
        match counted.iter_mut().find(|(text, _)| *text == &*sample.shown) {
            Some((_, times)) => *times += 1,
            None => counted.push((&sample.shown, 1)),
        }
    }
    let by = |one: &&&FeatureSample, other: &&&FeatureSample| {
        number(one).unwrap_or(f64::NAN).total_cmp(&number(other).unwrap_or(f64::NAN))
    };
    match (samples.iter().min_by(by), samples.iter().max_by(by)) {
        (Some(least), Some(most)) if counted.len() > EXAMPLES && number(most).is_some() => {
            vec![format!("{} – {}", short(&least.shown), short(&most.shown))]
        }
        _ => {
            counted.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
            counted.iter().take(EXAMPLES).map(|(text, _)| (*text).to_owned()).collect()
        }
    }
}

/// Limits a number to the decimals that people read: four, and for small ones four digits.
fn short(text: &str) -> String {
    let Ok(number) = text.parse::<f64>() else { return text.to_owned() };
    let decimals = match number.abs() {
        small if small > 1e-6 && small < 0.1 => 3 - small.log10().floor() as i32,
        _ => 4,
    } as usize;
    let is_long = text.split('.').nth(1).is_some_and(|digits| digits.len() > decimals && !digits.contains('e'));
    if is_long { format!("{number:.decimals$}") } else { text.to_owned() }
}

/// What is true in failing runs, such as `jitter ≥ 0.93`, or `current is 0` where all have one value.
fn sentence(name: &str, kind: &FeatureKind, rule: &SplitRule, common: Option<&str>) -> String {
    let name = if name == RETURNS { "the return value" } else { name };
    let which = match kind.which {
        Occurrence::Only | Occurrence::Time(1) => String::new(),
        Occurrence::Time(time) => format!(" the {} time", nth(time)),
        Occurrence::Last => " at the end".to_owned(),
        Occurrence::Largest | Occurrence::Smallest => " at some point".to_owned(),
    };
    let of = match &kind.aspect {
        Aspect::Length => format!("the number of items of {name}{which}"),
        Aspect::First => format!("the first item of {name}{which}"),
        Aspect::InOrder => format!("the items of {name}{which}"),
        Aspect::Itself | Aspect::AgainstBefore | Aspect::Has(_) => format!("{name}{which}"),
    };
    if let (Some(value), SplitRule::AtLeast(..) | SplitRule::AtMost(..) | SplitRule::Between(..)) = (common, rule) {
        return format!("{of} is {value}");
    }
    match (rule, &kind.aspect) {
        (SplitRule::AtLeast(below, least), _) => format!("{of} ≥ {}", shortest_between(*least, *below)),
        (SplitRule::AtMost(most, above), _) => format!("{of} ≤ {}", shortest_between(*most, *above)),
        (SplitRule::Between(low, high), _) => format!("{of} from {low} to {high}"),
        (SplitRule::Outside(low, high), _) => format!("{of} below {low} or above {high}"),
        (SplitRule::OneOf(words), Aspect::AgainstBefore) => match words.iter().any(|word| &**word == "the same") {
            true if words.len() == 1 => format!("{of} is unchanged"),
            false if words.len() == 2 => format!("{of} changes"),
            _ => format!("{of} is {} than before", words[0]),
        },
        (SplitRule::OneOf(words), Aspect::Has(item)) => match &*words[0] == "yes" {
            true => format!("{of} has {item}"),
            false => format!("{of} does not have {item}"),
        },
        (SplitRule::OneOf(words), Aspect::InOrder) => match &*words[0] == "in order" {
            true => format!("{of} are in rising order"),
            false => format!("{of} are not in rising order"),
        },
        (SplitRule::OneOf(words), _) => match &words[..] {
            [one] => format!("{of} is {one}"),
            several if several.len() <= EXAMPLES => format!("{of} is one of {}", several.join(", ")),
            several => format!("{of} is one of {} values, such as {}", several.len(), several[0]),
        },
    }
}

fn nth(time: usize) -> String {
    let ending = match (time % 10, time % 100) {
        (1, rest) if rest != 11 => "st",
        (2, rest) if rest != 12 => "nd",
        (3, rest) if rest != 13 => "rd",
        _ => "th",
    };
    format!("{time}{ending}")
}

#[cfg(test)]
mod tests;
