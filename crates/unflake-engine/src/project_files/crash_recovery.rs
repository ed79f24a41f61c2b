//! Putting files back when unflake itself has been killed: its keepers do so, with what is written down here.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::project_files::snapshot::Files;

/// Everything that is known of the files.
const KNOWN: &str = "known";
/// There while sessions run.
const OPEN: &str = "open";
/// There while a keeper puts files back.
const TAKEN: &str = "taken";
/// How long another keeper may take to end its processes, and how long to put files back.
const OTHERS_END: Duration = Duration::from_millis(100);
const OTHERS_RESTORE: Duration = Duration::from_secs(10);

impl Files {
    /// Sessions run from now on. Where it cannot be written down, killing unflake leaves files as they are then.
    pub(crate) fn open(&mut self) {
        let known = self.copies().join(KNOWN);
        if self.is_unsaved() {
            let text = serde_json::to_vec(self).unwrap_or_default();
            let _ = fs::write(known, text);
        }
        let _ = fs::write(self.copies().join(OPEN), "");
    }

    /// No session runs any more, and files are as they should be.
    pub(crate) fn close(&self) {
        let _ = fs::remove_file(self.copies().join(OPEN));
    }
}

/// Puts files back if sessions were running. Several keepers may be about it; one does it and the others wait.
pub(crate) fn recover(copies: &Path) {
    let (open, taken) = (copies.join(OPEN), copies.join(TAKEN));
    if fs::rename(&open, &taken).is_err() {
        let mut waited = Duration::ZERO;
        while taken.exists() && waited < OTHERS_RESTORE {
            thread::sleep(OTHERS_END);
            waited += OTHERS_END;
        }
        return;
    }
    thread::sleep(OTHERS_END);
    if let Ok(text) = fs::read(copies.join(KNOWN))
        && let Ok(mut files) = serde_json::from_slice::<Files>(&text)
    {
        let _ = files.restore();
    }
    let _ = fs::remove_file(taken);
}
