use proptest::prelude::*;

use super::*;
use crate::declared_factor::{FactorDeclaration, FactorEffect, FactorPhrase, FactorScale, declare_factors};
use crate::moment::Moment;

/// A factor as a runner would declare it.
static PACE: FactorDeclaration = FactorDeclaration {
    name: "pace",
    title: "pace",
    settings: "a length of time",
    parse: |setting| setting.parse::<Amount>().ok().map(|amount| amount.to_string()),
    scale: Some(FactorScale {
        number: |setting| setting.parse::<Amount>().ok().map(Amount::seconds),
        setting: |seconds| format!("{}us", (seconds * 1e6).round()),
    }),
    works_in_time: true,
    phrase: FactorPhrase::Seeds,
    effect: FactorEffect::None,
    baseline: None,
    plan: |_| Ok(Vec::new()),
    elsewhere: "",
    unaffected: "",
};

fn factor(text: &str) -> Result<Factor, BadFactor> {
    declare_factors([&PACE]);
    text.parse()
}

/// As it was typed, where that is how it is printed too.
const TYPED: [&str; 24] = [
    "date=2027-01-30",
    "date=2028-02-29T23:59:58+01:00",
    "date=2028-02-29T00:00:00Z",
    "date=+3d",
    "date=-1d12h",
    "speed=10",
    "speed=0.1",
    "time-zone=Asia/Tokyo",
    "locale=C.UTF-8",
    "random-seed=18446744073709551615",
    "order=7",
    "beside=4",
    "cores=1",
    "load=2",
    "memory=512M",
    "open-files=64",
    "delays=20ms/5@7",
    "network=off",
    "network=slow:100ms",
    "listing=shuffled:7",
    "variable=NAME=a=b",
    "variable=NAME",
    "state=fresh",
    "pace=1us",
];

#[test]
fn what_is_typed_is_what_is_printed() {
    for typed in TYPED {
        let factor = factor(typed).unwrap_or_else(|bad| panic!("{bad}"));
        assert_eq!(factor.to_string(), typed);
        let json = serde_json::to_string(&factor).unwrap();
        assert_eq!(serde_json::from_str::<Factor>(&json).unwrap(), factor, "{json}");
    }
    let json = serde_json::to_value("date=+3d".parse::<Factor>().unwrap()).unwrap();
    assert_eq!(json, serde_json::json!({"factor": "date", "setting": "+3d"}));
}

#[test]
fn short_forms_are_understood() {
    let same = |typed: &str, printed: &str| assert_eq!(typed.parse::<Factor>().unwrap().to_string(), printed);
    same("date=2027-01-30T12:00", "date=2027-01-30");
    same("date=2027-01-30 08:05", "date=2027-01-30T08:05:00");
    same("date=+2w", "date=+14d");
    same("date=+90m", "date=+1h30m");
    same("speed=×10", "speed=10");
    same("delays=20ms", "delays=20ms/10@0");
    same("network=slow", "network=slow:100ms");
    same("memory=1024K", "memory=1M");
}

#[test]
fn what_is_no_setting_is_refused_in_words() {
    for wrong in [
        "date=2027-02-29",
        "date=2027-13-01",
        "date=27-01-01",
        "date=2027-01-30T24:00",
        "date=2027-01-30T10:00+15:00",
        "date=1969-12-31",
        "date=3d",
        "date=+",
        "date=+3",
        "date=+1h1d",
        "date=+99999999999999999d",
        "speed=0",
        "speed=-1",
        "speed=1e3",
        "speed=0.0000001",
        "cores=0",
        "memory=0",
        "memory=1T",
        "delays=20",
        "delays=20ms/0",
        "network=on",
        "listing=random",
        "state=old",
        "locale=",
        "time-zone=-rf",
        "variable==x",
    ] {
        let bad = wrong.parse::<Factor>().expect_err(wrong).to_string();
        let (word, setting) = wrong.split_once('=').unwrap();
        assert!(bad.starts_with(&format!("`{setting}` is no setting of {word}: it is ")), "{bad}");
    }
    let bad = "weather=rain".parse::<Factor>().unwrap_err().to_string();
    assert_eq!(bad, "`weather=rain` is no factor: one is written like `date=2027-01-30`");
}

#[test]
fn numbers_grow_with_what_they_stand_for() {
    let number = |typed: &str| typed.parse::<Factor>().unwrap().number();
    assert_eq!(number("date=1970-01-02T00:00:00Z"), Some(86_400.0));
    assert_eq!(number("date=2028-03-01T00:00:00Z"), Some(1_835_481_600.0));
    assert!(number("date=2028-02-29T23:59:58+01:00") < number("date=2028-02-29T23:59:58Z"));
    assert_eq!(number("memory=1K"), Some(1024.0));
    assert_eq!(number("speed=0.5"), Some(0.5));
    assert_eq!(number("listing=reversed"), None);
}

#[test]
fn every_kind_has_a_word_of_its_own() {
    declare_factors([&PACE]);
    for kind in FactorKind::all() {
        assert_eq!(FactorKind::from_word(kind.word()), Some(kind));
        assert!(TYPED.iter().any(|typed| typed.starts_with(kind.word())) || kind.word().starts_with("old-"));
    }
}

fn any_moment() -> impl Strategy<Value = Moment> {
    let offsets = prop_oneof![Just(None), (-14 * 60..=14 * 60i32).prop_map(|minutes| Some(minutes * 60))];
    ((1970..=2200i16, 1..=12i8, 1..=28i8), (0..24i8, 0..60i8, 0..60i8), offsets).prop_map(
        |((year, month, day), (hour, minute, second), offset)| Moment {
            year,
            month,
            day,
            hour,
            minute,
            second,
            offset,
        },
    )
}

proptest! {
    #[test]
    fn a_moment_is_read_as_it_is_written(moment in any_moment()) {
        let factor = Factor::Date(ClockSetting::At(moment));
        prop_assert_eq!(factor.to_string().parse::<Factor>(), Ok(factor));
    }

    #[test]
    fn a_second_later_is_a_larger_number(moment in any_moment(), seconds in 0..59i8) {
        let at = |second| Factor::Date(ClockSetting::At(Moment { second, ..moment })).number().unwrap();
        prop_assert_eq!(at(seconds + 1) - at(seconds), 1.0);
    }

    #[test]
    fn a_shift_is_read_as_it_is_written(seconds in (-3_000_000_000..=3_000_000_000i64).prop_filter("0 is none", |n| *n != 0)) {
        let factor = Factor::Date(ClockSetting::Shifted(seconds));
        prop_assert_eq!(factor.to_string().parse::<Factor>(), Ok(factor));
    }

    #[test]
    fn a_speed_is_read_as_it_is_written(millionths in 1_000..=1_000_000_000u64) {
        let factor = Factor::Speed(millionths);
        prop_assert_eq!(factor.to_string().parse::<Factor>(), Ok(factor));
    }

    #[test]
    fn amounts_are_read_as_they_are_written(number in 1..=86_400_000_000u64) {
        let time = factor(&format!("pace={number}us")).unwrap();
        prop_assert_eq!(time.to_string().parse::<Factor>(), Ok(time));
        let size = FactorKind::Memory.set(&number.to_string()).unwrap();
        prop_assert_eq!(size.to_string().parse::<Factor>(), Ok(size));
    }

    #[test]
    fn no_text_at_all_is_a_surprise(kind in 0..16usize, text in ".{0,24}") {
        if let Ok(factor) = FactorKind::all()[kind].set(&text) {
            prop_assert_eq!(factor.to_string().parse::<Factor>(), Ok(factor));
        }
    }
}

#[test]
fn settings_can_be_more_or_less() {
    let check = |text: &str, number: f64, expected: Option<&str>| {
        let factor = factor(text).unwrap();
        let moved = factor.with_number(number).map(|factor| factor.to_string());
        assert_eq!(moved.as_deref(), expected, "{text} at {number}");
    };
    check("load=8", 3.0, Some("load=3"));
    check("memory=2G", 1048576.0, Some("memory=1M"));
    check("delays=20ms/5@7", 0.001, Some("delays=1ms/5@7"));
    check("network=slow:1s", 0.25, Some("network=slow:250ms"));
    check("speed=10", 2.5, Some("speed=2.5"));
    check("date=2027-01-30", 1_835_395_199.0, Some("date=2028-02-28T23:59:59"));
    check("date=2027-01-30", 1_835_352_000.0, Some("date=2028-02-28"));
    check("date=2027-01-30", -1.0, None);
    check("date=+3d", 5.0, None);
    check("time-zone=UTC", 5.0, None);
    check("load=8", 0.0, None);
    check("pace=10us", 0.001, Some("pace=1ms"));
}

#[test]
fn every_second_has_a_moment_and_every_moment_its_second() {
    for seconds in (0..7_289_654_400).step_by(86_399 * 17) {
        let moment = Moment::at(seconds).unwrap();
        assert_eq!(ClockSetting::At(moment).number() as i64, seconds, "{moment}");
    }
    assert_eq!(Moment::at(8_000_000_000), None);
}

#[test]
fn a_factor_that_is_not_declared_is_read_from_json_as_it_is() {
    let json = r#"{"factor":"old-seed","setting":"7"}"#;
    let factor: Factor = serde_json::from_str(json).unwrap();
    assert_eq!(
        (factor.to_string(), serde_json::to_string(&factor).unwrap()),
        ("old-seed=7".to_owned(), json.to_owned())
    );
    assert_eq!(serde_json::from_str::<Factor>(json).unwrap(), factor);
}
