//! Runs one command in a world for a user: terminal input and output are the command's own.
//!
//! Two processes guarantee that nothing is left behind. The outer one waits, forwards signals, and exits
//! with the command's exit code. The inner one creates the world, starts the command and adopts orphans;
//! when the outer one is gone, it ends them all.

#![allow(unsafe_code)] // To fork, and to handle signals.

use std::fs;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::libc;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, kill, sigaction};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{ForkResult, Pid, fork, pipe2};

use crate::error::WorldError;
use crate::outcome::WorldRun;
use crate::world::OpenWorld;

/// The process that signals are forwarded to, and a signal that arrived before it existed.
static SIGNAL_TARGET: AtomicI32 = AtomicI32::new(0);
static EARLY_SIGNAL: AtomicI32 = AtomicI32::new(0);

/// Does `work`, which calls [`run`], in a supervised process. Its result is the exit code of both. Call it
/// while this process has one thread.
pub fn supervised(work: impl FnOnce() -> u8) -> ExitCode {
    let Ok((pipe, ours)) = pipe2(OFlag::O_CLOEXEC) else { return ExitCode::from(work()) };
    // SAFETY: there is one thread, so the child is complete.
    match unsafe { fork() } {
        Err(_) => ExitCode::from(work()),
        Ok(ForkResult::Child) => {
            drop(ours);
            let _ = set_child_subreaper(true);
            forward_signals();
            thread::spawn(move || {
                let _ = fs::File::from(pipe).read(&mut [0]);
                // The outer process is gone. Whatever starts from now on is ended too.
                loop {
                    kill_descendants();
                    thread::sleep(Duration::from_millis(20));
                }
            });
            let code = work();
            SIGNAL_TARGET.store(0, Ordering::Relaxed);
            kill_descendants();
            std::process::exit(i32::from(code));
        }
        Ok(ForkResult::Parent { child }) => {
            drop(pipe);
            let _ = set_child_subreaper(true);
            SIGNAL_TARGET.store(child.as_raw(), Ordering::Relaxed);
            forward_signals();
            let code = loop {
                match waitpid(child, None) {
                    Ok(WaitStatus::Exited(_, code)) => break code as u8,
                    Ok(WaitStatus::Signaled(_, signal, _)) => break 128 + signal as u8,
                    Ok(_) | Err(Errno::EINTR) => {}
                    Err(_) => break 70,
                }
            };
            kill_descendants();
            ExitCode::from(code)
        }
    }
}

/// Starts the command in a world and waits for its end.
pub fn run(mut world: OpenWorld, command: &[String]) -> Result<WorldRun, WorldError> {
    let (program, words) = command.split_first().expect("a command has a program");
    let mut prepared = Command::new(program);
    prepared.args(words);
    // Nothing reports when a test begins, so load and delays start at once.
    world.load()?;
    world.arm(true).map_err(WorldError::any("switch delays on"))?;
    world.prepare(&mut prepared);
    let missed = world.unreachable(program);
    let mut child = prepared.spawn().map_err(WorldError::any(&format!("start {program}")))?;
    SIGNAL_TARGET.store(child.id() as i32, Ordering::SeqCst);
    if let Ok(signal) = Signal::try_from(EARLY_SIGNAL.load(Ordering::SeqCst)) {
        let _ = kill(Pid::from_raw(child.id() as i32), signal);
    }
    let status = child.wait().map_err(WorldError::any("wait for the command"))?;
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(WorldRun { code: code as u8, reached: world.reached(), missed })
}

/// A signal sent to unflake is meant for the command. The command gets those of the terminal itself.
extern "C" fn on_signal(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let target = SIGNAL_TARGET.load(Ordering::SeqCst);
    // SAFETY: the kernel filled it in; kill is async-signal-safe.
    unsafe {
        if target == 0 {
            EARLY_SIGNAL.store(signal, Ordering::SeqCst);
        } else if (*info).si_code <= 0 {
            libc::kill(target, signal);
        }
    }
}

fn forward_signals() {
    // Not ignored: the command would inherit that.
    let action = SigAction::new(SigHandler::SigAction(on_signal), SaFlags::SA_RESTART, SigSet::empty());
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGUSR1, Signal::SIGUSR2] {
        // SAFETY: the handler is async-signal-safe.
        let _ = unsafe { sigaction(signal, &action) };
    }
}

/// Kills every descendant. A process whose parent died becomes a child of this one, and is met in the
/// next round.
fn kill_descendants() {
    for _ in 0..200 {
        // Much cheaper than reading all of /proc.
        let peek = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        if waitid(Id::All, peek) == Err(Errno::ECHILD) {
            return;
        }
        for child in children() {
            let _ = kill(child, Signal::SIGKILL);
            let _ = waitpid(child, Some(WaitPidFlag::WNOHANG));
        }
        thread::sleep(Duration::from_millis(2));
    }
}

fn children() -> Vec<Pid> {
    let ours = std::process::id();
    let found = |entry: io::Result<fs::DirEntry>| {
        let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in brackets may contain brackets and spaces.
        let parent: u32 = stat[stat.rfind(')')? + 1..].split_whitespace().nth(1)?.parse().ok()?;
        (parent == ours).then(|| Pid::from_raw(pid))
    };
    fs::read_dir("/proc").into_iter().flatten().filter_map(found).collect()
}
