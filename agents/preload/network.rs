//! The network: unreachable, or slow.

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::mem::transmute;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::Relaxed;

use crate::real_functions::interpose;
use crate::settings::{LATENCY, NO_NETWORK, SLOW_NETWORK, active};
use crate::system;

const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;
const ENETUNREACH: c_int = 101;

type Opaque = *mut c_void;

/// Whether this is the address of another machine.
unsafe fn is_remote(address: *const u8, length: usize) -> bool {
    if address.is_null() || length < 8 {
        return false;
    }
    let family = u16::from_ne_bytes([*address, *address.add(1)]);
    match family {
        AF_INET => !matches!(*address.add(4), 127 | 0),
        AF_INET6 if length >= 24 => {
            let bytes = core::slice::from_raw_parts(address.add(8), 16);
            let (front, rest) = bytes.split_at(12);
            let is_mapped = front == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
            let is_local = front == [0; 12] && matches!(rest, [0, 0, 0, 0 | 1]);
            !(is_local || is_mapped && matches!(rest[0], 127 | 0))
        }
        _ => false,
    }
}

/// Rejects the address like a machine without a network.
unsafe fn is_blocked(address: *const u8, length: usize) -> bool {
    let blocked = active() & NO_NETWORK != 0 && is_remote(address, length);
    if blocked {
        system::set_errno(ENETUNREACH);
    }
    blocked
}

#[inline(always)]
fn delay(socket: c_int) {
    if active() & SLOW_NETWORK != 0 {
        wait_latency(socket);
    }
}

#[cold]
fn wait_latency(socket: c_int) {
    let internet = [c_int::from(AF_INET), c_int::from(AF_INET6)];
    if system::socket_family(socket).is_some_and(|family| internet.contains(&family)) {
        system::sleep(LATENCY.load(Relaxed));
    }
}

/// Received data arrives later. A call that receives nothing is not delayed.
#[inline(always)]
fn delay_received(socket: c_int, result: isize) -> isize {
    if result > 0 {
        delay(socket);
    }
    result
}

/// `struct msghdr`: address and its length.
#[repr(C)]
pub struct MessageHeader {
    address: *const u8,
    length: c_uint,
}

interpose! {
    fn connect(socket: c_int, address: *const u8, length: c_uint) -> c_int, or -1 => |real| {
        if is_blocked(address, length as usize) {
            return -1;
        }
        delay(socket);
        real(socket, address, length)
    };
    fn send(socket: c_int, bytes: Opaque, length: usize, flags: c_int) -> isize, or -1 => |real| {
        delay(socket);
        real(socket, bytes, length, flags)
    };
    fn sendto(socket: c_int, bytes: Opaque, length: usize, flags: c_int, to: *const u8, size: c_uint) -> isize, or -1 => |real| {
        if is_blocked(to, size as usize) {
            return -1;
        }
        delay(socket);
        real(socket, bytes, length, flags, to, size)
    };
    fn sendmsg(socket: c_int, message: *const MessageHeader, flags: c_int) -> isize, or -1 => |real| {
        if active() & NO_NETWORK != 0 && !message.is_null() && is_blocked((*message).address, (*message).length as usize) {
            return -1;
        }
        delay(socket);
        real(socket, message, flags)
    };
    // All messages of one call go to the same address.
    fn sendmmsg(socket: c_int, messages: *const MessageHeader, count: c_uint, flags: c_int) -> c_int, or -1 => |real| {
        if active() & NO_NETWORK != 0 && count > 0 && is_blocked((*messages).address, (*messages).length as usize) {
            return -1;
        }
        delay(socket);
        real(socket, messages, count, flags)
    };
    fn recv(socket: c_int, into: Opaque, length: usize, flags: c_int) -> isize, or -1 => |real| {
        delay_received(socket, real(socket, into, length, flags))
    };
    fn recvfrom(socket: c_int, into: Opaque, length: usize, flags: c_int, from: Opaque, size: Opaque) -> isize, or -1 => |real| {
        delay_received(socket, real(socket, into, length, flags, from, size))
    };
    fn recvmsg(socket: c_int, into: Opaque, flags: c_int) -> isize, or -1 => |real| {
        delay_received(socket, real(socket, into, flags))
    };
    fn recvmmsg(socket: c_int, into: Opaque, count: c_uint, flags: c_int, timeout: Opaque) -> c_int, or -1 => |real| {
        delay_received(socket, real(socket, into, count, flags, timeout) as isize) as c_int
    };
    fn read(file: c_int, into: Opaque, length: usize) -> isize, or -1 => |real| {
        delay_received(file, real(file, into, length))
    };
    fn readv(file: c_int, into: Opaque, count: c_int) -> isize, or -1 => |real| {
        delay_received(file, real(file, into, count))
    };
    fn write(file: c_int, bytes: Opaque, length: usize) -> isize, or -1 => |real| {
        delay(file);
        real(file, bytes, length)
    };
    fn writev(file: c_int, bytes: Opaque, count: c_int) -> isize, or -1 => |real| {
        delay(file);
        real(file, bytes, count)
    };
    // The C library resolves names itself, without `connect`.
    fn getaddrinfo(name: *const c_char, service: *const c_char, hints: *const [c_int; 12], into: *mut Opaque) -> c_int, or -11 => |real| {
        if active() & NO_NETWORK == 0 || name.is_null() || is_local_name(name) {
            return real(name, service, hints, into);
        }
        const AI_NUMERICHOST: c_int = 4;
        const EAI_NONAME: c_int = -2;
        const EAI_AGAIN: c_int = -3;
        let mut numeric = if hints.is_null() { [0; 12] } else { *hints };
        numeric[0] |= AI_NUMERICHOST;
        match real(name, service, &numeric, into) {
            EAI_NONAME => EAI_AGAIN,
            result => result,
        }
    };
    fn gethostbyname(name: *const c_char) -> Opaque, or null_mut() => |real| {
        if active() & NO_NETWORK == 0 || name.is_null() || is_local_name(name) || is_ip_address(name) {
            return real(name);
        }
        set_h_errno(TRY_AGAIN);
        null_mut()
    };
}

const TRY_AGAIN: c_int = 2;

fn set_h_errno(error: c_int) {
    type Location = unsafe extern "C" fn() -> *mut c_int;
    // SAFETY: the name is NUL-terminated; the function returns the location of this thread's
    // h_errno.
    unsafe {
        let found = system::dlsym(null_mut(), c"__h_errno_location".as_ptr()) as usize;
        if let Some(location) = transmute::<usize, Option<Location>>(found) {
            *location() = error;
        }
    }
}

unsafe fn is_local_name(name: *const c_char) -> bool {
    let name = system::c_bytes(name);
    let is_own_name = || {
        let mut buffer = [0; 256];
        let file = system::OpenFile::open(b"/proc/sys/kernel/hostname\0", 0);
        file.is_some_and(|file| file.read(&mut buffer).trim_ascii_end() == name)
    };
    name.is_empty()
        || name == b"localhost"
        || name.ends_with(b".localhost")
        || name == b"ip6-localhost"
        || is_own_name()
}

unsafe fn is_ip_address(name: *const c_char) -> bool {
    system::c_bytes(name).iter().all(|letter| letter.is_ascii_digit() || *letter == b'.')
}
