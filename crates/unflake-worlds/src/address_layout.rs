//! Gives processes an address layout that does not change from run to run.

#![allow(unsafe_code)] // A system call.

use std::io;

/// Whether this process may fix the layout of others. The error is for the user: containers often
/// forbid it.
pub(crate) fn can_fix_addresses() -> Result<(), String> {
    probed().map_err(|error| format!("the system does not let the address layout be fixed: {error}"))
}

#[cfg(target_os = "linux")]
fn probed() -> io::Result<()> {
    use std::sync::OnceLock;
    static KNOWN: OnceLock<Option<i32>> = OnceLock::new();
    let probe = || crate::limits::in_child(fix_addresses).err().map(|error| error.raw_os_error().unwrap_or(1));
    KNOWN.get_or_init(probe).map_or(Ok(()), |error| Err(io::Error::from_raw_os_error(error)))
}

#[cfg(not(target_os = "linux"))]
fn probed() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The programs that this process executes from now on have a fixed layout, and so have theirs.
#[cfg(target_os = "linux")]
pub(crate) fn fix_addresses() -> io::Result<()> {
    use nix::libc::{ADDR_NO_RANDOMIZE, personality};
    const QUERY: nix::libc::c_ulong = 0xffff_ffff;
    // SAFETY: passes numbers only.
    let current = unsafe { personality(QUERY) };
    let wanted = (current | ADDR_NO_RANDOMIZE) as nix::libc::c_ulong;
    // SAFETY: as above.
    if current == -1 || unsafe { personality(wanted) } == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Texts of one length give one layout: variables are on the stack, and copied to the heap. Returns
/// how many letters complete the variables, which have this length already.
#[cfg(target_os = "linux")]
pub(crate) fn padding(seed: u64, length: usize) -> usize {
    /// More than the variables of the shim ever have.
    const COMPLETE: usize = 1024;
    /// The alignment of the stack, and its positions.
    const STEP: usize = 16;
    const POSITIONS: u64 = 64;
    let position = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7) % POSITIONS;
    COMPLETE.saturating_sub(length) + position as usize * STEP
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn padding_makes_lengths_equal_and_follows_the_seed() {
        assert_eq!(padding(3, 100) + 100, padding(3, 107) + 107);
        assert!((1..20).any(|seed| padding(seed, 100) != padding(0, 100)));
    }
}
