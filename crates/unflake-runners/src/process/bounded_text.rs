//! Text of unknown length, of which the beginning and the end are kept.

use std::collections::VecDeque;

pub(crate) use unflake_formats::lossless;

pub(crate) struct BoundedText {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    missing: u64,
}

impl BoundedText {
    pub(crate) fn new(limit: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), half: (limit / 2).max(1), missing: 0 }
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..over);
        self.missing += over as u64;
    }

    pub(crate) fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.missing == 0 {
            return lossless(&[self.head.as_slice(), &tail].concat());
        }
        format!("{}\n… {} bytes left out …\n{}", lossless(&self.head), self.missing, lossless(&tail))
    }
}

/// Keeps the beginning and the end of a text.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    let mut capture = BoundedText::new(limit);
    capture.add(text.as_bytes());
    capture.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        assert_eq!(shortened("abcdefgh", 8), "abcdefgh");
        assert_eq!(shortened("abcdefghij", 4), "ab\n… 6 bytes left out …\nij");
    }
}
