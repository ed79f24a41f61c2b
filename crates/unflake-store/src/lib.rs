//! Facts: every attempt of every run, kept in one embedded database per project, or on a server for a team.
//!
//! What is guaranteed:
//! 1. What [`Store::record`] was given is in the database when it returns. A `kill -9` of the process loses nothing of
//!    it; a power failure may lose the newest part and never harms the rest.
//! 2. All events of one call are kept, or none of them.
//! 3. No attempt is ever changed or thrown away. A report of another program comes in once, however often it is given.
//! 4. Several processes may record into the same history at once. A writer waits for another one, a reader for nobody.
//! 5. What this version does not understand is left as it is.
//! 6. A password is never told.
//!
//! Deliberately absent: opinions of its own, a clock (times are handed in) and the drawing of anything. What was said of tests is kept as
//! said: nothing is concluded from it.

mod assertion_samples;
mod connect;
mod copy;
mod database;
mod enum_columns;
mod error;
mod executions;
mod failures;
mod filesystem;
mod findings;
mod import;
mod location;
mod packed;
mod postgres;
mod read;
mod renames;
mod report;
mod run;
mod schema;
mod write;

use std::cell::RefCell;
use std::time::Duration;

use database::Database;
use postgres::{Address, Client};

pub use connect::{let_git_see, make_hidden};
pub use copy::Copied;
pub use error::{At, StoreError};
pub use executions::{Execution, Kin, Past, Source, SourceId, TestKey};
pub use failures::{FailureRef, Pulse, TextKey};
pub use findings::{Ready, Said};
pub use location::StoreLocation;
pub use read::{Kept, Learned};
pub use renames::Renamed;
pub use report::{Imported, Report, ReportFacts, ReportId};
pub use run::{Host, Revision, Run, RunFacts, RunId};

/// The name of the database within the directory of the store.
pub const FILE: &str = "history.db";
/// What people set apart, in the same directory. Not the store's own, and not hidden from git.
pub const QUARANTINE: &str = "quarantine.toml";

/// The history of one project. Can be moved to another thread; is used by one at a time.
#[derive(Debug)]
pub struct Store {
    database: Database,
    place: StoreLocation,
    known: write::Known,
}

impl Store {
    /// Opens the history in a place and makes it where it is not there yet. A directory that it makes, or finds empty, gets
    /// a `.gitignore` that keeps git from seeing it.
    pub fn open(place: impl Into<StoreLocation>) -> Result<Self, StoreError> {
        let place = place.into();
        let database = match &place.server {
            Some(address) => {
                let (client, found) = reach(&place, address)?;
                on_server(&place, client, found)?
            }
            None => in_file(&place)?,
        };
        Ok(Self { database, place, known: write::Known::default() })
    }

    /// Opens the history in a place, if there is one.
    pub fn find(place: impl Into<StoreLocation>) -> Result<Option<Self>, StoreError> {
        let place = place.into();
        let database = match &place.server {
            Some(address) => match reach(&place, address)? {
                (_, 0) => return Ok(None),
                (client, found) => on_server(&place, client, found)?,
            },
            None if !place.dir.join(FILE).is_file() => return Ok(None),
            None => in_file(&place)?,
        };
        Ok(Some(Self { database, place, known: write::Known::default() }))
    }

    /// A history that ends with the process.
    pub fn in_memory() -> Result<Self, StoreError> {
        let place = StoreLocation::memory();
        let database = Database::Sqlite(connect::open(&place, &place.dir, false)?);
        Ok(Self { database, place, known: write::Known::default() })
    }

    /// How long to wait for another process that writes before saying [`StoreError::Busy`]. Its transactions take
    /// milliseconds; 20 seconds unless told otherwise.
    pub fn patience(&self, patience: Duration) -> Result<(), StoreError> {
        self.database.patience(patience).map_err(|error| self.failed(error))
    }

    /// Where the history is, in words: the path of its file, or its address without the password.
    pub fn whereabouts(&self) -> String {
        self.place.words()
    }

    fn failed(&self, error: database::Error) -> StoreError {
        StoreError::of(&self.place, error)
    }
}

fn in_file(place: &StoreLocation) -> Result<Database, StoreError> {
    let path = connect::prepare(&place.dir)?;
    connect::open(place, &path, filesystem::is_shared(&place.dir)).map(Database::Sqlite)
}

/// A connection, and the version of the tables. 0: there are none.
fn reach(place: &StoreLocation, address: &Address) -> Result<(Client, i32), StoreError> {
    let reached = Client::connect(address).and_then(|mut client| {
        let found = client.version()?;
        Ok((client, found))
    });
    reached.map_err(|error| StoreError::of(place, error))
}

fn on_server(place: &StoreLocation, mut client: Client, found: i32) -> Result<Database, StoreError> {
    if found > schema::KNOWN {
        return Err(StoreError::Newer { at: place.into(), found, known: schema::KNOWN });
    }
    if found < schema::KNOWN {
        client.migrate().map_err(|error| match StoreError::of(place, error) {
            StoreError::Unwritable { at, source } if found > 0 => {
                StoreError::Older { at, found, known: schema::KNOWN, source }
            }
            other => other,
        })?;
    }
    Ok(Database::Postgres(Box::new(RefCell::new(client))))
}
