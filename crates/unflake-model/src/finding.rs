//! Findings: what a technique concluded about a test, with its evidence.

pub(crate) mod confidence;
pub(crate) mod feedback;
mod id;
pub(crate) mod prepared_report;
pub(crate) mod searched;

use serde::{Deserialize, Serialize};

use crate::{
    Base, Cell, Divergence, Failure, Filtered, Granularity, Influence, Isolation, LayerDifference, TestId, Timestamp,
    World,
};

/// The conclusion of a technique about one test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    pub test: TestId,
    #[serde(flatten)]
    pub detail: Detail,
    /// One line for people that follows the name of the test: lower case, no full stop.
    pub sentence: String,
    /// Commands that reproduce it, the most telling first.
    #[serde(default)]
    pub reproduce: Vec<Reproduction>,
    /// The sessions that reproduce it, one for each command.
    #[serde(skip)]
    pub replays: Vec<Replay>,
}

/// A shell command that reproduces a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reproduction {
    pub command: String,
    pub shows: Shows,
}

/// How the test of a finding ends in a reproduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shows {
    Fails,
    /// It failed in each of several runs of the command, where the test is flaky.
    AlwaysFails,
    Passes,
    /// It fails in some runs of the command and passes in others.
    SometimesFails,
}

/// Tests to run in one new session of the runner, in this order. Empty: the user's whole command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    pub tests: Vec<TestId>,
    /// The world of the session.
    pub under: World,
    /// How many of them run at the same time in one process. 0: one after the other.
    pub at_once: u32,
    /// How many copies of the session run at the same time, in processes of their own. 0: one.
    pub copies: u32,
    pub shows: Shows,
}

impl Replay {
    pub fn fails(tests: Vec<TestId>) -> Self {
        Self { tests, under: World::default(), at_once: 0, copies: 0, shows: Shows::Fails }
    }

    pub fn passes(tests: Vec<TestId>) -> Self {
        Self { tests, under: World::default(), at_once: 0, copies: 0, shows: Shows::Passes }
    }

    pub fn sometimes_fails(tests: Vec<TestId>) -> Self {
        Self { tests, under: World::default(), at_once: 0, copies: 0, shows: Shows::SometimesFails }
    }

    /// What the outcomes so far let expect.
    pub fn counted(tests: Vec<TestId>, failed: u32, attempts: u32) -> Self {
        Self { shows: Shows::counted(failed, attempts), ..Self::fails(tests) }
    }
}

impl Shows {
    /// What so many failures let expect.
    pub fn counted(failed: u32, attempts: u32) -> Self {
        match failed {
            0 => Self::Passes,
            _ if failed == attempts => Self::Fails,
            _ => Self::SometimesFails,
        }
    }
}

impl Reproduction {
    pub fn fails(command: impl Into<String>) -> Self {
        Self { command: command.into(), shows: Shows::Fails }
    }
}

/// The part of a finding that differs by technique.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "technique", rename_all = "kebab-case")]
pub enum Detail {
    Verdict(Verdict),
    Intersect(Intersect),
    Nio(Nio),
    Order(OrderDependence),
    State(Leak),
    Divergence(Divergence),
    Layer(LayerDifference),
    Factor(Box<Influence>),
    Filter(Filtered),
}

/// Whether a change can have caused a failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intersect {
    pub kind: IntersectKind,
    pub granularity: Granularity,
    /// None: there is no base.
    pub base: Option<Base>,
    /// Whether the test passed at the base. None: unknown.
    pub base_passed: Option<bool>,
    /// The changed paths.
    pub considered: Vec<String>,
    /// The changed paths that the test depends on.
    pub touched: Vec<TouchedPath>,
    /// Project files that the test ran or read.
    pub files: u32,
    /// What prevents the answer `unaffected`.
    pub unknown: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IntersectKind {
    Affected,
    Unaffected,
    Unknown,
}

/// A changed path that a test depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TouchedPath {
    pub path: String,
    /// How; follows the path: `is run by it`, `is read by it`.
    pub how: String,
    /// The line that led there first, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// Changed functions that it entered, if known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
}

/// The outcome of running a test twice in one environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Nio {
    pub kind: NioKind,
    pub mode: NioMode,
    pub evidence: Repeats,
    /// The weakest isolation behind it. None: unknown.
    #[serde(default)]
    pub fresh: Option<Isolation>,
    /// The failure of the second run.
    pub second_failure: Option<Failure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NioKind {
    /// Passes, then fails, every time.
    Nio,
    /// Fails, then passes, every time; or passes only after others.
    Brittle,
    /// Varies.
    NonDeterministic,
    /// Always fails.
    Broken,
}

/// Which tests share an environment when they run twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NioMode {
    #[default]
    IsolatedMethod,
    IsolatedClass,
    EntireSuite,
}

/// Observations out of trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeats {
    pub seen: u32,
    pub tried: u32,
    /// Passes out of trials of the test alone in its own environment.
    pub alone_passed: u32,
    pub alone_tried: u32,
}

/// A test whose outcome depends on earlier tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrderDependence {
    pub kind: OrderKind,
    /// Alternatives, each a list of tests needed together in this order: polluters of a victim, state-setters of a
    /// brittle test.
    pub culprits: Vec<Vec<TestId>>,
    /// Tests that undo it when they run in between.
    pub cleaners: Vec<TestId>,
    /// The smallest order that shows it: a victim fails, a brittle test passes.
    pub order: Vec<TestId>,
    pub evidence: Repeats,
    /// The failure of the test.
    pub failure: Option<Failure>,
    /// What the search could not finish.
    pub unfinished: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OrderKind {
    /// Passes alone, fails after its polluters.
    Victim,
    /// Fails alone, passes after its state-setters.
    Brittle,
}

/// The state through which a test changes another's outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leak {
    pub kind: LeakKind,
    /// The tests that leave the state behind.
    pub after: Vec<TestId>,
    pub cells: Vec<Cell>,
    pub unknown: Vec<String>,
    /// None: nothing was restored repeatedly.
    #[serde(default)]
    pub evidence: Option<RestoreCounts>,
}

/// The outcomes with the cells restored and with the cells as they were left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreCounts {
    /// Runs with restored cells in which the outcome changed, out of all.
    pub changed: u32,
    pub restored: u32,
    /// Runs with the cells as they were left in which the outcome stayed, out of all.
    pub stayed: u32,
    pub kept: u32,
    /// Runs in which only these cells were as they were left, everything else that differed was
    /// restored, and the outcome stayed: the cells are sufficient. Out of all; 0 of 0: not tried.
    #[serde(default)]
    pub sufficed: u32,
    #[serde(default)]
    pub alone: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeakKind {
    /// Restoring these cells, and no fewer, changes the outcome.
    Proven,
    /// They differ, but could not be restored to prove it.
    Possible,
}

/// The verdict about a failing test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub kind: VerdictKind,
    /// The rung that decided. None when no attempt passed.
    pub rung: Option<Rung>,
    pub evidence: Evidence,
}

/// The evidence of a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    pub attempts: u32,
    pub failed: u32,
    /// The strongest isolation in which the test was tried, if any.
    pub fresh: Option<Isolation>,
    /// Attempts of other tests in the environment before the first failure.
    pub after: u32,
    /// The `never-excuse` rule that forbids the verdict flaky although it passed later.
    pub never_excuse: Option<String>,
    /// Whether the pass is valid beyond the process of the failure. True: in some process it did not fail first and
    /// then pass. False: it did in every process. None: nothing to confirm, or unknown; `not_rerun` says why.
    #[serde(default)]
    pub confirmed: Option<bool>,
    /// Why requested reruns did not happen.
    pub not_rerun: Option<String>,
    /// New processes with other seeds in which the first attempt failed.
    #[serde(default)]
    pub other_seeds_failed: u32,
    /// Files without which it passes. It wrote them itself, and they outlive its process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_files: Vec<String>,
    /// Tests beside which it fails: at the same time, in one process. Alone it passes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<TestId>,
    #[serde(default, skip_serializing_if = "EarlierRuns::is_empty")]
    pub earlier: EarlierRuns,
}

/// What earlier runs showed of a test that fails in this one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierRuns {
    /// When it last passed with the same files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<Timestamp>,
    /// When it was last found to be flaky.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaky: Option<Timestamp>,
    /// On how many of the last [`EarlierRuns::DAYS`] days it was found to be flaky.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub flaky_days: u32,
    /// The technique that proved why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proven_by: Option<String>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl EarlierRuns {
    pub const DAYS: i64 = 30;

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// Passed in an immediate rerun.
    FlakyIndependent,
    /// Passed in a later rerun in the same environment.
    FlakyBursty,
    /// Passed only in a fresh environment: it depends on state that other tests leave behind.
    FlakyStateDependent,
    /// Passes in some new processes and fails in others, the same way within each: a seed that is
    /// drawn once per process decides, or the address layout.
    FlakySeedDependent,
    /// Never passed, and the change cannot have caused it.
    UnaffectedByChange,
    /// Failed in at least one new process with other seeds, and never passed.
    Real,
    /// Never passed, and was not tried enough to be called real.
    NotDecided,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    Immediate,
    AtEnd,
    Fresh,
    OtherSeeds,
    WithoutFiles,
    Intersect,
}

impl VerdictKind {
    pub fn is_flaky(self) -> bool {
        !matches!(self, Self::Real | Self::NotDecided)
    }
}

impl Finding {
    /// The verdict, if this finding is one.
    pub fn verdict(&self) -> Option<&Verdict> {
        match &self.detail {
            Detail::Verdict(verdict) => Some(verdict),
            _ => None,
        }
    }

    /// The most telling command that reproduces it.
    pub fn command(&self) -> Option<&str> {
        self.reproduce.first().map(|one| one.command.as_str())
    }

    /// Whether it is the verdict real.
    pub fn is_real(&self) -> bool {
        self.verdict().is_some_and(|verdict| verdict.kind == VerdictKind::Real)
    }

    /// Whether it is a failure that is neither real nor flaky as far as is known.
    pub fn is_undecided(&self) -> bool {
        self.verdict().is_some_and(|verdict| verdict.kind == VerdictKind::NotDecided)
    }

    /// Whether it is a flaky verdict.
    pub fn is_flaky(&self) -> bool {
        self.verdict().is_some_and(|verdict| verdict.kind.is_flaky())
    }
}
