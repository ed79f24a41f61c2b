use std::fmt;

use serde::{Deserialize, Serialize};

/// How closely a run is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// How the test ended.
    Verdict,
    /// The values that each assertion saw.
    Assertion,
    /// The lines that ran.
    Code,
    /// What held of the values where functions begin and end.
    Behaviour,
    /// What a person would see: pages, and what was written to the terminal.
    Interface,
}

impl Layer {
    pub const ALL: [Layer; 5] = [Self::Verdict, Self::Assertion, Self::Code, Self::Behaviour, Self::Interface];

    /// As tools and machines write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Verdict => "verdict",
            Self::Assertion => "assertion",
            Self::Code => "code",
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

/// Numbers what was said of runs: that an assertion saw this value, that this line ran. The same in two runs has the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FactId(pub u32);

/// Numbers the outputs of runs at a layer, each a set of facts. Runs with the same output have the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OutputId(pub u32);

/// Something that was said of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fact {
    pub unit: Unit,
    /// None where the unit is there or is not: a line, an invariant.
    pub value: Option<String>,
}

/// What facts are about, and what the range of difference counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Unit {
    /// Relative to the project's root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// In words that follow the place: an expression, an invariant, a line of a page. Empty for a line of code.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub what: String,
}

/// What attempts looked like. Whoever has them keeps them as it likes; attempts are counted from 0 in the order in which they were told.
pub trait LayerFacts {
    /// None: nothing is known of this attempt at this layer.
    fn output(&self, attempt: usize, layer: Layer) -> Option<OutputId>;

    /// In order, each once.
    fn facts(&self, output: OutputId) -> &[FactId];

    fn fact(&self, fact: FactId) -> Fact;

    /// Facts of the same unit have the same number.
    fn unit(&self, fact: FactId) -> u32;

    /// Whether the fact only says in which order others come, its value being them all, one a line. It counts where nothing else differs.
    fn is_order(&self, fact: FactId) -> bool;

    /// How many values it rests on, where it is inferred from values.
    fn support(&self, fact: FactId) -> Option<u32>;

    /// What could not be seen, in words, each with the number of attempts.
    fn gaps(&self) -> Vec<Gap>;

    /// What rules took for noise.
    fn hidden(&self) -> Vec<SuppressedNoise>;
}

/// Something that was not seen at a layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    pub layer: Layer,
    pub why: String,
    /// In so many attempts.
    pub attempts: u32,
}

/// What a normalisation rule replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuppressedNoise {
    /// Its name, by which it can be switched off.
    pub rule: String,
    /// So many texts.
    pub replaced: u32,
    /// So many units of tests were the same in all runs only because of it.
    pub units: u32,
    /// One of those units with what it replaced in two runs; where there is none, one text that was replaced.
    pub example: Vec<String>,
}

/// How far the runs of a test, or of a whole suite, differ at a layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variance {
    pub runs: u32,
    /// H = −Σ p·ln p over the groups.
    pub entropy: f64,
    /// How many units are not the same in all runs.
    pub range: u32,
    /// How many runs had the same output, the largest group first.
    pub groups: Vec<u32>,
}

/// What differs between the runs of one test at one layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerDifference {
    pub kind: Layer,
    #[serde(flatten)]
    pub spread: Variance,
    /// The first units that differ, in the order of the sources.
    pub units: Vec<Difference>,
    /// Of the verdict: how often it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<Rate>,
}

/// A unit that is not the same in all runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    #[serde(flatten)]
    pub unit: Unit,
    /// The last of several lines that differ in the same runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<u32>,
    /// What it was in how many runs, most frequent first. A unit without values has one entry; in the other runs it was not there.
    pub seen: Vec<SeenIn>,
    /// Where it is inferred: how many values it rests on where it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenIn {
    pub value: Option<String>,
    pub runs: u32,
}

/// A share with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    pub seen: u32,
    pub of: u32,
    /// With 95 % confidence between these two.
    pub low: f64,
    pub high: f64,
}

impl Rate {
    /// None where nothing was tried.
    pub fn share(&self) -> Option<f64> {
        (self.of > 0).then(|| f64::from(self.seen) / f64::from(self.of))
    }
}

/// What a suite came to at a layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerMeasure {
    pub layer: Layer,
    /// Tests with at least two runs that were seen at this layer.
    pub tests: u32,
    /// Of these, tests whose runs differ.
    pub differing: u32,
    /// Over runs in which all tests were seen. None: there are no two such runs.
    pub suite: Option<Variance>,
    /// Averages over tests.
    pub entropy: f64,
    pub range: f64,
    /// How often a later run differs from the first, which is taken for the truth. The interval takes runs for independent.
    pub false_positives: Rate,
}

/// Everything a measurement came to, beside the findings of single tests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    pub runs: u32,
    pub layers: Vec<LayerMeasure>,
    /// Layers that were asked for and of which nothing was seen.
    pub unseen: Vec<Layer>,
    pub gaps: Vec<Gap>,
    pub hidden: Vec<SuppressedNoise>,
}

impl Difference {
    /// `shop/cart.py:12-14`; empty where it has no place.
    pub fn place(&self) -> String {
        let Unit { file, line, .. } = &self.unit;
        let file = file.as_deref().unwrap_or_default();
        match (line, self.last) {
            (Some(first), Some(last)) => format!("{file}:{first}-{last}"),
            (Some(line), None) => format!("{file}:{line}"),
            (None, _) => file.to_owned(),
        }
    }

    /// What it was in how many of so many runs. An invariant is lost where it holds in most, and gained where it does not.
    pub fn words(&self, layer: Layer, runs: u32) -> String {
        let several = |runs: u32| if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
        let known: u32 = self.seen.iter().map(|seen| seen.runs).sum();
        let (what, of) = (&*self.unit.what, several(runs));
        if self.seen.iter().all(|seen| seen.value.is_none()) {
            let support = self.support.map_or(String::new(), |rows| format!(" ({rows} values)"));
            return match layer {
                Layer::Code => format!("ran in {known} of {of}"),
                Layer::Behaviour if 2 * known >= runs => format!("{what}{support}: lost in {} of {of}", runs - known),
                Layer::Behaviour => format!("{what}{support}: gained in {known} of {of}"),
                _ => format!("{what}: there in {known} of {of}"),
            };
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
    fn a_difference_is_told_with_its_numbers() {
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
