//! What changed, and what is known of the base: asked of git and of the history when somebody wants to know what failing
//! tests depend on, and not before.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use unflake_git::{GitError, Repository};
use unflake_model::{Changes, Comparison, TestId};

use crate::config::settings::Settings;
use crate::error::Trouble;
use crate::history_recorder::Memory;

const NONE: &str = "this is not a git repository";

/// What the files as they are now are compared with.
pub(crate) struct Compare {
    pub(crate) here: PathBuf,
    base: Option<String>,
}

impl Compare {
    /// None where there is no repository.
    pub(crate) fn new(settings: &Settings, here: &Path) -> Result<Option<Self>, Trouble> {
        let compare = Self { here: here.to_owned(), base: settings.base.value.clone() };
        if let Some(asked) = &compare.base {
            let wrong = |why: String| Trouble::usage(format!("--base: {why}"));
            compare.repository().map_err(wrong)?.base(Some(asked), &[]).map_err(|error| wrong(error.to_string()))?;
            return Ok(Some(compare));
        }
        // Without asking git: that takes longer than some suites.
        let there = env::var_os("GIT_DIR").is_some() || here.ancestors().any(|above| above.join(".git").exists());
        Ok(there.then_some(compare))
    }

    /// What changed against the base, for who cannot do without knowing.
    pub(crate) fn changes(settings: &Settings, here: &Path) -> Result<(Repository, Changes), Trouble> {
        let Some(compare) = Self::new(settings, here)? else {
            return Err(Trouble::usage("what changed cannot be told: this is not a git repository"));
        };
        let repository = compare.repository().map_err(Trouble::usage)?;
        let base = repository.base(compare.base.as_deref(), &[]);
        let base =
            base.map_err(|error| Trouble::usage(error.to_string()).hint("`--base REV` says what to compare with"))?;
        let changes = repository.changes(&base).map_err(|error| Trouble::usage(error.to_string()))?;
        Ok((repository, changes))
    }

    pub(crate) fn repository(&self) -> Result<Repository, String> {
        Repository::find(&self.here).map_err(|error| error.to_string())?.ok_or_else(|| NONE.to_owned())
    }

    /// What changed, and which of these tests are known to have passed before.
    pub(crate) fn compare(&self, tests: &[TestId], memory: &Memory) -> Result<Comparison, String> {
        let repository = self.repository()?;
        let in_words = |error: GitError| error.to_string();
        let known_good = if self.base.is_none() { memory.commits_passed(tests) } else { Vec::new() };
        let base = repository.base(self.base.as_deref(), &known_good).map_err(in_words)?;
        let changes = repository.changes(&base).map_err(in_words)?;
        let tree = repository.tree(&base.revision).map_err(in_words)?;
        let passed: BTreeMap<TestId, Vec<TestId>> =
            tests.iter().filter_map(|test| Some((test.clone(), memory.passed_at(&tree, test)?))).collect();
        Ok(Comparison { changes, passed })
    }
}
