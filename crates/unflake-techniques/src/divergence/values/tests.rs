//! Tests of `values`.

use super::*;
use crate::divergence::recorded_traces::RecordedTraces;
use crate::search::rng::SeededRng;

const BLAMED: f64 = 0.01;

fn blamed(recorded: &RecordedTraces) -> Vec<Candidate> {
    let runs = AlignedRuns::new(recorded, &recorded.runs);
    let ValueCandidates { mut found, examined, .. } = value_candidates(&runs);
    found.retain(|one| one.p_value * (examined as f64) < BLAMED && one.is_good(&runs));
    found.sort_by(|one, other| one.when.total_cmp(&other.when));
    found
}

fn words_of(recorded: &RecordedTraces) -> Vec<String> {
    blamed(recorded).into_iter().map(|one| one.what).collect()
}

/// Twenty runs; `failed` decides their outcomes and `text` their traces.
fn runs(failed: impl Fn(u32) -> bool, text: impl Fn(u32) -> String) -> RecordedTraces {
    let mut recorded = RecordedTraces::default();
    for at in 0..20 {
        recorded.run(failed(at), &[("main", &text(at))]);
    }
    recorded
}

#[test]
fn random_values_are_not_blamed() {
    let found =
        runs(|at| at % 4 == 1, |at| format!("t:1 id='{:x}' now={} t:2 n={}", at * 40503, 1000 + at, at * 7 % 20));
    assert_eq!(words_of(&found), [""; 0]);
}

#[test]
fn a_clock_is_not_blamed_because_late_runs_failed() {
    let late = runs(|at| at >= 14, |at| format!("t:1 now={} t:2", 1_000_000 + at * 3));
    assert_eq!(words_of(&late), [""; 0]);
    let seen = AlignedRuns::new(&late, &late.runs);
    assert!(value_candidates(&seen).like_clocks);
    let by_value = runs(|at| at * 7 % 20 >= 14, |at| format!("t:1 n={} t:2", at * 7 % 20));
    assert_eq!(words_of(&by_value), ["n ≥ 14"]);
}

#[test]
fn comparison_with_the_previous_occurrence_is_found() {
    let ticks =
        runs(|at| at % 3 == 0, |at| format!("t:1 tick={} t:2 t:1 tick={} t:3", at * 5, at * 5 + u32::from(at % 3 > 0)));
    assert!(words_of(&ticks).contains(&"tick the 2nd time is unchanged".to_owned()), "{:?}", words_of(&ticks));
    let ports = runs(
        |at| at % 3 == 0,
        |at| {
            let first = 40_000 + at * 7919 % 9999;
            let second = if at % 3 == 0 { first - 5 } else { first + 9 };
            format!("t:1 port=('host',_{first}) t:2 t:1 port=('host',_{second}) t:3")
        },
    );
    assert!(words_of(&ports).contains(&"port the 2nd time is less than before".to_owned()), "{:?}", words_of(&ports));
}

#[test]
fn one_large_draw_of_several_is_found() {
    let draws = runs(
        |at| at % 3 == 0,
        |at| {
            let other = |time: u32| SeededRng(u64::from(at * 4 + time)).below(90);
            let draw = |time: u32| if at % 3 == 0 && time == at % 4 { 95 } else { other(time) };
            (0..4).map(|time| format!("t:1 draw={} ", draw(time))).collect()
        },
    );
    assert_eq!(words_of(&draws)[0], "draw at some point is 95");
}

#[test]
fn lengths_and_first_items_are_found() {
    let lengths = runs(
        |at| at % 3 == 0,
        |at| {
            let more = if at % 3 == 0 { "" } else { ",_9" };
            format!("t:1 rows=[{},_{}{more}] t:2", at, at * 3)
        },
    );
    assert_eq!(words_of(&lengths), ["the number of items of rows is 2"]);
    let firsts = runs(
        |at| at % 3 == 0,
        |at| {
            let (one, other) = if at % 3 == 0 { ("b", "a") } else { ("a", "b") };
            format!("t:1 rows=['{one}',_'{other}',_{at}] t:2")
        },
    );
    assert!(words_of(&firsts).contains(&"the first item of rows is 'b'".to_owned()), "{:?}", words_of(&firsts));
}

#[test]
fn the_value_seen_first_ranks_first() {
    let found = runs(|at| at % 3 == 0, |at| format!("t:1 returns={0} x={0} t:2", u32::from(at % 3 == 0)));
    assert_eq!(words_of(&found), ["the return value is 1", "x is 1"]);
}

#[test]
fn overlapping_ranges_are_described_by_the_rule() {
    let shown = |failed: &dyn Fn(u32) -> bool| {
        let split = blamed(&runs(failed, |at| format!("t:1 n={} t:2", at * 7 % 20)))[0].value.clone().unwrap();
        (split.failing.join(", "), split.passing.join(", "))
    };
    let apart = shown(&|at| at * 7 % 20 >= 14);
    assert_eq!(apart, ("14 – 19".to_owned(), "0 – 13".to_owned()));
    let one_stray = shown(&|at| at * 7 % 20 >= 12 || at * 7 % 20 == 3);
    assert_eq!(one_stray, ("≥ 12 in 8 of 9".to_owned(), "≥ 12 in 0 of 11".to_owned()));
    let outside = shown(&|at| !(5..15).contains(&(at * 7 % 20)));
    assert_eq!(outside, ("0 – 4, 15 – 19".to_owned(), "5 – 14".to_owned()));
}

#[test]
fn a_missing_later_occurrence_is_only_visible_at_the_end() {
    let found = runs(
        |at| at % 3 == 0,
        |at| match at % 3 {
            0 => "t:1 state=new t:2 t:3".to_owned(),
            _ => "t:1 state=new t:2 t:1 state=old t:3".to_owned(),
        },
    );
    let end = blamed(&found).into_iter().find(|one| one.what == "state at the end is new").expect("it does tell them");
    assert_eq!(end.at[0], Some(3.0), "but only the end does so");
}

/// A run of a made-up test: loops and values of every kind that vary at random. Line 7 draws the
/// value that decides.
fn random_trace(rng: &mut SeededRng, at: usize, decides: usize) -> String {
    let mut text = format!("t:1 id='{:x}' now={} ", rng.below(1 << 40), 1_700_000 + at * 3 + rng.below(2));
    for _ in 0..=rng.below(3) {
        text += &format!("t:2 draw={} t:3 ready={} ", rng.below(1000), ["True", "False"][rng.below(2)]);
    }
    let letters = ["a", "b", "c"];
    let pick = |rng: &mut SeededRng| letters[rng.below(3)];
    text += &format!("t:4 names=['{}',_'{}'] t:5 n={} t:6 word='{}' ", pick(rng), pick(rng), rng.below(5), pick(rng));
    text + &format!("t:7 cause={decides} t:8 other={} t:9", rng.below(100))
}

#[test]
fn unrelated_outcomes_are_hardly_ever_blamed_on_a_value() {
    let (mut rng, mut wrong, trials) = (SeededRng(1), 0, 400);
    for _ in 0..trials {
        let mut recorded = RecordedTraces::default();
        let share = 1 + rng.below(5);
        for at in 0..30 {
            let (failed, decides) = (rng.below(10) < share, rng.below(100));
            recorded.run(failed, &[("main", &random_trace(&mut rng, at, decides))]);
        }
        wrong += u32::from(!blamed(&recorded).is_empty());
    }
    assert!(wrong * 100 <= trials, "{wrong} of {trials}");
}

#[test]
fn a_planted_cause_is_found() {
    let (mut rng, mut found, trials) = (SeededRng(2), 0, 100);
    for trial in 0..trials {
        let mut recorded = RecordedTraces::default();
        for at in 0..40 {
            let decides = rng.below(100);
            let failed = [decides >= 80, decides < 30, (40..60).contains(&decides)][trial % 3];
            recorded.run(failed, &[("main", &random_trace(&mut rng, at, decides))]);
        }
        found += usize::from(blamed(&recorded).first().is_some_and(|first| first.what.starts_with("cause ")));
    }
    assert!(found * 100 >= trials * 97, "{found} of {trials}");
}

#[test]
fn membership_of_an_item_is_found() {
    let sample = |at: u32| {
        let mut rng = SeededRng(u64::from(at));
        let mut all = vec!["cup", "mug", "lamp", "pen", "rug", "tin"];
        all.remove(rng.below(6));
        all.remove(rng.below(5));
        all
    };
    let basket = |at: u32| format!("t:1 names=['{}'] t:2", sample(at).join("',_'"));
    let found = runs(|at| !sample(at).contains(&"lamp"), basket);
    assert_eq!(words_of(&found)[0], "names does not have 'lamp'");
}

#[test]
fn long_numbers_are_shortened() {
    assert_eq!(
        ["0.7027955196783342", "17.123456", "12", "0.25", "1e-09", "0.00012345678", "none"].map(short),
        ["0.7028", "17.1235", "12", "0.25", "1e-09", "0.0001235", "none"]
    );
}

#[test]
fn values_beyond_the_failing_line_are_not_blamed() {
    // The test fails at its third line; passing runs call the same function once more.
    let mut found = runs(
        |at| at % 3 == 0,
        |at| match at % 3 {
            0 => "t:1 f:7 end=None t:2 t:3".to_owned(),
            _ => "t:1 f:7 end=None t:2 t:3 t:4 f:7 end=5 t:5".to_owned(),
        },
    );
    found.raised(3);
    assert_eq!(words_of(&found), [""; 0]);
    // Calls of that line itself may well be the start.
    let mut called = runs(
        |at| at % 3 == 0,
        |at| match at % 3 {
            0 => "t:1 t:3 f:7 end=None".to_owned(),
            _ => "t:1 t:3 f:7 end=5 t:4".to_owned(),
        },
    );
    called.raised(3);
    assert_eq!(words_of(&called), ["end is None"]);
}
