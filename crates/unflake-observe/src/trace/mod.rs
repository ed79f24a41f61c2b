//! The ordered trace: what each thread of a test went through, place after place.
//!
//! This crate has the format, a reader, and all it takes to have native programs (Rust, C, C++) write it: the runtime that
//! they call, the flags that make them call it, and the way from addresses back to lines. Deliberately absent: sessions,
//! verdicts, conclusions from traces. The decisions are in `docs/design/native-traces.md`.
//!
//! # The format, version 1
//!
//! An attempt is a directory. Each process that took part has a directory in it, named by its pid and how often that
//! pid came by (`4711-1`), with these files:
//!
//! - `process`, text, one fact a line: `unflake-trace 1`, then `pid`, `parent`, `started` (monotonic, nanoseconds), `executable`;
//!   for the copy that a fork made `forked PART THREAD WAY ORDINAL FIRST` (whose copy, by which of its threads, how
//!   many that thread had made before, and the first id that does not mean what it means there); `lost WHY ERRNO` where
//!   threads could not be kept. Words that a reader does not know are skipped.
//! - `thread-N`, binary: a head of 256 bytes (`agents/native/format.rs`), then place ids, u32 little-endian, in the order they
//!   were come to. Ids begin at 1. A zero means that nothing was written there: files grow in pieces, and that of a
//!   thread that did not come to its end has zeros behind its last event. The head says how the thread was started (at
//!   each step from the first thread the ordinal among the children of the thread before, which is the same from run to run,
//!   as numbers are not), its name, whether it came to its end, and whether, why and how far before its end the file
//!   stops.
//! - `places`, text: `unflake-places 1`, then a line for every id that occurs, fields parted by tabs: the id, and for each
//!   frame from the outermost to the innermost file, line and function. An empty file or line 0: not known. `note` and a
//!   text say what else is not known. Tab, line ends and backslash are written `\t`, `\n`, `\r`, `\\`. Where a process did not
//!   come to its end, zeros may follow the last line; so in `values-N` and `reaches` (`docs/design/divergence.md`).
//! - `values-N`, text, beside `thread-N` where the tracer can see values, a line each, fields parted by tabs and escaped as in
//!   `places`: after how many events of this thread, the place of the last of them, a name, and what it stood for then.
//!   `returns` is the name of what a function gave back.
//! - `reaches`, text, the same way: a place, a cause (`randomness`, `time`, …) and the name of what was reached for there that need
//!   not be the same in every run, such as `random.random`.
//! - `files`, text, a line for each file that the process reached for and each way it did, kind and path parted by a tab, the
//!   path escaped as in `places`: `read`, `wrote` (also made, renamed, removed), `listed` (the names in a directory), `walked`
//!   (a directory or pattern, by a function that does not say what it met), `seen` (there, but not opened), `missed` (looked
//!   for and not there), `loaded` (a library, not of the system, in the process at its start or end), `started` (a program),
//!   `alone` (a program that was not told to trace). The path is absolute, made with the working directory of that moment, links not followed and `..` left as it is; that of a program may be a mere
//!   name, if it was not found. `lost WHY`, also parted by a tab: not everything is here (`limit`, 16384 lines a process;
//!   `too-long`, a path; `no-room`). A copy without a directory of its own writes to that of whose copy it is. The
//!   file is there once there is something to say; `process` has a line `files` where such accesses are recorded at all, or
//!   `files unseen FUNCTION` where calls of that function do not arrive. Kinds that a reader does not know are gaps.
//!
//! A tracer that knows its lines writes `places` itself. The native runtime knows only addresses; it adds to `process` lines
//! `module FIRST COUNT guards 0 SIZE SECONDS NANOSECONDS PATH` with a table `places-FIRST` of u64 addresses, or `module FIRST
//! COUNT addresses FROM …` where ids are distances from an address, and [`Symboliser`] makes `places` of them after the run.
//! `budget` in the attempt's directory is a page that the processes share: how much of the limit is taken, u64, and whether some
//! of them could write down neither a file that they reached for nor that it is lost, u64.

mod archive;
mod archive_blocks;
mod archive_values;
mod attempt;
mod binary;
mod depends;
mod error;
mod executed;
mod file_accesses;
mod files;
#[path = "../../../../agents/native/format.rs"]
#[allow(dead_code, unreachable_pub)] // The runtime uses the rest of it.
mod format;
mod lines;
mod nondeterminism_calls;
mod places;
mod runtime;
mod symbols;
mod thread;

pub use archive::Archive;
pub use attempt::{Attempt, Process};
pub use binary::{Instrumented, instrumented};
pub use depends::{Depends, ToolHome};
pub use error::Error;
pub use executed::Executed;
pub use file_accesses::Used;
pub use lines::{Line, Lines, LinesOf, Project};
pub use nondeterminism_calls::CallTable;
pub use places::{Frame, Place, Places};
pub use runtime::{Limits, Runtime};
pub use symbols::Symboliser;
pub use thread::{Head, PlaceIds, Thread, Truncated, Why, write_thread};

/// The environment variables that the runtime and the wrapper are told by.
pub mod variables {
    /// The directory of the attempt. Without it the runtime does nothing. It stays in the environment: programs that the
    /// test starts are traced too, if they were built for it.
    pub const TRACE: &str = "UNFLAKE_TRACE";
    /// How many events of one thread are kept.
    pub const TRACE_THREAD_EVENTS: &str = "UNFLAKE_TRACE_THREAD_EVENTS";
    /// How many events of the whole attempt are kept.
    pub const TRACE_EVENTS: &str = "UNFLAKE_TRACE_EVENTS";
    /// A directory of tables that say which places of a program are the project's own; others are then not traced.
    pub const TRACE_OWN: &str = "UNFLAKE_TRACE_OWN";
}
