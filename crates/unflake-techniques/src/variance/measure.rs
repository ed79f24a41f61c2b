//! Measures how much runs of the same tests differ at each layer.
//!
//! This module decides what to run and assembles the result; `compare` compares the runs.

use std::collections::{BTreeMap, HashMap};

use unflake_model::{
    Attempt, Detail, Event, Finding, Isolation, Layer, LayerDifference, LayerFacts, LayerMeasure, Measurement,
    OutputId, Purpose, Rate, Replay, Session, SessionId, TestId,
};

use crate::finding::finding;
use crate::search::budget::Budget;
use crate::search::select::{Selection, select_listed};
use crate::stats::binomial::wilson;
use crate::variance::compare::{differences, variance_of_suite, variance_of_test};
use crate::variance::entropy::false_positives;
use crate::{Recordings, Technique};

/// What to measure, and the budget.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasureConfig {
    /// Names of tests, or parts of them. `None`: all.
    pub only: Option<Vec<String>>,
    pub runs: u32,
    pub layers: Vec<Layer>,
    pub fresh_by: Isolation,
    /// No run begins after this many seconds.
    pub seconds: f64,
}

pub struct Measure {
    config: MeasureConfig,
    budget: Budget,
    selection: Selection,
    isolated: bool,
    /// Attempts of each test by run: index among all attempts, and whether it failed.
    attempts: HashMap<TestId, BTreeMap<u32, (usize, bool)>>,
    observed: usize,
    requested: u32,
    /// No more runs are possible.
    done: bool,
}

impl Measure {
    pub fn new(config: MeasureConfig) -> Self {
        Self {
            budget: Budget::new(config.seconds),
            config,
            selection: Selection::default(),
            isolated: false,
            attempts: HashMap::new(),
            observed: 0,
            requested: 0,
            done: false,
        }
    }

    /// Requested names without a matching test.
    pub fn unmatched_names(&self) -> &[String] {
        &self.selection.unmatched
    }

    fn observe_attempt(&mut self, attempt: &Attempt) {
        let index = self.observed;
        self.observed += 1;
        if attempt.purpose != Purpose::Look {
            return;
        }
        self.budget.observe(attempt);
        let runs = self.attempts.entry(attempt.test.clone()).or_default();
        runs.insert(attempt.session.0, (index, attempt.outcome.is_failure()));
    }

    /// Outputs of a test at a layer, by run.
    fn outputs(&self, test: &TestId, layer: Layer, layers: &dyn LayerFacts) -> Vec<(u32, OutputId)> {
        let runs = self.attempts.get(test).into_iter().flatten();
        runs.filter_map(|(run, (attempt, _))| Some((*run, layers.output(*attempt, layer)?))).collect()
    }

    fn failures(&self, test: &TestId) -> Rate {
        let runs = self.attempts.get(test);
        let failed = runs.map_or(0, |runs| runs.values().filter(|(_, failed)| *failed).count() as u32);
        rate(failed, runs.map_or(0, BTreeMap::len) as u32)
    }

    /// The measurement over all tests.
    pub fn measured(&self, recordings: Recordings<'_>) -> Measurement {
        let facts = recordings.layers;
        let requested = &self.config.layers;
        let layers: Vec<LayerMeasure> = requested.iter().filter_map(|layer| self.layer(*layer, facts)).collect();
        let unseen = |layer: &&Layer| !layers.iter().any(|measured| measured.layer == **layer);
        let unseen = requested.iter().filter(unseen).copied().collect();
        let runs = self.attempts.values().map(BTreeMap::len).max().unwrap_or(0) as u32;
        Measurement { runs, unseen, layers, gaps: facts.gaps(), hidden: facts.hidden() }
    }

    /// `None` if nothing was recorded at the layer: equal runs would be no information.
    fn layer(&self, layer: Layer, layers: &dyn LayerFacts) -> Option<LayerMeasure> {
        let tests = &self.selection.tests;
        let all: Vec<Vec<(u32, OutputId)>> = tests.iter().map(|test| self.outputs(test, layer, layers)).collect();
        if !all.iter().flatten().any(|(_, output)| !layers.facts(*output).is_empty()) {
            return None;
        }
        let mut whole: BTreeMap<u32, Vec<OutputId>> = BTreeMap::new();
        all.iter().flatten().for_each(|(run, output)| whole.entry(*run).or_default().push(*output));
        let whole: Vec<Vec<OutputId>> = whole.into_values().filter(|run| run.len() == tests.len()).collect();
        let mut found = LayerMeasure {
            layer,
            tests: 0,
            differing: 0,
            suite: (whole.len() > 1).then(|| variance_of_suite(layers, &whole)),
            entropy: 0.0,
            range: 0.0,
            false_positives: rate(0, 0),
        };
        let (mut wrong, mut later) = (0, 0);
        for runs in all.iter().filter(|runs| runs.len() > 1) {
            let outputs: Vec<OutputId> = runs.iter().map(|(_, output)| *output).collect();
            let of_test = variance_of_test(layers, &outputs);
            found.tests += 1;
            found.differing += u32::from(of_test.groups.len() > 1);
            found.entropy += of_test.entropy;
            found.range += f64::from(of_test.range);
            wrong += false_positives(&outputs);
            later += outputs.len() as u32 - 1;
        }
        let measured = f64::from(found.tests.max(1));
        (found.entropy, found.range) = (found.entropy / measured, found.range / measured);
        found.false_positives = rate(wrong, later);
        Some(found)
    }

    fn finding(&self, test: &TestId, layer: Layer, layers: &dyn LayerFacts) -> Option<Finding> {
        let outputs: Vec<OutputId> = self.outputs(test, layer, layers).into_iter().map(|(_, output)| output).collect();
        if outputs.windows(2).all(|two| two[0] == two[1]) {
            return None;
        }
        let spread = variance_of_test(layers, &outputs);
        let units = differences(layers, layer, &outputs);
        let failures = (layer == Layer::Verdict).then(|| self.failures(test));
        let first = units.first().map_or(String::new(), |unit| {
            let place = unit.place();
            let space = if place.is_empty() { "" } else { " " };
            format!("{place}{space}{}", unit.words(layer, spread.runs))
        });
        let sentence = format!("differs from run to run at the layer {layer}: {first}");
        let detail = Detail::Layer(LayerDifference { kind: layer, spread, units, failures });
        let Rate { seen, of, .. } = self.failures(test);
        let replay = Replay::counted(vec![test.clone()], seen, of);
        Some(finding(test, detail, sentence, vec![replay]))
    }
}

fn rate(seen: u32, of: u32) -> Rate {
    let (low, high) = wilson(seen, of);
    Rate { seen, of, low, high }
}

impl Technique for Measure {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        match event {
            Event::TestsListed { tests, isolated, seconds, .. } => {
                self.budget = Budget::new(self.config.seconds - seconds);
                self.isolated = *isolated;
                self.selection = select_listed(tests, self.config.only.as_deref());
            }
            Event::AttemptEnded(attempt) => self.observe_attempt(attempt),
            // A test that cannot run once cannot run at all.
            Event::SessionEnded { left, why: Some(_), .. } if left.len() == self.selection.tests.len() => {
                self.done = true;
            }
            _ => {}
        }
    }

    /// One run at a time, so that differences come from the tests and not from parallel sessions.
    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        let enough = self.requested == self.config.runs || self.budget.is_exhausted();
        let Selection { tests, unmatched } = &self.selection;
        if self.done || enough || tests.is_empty() || !unmatched.is_empty() {
            return Vec::new();
        }
        self.requested += 1;
        let origin = if self.isolated { Isolation::Process } else { self.config.fresh_by };
        vec![Session::fresh(SessionId(self.requested), Purpose::Look, origin, tests.clone())]
    }

    fn findings(&self, recordings: Recordings<'_>) -> Vec<Finding> {
        let layers = &self.config.layers;
        let of_test = |test| layers.iter().filter_map(move |layer| self.finding(test, *layer, recordings.layers));
        self.selection.tests.iter().flat_map(of_test).collect()
    }
}

#[cfg(test)]
mod tests;
