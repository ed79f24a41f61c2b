//! Busy processes that load the CPU beside a command.
//!
//! Each has one end of a pipe and exits when unflake's end closes, for whatever reason.

#![allow(unsafe_code)] // To fork.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::fcntl::OFlag;
use nix::libc;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, pipe2};

pub(crate) struct Load {
    busy: Vec<Pid>,
    _pipe: OwnedFd,
}

impl Load {
    /// Starts them on the cores that the command has.
    pub(crate) fn start(count: u32, cores: Option<CpuSet>) -> io::Result<Self> {
        let (theirs, ours) = pipe2(OFlag::O_CLOEXEC)?;
        let mut load = Self { busy: Vec::new(), _pipe: ours };
        for _ in 0..count {
            // SAFETY: the child makes system calls only, and never returns.
            match unsafe { fork() }? {
                ForkResult::Child => burn_cpu(theirs.as_raw_fd(), cores.as_ref()),
                ForkResult::Parent { child } => load.busy.push(child),
            }
        }
        Ok(load)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for pid in &self.busy {
            let _ = kill(*pid, Signal::SIGKILL);
            let _ = waitpid(*pid, None);
        }
    }
}

fn burn_cpu(pipe: RawFd, cores: Option<&CpuSet>) -> ! {
    // SAFETY: numbers and a terminated name; closes descriptors that the child does not need,
    // unflake's end of the pipe among them.
    unsafe {
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_NAME, c"unflake-load".as_ptr());
        if pipe > 0 {
            libc::syscall(libc::SYS_close_range, 0, pipe - 1, 0);
        }
        libc::syscall(libc::SYS_close_range, pipe + 1, u32::MAX, 0);
    }
    if let Some(cores) = cores {
        let _ = sched_setaffinity(Pid::from_raw(0), cores);
    }
    loop {
        // A few milliseconds between two polls.
        for number in 0..2_000_000u64 {
            std::hint::black_box(number);
        }
        let mut waiting = libc::pollfd { fd: pipe, events: 0, revents: 0 };
        // SAFETY: one entry, as declared. Any event means that the other end is gone.
        unsafe {
            if libc::poll(&mut waiting, 1, 0) != 0 {
                libc::_exit(0);
            }
        }
    }
}
