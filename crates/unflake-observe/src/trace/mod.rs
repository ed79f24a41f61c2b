//! Ordered traces: the sequence of code places that each thread of a test executed.
//!
//! This module contains the format, a reader, and everything that native programs (Rust, C, C++)
//! need to write it: the runtime that they call, the compiler flags that make them call it, and the
//! symbolisation of addresses. Deliberately absent: sessions, verdicts, conclusions from traces.
//! `docs/design/native-traces.md` has the decisions.
//!
//! # The format, version 1
//!
//! An attempt is a directory. Each of its processes has a subdirectory, named by its pid and a
//! counter for reused pids (`4711-1`), with these files:
//!
//! - `process`, text, one fact per line: `unflake-trace 1`, then `pid`, `parent`, `started`
//!   (monotonic, nanoseconds), `executable`; for a fork `forked PART THREAD WAY ORDINAL FIRST` (the
//!   parent's directory, the forking thread, the number of its earlier forks, and the first id
//!   whose meaning differs from the parent); `lost WHY ERRNO` if threads could not be recorded.
//!   Readers skip unknown keywords.
//! - `thread-N`, binary: a header of 256 bytes (`agents/native/format.rs`), then place ids, u32
//!   little-endian, in execution order. Ids start at 1. A zero is unwritten space: files grow in
//!   chunks, and the file of a thread that did not end normally has zeros after its last event. The
//!   header contains how the thread was started (for each step from the first thread, the ordinal
//!   among the children of the previous thread, which is stable across runs, unlike thread
//!   numbers), its name, whether it ended normally, and whether, why and how far before its end the
//!   file is truncated.
//! - `places`, text: `unflake-places 1`, then a line for every id that occurs, with tab-separated
//!   fields: the id, and for each frame from the outermost to the innermost file, line and
//!   function. An empty file or line 0 is unknown. `note` and a text describe other unknowns. Tab,
//!   line endings and backslash are escaped as `\t`, `\n`, `\r`, `\\`. If a process did not end
//!   normally, zeros may follow the last line; the same applies to `values-N` and `reaches`
//!   (`docs/design/divergence.md`).
//! - `values-N`, text, beside `thread-N` if the tracer can read values, one per line, tab-separated
//!   and escaped as in `places`: the number of events of this thread before it, the place of the
//!   last of them, a name, and its value. The name `returns` is the return value of a function.
//! - `reaches`, text, in the same format: a place, a cause (`randomness`, `time`, …) and the name
//!   of a nondeterministic call there, such as `random.random`.
//! - `files`, text, a line for each accessed file and each kind of access, kind and path separated
//!   by a tab, the path escaped as in `places`: `read`, `wrote` (also created, renamed, removed),
//!   `listed` (the entries of a directory), `walked` (a directory or pattern, by a function that
//!   does not report what it found), `seen` (exists, not opened), `missed` (does not exist),
//!   `loaded` (a library, not of the system, in the process at its start or end), `started` (a
//!   program), `alone` (a program without tracing). The path is absolute, resolved with
//!   the working directory of that moment, without following links or removing `..`; that of a
//!   program may be a bare name, if it was not found. `lost WHY`, also separated by a tab, means
//!   that the list is incomplete (`limit`, 16384 lines per process; `too-long`, a path; `no-room`).
//!   A fork without its own directory writes to that of its parent. The file is created with the
//!   first access; `process` has a line `files` if accesses are recorded at all, or `files unseen
//!   FUNCTION` if calls of that function are not intercepted. Unknown kinds are gaps.
//!
//! A tracer that knows its lines writes `places` itself. The native runtime knows only addresses;
//! it adds to `process` lines `module FIRST COUNT guards 0 SIZE SECONDS NANOSECONDS PATH` with a
//! table `places-FIRST` of u64 addresses, or `module FIRST COUNT addresses FROM …` if ids are
//! distances from an address, and [`Symboliser`] creates `places` from them after the run. `budget`
//! in the directory of the attempt is a page that the processes share: the used part of the limit,
//! u64, and whether any of them could record neither a file access nor its loss, u64.

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
mod line_addresses;
mod lines;
mod nondeterminism_calls;
mod places;
mod runtime;
mod symbols;
mod thread;

pub use archive::TraceArchive;
pub use attempt::{Process, TracedAttempt};
pub use binary::{Instrumented, instrumented};
pub use depends::{Depends, ToolHome};
pub use error::Error;
pub use executed::ExecutedCode;
pub use file_accesses::FileAccesses;
pub use line_addresses::{LineAddresses, traced_binaries};
pub use lines::{Lines, LinesOf, Project, TracedLine};
pub use nondeterminism_calls::CallTable;
pub use places::{CallPath, Frame, Places};
pub use runtime::{Limits, TraceRuntime};
pub use symbols::Symboliser;
pub use thread::{PlaceIds, RecordedThread, ThreadHeader, Truncated, TruncationReason, write_thread};

/// The environment variables of the runtime.
pub mod variables {
    /// The directory of the attempt. Without it the runtime does nothing. Child processes inherit
    /// it and are traced too, if they are instrumented.
    pub const TRACE: &str = "UNFLAKE_TRACE";
    /// The maximum number of recorded events per thread.
    pub const TRACE_THREAD_EVENTS: &str = "UNFLAKE_TRACE_THREAD_EVENTS";
    /// The maximum number of recorded events per attempt.
    pub const TRACE_EVENTS: &str = "UNFLAKE_TRACE_EVENTS";
    /// Where threads are delayed, by addresses: `agents/native/delay_points.rs` has the format.
    pub const DELAY_AT: &str = "UNFLAKE_DELAY_AT";
    /// A directory of tables with the project's own places of each program; other places are not
    /// traced.
    pub const TRACE_OWN: &str = "UNFLAKE_TRACE_OWN";
}
