//! Layers: how closely a run is observed, and how much runs differ at each.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ConfigurationMeasure;

/// How closely a run is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// The outcome of the test.
    Verdict,
    /// The values in assertions.
    Assertion,
    /// The executed lines.
    Code,
    /// The ways that conditions and loops took.
    Branch,
    /// Invariants of values at function entries and exits.
    Behaviour,
    /// What a person would see: pages and terminal output.
    Interface,
}

impl Layer {
    pub const ALL: [Layer; 6] =
        [Self::Verdict, Self::Assertion, Self::Code, Self::Branch, Self::Behaviour, Self::Interface];

    /// As JSON spells it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Verdict => "verdict",
            Self::Assertion => "assertion",
            Self::Code => "code",
            Self::Branch => "branch",
            Self::Behaviour => "behaviour",
            Self::Interface => "interface",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layer| layer.word() == word)
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The number of a fact, such as "this line ran"; equal facts have equal numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FactId(pub u32);

/// The number of an output, a set of facts at a layer; equal outputs have equal numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OutputId(pub u32);

/// One observation about a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fact {
    pub unit: Unit,
    /// None where the unit is only present or absent: a line, an invariant.
    pub value: Option<String>,
}

/// What a fact is about; the range counts units.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Unit {
    /// Relative to the project root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Follows the location: an expression, an invariant, a line of a page. Empty for a line of code.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub what: String,
}

/// The facts of attempts at each layer. Attempts are numbered from 0 in order of arrival.
pub trait LayerFacts {
    /// None: the attempt was not observed at this layer.
    fn output(&self, attempt: usize, layer: Layer) -> Option<OutputId>;

    /// Sorted, each once.
    fn facts(&self, output: OutputId) -> &[FactId];

    fn fact(&self, fact: FactId) -> Fact;

    /// Facts of one unit have the same number.
    fn unit(&self, fact: FactId) -> u32;

    /// Whether the fact is only the order of others. It counts where nothing else differs.
    fn is_order(&self, fact: FactId) -> bool;

    /// Values behind it, where it is inferred.
    fn support(&self, fact: FactId) -> Option<u32>;

    /// What could not be observed, with the number of attempts.
    fn gaps(&self) -> Vec<Gap>;

    /// What noise rules replaced.
    fn hidden(&self) -> Vec<SuppressedNoise>;
}

/// Something that could not be observed at a layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    pub layer: Layer,
    pub why: String,
    /// Affected attempts.
    pub attempts: u32,
}

/// What a noise rule replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuppressedNoise {
    /// Its name, by which it can be disabled.
    pub rule: String,
    /// Replaced texts.
    pub replaced: u32,
    /// Units that are equal in all runs only because of it.
    pub units: u32,
    /// One such unit with its two texts; else one replaced text.
    pub example: Vec<String>,
}

/// How much runs of a test or suite differ at a layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variance {
    pub runs: u32,
    /// H = −Σ p·ln p over the groups.
    pub entropy: f64,
    /// Units that differ between runs.
    pub range: u32,
    /// Sizes of the groups of equal outputs, largest first.
    pub groups: Vec<u32>,
}

/// What differs between the runs of one test at one layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerDifference {
    pub kind: Layer,
    #[serde(flatten)]
    pub spread: Variance,
    /// The first units that differ, in the order of the sources. Those with another value in every run
    /// are last.
    pub units: Vec<Difference>,
    /// Of the verdict layer: the failure rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<Rate>,
    /// The configuration in which it was seen, where one was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<String>,
}

/// A unit that differs between runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    #[serde(flatten)]
    pub unit: Unit,
    /// The last of several lines that differ together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<u32>,
    /// Its values with the number of runs, most frequent first. A unit without values has one entry.
    pub seen: Vec<SeenIn>,
    /// Of invariants: the values behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenIn {
    pub value: Option<String>,
    pub runs: u32,
}

/// A rate with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    pub seen: u32,
    pub of: u32,
    /// The 95 % confidence interval.
    pub low: f64,
    pub high: f64,
}

impl Rate {
    /// None: no trials.
    pub fn share(&self) -> Option<f64> {
        (self.of > 0).then(|| f64::from(self.seen) / f64::from(self.of))
    }
}

/// The result for a suite at a layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerMeasure {
    pub layer: Layer,
    /// Tests with at least two observed runs.
    pub tests: u32,
    /// Of these, tests whose runs differ.
    pub differing: u32,
    /// Over runs in which all tests were observed. None: fewer than two such runs.
    pub suite: Option<Variance>,
    /// Averages over tests.
    pub entropy: f64,
    pub range: f64,
    /// Units of a test that were observed in any run; those that differ are its range.
    #[serde(default)]
    pub units: f64,
    /// How often a later run differs from the first. The interval assumes independence.
    pub false_positives: Rate,
}

/// The result of a measurement, beside the findings per test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    pub runs: u32,
    pub layers: Vec<LayerMeasure>,
    /// Requested layers without observations.
    pub unseen: Vec<Layer>,
    pub gaps: Vec<Gap>,
    pub hidden: Vec<SuppressedNoise>,
    /// Where configurations were compared: each of them. The layers above are then of none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub configurations: Vec<ConfigurationMeasure>,
}

impl LayerDifference {
    /// Whether some unit has the same value in several runs. Else it is more likely to be noise.
    pub fn is_actionable(&self) -> bool {
        self.units.iter().any(|unit| !unit.differs_in_every_run(self.spread.runs))
    }
}

impl Difference {
    /// Limit on the values of a difference.
    pub const MAX_VALUES: usize = 20;

    /// Whether no two runs have the same value, as with random ids and clocks. Two runs show nothing.
    pub fn differs_in_every_run(&self, runs: u32) -> bool {
        let is_unique = |seen: &SeenIn| seen.runs == 1 && seen.value.is_some();
        let all = (runs as usize).min(Self::MAX_VALUES);
        runs > 2 && self.seen.len() == all && self.seen.iter().all(is_unique)
    }

    /// `shop/cart:12-14`; empty without a location.
    pub fn place(&self) -> String {
        let Unit { file, line, .. } = &self.unit;
        let file = file.as_deref().unwrap_or_default();
        match (line, self.last) {
            (Some(first), Some(last)) => format!("{file}:{first}-{last}"),
            (Some(line), None) => format!("{file}:{line}"),
            (None, _) => file.to_owned(),
        }
    }

    /// Its values in how many runs. An invariant is lost where most runs have it, else gained.
    pub fn words(&self, layer: Layer, runs: u32) -> String {
        let several = |runs: u32| if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
        let known: u32 = self.seen.iter().map(|seen| seen.runs).sum();
        let (what, of) = (&*self.unit.what, several(runs));
        if self.seen.iter().all(|seen| seen.value.is_none()) {
            let support = self.support.map_or(String::new(), |rows| format!(" ({rows} values)"));
            return match layer {
                Layer::Code => format!("ran in {known} of {of}"),
                Layer::Branch => format!("{what}: taken in {known} of {of}"),
                Layer::Behaviour if 2 * known >= runs => format!("{what}{support}: lost in {} of {of}", runs - known),
                Layer::Behaviour => format!("{what}{support}: gained in {known} of {of}"),
                _ => format!("{what}: there in {known} of {of}"),
            };
        }
        if let (true, [one, other, ..]) = (self.differs_in_every_run(runs), &self.seen[..]) {
            let text = |seen: &SeenIn| seen.value.clone().unwrap_or_default();
            return format!("{what}: another value in every run, such as {} and {}", text(one), text(other));
        }
        let value = |seen: &SeenIn| format!("{} ({})", seen.value.as_deref().unwrap_or_default(), several(seen.runs));
        let mut values: Vec<String> = self.seen.iter().map(value).collect();
        if known < runs {
            values.push(format!("not reached ({})", several(runs - known)));
        }
        format!("{what}: {}", values.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(what: &str, line: Option<u32>, seen: &[(Option<&str>, u32)]) -> Difference {
        let seen = seen.iter().map(|(value, runs)| SeenIn { value: value.map(str::to_owned), runs: *runs }).collect();
        let unit = Unit { file: Some("shop/cart.py".to_owned()), line, what: what.to_owned() };
        Difference { unit, last: None, seen, support: None }
    }

    #[test]
    fn only_values_that_never_repeat_differ_in_every_run() {
        let ids = difference("id", None, &[(Some("a"), 1), (Some("b"), 1), (Some("c"), 1)]);
        assert!(ids.differs_in_every_run(3));
        assert_eq!(ids.words(Layer::Assertion, 3), "id: another value in every run, such as a and b");
        assert!(!ids.differs_in_every_run(10), "seven runs have none");
        assert!(!difference("id", None, &[(Some("a"), 1), (Some("b"), 1)]).differs_in_every_run(2));
        assert!(!difference("n", None, &[(Some("3"), 2), (Some("4"), 1)]).differs_in_every_run(3));
    }

    #[test]
    fn a_difference_is_printed_with_its_numbers() {
        let saw = difference("total in total == 3", Some(12), &[(Some("3"), 8), (Some("4"), 1)]);
        assert_eq!(saw.place(), "shop/cart.py:12");
        assert_eq!(saw.words(Layer::Assertion, 10), "total in total == 3: 3 (8 runs), 4 (1 run), not reached (1 run)");
        let ran = Difference { last: Some(14), ..difference("", Some(12), &[(None, 3)]) };
        assert_eq!((&*ran.place(), &*ran.words(Layer::Code, 10)), ("shop/cart.py:12-14", "ran in 3 of 10 runs"));
        let held = Difference { support: Some(40), ..difference("add, beginning: n != 0", None, &[(None, 9)]) };
        assert_eq!(held.words(Layer::Behaviour, 10), "add, beginning: n != 0 (40 values): lost in 1 of 10 runs");
        assert_eq!(held.words(Layer::Behaviour, 100), "add, beginning: n != 0 (40 values): gained in 9 of 100 runs");
    }
}
