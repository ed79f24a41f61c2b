//! Rings when something below the watched directories has changed. Only a hint: what has changed is for a look to say.

use std::ffi::OsStr;
use std::path::Path;

#[cfg(target_os = "linux")]
use nix::{
    errno::Errno,
    sys::inotify::{AddWatchFlags, InitFlags, Inotify},
};

#[cfg(target_os = "linux")]
pub(crate) struct Bell {
    /// None where not everything can be watched: then it is no use.
    inotify: Option<Inotify>,
    rung: bool,
}

#[cfg(target_os = "linux")]
impl Bell {
    pub(crate) fn new() -> Self {
        let flags = InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC;
        Self { inotify: Inotify::init(flags).ok(), rung: false }
    }

    pub(crate) fn watch(&mut self, directory: &Path) {
        let changes = AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_MODIFY
            | AddWatchFlags::IN_ATTRIB
            | AddWatchFlags::IN_MOVE
            | AddWatchFlags::IN_ONLYDIR;
        // The number of watches is limited for each user.
        self.inotify = self.inotify.take().filter(|inotify| match inotify.add_watch(directory, changes) {
            Ok(_) | Err(Errno::ENOENT | Errno::ENOTDIR) => true,
            Err(_) => false,
        });
    }

    /// Whether it has rung since it was silenced, for anything but these names. None: nobody knows.
    pub(crate) fn has_rung(&mut self, passed_over: impl Fn(&OsStr) -> bool) -> Option<bool> {
        let inotify = self.inotify.as_ref()?;
        while let Ok(events) = inotify.read_events() {
            // An event without a name is of a directory itself, which its parent tells too, or says that there were too many.
            let heard = |name: Option<&OsStr>, mask: AddWatchFlags| match name {
                Some(name) => !passed_over(name),
                None => mask.contains(AddWatchFlags::IN_Q_OVERFLOW),
            };
            self.rung |= events.iter().any(|event| heard(event.name.as_deref(), event.mask));
        }
        Some(self.rung)
    }

    pub(crate) fn silence(&mut self) {
        let _ = self.has_rung(|_| true);
        self.rung = false;
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) struct Bell;

#[cfg(not(target_os = "linux"))]
impl Bell {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn watch(&mut self, _: &Path) {}

    pub(crate) fn has_rung(&mut self, _: impl Fn(&OsStr) -> bool) -> Option<bool> {
        None
    }

    pub(crate) fn silence(&mut self) {}
}
