//! The head of a thread's file, byte for byte. The runtime writes it and `crates/unflake-observe` reads it: both compile
//! this file, so there is one description of it.

/// The first eight bytes of a thread's file.
pub const MAGIC: [u8; 8] = *b"unfltrc\n";
/// Raised when a file changes its meaning. A reader refuses a version it does not know.
pub const VERSION: u32 = 1;
/// Where the stream of place ids begins.
pub const HEAD: usize = 256;
/// How many steps of a thread's ancestry are kept.
pub const STEPS: usize = 16;
/// `depth` of a thread that was started behind the runtime's back.
pub const UNKNOWN: u32 = u32::MAX;

/// Why a file says "truncated here".
pub const WHOLE: u32 = 0;
pub const THREAD_LIMIT: u32 = 1;
pub const ATTEMPT_LIMIT: u32 = 2;
pub const NO_ROOM: u32 = 3;
/// Somebody else took the events: a debugger, or the test itself.
pub const TAKEN: u32 = 4;

/// All numbers are little-endian: the runtime exists for little-endian machines only.
#[repr(C)]
pub struct Head {
    pub magic: [u8; 8],
    pub version: u32,
    /// Offset of the first place id: `HEAD`.
    pub stream: u32,
    /// Number of the thread in its process, from 1; only a name, it differs from run to run.
    pub number: u32,
    /// Number of the thread that started it; 0: nobody known.
    pub parent: u32,
    /// How many steps lead from the first thread to this one, or `UNKNOWN`.
    pub depth: u32,
    /// What the system calls it.
    pub system: u32,
    /// Monotonic clock, nanoseconds.
    pub started: u64,
    /// Events that happened after the truncation. They are counted and not kept.
    pub dropped: u64,
    /// 1 once the thread came to its end by itself.
    pub ended: u32,
    /// `WHOLE` or why not.
    pub truncated: u32,
    /// With `NO_ROOM`: what the system said.
    pub errno: u32,
    pub reserved: u32,
    /// The way to this thread: at each step the ordinal among the children of the thread before.
    pub steps: [u32; STEPS],
    /// Up to the first zero.
    pub name: [u8; 64],
    pub rest: [u8; 64],
}

const _: () = assert!(core::mem::size_of::<Head>() == HEAD);
