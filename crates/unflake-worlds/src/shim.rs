//! The preload shim as a file, and the page that it shares with unflake.
//!
//! Both are memory files, so nothing of them is left however unflake ends; or files in a directory that
//! is removed with the run, for processes of other user namespaces.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write};
use std::mem::offset_of;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

use nix::sys::memfd::{MFdFlags, memfd_create};
use tempfile::TempDir;

use crate::error::WorldError;
use crate::outcome::{ReachedPrograms, UnreachedProgram, UnreachedReason};
use crate::page::{Page, TEXT, VERSION};

const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libunflake_under.so"));

/// Whether this build can make processes draw from a seed.
pub fn can_seed() -> bool {
    !LIBRARY.is_empty()
}

pub(crate) struct Shim {
    library: String,
    page: File,
    page_path: String,
    /// Keeps what the paths lead to.
    _files: (File, Option<TempDir>),
}

impl Shim {
    /// `place`: a directory for files that every process can open. None: memory files.
    pub(crate) fn new(place: Option<&Path>) -> Result<Self, WorldError> {
        if LIBRARY.is_empty() {
            let why = "this can be set on Linux with glibc only, on x86-64 and arm64";
            return Err(WorldError { factor: None, why: why.to_owned() });
        }
        Self::make(place).map_err(WorldError::any("make a file for the shim"))
    }

    fn make(place: Option<&Path>) -> io::Result<Self> {
        let place = place.map(|place| tempfile::Builder::new().prefix("shim-").tempdir_in(place)).transpose()?;
        let file = |name: &CStr| match &place {
            Some(place) => {
                let path = place.path().join(name.to_string_lossy().as_ref());
                let file = File::options().read(true).write(true).create_new(true).open(&path)?;
                Ok((file, path.to_string_lossy().into_owned()))
            }
            None => memfd_create(name, MFdFlags::MFD_CLOEXEC).map_err(io::Error::from).map(|file: OwnedFd| {
                let file = File::from(file);
                let path = path(&file);
                (file, path)
            }),
        };
        let (mut library, library_path) = file(c"libunflake_under.so")?;
        library.write_all(LIBRARY)?;
        let (page, page_path) = file(c"unflake-page")?;
        page.set_len(size_of::<Page>() as u64)?;
        page.write_all_at(&VERSION.to_ne_bytes(), offset_of!(Page, version) as u64)?;
        Ok(Self { library: library_path, page, page_path, _files: (library, place) })
    }

    pub(crate) fn library(&self) -> String {
        self.library.clone()
    }

    pub(crate) fn page(&self) -> String {
        self.page_path.clone()
    }

    pub(crate) fn arm(&self, armed: bool) -> io::Result<()> {
        self.page.write_all_at(&u32::from(armed).to_ne_bytes(), offset_of!(Page, armed) as u64)
    }

    pub(crate) fn reached(&self) -> io::Result<ReachedPrograms> {
        let number = |at: usize| {
            let mut bytes = [0; 4];
            self.page.read_exact_at(&mut bytes, at as u64).map(|()| u32::from_ne_bytes(bytes))
        };
        let used = number(offset_of!(Page, used))? as usize;
        let mut text = vec![0; used.min(TEXT)];
        self.page.read_exact_at(&mut text, offset_of!(Page, text) as u64)?;
        let entries = text.split(|byte| *byte == 0).filter_map(<[u8]>::split_first);
        let missed = entries.filter_map(|(why, program)| {
            Some(UnreachedProgram {
                program: String::from_utf8_lossy(program).into_owned(),
                why: UnreachedReason::from_letter(*why)?,
            })
        });
        Ok(ReachedPrograms {
            processes: number(offset_of!(Page, processes))?,
            taking_turns: number(offset_of!(Page, taking_turns))?,
            missed: missed.collect(),
        })
    }
}

/// A path by which other processes of this user can open the file while this process lives.
fn path(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}
