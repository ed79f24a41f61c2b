//! The hash of this program: XXH3, for contents that are compared for equality, in memory, in the
//! history and in files.

use twox_hash::XxHash3_128;

/// Sixteen hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    format!("{:016x}", XxHash3_128::oneshot(bytes) as u64)
}
