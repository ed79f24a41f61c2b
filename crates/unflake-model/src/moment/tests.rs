//! Tests of `moment`.

use proptest::prelude::*;

use super::*;

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
    fn moments_survive_printing_and_parsing(moment in any_moment()) {
        let setting = ClockSetting::At(moment);
        prop_assert_eq!(setting.to_string().parse(), Ok(setting));
    }

    #[test]
    fn shifts_survive_printing_and_parsing(seconds in (-3_000_000_000..=3_000_000_000i64).prop_filter("not 0", |n| *n != 0)) {
        let setting = ClockSetting::Shifted(seconds);
        prop_assert_eq!(setting.to_string().parse(), Ok(setting));
    }

    #[test]
    fn a_second_later_is_a_larger_number(moment in any_moment(), seconds in 0..59i8) {
        let at = |second| ClockSetting::At(Moment { second, ..moment }).number();
        prop_assert_eq!(at(seconds + 1) - at(seconds), 1.0);
    }
}

#[test]
fn seconds_and_moments_correspond() {
    for seconds in (0..7_289_654_400).step_by(86_399 * 17) {
        let moment = Moment::at(seconds).unwrap();
        assert_eq!(ClockSetting::At(moment).number() as i64, seconds, "{moment}");
    }
    assert_eq!(Moment::at(8_000_000_000), None);
}
