//! Records the files that a process accesses: one line for each new access. The line is in the file
//! before the program continues, so that it survives a crash or a kill.

use core::cell::UnsafeCell;
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::process;
use crate::system::{self, FileHandle, Loaded};
use crate::text::TextBuffer;
use crate::thread;

/// What is done with a file, named as in the trace format.
#[derive(Clone, Copy)]
pub enum AccessKind {
    Read,
    Wrote,
    /// The entries of a directory.
    Listed,
    /// A directory, and possibly everything below it, by a function that does not report what it
    /// visits.
    Walked,
    /// Only examined: existence, type, target of a link.
    Seen,
    /// Looked up and not found.
    Missed,
    Started,
    /// A library that is loaded in the process.
    Loaded,
    /// A program started with an environment that disables tracing.
    Alone,
}

impl AccessKind {
    fn name(self) -> &'static [u8] {
        match self {
            AccessKind::Read => b"read",
            AccessKind::Wrote => b"wrote",
            AccessKind::Listed => b"listed",
            AccessKind::Walked => b"walked",
            AccessKind::Seen => b"seen",
            AccessKind::Missed => b"missed",
            AccessKind::Started => b"started",
            AccessKind::Loaded => b"loaded",
            AccessKind::Alone => b"alone",
        }
    }
}

/// `AT_FDCWD`: the working directory, where a call takes a directory descriptor.
pub const AT_CWD: c_int = -100;

const SLOTS: usize = 1 << 15;
/// No more accesses are recorded, so that the hash set stays half empty and lookups take a step or
/// two.
const MAX_RECORDED: usize = SLOTS / 2;

/// Hashes of recorded lines; 0 for a free slot. A forked process inherits the set and need not
/// write again what its parent has written.
static RECORDED: [AtomicU64; SLOTS] = [const { AtomicU64::new(0) }; SLOTS];
static COUNT: AtomicUsize = AtomicUsize::new(0);
static LOSS_REPORTED: AtomicBool = AtomicBool::new(false);
static BUFFERS: LockedBuffers =
    LockedBuffers(UnsafeCell::new(Buffers { path: TextBuffer::new(), line: TextBuffer::new() }));

/// Used only under the lock of `process.rs`. Static, because the stack may be small.
struct LockedBuffers(UnsafeCell<Buffers>);
// SAFETY: see above.
unsafe impl Sync for LockedBuffers {}

type PathBuffer = TextBuffer<4200>;

struct Buffers {
    path: PathBuffer,
    /// Twice as long, because every byte of a path may need escaping.
    line: TextBuffer<8500>,
}

/// Records the result of a call that was to do `kind` with this path.
///
/// # Safety
/// The call was made with `path`: if it is not readable, the kernel has reported that in errno.
pub unsafe fn record_result(succeeded: bool, kind: AccessKind, dirfd: c_int, path: *const c_char) {
    if succeeded {
        record(kind, dirfd, path);
    } else {
        record_failure(system::errno(), dirfd, path);
    }
}

/// # Safety
/// As `record_result`.
pub unsafe fn record_failure(error: c_int, dirfd: c_int, path: *const c_char) {
    match error {
        // ENOENT, ENOTDIR, ELOOP
        2 | 20 | 40 => record(AccessKind::Missed, dirfd, path),
        // EINTR, EBADF, ENOMEM, EFAULT, ENFILE, EMFILE, ENAMETOOLONG, ENOSYS: unrelated to the
        // file.
        4 | 9 | 12 | 14 | 23 | 24 | 36 | 38 => {}
        // The file exists, and its type or permissions made the call fail.
        _ => record(AccessKind::Seen, dirfd, path),
    }
}

/// # Safety
/// As `record_result`.
pub unsafe fn record_open(succeeded: bool, dirfd: c_int, path: *const c_char, flags: c_int) {
    const CREATE: c_int = 0o100;
    const EXCLUSIVE: c_int = 0o200;
    const TRUNCATE: c_int = 0o1000;
    const TMPFILE: c_int = 0o20000000; // O_TMPFILE without O_DIRECTORY, which is part of it
    const PATH_ONLY: c_int = 0o10000000;
    #[cfg(target_arch = "x86_64")]
    const DIRECTORY: c_int = 0o200000;
    #[cfg(target_arch = "aarch64")]
    const DIRECTORY: c_int = 0o40000;
    if !succeeded {
        return record_failure(system::errno(), dirfd, path);
    }
    let (access, has) = (flags & 3, |bits: c_int| flags & bits == bits);
    if has(TMPFILE) {
    } else if has(PATH_ONLY) {
        record(AccessKind::Seen, dirfd, path);
    } else if has(DIRECTORY) {
        record(AccessKind::Listed, dirfd, path);
    } else {
        if access == 0 || access == 2 && !has(TRUNCATE) && !has(CREATE | EXCLUSIVE) {
            record(AccessKind::Read, dirfd, path);
        }
        if access != 0 || has(CREATE) || has(TRUNCATE) {
            record(AccessKind::Wrote, dirfd, path);
        }
    }
}

/// # Safety
/// As `record_result`; `mode` is the second argument of `fopen`.
pub unsafe fn record_fopen(succeeded: bool, path: *const c_char, mode: *const c_char) {
    if !succeeded || mode.is_null() {
        return record_failure(system::errno(), AT_CWD, path);
    }
    let mode = system::c_bytes(mode);
    let reads_and_writes = mode.iter().take_while(|letter| **letter != b',').any(|letter| *letter == b'+');
    if mode.first() == Some(&b'r') || reads_and_writes && mode.first() == Some(&b'a') {
        record(AccessKind::Read, AT_CWD, path);
    }
    if mode.first() != Some(&b'r') || reads_and_writes {
        record(AccessKind::Wrote, AT_CWD, path);
    }
}

/// Records an access to a path relative to the directory `dirfd`; an empty path stands for the
/// descriptor itself.
///
/// # Safety
/// `path` is null or NUL-terminated.
pub unsafe fn record(kind: AccessKind, dirfd: c_int, path: *const c_char) {
    if path.is_null() || !process::is_on() {
        return;
    }
    let path = system::c_bytes(path);
    if path.is_empty() && dirfd == AT_CWD {
        return;
    }
    // Most accesses are repeated and most paths are absolute: these need no lock.
    if path.first() == Some(&b'/') && is_recorded(hash(kind, path)) {
        return;
    }
    write_access(kind, |whole| join(whole, dirfd, path));
}

/// Records the loaded libraries, except this one and those of the system.
///
/// # Safety
/// The lock of `process.rs` is not held: the loader's lock comes first.
pub unsafe fn record_libraries() {
    unsafe extern "C" fn visit(loaded: *mut Loaded, _: usize, _: *mut c_void) -> c_int {
        if !(*loaded).name.is_null() {
            let name = system::c_bytes((*loaded).name);
            let common = [&b"/lib"[..], b"/usr/"].iter().any(|start| name.starts_with(start));
            if name.contains(&b'/') && !common && !name.ends_with(b"/libunflake_trace.so") {
                record(AccessKind::Loaded, AT_CWD, (*loaded).name);
            }
        }
        0
    }
    system::dl_iterate_phdr(visit, core::ptr::null_mut());
}

/// Records the start of a program, resolved like the kernel and libc do: along `PATH` if `search`
/// is set and the name has no slash.
///
/// # Safety
/// `file` is null, NUL-terminated or not readable; `variables` is null or a null-terminated array.
pub unsafe fn record_program(
    dirfd: c_int,
    file: *const c_char,
    search: bool,
    variables: *const *const c_char,
    has_started: bool,
) {
    // The kernel reports an unreadable path; reading it here would crash.
    let found = system::check_exists(dirfd, file);
    if !process::is_on() || file.is_null() || matches!(found, Err(14)) {
        return;
    }
    let name = system::c_bytes(file);
    let kind = if enables_tracing(variables) { AccessKind::Started } else { AccessKind::Alone };
    if !search || name.contains(&b'/') {
        match found {
            _ if name.is_empty() => return record(kind, dirfd, file), // An open file.
            Err(2 | 20 | 40) if !has_started => return record(AccessKind::Missed, dirfd, file),
            // The program runs but is not there: it was started in another directory, and only its
            // name is known.
            Err(_) => return write_access(kind, |whole| whole.add(name).is_complete()),
            // Only this process can resolve the link to the program.
            Ok(()) if name.starts_with(b"/proc/") => {
                let with_nul = core::slice::from_raw_parts(name.as_ptr(), name.len() + 1);
                return write_access(kind, |whole| {
                    whole.fill(|room| system::read_link(with_nul, room).len());
                    if whole.as_bytes().first() != Some(&b'/') {
                        whole.truncate(0);
                        whole.add(name);
                    }
                    whole.is_complete()
                });
            }
            Ok(()) => return record(kind, dirfd, file),
        }
    }
    write_access(kind, |whole| {
        let path = system::env_var(b"PATH\0").unwrap_or(b"/bin:/usr/bin");
        for directory in path.split(|byte| *byte == b':') {
            whole.truncate(0);
            let joined = join(whole, AT_CWD, directory) || directory.is_empty() && push_working_directory(whole);
            if joined && whole.add(b"/").add(name).is_complete() && system::is_executable(whole.with_nul()) {
                return true;
            }
        }
        whole.truncate(0);
        whole.add(name);
        has_started
    });
}

/// Whether the environment enables tracing.
unsafe fn enables_tracing(mut variables: *const *const c_char) -> bool {
    while !variables.is_null() && !(*variables).is_null() {
        if system::c_bytes(*variables).starts_with(b"UNFLAKE_TRACE=") {
            return true;
        }
        variables = variables.add(1);
    }
    false
}

unsafe fn push_working_directory(into: &mut PathBuffer) -> bool {
    let before = into.len();
    into.fill(|room| system::current_directory(room).len());
    into.len() > before
}

/// The absolute path as the program has written it: links are not followed, and `..` stays.
unsafe fn join(into: &mut PathBuffer, dirfd: c_int, path: &[u8]) -> bool {
    if path.first() != Some(&b'/') {
        if dirfd == AT_CWD {
            if !push_working_directory(into) {
                return false;
            }
        } else {
            let mut link: TextBuffer<32> = TextBuffer::new();
            link.add(b"/proc/self/fd/").number(dirfd as u64);
            into.fill(|room| system::read_link(link.with_nul(), room).len());
            if into.as_bytes().first() != Some(&b'/') {
                return false; // A pipe or socket, or nothing.
            }
        }
        if !path.is_empty() && into.as_bytes() != b"/" {
            into.add(b"/");
        }
    }
    into.add(path).is_complete()
}

unsafe fn write_access(kind: AccessKind, path: impl FnOnce(&mut PathBuffer) -> bool) {
    thread::untraced(|| {
        process::locked(|| {
            let Buffers { path: whole, line } = &mut *BUFFERS.0.get();
            whole.truncate(0);
            if !path(whole) {
                if !whole.is_complete() {
                    report_loss(b"too-long");
                }
                return;
            }
            let hash = hash(kind, whole.as_bytes());
            if is_recorded(hash) {
                return;
            }
            if COUNT.load(Ordering::Relaxed) >= MAX_RECORDED {
                return report_loss(b"limit");
            }
            line.truncate(0);
            line.add(kind.name()).add(b"\t").escaped(whole.as_bytes()).add(b"\n");
            if write(line.as_bytes()) {
                insert(hash);
            } else {
                report_loss(b"no-room");
            }
        });
    });
}

unsafe fn report_loss(reason: &[u8]) {
    if !LOSS_REPORTED.swap(true, Ordering::Relaxed) {
        let mut line: TextBuffer<64> = TextBuffer::new();
        line.add(b"lost\t").add(reason).add(b"\n");
        if !write(line.as_bytes()) {
            process::mark_incomplete();
        }
    }
}

unsafe fn write(line: &[u8]) -> bool {
    process::with_files_path(|path| FileHandle::open_append(path).is_ok_and(|file| file.write(line)))
}

/// FNV-1a of the line, never 0.
fn hash(kind: AccessKind, path: &[u8]) -> u64 {
    let bytes = kind.name().iter().chain(b"\t").chain(path);
    bytes.fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)).max(1)
}

/// The slots that may hold a hash, most likely first. Its upper bits depend on the whole path.
fn slots(hash: u64) -> impl Iterator<Item = &'static AtomicU64> {
    let first = (hash >> 40) as usize;
    (0..SLOTS).map(move |step| &RECORDED[(first + step) % SLOTS])
}

fn is_recorded(hash: u64) -> bool {
    for slot in slots(hash) {
        match slot.load(Ordering::Relaxed) {
            0 => return false,
            found if found == hash => return true,
            _ => {}
        }
    }
    false
}

/// Called under the lock.
fn insert(hash: u64) {
    if let Some(free) = slots(hash).find(|slot| slot.load(Ordering::Relaxed) == 0) {
        free.store(hash, Ordering::Relaxed);
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
}
