//! Durations and sizes, as people type them.

use std::fmt;
use std::str::FromStr;

/// A length of time, in whole microseconds: `1us`, `20ms`, `3s`, `2m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(u64);

/// A number of bytes: `65536`, `64K`, `512M`, `2G`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(u64);

/// Largest unit first, so that the printed form is short.
const TIMES: [(&str, u64); 4] = [("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000), ("us", 1)];
const SIZES: [(&str, u64); 4] = [("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10), ("", 1)];
/// The longest duration is a day.
const LONGEST: u64 = 24 * 60 * 60_000_000;

impl Amount {
    pub fn microseconds(self) -> u64 {
        self.0
    }

    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e6
    }

    pub const fn milliseconds(number: u64) -> Self {
        Self(number * 1_000)
    }
}

impl Size {
    pub fn bytes(self) -> u64 {
        self.0
    }
}

/// Not an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAmount;

fn parse(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len()));
    let (_, each) = units.iter().find(|(word, _)| *word == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*each)
}

fn print(number: u64, units: &[(&str, u64)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let fits = |each: u64| number.is_multiple_of(each) && (number >= each || each == 1);
    let (word, each) = units.iter().find(|(_, each)| fits(*each)).expect("the last unit is 1");
    write!(f, "{}{word}", number / each)
}

impl FromStr for Amount {
    type Err = NoAmount;

    fn from_str(text: &str) -> Result<Self, NoAmount> {
        parse(text, &TIMES).filter(|number| (1..=LONGEST).contains(number)).map(Self).ok_or(NoAmount)
    }
}

impl FromStr for Size {
    type Err = NoAmount;

    fn from_str(text: &str) -> Result<Self, NoAmount> {
        parse(text, &SIZES).filter(|number| *number > 0).map(Self).ok_or(NoAmount)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(self.0, &TIMES, f)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(self.0, &SIZES, f)
    }
}
