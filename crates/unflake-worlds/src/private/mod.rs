//! Private worlds: attempts that run side by side without meeting. Each has its own view of files, network
//! and inter-process communication, by namespaces of the kernel; what it writes is in memory and gone with it.
//!
//! A [`PrivatePlan`] is made and tried once per run. Processes enter it between fork and exec
//! ([`mod@enter`]); an agent inside a runner enters it after a fork, by the same plan as JSON.

mod enter;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::libc;
use serde::{Deserialize, Serialize};
use unflake_model::{Privacy, PrivatePart};

use crate::hidden_files::{c_string, overlay_options};
use crate::limits::in_child;

pub(crate) use enter::WorldEntry;

/// The directories of temporary files and of shared memory.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];
const SHARED_MEMORY: &str = "/dev/shm";

/// What should be private, and of which project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateRequest {
    pub parts: Privacy,
    pub project: PathBuf,
    /// Directories whose files stay the same inside and outside.
    pub keep: Vec<PathBuf>,
}

/// How a process enters a private world, as data for other processes and agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrivatePlan {
    /// What is private in it.
    pub parts: Privacy,
    /// Flags of unshare(2).
    namespaces: i32,
    /// The user and the group of the process, where it needs a user namespace.
    user: Option<(u32, u32)>,
    /// An empty directory; a file system in memory is mounted there for the upper layers of overlays.
    layers: PathBuf,
    /// In the order in which they are mounted: of two that are nested, the inner one first.
    overlays: Vec<PlannedOverlay>,
    /// Directories that become empty.
    empty: Vec<PathBuf>,
    /// Directories whose files stay the same inside and outside, though an overlay covers them.
    through: Vec<PathBuf>,
    /// Private directories that must be writable.
    #[serde(skip)]
    written: Vec<PathBuf>,
    /// Where the directories of temporary files cannot be private: each process gets its own `TMPDIR` in here.
    temp_in: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PlannedOverlay {
    directory: PathBuf,
    upper: PathBuf,
    work: PathBuf,
    mode: u32,
    options: String,
}

/// A part that cannot be private here, and why.
pub type SharedPart = (PrivatePart, String);

impl PrivatePlan {
    /// A plan for what this machine permits of the request, and what it does not. `run_dir` stays the same
    /// inside and outside. None: not even files of unflake can be written.
    pub fn make(request: &PrivateRequest, run_dir: &Path) -> (Option<Self>, Vec<SharedPart>) {
        let mut shared = Vec::new();
        let layers = run_dir.join("private");
        if let Err(error) = fs::create_dir_all(&layers) {
            return (None, all_shared(&request.parts, &error.to_string()));
        }
        let through = [vec![run_dir.to_owned()], request.keep.clone()].concat();
        let plan_of =
            |parts: &Privacy, user: Option<(u32, u32)>| Self::planned(parts, request, user, &layers, &through);
        let is_permitted = |user: &Option<(u32, u32)>| plan_of(&Privacy::default(), *user).try_out().is_ok();
        let Some(user) = [None, Some(current_user())].into_iter().find(is_permitted) else {
            let plan = Self { namespaces: 0, ..plan_of(&Privacy::default(), None) };
            return (Some(plan), all_shared(&request.parts, "namespaces are not permitted here"));
        };
        let all = plan_of(&request.parts, user);
        if all.try_out().is_ok() {
            return (Some(all), shared);
        }
        // Each part is tried with those before it, so that one that fails takes no other with it.
        let mut parts = Privacy::default();
        for part in &request.parts.0 {
            let more = Privacy(parts.0.iter().chain([part]).copied().collect());
            match plan_of(&more, user).try_out() {
                Ok(()) => parts = more,
                Err(error) => shared.push((*part, explained(&error))),
            }
        }
        (Some(plan_of(&parts, user)), shared)
    }

    fn planned(
        parts: &Privacy,
        request: &PrivateRequest,
        user: Option<(u32, u32)>,
        layers: &Path,
        through: &[PathBuf],
    ) -> Self {
        let mounts = mount_points();
        let mut directories = overlaid(parts, &request.project, user, &mounts);
        // The overlay that covers the upper layers comes last, and inner ones before outer ones.
        directories.sort_by_key(|directory| (layers.starts_with(directory), Reverse(directory.components().count())));
        let is_overlaid = |path: &&PathBuf| directories.iter().any(|one| path.starts_with(one));
        let overlays: Vec<_> = (directories.iter().enumerate())
            .map(|(number, directory)| PlannedOverlay::new(number, directory, layers, user.is_some()))
            .collect();
        let own = [Some(request.project.clone()), std::env::home_dir()].into_iter().flatten();
        let is_writable = |path: &PathBuf| nix::unistd::access(path, nix::unistd::AccessFlags::W_OK).is_ok();
        let written = own.filter_map(|path| path.canonicalize().ok()).filter(is_writable);
        // The project may be the home.
        let written: BTreeSet<PathBuf> = written.filter(|path| is_overlaid(&path)).collect();
        let written = written.into_iter().collect();
        let mounted = mounts_below(&directories, &mounts);
        let through = mounted.iter().chain(through).filter(is_overlaid).filter(|path| path.exists()).cloned().collect();
        let temp = parts.has(PrivatePart::Temp);
        let empty = temp.then(|| PathBuf::from(SHARED_MEMORY)).filter(|path| path.is_dir()).into_iter().collect();
        let flags = [
            (true, libc::CLONE_NEWNS),
            (user.is_some(), libc::CLONE_NEWUSER),
            (parts.has(PrivatePart::Network), libc::CLONE_NEWNET),
            (parts.has(PrivatePart::Ipc), libc::CLONE_NEWIPC),
            (parts.has(PrivatePart::HostName), libc::CLONE_NEWUTS),
        ];
        let namespaces = flags.iter().filter(|(wanted, _)| *wanted).fold(0, |all, (_, flag)| all | flag);
        let needs_variable = request.parts.has(PrivatePart::Temp) && !temp;
        let temp_in = layers.parent().map(Path::to_owned).filter(|_| needs_variable);
        let (parts, layers) = (parts.clone(), layers.to_owned());
        Self { parts, namespaces, user, layers, overlays, empty, through, written, temp_in }
    }

    /// Enters it in a child and writes there. An overlay cannot copy directories of users that a user
    /// namespace does not know.
    fn try_out(&self) -> io::Result<()> {
        let entry = WorldEntry::new(self);
        let name = format!(".unflake-{}", std::process::id());
        let probes: Vec<_> = self.written.iter().map(|directory| c_string(&directory.join(&name))).collect();
        in_child(|| entry.enter().and_then(|()| enter::write_to(&probes)))
    }

    /// The `TMPDIR` of a new process, where only that can be its own. Removed with the run.
    pub(crate) fn own_temp(&self) -> Option<PathBuf> {
        let place = tempfile::Builder::new().prefix("temp-").tempdir_in(self.temp_in.as_ref()?);
        place.ok().map(tempfile::TempDir::keep)
    }

    /// Whether a process in it has another user namespace: it cannot reach files of unflake through
    /// `/proc`, such as a preloaded library.
    pub fn needs_user_namespace(&self) -> bool {
        self.user.is_some()
    }
}

impl PlannedOverlay {
    fn new(number: usize, directory: &Path, layers: &Path, in_user_namespace: bool) -> Self {
        let (upper, work) = (layers.join(format!("{number}")), layers.join(format!("{number}-work")));
        let mode = fs::metadata(directory).map_or(0o755, |data| data.permissions().mode() & 0o7777);
        let mut options = overlay_options(directory, &upper, &work).to_string_lossy().into_owned();
        if in_user_namespace {
            // Attributes that mark removed directories: others need privileges.
            options += ",userxattr";
        }
        Self { directory: directory.to_owned(), upper, work, mode, options }
    }
}

fn explained(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EINVAL) => "no overlay is possible there: too many layers, or a mount below it".to_owned(),
        Some(libc::EOVERFLOW) => "files there belong to users that a user namespace does not know".to_owned(),
        _ => error.to_string(),
    }
}

fn current_user() -> (u32, u32) {
    (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw())
}

fn all_shared(parts: &Privacy, why: &str) -> Vec<SharedPart> {
    parts.0.iter().map(|part| (*part, why.to_owned())).collect()
}

/// The directories of these parts that need an overlay. One inside another has its own only where a
/// directory between them is mounted, which an overlay does not show, or belongs to a user whom the
/// user namespace does not know, which an overlay cannot copy.
fn overlaid(parts: &Privacy, project: &Path, user: Option<(u32, u32)>, mounts: &[PathBuf]) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = Vec::new();
    if parts.has(PrivatePart::Temp) {
        all.extend(TEMPORARY.map(PathBuf::from));
        all.push(std::env::temp_dir());
    }
    if parts.has(PrivatePart::Home) {
        all.extend(std::env::home_dir());
    }
    if parts.has(PrivatePart::Project) {
        all.push(project.to_owned());
    }
    let mut all: Vec<PathBuf> = all.iter().filter_map(|path| path.canonicalize().ok()).collect();
    // An overlay over everything would cover devices and processes too.
    all.retain(|path| path.is_dir() && path.parent().is_some());
    all.sort();
    let mut found: Vec<PathBuf> = Vec::new();
    for path in all {
        let outer = found.iter().rfind(|outer| path.starts_with(outer));
        let is_separate = |outer: &PathBuf| {
            path != *outer
                && (mounts.iter().any(|one| one != outer && one.starts_with(outer) && path.starts_with(one))
                    || user.is_some_and(|user| is_cut_off(&path, outer, user)))
        };
        if outer.is_none_or(is_separate) {
            found.push(path);
        }
    }
    found
}

/// Whether a directory, or one between it and an outer one, belongs to another user or group.
fn is_cut_off(path: &Path, outer: &Path, user: (u32, u32)) -> bool {
    let is_foreign = |one: &Path| fs::metadata(one).is_ok_and(|data| (data.uid(), data.gid()) != user);
    path.ancestors().take_while(|one| *one != outer).any(is_foreign)
}

fn mount_points() -> Vec<PathBuf> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let point = |line: &str| line.split(' ').nth(4).map(|path| PathBuf::from(unescaped(path)));
    let mut found: Vec<PathBuf> = table.lines().filter_map(point).collect();
    found.sort();
    found.dedup();
    found
}

/// The mount points below directories that are no overlays themselves: an overlay does not show what
/// is mounted below it.
fn mounts_below(directories: &[PathBuf], mounts: &[PathBuf]) -> Vec<PathBuf> {
    let is_below = |path: &&PathBuf| directories.iter().any(|one| path.starts_with(one)) && !directories.contains(path);
    let mut found: Vec<PathBuf> = mounts.iter().filter(is_below).cloned().collect();
    // Those below another one come with it.
    found.dedup_by(|path, outer| path.starts_with(&*outer));
    found
}

/// Blanks and the like are octal numbers in the mount table.
fn unescaped(path: &str) -> String {
    let mut parts = path.split('\\');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => text.extend([char::from(byte)].into_iter().chain(part[3..].chars())),
            None => text.extend(["\\", part]),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_unescaped() {
        assert_eq!(unescaped(r"/a\040b\134c"), r"/a b\c");
        assert_eq!(unescaped("/plain"), "/plain");
    }

    #[test]
    fn nested_directories_have_one_overlay() {
        let outer = tempfile::tempdir().unwrap();
        let project = outer.path().join("p");
        fs::create_dir(&project).unwrap();
        let parts = Privacy([PrivatePart::Temp, PrivatePart::Project].into());
        let found = overlaid(&parts, &project, None, &[]);
        assert!(!found.contains(&project) && found.iter().any(|path| project.starts_with(path)), "{found:?}");
        assert_eq!(overlaid(&Privacy::default(), &project, None, &[]), [] as [PathBuf; 0]);
    }

    #[test]
    fn a_project_that_is_mounted_has_its_own_overlay() {
        let outer = tempfile::tempdir().unwrap();
        let project = outer.path().join("p");
        fs::create_dir(&project).unwrap();
        let parts = Privacy([PrivatePart::Temp, PrivatePart::Project].into());
        let found = overlaid(&parts, &project, None, std::slice::from_ref(&project));
        assert!(found.contains(&project));
        assert_eq!(mounts_below(&found, std::slice::from_ref(&project)), [] as [PathBuf; 0]);
        assert!(overlaid(&parts, &project, None, &[outer.path().to_owned()]).contains(&project));
    }

    #[test]
    fn what_was_mounted_and_is_gone_keeps_nobody_out() {
        let place = tempfile::tempdir().unwrap();
        let (project, layers) = (place.path().join("p"), place.path().join("layers"));
        fs::create_dir(&project).unwrap();
        fs::create_dir(&layers).unwrap();
        let parts = Privacy([PrivatePart::Project].into());
        let request = PrivateRequest { parts: parts.clone(), project: project.clone(), keep: Vec::new() };
        let user = (!nix::unistd::geteuid().is_root()).then(current_user);
        let mut plan = PrivatePlan::planned(&parts, &request, user, &layers, &[]);
        if plan.try_out().is_err() {
            return; // Namespaces are not permitted here.
        }
        plan.through.push(project.join("gone"));
        plan.try_out().unwrap();
    }

    #[test]
    fn a_project_that_is_the_home_is_private() {
        let layers = tempfile::tempdir().unwrap();
        let project = std::env::home_dir().unwrap().canonicalize().unwrap();
        let parts = Privacy([PrivatePart::Home, PrivatePart::Project].into());
        let request = PrivateRequest { parts: parts.clone(), project: project.clone(), keep: Vec::new() };
        let user = (!nix::unistd::geteuid().is_root()).then(current_user);
        let plan = PrivatePlan::planned(&parts, &request, user, layers.path(), &[]);
        assert_eq!(plan.written, [project], "each place is tried once");
    }

    #[test]
    fn a_project_below_a_directory_of_another_user_has_its_own_overlay() {
        let outer = tempfile::tempdir().unwrap();
        let project = outer.path().join("p");
        fs::create_dir(&project).unwrap();
        let parts = Privacy([PrivatePart::Temp, PrivatePart::Project].into());
        let (user, group) = current_user();
        assert!(!overlaid(&parts, &project, Some((user, group)), &[]).contains(&project));
        assert!(overlaid(&parts, &project, Some((user + 1, group)), &[]).contains(&project));
    }
}
