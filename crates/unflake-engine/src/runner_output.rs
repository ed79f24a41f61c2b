//! What a runner prints itself, kept in bounds.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use std::{io, thread};

const HEAD: usize = 64 << 10;
const TAIL: usize = 64 << 10;
/// Less than this at a time is not worth being woken for. The pipe has room for more.
const TRICKLE: usize = 4 << 10;

/// The first and the last of what came through a pipe, which is read for as long as anybody can write to it.
#[derive(Clone, Default)]
pub(crate) struct Output(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    missing: u64,
    ended: bool,
}

impl Output {
    /// A pipe's end to write to, and what comes out of it.
    pub(crate) fn pipe() -> io::Result<(OwnedFd, Self)> {
        let (read, write) = io::pipe()?;
        let output = Self::default();
        let to = output.clone();
        thread::spawn(move || {
            let mut read = File::from(OwnedFd::from(read));
            let mut chunk = [0; 16 << 10];
            while let Ok(count @ 1..) = read.read(&mut chunk) {
                to.kept().add(&chunk[..count]);
                // A dot for each test would wake this thread for each test, at the cost of the runner.
                if count < TRICKLE {
                    thread::sleep(Duration::from_millis(5));
                }
            }
            to.kept().ended = true;
        });
        Ok((OwnedFd::from(write), output))
    }

    /// The text once nothing more comes, or after a moment. For a runner that has just ended.
    pub(crate) fn settled_text(&self) -> String {
        for _ in 0..50 {
            if self.kept().ended {
                break;
            }
            thread::sleep(Duration::from_millis(2));
        }
        self.text()
    }

    pub(crate) fn text(&self) -> String {
        let kept = self.kept();
        let mut text = String::from_utf8_lossy(&kept.head).into_owned();
        if kept.missing > 0 {
            text.push_str(&format!("\n… {} bytes left out …\n", kept.missing));
        }
        text.push_str(&String::from_utf8_lossy(&kept.tail.iter().copied().collect::<Vec<_>>()));
        text
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Kept {
    fn add(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..over);
        self.missing += over as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_end_of_a_flood_are_kept() {
        let mut kept = Kept::default();
        kept.add(b"first");
        for _ in 0..100 {
            kept.add(&[b'x'; 10_000]);
        }
        kept.add(b"last");
        assert!(kept.head.starts_with(b"firstx"));
        assert_eq!(kept.head.len() + kept.tail.len() + kept.missing as usize, 1_000_009);
        assert_eq!(kept.tail.iter().rev().take(4).rev().copied().collect::<Vec<_>>(), b"last");
    }
}
