//! Running one command in a world, in front of a person: its input and output are theirs, its exit code is ours, and however it
//! ends, nothing is left behind.
//!
//! Two processes see to that. The first one waits, passes signals on, and leaves with the exit code. The second makes the world,
//! starts the command and adopts whatever that orphans; when the first is gone without a word, it ends them all.

#![allow(unsafe_code)] // To fork, and to hear signals.

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
use crate::world::World;

/// To whom signals are passed on, and one that came before there was anybody.
static FOR: AtomicI32 = AtomicI32::new(0);
static EARLY: AtomicI32 = AtomicI32::new(0);

/// Does `work`, which is to call [`run`], in a process of its own that is seen to. What it gives is the exit code of both. To be
/// called while this process has one thread.
pub fn watched(work: impl FnOnce() -> u8) -> ExitCode {
    let Ok((line, ours)) = pipe2(OFlag::O_CLOEXEC) else { return ExitCode::from(work()) };
    // SAFETY: there is one thread, so the copy is whole.
    match unsafe { fork() } {
        Err(_) => ExitCode::from(work()),
        Ok(ForkResult::Child) => {
            drop(ours);
            let _ = set_child_subreaper(true);
            pass_signals_on();
            thread::spawn(move || {
                let _ = fs::File::from(line).read(&mut [0]);
                // The first process has gone without a word. What is started from now on is ended too.
                loop {
                    end_all_below();
                    thread::sleep(Duration::from_millis(20));
                }
            });
            let code = work();
            FOR.store(0, Ordering::Relaxed);
            end_all_below();
            std::process::exit(i32::from(code));
        }
        Ok(ForkResult::Parent { child }) => {
            drop(line);
            let _ = set_child_subreaper(true);
            FOR.store(child.as_raw(), Ordering::Relaxed);
            pass_signals_on();
            let code = loop {
                match waitpid(child, None) {
                    Ok(WaitStatus::Exited(_, code)) => break code as u8,
                    Ok(WaitStatus::Signaled(_, signal, _)) => break 128 + signal as u8,
                    Ok(_) | Err(Errno::EINTR) => {}
                    Err(_) => break 70,
                }
            };
            end_all_below();
            ExitCode::from(code)
        }
    }
}

/// Starts the command in a world and waits for its end.
pub fn run(mut under: World, command: &[String]) -> Result<WorldRun, WorldError> {
    let (program, words) = command.split_first().expect("a command has a program");
    let mut prepared = Command::new(program);
    prepared.args(words);
    // There is nobody to say when a test begins.
    under.load()?;
    under.arm(true).map_err(WorldError::any("switch delays on"))?;
    under.prepare(&mut prepared);
    let missed = under.misses(program);
    let mut child = prepared.spawn().map_err(WorldError::any(&format!("start {program}")))?;
    FOR.store(child.id() as i32, Ordering::SeqCst);
    if let Ok(signal) = Signal::try_from(EARLY.load(Ordering::SeqCst)) {
        let _ = kill(Pid::from_raw(child.id() as i32), signal);
    }
    let status = child.wait().map_err(WorldError::any("wait for the command"))?;
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(WorldRun { code: code as u8, reached: under.reached(), missed })
}

/// A signal that somebody sends to us is meant for the command. One that the terminal sends, it has got itself.
extern "C" fn heard(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let whom = FOR.load(Ordering::SeqCst);
    // SAFETY: the system has filled it in; kill may be called in a handler.
    unsafe {
        if whom == 0 {
            EARLY.store(signal, Ordering::SeqCst);
        } else if (*info).si_code <= 0 {
            libc::kill(whom, signal);
        }
    }
}

fn pass_signals_on() {
    // Not ignored: that the command would inherit.
    let action = SigAction::new(SigHandler::SigAction(heard), SaFlags::SA_RESTART, SigSet::empty());
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGUSR1, Signal::SIGUSR2] {
        // SAFETY: the handler does what a handler may.
        let _ = unsafe { sigaction(signal, &action) };
    }
}

/// Ends whatever is left below this process. Whose parent is ended comes to us, and is met in the next round.
fn end_all_below() {
    for _ in 0..200 {
        // Much cheaper than to look through all processes of the machine.
        let only_look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        if waitid(Id::All, only_look) == Err(Errno::ECHILD) {
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
        // The name in brackets may hold anything, brackets and spaces included.
        let parent: u32 = stat[stat.rfind(')')? + 1..].split_whitespace().nth(1)?.parse().ok()?;
        (parent == ours).then(|| Pid::from_raw(pid))
    };
    fs::read_dir("/proc").into_iter().flatten().filter_map(found).collect()
}
