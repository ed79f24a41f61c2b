//! The keeper: a small process between unflake and a runner, so that nothing is ever left behind.
//!
//! unflake starts itself once more as the keeper of each runner process. The keeper adopts whatever the tests
//! orphan (on Linux), tells how the runner ended, and when unflake goes away for whatever reason (killed, crashed) it
//! ends every process below it and removes the run's temporary directory.

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
use unflake_model::Death;
use unflake_worlds::SpawnSpec;

use crate::Launch;
use crate::project_files::crash_recovery;
use crate::project_files::isolation::FILES;
use crate::run_dir;

/// What unflake holds of a runner process: the line to its keeper.
pub(crate) struct Kept {
    child: Child,
    line: UnixStream,
}

impl Kept {
    /// Starts `command` under a keeper. `died` is called on another thread when the runner has ended.
    pub(crate) fn start(
        launch: &Launch,
        remove: &Path,
        command: &[String],
        variables: &[(String, String)],
        door: Option<&SpawnSpec>,
        (output, errors): (impl Into<Stdio>, impl Into<Stdio>),
        died: impl FnOnce(Result<Death, String>) + Send + 'static,
    ) -> io::Result<Self> {
        let (line, theirs) = UnixStream::pair()?;
        let mut keeper = Command::new(&launch.keeper[0]);
        if let Some(directory) = &launch.directory {
            keeper.current_dir(directory);
        }
        let child = keeper
            .args(&launch.keeper[1..])
            .arg(remove)
            .arg(door.map_or(String::new(), |door| serde_json::to_string(door).expect("a door is JSON")))
            .arg("--")
            .args(command)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
            .stdout(output)
            .stderr(errors)
            // Ctrl-C in the terminal is for unflake alone to hear.
            .process_group(0)
            .spawn()?;
        let answers = BufReader::new(line.try_clone()?);
        thread::spawn(move || died(read_end(answers)));
        Ok(Self { child, line })
    }

    /// Asks the runner to stop as Ctrl-C would.
    pub(crate) fn interrupt(&mut self) {
        let _ = self.line.write_all(b"interrupt\n");
    }

    /// Ends the runner and everything below it.
    pub(crate) fn kill(&mut self) {
        let _ = self.line.write_all(b"kill\n");
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.line.write_all(b"leave\n");
        let _ = self.line.shutdown(std::net::Shutdown::Both);
        let _ = self.child.wait();
    }
}

/// The keeper's last word: `exit 1`, `signal 11`, or `cannot start: …`.
fn read_end(answers: impl BufRead) -> Result<Death, String> {
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

/// The keeper's own main. `arguments` are the directory to remove, the way into the runner's world where it has one of its own,
/// `--`, and the command.
pub fn keep(arguments: &[String]) -> ExitCode {
    let [remove, door, _, program, rest @ ..] = arguments else { return ExitCode::from(2) };
    let remove = PathBuf::from(remove);
    let _held = run_dir::hold(&remove);
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_child_subreaper(true);

    let Ok(line) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { return ExitCode::from(2) };
    let mut answers = &line;
    let mut command = Command::new(program);
    command.args(rest).stdin(Stdio::null()).process_group(0);
    match serde_json::from_str::<SpawnSpec>(door) {
        Ok(door) => door.prepare(&mut command),
        Err(_) if door.is_empty() => {}
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
                        end_all_below();
                        std::process::exit(0);
                    }
                    _ => end_all_below(),
                }
            }
        }
        // unflake has gone without a word.
        end_all_below();
        crash_recovery::recover(&remove.join(FILES));
        let _ = fs::remove_dir_all(&remove);
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
    end_all_below();
    // The thread that listens ends this process: unflake may have been killed, and then its directory is still there.
    loop {
        thread::park();
    }
}

/// Ends every process below this one. Those that appear meanwhile are met in the next round. Waits for none of them: how
/// the runner ended is for [`keep`] to hear.
fn end_all_below() {
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

/// Whether there is nothing to be ended. Much cheaper than to look through all processes of the machine.
fn is_childless() -> bool {
    #[cfg(target_os = "linux")]
    return {
        use nix::sys::wait::{Id, WaitPidFlag, waitid};
        let only_look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        waitid(Id::All, only_look) == Err(nix::errno::Errno::ECHILD)
    };
    #[cfg(not(target_os = "linux"))]
    false
}

/// The living processes below `ancestor`, from /proc. Elsewhere than on Linux: none.
fn descendants(ancestor: i32) -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        if let Some((true, parent)) = life_and_parent(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut ahead = vec![ancestor];
    while let Some(pid) = ahead.pop() {
        for child in children.remove(&pid).unwrap_or_default() {
            found.push(child);
            ahead.push(child);
        }
    }
    found
}

/// Whether a process is there and not a zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    match life_and_parent(pid as i32) {
        Some((alive, _)) => alive,
        None if cfg!(target_os = "linux") => false,
        None => kill(Pid::from_raw(pid as i32), None).is_ok(),
    }
}

/// Whether it is alive, and its parent. One whose first thread has ended looks like a zombie as long as others of its threads live, and keeps
/// its children until they are gone, too.
fn life_and_parent(pid: i32) -> Option<(bool, i32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything, brackets and spaces included.
    let after_name: Vec<&str> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
    let threads: u32 = after_name.get(17)?.parse().ok()?;
    let alive = !matches!(*after_name.first()?, "Z" | "X") || threads > 1;
    Some((alive, after_name.get(1)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keepers_last_word_is_understood() {
        assert_eq!(read_end(&b"exit 3\n"[..]), Ok(Death::Exit(3)));
        assert_eq!(read_end(&b"signal 11\n"[..]), Ok(Death::Signal(11)));
        assert_eq!(read_end(&b""[..]), Ok(Death::Unknown));
        assert_eq!(read_end(&b"cannot start: no such file\n"[..]), Err("no such file".to_owned()));
    }

    #[test]
    fn this_process_is_alive_and_a_child_of_its_parent() {
        assert!(is_alive(std::process::id()));
        assert!(!is_alive(0x3fff_fff0));
        let parent = nix::unistd::getppid().as_raw();
        assert!(descendants(parent).contains(&(std::process::id() as i32)));
    }

    /// Its child would be left behind if it were taken for dead.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_without_its_first_thread_is_alive() {
        let script = "import ctypes, subprocess, threading, time\n\
                      threading.Thread(target=time.sleep, args=(100,)).start()\n\
                      print(subprocess.Popen(['sleep', '100']).pid, flush=True)\n\
                      ctypes.CDLL(None).pthread_exit(None)";
        let mut process = Command::new("python3").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let child: i32 = line.trim().parse().unwrap();
        let first_thread = || fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap();
        while !first_thread().contains(") Z ") {
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
