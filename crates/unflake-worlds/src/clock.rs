//! Dates as offsets from now.

use jiff::tz::{Offset, TimeZone};
use unflake_model::{ClockSetting, Moment};

/// By how much to shift the time of day from `now`, both in nanoseconds.
pub(crate) fn shift(setting: ClockSetting, zone: TimeZone, now: i64) -> Result<i64, String> {
    let target = match setting {
        ClockSetting::Shifted(seconds) => return Ok(seconds * 1_000_000_000),
        ClockSetting::At(moment) => at(moment, zone).map_err(|error| error.to_string())?,
    };
    i64::try_from(target - i128::from(now)).map_err(|_| "it is too far away".to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factors::zone;

    #[test]
    fn a_moment_is_local_to_its_zone() {
        let shifted = |typed: &str, zone_name: &str, now: i64| {
            shift(typed.parse().unwrap(), zone(zone_name).unwrap(), now).unwrap() / 1_000_000_000
        };
        assert_eq!(shifted("1970-01-02T00:00:00Z", "UTC", 0), 86_400);
        assert_eq!(shifted("1970-01-02T01:00:00+01:00", "Asia/Tokyo", 0), 86_400);
        assert_eq!(shifted("1970-01-02T09:00:00", "Asia/Tokyo", 0), 86_400);
        assert_eq!(shifted("1970-01-02T01:00:00", "CET-1CEST,M3.5.0,M10.5.0/3", 0), 86_400);
        assert_eq!(shifted("1970-01-02T00:00:00Z", "UTC", 86_400_000_000_000), 0);
        assert_eq!(shifted("-2h", "UTC", 5), -7_200);
    }

    #[test]
    fn unknown_zones_are_rejected() {
        assert!(zone("Asia/Tokio").unwrap_err().starts_with("this machine has no such time zone"));
    }
}
