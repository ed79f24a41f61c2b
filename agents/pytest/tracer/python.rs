//! What is used of CPython: its stable functions, found in the process itself. No headers, so that one library does for all
//! versions.

use core::ffi::{c_char, c_int, c_long, c_void};

/// Any Python object. It is never looked into.
#[repr(C)]
pub struct Object([u8; 0]);
pub type Ref = *mut Object;

/// `PyMethodDef`
#[repr(C)]
pub struct Method {
    pub name: *const c_char,
    pub call: unsafe extern "C" fn(Ref, *const Ref, isize) -> Ref,
    pub flags: c_int,
    pub doc: *const c_char,
}

/// METH_FASTCALL
pub const FASTCALL: c_int = 0x80;

/// `Py_tracefunc`, with what of its events are looked at.
pub type Trace = unsafe extern "C" fn(Ref, Ref, c_int, Ref) -> c_int;
pub const LINE: c_int = 2;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

macro_rules! functions {
    ($($field:ident: $name:ident $kind:ty;)*) => {
        /// Functions of the interpreter that this process is.
        pub struct Python { $(pub $field: $kind,)* }

        impl Python {
            /// None where one of them is missing.
            ///
            /// # Safety
            /// The process is a CPython.
            pub unsafe fn find() -> Option<Python> {
                Some(Python { $($field: {
                    let name = concat!(stringify!($name), "\0");
                    let found = dlsym(core::ptr::null_mut(), name.as_ptr().cast());
                    if found.is_null() {
                        return None;
                    }
                    core::mem::transmute::<*mut c_void, $kind>(found)
                },)* })
            }
        }
    };
}

functions! {
    keep: Py_IncRef unsafe extern "C" fn(Ref);
    drop: Py_DecRef unsafe extern "C" fn(Ref);
    call: PyObject_CallFunctionObjArgs unsafe extern "C" fn(Ref, ...) -> Ref;
    is_true: PyObject_IsTrue unsafe extern "C" fn(Ref) -> c_int;
    number: PyLong_AsLong unsafe extern "C" fn(Ref) -> c_long;
    make_number: PyLong_FromLong unsafe extern "C" fn(c_long) -> Ref;
    address: PyLong_AsSize_t unsafe extern "C" fn(Ref) -> usize;
    item: PyTuple_GetItem unsafe extern "C" fn(Ref, isize) -> Ref;
    failed: PyErr_Occurred unsafe extern "C" fn() -> Ref;
    forget_failure: PyErr_Clear unsafe extern "C" fn();
    make_function: PyCFunction_NewEx unsafe extern "C" fn(*const Method, Ref, Ref) -> Ref;
    set_trace: PyEval_SetTrace unsafe extern "C" fn(Option<Trace>, Ref);
    code_of: PyFrame_GetCode unsafe extern "C" fn(Ref) -> Ref;
    line_of: PyFrame_GetLineNumber unsafe extern "C" fn(Ref) -> c_int;
}
