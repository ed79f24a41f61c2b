//! Which strand a thread is in: its own, or that of the task which its event loop runs.

use core::cell::Cell;
use core::ptr::null_mut;

use crate::Tracer;
use crate::python::Ref;

/// Where the next id of a strand goes. The agent makes it and gives it more room (`trace_native.py`).
#[repr(C)]
pub struct Cursor {
    pub at: *mut u32,
    pub end: *mut u32,
    /// Counts what does not fit; null as long as there may be more room.
    pub dropped: *mut u64,
}

/// What is known of this thread.
#[derive(Clone, Copy)]
struct Here {
    epoch: u32,
    /// A coroutine was seen here, so there may be tasks.
    has_tasks: bool,
    thread: *mut Cursor,
    /// The task that was looked up last: a weak reference, and its cursor.
    task: Ref,
    of_task: *mut Cursor,
}

thread_local! {
    static HERE: Cell<Here> = const {
        Cell::new(Here { epoch: 0, has_tasks: false, thread: null_mut(), task: null_mut(), of_task: null_mut() })
    };
}

/// None: an exception was raised meanwhile.
#[inline(always)]
pub(crate) unsafe fn current(tracer: &Tracer, is_asynchronous: bool) -> Option<*mut Cursor> {
    let here = HERE.get();
    if here.epoch == tracer.epoch.get() && !here.has_tasks && !is_asynchronous {
        return Some(here.thread);
    }
    look_up(tracer, here, is_asynchronous)
}

#[inline(never)]
unsafe fn look_up(tracer: &Tracer, mut here: Here, is_asynchronous: bool) -> Option<*mut Cursor> {
    if here.epoch != tracer.epoch.get() {
        if !here.task.is_null() {
            (tracer.python.drop)(here.task);
        }
        here = Here {
            epoch: tracer.epoch.get(),
            has_tasks: false,
            thread: null_mut(),
            task: null_mut(),
            of_task: null_mut(),
        };
    }
    here.has_tasks |= is_asynchronous;
    if here.has_tasks {
        let task = task(tracer)?;
        if !task.is_null() {
            let found = of_task(tracer, &mut here, task);
            (tracer.python.drop)(task);
            HERE.set(here);
            return found;
        }
    }
    if here.thread.is_null() {
        let answer = (tracer.python.call)(tracer.asked.thread, null_mut::<u8>());
        if answer.is_null() {
            return None;
        }
        here.thread = (tracer.python.address)(answer) as *mut Cursor;
        (tracer.python.drop)(answer);
    }
    HERE.set(here);
    Some(here.thread)
}

/// The task that runs in this thread, or null: a new reference.
unsafe fn task(tracer: &Tracer) -> Option<Ref> {
    if tracer.running.get().is_null() {
        let answer = (tracer.python.call)(tracer.asked.asyncio, null_mut::<u8>());
        if answer.is_null() {
            return None;
        }
        if answer == tracer.asked.none {
            (tracer.python.drop)(answer);
            return Some(null_mut());
        }
        // The answer is kept for good, and so is what is in it.
        tracer.running.set((tracer.python.item)(answer, 0));
        tracer.current.set((tracer.python.item)(answer, 1));
    }
    let running = (tracer.python.call)(tracer.running.get(), null_mut::<u8>());
    let mut task = null_mut();
    if !running.is_null() {
        if running != tracer.asked.none {
            task = (tracer.python.call)(tracer.current.get(), running, null_mut::<u8>());
            if task == tracer.asked.none {
                (tracer.python.drop)(task);
                task = null_mut();
            }
        }
        (tracer.python.drop)(running);
    }
    if !(tracer.python.failed)().is_null() {
        (tracer.python.forget_failure)(); // A loop of somebody's own.
    }
    Some(task)
}

unsafe fn of_task(tracer: &Tracer, here: &mut Here, task: Ref) -> Option<*mut Cursor> {
    if !here.task.is_null() {
        // An address alone may be that of a task which is gone.
        let known = (tracer.python.call)(here.task, null_mut::<u8>());
        let is_it = known == task;
        if !known.is_null() {
            (tracer.python.drop)(known);
        }
        if is_it {
            return Some(here.of_task);
        }
        (tracer.python.drop)(here.task);
        here.task = null_mut();
    }
    let answer = (tracer.python.call)(tracer.asked.task, task, null_mut::<u8>());
    if answer.is_null() {
        return None;
    }
    here.of_task = (tracer.python.address)((tracer.python.item)(answer, 0)) as *mut Cursor;
    here.task = (tracer.python.item)(answer, 1);
    (tracer.python.keep)(here.task);
    (tracer.python.drop)(answer);
    Some(here.of_task)
}
