//! What an agent reports to the engine. Payload types are the model's own; this module says how
//! they look on the wire.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use unflake_model::{Death, Failure, Outcome, ProblemKind, Test, TestId, WriteSite};

use crate::payload;
use crate::payload::is_false;

/// One line from an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum AgentMessage {
    /// The first line on every connection.
    Hello(Hello),
    /// Information for the user. Not a reason to stop.
    Note { text: String },
    /// Something prevents tests from running.
    Problem { kind: ProblemKind, place: Option<String>, text: String },
    /// Some of the tests, in the runner's order. Sent as often as needed.
    Listed { tests: Vec<ListedTest> },
    /// All tests are listed and the agent waits for orders.
    Ready {
        tests: u32,
        #[serde(default)]
        deselected: u32,
        /// Why forking this process would be unsafe.
        #[serde(default)]
        unforkable: Option<String>,
        /// Why the tests have to run in this process, where the first pass could run in several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        one_process: Option<String>,
        /// The agent starts processes of its own for each order, so that it is as fresh after an
        /// order as before.
        #[serde(default, skip_serializing_if = "payload::is_false")]
        isolated: bool,
        /// The plain runner would not run tests in the order in which a command names them, or not
        /// in one process.
        #[serde(default, skip_serializing_if = "payload::is_false")]
        reorders: bool,
    },
    /// An attempt starts.
    Start {
        n: u32,
        run: u32,
        /// The agent's number for the process that runs the test, where that is not the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        process: Option<u32>,
        /// The test has an environment of its own within that process.
        #[serde(default, skip_serializing_if = "payload::is_false")]
        in_process: bool,
    },
    /// An attempt ended.
    Done(Box<AttemptResult>),
    /// The runner itself stops (a limit of failures, an exit in the tests). Tests of this order that have not
    /// started are not run; `idle` follows.
    Stopped { cause: StopCause, why: String },
    /// The `run` order is done.
    Idle,
    /// A child process exists; it connects by itself.
    Forked { environment: u32, pid: u32 },
    /// No child process can be forked.
    Unforkable { environment: u32, why: String },
    /// A snapshot of the reachable state is taken.
    Remembered { cells: u32, seconds: f64 },
    /// Path of a JSON file in the side directory: what differs from the snapshot.
    Changed { path: String },
    /// Cells are restored, except these.
    Restored {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        failed: Vec<NotRestored>,
    },
    /// A watched cell was written at this line.
    Written {
        cell: String,
        #[serde(flatten)]
        site: WriteSite,
    },
    /// Path of a JSON-lines file in the side directory: every assertion in the project's loaded
    /// files. Empty where the agent knows none.
    Sites { path: String },
    /// The `filter` order is in effect.
    Filtering,
    /// How a forked child ended.
    Reaped {
        environment: u32,
        #[serde(flatten, with = "payload::death")]
        death: Death,
    },
    /// A process of the runner that runs tests, and has an agent of its own, has died.
    Exited {
        process: u32,
        #[serde(flatten, with = "payload::death")]
        death: Death,
    },
    /// The agent's process is about to exit.
    Bye,
}

/// Introduces the process at the other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The protocol version that the agent speaks.
    pub protocol: u32,
    /// The agent's name, such as `script-tests`.
    pub agent: String,
    pub environment: u32,
    /// The environment it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// The number of the process, where the runner runs its tests in several that are one
    /// environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    pub pid: u32,
    /// How many connections this environment had before. Messages on those precede messages on
    /// this one.
    #[serde(default, skip_serializing_if = "is_first")]
    pub connection: u32,
    /// The runner's name and version.
    pub runner: String,
    /// The language's name and version.
    pub language: String,
    /// Test files are relative to this directory.
    pub root: String,
    /// On this signal the process writes the stacks of all threads to `stack-<environment>` in
    /// the side directory, without help from the code that hangs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack_signal: Option<i32>,
    /// A hash of what is installed for the language, where that was asked for and is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub installed: Option<String>,
}

fn is_first(connection: &u32) -> bool {
    *connection == 0
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptResult {
    pub n: u32,
    pub run: u32,
    /// On the wire: `outcome`, and for `crashed` also `signal` or `exit`.
    #[serde(flatten, with = "payload::outcome")]
    pub outcome: Outcome,
    pub seconds: f64,
    /// Directory of its trace, in the format of `unflake-observe`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// File with the dependencies of the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<String>,
    /// File with what the attempt looked like at the requested layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<String>,
    /// Where a schedule delayed its threads and tasks, in the words of the setting.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delays: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "payload::failure")]
    pub failure: Option<Failure>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

impl AttemptResult {
    /// A result with an outcome and a duration, and nothing else.
    pub fn new(n: u32, run: u32, outcome: Outcome, seconds: f64) -> Self {
        let (trace, dependencies, layers, failure) = Default::default();
        let (delays, stdout, stderr) = Default::default();
        Self { n, run, outcome, seconds, trace, dependencies, layers, delays, failure, stdout, stderr }
    }
}

/// A cell that could not be restored, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRestored {
    pub cell: String,
    pub why: String,
}

/// A test with its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedTest {
    /// Used in every order and answer; counted from 0 over all `listed` messages.
    pub n: u32,
    #[serde(flatten, with = "TestFields")]
    pub test: Test,
    #[serde(default, skip_serializing_if = "TestNeeds::is_nothing")]
    pub needs: TestNeeds,
}

/// What a test needs for itself while it runs, as the project declares it to its runner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestNeeds {
    /// No other test may run at the same time.
    #[serde(default, skip_serializing_if = "is_false")]
    pub alone: bool,
    /// As many jobs as this; 0 is one.
    #[serde(default, skip_serializing_if = "payload::is_zero")]
    pub jobs: u32,
    /// By name: a resource, and how many tests that need it may run at once. Where tests differ in
    /// this (readers and a writer), the least counts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, u32>,
}

impl TestNeeds {
    /// Needs all that `more` needs, too.
    pub fn add(&mut self, more: &Self) {
        self.alone |= more.alone;
        self.jobs = self.jobs.max(more.jobs);
        for (name, most) in &more.resources {
            let own = self.resources.entry(name.clone()).or_insert(*most);
            *own = (*own).min(*most);
        }
    }

    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// A test on the wire: fields without a value are omitted.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Test")]
struct TestFields {
    /// Unique: where the runner has two of one name, the agent adds ` (2)`, ` (3)`, ….
    id: TestId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    command: Vec<String>,
}

/// Why a runner stops before the end of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopCause {
    /// A limit that the user gave the runner, such as `--maxfail`.
    Limit,
    /// The project's code asked the runner to exit.
    Exit,
}
