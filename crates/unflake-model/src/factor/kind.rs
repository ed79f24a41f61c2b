//! The registry of factors: the binary declares all of them when it starts.
//!
//! A name that is not declared (an old history, another version) is kept as it is and does nothing.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard};

use crate::{Factor, FactorDeclaration};

/// A factor without a setting. Equal by name.
#[derive(Clone, Copy)]
pub struct FactorKind(&'static FactorDeclaration);

static DECLARED: Mutex<Vec<FactorKind>> = Mutex::new(Vec::new());

fn declared() -> MutexGuard<'static, Vec<FactorKind>> {
    DECLARED.lock().expect("nothing panics while it is locked")
}

/// Declares factors for this process. The first declaration of a name stays.
pub fn declare_factors(factors: impl IntoIterator<Item = &'static FactorDeclaration>) {
    let mut all = declared();
    for factor in factors {
        if all.iter().all(|known| known.name != factor.name) {
            all.push(FactorKind(factor));
        }
    }
}

impl FactorKind {
    /// All factors, in the order of their declaration.
    pub fn all() -> Vec<Self> {
        declared().clone()
    }

    pub fn named(name: &str) -> Option<Self> {
        declared().iter().copied().find(|kind| kind.name == name)
    }

    /// The factor of this name, declared here as one without effect if there is none.
    pub(crate) fn named_or_unknown(name: String) -> Self {
        if let Some(kind) = Self::named(&name) {
            return kind;
        }
        let name: &'static str = name.leak();
        let unknown = FactorDeclaration { name, title: name, plural: name, ..FactorDeclaration::EMPTY };
        let declaration: &'static FactorDeclaration = Box::leak(Box::new(unknown));
        declare_factors([declaration]);
        Self(declaration)
    }

    /// The factor with this setting.
    pub fn set(self, setting: &str) -> Result<Factor, BadFactor> {
        let setting = (self.parse)(setting).ok_or_else(|| BadFactor { kind: Some(self), text: setting.to_owned() })?;
        Ok(Factor { kind: self, setting })
    }
}

impl Deref for FactorKind {
    type Target = FactorDeclaration;

    fn deref(&self) -> &FactorDeclaration {
        self.0
    }
}

impl PartialEq for FactorKind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for FactorKind {}

impl PartialOrd for FactorKind {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for FactorKind {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(other.name)
    }
}

impl Hash for FactorKind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for FactorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for FactorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The text is not a factor, or not a setting of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadFactor {
    pub(crate) kind: Option<FactorKind>,
    pub(crate) text: String,
}

impl fmt::Display for BadFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.text;
        match self.kind {
            Some(kind) => write!(f, "`{text}` is not a setting of {kind}; use {}", kind.syntax),
            None => write!(f, "`{text}` is not a factor; write one like `date=2027-01-30`"),
        }
    }
}

impl std::error::Error for BadFactor {}
