//! The location of a history: a directory, or a PostgreSQL server.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::FILE;
use crate::postgres::{ServerAddress, is_address};

/// The location of a project's history, and the directory for related files (quarantine list, HTML
/// pages).
#[derive(Clone, Debug, PartialEq)]
pub struct StoreLocation {
    /// Contains the history too, unless it is on a server.
    pub dir: PathBuf,
    pub(crate) server: Option<ServerAddress>,
}

impl StoreLocation {
    /// Parses a directory or `postgres://…`; with a server, `dir` is the directory for related
    /// files. Environment variables fill in what the address omits. Errors do not repeat the text,
    /// which may contain a password.
    pub fn parse(text: &str, dir: &Path, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        if is_address(text) {
            Ok(Self { dir: dir.to_owned(), server: Some(ServerAddress::parse(text, variable)?) })
        } else {
            Ok(Self { dir: text.into(), server: None })
        }
    }

    pub fn is_server(&self) -> bool {
        self.server.is_some()
    }

    /// For people: the path of the file, or the address without its password.
    pub(crate) fn text(&self) -> String {
        match &self.server {
            Some(address) => address.to_string(),
            None if self.dir == Path::new(MEMORY) => MEMORY.to_owned(),
            None => self.dir.join(FILE).display().to_string(),
        }
    }

    pub(crate) fn memory() -> Self {
        Self { dir: MEMORY.into(), server: None }
    }
}

const MEMORY: &str = ":memory:";

/// As the user typed it, without the password.
impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.server {
            Some(address) => address.fmt(f),
            None => self.dir.display().fmt(f),
        }
    }
}

impl From<&Path> for StoreLocation {
    fn from(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), server: None }
    }
}

impl From<&PathBuf> for StoreLocation {
    fn from(dir: &PathBuf) -> Self {
        dir.as_path().into()
    }
}

impl From<PathBuf> for StoreLocation {
    fn from(dir: PathBuf) -> Self {
        Self { dir, server: None }
    }
}

impl From<&StoreLocation> for StoreLocation {
    fn from(location: &StoreLocation) -> Self {
        location.clone()
    }
}
