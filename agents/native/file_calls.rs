//! Interposed functions of the C library that take a file name. Each passes the call on unchanged
//! and records the result through `file_accesses.rs`.

#![allow(clippy::missing_safety_doc)] // Programs call each of these as the libc function of the same name.

use core::ffi::{c_char, c_int, c_void};
use core::mem::transmute;
use core::ptr::{null_mut, without_provenance_mut};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::file_accesses::{
    AT_CWD, AccessKind, record, record_failure, record_fopen, record_open, record_program, record_result,
};
use crate::process;
use crate::system;

type Path = *const c_char;
type Opaque = *mut c_void;
type StringArray = *const *const c_char;

/// Functions that record the access after the call; `result` is what the call returned. If the C
/// library lacks the function, nothing can be linked against it, and a call fails.
///
/// The real function is declared as one that does not unwind, so that the compiler adds no landing
/// pads: a thread that is cancelled while it waits in `open` unwinds through here, by the tables
/// that every function has.
macro_rules! record_after {
    ($(
        $(#[$variadic:tt])? fn $name:ident($($argument:ident: $type:ty),*) -> $result:ident: $return_type:ty, or $none:expr
            => $record_access:expr;
    )*) => {
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> $return_type {
                let real = next(FileCall::$name);
                if real == 0 {
                    system::set_errno(38); // ENOSYS
                    return $none;
                }
                let $result = record_after!(@call real ($($argument: $type),*) $return_type $(, $variadic)?);
                if process::is_on() {
                    let errno = system::errno();
                    $record_access;
                    system::set_errno(errno);
                }
                $result
            }
        )*
    };
    (@call $real:ident ($($argument:ident: $type:ty),*) $return_type:ty) => {
        transmute::<usize, unsafe extern "C" fn($($type),*) -> $return_type>($real)($($argument),*)
    };
    // The last argument of `open` exists only if a file may be created. It is always passed on:
    // whatever it is, it is in a register.
    (@call $real:ident ($($argument:ident: $type:ty),*) $return_type:ty, variadic) => {
        transmute::<usize, unsafe extern "C" fn($($type),*, ...) -> $return_type>($real)($($argument),*)
    };
}

/// Functions that do not return, are variadic, or call back into the program, which may leave them
/// by an exception: the access is recorded first, then they are jumped to, so that no frame of this
/// library is on the stack.
macro_rules! record_before {
    ($(fn $name:ident($one:ident, $two:ident, $three:ident, $four:ident) => $record_access:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
                unsafe extern "C" fn first($one: usize, $two: usize, $three: usize, $four: usize) -> usize {
                    if process::is_on() {
                        let errno = system::errno();
                        $record_access;
                        system::set_errno(errno);
                    }
                    let _ = ($one, $two, $three, $four);
                    next(FileCall::$name)
                }
                #[cfg(target_arch = "x86_64")]
                core::arch::naked_asm!(
                    "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                    "call {first}", "mov r11, rax",
                    "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi", "jmp r11",
                    first = sym first,
                );
                #[cfg(target_arch = "aarch64")]
                core::arch::naked_asm!(
                    "stp x29, x30, [sp, #-16]!", "stp x0, x1, [sp, #-16]!", "stp x2, x3, [sp, #-16]!",
                    "stp x4, x5, [sp, #-16]!", "stp x6, x7, [sp, #-16]!",
                    "bl {first}", "mov x16, x0",
                    "ldp x6, x7, [sp], #16", "ldp x4, x5, [sp], #16", "ldp x2, x3, [sp], #16",
                    "ldp x0, x1, [sp], #16", "ldp x29, x30, [sp], #16", "br x16",
                    first = sym first,
                );
            }
        )*
    };
}

macro_rules! names {
    ($($name:ident)*) => {
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy)]
        enum FileCall { $($name),* }
        const NAMES: &[&str] = &[$(concat!(stringify!($name), "\0")),*];
    };
}

names! {
    open open64 openat openat64 __open_2 __open64_2 __openat_2 __openat64_2 creat creat64 fopen fopen64 freopen freopen64
    opendir fdopendir stat stat64 lstat lstat64 fstatat fstatat64 __xstat __xstat64 __lxstat __lxstat64 __fxstatat
    __fxstatat64 statx access eaccess euidaccess faccessat readlink readlinkat __readlink_chk __readlinkat_chk realpath
    __realpath_chk canonicalize_file_name truncate truncate64 unlink unlinkat remove rmdir mkdir mkdirat rename renameat
    renameat2 link linkat symlink symlinkat posix_spawn posix_spawnp execve execv execvp execvpe execl execlp execle fexecve
    execveat system popen scandir scandir64 scandirat scandirat64 ftw ftw64 nftw nftw64 fts_open fts64_open glob glob64
}

static REAL: [AtomicUsize; NAMES.len()] = [const { AtomicUsize::new(0) }; NAMES.len()];
/// The C library has no such function.
const NONE: usize = 1;
const NEXT: usize = usize::MAX; // RTLD_NEXT

/// The function that the call would reach without this library, or 0.
unsafe fn next(call: FileCall) -> usize {
    let slot = &REAL[call as usize];
    let mut address = slot.load(Ordering::Relaxed);
    if address == 0 {
        address = system::dlsym(without_provenance_mut(NEXT), NAMES[call as usize].as_ptr().cast()) as usize;
        address = if address == 0 { NONE } else { address };
        slot.store(address, Ordering::Relaxed);
    }
    if address == NONE { 0 } else { address }
}

/// Looks all functions up at start: later that might happen in a signal handler.
pub unsafe fn resolve_all() {
    for (name, slot) in NAMES.iter().zip(&REAL) {
        let address = system::dlsym(without_provenance_mut(NEXT), name.as_ptr().cast()) as usize;
        slot.store(if address == 0 { NONE } else { address }, Ordering::Relaxed);
    }
    system::dlerror(); // The program must not see errors of these lookups.
}

/// A function whose calls do not arrive here, because another library comes first, as far as that
/// can be determined.
pub unsafe fn shadowed() -> Option<&'static [u8]> {
    let own = system::library_of(shadowed as *const () as usize);
    let checked = [FileCall::open, FileCall::open64, FileCall::openat64, FileCall::fopen, FileCall::fopen64, FileCall::opendir, FileCall::stat];
    let stands_before = |call: &FileCall| {
        let first = system::dlsym(null_mut(), NAMES[*call as usize].as_ptr().cast()) as usize; // RTLD_DEFAULT
        first != 0 && system::library_of(first) != own
    };
    let name = NAMES[checked.into_iter().find(stands_before)? as usize].as_bytes();
    Some(&name[..name.len() - 1])
}

const EMPTY: Path = c"".as_ptr();
const NOTHING: *mut c_void = null_mut();

/// A path that is examined and not opened. An empty path stands for an open file.
unsafe fn record_lookup(result: c_int, dirfd: c_int, path: Path) {
    if result != 0 {
        record_failure(system::errno(), dirfd, path);
    } else if !path.is_null() && *path != 0 {
        record(AccessKind::Seen, dirfd, path);
    }
}

unsafe fn record_change(result: c_int, dirfd: c_int, path: Path) {
    record_result(result == 0, AccessKind::Wrote, dirfd, path);
}

unsafe fn record_rename(result: c_int, dirfd: c_int, from: Path, to_dirfd: c_int, to: Path) {
    record_change(result, dirfd, from);
    if result == 0 {
        record_change(result, to_dirfd, to);
    }
}

unsafe fn record_link(result: c_int, dirfd: c_int, from: Path, to_dirfd: c_int, to: Path) {
    record_lookup(result, dirfd, from);
    if result == 0 {
        record_change(result, to_dirfd, to);
    }
}

unsafe fn record_spawn(result: c_int, file: Path, search: bool, envp: StringArray) {
    if result == 0 {
        record_program(AT_CWD, file, search, envp, true);
    } else if result != 14 && (!search || system::c_bytes(file).contains(&b'/')) {
        record_failure(result, AT_CWD, file); // EFAULT: the path is not readable.
    }
}

record_after! {
    #[variadic] fn open(path: Path, flags: c_int, mode: u32) -> result: c_int, or -1 => record_open(result >= 0, AT_CWD, path, flags);
    #[variadic] fn open64(path: Path, flags: c_int, mode: u32) -> result: c_int, or -1
        => record_open(result >= 0, AT_CWD, path, flags);
    #[variadic] fn openat(dirfd: c_int, path: Path, flags: c_int, mode: u32) -> result: c_int, or -1
        => record_open(result >= 0, dirfd, path, flags);
    #[variadic] fn openat64(dirfd: c_int, path: Path, flags: c_int, mode: u32) -> result: c_int, or -1
        => record_open(result >= 0, dirfd, path, flags);
    fn __open_2(path: Path, flags: c_int) -> result: c_int, or -1 => record_open(result >= 0, AT_CWD, path, flags);
    fn __open64_2(path: Path, flags: c_int) -> result: c_int, or -1 => record_open(result >= 0, AT_CWD, path, flags);
    fn __openat_2(dirfd: c_int, path: Path, flags: c_int) -> result: c_int, or -1 => record_open(result >= 0, dirfd, path, flags);
    fn __openat64_2(dirfd: c_int, path: Path, flags: c_int) -> result: c_int, or -1 => record_open(result >= 0, dirfd, path, flags);
    fn creat(path: Path, mode: u32) -> result: c_int, or -1 => record_result(result >= 0, AccessKind::Wrote, AT_CWD, path);
    fn creat64(path: Path, mode: u32) -> result: c_int, or -1 => record_result(result >= 0, AccessKind::Wrote, AT_CWD, path);
    fn fopen(path: Path, mode: Path) -> result: Opaque, or NOTHING => record_fopen(!result.is_null(), path, mode);
    fn fopen64(path: Path, mode: Path) -> result: Opaque, or NOTHING => record_fopen(!result.is_null(), path, mode);
    fn freopen(path: Path, mode: Path, stream: Opaque) -> result: Opaque, or NOTHING => record_fopen(!result.is_null(), path, mode);
    fn freopen64(path: Path, mode: Path, stream: Opaque) -> result: Opaque, or NOTHING
        => record_fopen(!result.is_null(), path, mode);
    fn opendir(path: Path) -> result: Opaque, or NOTHING => record_result(!result.is_null(), AccessKind::Listed, AT_CWD, path);
    fn fdopendir(dirfd: c_int) -> result: Opaque, or NOTHING => if !result.is_null() { record(AccessKind::Listed, dirfd, EMPTY) };

    fn stat(path: Path, into: Opaque) -> result: c_int, or -1 => record_lookup(result, AT_CWD, path);
    fn stat64(path: Path, into: Opaque) -> result: c_int, or -1 => record_lookup(result, AT_CWD, path);
    fn lstat(path: Path, into: Opaque) -> result: c_int, or -1 => record_lookup(result, AT_CWD, path);
    fn lstat64(path: Path, into: Opaque) -> result: c_int, or -1 => record_lookup(result, AT_CWD, path);
    fn fstatat(dirfd: c_int, path: Path, into: Opaque, flags: c_int) -> result: c_int, or -1 => record_lookup(result, dirfd, path);
    fn fstatat64(dirfd: c_int, path: Path, into: Opaque, flags: c_int) -> result: c_int, or -1 => record_lookup(result, dirfd, path);
    fn __xstat(version: c_int, path: Path, into: Opaque) -> result: c_int, or -1 => record_lookup(result, AT_CWD, path);
    fn __xstat64(version: c_int, path: Path, into: Opaque) -> result: c_int, or -1 => record_lookup(result, AT_CWD, path);
    fn __lxstat(version: c_int, path: Path, into: Opaque) -> result: c_int, or -1 => record_lookup(result, AT_CWD, path);
    fn __lxstat64(version: c_int, path: Path, into: Opaque) -> result: c_int, or -1 => record_lookup(result, AT_CWD, path);
    fn __fxstatat(version: c_int, dirfd: c_int, path: Path, into: Opaque, flags: c_int) -> result: c_int, or -1
        => record_lookup(result, dirfd, path);
    fn __fxstatat64(version: c_int, dirfd: c_int, path: Path, into: Opaque, flags: c_int) -> result: c_int, or -1
        => record_lookup(result, dirfd, path);
    fn statx(dirfd: c_int, path: Path, flags: c_int, mask: u32, into: Opaque) -> result: c_int, or -1 => record_lookup(result, dirfd, path);
    fn access(path: Path, mode: c_int) -> result: c_int, or -1 => record_lookup(result, AT_CWD, path);
    fn eaccess(path: Path, mode: c_int) -> result: c_int, or -1 => record_lookup(result, AT_CWD, path);
    fn euidaccess(path: Path, mode: c_int) -> result: c_int, or -1 => record_lookup(result, AT_CWD, path);
    fn faccessat(dirfd: c_int, path: Path, mode: c_int, flags: c_int) -> result: c_int, or -1 => record_lookup(result, dirfd, path);
    fn readlink(path: Path, into: Opaque, size: usize) -> result: isize, or -1 => record_lookup((result < 0).into(), AT_CWD, path);
    fn readlinkat(dirfd: c_int, path: Path, into: Opaque, size: usize) -> result: isize, or -1
        => record_lookup((result < 0).into(), dirfd, path);
    fn __readlink_chk(path: Path, into: Opaque, size: usize, room: usize) -> result: isize, or -1
        => record_lookup((result < 0).into(), AT_CWD, path);
    fn __readlinkat_chk(dirfd: c_int, path: Path, into: Opaque, size: usize, room: usize) -> result: isize, or -1
        => record_lookup((result < 0).into(), dirfd, path);
    fn realpath(path: Path, into: Opaque) -> result: Opaque, or NOTHING => record_lookup(result.is_null().into(), AT_CWD, path);
    fn __realpath_chk(path: Path, into: Opaque, room: usize) -> result: Opaque, or NOTHING
        => record_lookup(result.is_null().into(), AT_CWD, path);
    fn canonicalize_file_name(path: Path) -> result: Opaque, or NOTHING => record_lookup(result.is_null().into(), AT_CWD, path);

    fn truncate(path: Path, size: i64) -> result: c_int, or -1 => record_change(result, AT_CWD, path);
    fn truncate64(path: Path, size: i64) -> result: c_int, or -1 => record_change(result, AT_CWD, path);
    fn unlink(path: Path) -> result: c_int, or -1 => record_change(result, AT_CWD, path);
    fn unlinkat(dirfd: c_int, path: Path, flags: c_int) -> result: c_int, or -1 => record_change(result, dirfd, path);
    fn remove(path: Path) -> result: c_int, or -1 => record_change(result, AT_CWD, path);
    fn rmdir(path: Path) -> result: c_int, or -1 => record_change(result, AT_CWD, path);
    fn mkdir(path: Path, mode: u32) -> result: c_int, or -1 => record_change(result, AT_CWD, path);
    fn mkdirat(dirfd: c_int, path: Path, mode: u32) -> result: c_int, or -1 => record_change(result, dirfd, path);
    fn rename(from: Path, to: Path) -> result: c_int, or -1 => record_rename(result, AT_CWD, from, AT_CWD, to);
    fn renameat(dirfd: c_int, from: Path, to_dirfd: c_int, to: Path) -> result: c_int, or -1
        => record_rename(result, dirfd, from, to_dirfd, to);
    fn renameat2(dirfd: c_int, from: Path, to_dirfd: c_int, to: Path, flags: u32) -> result: c_int, or -1
        => record_rename(result, dirfd, from, to_dirfd, to);
    // The target of a symbolic link is only text.
    fn link(from: Path, to: Path) -> result: c_int, or -1 => record_link(result, AT_CWD, from, AT_CWD, to);
    fn linkat(dirfd: c_int, from: Path, to_dirfd: c_int, to: Path, flags: c_int) -> result: c_int, or -1
        => record_link(result, dirfd, from, to_dirfd, to);
    fn symlink(from: Path, to: Path) -> result: c_int, or -1 => record_change(result, AT_CWD, to);
    fn symlinkat(from: Path, dirfd: c_int, to: Path) -> result: c_int, or -1 => record_change(result, dirfd, to);

    fn posix_spawn(pid: Opaque, path: Path, actions: Opaque, attributes: Opaque, argv: Opaque, envp: StringArray) -> result: c_int, or 38
        => record_spawn(result, path, false, envp);
    fn posix_spawnp(pid: Opaque, file: Path, actions: Opaque, attributes: Opaque, argv: Opaque, envp: StringArray) -> result: c_int, or 38
        => record_spawn(result, file, true, envp);
}

record_before! {
    fn execve(path, _argv, envp, _d) => record_program(AT_CWD, path as Path, false, envp as StringArray, false);
    fn execv(path, _argv, _c, _d) => record_program(AT_CWD, path as Path, false, system::environment(), false);
    fn execvp(file, _argv, _c, _d) => record_program(AT_CWD, file as Path, true, system::environment(), false);
    fn execvpe(file, _argv, envp, _d) => record_program(AT_CWD, file as Path, true, envp as StringArray, false);
    fn execl(path, _b, _c, _d) => record_program(AT_CWD, path as Path, false, system::environment(), false);
    fn execlp(file, _b, _c, _d) => record_program(AT_CWD, file as Path, true, system::environment(), false);
    // The environment follows the last argument at an unknown position: assume that it disables
    // tracing.
    fn execle(path, _b, _c, _d) => record_program(AT_CWD, path as Path, false, null_mut(), false);
    fn fexecve(file, _argv, envp, _d) => record_program(file as c_int, EMPTY, false, envp as StringArray, false);
    fn execveat(dirfd, path, _argv, envp) => record_program(dirfd as c_int, path as Path, false, envp as StringArray, false);
    fn system(command, _b, _c, _d) => if command != 0 { record_program(AT_CWD, SHELL, false, system::environment(), false) };
    fn popen(_command, _b, _c, _d) => record_program(AT_CWD, SHELL, false, system::environment(), false);

    fn scandir(path, _b, _c, _d) => record_named(AccessKind::Listed, AT_CWD, path);
    fn scandir64(path, _b, _c, _d) => record_named(AccessKind::Listed, AT_CWD, path);
    fn scandirat(dirfd, path, _c, _d) => record_named(AccessKind::Listed, dirfd as c_int, path);
    fn scandirat64(dirfd, path, _c, _d) => record_named(AccessKind::Listed, dirfd as c_int, path);
    fn ftw(path, _b, _c, _d) => record_named(AccessKind::Walked, AT_CWD, path);
    fn ftw64(path, _b, _c, _d) => record_named(AccessKind::Walked, AT_CWD, path);
    fn nftw(path, _b, _c, _d) => record_named(AccessKind::Walked, AT_CWD, path);
    fn nftw64(path, _b, _c, _d) => record_named(AccessKind::Walked, AT_CWD, path);
    fn fts_open(paths, _b, _c, _d) => record_walks(paths as StringArray);
    fn fts64_open(paths, _b, _c, _d) => record_walks(paths as StringArray);
    // Only the pattern is recorded: which directories are listed for it is unknown here.
    fn glob(pattern, _b, _c, _d) => record(AccessKind::Walked, AT_CWD, pattern as Path);
    fn glob64(pattern, _b, _c, _d) => record(AccessKind::Walked, AT_CWD, pattern as Path);
}

const SHELL: Path = c"/bin/sh".as_ptr();

/// Recorded before the call, so the kernel is asked first whether the path exists.
unsafe fn record_named(kind: AccessKind, dirfd: c_int, path: usize) {
    match system::check_exists(dirfd, path as Path) {
        Ok(()) => record(kind, dirfd, path as Path),
        Err(error) => record_failure(error, dirfd, path as Path),
    }
}

unsafe fn record_walks(mut paths: StringArray) {
    while !paths.is_null() && !(*paths).is_null() {
        record_named(AccessKind::Walked, AT_CWD, *paths as usize);
        paths = paths.add(1);
    }
}
