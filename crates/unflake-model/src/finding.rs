use serde::{Deserialize, Serialize};

use crate::{Base, Cell, Divergence, Failure, Filtered, Granularity, Influence, Isolation, LayerDifference, TestId};

/// What a technique concluded of one test, with what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    pub test: TestId,
    #[serde(flatten)]
    pub detail: Detail,
    /// What a person reads. One line, no final full stop, starts in lower case: it follows the name of the test.
    pub sentence: String,
    /// A shell command that shows it again.
    pub repeat: Option<String>,
    /// The order in which the plain runner shows it again. Empty: the user's whole command.
    #[serde(skip)]
    pub replay: Vec<TestId>,
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
    /// None where there is none to compare with.
    pub base: Option<Base>,
    /// Whether the test is known to have passed at the base. None: nobody knows.
    pub base_passed: Option<bool>,
    /// Paths of the change that were looked at.
    pub considered: Vec<String>,
    /// Those that the test met, with how it did.
    pub touched: Vec<TouchedPath>,
    /// How many files of the project the test ran or read.
    pub files: u32,
    /// What keeps the answer from being `unaffected`.
    pub unknown: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IntersectKind {
    Affected,
    Unaffected,
    Unknown,
}

/// A changed path that a test met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TouchedPath {
    pub path: String,
    /// How, to follow the path: `is run by it`, `is read by it`.
    pub how: String,
    /// The line that led there first, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// Functions that changed and that it entered, where that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
}

/// What happened when a test was run twice in one environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Nio {
    pub kind: NioKind,
    pub mode: NioMode,
    pub evidence: Repeats,
    /// The weakest kind of fresh environment that it rests on. None: nothing was heard of it.
    #[serde(default)]
    pub fresh: Option<Isolation>,
    /// What the second run said.
    pub second_failure: Option<Failure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NioKind {
    /// Passes, then fails, every time.
    Nio,
    /// Fails, then passes, every time; or passes only after others.
    Brittle,
    /// Does now this, now that.
    NonDeterministic,
    /// Fails whenever it runs.
    Broken,
}

/// What shares an environment when tests are run twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NioMode {
    #[default]
    IsolatedMethod,
    IsolatedClass,
    EntireSuite,
}

/// How often something was seen, of how often it was tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeats {
    pub seen: u32,
    pub tried: u32,
    /// How often the test passed alone, in an environment of its own, of how often it was tried.
    pub alone_passed: u32,
    pub alone_tried: u32,
}

/// A test whose outcome hangs on the tests before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrderDependence {
    pub kind: OrderKind,
    /// Alternatives, each a list of tests that are needed together, in this order: polluters of a victim, state-setters of a brittle.
    pub culprits: Vec<Vec<TestId>>,
    /// Tests that undo it when they come between.
    pub cleaners: Vec<TestId>,
    /// The smallest order that shows it: fails for a victim, passes for a brittle.
    pub order: Vec<TestId>,
    pub evidence: Repeats,
    /// What the test said when it failed.
    pub failure: Option<Failure>,
    /// What was left undone, in words.
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

/// The state through which tests change each other's outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leak {
    pub kind: LeakKind,
    /// The tests that leave it behind.
    pub after: Vec<TestId>,
    pub cells: Vec<Cell>,
    pub unknown: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeakKind {
    /// With these cells put back, and no fewer, the outcome was the other one.
    Proven,
    /// They differ, and whether they matter could not be tried.
    Suspected,
}

/// What the ladder says of a failing test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub kind: VerdictKind,
    /// The rung that decided. None when no attempt passed.
    pub rung: Option<Rung>,
    pub evidence: Evidence,
}

/// What a verdict rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    pub attempts: u32,
    pub failed: u32,
    /// The strongest kind of fresh environment in which the test was tried, if any.
    pub fresh: Option<Isolation>,
    /// How many attempts of other tests its environment had made before the test first failed.
    pub after: u32,
    /// Which `never-excuse` rule forbids to call it flaky although it passed later.
    pub never_excuse: Option<String>,
    /// Whether the pass holds beyond the process in which the test had failed before. True: there is a process in which
    /// it did not first fail and then pass. False: it failed first and passed later in every process. None: there is
    /// nothing to confirm, or nobody knows; then `not_rerun` says why.
    #[serde(default)]
    pub confirmed: Option<bool>,
    /// Why reruns that were asked for did not happen.
    pub not_rerun: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// Passed when run again at once.
    FlakyIndependent,
    /// Passed when run again later in the same environment.
    FlakyBursty,
    /// Passed only in a fresh environment: it depends on what other tests left behind.
    FlakyStateDependent,
    /// Never passed, and cannot have been affected by the change.
    UnaffectedByChange,
    Real,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    Immediate,
    AtEnd,
    Fresh,
    Intersect,
}

impl VerdictKind {
    pub fn is_flaky(self) -> bool {
        self != Self::Real
    }
}

impl Finding {
    /// The verdict, where this is one.
    pub fn verdict(&self) -> Option<&Verdict> {
        match &self.detail {
            Detail::Verdict(verdict) => Some(verdict),
            _ => None,
        }
    }

    /// Whether it says of a failure that somebody has to see to it.
    pub fn is_real(&self) -> bool {
        self.verdict().is_some_and(|verdict| verdict.kind == VerdictKind::Real)
    }

    /// Whether it says of a failure that it is flaky.
    pub fn is_flaky(&self) -> bool {
        self.verdict().is_some_and(|verdict| verdict.kind.is_flaky())
    }
}
