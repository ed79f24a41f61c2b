//! The trace of one process: its directory in that of the attempt, its description, and the place
//! ids that it assigns.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::ptr::null;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::delay_points;
use crate::file_accesses;
use crate::file_calls;
use crate::format::{STEPS, UNKNOWN};
use crate::schedule;
use crate::system::{self, FileHandle, Loaded};
use crate::text::TextBuffer;
use crate::thread;

const UNREAD: u32 = 0;
const OFF: u32 = 1;
const ON: u32 = 2;

const MAX_MODULES: usize = 256;
/// Default limits: 64 MiB per thread, 256 MiB per attempt.
const THREAD_EVENTS: usize = 16 << 20;
const ATTEMPT_EVENTS: usize = 64 << 20;

static STATE: AtomicU32 = AtomicU32::new(UNREAD);
static LOCK: AtomicBool = AtomicBool::new(false);
static TRACE: LockedTrace = LockedTrace(UnsafeCell::new(ProcessTrace::new()));
static MODULES: [LoadedModule; MAX_MODULES] = [const { LoadedModule::new() }; MAX_MODULES];
static MODULE_COUNT: AtomicUsize = AtomicUsize::new(0);
/// Ids start at 1: a zero in a stream is space that was never written.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);
static NEXT_THREAD: AtomicU32 = AtomicU32::new(1);
static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// Used only under `LOCK`.
struct LockedTrace(UnsafeCell<ProcessTrace>);
// SAFETY: see above.
unsafe impl Sync for LockedTrace {}

struct ProcessTrace {
    /// `UNFLAKE_TRACE` and `/`; once the directory exists, also its name and `/`.
    path: TextBuffer,
    attempt_length: usize,
    path_length: usize,
    directory: DirectoryState,
    text: TextBuffer,
    loss_reported: bool,
    budget: AtomicPtr<AtomicU64>,
    /// `UNFLAKE_TRACE_OWN` and `/`; empty if all places are traced.
    own: TextBuffer,
    thread_limit: usize,
    attempt_limit: u64,
    origin: Option<Origin>,
    /// A function that opens files and is not interposed.
    shadowed: Option<&'static [u8]>,
}

#[derive(PartialEq)]
enum DirectoryState {
    NotYet,
    Created,
    Failed,
}

/// The process that this one was forked from.
struct Origin {
    /// Directory name of the nearest ancestor that has one.
    name: TextBuffer,
    thread: u32,
    depth: u32,
    steps: [u32; STEPS],
    ordinal: u32,
    /// Lower ids have the same meaning as in the ancestor.
    first_own: u64,
}

/// A program or library with places. Written once, before `MODULE_COUNT` includes it.
struct LoadedModule {
    bias: AtomicUsize,
    /// Address range, for code that only reports its call site; empty for guards.
    from: AtomicUsize,
    to: AtomicUsize,
    first: AtomicU32,
    count: AtomicU32,
    /// Bytes of its file.
    size: AtomicU64,
    /// The table of addresses of its guards; null for code that only reports its call site.
    places: AtomicPtr<[usize; 2]>,
    placed: AtomicBool,
}

impl LoadedModule {
    const fn new() -> LoadedModule {
        LoadedModule {
            bias: AtomicUsize::new(0),
            from: AtomicUsize::new(0),
            to: AtomicUsize::new(0),
            first: AtomicU32::new(0),
            count: AtomicU32::new(0),
            size: AtomicU64::new(0),
            places: AtomicPtr::new(core::ptr::null_mut()),
            placed: AtomicBool::new(false),
        }
    }
}

impl ProcessTrace {
    const fn new() -> ProcessTrace {
        ProcessTrace {
            path: TextBuffer::new(),
            attempt_length: 0,
            path_length: 0,
            directory: DirectoryState::NotYet,
            text: TextBuffer::new(),
            loss_reported: false,
            budget: AtomicPtr::new(core::ptr::null_mut()),
            own: TextBuffer::new(),
            thread_limit: THREAD_EVENTS,
            attempt_limit: ATTEMPT_EVENTS as u64,
            origin: None,
            shadowed: None,
        }
    }
}

fn modules() -> &'static [LoadedModule] {
    &MODULES[..MODULE_COUNT.load(Ordering::Acquire)]
}

/// Runs under a lock that is never held while waiting for a lock of the C library or the loader.
pub fn locked<T>(work: impl FnOnce() -> T) -> T {
    while LOCK.swap(true, Ordering::Acquire) {
        system::yield_now();
    }
    let done = work();
    LOCK.store(false, Ordering::Release);
    done
}

/// # Safety
/// Called under `LOCK`.
#[allow(clippy::mut_from_ref)]
unsafe fn trace() -> &'static mut ProcessTrace {
    &mut *TRACE.0.get()
}

/// Whether tracing is on. The environment is read at the first call, when the library is loaded.
#[inline(always)]
pub unsafe fn is_on() -> bool {
    match STATE.load(Ordering::Relaxed) {
        UNREAD => system::without_signals(|| initialize()),
        state => state == ON,
    }
}

#[cold]
unsafe fn initialize() -> bool {
    let on = locked(|| {
        let trace = trace();
        let Some(attempt) = system::env_var(b"UNFLAKE_TRACE\0").filter(|path| !path.is_empty()) else {
            return false;
        };
        if attempt[0] != b'/' {
            let mut here = [0; 1024];
            trace.path.add(system::current_directory(&mut here)).add(b"/");
        }
        trace.path.add(attempt);
        system::make_directory(trace.path.with_nul()).ok();
        trace.path.add(b"/");
        trace.attempt_length = trace.path.len();
        if let Some(own) = system::env_var(b"UNFLAKE_TRACE_OWN\0").filter(|own| !own.is_empty()) {
            trace.own.add(own).add(b"/");
        }
        trace.thread_limit = limit(b"UNFLAKE_TRACE_THREAD_EVENTS\0", THREAD_EVENTS);
        trace.attempt_limit = limit(b"UNFLAKE_TRACE_EVENTS\0", ATTEMPT_EVENTS) as u64;
        !trace.path.is_full() && open_budget(trace).is_ok()
    });
    // Set before anything else is called: lookups allocate memory, which may open files and get
    // here again.
    STATE.store(if on { ON } else { OFF }, Ordering::Relaxed);
    file_calls::resolve_all();
    if on {
        let shadowed = file_calls::shadowed();
        locked(|| trace().shadowed = shadowed);
        (*thread::current()).number = next_thread_number();
        system::pthread_atfork(Some(before_fork), None, Some(after_fork));
        let mut key = 0;
        if system::pthread_key_create(&mut key, Some(thread::destructor)) == 0 {
            KEY.store(key, Ordering::Relaxed);
        }
        file_accesses::record_libraries();
        if let Some(under) = system::env_var(b"UNFLAKE_UNDER\0") {
            schedule::initialize(under);
        }
        if let Some(points) = system::env_var(b"UNFLAKE_DELAY_AT\0") {
            delay_points::initialize(points);
        }
    }
    on
}

fn limit(name: &[u8], fallback: usize) -> usize {
    let digits = system::env_var(name).and_then(|value| core::str::from_utf8(value).ok());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(fallback)
}

/// Maps the page in which all processes of the attempt count recorded events.
unsafe fn open_budget(trace: &mut ProcessTrace) -> Result<(), i32> {
    trace.path.add(b"budget");
    let page = FileHandle::open_or_create(trace.path.with_nul()).and_then(|file| {
        file.truncate(4096)?;
        file.map(0, 4096, false)
    });
    trace.path.truncate(trace.attempt_length);
    trace.budget.store(page?.cast(), Ordering::Relaxed);
    Ok(())
}

pub unsafe fn take_budget(events: usize) -> bool {
    let trace = trace();
    let budget = &*trace.budget.load(Ordering::Relaxed);
    let fits = budget.fetch_add(events as u64, Ordering::Relaxed).saturating_add(events as u64) <= trace.attempt_limit;
    if !fits {
        return_budget(events);
    }
    fits
}

pub unsafe fn return_budget(events: usize) {
    let budget = &*trace().budget.load(Ordering::Relaxed);
    budget.fetch_sub(events as u64, Ordering::Relaxed);
}

/// The second word of the shared page says that accesses are missing, even if no line can be
/// written.
pub unsafe fn mark_incomplete() {
    (*trace().budget.load(Ordering::Relaxed).add(1)).store(1, Ordering::Relaxed);
}

pub unsafe fn thread_limit() -> usize {
    trace().thread_limit
}

pub fn next_thread_number() -> u32 {
    NEXT_THREAD.fetch_add(1, Ordering::Relaxed)
}

pub unsafe fn set_thread_destructor(value: *const c_void) {
    let key = KEY.load(Ordering::Relaxed);
    if key != u32::MAX {
        system::pthread_setspecific(key, value);
    }
}

/// Creates the directory of this process if it does not exist. Called under `LOCK`.
pub unsafe fn ensure_directory() -> bool {
    let trace = trace();
    if trace.directory == DirectoryState::NotYet {
        trace.directory = if create_directory(trace) { DirectoryState::Created } else { DirectoryState::Failed };
    }
    trace.directory == DirectoryState::Created
}

unsafe fn create_directory(trace: &mut ProcessTrace) -> bool {
    // A process that replaces itself by another program gets here again with the same pid.
    for time in 1..1000 {
        trace.path.truncate(trace.attempt_length);
        trace.path.number(system::process_id().into()).add(b"-").number(time);
        match system::make_directory(trace.path.with_nul()) {
            Ok(()) => {
                trace.path.add(b"/");
                trace.path_length = trace.path.len();
                write_description(trace);
                return !trace.path.is_full();
            }
            Err(system::EXISTS) => {}
            Err(_) => return false,
        }
    }
    false
}

unsafe fn write_description(trace: &mut ProcessTrace) {
    let mut executable = [0; 1024];
    let text = &mut trace.text;
    text.truncate(0);
    text.add(b"unflake-trace 1\npid ").number(system::process_id().into());
    text.add(b"\nparent ").number(system::parent_process_id().into());
    text.add(b"\nstarted ").number(system::monotonic_nanoseconds());
    text.add(b"\nexecutable ").escaped(system::read_link(b"/proc/self/exe\0", &mut executable)).add(b"\n");
    text.add(b"files").add(if trace.shadowed.is_some() { b" unseen " } else { b"" });
    text.add(trace.shadowed.unwrap_or_default()).add(b"\n");
    if let Some(origin) = &trace.origin {
        text.add(b"forked ").add(origin.name.as_bytes()).add(b" ").number(origin.thread.into()).add(b" ");
        text.steps(if origin.depth == UNKNOWN { None } else { Some(origin.depth) }, &origin.steps);
        text.add(b" ").number(origin.ordinal.into()).add(b" ").number(origin.first_own).add(b"\n");
    }
    append_description(trace);
}

/// Appends `text` to the description of this process.
unsafe fn append_description(trace: &mut ProcessTrace) {
    trace.path.add(b"process");
    if let Ok(file) = FileHandle::open_append(trace.path.with_nul()) {
        file.write(trace.text.as_bytes());
    }
    trace.path.truncate(trace.path_length);
}

/// Reports once that threads of this process have no file.
pub unsafe fn report_lost_threads(reason: &[u8], error: i32) {
    let trace = trace();
    if trace.directory == DirectoryState::Created && !trace.loss_reported {
        trace.loss_reported = true;
        trace.text.truncate(0);
        trace.text.add(b"lost ").add(reason).add(b" ").number(error as u64).add(b"\n");
        append_description(trace);
    }
}

/// Provides the NUL-terminated path of a thread's file. Called under `LOCK`, which also guards the
/// path buffer: the stack may be small.
pub unsafe fn with_thread_path<T>(number: u32, action: impl FnOnce(&[u8]) -> T) -> T {
    let trace = trace();
    trace.path.add(b"thread-").number(number.into());
    let done = action(trace.path.with_nul());
    trace.path.truncate(trace.path_length);
    done
}

/// Provides the NUL-terminated path of the file for accesses; false if there is none. A forked
/// process without a directory writes to that of its parent, because most only start another
/// program. Called under `LOCK`.
pub unsafe fn with_files_path(action: impl FnOnce(&[u8]) -> bool) -> bool {
    let trace = trace();
    match (&trace.directory, &trace.origin) {
        (DirectoryState::NotYet, Some(origin)) => {
            trace.path.add(origin.name.as_bytes()).add(b"/files");
            let done = action(trace.path.with_nul());
            trace.path.truncate(trace.attempt_length);
            done
        }
        _ => {
            if !ensure_directory() {
                return false;
            }
            trace.path.add(b"files");
            let done = action(trace.path.with_nul());
            trace.path.truncate(trace.path_length);
            done
        }
    }
}

/// What to look for among the loaded modules.
struct ModuleSearch {
    address: usize,
    guards: (*mut u32, *mut u32),
    places: (*const [usize; 2], *const [usize; 2]),
}

pub unsafe fn add_guards(from: *mut u32, to: *mut u32) {
    find_module(ModuleSearch { address: from as usize, guards: (from, to), places: (null(), null()) });
}

pub unsafe fn add_places(from: *const [usize; 2], to: *const [usize; 2]) {
    find_module(ModuleSearch {
        address: from as usize,
        guards: (core::ptr::null_mut(), core::ptr::null_mut()),
        places: (from, to),
    });
}

/// The id of the place with this address: its distance from the start of the code.
#[inline(always)]
pub unsafe fn place_id(address: usize) -> u32 {
    for module in modules() {
        let from = module.from.load(Ordering::Relaxed);
        if address >= from && address < module.to.load(Ordering::Relaxed) {
            return module.first.load(Ordering::Relaxed) + (address - from) as u32;
        }
    }
    place_of_new_module(address)
}

/// The size of the file of a place, and the address of the place in it.
pub unsafe fn file_address(id: u32) -> Option<(u64, u64)> {
    let module = modules().iter().find(|module| {
        let first = module.first.load(Ordering::Relaxed);
        id >= first && id - first < module.count.load(Ordering::Relaxed)
    })?;
    let at = (id - module.first.load(Ordering::Relaxed)) as usize;
    let (places, from) = (module.places.load(Ordering::Relaxed), module.from.load(Ordering::Relaxed));
    let address = match places.is_null() {
        false => (*places.add(at))[0],
        true if from == 0 => return None,
        // A return address: the byte before it belongs to the call.
        true => from.wrapping_add(at).wrapping_sub(1),
    };
    let address = address.wrapping_sub(module.bias.load(Ordering::Relaxed));
    Some((module.size.load(Ordering::Relaxed), address as u64))
}

#[cold]
#[inline(never)]
unsafe fn place_of_new_module(address: usize) -> u32 {
    let nothing = core::ptr::null_mut();
    find_module(ModuleSearch { address, guards: (nothing, nothing), places: (null(), null()) });
    let found = modules()
        .iter()
        .find(|module| (module.from.load(Ordering::Relaxed)..module.to.load(Ordering::Relaxed)).contains(&address));
    found.map_or(0, |module| {
        module.first.load(Ordering::Relaxed) + (address - module.from.load(Ordering::Relaxed)) as u32
    })
}

unsafe fn find_module(mut search: ModuleSearch) {
    // The loader's lock is taken first and ours inside it: a constructor that runs under the former
    // may need the latter.
    system::without_signals(|| system::dl_iterate_phdr(visit, (&raw mut search).cast()));
}

unsafe extern "C" fn visit(loaded: *mut Loaded, _: usize, search: *mut c_void) -> c_int {
    const LOAD: u32 = 1;
    const EXECUTABLE: u32 = 1;
    let (loaded, search) = (&*loaded, &*search.cast::<ModuleSearch>());
    let segments = core::slice::from_raw_parts(loaded.segments, loaded.count.into());
    let range = |segment: &system::ProgramHeader| {
        let from = loaded.bias.wrapping_add(segment.address as usize);
        from..from.wrapping_add(segment.in_memory as usize)
    };
    let mut own = segments.iter().filter(|segment| segment.kind == LOAD);
    let Some(segment_hit) = own.find(|segment| range(segment).contains(&search.address)) else {
        return 0;
    };
    locked(|| {
        if !ensure_directory() {
        } else if !search.places.0.is_null() {
            write_places(loaded, search.places.0, search.places.1);
        } else if !search.guards.0.is_null() {
            let count = search.guards.1.offset_from(search.guards.0) as usize;
            if *search.guards.0 == 0
                && let Some((first, stamp)) = register_module(loaded, 0..0, count)
            {
                let own = project_places(stamp, count);
                for index in 0..count {
                    if own.is_null() || *own.add(index / 8) >> (index % 8) & 1 == 1 {
                        *search.guards.0.add(index) = first + index as u32;
                    }
                }
                if !own.is_null() {
                    system::unmap(own, count.div_ceil(8));
                }
            }
        } else if segment_hit.flags & EXECUTABLE != 0
            && !modules().iter().any(|module| module.from.load(Ordering::Relaxed) == range(segment_hit).start)
        {
            register_module(loaded, range(segment_hit), range(segment_hit).len());
        }
    });
    1
}

/// Assigns ids and records what they belong to.
unsafe fn register_module(
    loaded: &Loaded,
    addresses: core::ops::Range<usize>,
    count: usize,
) -> Option<(u32, system::Stamp)> {
    let trace = trace();
    let index = MODULE_COUNT.load(Ordering::Relaxed);
    let first = NEXT_ID.load(Ordering::Relaxed);
    let next = first + count as u64;
    if index == MAX_MODULES || next > u32::MAX.into() {
        report_lost_threads(b"too-many-modules", 0);
        return None;
    }
    let module = &MODULES[index];
    module.bias.store(loaded.bias, Ordering::Relaxed);
    module.from.store(addresses.start, Ordering::Relaxed);
    module.to.store(addresses.end, Ordering::Relaxed);
    module.first.store(first as u32, Ordering::Relaxed);
    module.count.store(count as u32, Ordering::Relaxed);
    module.placed.store(false, Ordering::Relaxed);
    NEXT_ID.store(next, Ordering::Relaxed);
    MODULE_COUNT.store(index + 1, Ordering::Release);

    // A relative path is prefixed with the working directory.
    let mut file: TextBuffer = TextBuffer::new();
    let mut buffer = [0; 1024];
    let name = if loaded.name.is_null() { &[] } else { system::c_bytes(loaded.name) };
    match name.first() {
        None => file.add(system::read_link(b"/proc/self/exe\0", &mut buffer)),
        Some(b'/') => file.add(name),
        Some(_) => file.add(system::current_directory(&mut buffer)).add(b"/").add(name),
    };
    let stamp = system::stamp(file.with_nul());
    module.size.store(stamp.size, Ordering::Relaxed);
    let text = &mut trace.text;
    text.truncate(0);
    text.add(b"module ").number(first).add(b" ").number(count as u64);
    // The distance of an address id is from the start of the code in the file.
    if addresses.is_empty() {
        text.add(b" guards 0");
    } else {
        text.add(b" addresses ").number((addresses.start - loaded.bias) as u64);
    }
    text.add(b" ").number(stamp.size).add(b" ").number(stamp.seconds).add(b" ").number(stamp.nanoseconds);
    text.add(b" ").escaped(file.as_bytes()).add(b"\n");
    append_description(trace);
    Some((first as u32, stamp))
}

/// Which places of the file are to be traced, one bit each; null if all are. A guard that stays 0
/// costs next to nothing, and most places of an unoptimized program are generic library code.
unsafe fn project_places(stamp: system::Stamp, count: usize) -> *mut u8 {
    let own = &mut trace().own;
    let length = own.len();
    if length == 0 {
        return core::ptr::null_mut();
    }
    own.number(stamp.size).add(b"-").number(stamp.seconds).add(b"-").number(stamp.nanoseconds);
    own.add(b"-").number(count as u64);
    let size = count.div_ceil(8);
    // Accessing a shorter file behind its end would raise a signal.
    let fits = system::stamp(own.with_nul()).size == size as u64;
    let table =
        if fits { FileHandle::open_existing(own.with_nul()).and_then(|file| file.map(0, size, true)) } else { Err(0) };
    own.truncate(length);
    table.unwrap_or(core::ptr::null_mut())
}

/// For each guard, the address of its place in the file; the highest bit marks the start of a
/// function.
unsafe fn write_places(loaded: &Loaded, from: *const [usize; 2], to: *const [usize; 2]) {
    let count = to.offset_from(from) as usize;
    let fits = |module: &&LoadedModule| {
        module.bias.load(Ordering::Relaxed) == loaded.bias
            && module.from.load(Ordering::Relaxed) == 0
            && !module.placed.load(Ordering::Relaxed)
            && module.count.load(Ordering::Relaxed) as usize == count
    };
    // The last one: another library may have been loaded at the address of an unloaded one.
    let Some(module) = modules().iter().rev().find(fits) else {
        return;
    };
    module.placed.store(true, Ordering::Relaxed);
    module.places.store(from.cast_mut(), Ordering::Relaxed);
    let trace = trace();
    trace.path.add(b"places-").number(module.first.load(Ordering::Relaxed).into());
    let size = count * 8;
    let table = FileHandle::create_new(trace.path.with_nul()).and_then(|file| {
        file.allocate(0, size)?;
        file.map(0, size, true)
    });
    trace.path.truncate(trace.path_length);
    let Ok(table) = table else {
        return;
    };
    for index in 0..count {
        let [address, flags] = *from.add(index);
        let place = address.wrapping_sub(loaded.bias) as u64 & !(1 << 63) | (flags as u64 & 1) << 63;
        table.cast::<u64>().add(index).write(place);
    }
    system::unmap(table, size);
}

unsafe extern "C" fn before_fork() {
    (*thread::current()).forks += 1;
}

/// A forked process creates its directory at its first event, because most only start another
/// program.
unsafe extern "C" fn after_fork() {
    LOCK.store(false, Ordering::Release); // The thread that held it exists only in the parent.
    let trace = trace();
    let this = thread::current();
    if trace.directory == DirectoryState::Created {
        let mut name = TextBuffer::new();
        name.add(&trace.path.as_bytes()[trace.attempt_length..trace.path_length - 1]);
        trace.origin = Some(Origin {
            name,
            thread: (*this).number,
            depth: (*this).depth,
            steps: (*this).steps,
            ordinal: (*this).forks - 1,
            first_own: NEXT_ID.load(Ordering::Relaxed),
        });
    }
    trace.path.truncate(trace.attempt_length);
    trace.path_length = 0;
    trace.directory = DirectoryState::NotYet;
    trace.loss_reported = false;
    NEXT_THREAD.store(1, Ordering::Relaxed);
    thread::reset_after_fork();
}
