//! The files of the project as they were before tests ran, to be put back when tests have changed them. Sessions that are
//! compared with each other must find the same files, and copies of a process share them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, FileTimes, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::project_files::backup::Displaced;
use crate::project_files::file_stat::{Kind, Known, Look};
use crate::project_files::fs_watcher::Bell;

const MOST_FILES: usize = 20_000;
const MOST_BYTES: u64 = 200 << 20;
/// What version control, editors and unflake keep for themselves; caches of runners are given.
const PASSED_OVER: [&str; 5] = [".git", ".hg", ".svn", ".idea", ".unflake"];

#[derive(Serialize, Deserialize)]
pub(crate) struct Files {
    /// Neither is below the other.
    roots: Vec<PathBuf>,
    known: BTreeMap<PathBuf, Known>,
    /// Where copies of files are.
    copies: PathBuf,
    next_copy: u64,
    bytes: u64,
    #[serde(skip, default = "Bell::new")]
    bell: Bell,
    displaced: Displaced,
    /// Files that this process has had open.
    ours: BTreeSet<PathBuf>,
    /// What is known has changed since it was last asked.
    #[serde(skip)]
    unsaved: bool,
    /// The extensions of files that a person edits rather than a test. They are left as they are.
    source: BTreeSet<OsString>,
    /// Names of caches and build directories of runners.
    caches: BTreeSet<String>,
    /// When version control last moved the project from one state to another.
    moved: Option<SystemTime>,
    /// What has been put back at least once, and what has been left, both relative to their root.
    pub(crate) put_back: BTreeSet<PathBuf>,
    pub(crate) left: BTreeSet<PathBuf>,
}

impl Files {
    /// Keeps all files below these directories. `source` are the extensions of those that are not put back, `caches` the names of
    /// those that are not looked at.
    pub(crate) fn look(
        roots: &[PathBuf],
        source: BTreeSet<OsString>,
        caches: &[&str],
        copies: &Path,
        displaced: Displaced,
    ) -> Result<Self, String> {
        if !cfg!(target_os = "linux") {
            return Err("that is done on Linux only".to_owned());
        }
        fs::create_dir_all(copies).map_err(|error| error.to_string())?;
        let mut outermost: Vec<PathBuf> = Vec::new();
        for root in roots.iter().filter_map(|root| root.canonicalize().ok()).collect::<BTreeSet<_>>() {
            if !outermost.iter().any(|other| root.starts_with(other)) {
                outermost.push(root);
            }
        }
        let mut files = Self {
            roots: outermost,
            known: BTreeMap::new(),
            copies: copies.to_owned(),
            next_copy: 0,
            bytes: 0,
            bell: Bell::new(),
            displaced,
            ours: BTreeSet::new(),
            unsaved: true,
            source,
            caches: caches.iter().map(|name| (*name).to_owned()).collect(),
            moved: None,
            put_back: BTreeSet::new(),
            left: BTreeSet::new(),
        };
        files.adopt()?;
        Ok(files)
    }

    /// Whether anything may have changed since it was looked at or put back.
    pub(crate) fn may_have_changed(&mut self) -> bool {
        self.look_for_ours();
        let is_ours = |name: &OsStr| self.ours.iter().any(|path| belongs_to(name, path));
        let rung = self.bell.has_rung(|name| is_passed_over(name, &self.caches) || is_ours(name));
        rung.unwrap_or_else(|| self.differs())
    }

    /// Files that this process has open. Only below what is watched: a file elsewhere of the same name is another.
    fn look_for_ours(&mut self) {
        let root = |root: &PathBuf| [Some(root.clone()), root.canonicalize().ok()];
        let roots: Vec<PathBuf> = self.roots.iter().flat_map(root).flatten().collect();
        self.ours.extend(open_here().into_iter().filter(|path| roots.iter().any(|root| path.starts_with(root))));
    }

    fn differs(&mut self) -> bool {
        let Ok(now) = self.scan() else { return true };
        now.len() != self.known.len() || self.known.iter().any(|(path, known)| !known.is_still(path, now.get(path)))
    }

    /// Takes everything as it is now for what it should be.
    pub(crate) fn adopt(&mut self) -> Result<(), String> {
        self.bell.silence();
        self.moved = moved(&self.roots);
        let now = self.scan()?;
        let gone: Vec<PathBuf> = self.known.keys().filter(|path| !now.contains_key(*path)).cloned().collect();
        for path in gone {
            self.forget(&path);
        }
        for (path, look) in now {
            if self.known.get(&path).is_none_or(|known| known.look != look) {
                self.forget(&path);
                self.learn(path, look)?;
            }
        }
        Ok(())
    }

    fn forget(&mut self, path: &Path) {
        self.unsaved = true;
        if let Some(known) = self.known.remove(path)
            && known.look.kind == Kind::File
        {
            self.bytes -= known.look.size;
            let _ = fs::remove_file(known.copy);
        }
    }

    /// What cannot be read has no copy, and is not put back.
    fn learn(&mut self, path: PathBuf, look: Look) -> Result<(), String> {
        self.unsaved = true;
        let copy = match look.kind {
            Kind::Directory => {
                self.bell.watch(&path);
                PathBuf::new()
            }
            Kind::Link => fs::read_link(&path).unwrap_or_default(),
            Kind::File => {
                self.bytes += look.size;
                if self.bytes > MOST_BYTES {
                    return Err(format!("the project has more than {} MB", MOST_BYTES >> 20));
                }
                self.next_copy += 1;
                let copy = self.copies.join(self.next_copy.to_string());
                fs::copy(&path, &copy).map(|_| copy).unwrap_or_default()
            }
        };
        let modified = path.symlink_metadata().and_then(|facts| facts.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        self.known.insert(path, Known { look, modified, learned: SystemTime::now(), copy });
        Ok(())
    }

    /// Everything that is there now, directories before what is in them.
    fn scan(&mut self) -> Result<BTreeMap<PathBuf, Look>, String> {
        self.look_for_ours();
        let mut found = BTreeMap::new();
        let mut ahead = self.roots.clone();
        while let Some(path) = ahead.pop() {
            let Ok(facts) = path.symlink_metadata() else { continue };
            let Some(look) = Look::of(&facts) else { continue };
            found.insert(path.clone(), look);
            if found.len() > MOST_FILES {
                return Err(format!("the project has more than {MOST_FILES} files"));
            }
            if look.kind == Kind::Directory {
                for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
                    let (name, path) = (entry.file_name(), entry.path());
                    let is_ours = self.ours.iter().any(|one| one.parent() == path.parent() && belongs_to(&name, one));
                    if !is_passed_over(&name, &self.caches) && !is_ours && !self.copies.starts_with(&path) {
                        ahead.push(path);
                    }
                }
            }
        }
        Ok(found)
    }

    /// Puts everything back that has changed. What could not be put back is among `left` afterwards.
    pub(crate) fn restore(&mut self) -> Result<(), String> {
        let now = self.scan()?;
        let new: Vec<&PathBuf> = now.keys().rev().filter(|path| !self.known.contains_key(*path)).collect();
        let changed = self.known.iter().filter(|(path, known)| !known.is_still(path, now.get(*path)));
        let changed: Vec<PathBuf> = changed.map(|(path, _)| path.clone()).collect();
        if moved(&self.roots) != self.moved {
            // Somebody has gone to another revision. Whatever tests did besides cannot be told from that.
            let all = new.into_iter().chain(&changed).map(|path| self.name_of(path)).collect::<Vec<_>>();
            self.left.extend(all);
            return self.adopt();
        }
        for path in new {
            let name = self.name_of(path);
            if self.displaced.keep(path, &name) && remove(path).is_ok() {
                self.put_back.insert(name);
            } else {
                self.left.insert(name);
            }
        }
        for path in &changed {
            let name = self.name_of(path);
            let same = self.known[path].has_content_of(path);
            let may_go = same || !self.is_source(path) && self.displaced.keep(path, &name);
            match may_go && self.put_back(path).is_ok() {
                true if same => {}
                true => drop(self.put_back.insert(name)),
                false => drop(self.left.insert(name)),
            }
        }
        // What comes and goes in a directory shows in its time too.
        for (path, known) in self.known.iter().filter(|(_, known)| known.look.kind == Kind::Directory) {
            if path.metadata().and_then(|facts| facts.modified()).is_ok_and(|modified| modified != known.modified) {
                let _ = set_modified(path, known.modified);
            }
        }
        // What was left is from now on as it is.
        self.adopt()
    }

    fn put_back(&mut self, path: &Path) -> io::Result<()> {
        let Some(known) = self.known.get(path) else { return Ok(()) };
        let kind = path.symlink_metadata().ok().and_then(|facts| Look::of(&facts)).map(|look| look.kind);
        if kind.is_some_and(|kind| kind != known.look.kind || kind == Kind::Link) {
            remove(path)?;
        }
        match known.look.kind {
            Kind::Link => return symlink(&known.copy, path),
            Kind::Directory if kind != Some(Kind::Directory) => {
                fs::create_dir(path)?;
                self.bell.watch(path);
            }
            Kind::Directory => {}
            Kind::File => {
                // In its place, so that whoever has it open or linked sees it.
                if kind == Some(Kind::File) {
                    fs::set_permissions(path, Permissions::from_mode(known.look.mode | 0o200))?;
                }
                fs::copy(&known.copy, path)?;
            }
        }
        set_modified(path, known.modified)?;
        fs::set_permissions(path, Permissions::from_mode(known.look.mode))
    }

    fn is_source(&self, path: &Path) -> bool {
        path.extension().is_some_and(|extension| self.source.contains(extension))
    }

    pub(crate) fn copies(&self) -> &Path {
        &self.copies
    }

    /// Whether what is known has changed since this was asked last.
    pub(crate) fn is_unsaved(&mut self) -> bool {
        std::mem::take(&mut self.unsaved)
    }

    fn name_of(&self, path: &Path) -> PathBuf {
        let inside = self.roots.iter().find_map(|root| path.strip_prefix(root).ok());
        inside.unwrap_or(path).to_owned()
    }

    /// Where what was put back can be found as it was.
    pub(crate) fn displaced(&self) -> Option<&Path> {
        self.displaced.directory()
    }
}

/// What belongs to tools, editors among them.
fn is_passed_over(name: &OsStr, caches: &BTreeSet<String>) -> bool {
    let name = name.to_string_lossy();
    let of_editor = name.starts_with(".#") || [".swp", ".swx", "~"].iter().any(|end| name.ends_with(end));
    of_editor || PASSED_OVER.contains(&&*name) || caches.contains(&*name)
}

/// When a repository that holds these directories was last moved: every checkout, pull, reset, merge and stash is logged.
fn moved(roots: &[PathBuf]) -> Option<SystemTime> {
    let logs = ["logs/HEAD", "logs/refs/stash"].map(|log| Path::new(".git").join(log));
    let above = roots.iter().flat_map(|root| root.ancestors());
    let paths = above.flat_map(|directory| logs.iter().map(|log| directory.join(log)));
    paths.filter_map(|path| path.metadata().and_then(|facts| facts.modified()).ok()).max()
}

/// The files that this process itself has open, such as the history of the project.
fn open_here() -> Vec<PathBuf> {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    entries.filter_map(|entry| fs::read_link(entry.path()).ok()).filter(|path| path.is_file()).collect()
}

/// Whether it is that file or one that belongs to it, as `history.db-wal` belongs to `history.db`.
fn belongs_to(name: &OsStr, file: &Path) -> bool {
    let rest = file.file_name().and_then(|file| name.as_encoded_bytes().strip_prefix(file.as_encoded_bytes()));
    rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'-')
}

fn remove(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) }
}

fn set_modified(path: &Path, modified: SystemTime) -> io::Result<()> {
    File::open(path)?.set_times(FileTimes::new().set_modified(modified))
}
