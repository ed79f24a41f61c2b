//! How long a thread of Python goes on before another has its turn. Python is told when it starts a thread: alone, none has to wait.

use core::ffi::{CStr, c_char, c_double, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::real::stand;
use crate::settings::{TURN, TURNS, on, page};
use crate::system;

static TOLD: AtomicBool = AtomicBool::new(false);

type Object = *mut c_void;

/// A function of the interpreter that this program is. None: it is none, or of another kind.
unsafe fn of_python<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<usize>()) };
    let found = system::dlsym(null_mut(), name.as_ptr());
    (!found.is_null()).then(|| core::mem::transmute_copy(&found))
}

/// Whether this thread has the interpreter to itself. `PyGILState_Check` would say so wherever there are several interpreters.
unsafe fn has_the_interpreter() -> bool {
    type State = unsafe extern "C" fn() -> *mut c_void;
    let ours: Option<State> = of_python(c"PyGILState_GetThisThreadState");
    // Its name up to 3.12 is the second.
    let current: Option<State> =
        of_python(c"PyThreadState_GetUnchecked").or_else(|| of_python(c"_PyThreadState_UncheckedGet"));
    let (Some(ours), Some(current)) = (ours, current) else { return false };
    let ours = ours();
    !ours.is_null() && ours == current()
}

/// `sys.setswitchinterval(…)`. None: nothing could be called.
unsafe fn set(seconds: c_double) -> Option<()> {
    let attribute: unsafe extern "C" fn(*const c_char) -> Object = of_python(c"PySys_GetObject")?;
    let number: unsafe extern "C" fn(c_double) -> Object = of_python(c"PyFloat_FromDouble")?;
    let call: unsafe extern "C" fn(Object, ...) -> Object = of_python(c"PyObject_CallFunctionObjArgs")?;
    let drop: unsafe extern "C" fn(Object) = of_python(c"Py_DecRef")?;
    let clear: unsafe extern "C" fn() = of_python(c"PyErr_Clear")?;
    // Not ours to drop.
    let set = attribute(c"setswitchinterval".as_ptr());
    let seconds = number(seconds);
    let answer = if set.is_null() || seconds.is_null() { null_mut() } else { call(set, seconds, null_mut::<c_void>()) };
    drop(seconds);
    drop(answer);
    if answer.is_null() {
        clear();
        return None;
    }
    Some(())
}

#[cold]
unsafe fn tell() {
    if TOLD.load(Relaxed) || !has_the_interpreter() || TOLD.swap(true, Relaxed) {
        return;
    }
    if let (Some(()), Some(page)) = (set(TURN.load(Relaxed) as f64 / 1e6), page()) {
        page.taking_turns.fetch_add(1, Relaxed);
    }
}

stand! {
    fn pthread_create(thread: *mut c_void, how: *const c_void, begin: *const c_void, with: *mut c_void) -> c_int, or 11 => |real| {
        if on() & TURNS != 0 {
            tell();
        }
        real(thread, how, begin, with)
    };
}
