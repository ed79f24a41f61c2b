//! Converts the observations of one attempt to facts at each layer.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use unflake_model::{FactId, Layer};

use crate::layers::facts::{About, Facts};
use crate::layers::noise::{Cleaned, Noise, digest};
use crate::layers::noise_rules::{Mask, Rules};
use crate::layers::program_points::Point;
use crate::layers::read::{Said, Site};
use crate::layers::value::Value;

/// Longer values are stored as their beginning, their length and a digest.
const LONGEST: usize = 300;
/// The same limit for all lines of a page together.
const PAGE: usize = 3000;
/// The number of consecutive values of an assertion that are stored verbatim.
const KEPT: usize = 50;

/// The shared state for creating facts.
pub(crate) struct Desk<'a> {
    pub(crate) facts: &'a mut Facts,
    pub(crate) rules: &'a mut Rules,
    pub(crate) noise: &'a mut Noise,
    pub(crate) test: u32,
}

/// The observations of one attempt so far.
#[derive(Default)]
pub(crate) struct Look {
    /// The values of each assertion, in the order of first evaluation; the key "" is its outcome.
    asserted: Vec<(Arc<Site>, BTreeMap<String, Sequence>)>,
    sites: HashMap<Arc<Site>, usize>,
    lines: Vec<FactId>,
    points: BTreeMap<u32, Place>,
    interface: Vec<FactId>,
    steps: u32,
    written: BTreeMap<String, String>,
    pub(crate) gaps: Vec<(Layer, String)>,
}

struct Place {
    file: Arc<str>,
    name: String,
    variables: Vec<String>,
    point: Point,
    /// Noise in the variables that had any.
    noise: BTreeMap<usize, Cleaned>,
}

/// Consecutive values, run-length encoded.
#[derive(Default)]
struct Sequence {
    values: Vec<(String, u32)>,
    /// The number of values beyond the limit.
    more: u32,
    all: Cleaned,
}

impl Look {
    pub(crate) fn take(&mut self, said: Said, desk: &mut Desk<'_>) {
        match said {
            Said::Assert { site, how, saw } => self.asserted(site, how, saw, desk),
            Said::Lines { file, ranges } => {
                // There may be millions of lines, so their common parts are looked up once.
                let (file, what) = (desk.facts.texts.number(&file), desk.facts.texts.number(""));
                for line in ranges.into_iter().flat_map(|(first, last)| first..=last) {
                    let about = About { test: None, file: Some(file), line: Some(line), what };
                    self.lines.push(desk.facts.add(about, None));
                }
            }
            Said::Point { number, file, function, when, variables } => {
                let point = Point::new(variables.len());
                let when = if when == "exit" { "end" } else { "beginning" };
                let name = format!("{function}, {when}");
                self.points.insert(number, Place { file, name, variables, point, noise: BTreeMap::new() });
            }
            Said::Row { point, mut values } => {
                let Some(place) = self.points.get_mut(&point) else { return };
                for (at, value) in values.iter_mut().enumerate() {
                    if let Some((clean, mask)) = desk.of_value(&place.variables[at], value) {
                        place.noise.entry(at).or_default().push(&clean, &shown(value), mask);
                        *value = Value::Text(clean.into());
                    }
                }
                place.point.see(&values);
            }
            Said::Step { action, address, tree, text } => self.step(&action, &address, &tree, &text, desk),
            Said::Out { stream, text } => self.written.entry(stream).or_default().push_str(&text),
            Said::Gap { layer, why } => self.gaps.push((layer, why)),
        }
    }

    pub(crate) fn wrote(&mut self, stream: &str, text: &str) {
        if !text.is_empty() {
            self.written.entry(stream.to_owned()).or_default().push_str(text);
        }
    }

    fn asserted(&mut self, site: Arc<Site>, how: String, saw: Vec<(String, Value)>, desk: &mut Desk<'_>) {
        let next = self.asserted.len();
        let at = *self.sites.entry(site.clone()).or_insert(next);
        if at == next {
            self.asserted.push((site, BTreeMap::new()));
        }
        let sequences = &mut self.asserted[at].1;
        sequences.entry(String::new()).or_default().push(&how, &how, 0);
        for (expression, value) in saw {
            let raw = shown(&value);
            let (clean, mask) = desk.of_value(&expression, &value).unwrap_or_else(|| (raw.clone(), 0));
            sequences.entry(expression).or_default().push(&clean, &raw, mask);
        }
    }

    /// A page consists of the lines of its accessibility tree and of its text. Repeated lines are
    /// numbered.
    fn step(&mut self, action: &str, address: &str, tree: &[String], text: &str, desk: &mut Desk<'_>) {
        self.steps += 1;
        let (action, _) = desk.rules.text(action).unwrap_or_else(|| (action.to_owned(), 0));
        let step = format!("step {}, {}", self.steps, bounded(&action));
        let (at, mask) = desk.rules.text(address).unwrap_or_else(|| (address.to_owned(), 0));
        desk.heard(&format!("{step}: address"), &at, address, mask);
        self.interface.push(desk.fact(None, (None, format!("{step}: address")), Some(&bounded(&at)), true));
        self.page(&format!("{step}: "), tree.iter().map(|line| line.trim_end()), desk);
        self.page(&format!("{step}: text "), text.lines(), desk);
    }

    /// Lines that are displayed below each other.
    fn page<'a>(&mut self, before: &str, lines: impl Iterator<Item = &'a str>, desk: &mut Desk<'_>) {
        let mut times: HashMap<String, u32> = HashMap::new();
        let (mut order, mut all) = (Vec::new(), Vec::new());
        for line in lines.filter(|line| !line.trim().is_empty()) {
            let (clean, mask) = desk.rules.text(line).unwrap_or_else(|| (line.to_owned(), 0));
            let again = times.entry(clean.clone()).and_modify(|times| *times += 1).or_insert(1);
            let number = if *again == 1 { String::new() } else { format!(" (number {again})") };
            let what = format!("{before}{}{number}", bounded(&clean));
            desk.heard(&what, &clean, line, mask);
            order.push(desk.fact(None, (None, what), None, true));
            all.push(bounded(&clean));
        }
        if order.len() > 1 {
            let value = bounded_to(PAGE, &all.join("\n"));
            let fact = desk.fact(None, (None, format!("{before}order of the lines")), Some(&value), true);
            desk.facts.orders(fact);
            order.push(fact);
        }
        self.interface.extend(order);
    }

    /// The facts of all layers except the verdict, and the number of program points with too few
    /// rows for any invariant.
    pub(crate) fn facts(mut self, desk: &mut Desk<'_>) -> ([(Layer, Vec<FactId>); 4], u32) {
        let mut assertions = Vec::new();
        for (site, sequences) in std::mem::take(&mut self.asserted) {
            for (expression, sequence) in sequences {
                let what = match &*expression {
                    "" => site.expression.clone(),
                    whole if whole == site.expression => format!("value of {whole}"),
                    part => format!("{part} in {}", site.expression),
                };
                let value = sequence.words();
                desk.hear(&sequence.all, || format!("{}:{} {what}", site.file, site.line));
                assertions.push(desk.fact(Some(&site.file), (Some(site.line), bounded(&what)), Some(&value), false));
            }
        }
        let mut held = Vec::new();
        let mut barren = 0;
        for place in std::mem::take(&mut self.points).into_values().filter(|place| place.point.rows() > 0) {
            for (at, was) in &place.noise {
                desk.hear(was, || format!("{} {}: {}", place.file, place.name, place.variables[*at]));
            }
            let found = place.point.invariants();
            barren += u32::from(found.is_empty());
            for (invariant, rows) in found {
                let what = format!("{}: {}", place.name, invariant.words(&place.variables));
                let fact = desk.fact(Some(&place.file), (None, bounded(&what)), None, false);
                desk.facts.supported(fact, rows);
                held.push(fact);
            }
        }
        for (stream, text) in std::mem::take(&mut self.written) {
            self.page(&format!("{stream}: "), text.lines(), desk);
        }
        let layers = [
            (Layer::Assertion, assertions),
            (Layer::Code, self.lines),
            (Layer::Behaviour, held),
            (Layer::Interface, self.interface),
        ];
        (layers, barren)
    }
}

impl Sequence {
    fn push(&mut self, clean: &str, raw: &str, mask: Mask) {
        self.all.push(clean, raw, mask);
        let clean = bounded(clean);
        let full = self.values.len() == KEPT;
        match self.values.last_mut() {
            Some((last, times)) if *last == clean && self.more == 0 => *times += 1,
            _ if full => self.more += 1,
            _ => self.values.push((clean, 1)),
        }
    }

    fn words(&self) -> String {
        let times = |(value, times): &(String, u32)| match times {
            1 => value.clone(),
            times => format!("{value} ({times} times)"),
        };
        let words = self.values.iter().map(times).collect::<Vec<_>>().join(", ");
        match self.more {
            0 => bounded(&words),
            more => format!("{} and {more} more ({:016x})", bounded(&words), self.all.clean),
        }
    }
}

impl Desk<'_> {
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
        let about = About { test: of_test.then_some(self.test), file, line, what: texts.number(&what) };
        self.facts.add(about, value)
    }

    fn hear(&mut self, was: &Cleaned, unit: impl Fn() -> String) {
        if was.mask != 0 {
            self.noise.hear(self.rules, self.test, &unit(), was);
        }
    }

    fn heard(&mut self, unit: &str, clean: &str, raw: &str, mask: Mask) {
        if mask != 0 {
            let mut was = Cleaned::default();
            was.push(clean, raw, mask);
            self.noise.hear(self.rules, self.test, unit, &was);
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
    bounded_to(LONGEST, text)
}

fn bounded_to(most: usize, text: &str) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}… ({} characters, {:016x})", &text[..at], text.chars().count(), digest(text)),
    }
}
