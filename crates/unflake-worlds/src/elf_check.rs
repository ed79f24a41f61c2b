//! Whether the shim can reach a program, judged by its file.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::outcome::{UnreachedProgram, UnreachedReason};
use crate::program::{self, HEAD, Reach, look};

impl UnreachedReason {
    pub(crate) fn from_letter(letter: u8) -> Option<Self> {
        Some(match letter {
            program::STATIC => Self::Static,
            program::OTHER_LIBRARY => Self::OtherLibrary,
            program::OTHER_MACHINE => Self::OtherMachine,
            program::PRIVILEGED => Self::Privileged,
            program::CLEARED => Self::Cleared,
            program::OWN_CALLS => Self::OwnCalls,
            _ => return None,
        })
    }
}

/// Why the shim cannot reach a program that unflake starts.
pub(crate) fn examine(name: &str) -> Option<UnreachedProgram> {
    let path = find(name)?;
    let mut head = beginning(&path)?;
    let mut program = path;
    if let Reach::Script(interpreter) = look(&head) {
        program = PathBuf::from(OsStr::from_bytes(interpreter));
        head = beginning(&program)?;
    }
    let why = match look(&head) {
        Reach::Missed(letter) => UnreachedReason::from_letter(letter)?,
        _ if is_privileged(&program) => UnreachedReason::Privileged,
        _ => return None,
    };
    Some(UnreachedProgram { program: program.display().to_string(), why })
}

fn find(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name));
    }
    let places = std::env::var_os("PATH")?;
    std::env::split_paths(&places).map(|place| place.join(name)).find(|path| path.is_file())
}

fn beginning(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path).ok()?.take(HEAD as u64).read_to_end(&mut head).ok()?;
    Some(head)
}

fn is_privileged(path: &Path) -> bool {
    let user = nix::unistd::getuid().as_raw();
    path.metadata().is_ok_and(|data| data.mode() & 0o4000 != 0 && data.uid() != user)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF file of this machine with one entry of this kind, and a loader of this name.
    fn elf(kind: u8, loader: &[u8]) -> Vec<u8> {
        let mut file = beginning(Path::new("/proc/self/exe")).unwrap();
        file.truncate(64);
        file[32..40].copy_from_slice(&64u64.to_le_bytes());
        file[54..58].copy_from_slice(&[56, 0, 1, 0]);
        let mut entry = [0; 56];
        entry[0] = kind;
        entry[8] = 120; // where the name is
        entry[32] = loader.len() as u8;
        [file, entry.to_vec(), loader.to_vec()].concat()
    }

    #[test]
    fn programs_are_known_by_how_they_begin() {
        assert_eq!(look(&elf(3, b"/lib64/ld-linux-x86-64.so.2")), Reach::Reached);
        assert_eq!(look(&elf(3, b"/lib/ld-musl-x86_64.so.1")), Reach::Missed(program::OTHER_LIBRARY));
        assert_eq!(look(&elf(1, b"")), Reach::Missed(program::STATIC));
        let mut small = elf(3, b"");
        small[4] = 1;
        assert_eq!(look(&small), Reach::Missed(program::OTHER_MACHINE));
        assert_eq!(look(b"#! /usr/bin/env python3\n"), Reach::Script(b"/usr/bin/env"));
        assert_eq!(look(b"#!\n"), Reach::Unknown);
        assert_eq!(look(b"echo hello"), Reach::Unknown);
        for length in 0..123 {
            assert_ne!(look(&elf(3, b"ld.so")[..length]), Reach::Reached, "what is cut off tells nothing");
        }
    }

    #[test]
    fn this_program_and_the_shell_can_be_reached() {
        assert_eq!(examine("/proc/self/exe"), None);
        assert_eq!(examine("sh"), None);
        assert_eq!(examine("there-is-no-such-program"), None);
    }
}
