//! Which tests a change can affect, by what is known of their dependencies.

use std::collections::HashMap;
use std::path::Path;

use unflake_git::Repository;
use unflake_model::{Base, BaseChoice, ChangeKind, Changes, FileChange, Granularity, Test, TestId};
use unflake_store::{LearnedDependencies, Revision};
use unflake_techniques::can_affect;

use crate::project::comparison;

/// The known dependencies of tests, compared with a change.
pub(crate) struct AffectedTests<'a> {
    repository: &'a Repository,
    /// The user's change: against the base.
    pub(crate) changes: &'a Changes,
    granularity: Granularity,
    pub(crate) known: HashMap<TestId, LearnedDependencies>,
    /// A hash of what is installed now, where the runner has said so.
    installed: Option<String>,
    /// `changes` for tests that ran with what is installed now.
    settled: Changes,
    /// Changes since dependencies were recorded, by the revision at which they were.
    since: HashMap<(Option<String>, Vec<String>), Result<Changes, String>>,
}

impl<'a> AffectedTests<'a> {
    pub(crate) fn new(
        repository: &'a Repository,
        changes: &'a Changes,
        granularity: Granularity,
        known: Vec<LearnedDependencies>,
    ) -> Self {
        let known = known.into_iter().map(|one| (one.test.clone(), one)).collect();
        let settled = changes.with_equal_installation();
        Self { repository, changes, granularity, known, installed: None, settled, since: HashMap::new() }
    }

    /// With what is installed now, by the same process that has listed the tests.
    pub(crate) fn installed(self, installed: Option<String>) -> Self {
        Self { installed, ..self }
    }

    /// Why a test can be affected by the change, or by what changed since its dependencies were
    /// recorded. None: it cannot.
    pub(crate) fn why(&mut self, test: &TestId) -> Option<String> {
        let Some(learned) = self.known.get(test) else { return Some("its dependencies are unknown".to_owned()) };
        // What only says what is to be installed has not changed anything yet.
        let is_equal = self.installed.is_some() && self.installed == learned.on.installed;
        let changes = if is_equal { &self.settled } else { self.changes };
        if let Some(why) = can_affect(changes, &learned.on, self.granularity) {
            return Some(why);
        }
        let Revision { commit, changed, dirty, .. } = &learned.revision;
        if commit.as_ref() == Some(&self.changes.base.revision) && *dirty == Some(false) && changed.is_empty() {
            return None; // They were recorded at the base.
        }
        let key = (commit.clone(), changed.clone());
        let repository = self.repository;
        let since = self.since.entry(key).or_insert_with(|| changes_since(repository, &learned.revision));
        match since {
            Ok(since) if is_equal && !since.for_installation.is_empty() => {
                can_affect(&since.with_equal_installation(), &learned.on, self.granularity)
            }
            Ok(since) => can_affect(since, &learned.on, self.granularity),
            Err(why) => Some(format!("the changes since its dependencies were recorded are unknown: {why}")),
        }
    }
}

impl AffectedTests<'_> {
    /// Whether it matters what is installed now, which only the runner's process can say.
    pub(crate) fn depends_on_installation(&mut self, tests: &[Test]) -> bool {
        let revisions: Vec<&Revision> =
            tests.iter().filter_map(|test| Some(&self.known.get(&test.id)?.revision)).collect();
        let (repository, since) = (self.repository, &mut self.since);
        let mut asks = |revision: &Revision| {
            let key = (revision.commit.clone(), revision.changed.clone());
            let since = since.entry(key).or_insert_with(|| changes_since(repository, revision));
            since.as_ref().is_ok_and(|since| !since.for_installation.is_empty())
        };
        !self.changes.for_installation.is_empty() || revisions.into_iter().any(&mut asks)
    }

    /// Whether a listing that was made at this revision is the one that would be made now.
    ///
    /// What collecting a file of tests depends on is among the dependencies of each test in it. So
    /// nothing of that has changed if the file itself has not, and one of its tests cannot be affected.
    /// Files that come or go may contain tests.
    pub(crate) fn listing_holds(&self, revision: &Revision, root: Option<&Path>, tests: &[Test]) -> bool {
        let Ok(since) = changes_since(self.repository, revision) else { return false };
        let stays = |kind: &ChangeKind| matches!(kind, ChangeKind::Modified | ChangeKind::ModeOnly);
        // Where other names are bound, an import may fail.
        let binds_the_same = |change: &FileChange| {
            change.functions.as_ref().is_none_or(|changed| changed.names.is_empty() && changed.bodies.is_empty())
        };
        let is_harmless = |change: &FileChange| stays(&change.kind) && binds_the_same(change);
        if !since.unknown.is_empty() || !since.files.iter().all(is_harmless) {
            return false;
        }
        let mut files: HashMap<Option<&str>, bool> = HashMap::new();
        for test in tests {
            let is_unaffected = files.entry(test.file.as_deref()).or_default();
            *is_unaffected = *is_unaffected
                || since.files.is_empty()
                || self.known.get(&test.id).is_some_and(|one| can_affect(&since, &one.on, self.granularity).is_none());
        }
        let is_unchanged = |file: &str| {
            let path = root.unwrap_or(&since.root).join(file);
            let inside = path.strip_prefix(&since.root).ok().and_then(Path::to_str);
            inside.is_some_and(|path| since.touching(path).next().is_none())
        };
        files.iter().all(|(file, is_unaffected)| *is_unaffected && file.is_none_or(is_unchanged))
    }
}

fn changes_since(repository: &Repository, revision: &Revision) -> Result<Changes, String> {
    let commit = revision.commit.clone().ok_or("it was not in a commit")?;
    if revision.dirty.is_none() {
        return Err("the changed files of that run are unknown".to_owned());
    }
    let base = Base { revision: commit.clone(), chosen: BaseChoice::Asked(commit) };
    let mut changes = comparison::changes(repository, &base)?;
    // Uncommitted changes of that time may have been anything.
    for entry in &revision.changed {
        let (how, path) = entry.split_at_checked(3).unwrap_or(("", entry));
        let kind = match how.trim() {
            "M" | "MM" => ChangeKind::Modified,
            _ => ChangeKind::TypeChanged,
        };
        changes.files.push(FileChange { path: path.trim_end_matches('/').to_owned(), kind, functions: None });
    }
    Ok(changes)
}
