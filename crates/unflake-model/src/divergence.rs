use serde::{Deserialize, Serialize};

use crate::SourceLine;

/// Where the failing runs of a test part from the passing ones, and what that means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Divergence {
    pub kind: Cause,
    /// Why this cause and no other, in words that follow "because".
    pub because: String,
    /// Where it starts, likeliest first.
    pub locations: Vec<Location>,
    /// Where the failure shows: the line of the project that raised it.
    pub shows: Option<SourceLine>,
    /// Runs that came to an end in time, and how many of them failed.
    pub runs: u32,
    pub failed: u32,
    /// Set apart: where they stop says only when their time was over.
    pub timed_out: u32,
    /// The failing runs by where they part from the passing run that stays with them longest, most frequent first.
    pub partings: Vec<DivergencePoint>,
    /// What keeps the answer from being surer, in words.
    pub unknown: Vec<String>,
}

/// A line at which failing runs can be told from passing ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Location {
    #[serde(flatten)]
    pub line: SourceLine,
    pub how: DivergenceKind,
    /// How many of the failing runs it tells apart.
    pub failing: u32,
    /// How many of the passing runs it takes for failing ones.
    pub passing: u32,
    /// How likely so clear a difference would be by chance alone, with everything counted that was looked at.
    pub chance: f64,
    /// What it is that differs, in words that follow the line: `jitter ≥ 0.93 in all 11 failing runs, never in 39 passing ones`.
    pub sentence: String,
    pub value: Option<ValueSplit>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DivergenceKind {
    /// Other lines follow it.
    Control,
    /// A value is another.
    Value,
    /// The same lines run, in another order between threads or tasks.
    Order,
}

/// What a value was in failing and in passing runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueSplit {
    pub name: String,
    /// Examples or a range, such as `0.93 – 0.99`.
    pub failing: Vec<String>,
    pub passing: Vec<String>,
}

/// Failing runs that part from the passing ones at the same line and in the same way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DivergencePoint {
    /// How many failing runs.
    pub runs: u32,
    /// The strand they part in, as people call it.
    pub strand: String,
    /// How many lines are the same before it.
    pub common: u64,
    /// The last line that is the same. None: they part at once.
    pub last: Option<SourceLine>,
    /// The first lines that only the passing run goes through, and only the failing one; at most some hundred. Empty where that strand
    /// ends there.
    pub passing: Vec<SourceLine>,
    pub failing: Vec<SourceLine>,
    /// The last lines before, in their order, ending with `last`.
    pub before: Vec<SourceLine>,
    /// The calls that lead to it, outermost first, as far as the trace shows them.
    pub calls: Vec<SourceLine>,
    /// What these runs said when they failed, each with how often.
    pub messages: Vec<(String, u32)>,
    /// Other strands that part too, by name, each with its last line that is the same.
    pub elsewhere: Vec<(String, Option<SourceLine>)>,
}

/// What makes a test do now this, now that.
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

    /// As tools and machines write it.
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
