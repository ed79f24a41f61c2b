//! The memory that all processes of a command share with unflake, which compiles this file, too.

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Changes with the layout: the shim ignores a page of an unknown version.
pub const VERSION: u32 = 3;
pub const STARTS: usize = 512;
pub const TEXT: usize = 8192;

#[repr(C)]
pub struct Page {
    pub version: AtomicU32,
    /// Not 0: delays are on.
    pub armed: AtomicU32,
    /// Number of programs that have started with the shim.
    pub processes: AtomicU32,
    /// How much of `text` is used. May exceed its size.
    pub used: AtomicU32,
    /// Signed nanoseconds by which the time of day is set back, so that each test starts at the
    /// requested time.
    pub rewound: AtomicU64,
    /// Number of processes in which Python has the requested switch interval.
    pub taking_turns: AtomicU32,
    /// Starts by program and by command line: a hash, with the count in the lowest byte.
    pub starts: [AtomicU64; STARTS],
    /// Programs that do not load the shim: a letter for the reason (`executable.rs`), the path, a
    /// zero.
    pub text: [AtomicU8; TEXT],
}
