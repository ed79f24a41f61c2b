//! Finds the stream of the current thread: its own, or that of the asyncio task that it runs.

use core::cell::Cell;
use core::ptr::null_mut;

use crate::Tracer;
use crate::python::Ref;

/// Where the next id of a stream goes. The agent creates it and makes room (`trace/native.py`).
#[repr(C)]
pub struct Cursor {
    pub next: *mut u32,
    pub end: *mut u32,
    /// Counts events that do not fit; null as long as the agent may make room.
    pub dropped: *mut u64,
}

/// What is known of this thread.
#[derive(Clone, Copy)]
struct ThreadState {
    epoch: u32,
    /// A coroutine ran here, so there may be tasks.
    has_tasks: bool,
    thread_cursor: *mut Cursor,
    /// A weak reference to the task that was looked up last, and its cursor.
    task: Ref,
    task_cursor: *mut Cursor,
}

impl ThreadState {
    const fn new(epoch: u32) -> ThreadState {
        ThreadState { epoch, has_tasks: false, thread_cursor: null_mut(), task: null_mut(), task_cursor: null_mut() }
    }
}

thread_local! {
    static STATE: Cell<ThreadState> = const { Cell::new(ThreadState::new(0)) };
}

/// None: an exception was raised.
#[inline(always)]
pub(crate) unsafe fn current(tracer: &Tracer, is_async: bool) -> Option<*mut Cursor> {
    let state = STATE.get();
    if state.epoch == tracer.epoch.get() && !state.has_tasks && !is_async {
        return Some(state.thread_cursor);
    }
    look_up(tracer, state, is_async)
}

#[inline(never)]
unsafe fn look_up(tracer: &Tracer, mut state: ThreadState, is_async: bool) -> Option<*mut Cursor> {
    if state.epoch != tracer.epoch.get() {
        if !state.task.is_null() {
            (tracer.python.decref)(state.task);
        }
        state = ThreadState::new(tracer.epoch.get());
    }
    state.has_tasks |= is_async;
    if state.has_tasks {
        let task = current_task(tracer)?;
        if !task.is_null() {
            let found = cursor_of_task(tracer, &mut state, task);
            (tracer.python.decref)(task);
            STATE.set(state);
            return found;
        }
    }
    if state.thread_cursor.is_null() {
        let answer = (tracer.python.call)(tracer.callbacks.thread, null_mut::<u8>());
        if answer.is_null() {
            return None;
        }
        state.thread_cursor = (tracer.python.as_address)(answer) as *mut Cursor;
        (tracer.python.decref)(answer);
    }
    STATE.set(state);
    Some(state.thread_cursor)
}

/// The task that runs in this thread, or null: a new reference.
unsafe fn current_task(tracer: &Tracer) -> Option<Ref> {
    if tracer.running_loop.get().is_null() {
        let answer = (tracer.python.call)(tracer.callbacks.asyncio, null_mut::<u8>());
        if answer.is_null() {
            return None;
        }
        if answer == tracer.callbacks.none {
            (tracer.python.decref)(answer);
            return Some(null_mut());
        }
        // The tuple is never released, which keeps its items alive.
        tracer.running_loop.set((tracer.python.tuple_item)(answer, 0));
        tracer.current_task.set((tracer.python.tuple_item)(answer, 1));
    }
    let running = (tracer.python.call)(tracer.running_loop.get(), null_mut::<u8>());
    let mut task = null_mut();
    if !running.is_null() {
        if running != tracer.callbacks.none {
            task = (tracer.python.call)(tracer.current_task.get(), running, null_mut::<u8>());
            if task == tracer.callbacks.none {
                (tracer.python.decref)(task);
                task = null_mut();
            }
        }
        (tracer.python.decref)(running);
    }
    if !(tracer.python.error)().is_null() {
        (tracer.python.clear_error)(); // The project's own event loop.
    }
    Some(task)
}

unsafe fn cursor_of_task(tracer: &Tracer, state: &mut ThreadState, task: Ref) -> Option<*mut Cursor> {
    if !state.task.is_null() {
        // The address alone may be that of a task which no longer exists.
        let known = (tracer.python.call)(state.task, null_mut::<u8>());
        let is_same = known == task;
        if !known.is_null() {
            (tracer.python.decref)(known);
        }
        if is_same {
            return Some(state.task_cursor);
        }
        (tracer.python.decref)(state.task);
        state.task = null_mut();
    }
    let answer = (tracer.python.call)(tracer.callbacks.task, task, null_mut::<u8>());
    if answer.is_null() {
        return None;
    }
    state.task_cursor = (tracer.python.as_address)((tracer.python.tuple_item)(answer, 0)) as *mut Cursor;
    state.task = (tracer.python.tuple_item)(answer, 1);
    (tracer.python.incref)(state.task);
    (tracer.python.decref)(answer);
    Some(state.task_cursor)
}
