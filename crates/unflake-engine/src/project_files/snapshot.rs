//! The project files as they were before tests ran, and how to restore them. Forks of a process
//! share files, and compared sessions must find the same ones.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, FileTimes, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use tracing::debug;

use crate::project_files::backup::Backups;
use crate::project_files::file_stat::{FileKind, FileRecord, FileStat};
use crate::project_files::fs_watcher::FsWatcher;

const MAX_FILES: usize = 20_000;
const MAX_BYTES: u64 = 200 << 20;
/// Files of version control, editors and unflake are not restored. Caches of runners are passed in.
const IGNORED: [&str; 5] = [".git", ".hg", ".svn", ".idea", ".unflake"];

/// All project files with their content. Serialized for recovery after a crash.
#[derive(Serialize, Deserialize)]
pub(crate) struct ProjectSnapshot {
    /// None is below another.
    roots: Vec<PathBuf>,
    records: BTreeMap<PathBuf, FileRecord>,
    /// Directory with copies of files.
    copies: PathBuf,
    next_copy: u64,
    bytes: u64,
    #[serde(skip, default = "FsWatcher::new")]
    watcher: FsWatcher,
    backups: Backups,
    /// Files that this process has had open, such as the history. They are ignored.
    ours: BTreeSet<PathBuf>,
    /// The records have changed since they were last written to disk.
    #[serde(skip)]
    is_unsaved: bool,
    /// Extensions of files that people edit rather than tests. They are never overwritten.
    source: BTreeSet<OsString>,
    /// Names of caches and build directories, which are ignored.
    caches: BTreeSet<String>,
    /// When version control last changed the working tree.
    checkout_time: Option<SystemTime>,
    /// Files that were restored at least once, relative to their root.
    pub(crate) restored: BTreeSet<PathBuf>,
    /// Changed files that were not restored, relative to their root.
    pub(crate) unrestored: BTreeSet<PathBuf>,
}

impl ProjectSnapshot {
    /// Copies all files below `roots` to `copies`. Files with an extension in `source` are never
    /// overwritten later; files and directories named in `caches` are ignored. The error is for the
    /// user.
    pub(crate) fn take(
        roots: &[PathBuf],
        source: BTreeSet<OsString>,
        caches: &[&str],
        copies: &Path,
        backups: Backups,
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
        let mut snapshot = Self {
            roots: outermost,
            records: BTreeMap::new(),
            copies: copies.to_owned(),
            next_copy: 0,
            bytes: 0,
            watcher: FsWatcher::new(),
            backups,
            ours: BTreeSet::new(),
            is_unsaved: true,
            source,
            caches: caches.iter().map(|name| (*name).to_owned()).collect(),
            checkout_time: None,
            restored: BTreeSet::new(),
            unrestored: BTreeSet::new(),
        };
        snapshot.adopt()?;
        Ok(snapshot)
    }

    /// Whether anything may have changed since the files were adopted or restored.
    pub(crate) fn may_have_changed(&mut self) -> bool {
        self.find_ours();
        let is_ours = |name: &OsStr| self.ours.iter().any(|path| belongs_to(name, path));
        let changed = self.watcher.has_changes(|name| is_ignored(name, &self.caches) || is_ours(name));
        changed.unwrap_or_else(|| self.differs())
    }

    /// Remembers which project files this process has open. Files elsewhere are left out: a project
    /// file of the same name is another.
    fn find_ours(&mut self) {
        let root = |root: &PathBuf| [Some(root.clone()), root.canonicalize().ok()];
        let roots: Vec<PathBuf> = self.roots.iter().flat_map(root).flatten().collect();
        self.ours.extend(open_files().into_iter().filter(|path| roots.iter().any(|root| path.starts_with(root))));
    }

    fn differs(&mut self) -> bool {
        let Ok(now) = self.scan() else { return true };
        now.len() != self.records.len()
            || self.records.iter().any(|(path, record)| !record.is_unchanged(path, now.get(path)))
    }

    /// Makes the current files the ones to restore.
    pub(crate) fn adopt(&mut self) -> Result<(), String> {
        self.watcher.reset();
        self.checkout_time = checkout_time(&self.roots);
        let now = self.scan()?;
        let gone: Vec<PathBuf> = self.records.keys().filter(|path| !now.contains_key(*path)).cloned().collect();
        for path in gone {
            self.forget(&path);
        }
        for (path, stat) in now {
            if self.records.get(&path).is_none_or(|record| record.stat != stat) {
                self.forget(&path);
                self.record(path, stat)?;
            }
        }
        Ok(())
    }

    fn forget(&mut self, path: &Path) {
        self.is_unsaved = true;
        if let Some(record) = self.records.remove(path)
            && record.stat.kind == FileKind::File
        {
            self.bytes -= record.stat.size;
            let _ = fs::remove_file(record.copy);
        }
    }

    /// A file that cannot be read has no copy and is not restored.
    fn record(&mut self, path: PathBuf, stat: FileStat) -> Result<(), String> {
        self.is_unsaved = true;
        let copy = match stat.kind {
            FileKind::Directory => {
                self.watcher.watch(&path);
                PathBuf::new()
            }
            FileKind::Link => fs::read_link(&path).unwrap_or_default(),
            FileKind::File => {
                self.bytes += stat.size;
                if self.bytes > MAX_BYTES {
                    return Err(format!("the project has more than {} MB", MAX_BYTES >> 20));
                }
                self.next_copy += 1;
                let copy = self.copies.join(self.next_copy.to_string());
                fs::copy(&path, &copy).map(|_| copy).unwrap_or_default()
            }
        };
        let modified = path.symlink_metadata().and_then(|found| found.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        self.records.insert(path, FileRecord { stat, modified, recorded: SystemTime::now(), copy });
        Ok(())
    }

    /// The current files. Directories sort before their entries.
    fn scan(&mut self) -> Result<BTreeMap<PathBuf, FileStat>, String> {
        self.find_ours();
        let mut found = BTreeMap::new();
        let mut pending = self.roots.clone();
        while let Some(path) = pending.pop() {
            let Ok(metadata) = path.symlink_metadata() else { continue };
            let Some(stat) = FileStat::of(&metadata) else { continue };
            found.insert(path.clone(), stat);
            if found.len() > MAX_FILES {
                return Err(format!("the project has more than {MAX_FILES} files"));
            }
            if stat.kind == FileKind::Directory {
                for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
                    let (name, path) = (entry.file_name(), entry.path());
                    let is_ours = self.ours.iter().any(|one| one.parent() == path.parent() && belongs_to(&name, one));
                    if !is_ignored(&name, &self.caches) && !is_ours && !self.copies.starts_with(&path) {
                        pending.push(path);
                    }
                }
            }
        }
        Ok(found)
    }

    /// Restores everything that has changed. `unrestored` names the exceptions.
    pub(crate) fn restore(&mut self) -> Result<(), String> {
        let now = self.scan()?;
        let new: Vec<&PathBuf> = now.keys().rev().filter(|path| !self.records.contains_key(*path)).collect();
        let changed = self.records.iter().filter(|(path, record)| !record.is_unchanged(path, now.get(*path)));
        let changed: Vec<PathBuf> = changed.map(|(path, _)| path.clone()).collect();
        if checkout_time(&self.roots) != self.checkout_time {
            // A checkout of another revision: changes by tests cannot be distinguished from it.
            debug!("version control changed the project: files are not restored");
            let all = new.into_iter().chain(&changed).map(|path| self.name_of(path)).collect::<Vec<_>>();
            self.unrestored.extend(all);
            return self.adopt();
        }
        for path in new {
            let name = self.name_of(path);
            if self.backups.save(path, &name) && remove(path).is_ok() {
                debug!(file = ?name, "new file removed");
                self.restored.insert(name);
            } else {
                self.unrestored.insert(name);
            }
        }
        for path in &changed {
            let name = self.name_of(path);
            let is_same = self.records[path].has_same_content(path);
            let may_overwrite = is_same || !self.is_source(path) && self.backups.save(path, &name);
            match may_overwrite && self.restore_one(path).is_ok() {
                true if is_same => {}
                true => {
                    debug!(file = ?name, "file restored");
                    self.restored.insert(name);
                }
                false => drop(self.unrestored.insert(name)),
            }
        }
        // Entries that come and go change the time of their directory.
        for (path, record) in self.records.iter().filter(|(_, record)| record.stat.kind == FileKind::Directory) {
            if path.metadata().and_then(|found| found.modified()).is_ok_and(|modified| modified != record.modified) {
                let _ = set_modified(path, record.modified);
            }
        }
        // Files that were not restored count as unchanged from now on.
        self.adopt()
    }

    fn restore_one(&mut self, path: &Path) -> io::Result<()> {
        let Some(record) = self.records.get(path) else { return Ok(()) };
        let kind = path.symlink_metadata().ok().and_then(|found| FileStat::of(&found)).map(|stat| stat.kind);
        if kind.is_some_and(|kind| kind != record.stat.kind || kind == FileKind::Link) {
            remove(path)?;
        }
        match record.stat.kind {
            FileKind::Link => return symlink(&record.copy, path),
            FileKind::Directory if kind != Some(FileKind::Directory) => {
                fs::create_dir(path)?;
                self.watcher.watch(path);
            }
            FileKind::Directory => {}
            FileKind::File => {
                // In place, so that processes that have it open, and hard links, see the content.
                if kind == Some(FileKind::File) {
                    fs::set_permissions(path, Permissions::from_mode(record.stat.mode | 0o200))?;
                }
                fs::copy(&record.copy, path)?;
            }
        }
        set_modified(path, record.modified)?;
        fs::set_permissions(path, Permissions::from_mode(record.stat.mode))
    }

    fn is_source(&self, path: &Path) -> bool {
        path.extension().is_some_and(|extension| self.source.contains(extension))
    }

    pub(crate) fn backups(&mut self) -> &mut Backups {
        &mut self.backups
    }

    pub(crate) fn copies(&self) -> &Path {
        &self.copies
    }

    /// Whether the records have changed since the last call.
    pub(crate) fn take_unsaved(&mut self) -> bool {
        std::mem::take(&mut self.is_unsaved)
    }

    fn name_of(&self, path: &Path) -> PathBuf {
        let inside = self.roots.iter().find_map(|root| path.strip_prefix(root).ok());
        inside.unwrap_or(path).to_owned()
    }

    /// The directory with backups of overwritten and removed files.
    pub(crate) fn backup_dir(&self) -> Option<&Path> {
        self.backups.directory()
    }
}

/// Whether a file belongs to a tool or an editor.
fn is_ignored(name: &OsStr, caches: &BTreeSet<String>) -> bool {
    let name = name.to_string_lossy();
    let is_of_editor = name.starts_with(".#") || [".swp", ".swx", "~"].iter().any(|end| name.ends_with(end));
    is_of_editor || IGNORED.contains(&&*name) || caches.contains(&*name)
}

/// When version control last changed the working tree: git logs every checkout, pull, reset, merge
/// and stash.
fn checkout_time(roots: &[PathBuf]) -> Option<SystemTime> {
    let logs = ["logs/HEAD", "logs/refs/stash"].map(|log| Path::new(".git").join(log));
    let above = roots.iter().flat_map(|root| root.ancestors());
    let paths = above.flat_map(|directory| logs.iter().map(|log| directory.join(log)));
    paths.filter_map(|path| path.metadata().and_then(|found| found.modified()).ok()).max()
}

/// The files that this process has open.
fn open_files() -> Vec<PathBuf> {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    entries.filter_map(|entry| fs::read_link(entry.path()).ok()).filter(|path| path.is_file()).collect()
}

/// Whether a name is that of the file, or of one that belongs to it, as `history.db-wal` belongs to
/// `history.db`.
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
