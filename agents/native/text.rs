//! Text in a buffer of fixed size: nothing here may allocate.

use crate::format::STEPS;

pub struct Text<const SIZE: usize = 3072> {
    bytes: [u8; SIZE],
    length: usize,
}

impl<const SIZE: usize> Text<SIZE> {
    pub const fn new() -> Text<SIZE> {
        Text { bytes: [0; SIZE], length: 0 }
    }

    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether something did not fit.
    pub fn is_full(&self) -> bool {
        self.length + 1 >= SIZE
    }

    pub fn is_whole(&self) -> bool {
        !self.is_full()
    }

    pub fn cut(&mut self, length: usize) {
        self.length = length.min(self.length);
    }

    pub fn all(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// With a zero behind it, as the system wants paths.
    pub fn closed(&mut self) -> &[u8] {
        self.bytes[self.length] = 0;
        &self.bytes[..=self.length]
    }

    /// What does not fit is cut off; there is always room for the closing zero.
    pub fn add(&mut self, more: &[u8]) -> &mut Text<SIZE> {
        let length = more.len().min(SIZE - 1 - self.length);
        self.bytes[self.length..][..length].copy_from_slice(&more[..length]);
        self.length += length;
        self
    }

    /// Has somebody write into the room that is left, who says how much it was.
    pub fn fill(&mut self, with: impl FnOnce(&mut [u8]) -> usize) {
        let room = &mut self.bytes[self.length..SIZE - 1];
        let most = room.len();
        self.length += with(room).min(most);
    }

    pub fn number(&mut self, mut number: u64) -> &mut Text<SIZE> {
        let mut digits = [0; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return self.add(&digits[at..]);
            }
        }
    }

    /// One word or path that cannot end its line.
    pub fn escaped(&mut self, text: &[u8]) -> &mut Text<SIZE> {
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

    /// The way to a thread: `main.0.2`, or `?`.
    pub fn steps(&mut self, depth: Option<u32>, steps: &[u32; STEPS]) -> &mut Text<SIZE> {
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
