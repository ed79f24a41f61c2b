//! Measures how much runs of the same tests differ at each layer.
//!
//! This module decides what to run and assembles the result; `compare` compares the runs.

use std::collections::{BTreeMap, HashMap};

use unflake_model::{
    Attempt, ConfigurationMeasure, Detail, Event, Finding, Isolation, Layer, LayerDifference, LayerFacts, LayerMeasure,
    Measurement, OutputId, Placement, Purpose, Rate, Replay, RunCircumstances, RunConfiguration, Session, SessionId,
    TestId,
};

use crate::finding::finding;
use crate::search::budget::Budget;
use crate::search::rng::SeededRng;
use crate::search::select::{Selection, select_listed};
use crate::stats::binomial::wilson;
use crate::variance::compare::{differences, units, variance_of_suite, variance_of_test};
use crate::variance::entropy::false_positives;
use crate::{Recordings, Technique};

/// What to measure, and the budget.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasureConfig {
    /// Names of tests, or parts of them. `None`: all.
    pub only: Option<Vec<String>>,
    pub runs: u32,
    /// Circumstances to compare. Empty: only those of the user.
    pub configurations: Vec<RunConfiguration>,
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
    /// Why no more runs are possible, by configuration.
    ended: BTreeMap<usize, String>,
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
            ended: BTreeMap::new(),
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

    /// The configurations with runs, in turns: whatever changes on the machine meets all of them.
    fn running(&self) -> Vec<&RunConfiguration> {
        self.config.configurations.iter().filter(|one| one.missing.is_none()).collect()
    }

    /// What a run is, by the number of its session: its configuration, and its number there.
    fn place_of(&self, run: u32) -> (usize, usize) {
        let count = self.running().len().max(1);
        ((run as usize - 1) % count, (run as usize - 1) / count)
    }

    /// The runs of a test in a configuration, by number.
    fn runs(&self, test: &TestId, configuration: usize) -> impl Iterator<Item = (u32, (usize, bool))> {
        let runs = self.attempts.get(test).into_iter().flatten().map(|(run, seen)| (*run, *seen));
        runs.filter(move |(run, _)| self.place_of(*run).0 == configuration)
    }

    /// Outputs of a test at a layer, by run.
    fn outputs(
        &self,
        test: &TestId,
        configuration: usize,
        layer: Layer,
        layers: &dyn LayerFacts,
    ) -> Vec<(u32, OutputId)> {
        let output = |(run, (attempt, _)): (u32, (usize, bool))| Some((run, layers.output(attempt, layer)?));
        self.runs(test, configuration).filter_map(output).collect()
    }

    fn failures(&self, test: &TestId, configuration: usize) -> Rate {
        let (mut failed, mut runs) = (0, 0);
        self.runs(test, configuration).for_each(|(_, (_, fails))| {
            runs += 1;
            failed += u32::from(fails);
        });
        rate(failed, runs)
    }

    /// The measurement over all tests.
    pub fn measured(&self, recordings: Recordings<'_>) -> Measurement {
        let facts = recordings.layers;
        let requested = &self.config.layers;
        let of = |configuration: usize| -> (u32, Vec<LayerMeasure>) {
            let tests = self.selection.tests.iter();
            let runs = tests.map(|test| self.runs(test, configuration).count()).max().unwrap_or(0);
            (runs as u32, requested.iter().filter_map(|layer| self.layer(configuration, *layer, facts)).collect())
        };
        let mut numbers = 0..;
        let mut measured = |one: &RunConfiguration| {
            let number = one.missing.is_none().then(|| numbers.next().expect("numbers do not end"));
            let (runs, layers) = number.map_or((0, Vec::new()), &of);
            let ended = number.and_then(|number| self.ended.get(&number)).filter(|_| runs == 0);
            let missing = one.missing.clone().or_else(|| ended.cloned());
            let (settings, drawn) = one.settings();
            ConfigurationMeasure { name: one.name.clone(), settings, drawn, runs, layers, missing }
        };
        let configurations: Vec<ConfigurationMeasure> = self.config.configurations.iter().map(&mut measured).collect();
        let (runs, layers) = match &configurations[..] {
            [] => of(0),
            [only] => (only.runs, only.layers.clone()),
            several => (several.iter().map(|one| one.runs).max().unwrap_or(0), Vec::new()),
        };
        let is_seen = |layer: Layer| {
            let all = configurations.iter().flat_map(|one| &one.layers).chain(&layers);
            all.into_iter().any(|measured| measured.layer == layer)
        };
        let unseen = requested.iter().copied().filter(|layer| !is_seen(*layer)).collect();
        Measurement { runs, unseen, layers, gaps: facts.gaps(), hidden: facts.hidden(), configurations }
    }

    /// `None` if nothing was recorded at the layer: equal runs would be no information.
    fn layer(&self, configuration: usize, layer: Layer, layers: &dyn LayerFacts) -> Option<LayerMeasure> {
        let tests = &self.selection.tests;
        let all: Vec<Vec<(u32, OutputId)>> =
            tests.iter().map(|test| self.outputs(test, configuration, layer, layers)).collect();
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
            units: 0.0,
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
            found.units += units(layers, &outputs) as f64;
            wrong += false_positives(&outputs);
            later += outputs.len() as u32 - 1;
        }
        let measured = f64::from(found.tests.max(1));
        for sum in [&mut found.entropy, &mut found.range, &mut found.units] {
            *sum /= measured;
        }
        found.false_positives = rate(wrong, later);
        Some(found)
    }

    fn finding(&self, test: &TestId, configuration: usize, layer: Layer, layers: &dyn LayerFacts) -> Option<Finding> {
        let outputs = self.outputs(test, configuration, layer, layers);
        let outputs: Vec<OutputId> = outputs.into_iter().map(|(_, output)| output).collect();
        if outputs.windows(2).all(|two| two[0] == two[1]) {
            return None;
        }
        let spread = variance_of_test(layers, &outputs);
        let units = differences(layers, layer, &outputs);
        let name = self.running().get(configuration).map(|one| one.name.clone());
        let failures = (layer == Layer::Verdict).then(|| self.failures(test, configuration));
        let first = units.first().map_or(String::new(), |unit| {
            let place = unit.place();
            let space = if place.is_empty() { "" } else { " " };
            format!("{place}{space}{}", unit.words(layer, spread.runs))
        });
        let within = name.as_ref().map_or(String::new(), |name| format!(" in the configuration {name}"));
        let sentence = format!("differs from run to run at the layer {layer}{within}: {first}");
        let Rate { seen, of, .. } = self.failures(test, configuration);
        let detail = Detail::Layer(LayerDifference { kind: layer, spread, units, failures, configuration: name });
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
            Event::SessionEnded { session, left, why: Some(why) } if left.len() == self.selection.tests.len() => {
                self.ended.insert(self.place_of(session.0).0, why.clone());
            }
            _ => {}
        }
    }

    /// One run at a time, so that differences come from the tests and not from parallel sessions.
    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        loop {
            let running = self.running().len().max(1) as u32;
            // Each configuration has as many runs as the others.
            let between = self.requested.is_multiple_of(running);
            let enough = self.requested == self.config.runs * running || between && self.budget.is_exhausted();
            if enough || self.selection.tests.is_empty() || !self.selection.unmatched.is_empty() {
                return Vec::new();
            }
            self.requested += 1;
            if !self.ended.contains_key(&self.place_of(self.requested).0) {
                break;
            }
        }
        let tests = &self.selection.tests;
        let origin = if self.isolated { Isolation::Process } else { self.config.fresh_by };
        let session = Session::fresh(SessionId(self.requested), Purpose::Look, origin, tests.clone());
        let (configuration, run) = self.place_of(self.requested);
        let circumstances = self.running().get(configuration).and_then(|one| one.runs.get(run)).cloned();
        vec![circumstances.map_or(session.clone(), |circumstances| in_circumstances(session, circumstances))]
    }

    fn findings(&self, recordings: Recordings<'_>) -> Vec<Finding> {
        let (layers, count) = (&self.config.layers, self.running().len().max(1));
        let of_test = |test| {
            let of = move |configuration| {
                layers.iter().filter_map(move |layer| self.finding(test, configuration, *layer, recordings.layers))
            };
            (0..count).flat_map(of)
        };
        self.selection.tests.iter().flat_map(of_test).collect()
    }
}

/// Chosen circumstances need a process of their own: forks of one share what it drew.
fn in_circumstances(session: Session, circumstances: RunCircumstances) -> Session {
    let RunCircumstances { world, order } = circumstances;
    let place = if world.is_some() { Placement::Fresh(Isolation::Process) } else { session.place };
    let mut tests = session.tests;
    if let Some(seed) = order {
        SeededRng(seed).shuffle(&mut tests);
    }
    Session { under: world, place, tests, ..session }
}

#[cfg(test)]
mod tests;
