//! Text in a buffer of fixed size, because the runtime must not allocate.

use crate::format::STEPS;

pub struct TextBuffer<const SIZE: usize = 3072> {
    bytes: [u8; SIZE],
    length: usize,
}

impl<const SIZE: usize> TextBuffer<SIZE> {
    pub const fn new() -> TextBuffer<SIZE> {
        TextBuffer { bytes: [0; SIZE], length: 0 }
    }

    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether something did not fit.
    pub fn is_full(&self) -> bool {
        self.length + 1 >= SIZE
    }

    pub fn is_complete(&self) -> bool {
        !self.is_full()
    }

    pub fn truncate(&mut self, length: usize) {
        self.length = length.min(self.length);
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The text with a NUL, as system calls expect paths.
    pub fn with_nul(&mut self) -> &[u8] {
        self.bytes[self.length] = 0;
        &self.bytes[..=self.length]
    }

    /// Truncates what does not fit; there is always room for the NUL.
    pub fn add(&mut self, more: &[u8]) -> &mut TextBuffer<SIZE> {
        let length = more.len().min(SIZE - 1 - self.length);
        self.bytes[self.length..][..length].copy_from_slice(&more[..length]);
        self.length += length;
        self
    }

    /// Lets `write` fill the remaining space and return how much it has written.
    pub fn fill(&mut self, write: impl FnOnce(&mut [u8]) -> usize) {
        let space = &mut self.bytes[self.length..SIZE - 1];
        let limit = space.len();
        self.length += write(space).min(limit);
    }

    pub fn number(&mut self, mut number: u64) -> &mut TextBuffer<SIZE> {
        let mut digits = [0; 20];
        let mut start = digits.len();
        loop {
            start -= 1;
            digits[start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return self.add(&digits[start..]);
            }
        }
    }

    /// A word or path with line ends, tabs and backslashes escaped.
    pub fn escaped(&mut self, text: &[u8]) -> &mut TextBuffer<SIZE> {
        for byte in text {
            match byte {
                b'\n' => self.add(b"\\n"),
                b'\t' => self.add(b"\\t"),
                b'\r' => self.add(b"\\r"),
                b'\\' => self.add(b"\\\\"),
                byte => self.add(&[*byte]),
            };
        }
        self
    }

    /// The ancestry of a thread: `main.0.2`, or `?`.
    pub fn steps(&mut self, depth: Option<u32>, steps: &[u32; STEPS]) -> &mut TextBuffer<SIZE> {
        let Some(depth) = depth else {
            return self.add(b"?");
        };
        self.add(b"main");
        for step in &steps[..(depth as usize).min(STEPS)] {
            self.add(b".").number((*step).into());
        }
        self
    }
}
