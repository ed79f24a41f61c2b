//! What a runner prints, captured with bounded memory.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use std::{io, thread};

const HEAD: usize = 64 << 10;
const TAIL: usize = 64 << 10;
/// The reader sleeps after smaller reads; the pipe buffers more than this.
const SMALL_READ: usize = 4 << 10;

/// The first and the last bytes written to a pipe. A thread reads the pipe until every writer has
/// closed it.
#[derive(Clone, Default)]
pub(crate) struct RunnerOutput(Arc<Mutex<HeadAndTail>>);

#[derive(Default)]
struct HeadAndTail {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    omitted: u64,
    closed: bool,
}

impl RunnerOutput {
    /// The write end of a pipe, and the output that arrives through it.
    pub(crate) fn pipe() -> io::Result<(OwnedFd, Self)> {
        let (read, write) = io::pipe()?;
        let output = Self::default();
        let to = output.clone();
        thread::spawn(move || {
            let mut read = File::from(OwnedFd::from(read));
            let mut chunk = [0; 16 << 10];
            while let Ok(count @ 1..) = read.read(&mut chunk) {
                to.lock().add(&chunk[..count]);
                // A runner that prints a dot per test would otherwise pay for waking this thread
                // once per test.
                if count < SMALL_READ {
                    thread::sleep(Duration::from_millis(5));
                }
            }
            to.lock().closed = true;
        });
        Ok((OwnedFd::from(write), output))
    }

    /// The text once the pipe is closed, or after 100 ms. For a runner that has just exited.
    pub(crate) fn text_at_exit(&self) -> String {
        for _ in 0..50 {
            if self.lock().closed {
                break;
            }
            thread::sleep(Duration::from_millis(2));
        }
        self.text()
    }

    pub(crate) fn text(&self) -> String {
        let captured = self.lock();
        let mut text = String::from_utf8_lossy(&captured.head).into_owned();
        if captured.omitted > 0 {
            text.push_str(&format!("\n… {} bytes left out …\n", captured.omitted));
        }
        text.push_str(&String::from_utf8_lossy(&captured.tail.iter().copied().collect::<Vec<_>>()));
        text
    }

    fn lock(&self) -> MutexGuard<'_, HeadAndTail> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl HeadAndTail {
    fn add(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..over);
        self.omitted += over as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_of_long_output_are_kept() {
        let mut captured = HeadAndTail::default();
        captured.add(b"first");
        for _ in 0..100 {
            captured.add(&[b'x'; 10_000]);
        }
        captured.add(b"last");
        assert!(captured.head.starts_with(b"firstx"));
        assert_eq!(captured.head.len() + captured.tail.len() + captured.omitted as usize, 1_000_009);
        assert_eq!(captured.tail.iter().rev().take(4).rev().copied().collect::<Vec<_>>(), b"last");
    }
}
