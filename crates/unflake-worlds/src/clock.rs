//! Dates as offsets from now; time zones and locales as they are installed.

use std::process::Command;

use jiff::tz::{Offset, TimeZone};
use unflake_model::{ClockSetting, Factor, Moment};

use crate::error::WorldError;

/// The zone that a factor names. The C library silently takes an unknown one for UTC.
pub(crate) fn zone(factor: &Factor, name: &str) -> Result<TimeZone, WorldError> {
    let known = TimeZone::get(name).or_else(|_| TimeZone::posix(name));
    known.map_err(|_| {
        WorldError::set(factor, "there is no such time zone on this machine; a rule such as `JST-9` needs none")
    })
}

/// By how much to shift the time of day from `now`, both in nanoseconds.
pub(crate) fn shift(factor: &Factor, when: ClockSetting, zone: TimeZone, now: i64) -> Result<i64, WorldError> {
    let target = match when {
        ClockSetting::Shifted(seconds) => return Ok(seconds * 1_000_000_000),
        ClockSetting::At(moment) => at(moment, zone).map_err(|error| WorldError::set(factor, error.to_string()))?,
    };
    i64::try_from(target - i128::from(now)).map_err(|_| WorldError::set(factor, "that is too far away"))
}

fn at(moment: Moment, zone: TimeZone) -> Result<i128, jiff::Error> {
    let Moment { year, month, day, hour, minute, second, offset } = moment;
    let time = jiff::civil::DateTime::new(year, month, day, hour, minute, second, 0)?;
    let stamp = match offset {
        Some(seconds) => Offset::from_seconds(seconds)?.to_timestamp(time)?,
        None => time.to_zoned(zone)?.timestamp(),
    };
    Ok(stamp.as_nanosecond())
}

/// Refuses a locale that is not installed: programs would take it for `C`.
pub(crate) fn check_locale(factor: &Factor, name: &str) -> Result<(), WorldError> {
    let listed = Command::new("locale").arg("-a").output();
    let listed = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let plain = |name: &str| name.to_lowercase().replace("utf-8", "utf8");
    let built_in = ["C", "POSIX"];
    if listed.lines().chain(built_in).any(|there| plain(there) == plain(name)) {
        return Ok(());
    }
    let there = if listed.is_empty() { built_in.join(", ") } else { listed.trim().replace('\n', ", ") };
    Err(WorldError::set(factor, format!("it is not installed; there are {there}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shifted(typed: &str, zone_name: &str, now: i64) -> i64 {
        let factor: Factor = typed.parse().unwrap();
        let Factor::Date(when) = factor else { panic!("{typed} is no date") };
        let zone = zone(&factor, zone_name).unwrap();
        shift(&factor, when, zone, now).unwrap() / 1_000_000_000
    }

    #[test]
    fn a_moment_is_where_its_zone_says() {
        assert_eq!(shifted("date=1970-01-02T00:00:00Z", "UTC", 0), 86_400);
        assert_eq!(shifted("date=1970-01-02T01:00:00+01:00", "Asia/Tokyo", 0), 86_400);
        assert_eq!(shifted("date=1970-01-02T09:00:00", "Asia/Tokyo", 0), 86_400);
        assert_eq!(shifted("date=1970-01-02T01:00:00", "CET-1CEST,M3.5.0,M10.5.0/3", 0), 86_400);
        assert_eq!(shifted("date=1970-01-02T00:00:00Z", "UTC", 86_400_000_000_000), 0);
        assert_eq!(shifted("date=-2h", "UTC", 5), -7_200);
    }

    #[test]
    fn what_is_not_here_is_refused() {
        let tokyo: Factor = "time-zone=Asia/Tokio".parse().unwrap();
        let why = zone(&tokyo, "Asia/Tokio").unwrap_err().to_string();
        assert_eq!(
            why,
            "cannot set time-zone to Asia/Tokio: there is no such time zone on this machine; a rule such as `JST-9` needs none"
        );
        let locale: Factor = "locale=xx_XX.UTF-8".parse().unwrap();
        let why = check_locale(&locale, "xx_XX.UTF-8").unwrap_err().to_string();
        assert!(why.starts_with("cannot set locale to xx_XX.UTF-8: it is not installed; there are C"), "{why}");
        assert_eq!(check_locale(&locale, "C"), Ok(()));
    }
}
