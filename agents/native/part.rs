//! One process: its directory below the attempt's, the text that tells what it is, and the ids given out in it.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::ptr::null;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::calls;
use crate::files;
use crate::format::{STEPS, UNKNOWN};
use crate::system::{self, File, Loaded};
use crate::text::Text;
use crate::thread;

const UNREAD: u32 = 0;
const OFF: u32 = 1;
const ON: u32 = 2;

const MOST_MODULES: usize = 256;
/// Unless the variables say otherwise: 64 MiB a thread, 256 MiB an attempt.
const THREAD_EVENTS: usize = 16 << 20;
const ATTEMPT_EVENTS: usize = 64 << 20;

static STATE: AtomicU32 = AtomicU32::new(UNREAD);
static LOCK: AtomicBool = AtomicBool::new(false);
static PART: Shared = Shared(UnsafeCell::new(Part::new()));
static MODULES: [Module; MOST_MODULES] = [const { Module::new() }; MOST_MODULES];
static MODULE_COUNT: AtomicUsize = AtomicUsize::new(0);
/// Ids begin at 1: a zero in a stream is a place in the file that nothing was written to.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);
static NEXT_THREAD: AtomicU32 = AtomicU32::new(1);
static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// Touched under `LOCK` only.
struct Shared(UnsafeCell<Part>);
// SAFETY: see above.
unsafe impl Sync for Shared {}

struct Part {
    /// `UNFLAKE_TRACE`, then `/`; behind it, once the directory is there, the name of the part, then `/`.
    path: Text,
    attempt: usize,
    whole: usize,
    made: Made,
    text: Text,
    said_lost: bool,
    budget: AtomicPtr<AtomicU64>,
    /// `UNFLAKE_TRACE_OWN`, then `/`; empty where all places are wanted.
    own: Text,
    thread_limit: usize,
    attempt_limit: u64,
    origin: Option<Origin>,
    /// A function that files may be opened by and nobody here sees.
    unseen: Option<&'static [u8]>,
}

#[derive(PartialEq)]
enum Made {
    NotYet,
    Yes,
    Never,
}

/// Whose copy this process is.
struct Origin {
    /// Name of the nearest ancestor with a directory.
    part: Text,
    thread: u32,
    depth: u32,
    steps: [u32; STEPS],
    ordinal: u32,
    /// Ids below this one mean what they mean there.
    first_own: u64,
}

/// A program or library with places in it. Written once, before `MODULE_COUNT` counts it.
struct Module {
    bias: AtomicUsize,
    /// Addresses, for code that tells only where it was called from; empty for guards.
    from: AtomicUsize,
    to: AtomicUsize,
    first: AtomicU32,
    count: AtomicU32,
    placed: AtomicBool,
}

impl Module {
    const fn new() -> Module {
        Module {
            bias: AtomicUsize::new(0),
            from: AtomicUsize::new(0),
            to: AtomicUsize::new(0),
            first: AtomicU32::new(0),
            count: AtomicU32::new(0),
            placed: AtomicBool::new(false),
        }
    }
}

impl Part {
    const fn new() -> Part {
        Part {
            path: Text::new(),
            attempt: 0,
            whole: 0,
            made: Made::NotYet,
            text: Text::new(),
            said_lost: false,
            budget: AtomicPtr::new(core::ptr::null_mut()),
            own: Text::new(),
            thread_limit: THREAD_EVENTS,
            attempt_limit: ATTEMPT_EVENTS as u64,
            origin: None,
            unseen: None,
        }
    }
}

fn modules() -> &'static [Module] {
    &MODULES[..MODULE_COUNT.load(Ordering::Acquire)]
}

/// One at a time. Never held while waiting for a lock of the C library or the loader.
pub fn locked<T>(work: impl FnOnce() -> T) -> T {
    while LOCK.swap(true, Ordering::Acquire) {
        system::give_way();
    }
    let done = work();
    LOCK.store(false, Ordering::Release);
    done
}

/// # Safety
/// Under `LOCK`.
#[allow(clippy::mut_from_ref)]
unsafe fn part() -> &'static mut Part {
    &mut *PART.0.get()
}

/// Whether anything is traced. The variables are read at the first call, when the library is loaded.
#[inline(always)]
pub unsafe fn is_on() -> bool {
    match STATE.load(Ordering::Relaxed) {
        UNREAD => system::quietly(|| come()),
        state => state == ON,
    }
}

#[cold]
unsafe fn come() -> bool {
    let on = locked(|| {
        let part = part();
        let Some(attempt) = system::variable(b"UNFLAKE_TRACE\0").filter(|path| !path.is_empty()) else {
            return false;
        };
        if attempt[0] != b'/' {
            let mut here = [0; 1024];
            part.path.add(system::directory(&mut here)).add(b"/");
        }
        part.path.add(attempt);
        system::make_directory(part.path.closed()).ok();
        part.path.add(b"/");
        part.attempt = part.path.len();
        if let Some(own) = system::variable(b"UNFLAKE_TRACE_OWN\0").filter(|own| !own.is_empty()) {
            part.own.add(own).add(b"/");
        }
        part.thread_limit = limit(b"UNFLAKE_TRACE_THREAD_EVENTS\0", THREAD_EVENTS);
        part.attempt_limit = limit(b"UNFLAKE_TRACE_EVENTS\0", ATTEMPT_EVENTS) as u64;
        !part.path.is_full() && open_budget(part).is_ok()
    });
    // Before anything else is called: what the loader asks for memory may open files, and comes back here.
    STATE.store(if on { ON } else { OFF }, Ordering::Relaxed);
    calls::come();
    if on {
        let unseen = calls::unseen();
        locked(|| part().unseen = unseen);
        (*thread::this()).number = number();
        system::pthread_atfork(Some(before_fork), None, Some(after_fork));
        let mut key = 0;
        if system::pthread_key_create(&mut key, Some(thread::at_end)) == 0 {
            KEY.store(key, Ordering::Relaxed);
        }
        files::loaded();
    }
    on
}

fn limit(name: &[u8], otherwise: usize) -> usize {
    let digits = system::variable(name).and_then(|value| core::str::from_utf8(value).ok());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(otherwise)
}

/// What all processes of the attempt have taken so far, in a page that they share.
unsafe fn open_budget(part: &mut Part) -> Result<(), i32> {
    part.path.add(b"budget");
    let page = File::old_or_new(part.path.closed()).and_then(|file| {
        file.cut(4096)?;
        file.map(0, 4096, false)
    });
    part.path.cut(part.attempt);
    part.budget.store(page?.cast(), Ordering::Relaxed);
    Ok(())
}

pub unsafe fn take_budget(events: usize) -> bool {
    let part = part();
    let budget = &*part.budget.load(Ordering::Relaxed);
    let fits = budget.fetch_add(events as u64, Ordering::Relaxed).saturating_add(events as u64) <= part.attempt_limit;
    if !fits {
        give_budget(events);
    }
    fits
}

pub unsafe fn give_budget(events: usize) {
    let budget = &*part().budget.load(Ordering::Relaxed);
    budget.fetch_sub(events as u64, Ordering::Relaxed);
}

/// Where not even a line can be written there is still the page: its second word says that files are missing.
pub unsafe fn say_unwritten() {
    (*part().budget.load(Ordering::Relaxed).add(1)).store(1, Ordering::Relaxed);
}

pub unsafe fn thread_limit() -> usize {
    part().thread_limit
}

pub fn number() -> u32 {
    NEXT_THREAD.fetch_add(1, Ordering::Relaxed)
}

pub unsafe fn at_end_of_thread(value: *const c_void) {
    let key = KEY.load(Ordering::Relaxed);
    if key != u32::MAX {
        system::pthread_setspecific(key, value);
    }
}

/// Makes the directory of this process, if it is not there yet. Under `LOCK`.
pub unsafe fn ready() -> bool {
    let part = part();
    if part.made == Made::NotYet {
        part.made = if make(part) { Made::Yes } else { Made::Never };
    }
    part.made == Made::Yes
}

unsafe fn make(part: &mut Part) -> bool {
    // The same process can come by several times: it may have replaced itself by another program.
    for time in 1..1000 {
        part.path.cut(part.attempt);
        part.path.number(system::process().into()).add(b"-").number(time);
        match system::make_directory(part.path.closed()) {
            Ok(()) => {
                part.path.add(b"/");
                part.whole = part.path.len();
                introduce(part);
                return !part.path.is_full();
            }
            Err(system::EXISTS) => {}
            Err(_) => return false,
        }
    }
    false
}

unsafe fn introduce(part: &mut Part) {
    let mut executable = [0; 1024];
    let text = &mut part.text;
    text.cut(0);
    text.add(b"unflake-observe 1\npid ").number(system::process().into());
    text.add(b"\nparent ").number(system::parent_process().into());
    text.add(b"\nstarted ").number(system::clock());
    text.add(b"\nexecutable ").escaped(system::link(b"/proc/self/exe\0", &mut executable)).add(b"\n");
    text.add(b"files").add(if part.unseen.is_some() { b" unseen " } else { b"" });
    text.add(part.unseen.unwrap_or_default()).add(b"\n");
    if let Some(origin) = &part.origin {
        text.add(b"forked ").add(origin.part.all()).add(b" ").number(origin.thread.into()).add(b" ");
        text.steps(if origin.depth == UNKNOWN { None } else { Some(origin.depth) }, &origin.steps);
        text.add(b" ").number(origin.ordinal.into()).add(b" ").number(origin.first_own).add(b"\n");
    }
    say(part);
}

/// Appends `text` to the description of this process.
unsafe fn say(part: &mut Part) {
    part.path.add(b"process");
    if let Ok(file) = File::at_end(part.path.closed()) {
        file.write(part.text.all());
    }
    part.path.cut(part.whole);
}

/// Says once that threads of this process have no file.
pub unsafe fn lost(why: &[u8], error: i32) {
    let part = part();
    if part.made == Made::Yes && !part.said_lost {
        part.said_lost = true;
        part.text.cut(0);
        part.text.add(b"lost ").add(why).add(b" ").number(error as u64).add(b"\n");
        say(part);
    }
}

/// Lends the path of a thread's file, closed by a zero. Under `LOCK`, which also guards the one buffer that paths are
/// made in: the stack may be small.
pub unsafe fn thread_path<T>(number: u32, with: impl FnOnce(&[u8]) -> T) -> T {
    let part = part();
    part.path.add(b"thread-").number(number.into());
    let done = with(part.path.closed());
    part.path.cut(part.whole);
    done
}

/// Lends the path of the file that accesses are written to, closed by a zero; false where there is none. A copy that has no
/// directory of its own (yet) writes to that of whose copy it is: most only become another program. Under `LOCK`.
pub unsafe fn files_path(with: impl FnOnce(&[u8]) -> bool) -> bool {
    let part = part();
    match (&part.made, &part.origin) {
        (Made::NotYet, Some(origin)) => {
            part.path.add(origin.part.all()).add(b"/files");
            let done = with(part.path.closed());
            part.path.cut(part.attempt);
            done
        }
        _ => {
            if !ready() {
                return false;
            }
            part.path.add(b"files");
            let done = with(part.path.closed());
            part.path.cut(part.whole);
            done
        }
    }
}

// -- Programs and libraries -----------------------------------------------------------------------------------------------

/// What is looked for among all that is loaded.
struct Search {
    address: usize,
    guards: (*mut u32, *mut u32),
    places: (*const [usize; 2], *const [usize; 2]),
}

pub unsafe fn add_guards(from: *mut u32, to: *mut u32) {
    look(Search { address: from as usize, guards: (from, to), places: (null(), null()) });
}

pub unsafe fn add_places(from: *const [usize; 2], to: *const [usize; 2]) {
    look(Search { address: from as usize, guards: (core::ptr::null_mut(), core::ptr::null_mut()), places: (from, to) });
}

/// The id of the place that was called from here. Such ids are the distance from the beginning of the code.
#[inline(always)]
pub unsafe fn place(address: usize) -> u32 {
    for module in modules() {
        let from = module.from.load(Ordering::Relaxed);
        if address >= from && address < module.to.load(Ordering::Relaxed) {
            return module.first.load(Ordering::Relaxed) + (address - from) as u32;
        }
    }
    place_of_new_module(address)
}

#[cold]
#[inline(never)]
unsafe fn place_of_new_module(address: usize) -> u32 {
    let nothing = core::ptr::null_mut();
    look(Search { address, guards: (nothing, nothing), places: (null(), null()) });
    let found = modules()
        .iter()
        .find(|module| (module.from.load(Ordering::Relaxed)..module.to.load(Ordering::Relaxed)).contains(&address));
    found.map_or(0, |module| {
        module.first.load(Ordering::Relaxed) + (address - module.from.load(Ordering::Relaxed)) as u32
    })
}

unsafe fn look(mut search: Search) {
    // The loader's lock comes first and ours inside it: a constructor that runs under the former may want the latter.
    system::quietly(|| system::dl_iterate_phdr(visit, (&raw mut search).cast()));
}

unsafe extern "C" fn visit(loaded: *mut Loaded, _: usize, search: *mut c_void) -> c_int {
    const LOAD: u32 = 1;
    const EXECUTABLE: u32 = 1;
    let (loaded, search) = (&*loaded, &*search.cast::<Search>());
    let segments = core::slice::from_raw_parts(loaded.segments, loaded.count.into());
    let range = |segment: &system::Segment| {
        let from = loaded.bias.wrapping_add(segment.address as usize);
        from..from.wrapping_add(segment.in_memory as usize)
    };
    let mut own = segments.iter().filter(|segment| segment.kind == LOAD);
    let Some(hit) = own.find(|segment| range(segment).contains(&search.address)) else {
        return 0;
    };
    locked(|| {
        if !ready() {
        } else if !search.places.0.is_null() {
            write_places(loaded, search.places.0, search.places.1);
        } else if !search.guards.0.is_null() {
            let count = search.guards.1.offset_from(search.guards.0) as usize;
            if *search.guards.0 == 0
                && let Some((first, stamp)) = add(loaded, 0..0, count)
            {
                let own = own_places(stamp, count);
                for at in 0..count {
                    if own.is_null() || *own.add(at / 8) >> (at % 8) & 1 == 1 {
                        *search.guards.0.add(at) = first + at as u32;
                    }
                }
                if !own.is_null() {
                    system::unmap(own, count.div_ceil(8));
                }
            }
        } else if hit.flags & EXECUTABLE != 0
            && !modules().iter().any(|module| module.from.load(Ordering::Relaxed) == range(hit).start)
        {
            add(loaded, range(hit), range(hit).len());
        }
    });
    1
}

/// Gives out ids and writes down what they belong to.
unsafe fn add(loaded: &Loaded, addresses: core::ops::Range<usize>, count: usize) -> Option<(u32, system::Stamp)> {
    let part = part();
    let at = MODULE_COUNT.load(Ordering::Relaxed);
    let first = NEXT_ID.load(Ordering::Relaxed);
    let next = first + count as u64;
    if at == MOST_MODULES || next > u32::MAX.into() {
        lost(b"too-many-modules", 0);
        return None;
    }
    let module = &MODULES[at];
    module.bias.store(loaded.bias, Ordering::Relaxed);
    module.from.store(addresses.start, Ordering::Relaxed);
    module.to.store(addresses.end, Ordering::Relaxed);
    module.first.store(first as u32, Ordering::Relaxed);
    module.count.store(count as u32, Ordering::Relaxed);
    module.placed.store(false, Ordering::Relaxed);
    NEXT_ID.store(next, Ordering::Relaxed);
    MODULE_COUNT.store(at + 1, Ordering::Release);

    // Lent for a moment: whatever is not absolute gets the directory in front.
    let mut file: Text = Text::new();
    let mut buffer = [0; 1024];
    let name = if loaded.name.is_null() { &[] } else { system::text(loaded.name) };
    match name.first() {
        None => file.add(system::link(b"/proc/self/exe\0", &mut buffer)),
        Some(b'/') => file.add(name),
        Some(_) => file.add(system::directory(&mut buffer)).add(b"/").add(name),
    };
    let stamp = system::stamp(file.closed());
    let text = &mut part.text;
    text.cut(0);
    text.add(b"module ").number(first).add(b" ").number(count as u64);
    // The distance of an address-like id is from the beginning of the code as the file has it.
    if addresses.is_empty() {
        text.add(b" guards 0");
    } else {
        text.add(b" addresses ").number((addresses.start - loaded.bias) as u64);
    }
    text.add(b" ").number(stamp.size).add(b" ").number(stamp.seconds).add(b" ").number(stamp.nanoseconds);
    text.add(b" ").escaped(file.all()).add(b"\n");
    say(part);
    Some((first as u32, stamp))
}

/// Which places of a file in this state are wanted, one bit each; null where nobody said. A guard that stays 0 costs next to
/// nothing, and most places of an unoptimised program are generic code of libraries.
unsafe fn own_places(stamp: system::Stamp, count: usize) -> *mut u8 {
    let own = &mut part().own;
    let length = own.len();
    if length == 0 {
        return core::ptr::null_mut();
    }
    own.number(stamp.size).add(b"-").number(stamp.seconds).add(b"-").number(stamp.nanoseconds);
    own.add(b"-").number(count as u64);
    let size = count.div_ceil(8);
    // A file of another length would be a fault at the first touch behind its end.
    let fits = system::stamp(own.closed()).size == size as u64;
    let table = if fits { File::old(own.closed()).and_then(|file| file.map(0, size, true)) } else { Err(0) };
    own.cut(length);
    table.unwrap_or(core::ptr::null_mut())
}

/// For each guard the address of its place as the file has it; the highest bit marks the beginning of a function.
unsafe fn write_places(loaded: &Loaded, from: *const [usize; 2], to: *const [usize; 2]) {
    let count = to.offset_from(from) as usize;
    let fits = |module: &&Module| {
        module.bias.load(Ordering::Relaxed) == loaded.bias
            && module.from.load(Ordering::Relaxed) == 0
            && !module.placed.load(Ordering::Relaxed)
            && module.count.load(Ordering::Relaxed) as usize == count
    };
    // The last one: a library can be unloaded and another one be loaded at the same address.
    let Some(module) = modules().iter().rev().find(fits) else {
        return;
    };
    module.placed.store(true, Ordering::Relaxed);
    let part = part();
    part.path.add(b"places-").number(module.first.load(Ordering::Relaxed).into());
    let size = count * 8;
    let table = File::new(part.path.closed()).and_then(|file| {
        file.reserve(0, size)?;
        file.map(0, size, true)
    });
    part.path.cut(part.whole);
    let Ok(table) = table else {
        return;
    };
    for at in 0..count {
        let [address, flags] = *from.add(at);
        let place = address.wrapping_sub(loaded.bias) as u64 & !(1 << 63) | (flags as u64 & 1) << 63;
        table.cast::<u64>().add(at).write(place);
    }
    system::unmap(table, size);
}

// -- Copies of the process --------------------------------------------------------------------------------------------------

unsafe extern "C" fn before_fork() {
    (*thread::this()).forks += 1;
}

/// The copy makes its directory at its first event and not before: most copies only become another program.
unsafe extern "C" fn after_fork() {
    LOCK.store(false, Ordering::Release); // Whoever held it stayed behind.
    let part = part();
    let this = thread::this();
    if part.made == Made::Yes {
        let mut name = Text::new();
        name.add(&part.path.all()[part.attempt..part.whole - 1]);
        part.origin = Some(Origin {
            part: name,
            thread: (*this).number,
            depth: (*this).depth,
            steps: (*this).steps,
            ordinal: (*this).forks - 1,
            first_own: NEXT_ID.load(Ordering::Relaxed),
        });
    }
    part.path.cut(part.attempt);
    part.whole = 0;
    part.made = Made::NotYet;
    part.said_lost = false;
    NEXT_THREAD.store(1, Ordering::Relaxed);
    thread::start_over();
}
