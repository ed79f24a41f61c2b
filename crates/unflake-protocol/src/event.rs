use serde::{Deserialize, Serialize};

/// What an agent tells unflake.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The first line on every connection.
    Hello(Hello),
    /// Something a person should know.
    Note {
        text: String,
    },
    /// Something that keeps tests from being run.
    Problem {
        kind: ProblemKind,
        place: Option<String>,
        text: String,
    },
    /// Some of the tests, in the runner's order. As many of these as it takes.
    Listed {
        tests: Vec<Listed>,
    },
    /// All tests are listed; the agent waits for orders. `unforkable` says why forking would be unsafe. `isolated`: tests
    /// run in processes that the agent starts for each order, so that it is itself as fresh after an order as before.
    Ready {
        tests: u32,
        #[serde(default)]
        deselected: u32,
        #[serde(default)]
        unforkable: Option<String>,
        #[serde(default, skip_serializing_if = "is_false")]
        isolated: bool,
    },
    /// `process` is the agent's own number for the process in which the test runs, where that is not the agent's. `in_process`: it has a
    /// in-process environment of its own there.
    Start {
        n: u32,
        run: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        process: Option<u32>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_process: bool,
    },
    /// `signal` or `exit` say how the process ended in which a test `crashed`.
    Done {
        n: u32,
        run: u32,
        outcome: Outcome,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<i32>,
        seconds: f64,
        /// Where its trace is, in the format of `unflake-observe`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trace: Option<String>,
        /// Where it is written what the attempt depended on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dependencies: Option<String>,
        /// Where it is written what the attempt looked like at the layers that were asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        layers: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Box<Failed>>,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        stdout: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        stderr: String,
    },
    /// The runner itself wants to stop (an explicit stop, a limit of failures). The tests of this order that have not begun are
    /// not run; `idle` follows.
    Stopped {
        cause: StopCause,
        why: String,
    },
    /// The `run` order is carried out.
    Idle,
    Forked {
        environment: u32,
        pid: u32,
    },
    Unforkable {
        environment: u32,
        why: String,
    },
    /// What can be reached has been remembered.
    Remembered {
        cells: u32,
        seconds: f64,
    },
    /// What differs from what was remembered: the path of a JSON file in the side directory.
    Changed {
        path: String,
    },
    /// Cells were put back, but for these.
    Restored {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        failed: Vec<NotRestored>,
    },
    /// A watched cell was written at this line.
    Written {
        cell: String,
        file: String,
        line: u32,
        function: String,
    },
    /// Every assertion in the project's files that are loaded: the path of a JSON-lines file in the side directory.
    Sites {
        path: String,
    },
    /// From now on assertions may fail as the `filter` order said.
    Filtering,
    /// How a forked child ended; neither field when it is not known.
    Reaped {
        environment: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<i32>,
    },
    Bye,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The version of this protocol that the agent speaks.
    pub protocol: u32,
    /// The agent's name.
    pub agent: String,
    pub environment: u32,
    /// The environment it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    pub pid: u32,
    /// How many connections this environment has had before: what was said on those goes before what is said on this.
    #[serde(default, skip_serializing_if = "is_first")]
    pub connection: u32,
    /// The runner's name and version.
    pub runner: String,
    /// The language's name and version.
    pub language: String,
    /// Test files are named relative to this directory.
    pub root: String,
    /// A signal upon which the process writes the stacks of all its threads to `stack-<environment>` in the side
    /// directory, without help from the code that hangs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack_signal: Option<i32>,
}

fn is_first(connection: &u32) -> bool {
    *connection == 0
}

fn is_false(yes: &bool) -> bool {
    !yes
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRestored {
    pub cell: String,
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Its number in every order and answer, counted from 0 over all `listed` events.
    pub n: u32,
    /// Its name in the runner. Unique: where the runner has two of one name, the agent adds ` (2)`, ` (3)`, ….
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The words of a command that runs it alone with the plain runner, where that does not follow from its id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Passed,
    Failed,
    Error,
    Skipped,
    ExpectedFailure,
    UnexpectedPass,
    /// The process that the agent had started for it took longer than the order allowed.
    TimedOut,
    /// The process that the agent had started for it died.
    Crashed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    pub phase: Phase,
    pub kind: String,
    pub message: String,
    pub trace: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    SetUp,
    Call,
    TearDown,
    /// The tear-down of something that other tests share: whoever ran last is blamed for it.
    SharedTearDown,
    /// The process as a whole: it died, or ran out of time.
    Process,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    Collection,
    Usage,
    Internal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopCause {
    /// A limit that the user gave the runner, such as `--maxfail`.
    Limit,
    /// The project's code asked the runner to end.
    Exit,
}
