//! Reads the files `values-N` and `reaches` of a tracer. The input is untrusted.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use unflake_model::Cause;

use crate::trace::Error;
use crate::trace::files::unescape;

const MAX_LINE: u64 = 64 << 10;
/// Texts and names are cut to this number of characters.
const MAX_TEXT: usize = 300;
const MAX_REACHES: usize = 100_000;

/// One line of `values-N`.
#[derive(Debug)]
pub(crate) struct TracedValue {
    /// The number of events before it.
    pub(crate) at: u64,
    pub(crate) place: u32,
    pub(crate) name: String,
    pub(crate) text: String,
}

/// The tab-separated lines of a file, which may be missing.
struct FieldReader {
    path: PathBuf,
    reader: Option<BufReader<File>>,
    number: usize,
}

impl FieldReader {
    fn open(path: PathBuf) -> FieldReader {
        // A tracer writes only regular files, no links or pipes.
        let regular = path.symlink_metadata().is_ok_and(|found| found.is_file());
        let reader = if regular { File::open(&path).ok().map(BufReader::new) } else { None };
        FieldReader { path, reader, number: 0 }
    }

    fn next(&mut self) -> Result<Option<Vec<String>>, Error> {
        let Some(reader) = &mut self.reader else { return Ok(None) };
        let mut line = Vec::new();
        let length = reader.take(MAX_LINE).read_until(b'\n', &mut line).map_err(Error::at(&self.path))?;
        self.number += 1;
        // Zeros are unwritten space: the process did not end normally.
        if line.first() == Some(&0) {
            self.reader = None;
            return Ok(None);
        }
        let is_whole = line.last() == Some(&b'\n');
        if length as u64 == MAX_LINE && !is_whole && !line.contains(&0) {
            return Err(self.error("longer than a line may be"));
        }
        // The file of a killed process ends in zeros, possibly in the middle of a line.
        if !is_whole || line.contains(&0) {
            self.reader = None;
            return Ok(None);
        }
        line.pop();
        let text = String::from_utf8_lossy(&line);
        Ok(Some(text.split('\t').map(unescape).collect()))
    }

    fn error(&self, reason: &str) -> Error {
        Error::new(format!("{}, line {}: {reason}", self.path.display(), self.number))
    }
}

/// Iterates over the values of one thread.
pub(crate) struct ValuesFile(FieldReader);

impl ValuesFile {
    pub(crate) fn open(path: PathBuf) -> ValuesFile {
        ValuesFile(FieldReader::open(path))
    }

    pub(crate) fn next(&mut self) -> Result<Option<TracedValue>, Error> {
        let Some(fields) = self.0.next()? else { return Ok(None) };
        let [at, place, name, text] = &fields[..] else {
            return Err(self.0.error("a value is a position, a place, a name and a text"));
        };
        let (Ok(at), Ok(place)) = (at.parse(), place.parse()) else {
            return Err(self.0.error("positions and places are numbers"));
        };
        Ok(Some(TracedValue { at, place, name: bounded(name), text: bounded(text) }))
    }
}

/// The file `reaches` of a process: place, cause, name.
pub(crate) fn reaches(directory: &Path) -> Result<Vec<(u32, Cause, String)>, Error> {
    let mut fields = FieldReader::open(directory.join("reaches"));
    let mut reaches = Vec::new();
    while let Some(line) = fields.next()? {
        let [place, cause, what] = &line[..] else {
            return Err(fields.error("a place, a cause and a name belong here"));
        };
        let place = place.parse().map_err(|_| fields.error("does not begin with a number"))?;
        let cause = Cause::from_word(cause).ok_or_else(|| fields.error("names a cause that is not known here"))?;
        if reaches.len() == MAX_REACHES {
            return Err(fields.error("more than there can be"));
        }
        reaches.push((place, cause, bounded(what)));
    }
    Ok(reaches)
}

fn bounded(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}
