//! Waits with a timeout or deadline, and locks. Deadlines are by the program's clock; passed on
//! unchanged, a shifted one would be years off.

use core::ffi::{c_int, c_long, c_uint, c_void};
use core::mem::transmute;
use core::ptr::null;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::clock::{
    MONOTONIC, REALTIME, or_given, real_deadline, real_timeout, to_nanoseconds, to_program_duration, to_real_duration,
    to_timespec,
};
use crate::delays::{delay_lock, delay_wait};
use crate::real_functions::{Call, interpose, next};
use crate::settings::{SPEED, active};
use crate::system::{Timespec, Timeval};

type Opaque = *mut c_void;
type Time = *const Timespec;

const MILLISECOND: i64 = 1_000_000;

/// Where a condition variable stores which clock its deadlines use, an internal of the C library:
/// the index of the 32-bit word in the upper half, the bit that differs in the lower. 0: unknown.
static CONDITION_CLOCK: AtomicU64 = AtomicU64::new(0);

pub fn initialize() {
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
        CONDITION_CLOCK.store((word as u64) << 32 | u64::from(bits), Relaxed);
    }
}

unsafe fn clock_of(condition: Opaque) -> c_int {
    let known = CONDITION_CLOCK.load(Relaxed);
    let (word, bits) = ((known >> 32) as usize, known as u32);
    // SAFETY: a condition has this word.
    if bits != 0 && condition.cast::<u32>().add(word).read_volatile() & bits != 0 { MONOTONIC } else { REALTIME }
}

interpose! {
    fn pthread_cond_timedwait(condition: Opaque, lock: Opaque, until: Time) -> c_int, or 38 => |real| {
        delay_wait();
        real(condition, lock, or_given(&real_deadline(clock_of(condition), until), until))
    };
    fn pthread_cond_clockwait(condition: Opaque, lock: Opaque, clock: c_int, until: Time) -> c_int, or 38 => |real| {
        delay_wait();
        real(condition, lock, clock, or_given(&real_deadline(clock, until), until))
    };
    fn pthread_cond_wait(condition: Opaque, lock: Opaque) -> c_int, or 38 => |real| {
        delay_wait();
        real(condition, lock)
    };
    fn cnd_wait(condition: Opaque, lock: Opaque) -> c_int, or 2 => |real| {
        delay_wait();
        real(condition, lock)
    };
    fn cnd_timedwait(condition: Opaque, lock: Opaque, until: Time) -> c_int, or 2 => |real| {
        delay_wait();
        real(condition, lock, or_given(&real_deadline(REALTIME, until), until))
    };
    fn sem_wait(semaphore: Opaque) -> c_int, or -1 => |real| {
        delay_wait();
        real(semaphore)
    };
    fn sem_timedwait(semaphore: Opaque, until: Time) -> c_int, or -1 => |real| {
        delay_wait();
        real(semaphore, or_given(&real_deadline(REALTIME, until), until))
    };
    fn sem_clockwait(semaphore: Opaque, clock: c_int, until: Time) -> c_int, or -1 => |real| {
        delay_wait();
        real(semaphore, clock, or_given(&real_deadline(clock, until), until))
    };

    fn pthread_mutex_lock(lock: Opaque) -> c_int, or 38 => |real| {
        delay_lock();
        real(lock)
    };
    fn mtx_lock(lock: Opaque) -> c_int, or 2 => |real| {
        delay_lock();
        real(lock)
    };
    fn pthread_rwlock_rdlock(lock: Opaque) -> c_int, or 38 => |real| {
        delay_lock();
        real(lock)
    };
    fn pthread_rwlock_wrlock(lock: Opaque) -> c_int, or 38 => |real| {
        delay_lock();
        real(lock)
    };
    fn pthread_mutex_timedlock(lock: Opaque, until: Time) -> c_int, or 38 => |real| {
        delay_lock();
        real(lock, or_given(&real_deadline(REALTIME, until), until))
    };
    fn mtx_timedlock(lock: Opaque, until: Time) -> c_int, or 2 => |real| {
        delay_lock();
        real(lock, or_given(&real_deadline(REALTIME, until), until))
    };
    fn pthread_mutex_clocklock(lock: Opaque, clock: c_int, until: Time) -> c_int, or 38 => |real| {
        delay_lock();
        real(lock, clock, or_given(&real_deadline(clock, until), until))
    };
    fn pthread_rwlock_timedrdlock(lock: Opaque, until: Time) -> c_int, or 38 => |real| {
        delay_lock();
        real(lock, or_given(&real_deadline(REALTIME, until), until))
    };
    fn pthread_rwlock_timedwrlock(lock: Opaque, until: Time) -> c_int, or 38 => |real| {
        delay_lock();
        real(lock, or_given(&real_deadline(REALTIME, until), until))
    };
    fn pthread_rwlock_clockrdlock(lock: Opaque, clock: c_int, until: Time) -> c_int, or 38 => |real| {
        delay_lock();
        real(lock, clock, or_given(&real_deadline(clock, until), until))
    };
    fn pthread_rwlock_clockwrlock(lock: Opaque, clock: c_int, until: Time) -> c_int, or 38 => |real| {
        delay_lock();
        real(lock, clock, or_given(&real_deadline(clock, until), until))
    };

    fn pthread_join(thread: usize, result: Opaque) -> c_int, or 38 => |real| {
        delay_wait();
        real(thread, result)
    };
    fn pthread_timedjoin_np(thread: usize, result: Opaque, until: Time) -> c_int, or 38 => |real| {
        delay_wait();
        real(thread, result, or_given(&real_deadline(REALTIME, until), until))
    };
    fn pthread_clockjoin_np(thread: usize, result: Opaque, clock: c_int, until: Time) -> c_int, or 38 => |real| {
        delay_wait();
        real(thread, result, clock, or_given(&real_deadline(clock, until), until))
    };
    fn mq_timedsend(queue: c_int, text: Opaque, size: usize, priority: c_uint, until: Time) -> c_int, or -1 => |real| {
        delay_wait();
        real(queue, text, size, priority, or_given(&real_deadline(REALTIME, until), until))
    };
    fn mq_timedreceive(queue: c_int, text: Opaque, size: usize, priority: Opaque, until: Time) -> c_long, or -1 => |real| {
        delay_wait();
        real(queue, text, size, priority, or_given(&real_deadline(REALTIME, until), until))
    };

    fn poll(files: Opaque, count: usize, timeout: c_int) -> c_int, or -1 => |real| {
        delay_wait();
        match milliseconds(timeout).and_then(|timeout| ppoll_for(files, count, &timeout)) {
            Some(result) => result,
            None => real(files, count, timeout),
        }
    };
    fn __poll_chk(files: Opaque, count: usize, timeout: c_int, size: usize) -> c_int, or -1 => |real| {
        delay_wait();
        match milliseconds(timeout).and_then(|timeout| ppoll_for(files, count, &timeout)) {
            Some(result) => result,
            None => real(files, count, timeout, size),
        }
    };
    fn ppoll(files: Opaque, count: usize, timeout: Time, signals: Opaque) -> c_int, or -1 => |real| {
        delay_wait();
        real(files, count, or_given(&real_timeout(timeout), timeout), signals)
    };
    fn __ppoll_chk(files: Opaque, count: usize, timeout: Time, signals: Opaque, size: usize) -> c_int, or -1 => |real| {
        delay_wait();
        real(files, count, or_given(&real_timeout(timeout), timeout), signals, size)
    };
    fn pselect(count: c_int, read: Opaque, write: Opaque, other: Opaque, timeout: Time, signals: Opaque) -> c_int, or -1 => |real| {
        delay_wait();
        real(count, read, write, other, or_given(&real_timeout(timeout), timeout), signals)
    };
    // The remaining time is written back.
    fn select(count: c_int, read: Opaque, write: Opaque, other: Opaque, timeout: *mut Timeval) -> c_int, or -1 => |real| {
        delay_wait();
        if active() & SPEED == 0 || timeout.is_null() {
            return real(count, read, write, other, timeout);
        }
        let duration = Timespec { seconds: (*timeout).seconds, nanoseconds: (*timeout).microseconds * 1_000 };
        let Some(duration) = to_nanoseconds(duration) else { return real(count, read, write, other, timeout) };
        *timeout = timeval(to_real_duration(duration));
        let result = real(count, read, write, other, timeout);
        *timeout = timeval(to_program_duration((*timeout).seconds * 1_000 * MILLISECOND + (*timeout).microseconds * 1_000));
        result
    };
    fn epoll_wait(queue: c_int, events: Opaque, count: c_int, timeout: c_int) -> c_int, or -1 => |real| {
        delay_wait();
        let Some(real_timeout) = milliseconds(timeout) else { return real(queue, events, count, timeout) };
        match epoll_for(queue, events, count, &real_timeout, null()) {
            Some(result) => result,
            None => real(queue, events, count, whole_milliseconds(&real_timeout)),
        }
    };
    fn epoll_pwait(queue: c_int, events: Opaque, count: c_int, timeout: c_int, signals: *const u64) -> c_int, or -1 => |real| {
        delay_wait();
        let Some(real_timeout) = milliseconds(timeout) else { return real(queue, events, count, timeout, signals) };
        match epoll_for(queue, events, count, &real_timeout, signals) {
            Some(result) => result,
            None => real(queue, events, count, whole_milliseconds(&real_timeout), signals),
        }
    };
    fn epoll_pwait2(queue: c_int, events: Opaque, count: c_int, timeout: Time, signals: *const u64) -> c_int, or -1 => |real| {
        delay_wait();
        real(queue, events, count, or_given(&real_timeout(timeout), timeout), signals)
    };
    fn sigtimedwait(signals: Opaque, found: Opaque, timeout: Time) -> c_int, or -1 => |real| {
        delay_wait();
        real(signals, found, or_given(&real_timeout(timeout), timeout))
    };
}

/// A timeout in real time, if it differs.
fn milliseconds(timeout: c_int) -> Option<Timespec> {
    (active() & SPEED != 0 && timeout > 0).then(|| to_timespec(to_real_duration(i64::from(timeout) * MILLISECOND)))
}

fn whole_milliseconds(real_timeout: &Timespec) -> c_int {
    let real_timeout = to_nanoseconds(*real_timeout).unwrap_or(0);
    ((real_timeout + MILLISECOND - 1) / MILLISECOND).min(i64::from(c_int::MAX)) as c_int
}

fn timeval(nanoseconds: i64) -> Timeval {
    let time = to_timespec(nanoseconds);
    Timeval { seconds: time.seconds, microseconds: time.nanoseconds / 1_000 }
}

unsafe fn ppoll_for(files: Opaque, count: usize, timeout: &Timespec) -> Option<c_int> {
    type Poll = unsafe extern "C" fn(Opaque, usize, Time, Opaque) -> c_int;
    let poll = transmute::<usize, Option<Poll>>(next(Call::ppoll))?;
    Some(poll(files, count, timeout, core::ptr::null_mut()))
}

/// With fractions of milliseconds, where the C library and the kernel support that.
unsafe fn epoll_for(
    queue: c_int,
    events: Opaque,
    count: c_int,
    timeout: &Timespec,
    signals: *const u64,
) -> Option<c_int> {
    type Wait = unsafe extern "C" fn(c_int, Opaque, c_int, Time, *const u64) -> c_int;
    let wait = transmute::<usize, Option<Wait>>(next(Call::epoll_pwait2))?;
    let result = wait(queue, events, count, timeout, signals);
    const NO_SUCH_CALL: c_int = 38;
    (result >= 0 || crate::system::errno() != NO_SUCH_CALL).then_some(result)
}
