//! A calendar day.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::moment::{Moment, NoMoment};
use crate::{ClockSetting, Timestamp};

const SECONDS: i64 = 24 * 60 * 60;

/// Days since 1970-01-01, written as `2026-11-15`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Day(i64);

impl Day {
    /// The day of a timestamp, in UTC.
    pub fn of(moment: Timestamp) -> Self {
        Self(moment.0.div_euclid(SECONDS * 1_000_000))
    }

    pub fn plus(self, days: i64) -> Self {
        Self(self.0 + days)
    }

    /// How many days after `earlier`.
    pub fn since(self, earlier: Self) -> i64 {
        self.0 - earlier.0
    }
}

impl FromStr for Day {
    type Err = NoMoment;

    fn from_str(text: &str) -> Result<Self, NoMoment> {
        let is_date = text.len() == "2026-11-15".len();
        match text.parse() {
            Ok(ClockSetting::At(moment)) if is_date => Ok(Self(moment.as_utc().div_euclid(SECONDS))),
            _ => Err(NoMoment),
        }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Moment::at(self.0 * SECONDS) {
            Some(Moment { year, month, day, .. }) => write!(f, "{year:04}-{month:02}-{day:02}"),
            None => write!(f, "day {}", self.0),
        }
    }
}

impl TryFrom<String> for Day {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map_err(|_| format!("`{text}` is not a day such as 2026-11-15"))
    }
}

impl From<Day> for String {
    fn from(day: Day) -> Self {
        day.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_and_written_as_people_write_them() {
        let day: Day = "2026-11-15".parse().expect("a day");
        assert_eq!(day.to_string(), "2026-11-15");
        assert_eq!(day.plus(20).to_string(), "2026-12-05");
        assert_eq!(day.plus(20).since(day), 20);
        assert_eq!(Day::of(Timestamp(1_794_700_800_000_000)).to_string(), "2026-11-15");
        for wrong in ["2026-02-30", "15.11.2026", "2026-11-15T10:00", "+3d", ""] {
            assert!(wrong.parse::<Day>().is_err(), "{wrong}");
        }
    }
}
