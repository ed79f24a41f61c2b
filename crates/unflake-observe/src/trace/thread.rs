//! Reads and writes the trace file of one thread.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use crate::trace::Error;
use crate::trace::format::{ATTEMPT_LIMIT, HEAD, MAGIC, NO_ROOM, STEPS, TAKEN, THREAD_LIMIT, UNKNOWN, VERSION, WHOLE};

/// Above every configurable limit. A file that claims more is not read to its end.
const MAX_EVENTS: u64 = 1 << 32;

/// The header of a thread file: identity and end of the thread.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ThreadHeader {
    /// Number in its process, starting at 1; differs between runs.
    pub number: u32,
    /// Number of the parent thread; 0 if unknown.
    pub parent: u32,
    /// For each step from the first thread, the ordinal among the children of the previous thread.
    /// Empty for the first thread, `None` for one that was started without the knowledge of the
    /// runtime.
    pub way: Option<Vec<u32>>,
    /// The thread id of the system.
    pub system: u32,
    /// Monotonic clock, nanoseconds.
    pub started: u64,
    pub name: String,
    /// Whether the thread ended normally.
    pub ended: bool,
    pub truncated: Option<Truncated>,
}

/// Where a trace ends before the thread does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truncated {
    pub why: TruncationReason,
    /// The number of later events.
    pub dropped: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TruncationReason {
    ThreadLimit,
    AttemptLimit,
    /// The file could not grow; the error number of the system.
    NoRoom(u32),
    /// A debugger or the test itself replaced the event handler.
    Taken,
}

/// One thread of an attempt.
#[derive(Debug, Clone)]
pub struct RecordedThread {
    /// Identifies the thread across runs of the same program: its process and the way to it.
    pub key: String,
    pub head: ThreadHeader,
    path: PathBuf,
}

impl RecordedThread {
    pub(crate) fn open(path: PathBuf) -> Result<RecordedThread, Error> {
        let mut head = [0; HEAD];
        File::open(&path).and_then(|mut file| file.read_exact(&mut head)).map_err(Error::at(&path))?;
        let head = parse(&head).map_err(|reason| Error::new(format!("{}: {reason}", path.display())))?;
        Ok(RecordedThread { key: String::new(), head, path })
    }

    /// The place ids of the thread, in order. Reads the file lazily.
    pub fn places(&self) -> Result<PlaceIds, Error> {
        let mut file = File::open(&self.path).map_err(Error::at(&self.path))?;
        let mut head = [0; HEAD];
        file.read_exact(&mut head).map_err(Error::at(&self.path))?;
        let (path, buffer) = (self.path.clone(), vec![0; 1 << 16]);
        Ok(PlaceIds { file, path, buffer, at: 0, filled: 0, read: 0, done: false })
    }

    /// The file with the same number that has this prefix instead of `thread`.
    pub(crate) fn beside(&self, word: &str) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        self.path.with_file_name(name.replacen("thread", word, 1))
    }

    /// The last step of the way as a name: the name of the thread, or how it was started.
    pub(crate) fn way(&self) -> Option<String> {
        let way = self.head.way.as_ref()?;
        Some(way.iter().fold("main".to_owned(), |way, step| format!("{way}.{step}")))
    }
}

/// Iterates over the place ids of one thread.
#[derive(Debug)]
pub struct PlaceIds {
    file: File,
    path: PathBuf,
    buffer: Vec<u8>,
    /// The position in the buffer.
    at: usize,
    filled: usize,
    read: u64,
    done: bool,
}

impl PlaceIds {
    fn fail(&mut self, reason: &str) -> Option<Result<u32, Error>> {
        self.done = true;
        Some(Err(Error::new(format!("{}: {reason}", self.path.display()))))
    }

    /// Reads more, and keeps the bytes of an incomplete number.
    fn fill(&mut self) -> std::io::Result<usize> {
        self.buffer.copy_within(self.at..self.filled, 0);
        self.filled -= self.at;
        self.at = 0;
        loop {
            match self.file.read(&mut self.buffer[self.filled..]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                other => return other.inspect(|more| self.filled += more),
            }
        }
    }
}

impl Iterator for PlaceIds {
    type Item = Result<u32, Error>;

    fn next(&mut self) -> Option<Result<u32, Error>> {
        while !self.done {
            if let Some(id) = self.buffer[self.at..self.filled].first_chunk() {
                self.at += 4;
                // Zeros are unwritten space: the rest of the last chunk, or a slot that a signal
                // handler left.
                match u32::from_le_bytes(*id) {
                    0 => continue,
                    id => return Some(Ok(id)),
                }
            }
            match self.fill() {
                Ok(0) if self.filled == 0 => self.done = true,
                Ok(0) => return self.fail("ends in the middle of a number"),
                Ok(more) => self.read += more as u64,
                Err(error) => return self.fail(&error.to_string()),
            }
            if self.read > MAX_EVENTS * 4 {
                return self.fail("longer than any limit allows");
            }
        }
        None
    }
}

/// Writes a thread file, for tracers in Rust and for tests.
pub fn write_thread(path: &Path, head: &ThreadHeader, places: impl IntoIterator<Item = u32>) -> Result<(), Error> {
    let file = File::create_new(path).map_err(Error::at(path))?;
    let mut file = std::io::BufWriter::new(file);
    let write = || {
        file.write_all(&bytes(head))?;
        places.into_iter().try_for_each(|id| file.write_all(&id.to_le_bytes()))?;
        file.flush()
    };
    write().map_err(Error::at(path))
}

// Parses the header byte by byte, in the order of `format::Head`: a file has no alignment.

fn parse(head: &[u8; HEAD]) -> Result<ThreadHeader, String> {
    if head[..8] != MAGIC {
        let young = head.iter().all(|byte| *byte == 0);
        return Err(if young { "its process ended before anything was written" } else { "not the trace of a thread" }
            .to_owned());
    }
    let mut rest = &head[8..];
    let [version, stream, number, parent, depth, system] = [0; 6].map(|_: u32| u32::from_le_bytes(take(&mut rest)));
    if version != VERSION {
        return Err(format!("written in version {version} of the format, and this is version {VERSION}"));
    }
    if stream as usize != HEAD {
        return Err(format!("begins at byte {stream} and not at {HEAD}"));
    }
    let [started, dropped] = [0; 2].map(|_: u32| u64::from_le_bytes(take(&mut rest)));
    let [ended, truncated, errno, _] = [0; 4].map(|_: u32| u32::from_le_bytes(take(&mut rest)));
    let steps: [u32; STEPS] = [0; STEPS].map(|_: u32| u32::from_le_bytes(take(&mut rest)));
    let name: [u8; 64] = take(&mut rest);
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let why = match truncated {
        WHOLE => None,
        THREAD_LIMIT => Some(TruncationReason::ThreadLimit),
        ATTEMPT_LIMIT => Some(TruncationReason::AttemptLimit),
        NO_ROOM => Some(TruncationReason::NoRoom(errno)),
        TAKEN => Some(TruncationReason::Taken),
        other => return Err(format!("truncated for a reason that has no name: {other}")),
    };
    Ok(ThreadHeader {
        number,
        parent,
        way: (depth != UNKNOWN).then(|| steps[..(depth as usize).min(STEPS)].to_vec()),
        system,
        started,
        name: String::from_utf8_lossy(name).into_owned(),
        ended: ended == 1,
        truncated: why.map(|why| Truncated { why, dropped }),
    })
}

fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (first, others) = rest.split_first_chunk().expect("the head is as long as all its fields");
    *rest = others;
    *first
}

fn bytes(head: &ThreadHeader) -> Vec<u8> {
    let (why, errno) = match head.truncated.as_ref().map(|truncated| truncated.why) {
        None => (WHOLE, 0),
        Some(TruncationReason::ThreadLimit) => (THREAD_LIMIT, 0),
        Some(TruncationReason::AttemptLimit) => (ATTEMPT_LIMIT, 0),
        Some(TruncationReason::NoRoom(errno)) => (NO_ROOM, errno),
        Some(TruncationReason::Taken) => (TAKEN, 0),
    };
    let way = head.way.clone().unwrap_or_default();
    let depth = if head.way.is_some() { way.len() as u32 } else { UNKNOWN };
    let dropped = head.truncated.as_ref().map_or(0, |truncated| truncated.dropped);
    let mut bytes = MAGIC.to_vec();
    let numbers = |bytes: &mut Vec<u8>, numbers: &[u32]| numbers.iter().for_each(|one| bytes.extend(one.to_le_bytes()));
    numbers(&mut bytes, &[VERSION, HEAD as u32, head.number, head.parent, depth, head.system]);
    bytes.extend(head.started.to_le_bytes());
    bytes.extend(dropped.to_le_bytes());
    numbers(&mut bytes, &[head.ended.into(), why, errno, 0]);
    for at in 0..STEPS {
        numbers(&mut bytes, &[way.get(at).copied().unwrap_or(0)]);
    }
    let mut name = head.name.clone();
    while name.len() > 63 {
        name.pop(); // By characters, so that none is cut in two.
    }
    bytes.extend(name.as_bytes());
    bytes.resize(HEAD, 0);
    bytes
}
