//! How threads and copies of the process come into being. A thread's number differs from run to run, the way to it does
//! not: "the second thread that the first thread started". So whoever starts a thread tells it where it stands.

use core::ffi::{c_char, c_int, c_void};
use core::mem::transmute;
use core::ptr::without_provenance_mut;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::format::{STEPS, UNKNOWN};
use crate::part;
use crate::system::{self, Start};
use crate::thread;

type Create = unsafe extern "C" fn(*mut usize, *const c_void, Start, *mut c_void) -> c_int;
type Name = unsafe extern "C" fn(usize, *const c_char) -> c_int;

static CREATE: AtomicUsize = AtomicUsize::new(0);
static NAME: AtomicUsize = AtomicUsize::new(0);

/// The function of this name that the call would have reached without us.
unsafe fn next(kept: &AtomicUsize, name: &[u8]) -> usize {
    const NEXT: usize = usize::MAX; // RTLD_NEXT
    let mut found = kept.load(Ordering::Relaxed);
    if found == 0 {
        found = system::dlsym(without_provenance_mut(NEXT), name.as_ptr().cast()) as usize;
        if found == 0 {
            system::abort(); // A C library that has no threads cannot have called us.
        }
        kept.store(found, Ordering::Relaxed);
    }
    found
}

/// What a new thread is told.
struct Told {
    routine: Start,
    argument: *mut c_void,
    number: u32,
    parent: u32,
    depth: u32,
    steps: [u32; STEPS],
}

pub unsafe fn create(to: *mut usize, attributes: *const c_void, routine: Start, argument: *mut c_void) -> c_int {
    let create: Create = transmute(next(&CREATE, b"pthread_create\0"));
    if !part::is_on() {
        return create(to, attributes, routine, argument);
    }
    let told = system::malloc(size_of::<Told>()).cast::<Told>();
    if told.is_null() {
        return create(to, attributes, routine, argument);
    }
    let this = thread::this();
    if (*this).number == 0 {
        (*this).number = part::number();
        (*this).depth = UNKNOWN;
    }
    let (depth, mut steps) = ((*this).depth, (*this).steps);
    if let Some(step) = steps.get_mut(depth as usize) {
        *step = (*this).children;
    }
    (*this).children += 1;
    // Children of somebody unknown are unknown too.
    let depth = if depth == UNKNOWN { UNKNOWN } else { depth + 1 };
    told.write(Told { routine, argument, number: part::number(), parent: (*this).number, depth, steps });
    let done = create(to, attributes, begin, told.cast());
    if done != 0 {
        (*this).children -= 1;
        system::free(told.cast());
    }
    done
}

/// What a new thread begins with. It jumps to the routine and is gone by then: `pthread_exit` and cancellation end a thread
/// by unwinding through all that is below the routine, and nothing compiled by Rust without unwinding may be there.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C-unwind" fn begin(told: *mut c_void) -> *mut c_void {
    core::arch::naked_asm!("push rax", "call {listen}", "pop rcx", "mov rdi, rdx", "jmp rax", listen = sym listen)
}

#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C-unwind" fn begin(told: *mut c_void) -> *mut c_void {
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-16]!", "bl {listen}", "ldp x29, x30, [sp], #16", "mov x2, x0", "mov x0, x1", "br x2",
        listen = sym listen,
    )
}

/// Comes back in two registers.
#[repr(C)]
struct Next {
    routine: Start,
    argument: *mut c_void,
}

unsafe extern "C" fn listen(told: *mut c_void) -> Next {
    let Told { routine, argument, number, parent, depth, steps } = told.cast::<Told>().read();
    system::free(told);
    let this = thread::this();
    (*this).number = number;
    (*this).parent = parent;
    (*this).depth = depth;
    (*this).steps = steps;
    Next { routine, argument }
}

pub unsafe fn name(of: usize, name: *const c_char) -> c_int {
    let real: Name = transmute(next(&NAME, b"pthread_setname_np\0"));
    let done = real(of, name);
    if done == 0 && part::is_on() && of == system::pthread_self() {
        thread::rename(system::text(name));
    }
    done
}
