//! Classifies a program by the start of its file. unflake compiles this file, too.

/// Why a program does not load the shim, as the letter in the shared page.
pub const STATIC: u8 = b's';
pub const OTHER_LIBRARY: u8 = b'l';
pub const OTHER_MACHINE: u8 = b'm';
pub const PRIVILEGED: u8 = b'p';
pub const CLEARED: u8 = b'c';
pub const OWN_CALLS: u8 = b'o';

#[derive(Debug, PartialEq, Eq)]
pub enum Reach<'a> {
    /// Loads preloaded libraries.
    Reached,
    /// Does not load them.
    Missed(u8),
    /// A script that is run by this program.
    Script(&'a [u8]),
    Unknown,
}

/// How much of a file is read.
pub const HEAD: usize = 2048;

#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const MACHINE: u16 = 0;

pub fn look(head: &[u8]) -> Reach<'_> {
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let mut words = line.split(|byte| *byte == b' ' || *byte == b'\t').filter(|word| !word.is_empty());
        return words.next().map_or(Reach::Unknown, Reach::Script);
    }
    if !head.starts_with(b"\x7fELF") {
        return Reach::Unknown;
    }
    if head.get(4) != Some(&2) || number(head, 18, 2) != Some(u64::from(MACHINE)) {
        return Reach::Missed(OTHER_MACHINE);
    }
    let (Some(start), Some(size), Some(count)) = (number(head, 32, 8), number(head, 54, 2), number(head, 56, 2)) else {
        return Reach::Unknown;
    };
    for index in 0..count {
        let at = (start + index * size) as usize;
        let Some(kind) = number(head, at, 4) else { return Reach::Unknown };
        const INTERPRETER: u64 = 3; // PT_INTERP
        if kind == INTERPRETER {
            let (Some(from), Some(length)) = (number(head, at + 8, 8), number(head, at + 32, 8)) else {
                return Reach::Unknown;
            };
            let Some(loader) = head.get(from as usize..).and_then(|rest| rest.get(..length as usize)) else {
                return Reach::Unknown;
            };
            let musl = loader.windows(4).any(|word| word == b"musl");
            return if musl { Reach::Missed(OTHER_LIBRARY) } else { Reach::Reached };
        }
    }
    Reach::Missed(STATIC)
}

fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}
