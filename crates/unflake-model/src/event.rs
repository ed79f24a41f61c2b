//! What happens in a run, from its start to its end, as one closed set of events.
//!
//! The engine emits them, the store records them, techniques observe them and the progress display
//! shows them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{
    Attempt, Cell, Comparison, Dependencies, EarlierRuns, EnvironmentId, Finding, Isolation, LeftFile, Purpose,
    SessionId, Test, TestId, World,
};

/// One thing that happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// The run starts. Emitted first.
    RunStarted {
        command: Vec<String>,
    },
    EnvironmentStarted(EnvironmentFacts),
    /// The tests of the project, in the runner's order. Emitted once, before any session.
    TestsListed {
        tests: Vec<Test>,
        deselected: u32,
        /// Each session has processes of its own that end with it: no state survives from one
        /// session to the next, and a test cannot run again in the process in which it failed.
        isolated: bool,
        /// From the start of the run, the build included. Counts towards its time budget.
        seconds: f64,
    },
    /// The first pass may run in so many processes, as the user asked. Emitted before `TestsListed`.
    FirstPassSpread {
        processes: usize,
    },
    /// Something prevents tests from running at all.
    Problem(Problem),
    /// Information for the user. Not a reason to stop.
    Note(String),
    /// An attempt starts.
    AttemptStarted {
        session: SessionId,
        purpose: Purpose,
        environment: EnvironmentId,
        test: TestId,
        run: u32,
    },
    /// The trace of the attempt in the next `AttemptEnded`. The directory is removed at the end of the
    /// run.
    TraceRecorded {
        test: TestId,
        environment: EnvironmentId,
        directory: PathBuf,
    },
    /// What the attempt in the next `AttemptEnded` looked like at the requested layers. The file is
    /// removed at the end of the run.
    LayersRecorded {
        test: TestId,
        environment: EnvironmentId,
        file: PathBuf,
    },
    /// The changes against the base, or why they are not known. Emitted once a technique asks what
    /// attempts depend on.
    ChangesCompared(Box<Result<Comparison, String>>),
    /// Attempts from now on may name this world.
    WorldEntered(World),
    /// The dependencies of the attempt in the next `AttemptEnded`.
    DependenciesRecorded {
        session: SessionId,
        test: TestId,
        on: Box<Dependencies>,
    },
    /// Files that attempts at a failing test wrote and left. Emitted after those whose dependencies
    /// were recorded.
    FilesLeft {
        test: TestId,
        files: Vec<LeftFile>,
    },
    /// What earlier runs showed of a test that failed in this one.
    EarlierRuns {
        test: TestId,
        earlier: EarlierRuns,
    },
    /// An attempt ended.
    AttemptEnded(Attempt),
    /// A schedule delayed threads and tasks of an attempt that is about to end at these points.
    ThreadsDelayed {
        session: SessionId,
        points: Vec<String>,
    },
    /// The state after the first `prefix` tests of a session that differs from the state before
    /// them. `unknown` names what could not be compared.
    StateLeaked {
        session: SessionId,
        cells: Vec<Cell>,
        unknown: Vec<String>,
    },
    /// Cells that could not be restored, each with the reason.
    RestoreFailed {
        session: SessionId,
        cells: Vec<(String, String)>,
    },
    /// A session ended. `left` are its tests that did not run, for the reason in `why`.
    SessionEnded {
        session: SessionId,
        left: Vec<TestId>,
        why: Option<String>,
    },
    /// A technique reached a conclusion.
    FindingMade(Box<Finding>),
    /// The run ended. Emitted last.
    RunEnded(Totals),
}

/// A process in which tests can run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentFacts {
    pub id: EnvironmentId,
    pub origin: Isolation,
    pub parent: Option<EnvironmentId>,
    /// Name and version of the runner.
    pub runner: String,
    /// Name and version of the language or its interpreter.
    pub language: String,
    /// A hash of what is installed for the language, where that was asked for and is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub installed: Option<String>,
}

/// A reason why tests could not be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    pub kind: ProblemKind,
    /// The file or the test concerned.
    pub place: Option<String>,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// A file of tests could not be loaded.
    Collection,
    /// The runner rejected its command line or its configuration.
    Usage,
    /// unflake does not support a part of the command. The last line of the text says what to do.
    Refused,
    /// The runner could not be started, or exited before it had listed its tests.
    Start,
    /// An internal error of the runner or the agent.
    Internal,
    /// A message of the agent is missing or cannot be read, so that results may be missing.
    Protocol,
}

/// The totals of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    pub seconds: f64,
    /// Of which reruns: everything except the first pass.
    pub rerun_seconds: f64,
    pub interrupted: bool,
}
