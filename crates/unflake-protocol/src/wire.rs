use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A longer line is not read into memory: it is skipped to its end and told as [`LineError::TooLong`].
pub const MAX_LINE: usize = 4 << 20;

/// A message as the bytes that go over the wire, the final newline included.
pub fn to_line<T: Serialize>(message: &T) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).expect("messages have string keys and no failing serialisers");
    line.push(b'\n');
    line
}

/// What came over the wire.
#[derive(Debug)]
pub enum Line<T> {
    Message(T),
    /// A line that is no message. The lines after it can still be read.
    Bad(LineError),
    /// The other side has closed the connection.
    End,
}

#[derive(Debug, PartialEq, Eq)]
pub enum LineError {
    TooLong,
    /// What is wrong with it, and how it begins.
    Unreadable {
        why: String,
        begins: String,
    },
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "a message longer than {} MiB", MAX_LINE >> 20),
            Self::Unreadable { why, begins } => write!(f, "not a message of the protocol ({why}): {begins}"),
        }
    }
}

/// Reads messages line by line, never holding more than [`MAX_LINE`] bytes.
pub struct LineReader<R> {
    from: BufReader<R>,
    line: Vec<u8>,
}

impl<R: Read> LineReader<R> {
    pub fn new(from: R) -> Self {
        Self { from: BufReader::with_capacity(64 << 10, from), line: Vec::new() }
    }

    /// Whether everything that has come was read, so that the next read asks the other side.
    pub fn is_drained(&self) -> bool {
        self.from.buffer().is_empty()
    }

    /// Waits for the next message. A last line without newline counts as cut off, not as a message.
    pub fn read<T: DeserializeOwned>(&mut self) -> io::Result<Line<T>> {
        self.line.clear();
        let mut too_long = false;
        loop {
            let available = match self.from.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(Line::End),
                Err(error) => return Err(error),
            };
            if available.is_empty() {
                return Ok(Line::End);
            }
            let (taken, ended) = match available.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (available.len(), false),
            };
            if self.line.len() + taken > MAX_LINE {
                too_long = true;
                self.line.clear();
            }
            if !too_long {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.from.consume(taken);
            if !ended {
                continue;
            }
            if too_long {
                return Ok(Line::Bad(LineError::TooLong));
            }
            return Ok(match serde_json::from_slice(&self.line) {
                Ok(message) => Line::Message(message),
                Err(error) => Line::Bad(LineError::Unreadable {
                    why: error.to_string(),
                    begins: String::from_utf8_lossy(&self.line).trim_end().chars().take(120).collect(),
                }),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Event, Order};

    fn read_all(bytes: &[u8]) -> Vec<Line<Event>> {
        let mut reader = LineReader::new(bytes);
        let mut lines = Vec::new();
        loop {
            match reader.read().unwrap() {
                Line::End => return lines,
                line => lines.push(line),
            }
        }
    }

    #[test]
    fn a_bad_line_does_not_hide_the_next() {
        let lines = read_all(b"{\"event\":\"nonsense\"}\n{\"event\":\"idle\"}\n");
        assert!(matches!(lines[..], [Line::Bad(LineError::Unreadable { .. }), Line::Message(Event::Idle)]));
    }

    #[test]
    fn a_line_over_the_limit_is_skipped_to_its_end() {
        let mut bytes = vec![b'x'; MAX_LINE + 10];
        bytes.extend_from_slice(b"\n{\"event\":\"bye\"}\n");
        assert!(matches!(read_all(&bytes)[..], [Line::Bad(LineError::TooLong), Line::Message(Event::Bye)]));
    }

    #[test]
    fn a_line_cut_off_by_a_death_is_not_a_message() {
        assert!(read_all(b"{\"event\":\"idle\"}").is_empty());
    }

    #[test]
    fn fields_of_a_later_minor_version_are_ignored() {
        let lines = read_all(b"{\"event\":\"start\",\"n\":3,\"run\":0,\"colour\":\"blue\"}\n");
        assert!(matches!(lines[..], [Line::Message(Event::Start { n: 3, run: 0, .. })]));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            read_all(&bytes);
        }

        #[test]
        fn orders_survive_the_wire(tests in prop::collection::vec(any::<u32>(), 0..50), again in 0u32..9) {
            let order = Order::Run { tests, again, jobs: 1, limit: None, hold: false, probe: None, depends: false, apart: false, in_process: false };
            let line = to_line(&order);
            prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            match LineReader::new(&line[..]).read().unwrap() {
                Line::Message(back) => prop_assert_eq!(order, back),
                other => panic!("{other:?}"),
            }
        }
    }
}
