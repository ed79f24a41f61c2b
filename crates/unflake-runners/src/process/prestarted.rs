//! A process that is started before it is known what it is to do, because starting takes long: it waits for one line.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use crate::process::child;
use crate::process::spec::{EnvChanges, ProcessSpec};

/// Such a process, to be used once, and what it is to be told then.
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
    /// Who has started it, and alone can wait for its end.
    owner: u32,
}

impl Prestarted {
    /// Tells it what to do. None: it is not there any more, or was somebody else's.
    pub(crate) fn begin(&self) -> Option<(Child, OwnedFd, OwnedFd)> {
        let mut place = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        if place.as_ref()?.owner != std::process::id() {
            return None;
        }
        let WaitingProcess { mut child, mut stdin, stdout, stderr, .. } = place.take()?;
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

    /// Hands on what it prints until `take` has heard enough. After that it must be silent until it is told what to do.
    pub(crate) fn hear(&mut self, mut take: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
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

    /// Ends it, and says what it has printed for people.
    pub(crate) fn end(mut self) -> String {
        child::end_group(&self.child);
        let mut said = Vec::new();
        let _ = self.stderr.read_to_end(&mut said);
        let _ = self.child.wait();
        String::from_utf8_lossy(&said).into_owned()
    }
}
