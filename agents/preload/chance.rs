//! Random bytes that are the same in every run: a stream for each process, from the seed, the words it was started with, and
//! how many were started with the same words before. A copy that `fork` makes has a stream of its own.

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::mem::transmute;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::page::Page;
use crate::real::{Call, next, stand};
use crate::settings::{RANDOM, RANDOM_SEED, on, page};
use crate::system::{self, File};

static KEY: AtomicU64 = AtomicU64::new(0);
static DRAWN: AtomicU64 = AtomicU64::new(0);
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Spreads a number over all bits.
pub fn mix(number: u64) -> u64 {
    let mut number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

pub fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

pub fn come() {
    let mut words = [0; 4096];
    let words = match File::open(b"/proc/self/cmdline\0", 0) {
        Some(file) => hash(file.read(&mut words)),
        None => 0,
    };
    let before = page().map_or(0, |page| started(page, words));
    KEY.store(mix(RANDOM_SEED.load(Relaxed)) ^ mix(words.wrapping_add(mix(before))), Relaxed);
    type AtFork = unsafe extern "C" fn(extern "C" fn(), usize, extern "C" fn()) -> c_int;
    // SAFETY: the function of that name; both stay as long as the process.
    unsafe {
        if let Some(at_fork) = transmute::<usize, Option<AtFork>>(next(Call::pthread_atfork)) {
            at_fork(before_fork, 0, in_copy);
        }
    }
}

extern "C" fn before_fork() {
    FORKS.fetch_add(1, Relaxed);
}

extern "C" fn in_copy() {
    KEY.store(mix(KEY.load(Relaxed) ^ mix(FORKS.load(Relaxed))), Relaxed);
    DRAWN.store(0, Relaxed);
    FORKS.store(0, Relaxed);
}

/// How many programs have been started with these words before.
fn started(page: &Page, words: u64) -> u64 {
    let name = words & !0xff;
    for step in 0..page.starts.len() {
        let kept = &page.starts[(words >> 32) as usize % page.starts.len() ^ step];
        let mut there = kept.load(Relaxed);
        while there == 0 || there & !0xff == name {
            let number = there & 0xff;
            match kept.compare_exchange(there, name | (number + 1).min(0xff), Relaxed, Relaxed) {
                Ok(_) => return number,
                Err(other) => there = other,
            }
        }
    }
    0
}

fn draw() -> u64 {
    mix(KEY.load(Relaxed) ^ mix(DRAWN.fetch_add(1, Relaxed)))
}

pub unsafe fn fill(mut into: *mut u8, mut length: usize) {
    while length > 0 {
        let bytes = draw().to_ne_bytes();
        let some = length.min(bytes.len());
        into.copy_from_nonoverlapping(bytes.as_ptr(), some);
        into = into.add(some);
        length -= some;
    }
}

/// What stands in for the device of random bytes. It has an end, which nobody is known to come to.
unsafe fn device(path: *const c_char, how: c_int) -> Option<c_int> {
    if on() & RANDOM == 0 || path.is_null() || !matches!(system::text(path), b"/dev/urandom" | b"/dev/random") {
        return None;
    }
    let file = File::in_memory(how & 0o2000000 != 0)?;
    let mut some = [0; 4096];
    for _ in 0..64 {
        fill(some.as_mut_ptr(), some.len());
        file.write(&some);
    }
    Some(file.hand_over())
}

unsafe fn stream(path: *const c_char, mode: *const c_char) -> Option<*mut c_void> {
    type Open = unsafe extern "C" fn(c_int, *const c_char) -> *mut c_void;
    let open = transmute::<usize, Option<Open>>(next(Call::fdopen))?;
    Some(open(device(path, 0)?, mode))
}

type Path = *const c_char;

stand! {
    fn getrandom(into: *mut u8, length: usize, how: c_uint) -> isize, or -1 => |real| {
        if on() & RANDOM == 0 {
            return real(into, length, how);
        }
        fill(into, length);
        length as isize
    };
    fn getentropy(into: *mut u8, length: usize) -> c_int, or -1 => |real| {
        if on() & RANDOM == 0 || length > 256 {
            return real(into, length);
        }
        fill(into, length);
        0
    };
    fn arc4random() -> c_uint, or 0 => |real| if on() & RANDOM == 0 { real() } else { draw() as c_uint };
    fn arc4random_buf(into: *mut u8, length: usize) -> (), or () => |real| {
        if on() & RANDOM == 0 { real(into, length) } else { fill(into, length) }
    };
    fn arc4random_uniform(below: c_uint) -> c_uint, or 0 => |real| {
        if on() & RANDOM == 0 { real(below) } else { (u128::from(draw()) * u128::from(below) >> 64) as c_uint }
    };
    // The last argument is there only if a file may be made. Passed on always: it is in a register, whatever it has.
    fn open(path: Path, how: c_int, mode: c_uint) -> c_int, or -1 => |real| {
        device(path, how).unwrap_or_else(|| real(path, how, mode))
    };
    fn open64(path: Path, how: c_int, mode: c_uint) -> c_int, or -1 => |real| {
        device(path, how).unwrap_or_else(|| real(path, how, mode))
    };
    fn __open_2(path: Path, how: c_int) -> c_int, or -1 => |real| {
        device(path, how).unwrap_or_else(|| real(path, how))
    };
    fn __open64_2(path: Path, how: c_int) -> c_int, or -1 => |real| {
        device(path, how).unwrap_or_else(|| real(path, how))
    };
    fn openat(at: c_int, path: Path, how: c_int, mode: c_uint) -> c_int, or -1 => |real| {
        device(path, how).unwrap_or_else(|| real(at, path, how, mode))
    };
    fn openat64(at: c_int, path: Path, how: c_int, mode: c_uint) -> c_int, or -1 => |real| {
        device(path, how).unwrap_or_else(|| real(at, path, how, mode))
    };
    fn fopen(path: Path, mode: Path) -> *mut c_void, or core::ptr::null_mut() => |real| {
        stream(path, mode).unwrap_or_else(|| real(path, mode))
    };
    fn fopen64(path: Path, mode: Path) -> *mut c_void, or core::ptr::null_mut() => |real| {
        stream(path, mode).unwrap_or_else(|| real(path, mode))
    };
}
