//! Parses the timestamps in reports.

use jiff::civil::DateTime;
use unflake_model::Timestamp;

/// Parses `2026-11-15T14:37:15.739Z`, with or without an offset. Without one it is taken as UTC,
/// which is right on most CI machines.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let utc = |civil: DateTime| jiff::tz::TimeZone::UTC.to_timestamp(civil).ok();
    let stamp = text.parse().ok().or_else(|| text.parse().ok().and_then(utc))?;
    // Some writers put 1970 for a test that did not run.
    Some(Timestamp(stamp.as_microsecond())).filter(|stamp| stamp.0 > 0)
}

/// From milliseconds since 1970.
pub(crate) fn from_milliseconds(number: f64) -> Option<Timestamp> {
    (1e11..1e14).contains(&number).then_some(Timestamp((number * 1000.0) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_in_all_forms() {
        let second = 1_794_753_435_000_000;
        for (text, expected) in [
            ("2026-11-15T14:37:15Z", second),
            ("2026-11-15T14:37:15.739Z", second + 739_000),
            ("2026-11-15T15:37:15+01:00", second),
            ("2026-11-15T14:37:15", second),
            ("2026-11-15 14:37:15.5", second + 500_000),
        ] {
            assert_eq!(parse(text), Some(Timestamp(expected)), "{text}");
        }
        assert_eq!(parse("yesterday"), None);
        assert_eq!(parse("1970-01-01T00:00:00.000"), None);
        assert_eq!(from_milliseconds(1_794_753_435_000.0), Some(Timestamp(second)));
        assert_eq!(from_milliseconds(12.0), None);
    }
}
