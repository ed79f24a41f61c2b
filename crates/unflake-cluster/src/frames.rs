//! A stream of messages in a file that one machine appends to and another reads while it grows.
//!
//! A frame is a line of JSON, followed by the contents of the files that it announces. The end of a
//! file may be an incomplete frame: its writer has died, or is about to go on.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A message and the files that come with it, by relative path.
#[derive(Debug, PartialEq)]
pub(crate) struct StreamFrame<T> {
    pub(crate) message: T,
    pub(crate) files: Vec<SentFile>,
}

pub(crate) type SentFile = (PathBuf, Vec<u8>);

#[derive(Serialize, Deserialize)]
struct FrameHead<T> {
    message: T,
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    files: Vec<(PathBuf, u64)>,
}

/// Appends frames. What is appended is visible to others after `flush`.
pub(crate) struct FrameWriter {
    path: PathBuf,
    pending: Vec<u8>,
}

impl FrameWriter {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), pending: Vec::new() }
    }

    pub(crate) fn append(&mut self, message: &impl Serialize, files: Vec<SentFile>) -> io::Result<()> {
        let sizes = files.iter().map(|(path, bytes)| (path.clone(), bytes.len() as u64)).collect();
        serde_json::to_writer(&mut self.pending, &FrameHead { message, files: sizes })?;
        self.pending.push(b'\n');
        files.iter().for_each(|(_, bytes)| self.pending.extend(bytes));
        Ok(())
    }

    /// A file with one message.
    pub(crate) fn bytes(message: &impl Serialize) -> io::Result<Vec<u8>> {
        let mut writer = Self::new(Path::new(""));
        writer.append(message, Vec::new())?;
        Ok(writer.pending)
    }

    /// The file is closed again: only then do network file systems show it to other machines.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        OpenOptions::new().create(true).append(true).open(&self.path)?.write_all(&self.pending)?;
        self.pending.clear();
        Ok(())
    }
}

/// Reads the frames that have been appended since the last time.
pub(crate) struct FrameReader<T> {
    path: PathBuf,
    offset: u64,
    unread: Vec<u8>,
    message: PhantomData<T>,
}

impl<T: DeserializeOwned> FrameReader<T> {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), offset: 0, unread: Vec::new(), message: PhantomData }
    }

    /// Empty as long as there is no file. An error: the file cannot be read, or is damaged.
    pub(crate) fn read(&mut self) -> io::Result<Vec<StreamFrame<T>>> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        file.seek(SeekFrom::Start(self.offset))?;
        self.offset += file.read_to_end(&mut self.unread)? as u64;
        let mut frames = Vec::new();
        let mut used = 0;
        while let Some((frame, length)) = first_frame(&self.unread[used..])? {
            frames.push(frame);
            used += length;
        }
        self.unread.drain(..used);
        Ok(frames)
    }
}

/// The first frame and its length. None: it is not complete.
fn first_frame<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<Option<(StreamFrame<T>, usize)>> {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
    let head: FrameHead<T> = serde_json::from_slice(&bytes[..end])?;
    let mut at = end + 1;
    let mut files = Vec::new();
    for (path, size) in head.files {
        let Some(content) = usize::try_from(size).ok().and_then(|size| bytes.get(at..at.checked_add(size)?)) else {
            return Ok(None);
        };
        at += content.len();
        files.push((path, content.to_vec()));
    }
    Ok(Some((StreamFrame { message: head.message, files }, at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_arrive_once_and_whole() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("events");
        let mut reader = FrameReader::<String>::new(&path);
        assert_eq!(reader.read().unwrap(), []);
        let mut writer = FrameWriter::new(&path);
        writer.append(&"one", vec![("a/b".into(), b"x\ny".to_vec()), ("c".into(), Vec::new())]).unwrap();
        writer.append(&"two", Vec::new()).unwrap();
        assert_eq!(reader.read().unwrap(), [], "nothing was flushed");
        writer.flush().unwrap();
        let frames = reader.read().unwrap();
        assert_eq!(frames[0].files, [("a/b".into(), b"x\ny".to_vec()), ("c".into(), Vec::new())]);
        assert_eq!((frames[0].message.as_str(), frames[1].message.as_str()), ("one", "two"));
        assert_eq!(reader.read().unwrap(), []);
    }

    #[test]
    fn a_frame_that_is_cut_anywhere_is_read_when_the_rest_arrives() {
        let place = tempfile::tempdir().unwrap();
        let whole = {
            let mut writer = FrameWriter::new(&place.path().join("whole"));
            writer.append(&"text", vec![("f".into(), b"123\n".to_vec())]).unwrap();
            writer.pending
        };
        for cut in 0..whole.len() {
            let path = place.path().join(cut.to_string());
            let mut reader = FrameReader::<String>::new(&path);
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert_eq!(reader.read().unwrap(), [], "{cut}");
            std::fs::write(&path, &whole).unwrap();
            assert_eq!(reader.read().unwrap().len(), 1, "{cut}");
        }
    }

    #[test]
    fn a_damaged_line_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("events");
        std::fs::write(&path, b"\0\0\0\n").unwrap();
        assert!(FrameReader::<String>::new(&path).read().is_err());
    }
}
