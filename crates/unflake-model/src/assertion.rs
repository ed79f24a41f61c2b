use serde::{Deserialize, Serialize};

use crate::TestId;

/// An assertion of the sources, evaluated in a test. It has no line: moving code does not make another of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Assertion {
    pub test: TestId,
    #[serde(flatten)]
    pub spot: AssertionKey,
}

/// Where an assertion stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AssertionKey {
    /// Relative to the root.
    pub file: String,
    /// The qualified name of the function around it.
    pub function: String,
    /// As the language itself would print it.
    pub expression: String,
    /// Which of the same expressions of that function it is.
    pub ordinal: u32,
}

/// An assertion of the sources as they are now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssertionSite {
    #[serde(flatten)]
    pub spot: AssertionKey,
    /// Counted from 1.
    pub line: u32,
    /// A hash of the function's body that its name, its place and its layout do not change.
    pub body: String,
}

/// What an assertion saw in one attempt, all its evaluations together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssertionRecord {
    pub spot: AssertionKey,
    pub line: u32,
    /// The worst that became of it.
    pub how: AssertionOutcome,
    /// Short, and different where what was seen was different.
    pub values: String,
    /// What it saw each time that it did not hold.
    pub failing: Vec<String>,
}

/// What became of an assertion, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AssertionOutcome {
    Held,
    /// Something else came out of it.
    Raised,
    Failed,
    /// Failed, and did not count.
    Filtered,
}

impl AssertionOutcome {
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Filtered)
    }
}

/// What the flake filter says of an assertion that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Filtered {
    pub kind: FilterKind,
    pub assertion: Assertion,
    pub line: u32,
    /// What it saw when it failed.
    pub saw: String,
    /// Entropy of what it saw without a change, on the version on which it varied most. None: nothing is known of it.
    pub score: Option<f64>,
    /// How many runs that rests on.
    pub runs: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FilterKind {
    /// It is in the filter, but never failed with such values before.
    NeverLikeThis,
    /// It is in the filter, but fails every time now, which it did not.
    EveryTime,
    /// It never varied while it was looked at.
    NeverVaried,
    /// It varied, but not enough, or is in no filter that is in force.
    NotInForce,
    /// Nothing is known of it, or the failure is no assertion's.
    Unknown,
    /// It did not count.
    Flaky,
}

/// What an assertion saw in the runs of one version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AssertionSample {
    pub assertion: Assertion,
    /// Of the function around it; empty where it is not known.
    pub body: String,
    /// The same for runs of the same code, of the same command, on the same machine.
    pub version: String,
    pub groups: Vec<ValueGroup>,
}

/// Runs in which an assertion saw the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueGroup {
    pub how: AssertionOutcome,
    pub values: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<String>,
    pub times: u32,
}

impl AssertionKey {
    /// `assert EXPRESSION in FUNCTION`, to be read.
    pub fn in_words(&self) -> String {
        format!("{} in {}", self.expression, self.function)
    }
}
