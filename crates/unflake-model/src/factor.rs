//! Factors with their settings, as people type them and machines read them.

pub(crate) mod declaration;
pub(crate) mod kind;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::factor::declaration::FactorPhrase;
use crate::factor::kind::{BadFactor, FactorKind};

/// One setting of the environment of a test. Several together are a world.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "FactorJson", into = "FactorJson")]
pub struct Factor {
    pub(crate) kind: FactorKind,
    /// In canonical form.
    pub(crate) setting: String,
}

impl Factor {
    pub fn kind(&self) -> FactorKind {
        self.kind
    }

    /// The canonical setting, as it is typed.
    pub fn setting(&self) -> &str {
        &self.setting
    }

    /// The option of `unflake under` that sets it, not quoted for a shell.
    pub fn flag(&self) -> String {
        format!("--{self}")
    }

    /// A phrase that follows `fails`: `when the clock is slow`.
    pub fn when(&self) -> String {
        match self.kind.phrase {
            FactorPhrase::When(phrase) => phrase(&self.setting, false),
            FactorPhrase::Seeds => format!("with the {} {}", self.kind.title, self.setting),
        }
    }

    /// The setting as a number, where settings are ordered.
    pub fn number(&self) -> Option<f64> {
        (self.kind.scale?.number)(&self.setting)
    }

    /// The factor with another number. None: that is not a setting.
    pub fn with_number(&self, number: f64) -> Option<Self> {
        self.kind.set(&(self.kind.scale?.with_number)(&self.setting, number)?).ok()
    }
}

/// `date=2027-01-30`
impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.kind, self.setting)
    }
}

impl FromStr for Factor {
    type Err = BadFactor;

    fn from_str(text: &str) -> Result<Self, BadFactor> {
        let known = text.split_once('=').and_then(|(name, setting)| Some((FactorKind::named(name)?, setting)));
        let (kind, setting) = known.ok_or_else(|| BadFactor { kind: None, text: text.to_owned() })?;
        kind.set(setting)
    }
}

#[derive(Serialize, Deserialize)]
struct FactorJson {
    factor: String,
    setting: String,
}

impl From<Factor> for FactorJson {
    fn from(factor: Factor) -> Self {
        Self { factor: factor.kind.name.to_owned(), setting: factor.setting }
    }
}

/// What was stored is kept, even where this version has another canonical form or no such factor.
impl From<FactorJson> for Factor {
    fn from(json: FactorJson) -> Self {
        Self { kind: FactorKind::named_or_unknown(json.factor), setting: json.setting }
    }
}

#[cfg(test)]
mod tests;
