//! Notices that something in the watched directories has changed, with inotify. Only a hint: a scan
//! shows what has changed.

use std::ffi::{OsStr, OsString};
use std::path::Path;

#[cfg(target_os = "linux")]
use nix::{
    errno::Errno,
    sys::inotify::{AddWatchFlags, InitFlags, Inotify},
};

#[cfg(target_os = "linux")]
pub(crate) struct FsWatcher {
    /// None where not every directory can be watched: then it is useless.
    inotify: Option<Inotify>,
    has_changes: bool,
}

#[cfg(target_os = "linux")]
impl FsWatcher {
    pub(crate) fn new() -> Self {
        let flags = InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC;
        Self { inotify: Inotify::init(flags).ok(), has_changes: false }
    }

    pub(crate) fn watch(&mut self, directory: &Path) {
        let changes = AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_MODIFY
            | AddWatchFlags::IN_ATTRIB
            | AddWatchFlags::IN_MOVE
            | AddWatchFlags::IN_ONLYDIR;
        // The number of watches per user is limited.
        self.inotify = self.inotify.take().filter(|inotify| match inotify.add_watch(directory, changes) {
            Ok(_) | Err(Errno::ENOENT | Errno::ENOTDIR) => true,
            Err(_) => false,
        });
    }

    /// Reports only what is created in the directory itself.
    pub(crate) fn watch_created(&mut self, directory: &Path) {
        let created = AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO | AddWatchFlags::IN_ONLYDIR;
        self.inotify = self.inotify.take().filter(|inotify| inotify.add_watch(directory, created).is_ok());
    }

    /// The names that were created since the last call.
    pub(crate) fn take_created(&mut self) -> Vec<OsString> {
        let mut names = Vec::new();
        while let Some(Ok(events)) = self.inotify.as_ref().map(Inotify::read_events) {
            names.extend(events.into_iter().filter_map(|event| event.name));
        }
        names
    }

    /// Whether anything has changed since the last reset, except ignored names. None: not known.
    pub(crate) fn has_changes(&mut self, is_ignored: impl Fn(&OsStr) -> bool) -> Option<bool> {
        let inotify = self.inotify.as_ref()?;
        while let Ok(events) = inotify.read_events() {
            // An event without a name concerns a watched directory itself, whose parent has an
            // event too, or reports an overflow.
            let counts = |name: Option<&OsStr>, mask: AddWatchFlags| match name {
                Some(name) => !is_ignored(name),
                None => mask.contains(AddWatchFlags::IN_Q_OVERFLOW),
            };
            self.has_changes |= events.iter().any(|event| counts(event.name.as_deref(), event.mask));
        }
        Some(self.has_changes)
    }

    pub(crate) fn reset(&mut self) {
        let _ = self.has_changes(|_| true);
        self.has_changes = false;
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) struct FsWatcher;

#[cfg(not(target_os = "linux"))]
impl FsWatcher {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn watch(&mut self, _: &Path) {}

    pub(crate) fn watch_created(&mut self, _: &Path) {}

    pub(crate) fn take_created(&mut self) -> Vec<OsString> {
        Vec::new()
    }

    pub(crate) fn has_changes(&mut self, _: impl Fn(&OsStr) -> bool) -> Option<bool> {
        None
    }

    pub(crate) fn reset(&mut self) {}
}
