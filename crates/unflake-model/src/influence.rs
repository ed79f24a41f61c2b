//! The result of an experiment: which factor changes the outcome of a test.

use serde::{Deserialize, Serialize};

use crate::{Confidence, Factor, Layer, Rate};

/// The influence of one factor, or of several that only act together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Influence {
    /// The name of the factor; several are joined by `+`. `none`: no factor was found.
    pub kind: String,
    pub confidence: Confidence,
    /// The settings that make the difference, beside the baseline.
    pub setting: Vec<Factor>,
    /// Whether the test fails under it. False: it fails at the baseline and passes under it.
    pub fails: bool,
    /// The threshold, where settings are ordered.
    pub threshold: Option<Threshold>,
    /// The failure rate under it. Of a possible one in all runs, else in the alternating runs.
    pub rate: Rate,
    /// The failure rate at the baseline, in the same runs.
    pub baseline: Rate,
    /// The p-value of the difference. Of a possible one uncorrected, else corrected for all
    /// comparisons.
    pub p_value: f64,
    /// All trials, in the order of the plan. Only in the first finding of an experiment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<FactorTrial>,
    /// Factors that could not be tried, with the reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untried: Vec<UntriedFactor>,
    /// The worlds in which it failed most and least often.
    pub worst: Vec<Factor>,
    pub best: Vec<Factor>,
    /// Runs of the whole experiment.
    pub runs: u32,
}

/// The setting at which the outcome changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// The last setting without the difference, and the first with it.
    pub before: Option<String>,
    pub from: String,
    /// Of dates: the last with the difference, and the first without it again. Absent: no end is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// A phrase that follows `fails`: `on 29 February`.
    pub words: String,
}

/// One world of an experiment, with its results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FactorTrial {
    /// `baseline`, `uncontrolled`, or the settings that differ.
    pub name: String,
    /// The settings that differ from the baseline.
    pub factors: Vec<Factor>,
    pub rate: Rate,
    /// Entropy of the outcomes.
    pub entropy: f64,
    /// Different outcomes, minus one.
    pub range: u32,
    /// Runs with another outcome than the first, in per cent.
    pub false_positives: f64,
    /// The uncorrected p-value against the baseline. None for the baseline itself.
    pub p_value: Option<f64>,
    /// The duration of each run, and whether it failed.
    pub seconds: Vec<(f64, bool)>,
    /// Runs in which the test was skipped; they do not count.
    pub skipped: u32,
    /// The same at the other observed layers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<AtLayer>,
}

/// How much the runs of a world differ at a layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtLayer {
    pub layer: Layer,
    pub runs: u32,
    pub entropy: f64,
    /// Facts that only some runs have.
    pub range: u32,
    pub false_positives: f64,
}

/// A factor or setting that could not be tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UntriedFactor {
    pub name: String,
    pub why: String,
}
