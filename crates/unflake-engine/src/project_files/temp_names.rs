//! Notices temporary files with fixed names: sessions that run at the same time would meet in them.
//! Names that are drawn at random are created once only.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::project_files::fs_watcher::FsWatcher;

pub(crate) struct TempNames {
    watcher: FsWatcher,
    created: HashSet<OsString>,
    is_repeated: bool,
}

impl TempNames {
    /// Watches the directories for temporary files, not what is below them.
    pub(crate) fn watch(directories: &[PathBuf]) -> Self {
        let mut watcher = FsWatcher::new();
        directories.iter().filter(|path| path.is_dir()).for_each(|path| watcher.watch_created(path));
        Self { watcher, created: HashSet::new(), is_repeated: false }
    }

    /// Whether a name was created more than once.
    pub(crate) fn is_repeated(&mut self) -> bool {
        for name in self.watcher.take_created() {
            self.is_repeated |= !self.created.insert(name);
        }
        self.is_repeated
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_name_that_is_created_again_is_fixed() {
        let directory = tempfile::tempdir().expect("it can be made");
        let mut names = TempNames::watch(&[directory.path().to_owned(), directory.path().join("missing")]);
        let fixed = directory.path().join("shop");
        fs::create_dir(&fixed).expect("it can be made");
        fs::write(directory.path().join("drawn-1"), "").expect("it can be written");
        assert!(!names.is_repeated());
        fs::remove_dir(&fixed).expect("it is empty");
        fs::write(directory.path().join("drawn-2"), "").expect("it can be written");
        assert!(!names.is_repeated());
        fs::create_dir(&fixed).expect("it can be made");
        assert!(names.is_repeated());
    }
}
