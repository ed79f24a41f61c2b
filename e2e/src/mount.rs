//! Temporary mounts, for tests of full and read-only file systems.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A mounted file system that is unmounted when this value is dropped.
pub struct Mount(PathBuf);

impl Mount {
    /// A small file system in memory. None where this user may not mount.
    pub fn tmpfs(directory: &Path, options: &str) -> Option<Self> {
        Self::at(&["-t", "tmpfs", "-o", options, "tmpfs"], directory)
    }

    /// Makes `directory` read-only, for root too. None where this user may not mount.
    pub fn read_only(directory: &Path) -> Option<Self> {
        let bound = Self::at(&["--bind", directory.to_str()?], directory)?;
        run("mount", &["-o", "remount,bind,ro", directory.to_str()?]).then_some(bound)
    }

    fn at(arguments: &[&str], directory: &Path) -> Option<Self> {
        let arguments = [arguments, &[directory.to_str()?]].concat();
        run("mount", &arguments).then(|| Self(directory.to_owned()))
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
