use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::TestId;

/// What differs between a revision and the files as they are now. Facts of one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    pub base: Base,
    /// The commit that is checked out. None before the first one of a branch.
    pub head: Option<String>,
    /// The root of the repository. All other paths are relative to it and parted by `/`. Of files outside of it nothing is
    /// known.
    pub root: PathBuf,
    pub files: Vec<FileChange>,
    /// Files and directories that no revision knows because they are ignored. They are no part of the change, and nobody
    /// can tell whether they differ from what they were.
    pub ignored: Vec<String>,
    /// Directories that were not there at the base.
    #[serde(default)]
    pub new_directories: BTreeSet<String>,
    /// Those of `files` that count for every test: what builds and configures the project.
    #[serde(default)]
    pub for_all: Vec<String>,
    /// Names that differ in case only are one file here.
    pub ignore_case: bool,
    /// What could not be found out, a sentence each. As long as there is one, nobody may say of any file that it is as it was.
    pub unknown: Vec<String>,
}

/// What a run is compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub changes: Changes,
    /// Tests that are known to have passed with the files as they are at the base, with the tests that had run before in the
    /// process of that pass: the fewest, where there are several.
    pub passed: BTreeMap<TestId, Vec<TestId>>,
}

/// The revision that is compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// The full hash of a commit.
    pub revision: String,
    pub chosen: BaseChoice,
}

/// How a base was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BaseChoice {
    /// Somebody asked for it, by this name.
    Asked(String),
    /// Where what is checked out parted from this branch.
    MergeBase(String),
    /// What is checked out, because only the working tree differs from the default branch.
    Head,
    /// The newest known to have passed among the ancestors of what is checked out.
    KnownGood,
    /// The commit before the one that is checked out: the latest change, where nothing else is one.
    Parent,
}

/// A path at which something differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    pub path: String,
    #[serde(flatten)]
    pub kind: ChangeKind,
    /// None: which functions changed cannot be told, and the whole file counts as changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub functions: Option<ChangedFunctions>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ChangeKind {
    Added,
    Modified,
    Deleted,
    /// Whether or not its contents changed too.
    Renamed {
        from: String,
    },
    /// The same contents, and another permission to execute them.
    ModeOnly,
    /// A repository inside the repository: another commit of it, or changes in its files. Everything below counts.
    Submodule,
    /// There, not ignored, and in no revision. A directory where it is a repository of its own.
    Untracked,
    /// A file that was a symbolic link, or the other way round.
    TypeChanged,
}

/// The functions of a file whose text is not the same on both sides, comments and spacing aside.
///
/// Names are qualified: `function`, `Class.method`, `function.<locals>.inner`; the body of a class goes by its name, code
/// outside of both is [`ChangedFunctions::MODULE`]. What makes a function (its name, parameters, defaults, decorators) is
/// code of the scope around it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFunctions {
    /// Of the old text: changed or gone.
    pub before: BTreeSet<String>,
    /// Of the new text: changed or new.
    pub after: BTreeSet<String>,
    /// Those of either side that run when the file is loaded, or make other functions: the module and the bodies of classes.
    pub bodies: BTreeSet<String>,
}

impl Changes {
    /// All changes that a test which used `path` (or looked for it in vain) has met.
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

    /// Whether `path` is ignored: then nobody knows whether it changed.
    pub fn ignores(&self, path: &str) -> bool {
        self.ignored.iter().any(|ignored| is_at_or_below(path, ignored, self.ignore_case))
    }
}

impl BaseChoice {
    /// Why this base, to follow its name.
    pub fn words(&self) -> String {
        match self {
            Self::Asked(name) => format!("given as {name}"),
            Self::MergeBase(with) => format!("where this parted from {with}"),
            Self::Head => "the commit that is checked out".to_owned(),
            Self::KnownGood => "the newest commit known to have passed".to_owned(),
            Self::Parent => "the commit before the one that is checked out".to_owned(),
        }
    }
}

impl ChangedFunctions {
    pub const MODULE: &str = "<module>";

    /// Comments and spacing only.
    pub fn is_empty(&self) -> bool {
        self.before.is_empty() && self.after.is_empty()
    }

    /// Whether somebody who executed the function of this name has met a change. A changed body of the module or of a
    /// class is met by everybody, because it made what is executed; so is a change of a function by what was made
    /// in it: `f.<locals>.inner`, `f.<locals>.<lambda>`.
    pub fn touches(&self, function: &str) -> bool {
        if !self.bodies.is_empty() {
            return true;
        }
        let ends = function.match_indices('.').map(|(at, _)| at).chain([function.len()]);
        ends.map(|end| &function[..end]).any(|name| self.before.contains(name) || self.after.contains(name))
    }
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
            new_directories: BTreeSet::new(),
            for_all: Vec::new(),
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
        ChangedFunctions { before: names.clone(), after: names, bodies }
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
