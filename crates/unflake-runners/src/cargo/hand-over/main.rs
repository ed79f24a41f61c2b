//! The program that cargo starts in place of each test program: it reports its own invocation to
//! the driver and exits.
//!
//! It runs once for each test program, while cargo waits. So it uses no library at all and starts in
//! a fraction of the time that unflake takes. `handoff_socket.rs` describes and reads its message.

#![no_std]
#![no_main]
#![no_builtins] // No library has memcpy or strlen here.
#![allow(unsafe_op_in_unsafe_fn)] // All memory here was laid out by the system.

use core::arch::{asm, global_asm};

const WRITE: usize = 1;
const SOCKET: usize = 41;
const CONNECT: usize = 42;
const EXECVE: usize = 59;
const GETCWD: usize = 79;
const EXIT_GROUP: usize = 231;

const AF_UNIX: usize = 1;
const SOCK_STREAM: usize = 1;
const SOCK_CLOEXEC: usize = 0o2000000;
/// The longest path that the system accepts.
const LONGEST_PATH: usize = 4096;
const PLACE: &[u8] = b"UNFLAKE_HAND_OVER=";
const LIST: &[u8] = b"--list\0";

#[repr(C)]
struct StartAddress {
    family: u16,
    path: [u8; 108],
}

static mut ADDRESS: StartAddress = StartAddress { family: AF_UNIX as u16, path: [0; 108] };
static mut DIRECTORY: [u8; LONGEST_PATH] = [0; LONGEST_PATH];

type StringPointers = *mut *const u8;

// The stack of a new process has the number of its words, the words and the variables.
global_asm!(".globl _start", "_start:", "mov rdi, rsp", "and rsp, -16", "call {main}", "ud2", main = sym main);

unsafe extern "C" fn main(stack: *mut usize) -> ! {
    let count = *stack;
    let words = stack.add(1) as StringPointers;
    let variables = words.add(count + 1);
    if count < 2 || !hand_over(count - 1, words.add(1), variables) {
        exit(1);
    }
    if !(2..count).any(|at| begins(*words.add(at), LIST)) {
        exit(0);
    }
    // cargo wants the list of tests, so the program runs after all, without the driver's variable.
    let mut at = place(variables);
    while !(*variables.add(at)).is_null() {
        *variables.add(at) = *variables.add(at + 1);
        at += 1;
    }
    system(EXECVE, *words.add(1) as usize, words.add(1) as usize, variables as usize);
    exit(127)
}

/// Returns whether the whole message was sent.
unsafe fn hand_over(count: usize, words: StringPointers, variables: StringPointers) -> bool {
    let place = *variables.add(place(variables));
    if place.is_null() {
        return false;
    }
    let path = place.add(PLACE.len());
    let length = length_of(path);
    if length >= size_of::<StartAddress>() - size_of::<u16>() {
        return false;
    }
    for at in 0..length {
        *(&raw mut ADDRESS.path as *mut u8).add(at) = *path.add(at);
    }
    let socket = system(SOCKET, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if socket < 0 || system(CONNECT, socket as usize, &raw const ADDRESS as usize, size_of::<StartAddress>()) < 0 {
        return false;
    }
    // The returned length includes the zero at the end.
    let directory = system(GETCWD, &raw mut DIRECTORY as usize, LONGEST_PATH, 0);
    if directory < 0 {
        return false;
    }
    // The system puts words and variables one after the other, each with a zero at its end.
    let mut last = variables;
    while !(*last.add(1)).is_null() {
        last = last.add(1);
    }
    let end = (*last).add(length_of(*last) + 1);
    write(socket as usize, &raw const count as *const u8, size_of::<usize>())
        && write(socket as usize, &raw const DIRECTORY as *const u8, directory as usize)
        && write(socket as usize, *words, end as usize - *words as usize)
}

unsafe fn write(socket: usize, mut from: *const u8, mut left: usize) -> bool {
    while left > 0 {
        let written = system(WRITE, socket, from as usize, left);
        if written <= 0 {
            return false;
        }
        from = from.add(written as usize);
        left -= written as usize;
    }
    true
}

/// The index of the driver's variable; without it, the end of the list.
unsafe fn place(variables: StringPointers) -> usize {
    let mut at = 0;
    while !(*variables.add(at)).is_null() && !begins(*variables.add(at), PLACE) {
        at += 1;
    }
    at
}

unsafe fn begins(text: *const u8, with: &[u8]) -> bool {
    with.iter().enumerate().all(|(at, byte)| *text.add(at) == *byte)
}

unsafe fn length_of(text: *const u8) -> usize {
    let mut length = 0;
    while *text.add(length) != 0 {
        length += 1;
    }
    length
}

unsafe fn exit(code: usize) -> ! {
    loop {
        system(EXIT_GROUP, code, 0, 0);
    }
}

unsafe fn system(number: usize, first: usize, second: usize, third: usize) -> isize {
    let answer: isize;
    asm!(
        "syscall", inlateout("rax") number as isize => answer, in("rdi") first, in("rsi") second, in("rdx") third,
        lateout("rcx") _, lateout("r11") _, options(nostack)
    );
    answer
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe { exit(1) }
}
