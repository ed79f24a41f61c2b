use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system that is gone with this value.
pub struct Mount(PathBuf);

impl Mount {
    /// A small file system in memory. None where this user may not mount.
    pub fn tmpfs(place: &Path, options: &str) -> Option<Self> {
        Self::at(&["-t", "tmpfs", "-o", options, "tmpfs"], place)
    }

    /// Makes `place` read-only, for root too. None where this user may not mount.
    pub fn read_only(place: &Path) -> Option<Self> {
        let bound = Self::at(&["--bind", place.to_str()?], place)?;
        run("mount", &["-o", "remount,bind,ro", place.to_str()?]).then_some(bound)
    }

    fn at(arguments: &[&str], place: &Path) -> Option<Self> {
        let arguments = [arguments, &[place.to_str()?]].concat();
        run("mount", &arguments).then(|| Self(place.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        run("umount", &["-l", self.0.to_str().unwrap_or_default()]);
    }
}

fn run(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}
