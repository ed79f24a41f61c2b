//! The tracing runtime for native code: what instrumented code calls at every place, and what it takes to keep that.
//!
//! It does nothing unless `UNFLAKE_TRACE` names a directory. What it writes is described in `crates/unflake-observe`. It is
//! a library without Rust's standard library, so that it allocates nothing, has no start-up of its own, and brings
//! nothing along that the project could also have.

#![no_std]
#![allow(unsafe_op_in_unsafe_fn)] // Every function here stands in for one of C.

mod calls;
mod files;
mod format;
mod part;
mod start;
mod system;
mod text;
mod thread;

use core::ffi::{c_char, c_int, c_void};

/// What a clang or Rust build calls at every place. A guard is 0 where nothing is to be traced.
///
/// # Safety
/// Called by instrumented code only, with a guard of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_cov_trace_pc_guard(guard: *const u32) {
    let id = *guard;
    if id != 0 {
        thread::record(id);
    }
}

/// Called when a program or library is loaded, possibly more than once for the same range.
///
/// # Safety
/// Called by instrumented code only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_cov_trace_pc_guard_init(from: *mut u32, to: *mut u32) {
    if part::is_on() && from < to && *from == 0 {
        part::add_guards(from, to);
    }
}

/// Called after the former: address and kind of every place of the same range.
///
/// # Safety
/// Called by instrumented code only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_cov_pcs_init(from: *const [usize; 2], to: *const [usize; 2]) {
    if part::is_on() && from < to {
        part::add_places(from, to);
    }
}

/// What a gcc build calls at every place: where it was called from is all it tells.
///
/// # Safety
/// Called by instrumented code only.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn __sanitizer_cov_trace_pc() {
    // Naked, because only the first instruction still finds the return address where it was put.
    core::arch::naked_asm!("mov rdi, qword ptr [rsp]", "jmp {}", sym came_from)
}

/// # Safety
/// Called by instrumented code only.
#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn __sanitizer_cov_trace_pc() {
    core::arch::naked_asm!("mov x0, x30", "b {}", sym came_from)
}

unsafe extern "C" fn came_from(address: usize) {
    if part::is_on() {
        let id = part::place(address);
        if id != 0 {
            thread::record(id);
        }
    }
}

/// # Safety
/// Called by the program as the function of this name, which it passes the call on to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut usize,
    attributes: *const c_void,
    routine: system::Start,
    argument: *mut c_void,
) -> c_int {
    start::create(thread, attributes, routine, argument)
}

/// # Safety
/// Called by the program as the function of this name, which it passes the call on to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_setname_np(thread: usize, name: *const c_char) -> c_int {
    start::name(thread, name)
}

// The loader calls these when the library comes and when the process leaves by `exit`.
#[used]
#[unsafe(link_section = ".init_array")]
static COME: unsafe extern "C" fn() = come;
#[used]
#[unsafe(link_section = ".fini_array")]
static LEAVE: unsafe extern "C" fn() = leave;

unsafe extern "C" fn come() {
    part::is_on();
}

unsafe extern "C" fn leave() {
    if part::is_on() {
        files::loaded();
    }
    thread::end();
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: never comes back.
    unsafe { system::abort() }
}

// Rust's core library, as it is delivered, names the function that unwinds through its frames. Nothing here unwinds, and
// nobody outside may find this one.
#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(".globl rust_eh_personality", ".hidden rust_eh_personality", "rust_eh_personality:", "ud2");
#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(".globl rust_eh_personality", ".hidden rust_eh_personality", "rust_eh_personality:", "brk #1");
