//! The preloaded shim: replaces functions of the C library in the processes of a command, as the
//! factors in `UNFLAKE_UNDER` say.
//!
//! Without that variable it passes every call on. The library does without Rust's standard library:
//! it brings nothing along that the program could also have, and allocates only where the replaced
//! function does.

#![no_std]
#![allow(unsafe_op_in_unsafe_fn)] // Every function here has the contract of a C function.
#![allow(clippy::missing_safety_doc)] // Programs call each of these as the libc function of the same name.

mod address_layout;
mod clock;
mod cpu_count;
mod delays;
mod directory_order;
mod executable;
mod network;
mod program_starts;
mod random_seed;
mod real_functions;
mod settings;
mod shared_page;
mod shared_state;
mod sleeps;
mod switch_interval;
mod syscalls;
mod system;
mod timers;
mod waits;

// The loader calls this when it loads the library, before any code of the program.
#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: unsafe extern "C" fn() = on_load;

unsafe extern "C" fn on_load() {
    settings::active();
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    system::abort()
}

// Rust's precompiled core library refers to the personality function of its frames. Nothing here
// unwinds, and the symbol must not be visible outside.
#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(".globl rust_eh_personality", ".hidden rust_eh_personality", "rust_eh_personality:", "ud2");
#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(".globl rust_eh_personality", ".hidden rust_eh_personality", "rust_eh_personality:", "brk #1");
