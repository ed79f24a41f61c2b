//! What keeps unflake itself from doing what it was asked to.

use std::fmt;
use std::io;

use unflake_engine::StartError;
use unflake_store::StoreError;
use unflake_techniques::BadPattern;

use crate::config::settings::BadSetting;
use crate::exit::Exit;

#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) exit: Exit,
    what: String,
    /// What to do next.
    hint: Option<String>,
}

impl Trouble {
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, what: what.into(), hint: None }
    }

    pub(crate) fn internal(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self { exit: Exit::Internal, what: format!("could not {doing}: {error}"), hint: None }
    }

    pub(crate) fn runner(what: impl Into<String>) -> Self {
        Self { exit: Exit::Runner, what: what.into(), hint: None }
    }

    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    /// What happened, and what to do next.
    pub(crate) fn parts(&self) -> (&str, Option<&str>) {
        (&self.what, self.hint.as_deref())
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unflake: {}", self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  → {hint}"),
            None => Ok(()),
        }
    }
}

impl From<BadSetting> for Trouble {
    fn from(bad: BadSetting) -> Self {
        Self::usage(bad.to_string()).hint("`unflake settings` prints what holds and where it comes from")
    }
}

impl From<BadPattern> for Trouble {
    fn from(bad: BadPattern) -> Self {
        Self::usage(bad.to_string())
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self { exit: Exit::Internal, what: error.to_string(), hint: None }
    }
}

impl From<StartError> for Trouble {
    fn from(error: StartError) -> Self {
        Self { exit: Exit::Internal, what: error.to_string(), hint: None }
    }
}
