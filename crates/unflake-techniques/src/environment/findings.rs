//! The findings of an experiment as data. Their sentences are in `sentences`.

use unflake_model::{
    AtLayer, ClockSetting, Confidence, Detail, FactId, Factor, FactorKind, FactorTrial, Finding, Influence, Layer,
    LayerFacts, Moment, OutputId, Rate, Replay, TestId, Threshold, UntriedFactor,
};

use crate::environment::experiment::{Effect, ExperimentConfig, ExperimentResult};
use crate::environment::sentences::{edge_phrase, nothing_found, sentence};
use crate::environment::threshold::Edge;
use crate::environment::trials::{TrialLog, TrialRun, TrialWorld, WorldRuns, with_changes};
use crate::stats::binomial::wilson;
use crate::stats::failure_rate::{FailureCount, differs, less_often, more_often};
use crate::variance::entropy::{entropy, false_positives, groups, inconsistent};

/// Where other worlds fail too, a difference is possible below this p-value, corrected for factors.
const POSSIBLE: f64 = 0.05;

pub(crate) fn findings(
    tests: &[TestId],
    config: &ExperimentConfig,
    log: &TrialLog,
    result: &ExperimentResult,
    layers: &dyn LayerFacts,
) -> Vec<Finding> {
    if log.failures(&TrialWorld::BASELINE).runs == 0 {
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
    let effects = result.effects.iter().cloned().chain(unconfirmed(log, &result.effects));
    let mut found: Vec<Finding> =
        effects.map(|effect| finding(influence(&effect), sentence(&effect, tests, log))).collect();
    if found.is_empty() {
        found.push(finding(no_influence(log), nothing_found(log, result.complete)));
    }
    if let Detail::Factor(first) = &mut found[0].detail {
        let trials = log.worlds.iter().filter(|row| row.error.is_none());
        first.plan = trials.map(|row| trial(row, log, &config.layers, layers)).collect();
        first.untried = config.untried.iter().cloned().chain(log.worlds.iter().filter_map(untried)).collect();
        let (best, worst) = match result.effects.first() {
            Some(Effect { factors, fails: true, .. }) => (&[][..], &factors[..]),
            Some(Effect { factors, .. }) => (&factors[..], &[][..]),
            None => extremes(log),
        };
        first.best = with_changes(&config.baseline, best);
        first.worst = with_changes(&config.baseline, worst);
        first.runs = log.runs;
    }
    found
}

/// Differences that were seen and not confirmed, one for each factor: failures in worlds of no
/// other factor, or more of them than in all other worlds.
fn unconfirmed(log: &TrialLog, effects: &[Effect]) -> Vec<Effect> {
    let explained = |kind: FactorKind| effects.iter().flat_map(|effect| &effect.factors).any(|one| one.kind() == kind);
    let single = || log.tried().filter_map(|row| Some((row.world.kind()?, row)));
    let mut kinds: Vec<FactorKind> = Vec::new();
    for (kind, _) in single() {
        if !explained(kind) && !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let baseline = log.failures(&TrialWorld::BASELINE);
    let found = kinds.iter().filter_map(|kind| {
        let others = single().filter(|(other, _)| other != kind && !explained(*other));
        let others = others.fold(baseline, |sum, (_, row)| sum + row.failures());
        let corrected = |p_value: f64| p_value * kinds.len() as f64;
        let stands_out = |row: &&WorldRuns| {
            let there = row.failures();
            let more = there.failed > 0 && (others.failed == 0 || corrected(more_often(there, others)) < POSSIBLE);
            let less = there.failed < there.runs
                && (others.failed == others.runs || corrected(less_often(there, others)) < POSSIBLE);
            more || less
        };
        let p_value = |row: &WorldRuns| differs(row.failures(), baseline);
        let rows = single().filter(|(other, _)| other == kind).map(|(_, row)| row).filter(stands_out);
        let row = rows.min_by(|one, other| p_value(one).total_cmp(&p_value(other)))?;
        Some(Effect {
            factors: row.world.changes().to_vec(),
            fails: row.failures().share() > baseline.share(),
            there: row.failures(),
            baseline,
            p_value: p_value(row),
            confidence: Confidence::Possible,
            edge: None,
        })
    });
    found.collect()
}

fn influence(effect: &Effect) -> Influence {
    let mut kinds: Vec<&str> = effect.factors.iter().map(|factor| factor.kind().name).collect();
    kinds.dedup();
    Influence {
        kind: kinds.join("+"),
        confidence: effect.confidence,
        setting: effect.factors.clone(),
        fails: effect.fails,
        threshold: effect.edge.as_ref().map(|edge| threshold(effect, edge)),
        rate: rate(effect.there),
        baseline: rate(effect.baseline),
        p_value: effect.p_value,
        plan: Vec::new(),
        untried: Vec::new(),
        worst: Vec::new(),
        best: Vec::new(),
        runs: 0,
    }
}

fn no_influence(log: &TrialLog) -> Influence {
    let baseline = log.failures(&TrialWorld::BASELINE);
    let none = Effect {
        factors: Vec::new(),
        fails: false,
        there: baseline,
        baseline,
        p_value: 1.0,
        confidence: Confidence::Possible,
        edge: None,
    };
    Influence { kind: "none".to_owned(), ..influence(&none) }
}

fn threshold(effect: &Effect, edge: &Edge) -> Threshold {
    let factor = effect.factors.iter().find(|factor| factor.number().is_some()).expect("an edge has a number");
    let words = edge_phrase(factor, edge, effect.fails);
    let setting = |number: f64| factor.with_number(number).map(|factor| factor.setting().to_owned());
    match edge {
        Edge::Number { not, from } => {
            Threshold { before: setting(*not), from: setting(*from).unwrap_or_default(), to: None, after: None, words }
        }
        Edge::Dates { from, until, .. } => {
            let moment = |seconds: i64| Moment::at(seconds).map(|moment| ClockSetting::At(moment).to_string());
            Threshold {
                before: from.and_then(|from| moment(from - 1)),
                from: from.and_then(moment).unwrap_or_else(|| factor.setting().to_owned()),
                to: until.and_then(|until| moment(until - 1)),
                after: until.and_then(moment),
                words,
            }
        }
    }
}

pub(crate) fn rate(failures: FailureCount) -> Rate {
    let (low, high) = wilson(failures.failed, failures.runs);
    Rate { seen: failures.failed, of: failures.runs, low, high }
}

/// How much the runs of a world differ at a layer. None: fewer than two were recorded there.
fn at_layer(row: &WorldRuns, layer: Layer, layers: &dyn LayerFacts) -> Option<AtLayer> {
    let recorded =
        |run: &TrialRun| run.attempts.iter().map(|attempt| layers.output(*attempt, layer)).collect::<Option<Vec<_>>>();
    let outputs: Vec<Vec<OutputId>> = row.runs.iter().filter_map(recorded).filter(|run| !run.is_empty()).collect();
    let facts = |run: &Vec<OutputId>| {
        let mut facts: Vec<FactId> = run.iter().flat_map(|output| layers.facts(*output)).copied().collect();
        facts.sort_unstable();
        facts.dedup();
        facts
    };
    let facts: Vec<Vec<FactId>> = outputs.iter().map(facts).collect();
    (outputs.len() > 1).then(|| AtLayer {
        layer,
        runs: outputs.len() as u32,
        entropy: entropy(&groups(outputs.iter())),
        range: inconsistent(facts.iter().map(|facts| (&facts[..], 1))).len() as u32,
        false_positives: 100.0 * f64::from(false_positives(&outputs)) / (outputs.len() - 1) as f64,
    })
}

fn trial(row: &WorldRuns, log: &TrialLog, layers: &[Layer], facts: &dyn LayerFacts) -> FactorTrial {
    let outcomes: Vec<bool> = row.runs.iter().filter_map(|run| run.failed).collect();
    let failures = row.failures();
    let of_runs = |runs: u32| 100.0 * f64::from(runs) / f64::from(failures.runs.saturating_sub(1).max(1));
    let sizes = groups(outcomes.iter());
    let baseline = log.failures(&TrialWorld::BASELINE);
    FactorTrial {
        name: name(&row.world),
        factors: row.world.changes().to_vec(),
        rate: rate(failures),
        entropy: entropy(&sizes),
        range: sizes.len().saturating_sub(1) as u32,
        false_positives: of_runs(false_positives(&outcomes)),
        p_value: (row.world != TrialWorld::BASELINE).then(|| differs(failures, baseline)),
        seconds: row.runs.iter().filter_map(|run| run.failed.map(|failed| (run.seconds, failed))).collect(),
        skipped: row.skipped(),
        layers: layers.iter().filter_map(|layer| at_layer(row, *layer, facts)).collect(),
    }
}

fn name(world: &TrialWorld) -> String {
    match world {
        TrialWorld::Uncontrolled => "uncontrolled".to_owned(),
        TrialWorld::With(factors) => match &factors[..] {
            [] => "baseline".to_owned(),
            [factor] => factor.to_string(),
            [first, ..] if world.kind().is_some() => format!("{} {}", factors.len(), first.kind().plural),
            several => several.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        },
    }
}

fn untried(row: &WorldRuns) -> Option<UntriedFactor> {
    Some(UntriedFactor { name: name(&row.world), why: row.error.clone()? })
}

/// The worlds in which it failed least and most often; of equal ones that with more runs.
fn extremes(log: &TrialLog) -> (&[Factor], &[Factor]) {
    let rows = || log.tried().filter(|row| row.world != TrialWorld::Uncontrolled);
    let share = |one: &&WorldRuns, other: &&WorldRuns| one.failures().share().total_cmp(&other.failures().share());
    let runs = |one: &&WorldRuns, other: &&WorldRuns| one.failures().runs.cmp(&other.failures().runs);
    let least = rows().min_by(|one, other| share(one, other).then(runs(other, one)));
    let most = rows().max_by(|one, other| share(one, other).then(runs(one, other)));
    (least.map_or(&[][..], |row| row.world.changes()), most.map_or(&[][..], |row| row.world.changes()))
}
