//! Creation of threads. The number of a thread differs between runs, but its ancestry does not
//! ("the second thread that the first thread created"), so each creator passes it on.

use core::ffi::{c_char, c_int, c_void};
use core::mem::transmute;
use core::ptr::without_provenance_mut;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::format::{STEPS, UNKNOWN};
use crate::process;
use crate::system::{self, Start};
use crate::thread;

type Create = unsafe extern "C" fn(*mut usize, *const c_void, Start, *mut c_void) -> c_int;
type SetName = unsafe extern "C" fn(usize, *const c_char) -> c_int;

static CREATE: AtomicUsize = AtomicUsize::new(0);
static NAME: AtomicUsize = AtomicUsize::new(0);

/// The function of this name that the call would reach without this library.
unsafe fn next(slot: &AtomicUsize, name: &[u8]) -> usize {
    const NEXT: usize = usize::MAX; // RTLD_NEXT
    let mut address = slot.load(Ordering::Relaxed);
    if address == 0 {
        address = system::dlsym(without_provenance_mut(NEXT), name.as_ptr().cast()) as usize;
        if address == 0 {
            system::abort(); // A C library without threads cannot have called this.
        }
        slot.store(address, Ordering::Relaxed);
    }
    address
}

/// What a new thread learns about itself.
struct StartInfo {
    routine: Start,
    argument: *mut c_void,
    number: u32,
    parent: u32,
    depth: u32,
    steps: [u32; STEPS],
}

pub unsafe fn create(to: *mut usize, attributes: *const c_void, routine: Start, argument: *mut c_void) -> c_int {
    let create: Create = transmute(next(&CREATE, b"pthread_create\0"));
    if !process::is_on() {
        return create(to, attributes, routine, argument);
    }
    let info = system::malloc(size_of::<StartInfo>()).cast::<StartInfo>();
    if info.is_null() {
        return create(to, attributes, routine, argument);
    }
    let this = thread::current();
    if (*this).number == 0 {
        (*this).number = process::next_thread_number();
        (*this).depth = UNKNOWN;
    }
    let (depth, mut steps) = ((*this).depth, (*this).steps);
    if let Some(step) = steps.get_mut(depth as usize) {
        *step = (*this).children;
    }
    (*this).children += 1;
    // Descendants of an unknown thread are unknown too.
    let depth = if depth == UNKNOWN { UNKNOWN } else { depth + 1 };
    info.write(StartInfo {
        routine,
        argument,
        number: process::next_thread_number(),
        parent: (*this).number,
        depth,
        steps,
    });
    let done = create(to, attributes, trampoline, info.cast());
    if done != 0 {
        (*this).children -= 1;
        system::free(info.cast());
    }
    done
}

/// The start routine of every thread. It jumps to the real routine and leaves no frame:
/// `pthread_exit` and cancellation unwind through everything below the routine, where no Rust code
/// compiled without unwinding may be.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C-unwind" fn trampoline(info: *mut c_void) -> *mut c_void {
    core::arch::naked_asm!("push rax", "call {apply_start_info}", "pop rcx", "mov rdi, rdx", "jmp rax", apply_start_info = sym apply_start_info)
}

#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C-unwind" fn trampoline(info: *mut c_void) -> *mut c_void {
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-16]!", "bl {apply_start_info}", "ldp x29, x30, [sp], #16", "mov x2, x0", "mov x0, x1", "br x2",
        apply_start_info = sym apply_start_info,
    )
}

/// Returned in two registers.
#[repr(C)]
struct StartRoutine {
    routine: Start,
    argument: *mut c_void,
}

unsafe extern "C" fn apply_start_info(info: *mut c_void) -> StartRoutine {
    let StartInfo { routine, argument, number, parent, depth, steps } = info.cast::<StartInfo>().read();
    system::free(info);
    let this = thread::current();
    (*this).number = number;
    (*this).parent = parent;
    (*this).depth = depth;
    (*this).steps = steps;
    StartRoutine { routine, argument }
}

pub unsafe fn set_name(of: usize, name: *const c_char) -> c_int {
    let real: SetName = transmute(next(&NAME, b"pthread_setname_np\0"));
    let done = real(of, name);
    if done == 0 && process::is_on() && of == system::pthread_self() {
        thread::set_name(system::c_bytes(name));
    }
    done
}
