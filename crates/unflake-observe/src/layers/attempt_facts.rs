//! Converts the observations of one attempt to facts at each layer.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use unflake_model::{FactId, Layer};

use crate::layers::facts::{FactSubject, Facts};
use crate::layers::noise::{CleanedValues, NoiseTracker, digest};
use crate::layers::noise_rules::{Mask, Rules};
use crate::layers::program_points::ProgramPoint;
use crate::layers::read::{AgentObservation, ObservedAssertion};
use crate::layers::value::Value;

/// Longer values are stored as their beginning, their length and a digest.
const MAX_VALUE: usize = 300;
/// The same limit for all lines of a page together.
const MAX_PAGE: usize = 3000;
/// The number of consecutive values of an assertion that are stored verbatim.
const MAX_VALUES: usize = 50;

/// The shared state for creating facts.
pub(crate) struct FactBuilder<'a> {
    pub(crate) facts: &'a mut Facts,
    pub(crate) rules: &'a mut Rules,
    pub(crate) noise: &'a mut NoiseTracker,
    pub(crate) test: u32,
}

/// The observations of one attempt so far.
#[derive(Default)]
pub(crate) struct AttemptObservations {
    /// The values of each assertion, in the order of first evaluation; the key "" is its outcome.
    asserted: Vec<(Arc<ObservedAssertion>, BTreeMap<String, Sequence>)>,
    sites: HashMap<Arc<ObservedAssertion>, usize>,
    lines: Vec<FactId>,
    branches: Vec<FactId>,
    points: BTreeMap<u32, ObservedPoint>,
    interface: Vec<FactId>,
    steps: u32,
    written: BTreeMap<String, String>,
    pub(crate) gaps: Vec<(Layer, String)>,
}

struct ObservedPoint {
    file: Arc<str>,
    name: String,
    variables: Vec<String>,
    values: ProgramPoint,
    /// Noise in the variables that had any.
    noise: BTreeMap<usize, CleanedValues>,
}

/// Consecutive values, run-length encoded.
#[derive(Default)]
struct Sequence {
    values: Vec<(String, u32)>,
    /// The number of values beyond the limit.
    more: u32,
    all: CleanedValues,
}

impl AttemptObservations {
    pub(crate) fn add(&mut self, observation: AgentObservation, builder: &mut FactBuilder<'_>) {
        match observation {
            AgentObservation::Assert { site, how, saw } => self.asserted(site, how, saw, builder),
            AgentObservation::Lines { file, ranges } => {
                // There may be millions of lines, so their common parts are looked up once.
                let (file, what) = (builder.facts.texts.number(&file), builder.facts.texts.number(""));
                for line in ranges.into_iter().flat_map(|(first, last)| first..=last) {
                    let subject = FactSubject { test: None, file: Some(file), line: Some(line), what };
                    self.lines.push(builder.facts.add(subject, None));
                }
            }
            AgentObservation::Branches { file, taken } => {
                for (line, way) in taken {
                    let what = (Some(line), bounded(&way));
                    self.branches.push(builder.fact(Some(&file), what, None, false));
                }
            }
            AgentObservation::Point { number, file, function, when, variables } => {
                let values = ProgramPoint::new(variables.len());
                let when = if when == "exit" { "end" } else { "beginning" };
                let name = format!("{function}, {when}");
                self.points.insert(number, ObservedPoint { file, name, variables, values, noise: BTreeMap::new() });
            }
            AgentObservation::Row { point: number, mut values } => {
                let Some(point) = self.points.get_mut(&number) else { return };
                for (at, value) in values.iter_mut().enumerate() {
                    if let Some((clean, mask)) = builder.of_value(&point.variables[at], value) {
                        point.noise.entry(at).or_default().push(&clean, &shown(value), mask);
                        *value = Value::Text(clean.into());
                    }
                }
                point.values.add_row(&values);
            }
            AgentObservation::Step { action, address, tree, text } => {
                self.step(&action, &address, &tree, &text, builder)
            }
            AgentObservation::Out { stream, text } => self.written.entry(stream).or_default().push_str(&text),
            AgentObservation::Gap { layer, why } => self.gaps.push((layer, why)),
        }
    }

    pub(crate) fn wrote(&mut self, stream: &str, text: &str) {
        if !text.is_empty() {
            self.written.entry(stream.to_owned()).or_default().push_str(text);
        }
    }

    fn asserted(
        &mut self,
        site: Arc<ObservedAssertion>,
        how: String,
        saw: Vec<(String, Value)>,
        builder: &mut FactBuilder<'_>,
    ) {
        let next = self.asserted.len();
        let at = *self.sites.entry(site.clone()).or_insert(next);
        if at == next {
            self.asserted.push((site, BTreeMap::new()));
        }
        let sequences = &mut self.asserted[at].1;
        sequences.entry(String::new()).or_default().push(&how, &how, 0);
        for (expression, value) in saw {
            let raw = shown(&value);
            let (clean, mask) = builder.of_value(&expression, &value).unwrap_or_else(|| (raw.clone(), 0));
            sequences.entry(expression).or_default().push(&clean, &raw, mask);
        }
    }

    /// A page consists of the lines of its accessibility tree and of its text. Repeated lines are
    /// numbered.
    fn step(&mut self, action: &str, address: &str, tree: &[String], text: &str, builder: &mut FactBuilder<'_>) {
        self.steps += 1;
        let (action, _) = builder.rules.text(action).unwrap_or_else(|| (action.to_owned(), 0));
        let step = format!("step {}, {}", self.steps, bounded(&action));
        let (at, mask) = builder.rules.text(address).unwrap_or_else(|| (address.to_owned(), 0));
        builder.record_text(&format!("{step}: address"), &at, address, mask);
        self.interface.push(builder.fact(None, (None, format!("{step}: address")), Some(&bounded(&at)), true));
        self.page(&format!("{step}: "), tree.iter().map(|line| line.trim_end()), builder);
        self.page(&format!("{step}: text "), text.lines(), builder);
    }

    /// Lines that are displayed below each other.
    fn page<'a>(&mut self, before: &str, lines: impl Iterator<Item = &'a str>, builder: &mut FactBuilder<'_>) {
        let mut times: HashMap<String, u32> = HashMap::new();
        let (mut order, mut all) = (Vec::new(), Vec::new());
        for line in lines.filter(|line| !line.trim().is_empty()) {
            let (clean, mask) = builder.rules.text(line).unwrap_or_else(|| (line.to_owned(), 0));
            let again = times.entry(clean.clone()).and_modify(|times| *times += 1).or_insert(1);
            let number = if *again == 1 { String::new() } else { format!(" (number {again})") };
            let what = format!("{before}{}{number}", bounded(&clean));
            builder.record_text(&what, &clean, line, mask);
            order.push(builder.fact(None, (None, what), None, true));
            all.push(bounded(&clean));
        }
        if order.len() > 1 {
            let value = bounded_to(MAX_PAGE, &all.join("\n"));
            let fact = builder.fact(None, (None, format!("{before}order of the lines")), Some(&value), true);
            builder.facts.mark_order(fact);
            order.push(fact);
        }
        self.interface.extend(order);
    }

    /// The facts of all layers except the verdict, and the number of program points with too few
    /// rows for any invariant.
    pub(crate) fn facts(mut self, builder: &mut FactBuilder<'_>) -> ([(Layer, Vec<FactId>); 5], u32) {
        let mut assertions = Vec::new();
        for (site, sequences) in std::mem::take(&mut self.asserted) {
            for (expression, sequence) in sequences {
                let what = match &*expression {
                    "" => site.expression.clone(),
                    whole if whole == site.expression => format!("value of {whole}"),
                    part => format!("{part} in {}", site.expression),
                };
                let value = sequence.text();
                builder.record(&sequence.all, || format!("{}:{} {what}", site.file, site.line));
                assertions.push(builder.fact(Some(&site.file), (Some(site.line), bounded(&what)), Some(&value), false));
            }
        }
        let mut held = Vec::new();
        let mut without_invariants = 0;
        for point in std::mem::take(&mut self.points).into_values().filter(|point| point.values.rows() > 0) {
            for (at, values) in &point.noise {
                builder.record(values, || format!("{} {}: {}", point.file, point.name, point.variables[*at]));
            }
            let found = point.values.invariants();
            without_invariants += u32::from(found.is_empty());
            for (invariant, rows) in found {
                let what = format!("{}: {}", point.name, invariant.text(&point.variables));
                let fact = builder.fact(Some(&point.file), (None, bounded(&what)), None, false);
                builder.facts.add_support(fact, rows);
                held.push(fact);
            }
        }
        for (stream, text) in std::mem::take(&mut self.written) {
            self.page(&format!("{stream}: "), text.lines(), builder);
        }
        let layers = [
            (Layer::Assertion, assertions),
            (Layer::Code, self.lines),
            (Layer::Branch, self.branches),
            (Layer::Behaviour, held),
            (Layer::Interface, self.interface),
        ];
        (layers, without_invariants)
    }
}

impl Sequence {
    fn push(&mut self, clean: &str, raw: &str, mask: Mask) {
        self.all.push(clean, raw, mask);
        let clean = bounded(clean);
        let full = self.values.len() == MAX_VALUES;
        match self.values.last_mut() {
            Some((last, times)) if *last == clean && self.more == 0 => *times += 1,
            _ if full => self.more += 1,
            _ => self.values.push((clean, 1)),
        }
    }

    fn text(&self) -> String {
        let times = |(value, times): &(String, u32)| match times {
            1 => value.clone(),
            times => format!("{value} ({times} times)"),
        };
        let text = self.values.iter().map(times).collect::<Vec<_>>().join(", ");
        match self.more {
            0 => bounded(&text),
            more => format!("{} and {more} more ({:016x})", bounded(&text), self.all.clean),
        }
    }
}

impl FactBuilder<'_> {
    /// `of_test`: whether the fact is specific to this test.
    pub(crate) fn fact(
        &mut self,
        file: Option<&str>,
        (line, what): (Option<u32>, String),
        value: Option<&str>,
        of_test: bool,
    ) -> FactId {
        let texts = &mut self.facts.texts;
        let file = file.map(|file| texts.number(file));
        let subject = FactSubject { test: of_test.then_some(self.test), file, line, what: texts.number(&what) };
        self.facts.add(subject, value)
    }

    fn record(&mut self, values: &CleanedValues, unit: impl Fn() -> String) {
        if values.mask != 0 {
            self.noise.record(self.rules, self.test, &unit(), values);
        }
    }

    fn record_text(&mut self, unit: &str, clean: &str, raw: &str, mask: Mask) {
        if mask != 0 {
            let mut values = CleanedValues::default();
            values.push(clean, raw, mask);
            self.noise.record(self.rules, self.test, unit, &values);
        }
    }

    /// The value of this name without noise. None: it has no noise.
    fn of_value(&mut self, name: &str, value: &Value) -> Option<(String, Mask)> {
        // A number may arrive as text of its language.
        let written = |text: &str| text.parse::<f64>().ok();
        let (text, number) = match value {
            Value::Text(text) => (Some(text), written(text)),
            other => (None, other.number()),
        };
        let named = number.and_then(|number| self.rules.number(name, number));
        named.map(|(instead, mask)| (instead.to_owned(), mask)).or_else(|| self.rules.text(text?))
    }
}

/// Formats a value; texts of assertions are formatted by their language already.
fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) => text.to_string(),
        other => other.to_string(),
    }
}

fn bounded(text: &str) -> String {
    bounded_to(MAX_VALUE, text)
}

fn bounded_to(most: usize, text: &str) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}… ({} characters, {:016x})", &text[..at], text.chars().count(), digest(text)),
    }
}
