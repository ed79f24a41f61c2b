//! Compares the outputs of runs at a layer: how much they differ, and in what.

use std::collections::{BTreeMap, HashMap, HashSet};

use unflake_model::{Difference, Fact, FactId, Layer, LayerFacts, OutputId, SeenIn, Variance};

use crate::variance::entropy::{entropy, groups, inconsistent};

/// Limit on reported differences.
const UNITS: usize = 50;

/// Variance of the outputs of some runs.
pub(crate) fn variance_of_test(layers: &dyn LayerFacts, runs: &[OutputId]) -> Variance {
    let groups = groups(runs);
    let range = range(layers, times_by_output(runs).into_iter().map(|(output, times)| (layers.facts(output), times)));
    Variance { runs: runs.len() as u32, entropy: entropy(&groups), range, groups }
}

/// Number of units that were observed in any of these runs.
pub(crate) fn units(layers: &dyn LayerFacts, runs: &[OutputId]) -> usize {
    let outputs: HashSet<OutputId> = runs.iter().copied().collect();
    let facts = outputs.into_iter().flat_map(|output| layers.facts(output));
    let units: HashSet<u32> = facts.filter(|fact| !layers.is_order(**fact)).map(|fact| layers.unit(*fact)).collect();
    units.len()
}

/// Variance of a suite, whose output in a run is the union of its tests' outputs.
pub(crate) fn variance_of_suite(layers: &dyn LayerFacts, runs: &[Vec<OutputId>]) -> Variance {
    let mut unions: HashMap<Vec<FactId>, u32> = HashMap::new();
    let mut known: HashMap<&[OutputId], Vec<FactId>> = HashMap::new();
    for run in runs {
        let union = known.entry(run).or_insert_with(|| union(layers, run));
        *unions.entry(union.clone()).or_default() += 1;
    }
    let range = range(layers, unions.iter().map(|(union, times)| (&union[..], *times)));
    let mut groups: Vec<u32> = unions.into_values().collect();
    groups.sort_unstable_by(|one, other| other.cmp(one));
    Variance { runs: runs.len() as u32, entropy: entropy(&groups), range, groups }
}

fn union(layers: &dyn LayerFacts, outputs: &[OutputId]) -> Vec<FactId> {
    let mut there: Vec<bool> = Vec::new();
    for output in outputs.iter().collect::<HashSet<_>>() {
        let facts = layers.facts(*output);
        let most = facts.last().map_or(0, |fact| fact.0 as usize + 1);
        there.resize(there.len().max(most), false);
        facts.iter().for_each(|fact| there[fact.0 as usize] = true);
    }
    let present = there.iter().enumerate().filter(|(_, there)| **there);
    present.map(|(at, _)| FactId(at as u32)).collect()
}

/// Units that are not the same in all runs, at most [`UNITS`]. Those with another value in every run
/// come last: they are more likely to be noise.
pub(crate) fn differences(layers: &dyn LayerFacts, layer: Layer, runs: &[OutputId]) -> Vec<Difference> {
    let facts = inconsistent(times_by_output(runs).into_iter().map(|(output, times)| (layers.facts(output), times)));
    let counted = units_that_count(layers, &facts);
    let mut units: BTreeMap<FactId, Vec<(FactId, u32)>> = BTreeMap::new();
    let mut first: HashMap<u32, FactId> = HashMap::new();
    for (fact, times) in facts.into_iter().filter(|(fact, _)| counted.contains(&layers.unit(*fact))) {
        let first = *first.entry(layers.unit(fact)).or_insert(fact);
        units.entry(first).or_default().push((fact, times));
    }
    let mut found: Vec<Difference> = units.into_values().map(|facts| difference(layers, &facts)).collect();
    match layer {
        Layer::Code => {
            found.sort_by(|one, other| one.unit.cmp(&other.unit));
            found = merge_adjacent(found);
        }
        Layer::Branch => found.sort_by(|one, other| one.unit.cmp(&other.unit)),
        Layer::Assertion => merge_unreached(&mut found),
        _ => {}
    }
    let runs = runs.len() as u32;
    found.sort_by_key(|one| one.differs_in_every_run(runs));
    found.truncate(UNITS);
    found
}

fn times_by_output(runs: &[OutputId]) -> BTreeMap<OutputId, u32> {
    let mut times = BTreeMap::new();
    runs.iter().for_each(|output| *times.entry(*output).or_default() += 1);
    times
}

/// Number of inconsistent units over distinct outputs, each with its number of runs.
fn range<'a>(layers: &dyn LayerFacts, outputs: impl ExactSizeIterator<Item = (&'a [FactId], u32)>) -> u32 {
    if outputs.len() < 2 {
        return 0;
    }
    units_that_count(layers, &inconsistent(outputs)).len() as u32
}

/// Units of these facts. An order counts only if nothing else differs: another line changes the
/// order as well.
fn units_that_count(layers: &dyn LayerFacts, facts: &BTreeMap<FactId, u32>) -> HashSet<u32> {
    let of =
        |order: bool| facts.keys().filter(move |fact| layers.is_order(**fact) == order).map(|fact| layers.unit(*fact));
    let units: HashSet<u32> = of(false).collect();
    if units.is_empty() { of(true).collect() } else { units }
}

fn difference(layers: &dyn LayerFacts, facts: &[(FactId, u32)]) -> Difference {
    let mut by_runs = facts.to_vec();
    by_runs.sort_by_key(|(_, runs)| std::cmp::Reverse(*runs));
    let values = by_runs.iter().map(|(fact, runs)| SeenIn { value: layers.fact(*fact).value, runs: *runs });
    let mut seen: Vec<SeenIn> = values.collect();
    if layers.is_order(facts[0].0) {
        seen = first_difference(&seen);
    }
    seen.truncate(Difference::MAX_VALUES);
    let Fact { unit, .. } = layers.fact(facts[0].0);
    Difference { unit, last: None, seen, support: layers.support(facts[0].0) }
}

/// The first line at which orders differ, with what each has there.
fn first_difference(orders: &[SeenIn]) -> Vec<SeenIn> {
    let lines: Vec<Vec<&str>> =
        orders.iter().map(|order| order.value.iter().flat_map(|text| text.lines()).collect()).collect();
    let differs = |at: &usize| lines.windows(2).any(|two| two[0].get(*at) != two[1].get(*at));
    let longest = lines.iter().map(Vec::len).max().unwrap_or(0);
    let at = (0..longest).find(differs).unwrap_or(0);
    let mut seen: Vec<SeenIn> = Vec::new();
    for (order, lines) in orders.iter().zip(&lines) {
        let value = Some(format!("{} is line {}", lines.get(at).unwrap_or(&"nothing"), at + 1));
        match seen.iter_mut().find(|known| known.value == value) {
            Some(known) => known.runs += order.runs,
            None => seen.push(SeenIn { value, runs: order.runs }),
        }
    }
    seen.sort_by_key(|known| std::cmp::Reverse(known.runs));
    seen
}

/// An assertion that is not reached has no values: reported once each.
fn merge_unreached(found: &mut Vec<Difference>) {
    let mut reported = HashSet::new();
    let missing = |one: &Difference| (one.unit.file.clone(), one.unit.line, one.seen[0].runs);
    found.retain(|one| one.seen.len() > 1 || reported.insert(missing(one)));
}

/// Merges consecutive lines that differ in the same way.
fn merge_adjacent(lines: Vec<Difference>) -> Vec<Difference> {
    let mut joined: Vec<Difference> = Vec::new();
    for line in lines {
        match joined.last_mut() {
            Some(before) if follows(before, &line) => before.last = line.unit.line,
            _ => joined.push(line),
        }
    }
    joined
}

fn follows(before: &Difference, line: &Difference) -> bool {
    let last = before.last.or(before.unit.line);
    before.unit.file == line.unit.file
        && last.zip(line.unit.line).is_some_and(|(last, line)| last + 1 == line)
        && before.seen == line.seen
}
