//! Values that separate failing from passing runs, often before their control flow diverges.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use unflake_model::{DivergenceKind, LineId, ValueSplit};

use crate::divergence::aligned_runs::Runs;
use crate::divergence::candidate::Candidate;
use crate::divergence::features::{About, Answer, Aspect, Feature, Is, Moment, Which, features};
use crate::divergence::value_split::{Found, Outcomes, Test, between};
use crate::stats::fisher::Chance;

/// Name under which return values are recorded.
const RETURNS: &str = "returns";
/// Number of examples shown for non-numeric values.
const EXAMPLES: usize = 4;
/// A value is seen after its line and before the next one.
const BEFORE_NEXT: f64 = 0.25;

/// Value candidates, and whether any were discarded.
pub(crate) struct Values {
    pub(crate) found: Vec<Candidate>,
    /// Some values and the outcomes both follow the order of the runs, as clocks do.
    pub(crate) like_clocks: bool,
}

type Name = (LineId, Arc<str>);

pub(crate) fn values(runs: &Runs<'_>) -> Values {
    let chance = Chance::new(runs.all.len());
    let failed: Vec<bool> = runs.all.iter().map(|run| run.failed).collect();
    let outcomes = Outcomes { failed: &failed, chance: &chance };
    let order: Vec<Option<f64>> = (0..failed.len()).map(|run| Some(run as f64)).collect();
    let by_order = outcomes.numbers(&order).map_or(usize::MAX, |found| outcomes.strays(&found.says));
    let (mut all, mut looked_at) = (Values { found: Vec::new(), like_clocks: false }, HashSet::new());
    for key in 0..runs.keys.len() {
        for ((line, name), seen) in gather(runs, key) {
            let features = features(&seen);
            for feature in &features {
                let Some((ranks, varies)) = ranks(&feature.answers) else { continue };
                looked_at.insert(ranks);
                let Some(found) = outcomes.split(&feature.answers) else { continue };
                // A split with many false alarms is never blamed.
                let taken = failed.iter().zip(&found.says).filter(|(failed, says)| **says && !**failed).count();
                if taken * 10 > failed.len() {
                    continue;
                }
                let strays = outcomes.strays(&found.says);
                if varies && follows(&feature.answers) && by_order <= strays {
                    all.like_clocks = true;
                    continue;
                }
                all.found.extend(candidate(runs, key, line, &name, &features, feature, found));
            }
        }
    }
    let looked_at = looked_at.len() as f64;
    all.found.iter_mut().for_each(|one| one.chance = (one.chance * looked_at).min(1.0));
    all
}

/// By line and name: the values seen in each run.
fn gather(runs: &Runs<'_>, key: usize) -> HashMap<Name, Vec<Vec<Moment>>> {
    let mut gathered: HashMap<Name, Vec<Vec<Moment>>> = HashMap::new();
    let past = runs.past_failure(key);
    for run in 0..runs.all.len() {
        let values = runs.id(run, key).map_or(Vec::new(), |id| runs.traces.values(id));
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

fn same(one: &[Moment], other: &[Moment]) -> bool {
    one.iter().map(|(_, text)| text).eq(other.iter().map(|(_, text)| text))
}

/// Fingerprint of which runs share a value (and of the order of values), and whether most values
/// differ. `None`: all are equal.
fn ranks(answers: &[Option<Answer>]) -> Option<(u64, bool)> {
    let mut known: Vec<&Is> = Vec::new();
    for is in answers.iter().flatten().map(|answer| &answer.is) {
        if !known.contains(&is) {
            known.push(is);
        }
    }
    let absent = answers.iter().any(Option::is_none);
    if known.len() + usize::from(absent) < 2 || known.is_empty() {
        return None;
    }
    let varies = known.len() * 2 > answers.len();
    known.sort_by(|one, other| match (one, other) {
        (Is::Number(one), Is::Number(other)) => one.total_cmp(other),
        _ => std::cmp::Ordering::Equal, // Words keep the order in which they appeared.
    });
    let mut hash = DefaultHasher::new();
    for answer in answers {
        answer.as_ref().and_then(|answer| known.iter().position(|is| **is == answer.is)).hash(&mut hash);
    }
    Some((hash.finish(), varies))
}

/// Whether the values rise or fall from run to run.
fn follows(answers: &[Option<Answer>]) -> bool {
    let numbers: Vec<f64> = answers
        .iter()
        .flatten()
        .filter_map(|answer| match answer.is {
            Is::Number(number) => Some(number),
            Is::Word(_) => None,
        })
        .collect();
    let steps = numbers.len().saturating_sub(1);
    let rising = numbers.windows(2).filter(|pair| pair[0] <= pair[1]).count();
    steps > 2 && (rising * 10 >= steps * 9 || (steps - rising) * 10 >= steps * 9)
}

fn candidate(
    runs: &Runs<'_>,
    key: usize,
    line: LineId,
    name: &str,
    all: &[Feature],
    feature: &Feature,
    found: Found,
) -> Option<Candidate> {
    // That something never happened is not visible at any position.
    let never = match (feature.about.which, &found.test) {
        (Which::Largest, test) => !matches!(test, Test::AtLeast(..)),
        (Which::Smallest, test) => !matches!(test, Test::AtMost(..)),
        _ => false,
    };
    if never {
        return None;
    }
    let at: Vec<Option<f64>> = (0..runs.all.len()).map(|run| moment(runs, key, run, feature, all)).collect();
    let when = Candidate::moment(runs, key, &found.says, &at)?;
    let what = words(name, &feature.about, &found.test);
    let value = Some(ValueSplit {
        name: name.to_owned(),
        failing: examples(runs, feature, true),
        passing: examples(runs, feature, false),
    });
    let shown = feature.answers.iter().map(|answer| answer.as_ref().map(|answer| answer.shown.clone())).collect();
    let Found { says, chance, .. } = found;
    Some(Candidate { how: DivergenceKind::Value, key, line, to: None, says, at, when, chance, what, value, shown })
}

/// Position at which the value of a run was known. That an occurrence is the last is known at the
/// end, unless no passing run has that value at that time.
fn moment(runs: &Runs<'_>, key: usize, run: usize, feature: &Feature, all: &[Feature]) -> Option<f64> {
    let answer = feature.answers[run].as_ref()?;
    let About { which: Which::Last, aspect } = &feature.about else { return Some(answer.at) };
    let is_it = |one: &&Feature| one.about.aspect == *aspect && matches!(one.about.which, Which::Time(_));
    let at_the_time =
        all.iter().filter(is_it).find(|one| one.answers[run].as_ref().is_some_and(|it| it.at == answer.at));
    let same = |other: usize| {
        let theirs = at_the_time.and_then(|one| one.answers[other].as_ref());
        !runs.all[other].failed && theirs.is_some_and(|theirs| theirs.is == answer.is)
    };
    let passes_so = at_the_time.is_none() || (0..runs.all.len()).any(same);
    Some(if passes_so { runs.strand(run, key)?.events as f64 } else { answer.at })
}

/// A range of numbers, or the most frequent other values.
fn examples(runs: &Runs<'_>, feature: &Feature, failed: bool) -> Vec<String> {
    let answers = feature.answers.iter().zip(runs.all).filter(|(_, run)| run.failed == failed);
    let answers: Vec<&Answer> = answers.filter_map(|(answer, _)| answer.as_ref()).collect();
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for answer in &answers {
        match counted.iter_mut().find(|(text, _)| *text == &*answer.shown) {
            Some((_, times)) => *times += 1,
            None => counted.push((&answer.shown, 1)),
        }
    }
    let number = |answer: &&&Answer| match answer.is {
        Is::Number(number) => number,
        Is::Word(_) => f64::NAN,
    };
    let by = |one: &&&Answer, other: &&&Answer| number(one).total_cmp(&number(other));
    match (answers.iter().min_by(by), answers.iter().max_by(by)) {
        (Some(least), Some(most)) if counted.len() > EXAMPLES && !number(&most).is_nan() => {
            vec![format!("{} – {}", short(&least.shown), short(&most.shown))]
        }
        _ => {
            counted.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
            counted.iter().take(EXAMPLES).map(|(text, _)| (*text).to_owned()).collect()
        }
    }
}

/// Limits a number to the decimals that people read.
fn short(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(number) if number.abs() >= 0.01 && text.split('.').nth(1).is_some_and(|digits| digits.len() > 4) => {
            format!("{number:.4}")
        }
        _ => text.to_owned(),
    }
}

/// What holds in failing runs, such as `jitter ≥ 0.93`.
fn words(name: &str, about: &About, test: &Test) -> String {
    let name = if name == RETURNS { "what is returned" } else { name };
    let which = match about.which {
        Which::Only | Which::Time(1) => String::new(),
        Which::Time(time) => format!(" the {} time", nth(time)),
        Which::Last => " at last".to_owned(),
        Which::Largest | Which::Smallest => " at some time".to_owned(),
    };
    let of = match &about.aspect {
        Aspect::Length => format!("the number of items of {name}{which}"),
        Aspect::First => format!("the first item of {name}{which}"),
        Aspect::InOrder => format!("the items of {name}{which}"),
        Aspect::Itself | Aspect::AgainstBefore | Aspect::Has(_) => format!("{name}{which}"),
    };
    match (test, &about.aspect) {
        (Test::AtLeast(below, least), _) => format!("{of} ≥ {}", between(*least, *below)),
        (Test::AtMost(most, above), _) => format!("{of} ≤ {}", between(*most, *above)),
        (Test::Between(low, high), _) => format!("{of} from {low} to {high}"),
        (Test::Outside(low, high), _) => format!("{of} below {low} or above {high}"),
        (Test::OneOf(words), Aspect::AgainstBefore) => match words.iter().any(|word| &**word == "the same") {
            true if words.len() == 1 => format!("{of} is the same as before"),
            false if words.len() == 2 => format!("{of} is not the same as before"),
            _ => format!("{of} is {} than before", words[0]),
        },
        (Test::OneOf(words), Aspect::Has(item)) => match &*words[0] == "yes" {
            true => format!("{of} has {item}"),
            false => format!("{of} does not have {item}"),
        },
        (Test::OneOf(words), Aspect::InOrder) => match &*words[0] == "in order" {
            true => format!("{of} are in rising order"),
            false => format!("{of} are not in rising order"),
        },
        (Test::OneOf(words), _) => match &words[..] {
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
