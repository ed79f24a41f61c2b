use std::fmt;

use unflake_model::Factor;

/// A factor that cannot be brought about here, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldError {
    /// None: it is not about one of them.
    pub factor: Option<Factor>,
    pub why: String,
}

#[cfg(target_os = "linux")]
impl WorldError {
    pub(crate) fn set(factor: &Factor, why: impl Into<String>) -> Self {
        Self { factor: Some(factor.clone()), why: why.into() }
    }

    pub(crate) fn any(doing: &str) -> impl Fn(std::io::Error) -> Self {
        move |error| Self { factor: None, why: format!("could not {doing}: {error}") }
    }
}

impl fmt::Display for WorldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.factor {
            Some(factor) => write!(f, "cannot set {} to {}: {}", factor.kind(), factor.setting(), self.why),
            None => f.write_str(&self.why),
        }
    }
}

impl std::error::Error for WorldError {}
