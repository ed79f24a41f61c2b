//! Stores the traces of many runs for comparison, however long they are.
//!
//! Place ids differ between processes. They are mapped to line numbers that are the same in all
//! runs, and the sequences of line numbers are stored in blocks (`archive_blocks.rs`).

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unflake_model::{LineId, NondeterministicCall, ObservedValue, SourceLine, ThreadTrace, TraceId, Traces};

use crate::trace::archive_blocks::{Blocks, Stream};
use crate::trace::archive_values::{Value, Values, reaches};
use crate::trace::attempt::{Attempt, Process};
use crate::trace::lines::{Lines, Project};
use crate::trace::nondeterminism_calls::{can_mention, named};
use crate::trace::thread::{Thread, Why};
use crate::trace::{Error, Places};

/// Limits for one trace and for all traces. The first divergence matters most, so the first values
/// are kept.
const MOST_VALUES: usize = 100_000;
const MOST_VALUES_OF_ALL: usize = 4_000_000;
const MOST_GAPS: usize = 100;
/// The number of source lines that are searched for nondeterministic calls at one place.
const MENTIONED: u32 = 6;
/// Ids below this are looked up in a table, others in a map.
const DENSE: u32 = 1 << 22;
const NOT_OWN: u32 = u32::MAX;

#[derive(Debug)]
pub struct Archive {
    directory: PathBuf,
    blocks: Blocks,
    traces: Vec<Trace>,
    lines: Numbered<SourceLine>,
    texts: Numbered<Arc<str>>,
    reaches: Vec<NondeterministicCall>,
    reached: HashSet<NondeterministicCall>,
    /// Lines that stand for several source lines, with the one that contains the nondeterministic
    /// call.
    mentioned: HashMap<u32, u32>,
    gaps: Vec<String>,
    values: usize,
    /// The first error of reading the archive's own file, because the `Traces` trait cannot return
    /// errors.
    broken: RefCell<Option<io::Error>>,
}

#[derive(Debug, Default)]
struct Trace {
    strands: Vec<ThreadTrace>,
    streams: Vec<Stream>,
    values: Vec<Vec<Kept>>,
}

/// A value whose texts are given by number.
#[derive(Debug, Clone, Copy)]
struct Kept {
    at: u64,
    line: u32,
    name: u32,
    text: u32,
}

impl Archive {
    /// Creates its file in `directory`; nothing of it outlives the archive.
    pub fn new(directory: impl Into<PathBuf>) -> Result<Archive, Error> {
        let directory = directory.into();
        fs::create_dir_all(&directory).map_err(Error::at(&directory))?;
        Ok(Archive {
            blocks: Blocks::new(&directory)?,
            directory,
            traces: Vec::new(),
            lines: Numbered::default(),
            texts: Numbered::default(),
            reaches: Vec::new(),
            reached: HashSet::new(),
            mentioned: HashMap::new(),
            gaps: Vec::new(),
            values: 0,
            broken: RefCell::new(None),
        })
    }

    /// Adds the trace of an attempt that has been symbolised. Its directory can be deleted
    /// afterwards. The trace gets the next number even after an error, and is then empty.
    pub fn add(&mut self, attempt_directory: &Path, project: &Project) -> Result<TraceId, Error> {
        let id = TraceId(self.traces.len() as u32);
        self.traces.push(Trace::default());
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
    pub fn trouble(&self) -> Option<Error> {
        let broken = self.broken.borrow();
        broken.as_ref().map(|error| Error::new(format!("{}: {error}", self.directory.display())))
    }

    fn add_attempt(&mut self, directory: &Path, project: &Project) -> Result<Trace, Error> {
        let attempt = Attempt::open(directory)?;
        attempt.problems.iter().for_each(|problem| self.gap(problem));
        let first = attempt.threads().map(|(_, thread)| thread.head.started).min().unwrap_or_default();
        let mut trace = Trace::default();
        for process in &attempt.processes {
            process.lost.iter().for_each(|lost| self.gap(lost));
            let places = process.places()?;
            places.notes.iter().for_each(|note| self.gap(note));
            let table = self.table(&places, project);
            self.add_reaches(process, &table);
            for thread in &process.threads {
                let (stream, values, broken) = self.add_thread(thread, &table, &trace)?;
                let mut strand = strand(process, thread, stream.length, first);
                strand.truncated = broken.map(|error| error.to_string()).or(strand.truncated);
                self.values += values.len();
                trace.strands.push(strand);
                trace.streams.push(stream);
                trace.values.push(values);
            }
        }
        Ok(trace)
    }

    /// The lines and values of a thread, and the error that ended reading early.
    fn add_thread(&mut self, thread: &Thread, table: &Table, trace: &Trace) -> Result<Taken, Error> {
        let already: usize = trace.values.iter().map(Vec::len).sum();
        let room = MOST_VALUES.saturating_sub(already).min(MOST_VALUES_OF_ALL.saturating_sub(self.values));
        let mut told = Told { values: Values::open(thread.beside("values")), next: None, gaps: Vec::new() };
        told.read();
        let (mut values, mut broken) = (Vec::new(), None);
        let mut writer = self.blocks.writer();
        let (mut events, mut line, mut places) = (0, NOT_OWN, Vec::new());
        for id in thread.places()? {
            let id = match id {
                Ok(id) => id,
                Err(error) => {
                    broken = Some(error);
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
            while let Some(value) = told.next.take_if(|value| value.at <= events) {
                if let Some(line) = table.get(value.place) {
                    if values.len() == room {
                        told.gaps.push("not all values were kept: there are too many of them".to_owned());
                        break;
                    }
                    let (name, text) = (self.texts.number(value.name), self.texts.number(value.text));
                    values.push(Kept { at: writer.length(), line, name, text });
                }
                told.read();
            }
        }
        let stream = writer.finish().map_err(Error::at(&self.directory))?;
        told.gaps.iter().for_each(|gap| self.gap(gap));
        Ok((stream, values, broken))
    }

    fn add_reaches(&mut self, process: &Process, table: &Table) {
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
    fn table(&mut self, places: &Places, project: &Project) -> Table {
        let lines = Lines::new(places, project);
        let mut ids: Vec<u32> = places.iter().map(|(id, _)| id).collect();
        ids.sort_unstable();
        let mut table = Table::default();
        let known = self.lines.all.len();
        for id in ids {
            if let Some(line) = lines.get(id) {
                let file = line.file.to_string_lossy().into_owned();
                let line = SourceLine { file, line: line.line, function: line.function.to_string() };
                table.put(id, self.lines.number(line));
            }
        }
        self.add_mentions(known, project);
        table
    }

    /// Finds nondeterministic calls in the source text of new lines. A native place covers the
    /// source up to the next known place.
    fn add_mentions(&mut self, known: usize, project: &Project) {
        let mut lines: Vec<(&SourceLine, u32)> = self.lines.all.iter().zip(0..).skip(known).collect();
        lines.sort_unstable();
        let mut texts: (&str, Vec<String>) = ("", Vec::new());
        for (at, (line, number)) in lines.iter().enumerate() {
            if texts.0 != line.file {
                texts = (&line.file, if can_mention(&line.file) { project.text(&line.file) } else { Vec::new() });
            }
            let next = lines[at + 1..].iter().find(|(next, _)| next.file != line.file || next.line > line.line);
            let next = next.filter(|(next, _)| next.file == line.file).map_or(u32::MAX, |(next, _)| next.line);
            let until = next.min(line.line.saturating_add(MENTIONED)) as usize;
            let span = (1..).zip(&texts.1).take(until.saturating_sub(1)).skip(line.line.saturating_sub(1) as usize);
            if let Some((at, cause, word)) = named(span.map(|(at, text)| (at, text.as_str())), &line.file) {
                self.mentioned.insert(*number, at);
                let reach = NondeterministicCall { line: LineId(*number), cause, what: word.to_owned() };
                if self.reached.insert(reach.clone()) {
                    self.reaches.push(reach);
                }
            }
        }
    }

    fn gap(&mut self, words: &str) {
        if self.gaps.len() < MOST_GAPS && !self.gaps.iter().any(|gap| gap == words) {
            self.gaps.push(words.to_owned());
        }
    }

    fn stream(&self, (trace, strand): (TraceId, usize)) -> Option<&Stream> {
        self.traces.get(trace.0 as usize)?.streams.get(strand)
    }

    fn unless_broken<T: Default>(&self, read: io::Result<T>) -> T {
        read.unwrap_or_else(|error| {
            self.broken.borrow_mut().get_or_insert(error);
            T::default()
        })
    }
}

impl Traces for Archive {
    fn strands(&self, trace: TraceId) -> &[ThreadTrace] {
        self.traces.get(trace.0 as usize).map_or(&[], |trace| &trace.strands)
    }

    fn common(&self, one: (TraceId, usize), other: (TraceId, usize)) -> u64 {
        let (Some(one), Some(other)) = (self.stream(one), self.stream(other)) else { return 0 };
        self.unless_broken(self.blocks.common(one, other))
    }

    fn lines(&self, strand: (TraceId, usize), from: u64, most: usize) -> Vec<LineId> {
        let Some(stream) = self.stream(strand) else { return Vec::new() };
        self.unless_broken(self.blocks.read(stream, from, most)).into_iter().map(LineId).collect()
    }

    fn line(&self, id: LineId) -> SourceLine {
        let line = self.lines.all[id.0 as usize].clone();
        let named = self.mentioned.get(&id.0).copied();
        SourceLine { line: named.unwrap_or(line.line), ..line }
    }

    fn values(&self, (trace, strand): (TraceId, usize)) -> Vec<ObservedValue> {
        let kept = self.traces.get(trace.0 as usize).and_then(|trace| trace.values.get(strand));
        let text = |number: u32| self.texts.all[number as usize].clone();
        let seen = |kept: &Kept| ObservedValue {
            at: kept.at,
            line: LineId(kept.line),
            name: text(kept.name),
            text: text(kept.text),
        };
        kept.into_iter().flatten().map(seen).collect()
    }

    fn reaches(&self) -> &[NondeterministicCall] {
        &self.reaches
    }

    fn gaps(&self) -> &[String] {
        &self.gaps
    }
}

type Taken = (Stream, Vec<Kept>, Option<Error>);

/// Reads the values of a thread with one value of lookahead.
struct Told {
    values: Values,
    next: Option<Value>,
    gaps: Vec<String>,
}

impl Told {
    fn read(&mut self) {
        self.next = self.values.next().unwrap_or_else(|error| {
            self.gaps.push(error.to_string());
            None
        });
    }
}

fn strand(process: &Process, thread: &Thread, events: u64, first: u64) -> ThreadTrace {
    let head = &thread.head;
    let cut = head.truncated.as_ref().map(|truncated| match truncated.why {
        Why::ThreadLimit => "the limit of a thread was reached".to_owned(),
        Why::AttemptLimit => "the limit of the whole attempt was reached".to_owned(),
        Why::NoRoom(error) => io::Error::from_raw_os_error(error as i32).to_string(),
        Why::Taken => "somebody else traced from there on".to_owned(),
    });
    // If the whole process dies, the end of each thread is meaningful; if only one thread is left
    // running, it is not.
    let left_behind = !head.ended && process.threads.iter().any(|other| other.head.ended);
    let cut = cut.or_else(|| left_behind.then(|| "it was still running when the rest had ended".to_owned()));
    let name = if head.name.is_empty() { thread.key.clone() } else { head.name.clone() };
    ThreadTrace { key: thread.key.clone(), name, events, began: head.started.saturating_sub(first), truncated: cut }
}

/// Maps the place ids of one process to line numbers.
#[derive(Debug, Default)]
struct Table {
    low: Vec<u32>,
    high: HashMap<u32, u32>,
}

impl Table {
    fn put(&mut self, id: u32, line: u32) {
        if id >= DENSE {
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
