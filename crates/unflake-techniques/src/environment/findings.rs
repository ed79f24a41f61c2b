//! What an experiment comes to, in words and as data.

use unflake_model::{
    AtLayer, ClockSetting, Detail, DirectoryOrder, FactId, Factor, FactorKind, FactorPhrase, FactorTrial, Finding,
    Influence, Layer, LayerFacts, Moment, Network, OutputId, Rate, Replay, TestId, Threshold, UntriedFactor,
};

use crate::environment::experiment::{Effect, ExperimentConfig, Outcome};
use crate::environment::threshold::{Again, Edge};
use crate::environment::trials::{Book, Row, Run, World};
use crate::stats::binomial::wilson;
use crate::stats::failure_rate::{FailureCount, differs};
use crate::variance::entropy::{entropy, false_positives, groups, inconsistent};

const DAY: i64 = 24 * 3600;
/// So many of the tests that fail are named.
const NAMED: usize = 3;

pub(crate) fn findings(
    tests: &[TestId],
    asked: &ExperimentConfig,
    book: &Book,
    outcome: &Outcome,
    looks: &dyn LayerFacts,
) -> Vec<Finding> {
    if book.failures(&World::BASELINE).runs == 0 {
        return Vec::new();
    }
    let test = match tests {
        [test] => test.clone(),
        tests => TestId::new(format!("{} tests", tests.len())),
    };
    let finding = |influence: Influence, sentence: String| Finding {
        test: test.clone(),
        detail: Detail::Factor(Box::new(influence)),
        sentence,
        reproduce: Vec::new(),
        replays: vec![Replay::fails(tests.to_vec())],
    };
    let mut found: Vec<Finding> = outcome
        .effects
        .iter()
        .map(|effect| finding(influence(effect), sentence(effect, book) + &who(effect, tests, book)))
        .collect();
    if found.is_empty() {
        found.push(finding(nothing(book), without_effect(asked, book, outcome)));
    }
    if let Detail::Factor(first) = &mut found[0].detail {
        let known = asked.baseline.clone();
        first.plan = book
            .rows
            .iter()
            .filter(|row| row.cannot.is_none())
            .map(|row| tried(row, book, &asked.layers, looks))
            .collect();
        first.untried = asked.untried.iter().cloned().chain(book.rows.iter().filter_map(untried)).collect();
        let (best, worst) = extremes(book);
        (first.best, first.worst) = (all_set(&known, best), all_set(&known, worst));
        first.runs = book.made;
    }
    found
}

fn influence(effect: &Effect) -> Influence {
    let mut kinds: Vec<&str> = effect.factors.iter().map(|factor| factor.kind().word()).collect();
    kinds.dedup();
    Influence {
        kind: kinds.join("+"),
        setting: effect.factors.clone(),
        fails: effect.fails,
        threshold: effect.edge.as_ref().map(|edge| threshold(effect, edge)),
        rate: rate(effect.there),
        baseline: rate(effect.baseline),
        chance: effect.chance,
        plan: Vec::new(),
        untried: Vec::new(),
        worst: Vec::new(),
        best: Vec::new(),
        runs: 0,
    }
}

fn nothing(book: &Book) -> Influence {
    let (rate, none) = (rate(book.failures(&World::BASELINE)), Vec::new());
    Influence {
        kind: "none".to_owned(),
        setting: Vec::new(),
        fails: false,
        threshold: None,
        rate,
        baseline: rate,
        chance: 1.0,
        plan: Vec::new(),
        untried: Vec::new(),
        worst: none.clone(),
        best: none,
        runs: 0,
    }
}

pub(crate) fn rate(failures: FailureCount) -> Rate {
    let (low, high) = wilson(failures.failed, failures.runs);
    Rate { seen: failures.failed, of: failures.runs, low, high }
}

/// How far the runs of a world differ at a layer. None: too few of them were seen there.
fn at_layer(row: &Row, layer: Layer, looks: &dyn LayerFacts) -> Option<AtLayer> {
    let seen = |run: &Run| run.attempts.iter().map(|attempt| looks.output(*attempt, layer)).collect::<Option<Vec<_>>>();
    let outputs: Vec<Vec<OutputId>> = row.runs.iter().filter_map(seen).filter(|run| !run.is_empty()).collect();
    let facts: Vec<Vec<FactId>> = outputs
        .iter()
        .map(|run| {
            let mut facts: Vec<FactId> = run.iter().flat_map(|output| looks.facts(*output)).copied().collect();
            facts.sort_unstable();
            facts.dedup();
            facts
        })
        .collect();
    (outputs.len() > 1).then(|| AtLayer {
        layer,
        runs: outputs.len() as u32,
        entropy: entropy(&groups(outputs.iter())),
        range: inconsistent(facts.iter().map(|facts| (&facts[..], 1))).len() as u32,
        false_positives: 100.0 * f64::from(false_positives(&outputs)) / (outputs.len() - 1) as f64,
    })
}

fn tried(row: &Row, book: &Book, layers: &[Layer], looks: &dyn LayerFacts) -> FactorTrial {
    let outcomes: Vec<bool> = row.runs.iter().filter_map(|run| run.failed).collect();
    let failures = row.failures();
    let of_runs = |runs: u32| 100.0 * f64::from(runs) / f64::from(failures.runs.saturating_sub(1).max(1));
    let sizes = groups(outcomes.iter());
    let timed = |run: &Run| run.failed.map(|failed| (run.seconds, failed));
    FactorTrial {
        name: name(&row.world),
        factors: row.world.differs_in().to_vec(),
        rate: rate(failures),
        entropy: entropy(&sizes),
        range: sizes.len().saturating_sub(1) as u32,
        false_positives: of_runs(false_positives(&outcomes)),
        chance: (row.world != World::BASELINE).then(|| differs(failures, book.failures(&World::BASELINE))),
        seconds: row.runs.iter().filter_map(timed).collect(),
        skipped: row.skipped(),
        layers: layers.iter().filter_map(|layer| at_layer(row, *layer, looks)).collect(),
    }
}

fn name(world: &World) -> String {
    match world {
        World::Uncontrolled => "uncontrolled".to_owned(),
        World::With(factors) if factors.is_empty() => "baseline".to_owned(),
        World::With(factors) => match &factors[..] {
            [factor] => factor.to_string(),
            [Factor::Variable { .. }, ..] => format!("{} variables unset", factors.len()),
            several => several.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        },
    }
}

fn untried(row: &Row) -> Option<UntriedFactor> {
    Some(UntriedFactor { name: name(&row.world), why: row.cannot.clone()? })
}

/// The worlds in which it failed least and most, of those that say the same the one with more runs.
fn extremes(book: &Book) -> (&[Factor], &[Factor]) {
    let rows = || book.rows.iter().filter(|row| row.failures().runs > 0 && row.world != World::Uncontrolled);
    let key = |row: &&Row| (row.failures().share(), row.failures().runs);
    let least = |one: &&Row, other: &&Row| key(one).0.total_cmp(&key(other).0).then(key(other).1.cmp(&key(one).1));
    let most = |one: &&Row, other: &&Row| key(one).0.total_cmp(&key(other).0).then(key(one).1.cmp(&key(other).1));
    (
        rows().min_by(least).map_or(&[][..], |row| row.world.differs_in()),
        rows().max_by(most).map_or(&[][..], |row| row.world.differs_in()),
    )
}

fn all_set(baseline: &[Factor], others: &[Factor]) -> Vec<Factor> {
    let stays = |factor: &&Factor| others.iter().all(|other| other.kind() != factor.kind());
    baseline.iter().filter(stays).chain(others).cloned().collect()
}

/// One line that follows the name of the test.
fn sentence(effect: &Effect, book: &Book) -> String {
    let when = when(effect, book);
    let (there, usual) = (effect.there, effect.baseline);
    match effect.fails {
        true => format!("fails {when} ({} of {} runs), and otherwise {}", there.failed, there.runs, seldom(usual)),
        false => format!(
            "fails ({} of {} runs), but {when} {}",
            usual.failed,
            usual.runs,
            match there.failed {
                0 => format!("passes ({} of {} runs)", there.runs, there.runs),
                failed => format!("less often ({failed} of {} runs)", there.runs),
            }
        ),
    }
}

/// Of several tests that are one, those that fail.
fn who(effect: &Effect, tests: &[TestId], book: &Book) -> String {
    let there = if effect.fails { World::With(effect.factors.clone()) } else { World::BASELINE };
    let runs = book.row(&there).map_or(&[][..], |row| &row.runs);
    let mut names: Vec<&str> = runs.iter().flat_map(|run| &run.failing).map(TestId::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let more = if names.len() > NAMED { format!(" and {} more", names.len() - NAMED) } else { String::new() };
    names.truncate(NAMED);
    if tests.len() > 1 { format!("; it is {}{more}", names.join(", ")) } else { String::new() }
}

fn seldom(usual: FailureCount) -> String {
    match usual.failed {
        0 => format!("passes ({} of {})", usual.runs, usual.runs),
        failed => format!("less often ({failed} of {})", usual.runs),
    }
}

fn without_effect(asked: &ExperimentConfig, book: &Book, outcome: &Outcome) -> String {
    let mut kinds: Vec<FactorKind> = asked.plan.iter().flatten().map(Factor::kind).collect();
    kinds.sort();
    kinds.dedup();
    let is_tried =
        |kind: &FactorKind| book.rows.iter().any(|row| row.world.kind() == Some(*kind) && row.failures().runs > 0);
    let tried = kinds.iter().filter(|kind| is_tried(kind)).count();
    let (usual, loose) = (book.failures(&World::BASELINE), book.failures(&World::Uncontrolled));
    let how = format!("failed {} of {} times at the baseline", usual.failed, usual.runs);
    let yet = match differs(usual, loose) < 0.01 {
        true => format!("; yet uncontrolled it failed {} of {} times", loose.failed, loose.runs),
        false => String::new(),
    };
    let end = if outcome.complete { "" } else { ", as far as the experiment went" };
    format!("no factor tried makes a difference ({tried} factors, {} runs; {how}){yet}{end}", book.made)
}

/// `on 29 February`, `with a load of 6 or more`.
fn when(effect: &Effect, book: &Book) -> String {
    let each = effect.factors.iter().enumerate().map(|(at, factor)| {
        let first = effect.factors[..at].iter().all(|before| before.number().is_none());
        match &effect.edge {
            Some(edge) if factor.number().is_some() && first => edge_words(factor, edge, effect.fails),
            _ => one(factor, effect, book),
        }
    });
    each.collect::<Vec<_>>().join(" and ")
}

fn one(factor: &Factor, effect: &Effect, book: &Book) -> String {
    match factor {
        Factor::Date(when) => format!("when the date is {when}"),
        Factor::Speed(_) => format!("when clocks run {} times as fast", factor.setting()),
        Factor::TimeZone(zone) => format!("in the time zone {}", with_others(zone, factor, effect, book)),
        Factor::Locale(locale) => format!("with the locale {}", with_others(locale, factor, effect, book)),
        Factor::RandomSeed(_) => seeds(factor, effect, book),
        Factor::Order(0) => "when the tests before it run first".to_owned(),
        Factor::Order(1) => "when the tests after it run first, the last one first".to_owned(),
        Factor::Order(_) => "when other tests run first".to_owned(),
        Factor::Beside(copies) => format!("with {copies} copies of itself at once"),
        Factor::Cores(1) => "with a single core".to_owned(),
        Factor::Cores(cores) => format!("with {cores} cores"),
        Factor::Load(load) => format!("with {load} busy processes beside it"),
        Factor::Memory(size) => format!("with {size} of memory"),
        Factor::OpenFiles(files) => format!("when no more than {files} files can be open"),
        Factor::Delays(delays) => format!("when waits and locks are delayed by up to {}", delays.most),
        Factor::Network(Network::Off) => "without a network".to_owned(),
        Factor::Network(Network::Alone) => "without a network, and without services on this machine".to_owned(),
        Factor::Network(Network::Slow(by)) => format!("when the network is slower by {by}"),
        Factor::Listing(DirectoryOrder::Sorted) => "when directories are listed by name".to_owned(),
        Factor::Listing(DirectoryOrder::Reversed) => "when directories are listed the other way round".to_owned(),
        Factor::Listing(DirectoryOrder::Shuffled(_)) => "when directories are listed in another order".to_owned(),
        Factor::Variable { name, value: None } => format!("without the variable {name}"),
        Factor::Variable { name, value: Some(value) } => format!("with {name}={value}"),
        Factor::State(_) => "with an empty home and nothing kept from before".to_owned(),
        Factor::Declared(declared, setting) => match declared.phrase {
            FactorPhrase::Seeds => seeds(factor, effect, book),
            FactorPhrase::When(phrase) => phrase(setting, false),
        },
    }
}

/// The settings of the same kind that end alike in the plan: those of which all runs failed, and those of which all passed.
fn alike(kind: FactorKind, book: &Book, failed: bool) -> Vec<String> {
    let single = |row: &&Row| row.world.differs_in().len() == 1 && row.world.kind() == Some(kind);
    let is_so = |row: &&Row| row.failures().runs > 0 && (row.failures().share() > 0.5) == failed;
    let setting = |row: &Row| row.world.differs_in()[0].setting();
    book.rows.iter().filter(single).filter(is_so).map(setting).collect()
}

fn with_others(setting: &str, factor: &Factor, effect: &Effect, book: &Book) -> String {
    let others: Vec<String> =
        alike(factor.kind(), book, effect.fails).into_iter().filter(|other| other != setting).collect();
    match &others[..] {
        [] => setting.to_owned(),
        others => format!("{setting} (and {})", others.join(", ")),
    }
}

fn seeds(factor: &Factor, effect: &Effect, book: &Book) -> String {
    let what = factor.kind().title();
    let so = alike(factor.kind(), book, effect.fails);
    match &so[..] {
        [] | [_] => format!("with the {what} {}", factor.setting()),
        [most @ .., last] => format!("with the {what}s {} and {last}", most.join(", ")),
    }
}

// -- Edges --------------------------------------------------------------------------------------------------------------

fn threshold(effect: &Effect, edge: &Edge) -> Threshold {
    let factor = effect.factors.iter().find(|factor| factor.number().is_some()).expect("an edge is a number's");
    let words = edge_words(factor, edge, effect.fails);
    let setting = |number: f64| factor.with_number(number).map(|factor| factor.setting());
    match edge {
        Edge::Number { not, from } => {
            Threshold { before: setting(*not), from: setting(*from).unwrap_or_default(), to: None, after: None, words }
        }
        Edge::Dates { from, until, .. } => {
            let moment = |seconds: i64| Moment::at(seconds).map(|moment| ClockSetting::At(moment).to_string());
            Threshold {
                before: from.and_then(|from| moment(from - 1)),
                from: from.and_then(moment).unwrap_or_else(|| factor.setting()),
                to: until.and_then(|until| moment(until - 1)),
                after: until.and_then(moment),
                words,
            }
        }
    }
}

fn edge_words(factor: &Factor, edge: &Edge, fails: bool) -> String {
    match edge {
        Edge::Number { from, .. } => {
            let set = factor.with_number(*from).unwrap_or_else(|| factor.clone());
            let setting = set.setting();
            match &set {
                Factor::Load(load) => format!("with {load} or more busy processes beside it"),
                Factor::Beside(copies) => format!("with {copies} or more copies of itself at once"),
                Factor::Delays(delays) => {
                    format!("when waits and locks are delayed by up to {} or more", rounded(delays.most.seconds()))
                }
                Factor::Network(Network::Slow(by)) => {
                    format!("when the network is slower by {} or more", rounded(by.seconds()))
                }
                Factor::Speed(_) => {
                    let or = if *from > 1.0 { "faster" } else { "slower" };
                    format!("when clocks run {from:.1} times as fast or {or}")
                }
                Factor::Memory(size) => format!("with {} MB of memory or less", size.bytes() >> 20),
                Factor::OpenFiles(files) => format!("when no more than {files} files can be open"),
                Factor::Cores(1) => "with a single core".to_owned(),
                Factor::Cores(cores) => format!("with {cores} cores or fewer"),
                Factor::Declared(declared, _) => match declared.phrase {
                    FactorPhrase::Seeds => format!("with the {} {setting}", declared.title),
                    FactorPhrase::When(phrase) => phrase(&setting, true),
                },
                other => format!("with {other}"),
            }
        }
        Edge::Dates { from, until, again } => dates(factor, *from, *until, *again, fails),
    }
}

/// An amount of time as a person would say it.
fn rounded(seconds: f64) -> String {
    if seconds >= 1.0 { format!("{seconds:.1} s") } else { format!("{:.0} ms", seconds * 1000.0) }
}

fn dates(factor: &Factor, from: Option<i64>, until: Option<i64>, again: Option<Again>, fails: bool) -> String {
    let day = |seconds: i64| {
        Moment::at(seconds)
            .map_or(String::new(), |moment| format!("{:04}-{:02}-{:02}", moment.year, moment.month, moment.day))
    };
    let exactly = |seconds: i64| match seconds.rem_euclid(DAY) {
        0 => day(seconds),
        time => format!("{} {:02}:{:02}:{:02}", day(seconds), time / 3600, time / 60 % 60, time % 60),
    };
    let midnight = |seconds: i64| seconds.rem_euclid(DAY) == 0;
    match (from, until) {
        (Some(from), None) if midnight(from) && fails => format!("when the date is past {}", day(from - 1)),
        (Some(from), None) => format!("from {} on", exactly(from)),
        (None, Some(until)) => format!("before {}", exactly(until)),
        (None, None) => format!("when the date is {}", factor.setting()),
        (Some(from), Some(until)) => {
            let time = |seconds: i64| {
                let time = seconds.rem_euclid(DAY);
                format!("{:02}:{:02}:{:02}", time / 3600, time / 60 % 60, time % 60)
            };
            let whole = midnight(from) && until - from == DAY;
            let hours = if whole { String::new() } else { format!("from {} to {} ", time(from), time(until - 1)) };
            match again.and_then(|again| recurring(from, again)) {
                Some(days) => format!("{hours}{days}"),
                None if until - from <= DAY => format!("{hours}on {}", day(from)),
                None if midnight(from) && midnight(until) => format!("from {} to {}", day(from), day(until - 1)),
                None => format!("from {} to {}", exactly(from), exactly(until - 1)),
            }
        }
    }
}

fn recurring(day: i64, again: Again) -> Option<String> {
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
    const WEEK: [&str; 7] = ["Thursdays", "Fridays", "Saturdays", "Sundays", "Mondays", "Tuesdays", "Wednesdays"];
    let moment = Moment::at(day)?;
    Some(match again {
        Again::Yearly => format!("on {} {}", moment.day, MONTHS[moment.month as usize - 1]),
        Again::Monthly => {
            let ending = match moment.day {
                1 | 21 | 31 => "st",
                2 | 22 => "nd",
                3 | 23 => "rd",
                _ => "th",
            };
            format!("on the {}{ending} of a month", moment.day)
        }
        // The first of January 1970 was a Thursday.
        Again::Weekly => format!("on {}", WEEK[(day.div_euclid(DAY)).rem_euclid(7) as usize]),
    })
}
