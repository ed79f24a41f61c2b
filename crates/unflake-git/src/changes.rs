//! Computes everything that differs between a base revision and the working tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use unflake_model::{Base, ChangeKind, ChangedFunctions, Changes, FileChange};

use crate::blobs::{blobs, filtered};
use crate::git_status::{self, Entry, LINK, SUBMODULE};
use crate::global_inputs;
use crate::repository::path;
use crate::skip_worktree;
use crate::submodules::Odd;
use crate::touched_only;
use crate::{Error, Repository, python, submodules};

/// Larger files are compared only as a whole.
const LONGEST: usize = 2 << 20;

impl Repository {
    /// The differences between the base and the working tree: staged, unstaged and untracked.
    pub fn changes(&self, base: &Base) -> Result<Changes, Error> {
        let mut found = self.differing(&base.revision)?;
        for (path, kind) in std::mem::take(&mut found.left_out) {
            found.add(path, Kind::Plain(kind));
        }
        let functions = self.functions(&found);
        let mut unknown = Vec::new();
        let ignore_case = self.ignores_case()?;
        let mut name = |path: &[u8]| {
            let name = String::from_utf8_lossy(path).into_owned();
            if name.as_bytes() != path {
                unknown.push(format!("the name of {name:?} is not UTF-8, so nobody can tell who used it"));
            } else if ignore_case && !name.is_ascii() {
                unknown.push(format!("{name:?} may go by another spelling here, so nobody can tell who used it"));
            }
            name
        };
        let mut files = Vec::new();
        for (path, what) in std::mem::take(&mut found.paths) {
            let functions = functions.get(&path).cloned();
            let kind = match what.kind {
                Kind::Renamed(from) => ChangeKind::Renamed { from: name(&from) },
                Kind::Plain(kind) => kind,
            };
            files.push(FileChange { path: name(&path), kind, functions });
        }
        let ignored = submodules::ignored(&self.git)?;
        let ignored = ignored.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        let (base, head, root) = (base.clone(), self.head()?, self.root().to_owned());
        unknown.extend(found.unknown);
        let for_all = global_inputs::among(&files);
        let new_directories = self.new_directories(&base.revision, &files)?;
        Ok(Changes { base, head, root, files, ignored, new_directories, for_all, ignore_case, unknown })
    }

    /// Whether the files are known to equal that commit, apart from files that are not checked out.
    pub(crate) fn is_as(&self, revision: &str) -> Result<bool, Error> {
        let found = self.differing(revision)?;
        Ok(found.paths.is_empty() && found.unknown.is_empty())
    }

    /// The directories of added files that do not exist in the base.
    fn new_directories(&self, base: &str, files: &[FileChange]) -> Result<BTreeSet<String>, Error> {
        let stays =
            |kind: &ChangeKind| matches!(kind, ChangeKind::Modified | ChangeKind::ModeOnly | ChangeKind::Deleted);
        let mut new = BTreeSet::new();
        for change in files.iter().filter(|change| !stays(&change.kind)) {
            let ends = change.path.match_indices('/').map(|(at, _)| at);
            new.extend(ends.map(|end| change.path[..end].to_owned()));
        }
        if !new.is_empty() {
            let there = self.git.ask(&["ls-tree", "-r", "-d", "--name-only", "--full-tree", "-z", base])?;
            for path in there.split(|byte| *byte == 0) {
                new.remove(&*String::from_utf8_lossy(path));
            }
        }
        Ok(new)
    }

    fn ignores_case(&self) -> Result<bool, Error> {
        let said = self.git.perhaps(&["config", "--type=bool", "--get", "core.ignoreCase"])?;
        Ok(said.as_deref() == Some("true"))
    }

    fn differing(&self, base: &str) -> Result<Found, Error> {
        let mut found = Found::default();
        let entries = touched_only::left_out(&self.git, git_status::diff(&self.git, base)?);
        for entry in entries {
            found.tell(entry);
        }
        let tracked = git_status::tracked(&self.git)?;
        let skipped: BTreeSet<&Vec<u8>> = tracked.iter().filter(|one| one.skipped).map(|one| &one.path).collect();
        match skip_worktree::hidden(&self.git, base, &tracked) {
            Ok(hidden) => {
                for (path, kind) in hidden {
                    if kind == ChangeKind::Deleted && skipped.contains(&path) {
                        found.left_out.push((path, kind));
                    } else {
                        found.add(path, Kind::Plain(kind));
                    }
                }
            }
            Err(error) => {
                found.unknown.push(format!("files that git is told not to look at may have changed: {error}"))
            }
        }
        match submodules::odd(&self.git, &tracked) {
            Ok(odd) => odd.into_iter().for_each(|odd| match odd {
                Odd::Changed(path) => found.add(path, Kind::Plain(ChangeKind::Submodule)),
                Odd::Absent(path) => found.left_out.push((path, ChangeKind::Submodule)),
            }),
            Err(error) => found.unknown.push(format!("files of a submodule may have changed: {error}")),
        }
        for path in git_status::untracked(&self.git)? {
            found.add(path, Kind::Plain(ChangeKind::Untracked));
        }
        Ok(found)
    }

    /// The changed functions of each file for which they can be determined.
    fn functions(&self, found: &Found) -> BTreeMap<Vec<u8>, ChangedFunctions> {
        // With different attributes the old contents may have been checked out as a different text.
        if found.paths.keys().any(|path| path.ends_with(b".gitattributes")) {
            return BTreeMap::new();
        }
        let wanted: Vec<(&Vec<u8>, &str)> =
            found.paths.iter().filter_map(|(path, what)| Some((path, what.was.as_deref()?))).collect();
        let paths: Vec<&[u8]> = wanted.iter().map(|(path, _)| path.as_slice()).collect();
        let hashes: Vec<&str> = wanted.iter().map(|(_, hash)| *hash).collect();
        if wanted.is_empty() {
            return BTreeMap::new();
        }
        let read = || Ok::<_, Error>((filtered(&self.git, &paths)?, blobs(&self.git, &hashes, LONGEST)?));
        // On an error whole files count as changed, which is never too little.
        let Ok((filtered, blobs)) = read() else { return BTreeMap::new() };
        let tell = |(at, hash): (&Vec<u8>, &str)| {
            let full = self.root().join(path(at.clone()));
            if filtered.contains(at) || fs::metadata(&full).ok()?.len() > LONGEST as u64 {
                return None;
            }
            let functions = python::changed(blobs.get(hash)?, &fs::read(&full).ok()?)?;
            Some((at.clone(), functions))
        };
        wanted.into_iter().filter_map(tell).collect()
    }
}

#[derive(Default)]
struct Found {
    paths: BTreeMap<Vec<u8>, What>,
    /// Files that are not checked out. They are reported, because a test cannot read them; they do
    /// not make the tree dirty, because nobody changed them.
    left_out: Vec<(Vec<u8>, ChangeKind)>,
    unknown: Vec<String>,
}

struct What {
    kind: Kind,
    /// The hash of the old contents, if only the text of a file changed that can be parsed.
    was: Option<String>,
}

enum Kind {
    Plain(ChangeKind),
    Renamed(Vec<u8>),
}

impl Found {
    fn tell(&mut self, entry: Entry) {
        let submodule = entry.old_mode == SUBMODULE || entry.new_mode == SUBMODULE;
        let kind = match entry.status {
            _ if submodule => {
                self.paths.extend(
                    entry.from.map(|from| (from, What { kind: Kind::Plain(ChangeKind::Submodule), was: None })),
                );
                Kind::Plain(ChangeKind::Submodule)
            }
            b'A' | b'C' => Kind::Plain(ChangeKind::Added),
            b'D' => Kind::Plain(ChangeKind::Deleted),
            b'T' => Kind::Plain(ChangeKind::TypeChanged),
            b'R' => Kind::Renamed(entry.from.unwrap_or_default()),
            _ if entry.old_mode != entry.new_mode && entry.old_hash == entry.new_hash => {
                Kind::Plain(ChangeKind::ModeOnly)
            }
            // Includes unmerged paths, and status letters of newer git versions.
            _ => Kind::Plain(ChangeKind::Modified),
        };
        let python = entry.path.ends_with(b".py") || entry.path.ends_with(b".pyw");
        let only_text = entry.status == b'M' && entry.old_mode == entry.new_mode && entry.old_mode != LINK;
        let new = !self.paths.contains_key(&entry.path);
        let path = entry.path.clone();
        self.add(entry.path, kind);
        if new && python && only_text && !submodule {
            self.paths.entry(path).and_modify(|what| what.was = Some(entry.old_hash));
        }
    }

    /// A path with two different changes counts as modified.
    fn add(&mut self, path: Vec<u8>, kind: Kind) {
        match self.paths.get_mut(&path) {
            None => {
                self.paths.insert(path, What { kind, was: None });
            }
            Some(what) => {
                what.was = None;
                let renamed = matches!(what.kind, Kind::Renamed(_) | Kind::Plain(ChangeKind::Submodule));
                if !renamed {
                    let submodule = matches!(kind, Kind::Plain(ChangeKind::Submodule) | Kind::Renamed(_));
                    what.kind = if submodule { kind } else { Kind::Plain(ChangeKind::Modified) };
                }
            }
        }
    }
}
