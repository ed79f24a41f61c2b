//! The functions of the C library that are given the name of a file. Each one here stands before the one of the same name,
//! passes the call on as it came, and says what became of it; `files.rs` writes it down.

#![allow(clippy::missing_safety_doc)] // Each is called by the program as the function of its name.

use core::ffi::{c_char, c_int, c_void};
use core::mem::transmute;
use core::ptr::{null_mut, without_provenance_mut};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::files::{HERE, Kind, done, failed, note, opened, opened_as, program};
use crate::part;
use crate::system;

type Path = *const c_char;
type Any = *mut c_void;
type Words = *const *const c_char;

/// Functions that are asked afterwards how it went: `back` is what they gave. Where the C library has no such function, which
/// then nobody can have been linked with, a call fails.
///
/// The real one is taken for a function that does not unwind, so that the compiler puts nothing in its way: a thread that is
/// cancelled while it waits in `open` is unwound through here, by the tables that every function has.
macro_rules! afterwards {
    ($(
        $(#[$variadic:tt])? fn $name:ident($($argument:ident: $type:ty),*) -> $back:ident: $answer:ty, or $none:expr
            => $say:expr;
    )*) => {
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> $answer {
                let real = next(Call::$name);
                if real == 0 {
                    system::set_errno(38); // ENOSYS
                    return $none;
                }
                let $back = afterwards!(@call real ($($argument: $type),*) $answer $(, $variadic)?);
                if part::is_on() {
                    let errno = system::errno();
                    $say;
                    system::set_errno(errno);
                }
                $back
            }
        )*
    };
    (@call $real:ident ($($argument:ident: $type:ty),*) $answer:ty) => {
        transmute::<usize, unsafe extern "C" fn($($type),*) -> $answer>($real)($($argument),*)
    };
    // The last argument of `open` is there only if a file may be made. Passed on always: it is in a register, whatever it has.
    (@call $real:ident ($($argument:ident: $type:ty),*) $answer:ty, variadic) => {
        transmute::<usize, unsafe extern "C" fn($($type),*, ...) -> $answer>($real)($($argument),*)
    };
}

/// Functions that do not come back, take any number of arguments, or call the program, which may leave them by an exception:
/// what there is to say is said first, then they are jumped to, and nothing of ours is on the stack.
macro_rules! beforehand {
    ($(fn $name:ident($one:ident, $two:ident, $three:ident, $four:ident) => $say:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
                unsafe extern "C" fn first($one: usize, $two: usize, $three: usize, $four: usize) -> usize {
                    if part::is_on() {
                        let errno = system::errno();
                        $say;
                        system::set_errno(errno);
                    }
                    let _ = ($one, $two, $three, $four);
                    next(Call::$name)
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
        enum Call { $($name),* }
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
/// There is none.
const NONE: usize = 1;
const NEXT: usize = usize::MAX; // RTLD_NEXT

/// The function that a call would have reached without us, or 0.
unsafe fn next(call: Call) -> usize {
    let kept = &REAL[call as usize];
    let mut found = kept.load(Ordering::Relaxed);
    if found == 0 {
        found = system::dlsym(without_provenance_mut(NEXT), NAMES[call as usize].as_ptr().cast()) as usize;
        found = if found == 0 { NONE } else { found };
        kept.store(found, Ordering::Relaxed);
    }
    if found == NONE { 0 } else { found }
}

/// Looks all of them up while nothing else happens: later it might be in a signal handler.
pub unsafe fn come() {
    for (name, kept) in NAMES.iter().zip(&REAL) {
        let found = system::dlsym(without_provenance_mut(NEXT), name.as_ptr().cast()) as usize;
        kept.store(if found == 0 { NONE } else { found }, Ordering::Relaxed);
    }
    system::dlerror(); // Those that are not there are nobody else's business.
}

/// A function whose calls do not arrive here, as far as that can be told: another one is found first.
pub unsafe fn unseen() -> Option<&'static [u8]> {
    let own = system::library_of(unseen as *const () as usize);
    let checked = [Call::open, Call::open64, Call::openat64, Call::fopen, Call::fopen64, Call::opendir, Call::stat];
    let stands_before = |call: &Call| {
        let first = system::dlsym(null_mut(), NAMES[*call as usize].as_ptr().cast()) as usize; // RTLD_DEFAULT
        first != 0 && system::library_of(first) != own
    };
    let name = NAMES[checked.into_iter().find(stands_before)? as usize].as_bytes();
    Some(&name[..name.len() - 1])
}

const EMPTY: Path = c"".as_ptr();
const NOTHING: *mut c_void = null_mut();

/// What is looked at and not opened. An empty path is an open file.
unsafe fn looked(back: c_int, at: c_int, path: Path) {
    if back != 0 {
        failed(system::errno(), at, path);
    } else if !path.is_null() && *path != 0 {
        note(Kind::Seen, at, path);
    }
}

unsafe fn changed(back: c_int, at: c_int, path: Path) {
    done(back == 0, Kind::Wrote, at, path);
}

unsafe fn moved(back: c_int, at: c_int, from: Path, to_at: c_int, to: Path) {
    changed(back, at, from);
    if back == 0 {
        changed(back, to_at, to);
    }
}

unsafe fn linked(back: c_int, at: c_int, from: Path, to_at: c_int, to: Path) {
    looked(back, at, from);
    if back == 0 {
        changed(back, to_at, to);
    }
}

unsafe fn spawned(back: c_int, file: Path, search: bool, variables: Words) {
    if back == 0 {
        program(HERE, file, search, variables, true);
    } else if back != 14 && (!search || system::text(file).contains(&b'/')) {
        failed(back, HERE, file); // Unless the path points nowhere: EFAULT.
    }
}

afterwards! {
    #[variadic] fn open(path: Path, how: c_int, mode: u32) -> back: c_int, or -1 => opened(back >= 0, HERE, path, how);
    #[variadic] fn open64(path: Path, how: c_int, mode: u32) -> back: c_int, or -1
        => opened(back >= 0, HERE, path, how);
    #[variadic] fn openat(at: c_int, path: Path, how: c_int, mode: u32) -> back: c_int, or -1
        => opened(back >= 0, at, path, how);
    #[variadic] fn openat64(at: c_int, path: Path, how: c_int, mode: u32) -> back: c_int, or -1
        => opened(back >= 0, at, path, how);
    fn __open_2(path: Path, how: c_int) -> back: c_int, or -1 => opened(back >= 0, HERE, path, how);
    fn __open64_2(path: Path, how: c_int) -> back: c_int, or -1 => opened(back >= 0, HERE, path, how);
    fn __openat_2(at: c_int, path: Path, how: c_int) -> back: c_int, or -1 => opened(back >= 0, at, path, how);
    fn __openat64_2(at: c_int, path: Path, how: c_int) -> back: c_int, or -1 => opened(back >= 0, at, path, how);
    fn creat(path: Path, mode: u32) -> back: c_int, or -1 => done(back >= 0, Kind::Wrote, HERE, path);
    fn creat64(path: Path, mode: u32) -> back: c_int, or -1 => done(back >= 0, Kind::Wrote, HERE, path);
    fn fopen(path: Path, mode: Path) -> back: Any, or NOTHING => opened_as(!back.is_null(), path, mode);
    fn fopen64(path: Path, mode: Path) -> back: Any, or NOTHING => opened_as(!back.is_null(), path, mode);
    fn freopen(path: Path, mode: Path, stream: Any) -> back: Any, or NOTHING => opened_as(!back.is_null(), path, mode);
    fn freopen64(path: Path, mode: Path, stream: Any) -> back: Any, or NOTHING
        => opened_as(!back.is_null(), path, mode);
    fn opendir(path: Path) -> back: Any, or NOTHING => done(!back.is_null(), Kind::Listed, HERE, path);
    fn fdopendir(at: c_int) -> back: Any, or NOTHING => if !back.is_null() { note(Kind::Listed, at, EMPTY) };

    fn stat(path: Path, into: Any) -> back: c_int, or -1 => looked(back, HERE, path);
    fn stat64(path: Path, into: Any) -> back: c_int, or -1 => looked(back, HERE, path);
    fn lstat(path: Path, into: Any) -> back: c_int, or -1 => looked(back, HERE, path);
    fn lstat64(path: Path, into: Any) -> back: c_int, or -1 => looked(back, HERE, path);
    fn fstatat(at: c_int, path: Path, into: Any, how: c_int) -> back: c_int, or -1 => looked(back, at, path);
    fn fstatat64(at: c_int, path: Path, into: Any, how: c_int) -> back: c_int, or -1 => looked(back, at, path);
    fn __xstat(version: c_int, path: Path, into: Any) -> back: c_int, or -1 => looked(back, HERE, path);
    fn __xstat64(version: c_int, path: Path, into: Any) -> back: c_int, or -1 => looked(back, HERE, path);
    fn __lxstat(version: c_int, path: Path, into: Any) -> back: c_int, or -1 => looked(back, HERE, path);
    fn __lxstat64(version: c_int, path: Path, into: Any) -> back: c_int, or -1 => looked(back, HERE, path);
    fn __fxstatat(version: c_int, at: c_int, path: Path, into: Any, how: c_int) -> back: c_int, or -1
        => looked(back, at, path);
    fn __fxstatat64(version: c_int, at: c_int, path: Path, into: Any, how: c_int) -> back: c_int, or -1
        => looked(back, at, path);
    fn statx(at: c_int, path: Path, how: c_int, mask: u32, into: Any) -> back: c_int, or -1 => looked(back, at, path);
    fn access(path: Path, how: c_int) -> back: c_int, or -1 => looked(back, HERE, path);
    fn eaccess(path: Path, how: c_int) -> back: c_int, or -1 => looked(back, HERE, path);
    fn euidaccess(path: Path, how: c_int) -> back: c_int, or -1 => looked(back, HERE, path);
    fn faccessat(at: c_int, path: Path, how: c_int, flags: c_int) -> back: c_int, or -1 => looked(back, at, path);
    fn readlink(path: Path, into: Any, size: usize) -> back: isize, or -1 => looked((back < 0).into(), HERE, path);
    fn readlinkat(at: c_int, path: Path, into: Any, size: usize) -> back: isize, or -1
        => looked((back < 0).into(), at, path);
    fn __readlink_chk(path: Path, into: Any, size: usize, room: usize) -> back: isize, or -1
        => looked((back < 0).into(), HERE, path);
    fn __readlinkat_chk(at: c_int, path: Path, into: Any, size: usize, room: usize) -> back: isize, or -1
        => looked((back < 0).into(), at, path);
    fn realpath(path: Path, into: Any) -> back: Any, or NOTHING => looked(back.is_null().into(), HERE, path);
    fn __realpath_chk(path: Path, into: Any, room: usize) -> back: Any, or NOTHING
        => looked(back.is_null().into(), HERE, path);
    fn canonicalize_file_name(path: Path) -> back: Any, or NOTHING => looked(back.is_null().into(), HERE, path);

    fn truncate(path: Path, size: i64) -> back: c_int, or -1 => changed(back, HERE, path);
    fn truncate64(path: Path, size: i64) -> back: c_int, or -1 => changed(back, HERE, path);
    fn unlink(path: Path) -> back: c_int, or -1 => changed(back, HERE, path);
    fn unlinkat(at: c_int, path: Path, how: c_int) -> back: c_int, or -1 => changed(back, at, path);
    fn remove(path: Path) -> back: c_int, or -1 => changed(back, HERE, path);
    fn rmdir(path: Path) -> back: c_int, or -1 => changed(back, HERE, path);
    fn mkdir(path: Path, mode: u32) -> back: c_int, or -1 => changed(back, HERE, path);
    fn mkdirat(at: c_int, path: Path, mode: u32) -> back: c_int, or -1 => changed(back, at, path);
    fn rename(from: Path, to: Path) -> back: c_int, or -1 => moved(back, HERE, from, HERE, to);
    fn renameat(at: c_int, from: Path, to_at: c_int, to: Path) -> back: c_int, or -1
        => moved(back, at, from, to_at, to);
    fn renameat2(at: c_int, from: Path, to_at: c_int, to: Path, how: u32) -> back: c_int, or -1
        => moved(back, at, from, to_at, to);
    // Of a symbolic link the old name is only a text.
    fn link(from: Path, to: Path) -> back: c_int, or -1 => linked(back, HERE, from, HERE, to);
    fn linkat(at: c_int, from: Path, to_at: c_int, to: Path, how: c_int) -> back: c_int, or -1
        => linked(back, at, from, to_at, to);
    fn symlink(from: Path, to: Path) -> back: c_int, or -1 => changed(back, HERE, to);
    fn symlinkat(from: Path, at: c_int, to: Path) -> back: c_int, or -1 => changed(back, at, to);

    fn posix_spawn(pid: Any, path: Path, actions: Any, how: Any, words: Any, variables: Words) -> back: c_int, or 38
        => spawned(back, path, false, variables);
    fn posix_spawnp(pid: Any, file: Path, actions: Any, how: Any, words: Any, variables: Words) -> back: c_int, or 38
        => spawned(back, file, true, variables);
}

beforehand! {
    fn execve(path, _words, variables, _d) => program(HERE, path as Path, false, variables as Words, false);
    fn execv(path, _words, _c, _d) => program(HERE, path as Path, false, system::variables(), false);
    fn execvp(file, _words, _c, _d) => program(HERE, file as Path, true, system::variables(), false);
    fn execvpe(file, _words, variables, _d) => program(HERE, file as Path, true, variables as Words, false);
    fn execl(path, _b, _c, _d) => program(HERE, path as Path, false, system::variables(), false);
    fn execlp(file, _b, _c, _d) => program(HERE, file as Path, true, system::variables(), false);
    // The variables are behind the last word, wherever that is: taken for ones that say nothing.
    fn execle(path, _b, _c, _d) => program(HERE, path as Path, false, null_mut(), false);
    fn fexecve(file, _words, variables, _d) => program(file as c_int, EMPTY, false, variables as Words, false);
    fn execveat(at, path, _words, variables) => program(at as c_int, path as Path, false, variables as Words, false);
    fn system(command, _b, _c, _d) => if command != 0 { program(HERE, SHELL, false, system::variables(), false) };
    fn popen(_command, _b, _c, _d) => program(HERE, SHELL, false, system::variables(), false);

    fn scandir(path, _b, _c, _d) => named(Kind::Listed, HERE, path);
    fn scandir64(path, _b, _c, _d) => named(Kind::Listed, HERE, path);
    fn scandirat(at, path, _c, _d) => named(Kind::Listed, at as c_int, path);
    fn scandirat64(at, path, _c, _d) => named(Kind::Listed, at as c_int, path);
    fn ftw(path, _b, _c, _d) => named(Kind::Walked, HERE, path);
    fn ftw64(path, _b, _c, _d) => named(Kind::Walked, HERE, path);
    fn nftw(path, _b, _c, _d) => named(Kind::Walked, HERE, path);
    fn nftw64(path, _b, _c, _d) => named(Kind::Walked, HERE, path);
    fn fts_open(paths, _b, _c, _d) => walked(paths as Words);
    fn fts64_open(paths, _b, _c, _d) => walked(paths as Words);
    // A pattern as it is: which directories are listed for it is not known here.
    fn glob(pattern, _b, _c, _d) => note(Kind::Walked, HERE, pattern as Path);
    fn glob64(pattern, _b, _c, _d) => note(Kind::Walked, HERE, pattern as Path);
}

const SHELL: Path = c"/bin/sh".as_ptr();

/// Said before the call is made, so the system is asked first whether there is such a path.
unsafe fn named(kind: Kind, at: c_int, path: usize) {
    match system::is_there(at, path as Path) {
        Ok(()) => note(kind, at, path as Path),
        Err(error) => failed(error, at, path as Path),
    }
}

unsafe fn walked(mut paths: Words) {
    while !paths.is_null() && !(*paths).is_null() {
        named(Kind::Walked, HERE, *paths as usize);
        paths = paths.add(1);
    }
}
