//! Which programs are reached, and which are not: each that comes up with us in it is counted, and each that is started is looked
//! at before it takes our place.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;

use crate::page::{Page, TEXT};
use crate::program::{CLEARED, HEAD, OWN_CALLS, PRIVILEGED, Program, look};
use crate::real::stand;
use crate::settings::{MARK, on, page};
use crate::system::{self, File};

type Path = *const c_char;
type Words = *const *const c_char;
type Any = *mut c_void;

/// This process is one that was reached.
pub fn come() {
    let Some(page) = page() else { return };
    page.processes.fetch_add(1, Relaxed);
    if is_go() {
        let mut path = [0; 1024];
        // A program of this kind is loaded as any other, and then asks the system by itself.
        if let Some(file) = File::open(b"/proc/self/cmdline\0", 0) {
            let words = file.read(&mut path);
            let own = words.split(|byte| *byte == 0).next().unwrap_or_default();
            note(page, OWN_CALLS, own);
        }
    }
}

/// Whether the program is written in Go: it says so in a note.
fn is_go() -> bool {
    let mut head = [0; HEAD * 2];
    let Some(file) = File::open(b"/proc/self/exe\0", 0) else { return false };
    // A note: size of the name, size of the rest, kind 4, and the name.
    file.read(&mut head)
        .windows(12)
        .any(|note| note == b"\x04\0\0\0Go\0\0\0\0\0\0" || note[..8] == *b"\x04\0\0\0Go\0\0")
}

/// Once each. What there is no room for is not told by name.
fn note(page: &Page, why: u8, path: &[u8]) {
    let used = (page.used.load(Relaxed) as usize).min(TEXT);
    let mut at = 0;
    while at < used {
        let letter = |index: usize| page.text.get(index).map_or(0, |letter| letter.load(Relaxed));
        let end = (at..used).find(|index| letter(*index) == 0).unwrap_or(used);
        let same = end - at == path.len() + 1 && letter(at) == why;
        if same && path.iter().enumerate().all(|(index, byte)| letter(at + 1 + index) == *byte) {
            return;
        }
        at = end + 1;
    }
    let size = path.len() + 2;
    let from = page.used.fetch_add(size as u32, Relaxed) as usize;
    let Some(room) = page.text.get(from..from.saturating_add(size)) else { return };
    for (letter, byte) in room.iter().zip([why].iter().chain(path).chain(&[0])) {
        letter.store(*byte, Relaxed);
    }
}

/// A program is about to be started.
unsafe fn started(path: Path, search: bool, variables: Words) {
    if on() & MARK == 0 || path.is_null() {
        return;
    }
    let Some(page) = page() else { return };
    let path = system::text(path);
    if !search || path.contains(&b'/') {
        examine(page, path, variables);
        return;
    }
    let places = system::variable(b"PATH\0").unwrap_or(b"/bin:/usr/bin");
    for place in places.split(|byte| *byte == b':') {
        let mut whole = [0; 1024];
        let size = place.len() + 1 + path.len();
        if size < whole.len() {
            whole[..place.len()].copy_from_slice(place);
            whole[place.len()] = b'/';
            whole[place.len() + 1..size].copy_from_slice(path);
            if system::mode_and_owner(&whole).is_some_and(|(mode, _)| mode & 0o111 != 0 && mode & 0o170000 == 0o100000)
            {
                examine(page, &whole[..size], variables);
                return;
            }
        }
    }
}

unsafe fn examine(page: &Page, path: &[u8], variables: Words) {
    let mut closed = [0; 1024];
    if path.len() >= closed.len() {
        return;
    }
    closed[..path.len()].copy_from_slice(path);
    let mut head = [0; HEAD];
    let Some(file) = File::open(&closed, 0) else { return };
    let head = file.read(&mut head);
    match look(head) {
        Program::Missed(why) => return note(page, why, path),
        Program::Script(of) => {
            let mut inner = [0; HEAD];
            let mut closed = [0; 1024];
            if of.len() < closed.len() {
                closed[..of.len()].copy_from_slice(of);
                if let Some(file) = File::open(&closed, 0)
                    && let Program::Missed(why) = look(file.read(&mut inner))
                {
                    return note(page, why, of);
                }
            }
        }
        Program::Reached | Program::Unknown => {}
    }
    const SET_USER: u16 = 0o4000;
    const SET_GROUP: u16 = 0o2000;
    if let Some((mode, owner)) = system::mode_and_owner(&closed)
        && (mode & SET_USER != 0 && owner != system::user() || mode & SET_GROUP != 0 && system::user() != 0)
    {
        note(page, PRIVILEGED, path);
    } else if !is_told(variables) {
        note(page, CLEARED, path);
    }
}

/// Whether the new program will load us and know what for.
unsafe fn is_told(mut variables: Words) -> bool {
    let (mut loads, mut knows) = (false, false);
    while !variables.is_null() && !(*variables).is_null() {
        let variable = system::text(*variables);
        loads |= variable.starts_with(b"LD_PRELOAD=");
        knows |= variable.starts_with(b"UNFLAKE_UNDER=");
        variables = variables.add(1);
    }
    loads && knows
}

stand! {
    fn execve(path: Path, words: Words, variables: Words) -> c_int, or -1 => |real| {
        started(path, false, variables);
        real(path, words, variables)
    };
    fn execv(path: Path, words: Words) -> c_int, or -1 => |real| {
        started(path, false, system::variables());
        real(path, words)
    };
    fn execvp(file: Path, words: Words) -> c_int, or -1 => |real| {
        started(file, true, system::variables());
        real(file, words)
    };
    fn execvpe(file: Path, words: Words, variables: Words) -> c_int, or -1 => |real| {
        started(file, true, variables);
        real(file, words, variables)
    };
    fn posix_spawn(pid: Any, path: Path, actions: Any, how: Any, words: Words, variables: Words) -> c_int, or 38 => |real| {
        started(path, false, variables);
        real(pid, path, actions, how, words, variables)
    };
    fn posix_spawnp(pid: Any, file: Path, actions: Any, how: Any, words: Words, variables: Words) -> c_int, or 38 => |real| {
        started(file, true, variables);
        real(pid, file, actions, how, words, variables)
    };
}
