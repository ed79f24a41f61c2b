//! The supervisor: a small process between unflake and a runner that guarantees cleanup.
//!
//! unflake starts itself once more as the supervisor of each runner process. The supervisor adopts
//! processes that tests orphan (on Linux), reports how the runner exited, and when unflake goes
//! away for whatever reason (killed, crashed) it kills every process below it, restores project
//! files and removes the run's temporary directory.
//!
//! unflake in turn watches the supervisors: it continues one that is stopped, and when one is
//! killed it adopts and kills the processes below it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpgid, getpgrp};
use tracing::debug;
use unflake_model::Death;
use unflake_worlds::SpawnSpec;

use crate::launch::Launch;
use crate::project_files::crash_recovery;
use crate::project_files::isolation::COPIES_DIR;
use crate::runner_process::process_table::{children_by_parent, descendants, process_state};
use crate::runner_process::run_dir;

/// How long a supervisor may take to exit.
const GRACE: Duration = Duration::from_secs(2);

/// The supervisors that this process has started. All its other children in other process groups
/// were adopted from a supervisor that was killed.
static STARTED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn started() -> MutexGuard<'static, BTreeSet<u32>> {
    STARTED.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// How a runner process ended, as far as its supervisor reports it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RunnerEnd {
    Exited(Death),
    /// It could not be started, for this reason.
    NotStarted(String),
    /// Its supervisor died first.
    Unsupervised,
}

/// unflake's end of the connection to a supervisor. On drop the supervisor kills what is left of
/// its runner and exits.
pub(crate) struct Supervisor {
    child: Child,
    line: UnixStream,
}

impl Supervisor {
    /// Starts `command` under a supervisor. `on_exit` runs on another thread when the runner has
    /// exited.
    pub(crate) fn start(
        launch: &Launch,
        run_dir: &Path,
        command: &[String],
        variables: &[(String, String)],
        world: Option<&SpawnSpec>,
        (stdout, stderr): (impl Into<Stdio>, impl Into<Stdio>),
        on_exit: impl FnOnce(RunnerEnd) + Send + 'static,
    ) -> io::Result<Self> {
        let (line, theirs) = UnixStream::pair()?;
        let mut supervisor = Command::new(&launch.supervisor[0]);
        if let Some(directory) = &launch.directory {
            supervisor.current_dir(directory);
        }
        #[cfg(target_os = "linux")]
        let _ = nix::sys::prctl::set_child_subreaper(true);
        supervisor
            .args(&launch.supervisor[1..])
            .arg(run_dir)
            .arg(world.map_or(String::new(), |world| serde_json::to_string(world).expect("a spawn spec is JSON")))
            .arg("--")
            .args(command)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
            .stdout(stdout)
            .stderr(stderr)
            // Only unflake itself handles Ctrl-C in the terminal.
            .process_group(0);
        let mut started = started();
        let child = supervisor.spawn()?;
        started.insert(child.id());
        drop(started);
        debug!(pid = child.id(), ?command, "supervisor started");
        let answers = BufReader::new(line.try_clone()?);
        thread::spawn(move || on_exit(read_exit(answers)));
        Ok(Self { child, line })
    }

    /// Interrupts the runner as Ctrl-C would.
    pub(crate) fn interrupt(&mut self) {
        let _ = self.line.write_all(b"interrupt\n");
    }

    /// Kills the runner and everything below it.
    pub(crate) fn kill(&mut self) {
        let _ = self.line.write_all(b"kill\n");
    }

    /// Continues the supervisor if it is stopped. It takes no orders and reports nothing then.
    pub(crate) fn continue_if_stopped(&self) {
        if process_state(self.child.id() as i32).is_some_and(|state| state.is_stopped) {
            debug!(pid = self.child.id(), "continuing a supervisor that was stopped");
            let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGCONT);
        }
    }

    /// Ends the supervisor and everything that was below it, whatever state it is in.
    pub(crate) fn destroy(&mut self) {
        let _ = self.child.kill();
        // Its children have a new parent only when it has exited.
        let _ = self.child.wait();
        kill_adopted();
    }

    /// Whether the supervisor has exited within [`GRACE`].
    fn has_exited_in_time(&mut self) -> bool {
        let mut rest = [0; 64];
        let _ = self.line.set_read_timeout(Some(GRACE));
        loop {
            match self.line.read(&mut rest) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
            }
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let _ = self.line.write_all(b"leave\n");
        let _ = self.line.shutdown(std::net::Shutdown::Write);
        self.continue_if_stopped();
        if !self.has_exited_in_time() {
            debug!(pid = self.child.id(), "the supervisor does not exit, and is killed");
            self.destroy();
        }
        let status = self.child.wait();
        started().remove(&self.child.id());
        debug!(pid = self.child.id(), ?status, "supervisor exited");
    }
}

/// The supervisor's last line: `exit 1`, `signal 11`, or `cannot start: …`.
fn read_exit(answers: impl BufRead) -> RunnerEnd {
    let Some(Ok(line)) = answers.lines().next() else { return RunnerEnd::Unsupervised };
    if let Some(why) = line.strip_prefix("cannot start: ") {
        return RunnerEnd::NotStarted(why.to_owned());
    }
    let number = |word: &str| line.strip_prefix(word).and_then(|rest| rest.trim().parse().ok());
    RunnerEnd::Exited(match (number("exit"), number("signal")) {
        (Some(code), _) => Death::Exit(code),
        (_, Some(signal)) => Death::Signal(signal),
        _ => Death::Unknown,
    })
}

/// The main function of the supervisor process. `arguments` are the directory to remove, the spawn
/// spec of the runner's world or an empty string, `--`, and the runner's command.
pub fn supervise(arguments: &[String]) -> ExitCode {
    let [run_dir, world, _, program, rest @ ..] = arguments else { return ExitCode::from(2) };
    let run_dir = PathBuf::from(run_dir);
    let _lock = run_dir::lock_shared(&run_dir);
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_child_subreaper(true);

    let Ok(line) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { return ExitCode::from(2) };
    let mut answers = &line;
    let mut command = Command::new(program);
    command.args(rest).stdin(Stdio::null()).process_group(0);
    match serde_json::from_str::<SpawnSpec>(world) {
        Ok(world) => world.prepare(&mut command),
        Err(_) if world.is_empty() => {}
        Err(_) => return ExitCode::from(2),
    }
    let spawned = command.spawn();
    let runner = match spawned {
        Ok(child) => Pid::from_raw(child.id() as i32),
        Err(error) => {
            let _ = writeln!(answers, "cannot start: {error}");
            return ExitCode::from(2);
        }
    };
    let commands = line.try_clone();
    thread::spawn(move || {
        if let Ok(commands) = commands {
            for command in BufReader::new(commands).lines().map_while(Result::ok) {
                match command.as_str() {
                    "interrupt" => drop(killpg(runner, Signal::SIGINT)),
                    "leave" => {
                        kill_descendants();
                        reap_children();
                        std::process::exit(0);
                    }
                    _ => kill_descendants(),
                }
            }
        }
        // unflake died: otherwise it would have sent "leave".
        kill_descendants();
        crash_recovery::recover(&run_dir.join(COPIES_DIR));
        let _ = fs::remove_dir_all(&run_dir);
        std::process::exit(0);
    });
    loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, code)) if pid == runner => {
                let _ = writeln!(answers, "exit {code}");
                break;
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == runner => {
                let _ = writeln!(answers, "signal {}", signal as i32);
                break;
            }
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(_) => {
                let _ = writeln!(answers, "gone");
                break;
            }
        }
    }
    kill_descendants();
    // The listening thread exits this process: if unflake is killed now, its directory is still
    // there.
    loop {
        thread::park();
    }
}

/// Kills every process below this one, in rounds, to catch those that appear meanwhile. Reaps none
/// of them: [`supervise`] has to see how the runner exited.
fn kill_descendants() {
    if is_childless() {
        return;
    }
    let myself = std::process::id() as i32;
    for _ in 0..100 {
        let below = descendants(myself);
        if below.is_empty() {
            return;
        }
        for pid in below {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Reaps children that have exited: unflake would have to do so otherwise.
fn reap_children() {
    while matches!(waitpid(None, Some(WaitPidFlag::WNOHANG)), Ok(status) if status.pid().is_some()) {}
}

/// Kills every process that this one has adopted since a supervisor died, in rounds, with
/// everything below.
fn kill_adopted() {
    let started = started();
    let myself = std::process::id() as i32;
    for _ in 0..100 {
        let adopted = adopted(myself, &started);
        if adopted.is_empty() {
            return;
        }
        debug!(?adopted, "killing the processes of a supervisor that died");
        for pid in adopted.iter().flat_map(|pid| descendants(*pid)).chain(adopted.iter().copied()) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        for pid in adopted {
            let _ = waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG));
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// The children of this process that it has not started itself. Other commands that it runs are in
/// its own process group.
fn adopted(myself: i32, started: &BTreeSet<u32>) -> Vec<i32> {
    let is_adopted = |pid: &i32| {
        let is_foreign = getpgid(Some(Pid::from_raw(*pid))).is_ok_and(|group| group != getpgrp());
        is_foreign && !started.contains(&(*pid as u32))
    };
    children_by_parent().remove(&myself).unwrap_or_default().into_iter().filter(is_adopted).collect()
}

/// Whether this process has no children. Much cheaper than a scan of all processes.
fn is_childless() -> bool {
    #[cfg(target_os = "linux")]
    return {
        use nix::sys::wait::{Id, waitid};
        let peek = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        waitid(Id::All, peek) == Err(nix::errno::Errno::ECHILD)
    };
    #[cfg(not(target_os = "linux"))]
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_supervisor_is_parsed() {
        assert_eq!(read_exit(&b"exit 3\n"[..]), RunnerEnd::Exited(Death::Exit(3)));
        assert_eq!(read_exit(&b"signal 11\n"[..]), RunnerEnd::Exited(Death::Signal(11)));
        assert_eq!(read_exit(&b"gone\n"[..]), RunnerEnd::Exited(Death::Unknown));
        assert_eq!(read_exit(&b""[..]), RunnerEnd::Unsupervised);
        assert_eq!(read_exit(&b"cannot start: no such file\n"[..]), RunnerEnd::NotStarted("no such file".to_owned()));
    }
}
