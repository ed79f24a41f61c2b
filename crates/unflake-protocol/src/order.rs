//! What the engine orders an agent to do.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::payload::is_false;

/// One line to an agent. An agent executes orders in the order in which they arrive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case")]
pub enum Order {
    /// Report the tests, to one of several processes that have collected the same ones. Answered
    /// by `listed` and `ready`. Where the runner has one process, the agent reports them unasked.
    List,
    /// Run tests. Answered by `start` and `done` for each attempt, then `idle`.
    Run(RunOrder),
    /// Take a snapshot of all reachable state that tests could change. Answered by `remembered`.
    Remember,
    /// Report what differs from the snapshot. Answered by `changed`.
    Compare,
    /// Restore these cells, which `changed` named, to the snapshot. Answered by `restored`.
    Restore { cells: Vec<String> },
    /// Until the next `idle`, report which lines write these cells. Answered by `written`, as
    /// often as needed, before `idle`.
    Watch { cells: Vec<String> },
    /// Report every assertion in the project's loaded files. Answered by `sites`.
    Sites,
    /// Tolerate failures of the assertions in the JSON file at this path. Answered by `filtering`.
    Filter { path: String },
    /// Fork this process. The child connects by itself as `environment` and takes orders of its
    /// own. Answered by `forked` or `unforkable`.
    Fork {
        environment: u32,
        /// The child enters a private world first.
        #[serde(default, skip_serializing_if = "is_false")]
        private: bool,
        /// What the child draws at random follows from this number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seed: Option<u64>,
        /// Settings of the agent that the child adds to its own, by the names of the variables that
        /// give them to a new process.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        settings: BTreeMap<String, String>,
    },
    /// Wait for a forked child that has ended. Answered by `reaped`.
    Reap { environment: u32 },
    /// Exit. Answered by `bye`. The runner's exit code is made from `failed`, where given: the
    /// number of tests that count as failed.
    End {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<u32>,
    },
}

/// Which tests to run, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOrder {
    /// Numbers of tests, in this order. Everything is torn down after the last.
    pub tests: Vec<u32>,
    /// A test that fails runs again at once as a distinct item, at most this often, until it
    /// passes.
    pub again: u32,
    /// For an isolated agent: how many processes may run at once.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub jobs: u32,
    /// For an isolated agent: the time limit of one attempt in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Wider-scoped fixtures stay set up after the last test, for the next order, which tears down
    /// what its first test does not need.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hold: bool,
    /// The process of the user's command writes the reports of these tests, at its `end`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reported: bool,
    /// For an isolated agent that can: report the state that tests leave in their process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeOrder>,
    /// For an isolated agent that can: `done` says what each attempt depended on.
    #[serde(default, skip_serializing_if = "is_false")]
    pub depends: bool,
    /// Tests need not share a process where sharing would blur what each of them depends on.
    #[serde(default, skip_serializing_if = "is_false")]
    pub apart: bool,
    /// For an agent that can: each test has an in-process environment of its own, shared with
    /// directly following repetitions of the same test.
    #[serde(default, skip_serializing_if = "is_false")]
    pub in_process: bool,
    /// For an isolated agent: tests start one after the other in this order. A process that runs
    /// its tests side by side is not used.
    #[serde(default, skip_serializing_if = "is_false")]
    pub in_order: bool,
    /// For an isolated agent: how to start the processes of tests, as JSON. None: as usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawn: Option<String>,
}

impl RunOrder {
    /// Runs these tests once, one at a time, without any option.
    pub fn new(tests: Vec<u32>) -> Self {
        Self {
            tests,
            again: 0,
            jobs: 1,
            limit: None,
            hold: false,
            reported: false,
            probe: None,
            depends: false,
            apart: false,
            in_process: false,
            in_order: false,
            spawn: None,
        }
    }
}

/// The agent compares the state after the first `after` tests with the state before the first, then
/// restores these cells, then runs the rest. Answered by `changed`, and by `restored` where there
/// are cells, before `idle`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeOrder {
    pub after: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restore: Vec<String>,
    /// Cells whose last writing line `changed` reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watch: Vec<String>,
    /// Before the tests, restore only what `restore` names.
    #[serde(default, skip_serializing_if = "is_false")]
    pub bare: bool,
}

fn one() -> u32 {
    1
}

fn is_one(jobs: &u32) -> bool {
    *jobs == 1
}
