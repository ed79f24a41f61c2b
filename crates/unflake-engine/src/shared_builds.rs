//! What build tools returned and which tests were listed, for several engines of one command.
//!
//! Each engine has its own drivers. Where a build tool takes seconds to say that nothing has changed,
//! later engines reuse what the first one was told.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::runner_process::run_dir::{BUILDS, RunDir};

/// A directory that is removed with the last clone.
#[derive(Clone, Debug)]
pub struct SharedBuilds {
    directory: Arc<RunDir>,
    are_made: Arc<AtomicBool>,
}

impl SharedBuilds {
    pub fn new() -> io::Result<Self> {
        let directory = RunDir::new()?;
        File::create(directory.path().join(BUILDS))?;
        Ok(Self { directory: Arc::new(directory), are_made: Arc::default() })
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Whether an engine has listed its tests.
    pub(crate) fn are_made(&self) -> bool {
        self.are_made.load(Relaxed)
    }

    pub(crate) fn set_made(&self) {
        self.are_made.store(true, Relaxed);
    }
}
