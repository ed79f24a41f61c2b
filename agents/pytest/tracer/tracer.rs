//! Records the order in which Python lines run: a library that the agent loads into the process,
//! because Python would be too slow. It stores the ids of lines. For everything that happens once
//! (which code is the project's, the id of a line, the stream of a thread) it calls the agent, in
//! Python (`trace/native.py`).
//!
//! All of it runs with the GIL held, so nothing needs a lock. During a call of the agent another
//! thread may take the GIL and the attempt may end, so that is checked again afterwards.

#![allow(unsafe_op_in_unsafe_fn)]

mod codes;
mod python;
mod streams;

use core::cell::{Cell, UnsafeCell};
use core::ffi::c_int;
use core::ptr::{null, null_mut};

use codes::{Code, Codes};
use python::{FASTCALL, LINE, MethodDef, Python, Ref};
use streams::Cursor;

/// Functions and objects of the agent, in the order of `Callbacks` in `trace/native.py`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Callbacks {
    /// `sys.monitoring.DISABLE`, or None before Python 3.12.
    disable: Ref,
    none: Ref,
    /// (code) → None if it is not the project's, else (first line, whether it is asynchronous)
    learn: Ref,
    /// (code, line) → the id of the line
    place: Ref,
    /// () → the address of this thread's cursor
    thread: Ref,
    /// (task) → (the address of the task's cursor, a weak reference to the task)
    task: Ref,
    /// () → None, or functions that return the running loop and its task
    asyncio: Ref,
    /// (the address of a cursor) → whether it has room now
    grow: Ref,
    /// What `sys.gettrace` returns.
    tracer: Ref,
    /// None, or (code, line), called before each line.
    line: Ref,
}

pub(crate) struct Tracer {
    python: Python,
    callbacks: Callbacks,
    codes: UnsafeCell<Codes>,
    /// Counts attempts. What is cached of another attempt is looked up again.
    epoch: Cell<u32>,
    is_on: Cell<bool>,
    /// Each line is stored only when it first runs in an attempt: in which it last did, by id.
    is_once: Cell<bool>,
    seen: UnsafeCell<Vec<u32>>,
    /// Functions of asyncio; null as long as it is not loaded.
    running_loop: Cell<Ref>,
    current_task: Cell<Ref>,
}

static mut TRACER: *mut Tracer = null_mut();

/// 0 if this interpreter lacks a function.
///
/// # Safety
/// Called once, with the GIL held. The agent keeps the callbacks alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unflake_open(callbacks: *const Callbacks) -> c_int {
    let Some(python) = Python::find() else { return 0 };
    let tracer = Tracer {
        python,
        callbacks: *callbacks,
        codes: UnsafeCell::new(Codes::new()),
        epoch: Cell::new(0),
        is_on: Cell::new(false),
        is_once: Cell::new(false),
        seen: UnsafeCell::new(Vec::new()),
        running_loop: Cell::new(null_mut()),
        current_task: Cell::new(null_mut()),
    };
    TRACER = Box::into_raw(Box::new(tracer));
    1
}

/// Begins an attempt.
///
/// # Safety
/// After `unflake_open`, with the GIL held.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unflake_begin() {
    (*TRACER).is_once.set(false);
    (*TRACER).begin();
}

/// Begins an attempt in which only the first run of each line is stored.
///
/// # Safety
/// After `unflake_open`, with the GIL held.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unflake_begin_once() {
    (*TRACER).is_once.set(true);
    (*TRACER).begin();
}

/// # Safety
/// After `unflake_open`, with the GIL held.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unflake_end() {
    (*TRACER).is_on.set(false);
}

/// The callback of `sys.monitoring` for lines: a new reference.
///
/// # Safety
/// After `unflake_open`, with the GIL held.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unflake_callback() -> Ref {
    let method = Box::new(MethodDef { name: c"line".as_ptr(), call: monitored, flags: FASTCALL, doc: null() });
    ((*TRACER).python.new_function)(Box::into_raw(method), null_mut(), null_mut())
}

/// Switches the tracer of this thread on or off.
///
/// # Safety
/// After `unflake_open`, with the GIL held.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unflake_trace(on: c_int) {
    let tracer = &*TRACER;
    match on {
        0 => (tracer.python.set_trace)(None, null_mut()),
        _ => (tracer.python.set_trace)(Some(traced), tracer.callbacks.tracer),
    }
}

/// From Python 3.12 on: called with code and line.
unsafe extern "C" fn monitored(_: Ref, arguments: *const Ref, _: isize) -> Ref {
    let tracer = &*TRACER;
    let (code, line) = (*arguments, *arguments.add(1));
    let Some(known) = tracer.known(code) else { return null_mut() };
    if !(*known).is_project {
        (tracer.python.incref)(tracer.callbacks.disable);
        return tracer.callbacks.disable;
    }
    if tracer.is_on.get() {
        let line = (tracer.python.as_long)(line) as usize;
        if tracer.step(code, known, line).is_none() {
            return null_mut();
        }
    }
    (tracer.python.incref)(tracer.callbacks.none);
    tracer.callbacks.none
}

/// Before Python 3.12: called for every event of every function.
unsafe extern "C" fn traced(_: Ref, frame: Ref, event: c_int, _: Ref) -> c_int {
    let tracer = &*TRACER;
    if event != LINE || !tracer.is_on.get() {
        return 0;
    }
    let code = (tracer.python.frame_code)(frame);
    let done = match tracer.known(code) {
        None => None,
        Some(known) if !(*known).is_project => Some(()),
        Some(known) => tracer.step(code, known, (tracer.python.frame_line)(frame) as usize),
    };
    (tracer.python.decref)(code);
    if done.is_some() { 0 } else { -1 }
}

impl Tracer {
    fn begin(&self) {
        self.epoch.update(|epoch| epoch + 1);
        self.is_on.set(true);
    }

    /// Whether the line of this id ran before in the attempt, which it has from now on.
    #[inline(always)]
    unsafe fn ran_before(&self, place: u32) -> bool {
        let (seen, place) = (&mut *self.seen.get(), place as usize);
        if seen.len() <= place {
            seen.resize(2 * place + 1, 0);
        }
        core::mem::replace(&mut seen[place], self.epoch.get()) == self.epoch.get()
    }

    /// None: an exception was raised, for example by a signal handler.
    #[inline(always)]
    unsafe fn known(&self, code: Ref) -> Option<*mut Code> {
        let known = (*self.codes.get()).get(code);
        if known.is_null() { self.learn(code) } else { Some(known) }
    }

    #[cold]
    unsafe fn learn(&self, code: Ref) -> Option<*mut Code> {
        let answer = (self.python.call)(self.callbacks.learn, code, null_mut::<u8>());
        if answer.is_null() {
            return None;
        }
        let known = if answer == self.callbacks.none {
            Code::foreign()
        } else {
            let first = (self.python.as_long)((self.python.tuple_item)(answer, 0));
            Code::project(first as usize, (self.python.is_true)((self.python.tuple_item)(answer, 1)) == 1)
        };
        (self.python.decref)(answer);
        (self.python.incref)(code); // Never released: it is known by its address.
        Some((*self.codes.get()).add(code, known))
    }

    #[inline(always)]
    unsafe fn step(&self, code: Ref, known: *mut Code, line: usize) -> Option<()> {
        let epoch = self.epoch.get();
        let mut place = (*known).place(line);
        if place == 0 {
            place = self.new_place(code, known, line)?;
            if self.is_over(epoch) {
                return Some(());
            }
        }
        if self.is_once.get() && self.ran_before(place) {
            return Some(());
        }
        let cursor = streams::current(self, (*known).is_async)?;
        if self.is_over(epoch) {
            return Some(());
        }
        if (*cursor).next == (*cursor).end {
            if (*cursor).dropped.is_null() {
                self.make_room(cursor)?;
            }
            if self.is_over(epoch) {
                return Some(());
            }
            if (*cursor).next == (*cursor).end {
                if !(*cursor).dropped.is_null() {
                    *(*cursor).dropped += 1;
                }
                return Some(());
            }
        }
        (*cursor).next.write_volatile(place);
        (*cursor).next = (*cursor).next.add(1);
        if self.callbacks.line == self.callbacks.none { Some(()) } else { self.pass_on(code, line) }
    }

    fn is_over(&self, epoch: u32) -> bool {
        !self.is_on.get() || self.epoch.get() != epoch
    }

    #[inline(never)]
    unsafe fn pass_on(&self, code: Ref, line: usize) -> Option<()> {
        let number = (self.python.from_long)(line as _);
        let answer = (self.python.call)(self.callbacks.line, code, number, null_mut::<u8>());
        (self.python.decref)(number);
        if answer.is_null() {
            return None;
        }
        (self.python.decref)(answer);
        Some(())
    }

    #[cold]
    unsafe fn new_place(&self, code: Ref, known: *mut Code, line: usize) -> Option<u32> {
        let number = (self.python.from_long)(line as _);
        let answer = (self.python.call)(self.callbacks.place, code, number, null_mut::<u8>());
        (self.python.decref)(number);
        if answer.is_null() {
            return None;
        }
        let place = (self.python.as_long)(answer) as u32;
        (self.python.decref)(answer);
        (*known).set_place(line, place);
        Some(place)
    }

    #[cold]
    unsafe fn make_room(&self, cursor: *mut Cursor) -> Option<()> {
        let address = (self.python.from_long)(cursor as _);
        let answer = (self.python.call)(self.callbacks.grow, address, null_mut::<u8>());
        (self.python.decref)(address);
        if answer.is_null() {
            return None;
        }
        (self.python.decref)(answer);
        Some(())
    }
}
