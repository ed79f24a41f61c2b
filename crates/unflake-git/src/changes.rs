//! Computes everything that differs between a base revision and the working tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use unflake_model::{Base, ChangeKind, ChangedFunctions, Changes, FileChange};
use unflake_source::python;

use crate::blobs::{blobs, filtered};
use crate::configuration;
use crate::git_status::{self, DiffEntry, LINK, SUBMODULE};
use crate::global_inputs::{self, matching};
use crate::name_users::NameIndex;
use crate::repository::path;
use crate::skip_worktree;
use crate::submodules::SubmoduleProblem;
use crate::touched_only;
use crate::{GitError, Repository, submodules};

/// Larger files are compared only as a whole.
const MAX_PARSED: usize = 2 << 20;

impl Repository {
    /// The differences between the base and the working tree: staged, unstaged and untracked.
    /// `global_inputs`: globs of files that count for every test. `descriptions`: globs of
    /// configuration files, with the keys that only describe. `installation`: the same, with keys that
    /// only say what is to be installed.
    pub fn changes(
        &self,
        base: &Base,
        global_inputs: &[&str],
        descriptions: &[(&str, &[&str])],
        installation: &[(&str, &[&str])],
    ) -> Result<Changes, GitError> {
        let mut found = self.differences(&base.revision)?;
        for (path, kind) in std::mem::take(&mut found.not_checked_out) {
            found.add(path, DifferenceKind::Plain(kind));
        }
        let functions = self.functions(&found);
        let old_hashes: Vec<(String, String)> = found
            .paths
            .iter()
            .filter_map(|(path, difference)| {
                Some((String::from_utf8(path.clone()).ok()?, difference.old_text.clone()?))
            })
            .collect();
        let mut unknown = Vec::new();
        let ignore_case = self.ignores_case()?;
        let mut name = |path: &[u8]| {
            let name = String::from_utf8_lossy(path).into_owned();
            if name.as_bytes() != path {
                unknown.push(format!("the name of {name:?} is not UTF-8, so the tests that used it are unknown"));
            } else if ignore_case && !name.is_ascii() {
                unknown
                    .push(format!("{name:?} may go by another spelling here, so the tests that used it are unknown"));
            }
            name
        };
        let mut files = Vec::new();
        for (path, difference) in std::mem::take(&mut found.paths) {
            let functions = functions.get(&path).cloned();
            let kind = match difference.kind {
                DifferenceKind::Renamed(from) => ChangeKind::Renamed { from: name(&from) },
                DifferenceKind::Plain(kind) => kind,
            };
            files.push(FileChange { path: name(&path), kind, functions });
        }
        let ignored = submodules::ignored(&self.git)?;
        let ignored = ignored.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        let (base, head, root) = (base.clone(), self.head()?, self.root().to_owned());
        unknown.extend(found.unknown);
        let descriptive = self.descriptive(&files, &old_hashes, descriptions);
        let both: Vec<(&str, Vec<&str>)> = installation
            .iter()
            .map(|(glob, keys)| {
                let same = descriptions.iter().filter(|(other, _)| other == glob).flat_map(|(_, keys)| *keys);
                (*glob, keys.iter().chain(same).copied().collect())
            })
            .collect();
        let both: Vec<(&str, &[&str])> = both.iter().map(|(glob, keys)| (*glob, keys.as_slice())).collect();
        let mut for_installation = self.descriptive(&files, &old_hashes, &both);
        for_installation.retain(|path| !descriptive.contains(path));
        let for_all = matching(&files, global_inputs.iter().copied().chain(global_inputs::OWN));
        let for_all = for_all.into_iter().filter(|path| !descriptive.contains(path)).collect();
        let new_directories = self.new_directories(&base.revision, &files)?;
        Ok(Changes {
            base,
            head,
            root,
            files,
            ignored,
            caches: BTreeSet::new(),
            new_directories,
            for_all,
            for_directory: Vec::new(),
            by_function: Vec::new(),
            descriptive,
            for_installation,
            ignore_case,
            unknown,
        })
    }

    /// The changed configuration files in which only keys that describe have other values.
    fn descriptive(
        &self,
        files: &[FileChange],
        old_hashes: &[(String, String)],
        descriptions: &[(&str, &[&str])],
    ) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for (glob, keys) in descriptions {
            let matching = matching(files, [*glob]);
            for (path, hash) in old_hashes.iter().filter(|(path, _)| matching.contains(path)) {
                let Ok(blobs) = blobs(&self.git, &[hash], MAX_PARSED) else { continue };
                let Ok(after) = fs::read_to_string(self.root().join(path)) else { continue };
                let before = blobs.get(hash).and_then(|before| str::from_utf8(before).ok());
                if before.is_some_and(|before| configuration::only_describes(path, before, &after, keys)) {
                    found.insert(path.clone());
                }
            }
        }
        found
    }

    /// Whether the files are known to equal that commit, apart from files that are not checked out.
    pub(crate) fn equals(&self, revision: &str) -> Result<bool, GitError> {
        let found = self.differences(revision)?;
        Ok(found.paths.is_empty() && found.unknown.is_empty())
    }

    /// The directories of added files that do not exist in the base.
    fn new_directories(&self, base: &str, files: &[FileChange]) -> Result<BTreeSet<String>, GitError> {
        let exists_in_base =
            |kind: &ChangeKind| matches!(kind, ChangeKind::Modified | ChangeKind::ModeOnly | ChangeKind::Deleted);
        let mut new = BTreeSet::new();
        for change in files.iter().filter(|change| !exists_in_base(&change.kind)) {
            let ends = change.path.match_indices('/').map(|(at, _)| at);
            new.extend(ends.map(|end| change.path[..end].to_owned()));
        }
        if !new.is_empty() {
            let existing = self.git.output(&["ls-tree", "-r", "-d", "--name-only", "--full-tree", "-z", base])?;
            for path in existing.split(|byte| *byte == 0) {
                new.remove(&*String::from_utf8_lossy(path));
            }
        }
        Ok(new)
    }

    fn ignores_case(&self) -> Result<bool, GitError> {
        let output = self.git.optional_line(&["config", "--type=bool", "--get", "core.ignoreCase"])?;
        Ok(output.as_deref() == Some("true"))
    }

    fn differences(&self, base: &str) -> Result<WorktreeDifferences, GitError> {
        let mut found = WorktreeDifferences::default();
        let entries = touched_only::remove(&self.git, git_status::diff(&self.git, base)?);
        for entry in entries {
            found.add_entry(entry);
        }
        let tracked = git_status::tracked(&self.git)?;
        let skipped: BTreeSet<&Vec<u8>> = tracked.iter().filter(|one| one.skipped).map(|one| &one.path).collect();
        match skip_worktree::hidden(&self.git, base, &tracked) {
            Ok(hidden) => {
                for (path, kind) in hidden {
                    if kind == ChangeKind::Deleted && skipped.contains(&path) {
                        found.not_checked_out.push((path, kind));
                    } else {
                        found.add(path, DifferenceKind::Plain(kind));
                    }
                }
            }
            Err(error) => {
                found.unknown.push(format!("files whose changes git is configured to skip may have changed: {error}"))
            }
        }
        match submodules::problems(&self.git, &tracked) {
            Ok(problems) => problems.into_iter().for_each(|problem| match problem {
                SubmoduleProblem::Changed(path) => found.add(path, DifferenceKind::Plain(ChangeKind::Submodule)),
                SubmoduleProblem::Absent(path) => found.not_checked_out.push((path, ChangeKind::Submodule)),
            }),
            Err(error) => found.unknown.push(format!("files of a submodule may have changed: {error}")),
        }
        for path in git_status::untracked(&self.git)? {
            found.add(path, DifferenceKind::Plain(ChangeKind::Untracked));
        }
        Ok(found)
    }

    /// The changed functions of each file for which they can be determined.
    fn functions(&self, found: &WorktreeDifferences) -> BTreeMap<Vec<u8>, ChangedFunctions> {
        // With different attributes the old contents may have been checked out as a different text.
        if found.paths.keys().any(|path| path.ends_with(b".gitattributes")) {
            return BTreeMap::new();
        }
        let wanted: Vec<(&Vec<u8>, &str)> =
            found.paths.iter().filter_map(|(path, difference)| Some((path, difference.old_hash.as_deref()?))).collect();
        let paths: Vec<&[u8]> = wanted.iter().map(|(path, _)| path.as_slice()).collect();
        let hashes: Vec<&str> = wanted.iter().map(|(_, hash)| *hash).collect();
        if wanted.is_empty() {
            return BTreeMap::new();
        }
        let read = || Ok::<_, GitError>((filtered(&self.git, &paths)?, blobs(&self.git, &hashes, MAX_PARSED)?));
        // On an error whole files count as changed, which is never too little.
        let Ok((filtered, blobs)) = read() else { return BTreeMap::new() };
        let index = NameIndex::new(&self.git, self.root());
        let changed_functions = |(at, hash): (&Vec<u8>, &str)| {
            let full = self.root().join(path(at.clone()));
            if filtered.contains(at) || fs::metadata(&full).ok()?.len() > MAX_PARSED as u64 {
                return None;
            }
            let change = python::changed_functions(blobs.get(hash)?, &fs::read(&full).ok()?)?;
            Some((at.clone(), index.complete(at, change)))
        };
        wanted.into_iter().filter_map(changed_functions).collect()
    }
}

#[derive(Default)]
struct WorktreeDifferences {
    paths: BTreeMap<Vec<u8>, TreeDifference>,
    /// Files that are not checked out. They are reported, because a test cannot read them; they do
    /// not make the tree dirty, because no edit changed them.
    not_checked_out: Vec<(Vec<u8>, ChangeKind)>,
    unknown: Vec<String>,
}

struct TreeDifference {
    kind: DifferenceKind,
    /// The hash of the old contents, if only the text of a file changed that can be parsed.
    old_hash: Option<String>,
    /// The same, whatever kind of file it is.
    old_text: Option<String>,
}

enum DifferenceKind {
    Plain(ChangeKind),
    Renamed(Vec<u8>),
}

impl WorktreeDifferences {
    fn add_entry(&mut self, entry: DiffEntry) {
        let submodule = entry.old_mode == SUBMODULE || entry.new_mode == SUBMODULE;
        let kind = match entry.status {
            _ if submodule => {
                self.paths.extend(entry.from.map(|from| {
                    (
                        from,
                        TreeDifference {
                            kind: DifferenceKind::Plain(ChangeKind::Submodule),
                            old_hash: None,
                            old_text: None,
                        },
                    )
                }));
                DifferenceKind::Plain(ChangeKind::Submodule)
            }
            b'A' | b'C' => DifferenceKind::Plain(ChangeKind::Added),
            b'D' => DifferenceKind::Plain(ChangeKind::Deleted),
            b'T' => DifferenceKind::Plain(ChangeKind::TypeChanged),
            b'R' => DifferenceKind::Renamed(entry.from.unwrap_or_default()),
            _ if entry.old_mode != entry.new_mode && entry.old_hash == entry.new_hash => {
                DifferenceKind::Plain(ChangeKind::ModeOnly)
            }
            // Includes unmerged paths, and status letters of newer git versions.
            _ => DifferenceKind::Plain(ChangeKind::Modified),
        };
        let python = entry.path.ends_with(b".py") || entry.path.ends_with(b".pyw");
        let only_text = entry.status == b'M' && entry.old_mode == entry.new_mode && entry.old_mode != LINK;
        let new = !self.paths.contains_key(&entry.path);
        let path = entry.path.clone();
        self.add(entry.path, kind);
        if new && only_text && !submodule {
            self.paths.entry(path).and_modify(|difference| {
                difference.old_hash = python.then(|| entry.old_hash.clone());
                difference.old_text = Some(entry.old_hash);
            });
        }
    }

    /// A path with two different changes counts as modified.
    fn add(&mut self, path: Vec<u8>, kind: DifferenceKind) {
        match self.paths.get_mut(&path) {
            None => {
                self.paths.insert(path, TreeDifference { kind, old_hash: None, old_text: None });
            }
            Some(difference) => {
                (difference.old_hash, difference.old_text) = (None, None);
                let renamed = matches!(
                    difference.kind,
                    DifferenceKind::Renamed(_) | DifferenceKind::Plain(ChangeKind::Submodule)
                );
                if !renamed {
                    let submodule =
                        matches!(kind, DifferenceKind::Plain(ChangeKind::Submodule) | DifferenceKind::Renamed(_));
                    difference.kind = if submodule { kind } else { DifferenceKind::Plain(ChangeKind::Modified) };
                }
            }
        }
    }
}
