//! The header of a thread's trace file, byte for byte. The runtime writes it and `unflake-observe`
//! reads it: both compile this file.

/// The first eight bytes of a thread's file.
pub const MAGIC: [u8; 8] = *b"unfltrc\n";
/// Incremented when the meaning of a file changes. A reader rejects unknown versions.
pub const VERSION: u32 = 1;
/// Offset of the stream of place ids.
pub const HEAD: usize = 256;
/// How many levels of a thread's ancestry are recorded.
pub const STEPS: usize = 16;
/// `depth` of a thread whose creation was not observed.
pub const UNKNOWN: u32 = u32::MAX;

/// Why a file is truncated.
pub const WHOLE: u32 = 0;
pub const THREAD_LIMIT: u32 = 1;
pub const ATTEMPT_LIMIT: u32 = 2;
pub const NO_ROOM: u32 = 3;
/// Another party consumed the events: a debugger, or the test itself.
pub const TAKEN: u32 = 4;

/// All numbers are little-endian: the runtime supports little-endian machines only.
#[repr(C)]
pub struct Head {
    pub magic: [u8; 8],
    pub version: u32,
    /// Offset of the first place id: `HEAD`.
    pub stream: u32,
    /// Number of the thread in its process, from 1; it differs between runs.
    pub number: u32,
    /// Number of the creating thread; 0 if unknown.
    pub parent: u32,
    /// Number of levels from the first thread down to this one, or `UNKNOWN`.
    pub depth: u32,
    /// The kernel's thread id.
    pub system: u32,
    /// Monotonic clock, nanoseconds.
    pub started: u64,
    /// Number of events after the truncation, which are counted and not recorded.
    pub dropped: u64,
    /// 1 if the thread ended normally.
    pub ended: u32,
    /// `WHOLE` or the reason.
    pub truncated: u32,
    /// The errno behind `NO_ROOM`.
    pub errno: u32,
    pub reserved: u32,
    /// The ancestry of this thread: at each level the ordinal among its siblings.
    pub steps: [u32; STEPS],
    /// Up to the first zero.
    pub name: [u8; 64],
    pub rest: [u8; 64],
}

const _: () = assert!(core::mem::size_of::<Head>() == HEAD);
