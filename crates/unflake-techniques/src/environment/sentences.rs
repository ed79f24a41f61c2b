//! The sentences of an experiment. Each follows the name of the test.

use unflake_model::{Confidence, Factor, FactorKind, FactorPhrase, Moment, ScaleShape, TestId};

use crate::environment::experiment::Effect;
use crate::environment::threshold::{DAY, Edge, Recurrence};
use crate::environment::trials::{TrialLog, TrialWorld, WorldRuns};
use crate::stats::failure_rate::FailureCount;

/// This many tests or settings are named.
const NAMED: usize = 3;

pub(crate) fn sentence(effect: &Effect, tests: &[TestId], log: &TrialLog) -> String {
    let (when, there, baseline) = (when(effect, log), effect.there, effect.baseline);
    let confidence = match effect.confidence {
        Confidence::Likely => format!("likely, {}", p_value(effect.p_value)),
        other => other.word().to_owned(),
    };
    let main = match (effect.confidence, effect.fails) {
        (Confidence::Possible, fails) => {
            let does = if fails { "fails" } else { "passes" };
            let titles: Vec<&str> = effect.factors.iter().take(1).map(|factor| factor.kind().title).collect();
            let (there, baseline) = (failed_of(there), failed_of(baseline));
            format!("possible: {} ({there} against {baseline} failed), {does} {when}", titles.join(" and "))
        }
        (_, true) => {
            let others = other_settings(effect, log);
            let (there, baseline) = (failed_of(there), failed_of(baseline));
            format!("fails {when} ({confidence}: {there} runs, {baseline} at the baseline{others})")
        }
        (_, false) => {
            let does = match there.failed {
                0 => format!("passes {when} ({} of {})", there.runs, there.runs),
                _ => format!("less often {when} ({})", failed_of(there)),
            };
            format!("fails at the baseline ({confidence}: {} runs), {does}", failed_of(baseline))
        }
    };
    main + &failing_tests(effect, tests, log)
}

fn failed_of(count: FailureCount) -> String {
    format!("{} of {}", count.failed, count.runs)
}

fn p_value(p_value: f64) -> String {
    if p_value < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p_value:.3}") }
}

/// Of several tests that run together, those that fail.
fn failing_tests(effect: &Effect, tests: &[TestId], log: &TrialLog) -> String {
    if tests.len() < 2 {
        return String::new();
    }
    let world = if effect.fails { TrialWorld::With(effect.factors.clone()) } else { TrialWorld::BASELINE };
    let runs = log.world(&world).map_or(&[][..], |row| &row.runs);
    let mut names: Vec<String> = runs.iter().flat_map(|run| &run.failing).map(TestId::to_string).collect();
    names.sort_unstable();
    names.dedup();
    format!("; failing: {}", some_of(&names))
}

fn some_of(names: &[String]) -> String {
    let named = names[..names.len().min(NAMED)].join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// What is known without an effect: how much was tried, and how it went.
pub(crate) fn nothing_found(log: &TrialLog, complete: bool) -> String {
    let mut kinds: Vec<FactorKind> = log.tried().filter_map(|row| row.world.kind()).collect();
    kinds.sort();
    kinds.dedup();
    let budget = if complete { "" } else { "; budget exhausted" };
    let factors = if kinds.len() == 1 { "factor" } else { "factors" };
    let scope = format!("{} {factors}, {} worlds, {} runs{budget}", kinds.len(), log.tried().count(), log.runs);
    let (baseline, uncontrolled) = (log.failures(&TrialWorld::BASELINE), log.failures(&TrialWorld::Uncontrolled));
    let controlled = log.tried().filter(|row| row.world != TrialWorld::Uncontrolled);
    let controlled = controlled.fold(FailureCount::default(), |sum, row| sum + row.failures());
    let result = match () {
        () if baseline.failed == baseline.runs => format!(
            "fails at the baseline too ({} runs), so what makes it fail cannot be determined",
            failed_of(baseline)
        ),
        () if controlled.failed > 0 => format!(
            "fails at random, {} runs whatever is set, {} at the baseline",
            failed_of(controlled),
            failed_of(baseline)
        ),
        () if uncontrolled.failed > 0 => format!(
            "failed {} uncontrolled runs and none of {} controlled runs",
            failed_of(uncontrolled),
            controlled.runs
        ),
        () => "passed all runs".to_owned(),
    };
    format!("no factor found: {result} ({scope})")
}

/// `on 29 February`, `with 6 or more busy processes`.
fn when(effect: &Effect, log: &TrialLog) -> String {
    let each = effect.factors.iter().enumerate().map(|(at, factor)| {
        let is_first_number = effect.factors[..at].iter().all(|before| before.number().is_none());
        match &effect.edge {
            Some(edge) if factor.number().is_some() && is_first_number => edge_phrase(factor, edge, effect.fails),
            _ => phrase(factor, effect, log),
        }
    });
    match effect.factors.len() {
        // Unconfirmed changes of many settings of one factor, or of many factors.
        several if several > NAMED => {
            let first = effect.factors[0].kind();
            let is_one = effect.factors.iter().all(|factor| factor.kind() == first);
            format!("with {several} {} changed", if is_one { first.plural } else { "factors" })
        }
        _ => each.collect::<Vec<_>>().join(" and "),
    }
}

fn phrase(factor: &Factor, effect: &Effect, log: &TrialLog) -> String {
    match factor.kind().phrase {
        FactorPhrase::When(_) => factor.when(),
        FactorPhrase::Seeds => match &settings(factor.kind(), log, |row| row_fails(row) == effect.fails)[..] {
            [] | [_] => factor.when(),
            [most @ .., last] => format!("with the {}s {} and {last}", factor.kind().title, most.join(", ")),
        },
    }
}

fn row_fails(row: &WorldRuns) -> bool {
    row.failures().share() > 0.5
}

/// The settings of a factor that were tried alone and fit.
fn settings(kind: FactorKind, log: &TrialLog, fits: impl Fn(&WorldRuns) -> bool) -> Vec<String> {
    let single = log.tried().filter(|row| row.world.changes().len() == 1 && row.world.kind() == Some(kind));
    single.filter(|row| fits(row)).map(|row| row.world.changes()[0].setting().to_owned()).collect()
}

/// How the other settings of the factor went, of those that were tried.
fn other_settings(effect: &Effect, log: &TrialLog) -> String {
    let [factor] = &effect.factors[..] else { return String::new() };
    let kind = factor.kind();
    let preposition = match kind.scale {
        Some(scale) if matches!(scale.shape, ScaleShape::Moments) => "on",
        _ => "with",
    };
    let passed = settings(kind, log, |row| row.failures().failed == 0).len();
    let passed = match passed {
        0 => String::new(),
        1 => format!("; passed {preposition} 1 other of the {} tried", kind.plural),
        passed => format!("; passed {preposition} the {passed} other {} tried", kind.plural),
    };
    let also = match kind.phrase {
        FactorPhrase::Seeds => Vec::new(),
        FactorPhrase::When(_) => settings(kind, log, |row| row_fails(row) && !is_described(&row.world, factor, effect)),
    };
    match also.is_empty() {
        true => passed,
        false => format!("{passed}; also failed {preposition} {}", some_of(&also)),
    }
}

/// Whether the sentence already says that it fails in this world.
fn is_described(world: &TrialWorld, factor: &Factor, effect: &Effect) -> bool {
    let other = &world.changes()[0];
    match (&effect.edge, other.number()) {
        (Some(Edge::Number { .. }), Some(_)) => true,
        (Some(Edge::Dates { from, until, recurrence }), Some(number)) => {
            let (moment, first) = (number as i64, factor.number().unwrap_or(number) as i64);
            let is_inside = from.is_none_or(|from| from <= moment) && until.is_none_or(|until| moment < until);
            is_inside || recurrence.is_some_and(|recurrence| recurrence.includes(first, moment))
        }
        _ => other == factor,
    }
}

// -- Edges ------------------------------------------------------------------------------------------------------------

pub(crate) fn edge_phrase(factor: &Factor, edge: &Edge, fails: bool) -> String {
    match edge {
        Edge::Number { from, .. } => {
            let set = factor.with_number(*from).unwrap_or_else(|| factor.clone());
            match set.kind().phrase {
                FactorPhrase::Seeds => format!("with the {} {}", set.kind().title, set.setting()),
                FactorPhrase::When(phrase) => phrase(set.setting(), true),
            }
        }
        Edge::Dates { from, until, recurrence } => dates(factor, *from, *until, *recurrence, fails),
    }
}

fn day(seconds: i64) -> String {
    Moment::at(seconds).map_or(String::new(), |at| format!("{:04}-{:02}-{:02}", at.year, at.month, at.day))
}

fn time(seconds: i64) -> String {
    let time = seconds.rem_euclid(DAY);
    format!("{:02}:{:02}:{:02}", time / 3600, time / 60 % 60, time % 60)
}

fn is_midnight(seconds: i64) -> bool {
    seconds.rem_euclid(DAY) == 0
}

fn exactly(seconds: i64) -> String {
    if is_midnight(seconds) { day(seconds) } else { format!("{} {}", day(seconds), time(seconds)) }
}

fn dates(
    factor: &Factor,
    from: Option<i64>,
    until: Option<i64>,
    recurrence: Option<Recurrence>,
    fails: bool,
) -> String {
    match (from, until) {
        (Some(from), None) if is_midnight(from) && fails => format!("when the date is past {}", day(from - 1)),
        (Some(from), None) => format!("from {} on", exactly(from)),
        (None, Some(until)) => format!("before {}", exactly(until)),
        (None, None) => format!("when the date is {}", factor.setting()),
        (Some(from), Some(until)) => {
            let is_day = is_midnight(from) && until - from == DAY;
            let hours = if is_day { String::new() } else { format!("from {} to {} ", time(from), time(until - 1)) };
            match recurrence.and_then(|recurrence| recurring(from, recurrence)) {
                Some(days) => format!("{hours}{days}"),
                None if until - from <= DAY => format!("{hours}on {}", day(from)),
                None if is_midnight(from) && is_midnight(until) => format!("from {} to {}", day(from), day(until - 1)),
                None => format!("from {} to {}", exactly(from), exactly(until - 1)),
            }
        }
    }
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// From the day of the week of 1970-01-01.
const WEEK: [&str; 7] = ["Thursdays", "Fridays", "Saturdays", "Sundays", "Mondays", "Tuesdays", "Wednesdays"];

fn recurring(day: i64, recurrence: Recurrence) -> Option<String> {
    let moment = Moment::at(day)?;
    Some(match recurrence {
        Recurrence::MonthEnd => "on the last day of a month".to_owned(),
        Recurrence::Yearly => format!("on {} {}", moment.day, MONTHS[moment.month as usize - 1]),
        Recurrence::Monthly => {
            let ending = match moment.day {
                1 | 21 | 31 => "st",
                2 | 22 => "nd",
                3 | 23 => "rd",
                _ => "th",
            };
            format!("on the {}{ending} of a month", moment.day)
        }
        Recurrence::Weekly => format!("on {}", WEEK[(day.div_euclid(DAY)).rem_euclid(7) as usize]),
    })
}
