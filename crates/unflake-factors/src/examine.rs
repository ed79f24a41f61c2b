//! Whether programs can be reached, as far as their files tell.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::ended::{Missed, Why};
use crate::program::{self, HEAD, Program, look};

impl Why {
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

/// Whether a program that we start ourselves cannot be reached, as far as its file tells.
pub(crate) fn examine(name: &str) -> Option<Missed> {
    let path = find(name)?;
    let mut head = beginning(&path)?;
    let mut program = path;
    if let Program::Script(interpreter) = look(&head) {
        program = PathBuf::from(OsStr::from_bytes(interpreter));
        head = beginning(&program)?;
    }
    let why = match look(&head) {
        Program::Missed(letter) => Why::from_letter(letter)?,
        _ if is_privileged(&program) => Why::Privileged,
        _ => return None,
    };
    Some(Missed { program: program.display().to_string(), why })
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
