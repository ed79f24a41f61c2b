//! Changes of what all threads of a process share: variables, the working directory, the locale. A
//! delay after a change leaves others more time to see it.

use core::ffi::{c_char, c_int, c_uint};

use crate::delays::delay_change;
use crate::real_functions::interpose;

type Text = *const c_char;

interpose! {
    fn setenv(name: Text, value: Text, overwrites: c_int) -> c_int, or -1 => |real| {
        let result = real(name, value, overwrites);
        delay_change();
        result
    };
    fn unsetenv(name: Text) -> c_int, or -1 => |real| {
        let result = real(name);
        delay_change();
        result
    };
    fn putenv(text: *mut c_char) -> c_int, or -1 => |real| {
        let result = real(text);
        delay_change();
        result
    };
    fn chdir(path: Text) -> c_int, or -1 => |real| {
        let result = real(path);
        delay_change();
        result
    };
    fn fchdir(directory: c_int) -> c_int, or -1 => |real| {
        let result = real(directory);
        delay_change();
        result
    };
    fn umask(mask: c_uint) -> c_uint, or 0 => |real| {
        let result = real(mask);
        delay_change();
        result
    };
    fn setlocale(category: c_int, locale: Text) -> *mut c_char, or core::ptr::null_mut() => |real| {
        let result = real(category, locale);
        if !locale.is_null() {
            delay_change();
        }
        result
    };
}
