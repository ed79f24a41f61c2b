//! The page that all processes of a command share with unflake. Also compiled into `crates/unflake-worlds`.

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Changes with the layout: a shim leaves a page alone that it does not know.
pub const VERSION: u32 = 3;
pub const STARTS: usize = 512;
pub const TEXT: usize = 8192;

#[repr(C)]
pub struct Page {
    pub version: AtomicU32,
    /// Not 0: delays are made.
    pub armed: AtomicU32,
    /// How many programs have been started with the shim in them.
    pub processes: AtomicU32,
    /// How much of `text` is taken. May be more than there is.
    pub used: AtomicU32,
    /// Nanoseconds, signed: how far the time of day is put back, so that each test begins at the moment that was asked for.
    pub rewound: AtomicU64,
    /// In how many processes threads of Python take turns as they were told.
    pub taking_turns: AtomicU32,
    /// How often programs have been started with the same words: a hash of these, and in the lowest byte the number.
    pub starts: [AtomicU64; STARTS],
    /// Programs that were not reached: a letter that says why (`program.rs`), the path, a zero.
    pub text: [AtomicU8; TEXT],
}
