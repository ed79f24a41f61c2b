//! The changes of a working tree against a base: files, and functions where known.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::TestId;

/// The differences between a revision and the working tree, at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    pub base: Base,
    /// The checked-out commit. None before the first commit of a branch.
    pub head: Option<String>,
    /// The root of the repository. Other paths are relative to it and separated by `/`. Files outside are unknown.
    pub root: PathBuf,
    pub files: Vec<FileChange>,
    /// Ignored files and directories. They are not part of the change, and whether they changed is unknown.
    pub ignored: Vec<String>,
    /// Names of ignored files and directories that tools make beside the files of a project. That
    /// they come and go is no change.
    #[serde(default)]
    pub caches: BTreeSet<String>,
    /// Directories that did not exist at the base.
    #[serde(default)]
    pub new_directories: BTreeSet<String>,
    /// Those of `files` that affect every test: build and configuration files.
    #[serde(default)]
    pub for_all: Vec<String>,
    /// Those that affect every test which uses a file in their directory or below it.
    #[serde(default)]
    pub for_directory: Vec<String>,
    /// Those of `for_all` that are code which counts like other code where functions are compared.
    #[serde(default)]
    pub by_function: Vec<String>,
    /// Configuration files in which only what describes the project changed. They matter to tests that
    /// read them, not to those that they configure.
    #[serde(default)]
    pub descriptive: BTreeSet<String>,
    /// Files that only say what is to be installed, and configuration files in which only that
    /// changed. They matter where something else is installed, and to tests that read them.
    #[serde(default)]
    pub for_installation: BTreeSet<String>,
    /// The file system ignores case.
    pub ignore_case: bool,
    /// What could not be determined, a sentence each. While there is any, every file may have changed.
    pub unknown: Vec<String>,
}

/// What a run is compared with: changes and known passes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    pub changes: Changes,
    /// Tests known to have passed with the base's files, with the tests that ran before in that process; the
    /// fewest, where there are several.
    pub passed: BTreeMap<TestId, Vec<TestId>>,
}

/// The base revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// The full hash of a commit.
    pub revision: String,
    pub chosen: BaseChoice,
}

/// How the base was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BaseChoice {
    /// Requested by this name.
    Asked(String),
    /// The merge base with this branch.
    MergeBase(String),
    /// HEAD, because only the working tree differs from the default branch.
    Head,
    /// The newest ancestor of HEAD that is known to have passed.
    KnownGood,
    /// The parent of HEAD: the latest commit is the change.
    Parent,
}

/// A changed path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    pub path: String,
    #[serde(flatten)]
    pub kind: ChangeKind,
    /// None: the changed functions are unknown, and the whole file counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub functions: Option<ChangedFunctions>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ChangeKind {
    Added,
    Modified,
    Deleted,
    /// Its contents may have changed too.
    Renamed {
        from: String,
    },
    /// Only the executable bit changed.
    ModeOnly,
    /// A submodule at another commit or with changes. Everything below counts.
    Submodule,
    /// Untracked and not ignored. A directory if it is a repository of its own.
    Untracked,
    /// A file became a symbolic link, or the reverse.
    TypeChanged,
}

/// The functions of a file whose code differs, apart from comments and spacing.
///
/// Names are qualified: `function`, `Class.method`, `function.<locals>.inner`; a class body goes by its name, other
/// code is [`ChangedFunctions::MODULE`]. The signature and decorators of a function belong to the scope around it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFunctions {
    /// In the old version: changed or removed.
    pub before: BTreeSet<String>,
    /// In the new version: changed or added.
    pub after: BTreeSet<String>,
    /// Changed code that runs at import and may change anything: the module and class bodies.
    pub bodies: BTreeSet<String>,
    /// Names that bodies bind to something else, without changing anything else.
    #[serde(default)]
    pub names: BTreeSet<String>,
    /// Who uses these names. None: that is unknown, and everybody who runs code of the file may.
    #[serde(default)]
    pub users: Option<NameUsers>,
}

/// Who uses changed names of a file, in the whole repository. In doubt, they are used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameUsers {
    /// By file: functions that contain one of the names. [`ChangedFunctions::MODULE`]: everybody who ran
    /// any code of the file.
    pub functions: BTreeMap<String, BTreeSet<String>>,
    /// Other files that contain one of the names.
    pub texts: BTreeSet<String>,
}

impl Changes {
    /// All changes that affect a user of `path`, whether it exists or not.
    pub fn touching<'a, 'p>(&'a self, path: &'p str) -> impl Iterator<Item = &'a FileChange> + use<'a, 'p> {
        self.files.iter().filter(move |change| {
            let from = match &change.kind {
                ChangeKind::Renamed { from } => Some(from),
                _ => None,
            };
            is_at_or_below(path, &change.path, self.ignore_case)
                || from.is_some_and(|from| is_at_or_below(path, from, self.ignore_case))
        })
    }

    /// The same changes for a test that ran with what is installed now.
    pub fn with_equal_installation(&self) -> Self {
        let mut same = self.clone();
        for paths in [&mut same.for_all, &mut same.for_directory] {
            paths.retain(|path| !self.for_installation.contains(path));
        }
        same.descriptive.extend(self.for_installation.iter().cloned());
        same
    }

    /// The ignored files and directories in a directory, which is empty for the root.
    pub fn ignored_in<'a>(&'a self, directory: &'a str) -> impl Iterator<Item = &'a str> {
        let in_directory = move |path: &&str| {
            let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
            above == directory && !self.caches.contains(name)
        };
        self.ignored.iter().map(|path| path.trim_end_matches('/')).filter(in_directory)
    }

    /// Whether `path` is ignored, so that its changes are unknown.
    pub fn ignores(&self, path: &str) -> bool {
        self.ignored.iter().any(|ignored| is_at_or_below(path, ignored, self.ignore_case))
    }
}

impl BaseChoice {
    /// Why this base; follows its name.
    pub fn words(&self) -> String {
        match self {
            Self::Asked(name) => format!("given as {name}"),
            Self::MergeBase(with) => format!("merge base with {with}"),
            Self::Head => "the commit that is checked out".to_owned(),
            Self::KnownGood => "the newest commit known to have passed".to_owned(),
            Self::Parent => "the commit before the one that is checked out".to_owned(),
        }
    }
}

impl ChangedFunctions {
    pub const MODULE: &str = "<module>";

    /// Only comments and spacing changed.
    pub fn is_empty(&self) -> bool {
        self.before.is_empty() && self.after.is_empty() && self.bodies.is_empty() && self.names.is_empty()
    }

    /// Whether a change affects a test that executed this function. A changed module or class body affects all;
    /// a changed function affects what was defined in it: `f.<locals>.inner`, `f.<locals>.<lambda>`.
    pub fn touches(&self, function: &str) -> bool {
        let is_unknown = !self.names.is_empty() && self.users.is_none();
        !self.bodies.is_empty()
            || is_unknown
            || enclosing(function).any(|name| self.before.contains(name) || self.after.contains(name))
    }
}

impl NameUsers {
    /// Whether a test that executed this function of a file may use one of the names.
    pub fn touches(&self, file: &str, function: &str) -> bool {
        let Some(functions) = self.functions.get(file) else { return self.texts.contains(file) };
        functions.contains(ChangedFunctions::MODULE) || enclosing(function).any(|name| functions.contains(name))
    }
}

/// A qualified name, and those of everything that contains it.
fn enclosing(name: &str) -> impl Iterator<Item = &str> {
    let ends = name.match_indices('.').map(|(at, _)| at).chain([name.len()]);
    ends.map(move |end| &name[..end])
}

fn is_at_or_below(path: &str, place: &str, ignore_case: bool) -> bool {
    if ignore_case {
        return is_at_or_below(&path.to_lowercase(), &place.to_lowercase(), false);
    }
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(files: Vec<FileChange>, ignore_case: bool) -> Changes {
        Changes {
            base: Base { revision: "1".repeat(40), chosen: BaseChoice::Asked("v1".to_owned()) },
            head: Some("2".repeat(40)),
            root: PathBuf::from("/home/ann/project"),
            files,
            ignored: vec![".venv".to_owned(), "a/settings.local".to_owned()],
            caches: BTreeSet::new(),
            new_directories: BTreeSet::new(),
            for_all: Vec::new(),
            for_directory: Vec::new(),
            by_function: Vec::new(),
            descriptive: Default::default(),
            for_installation: Default::default(),
            ignore_case,
            unknown: Vec::new(),
        }
    }

    fn change(path: &str, kind: ChangeKind) -> FileChange {
        FileChange { path: path.to_owned(), kind, functions: None }
    }

    fn functions(names: &[&str], bodies: &[&str]) -> ChangedFunctions {
        let names: BTreeSet<String> = names.iter().chain(bodies).map(|name| (*name).to_owned()).collect();
        let bodies = bodies.iter().map(|name| (*name).to_owned()).collect();
        ChangedFunctions { before: names.clone(), after: names, bodies, ..ChangedFunctions::default() }
    }

    #[test]
    fn a_path_is_met_by_its_own_change_and_by_that_of_a_directory_above() {
        let all = changes(
            vec![
                change("a/x.py", ChangeKind::Modified),
                change("vendor/lib", ChangeKind::Submodule),
                change("new.py", ChangeKind::Renamed { from: "old.py".to_owned() }),
            ],
            false,
        );
        let check = |path: &str, expected: usize| assert_eq!(all.touching(path).count(), expected, "{path}");
        check("a/x.py", 1);
        check("a/x.pyi", 0);
        check("A/X.py", 0);
        check("a", 0);
        check("vendor/lib/deep/file.c", 1);
        check("vendor/libs", 0);
        check("old.py", 1);
        check("new.py", 1);
        assert!(all.ignores(".venv/lib/x.py") && all.ignores("a/settings.local") && !all.ignores("a/settings"));
    }

    #[test]
    fn ignored_files_are_found_by_their_directory() {
        let mut all = changes(Vec::new(), false);
        assert_eq!(all.ignored_in("a").collect::<Vec<_>>(), ["a/settings.local"]);
        assert_eq!(all.ignored_in("").collect::<Vec<_>>(), [".venv"]);
        all.caches.insert(".venv".to_owned());
        assert_eq!(all.ignored_in("").count(), 0);
    }

    #[test]
    fn case_can_be_no_difference() {
        let all = changes(vec![change("a/x.py", ChangeKind::Modified)], true);
        assert_eq!(all.touching("A/X.PY").count(), 1);
    }

    #[test]
    fn a_function_is_met_by_itself_by_what_it_was_made_in_and_by_any_body() {
        let some = functions(&["f", "C.m"], &[]);
        let check = |name: &str, expected: bool| assert_eq!(some.touches(name), expected, "{name}");
        check("f", true);
        check("f.<locals>.<lambda>", true);
        check("f.<locals>.inner.<locals>.<listcomp>", true);
        check("g", false);
        check("ff", false);
        check("C.m", true);
        check("C.other", false);
        check("C", false);
        assert!(functions(&[], &["C"]).touches("g"));
        assert!(!functions(&[], &[]).touches("g") && functions(&[], &[]).is_empty());
    }

    #[test]
    fn changes_are_written_and_read_back() {
        let mut renamed = change("new.py", ChangeKind::Renamed { from: "old.py".to_owned() });
        renamed.functions = Some(functions(&["f"], &["<module>"]));
        let all = changes(vec![renamed, change("x", ChangeKind::ModeOnly)], false);
        let text = serde_json::to_string(&all).unwrap();
        assert!(
            text.contains(r#""kind":"renamed","from":"old.py""#) && text.contains(r#""kind":"mode-only""#),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Changes>(&text).unwrap(), all);
    }
}
