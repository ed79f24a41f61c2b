//! Runs commands that reports print, to know what they show before they are printed.

#![allow(unsafe_code)] // A process that ends with its parent.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use unflake_store::StoreLocation;

use crate::interrupt::was_interrupted;

const PAUSE: Duration = Duration::from_millis(5);
/// How long a command that took too long may clean up.
const CLEAN_UP: Duration = Duration::from_secs(5);

/// Whether a shell command fails. None: it could not be run to its end within the limit. The first
/// unflake that it finds is this one.
pub(crate) fn fails(script: &str, here: &Path, limit: Duration) -> Option<bool> {
    if was_interrupted() {
        return None;
    }
    let began = Instant::now();
    let unflake = env::current_exe().ok()?;
    let others = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(unflake.parent().map(Path::to_owned).into_iter().chain(env::split_paths(&others)));
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(here).env("PATH", path.ok()?);
    // What is only checked does not belong to the project's history.
    command.env("UNFLAKE_STORE", StoreLocation::MEMORY);
    // Everything that it starts can be ended together.
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: a system call only. Whatever the command started ends with it.
    unsafe { command.pre_exec(|| Ok(set_pdeathsig(Signal::SIGKILL)?)) };
    let mut child = command.spawn().ok()?;
    let ended = exit_before(&mut child, || began.elapsed() < limit && !was_interrupted());
    if ended.is_none() {
        let group = Pid::from_raw(child.id() as i32);
        let asked = Instant::now();
        let _ = killpg(group, Signal::SIGTERM);
        let _ = exit_before(&mut child, || asked.elapsed() < CLEAN_UP);
        // The shell may exit before what it started.
        while asked.elapsed() < CLEAN_UP && killpg(group, None).is_ok() {
            thread::sleep(PAUSE);
        }
        let _ = killpg(group, Signal::SIGKILL);
        let _ = child.wait();
    }
    tracing::debug!(script, ?ended, "ran a printed command");
    // The shell found no such command, or could not start it.
    let was_run = |status: &ExitStatus| !matches!(status.code(), Some(126 | 127));
    ended.filter(was_run).map(|status| !status.success())
}

/// The exit of a process, if it comes while `may_go_on`.
fn exit_before(child: &mut Child, may_go_on: impl Fn() -> bool) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if may_go_on() => thread::sleep(PAUSE),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_does_not_exist_shows_nothing() {
        let fails = |script| fails(script, &env::temp_dir(), Duration::from_secs(60));
        assert_eq!((fails("exit 1"), fails("exit 0"), fails("no-such-command-here")), (Some(true), Some(false), None));
    }
}
