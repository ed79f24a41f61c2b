//! Stores the observations of many attempts for comparison. Equal facts are stored once, so similar
//! runs take almost no space.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use unflake_model::{Attempt, EnvironmentId, Event, Fact, FactId, Gap, Layer, LayerFacts, OutputId, SuppressedNoise};

use crate::layers::attempt_facts::{AttemptObservations, FactBuilder};
use crate::layers::facts::Facts;
use crate::layers::noise::NoiseTracker;
use crate::layers::noise_rules::Rules;
use crate::layers::read::read;

pub struct LayerArchive {
    layers: Vec<Layer>,
    rules: Rules,
    noise: NoiseTracker,
    facts: Facts,
    /// Files of attempts that have not ended.
    pending: HashMap<EnvironmentId, PathBuf>,
    /// One for each attempt.
    outputs: Vec<[Option<OutputId>; Layer::ALL.len()]>,
    gaps: BTreeMap<(Layer, String), u32>,
}

impl LayerArchive {
    /// An archive of these layers.
    pub fn new(layers: &[Layer], rules: Rules) -> Self {
        Self {
            layers: layers.to_vec(),
            rules,
            noise: NoiseTracker::default(),
            facts: Facts::default(),
            pending: HashMap::new(),
            outputs: Vec::new(),
            gaps: BTreeMap::new(),
        }
    }

    /// Must be called with every attempt, and before it with the file of its observations, which is
    /// removed afterwards.
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::LayersRecorded { environment, file, .. } => {
                if let Some(before) = self.pending.insert(*environment, file.clone()) {
                    let _ = fs::remove_file(before);
                }
            }
            Event::AttemptEnded(attempt) => {
                let file = self.pending.remove(&attempt.environment);
                self.attempted(attempt, file.as_deref());
                file.map(fs::remove_file);
            }
            _ => {}
        }
    }

    fn attempted(&mut self, attempt: &Attempt, file: Option<&Path>) {
        let test = self.facts.texts.number(attempt.test.as_str());
        let Self { facts, rules, noise, .. } = self;
        let builder = &mut FactBuilder { facts, rules, noise, test };
        let mut observations = AttemptObservations::default();
        let verdict = builder.fact(None, (None, "verdict".to_owned()), Some(attempt.outcome.word()), true);
        let result = file.map(|file| {
            let from = BufReader::new(File::open(file).map_err(|error| error.to_string())?);
            read(from, |one| observations.add(one, builder)).map_err(|why| why.to_string())
        });
        let known = match &result {
            Some(Ok(())) => Layer::ALL.to_vec(),
            Some(Err(_)) => {
                observations = AttemptObservations::default();
                Vec::new()
            }
            // Test output arrives with the attempt. Some runners omit it for passing tests, so
            // empty output is unknown output.
            None => {
                observations.wrote("stdout", &attempt.stdout);
                observations.wrote("stderr", &attempt.stderr);
                let printed = !attempt.stdout.is_empty() || !attempt.stderr.is_empty();
                Vec::from_iter(printed.then_some(Layer::Interface))
            }
        };
        let gaps = std::mem::take(&mut observations.gaps);
        let (layers, without_invariants) = observations.facts(builder);
        let mut outputs = [None; Layer::ALL.len()];
        outputs[Layer::Verdict as usize] = Some(facts.output(vec![verdict]));
        for (layer, of_layer) in layers.into_iter().filter(|(layer, _)| known.contains(layer)) {
            outputs[layer as usize] = self.layers.contains(&layer).then(|| facts.output(of_layer));
        }
        self.outputs.push(outputs);
        let unreadable = result.and_then(Result::err).map(|why| format!("the agent's report is invalid: {why}"));
        let layers = self.layers.iter().filter(|layer| **layer != Layer::Verdict);
        let refused = unreadable.iter().flat_map(|why| layers.clone().map(|layer| (*layer, why.clone())));
        let few = "values at some functions were seen too few times in a test to infer invariants (at least 7 needed)";
        let without_invariants = (without_invariants > 0).then(|| (Layer::Behaviour, few.to_owned()));
        for gap in
            gaps.into_iter().chain(refused).chain(without_invariants).filter(|(layer, _)| self.layers.contains(layer))
        {
            *self.gaps.entry(gap).or_default() += 1;
        }
    }
}

impl LayerFacts for LayerArchive {
    fn output(&self, attempt: usize, layer: Layer) -> Option<OutputId> {
        self.outputs.get(attempt)?[layer as usize]
    }

    fn facts(&self, output: OutputId) -> &[FactId] {
        self.facts.of(output)
    }

    fn fact(&self, fact: FactId) -> Fact {
        self.facts.fact(fact)
    }

    fn unit(&self, fact: FactId) -> u32 {
        self.facts.unit(fact)
    }

    fn is_order(&self, fact: FactId) -> bool {
        self.facts.is_order(fact)
    }

    fn support(&self, fact: FactId) -> Option<u32> {
        self.facts.support(fact)
    }

    fn gaps(&self) -> Vec<Gap> {
        let result = |((layer, why), attempts): (&(Layer, String), &u32)| Gap {
            layer: *layer,
            why: why.clone(),
            attempts: *attempts,
        };
        self.gaps.iter().map(result).collect()
    }

    fn hidden(&self) -> Vec<SuppressedNoise> {
        self.rules.hidden()
    }
}

#[cfg(test)]
mod tests;
