//! System calls of the runtime. Files and memory go through `syscall` instead of the functions of
//! the C library: those may be replaced (by the project or a preloaded shim), instrumented, or be
//! cancellation points.

use core::ffi::{c_char, c_int, c_long, c_void};
use core::ptr::null_mut;

#[cfg(target_arch = "x86_64")]
mod numbers {
    pub const WRITE: i64 = 1;
    pub const CLOSE: i64 = 3;
    pub const MMAP: i64 = 9;
    pub const MUNMAP: i64 = 11;
    pub const RT_SIGPROCMASK: i64 = 14;
    pub const SCHED_YIELD: i64 = 24;
    pub const NANOSLEEP: i64 = 35;
    pub const GETPID: i64 = 39;
    pub const FTRUNCATE: i64 = 77;
    pub const GETCWD: i64 = 79;
    pub const GETPPID: i64 = 110;
    pub const PRCTL: i64 = 157;
    pub const GETTID: i64 = 186;
    pub const CLOCK_GETTIME: i64 = 228;
    pub const OPENAT: i64 = 257;
    pub const MKDIRAT: i64 = 258;
    pub const READLINKAT: i64 = 267;
    pub const FACCESSAT: i64 = 269;
    pub const FALLOCATE: i64 = 285;
    pub const STATX: i64 = 332;
}
#[cfg(target_arch = "aarch64")]
mod numbers {
    pub const GETCWD: i64 = 17;
    pub const MKDIRAT: i64 = 34;
    pub const FACCESSAT: i64 = 48;
    pub const FTRUNCATE: i64 = 46;
    pub const FALLOCATE: i64 = 47;
    pub const OPENAT: i64 = 56;
    pub const CLOSE: i64 = 57;
    pub const WRITE: i64 = 64;
    pub const READLINKAT: i64 = 78;
    pub const NANOSLEEP: i64 = 101;
    pub const CLOCK_GETTIME: i64 = 113;
    pub const SCHED_YIELD: i64 = 124;
    pub const RT_SIGPROCMASK: i64 = 135;
    pub const PRCTL: i64 = 167;
    pub const GETPID: i64 = 172;
    pub const GETPPID: i64 = 173;
    pub const GETTID: i64 = 178;
    pub const MUNMAP: i64 = 215;
    pub const MMAP: i64 = 222;
    pub const STATX: i64 = 291;
}
use numbers::*;

pub type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// The used part of `dl_phdr_info`.
#[repr(C)]
pub struct Loaded {
    /// Added to the addresses in the file.
    pub bias: usize,
    pub name: *const c_char,
    pub segments: *const ProgramHeader,
    pub count: u16,
}

/// `Elf64_Phdr`
#[repr(C)]
pub struct ProgramHeader {
    pub kind: u32,
    pub flags: u32,
    pub offset: u64,
    pub address: u64,
    pub physical: u64,
    pub in_file: u64,
    pub in_memory: u64,
    pub align: u64,
}

#[link(name = "c")]
unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn __errno_location() -> *mut c_int;
    fn getenv(name: *const c_char) -> *const c_char;
    fn dladdr(address: *const c_void, into: *mut [usize; 4]) -> c_int;
    static environ: *const *const c_char;
    pub fn dlerror() -> *const c_char;
    pub fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    pub fn dl_iterate_phdr(
        visit: unsafe extern "C" fn(*mut Loaded, usize, *mut c_void) -> c_int,
        with: *mut c_void,
    ) -> c_int;
    pub fn pthread_atfork(
        before: Option<unsafe extern "C" fn()>,
        parent: Option<unsafe extern "C" fn()>,
        child: Option<unsafe extern "C" fn()>,
    ) -> c_int;
    pub fn pthread_key_create(key: *mut u32, end: Option<unsafe extern "C" fn(*mut c_void)>) -> c_int;
    pub fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
    pub fn pthread_self() -> usize;
    pub fn malloc(size: usize) -> *mut c_void;
    pub fn free(what: *mut c_void);
    pub fn abort() -> !;
}

const AT_CWD: c_int = -100; // AT_FDCWD
const CLOEXEC: c_int = 0o2000000;
const CREATE: c_int = 0o100;
const EXCLUSIVE: c_int = 0o200;
const APPEND: c_int = 0o2000;
const READ_WRITE: c_int = 2;

pub const EXISTS: i32 = 17;
const NOT_SUPPORTED: i32 = 95;
const NO_SUCH_CALL: i32 = 38;

/// The result of a call, or the error number.
type SysResult<T> = Result<T, i32>;

fn check(value: c_long) -> SysResult<i64> {
    // SAFETY: errno of this thread.
    if value < 0 { Err(unsafe { *__errno_location() }) } else { Ok(value) }
}

/// Runs with signals blocked, and restores errno: nothing is visible outside, and no signal handler
/// can enter the runtime again on this thread.
pub fn without_signals<T>(work: impl FnOnce() -> T) -> T {
    const BLOCK: c_int = 0;
    const SET: c_int = 2;
    // A crash inside must still be one: signals of faults stay unblocked (ILL, TRAP, ABRT, BUS,
    // FPE, SEGV, SYS).
    let blocked = !(1u64 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 10 | 1 << 30);
    let mut old_mask = 0u64;
    // SAFETY: the masks have 8 bytes; errno is this thread's.
    unsafe {
        let errno = *__errno_location();
        syscall(RT_SIGPROCMASK, BLOCK, &raw const blocked, &raw mut old_mask, 8usize);
        let result = work();
        syscall(RT_SIGPROCMASK, SET, &raw const old_mask, null_mut::<u64>(), 8usize);
        *__errno_location() = errno;
        result
    }
}

/// The value of an environment variable. `name` is NUL-terminated.
pub fn env_var(name: &[u8]) -> Option<&'static [u8]> {
    // SAFETY: `name` and the value are NUL-terminated; the value is copied at start, before the
    // program can change the variable.
    unsafe {
        let value = getenv(name.as_ptr().cast());
        if value.is_null() { None } else { Some(c_bytes(value)) }
    }
}

/// # Safety
/// `start` points to NUL-terminated bytes.
pub unsafe fn c_bytes<'a>(start: *const c_char) -> &'a [u8] {
    // SAFETY: promised by the caller.
    unsafe { core::ffi::CStr::from_ptr(start).to_bytes() }
}

/// The current environment, null-terminated.
pub fn environment() -> *const *const c_char {
    // SAFETY: maintained by the C library.
    unsafe { environ }
}

/// Sleeps, at most until a signal arrives. Leaves errno alone.
pub fn sleep(microseconds: u64) {
    let time = [(microseconds / 1_000_000) as i64, (microseconds % 1_000_000 * 1_000) as i64];
    let error = errno();
    // SAFETY: a timespec has two words.
    unsafe { syscall(NANOSLEEP, time.as_ptr(), null_mut::<i64>()) };
    set_errno(error);
}

pub fn errno() -> c_int {
    // SAFETY: errno of this thread.
    unsafe { *__errno_location() }
}

pub fn set_errno(error: c_int) {
    // SAFETY: errno of this thread.
    unsafe { *__errno_location() = error };
}

/// Whether the path exists. An unreadable pointer gives EFAULT.
pub fn check_exists(at: c_int, path: *const c_char) -> SysResult<()> {
    // SAFETY: the kernel checks whether the path is readable.
    unsafe { check(syscall(FACCESSAT, at, path, 0)).map(drop) }
}

/// `path` is NUL-terminated.
pub fn is_executable(path: &[u8]) -> bool {
    const EXECUTE: c_int = 1;
    // SAFETY: the path is NUL-terminated.
    unsafe { syscall(FACCESSAT, AT_CWD, path.as_ptr(), EXECUTE) == 0 }
}

/// Start address of the program or library that contains this address; 0 if none does.
pub fn library_of(address: usize) -> usize {
    let mut found = [0; 4]; // Dl_info: file name, base, symbol name, symbol address.
    // SAFETY: writes four words; the address is only compared.
    match unsafe { dladdr(core::ptr::without_provenance(address), &mut found) } {
        0 => 0,
        _ => found[1],
    }
}

pub struct FileHandle(i64);

impl FileHandle {
    /// `path` is NUL-terminated.
    fn open(path: &[u8], flags: c_int) -> SysResult<FileHandle> {
        debug_assert!(path.last() == Some(&0));
        // SAFETY: the path is NUL-terminated.
        check(unsafe { syscall(OPENAT, AT_CWD, path.as_ptr(), flags | CLOEXEC, 0o644) }).map(FileHandle)
    }

    pub fn create_new(path: &[u8]) -> SysResult<FileHandle> {
        FileHandle::open(path, READ_WRITE | CREATE | EXCLUSIVE)
    }

    pub fn open_existing(path: &[u8]) -> SysResult<FileHandle> {
        FileHandle::open(path, READ_WRITE)
    }

    pub fn open_or_create(path: &[u8]) -> SysResult<FileHandle> {
        FileHandle::open(path, READ_WRITE | CREATE)
    }

    pub fn open_append(path: &[u8]) -> SysResult<FileHandle> {
        FileHandle::open(path, READ_WRITE | CREATE | APPEND)
    }

    /// Reserves disk space, so that a full disk is an error here and not a signal at the first
    /// access.
    pub fn allocate(&self, from: usize, size: usize) -> SysResult<()> {
        // SAFETY: passes numbers only.
        match check(unsafe { syscall(FALLOCATE, self.0, 0, from, size) }) {
            Err(NOT_SUPPORTED | NO_SUCH_CALL) => self.truncate(from + size),
            other => other.map(drop),
        }
    }

    pub fn truncate(&self, size: usize) -> SysResult<()> {
        // SAFETY: passes numbers only.
        check(unsafe { syscall(FTRUNCATE, self.0, size) }).map(drop)
    }

    pub fn map(&self, from: usize, size: usize, at_once: bool) -> SysResult<*mut u8> {
        const READ_AND_WRITE: c_int = 3;
        const SHARED: c_int = 1;
        const POPULATE: c_int = 0x8000;
        let flags = if at_once { SHARED | POPULATE } else { SHARED };
        // SAFETY: creates a new mapping.
        check(unsafe { syscall(MMAP, null_mut::<u8>(), size, READ_AND_WRITE, flags, self.0, from) })
            .map(|at| at as *mut u8)
    }

    /// Whether everything was written.
    pub fn write(&self, text: &[u8]) -> bool {
        // SAFETY: only reads `text`.
        unsafe { syscall(WRITE, self.0, text.as_ptr(), text.len()) == text.len() as c_long }
    }
}

impl Drop for FileHandle {
    fn drop(&mut self) {
        // SAFETY: this value owns the descriptor.
        unsafe { syscall(CLOSE, self.0) };
    }
}

/// # Safety
/// The mapping is not used any more.
pub unsafe fn unmap(at: *mut u8, size: usize) {
    // SAFETY: promised by the caller.
    unsafe { syscall(MUNMAP, at, size) };
}

pub fn make_directory(path: &[u8]) -> SysResult<()> {
    // SAFETY: the path is NUL-terminated.
    check(unsafe { syscall(MKDIRAT, AT_CWD, path.as_ptr(), 0o755) }).map(drop)
}

/// The target of a symbolic link; `path` is NUL-terminated.
pub fn read_link<'a>(path: &[u8], into: &'a mut [u8]) -> &'a [u8] {
    // SAFETY: writes at most the given length.
    let length = unsafe { syscall(READLINKAT, AT_CWD, path.as_ptr(), into.as_mut_ptr(), into.len()) };
    &into[..length.max(0) as usize]
}

pub fn current_directory(into: &mut [u8]) -> &[u8] {
    // SAFETY: writes at most the given length, which includes the final NUL.
    let length = unsafe { syscall(GETCWD, into.as_mut_ptr(), into.len()) };
    &into[..(length - 1).max(0) as usize]
}

/// Identifies the version of a file by size and modification time; zeros if it does not exist.
#[derive(Clone, Copy, Default)]
pub struct Stamp {
    pub size: u64,
    pub seconds: u64,
    pub nanoseconds: u64,
}

pub fn stamp(path: &[u8]) -> Stamp {
    let mut found = [0u64; 32]; // struct statx: 256 bytes
    // SAFETY: statx writes 256 bytes.
    let result = unsafe { syscall(STATX, AT_CWD, path.as_ptr(), 0, 0x7ff, found.as_mut_ptr()) };
    if result != 0 {
        return Stamp::default();
    }
    // stx_size is at 40, stx_mtime at 112: seconds, then nanoseconds in 32 bits.
    Stamp { size: found[5], seconds: found[14], nanoseconds: found[15] & 0xffff_ffff }
}

pub fn monotonic_nanoseconds() -> u64 {
    let mut time = [0u64; 2];
    // SAFETY: writes two words. 1 is the monotonic clock.
    unsafe { syscall(CLOCK_GETTIME, 1, time.as_mut_ptr()) };
    time[0] * 1_000_000_000 + time[1]
}

pub fn process_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { syscall(GETPID) as u32 }
}

pub fn parent_process_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { syscall(GETPPID) as u32 }
}

pub fn thread_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { syscall(GETTID) as u32 }
}

pub fn yield_now() {
    // SAFETY: no arguments.
    unsafe { syscall(SCHED_YIELD) };
}

/// NUL-terminated name of the calling thread.
pub fn thread_name() -> [u8; 16] {
    let mut name = [0; 16];
    // SAFETY: PR_GET_NAME (16) writes at most 16 bytes.
    unsafe { syscall(PRCTL, 16, name.as_mut_ptr(), 0, 0, 0) };
    name
}
