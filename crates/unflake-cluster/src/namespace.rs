//! Shows the inputs of a run under the paths that they have where it was started, to this process
//! and those that it starts. What they write is gone with them.

use std::io;
use std::path::PathBuf;

#[cfg(target_os = "linux")]
pub(crate) use linux::{enter, own_temporary_files, show};

/// A tree to show: `source` is not changed, `layers` is an empty directory for what is written.
#[derive(Debug)]
pub(crate) struct ShownTree {
    pub(crate) source: PathBuf,
    pub(crate) path: PathBuf,
    pub(crate) layers: PathBuf,
}

/// Only Linux has namespaces.
#[cfg(not(target_os = "linux"))]
pub(crate) fn enter() -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn show(_tree: &ShownTree, _in_user_namespace: bool) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn own_temporary_files(
    _layers: &std::path::Path,
    _through: &[PathBuf],
    _in_user_namespace: bool,
) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{self, File, OpenOptions};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    use std::path::Path;

    use nix::libc::O_PATH;
    use nix::mount::{MsFlags, mount};
    use nix::sched::{CloneFlags, unshare};
    use nix::unistd::{getegid, geteuid};

    use super::{PathBuf, ShownTree, io};
    use crate::inputs::copy_tree;

    /// Enters a mount namespace of its own. The process must have one thread. Returns whether it needed a
    /// user namespace for it.
    pub(crate) fn enter() -> io::Result<bool> {
        let (user, group) = (geteuid(), getegid());
        let in_user_namespace = match unshare(CloneFlags::CLONE_NEWNS) {
            Ok(()) => false,
            Err(_) => {
                unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
                fs::write("/proc/self/setgroups", "deny")?;
                fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
                fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
                true
            }
        };
        let all = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        mount(None::<&Path>, "/", None::<&Path>, all, None::<&Path>)?;
        Ok(in_user_namespace)
    }

    /// Shows a tree under its path, as an overlay, or as a copy where no overlay is possible.
    pub(crate) fn show(tree: &ShownTree, in_user_namespace: bool) -> io::Result<()> {
        fs::create_dir_all(&tree.path).map_err(|error| {
            io::Error::new(error.kind(), format!("{} cannot be made: {error}", tree.path.display()))
        })?;
        if let Err(error) = overlay(&tree.source, &tree.path, &tree.layers, in_user_namespace) {
            tracing::debug!(%error, path = %tree.path.display(), "no overlay: the tree is copied");
            let copy = tree.layers.join("copy");
            copy_tree(&tree.source, &copy)?;
            mount(Some(&copy), &tree.path, None::<&Path>, MsFlags::MS_BIND, None::<&Path>)?;
        }
        Ok(())
    }

    fn overlay(source: &Path, path: &Path, layers: &Path, in_user_namespace: bool) -> io::Result<()> {
        let (upper, work) = (layers.join("upper"), layers.join("work"));
        fs::create_dir_all(&upper)?;
        fs::create_dir_all(&work)?;
        // The root of an overlay has the permissions of the upper layer.
        fs::set_permissions(&upper, fs::Permissions::from_mode(fs::metadata(source)?.permissions().mode() & 0o7777))?;
        let more = if in_user_namespace { ",userxattr" } else { "" };
        let layers = [("lowerdir", source), (",upperdir", &upper), (",workdir", &work)];
        let options: String = layers.iter().map(|(name, path)| format!("{name}={}", escaped(path))).collect();
        let options = format!("{options}{more}");
        mount(Some("overlay"), path, Some("overlay"), MsFlags::empty(), Some(options.as_str()))?;
        Ok(())
    }

    /// Gives this process temporary files of its own: workers of one machine that use the same names
    /// would disturb each other. `through`: directories that stay as they are.
    pub(crate) fn own_temporary_files(layers: &Path, through: &[PathBuf], in_user_namespace: bool) -> io::Result<()> {
        let usual = ["/tmp".into(), "/var/tmp".into(), std::env::temp_dir()];
        let mut directories: Vec<PathBuf> = usual.iter().filter_map(|path| path.canonicalize().ok()).collect();
        directories.sort();
        directories.dedup_by(|path, outer| path.starts_with(&*outer));
        for (number, directory) in directories.iter().enumerate() {
            let held = held_below(directory, through)?;
            let layers = layers.join(format!("temporary-{number}"));
            fs::create_dir_all(&layers)?;
            if layers.starts_with(directory) {
                // The layers of an overlay cannot be inside it, on the same file system.
                mount(Some("tmpfs"), &layers, Some("tmpfs"), MsFlags::empty(), None::<&Path>)?;
            }
            overlay(directory, directory, &layers, in_user_namespace)?;
            for (file, path) in held {
                let from = format!("/proc/self/fd/{}", file.as_raw_fd());
                let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
                mount(Some(from.as_str()), &path, None::<&Path>, flags, None::<&Path>)?;
            }
        }
        if Path::new("/dev/shm").is_dir() {
            mount(Some("tmpfs"), "/dev/shm", Some("tmpfs"), MsFlags::empty(), Some("mode=1777"))?;
        }
        Ok(())
    }

    /// The directories of `through` and the mounts below a directory, held open.
    fn held_below(directory: &Path, through: &[PathBuf]) -> io::Result<Vec<(File, PathBuf)>> {
        let table = fs::read_to_string("/proc/self/mountinfo")?;
        let mounted = table.lines().filter_map(|line| line.split(' ').nth(4)).map(PathBuf::from);
        let through = through.iter().filter_map(|path| path.canonicalize().ok());
        let mut paths: Vec<PathBuf> = mounted.chain(through).collect();
        paths.retain(|path| path != directory && path.starts_with(directory));
        paths.sort();
        paths.dedup();
        let hold = |path: PathBuf| {
            let file = OpenOptions::new().read(true).custom_flags(O_PATH).open(&path).ok()?;
            Some((file, path))
        };
        Ok(paths.into_iter().filter_map(hold).collect())
    }

    /// A path in the options of an overlay.
    fn escaped(path: &Path) -> String {
        let text = path.to_string_lossy();
        text.chars().flat_map(|one| ['\\'].into_iter().filter(move |_| "\\:,".contains(one)).chain([one])).collect()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn paths_in_options_are_escaped() {
            assert_eq!(escaped(Path::new("/a:b,c\\d")), "/a\\:b\\,c\\\\d");
            assert_eq!(escaped(Path::new("/plain")), "/plain");
        }
    }
}
