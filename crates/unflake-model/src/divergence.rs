//! Where failing runs of a test leave the passing runs, and why.

use serde::{Deserialize, Serialize};

use crate::SourceLine;

/// Where failing runs diverge from passing runs, and the likely cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Divergence {
    pub kind: Cause,
    /// Why this cause; follows "because".
    pub because: String,
    /// Where it starts, most likely first.
    pub locations: Vec<Location>,
    /// The project line that raised the failure.
    pub shows: Option<SourceLine>,
    /// Runs that ended in time, and how many of them failed.
    pub runs: u32,
    pub failed: u32,
    /// Not compared: where they stop only shows when they timed out.
    pub timed_out: u32,
    /// Failing runs by where they leave the passing run with the longest common prefix, most frequent first.
    pub points: Vec<DivergencePoint>,
    /// What limits the confidence.
    pub unknown: Vec<String>,
    /// That the value at the first location decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<ForcedValue>,
}

/// A line at which failing runs differ from passing runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Location {
    #[serde(flatten)]
    pub line: SourceLine,
    pub how: DivergenceKind,
    /// Failing runs with the difference.
    pub failing: u32,
    /// Passing runs with the difference.
    pub passing: u32,
    /// The p-value, corrected for all comparisons.
    pub chance: f64,
    /// The difference; follows the line: `jitter ≥ 0.93 in all 11 failing runs, never in 39 passing ones`.
    pub sentence: String,
    pub value: Option<ValueSplit>,
    /// The value was forced both ways, and the outcome did not follow it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
}

/// A value that was forced at a line, both ways: the outcome followed it every time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForcedValue {
    #[serde(flatten)]
    pub line: SourceLine,
    pub name: String,
    /// The value with which the test failed, and how many times.
    pub failing: String,
    pub failed: u32,
    /// The value with which the test passed, and how many times.
    pub passing: String,
    pub passed: u32,
}

impl ForcedValue {
    /// The name of how long a line waits: seconds, or with a sign by how many more.
    pub const WAIT: &str = "wait()";
    /// The name of how fast clocks run: how many times as fast. It is forced everywhere, not at a line.
    pub const SPEED: &str = "speed()";
    /// The name of how many milliseconds a thread is delayed at a line.
    pub const DELAY: &str = "delay()";

    /// The setting of a factor that forces the failing or the passing value: `a.py:18:name=0.5`.
    pub fn setting(&self, fails: bool) -> String {
        let value = if fails { &self.failing } else { &self.passing };
        format!("{}:{}:{}={value}", self.line.file, self.line.line, self.name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DivergenceKind {
    /// Control flow: other lines follow.
    Control,
    /// A value differs.
    Value,
    /// The same lines run in another order between threads or tasks.
    Order,
}

/// A value in failing and in passing runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueSplit {
    pub name: String,
    /// Examples, or a range such as `0.93 – 0.99`.
    pub failing: Vec<String>,
    pub passing: Vec<String>,
}

/// Failing runs that diverge at the same line in the same way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DivergencePoint {
    /// Failing runs.
    pub runs: u32,
    /// The display name of the diverging thread.
    pub strand: String,
    /// Common lines before it.
    pub common: u64,
    /// The last common line. None: they diverge at once.
    pub last: Option<SourceLine>,
    /// The first lines of only the passing and only the failing run, at most some hundred. Empty where the thread
    /// ends.
    pub passing: Vec<SourceLine>,
    pub failing: Vec<SourceLine>,
    /// The last common lines, ending with `last`.
    pub before: Vec<SourceLine>,
    /// The calls that lead there, outermost first, as far as the trace shows them.
    pub calls: Vec<SourceLine>,
    /// Failure messages of these runs, with counts.
    pub messages: Vec<(String, u32)>,
    /// Other diverging threads by name, each with its last common line.
    pub elsewhere: Vec<(String, Option<SourceLine>)>,
}

/// Why a test is nondeterministic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    Randomness,
    Time,
    UnorderedCollection,
    AsyncWait,
    Race,
    Network,
    Io,
    LeakedState,
    Resource,
    FloatingPoint,
    Environment,
    Unknown,
}

impl Cause {
    pub const ALL: [Cause; 12] = [
        Self::Randomness,
        Self::Time,
        Self::UnorderedCollection,
        Self::AsyncWait,
        Self::Race,
        Self::Network,
        Self::Io,
        Self::LeakedState,
        Self::Resource,
        Self::FloatingPoint,
        Self::Environment,
        Self::Unknown,
    ];

    /// As JSON spells it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Randomness => "randomness",
            Self::Time => "time",
            Self::UnorderedCollection => "unordered-collection",
            Self::AsyncWait => "async-wait",
            Self::Race => "race",
            Self::Network => "network",
            Self::Io => "io",
            Self::LeakedState => "leaked-state",
            Self::Resource => "resource",
            Self::FloatingPoint => "floating-point",
            Self::Environment => "environment",
            Self::Unknown => "unknown",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.word() == word)
    }
}
