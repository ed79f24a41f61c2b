//! Random bytes from a seed, the same in every run. The first process of a program has the stream of
//! the seed and the program, whatever its arguments, so that a command that runs one test draws what
//! a run of all tests draws. Other processes have streams of their own, derived from the seed, the
//! command line, and how many processes had the same command line before. A forked process gets
//! another stream.
//!
//! An agent that knows which test begins opens `/dev/unflake-seed/SEED/TEST`: from there on the
//! process and those that it starts draw what this seed and that name decide, whatever was drawn
//! before. A forked process can have another seed than its parent.

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::mem::transmute;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::clock::{REALTIME, SECOND, to_program_time};
use crate::real_functions::{Call, interpose, next};
use crate::settings::{RANDOM, RANDOM_SEED, active, page};
use crate::shared_page::Page;
use crate::system::{self, Long, OpenFile};

/// Opening a file below it starts another stream, by the name of the file. It never exists.
const STREAM_START: &[u8] = b"/dev/unflake-seed/";

static KEY: AtomicU64 = AtomicU64::new(0);
static COUNTER: AtomicU64 = AtomicU64::new(0);
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Spreads a number over all bits (the finalizer of SplitMix64).
pub fn mix(number: u64) -> u64 {
    let mut number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

pub fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

pub fn initialize() {
    let mut buffer = [0; 4096];
    let program = hash(system::read_link(b"/proc/self/exe\0", &mut buffer));
    let is_first = page().is_none_or(|page| count_starts(page, program) == 0);
    let stream = match OpenFile::open(b"/proc/self/cmdline\0", 0) {
        Some(file) if !is_first => {
            let command = hash(file.read(&mut buffer));
            command.wrapping_add(mix(page().map_or(0, |page| count_starts(page, command))))
        }
        _ => program,
    };
    KEY.store(mix(RANDOM_SEED.load(Relaxed)) ^ mix(stream), Relaxed);
    // The symbol behind `pthread_atfork`, which no library exports. A lookup that fails allocates, and
    // this may run inside the first allocation of a program that brings its own allocator.
    type AtFork = unsafe extern "C" fn(extern "C" fn(), usize, extern "C" fn(), usize) -> c_int;
    // SAFETY: the function of that name; both callbacks live as long as the process.
    unsafe {
        if let Some(at_fork) = transmute::<usize, Option<AtFork>>(next(Call::__register_atfork)) {
            at_fork(before_fork, 0, in_child, 0);
        }
    }
}

extern "C" fn before_fork() {
    FORKS.fetch_add(1, Relaxed);
}

extern "C" fn in_child() {
    KEY.store(mix(KEY.load(Relaxed) ^ mix(FORKS.load(Relaxed))), Relaxed);
    COUNTER.store(0, Relaxed);
    FORKS.store(0, Relaxed);
}

/// Starts the stream of this name, which begins with the seed.
fn restart(name: &[u8]) {
    let digits = name.iter().position(|byte| *byte == b'/').unwrap_or(0);
    let (seed, name) = name.split_at(digits);
    if !seed.is_empty() && seed.iter().all(u8::is_ascii_digit) {
        let value = |number: u64, digit: &u8| number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        RANDOM_SEED.store(seed.iter().fold(0, value), Relaxed);
    }
    KEY.store(mix(RANDOM_SEED.load(Relaxed)) ^ mix(hash(name)), Relaxed);
    COUNTER.store(0, Relaxed);
    FORKS.store(0, Relaxed);
    if let Some(page) = page() {
        page.starts.iter().for_each(|slot| slot.store(0, Relaxed));
    }
}

/// Counts a start, and returns how many there were before with this hash.
fn count_starts(page: &Page, hash: u64) -> u64 {
    let name = hash & !0xff;
    for step in 0..page.starts.len() {
        let slot = &page.starts[(hash >> 32) as usize % page.starts.len() ^ step];
        let mut current = slot.load(Relaxed);
        while current == 0 || current & !0xff == name {
            let number = current & 0xff;
            match slot.compare_exchange(current, name | (number + 1).min(0xff), Relaxed, Relaxed) {
                Ok(_) => return number,
                Err(other) => current = other,
            }
        }
    }
    0
}

fn next_random() -> u64 {
    mix(KEY.load(Relaxed) ^ mix(COUNTER.fetch_add(1, Relaxed)))
}

pub unsafe fn fill(mut into: *mut u8, mut length: usize) {
    while length > 0 {
        let bytes = next_random().to_ne_bytes();
        let chunk = length.min(bytes.len());
        into.copy_from_nonoverlapping(bytes.as_ptr(), chunk);
        into = into.add(chunk);
        length -= chunk;
    }
}

/// Stands in for the random devices: a file that ends after 256 KiB.
unsafe fn random_device(path: *const c_char, flags: c_int) -> Option<c_int> {
    if active() & RANDOM == 0 || path.is_null() {
        return None;
    }
    match system::c_bytes(path) {
        b"/dev/urandom" | b"/dev/random" => {}
        path => {
            restart(path.strip_prefix(STREAM_START)?);
            return None; // There is no such file.
        }
    }
    let file = OpenFile::create_in_memory(flags & 0o2000000 != 0)?;
    let mut chunk = [0; 4096];
    for _ in 0..64 {
        fill(chunk.as_mut_ptr(), chunk.len());
        file.write(&chunk);
    }
    Some(file.into_raw())
}

unsafe fn random_stream(path: *const c_char, mode: *const c_char) -> Option<*mut c_void> {
    type Open = unsafe extern "C" fn(c_int, *const c_char) -> *mut c_void;
    let open = transmute::<usize, Option<Open>>(next(Call::fdopen))?;
    Some(open(random_device(path, 0)?, mode))
}

/// A seed that replaces one taken from the clock or the process id. Others are the program's own.
fn generator_seed(given: u64) -> Option<u64> {
    const MARGIN: u32 = 5;
    if active() & RANDOM == 0 {
        return None;
    }
    let (now, pid) = (to_program_time(REALTIME, system::clock(REALTIME)) / SECOND, u64::from(system::process_id()));
    let is_time = |value: u64| (value as u32).abs_diff(now as u32) <= MARGIN;
    let is_drawn = given == pid || is_time(given) || is_time(given ^ pid) || is_time(given.wrapping_sub(pid));
    is_drawn.then(next_random)
}

type Path = *const c_char;

interpose! {
    fn srand(seed: c_uint) -> (), or () => |real| real(generator_seed(seed.into()).map_or(seed, |drawn| drawn as c_uint));
    fn srandom(seed: c_uint) -> (), or () => |real| real(generator_seed(seed.into()).map_or(seed, |drawn| drawn as c_uint));
    fn srand48(seed: Long) -> (), or () => |real| real(generator_seed(seed as u64).map_or(seed, |drawn| drawn as u32 as Long));
    // `std::random_device` of libstdc++, which asks the processor.
    fn _ZNSt13random_device9_M_getvalEv(device: *mut c_void) -> c_uint, or 0 => |real| {
        if active() & RANDOM == 0 { real(device) } else { next_random() as c_uint }
    };
    fn getrandom(into: *mut u8, length: usize, flags: c_uint) -> isize, or -1 => |real| {
        if active() & RANDOM == 0 {
            return real(into, length, flags);
        }
        fill(into, length);
        length as isize
    };
    fn getentropy(into: *mut u8, length: usize) -> c_int, or -1 => |real| {
        if active() & RANDOM == 0 || length > 256 {
            return real(into, length);
        }
        fill(into, length);
        0
    };
    fn arc4random() -> c_uint, or 0 => |real| if active() & RANDOM == 0 { real() } else { next_random() as c_uint };
    fn arc4random_buf(into: *mut u8, length: usize) -> (), or () => |real| {
        if active() & RANDOM == 0 { real(into, length) } else { fill(into, length) }
    };
    fn arc4random_uniform(bound: c_uint) -> c_uint, or 0 => |real| {
        if active() & RANDOM == 0 { real(bound) } else { (u128::from(next_random()) * u128::from(bound) >> 64) as c_uint }
    };
    // The last argument exists only if a file may be created. It is always passed on: whatever it
    // is, it is in a register.
    fn open(path: Path, flags: c_int, mode: c_uint) -> c_int, or -1 => |real| {
        random_device(path, flags).unwrap_or_else(|| real(path, flags, mode))
    };
    fn open64(path: Path, flags: c_int, mode: c_uint) -> c_int, or -1 => |real| {
        random_device(path, flags).unwrap_or_else(|| real(path, flags, mode))
    };
    fn __open_2(path: Path, flags: c_int) -> c_int, or -1 => |real| {
        random_device(path, flags).unwrap_or_else(|| real(path, flags))
    };
    fn __open64_2(path: Path, flags: c_int) -> c_int, or -1 => |real| {
        random_device(path, flags).unwrap_or_else(|| real(path, flags))
    };
    fn openat(at: c_int, path: Path, flags: c_int, mode: c_uint) -> c_int, or -1 => |real| {
        random_device(path, flags).unwrap_or_else(|| real(at, path, flags, mode))
    };
    fn openat64(at: c_int, path: Path, flags: c_int, mode: c_uint) -> c_int, or -1 => |real| {
        random_device(path, flags).unwrap_or_else(|| real(at, path, flags, mode))
    };
    fn fopen(path: Path, mode: Path) -> *mut c_void, or core::ptr::null_mut() => |real| {
        random_stream(path, mode).unwrap_or_else(|| real(path, mode))
    };
    fn fopen64(path: Path, mode: Path) -> *mut c_void, or core::ptr::null_mut() => |real| {
        random_stream(path, mode).unwrap_or_else(|| real(path, mode))
    };
}
