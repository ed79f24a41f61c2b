//! The location of a history: a directory, a PostgreSQL server, or memory.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::FILE;
use crate::postgres::{ServerAddress, is_address};

/// The location of a project's history, and the directory for related files (quarantine list, HTML
/// pages).
#[derive(Clone, Debug, PartialEq)]
pub struct StoreLocation {
    /// Contains the history too, unless it is elsewhere.
    pub dir: PathBuf,
    pub(crate) server: Option<ServerAddress>,
    /// It ends with the process.
    pub(crate) is_memory: bool,
}

impl StoreLocation {
    /// The location that is only in memory, as a setting.
    pub const MEMORY: &str = ":memory:";

    /// Parses a directory, `postgres://…` or `:memory:`; `dir` is the directory for related files
    /// where the history itself is in none. Environment variables fill in what the address omits. Errors do not repeat the text,
    /// which may contain a password.
    pub fn parse(text: &str, dir: &Path, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        if is_address(text) {
            Ok(Self { server: Some(ServerAddress::parse(text, variable)?), ..dir.into() })
        } else if text == Self::MEMORY {
            Ok(Self { is_memory: true, ..dir.into() })
        } else {
            Ok(PathBuf::from(text).into())
        }
    }

    pub fn is_server(&self) -> bool {
        self.server.is_some()
    }

    /// For people: the path of the file, or the address without its password.
    pub(crate) fn text(&self) -> String {
        match &self.server {
            Some(address) => address.to_string(),
            None if self.is_memory => Self::MEMORY.to_owned(),
            None => self.dir.join(FILE).display().to_string(),
        }
    }

    pub(crate) fn memory() -> Self {
        Self { is_memory: true, ..PathBuf::new().into() }
    }
}

/// As the user typed it, without the password.
impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.server {
            Some(address) => address.fmt(f),
            None if self.is_memory => Self::MEMORY.fmt(f),
            None => self.dir.display().fmt(f),
        }
    }
}

impl From<&Path> for StoreLocation {
    fn from(dir: &Path) -> Self {
        dir.to_owned().into()
    }
}

impl From<&PathBuf> for StoreLocation {
    fn from(dir: &PathBuf) -> Self {
        dir.as_path().into()
    }
}

impl From<PathBuf> for StoreLocation {
    fn from(dir: PathBuf) -> Self {
        Self { dir, server: None, is_memory: false }
    }
}

impl From<&StoreLocation> for StoreLocation {
    fn from(location: &StoreLocation) -> Self {
        location.clone()
    }
}
