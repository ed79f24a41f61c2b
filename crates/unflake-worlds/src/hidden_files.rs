//! Files that processes of a world do not see: an overlay over each directory that contains one.
//!
//! The overlays are mounts in a namespace of the process. What it writes there is kept in memory
//! and gone with it; nothing on the machine changes.

#![allow(unsafe_code)] // Code between fork and exec.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

use nix::libc;
use serde::{Deserialize, Serialize};

use crate::error::WorldError;
use crate::limits::in_child;

/// The hidden paths, as data that another process of unflake can apply.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct HiddenFiles {
    paths: Vec<PathBuf>,
    /// An empty directory for the upper layers of overlays.
    layers: PathBuf,
    /// A directory whose files stay the same inside and outside.
    shared: Option<PathBuf>,
}

/// The mounts that hide files, ready for a process that must not allocate.
pub(crate) struct HidingMounts {
    user_map: CString,
    group_map: CString,
    /// Where the upper layers are: a file system in memory is mounted there.
    layers: CString,
    shared: Option<CString>,
    directories: Vec<HidingOverlay>,
}

struct HidingOverlay {
    directory: CString,
    upper: CString,
    work: CString,
    /// Entries of the upper layer that hide those below them.
    whiteouts: Vec<CString>,
    options: CString,
}

impl HiddenFiles {
    /// Fails where the machine does not permit it.
    pub(crate) fn new(paths: &[PathBuf], layers: &Path, shared: Option<&Path>) -> Result<Self, WorldError> {
        let is_inside = |path: &PathBuf| paths.iter().any(|other| other != path && path.starts_with(other));
        let outermost = paths.iter().filter(|path| !is_inside(path)).cloned().collect();
        let hidden = Self { paths: outermost, layers: layers.to_owned(), shared: shared.map(Path::to_owned) };
        if let Some(mounts) = hidden.mounts() {
            in_child(|| mounts.enter()).map_err(WorldError::any("hide files (overlays in a mount namespace)"))?;
        }
        Ok(hidden)
    }

    /// None: nothing is hidden.
    pub(crate) fn mounts(&self) -> Option<HidingMounts> {
        let mut by_directory: BTreeMap<&Path, Vec<&OsStr>> = BTreeMap::new();
        for path in &self.paths {
            if let (Some(directory), Some(name)) = (path.parent().filter(|parent| parent.is_dir()), path.file_name()) {
                by_directory.entry(directory).or_default().push(name);
            }
        }
        if by_directory.is_empty() {
            return None;
        }
        let layers = &self.layers;
        let overlay = |(number, (directory, names)): (usize, (&Path, Vec<&OsStr>))| {
            let (upper, work) = (layers.join(format!("{number}")), layers.join(format!("{number}-work")));
            HidingOverlay {
                whiteouts: names.iter().map(|name| c_string(&upper.join(name))).collect(),
                options: overlay_options(directory, &upper, &work),
                directory: c_string(directory),
                upper: c_string(&upper),
                work: c_string(&work),
            }
        };
        // SAFETY: these calls cannot fail.
        let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        let map = |id: u32| CString::new(format!("{id} {id} 1")).expect("digits and blanks");
        Some(HidingMounts {
            user_map: map(user),
            group_map: map(group),
            layers: c_string(layers),
            shared: self.shared.as_deref().map(c_string),
            directories: by_directory.into_iter().enumerate().map(overlay).collect(),
        })
    }
}

impl HidingMounts {
    /// Hides the files from this process. Allocates nothing: it is called between fork and exec.
    pub(crate) fn enter(&self) -> io::Result<()> {
        let mut here = [0_u8; libc::PATH_MAX as usize];
        // SAFETY: all strings end with a zero byte, and the buffer has the given length.
        unsafe {
            let root = libc::geteuid() == 0;
            if !root || libc::unshare(libc::CLONE_NEWNS) != 0 {
                done(libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS))?;
                write(c"/proc/self/setgroups", c"deny".to_bytes())?;
                write(c"/proc/self/uid_map", self.user_map.to_bytes())?;
                write(c"/proc/self/gid_map", self.group_map.to_bytes())?;
            }
            let here = here.as_mut_ptr().cast();
            if libc::getcwd(here, libc::PATH_MAX as usize).is_null() {
                return Err(io::Error::last_os_error());
            }
            mount(c"none", c"/", None, libc::MS_REC | libc::MS_PRIVATE, None)?;
            mount(c"none", &self.layers, Some(c"tmpfs"), 0, None)?;
            let shared = match &self.shared {
                Some(shared) => Some((shared, open(shared, libc::O_PATH)?)),
                None => None,
            };
            for overlay in &self.directories {
                done(libc::mkdir(overlay.upper.as_ptr(), 0o755))?;
                done(libc::mkdir(overlay.work.as_ptr(), 0o755))?;
                copy_mode(&overlay.directory, &overlay.upper)?;
                for whiteout in &overlay.whiteouts {
                    done(libc::mknod(whiteout.as_ptr(), libc::S_IFCHR, 0))?;
                }
                mount(c"overlay", &overlay.directory, Some(c"overlay"), 0, Some(&overlay.options))?;
            }
            // An overlay may cover it.
            if let Some((shared, descriptor)) = shared {
                let mut uncovered = [0_u8; 32];
                descriptor_path(descriptor, &mut uncovered);
                let uncovered = CStr::from_bytes_until_nul(&uncovered).unwrap_or_default();
                mount(uncovered, shared, None, libc::MS_BIND, None)?;
                libc::close(descriptor);
            }
            // The working directory may be below an overlay now.
            done(libc::chdir(here))
        }
    }
}

/// An overlay has the mode of its upper layer.
unsafe fn copy_mode(from: &CString, to: &CString) -> io::Result<()> {
    // SAFETY: the caller's strings end with a zero byte; a status is plain data.
    unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        done(libc::stat(from.as_ptr(), &raw mut status))?;
        done(libc::chmod(to.as_ptr(), status.st_mode & 0o7777))
    }
}

/// Writes `/proc/self/fd/N`.
pub(crate) fn descriptor_path(descriptor: i32, to: &mut [u8; 32]) {
    let prefix = b"/proc/self/fd/";
    to[..prefix.len()].copy_from_slice(prefix);
    let mut digits = [0_u8; 10];
    let (mut rest, mut count) = (descriptor.unsigned_abs(), 0);
    loop {
        digits[count] = b'0' + (rest % 10) as u8;
        (rest, count) = (rest / 10, count + 1);
        if rest == 0 {
            break;
        }
    }
    for (at, digit) in digits[..count].iter().rev().enumerate() {
        to[prefix.len() + at] = *digit;
    }
}

pub(crate) unsafe fn mount(
    source: &CStr,
    target: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
    options: Option<&CStr>,
) -> io::Result<()> {
    let kind = kind.map_or(ptr::null(), CStr::as_ptr);
    let options = options.map_or(ptr::null(), |options| options.as_ptr().cast());
    // SAFETY: all strings end with a zero byte.
    done(unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind, flags, options) })
}

pub(crate) unsafe fn write(path: &CStr, text: &[u8]) -> io::Result<()> {
    // SAFETY: the file is opened and closed here, and the text has that length.
    unsafe {
        let file = open(path, libc::O_WRONLY)?;
        let written = libc::write(file, text.as_ptr().cast(), text.len());
        let error = io::Error::last_os_error();
        libc::close(file);
        if written == text.len() as isize { Ok(()) } else { Err(error) }
    }
}

pub(crate) unsafe fn open(path: &CStr, flags: i32) -> io::Result<i32> {
    // SAFETY: the path ends with a zero byte.
    let descriptor = unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) };
    done(descriptor.min(0)).map(|()| descriptor)
}

pub(crate) fn done(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

pub(crate) fn c_string(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("a path has no zero byte")
}

/// Commas and colons separate options and layers, so they are escaped.
pub(crate) fn overlay_options(lower: &Path, upper: &Path, work: &Path) -> CString {
    let mut options = Vec::new();
    for (name, path) in [(&b"lowerdir="[..], lower), (b",upperdir=", upper), (b",workdir=", work)] {
        options.extend_from_slice(name);
        for byte in path.as_os_str().as_bytes() {
            if matches!(byte, b'\\' | b',' | b':') {
                options.push(b'\\');
            }
            options.push(*byte);
        }
    }
    CString::new(options).expect("a path has no zero byte")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_escaped_in_options() {
        let options = overlay_options(Path::new("/a,b:c"), Path::new("/u"), Path::new("/w"));
        assert_eq!(options.to_str().unwrap(), r"lowerdir=/a\,b\:c,upperdir=/u,workdir=/w");
    }

    #[test]
    fn descriptors_have_paths() {
        let mut path = [0; 32];
        descriptor_path(1207, &mut path);
        assert_eq!(CStr::from_bytes_until_nul(&path).unwrap(), c"/proc/self/fd/1207");
    }

    #[test]
    fn a_path_inside_another_is_hidden_with_it() {
        let place = tempfile::tempdir().unwrap();
        let paths = ["/nowhere/a/b", "/nowhere/a"].map(PathBuf::from);
        assert_eq!(HiddenFiles::new(&paths, place.path(), None).unwrap().paths, [Path::new("/nowhere/a")]);
    }
}
