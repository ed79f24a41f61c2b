//! Functions of CPython's stable ABI, looked up in the process: one library serves all versions.

use core::ffi::{c_char, c_int, c_long, c_void};

/// Any Python object; its contents are never accessed.
#[repr(C)]
pub struct Object([u8; 0]);
pub type Ref = *mut Object;

/// `PyMethodDef`
#[repr(C)]
pub struct MethodDef {
    pub name: *const c_char,
    pub call: unsafe extern "C" fn(Ref, *const Ref, isize) -> Ref,
    pub flags: c_int,
    pub doc: *const c_char,
}

/// METH_FASTCALL
pub const FASTCALL: c_int = 0x80;

/// `Py_tracefunc`, and the only event that is used.
pub type Trace = unsafe extern "C" fn(Ref, Ref, c_int, Ref) -> c_int;
pub const LINE: c_int = 2;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

macro_rules! functions {
    ($($field:ident: $name:ident $kind:ty;)*) => {
        /// Functions of the interpreter in this process.
        pub struct Python { $(pub $field: $kind,)* }

        impl Python {
            /// None if one of them is missing.
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
    incref: Py_IncRef unsafe extern "C" fn(Ref);
    decref: Py_DecRef unsafe extern "C" fn(Ref);
    call: PyObject_CallFunctionObjArgs unsafe extern "C" fn(Ref, ...) -> Ref;
    is_true: PyObject_IsTrue unsafe extern "C" fn(Ref) -> c_int;
    as_long: PyLong_AsLong unsafe extern "C" fn(Ref) -> c_long;
    from_long: PyLong_FromLong unsafe extern "C" fn(c_long) -> Ref;
    as_address: PyLong_AsSize_t unsafe extern "C" fn(Ref) -> usize;
    tuple_item: PyTuple_GetItem unsafe extern "C" fn(Ref, isize) -> Ref;
    error: PyErr_Occurred unsafe extern "C" fn() -> Ref;
    clear_error: PyErr_Clear unsafe extern "C" fn();
    new_function: PyCFunction_NewEx unsafe extern "C" fn(*const MethodDef, Ref, Ref) -> Ref;
    set_trace: PyEval_SetTrace unsafe extern "C" fn(Option<Trace>, Ref);
    frame_code: PyFrame_GetCode unsafe extern "C" fn(Ref) -> Ref;
    frame_line: PyFrame_GetLineNumber unsafe extern "C" fn(Ref) -> c_int;
}
