//! Busy processes beside a command. Each holds one end of a pipe of which we hold the other: when that is gone, for whatever
//! reason, so are they.

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
    _line: OwnedFd,
}

impl Load {
    /// On the cores that the command has, where these are fewer than all.
    pub(crate) fn start(count: u32, cores: Option<CpuSet>) -> io::Result<Self> {
        let (theirs, ours) = pipe2(OFlag::O_CLOEXEC)?;
        let mut load = Self { busy: Vec::new(), _line: ours };
        for _ in 0..count {
            // SAFETY: the copy makes system calls only, and never comes back.
            match unsafe { fork() }? {
                ForkResult::Child => be_busy(theirs.as_raw_fd(), cores.as_ref()),
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

fn be_busy(line: RawFd, cores: Option<&CpuSet>) -> ! {
    // SAFETY: numbers and a name closed by a zero; descriptors that the copy does not need, the other end of the line among
    // them.
    unsafe {
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_NAME, c"unflake-load".as_ptr());
        if line > 0 {
            libc::syscall(libc::SYS_close_range, 0, line - 1, 0);
        }
        libc::syscall(libc::SYS_close_range, line + 1, u32::MAX, 0);
    }
    if let Some(cores) = cores {
        let _ = sched_setaffinity(Pid::from_raw(0), cores);
    }
    loop {
        // A few milliseconds between two looks.
        for number in 0..2_000_000u64 {
            std::hint::black_box(number);
        }
        let mut waiting = libc::pollfd { fd: line, events: 0, revents: 0 };
        // SAFETY: one entry, as said. Without a word from the other end there is nothing to be told.
        unsafe {
            if libc::poll(&mut waiting, 1, 0) != 0 {
                libc::_exit(0);
            }
        }
    }
}
