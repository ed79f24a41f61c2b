//! Date, clock speed and time zone.

use std::time::Duration;

use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use unflake_model::{
    Cause, ClockSetting, FactorDeclaration, FactorEffect, FactorPhrase, FactorPlan, FactorProbe, FactorScale, Moment,
    PlanContext, ProbeStep, ProbeVerdict, ScaleShape,
};

use super::{canonical, judged, parsed, word};

const PROBED_DATE: &str = "2031-05-17T18:00:00Z";

pub(super) static DATE: FactorDeclaration = FactorDeclaration {
    name: "date",
    title: "date and time",
    plural: "dates",
    syntax: "`2027-01-30`, `2028-02-29T23:59:58+01:00`, `+3d`",
    parse: canonical::<ClockSetting>,
    scale: Some(FactorScale {
        number: |setting| match setting.parse().ok()? {
            ClockSetting::Shifted(_) => None,
            at => Some(at.number()),
        },
        with_number: |_, number| Moment::at(number as i64).map(|moment| moment.to_string()),
        shape: ScaleShape::Moments,
    }),
    phrase: FactorPhrase::When(|setting, _| format!("when the date is {setting}")),
    effect: FactorEffect::Process(|setting, setup| {
        setup.clock = Some(parsed(setting));
        Ok(())
    }),
    family: "clock",
    baseline: |context| Some(text(noon(today(context)))),
    plan: |context| FactorPlan { settings: dates(today(context)).into_iter().map(text).collect(), missing: None },
    probes: &[FactorProbe {
        label: "",
        steps: |_| Ok(vec![ProbeStep::under("date", PROBED_DATE)]),
        judge: |answers| {
            judged(answers, |texts| {
                let start = parsed::<ClockSetting>(PROBED_DATE).number() as i64;
                let expected = start..start + 120;
                ProbeVerdict::yes_if(texts[0].parse().is_ok_and(|seconds: i64| expected.contains(&seconds)), || {
                    format!("its clock shows {} s since 1970, not {}", texts[0], expected.start)
                })
            })
        },
    }],
    cause: Cause::Time,
    ..FactorDeclaration::EMPTY
};

pub(super) static SPEED: FactorDeclaration = FactorDeclaration {
    name: "speed",
    title: "clock speed",
    plural: "clock speeds",
    syntax: "how many times as fast: `10`, `0.1`",
    parse: |text| speed(text).map(print_speed),
    scale: Some(FactorScale {
        number: |setting| speed(setting).map(|millionths| millionths as f64 / 1e6),
        with_number: |_, number| Some(print_speed((number * 1e6).round() as u64)),
        shape: ScaleShape::Amount { grows: |speed| speed > 1.0, whole: false },
    }),
    phrase: FactorPhrase::When(|setting, threshold| match (threshold, setting.parse::<f64>()) {
        (true, Ok(speed)) => {
            let or = if speed > 1.0 { "faster" } else { "slower" };
            format!("when clocks run {speed:.1} times as fast or {or}")
        }
        _ => format!("when clocks run {setting} times as fast"),
    }),
    effect: FactorEffect::Process(|setting, setup| {
        setup.shim.push(format!("speed={}", speed(setting).unwrap_or(1_000_000)));
        Ok(())
    }),
    timing: true,
    plan: |_| ["10"].into(),
    probes: &[FactorProbe {
        label: "",
        steps: |_| Ok(vec![ProbeStep::under("sleep", "20")]),
        judge: |answers| {
            judged(answers, |texts| {
                let clocks: Vec<i64> = texts[0].split(' ').filter_map(|number| number.parse().ok()).collect();
                let slept = clocks.len() == 2 && clocks.iter().all(|milliseconds| *milliseconds >= 3_990);
                // By its own clocks it slept four seconds.
                ProbeVerdict::yes_if(slept && answers[0].took < Duration::from_secs(3), || {
                    let took = answers[0].took.as_millis();
                    format!("a sleep of 4 s took {} ms by its clocks and {took} ms in total", texts[0])
                })
            })
        },
    }],
    cause: Cause::Time,
    ..FactorDeclaration::EMPTY
};

/// +14, −12, half an hour off, and some with daylight saving time, one of them in the south.
/// The last ones are where many tests were written, and may be the only ones where they pass.
const ZONES: [&str; 7] = [
    "Pacific/Kiritimati",
    "Etc/GMT+12",
    "Asia/Kolkata",
    "America/New_York",
    "Europe/Berlin",
    "Asia/Shanghai",
    "Pacific/Auckland",
];

pub(super) static TIME_ZONE: FactorDeclaration = FactorDeclaration {
    name: "time-zone",
    title: "time zone",
    plural: "time zones",
    syntax: "`Asia/Tokyo`, `UTC`, `JST-9`",
    parse: word,
    phrase: FactorPhrase::When(|setting, _| format!("in the time zone {setting}")),
    effect: FactorEffect::Process(|setting, setup| {
        zone(setting)?;
        setup.variables.push(("TZ".to_owned(), Some(setting.to_owned())));
        Ok(())
    }),
    family: "clock",
    baseline: |_| Some("UTC".to_owned()),
    plan: |context| {
        let here = local_zone(context).filter(|zone| !ZONES.contains(zone));
        FactorPlan { settings: ZONES.into_iter().chain(here).map(str::to_owned).collect(), missing: None }
    },
    probes: &[FactorProbe {
        label: "",
        steps: |_| Ok(vec![ProbeStep::under("zone", "Asia/Tokyo")]),
        judge: |answers| match &answers[0].text {
            Ok(offset) => ProbeVerdict::yes_if(offset == "32400", || format!("it is {offset} s from UTC, not 32400")),
            Err(why) => ProbeVerdict::Unavailable(why.clone()),
        },
    }],
    cause: Cause::Time,
    ..FactorDeclaration::EMPTY
};

/// The C library silently takes an unknown zone for UTC.
pub(crate) fn zone(name: &str) -> Result<TimeZone, String> {
    let known = TimeZone::get(name).or_else(|_| TimeZone::posix(name));
    known.map_err(|_| {
        "this machine has no such time zone; a rule such as `JST-9` works without one installed".to_owned()
    })
}

/// From a thousandth to a thousand times as fast, in millionths.
fn speed(text: &str) -> Option<u64> {
    let text = text.trim_start_matches(['x', '×']);
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(rest) || rest.len() > 6 || whole.len() > 4 {
        return None;
    }
    let millionths = whole.parse::<u64>().ok()? * 1_000_000 + format!("{rest:0<6}").parse::<u64>().ok()?;
    (1_000..=1_000_000_000).contains(&millionths).then_some(millionths)
}

fn print_speed(millionths: u64) -> String {
    match (millionths / 1_000_000, millionths % 1_000_000) {
        (whole, 0) => whole.to_string(),
        (whole, rest) => format!("{whole}.{rest:06}").trim_end_matches('0').to_owned(),
    }
}

fn today(context: &PlanContext) -> Date {
    Date::constant(context.now.year, context.now.month, context.now.day)
}

fn noon(day: Date) -> DateTime {
    day.at(12, 0, 0, 0)
}

fn text(moment: DateTime) -> String {
    canonical::<ClockSetting>(&moment.strftime("%Y-%m-%dT%H:%M:%S").to_string()).expect("it is a date")
}

fn local_zone(context: &PlanContext) -> Option<&str> {
    context.zone.as_deref().filter(|zone| !["UTC", "Etc/UTC", "Etc/Unknown"].contains(zone))
}

/// The end of a month, after the end of 32 bits, the leap day, the last seconds of a year, a Sunday, a year
/// ago, the start of a month, the ends of all other months, summer and winter, the first day of a year, and
/// far ahead.
fn dates(today: Date) -> Vec<DateTime> {
    let next = |fits: &dyn Fn(Date) -> bool| {
        let mut days = std::iter::successors(today.tomorrow().ok(), |day| day.tomorrow().ok());
        days.find(|day| fits(*day)).unwrap_or(today)
    };
    let year_ago = today.checked_sub(SignedDuration::from_hours(365 * 24)).unwrap_or(today);
    let mut dates = vec![
        noon(next(&|day| day.day() == 31 && day.month() == 1)),
        noon(Date::constant(2038, 1, 20)),
        noon(next(&|day| day.day() == 29 && day.month() == 2)),
        next(&|day| day.day() == 31 && day.month() == 12).at(23, 59, 30, 0),
        noon(next(&|day| day.weekday() == Weekday::Sunday && day.day() < 29)),
        noon(year_ago),
        next(&|day| day.day() == 1 && day.month() != 1).at(0, 0, 30, 0),
        noon(next(&|day| day.day() == 31 && day.month() == 3)),
        noon(next(&|day| day.day() == 15 && day.month() == 7)),
        noon(next(&|day| day.day() == 1 && day.month() == 1)),
        noon(next(&|day| day.day() == 31 && day.month() == 5)),
        noon(next(&|day| day.day() == 28 && day.month() == 2)),
        noon(next(&|day| day.day() == 30 && day.month() == 4)),
        noon(next(&|day| day.day() == 31 && day.month() == 8)),
        noon(next(&|day| day.day() == 31 && day.month() == 7)),
        noon(next(&|day| day.day() == 31 && day.month() == 10)),
        noon(next(&|day| day.day() == 30 && day.month() == 11)),
        noon(next(&|day| day.weekday() == Weekday::Saturday && day.month() == 1)),
        noon(today.checked_add(SignedDuration::from_hours(16 * 8766)).unwrap_or(today)),
    ];
    let mut seen = Vec::new();
    dates.retain(|date| {
        !seen.contains(date) && {
            seen.push(*date);
            true
        }
    });
    dates
}

/// Zones whose clock changes are tried beside those of this machine.
const CHANGING: [&str; 2] = ["Europe/Berlin", "America/New_York"];

/// Half an hour before the next clock changes, each with its time zone: only both together matter.
pub fn clock_changes(context: &PlanContext) -> Vec<[String; 2]> {
    let here = local_zone(context);
    let zones = here.into_iter().chain(CHANGING.into_iter().filter(|zone| Some(*zone) != here));
    let now = noon(today(context)).to_zoned(TimeZone::UTC).map_or(Timestamp::UNIX_EPOCH, |now| now.timestamp());
    let changes = |name: &str| {
        let Ok(zone) = TimeZone::get(name) else { return Vec::new() };
        let ahead = zone.following(now).take(2);
        let before = ahead.filter_map(|change| change.timestamp().checked_sub(SignedDuration::from_mins(30)).ok());
        let date = |moment: Timestamp| text(moment.to_zoned(zone.clone()).datetime());
        before.map(|moment| [format!("date={}", date(moment)), format!("time-zone={name}")]).collect()
    };
    zones.flat_map(changes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_every_long_month_and_the_clock_changes_are_tried() {
        for today in [Date::constant(2026, 11, 15), Date::constant(2027, 1, 31), Date::constant(2028, 2, 29)] {
            let dates = dates(today);
            let is_planned = |month: i8, day: i8| dates.iter().any(|date| (date.month(), date.day()) == (month, day));
            for month in [1, 3, 5, 7, 8, 10, 12] {
                assert!(is_planned(month, 31), "{month} after {today}");
            }
            assert!(is_planned(2, 28) && is_planned(2, 29) && is_planned(1, 1) && is_planned(7, 15), "{dates:?}");
            assert!(dates.iter().all(|date| date.date() != today || date.hour() != 12), "{dates:?}");
        }
    }
}
