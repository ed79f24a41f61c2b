//! The network: gone, or slow.

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::mem::transmute;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::Relaxed;

use crate::real::stand;
use crate::settings::{LATENCY, OFF, SLOW, on};
use crate::system;

const INTERNET: u16 = 2; // AF_INET
const INTERNET_6: u16 = 10; // AF_INET6
const UNREACHABLE: c_int = 101; // ENETUNREACH

type Any = *mut c_void;

/// Whether this is the address of another machine.
unsafe fn is_away(address: *const u8, length: usize) -> bool {
    if address.is_null() || length < 8 {
        return false;
    }
    let family = u16::from_ne_bytes([*address, *address.add(1)]);
    match family {
        INTERNET => !matches!(*address.add(4), 127 | 0),
        INTERNET_6 if length >= 24 => {
            let bytes = core::slice::from_raw_parts(address.add(8), 16);
            let (front, back) = bytes.split_at(12);
            let mapped = front == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
            let here = front == [0; 12] && matches!(back, [0, 0, 0, 0 | 1]);
            !(here || mapped && matches!(back[0], 127 | 0))
        }
        _ => false,
    }
}

/// Refused, as a machine without a network refuses it.
unsafe fn is_cut(address: *const u8, length: usize) -> bool {
    let cut = on() & OFF != 0 && is_away(address, length);
    if cut {
        system::set_errno(UNREACHABLE);
    }
    cut
}

#[inline(always)]
fn slowly(socket: c_int) {
    if on() & SLOW != 0 {
        wait(socket);
    }
}

#[cold]
fn wait(socket: c_int) {
    let internet = [c_int::from(INTERNET), c_int::from(INTERNET_6)];
    if system::family(socket).is_some_and(|family| internet.contains(&family)) {
        system::pause(LATENCY.load(Relaxed));
    }
}

/// What has arrived, arrives later. Where nothing has, nobody waits.
#[inline(always)]
fn received(socket: c_int, back: isize) -> isize {
    if back > 0 {
        slowly(socket);
    }
    back
}

/// A message: where to, and how long that is.
#[repr(C)]
pub struct Message {
    address: *const u8,
    length: c_uint,
}

stand! {
    fn connect(socket: c_int, address: *const u8, length: c_uint) -> c_int, or -1 => |real| {
        if is_cut(address, length as usize) {
            return -1;
        }
        slowly(socket);
        real(socket, address, length)
    };
    fn send(socket: c_int, bytes: Any, length: usize, how: c_int) -> isize, or -1 => |real| {
        slowly(socket);
        real(socket, bytes, length, how)
    };
    fn sendto(socket: c_int, bytes: Any, length: usize, how: c_int, to: *const u8, size: c_uint) -> isize, or -1 => |real| {
        if is_cut(to, size as usize) {
            return -1;
        }
        slowly(socket);
        real(socket, bytes, length, how, to, size)
    };
    fn sendmsg(socket: c_int, message: *const Message, how: c_int) -> isize, or -1 => |real| {
        if on() & OFF != 0 && !message.is_null() && is_cut((*message).address, (*message).length as usize) {
            return -1;
        }
        slowly(socket);
        real(socket, message, how)
    };
    // Messages that go together go to one place.
    fn sendmmsg(socket: c_int, messages: *const Message, count: c_uint, how: c_int) -> c_int, or -1 => |real| {
        if on() & OFF != 0 && count > 0 && is_cut((*messages).address, (*messages).length as usize) {
            return -1;
        }
        slowly(socket);
        real(socket, messages, count, how)
    };
    fn recv(socket: c_int, into: Any, length: usize, how: c_int) -> isize, or -1 => |real| {
        received(socket, real(socket, into, length, how))
    };
    fn recvfrom(socket: c_int, into: Any, length: usize, how: c_int, from: Any, size: Any) -> isize, or -1 => |real| {
        received(socket, real(socket, into, length, how, from, size))
    };
    fn recvmsg(socket: c_int, into: Any, how: c_int) -> isize, or -1 => |real| {
        received(socket, real(socket, into, how))
    };
    fn recvmmsg(socket: c_int, into: Any, count: c_uint, how: c_int, most: Any) -> c_int, or -1 => |real| {
        received(socket, real(socket, into, count, how, most) as isize) as c_int
    };
    fn read(file: c_int, into: Any, length: usize) -> isize, or -1 => |real| {
        received(file, real(file, into, length))
    };
    fn readv(file: c_int, into: Any, count: c_int) -> isize, or -1 => |real| {
        received(file, real(file, into, count))
    };
    fn write(file: c_int, bytes: Any, length: usize) -> isize, or -1 => |real| {
        slowly(file);
        real(file, bytes, length)
    };
    fn writev(file: c_int, bytes: Any, count: c_int) -> isize, or -1 => |real| {
        slowly(file);
        real(file, bytes, count)
    };
    // The C library asks for names by itself, past `connect`.
    fn getaddrinfo(name: *const c_char, service: *const c_char, hints: *const [c_int; 12], into: *mut Any) -> c_int, or -11 => |real| {
        if on() & OFF == 0 || name.is_null() || is_here(name) {
            return real(name, service, hints, into);
        }
        const NUMERIC: c_int = 4; // AI_NUMERICHOST
        const NO_NAME: c_int = -2;
        const AGAIN: c_int = -3;
        let mut numeric = if hints.is_null() { [0; 12] } else { *hints };
        numeric[0] |= NUMERIC;
        match real(name, service, &numeric, into) {
            NO_NAME => AGAIN,
            back => back,
        }
    };
    fn gethostbyname(name: *const c_char) -> Any, or null_mut() => |real| {
        if on() & OFF == 0 || name.is_null() || is_here(name) || is_number(name) {
            return real(name);
        }
        host_error(TRY_AGAIN);
        null_mut()
    };
}

const TRY_AGAIN: c_int = 2;

fn host_error(error: c_int) {
    type Place = unsafe extern "C" fn() -> *mut c_int;
    // SAFETY: a closed name; the function gives the place of this thread's h_errno.
    unsafe {
        let found = system::dlsym(null_mut(), c"__h_errno_location".as_ptr()) as usize;
        if let Some(place) = transmute::<usize, Option<Place>>(found) {
            *place() = error;
        }
    }
}

unsafe fn is_here(name: *const c_char) -> bool {
    let name = system::text(name);
    let own = || {
        let mut kept = [0; 256];
        let file = system::File::open(b"/proc/sys/kernel/hostname\0", 0);
        file.is_some_and(|file| file.read(&mut kept).trim_ascii_end() == name)
    };
    name.is_empty() || name == b"localhost" || name.ends_with(b".localhost") || name == b"ip6-localhost" || own()
}

unsafe fn is_number(name: *const c_char) -> bool {
    system::text(name).iter().all(|letter| letter.is_ascii_digit() || *letter == b'.')
}
