//! Counts the processes that load the shim, and checks each program before it is started.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;

use crate::executable::{CLEARED, HEAD, OWN_CALLS, PRIVILEGED, Reach, look};
use crate::real_functions::interpose;
use crate::settings::{REPORT, active, page};
use crate::shared_page::{Page, TEXT};
use crate::system::{self, OpenFile};

type Path = *const c_char;
type StringArray = *const *const c_char;
type Opaque = *mut c_void;

/// Counts this process.
pub fn initialize() {
    let Some(page) = page() else { return };
    page.processes.fetch_add(1, Relaxed);
    if is_go() {
        let mut path = [0; 1024];
        // A Go program loads the shim but makes its system calls itself.
        if let Some(file) = OpenFile::open(b"/proc/self/cmdline\0", 0) {
            let argv = file.read(&mut path);
            let program = argv.split(|byte| *byte == 0).next().unwrap_or_default();
            report_missed(page, OWN_CALLS, program);
        }
    }
}

/// Whether the program is written in Go, which an ELF note says.
fn is_go() -> bool {
    let mut head = [0; HEAD * 2];
    let Some(file) = OpenFile::open(b"/proc/self/exe\0", 0) else { return false };
    // An ELF note: size of the name, size of the rest, kind 4, and the name.
    file.read(&mut head)
        .windows(12)
        .any(|note| note == b"\x04\0\0\0Go\0\0\0\0\0\0" || note[..8] == *b"\x04\0\0\0Go\0\0")
}

/// Each program is reported once. The shared page has room for some names only.
fn report_missed(page: &Page, reason: u8, path: &[u8]) {
    let used = (page.used.load(Relaxed) as usize).min(TEXT);
    let mut start = 0;
    while start < used {
        let letter = |index: usize| page.text.get(index).map_or(0, |letter| letter.load(Relaxed));
        let end = (start..used).find(|index| letter(*index) == 0).unwrap_or(used);
        let same = end - start == path.len() + 1 && letter(start) == reason;
        if same && path.iter().enumerate().all(|(index, byte)| letter(start + 1 + index) == *byte) {
            return;
        }
        start = end + 1;
    }
    let size = path.len() + 2;
    let from = page.used.fetch_add(size as u32, Relaxed) as usize;
    let Some(room) = page.text.get(from..from.saturating_add(size)) else { return };
    for (letter, byte) in room.iter().zip([reason].iter().chain(path).chain(&[0])) {
        letter.store(*byte, Relaxed);
    }
}

/// Called before a program is started.
unsafe fn check_start(path: Path, search: bool, envp: StringArray) {
    if active() & REPORT == 0 || path.is_null() {
        return;
    }
    let Some(page) = page() else { return };
    let path = system::c_bytes(path);
    if !search || path.contains(&b'/') {
        examine(page, path, envp);
        return;
    }
    let path_variable = system::env_var(b"PATH\0").unwrap_or(b"/bin:/usr/bin");
    for directory in path_variable.split(|byte| *byte == b':') {
        let mut candidate = [0; 1024];
        let size = directory.len() + 1 + path.len();
        if size < candidate.len() {
            candidate[..directory.len()].copy_from_slice(directory);
            candidate[directory.len()] = b'/';
            candidate[directory.len() + 1..size].copy_from_slice(path);
            if system::mode_and_owner(&candidate)
                .is_some_and(|(mode, _)| mode & 0o111 != 0 && mode & 0o170000 == 0o100000)
            {
                examine(page, &candidate[..size], envp);
                return;
            }
        }
    }
}

unsafe fn examine(page: &Page, path: &[u8], envp: StringArray) {
    let mut with_nul = [0; 1024];
    if path.len() >= with_nul.len() {
        return;
    }
    with_nul[..path.len()].copy_from_slice(path);
    let mut head = [0; HEAD];
    let Some(file) = OpenFile::open(&with_nul, 0) else { return };
    let head = file.read(&mut head);
    match look(head) {
        Reach::Missed(reason) => return report_missed(page, reason, path),
        Reach::Script(interpreter) => {
            let mut inner = [0; HEAD];
            let mut with_nul = [0; 1024];
            if interpreter.len() < with_nul.len() {
                with_nul[..interpreter.len()].copy_from_slice(interpreter);
                if let Some(file) = OpenFile::open(&with_nul, 0)
                    && let Reach::Missed(reason) = look(file.read(&mut inner))
                {
                    return report_missed(page, reason, interpreter);
                }
            }
        }
        Reach::Reached | Reach::Unknown => {}
    }
    const SET_USER: u16 = 0o4000;
    const SET_GROUP: u16 = 0o2000;
    if let Some((mode, owner)) = system::mode_and_owner(&with_nul)
        && (mode & SET_USER != 0 && owner != system::user_id() || mode & SET_GROUP != 0 && system::user_id() != 0)
    {
        report_missed(page, PRIVILEGED, path);
    } else if !loads_shim(envp) {
        report_missed(page, CLEARED, path);
    }
}

/// Whether the environment makes the new program load the shim.
unsafe fn loads_shim(mut envp: StringArray) -> bool {
    let (mut preloads, mut has_settings) = (false, false);
    while !envp.is_null() && !(*envp).is_null() {
        let variable = system::c_bytes(*envp);
        preloads |= variable.starts_with(b"LD_PRELOAD=");
        has_settings |= variable.starts_with(b"UNFLAKE_UNDER=");
        envp = envp.add(1);
    }
    preloads && has_settings
}

interpose! {
    fn execve(path: Path, argv: StringArray, envp: StringArray) -> c_int, or -1 => |real| {
        check_start(path, false, envp);
        real(path, argv, envp)
    };
    fn execv(path: Path, argv: StringArray) -> c_int, or -1 => |real| {
        check_start(path, false, system::environment());
        real(path, argv)
    };
    fn execvp(file: Path, argv: StringArray) -> c_int, or -1 => |real| {
        check_start(file, true, system::environment());
        real(file, argv)
    };
    fn execvpe(file: Path, argv: StringArray, envp: StringArray) -> c_int, or -1 => |real| {
        check_start(file, true, envp);
        real(file, argv, envp)
    };
    fn posix_spawn(pid: Opaque, path: Path, actions: Opaque, attributes: Opaque, argv: StringArray, envp: StringArray) -> c_int, or 38 => |real| {
        check_start(path, false, envp);
        real(pid, path, actions, attributes, argv, envp)
    };
    fn posix_spawnp(pid: Opaque, file: Path, actions: Opaque, attributes: Opaque, argv: StringArray, envp: StringArray) -> c_int, or 38 => |real| {
        check_start(file, true, envp);
        real(pid, file, actions, attributes, argv, envp)
    };
}
