//! Where a history is: in a directory, or on a server.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::FILE;
use crate::postgres::{Address, is_address};

/// Where the history of a project is, and the directory for what is kept beside it (what is set apart, pages).
#[derive(Clone, Debug, PartialEq)]
pub struct StoreLocation {
    /// Has the history too, unless a server has it.
    pub dir: PathBuf,
    pub(crate) server: Option<Address>,
}

impl StoreLocation {
    /// A directory, or `postgres://…`; then `dir` is what is beside it. What an address leaves out comes from variables. Says what is
    /// wrong without repeating the text: it may have a password in it.
    pub fn parse(text: &str, dir: &Path, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        if is_address(text) {
            Ok(Self { dir: dir.to_owned(), server: Some(Address::parse(text, variable)?) })
        } else {
            Ok(Self { dir: text.into(), server: None })
        }
    }

    pub fn is_server(&self) -> bool {
        self.server.is_some()
    }

    /// As words for people: the file, or the address without its password.
    pub(crate) fn words(&self) -> String {
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

/// As it was given, without the password.
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
    fn from(place: &StoreLocation) -> Self {
        place.clone()
    }
}
