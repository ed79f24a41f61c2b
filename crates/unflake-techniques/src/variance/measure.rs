//! The measure: the same tests many times, and how far the runs differ at each layer.
//!
//! This file decides what to run and puts the answer together; `spread.rs` compares.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use unflake_model::{
    Attempt, Detail, Event, Finding, Isolation, Layer, LayerDifference, LayerFacts, LayerMeasure, Measurement,
    OutputId, Purpose, Rate, Session, SessionId, TestId,
};

use crate::Technique;
use crate::search::select::chosen;
use crate::variance::compare::{differences, spread, suite_spread};
use crate::variance::entropy::{false_positives, wilson};

/// What is to be measured, and at what price.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasureConfig {
    /// Names of tests, or parts of them. None: all.
    pub only: Option<Vec<String>>,
    pub runs: u32,
    pub layers: Vec<Layer>,
    pub fresh_by: Isolation,
    /// No run is begun after so many seconds.
    pub seconds: f64,
}

pub struct Measure {
    measuring: MeasureConfig,
    looks: Rc<RefCell<dyn LayerFacts>>,
    /// In the runner's order.
    tests: Vec<TestId>,
    nobody: Vec<String>,
    isolated: bool,
    /// Attempts of each test: the run, the number of the attempt among all that were told, whether it failed.
    attempts: HashMap<TestId, BTreeMap<u32, (usize, bool)>>,
    told: usize,
    asked: u32,
    /// Microseconds: when the first attempt began, and when the latest one known to us ended.
    first: Option<i64>,
    latest: i64,
    /// Nothing more can be run.
    done: bool,
}

impl Measure {
    pub fn new(measuring: MeasureConfig, looks: Rc<RefCell<dyn LayerFacts>>) -> Self {
        Self {
            measuring,
            looks,
            tests: Vec::new(),
            nobody: Vec::new(),
            isolated: false,
            attempts: HashMap::new(),
            told: 0,
            asked: 0,
            first: None,
            latest: 0,
            done: false,
        }
    }

    /// Names that fit no test.
    pub fn nobody(&self) -> &[String] {
        &self.nobody
    }

    /// How many tests are measured.
    pub fn tests(&self) -> usize {
        self.tests.len()
    }

    fn hear_attempt(&mut self, attempt: &Attempt) {
        let number = self.told;
        self.told += 1;
        if attempt.purpose != Purpose::Look {
            return;
        }
        let began = attempt.started.0;
        self.first = Some(self.first.unwrap_or(began).min(began));
        self.latest = self.latest.max(began + (attempt.seconds * 1e6) as i64);
        let runs = self.attempts.entry(attempt.test.clone()).or_default();
        runs.insert(attempt.session.0, (number, attempt.outcome.is_failure()));
    }

    /// What the runs of a test looked like at a layer, in their order.
    fn outputs(&self, test: &TestId, layer: Layer) -> Vec<(u32, OutputId)> {
        let looks = self.looks.borrow();
        let runs = self.attempts.get(test).into_iter().flatten();
        runs.filter_map(|(run, (attempt, _))| Some((*run, looks.output(*attempt, layer)?))).collect()
    }

    fn failures(&self, test: &TestId) -> Rate {
        let runs = self.attempts.get(test);
        let failed = runs.map_or(0, |runs| runs.values().filter(|(_, failed)| *failed).count() as u32);
        rate(failed, runs.map_or(0, BTreeMap::len) as u32)
    }

    /// What the tests came to together.
    pub fn measured(&self) -> Measurement {
        let looks = self.looks.borrow();
        let asked = &self.measuring.layers;
        let layers: Vec<LayerMeasure> = asked.iter().filter_map(|layer| self.layer(*layer)).collect();
        let unseen = |layer: &&Layer| !layers.iter().any(|seen| seen.layer == **layer);
        let unseen = asked.iter().filter(unseen).copied().collect();
        let runs = self.attempts.values().map(BTreeMap::len).max().unwrap_or(0) as u32;
        Measurement { runs, unseen, layers, gaps: looks.gaps(), hidden: looks.hidden() }
    }

    /// None where nothing was seen: that all runs are alike would be no news.
    fn layer(&self, layer: Layer) -> Option<LayerMeasure> {
        let looks = &*self.looks.borrow();
        let all: Vec<Vec<(u32, OutputId)>> = self.tests.iter().map(|test| self.outputs(test, layer)).collect();
        if !all.iter().flatten().any(|(_, output)| !looks.facts(*output).is_empty()) {
            return None;
        }
        let mut whole: BTreeMap<u32, Vec<OutputId>> = BTreeMap::new();
        all.iter().flatten().for_each(|(run, output)| whole.entry(*run).or_default().push(*output));
        let whole: Vec<Vec<OutputId>> = whole.into_values().filter(|run| run.len() == self.tests.len()).collect();
        let mut found = LayerMeasure {
            layer,
            tests: 0,
            differing: 0,
            suite: (whole.len() > 1).then(|| suite_spread(looks, &whole)),
            entropy: 0.0,
            range: 0.0,
            false_positives: rate(0, 0),
        };
        let (mut wrong, mut later) = (0, 0);
        for runs in all.iter().filter(|runs| runs.len() > 1) {
            let outputs: Vec<OutputId> = runs.iter().map(|(_, output)| *output).collect();
            let of_test = spread(looks, &outputs);
            found.tests += 1;
            found.differing += u32::from(of_test.groups.len() > 1);
            found.entropy += of_test.entropy;
            found.range += f64::from(of_test.range);
            wrong += false_positives(&outputs);
            later += outputs.len() as u32 - 1;
        }
        let tests = f64::from(found.tests.max(1));
        (found.entropy, found.range) = (found.entropy / tests, found.range / tests);
        found.false_positives = rate(wrong, later);
        Some(found)
    }

    fn finding(&self, test: &TestId, layer: Layer) -> Option<Finding> {
        let looks = &*self.looks.borrow();
        let outputs: Vec<OutputId> = self.outputs(test, layer).into_iter().map(|(_, output)| output).collect();
        if outputs.windows(2).all(|two| two[0] == two[1]) {
            return None;
        }
        let spread = spread(looks, &outputs);
        let units = differences(looks, layer, &outputs);
        let failures = (layer == Layer::Verdict).then(|| self.failures(test));
        let first = units.first().map_or(String::new(), |unit| {
            let place = unit.place();
            let space = if place.is_empty() { "" } else { " " };
            format!("{place}{space}{}", unit.words(layer, spread.runs))
        });
        let sentence = format!("differs from run to run at the layer {layer}: {first}");
        let detail = Detail::Layer(LayerDifference { kind: layer, spread, units, failures });
        Some(Finding { test: test.clone(), detail, sentence, repeat: None, replay: vec![test.clone()] })
    }

    fn is_over(&self) -> bool {
        self.first.is_some_and(|first| (self.latest - first) as f64 >= self.measuring.seconds * 1e6)
    }
}

fn rate(seen: u32, of: u32) -> Rate {
    let (low, high) = wilson(seen, of);
    Rate { seen, of, low, high }
}

impl Technique for Measure {
    fn hear(&mut self, event: &Event) {
        match event {
            Event::TestsListed { tests, isolated, .. } => {
                self.isolated = *isolated;
                let all: Vec<TestId> = tests.iter().map(|test| test.id.clone()).collect();
                (self.tests, self.nobody) = match &self.measuring.only {
                    Some(names) => chosen(&all, names),
                    None => (all, Vec::new()),
                };
            }
            Event::AttemptEnded(attempt) => self.hear_attempt(attempt),
            // What cannot be run once cannot be run at all.
            Event::SessionEnded { left, why: Some(_), .. } if left.len() == self.tests.len() => self.done = true,
            _ => {}
        }
    }

    /// One run at a time: nobody is beside it, so that what differs is the tests' own.
    fn ask(&mut self) -> Vec<Session> {
        let enough = self.asked == self.measuring.runs || self.is_over();
        if self.done || enough || self.tests.is_empty() || !self.nobody.is_empty() {
            return Vec::new();
        }
        self.asked += 1;
        let origin = if self.isolated { Isolation::Process } else { self.measuring.fresh_by };
        vec![Session::fresh(SessionId(self.asked), Purpose::Look, origin, self.tests.clone())]
    }

    fn findings(&self) -> Vec<Finding> {
        let layers = &self.measuring.layers;
        self.tests.iter().flat_map(|test| layers.iter().filter_map(|layer| self.finding(test, *layer))).collect()
    }
}

#[cfg(test)]
mod tests;
