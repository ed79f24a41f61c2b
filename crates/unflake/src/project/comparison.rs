//! The user's change: what git says changed against the base, and which tests the history knows to
//! pass there.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use unflake_git::{GitError, Repository};
use unflake_model::{Base, Changes, Comparison, TestId};

use crate::config::settings::Settings;
use crate::error::CommandError;
use crate::history::recorder::HistoryRecorder;

/// Where unflake keeps its history, beside the project.
const OWN_DIRECTORY: &str = ".unflake";
const NONE: &str = "this is not a git repository";

/// The revision with which the working tree is compared.
pub(crate) struct ComparisonBase {
    pub(crate) here: PathBuf,
    /// The revision that the user named.
    named: Option<String>,
}

impl ComparisonBase {
    /// None where there is no repository. Fails where the user named a revision that does not
    /// exist.
    pub(crate) fn new(settings: &Settings, here: &Path) -> Result<Option<Self>, CommandError> {
        let base = Self { here: here.to_owned(), named: settings.base.value.clone() };
        if let Some(named) = &base.named {
            let wrong =
                |why: String| CommandError::usage(format!("--base: {why}")).hint("name a commit, branch or tag");
            base.repository().map_err(wrong)?.base(Some(named), &[]).map_err(|error| wrong(error.to_string()))?;
            return Ok(Some(base));
        }
        // Git is not asked: that takes longer than some suites.
        let there = env::var_os("GIT_DIR").is_some() || here.ancestors().any(|above| above.join(".git").exists());
        Ok(there.then_some(base))
    }

    /// The changes against the base, for a command that needs them.
    pub(crate) fn changes(settings: &Settings, here: &Path) -> Result<(Repository, Changes), CommandError> {
        let Some(this) = Self::new(settings, here)? else {
            return Err(CommandError::usage("the changes are unknown: this is not a git repository")
                .hint("run it inside a git repository that has a commit"));
        };
        let repository = this.repository().map_err(CommandError::usage)?;
        let base = repository.base(this.named.as_deref(), &[]);
        let base = base
            .map_err(|error| CommandError::usage(error.to_string()).hint("`--base REV` says what to compare with"))?;
        let changes = changes(&repository, &base).map_err(CommandError::usage)?;
        Ok((repository, changes))
    }

    pub(crate) fn repository(&self) -> Result<Repository, String> {
        Repository::find(&self.here).map_err(|error| error.to_string())?.ok_or_else(|| NONE.to_owned())
    }

    /// The changes, and which of these tests are known to pass at the base.
    pub(crate) fn compare(&self, tests: &[TestId], history: &HistoryRecorder) -> Result<Comparison, String> {
        let repository = self.repository()?;
        let text = |error: GitError| error.to_string();
        let known_good = if self.named.is_none() { history.commits_passed(tests) } else { Vec::new() };
        let base = repository.base(self.named.as_deref(), &known_good).map_err(text)?;
        let changes = changes(&repository, &base)?;
        let tree = repository.tree(&base.revision).map_err(text)?;
        let passed: BTreeMap<TestId, Vec<TestId>> =
            tests.iter().filter_map(|test| Some((test.clone(), history.passed_at(&tree, test)?))).collect();
        Ok(Comparison { changes, passed })
    }
}

/// The changes of the working tree against a base.
pub(crate) fn changes(repository: &Repository, base: &Base) -> Result<Changes, String> {
    let descriptions: Vec<_> = unflake_runners::descriptions().collect();
    let installation: Vec<_> = unflake_runners::installation_keys().collect();
    let mut changes = repository
        .changes(base, &unflake_runners::global_inputs(), &descriptions, &installation)
        .map_err(|error| error.to_string())?;
    let mut for_installation = unflake_git::matching(&changes.files, unflake_runners::installation());
    // What other tools build from matters only by what is installed then.
    let of_others = unflake_git::matching(&changes.files, unflake_runners::inputs_of_others());
    let own = unflake_git::matching(&changes.files, unflake_runners::inputs_where_installed());
    for_installation.extend(of_others.into_iter().filter(|path| !own.contains(path)));
    changes.for_installation.extend(for_installation);
    let caches = unflake_runners::project_files().flat_map(|files| files.caches).copied();
    let caches = caches.chain([OWN_DIRECTORY]).map(str::to_owned).collect();
    let mut for_directory = unflake_git::matching(&changes.files, unflake_runners::directory_inputs());
    for_directory.retain(|path| !changes.descriptive.contains(path));
    let for_all: Vec<String> = changes.for_all.iter().filter(|path| !for_directory.contains(path)).cloned().collect();
    let mut by_function = Vec::new();
    for (globs, exceptions) in unflake_runners::code_inputs() {
        let counts = |name: &String| exceptions.iter().any(|start| name.starts_with(start));
        let code = unflake_git::matching(&changes.files, globs.iter().copied());
        by_function.extend(changes.files.iter().filter(|file| code.contains(&file.path)).filter_map(|file| {
            let functions = file.functions.as_ref()?;
            let mut names = functions.before.iter().chain(&functions.after).chain(&functions.names);
            (!names.any(counts)).then(|| file.path.clone())
        }));
    }
    Ok(Changes { caches, for_all, for_directory, by_function, ..changes })
}
