//! The shim that is preloaded into the processes of a command: it stands before functions of the C library and answers as
//! the factors say that are told in `UNFLAKE_UNDER`.
//!
//! Without that variable it passes every call on. It is a library without Rust's standard library: it brings nothing along
//! that the program could also have, and allocates nothing, except where the function it stands in for does so too.

#![no_std]
#![allow(unsafe_op_in_unsafe_fn)] // Every function here stands in for one of C.
#![allow(clippy::missing_safety_doc)] // Each is called by the program as the function of its name.

mod chance;
mod clock;
mod cores;
mod delays;
mod listing;
mod network;
mod page;
mod program;
mod programs;
mod real;
mod settings;
mod sleeps;
mod syscalls;
mod system;
mod timers;
mod turns;
mod waits;

// The loader calls this when the library comes, before any code of the program.
#[used]
#[unsafe(link_section = ".init_array")]
static COME: unsafe extern "C" fn() = come;

unsafe extern "C" fn come() {
    settings::on();
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    system::abort()
}

// Rust's core library, as it is delivered, names the function that unwinds through its frames. Nothing here unwinds, and
// nobody outside may find this one.
#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(".globl rust_eh_personality", ".hidden rust_eh_personality", "rust_eh_personality:", "ud2");
#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(".globl rust_eh_personality", ".hidden rust_eh_personality", "rust_eh_personality:", "brk #1");
