//! Reads the files `values-N` and `reaches` of a tracer. The input is untrusted.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use unflake_model::Cause;

use crate::trace::Error;
use crate::trace::files::unescape;

const LONGEST_LINE: u64 = 64 << 10;
/// Texts and names are cut to this number of characters.
const LONGEST_TEXT: usize = 300;
const MOST_REACHES: usize = 100_000;

/// One line of `values-N`.
#[derive(Debug)]
pub(crate) struct Value {
    /// The number of events before it.
    pub(crate) at: u64,
    pub(crate) place: u32,
    pub(crate) name: String,
    pub(crate) text: String,
}

/// The tab-separated lines of a file, which may be missing.
struct Fields {
    path: PathBuf,
    reader: Option<BufReader<File>>,
    number: usize,
}

impl Fields {
    fn open(path: PathBuf) -> Fields {
        // A tracer writes only regular files, no links or pipes.
        let regular = path.symlink_metadata().is_ok_and(|found| found.is_file());
        let reader = if regular { File::open(&path).ok().map(BufReader::new) } else { None };
        Fields { path, reader, number: 0 }
    }

    fn next(&mut self) -> Result<Option<Vec<String>>, Error> {
        let Some(reader) = &mut self.reader else { return Ok(None) };
        let mut line = Vec::new();
        let length = reader.take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(Error::at(&self.path))?;
        self.number += 1;
        // Zeros are unwritten space: the process did not end normally.
        if line.first() == Some(&0) {
            self.reader = None;
            return Ok(None);
        }
        let is_whole = line.last() == Some(&b'\n');
        if length as u64 == LONGEST_LINE && !is_whole && !line.contains(&0) {
            return Err(self.wrong("longer than a line may be"));
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

    fn wrong(&self, words: &str) -> Error {
        Error::new(format!("{}, line {}: {words}", self.path.display(), self.number))
    }
}

/// Iterates over the values of one thread.
pub(crate) struct Values(Fields);

impl Values {
    pub(crate) fn open(path: PathBuf) -> Values {
        Values(Fields::open(path))
    }

    pub(crate) fn next(&mut self) -> Result<Option<Value>, Error> {
        let Some(fields) = self.0.next()? else { return Ok(None) };
        let [at, place, name, text] = &fields[..] else {
            return Err(self.0.wrong("a value is a position, a place, a name and a text"));
        };
        let (Ok(at), Ok(place)) = (at.parse(), place.parse()) else {
            return Err(self.0.wrong("positions and places are numbers"));
        };
        Ok(Some(Value { at, place, name: bounded(name), text: bounded(text) }))
    }
}

/// The file `reaches` of a process: place, cause, name.
pub(crate) fn reaches(directory: &Path) -> Result<Vec<(u32, Cause, String)>, Error> {
    let mut fields = Fields::open(directory.join("reaches"));
    let mut reaches = Vec::new();
    while let Some(line) = fields.next()? {
        let [place, cause, what] = &line[..] else {
            return Err(fields.wrong("a place, a cause and a name belong here"));
        };
        let place = place.parse().map_err(|_| fields.wrong("does not begin with a number"))?;
        let cause = Cause::from_word(cause).ok_or_else(|| fields.wrong("names a cause that is not known here"))?;
        if reaches.len() == MOST_REACHES {
            return Err(fields.wrong("more than there can be"));
        }
        reaches.push((place, cause, bounded(what)));
    }
    Ok(reaches)
}

fn bounded(text: &str) -> String {
    text.chars().take(LONGEST_TEXT).collect()
}
