//! One thread: its place in memory, the few instructions of an event, and where the next piece of its file comes from.

use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{Ordering, compiler_fence};

use crate::format::{ATTEMPT_LIMIT, HEAD, Head, MAGIC, NO_ROOM, STEPS, THREAD_LIMIT, UNKNOWN, VERSION, WHOLE};
use crate::part;
use crate::system;

/// The first piece of a file, which also holds its head and stays mapped as long as the thread lives. All pieces are
/// multiples of the largest page size in use.
const FIRST: usize = 64 << 10;
const SECOND: usize = 256 << 10;
const FURTHER: usize = 1 << 20;

/// The first two fields are all that an event touches.
#[repr(C, align(64))]
pub struct Thread {
    /// Where the next id goes; at or past `end` when there is no room, also before the first event.
    cursor: *mut u32,
    end: *mut u32,
    head: *mut Head,
    piece: *mut u8,
    size: usize,
    /// Offset in the file of the piece in use.
    offset: usize,
    state: u32,
    /// Set while this thread is in the slow path: what is called from there and turns out to be instrumented, is not traced.
    busy: bool,
    pub number: u32,
    pub parent: u32,
    pub depth: u32,
    /// Threads started, and copies of the process made, by this thread so far.
    pub children: u32,
    pub forks: u32,
    pub steps: [u32; STEPS],
}

const OPEN: u32 = 0;
const CLOSED: u32 = 1;

// Thread-local storage of the kind that is found with two instructions: the library is there when the process
// starts, so there is room for it. Rust's own `thread_local!` needs the standard library and a call.
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
pub fn this() -> *mut Thread {
    let at: *mut Thread;
    // SAFETY: reads the thread pointer and the offset of our storage, nothing else.
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
pub fn this() -> *mut Thread {
    let at: *mut Thread;
    // SAFETY: reads the thread pointer and the offset of our storage, nothing else.
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

/// Takes the next slot. One instruction where there is one, so that a signal handler which is traced itself gets slots of
/// its own wherever it comes in between.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn take(thread: *mut Thread) -> *mut u32 {
    let mut slot = 4usize;
    core::arch::asm!("xadd qword ptr [{cursor}], {slot}", cursor = in(reg) thread, slot = inout(reg) slot, options(nostack));
    slot as *mut u32
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn take(thread: *mut Thread) -> *mut u32 {
    let cursor = &raw mut (*thread).cursor;
    let slot = cursor.read_volatile();
    cursor.write_volatile(slot.wrapping_add(1));
    slot
}

/// # Safety
/// Any thread, any time.
#[inline(always)]
pub unsafe fn record(id: u32) {
    let thread = this();
    let slot = take(thread);
    if slot < (*thread).end {
        slot.write_volatile(id);
    } else {
        without_room(thread, id);
    }
}

#[cold]
#[inline(never)]
unsafe fn without_room(thread: *mut Thread, id: u32) {
    if (*thread).state == CLOSED {
        if !(*thread).head.is_null() {
            (*(*thread).head).dropped += 1;
        }
        return;
    }
    if (*thread).busy {
        return;
    }
    let room = system::quietly(|| {
        // A signal handler may have made room before signals were held back.
        if (*thread).cursor < (*thread).end {
            return true;
        }
        (*thread).busy = true;
        compiler_fence(Ordering::SeqCst);
        let room = part::locked(|| more(thread));
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

/// What is not an event and yet needs the lock of the part. Nothing of it is traced, and nothing of it is visible.
///
/// # Safety
/// Any thread, any time.
pub unsafe fn apart(work: impl FnOnce()) {
    let thread = this();
    if (*thread).busy {
        return;
    }
    system::quietly(|| {
        (*thread).busy = true;
        compiler_fence(Ordering::SeqCst);
        work();
        compiler_fence(Ordering::SeqCst);
        (*thread).busy = false;
    });
}

/// The next piece of the file; where there is none, the file says why.
unsafe fn more(thread: *mut Thread) -> bool {
    if !part::ready() {
        return close(thread, WHOLE, 0);
    }
    if (*thread).head.is_null() {
        return first(thread);
    }
    let offset = (*thread).offset + (*thread).size;
    let kept = (offset - HEAD) / 4;
    let Some(allowed) = part::thread_limit().checked_sub(kept).filter(|allowed| *allowed > 0) else {
        return close(thread, THREAD_LIMIT, 0);
    };
    let size = if offset == FIRST { SECOND } else { FURTHER };
    if !part::take_budget(size / 4) {
        return close(thread, ATTEMPT_LIMIT, 0);
    }
    let piece = part::thread_path((*thread).number, |path| {
        let file = system::File::old(path)?;
        file.reserve(offset, size)?;
        file.map(offset, size, true)
    });
    match piece {
        Ok(piece) => {
            let_go(thread);
            (*thread).piece = piece;
            (*thread).size = size;
            (*thread).offset = offset;
            (*thread).end = piece.cast::<u32>().add(allowed.min(size / 4));
            (*thread).cursor = piece.cast();
            true
        }
        Err(error) => {
            part::give_budget(size / 4);
            close(thread, NO_ROOM, error)
        }
    }
}

unsafe fn first(thread: *mut Thread) -> bool {
    if (*thread).number == 0 {
        (*thread).number = part::number();
        (*thread).depth = UNKNOWN;
    }
    let room = (FIRST - HEAD) / 4;
    if !part::take_budget(room) {
        part::lost(b"attempt-limit", 0);
        return close(thread, WHOLE, 0);
    }
    let piece = part::thread_path((*thread).number, |path| {
        let file = system::File::new(path)?;
        file.reserve(0, FIRST)?;
        file.map(0, FIRST, false)
    });
    let piece = match piece {
        Ok(piece) => piece,
        Err(error) => {
            part::give_budget(room);
            part::lost(b"no-room", error);
            return close(thread, WHOLE, 0);
        }
    };
    let head: *mut Head = piece.cast();
    (*head).version = VERSION;
    (*head).stream = HEAD as u32;
    (*head).number = (*thread).number;
    (*head).parent = (*thread).parent;
    (*head).depth = (*thread).depth;
    (*head).system = system::thread();
    (*head).started = system::clock();
    (*head).steps = (*thread).steps;
    (&mut (*head).name)[..16].copy_from_slice(&system::name());
    compiler_fence(Ordering::SeqCst);
    (*head).magic = MAGIC; // Last: a file with it has a whole head.
    (*thread).head = head;
    (*thread).piece = piece;
    (*thread).size = FIRST;
    (*thread).offset = 0;
    (*thread).end = piece.add(HEAD).cast::<u32>().add(room.min(part::thread_limit()));
    (*thread).cursor = piece.add(HEAD).cast();
    part::at_end_of_thread(thread.cast());
    true
}

/// No more room from here on.
unsafe fn close(thread: *mut Thread, why: u32, error: i32) -> bool {
    if !(*thread).head.is_null() {
        (*(*thread).head).truncated = why;
        (*(*thread).head).errno = error as u32;
        let_go(thread);
    }
    (*thread).cursor = null_mut();
    (*thread).end = null_mut();
    (*thread).state = CLOSED;
    false
}

/// Unmaps the piece in use, unless it is the one with the head.
unsafe fn let_go(thread: *mut Thread) {
    if (*thread).offset != 0 && !(*thread).piece.is_null() {
        system::unmap((*thread).piece, (*thread).size);
    }
    (*thread).piece = null_mut();
}

/// The thread, or the process, ends in good order: the file is cut to what it holds, and what was reserved and not used
/// goes back to the others. Without this (a crash, a kill) the file ends in zeros.
///
/// # Safety
/// Called on the thread that ends.
pub unsafe fn end() {
    let thread = this();
    let head = (*thread).head;
    if head.is_null() || (*thread).busy {
        return;
    }
    system::quietly(|| {
        (*head).ended = 1;
        if (*thread).state == OPEN {
            let used = (*thread).cursor.min((*thread).end) as usize - (*thread).piece as usize;
            let length = (*thread).offset + used;
            part::give_budget(((*thread).size - used) / 4);
            close(thread, WHOLE, 0);
            part::locked(|| part::thread_path((*thread).number, |path| system::File::old(path)?.cut(length))).ok();
        }
        // Cut or not, the head is in the file; what a later destructor of this thread does is no longer kept.
        (*thread).head = null_mut();
        system::unmap(head.cast(), FIRST);
    });
}

/// Called by the C library when a thread ends, in rounds of which there are four: other keys' destructors may run after
/// this one, so it asks to be called again until the last.
///
/// # Safety
/// Called on the thread that ends.
pub unsafe extern "C" fn at_end(mut round: *mut c_void) {
    const ROUNDS: usize = 4;
    if round as usize >= ROUNDS {
        round = null_mut(); // It was the address of the thread: the first call.
    }
    let round = round as usize + 1;
    if round == ROUNDS {
        end();
    } else {
        part::at_end_of_thread(core::ptr::without_provenance_mut(round));
    }
}

/// In the copy that a fork made, this thread is the first one, and the files it has mapped are its parent's.
///
/// # Safety
/// Called on the only thread of a new process.
pub unsafe fn start_over() {
    let thread = this();
    let head = (*thread).head;
    (*thread).cursor = null_mut();
    (*thread).end = null_mut();
    compiler_fence(Ordering::SeqCst);
    let_go(thread);
    if !head.is_null() {
        system::unmap(head.cast(), FIRST);
    }
    thread.write(core::mem::zeroed());
    (*thread).number = part::number();
}

/// # Safety
/// Called on the thread that is renamed.
pub unsafe fn rename(name: &[u8]) {
    let head = (*this()).head;
    if !head.is_null() {
        let kept = &mut (*head).name;
        let length = name.len().min(kept.len() - 1);
        kept[..length].copy_from_slice(&name[..length]);
        kept[length..].fill(0);
    }
}
