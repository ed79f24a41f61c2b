//! The processes of the system, from /proc: which are alive, which stopped, and whose children they
//! are. Nothing is known on systems without /proc.

use std::collections::HashMap;
use std::fs;

use nix::sys::signal::kill;
use nix::unistd::Pid;

/// The living processes below `ancestor`, from /proc. None on systems without /proc.
pub(crate) fn descendants(ancestor: i32) -> Vec<i32> {
    let mut children = children_by_parent();
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

/// All living processes, by their parents.
pub(crate) fn children_by_parent() -> HashMap<i32, Vec<i32>> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        if let Some(state) = process_state(pid).filter(|state| state.is_alive) {
            children.entry(state.parent).or_default().push(pid);
        }
    }
    children
}

/// Whether a process exists and is not a zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    match process_state(pid as i32) {
        Some(state) => state.is_alive,
        None if cfg!(target_os = "linux") => false,
        None => kill(Pid::from_raw(pid as i32), None).is_ok(),
    }
}

/// What the system says about a process.
pub(crate) struct ProcessState {
    /// A process whose main thread has exited looks like a zombie while other threads live, and
    /// keeps its children until those have exited, too.
    pub(crate) is_alive: bool,
    /// By a signal, until it is continued.
    pub(crate) is_stopped: bool,
    pub(crate) parent: i32,
}

pub(crate) fn process_state(pid: i32) -> Option<ProcessState> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may contain anything, including brackets and spaces.
    let after_name: Vec<&str> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
    let threads: u32 = after_name.get(17)?.parse().ok()?;
    let state = *after_name.first()?;
    Some(ProcessState {
        is_alive: !matches!(state, "Z" | "X") || threads > 1,
        is_stopped: state == "T",
        parent: after_name.get(1)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    use std::{thread, time};

    use nix::sys::signal::Signal;

    use super::*;

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
            thread::sleep(time::Duration::from_millis(5));
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
