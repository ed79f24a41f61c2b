//! The directory that a run shares with its workers, and small helpers for files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::fcntl::{Flock, FlockArg};

use crate::frames::SentFile;

/// How often the run that uses workers says that it is alive, and for how long its silence is no
/// reason to end. Network file systems may show a change only after some seconds.
pub(crate) const BEAT: Duration = Duration::from_secs(1);
pub(crate) const SILENCE: Duration = Duration::from_secs(30);
/// The directory of a run that has been silent for so long is removed.
const ABANDONED: Duration = Duration::from_secs(600);

/// The directory of one run.
#[derive(Clone, Debug)]
pub(crate) struct RunFiles(PathBuf);

impl RunFiles {
    /// A new directory below the shared one.
    pub(crate) fn create(shared: &Path) -> io::Result<Self> {
        let runs = shared.join("runs");
        private_dir(&runs)?;
        let directory = tempfile::Builder::new().prefix("r").tempdir_in(runs)?;
        Ok(Self(directory.keep()))
    }

    pub(crate) fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn job(&self) -> PathBuf {
        self.0.join("job.json")
    }

    pub(crate) fn script(&self) -> PathBuf {
        self.0.join("start.sh")
    }

    /// Its content changes while the run is alive.
    pub(crate) fn beat(&self) -> PathBuf {
        self.0.join("beat")
    }

    /// The jobs of the run, one line each.
    pub(crate) fn jobs(&self) -> PathBuf {
        self.0.join("jobs")
    }

    pub(crate) fn of_worker(&self, number: u32) -> WorkerFiles {
        WorkerFiles(self.0.join(format!("w{number}")))
    }

    pub(crate) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The directory of one worker.
#[derive(Clone, Debug)]
pub(crate) struct WorkerFiles(PathBuf);

impl WorkerFiles {
    pub(crate) fn create(&self) -> io::Result<()> {
        private_dir(&self.0)
    }

    /// Exists from the moment at which a process is this worker: a job that is started a second
    /// time ends at once.
    pub(crate) fn claim(&self) -> io::Result<bool> {
        match OpenOptions::new().write(true).create_new(true).open(self.0.join("claimed")) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn orders(&self) -> PathBuf {
        self.0.join("orders")
    }

    pub(crate) fn events(&self) -> PathBuf {
        self.0.join("events")
    }

    /// Where the unflake that uses the worker puts the files of its events.
    pub(crate) fn received(&self) -> PathBuf {
        self.0.join("received")
    }

    /// What the worker prints.
    pub(crate) fn log_text(&self) -> String {
        let text = fs::read_to_string(self.0.join("log")).unwrap_or_default();
        text.trim().lines().last().unwrap_or_default().chars().take(300).collect()
    }
}

/// The jobs of runs that have ended without ending them, each with the directory to remove then.
pub(crate) fn abandoned_runs(shared: &Path) -> Vec<(RunFiles, Vec<String>)> {
    let is_silent = |run: &RunFiles| {
        let beat = fs::metadata(run.beat()).or_else(|_| fs::metadata(run.path())).and_then(|data| data.modified());
        beat.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > ABANDONED))
    };
    let entries = fs::read_dir(shared.join("runs")).into_iter().flatten().flatten();
    let runs = entries.map(|entry| RunFiles(entry.path())).filter(is_silent);
    let jobs = |run: &RunFiles| fs::read_to_string(run.jobs()).unwrap_or_default().lines().map(str::to_owned).collect();
    runs.map(|run| (run.clone(), jobs(&run))).collect()
}

/// A directory of this user only.
pub(crate) fn private_dir(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes a file that others see whole or not at all. Its environment may hold secrets: for this
/// user only.
pub(crate) fn write_whole(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&temporary)?;
    file.write_all(content)?;
    drop(file);
    fs::rename(temporary, path)
}

/// Every file below a directory, or the file itself, by relative path.
pub(crate) fn contents(path: &Path) -> io::Result<Vec<SentFile>> {
    fn walk(root: &Path, below: &Path, found: &mut Vec<SentFile>) -> io::Result<()> {
        for entry in fs::read_dir(root.join(below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            match entry.file_type()?.is_dir() {
                true => walk(root, &path, found)?,
                false => found.push((path.clone(), fs::read(root.join(path))?)),
            }
        }
        Ok(())
    }
    let mut found = Vec::new();
    match fs::symlink_metadata(path)?.is_dir() {
        true => walk(path, Path::new(""), &mut found)?,
        false => found.push((PathBuf::from(path.file_name().unwrap_or_default()), fs::read(path)?)),
    }
    Ok(found)
}

/// Writes received files below a directory. Paths that lead out of it are refused.
pub(crate) fn write_below(directory: &Path, files: &[SentFile]) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    for (path, bytes) in files {
        let is_inside = path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        if !is_inside {
            return Err(io::Error::other("a worker sent a file with a path that leads elsewhere"));
        }
        let path = directory.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, bytes)?;
    }
    Ok(())
}

/// Removes the directory of a worker with the layers of its overlays. Those that the worker itself
/// has mounted stay, empty, for the next one to remove.
pub(crate) fn remove_work_dir(path: &Path) {
    for layer in fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()) {
        // The kernel makes it without any permission.
        let _ = fs::set_permissions(layer.join("work/work"), fs::Permissions::from_mode(0o700));
        let _ = fs::remove_dir_all(layer);
    }
    let _ = fs::remove_dir(path);
}

/// An exclusive lock on a directory, unless another process has it.
pub(crate) fn lock(directory: &Path) -> Option<Flock<File>> {
    Flock::lock(File::open(directory).ok()?, FlockArg::LockExclusiveNonblock).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_claimed_once() {
        let shared = tempfile::tempdir().unwrap();
        let run = RunFiles::create(shared.path()).unwrap();
        let worker = run.of_worker(3);
        worker.create().unwrap();
        assert!(worker.claim().unwrap());
        assert!(!worker.claim().unwrap());
    }

    #[test]
    fn received_files_stay_where_they_belong() {
        let place = tempfile::tempdir().unwrap();
        let sent = place.path().join("sent");
        write_below(&sent, &[("a/b".into(), b"x".to_vec()), ("c".into(), Vec::new())]).unwrap();
        let mut found = contents(&sent).unwrap();
        found.sort();
        assert_eq!(found, [("a/b".into(), b"x".to_vec()), ("c".into(), Vec::new())]);
        assert_eq!(contents(&sent.join("a/b")).unwrap(), [("b".into(), b"x".to_vec())]);
        for path in ["../x", "/x", "a/../../x"] {
            assert!(write_below(&sent, &[(path.into(), Vec::new())]).is_err(), "{path}");
        }
    }

    #[test]
    fn only_silent_runs_are_abandoned() {
        let shared = tempfile::tempdir().unwrap();
        let (dead, alive) = (RunFiles::create(shared.path()).unwrap(), RunFiles::create(shared.path()).unwrap());
        for run in [&dead, &alive] {
            fs::write(run.jobs(), "7_0\n7_1\n").unwrap();
            fs::write(run.beat(), "1").unwrap();
        }
        let old = SystemTime::now() - 2 * ABANDONED;
        File::options().write(true).open(dead.beat()).unwrap().set_modified(old).unwrap();
        let found = abandoned_runs(shared.path());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].0.path(), &found[0].1[..]), (dead.path(), &["7_0".to_owned(), "7_1".to_owned()][..]));
    }
}
