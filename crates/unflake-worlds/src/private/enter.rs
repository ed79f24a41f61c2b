//! Enters a private world between fork and exec, where nothing may be allocated.

#![allow(unsafe_code)] // Code between fork and exec.

use std::ffi::{CStr, CString};
use std::io;
use std::path::{Path, PathBuf};

use nix::libc;

use crate::hidden_files::{c_string, descriptor_path, done, mount, open, write};
use crate::limits::raise_loopback;
use crate::private::PrivatePlan;

/// At most so many directories stay the same inside and outside, and so many overlays are mounted.
const MAX_THROUGH: usize = 64;
const MAX_OVERLAYS: usize = 8;

/// A plan with its texts ready for system calls.
pub(crate) struct WorldEntry {
    namespaces: i32,
    maps: Option<[CString; 2]>,
    has_network: bool,
    layers: CString,
    overlays: Vec<OverlayTexts>,
    empty: Vec<CString>,
    /// Paths that stay the same though an overlay covers them; then the overlays themselves, in their order.
    held: Vec<CString>,
}

struct OverlayTexts {
    /// Its own position in what is held, and the positions of what it covers, outermost first.
    position: usize,
    covers: Vec<usize>,
    directory: CString,
    upper: CString,
    work: CString,
    mode: u32,
    options: CString,
}

/// Creates directories, in a child that has entered a private world.
pub(super) fn write_to(directories: &[CString]) -> io::Result<()> {
    // SAFETY: the paths end with a zero byte.
    directories.iter().try_for_each(|path| done(unsafe { libc::mkdir(path.as_ptr(), 0o755) }))
}

/// What was mounted when the plan was made may be gone: others use this machine, too.
fn unless_gone<T>(result: io::Result<T>, otherwise: T) -> io::Result<T> {
    match result {
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(otherwise),
        other => other,
    }
}

impl WorldEntry {
    pub(crate) fn new(plan: &PrivatePlan) -> Self {
        let map = |id: u32| CString::new(format!("{id} {id} 1")).expect("digits and blanks");
        let through: Vec<&Path> = plan.through.iter().take(MAX_THROUGH).map(PathBuf::as_path).collect();
        let overlaid: Vec<&Path> = plan.overlays.iter().map(|overlay| overlay.directory.as_path()).collect();
        assert!(overlaid.len() <= MAX_OVERLAYS, "a plan has a few overlays");
        let all = [&through[..], &overlaid].concat();
        let overlays = plan.overlays.iter().enumerate().map(|(number, overlay)| {
            let is_covered = |path: &Path| path.starts_with(&overlay.directory);
            let earlier = (0..number).filter(|one| is_covered(overlaid[*one])).map(|one| through.len() + one);
            let mut covers: Vec<usize> =
                (0..through.len()).filter(|one| is_covered(through[*one])).chain(earlier).collect();
            covers.sort_by_key(|one| all[*one].components().count());
            OverlayTexts {
                position: through.len() + number,
                covers,
                directory: c_string(&overlay.directory),
                upper: c_string(&overlay.upper),
                work: c_string(&overlay.work),
                mode: overlay.mode,
                options: c_string(Path::new(&overlay.options)),
            }
        });
        Self {
            namespaces: plan.namespaces,
            maps: plan.user.map(|(user, group)| [map(user), map(group)]),
            has_network: plan.namespaces & libc::CLONE_NEWNET != 0,
            layers: c_string(&plan.layers),
            overlays: overlays.collect(),
            empty: plan.empty.iter().map(|path| c_string(path)).collect(),
            held: all.iter().map(|path| c_string(path)).collect(),
        }
    }

    /// Allocates nothing.
    pub(crate) fn enter(&self) -> io::Result<()> {
        let mut here = [0_u8; libc::PATH_MAX as usize];
        let here = here.as_mut_ptr().cast();
        let mut held = [-1; MAX_THROUGH + MAX_OVERLAYS];
        if self.namespaces == 0 {
            return Ok(());
        }
        // SAFETY: all strings end with a zero byte, and the buffer has the given length.
        unsafe {
            if libc::getcwd(here, libc::PATH_MAX as usize).is_null() {
                return Err(io::Error::last_os_error());
            }
            done(libc::unshare(self.namespaces))?;
            if let Some([user, group]) = &self.maps {
                write(c"/proc/self/setgroups", c"deny".to_bytes())?;
                write(c"/proc/self/uid_map", user.to_bytes())?;
                write(c"/proc/self/gid_map", group.to_bytes())?;
            }
            mount(c"none", c"/", None, libc::MS_REC | libc::MS_PRIVATE, None)?;
            if !self.overlays.is_empty() {
                mount(c"none", &self.layers, Some(c"tmpfs"), 0, None)?;
            }
            let through = self.held.len() - self.overlays.len();
            for (path, descriptor) in self.held[..through].iter().zip(&mut held) {
                *descriptor = unless_gone(open(path, libc::O_PATH), -1)?;
            }
            for overlay in &self.overlays {
                done(libc::mkdir(overlay.upper.as_ptr(), 0o755))?;
                done(libc::mkdir(overlay.work.as_ptr(), 0o755))?;
                done(libc::chmod(overlay.upper.as_ptr(), overlay.mode))?;
                mount(c"overlay", &overlay.directory, Some(c"overlay"), 0, Some(&overlay.options))?;
                for covered in overlay.covers.iter().filter(|covered| held[**covered] >= 0) {
                    let mut uncovered = [0_u8; 32];
                    descriptor_path(held[*covered], &mut uncovered);
                    let uncovered = CStr::from_bytes_until_nul(&uncovered).unwrap_or_default();
                    let bound = mount(uncovered, &self.held[*covered], None, libc::MS_BIND | libc::MS_REC, None);
                    unless_gone(bound, ())?;
                }
                held[overlay.position] = open(&overlay.directory, libc::O_PATH)?;
            }
            for descriptor in &held[..self.held.len()] {
                libc::close(*descriptor);
            }
            for path in &self.empty {
                let options = c"mode=1777";
                mount(c"none", path, Some(c"tmpfs"), 0, Some(options))?;
            }
            if self.has_network {
                raise_loopback()?;
            }
            // The working directory may be below an overlay now.
            done(libc::chdir(here))
        }
    }
}
