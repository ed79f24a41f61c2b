//! A process that starts before its task is known, because starting takes long. It waits for one
//! line.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use crate::process::child;
use crate::process::spec::{EnvChanges, ProcessSpec};

/// Such a process, used at most once, and the line to send to it.
#[derive(Clone)]
pub(crate) struct Prestarted {
    pub(crate) process: Arc<Mutex<Option<WaitingProcess>>>,
    pub(crate) line: String,
}

pub(crate) struct WaitingProcess {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: ChildStderr,
    /// The process that started it, which alone can wait for its end.
    owner: u32,
}

impl Prestarted {
    /// Sends the line. None: the process is gone, or another process started it.
    pub(crate) fn begin(&self) -> Option<(Child, OwnedFd, OwnedFd)> {
        let mut slot = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.as_ref()?.owner != std::process::id() {
            return None;
        }
        let WaitingProcess { mut child, mut stdin, stdout, stderr, .. } = slot.take()?;
        if child.try_wait().ok()?.is_some() || writeln!(stdin, "{}", self.line).is_err() {
            child::end_group(&child);
            let _ = child.wait();
            return None;
        }
        Some((child, stdout.into(), stderr.into()))
    }
}

impl WaitingProcess {
    pub(crate) fn start(start: &ProcessSpec, env_changes: &EnvChanges) -> io::Result<Self> {
        let mut command = child::command(start, env_changes)?;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("it has no pipes"));
        };
        Ok(Self { child, stdin, stdout, stderr, owner: std::process::id() })
    }

    /// Passes on lines of output until `take` returns true. The process must print nothing more
    /// until it gets its line.
    pub(crate) fn read_until(&mut self, mut take: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
        let mut line = Vec::new();
        let mut chunk = [0; 16 << 10];
        loop {
            let count = self.stdout.read(&mut chunk)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            for piece in chunk[..count].split_inclusive(|byte| *byte == b'\n') {
                line.extend_from_slice(piece);
                if line.ends_with(b"\n") {
                    if take(&line[..line.len() - 1]) {
                        return Ok(());
                    }
                    line.clear();
                }
            }
        }
    }

    /// Ends it and returns what it printed to standard error.
    pub(crate) fn end(mut self) -> String {
        child::end_group(&self.child);
        let mut stderr = Vec::new();
        let _ = self.stderr.read_to_end(&mut stderr);
        let _ = self.child.wait();
        String::from_utf8_lossy(&stderr).into_owned()
    }
}
