//! The wire between unflake and an agent: one JSON object a line, over a Unix stream socket.
//!
//! What an agent has to do is written in `agents/README.md`; this crate is the same contract as types. Deliberately
//! absent: any knowledge of what unflake does with the answers.

mod event;
mod injected_agent;
mod order;
mod wire;

pub use event::{Event, Failed, Hello, Listed, NotRestored, Outcome, Phase, ProblemKind, StopCause};
pub use injected_agent::{InjectedAgent, PrependedVariable};
pub use order::{Order, Probe};
pub use wire::{Line, LineError, LineReader, MAX_LINE, to_line};

/// Raised when a message changes its meaning or loses a field. New optional fields do not raise it: both sides ignore
/// what they do not know.
pub const VERSION: u32 = 1;

/// The environment variables with which an agent is started. An agent removes all of them from its environment before
/// the project's code can see them.
pub mod variables {
    /// Path of the socket to connect to.
    pub const SOCKET: &str = "UNFLAKE_SOCKET";
    /// Number of the environment that the started process is.
    pub const ENVIRONMENT: &str = "UNFLAKE_ENVIRONMENT";
    /// A directory for bulk data: stacks, and later traces, coverage and snapshots.
    pub const SIDE: &str = "UNFLAKE_SIDE";
    /// `yes` when the runner's own reports (its JUnit file, its coverage data) are to be written as usual; `no` in a
    /// process that exists only to be forked.
    pub const REPORTS: &str = "UNFLAKE_REPORTS";
    /// How many characters of one text (a stream, a trace) to keep; longer ones are shortened in the middle.
    pub const OUTPUT_LIMIT: &str = "UNFLAKE_OUTPUT_LIMIT";
    /// Path of a JSON list of files, absolute. Where it is set, only tests in these files are collected, with the
    /// configuration that the whole command line leads to.
    pub const ONLY: &str = "UNFLAKE_ONLY";
    /// A JSON object: variables that were changed to bring the agent in, with the values they had (null: unset).
    pub const RESTORE: &str = "UNFLAKE_RESTORE";
    /// Set where the order in which tests run through their code is to be recorded: `lines`, or `values` for the values
    /// that they come by as well.
    pub const TRACED: &str = "UNFLAKE_TRACED";
    /// The layers at which it is to be told what each attempt looked like, joined by commas.
    pub const LAYERS: &str = "UNFLAKE_LAYERS";
    /// A directory for what is worth keeping from run to run.
    pub const CACHE: &str = "UNFLAKE_CACHE";
    /// `file` or `function`: what each attempt depended on is to be told, by files or by the functions in them too.
    pub const DEPENDENCIES: &str = "UNFLAKE_DEPENDENCIES";
    /// Set where assertions are to be told, and some of them may be let fail.
    pub const FILTER: &str = "UNFLAKE_FILTER";
    /// For a driver: the way into the world that the processes of the project are to run in, as JSON.
    pub const DOOR: &str = "UNFLAKE_DOOR";
    /// For a driver: a directory that those of all worlds of a run have in common, gone with the run.
    pub const SHARED: &str = "UNFLAKE_SHARED";

    /// All of them.
    pub const ALL: [&str; 14] = [
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
        FILTER,
        DOOR,
        SHARED,
    ];
}
