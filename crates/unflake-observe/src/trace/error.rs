//! The error type of tracing.

use std::io;
use std::path::Path;

/// An error message. Callers only pass it on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Error {
        Error(message.into())
    }

    /// An I/O error at this path.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |error| Error(format!("{}: {error}", path.display()))
    }
}
