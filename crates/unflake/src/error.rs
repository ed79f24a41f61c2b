//! The error that ends a command: what failed, what to do about it, and the exit code.

use std::io;
use std::path::Path;

use unflake_engine::StartError;
use unflake_store::StoreError;
use unflake_techniques::BadPattern;

use crate::config::settings::SettingError;
use crate::exit::Exit;

#[derive(Debug, thiserror::Error)]
#[error("unflake: {message}{}", hint.as_ref().map(|hint| format!("\n  → {hint}")).unwrap_or_default())]
pub(crate) struct CommandError {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    /// What the user can do next.
    pub(crate) hint: Option<String>,
}

impl CommandError {
    fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hint: None }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(crate) fn runner(message: impl Into<String>) -> Self {
        Self::new(Exit::Runner, message)
    }

    /// For `map_err`: `doing` completes the sentence "could not …".
    pub(crate) fn internal(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::new(Exit::Internal, format!("could not {doing}: {error}"))
    }

    /// For `map_err`: a file that the user named.
    pub(crate) fn cannot_write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::usage(format!("{} cannot be written: {error}", path.display()))
    }

    pub(crate) fn unknown_test(name: &str) -> Self {
        Self::usage(format!("no test has `{name}` in its name")).hint("a part of its name is enough")
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<SettingError> for CommandError {
    fn from(error: SettingError) -> Self {
        Self::usage(error.to_string()).hint("`unflake settings` prints what holds and where it comes from")
    }
}

impl From<BadPattern> for CommandError {
    fn from(error: BadPattern) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        Self::new(Exit::Internal, error.to_string())
    }
}

impl From<StartError> for CommandError {
    fn from(error: StartError) -> Self {
        Self::new(Exit::Internal, error.to_string())
    }
}
