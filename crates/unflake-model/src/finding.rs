use serde::{Deserialize, Serialize};

use crate::{Origin, TestId};

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
    pub fresh: Option<Origin>,
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
    pub fn verdict(&self) -> &Verdict {
        let Detail::Verdict(verdict) = &self.detail;
        verdict
    }
}
