//! The wire between the engine and an agent: one JSON object per line, over a Unix stream socket.
//!
//! `agents/README.md` describes what an agent has to do; this crate is the same contract as types.
//! Deliberately absent: any knowledge of what unflake does with the answers.

mod injected_agent;
mod line;
mod message;
mod order;
mod payload;

pub use injected_agent::{InjectedAgent, MissedAgent, PrependedVariable};
pub use line::{Line, LineError, LineReader, MAX_LINE, to_line};
pub use message::{AgentMessage, AttemptResult, Hello, ListedTest, NotRestored, StopCause, TestNeeds};
pub use order::{Order, ProbeOrder, RunOrder};
pub use unflake_model::{Death, Failure, Outcome, Phase, ProblemKind, Test, TestId};

/// Increases when a message changes its meaning or loses a field. New optional fields do not
/// increase it: both sides ignore fields that they do not know.
pub const VERSION: u32 = 1;

/// The environment variables that an agent is started with. An agent removes all of them from its
/// environment before the project's code can see them.
pub mod variables {
    /// Path of the socket to connect to.
    pub const SOCKET: &str = "UNFLAKE_SOCKET";
    /// Number of the environment that the started process is.
    pub const ENVIRONMENT: &str = "UNFLAKE_ENVIRONMENT";
    /// A directory for bulk data: stacks, traces, coverage, snapshots.
    pub const SIDE: &str = "UNFLAKE_SIDE";
    /// `yes` when the runner writes its own reports (its JUnit file, its coverage data) as usual;
    /// `no` in a process that exists only to be forked.
    pub const REPORTS: &str = "UNFLAKE_REPORTS";
    /// How many characters of one text (a stream, a trace) to keep; longer texts are shortened in
    /// the middle.
    pub const OUTPUT_LIMIT: &str = "UNFLAKE_OUTPUT_LIMIT";
    /// Path of a JSON list of absolute file names. Where it is set, only tests in these files are
    /// collected, with the configuration of the whole command line.
    pub const ONLY: &str = "UNFLAKE_ONLY";
    /// A JSON object: variables that were changed to load the agent, with their original values
    /// (null: unset).
    pub const RESTORE: &str = "UNFLAKE_RESTORE";
    /// Set where the agent records the order in which tests execute code: `lines`, or `values` to
    /// record the values at those lines as well.
    pub const TRACED: &str = "UNFLAKE_TRACED";
    /// The layers at which the agent records what each attempt looked like, separated by commas.
    pub const LAYERS: &str = "UNFLAKE_LAYERS";
    /// A directory that persists between runs.
    pub const CACHE: &str = "UNFLAKE_CACHE";
    /// `file` or `function`: the agent records what each attempt depends on, by files or by
    /// functions.
    pub const DEPENDENCIES: &str = "UNFLAKE_DEPENDENCIES";
    /// Set where the agent says in `hello` what is installed. Where dependencies are recorded, it
    /// does so anyway.
    pub const INSTALLED: &str = "UNFLAKE_INSTALLED";
    /// Set where the agent reports assertions and some of them are allowed to fail.
    pub const FILTER: &str = "UNFLAKE_FILTER";
    /// For a driver: how to start the project's processes in their world, as JSON.
    pub const DOOR: &str = "UNFLAKE_DOOR";
    /// For a driver: a directory shared by the drivers of all worlds of a run, removed with the
    /// run.
    pub const SHARED: &str = "UNFLAKE_SHARED";
    /// For a driver: builds and lists in that directory are those of this run, too.
    pub const REUSED: &str = "UNFLAKE_REUSED";
    /// For a driver: set where orders name seeds, so that the project's processes need whatever
    /// follows a seed.
    pub const SEEDED: &str = "UNFLAKE_SEEDED";
    /// How a process enters a private world, as JSON.
    pub const PRIVATE: &str = "UNFLAKE_PRIVATE_PLAN";

    /// All of them.
    pub const ALL: [&str; 18] = [
        SOCKET,
        ENVIRONMENT,
        SIDE,
        REPORTS,
        OUTPUT_LIMIT,
        ONLY,
        RESTORE,
        TRACED,
        LAYERS,
        CACHE,
        DEPENDENCIES,
        INSTALLED,
        FILTER,
        DOOR,
        SHARED,
        REUSED,
        SEEDED,
        PRIVATE,
    ];
}
