//! Tests of `factors`.

use proptest::prelude::*;
use unflake_model::{Factor, FactorKind, Moment, PlanContext, declare_factors};

use super::*;

fn factor(text: &str) -> Result<Factor, String> {
    declare_factors(factors());
    text.parse().map_err(|bad: unflake_model::BadFactor| bad.to_string())
}

const TYPED: [&str; 29] = [
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
    "address-seed=0",
    "address-seed=random",
    "order=7",
    "beside=4",
    "cores=1",
    "load=2",
    "memory=512M",
    "open-files=64",
    "delays=20ms/5@7",
    "schedule=7:20",
    "schedule=shop/bank.py:12#3@more-1",
    "network=off",
    "network=alone",
    "network=slow:100ms",
    "listing=shuffled:7",
    "variable=NAME=a=b",
    "variable=NAME",
    "state=fresh",
    "without=/tmp/out.txt",
];

#[test]
fn canonical_settings_print_as_they_are_typed() {
    for typed in TYPED {
        assert_eq!(factor(typed).unwrap_or_else(|bad| panic!("{bad}")).to_string(), typed);
    }
    for kind in factors() {
        assert!(TYPED.iter().any(|typed| typed.split('=').next() == Some(kind.name)), "{kind:?}");
    }
}

#[test]
fn short_forms_are_understood() {
    let same = |typed: &str, printed: &str| assert_eq!(factor(typed).unwrap().to_string(), printed);
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
fn invalid_settings_are_rejected_with_the_syntax() {
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
        let bad = factor(wrong).expect_err(wrong);
        let (name, setting) = wrong.split_once('=').unwrap();
        assert!(bad.starts_with(&format!("`{setting}` is not a setting of {name}; use ")), "{bad}");
    }
}

#[test]
fn numbers_grow_with_what_they_stand_for() {
    let number = |typed: &str| factor(typed).unwrap().number();
    assert_eq!(number("date=1970-01-02T00:00:00Z"), Some(86_400.0));
    assert_eq!(number("date=2028-03-01T00:00:00Z"), Some(1_835_481_600.0));
    assert!(number("date=2028-02-29T23:59:58+01:00") < number("date=2028-02-29T23:59:58Z"));
    assert_eq!(number("memory=1K"), Some(1024.0));
    assert_eq!(number("speed=0.5"), Some(0.5));
    assert_eq!(number("listing=reversed"), None);
    assert_eq!(number("network=off"), None);
    assert_eq!(number("date=+3d"), None);
}

#[test]
fn settings_move_along_their_scale() {
    let check = |text: &str, number: f64, expected: Option<&str>| {
        let moved = factor(text).unwrap().with_number(number).map(|factor| factor.to_string());
        assert_eq!(moved.as_deref(), expected, "{text} at {number}");
    };
    check("load=8", 3.0, Some("load=3"));
    check("memory=2G", 1048576.0, Some("memory=1M"));
    check("delays=20ms/5@7", 0.001, Some("delays=1ms/5@7"));
    check("network=slow:1s", 0.25, Some("network=slow:250ms"));
    check("network=off", 0.25, None);
    check("speed=10", 2.5, Some("speed=2.5"));
    check("date=2027-01-30", 1_835_395_199.0, Some("date=2028-02-28T23:59:59"));
    check("date=2027-01-30", 1_835_352_000.0, Some("date=2028-02-28"));
    check("date=2027-01-30", -1.0, None);
    check("time-zone=UTC", 5.0, None);
    check("load=8", 0.0, None);
}

fn context() -> PlanContext {
    PlanContext {
        now: Moment { year: 2026, month: 11, day: 15, hour: 23, minute: 0, second: 0, offset: None },
        zone: Some("Europe/Berlin".to_owned()),
        cores: 2,
        command: Vec::new(),
        tool_variables: Vec::new(),
    }
}

#[test]
fn every_factor_has_settings_to_try_or_a_reason() {
    for kind in factors() {
        let plan = (kind.plan)(&context());
        assert!(!plan.settings.is_empty() || plan.missing.is_some(), "{kind:?}");
        for setting in plan.settings.iter().chain(&(kind.baseline)(&context())) {
            assert_eq!((kind.parse)(setting).as_ref(), Some(setting), "{kind:?}");
        }
    }
}

#[test]
fn dates_are_those_that_tests_fail_on() {
    let plan =
        (FactorKind::named("date").or(factor("date=+1d").ok().map(|date| date.kind())).unwrap().plan)(&context());
    assert_eq!(
        plan.settings,
        [
            "2027-01-31",
            "2038-01-20",
            "2028-02-29",
            "2026-12-31T23:59:30",
            "2026-11-22",
            "2025-11-15",
            "2026-12-01T00:00:30",
            "2027-03-31",
            "2027-07-15",
            "2027-01-01",
            "2027-05-31",
            "2027-02-28",
            "2027-04-30",
            "2027-08-31",
            "2027-07-31",
            "2027-10-31",
            "2026-11-30",
            "2027-01-02",
            "2042-11-15",
        ]
    );
}

#[test]
fn clock_changes_come_with_their_zone() {
    let changes = clock_changes(&context());
    assert_eq!(changes[0], ["date=2027-03-28T01:30:00", "time-zone=Europe/Berlin"]);
    assert_eq!(changes[1], ["date=2027-10-31T02:30:00", "time-zone=Europe/Berlin"]);
    assert_eq!(changes[2], ["date=2027-03-14T01:30:00", "time-zone=America/New_York"]);
}

proptest! {
    #[test]
    fn any_text_is_a_canonical_setting_or_none(kind in 0..16usize, text in ".{0,24}") {
        let kind = factors().nth(kind).unwrap();
        if let Some(setting) = (kind.parse)(&text) {
            prop_assert_eq!((kind.parse)(&setting), Some(setting));
        }
    }

    #[test]
    fn speeds_and_sizes_survive_printing_and_parsing(number in 1_000..=1_000_000_000u64) {
        let speed = factor("speed=1").unwrap().with_number(number as f64 / 1e6).unwrap();
        prop_assert_eq!(factor(&speed.to_string()), Ok(speed));
        let size = factor(&format!("memory={number}")).unwrap();
        prop_assert_eq!(factor(&size.to_string()), Ok(size));
    }
}
