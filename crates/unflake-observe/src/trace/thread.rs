use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use crate::trace::Error;
use crate::trace::format::{ATTEMPT_LIMIT, HEAD, MAGIC, NO_ROOM, STEPS, TAKEN, THREAD_LIMIT, UNKNOWN, VERSION, WHOLE};

/// More than any limit allows. A file that claims more is not followed to its end.
const MOST_EVENTS: u64 = 1 << 32;

/// How a thread came to be: what its file's head says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Head {
    /// Number in its process, from 1; differs from run to run.
    pub number: u32,
    /// Number of the thread that started it; 0: nobody known.
    pub parent: u32,
    /// The way to it: at each step from the first thread the ordinal among the children of the thread before. Empty for
    /// the first thread, `None` for one that was started behind the runtime's back.
    pub way: Option<Vec<u32>>,
    /// What the system calls it.
    pub system: u32,
    /// Monotonic clock, nanoseconds.
    pub started: u64,
    pub name: String,
    /// It came to its end by itself: neither it nor its process was cut short.
    pub ended: bool,
    pub truncated: Option<Truncated>,
}

/// Where a trace ends before the thread does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truncated {
    pub why: Why,
    /// How many events happened after it.
    pub dropped: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    ThreadLimit,
    AttemptLimit,
    /// The file could not grow; the system's error number.
    NoRoom(u32),
    /// Somebody else took the events: a debugger, or the test itself.
    Taken,
}

/// One thread of an attempt.
#[derive(Debug, Clone)]
pub struct Thread {
    /// The same for the same thread in another run of the same program: its process and the way to it.
    pub key: String,
    pub head: Head,
    path: PathBuf,
}

impl Thread {
    pub(crate) fn open(path: PathBuf) -> Result<Thread, Error> {
        let mut head = [0; HEAD];
        File::open(&path).and_then(|mut file| file.read_exact(&mut head)).map_err(Error::at(&path))?;
        let head = parse(&head).map_err(|words| Error::new(format!("{}: {words}", path.display())))?;
        Ok(Thread { key: String::new(), head, path })
    }

    /// The ids of the places it went through, in order. Reads the file as it goes.
    pub fn places(&self) -> Result<PlaceIds, Error> {
        let mut file = File::open(&self.path).map_err(Error::at(&self.path))?;
        let mut head = [0; HEAD];
        file.read_exact(&mut head).map_err(Error::at(&self.path))?;
        let (path, buffer) = (self.path.clone(), vec![0; 1 << 16]);
        Ok(PlaceIds { file, path, buffer, at: 0, filled: 0, read: 0, done: false })
    }

    /// The file of the same number that has this in place of `thread`.
    pub(crate) fn beside(&self, word: &str) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        self.path.with_file_name(name.replacen("thread", word, 1))
    }

    /// The last step of the way, as people would name the thread: its name, or how it was started.
    pub(crate) fn way(&self) -> Option<String> {
        let way = self.head.way.as_ref()?;
        Some(way.iter().fold("main".to_owned(), |way, step| format!("{way}.{step}")))
    }
}

/// The places of one thread, as they are read.
#[derive(Debug)]
pub struct PlaceIds {
    file: File,
    path: PathBuf,
    buffer: Vec<u8>,
    /// What of the buffer is still to be given out.
    at: usize,
    filled: usize,
    read: u64,
    done: bool,
}

impl PlaceIds {
    fn fail(&mut self, words: &str) -> Option<Result<u32, Error>> {
        self.done = true;
        Some(Err(Error::new(format!("{}: {words}", self.path.display()))))
    }

    /// Reads on, and keeps what is there of a number that is not whole yet.
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
                // Zeros are what nothing was written to: the rest of the last piece, or a slot that a signal handler
                // jumped away from.
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
            if self.read > MOST_EVENTS * 4 {
                return self.fail("longer than any limit allows");
            }
        }
        None
    }
}

/// Writes a thread's file, for tracers that are written in Rust and for tests.
pub fn write_thread(path: &Path, head: &Head, places: impl IntoIterator<Item = u32>) -> Result<(), Error> {
    let file = File::create_new(path).map_err(Error::at(path))?;
    let mut file = std::io::BufWriter::new(file);
    let write = || {
        file.write_all(&bytes(head))?;
        places.into_iter().try_for_each(|id| file.write_all(&id.to_le_bytes()))?;
        file.flush()
    };
    write().map_err(Error::at(path))
}

// The head by its bytes, in the order of `format::Head`: it is read from a file and not from memory.

fn parse(head: &[u8; HEAD]) -> Result<Head, String> {
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
        THREAD_LIMIT => Some(Why::ThreadLimit),
        ATTEMPT_LIMIT => Some(Why::AttemptLimit),
        NO_ROOM => Some(Why::NoRoom(errno)),
        TAKEN => Some(Why::Taken),
        other => return Err(format!("truncated for a reason that has no name: {other}")),
    };
    Ok(Head {
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

fn bytes(head: &Head) -> Vec<u8> {
    let (why, errno) = match head.truncated.as_ref().map(|truncated| truncated.why) {
        None => (WHOLE, 0),
        Some(Why::ThreadLimit) => (THREAD_LIMIT, 0),
        Some(Why::AttemptLimit) => (ATTEMPT_LIMIT, 0),
        Some(Why::NoRoom(errno)) => (NO_ROOM, errno),
        Some(Why::Taken) => (TAKEN, 0),
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
        name.pop(); // By letters, so that none is cut in two.
    }
    bytes.extend(name.as_bytes());
    bytes.resize(HEAD, 0);
    bytes
}
