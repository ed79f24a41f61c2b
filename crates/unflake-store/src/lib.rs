//! Stores every attempt of every run, in one embedded database per project or on a PostgreSQL
//! server for a team.
//!
//! Guarantees:
//! 1. When [`Store::record`] returns, its events are in the database. A `kill -9` of the
//!    process loses nothing; a power failure may lose the newest part and never damages the rest.
//! 2. One call stores all of its events, or none.
//! 3. No attempt is ever changed or deleted, except by [`Store::prune`]. A report of another program is imported once, however
//!    often it is given.
//! 4. Several processes may record into the same history at once. Writers wait for each other,
//!    readers never wait, except on a server for the end of [`Store::prune`].
//! 5. Data that this version does not understand is not changed.
//! 6. A password is never printed.
//!
//! Deliberately absent: conclusions, a clock (callers pass times) and rendering. Findings are
//! stored as they were reported.

mod access;
mod assertion_samples;
mod connect;
mod copy;
mod database;
mod enum_columns;
mod error;
mod executions;
mod export;
mod failures;
mod filesystem;
mod findings;
mod import;
mod location;
mod packed;
mod postgres;
mod prune;
mod read;
mod renames;
mod report;
mod run;
mod schema;
mod shards;
mod test_names;
mod write;

use std::cell::RefCell;
use std::time::Duration;

use database::Database;
use postgres::{Client, ServerAddress};

pub use access::{AuditEntry, NewToken, Role, StoredToken};
pub use connect::{create_hidden_dir, unhide_quarantine};
pub use copy::CopyCounts;
pub use error::{LocationText, StoreError};
pub use executions::{Execution, PastExecution, Source, SourceId, StoredTest, TestKey};
pub use export::ExportedExecution;
pub use failures::{ChangeCounter, FailureRef, TextKey};
pub use findings::{ReadyReport, StoredFinding};
pub use location::StoreLocation;
pub use prune::{PruneCounts, Retention};
pub use read::{LearnedDependencies, LiveAttempt, StoredAttempt};
pub use renames::TestRename;
pub use report::{Report, ReportFacts, ReportId, ReportedExecution};
pub use run::{Host, Revision, Run, RunFacts, RunId};
pub use shards::{ShardPlan, ShardRun};
pub use test_names::test_names_in;

/// The file name of the database within the directory of the store.
pub const FILE: &str = "history.db";
/// The quarantine list, in the same directory. It does not belong to the store and is visible to
/// git.
pub const QUARANTINE: &str = "quarantine.toml";

/// The history of one project. Can be sent to another thread; only one thread uses it at a time.
#[derive(Debug)]
pub struct Store {
    database: Database,
    location: StoreLocation,
    ids: write::RowIds,
}

impl Store {
    /// Opens the history at a location, and creates it if it does not exist. A new or empty
    /// directory gets a `.gitignore` that hides it.
    pub fn open(location: impl Into<StoreLocation>) -> Result<Self, StoreError> {
        let location = location.into();
        let database = match &location.server {
            Some(address) => {
                let (client, found) = reach(&location, address)?;
                on_server(&location, client, found)?
            }
            None => in_file(&location)?,
        };
        Ok(Self { database, location, ids: write::RowIds::default() })
    }

    /// Opens the history at a location if there is one.
    pub fn find(location: impl Into<StoreLocation>) -> Result<Option<Self>, StoreError> {
        let location = location.into();
        let database = match &location.server {
            Some(address) => match reach(&location, address)? {
                (_, 0) => return Ok(None),
                (client, found) => on_server(&location, client, found)?,
            },
            None if location.is_memory || !location.dir.join(FILE).is_file() => return Ok(None),
            None => in_file(&location)?,
        };
        Ok(Some(Self { database, location, ids: write::RowIds::default() }))
    }

    /// A history that ends with the process.
    pub fn in_memory() -> Result<Self, StoreError> {
        Self::open(StoreLocation::memory())
    }

    /// Leaves the write-ahead log beside the file when the history closes. Otherwise the command
    /// waits for the disk at its end and, to begin a new log, at the start of the next one. SQLite
    /// moves the log into the file whenever it has a thousand pages.
    pub fn leave_log(&self) {
        self.database.leave_log();
    }

    /// How long to wait for another writer before returning [`StoreError::Busy`]. Transactions take
    /// milliseconds; the default is 20 seconds.
    pub fn set_busy_timeout(&self, timeout: Duration) -> Result<(), StoreError> {
        self.database.set_busy_timeout(timeout).map_err(|error| self.failed(error))
    }

    /// The location of the history as text: the path of its file, or its address without the
    /// password.
    pub fn location_text(&self) -> String {
        self.location.text()
    }

    fn failed(&self, error: database::DatabaseError) -> StoreError {
        StoreError::of(&self.location, error)
    }
}

fn in_file(location: &StoreLocation) -> Result<Database, StoreError> {
    if location.is_memory {
        return connect::open(location, StoreLocation::MEMORY.as_ref(), false).map(Database::Sqlite);
    }
    let path = connect::prepare(&location.dir)?;
    connect::open(location, &path, filesystem::is_shared(&location.dir)).map(Database::Sqlite)
}

/// A connection, and the version of the tables; 0 means that there are none.
fn reach(location: &StoreLocation, address: &ServerAddress) -> Result<(Client, i32), StoreError> {
    let reached = Client::connect(address).and_then(|mut client| {
        let found = client.version()?;
        Ok((client, found))
    });
    reached.map_err(|error| StoreError::of(location, error))
}

fn on_server(location: &StoreLocation, mut client: Client, found: i32) -> Result<Database, StoreError> {
    if found > schema::CURRENT_VERSION {
        return Err(StoreError::Newer { at: location.into(), found, known: schema::CURRENT_VERSION });
    }
    if found < schema::CURRENT_VERSION {
        client.migrate().map_err(|error| match StoreError::of(location, error) {
            StoreError::Unwritable { at, source } if found > 0 => {
                StoreError::Older { at, found, known: schema::CURRENT_VERSION, source }
            }
            other => other,
        })?;
    }
    Ok(Database::Postgres(Box::new(RefCell::new(client))))
}
