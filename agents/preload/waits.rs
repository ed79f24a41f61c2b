//! Waiting for something, for at most so long or until a deadline, and taking locks. A deadline is told by the clock of the
//! program; handed on as it is, a shifted one would be years off.

use core::ffi::{c_int, c_long, c_uint, c_void};
use core::mem::transmute;
use core::ptr::null;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::clock::{MONOTONIC, REALTIME, deadline, length, or, real_length, seen_length, to_nanoseconds, to_timespec};
use crate::delays::{at_lock, at_wait};
use crate::real::{Call, next, stand};
use crate::settings::{SPEED, on};
use crate::system::{Timespec, Timeval};

type Any = *mut c_void;
type Until = *const Timespec;

const MILLISECOND: i64 = 1_000_000;

/// A condition remembers which clock its deadlines are told by. Where, is the C library's own business: the word of 32 bits
/// in the upper half, and the bit that differs between one of each kind in the lower. 0: not known.
static CONDITION: AtomicU64 = AtomicU64::new(0);

pub fn come() {
    type Attribute = unsafe extern "C" fn(*mut u64) -> c_int;
    type Set = unsafe extern "C" fn(*mut u64, c_int) -> c_int;
    type Make = unsafe extern "C" fn(*mut [u32; 32], *const u64) -> c_int;
    let found = [Call::pthread_condattr_init, Call::pthread_condattr_setclock, Call::pthread_cond_init].map(next);
    if found.contains(&0) {
        return;
    }
    let (mut attribute, mut conditions) = (0, [[0; 32]; 2]);
    // SAFETY: functions of these types; an attribute has 4 to 8 bytes, a condition 48.
    unsafe {
        transmute::<usize, Attribute>(found[0])(&mut attribute);
        transmute::<usize, Make>(found[2])(&mut conditions[0], &attribute);
        transmute::<usize, Set>(found[1])(&mut attribute, MONOTONIC);
        transmute::<usize, Make>(found[2])(&mut conditions[1], &attribute);
    }
    let differs = (0..32).find(|word| conditions[0][*word] != conditions[1][*word]);
    if let Some(word) = differs {
        let bits = conditions[0][word] ^ conditions[1][word];
        CONDITION.store((word as u64) << 32 | u64::from(bits), Relaxed);
    }
}

unsafe fn clock_of(condition: Any) -> c_int {
    let known = CONDITION.load(Relaxed);
    let (word, bits) = ((known >> 32) as usize, known as u32);
    // SAFETY: a condition, which has this word.
    if bits != 0 && condition.cast::<u32>().add(word).read_volatile() & bits != 0 { MONOTONIC } else { REALTIME }
}

stand! {
    fn pthread_cond_timedwait(condition: Any, lock: Any, until: Until) -> c_int, or 38 => |real| {
        at_wait();
        real(condition, lock, or(&deadline(clock_of(condition), until), until))
    };
    fn pthread_cond_clockwait(condition: Any, lock: Any, clock: c_int, until: Until) -> c_int, or 38 => |real| {
        at_wait();
        real(condition, lock, clock, or(&deadline(clock, until), until))
    };
    fn pthread_cond_wait(condition: Any, lock: Any) -> c_int, or 38 => |real| {
        at_wait();
        real(condition, lock)
    };
    fn cnd_wait(condition: Any, lock: Any) -> c_int, or 2 => |real| {
        at_wait();
        real(condition, lock)
    };
    fn cnd_timedwait(condition: Any, lock: Any, until: Until) -> c_int, or 2 => |real| {
        at_wait();
        real(condition, lock, or(&deadline(REALTIME, until), until))
    };
    fn sem_wait(semaphore: Any) -> c_int, or -1 => |real| {
        at_wait();
        real(semaphore)
    };
    fn sem_timedwait(semaphore: Any, until: Until) -> c_int, or -1 => |real| {
        at_wait();
        real(semaphore, or(&deadline(REALTIME, until), until))
    };
    fn sem_clockwait(semaphore: Any, clock: c_int, until: Until) -> c_int, or -1 => |real| {
        at_wait();
        real(semaphore, clock, or(&deadline(clock, until), until))
    };

    fn pthread_mutex_lock(lock: Any) -> c_int, or 38 => |real| {
        at_lock();
        real(lock)
    };
    fn mtx_lock(lock: Any) -> c_int, or 2 => |real| {
        at_lock();
        real(lock)
    };
    fn pthread_rwlock_rdlock(lock: Any) -> c_int, or 38 => |real| {
        at_lock();
        real(lock)
    };
    fn pthread_rwlock_wrlock(lock: Any) -> c_int, or 38 => |real| {
        at_lock();
        real(lock)
    };
    fn pthread_mutex_timedlock(lock: Any, until: Until) -> c_int, or 38 => |real| {
        at_lock();
        real(lock, or(&deadline(REALTIME, until), until))
    };
    fn mtx_timedlock(lock: Any, until: Until) -> c_int, or 2 => |real| {
        at_lock();
        real(lock, or(&deadline(REALTIME, until), until))
    };
    fn pthread_mutex_clocklock(lock: Any, clock: c_int, until: Until) -> c_int, or 38 => |real| {
        at_lock();
        real(lock, clock, or(&deadline(clock, until), until))
    };
    fn pthread_rwlock_timedrdlock(lock: Any, until: Until) -> c_int, or 38 => |real| {
        at_lock();
        real(lock, or(&deadline(REALTIME, until), until))
    };
    fn pthread_rwlock_timedwrlock(lock: Any, until: Until) -> c_int, or 38 => |real| {
        at_lock();
        real(lock, or(&deadline(REALTIME, until), until))
    };
    fn pthread_rwlock_clockrdlock(lock: Any, clock: c_int, until: Until) -> c_int, or 38 => |real| {
        at_lock();
        real(lock, clock, or(&deadline(clock, until), until))
    };
    fn pthread_rwlock_clockwrlock(lock: Any, clock: c_int, until: Until) -> c_int, or 38 => |real| {
        at_lock();
        real(lock, clock, or(&deadline(clock, until), until))
    };

    fn pthread_join(thread: usize, back: Any) -> c_int, or 38 => |real| {
        at_wait();
        real(thread, back)
    };
    fn pthread_timedjoin_np(thread: usize, back: Any, until: Until) -> c_int, or 38 => |real| {
        at_wait();
        real(thread, back, or(&deadline(REALTIME, until), until))
    };
    fn pthread_clockjoin_np(thread: usize, back: Any, clock: c_int, until: Until) -> c_int, or 38 => |real| {
        at_wait();
        real(thread, back, clock, or(&deadline(clock, until), until))
    };
    fn mq_timedsend(queue: c_int, text: Any, size: usize, priority: c_uint, until: Until) -> c_int, or -1 => |real| {
        at_wait();
        real(queue, text, size, priority, or(&deadline(REALTIME, until), until))
    };
    fn mq_timedreceive(queue: c_int, text: Any, size: usize, priority: Any, until: Until) -> c_long, or -1 => |real| {
        at_wait();
        real(queue, text, size, priority, or(&deadline(REALTIME, until), until))
    };

    fn poll(files: Any, count: usize, most: c_int) -> c_int, or -1 => |real| {
        at_wait();
        match milliseconds(most).and_then(|most| ppoll_for(files, count, &most)) {
            Some(back) => back,
            None => real(files, count, most),
        }
    };
    fn __poll_chk(files: Any, count: usize, most: c_int, size: usize) -> c_int, or -1 => |real| {
        at_wait();
        match milliseconds(most).and_then(|most| ppoll_for(files, count, &most)) {
            Some(back) => back,
            None => real(files, count, most, size),
        }
    };
    fn ppoll(files: Any, count: usize, most: Until, signals: Any) -> c_int, or -1 => |real| {
        at_wait();
        real(files, count, or(&length(most), most), signals)
    };
    fn __ppoll_chk(files: Any, count: usize, most: Until, signals: Any, size: usize) -> c_int, or -1 => |real| {
        at_wait();
        real(files, count, or(&length(most), most), signals, size)
    };
    fn pselect(count: c_int, read: Any, write: Any, other: Any, most: Until, signals: Any) -> c_int, or -1 => |real| {
        at_wait();
        real(count, read, write, other, or(&length(most), most), signals)
    };
    // What is left of the time is told in its place.
    fn select(count: c_int, read: Any, write: Any, other: Any, most: *mut Timeval) -> c_int, or -1 => |real| {
        at_wait();
        if on() & SPEED == 0 || most.is_null() {
            return real(count, read, write, other, most);
        }
        let given = Timespec { seconds: (*most).seconds, nanoseconds: (*most).microseconds * 1_000 };
        let Some(given) = to_nanoseconds(given) else { return real(count, read, write, other, most) };
        *most = timeval(real_length(given));
        let back = real(count, read, write, other, most);
        *most = timeval(seen_length((*most).seconds * 1_000 * MILLISECOND + (*most).microseconds * 1_000));
        back
    };
    fn epoll_wait(queue: c_int, events: Any, count: c_int, most: c_int) -> c_int, or -1 => |real| {
        at_wait();
        let Some(length) = milliseconds(most) else { return real(queue, events, count, most) };
        match epoll_for(queue, events, count, &length, null()) {
            Some(back) => back,
            None => real(queue, events, count, whole(&length)),
        }
    };
    fn epoll_pwait(queue: c_int, events: Any, count: c_int, most: c_int, signals: *const u64) -> c_int, or -1 => |real| {
        at_wait();
        let Some(length) = milliseconds(most) else { return real(queue, events, count, most, signals) };
        match epoll_for(queue, events, count, &length, signals) {
            Some(back) => back,
            None => real(queue, events, count, whole(&length), signals),
        }
    };
    fn epoll_pwait2(queue: c_int, events: Any, count: c_int, most: Until, signals: *const u64) -> c_int, or -1 => |real| {
        at_wait();
        real(queue, events, count, or(&length(most), most), signals)
    };
    fn sigtimedwait(signals: Any, found: Any, most: Until) -> c_int, or -1 => |real| {
        at_wait();
        real(signals, found, or(&length(most), most))
    };
}

/// What so many milliseconds are in real time, if that is something else.
fn milliseconds(most: c_int) -> Option<Timespec> {
    (on() & SPEED != 0 && most > 0).then(|| to_timespec(real_length(i64::from(most) * MILLISECOND)))
}

fn whole(length: &Timespec) -> c_int {
    let length = to_nanoseconds(*length).unwrap_or(0);
    ((length + MILLISECOND - 1) / MILLISECOND).min(i64::from(c_int::MAX)) as c_int
}

fn timeval(nanoseconds: i64) -> Timeval {
    let time = to_timespec(nanoseconds);
    Timeval { seconds: time.seconds, microseconds: time.nanoseconds / 1_000 }
}

unsafe fn ppoll_for(files: Any, count: usize, most: &Timespec) -> Option<c_int> {
    type Poll = unsafe extern "C" fn(Any, usize, Until, Any) -> c_int;
    let poll = transmute::<usize, Option<Poll>>(next(Call::ppoll))?;
    Some(poll(files, count, most, core::ptr::null_mut()))
}

/// With parts of milliseconds, where the C library and the system can.
unsafe fn epoll_for(queue: c_int, events: Any, count: c_int, most: &Timespec, signals: *const u64) -> Option<c_int> {
    type Wait = unsafe extern "C" fn(c_int, Any, c_int, Until, *const u64) -> c_int;
    let wait = transmute::<usize, Option<Wait>>(next(Call::epoll_pwait2))?;
    let back = wait(queue, events, count, most, signals);
    const NO_SUCH_CALL: c_int = 38;
    (back >= 0 || crate::system::errno() != NO_SUCH_CALL).then_some(back)
}
