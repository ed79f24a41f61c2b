//! Facts: every attempt of every run, kept in one embedded database per project.
//!
//! What is guaranteed:
//! 1. What [`Store::record`] was given is in the database when it returns. A `kill -9` of the process loses nothing of
//!    it; a power failure may lose the newest part and never harms the rest.
//! 2. All observations of one call are kept, or none of them.
//! 3. No attempt is ever changed or thrown away. A report of another program comes in once, however often it is given.
//! 4. Several processes may record into the same history at once. A writer waits for another one, a reader for nobody.
//! 5. A file that this version does not understand is left as it is.
//!
//! Deliberately absent: verdicts and any other opinion, a clock (times are handed in) and the drawing of anything.

mod columns;
mod connect;
mod error;
mod executions;
mod failed;
mod filesystem;
mod import;
mod read;
mod report;
mod run;
mod said;
mod samples;
mod schema;
mod word;
mod write;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

pub use connect::let_git_see;
pub use error::StoreError;
pub use executions::{Execution, Kin, Past, Source, SourceId, TestKey};
pub use failed::{FailureRef, Pulse, TextKey};
pub use read::{Kept, Learned};
pub use report::{Imported, Report, ReportFacts, ReportId};
pub use run::{Host, Revision, Run, RunFacts, RunId};
pub use said::{Ready, Said};

/// The name of the database within the directory of the store.
pub const FILE: &str = "history.db";
/// What people set apart, in the same directory. Not the store's own, and not hidden from git.
pub const QUARANTINE: &str = "quarantine.toml";

/// The history of one project. Can be moved to another thread; is used by one at a time.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    known: write::Known,
}

impl Store {
    /// Opens `<dir>/history.db` and makes it where it is not there yet. A directory that it makes, or finds empty, gets
    /// a `.gitignore` that keeps git from seeing it.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let path = connect::prepare(dir)?;
        let connection = connect::open(&path, filesystem::is_shared(dir))?;
        Ok(Self { connection, path, known: write::Known::default() })
    }

    /// A history that ends with the process.
    pub fn in_memory() -> Result<Self, StoreError> {
        let path = PathBuf::from(":memory:");
        let connection = connect::open(&path, false)?;
        Ok(Self { connection, path, known: write::Known::default() })
    }

    /// How long to wait for another process that writes before saying [`StoreError::Busy`]. Its transactions take
    /// milliseconds; 20 seconds unless told otherwise.
    pub fn patience(&self, patience: Duration) -> Result<(), StoreError> {
        self.connection.busy_timeout(patience).map_err(|error| StoreError::of_database(&self.path, error))
    }

    /// Where the history is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
