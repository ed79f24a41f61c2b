use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Factor, Granularity, TestId};

/// Numbers the sessions of one run, in the order in which they were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub u32);

/// Numbers the environments of one run, in the order in which they came up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EnvironmentId(pub u32);

/// An ordered list of tests to be executed in one environment. Self-contained: everything needed to run it elsewhere
/// is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub id: SessionId,
    pub purpose: Purpose,
    pub place: Placement,
    pub tests: Vec<TestId>,
    /// A test that fails is run again right away, at most this many times, until it passes.
    pub again: u32,
    /// So many of the first tests are there only to reach a state. Where another session with the same beginning has
    /// reached it, this one goes on from there, and the attempts at these tests are made and told once.
    #[serde(default)]
    pub prefix: u32,
    /// Whether what each attempt depends on is to be told, and how finely.
    #[serde(default)]
    pub depends: Option<Granularity>,
    /// What is wanted of the state that the first `prefix` tests leave behind.
    #[serde(default)]
    pub probe: Option<Probe>,
    /// The world in which it is to run. None: that in which the user's runner was started.
    #[serde(default)]
    pub under: Option<Vec<Factor>>,
}

/// What is done with the state that the beginning of a session leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// These cells, by their paths, are put back to what they were before, and then the rest of the session runs.
    pub restore: Vec<String>,
    /// The lines that write these cells are to be told. Nothing is shared then.
    pub watch: Vec<String>,
}

/// Why a session was asked for. A fact that is kept with its attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// The user's own suite, in the user's order.
    Suite,
    /// Tests that failed in the suite, once more after all of it.
    AtEnd,
    /// Tests that failed before, in an environment in which nothing else has run.
    Fresh,
    /// Everything that ran in one process, in the same order, in a new one. Where a test cannot be run again in the process
    /// in which it failed, this brings it into the same state.
    Again,
    /// A test beside copies of itself, until it fails.
    Stress,
    /// A test in a fresh environment, to be looked at while it runs.
    Look,
    /// A test twice in one environment.
    Twice,
    /// Tests in another order than the runner's.
    Order,
    /// Tests in an order in which a culprit is looked for.
    Search,
    /// Tests that show or restore the state which others leave behind.
    State,
    /// A test at the revision with which changes are compared.
    Base,
    /// A test in a world of somebody's choosing, to see what makes it fail.
    Factor,
}

/// Where a session runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// In the environment that ran the suite, in whatever state it is now.
    Live,
    /// In an environment in which no test has run. `Fork` is a wish: where forking is unsafe it is a new process. With
    /// `InProcess`, which is a wish too, each of its tests has one, with those right after it that are the same test.
    Fresh(Isolation),
}

/// How an environment came to be. Those that are less fresh are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// The runner was started anew.
    Process,
    /// Forked from a process that had collected its tests and run none.
    Fork,
    /// A part of a process in which other tests have run, isolated by the runner as far as it can.
    /// What the other tests left in the process itself is still there.
    InProcess,
}

impl Session {
    /// A session that wants nothing but its tests run, in an environment in which no test has run before.
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
            under: None,
        }
    }
}

impl Purpose {
    pub fn word(self) -> &'static str {
        match self {
            Self::Suite => "suite",
            Self::AtEnd => "at-end",
            Self::Fresh => "fresh",
            Self::Again => "again",
            Self::Stress => "stress",
            Self::Look => "look",
            Self::Twice => "twice",
            Self::Order => "order",
            Self::Search => "search",
            Self::State => "state",
            Self::Base => "base",
            Self::Factor => "factor",
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
