//! Stores the traces of many runs for comparison, however long they are.
//!
//! CallPath ids differ between processes. They are mapped to line numbers that are the same in all
//! runs, and the sequences of line numbers are stored in blocks (`archive_blocks.rs`).

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unflake_model::{LineId, NondeterministicCall, ObservedValue, SourceLine, ThreadTrace, TraceId, Traces};

use crate::trace::archive_blocks::{BlockStream, Blocks};
use crate::trace::archive_values::{TracedValue, ValuesFile, reaches};
use crate::trace::attempt::{Process, TracedAttempt};
use crate::trace::lines::{Lines, Project};
use crate::trace::nondeterminism_calls::CallTable;
use crate::trace::thread::{RecordedThread, TruncationReason};
use crate::trace::{Error, Places};

/// Limits for one trace and for all traces. The first divergence matters most, so the first values
/// are kept.
const MAX_VALUES: usize = 100_000;
const MAX_TOTAL_VALUES: usize = 4_000_000;
const MAX_GAPS: usize = 100;
/// The number of source lines that are searched for nondeterministic calls at one place.
const MAX_SEARCHED_LINES: u32 = 6;
/// Ids below this are looked up in a table, others in a map.
const TABLE_IDS: u32 = 1 << 22;
const NOT_OWN: u32 = u32::MAX;

#[derive(Debug)]
pub struct TraceArchive {
    directory: PathBuf,
    blocks: Blocks,
    traces: Vec<ArchivedTrace>,
    lines: Numbered<SourceLine>,
    texts: Numbered<Arc<str>>,
    reaches: Vec<NondeterministicCall>,
    reached: HashSet<NondeterministicCall>,
    /// Lines that stand for several source lines, with the one that contains the nondeterministic
    /// call.
    call_lines: HashMap<u32, u32>,
    gaps: Vec<String>,
    values: usize,
    /// The first error of reading the archive's own file, because the `Traces` trait cannot return
    /// errors.
    error: RefCell<Option<io::Error>>,
}

#[derive(Debug, Default)]
struct ArchivedTrace {
    threads: Vec<ThreadTrace>,
    streams: Vec<BlockStream>,
    values: Vec<Vec<StoredValue>>,
}

/// A value whose texts are given by number.
#[derive(Debug, Clone, Copy)]
struct StoredValue {
    at: u64,
    line: u32,
    name: u32,
    text: u32,
}

impl TraceArchive {
    /// Creates its file in `directory`; nothing of it outlives the archive.
    pub fn new(directory: impl Into<PathBuf>) -> Result<TraceArchive, Error> {
        let directory = directory.into();
        fs::create_dir_all(&directory).map_err(Error::at(&directory))?;
        Ok(TraceArchive {
            blocks: Blocks::new(&directory)?,
            directory,
            traces: Vec::new(),
            lines: Numbered::default(),
            texts: Numbered::default(),
            reaches: Vec::new(),
            reached: HashSet::new(),
            call_lines: HashMap::new(),
            gaps: Vec::new(),
            values: 0,
            error: RefCell::new(None),
        })
    }

    /// Adds the trace of an attempt that has been symbolised. Its directory can be deleted
    /// afterwards. The trace gets the next number even after an error, and is then empty.
    pub fn add(&mut self, attempt_directory: &Path, project: &Project) -> Result<TraceId, Error> {
        let id = TraceId(self.traces.len() as u32);
        self.traces.push(ArchivedTrace::default());
        match self.add_attempt(attempt_directory, project) {
            Ok(trace) => self.traces[id.0 as usize] = trace,
            Err(error) => {
                self.gap(&format!("run {} left no trace that can be read: {error}", id.0 + 1));
                return Err(error);
            }
        }
        Ok(id)
    }

    /// Why results may be wrong: the archive's own file could not be read.
    pub fn error(&self) -> Option<Error> {
        let error = self.error.borrow();
        error.as_ref().map(|error| Error::new(format!("{}: {error}", self.directory.display())))
    }

    fn add_attempt(&mut self, directory: &Path, project: &Project) -> Result<ArchivedTrace, Error> {
        let attempt = TracedAttempt::open(directory)?;
        attempt.problems.iter().for_each(|problem| self.gap(problem));
        let first = attempt.threads().map(|(_, thread)| thread.head.started).min().unwrap_or_default();
        let mut trace = ArchivedTrace::default();
        for process in &attempt.processes {
            process.lost.iter().for_each(|lost| self.gap(lost));
            let places = process.places()?;
            places.notes.iter().for_each(|note| self.gap(note));
            let table = self.table(&places, project);
            self.add_reaches(process, &table);
            for thread in &process.threads {
                let (stream, values, error) = self.add_thread(thread, &table, &trace)?;
                let mut thread_trace = thread_trace(process, thread, stream.length, first);
                thread_trace.truncated = error.map(|error| error.to_string()).or(thread_trace.truncated);
                self.values += values.len();
                trace.threads.push(thread_trace);
                trace.streams.push(stream);
                trace.values.push(values);
            }
        }
        Ok(trace)
    }

    /// The lines and values of a thread, and the error that ended reading early.
    fn add_thread(
        &mut self,
        thread: &RecordedThread,
        table: &LineNumbers,
        trace: &ArchivedTrace,
    ) -> Result<ThreadContent, Error> {
        let used: usize = trace.values.iter().map(Vec::len).sum();
        let free = MAX_VALUES.saturating_sub(used).min(MAX_TOTAL_VALUES.saturating_sub(self.values));
        let mut reader =
            ValueReader { values: ValuesFile::open(thread.beside("values")), next: None, gaps: Vec::new() };
        reader.read();
        let (mut values, mut end) = (Vec::new(), None);
        let mut writer = self.blocks.writer();
        let (mut events, mut line, mut places) = (0, NOT_OWN, Vec::new());
        for id in thread.places()? {
            let id = match id {
                Ok(id) => id,
                Err(error) => {
                    end = Some(error);
                    break;
                }
            };
            events += 1;
            if let Some(own) = table.get(id) {
                // Several places of one line count as one step until one of them repeats: then a
                // loop has returned to the line.
                if own != line || places.contains(&id) {
                    line = own;
                    places.clear();
                    writer.push(line).map_err(Error::at(&self.directory))?;
                }
                places.push(id);
            }
            while let Some(value) = reader.next.take_if(|value| value.at <= events) {
                if let Some(line) = table.get(value.place) {
                    if values.len() == free {
                        reader.gaps.push("too many values: some were not kept".to_owned());
                        break;
                    }
                    let (name, text) = (self.texts.number(value.name), self.texts.number(value.text));
                    values.push(StoredValue { at: writer.length(), line, name, text });
                }
                reader.read();
            }
        }
        let stream = writer.finish().map_err(Error::at(&self.directory))?;
        reader.gaps.iter().for_each(|gap| self.gap(gap));
        Ok((stream, values, end))
    }

    fn add_reaches(&mut self, process: &Process, table: &LineNumbers) {
        match reaches(&process.directory) {
            Err(error) => self.gap(&error.to_string()),
            Ok(all) => {
                for (place, cause, what) in all {
                    let Some(line) = table.get(place) else { continue };
                    let reach = NondeterministicCall { line: LineId(line), cause, what };
                    if self.reached.insert(reach.clone()) {
                        self.reaches.push(reach);
                    }
                }
            }
        }
    }

    /// Maps place ids to line numbers.
    fn table(&mut self, places: &Places, project: &Project) -> LineNumbers {
        let lines = Lines::new(places, project);
        let mut ids: Vec<u32> = places.iter().map(|(id, _)| id).collect();
        ids.sort_unstable();
        let mut table = LineNumbers::default();
        let known = self.lines.all.len();
        for id in ids {
            if let Some(line) = lines.get(id) {
                let file = line.file.to_string_lossy().into_owned();
                let line = SourceLine { file, line: line.line, function: line.function.to_string() };
                table.put(id, self.lines.number(line));
            }
        }
        self.add_named_calls(known, project);
        table
    }

    /// Finds nondeterministic calls in the source text of new lines. A native place covers the
    /// source up to the next known place.
    fn add_named_calls(&mut self, known: usize, project: &Project) {
        let mut lines: Vec<(&SourceLine, u32)> = self.lines.all.iter().zip(0..).skip(known).collect();
        lines.sort_unstable();
        let mut texts: (&str, Vec<String>) = ("", Vec::new());
        for (at, (line, number)) in lines.iter().enumerate() {
            let Some(table) = CallTable::of(&project.calls, &line.file) else { continue };
            if texts.0 != line.file {
                texts = (&line.file, project.text(&line.file));
            }
            let next = lines[at + 1..].iter().find(|(next, _)| next.file != line.file || next.line > line.line);
            let next = next.filter(|(next, _)| next.file == line.file).map_or(u32::MAX, |(next, _)| next.line);
            let until = next.min(line.line.saturating_add(MAX_SEARCHED_LINES)) as usize;
            let span = (1..).zip(&texts.1).take(until.saturating_sub(1)).skip(line.line.saturating_sub(1) as usize);
            if let Some((at, cause, word)) = table.first(span.map(|(at, text)| (at, text.as_str()))) {
                self.call_lines.insert(*number, at);
                let reach = NondeterministicCall { line: LineId(*number), cause, what: word.to_owned() };
                if self.reached.insert(reach.clone()) {
                    self.reaches.push(reach);
                }
            }
        }
    }

    fn gap(&mut self, text: &str) {
        if self.gaps.len() < MAX_GAPS && !self.gaps.iter().any(|gap| gap == text) {
            self.gaps.push(text.to_owned());
        }
    }

    fn stream(&self, (trace, thread): (TraceId, usize)) -> Option<&BlockStream> {
        self.traces.get(trace.0 as usize)?.streams.get(thread)
    }

    fn unless_broken<T: Default>(&self, read: io::Result<T>) -> T {
        read.unwrap_or_else(|error| {
            self.error.borrow_mut().get_or_insert(error);
            T::default()
        })
    }
}

impl Traces for TraceArchive {
    fn strands(&self, trace: TraceId) -> &[ThreadTrace] {
        self.traces.get(trace.0 as usize).map_or(&[], |trace| &trace.threads)
    }

    fn common(&self, one: (TraceId, usize), other: (TraceId, usize)) -> u64 {
        let (Some(one), Some(other)) = (self.stream(one), self.stream(other)) else { return 0 };
        self.unless_broken(self.blocks.common(one, other))
    }

    fn lines(&self, thread: (TraceId, usize), from: u64, most: usize) -> Vec<LineId> {
        let Some(stream) = self.stream(thread) else { return Vec::new() };
        self.unless_broken(self.blocks.read(stream, from, most)).into_iter().map(LineId).collect()
    }

    fn line(&self, id: LineId) -> SourceLine {
        let line = self.lines.all[id.0 as usize].clone();
        let named = self.call_lines.get(&id.0).copied();
        SourceLine { line: named.unwrap_or(line.line), ..line }
    }

    fn values(&self, (trace, thread): (TraceId, usize)) -> Vec<ObservedValue> {
        let stored = self.traces.get(trace.0 as usize).and_then(|trace| trace.values.get(thread));
        let text = |number: u32| self.texts.all[number as usize].clone();
        let observed = |stored: &StoredValue| ObservedValue {
            at: stored.at,
            line: LineId(stored.line),
            name: text(stored.name),
            text: text(stored.text),
        };
        stored.into_iter().flatten().map(observed).collect()
    }

    fn reaches(&self) -> &[NondeterministicCall] {
        &self.reaches
    }

    fn gaps(&self) -> &[String] {
        &self.gaps
    }
}

type ThreadContent = (BlockStream, Vec<StoredValue>, Option<Error>);

/// Reads the values of a thread with one value of lookahead.
struct ValueReader {
    values: ValuesFile,
    next: Option<TracedValue>,
    gaps: Vec<String>,
}

impl ValueReader {
    fn read(&mut self) {
        self.next = self.values.next().unwrap_or_else(|error| {
            self.gaps.push(error.to_string());
            None
        });
    }
}

fn thread_trace(process: &Process, thread: &RecordedThread, events: u64, first: u64) -> ThreadTrace {
    let head = &thread.head;
    let truncated = head.truncated.as_ref().map(|truncated| match truncated.why {
        TruncationReason::ThreadLimit => "the limit of a thread was reached".to_owned(),
        TruncationReason::AttemptLimit => "the limit of the whole attempt was reached".to_owned(),
        TruncationReason::NoRoom(error) => io::Error::from_raw_os_error(error as i32).to_string(),
        TruncationReason::Taken => "another tracer took over".to_owned(),
    });
    // If the whole process dies, the end of each thread is meaningful; if only one thread is left
    // running, it is not.
    let left_behind = !head.ended && process.threads.iter().any(|other| other.head.ended);
    let truncated = truncated.or_else(|| left_behind.then(|| "it was still running at the end".to_owned()));
    let name = if head.name.is_empty() { thread.key.clone() } else { head.name.clone() };
    ThreadTrace { key: thread.key.clone(), name, events, began: head.started.saturating_sub(first), truncated }
}

/// Maps the place ids of one process to line numbers.
#[derive(Debug, Default)]
struct LineNumbers {
    low: Vec<u32>,
    high: HashMap<u32, u32>,
}

impl LineNumbers {
    fn put(&mut self, id: u32, line: u32) {
        if id >= TABLE_IDS {
            self.high.insert(id, line);
            return;
        }
        if self.low.len() <= id as usize {
            self.low.resize(id as usize + 1, NOT_OWN);
        }
        self.low[id as usize] = line;
    }

    fn get(&self, id: u32) -> Option<u32> {
        let line = self.low.get(id as usize).or_else(|| self.high.get(&id));
        line.copied().filter(|line| *line != NOT_OWN)
    }
}

/// Interns values in order of appearance.
#[derive(Debug)]
struct Numbered<T> {
    numbers: HashMap<T, u32>,
    all: Vec<T>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Numbered { numbers: HashMap::new(), all: Vec::new() }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Numbered<T> {
    fn number<Q: Into<T>>(&mut self, thing: Q) -> u32 {
        let thing = thing.into();
        if let Some(number) = self.numbers.get(&thing) {
            return *number;
        }
        let number = self.all.len() as u32;
        self.all.push(thing.clone());
        self.numbers.insert(thing, number);
        number
    }
}
