//! Sessions: which tests run in which environment, in which order, and why.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Granularity, TestId, World};

/// Numbers the sessions of one run, in the order in which techniques request them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub u32);

/// Numbers the environments of one run, in the order in which they start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EnvironmentId(pub u32);

/// An ordered list of tests to execute in one environment. Self-contained: it has everything that
/// is needed to run it elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub id: SessionId,
    pub purpose: Purpose,
    pub place: Placement,
    pub tests: Vec<TestId>,
    /// A test that fails runs again at once, at most this many times, until it passes.
    pub again: u32,
    /// The first `prefix` tests only establish a state. Sessions with the same prefix share it: its
    /// tests run, and their attempts are reported, once.
    #[serde(default)]
    pub prefix: u32,
    /// Whether and how finely to record what each attempt depends on.
    #[serde(default)]
    pub depends: Option<Granularity>,
    /// What to do with the state that the first `prefix` tests leave.
    #[serde(default)]
    pub probe: Option<Probe>,
    /// How many of its tests run at the same time in one process, where the runner can. 0: as many
    /// as are usual for its purpose.
    #[serde(default)]
    pub at_once: u32,
    /// The world to run in, in a process that was started for it. None: that of the user's runner.
    #[serde(default)]
    pub under: Option<World>,
    /// In a private world, as far as the machine permits it. Not where it runs in the live environment.
    #[serde(default)]
    pub private: bool,
    /// What its processes draw at random follows from this number, as far as they do not share it
    /// with other processes. Not where it runs in the live environment or has a world of its own.
    #[serde(default)]
    pub seed: Option<u64>,
}

/// Why a session did not run, or not to its end, when the time budget was exhausted.
pub const BUDGET_EXHAUSTED: &str = "budget exhausted";
/// Why a session did not run where no process could be put into its world.
pub const WORLD_NOT_REACHED: &str = "the preloaded library does not reach the runner";

/// What to do with the state that the prefix of a session leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Paths of cells to restore before the rest of the session runs.
    pub restore: Vec<String>,
    /// Paths of cells whose writing lines to report. Such a session shares no prefix.
    pub watch: Vec<String>,
    /// Of the cells that the instrument restores by itself (`Cell::preset`) only those that `restore`
    /// names.
    #[serde(default)]
    pub bare: bool,
}

/// Why a technique requested a session. Stored with its attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// The user's suite, in the user's order.
    Suite,
    /// Tests that failed in the suite, once more at its end.
    AtEnd,
    /// Tests that failed before, in a fresh environment.
    Fresh,
    /// Tests that failed before, in a new process with other seeds.
    OtherSeeds,
    /// Tests that failed before, one after the other in a new process with other seeds, isolated
    /// from each other inside it.
    Together,
    /// Tests that failed before, where files that they left are missing.
    WithoutFiles,
    /// Everything that ran in one process, in the same order, in a new process: recreates the state
    /// in which a test failed where the process itself is gone.
    Again,
    /// A test in parallel with copies of itself, until it fails.
    Stress,
    /// A test in a fresh environment, instrumented.
    Look,
    /// A test twice in one environment.
    Twice,
    /// Tests in an order other than the runner's.
    Order,
    /// Tests in an order that searches for a polluter or state-setter.
    Search,
    /// Tests that show or restore the state that other tests leak.
    State,
    /// A test at the base revision.
    Base,
    /// A test in a chosen world, to find the factors that make it fail.
    Factor,
    /// Tests that the user named, in the user's order.
    Replay,
}

impl Purpose {
    /// Whether the order of the tests decides what the session shows, so that they start one after
    /// the other in one process.
    pub fn keeps_order(self) -> bool {
        matches!(
            self,
            Self::Twice | Self::Together | Self::Order | Self::Search | Self::State | Self::Look | Self::Replay
        )
    }

    /// How much a session of this kind may meet others, in files, ports or memory.
    pub fn concurrency(self) -> Concurrency {
        match self {
            // The last word on a failure.
            Self::OtherSeeds | Self::Together | Self::WithoutFiles => Concurrency::Alone,
            Self::Fresh => Concurrency::Private,
            _ => Concurrency::Any,
        }
    }
}

/// What may run at the same time as a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concurrency {
    Alone,
    /// Sessions that share no files with it.
    Private,
    Any,
}

/// Where a session runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// In the environment that ran the suite, in its current state.
    Live,
    /// In an environment in which no test has run. `Fork` is a preference: where forking is unsafe,
    /// the engine starts a new process. With `InProcess`, also a preference, each test has such an
    /// environment of its own, shared with directly following repetitions of the same test.
    Fresh(Isolation),
}

/// How an environment was created. Less fresh ones compare greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// A new process of the runner.
    Process,
    /// A fork of a process that has collected tests and run none.
    Fork,
    /// Part of a process in which other tests have run, isolated by the runner as far as it can.
    /// State that the other tests left in the process itself is still there.
    InProcess,
}

impl Session {
    /// A session that only runs these tests, in a fresh environment.
    pub fn fresh(id: SessionId, purpose: Purpose, origin: Isolation, tests: Vec<TestId>) -> Self {
        Self {
            id,
            purpose,
            place: Placement::Fresh(origin),
            tests,
            again: 0,
            prefix: 0,
            depends: None,
            probe: None,
            at_once: 0,
            under: None,
            private: false,
            seed: None,
        }
    }
}

impl Purpose {
    pub fn word(self) -> &'static str {
        match self {
            Self::Suite => "suite",
            Self::AtEnd => "at-end",
            Self::Fresh => "fresh",
            Self::OtherSeeds => "other-seeds",
            Self::Together => "together",
            Self::WithoutFiles => "without-files",
            Self::Again => "again",
            Self::Stress => "stress",
            Self::Look => "look",
            Self::Twice => "twice",
            Self::Order => "order",
            Self::Search => "search",
            Self::State => "state",
            Self::Base => "base",
            Self::Factor => "factor",
            Self::Replay => "replay",
        }
    }
}

impl Isolation {
    pub fn word(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Fork => "fork",
            Self::InProcess => "in-process",
        }
    }
}

impl fmt::Display for EnvironmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
