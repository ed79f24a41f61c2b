//! What a new process sets before it executes the command: limits, CPU affinity, a network namespace,
//! hidden files.

#![allow(unsafe_code)] // Code between fork and exec, and system structures.

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

use crate::address_layout::fix_addresses;
use crate::hidden_files::HiddenFiles;
use crate::page::{Page, STARTS};
use crate::private::{PrivatePlan, WorldEntry};

/// The variable that configures the shim.
/// Beginnings of the settings that language runtimes follow, too.
const SEEDS: [&str; 3] = ["random=", "collections=", "members="];
pub(crate) const SHIM_SETTINGS: &str = "UNFLAKE_UNDER";

/// How to start a command in a world, as data that another process of unflake can apply.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpawnSpec {
    pub(crate) variables: Vec<(String, Option<String>)>,
    pub(crate) limits: ProcessLimits,
    /// The private world to enter first.
    #[serde(default)]
    pub(crate) private: Option<PrivatePlan>,
}

impl SpawnSpec {
    /// The same, in a private world.
    #[must_use]
    pub fn in_private(self, plan: &PrivatePlan) -> Self {
        Self { private: Some(plan.clone()), ..self }
    }

    /// Whether random numbers, or orders that a runtime leaves open, follow from a seed in it.
    pub fn has_seeds(&self) -> bool {
        let settings =
            self.variables.iter().filter(|(name, _)| name == SHIM_SETTINGS).filter_map(|(_, value)| value.as_ref());
        settings.flat_map(|text| text.split(';')).any(|word| SEEDS.iter().any(|seed| word.starts_with(seed)))
    }

    /// What its processes are told under this name.
    pub fn setting(&self, name: &str) -> Option<String> {
        let text = self.variables.iter().find(|(variable, _)| variable == SHIM_SETTINGS)?.1.as_deref()?;
        let words = text.split_once(";page=").map_or(text, |(words, _)| words);
        words.split(';').find_map(|word| word.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned)
    }

    /// Prepares a command to start in the world, which must still exist when it starts.
    pub fn prepare(&self, command: &mut Command) {
        for (name, value) in &self.variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(temp) = self.private.as_ref().and_then(PrivatePlan::own_temp) {
            command.env("TMPDIR", temp);
        }
        if let Some(entry) = self.private.as_ref().map(WorldEntry::new) {
            // SAFETY: the closure makes system calls only and allocates nothing.
            unsafe { command.pre_exec(move || entry.enter()) };
        }
        self.limits.clone().prepare(command);
    }

    /// Makes the world begin again, however long ago it was created: its date starts now, and what
    /// the next process draws at random does not depend on earlier ones.
    pub fn begin(&self) -> io::Result<()> {
        let Some((words, page)) = self.shim_settings() else { return Ok(()) };
        write(page, offset_of!(Page, starts), &[0; STARTS * size_of::<u64>()])?;
        let word = |name: &str| words.split(';').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        let origin = word("origins").and_then(|origins| origins.split(',').next()?.parse::<i64>().ok());
        let (Some(origin), true) = (origin, word("shift").is_some()) else { return Ok(()) };
        let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_REALTIME)?;
        let rewound = now.tv_sec() * 1_000_000_000 + now.tv_nsec() - origin;
        write(page, offset_of!(Page, rewound), &rewound.to_ne_bytes())
    }

    /// Switches delays on or off in all processes at once. They start switched off.
    pub fn arm(&self, armed: bool) -> io::Result<()> {
        let Some((_, page)) = self.shim_settings() else { return Ok(()) };
        write(page, offset_of!(Page, armed), &u32::from(armed).to_ne_bytes())
    }

    /// The settings of the shim, and the path of the shared page.
    fn shim_settings(&self) -> Option<(&str, &str)> {
        let settings = self.variables.iter().find(|(name, _)| name == SHIM_SETTINGS)?.1.as_deref()?;
        settings.split_once(";page=")
    }
}

fn write(page: &str, at: usize, bytes: &[u8]) -> io::Result<()> {
    File::options().write(true).open(page)?.write_all_at(bytes, at as u64)
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProcessLimits {
    /// By number. None: all cores.
    pub(crate) cores: Option<Vec<usize>>,
    pub(crate) memory: Option<u64>,
    pub(crate) open_files: Option<u64>,
    pub(crate) own_network: bool,
    #[serde(default)]
    pub(crate) fixed_addresses: bool,
    #[serde(default)]
    pub(crate) hidden: HiddenFiles,
}

impl ProcessLimits {
    pub(crate) fn prepare(self, command: &mut Command) {
        let mounts = self.hidden.mounts();
        // SAFETY: the closure makes system calls only and allocates nothing.
        unsafe {
            command.pre_exec(move || {
                if let Some(mounts) = &mounts {
                    mounts.enter()?;
                }
                self.apply()
            })
        };
    }

    fn apply(&self) -> io::Result<()> {
        if self.own_network {
            enter_own_network()?;
        }
        if self.fixed_addresses {
            fix_addresses()?;
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

/// The first `count` of the cores that this process may use. None: there are no more.
pub(crate) fn first_cores(count: u32) -> io::Result<Option<Vec<usize>>> {
    let ours = sched_getaffinity(Pid::from_raw(0))?;
    let all: Vec<usize> = (0..CpuSet::count()).filter(|core| ours.is_set(*core).unwrap_or(false)).collect();
    Ok((all.len() > count as usize).then(|| all[..count as usize].to_vec()))
}

/// Allocates nothing: it is called between fork and exec.
pub(crate) fn cpu_set(cores: &[usize]) -> io::Result<CpuSet> {
    let mut set = CpuSet::new();
    for core in cores {
        set.set(*core)?;
    }
    Ok(set)
}

/// Tries in a forked child whether this process may create network namespaces.
pub(crate) fn can_own_network() -> io::Result<()> {
    in_child(enter_own_network)
}

/// Tries something in a forked child, where it changes nothing. It must not allocate.
pub(crate) fn in_child(attempt: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    // SAFETY: the child makes system calls only, and never returns.
    match unsafe { fork() }? {
        ForkResult::Child => {
            let code = attempt().err().map_or(0, |error| error.raw_os_error().unwrap_or(1));
            // SAFETY: exits at once.
            unsafe { libc::_exit(code) }
        }
        ForkResult::Parent { child } => match waitpid(child, None)? {
            WaitStatus::Exited(_, 0) => Ok(()),
            WaitStatus::Exited(_, error) => Err(io::Error::from_raw_os_error(error)),
            other => Err(io::Error::other(format!("{other:?}"))),
        },
    }
}

/// Enters a network namespace with nothing but its own loopback.
fn enter_own_network() -> io::Result<()> {
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET)?;
    raise_loopback()
}

/// Makes the loopback interface of a new network namespace usable. Allocates nothing.
pub(crate) fn raise_loopback() -> io::Result<()> {
    // SAFETY: an interface request is plain data; the socket is created and closed here.
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
