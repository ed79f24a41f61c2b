//! The supervisor: a small process between unflake and a runner that guarantees cleanup.
//!
//! unflake starts itself once more as the supervisor of each runner process. The supervisor adopts
//! processes that tests orphan (on Linux), reports how the runner exited, and when unflake goes
//! away for whatever reason (killed, crashed) it kills every process below it, restores project
//! files and removes the run's temporary directory.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;

use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use tracing::debug;
use unflake_model::Death;
use unflake_worlds::SpawnSpec;

use crate::launch::Launch;
use crate::project_files::crash_recovery;
use crate::project_files::isolation::COPIES_DIR;
use crate::runner_process::run_dir;

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
        on_exit: impl FnOnce(Result<Death, String>) + Send + 'static,
    ) -> io::Result<Self> {
        let (line, theirs) = UnixStream::pair()?;
        let mut supervisor = Command::new(&launch.supervisor[0]);
        if let Some(directory) = &launch.directory {
            supervisor.current_dir(directory);
        }
        let child = supervisor
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
            .process_group(0)
            .spawn()?;
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
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let _ = self.line.write_all(b"leave\n");
        let _ = self.line.shutdown(std::net::Shutdown::Both);
        let status = self.child.wait();
        debug!(pid = self.child.id(), ?status, "supervisor exited");
    }
}

/// The supervisor's last line: `exit 1`, `signal 11`, or `cannot start: …`.
fn read_exit(answers: impl BufRead) -> Result<Death, String> {
    let Some(Ok(line)) = answers.lines().next() else { return Ok(Death::Unknown) };
    if let Some(why) = line.strip_prefix("cannot start: ") {
        return Err(why.to_owned());
    }
    let number = |word: &str| line.strip_prefix(word).and_then(|rest| rest.trim().parse().ok());
    Ok(match (number("exit"), number("signal")) {
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
                        std::process::exit(0);
                    }
                    _ => kill_descendants(),
                }
            }
        }
        // unflake died: it would have said "leave".
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
        thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Whether this process has no children. Much cheaper than a scan of all processes.
fn is_childless() -> bool {
    #[cfg(target_os = "linux")]
    return {
        use nix::sys::wait::{Id, WaitPidFlag, waitid};
        let peek = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        waitid(Id::All, peek) == Err(nix::errno::Errno::ECHILD)
    };
    #[cfg(not(target_os = "linux"))]
    false
}

/// The living processes below `ancestor`, from /proc. None on systems without /proc.
fn descendants(ancestor: i32) -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        if let Some((true, parent)) = liveness_and_parent(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut pending = vec![ancestor];
    while let Some(pid) = pending.pop() {
        for child in children.remove(&pid).unwrap_or_default() {
            found.push(child);
            pending.push(child);
        }
    }
    found
}

/// Whether a process exists and is not a zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    match liveness_and_parent(pid as i32) {
        Some((alive, _)) => alive,
        None if cfg!(target_os = "linux") => false,
        None => kill(Pid::from_raw(pid as i32), None).is_ok(),
    }
}

/// Whether a process is alive, and its parent. A process whose main thread has exited looks like a
/// zombie while other threads live, and keeps its children until those have exited, too.
fn liveness_and_parent(pid: i32) -> Option<(bool, i32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may contain anything, including brackets and spaces.
    let after_name: Vec<&str> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
    let threads: u32 = after_name.get(17)?.parse().ok()?;
    let alive = !matches!(*after_name.first()?, "Z" | "X") || threads > 1;
    Some((alive, after_name.get(1)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_supervisor_is_parsed() {
        assert_eq!(read_exit(&b"exit 3\n"[..]), Ok(Death::Exit(3)));
        assert_eq!(read_exit(&b"signal 11\n"[..]), Ok(Death::Signal(11)));
        assert_eq!(read_exit(&b""[..]), Ok(Death::Unknown));
        assert_eq!(read_exit(&b"cannot start: no such file\n"[..]), Err("no such file".to_owned()));
    }

    #[test]
    fn this_process_is_alive_and_a_child_of_its_parent() {
        assert!(is_alive(std::process::id()));
        assert!(!is_alive(0x3fff_fff0));
        let parent = nix::unistd::getppid().as_raw();
        assert!(descendants(parent).contains(&(std::process::id() as i32)));
    }

    /// A process that is taken for dead would leave its child behind.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_whose_main_thread_exited_is_alive() {
        let script = "import ctypes, subprocess, threading, time\n\
                      threading.Thread(target=time.sleep, args=(100,)).start()\n\
                      print(subprocess.Popen(['sleep', '100']).pid, flush=True)\n\
                      ctypes.CDLL(None).pthread_exit(None)";
        let mut process = Command::new("python3").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let child: i32 = line.trim().parse().unwrap();
        let main_thread = || fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap();
        while !main_thread().contains(") Z ") {
            thread::sleep(std::time::Duration::from_millis(5));
        }
        let found = descendants(std::process::id() as i32);
        let alive = is_alive(process.id());
        let _ = kill(Pid::from_raw(child), Signal::SIGKILL);
        let pid = process.id() as i32;
        process.kill().unwrap();
        process.wait().unwrap();
        assert!(alive && found.contains(&pid) && found.contains(&child), "{found:?}");
        assert!(!is_alive(pid as u32));
    }
}
