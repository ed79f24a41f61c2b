//! Per-thread state: recording an event takes a few instructions; a slow path maps the next piece
//! of the trace file.

use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{Ordering, compiler_fence};

use crate::delay_points::POINTS;
use crate::format::{ATTEMPT_LIMIT, HEAD, Head, MAGIC, NO_ROOM, STEPS, THREAD_LIMIT, UNKNOWN, VERSION, WHOLE};
use crate::process;
use crate::schedule::ScheduledThread;
use crate::system;

/// The first piece of a file contains the header and stays mapped while the thread lives. All
/// pieces are multiples of the largest page size in use.
const FIRST_PIECE: usize = 64 << 10;
const SECOND_PIECE: usize = 256 << 10;
const LARGE_PIECE: usize = 1 << 20;

/// An event only uses the first two fields.
#[repr(C, align(64))]
pub struct Thread {
    /// Where the next id goes; at or past `end` when there is no room, also before the first event.
    cursor: *mut u32,
    end: *mut u32,
    head: *mut Head,
    piece: *mut u8,
    size: usize,
    /// File offset of the current piece.
    offset: usize,
    state: u32,
    /// Set while this thread is in the slow path: instrumented code that is called from there is
    /// not traced.
    busy: bool,
    pub number: u32,
    pub parent: u32,
    pub depth: u32,
    /// Threads and processes that this thread has created so far.
    pub children: u32,
    pub forks: u32,
    pub steps: [u32; STEPS],
    pub schedule: ScheduledThread,
    /// How often it has run through each given point.
    pub passed: [u16; POINTS],
}

const RECORDING: u32 = 0;
const CLOSED: u32 = 1;

// Thread-local storage of the initial-exec model, which takes two instructions: the library is
// present when the process starts. Rust's `thread_local!` needs the standard library and a call.
core::arch::global_asm!(
    ".pushsection .tbss.unflake_thread, \"awT\", @nobits",
    ".balign 64",
    ".globl unflake_thread",
    ".hidden unflake_thread",
    ".type unflake_thread, @object",
    ".size unflake_thread, {size}",
    "unflake_thread:",
    ".zero {size}",
    ".popsection",
    size = const core::mem::size_of::<Thread>(),
);

#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn current() -> *mut Thread {
    let at: *mut Thread;
    // SAFETY: only reads the thread pointer and the offset of the storage.
    unsafe {
        core::arch::asm!(
            "mov {at}, qword ptr [rip + unflake_thread@gottpoff]",
            "add {at}, qword ptr fs:[0]",
            at = out(reg) at, options(pure, readonly, nostack),
        );
    }
    at
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn current() -> *mut Thread {
    let at: *mut Thread;
    // SAFETY: only reads the thread pointer and the offset of the storage.
    unsafe {
        core::arch::asm!(
            "mrs {at}, tpidr_el0",
            "adrp {offset}, :gottprel:unflake_thread",
            "ldr {offset}, [{offset}, :gottprel_lo12:unflake_thread]",
            "add {at}, {at}, {offset}",
            at = out(reg) at, offset = out(reg) _, options(pure, readonly, nostack),
        );
    }
    at
}

/// Takes the next slot, in one instruction where possible, so that a traced signal handler gets
/// slots of its own wherever it interrupts.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn take_slot(thread: *mut Thread) -> *mut u32 {
    let mut slot = 4usize;
    core::arch::asm!("xadd qword ptr [{cursor}], {slot}", cursor = in(reg) thread, slot = inout(reg) slot, options(nostack));
    slot as *mut u32
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn take_slot(thread: *mut Thread) -> *mut u32 {
    let cursor = &raw mut (*thread).cursor;
    let slot = cursor.read_volatile();
    cursor.write_volatile(slot.wrapping_add(1));
    slot
}

/// # Safety
/// Callable on any thread at any time.
#[inline(always)]
pub unsafe fn record(id: u32) {
    let thread = current();
    let slot = take_slot(thread);
    if slot < (*thread).end {
        slot.write_volatile(id);
    } else {
        record_slow(thread, id);
    }
}

#[cold]
#[inline(never)]
unsafe fn record_slow(thread: *mut Thread, id: u32) {
    if (*thread).state == CLOSED {
        if !(*thread).head.is_null() {
            (*(*thread).head).dropped += 1;
        }
        return;
    }
    if (*thread).busy {
        return;
    }
    let room = system::without_signals(|| {
        // A signal handler may have made room before signals were blocked.
        if (*thread).cursor < (*thread).end {
            return true;
        }
        (*thread).busy = true;
        compiler_fence(Ordering::SeqCst);
        let room = process::locked(|| map_next_piece(thread));
        compiler_fence(Ordering::SeqCst);
        (*thread).busy = false;
        room
    });
    if room {
        record(id);
    } else if !(*thread).head.is_null() {
        (*(*thread).head).dropped += 1;
    }
}

/// Runs other work that needs the lock of `process.rs`, untraced and invisible to the program.
///
/// # Safety
/// Callable on any thread at any time.
pub unsafe fn untraced(work: impl FnOnce()) {
    let thread = current();
    if (*thread).busy {
        return;
    }
    system::without_signals(|| {
        (*thread).busy = true;
        compiler_fence(Ordering::SeqCst);
        work();
        compiler_fence(Ordering::SeqCst);
        (*thread).busy = false;
    });
}

/// Maps the next piece of the file. If that fails, the header records the reason.
unsafe fn map_next_piece(thread: *mut Thread) -> bool {
    if !process::ensure_directory() {
        return close(thread, WHOLE, 0);
    }
    if (*thread).head.is_null() {
        return map_first_piece(thread);
    }
    let offset = (*thread).offset + (*thread).size;
    let recorded = (offset - HEAD) / 4;
    let Some(remaining) = process::thread_limit().checked_sub(recorded).filter(|remaining| *remaining > 0) else {
        return close(thread, THREAD_LIMIT, 0);
    };
    let size = if offset == FIRST_PIECE { SECOND_PIECE } else { LARGE_PIECE };
    if !process::take_budget(size / 4) {
        return close(thread, ATTEMPT_LIMIT, 0);
    }
    let piece = process::with_thread_path((*thread).number, |path| {
        let file = system::FileHandle::open_existing(path)?;
        file.allocate(offset, size)?;
        file.map(offset, size, true)
    });
    match piece {
        Ok(piece) => {
            unmap_piece(thread);
            (*thread).piece = piece;
            (*thread).size = size;
            (*thread).offset = offset;
            (*thread).end = piece.cast::<u32>().add(remaining.min(size / 4));
            (*thread).cursor = piece.cast();
            true
        }
        Err(error) => {
            process::return_budget(size / 4);
            close(thread, NO_ROOM, error)
        }
    }
}

unsafe fn map_first_piece(thread: *mut Thread) -> bool {
    if (*thread).number == 0 {
        (*thread).number = process::next_thread_number();
        (*thread).depth = UNKNOWN;
    }
    let room = (FIRST_PIECE - HEAD) / 4;
    if !process::take_budget(room) {
        process::report_lost_threads(b"attempt-limit", 0);
        return close(thread, WHOLE, 0);
    }
    let piece = process::with_thread_path((*thread).number, |path| {
        let file = system::FileHandle::create_new(path)?;
        file.allocate(0, FIRST_PIECE)?;
        file.map(0, FIRST_PIECE, false)
    });
    let piece = match piece {
        Ok(piece) => piece,
        Err(error) => {
            process::return_budget(room);
            process::report_lost_threads(b"no-room", error);
            return close(thread, WHOLE, 0);
        }
    };
    let head: *mut Head = piece.cast();
    (*head).version = VERSION;
    (*head).stream = HEAD as u32;
    (*head).number = (*thread).number;
    (*head).parent = (*thread).parent;
    (*head).depth = (*thread).depth;
    (*head).system = system::thread_id();
    (*head).started = system::monotonic_nanoseconds();
    (*head).steps = (*thread).steps;
    (&mut (*head).name)[..16].copy_from_slice(&system::thread_name());
    compiler_fence(Ordering::SeqCst);
    (*head).magic = MAGIC; // Last: the magic number marks a complete header.
    (*thread).head = head;
    (*thread).piece = piece;
    (*thread).size = FIRST_PIECE;
    (*thread).offset = 0;
    (*thread).end = piece.add(HEAD).cast::<u32>().add(room.min(process::thread_limit()));
    (*thread).cursor = piece.add(HEAD).cast();
    process::set_thread_destructor(thread.cast());
    true
}

/// Ends recording.
unsafe fn close(thread: *mut Thread, reason: u32, error: i32) -> bool {
    if !(*thread).head.is_null() {
        (*(*thread).head).truncated = reason;
        (*(*thread).head).errno = error as u32;
        unmap_piece(thread);
    }
    (*thread).cursor = null_mut();
    (*thread).end = null_mut();
    (*thread).state = CLOSED;
    false
}

/// Unmaps the current piece, unless it contains the header.
unsafe fn unmap_piece(thread: *mut Thread) {
    if (*thread).offset != 0 && !(*thread).piece.is_null() {
        system::unmap((*thread).piece, (*thread).size);
    }
    (*thread).piece = null_mut();
}

/// Ends recording in good order: truncates the file to its contents, and returns the unused budget.
/// Without this, after a crash or a kill, the file ends with zeros.
///
/// # Safety
/// Called on the thread that ends.
pub unsafe fn finish() {
    let thread = current();
    let head = (*thread).head;
    if head.is_null() || (*thread).busy {
        return;
    }
    system::without_signals(|| {
        (*head).ended = 1;
        if (*thread).state == RECORDING {
            let used = (*thread).cursor.min((*thread).end) as usize - (*thread).piece as usize;
            let length = (*thread).offset + used;
            process::return_budget(((*thread).size - used) / 4);
            close(thread, WHOLE, 0);
            process::locked(|| {
                process::with_thread_path((*thread).number, |path| system::FileHandle::open_existing(path)?.truncate(length))
            })
            .ok();
        }
        // The header is in the file by now; later destructors of this thread are not recorded.
        (*thread).head = null_mut();
        system::unmap(head.cast(), FIRST_PIECE);
    });
}

/// Called by the C library when a thread ends, in four rounds: destructors of other keys may run
/// after this one, so it asks to be called again until the last round.
///
/// # Safety
/// Called on the thread that ends.
pub unsafe extern "C" fn destructor(mut round: *mut c_void) {
    const ROUNDS: usize = 4;
    if round as usize >= ROUNDS {
        round = null_mut(); // The first call gets the address of the thread.
    }
    let round = round as usize + 1;
    if round == ROUNDS {
        finish();
    } else {
        process::set_thread_destructor(core::ptr::without_provenance_mut(round));
    }
}

/// In a forked process this thread is the first one, and the mapped files belong to the parent.
///
/// # Safety
/// Called on the only thread of a new process.
pub unsafe fn reset_after_fork() {
    let thread = current();
    let head = (*thread).head;
    (*thread).cursor = null_mut();
    (*thread).end = null_mut();
    compiler_fence(Ordering::SeqCst);
    unmap_piece(thread);
    if !head.is_null() {
        system::unmap(head.cast(), FIRST_PIECE);
    }
    thread.write(core::mem::zeroed());
    (*thread).number = process::next_thread_number();
}

/// # Safety
/// Called on the thread that is renamed.
pub unsafe fn set_name(name: &[u8]) {
    let head = (*current()).head;
    if !head.is_null() {
        let recorded = &mut (*head).name;
        let length = name.len().min(recorded.len() - 1);
        recorded[..length].copy_from_slice(&name[..length]);
        recorded[length..].fill(0);
    }
}
