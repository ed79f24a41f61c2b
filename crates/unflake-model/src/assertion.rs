//! Assertions: identity, observed values, and what the filter says of them.

use serde::{Deserialize, Serialize};

use crate::TestId;

/// An assertion in a test. It has no line number, so that moving code does not change it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Assertion {
    pub test: TestId,
    #[serde(flatten)]
    pub spot: AssertionKey,
}

/// The identity of an assertion in the sources.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AssertionKey {
    /// Relative to the project root.
    pub file: String,
    /// Qualified name of the enclosing function.
    pub function: String,
    /// In a canonical form.
    pub expression: String,
    /// Its number among equal expressions of the function.
    pub ordinal: u32,
}

/// An assertion in the current sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssertionSite {
    #[serde(flatten)]
    pub spot: AssertionKey,
    /// Counted from 1.
    pub line: u32,
    /// A hash of the function's body, independent of name, position and layout.
    pub body: String,
}

/// What an assertion observed in one attempt, over all its evaluations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssertionRecord {
    pub spot: AssertionKey,
    pub line: u32,
    /// Its worst outcome.
    pub how: AssertionOutcome,
    /// Short; different values give different texts.
    pub values: String,
    /// The values of each failing evaluation.
    pub failing: Vec<String>,
}

/// Outcomes of an assertion, worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AssertionOutcome {
    Held,
    /// It raised another error.
    Raised,
    Failed,
    /// It failed, and the filter excused it.
    Filtered,
}

impl AssertionOutcome {
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Filtered)
    }
}

/// What the assertion filter says about a failed assertion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Filtered {
    pub kind: FilterKind,
    pub assertion: Assertion,
    pub line: u32,
    /// The values with which it failed.
    pub saw: String,
    /// Entropy of its values without a change, on the version with the highest. None: unknown.
    pub score: Option<f64>,
    /// Runs behind the score.
    pub runs: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FilterKind {
    /// In the filter, but it never failed with these values.
    NeverLikeThis,
    /// In the filter, but it now fails every time.
    EveryTime,
    /// It never varied while learning.
    NeverVaried,
    /// It varied too little, or no active filter contains it.
    NotInForce,
    /// Unknown assertion, or the failure is not an assertion's.
    Unknown,
    /// Excused.
    Flaky,
}

/// The values of an assertion in the runs of one version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AssertionSample {
    pub assertion: Assertion,
    /// Hash of the enclosing function's body; empty if unknown.
    pub body: String,
    /// Equal for runs of the same code and command on the same machine.
    pub version: String,
    pub groups: Vec<ValueGroup>,
}

/// Runs with equal values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueGroup {
    pub how: AssertionOutcome,
    pub values: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<String>,
    pub times: u32,
}
