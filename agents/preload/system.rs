//! System calls of the shim. They use the instruction itself, because the functions of the C
//! library are replaced; errno stays unchanged.

use core::ffi::{c_char, c_int, c_long, c_void};

#[cfg(target_arch = "x86_64")]
pub mod numbers {
    pub const READ: i64 = 0;
    pub const WRITE: i64 = 1;
    pub const CLOSE: i64 = 3;
    pub const LSEEK: i64 = 8;
    pub const MMAP: i64 = 9;
    pub const MUNMAP: i64 = 11;
    pub const NANOSLEEP: i64 = 35;
    pub const GETPID: i64 = 39;
    pub const GETSOCKOPT: i64 = 55;
    pub const GETTIMEOFDAY: i64 = 96;
    pub const GETUID: i64 = 102;
    pub const FUTEX: i64 = 202;
    pub const CLOCK_GETTIME: i64 = 228;
    pub const CLOCK_NANOSLEEP: i64 = 230;
    pub const OPENAT: i64 = 257;
    pub const READLINKAT: i64 = 267;
    pub const PRLIMIT: i64 = 302;
    pub const GETRANDOM: i64 = 318;
    pub const MEMFD_CREATE: i64 = 319;
    pub const STATX: i64 = 332;
}
#[cfg(target_arch = "aarch64")]
pub mod numbers {
    pub const OPENAT: i64 = 56;
    pub const CLOSE: i64 = 57;
    pub const LSEEK: i64 = 62;
    pub const READ: i64 = 63;
    pub const WRITE: i64 = 64;
    pub const READLINKAT: i64 = 78;
    pub const FUTEX: i64 = 98;
    pub const NANOSLEEP: i64 = 101;
    pub const CLOCK_GETTIME: i64 = 113;
    pub const CLOCK_NANOSLEEP: i64 = 115;
    pub const GETTIMEOFDAY: i64 = 169;
    pub const GETPID: i64 = 172;
    pub const GETUID: i64 = 174;
    pub const GETSOCKOPT: i64 = 209;
    pub const MUNMAP: i64 = 215;
    pub const MMAP: i64 = 222;
    pub const PRLIMIT: i64 = 261;
    pub const GETRANDOM: i64 = 278;
    pub const MEMFD_CREATE: i64 = 279;
    pub const STATX: i64 = 291;
}
use numbers::*;

#[link(name = "c")]
unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
    fn getenv(name: *const c_char) -> *const c_char;
    #[link_name = "abort"]
    fn c_abort() -> !;
    static environ: *const *const c_char;
    pub fn dlerror() -> *const c_char;
    pub fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    pub fn malloc(size: usize) -> *mut c_void;
    pub fn realloc(what: *mut c_void, size: usize) -> *mut c_void;
    pub fn free(what: *mut c_void);
    fn sbrk(bytes: isize) -> *mut c_void;
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Timespec {
    pub seconds: i64,
    pub nanoseconds: i64,
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Timeval {
    pub seconds: i64,
    pub microseconds: i64,
}

/// A system call. A negative result is the error number.
pub unsafe fn call(number: i64, arguments: [usize; 6]) -> i64 {
    let [a, b, c, d, e, f] = arguments;
    let result: i64;
    #[cfg(target_arch = "x86_64")]
    core::arch::asm!(
        "syscall",
        inlateout("rax") number => result,
        in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
        lateout("rcx") _, lateout("r11") _,
        options(nostack)
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::asm!(
        "svc 0",
        in("x8") number,
        inlateout("x0") a => result, in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
        options(nostack)
    );
    result
}

pub fn abort() -> ! {
    // SAFETY: does not return.
    unsafe { c_abort() }
}

pub fn errno() -> c_int {
    // SAFETY: errno of this thread.
    unsafe { *__errno_location() }
}

pub fn set_errno(error: c_int) {
    // SAFETY: errno of this thread.
    unsafe { *__errno_location() = error };
}

/// The value of an environment variable. `name` is NUL-terminated.
pub fn env_var(name: &[u8]) -> Option<&'static [u8]> {
    // SAFETY: `name` and the value are NUL-terminated.
    unsafe {
        let value = getenv(name.as_ptr().cast());
        if value.is_null() { None } else { Some(c_bytes(value)) }
    }
}

/// The current environment, null-terminated.
pub fn environment() -> *const *const c_char {
    // SAFETY: maintained by the C library.
    unsafe { environ }
}

/// # Safety
/// `start` points to NUL-terminated bytes.
pub unsafe fn c_bytes<'a>(start: *const c_char) -> &'a [u8] {
    core::ffi::CStr::from_ptr(start).to_bytes()
}

pub const PAGE: usize = 4096;
const AT_FDCWD: usize = -100isize as usize;
const CLOEXEC: usize = 0o2000000;

pub struct OpenFile(i64);

impl OpenFile {
    /// `path` is NUL-terminated. `flags`: 0 to read, 2 to read and write.
    pub fn open(path: &[u8], flags: usize) -> Option<OpenFile> {
        // SAFETY: the path is NUL-terminated.
        let file = unsafe { call(OPENAT, [AT_FDCWD, path.as_ptr() as usize, flags | CLOEXEC, 0, 0, 0]) };
        (file >= 0).then_some(OpenFile(file))
    }

    pub fn read<'a>(&self, into: &'a mut [u8]) -> &'a [u8] {
        // SAFETY: writes at most the given length.
        let read = unsafe { call(READ, [self.0 as usize, into.as_mut_ptr() as usize, into.len(), 0, 0, 0]) };
        &into[..read.max(0) as usize]
    }

    /// An empty file in memory.
    pub fn create_in_memory(close_on_exec: bool) -> Option<OpenFile> {
        let flags = usize::from(close_on_exec);
        // SAFETY: the name is NUL-terminated.
        let file = unsafe { call(MEMFD_CREATE, [c"random".as_ptr() as usize, flags, 0, 0, 0, 0]) };
        (file >= 0).then_some(OpenFile(file))
    }

    pub fn write(&self, bytes: &[u8]) -> bool {
        // SAFETY: only reads.
        let wrote = unsafe { call(WRITE, [self.0 as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0]) };
        wrote == bytes.len() as i64
    }

    /// Gives the descriptor to the caller, positioned at the start.
    pub fn into_raw(self) -> c_int {
        // SAFETY: passes numbers only.
        unsafe { call(LSEEK, [self.0 as usize, 0, 0, 0, 0, 0]) };
        let number = self.0 as c_int;
        core::mem::forget(self);
        number
    }

    /// The mapping is shared between processes.
    pub fn map(&self, size: usize) -> Option<*mut u8> {
        const READ_AND_WRITE: usize = 3;
        const SHARED: usize = 1;
        // SAFETY: creates a new mapping.
        let at = unsafe { call(MMAP, [0, size, READ_AND_WRITE, SHARED, self.0 as usize, 0]) };
        (at > 0).then_some(at as *mut u8)
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        // SAFETY: this value owns the descriptor.
        unsafe { call(CLOSE, [self.0 as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Moves the end of the data segment, where the heap begins. The addresses in between are not used.
pub fn move_heap(bytes: usize) -> bool {
    // SAFETY: no pointer refers to the memory that is unmapped.
    unsafe {
        let start = sbrk(bytes as isize) as usize;
        if start == usize::MAX {
            return false;
        }
        // The heap goes on in the page in which the segment ends now.
        let (first, end) = (start.next_multiple_of(PAGE), (start + bytes) / PAGE * PAGE);
        if first < end {
            call(MUNMAP, [first, end - first, 0, 0, 0, 0]);
        }
        true
    }
}

/// Keeps a range of addresses free, and returns its start. Mappings are made below earlier ones.
pub fn reserve_addresses(size: usize) -> Option<usize> {
    const PRIVATE_ANONYMOUS_NORESERVE: usize = 0x2 | 0x20 | 0x4000;
    // SAFETY: creates a new mapping, which no code can access.
    let start = unsafe { call(MMAP, [0, size, 0, PRIVATE_ANONYMOUS_NORESERVE, usize::MAX, 0]) };
    (start > 0).then_some(start as usize)
}

/// # Safety
/// The range was reserved, and nothing is in it.
pub unsafe fn release_addresses(start: usize, size: usize) {
    call(MUNMAP, [start, size, 0, 0, 0, 0]);
}

/// Whether a resource of this process has a limit.
pub fn is_limited(resource: c_int) -> bool {
    let mut limits = [u64::MAX; 2];
    // SAFETY: writes two numbers.
    unsafe { call(PRLIMIT, [0, resource as usize, 0, limits.as_mut_ptr() as usize, 0, 0]) };
    limits[0] != u64::MAX
}

/// Where a link leads; empty if it cannot be read. `path` is NUL-terminated.
pub fn read_link<'a>(path: &[u8], into: &'a mut [u8]) -> &'a [u8] {
    // SAFETY: the path is NUL-terminated; at most the length of the buffer is written.
    let length =
        unsafe { call(READLINKAT, [AT_FDCWD, path.as_ptr() as usize, into.as_mut_ptr() as usize, into.len(), 0, 0]) };
    &into[..length.max(0) as usize]
}

/// Mode and owner of a file. `path` is NUL-terminated.
pub fn mode_and_owner(path: &[u8]) -> Option<(u16, u32)> {
    let mut found = [0u32; 64]; // struct statx: 256 bytes
    // SAFETY: the path is NUL-terminated; statx writes 256 bytes.
    let result = unsafe { call(STATX, [AT_FDCWD, path.as_ptr() as usize, 0, 0x7ff, found.as_mut_ptr() as usize, 0]) };
    (result == 0).then_some((found[7] as u16, found[5])) // stx_mode is at 28, stx_uid at 20
}

pub fn process_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(GETPID, [0; 6]) as u32 }
}

pub fn user_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(GETUID, [0; 6]) as u32 }
}

/// The real time of a clock in nanoseconds.
pub fn clock(which: c_int) -> i64 {
    let mut time = Timespec::default();
    // SAFETY: writes two words.
    unsafe { call(CLOCK_GETTIME, [which as usize, &raw mut time as usize, 0, 0, 0, 0]) };
    time.seconds * 1_000_000_000 + time.nanoseconds
}

/// Sleeps in real time; a signal ends the sleep.
pub fn sleep(nanoseconds: i64) {
    let time = Timespec { seconds: nanoseconds / 1_000_000_000, nanoseconds: nanoseconds % 1_000_000_000 };
    // SAFETY: only reads.
    unsafe { call(NANOSLEEP, [&raw const time as usize, 0, 0, 0, 0, 0]) };
}

/// The address family of a socket; None for other files.
pub fn socket_family(socket: c_int) -> Option<c_int> {
    const LEVEL: usize = 1; // SOL_SOCKET
    const DOMAIN: usize = 39; // SO_DOMAIN
    let (mut family, mut size) = (0 as c_int, size_of::<c_int>() as u32);
    let arguments = [socket as usize, LEVEL, DOMAIN, &raw mut family as usize, &raw mut size as usize, 0];
    // SAFETY: writes an int and its size.
    (unsafe { call(GETSOCKOPT, arguments) } == 0).then_some(family)
}

pub type Long = c_long;
