//! Restores files after unflake was killed: supervisors do so, from a snapshot and a journal on disk.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::project_files::snapshot::ProjectSnapshot;
use crate::project_files::written_elsewhere::WrittenElsewhere;

/// The snapshot as JSON.
const SNAPSHOT: &str = "known";
/// Exists while sessions run.
const OPEN: &str = "open";
/// Exists while a supervisor restores files.
const TAKEN: &str = "taken";
/// How long another supervisor may take to kill its processes.
const KILL_DELAY: Duration = Duration::from_millis(100);
/// How long another supervisor may take to restore files.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(10);

impl ProjectSnapshot {
    /// Sessions run from now on. If this cannot be written, files are not restored after a kill.
    pub(crate) fn mark_open(&mut self) {
        let path = self.copies().join(SNAPSHOT);
        if self.take_unsaved() {
            let text = serde_json::to_vec(self).unwrap_or_default();
            let _ = fs::write(path, text);
        }
        let _ = fs::write(self.copies().join(OPEN), "");
    }

    /// No session runs any more, and files are restored.
    pub(crate) fn mark_closed(&self) {
        let _ = fs::remove_file(self.copies().join(OPEN));
    }
}

/// Restores files if sessions were running. Of several supervisors one does so, the others wait.
pub(crate) fn recover(copies: &Path) {
    let (open, taken) = (copies.join(OPEN), copies.join(TAKEN));
    if fs::rename(&open, &taken).is_err() {
        let mut waited = Duration::ZERO;
        while taken.exists() && waited < RESTORE_TIMEOUT {
            thread::sleep(KILL_DELAY);
            waited += KILL_DELAY;
        }
        return;
    }
    thread::sleep(KILL_DELAY);
    if let Ok(text) = fs::read(copies.join(SNAPSHOT))
        && let Ok(mut snapshot) = serde_json::from_slice::<ProjectSnapshot>(&text)
    {
        let _ = snapshot.restore();
        if let Some(run_dir) = copies.parent() {
            WrittenElsewhere::new(run_dir).restore(snapshot.backups());
        }
    }
    let _ = fs::remove_file(taken);
}
