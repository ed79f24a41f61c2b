//! Reads untrusted files, and writes files that others may read at the same time.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::trace::Error;

/// Replaces a file atomically.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<(), Error> {
    static TIMES: AtomicU32 = AtomicU32::new(0);
    let time = TIMES.fetch_add(1, Ordering::Relaxed);
    let new = path.with_extension(format!("new-{}-{time}", std::process::id()));
    fs::write(&new, content).map_err(Error::at(&new))?;
    fs::rename(&new, path).map_err(|error| {
        let _ = fs::remove_file(&new);
        Error::at(path)(error)
    })
}

/// Reads a whole file, unless it exceeds the limit.
pub(crate) fn read_bounded(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let file = fs::File::open(path).map_err(Error::at(path))?;
    let mut content = Vec::new();
    file.take(most + 1).read_to_end(&mut content).map_err(Error::at(path))?;
    if content.len() as u64 > most {
        return Err(Error::new(format!("{}: longer than {most} bytes", path.display())));
    }
    Ok(content)
}

/// Reverses the escaping of a path or name by the runtime and `escape`.
pub(crate) fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => plain.push('\n'),
                Some('t') => plain.push('\t'),
                Some('r') => plain.push('\r'),
                Some(other) => plain.push(other),
                None => {}
            },
            letter => plain.push(letter),
        }
    }
    plain
}

/// The same for paths, which need not be UTF-8.
pub(crate) fn unescape_bytes(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => match bytes.next() {
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'r') => b'\r',
                Some(other) => *other,
                None => break,
            },
            byte => *byte,
        });
    }
    plain
}

pub(crate) fn escape(text: &str, into: &mut String) {
    for letter in text.chars() {
        match letter {
            '\n' => into.push_str("\\n"),
            '\t' => into.push_str("\\t"),
            '\r' => into.push_str("\\r"),
            '\\' => into.push_str("\\\\"),
            letter => into.push(letter),
        }
    }
}
