//! Dates and clock shifts, as people type them.

use std::fmt;
use std::str::FromStr;

/// What to set the clock to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClockSetting {
    At(Moment),
    /// Seconds later than now; negative: earlier.
    Shifted(i64),
}

/// A date and time in UTC, at an offset from it, or in local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Moment {
    pub year: i16,
    pub month: i8,
    pub day: i8,
    pub hour: i8,
    pub minute: i8,
    pub second: i8,
    /// Seconds east of UTC. None: local time.
    pub offset: Option<i32>,
}

/// The text is not a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMoment;

/// Clocks count nanoseconds in 64 bits, which end in 2262, and start in 1970.
const YEARS: std::ops::RangeInclusive<i16> = 1970..=2200;
/// The largest shift: a century.
const FARTHEST: i64 = 100 * 366 * DAY;
const DAY: i64 = 24 * 60 * 60;
const UNITS: [(char, i64); 5] = [('w', 7 * DAY), ('d', DAY), ('h', 60 * 60), ('m', 60), ('s', 1)];

impl ClockSetting {
    /// Seconds since 1970-01-01 as if in UTC, or the seconds of a shift.
    pub fn number(self) -> f64 {
        match self {
            Self::Shifted(seconds) => seconds as f64,
            Self::At(moment) => (moment.as_utc() - i64::from(moment.offset.unwrap_or(0))) as f64,
        }
    }
}

impl Moment {
    /// The local time this many seconds after 1970-01-01. None: outside the years that clocks support.
    pub fn at(seconds: i64) -> Option<Self> {
        let (mut days_left, time) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
        let year = YEARS.take_while(|year| days_before(*year) <= days_left).last().filter(|_| seconds >= 0)?;
        days_left -= days_before(year);
        let month = (1..=12).take_while(|month| days_in_year(year, *month) <= days_left).last()?;
        days_left -= days_in_year(year, month);
        let (hour, minute, second) = ((time / 3600) as i8, (time / 60 % 60) as i8, (time % 60) as i8);
        let day = i8::try_from(days_left + 1).ok().filter(|day| *day <= days(year, month))?;
        Some(Self { year, month, day, hour, minute, second, offset: None })
    }

    /// Seconds since 1970-01-01, taken as UTC.
    pub(crate) fn as_utc(self) -> i64 {
        let days = days_before(self.year) + days_in_year(self.year, self.month) + i64::from(self.day) - 1;
        days * DAY + i64::from(self.hour) * 3600 + i64::from(self.minute) * 60 + i64::from(self.second)
    }
}

fn is_leap(year: i16) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_before(year: i16) -> i64 {
    (1970..year).map(|year| 365 + i64::from(is_leap(year))).sum()
}

/// Days of the year before this month.
fn days_in_year(year: i16, month: i8) -> i64 {
    (1..month).map(|month| i64::from(days(year, month))).sum()
}

fn days(year: i16, month: i8) -> i8 {
    match month {
        2 => 28 + i8::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl FromStr for ClockSetting {
    type Err = NoMoment;

    fn from_str(text: &str) -> Result<Self, NoMoment> {
        match text.as_bytes().first() {
            Some(b'+') => shift(&text[1..]).map(Self::Shifted),
            Some(b'-') => shift(&text[1..]).map(|seconds| Self::Shifted(-seconds)),
            _ => moment(text).map(Self::At),
        }
        .ok_or(NoMoment)
    }
}

/// `1d12h`: descending units, each at most once.
fn shift(mut text: &str) -> Option<i64> {
    let mut sum = 0i64;
    let mut units = UNITS.iter();
    while !text.is_empty() {
        let end = text.find(|letter: char| !letter.is_ascii_digit())?;
        let unit = text[end..].chars().next()?;
        let (_, each) = units.find(|(letter, _)| *letter == unit)?;
        sum = sum.checked_add(text[..end].parse::<i64>().ok()?.checked_mul(*each)?)?;
        text = &text[end + 1..];
    }
    (1..=FARTHEST).contains(&sum).then_some(sum)
}

fn moment(text: &str) -> Option<Moment> {
    let (date, rest) = text.split_once(['T', ' ']).map_or((text, None), |(date, rest)| (date, Some(rest)));
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    // Noon is the same day in most of the world.
    let Some(rest) = rest else { return checked(year, month, day, [12, 0, 0], None) };
    let zone = rest.find(['Z', '+', '-']).unwrap_or(rest.len());
    let offset = match rest.split_at(zone).1 {
        "" => None,
        "Z" => Some(0),
        east => {
            let [hours, minutes] = numbers(&east[1..], ':', [2, 2])?;
            let seconds = i32::from(hours) * 3600 + i32::from(minutes) * 60;
            let fits = hours <= 14 && minutes < 60;
            fits.then_some(Some(if east.starts_with('-') { -seconds } else { seconds }))?
        }
    };
    let time = &rest[..zone];
    let time = match numbers(time, ':', [2, 2]) {
        Some([hour, minute]) => [hour, minute, 0],
        None => numbers(time, ':', [2, 2, 2])?,
    };
    checked(year, month, day, time, offset)
}

fn checked(year: i16, month: i16, day: i16, time: [i16; 3], offset: Option<i32>) -> Option<Moment> {
    let [hour, minute, second] = time;
    let there = YEARS.contains(&year) && (1..=12).contains(&month) && hour < 24 && minute < 60 && second < 60;
    let there = there && (1..=i16::from(days(year, month as i8))).contains(&day);
    there.then_some(Moment {
        year,
        month: month as i8,
        day: day as i8,
        hour: hour as i8,
        minute: minute as i8,
        second: second as i8,
        offset,
    })
}

/// Numbers with exactly these many digits each.
fn numbers<const N: usize>(text: &str, between: char, lengths: [usize; N]) -> Option<[i16; N]> {
    let mut found = [0; N];
    let mut parts = text.split(between);
    for (number, length) in found.iter_mut().zip(lengths) {
        let part = parts.next()?;
        let digits = part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = digits.then(|| part.parse().ok())??;
    }
    parts.next().is_none().then_some(found)
}

impl fmt::Display for ClockSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(moment) => write!(f, "{moment}"),
            Self::Shifted(seconds) => {
                f.write_str(if *seconds < 0 { "-" } else { "+" })?;
                let mut rest = seconds.abs();
                // Weeks are accepted, and printed as days.
                for (letter, each) in &UNITS[1..] {
                    if rest >= *each {
                        write!(f, "{}{letter}", rest / each)?;
                        rest %= each;
                    }
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, hour, minute, second, offset } = self;
        write!(f, "{year:04}-{month:02}-{day:02}")?;
        if (*hour, *minute, *second, *offset) == (12, 0, 0, None) {
            return Ok(());
        }
        write!(f, "T{hour:02}:{minute:02}:{second:02}")?;
        match offset {
            None => Ok(()),
            Some(0) => f.write_str("Z"),
            Some(offset) => {
                let sign = if *offset < 0 { '-' } else { '+' };
                write!(f, "{sign}{:02}:{:02}", offset.abs() / 3600, offset.abs() / 60 % 60)
            }
        }
    }
}

#[cfg(test)]
mod tests;
