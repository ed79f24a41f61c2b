//! Messages as lines of JSON: one object per line, bounded in length.

use std::io::{self, BufRead, BufReader, Read};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A longer line is not read into memory: the reader skips it and returns [`LineError::TooLong`].
pub const MAX_LINE: usize = 4 << 20;

/// A message as bytes on the wire, including the final newline.
pub fn to_line<T: Serialize>(message: &T) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).expect("messages have string keys and no failing serialisers");
    line.push(b'\n');
    line
}

/// One read from the wire.
#[derive(Debug)]
pub enum Line<T> {
    Message(T),
    /// A line that is not a message. The lines after it can still be read.
    Bad(LineError),
    /// The other side closed the connection.
    End,
}

/// Why a line is not a message.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    #[error("a message longer than {} MiB", MAX_LINE >> 20)]
    TooLong,
    #[error("not a message of the protocol ({why}): {begins}")]
    Unreadable { why: String, begins: String },
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

    /// Whether the buffer is empty, so that the next read waits for the other side.
    pub fn is_drained(&self) -> bool {
        self.from.buffer().is_empty()
    }

    /// Waits for the next message. A last line without a newline is truncated and not a message.
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
    use crate::{AgentMessage, Order, RunOrder};

    fn read_all(bytes: &[u8]) -> Vec<Line<AgentMessage>> {
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
        assert!(matches!(lines[..], [Line::Bad(LineError::Unreadable { .. }), Line::Message(AgentMessage::Idle)]));
    }

    #[test]
    fn an_overlong_line_is_skipped() {
        let mut bytes = vec![b'x'; MAX_LINE + 10];
        bytes.extend_from_slice(b"\n{\"event\":\"bye\"}\n");
        assert!(matches!(read_all(&bytes)[..], [Line::Bad(LineError::TooLong), Line::Message(AgentMessage::Bye)]));
    }

    #[test]
    fn a_truncated_last_line_is_not_a_message() {
        assert!(read_all(b"{\"event\":\"idle\"}").is_empty());
    }

    #[test]
    fn unknown_fields_are_ignored() {
        let lines = read_all(b"{\"event\":\"start\",\"n\":3,\"run\":0,\"colour\":\"blue\"}\n");
        assert!(matches!(lines[..], [Line::Message(AgentMessage::Start { n: 3, run: 0, .. })]));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            read_all(&bytes);
        }

        #[test]
        fn orders_round_trip(tests in prop::collection::vec(any::<u32>(), 0..50), again in 0u32..9) {
            let order = Order::Run(RunOrder { again, ..RunOrder::new(tests) });
            let line = to_line(&order);
            prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            match LineReader::new(&line[..]).read().unwrap() {
                Line::Message(back) => prop_assert_eq!(order, back),
                other => panic!("{other:?}"),
            }
        }
    }
}
