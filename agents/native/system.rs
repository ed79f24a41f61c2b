//! What the runtime asks of the system. Files and memory go through `syscall` and not through the functions of the C
//! library: those may be replaced (by the project, by a preloaded shim), instrumented, or be a point of cancellation.

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

/// `dl_phdr_info`, as far as it is read here.
#[repr(C)]
pub struct Loaded {
    /// What is added to the addresses in the file.
    pub bias: usize,
    pub name: *const c_char,
    pub segments: *const Segment,
    pub count: u16,
}

/// `Elf64_Phdr`
#[repr(C)]
pub struct Segment {
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

const HERE: c_int = -100; // AT_FDCWD
const CLOEXEC: c_int = 0o2000000;
const CREATE: c_int = 0o100;
const EXCLUSIVE: c_int = 0o200;
const APPEND: c_int = 0o2000;
const READ_WRITE: c_int = 2;

pub const EXISTS: i32 = 17;
const NOT_SUPPORTED: i32 = 95;
const NO_SUCH_CALL: i32 = 38;

/// What a call gave, or the error number.
type Answer<T> = Result<T, i32>;

fn answer(value: c_long) -> Answer<i64> {
    // SAFETY: the C library's errno of this thread.
    if value < 0 { Err(unsafe { *__errno_location() }) } else { Ok(value) }
}

/// Nothing that happens inside is visible outside: errno is as before, and no signal handler runs meanwhile, so that one
/// thread never is twice in here.
pub fn quietly<T>(work: impl FnOnce() -> T) -> T {
    const BLOCK: c_int = 0;
    const SET: c_int = 2;
    // A crash inside must still be one: the signals of faults stay open (ILL, TRAP, ABRT, BUS, FPE, SEGV, SYS).
    let all = !(1u64 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 10 | 1 << 30);
    let mut before = 0u64;
    // SAFETY: the masks are 8 bytes, as said; errno is this thread's.
    unsafe {
        let errno = *__errno_location();
        syscall(RT_SIGPROCMASK, BLOCK, &raw const all, &raw mut before, 8usize);
        let done = work();
        syscall(RT_SIGPROCMASK, SET, &raw const before, null_mut::<u64>(), 8usize);
        *__errno_location() = errno;
        done
    }
}

/// The value of an environment variable, without its closing zero. `name` has one.
pub fn variable(name: &[u8]) -> Option<&'static [u8]> {
    // SAFETY: `name` is closed by a zero, and so is the answer, which lives as long as nobody sets the variable anew;
    // it is copied at start-up, before anybody can.
    unsafe {
        let value = getenv(name.as_ptr().cast());
        if value.is_null() { None } else { Some(text(value)) }
    }
}

/// # Safety
/// `start` points to bytes closed by a zero.
pub unsafe fn text<'a>(start: *const c_char) -> &'a [u8] {
    // SAFETY: as promised by the caller.
    unsafe { core::ffi::CStr::from_ptr(start).to_bytes() }
}

/// The variables as they are now, closed by a null.
pub fn variables() -> *const *const c_char {
    // SAFETY: the C library's.
    unsafe { environ }
}

pub fn errno() -> c_int {
    // SAFETY: this thread's.
    unsafe { *__errno_location() }
}

pub fn set_errno(error: c_int) {
    // SAFETY: this thread's.
    unsafe { *__errno_location() = error };
}

/// Whether there is such a path, which may also point nowhere: then it is EFAULT.
pub fn is_there(at: c_int, path: *const c_char) -> Answer<()> {
    // SAFETY: the system looks whether it may read the path.
    unsafe { answer(syscall(FACCESSAT, at, path, 0)).map(drop) }
}

/// `path` is closed by a zero.
pub fn is_executable(path: &[u8]) -> bool {
    const EXECUTE: c_int = 1;
    // SAFETY: a closed path.
    unsafe { syscall(FACCESSAT, HERE, path.as_ptr(), EXECUTE) == 0 }
}

/// Where the program or library begins that this address is in; 0: nowhere.
pub fn library_of(address: usize) -> usize {
    let mut found = [0; 4]; // Dl_info: name, beginning, and of the symbol the same.
    // SAFETY: writes four words; the address is only compared.
    match unsafe { dladdr(core::ptr::without_provenance(address), &mut found) } {
        0 => 0,
        _ => found[1],
    }
}

pub struct File(i64);

impl File {
    /// `path` is closed by a zero.
    fn open(path: &[u8], how: c_int) -> Answer<File> {
        debug_assert!(path.last() == Some(&0));
        // SAFETY: a closed path.
        answer(unsafe { syscall(OPENAT, HERE, path.as_ptr(), how | CLOEXEC, 0o644) }).map(File)
    }

    pub fn new(path: &[u8]) -> Answer<File> {
        File::open(path, READ_WRITE | CREATE | EXCLUSIVE)
    }

    pub fn old(path: &[u8]) -> Answer<File> {
        File::open(path, READ_WRITE)
    }

    pub fn old_or_new(path: &[u8]) -> Answer<File> {
        File::open(path, READ_WRITE | CREATE)
    }

    pub fn at_end(path: &[u8]) -> Answer<File> {
        File::open(path, READ_WRITE | CREATE | APPEND)
    }

    /// Makes room on the disk, so that a full one is an error here and not a signal at the first touch.
    pub fn reserve(&self, from: usize, size: usize) -> Answer<()> {
        // SAFETY: numbers only.
        match answer(unsafe { syscall(FALLOCATE, self.0, 0, from, size) }) {
            Err(NOT_SUPPORTED | NO_SUCH_CALL) => self.cut(from + size),
            other => other.map(drop),
        }
    }

    pub fn cut(&self, size: usize) -> Answer<()> {
        // SAFETY: numbers only.
        answer(unsafe { syscall(FTRUNCATE, self.0, size) }).map(drop)
    }

    pub fn map(&self, from: usize, size: usize, at_once: bool) -> Answer<*mut u8> {
        const READ_AND_WRITE: c_int = 3;
        const SHARED: c_int = 1;
        const POPULATE: c_int = 0x8000;
        let how = if at_once { SHARED | POPULATE } else { SHARED };
        // SAFETY: a new mapping that overlaps nothing.
        answer(unsafe { syscall(MMAP, null_mut::<u8>(), size, READ_AND_WRITE, how, self.0, from) })
            .map(|at| at as *mut u8)
    }

    /// Whether all of it was written.
    pub fn write(&self, text: &[u8]) -> bool {
        // SAFETY: reads `text` only.
        unsafe { syscall(WRITE, self.0, text.as_ptr(), text.len()) == text.len() as c_long }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: opened here and nowhere kept.
        unsafe { syscall(CLOSE, self.0) };
    }
}

/// # Safety
/// Nobody uses the mapping any more.
pub unsafe fn unmap(at: *mut u8, size: usize) {
    // SAFETY: as promised by the caller.
    unsafe { syscall(MUNMAP, at, size) };
}

pub fn make_directory(path: &[u8]) -> Answer<()> {
    // SAFETY: a path closed by a zero.
    answer(unsafe { syscall(MKDIRAT, HERE, path.as_ptr(), 0o755) }).map(drop)
}

/// Where a symbolic link leads; `path` is closed by a zero.
pub fn link<'a>(path: &[u8], into: &'a mut [u8]) -> &'a [u8] {
    // SAFETY: writes at most the length given.
    let length = unsafe { syscall(READLINKAT, HERE, path.as_ptr(), into.as_mut_ptr(), into.len()) };
    &into[..length.max(0) as usize]
}

pub fn directory(into: &mut [u8]) -> &[u8] {
    // SAFETY: writes at most the length given; the length includes the closing zero.
    let length = unsafe { syscall(GETCWD, into.as_mut_ptr(), into.len()) };
    &into[..(length - 1).max(0) as usize]
}

/// Which state of a file it is: its size and when it was last changed. Zeros if there is none.
#[derive(Clone, Copy, Default)]
pub struct Stamp {
    pub size: u64,
    pub seconds: u64,
    pub nanoseconds: u64,
}

pub fn stamp(path: &[u8]) -> Stamp {
    let mut found = [0u64; 32]; // struct statx: 256 bytes
    // SAFETY: statx writes its 256 bytes.
    let done = unsafe { syscall(STATX, HERE, path.as_ptr(), 0, 0x7ff, found.as_mut_ptr()) };
    if done != 0 {
        return Stamp::default();
    }
    // stx_size is at 40, stx_mtime at 112: seconds, then nanoseconds in 32 bits.
    Stamp { size: found[5], seconds: found[14], nanoseconds: found[15] & 0xffff_ffff }
}

pub fn clock() -> u64 {
    let mut time = [0u64; 2];
    // SAFETY: writes two words. 1 is the monotonic clock.
    unsafe { syscall(CLOCK_GETTIME, 1, time.as_mut_ptr()) };
    time[0] * 1_000_000_000 + time[1]
}

pub fn process() -> u32 {
    // SAFETY: no arguments.
    unsafe { syscall(GETPID) as u32 }
}

pub fn parent_process() -> u32 {
    // SAFETY: no arguments.
    unsafe { syscall(GETPPID) as u32 }
}

pub fn thread() -> u32 {
    // SAFETY: no arguments.
    unsafe { syscall(GETTID) as u32 }
}

pub fn give_way() {
    // SAFETY: no arguments.
    unsafe { syscall(SCHED_YIELD) };
}

/// Name of the calling thread, closed by a zero.
pub fn name() -> [u8; 16] {
    let mut name = [0; 16];
    // SAFETY: PR_GET_NAME (16) writes at most 16 bytes.
    unsafe { syscall(PRCTL, 16, name.as_mut_ptr(), 0, 0, 0) };
    name
}
