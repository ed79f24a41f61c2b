//! Factors that runners declare: settings that mean something for one language only.
//!
//! A declaration is data: how a setting is parsed, what it does to a process, how a sentence about it
//! reads. The binary declares those of all runners when it starts. A name that nobody declared (an old
//! history, another version) is kept as it is and does nothing.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::path::Path;
use std::sync::Mutex;

/// The declaration of a factor.
pub struct FactorDeclaration {
    /// Its word on the command line and in JSON.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// What its settings look like.
    pub settings: &'static str,
    /// The canonical form of a setting. None: it is not a setting.
    pub parse: fn(&str) -> Option<String>,
    /// Where settings are numbers.
    pub scale: Option<FactorScale>,
    /// Whether it changes how long things take, so that it need not have its effect every time.
    pub works_in_time: bool,
    pub phrase: FactorPhrase,
    pub effect: FactorEffect,
    /// The setting at the controlled baseline of an experiment.
    pub baseline: Option<&'static str>,
    /// Settings that an experiment tries with the user's command, or why it tries none.
    pub plan: fn(&[String]) -> Result<Vec<String>, String>,
    /// Why it is not tried with runners of other languages.
    pub elsewhere: &'static str,
    /// What to report where no process was affected.
    pub unaffected: &'static str,
}

impl fmt::Debug for FactorDeclaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[derive(Clone, Copy)]
pub struct FactorScale {
    pub number: fn(&str) -> Option<f64>,
    /// The setting with this number.
    pub setting: fn(f64) -> String,
}

/// How a sentence says that a test fails under a setting.
#[derive(Clone, Copy)]
pub enum FactorPhrase {
    /// `with the hash seeds 1, 2 and 3`: settings that do the same are named together.
    Seeds,
    /// The setting, and whether it is a threshold.
    When(fn(&str, bool) -> String),
}

/// What a setting does to a process.
#[derive(Clone, Copy)]
pub enum FactorEffect {
    None,
    /// Sets environment variables.
    Variables(fn(&str) -> Vec<(&'static str, String)>),
    /// Configures the preloaded shim.
    Shim(fn(&str) -> String),
    /// Puts a program first in `PATH`, under its usual names, and sets variables.
    Program(fn(&Path) -> ProgramNames),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramNames {
    pub names: Vec<String>,
    pub variables: Vec<(String, String)>,
}

/// A factor that was declared. Equal by name.
#[derive(Clone, Copy)]
pub struct DeclaredFactor(&'static FactorDeclaration);

static DECLARED: Mutex<Vec<DeclaredFactor>> = Mutex::new(Vec::new());

/// Declares factors for this process. The first declaration of a name stays.
pub fn declare_factors(factors: impl IntoIterator<Item = &'static FactorDeclaration>) {
    let mut all = DECLARED.lock().expect("nothing panics while it is held");
    for factor in factors {
        if all.iter().all(|known| known.name != factor.name) {
            all.push(DeclaredFactor(factor));
        }
    }
}

pub(crate) fn all() -> Vec<DeclaredFactor> {
    DECLARED.lock().expect("nothing panics while it is held").clone()
}

impl DeclaredFactor {
    /// A factor with this name that does nothing.
    pub(crate) fn unknown(name: String) -> Self {
        let name: &'static str = name.leak();
        let declaration: &'static FactorDeclaration = Box::leak(Box::new(FactorDeclaration {
            name,
            title: name,
            settings: "a text",
            parse: |setting| Some(setting.to_owned()),
            scale: None,
            works_in_time: false,
            phrase: FactorPhrase::Seeds,
            effect: FactorEffect::None,
            baseline: None,
            plan: |_| Ok(Vec::new()),
            elsewhere: "",
            unaffected: "",
        }));
        declare_factors([declaration]);
        Self(declaration)
    }
}

impl Deref for DeclaredFactor {
    type Target = FactorDeclaration;

    fn deref(&self) -> &FactorDeclaration {
        self.0
    }
}

impl PartialEq for DeclaredFactor {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for DeclaredFactor {}

impl PartialOrd for DeclaredFactor {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for DeclaredFactor {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(other.name)
    }
}

impl Hash for DeclaredFactor {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for DeclaredFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
