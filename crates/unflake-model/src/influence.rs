use serde::{Deserialize, Serialize};

use crate::{Factor, Layer, Rate};

/// What an experiment found of one factor, or of several that do it together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Influence {
    /// The word of the factor; several are joined by `+`. `none`: no factor that was tried makes a difference.
    pub kind: String,
    /// What it was set to where it makes the difference, beside the baseline.
    pub setting: Vec<Factor>,
    /// Whether the test fails under it. False: it fails at the baseline, and passes under it.
    pub fails: bool,
    /// From where on, where settings can be more or less.
    pub threshold: Option<Threshold>,
    /// How often it failed under it, in the runs that were made to make sure.
    pub rate: Rate,
    /// How often at the baseline, in the runs that were made beside those.
    pub baseline: Rate,
    /// How likely so large a difference is by chance alone, corrected for all that were looked at.
    pub chance: f64,
    /// All that was tried, in the order of the plan. In the first finding of an experiment only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<FactorTrial>,
    /// What could not be tried, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untried: Vec<UntriedFactor>,
    /// The world in which it failed most often, and that in which it failed least.
    pub worst: Vec<Factor>,
    pub best: Vec<Factor>,
    /// How many runs the whole experiment made.
    pub runs: u32,
}

/// Where between two settings the outcome changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// The last setting known to be on the other side, and the first that makes the difference.
    pub before: Option<String>,
    pub from: String,
    /// Of dates: the last that makes the difference, and the first that does not any more. Absent: no end is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// In words, to follow `fails`: `on 29 February`.
    pub words: String,
}

/// One world of an experiment, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FactorTrial {
    /// `baseline`, `uncontrolled`, or the words of what was set otherwise.
    pub name: String,
    /// What was set otherwise than at the baseline.
    pub factors: Vec<Factor>,
    pub rate: Rate,
    /// Of the outcomes, as the layer `verdict` has it.
    pub entropy: f64,
    /// How many different outcomes there were, less one.
    pub range: u32,
    /// In per cent: runs that ended otherwise than the first.
    pub false_positives: f64,
    /// That it differs so much from the baseline by chance, not corrected. None for the baseline itself.
    pub chance: Option<f64>,
    /// How long each run took, and whether it failed.
    pub seconds: Vec<(f64, bool)>,
    /// Runs in which the test was skipped; they count for nothing.
    pub skipped: u32,
    /// The same at other layers, where these were looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<AtLayer>,
}

/// How far the runs of a world differ at a layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtLayer {
    pub layer: Layer,
    pub runs: u32,
    pub entropy: f64,
    /// How many facts some runs have and others have not.
    pub range: u32,
    pub false_positives: f64,
}

/// A factor, or a setting of it, that could not be tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UntriedFactor {
    pub name: String,
    pub why: String,
}
