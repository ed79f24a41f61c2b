use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{
    Attempt, Cell, Comparison, Dependencies, EnvironmentId, Factor, Finding, Isolation, Purpose, SessionId, Test,
    TestId,
};

/// What the world told us. Techniques hear these and nothing else; the store keeps them.
#[derive(Clone, Debug, PartialEq)]
pub enum Observation {
    EnvironmentUp(Environment),
    /// The tests of the project, in the runner's order. Told once, before any session.
    Listed {
        tests: Vec<Test>,
        deselected: u32,
        /// Tests run in processes that are started for each session and end with it: nothing lives on from one to the
        /// next, and a test cannot be run again in the process in which it failed.
        isolated: bool,
    },
    /// Something kept tests from being run at all.
    Problem(Problem),
    /// Something a person should know, and no reason to stop.
    Note(String),
    Started {
        session: SessionId,
        purpose: Purpose,
        environment: EnvironmentId,
        test: TestId,
        run: u32,
    },
    /// The trace of an attempt that is about to be told. Its directory is gone when the run is over.
    Traced {
        test: TestId,
        environment: EnvironmentId,
        directory: PathBuf,
    },
    /// Where it is told what an attempt that is about to be told looked like. The file is gone when the run is over.
    Looked {
        test: TestId,
        environment: EnvironmentId,
        file: PathBuf,
    },
    /// What changed, once somebody wants to know what attempts depend on. An error says in words why that cannot be told.
    Compared(Box<Result<Comparison, String>>),
    /// The session that is about to begin runs in this world.
    Under {
        session: SessionId,
        factors: Vec<Factor>,
    },
    /// What the attempt that is about to be told depended on.
    Depends {
        session: SessionId,
        test: TestId,
        on: Box<Dependencies>,
    },
    Attempted(Attempt),
    /// What differs after the first `prefix` tests of a session from what was there before them. `unknown` says what could
    /// not be looked at.
    Left {
        session: SessionId,
        cells: Vec<Cell>,
        unknown: Vec<String>,
    },
    /// Cells that were to be put back and could not, each with the reason.
    NotRestored {
        session: SessionId,
        cells: Vec<(String, String)>,
    },
    /// The session is over. `left` were planned in it and not run, for the reason in `why`.
    SessionEnded {
        session: SessionId,
        left: Vec<TestId>,
        why: Option<String>,
    },
}

/// A process in which tests can run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    pub id: EnvironmentId,
    pub origin: Isolation,
    pub parent: Option<EnvironmentId>,
    /// Name and version of the runner.
    pub runner: String,
    /// Name and version of the language or its interpreter.
    pub language: String,
}

/// A reason why tests could not be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    pub kind: ProblemKind,
    /// The file or the test it is about.
    pub place: Option<String>,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// A file of tests could not be loaded.
    Collection,
    /// The runner did not accept its command line or its configuration.
    Usage,
    /// The runner could not be started, or ended before it had listed its tests.
    Start,
    /// The runner or the agent failed inside.
    Internal,
}

/// The one closed set of events that feeds the progress display, the log, JUnit and the web page.
#[derive(Clone, Debug)]
pub enum Event {
    Began { command: Vec<String> },
    Observed(Observation),
    Found(Finding),
    Ended(Totals),
}

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    pub seconds: f64,
    /// Of which spent on anything but the first pass.
    pub rerun_seconds: f64,
    pub interrupted: bool,
}
