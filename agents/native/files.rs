//! The files that a process reaches for, one line each time something new is done with one. The line is in the file before
//! the program goes on, so neither a crash nor a kill takes it back.

use core::cell::UnsafeCell;
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::part;
use crate::system::{self, File, Loaded};
use crate::text::Text;
use crate::thread;

/// What is done with a file; the words are those of the format.
#[derive(Clone, Copy)]
pub enum Kind {
    Read,
    Wrote,
    /// The names in a directory.
    Listed,
    /// A directory, and perhaps all below it, by a function that does not say what it meets.
    Walked,
    /// Only looked at: that it is there, what it is, where a link leads.
    Seen,
    /// Looked for and not there.
    Missed,
    Started,
    /// A library that is in the process.
    Loaded,
    /// Started with an environment that does not say that it is to be traced.
    Alone,
}

impl Kind {
    fn word(self) -> &'static [u8] {
        match self {
            Kind::Read => b"read",
            Kind::Wrote => b"wrote",
            Kind::Listed => b"listed",
            Kind::Walked => b"walked",
            Kind::Seen => b"seen",
            Kind::Missed => b"missed",
            Kind::Started => b"started",
            Kind::Loaded => b"loaded",
            Kind::Alone => b"alone",
        }
    }
}

/// The working directory, where a call takes the descriptor of one.
pub const HERE: c_int = -100;

const SLOTS: usize = 1 << 15;
/// More than this is not kept: the set stays half empty, so that looking something up is a step or two.
const MOST: usize = SLOTS / 2;

/// Hashes of what was written down; 0 where there is none. A copy of the process has a copy of the set: what the original
/// has written need not be written again.
static KNOWN: [AtomicU64; SLOTS] = [const { AtomicU64::new(0) }; SLOTS];
static COUNT: AtomicUsize = AtomicUsize::new(0);
static SAID_LOST: AtomicBool = AtomicBool::new(false);
static BUFFERS: Shared = Shared(UnsafeCell::new(Buffers { path: Text::new(), line: Text::new() }));

/// Touched under the lock of the part only: the stack may be small.
struct Shared(UnsafeCell<Buffers>);
// SAFETY: see above.
unsafe impl Sync for Shared {}

type Path = Text<4200>;

struct Buffers {
    path: Path,
    /// Twice as long: every byte of a path may have to be escaped.
    line: Text<8500>,
}

/// What became of a call that was to do `kind` with this path.
///
/// # Safety
/// The call was made with `path`: if it points nowhere the system has said so, in errno.
pub unsafe fn done(well: bool, kind: Kind, at: c_int, path: *const c_char) {
    if well {
        note(kind, at, path);
    } else {
        failed(system::errno(), at, path);
    }
}

/// # Safety
/// As `done`.
pub unsafe fn failed(error: c_int, at: c_int, path: *const c_char) {
    match error {
        // ENOENT, ENOTDIR, ELOOP
        2 | 20 | 40 => note(Kind::Missed, at, path),
        // EINTR, EBADF, ENOMEM, EFAULT, ENFILE, EMFILE, ENAMETOOLONG, ENOSYS: nothing about the file.
        4 | 9 | 12 | 14 | 23 | 24 | 36 | 38 => {}
        // It is there, and what it is (no directory, not for us, no link, already there) made the call fail.
        _ => note(Kind::Seen, at, path),
    }
}

/// # Safety
/// As `done`.
pub unsafe fn opened(well: bool, at: c_int, path: *const c_char, how: c_int) {
    const CREATE: c_int = 0o100;
    const EXCLUSIVE: c_int = 0o200;
    const EMPTIED: c_int = 0o1000;
    const UNNAMED: c_int = 0o20000000; // O_TMPFILE without O_DIRECTORY, which is part of it
    const ONLY_PATH: c_int = 0o10000000;
    #[cfg(target_arch = "x86_64")]
    const DIRECTORY: c_int = 0o200000;
    #[cfg(target_arch = "aarch64")]
    const DIRECTORY: c_int = 0o40000;
    if !well {
        return failed(system::errno(), at, path);
    }
    let (access, has) = (how & 3, |flags: c_int| how & flags == flags);
    if has(UNNAMED) {
    } else if has(ONLY_PATH) {
        note(Kind::Seen, at, path);
    } else if has(DIRECTORY) {
        note(Kind::Listed, at, path);
    } else {
        if access == 0 || access == 2 && !has(EMPTIED) && !has(CREATE | EXCLUSIVE) {
            note(Kind::Read, at, path);
        }
        if access != 0 || has(CREATE) || has(EMPTIED) {
            note(Kind::Wrote, at, path);
        }
    }
}

/// # Safety
/// As `done`; `mode` is what `fopen` was given.
pub unsafe fn opened_as(well: bool, path: *const c_char, mode: *const c_char) {
    if !well || mode.is_null() {
        return failed(system::errno(), HERE, path);
    }
    let mode = system::text(mode);
    let both = mode.iter().take_while(|letter| **letter != b',').any(|letter| *letter == b'+');
    if mode.first() == Some(&b'r') || both && mode.first() == Some(&b'a') {
        note(Kind::Read, HERE, path);
    }
    if mode.first() != Some(&b'r') || both {
        note(Kind::Wrote, HERE, path);
    }
}

/// Writes down that something is done with a path, relative to the directory that `at` is; with an empty path it is that
/// directory or file itself.
///
/// # Safety
/// `path` is null or closed by a zero.
pub unsafe fn note(kind: Kind, at: c_int, path: *const c_char) {
    if path.is_null() || !part::is_on() {
        return;
    }
    let path = system::text(path);
    if path.is_empty() && at == HERE {
        return;
    }
    // Most of what a program does it does again, and mostly with absolute paths: that needs no lock.
    if path.first() == Some(&b'/') && is_known(hash(kind, path)) {
        return;
    }
    keep(kind, |whole| join(whole, at, path));
}

/// Writes down the libraries that are loaded, but ours and those of the system, which every process has.
///
/// # Safety
/// The lock of the part is not held: the loader's comes first.
pub unsafe fn loaded() {
    unsafe extern "C" fn visit(loaded: *mut Loaded, _: usize, _: *mut c_void) -> c_int {
        if !(*loaded).name.is_null() {
            let name = system::text((*loaded).name);
            let common = [&b"/lib"[..], b"/usr/"].iter().any(|start| name.starts_with(start));
            if name.contains(&b'/') && !common && !name.ends_with(b"/libunflake_trace.so") {
                note(Kind::Loaded, HERE, (*loaded).name);
            }
        }
        0
    }
    system::dl_iterate_phdr(visit, core::ptr::null_mut());
}

/// A program that is started, found as the system finds it: along `PATH` if `search` and it is a mere name.
///
/// # Safety
/// `file` is null or closed by a zero, or points nowhere; `variables` is null or a list that a null closes.
pub unsafe fn program(at: c_int, file: *const c_char, search: bool, variables: *const *const c_char, runs: bool) {
    // Asked of the system first: where the path points nowhere it says so, and we would fall.
    let there = system::is_there(at, file);
    if !part::is_on() || file.is_null() || matches!(there, Err(14)) {
        return;
    }
    let name = system::text(file);
    let kind = if is_told(variables) { Kind::Started } else { Kind::Alone };
    if !search || name.contains(&b'/') {
        match there {
            _ if name.is_empty() => return note(kind, at, file), // An open file.
            Err(2 | 20 | 40) if !runs => return note(Kind::Missed, at, file),
            // It runs and is not there: it was started in another directory. The name is all that is known.
            Err(_) => return keep(kind, |whole| whole.add(name).is_whole()),
            // What is meant is the program behind it, and only here can be told which.
            Ok(()) if name.starts_with(b"/proc/") => {
                let closed = core::slice::from_raw_parts(name.as_ptr(), name.len() + 1);
                return keep(kind, |whole| {
                    whole.fill(|room| system::link(closed, room).len());
                    if whole.all().first() != Some(&b'/') {
                        whole.cut(0);
                        whole.add(name);
                    }
                    whole.is_whole()
                });
            }
            Ok(()) => return note(kind, at, file),
        }
    }
    keep(kind, |whole| {
        let path = system::variable(b"PATH\0").unwrap_or(b"/bin:/usr/bin");
        for directory in path.split(|byte| *byte == b':') {
            whole.cut(0);
            let joined = join(whole, HERE, directory) || directory.is_empty() && here(whole);
            if joined && whole.add(b"/").add(name).is_whole() && system::is_executable(whole.closed()) {
                return true;
            }
        }
        whole.cut(0);
        whole.add(name);
        runs
    });
}

/// Whether these variables have the one that makes the runtime work.
unsafe fn is_told(mut variables: *const *const c_char) -> bool {
    while !variables.is_null() && !(*variables).is_null() {
        if system::text(*variables).starts_with(b"UNFLAKE_TRACE=") {
            return true;
        }
        variables = variables.add(1);
    }
    false
}

unsafe fn here(into: &mut Path) -> bool {
    let before = into.len();
    into.fill(|room| system::directory(room).len());
    into.len() > before
}

/// The absolute path, as the program has put it: links are not followed, and `..` stays.
unsafe fn join(into: &mut Path, at: c_int, path: &[u8]) -> bool {
    if path.first() != Some(&b'/') {
        if at == HERE {
            if !here(into) {
                return false;
            }
        } else {
            let mut link: Text<32> = Text::new();
            link.add(b"/proc/self/fd/").number(at as u64);
            into.fill(|room| system::link(link.closed(), room).len());
            if into.all().first() != Some(&b'/') {
                return false; // A pipe or socket, or nothing.
            }
        }
        if !path.is_empty() && into.all() != b"/" {
            into.add(b"/");
        }
    }
    into.add(path).is_whole()
}

unsafe fn keep(kind: Kind, path: impl FnOnce(&mut Path) -> bool) {
    thread::apart(|| {
        part::locked(|| {
            let Buffers { path: whole, line } = &mut *BUFFERS.0.get();
            whole.cut(0);
            if !path(whole) {
                if !whole.is_whole() {
                    lost(b"too-long");
                }
                return;
            }
            let hash = hash(kind, whole.all());
            if is_known(hash) {
                return;
            }
            if COUNT.load(Ordering::Relaxed) >= MOST {
                return lost(b"limit");
            }
            line.cut(0);
            line.add(kind.word()).add(b"\t").escaped(whole.all()).add(b"\n");
            if write(line.all()) {
                learn(hash);
            } else {
                lost(b"no-room");
            }
        });
    });
}

unsafe fn lost(why: &[u8]) {
    if !SAID_LOST.swap(true, Ordering::Relaxed) {
        let mut line: Text<64> = Text::new();
        line.add(b"lost\t").add(why).add(b"\n");
        if !write(line.all()) {
            part::say_unwritten();
        }
    }
}

unsafe fn write(line: &[u8]) -> bool {
    part::files_path(|path| File::at_end(path).is_ok_and(|file| file.write(line)))
}

/// FNV-1a of the line, never 0.
fn hash(kind: Kind, path: &[u8]) -> u64 {
    let bytes = kind.word().iter().chain(b"\t").chain(path);
    bytes.fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)).max(1)
}

/// The slots that may have a hash, from the likeliest on. Its upper bits depend on all of the path.
fn slots(hash: u64) -> impl Iterator<Item = &'static AtomicU64> {
    let first = (hash >> 40) as usize;
    (0..SLOTS).map(move |step| &KNOWN[(first + step) % SLOTS])
}

fn is_known(hash: u64) -> bool {
    for slot in slots(hash) {
        match slot.load(Ordering::Relaxed) {
            0 => return false,
            there if there == hash => return true,
            _ => {}
        }
    }
    false
}

/// Under the lock.
fn learn(hash: u64) {
    if let Some(free) = slots(hash).find(|slot| slot.load(Ordering::Relaxed) == 0) {
        free.store(hash, Ordering::Relaxed);
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
}
