//! What is set in a new process before it becomes the command: limits, cores, a network of its own.

#![allow(unsafe_code)] // What is done between fork and exec, and the system's own structures.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::libc;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};
use serde::{Deserialize, Serialize};

/// The way into a world for a command that another process of ours starts: everything that is to be set, as data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Door {
    pub(crate) variables: Vec<(String, Option<String>)>,
    pub(crate) set_up: SetUp,
}

impl Door {
    /// Has a command start in the world. Whoever made that must still be there when it does.
    pub fn prepare(&self, command: &mut Command) {
        for (name, value) in &self.variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        self.set_up.clone().prepare(command);
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SetUp {
    /// By their numbers. None: all that there are.
    pub(crate) cores: Option<Vec<usize>>,
    pub(crate) memory: Option<u64>,
    pub(crate) open_files: Option<u64>,
    pub(crate) alone: bool,
}

impl SetUp {
    pub(crate) fn prepare(self, command: &mut Command) {
        // SAFETY: system calls only, no memory is asked for.
        unsafe { command.pre_exec(move || self.apply()) };
    }

    fn apply(&self) -> io::Result<()> {
        if self.alone {
            be_alone()?;
        }
        if let Some(cores) = &self.cores {
            sched_setaffinity(Pid::from_raw(0), &cpu_set(cores)?)?;
        }
        if let Some(files) = self.open_files {
            setrlimit(Resource::RLIMIT_NOFILE, files, files)?;
        }
        if let Some(bytes) = self.memory {
            setrlimit(Resource::RLIMIT_AS, bytes, bytes)?;
        }
        Ok(())
    }
}

/// The first so many of the cores that we may use ourselves. None: there are not more anyway.
pub(crate) fn first_cores(count: u32) -> io::Result<Option<Vec<usize>>> {
    let ours = sched_getaffinity(Pid::from_raw(0))?;
    let all: Vec<usize> = (0..CpuSet::count()).filter(|core| ours.is_set(*core).unwrap_or(false)).collect();
    Ok((all.len() > count as usize).then(|| all[..count as usize].to_vec()))
}

/// Asks for no memory: it is called between fork and exec.
pub(crate) fn cpu_set(cores: &[usize]) -> io::Result<CpuSet> {
    let mut set = CpuSet::new();
    for core in cores {
        set.set(*core)?;
    }
    Ok(set)
}

/// Whether we may make networks: tried, in a copy of ourselves.
pub(crate) fn may_be_alone() -> io::Result<()> {
    // SAFETY: the copy makes system calls only, and never comes back.
    match unsafe { fork() }? {
        ForkResult::Child => {
            let code = be_alone().err().map_or(0, |error| error.raw_os_error().unwrap_or(1));
            // SAFETY: leaves at once.
            unsafe { libc::_exit(code) }
        }
        ForkResult::Parent { child } => match waitpid(child, None)? {
            WaitStatus::Exited(_, 0) => Ok(()),
            WaitStatus::Exited(_, error) => Err(io::Error::from_raw_os_error(error)),
            other => Err(io::Error::other(format!("{other:?}"))),
        },
    }
}

/// A network with nothing in it but a loopback of its own.
fn be_alone() -> io::Result<()> {
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET)?;
    // SAFETY: an interface request is plain data; the socket is ours and closed.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        let set = libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &raw const request);
        let error = io::Error::last_os_error();
        libc::close(socket);
        if set == 0 { Ok(()) } else { Err(error) }
    }
}
