//! The error type of tracing.

use std::fmt;
use std::io;
use std::path::Path;

/// An error message. Callers only pass it on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    pub(crate) fn new(words: impl Into<String>) -> Error {
        Error(words.into())
    }

    /// An I/O error at this path.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |error| Error(format!("{}: {error}", path.display()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
