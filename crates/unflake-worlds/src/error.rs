//! The error of a world that cannot be created.

use std::fmt;

use unflake_model::Factor;

/// Why a factor cannot be set on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldError {
    /// None: the error is not about one factor.
    pub factor: Option<Factor>,
    pub why: String,
}

#[cfg(target_os = "linux")]
impl WorldError {
    pub(crate) fn any(doing: &str) -> impl Fn(std::io::Error) -> Self {
        move |error| Self { factor: None, why: format!("cannot {doing}: {error}") }
    }
}

impl fmt::Display for WorldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.factor {
            Some(factor) => write!(f, "cannot set {factor}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

impl std::error::Error for WorldError {}
