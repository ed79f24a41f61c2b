//! What is set in a new process before it becomes the command: limits, cores, a network of its own.

#![allow(unsafe_code)] // What is done between fork and exec, and the system's own structures.

use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::libc;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};
use serde::{Deserialize, Serialize};

use crate::page::Page;

/// What tells the shim what to do.
pub(crate) const TOLD: &str = "UNFLAKE_UNDER";

/// The way into a world for a command that another process of ours starts: everything that is to be set, as data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpawnSpec {
    pub(crate) variables: Vec<(String, Option<String>)>,
    pub(crate) set_up: SetUp,
}

impl SpawnSpec {
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

    /// From this moment on the clock says what it was asked to say, however long ago the world was made.
    pub fn begin(&self) -> io::Result<()> {
        let Some((words, page)) = self.told() else { return Ok(()) };
        let word = |name: &str| words.split(';').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        let origin = word("origins").and_then(|origins| origins.split(',').next()?.parse::<i64>().ok());
        let (Some(origin), true) = (origin, word("shift").is_some()) else { return Ok(()) };
        let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_REALTIME)?;
        let rewound = now.tv_sec() * 1_000_000_000 + now.tv_nsec() - origin;
        write(page, offset_of!(Page, rewound), &rewound.to_ne_bytes())
    }

    /// Switches delays on or off, in all processes at once. They are off at first.
    pub fn arm(&self, armed: bool) -> io::Result<()> {
        let Some((_, page)) = self.told() else { return Ok(()) };
        write(page, offset_of!(Page, armed), &u32::from(armed).to_ne_bytes())
    }

    /// What the shim is told, and the path of the page that is shared with it.
    fn told(&self) -> Option<(&str, &str)> {
        let told = self.variables.iter().find(|(name, _)| name == TOLD)?.1.as_deref()?;
        told.split_once(";page=")
    }
}

fn write(page: &str, at: usize, bytes: &[u8]) -> io::Result<()> {
    File::options().write(true).open(page)?.write_all_at(bytes, at as u64)
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
