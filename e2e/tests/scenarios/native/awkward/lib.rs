//! Tests that are hard to observe: each passes under plain `cargo test`.

use std::ffi::c_int;

extern "C" {
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn _exit(code: c_int) -> !;
    fn raise(signal: c_int) -> c_int;
    fn signal(number: c_int, handler: extern "C" fn(c_int)) -> usize;
    fn close(file: c_int) -> c_int;
}

pub fn twice(number: i32) -> i32 {
    2 * number
}

pub fn depth(number: u32) -> u32 {
    if number == 0 { 0 } else { 1 + std::hint::black_box(depth(number - 1)) }
}

/// Status of a child that does this and ends without cleaning up: exit code, or 128 and the signal.
pub fn child(work: impl FnOnce() -> c_int) -> c_int {
    unsafe {
        match fork() {
            0 => _exit(work()),
            pid => {
                let mut status = 0;
                assert_eq!(waitpid(pid, &mut status, 0), pid);
                if status & 0x7f == 0 { status >> 8 & 0xff } else { 128 + (status & 0x7f) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::process::Command;
    use std::sync::atomic::{AtomicI32, Ordering::SeqCst};
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn forks() {
        assert_eq!(child(|| twice(21)), 42);
        assert_eq!(child(|| child(|| twice(3)) + 1), 7);
    }

    #[test]
    fn forks_from_a_thread() {
        assert_eq!(std::thread::spawn(|| child(|| twice(4))).join().unwrap(), 8);
    }

    #[test]
    fn child_dies_of_a_signal() {
        assert_eq!(child(|| unsafe { raise(9) }), 128 + 9);
        assert_eq!(child(|| unsafe { raise(6) }), 128 + 6);
    }

    #[test]
    fn child_closes_foreign_descriptors() {
        let work = || {
            (3..256).for_each(|file| unsafe {
                close(file);
            });
            twice(5)
        };
        assert_eq!(child(work), 10);
    }

    #[test]
    fn executes_another_program() {
        use std::os::unix::process::CommandExt;
        assert_eq!(child(|| Command::new("sh").args(["-c", "exit 9"]).exec().raw_os_error().unwrap_or(1)), 9);
        assert_eq!(Command::new("sh").args(["-c", "exit 7"]).status().unwrap().code(), Some(7));
    }

    #[test]
    fn threads() {
        let threads: Vec<_> = (0..16).map(|number| std::thread::spawn(move || twice(number))).collect();
        let sum: i32 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(sum, 240);
    }

    #[test]
    fn detached_thread_goes_on() {
        let (begun, wait) = mpsc::channel();
        std::thread::spawn(move || loop {
            let _ = begun.send(twice(1));
            std::thread::sleep(Duration::from_millis(1));
        });
        assert_eq!(wait.recv(), Ok(2));
    }

    #[test]
    fn deep_recursion() {
        let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(|| depth(100_000));
        assert_eq!(thread.unwrap().join().unwrap(), 100_000);
    }

    #[test]
    fn small_stack() {
        let thread = std::thread::Builder::new().stack_size(16 << 10).spawn(|| twice(3));
        assert_eq!(thread.unwrap().join().unwrap(), 6);
    }

    #[test]
    fn stack_overflow_of_a_child() {
        let status = child(|| depth(u32::MAX) as c_int);
        assert!(status >= 128, "{status}");
    }

    #[test]
    fn signal_handler() {
        static SEEN: AtomicI32 = AtomicI32::new(0);
        extern "C" fn handle(number: c_int) {
            SEEN.store(twice(number), SeqCst);
        }
        unsafe {
            signal(10, handle);
            raise(10);
        }
        assert_eq!(SEEN.load(SeqCst), 20);
    }

    #[test]
    fn panics() {
        let caught = std::panic::catch_unwind(|| twice(i32::MAX / 2) / (twice(1) - 2));
        assert!(caught.is_err());
    }

    #[test]
    fn destructors_of_a_thread_run() {
        static DROPPED: AtomicI32 = AtomicI32::new(0);
        struct Bye;
        impl Drop for Bye {
            fn drop(&mut self) {
                DROPPED.store(twice(4), SeqCst);
            }
        }
        thread_local!(static LOCAL: RefCell<Option<Bye>> = const { RefCell::new(None) });
        std::thread::spawn(|| LOCAL.with(|local| *local.borrow_mut() = Some(Bye))).join().unwrap();
        assert_eq!(DROPPED.load(SeqCst), 8);
    }

    #[test]
    fn without_variables() {
        let status = Command::new("/bin/sh").env_clear().args(["-c", "exit 5"]).status();
        assert_eq!(status.unwrap().code(), Some(5));
    }
}
