//! An unflake process that is running, and the check that it leaves nothing behind.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::{HANG, Invocation, RunOutput, Sandbox};

/// An unflake process that has been started.
pub struct RunningProcess<'a> {
    sandbox: &'a Sandbox,
    child: Child,
    stdout: Option<JoinHandle<Vec<u8>>>,
    stderr: Option<JoinHandle<Vec<u8>>>,
    began: Instant,
}

impl<'a> RunningProcess<'a> {
    pub(crate) fn new(mut invocation: Invocation<'a>) -> Self {
        let mut child =
            invocation.command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("unflake can be started");
        let stdout = child.stdout.take().map(read_in_background);
        let stderr = child.stderr.take().map(read_in_background);
        Self { sandbox: invocation.sandbox, child, stdout, stderr, began: Instant::now() }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).expect("unflake is still running");
    }

    /// Waits until this file of the project exists and is not empty, and returns its content.
    pub fn wait_for(&self, name: &str) -> String {
        let path = self.sandbox.project().join(name);
        loop {
            match fs::read_to_string(&path) {
                Ok(text) if !text.is_empty() => return text,
                _ => assert!(self.began.elapsed() < HANG, "{name} was never written"),
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until a condition is true.
    pub fn wait_until(&self, what: &str, condition: impl Fn() -> bool) {
        while !condition() {
            assert!(self.began.elapsed() < HANG, "never happened: {what}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for its exit, and checks that no process and no directory is left.
    pub fn finish(self) -> RunOutput {
        self.wait(true)
    }

    /// Waits for its exit while another unflake process may still run in the same sandbox, so that
    /// leftovers are unknown.
    pub fn finish_in_parallel(self) -> RunOutput {
        self.wait(false)
    }

    fn wait(mut self, alone: bool) -> RunOutput {
        let status = loop {
            match self.child.try_wait().expect("a child can be waited for") {
                Some(status) => break status,
                None if self.began.elapsed() > HANG => {
                    let _ = self.child.kill();
                    let stderr =
                        self.stderr.take().map(JoinHandle::join).transpose().ok().flatten().unwrap_or_default();
                    panic!("still running after {HANG:?}; stderr:\n{}", String::from_utf8_lossy(&stderr));
                }
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        if alone {
            // First, because a leftover process may hold the pipes open.
            assert_nothing_left(self.sandbox.root());
        }
        let text = |stream: &mut Option<JoinHandle<Vec<u8>>>| {
            let bytes = stream.take().expect("read once").join().expect("reading does not panic");
            String::from_utf8(bytes).expect("unflake writes UTF-8")
        };
        let stdout = text(&mut self.stdout);
        let stderr = text(&mut self.stderr);
        RunOutput::new(self.sandbox, status, stdout, stderr)
    }
}

fn read_in_background(mut stream: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        bytes
    })
}

/// Checks that no process of the sandbox is alive and no directory of a run exists. The system may
/// take a moment to remove what has been killed.
fn assert_nothing_left(root: &Path) {
    let began = Instant::now();
    loop {
        let mut left = processes_in(root);
        left.extend(run_directories_in(&root.join("tmp")));
        if left.is_empty() {
            return;
        }
        assert!(began.elapsed() < HANG, "left behind: {left:#?}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Processes that have the sandbox as working directory or in their environment, which is true for
/// everything that is started in it.
fn processes_in(root: &Path) -> Vec<String> {
    let needle = root.as_os_str().as_encoded_bytes();
    let is_ours = |process: &Path| {
        let cwd = fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(root));
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        cwd || environment.windows(needle.len()).any(|window| window == needle)
    };
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|process| is_ours(process))
        .map(|process| {
            let command = fs::read(process.join("cmdline")).unwrap_or_default();
            format!("{}: {}", process.display(), String::from_utf8_lossy(&command).replace('\0', " "))
        })
        .collect()
}

fn run_directories_in(temporary: &Path) -> Vec<String> {
    let entries = fs::read_dir(temporary).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with("unflake-"))
        .collect()
}
