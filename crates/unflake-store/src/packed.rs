//! Packs executions into about four bytes each.
//!
//! Each execution consists of the difference between its test number and the previous one, a byte
//! with the outcome (low half) and the number of earlier runs in its report (high half, 15 for
//! more), and the duration in tenths of a millisecond. Numbers are LEB128: seven bits per byte,
//! lowest first, with the high bit as continuation flag. Signed numbers have their sign in the
//! lowest bit.

use unflake_model::{Death, Outcome};

use crate::executions::{Execution, TestKey};

const MAX_AGAIN: u32 = 15;
const TICKS_PER_SECOND: f64 = 10_000.0;

#[derive(Default)]
pub(crate) struct Packer {
    pub(crate) body: Vec<u8>,
    last: i64,
}

impl Packer {
    pub(crate) fn add(&mut self, test: i64, again: u32, outcome: Outcome, seconds: f64) {
        let step = test - self.last;
        self.last = test;
        self.number(((step << 1) ^ (step >> 63)).cast_unsigned());
        self.body.push(code(outcome) | (again.min(MAX_AGAIN) as u8) << 4);
        // NaN becomes 0.
        self.number((seconds.max(0.0) * TICKS_PER_SECOND).round() as u64);
    }

    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.body.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.body.push(number as u8);
    }
}

/// Iterates over the executions of a packed row. Stops at the first malformed byte.
pub(crate) struct Unpacker<'a> {
    body: &'a [u8],
    last: i64,
}

impl<'a> Unpacker<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Self { body, last: 0 }
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.body.split_first()?;
        self.body = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
}

impl Iterator for Unpacker<'_> {
    type Item = Execution;

    #[inline]
    fn next(&mut self) -> Option<Execution> {
        let step = self.number()?;
        self.last += (step >> 1).cast_signed() ^ -(step & 1).cast_signed();
        let how = self.byte()?;
        let seconds = (self.number()? as f64 / TICKS_PER_SECOND) as f32;
        Some(Execution { test: TestKey(self.last), again: how >> 4, outcome: OUTCOMES[usize::from(how & 7)], seconds })
    }
}

const OUTCOMES: [Outcome; 8] = [
    Outcome::Passed,
    Outcome::Failed,
    Outcome::Error,
    Outcome::Skipped,
    Outcome::ExpectedFailure,
    Outcome::UnexpectedPass,
    Outcome::TimedOut,
    Outcome::Crashed(Death::Unknown),
];

fn code(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Passed => 0,
        Outcome::Failed => 1,
        Outcome::Error => 2,
        Outcome::Skipped => 3,
        Outcome::ExpectedFailure => 4,
        Outcome::UnexpectedPass => 5,
        Outcome::TimedOut => 6,
        Outcome::Crashed(_) => 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_round_trips() {
        let mut packer = Packer::default();
        let all = [(7, 0, 0.0), (8, 1, 0.0012), (3, 99, 1234.5678), (i64::MAX, 2, f64::NAN), (1, 0, -1.0)];
        for (at, (test, again, seconds)) in all.into_iter().enumerate() {
            packer.add(test, again, OUTCOMES[at], seconds);
        }
        let back: Vec<_> = Unpacker::new(&packer.body).map(|one| (one.test.0, one.again, one.seconds)).collect();
        assert_eq!(back, [(7, 0, 0.0), (8, 1, 0.0012), (3, 15, 1234.5678), (i64::MAX, 2, 0.0), (1, 0, 0.0)]);
        for (at, one) in Unpacker::new(&packer.body).enumerate() {
            assert_eq!(code(one.outcome), at as u8);
            assert_eq!(one.outcome, OUTCOMES[at]);
        }
    }

    #[test]
    fn adjacent_tests_take_three_bytes() {
        let mut packer = Packer::default();
        (1..=1000).for_each(|test| packer.add(test, 0, Outcome::Passed, 0.004));
        assert_eq!(packer.body.len(), 3000);
    }

    #[test]
    fn malformed_bytes_end_the_iteration() {
        assert_eq!(Unpacker::new(&[0xff; 40]).count(), 0);
        assert_eq!(Unpacker::new(&[2, 0]).count(), 0);
    }
}
