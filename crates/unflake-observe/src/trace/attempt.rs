//! Reads the directory of a traced attempt: its processes and threads.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::trace::Error;
use crate::trace::files::{read_bounded, unescape};
use crate::trace::places::Places;
use crate::trace::thread::RecordedThread;

const FIRST_LINE: &str = "unflake-trace 1";
const MAX_DESCRIPTION: u64 = 4 << 20;
/// Limits of the untrusted input.
const MAX_PROCESSES: usize = 10_000;
const MAX_THREADS: usize = 100_000;

/// All processes of one attempt, in the order of their start.
#[derive(Debug, Clone)]
pub struct TracedAttempt {
    pub processes: Vec<Process>,
    /// What could not be read.
    pub problems: Vec<String>,
    /// A process accessed files that it could not record.
    pub(crate) unwritten: bool,
}

/// One process of an attempt.
#[derive(Debug, Clone)]
pub struct Process {
    /// Identifies the process across runs: empty for the first process, else derived from how it
    /// was started.
    pub key: String,
    pub pid: u32,
    pub executable: PathBuf,
    pub threads: Vec<RecordedThread>,
    /// Why threads of it have no file.
    pub lost: Vec<String>,
    pub(crate) directory: PathBuf,
    pub(crate) name: String,
    pub(crate) modules: Vec<Module>,
    pub(crate) accesses: Accesses,
    parent: u32,
    started: u64,
    forked: Option<Forked>,
}

/// A program or library whose places have ids.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Module {
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) kind: IdKind,
    pub(crate) version: FileVersion,
    pub(crate) path: PathBuf,
    /// The process directory with the table of addresses: that of a fork, or of its parent.
    pub(crate) part: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum IdKind {
    /// A table beside the thread files contains the address of each id.
    Guards,
    /// An id is the distance from this address, and points behind the instruction.
    Addresses(u64),
}

/// Identifies the version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileVersion {
    pub(crate) size: u64,
    pub(crate) seconds: u64,
    pub(crate) nanoseconds: u64,
}

/// Whether the file accesses of a process are recorded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Accesses {
    No,
    Yes,
    /// Calls of this function are not intercepted.
    Without(String),
}

#[derive(Debug, Clone)]
struct Forked {
    part: String,
    way: String,
    ordinal: u32,
    first_own: u32,
}

impl TracedAttempt {
    /// Reads an attempt. An unreadable process or thread is a problem and not an error: the others
    /// are still usable.
    pub fn open(directory: &Path) -> Result<TracedAttempt, Error> {
        let shared = read_bounded(&directory.join("budget"), 4096).unwrap_or_default();
        let unwritten = shared.get(8..16).is_some_and(|word| word != [0; 8]);
        let mut attempt = TracedAttempt { processes: Vec::new(), problems: Vec::new(), unwritten };
        let mut threads = 0;
        for entry in entries(directory)? {
            if !entry.join("process").is_file() {
                continue;
            }
            if attempt.processes.len() == MAX_PROCESSES {
                attempt.problems.push(format!("only {MAX_PROCESSES} processes of this attempt were read"));
                break;
            }
            match Process::open(&entry) {
                Ok(process) => attempt.processes.push(process),
                Err(error) => attempt.problems.push(error.to_string()),
            }
        }
        attempt.processes.sort_by(|one, other| (one.started, &one.name).cmp(&(other.started, &other.name)));
        for process in &mut attempt.processes {
            for path in entries(&process.directory)? {
                let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                let regular = path.symlink_metadata().is_ok_and(|found| found.is_file());
                if !regular || name.strip_prefix("thread-").is_none_or(|number| number.parse::<u32>().is_err()) {
                    continue;
                }
                if threads == MAX_THREADS {
                    process.lost.push(format!("only {MAX_THREADS} threads of this attempt were read"));
                    break;
                }
                threads += 1;
                match RecordedThread::open(path) {
                    Ok(thread) => process.threads.push(thread),
                    Err(error) => process.lost.push(error.to_string()),
                }
            }
        }
        attempt.inherit();
        attempt.name();
        Ok(attempt)
    }

    /// All threads of all processes, each with its process.
    pub fn threads(&self) -> impl Iterator<Item = (&Process, &RecordedThread)> {
        self.processes.iter().flat_map(|process| process.threads.iter().map(move |thread| (process, thread)))
    }

    /// In a fork, ids from before the fork have the meaning of the parent.
    fn inherit(&mut self) {
        let mut modules: HashMap<String, Vec<Module>> = HashMap::new();
        for process in &mut self.processes {
            if let Some(forked) = &process.forked {
                let before = modules.get(&forked.part).into_iter().flatten();
                process.modules.extend(before.filter(|module| module.first < forked.first_own).cloned());
                process.modules.sort_by_key(|module| module.first);
            }
            modules.insert(process.name.clone(), process.modules.clone());
        }
    }

    /// Assigns keys to processes and threads that are stable across runs.
    fn name(&mut self) {
        let mut times: HashMap<String, u32> = HashMap::new();
        for at in 0..self.processes.len() {
            let (before, rest) = self.processes.split_at_mut(at);
            let process = &mut rest[0];
            let file = process.executable.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let forked_from = process.forked.as_ref().map(|forked| {
                let original = before.iter().find(|other| other.name == forked.part);
                let original = original.map_or("?", |original| &original.key);
                format!("{original}/fork {} {}", forked.way, forked.ordinal)
            });
            let became = || before.iter().rev().find(|other| other.pid == process.pid);
            let started_by = || before.iter().rev().find(|other| other.pid == process.parent);
            let key = match forked_from {
                Some(key) => key,
                None if before.is_empty() => String::new(),
                None => match (became(), started_by()) {
                    (Some(other), _) => format!("{}/became {file}", other.key),
                    (None, Some(other)) => format!("{}/started {file}", other.key),
                    (None, None) => format!("/started {file}"),
                },
            };
            let time = times.entry(key.clone()).or_default();
            process.key = if *time == 0 { key } else { format!("{key} {time}") };
            *time += 1;

            process.threads.sort_by_key(|thread| (thread.head.started, thread.head.number));
            let mut times: HashMap<String, u32> = HashMap::new();
            for thread in &mut process.threads {
                let way = thread.way().unwrap_or_else(|| format!("?{}", thread.head.name));
                let time = times.entry(way.clone()).or_default();
                let way = if *time == 0 { way } else { format!("{way} {time}") };
                *time += 1;
                thread.key = if process.key.is_empty() { way } else { format!("{}: {way}", process.key) };
            }
        }
    }
}

impl Process {
    /// The meaning of the ids of its threads. The table exists after symbolisation.
    pub fn places(&self) -> Result<Places, Error> {
        Places::read(&self.directory.join("places"))
    }

    fn open(directory: &Path) -> Result<Process, Error> {
        let path = directory.join("process");
        let text = String::from_utf8_lossy(&read_bounded(&path, MAX_DESCRIPTION)?).into_owned();
        let wrong = |line: &str| Error::new(format!("{}: not understood: {line:?}", path.display()));
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        if first != FIRST_LINE {
            return Err(wrong(first));
        }
        let mut process = Process {
            key: String::new(),
            pid: 0,
            executable: PathBuf::new(),
            threads: Vec::new(),
            lost: Vec::new(),
            directory: directory.to_owned(),
            name: directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            modules: Vec::new(),
            accesses: Accesses::No,
            parent: 0,
            started: 0,
            forked: None,
        };
        for line in lines {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let mut understood = true;
            match word {
                "pid" => understood = put(rest, &mut process.pid),
                "parent" => understood = put(rest, &mut process.parent),
                "started" => understood = put(rest, &mut process.started),
                "executable" => process.executable = unescape(rest).into(),
                "files" => {
                    let without = rest.strip_prefix("unseen ");
                    process.accesses = without.map_or(Accesses::Yes, |name| Accesses::Without(name.to_owned()));
                }
                "lost" => process.lost.push(lost(rest)),
                "forked" => {
                    process.forked = forked(rest);
                    understood = process.forked.is_some();
                }
                "module" => {
                    let module = module(rest, directory);
                    understood = module.is_some();
                    process.modules.extend(module);
                }
                _ => {} // A later release may have more to say.
            }
            if !understood {
                return Err(wrong(line));
            }
        }
        process.modules.sort_by_key(|module| module.first);
        Ok(process)
    }
}

fn put<T: std::str::FromStr>(text: &str, into: &mut T) -> bool {
    text.parse().map(|value| *into = value).is_ok()
}

fn forked(text: &str) -> Option<Forked> {
    let mut fields = text.split(' ');
    let (part, _number, way) = (fields.next()?.to_owned(), fields.next()?, fields.next()?.to_owned());
    Some(Forked { part, way, ordinal: fields.next()?.parse().ok()?, first_own: fields.next()?.parse().ok()? })
}

fn module(text: &str, part: &Path) -> Option<Module> {
    let mut fields = text.splitn(8, ' ');
    let (first, count): (u32, u32) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    first.checked_add(count)?;
    let (kind, from) = (fields.next()?, fields.next()?.parse().ok()?);
    let kind = match kind {
        "guards" => IdKind::Guards,
        "addresses" => IdKind::Addresses(from),
        _ => return None,
    };
    let mut number = || fields.next()?.parse().ok();
    let version = FileVersion { size: number()?, seconds: number()?, nanoseconds: number()? };
    Some(Module { first, count, kind, version, path: unescape(fields.next()?).into(), part: part.to_owned() })
}

fn lost(text: &str) -> String {
    match text.split_once(' ').unwrap_or((text, "0")) {
        ("attempt-limit", _) => "threads were not kept: the limit of the whole attempt was reached".to_owned(),
        ("no-room", error) => {
            let error = std::io::Error::from_raw_os_error(error.parse().unwrap_or_default());
            format!("threads were not kept: {error}")
        }
        ("too-many-modules", _) => "too many loaded libraries: some were skipped".to_owned(),
        _ => format!("something was not kept: {text}"),
    }
}

/// The paths in a directory, sorted by name.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(directory).map_err(Error::at(directory))?;
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}
