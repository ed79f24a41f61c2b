use serde::{Deserialize, Serialize};

/// What unflake tells an agent to do. Orders are carried out one after the other, in the order in which they came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case")]
pub enum Order {
    /// Run these tests, by their numbers, in this order. A test that fails is run again at once as a distinct item, at
    /// most `again` times, until it passes. Everything is torn down after the last. Answered by `start` and `done` for
    /// each attempt, then `idle`. For an isolated agent: `jobs` processes may run at once, and one attempt may take
    /// `limit` milliseconds.
    Run {
        tests: Vec<u32>,
        again: u32,
        #[serde(default = "one", skip_serializing_if = "is_one")]
        jobs: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
        /// What wider scopes have set up is left standing after the last test, for the next order, which tears down what
        /// its first test does not need.
        #[serde(default, skip_serializing_if = "is_false")]
        hold: bool,
        /// For an isolated agent that can: what some of the tests leave behind is to be told, in the process that runs them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        probe: Option<Probe>,
        /// For an isolated agent that can: `done` tells what each attempt depended on.
        #[serde(default, skip_serializing_if = "is_false")]
        depends: bool,
        /// Tests need not share a process where less is known of each for it.
        #[serde(default, skip_serializing_if = "is_false")]
        apart: bool,
        /// For an agent that can: each test has a in-process environment of its own, with those right after it that are the same test.
        #[serde(default, skip_serializing_if = "is_false")]
        in_process: bool,
    },
    /// Remember everything that can be reached and that tests could leave changed. Answered by `remembered`.
    Remember,
    /// Tell what differs now from what was remembered. Answered by `changed`.
    Compare,
    /// Put these cells, which `changed` has named, back to what was remembered. Answered by `restored`.
    Restore { cells: Vec<String> },
    /// Until the next `idle`, tell which lines write these cells. Answered by `written`, as often as needed, before `idle`.
    Watch { cells: Vec<String> },
    /// Tell every assertion in the project's files that are loaded. Answered by `sites`.
    Sites,
    /// Let the assertions fail that the JSON file at this path names. Answered by `filtering`.
    Filter { path: String },
    /// Make a copy of this process which connects by itself as `environment` and takes orders of its own. Answered by
    /// `forked` or `unforkable`.
    Fork { environment: u32 },
    /// Wait for a forked child that has ended. Answered by `reaped`.
    Reap { environment: u32 },
    /// Leave. Answered by `bye`. `failed`, where given, is the number of tests that count as failed after all, from
    /// which the runner is to make its exit code.
    End {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<u32>,
    },
}

/// What is remembered before the first test of an order is compared after some of them, and these cells are put back, before the
/// rest runs. Answered by `changed`, and by `restored` where there are cells, before `idle`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// So many tests come before.
    pub after: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restore: Vec<String>,
}

fn one() -> u32 {
    1
}

fn is_false(yes: &bool) -> bool {
    !yes
}

fn is_one(jobs: &u32) -> bool {
    *jobs == 1
}
