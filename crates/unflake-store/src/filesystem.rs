//! Detects network file systems. The write-ahead log of SQLite needs shared memory, which two
//! machines do not have.

use std::path::{Path, PathBuf};

/// Reads the mount table of the kernel. Without one (anything but Linux) the result is false.
pub(crate) fn is_shared(dir: &Path) -> bool {
    let Ok(mounts) = std::fs::read_to_string("/proc/self/mountinfo") else { return false };
    let Ok(dir) = dir.canonicalize() else { return false };
    kind_of(&dir, &mounts).is_some_and(is_shared_kind)
}

/// The type of the file system that contains `dir`: that of the longest mount point above it, and
/// of the last mount there.
fn kind_of<'a>(dir: &Path, mounts: &'a str) -> Option<&'a str> {
    mounts
        .lines()
        .filter_map(|line| {
            let (mount, source) = line.split_once(" - ")?;
            let point = PathBuf::from(unescape(mount.split(' ').nth(4)?));
            dir.starts_with(&point).then_some((point.components().count(), source.split(' ').next()?))
        })
        .max_by_key(|&(depth, _)| depth)
        .map(|(_, kind)| kind)
}

fn is_shared_kind(kind: &str) -> bool {
    // Any FUSE file system may be a network mount, or belong to the host of a container or a
    // virtual machine. `fuseblk` is a local disk.
    kind.starts_with("nfs")
        || kind.starts_with("smb")
        || kind.starts_with("fuse.")
        || [
            "9p",
            "acfs",
            "afs",
            "beegfs",
            "ceph",
            "cifs",
            "coda",
            "gfs2",
            "glusterfs",
            "gpfs",
            "lustre",
            "ncpfs",
            "ocfs2",
            "prl_fs",
            "vboxsf",
            "virtiofs",
            "vmhgfs",
        ]
        .contains(&kind)
}

/// The mount table escapes blanks in octal.
fn unescape(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /home rw - nfs4 server:/home rw
31 30 0:41 / /home/ann/local\\040disk rw - xfs /dev/sdb1 rw
32 22 0:42 / /mnt rw - tmpfs tmpfs rw
33 22 0:43 / /mnt rw - fuse.sshfs host: rw
";

    fn check(dir: &str, kind: &str, shared: bool) {
        assert_eq!(kind_of(Path::new(dir), MOUNTS), Some(kind), "{dir}");
        assert_eq!(is_shared_kind(kind), shared, "{kind}");
    }

    #[test]
    fn the_longest_and_latest_mount_wins() {
        check("/srv/project", "ext4", false);
        check("/home/ann/project", "nfs4", true);
        check("/home/ann/local disk/project", "xfs", false);
        check("/homely", "ext4", false);
        check("/mnt/project", "fuse.sshfs", true);
    }
}
