//! Reads and writes the table of places: what the ids in a trace mean.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use crate::trace::Error;
use crate::trace::files::{escape, replace, unescape};

const FIRST_LINE: &str = "unflake-places 1";
/// Limits of the untrusted input.
const MAX_PLACES: usize = 8 << 20;
const MAX_FRAMES: usize = 256;
const MAX_LINE: u64 = 1 << 20;

/// A line of a function. A place has several frames if functions were inlined.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    /// Empty if unknown.
    pub file: Arc<str>,
    /// 0 if unknown.
    pub line: u32,
    pub function: Arc<str>,
}

/// A place in the code: its frames from the outermost to the innermost.
pub type CallPath = Arc<[Frame]>;

/// The meaning of the ids in the thread files of one process.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Places {
    places: HashMap<u64, CallPath>,
    /// What is unknown about these places.
    pub notes: Vec<String>,
}

impl Places {
    pub fn get(&self, id: u32) -> Option<&CallPath> {
        self.at(id.into())
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &CallPath)> {
        self.places.iter().filter_map(|(id, place)| Some((u32::try_from(*id).ok()?, place)))
    }

    pub fn insert(&mut self, id: u32, place: CallPath) {
        self.put(id.into(), place);
    }

    pub(crate) fn at(&self, key: u64) -> Option<&CallPath> {
        self.places.get(&key)
    }

    pub(crate) fn put(&mut self, key: u64, place: CallPath) {
        self.places.insert(key, place);
    }

    /// Reads a table line by line.
    pub fn read(path: &Path) -> Result<Places, Error> {
        let file = File::open(path).map_err(Error::at(path))?;
        let wrong = |line: usize, words: &str| Error::new(format!("{}, line {line}: {words}", path.display()));
        let mut reader = BufReader::new(file);
        let mut places = Places::default();
        let mut texts = InternedTexts::default();
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let length = reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(Error::at(path))?;
            if number > 1 && line.first() == Some(&0) {
                break; // Unwritten space: the process did not end normally.
            }
            // The table of a killed process ends in zeros, possibly in the middle of a line.
            if number > 1 && line.contains(&0) {
                break;
            }
            if length as u64 == MAX_LINE {
                return Err(wrong(number, "longer than a line may be"));
            }
            if length == 0 && number > 1 {
                break;
            }
            let text = std::str::from_utf8(&line).map_err(|_| wrong(number, "not text"))?.trim_end_matches('\n');
            if number == 1 {
                if text != FIRST_LINE {
                    return Err(wrong(number, "not a table of places in a version that is known here"));
                }
                continue;
            }
            let (id, rest) = text.split_once('\t').ok_or_else(|| wrong(number, "neither a place nor a note"))?;
            if id == "note" {
                places.notes.push(unescape(rest));
                continue;
            }
            let id = id.parse().map_err(|_| wrong(number, "does not begin with a number"))?;
            let fields: Vec<&str> = rest.split('\t').collect();
            if !fields.len().is_multiple_of(3) || fields.len() > 3 * MAX_FRAMES {
                return Err(wrong(number, "a place is made of files, lines and functions"));
            }
            let frames = fields.chunks_exact(3).map(|frame| {
                let line = frame[1].parse().map_err(|_| wrong(number, "a line is a number"))?;
                Ok(Frame { file: texts.get(&unescape(frame[0])), line, function: texts.get(&unescape(frame[2])) })
            });
            places.places.insert(id, frames.collect::<Result<_, Error>>()?);
            if places.places.len() > MAX_PLACES {
                return Err(wrong(number, "more places than there can be"));
            }
        }
        Ok(places)
    }

    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let mut text = format!("{FIRST_LINE}\n");
        let mut ids: Vec<_> = self.places.keys().collect();
        ids.sort();
        for id in ids {
            text.push_str(&id.to_string());
            if self.places[id].is_empty() {
                text.push_str("\t\t0\t");
            }
            for frame in self.places[id].iter() {
                text.push('\t');
                escape(&frame.file, &mut text);
                text.push_str(&format!("\t{}\t", frame.line));
                escape(&frame.function, &mut text);
            }
            text.push('\n');
        }
        for note in &self.notes {
            text.push_str("note\t");
            escape(note, &mut text);
            text.push('\n');
        }
        replace(path, text.as_bytes())
    }
}

/// Interned texts.
#[derive(Debug, Default)]
pub(crate) struct InternedTexts(HashSet<Arc<str>>);

impl InternedTexts {
    pub(crate) fn get(&mut self, text: &str) -> Arc<str> {
        if let Some(there) = self.0.get(text) {
            return there.clone();
        }
        let text: Arc<str> = text.into();
        self.0.insert(text.clone());
        text
    }
}
