//! Sets the switch interval of Python, the time after which a thread yields to another, when Python
//! starts a thread: a single thread never yields.

use core::ffi::{CStr, c_char, c_double, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::delays::delay_wait;
use crate::real_functions::interpose;
use crate::settings::{SWITCH_INTERVAL, SWITCH_MICROSECONDS, active, page};
use crate::system;

static APPLIED: AtomicBool = AtomicBool::new(false);

type PythonObject = *mut c_void;

/// A function of the Python interpreter. None: this program has none, or another version.
unsafe fn python_function<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<usize>()) };
    let found = system::dlsym(null_mut(), name.as_ptr());
    (!found.is_null()).then(|| core::mem::transmute_copy(&found))
}

/// Whether this thread holds the GIL. `PyGILState_Check` returns true whenever there are several
/// interpreters.
unsafe fn holds_gil() -> bool {
    type State = unsafe extern "C" fn() -> *mut c_void;
    let own: Option<State> = python_function(c"PyGILState_GetThisThreadState");
    // The second is the name up to Python 3.12.
    let current: Option<State> =
        python_function(c"PyThreadState_GetUnchecked").or_else(|| python_function(c"_PyThreadState_UncheckedGet"));
    let (Some(own), Some(current)) = (own, current) else { return false };
    let own = own();
    !own.is_null() && own == current()
}

/// `sys.setswitchinterval(…)`. None: it could not be called.
unsafe fn set_switch_interval(seconds: c_double) -> Option<()> {
    let attribute: unsafe extern "C" fn(*const c_char) -> PythonObject = python_function(c"PySys_GetObject")?;
    let from_double: unsafe extern "C" fn(c_double) -> PythonObject = python_function(c"PyFloat_FromDouble")?;
    let call: unsafe extern "C" fn(PythonObject, ...) -> PythonObject = python_function(c"PyObject_CallFunctionObjArgs")?;
    let drop: unsafe extern "C" fn(PythonObject) = python_function(c"Py_DecRef")?;
    let clear: unsafe extern "C" fn() = python_function(c"PyErr_Clear")?;
    // A borrowed reference.
    let function = attribute(c"setswitchinterval".as_ptr());
    let seconds = from_double(seconds);
    let result = if function.is_null() || seconds.is_null() {
        null_mut()
    } else {
        call(function, seconds, null_mut::<c_void>())
    };
    drop(seconds);
    drop(result);
    if result.is_null() {
        clear();
        return None;
    }
    Some(())
}

#[cold]
unsafe fn apply_once() {
    if APPLIED.load(Relaxed) || !holds_gil() || APPLIED.swap(true, Relaxed) {
        return;
    }
    if let (Some(()), Some(page)) = (set_switch_interval(SWITCH_MICROSECONDS.load(Relaxed) as f64 / 1e6), page()) {
        page.taking_turns.fetch_add(1, Relaxed);
    }
}

interpose! {
    fn pthread_create(thread: *mut c_void, attributes: *const c_void, routine: *const c_void, argument: *mut c_void) -> c_int, or 11 => |real| {
        if active() & SWITCH_INTERVAL != 0 {
            apply_once();
        }
        let result = real(thread, attributes, routine, argument);
        delay_wait();
        result
    };
}
