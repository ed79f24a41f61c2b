//! Interns facts and sets of facts.

use std::collections::HashMap;
use std::sync::Arc;

use unflake_model::{Fact, FactId, OutputId, Unit};

/// Interned texts.
#[derive(Default)]
pub(crate) struct TextTable {
    numbers: HashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
}

impl TextTable {
    pub(crate) fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let (text, number) = (Arc::<str>::from(text), self.texts.len() as u32);
        self.numbers.insert(text.clone(), number);
        self.texts.push(text);
        number
    }

    pub(crate) fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }
}

/// The subject of a fact, as text numbers. `test` is set if the subject is specific to a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FactSubject {
    pub(crate) test: Option<u32>,
    pub(crate) file: Option<u32>,
    pub(crate) line: Option<u32>,
    pub(crate) what: u32,
}

#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) texts: TextTable,
    units: Vec<FactSubject>,
    unit_numbers: HashMap<FactSubject, u32>,
    /// The unit and the value of each fact.
    facts: Vec<(u32, Option<u32>)>,
    numbers: HashMap<(u32, Option<u32>), FactId>,
    support: HashMap<FactId, u32>,
    orders: Vec<FactId>,
    outputs: Vec<Arc<[FactId]>>,
    output_numbers: HashMap<Arc<[FactId]>, OutputId>,
}

impl Facts {
    pub(crate) fn add(&mut self, subject: FactSubject, value: Option<&str>) -> FactId {
        let next = self.units.len() as u32;
        let unit = *self.unit_numbers.entry(subject).or_insert(next);
        if unit == next {
            self.units.push(subject);
        }
        let value = value.map(|value| self.texts.number(value));
        let next = FactId(self.facts.len() as u32);
        let fact = *self.numbers.entry((unit, value)).or_insert(next);
        if fact == next {
            self.facts.push((unit, value));
        }
        fact
    }

    /// Records the number of rows that support the fact.
    pub(crate) fn add_support(&mut self, fact: FactId, rows: u32) {
        self.support.entry(fact).or_insert(rows);
    }

    /// Marks a fact that describes only the order of other facts.
    pub(crate) fn mark_order(&mut self, fact: FactId) {
        if let Err(at) = self.orders.binary_search(&fact) {
            self.orders.insert(at, fact);
        }
    }

    pub(crate) fn output(&mut self, mut facts: Vec<FactId>) -> OutputId {
        facts.sort_unstable();
        facts.dedup();
        if let Some(output) = self.output_numbers.get(&facts[..]) {
            return *output;
        }
        let (facts, output) = (Arc::<[FactId]>::from(facts), OutputId(self.outputs.len() as u32));
        self.outputs.push(facts.clone());
        self.output_numbers.insert(facts, output);
        output
    }

    pub(crate) fn of(&self, output: OutputId) -> &[FactId] {
        &self.outputs[output.0 as usize]
    }

    pub(crate) fn unit(&self, fact: FactId) -> u32 {
        self.facts[fact.0 as usize].0
    }

    pub(crate) fn is_order(&self, fact: FactId) -> bool {
        self.orders.binary_search(&fact).is_ok()
    }

    pub(crate) fn support(&self, fact: FactId) -> Option<u32> {
        self.support.get(&fact).copied()
    }

    pub(crate) fn fact(&self, fact: FactId) -> Fact {
        let (unit, value) = self.facts[fact.0 as usize];
        let FactSubject { file, line, what, .. } = self.units[unit as usize];
        let text = |number: u32| self.texts.text(number).to_owned();
        Fact { unit: Unit { file: file.map(text), line, what: text(what) }, value: value.map(text) }
    }
}
