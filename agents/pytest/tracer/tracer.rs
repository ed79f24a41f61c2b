//! The ordered trace of CPython's lines, where Python itself would be too slow to write it: a library that the agent loads
//! into the test's process. It sees lines and stores the ids of their places. Everything that happens once (which code is the project's, what a
//! line is called, which file a strand writes to) it asks the agent, in Python (`trace_native.py`).
//!
//! All of it runs with the interpreter's lock held, so nothing here needs one. While the agent is asked the lock may go to another
//! thread, and with it the attempt may end; so it is looked again afterwards.

#![allow(unsafe_op_in_unsafe_fn)]

mod codes;
mod python;
mod strand;

use core::cell::{Cell, UnsafeCell};
use core::ffi::c_int;
use core::ptr::{null, null_mut};

use codes::{Code, Codes};
use python::{FASTCALL, LINE, Method, Python, Ref};
use strand::Cursor;

/// What the agent is asked, in the order in which it hands them over.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Asked {
    /// `sys.monitoring.DISABLE`, or None where there is no such thing.
    disable: Ref,
    none: Ref,
    /// (code) → None if it is not the project's, else (its first line, whether it is a coroutine)
    learn: Ref,
    /// (code, line) → the id of the place
    place: Ref,
    /// () → the address of the cursor of this thread
    thread: Ref,
    /// (task) → (the address of the task's cursor, a weak reference to the task)
    task: Ref,
    /// () → None, or how to ask for the running loop and for its task
    asyncio: Ref,
    /// (the address of a cursor) → whether there is room in it now
    more: Ref,
    /// What `sys.gettrace` shows.
    tracer: Ref,
}

pub(crate) struct Tracer {
    python: Python,
    asked: Asked,
    codes: UnsafeCell<Codes>,
    /// Numbers the attempts. What belongs to another one is asked for anew.
    epoch: Cell<u32>,
    is_on: Cell<bool>,
    /// How asyncio is asked for its loop and its task; null as long as nobody has it.
    running: Cell<Ref>,
    current: Cell<Ref>,
}

static mut TRACER: *mut Tracer = null_mut();

/// 0 where this interpreter lacks something.
///
/// # Safety
/// Called once, with the interpreter's lock; what is handed over is kept alive by the agent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unflake_open(asked: *const Asked) -> c_int {
    let Some(python) = Python::find() else { return 0 };
    let tracer = Tracer {
        python,
        asked: *asked,
        codes: UnsafeCell::new(Codes::new()),
        epoch: Cell::new(0),
        is_on: Cell::new(false),
        running: Cell::new(null_mut()),
        current: Cell::new(null_mut()),
    };
    TRACER = Box::into_raw(Box::new(tracer));
    1
}

/// A new attempt: nothing that was asked for before holds any more.
///
/// # Safety
/// After `unflake_open`, with the interpreter's lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unflake_begin() {
    (*TRACER).epoch.update(|epoch| epoch + 1);
    (*TRACER).is_on.set(true);
}

/// # Safety
/// After `unflake_open`, with the interpreter's lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unflake_end() {
    (*TRACER).is_on.set(false);
}

/// What `sys.monitoring` is to call for each line: a new reference.
///
/// # Safety
/// After `unflake_open`, with the interpreter's lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unflake_callback() -> Ref {
    let method = Box::new(Method { name: c"line".as_ptr(), call: monitored, flags: FASTCALL, doc: null() });
    ((*TRACER).python.make_function)(Box::into_raw(method), null_mut(), null_mut())
}

/// Traces this thread from now on, or not.
///
/// # Safety
/// After `unflake_open`, with the interpreter's lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unflake_trace(on: c_int) {
    let tracer = &*TRACER;
    match on {
        0 => (tracer.python.set_trace)(None, null_mut()),
        _ => (tracer.python.set_trace)(Some(traced), tracer.asked.tracer),
    }
}

/// From 3.12 on: called with code and line.
unsafe extern "C" fn monitored(_: Ref, arguments: *const Ref, _: isize) -> Ref {
    let tracer = &*TRACER;
    let (code, line) = (*arguments, *arguments.add(1));
    let Some(known) = tracer.known(code) else { return null_mut() };
    if !(*known).is_own {
        (tracer.python.keep)(tracer.asked.disable);
        return tracer.asked.disable;
    }
    if tracer.is_on.get() {
        let line = (tracer.python.number)(line) as usize;
        if tracer.step(code, known, line).is_none() {
            return null_mut();
        }
    }
    (tracer.python.keep)(tracer.asked.none);
    tracer.asked.none
}

/// Before 3.12: called for every event of every function.
unsafe extern "C" fn traced(_: Ref, frame: Ref, event: c_int, _: Ref) -> c_int {
    let tracer = &*TRACER;
    if event != LINE || !tracer.is_on.get() {
        return 0;
    }
    let code = (tracer.python.code_of)(frame);
    let done = match tracer.known(code) {
        None => None,
        Some(known) if !(*known).is_own => Some(()),
        Some(known) => tracer.step(code, known, (tracer.python.line_of)(frame) as usize),
    };
    (tracer.python.drop)(code);
    if done.is_some() { 0 } else { -1 }
}

impl Tracer {
    /// None: an exception was raised meanwhile, such as by a signal.
    #[inline(always)]
    unsafe fn known(&self, code: Ref) -> Option<*mut Code> {
        let known = (*self.codes.get()).get(code);
        if known.is_null() { self.learn(code) } else { Some(known) }
    }

    #[cold]
    unsafe fn learn(&self, code: Ref) -> Option<*mut Code> {
        let answer = (self.python.call)(self.asked.learn, code, null_mut::<u8>());
        if answer.is_null() {
            return None;
        }
        let known = if answer == self.asked.none {
            Code::foreign()
        } else {
            let first = (self.python.number)((self.python.item)(answer, 0));
            Code::own(first as usize, (self.python.is_true)((self.python.item)(answer, 1)) == 1)
        };
        (self.python.drop)(answer);
        (self.python.keep)(code); // For ever: it is known by its address.
        Some((*self.codes.get()).add(code, known))
    }

    #[inline(always)]
    unsafe fn step(&self, code: Ref, known: *mut Code, line: usize) -> Option<()> {
        let epoch = self.epoch.get();
        let mut place = (*known).place(line);
        if place == 0 {
            place = self.new_place(code, known, line)?;
        }
        let cursor = strand::current(self, (*known).is_asynchronous)?;
        if self.is_over(epoch) {
            return Some(());
        }
        if (*cursor).at == (*cursor).end {
            if (*cursor).dropped.is_null() {
                self.make_room(cursor)?;
            }
            if self.is_over(epoch) {
                return Some(());
            }
            if (*cursor).at == (*cursor).end {
                if !(*cursor).dropped.is_null() {
                    *(*cursor).dropped += 1;
                }
                return Some(());
            }
        }
        (*cursor).at.write_volatile(place);
        (*cursor).at = (*cursor).at.add(1);
        Some(())
    }

    fn is_over(&self, epoch: u32) -> bool {
        !self.is_on.get() || self.epoch.get() != epoch
    }

    #[cold]
    unsafe fn new_place(&self, code: Ref, known: *mut Code, line: usize) -> Option<u32> {
        let number = (self.python.make_number)(line as _);
        let answer = (self.python.call)(self.asked.place, code, number, null_mut::<u8>());
        (self.python.drop)(number);
        if answer.is_null() {
            return None;
        }
        let place = (self.python.number)(answer) as u32;
        (self.python.drop)(answer);
        (*known).set_place(line, place);
        Some(place)
    }

    #[cold]
    unsafe fn make_room(&self, cursor: *mut Cursor) -> Option<()> {
        let address = (self.python.make_number)(cursor as _);
        let answer = (self.python.call)(self.asked.more, address, null_mut::<u8>());
        (self.python.drop)(address);
        if answer.is_null() {
            return None;
        }
        (self.python.drop)(answer);
        Some(())
    }
}
