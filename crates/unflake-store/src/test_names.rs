//! Reads test names for completion: quickly, and without creating or changing a file.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::{FILE, StoreError, StoreLocation};

/// Names of tests that begin with `typed`, or else those that contain it, at most `limit`. Empty
/// where there is no history; a server is not asked, because a key press must not wait for it.
pub fn test_names_in(location: &StoreLocation, typed: &str, limit: usize) -> Result<Vec<String>, StoreError> {
    let path = location.dir.join(FILE);
    if location.is_server() || !path.is_file() {
        return Ok(Vec::new());
    }
    read(&path, typed, limit).map_err(|error| StoreError::of(location, error.into()))
}

fn read(path: &Path, typed: &str, limit: usize) -> rusqlite::Result<Vec<String>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri(path), flags)?;
    let select = |condition: &str| -> rusqlite::Result<Vec<String>> {
        let sql = format!("SELECT name FROM test WHERE {condition} ORDER BY name LIMIT ?2");
        let mut statement = connection.prepare(&sql)?;
        statement.query_map((typed, limit as i64), |row| row.get(0))?.collect()
    };
    let beginning = select("substr(name, 1, length(?1)) = ?1")?;
    if beginning.is_empty() { select("instr(name, ?1) > 0") } else { Ok(beginning) }
}

/// The address of the database. A reader of a write-ahead log creates the files next to it where
/// they do not exist, unless the database is declared immutable.
fn uri(path: &Path) -> String {
    let escape = |letter: char| match letter {
        '%' | '?' | '#' => format!("%{:02x}", u32::from(letter)),
        other => other.to_string(),
    };
    let escaped: String = path.to_string_lossy().chars().map(escape).collect();
    let exists = |ending: &str| Path::new(&format!("{}{ending}", path.display())).exists();
    let mode = if exists("-wal") && exists("-shm") { "mode=ro" } else { "immutable=1" };
    format!("file:{escaped}?{mode}")
}
