//! Tests of `conclusion`.

use unflake_model::Cause;

use super::*;
use crate::divergence::recorded_traces::RecordedTraces;

fn conclude(recorded: &RecordedTraces) -> Divergence {
    divergence(recorded, &recorded.runs)
}

fn first(recorded: &RecordedTraces) -> (u32, DivergenceKind, String) {
    let found = conclude(recorded);
    let first = found.locations.first().unwrap_or_else(|| panic!("nothing was found: {found:?}"));
    (first.line.line, first.how, first.sentence.clone())
}

/// A delay with random jitter: 11 of 50 runs draw the limit or more.
fn jitter(limit: f64) -> RecordedTraces {
    let mut runs = RecordedTraces::default();
    for at in 0..50_u32 {
        let drawn = f64::from((at * 37 + 11) % 50) / 50.0;
        let failed = drawn >= limit;
        let way = if failed { "d:21" } else { "d:22 t:6" };
        let busy = "s:30 s:31 ".repeat((at * 7 % 4) as usize);
        let number = at * 7919 % 1000;
        let text = format!(
            "t:5 n={number} {busy} s:30 d:17 d:18 jitter={drawn} d:19 delay={} d:20 {way}",
            0.1 * (1.0 + drawn)
        );
        runs.run(failed, &[("main", &text)]);
    }
    runs.reach("d:18", Cause::Randomness, "random.random").raised(21);
    runs
}

#[test]
fn the_drawn_number_wins_over_the_branch_it_decides() {
    let found = conclude(&jitter(0.78));
    assert_eq!((found.runs, found.failed), (50, 11));
    let start = &found.locations[0];
    assert_eq!((start.line.line, start.how), (18, DivergenceKind::Value));
    assert_eq!(start.sentence, "jitter ≥ 0.78 in all 11 failing runs, never in 39 passing ones");
    assert_eq!(start.value.as_ref().unwrap().failing, ["0.78 – 0.98"]);
    assert!(start.chance < 1e-6, "{}", start.chance);
    assert_eq!((found.kind, found.because.as_str()), (Cause::Randomness, "a.src:18 uses random.random"));
    assert_eq!(found.shows.unwrap().line, 21);
    let others: Vec<u32> = found.locations[1..].iter().map(|location| location.line.line).collect();
    assert_eq!(others, [19, 20], "then what was made of it, then the branch");
    assert_eq!(found.locations[2].sentence, "line 21 follows in all 11 failing runs, never in 39 passing ones");
}

#[test]
fn every_value_that_was_compared_weakens_a_branch() {
    let chance = |values: u32| {
        let mut runs = RecordedTraces::default();
        for at in 0..20_u32 {
            let failed = at % 5 == 2;
            let others: String = (0..values).map(|name| format!("v{name}={} ", at * (name * 2 + 3) % 23)).collect();
            let way = if failed { "t:3" } else { "t:4" };
            runs.run(failed, &[("main", &format!("t:1 {others}t:2 {way} t:5"))]);
        }
        let found = conclude(runs.raised(5));
        found.locations.iter().find(|one| one.how == DivergenceKind::Control).unwrap().chance
    };
    assert!(chance(0) < 0.001, "{}", chance(0));
    assert!(chance(20) > chance(0) * 10.0, "{} {}", chance(0), chance(20));
}

#[test]
fn control_flow_wins_where_values_differ_only_afterwards() {
    let mut runs = RecordedTraces::default();
    for _ in 0..10 {
        runs.run(false, &[("main", "t:1 t:2 t:3 x=1 t:5")]).run(true, &[("main", "t:1 t:2 t:4 x=2 t:5")]);
    }
    assert_eq!(
        first(runs.raised(5)),
        (2, DivergenceKind::Control, "line 4 follows in all 10 failing runs, never in 10 passing ones".into())
    );
}

#[test]
fn a_value_is_the_answer_where_control_flow_never_diverges() {
    let mut runs = RecordedTraces::default();
    for at in 0..12 {
        let failed = at % 3 == 0;
        let order = if failed { "['b',_'a']" } else { "['a',_'b']" };
        runs.run(failed, &[("main", &format!("t:1 names={order} t:2"))]);
    }
    let (line, how, sentence) = first(runs.raised(2));
    assert_eq!((line, how), (1, DivergenceKind::Value));
    assert!(sentence.starts_with("names is ['b', 'a'] in all 4 failing runs"), "{sentence}");
}

#[test]
fn a_preceding_wait_is_the_start_rather_than_the_failure_itself() {
    let mut runs = RecordedTraces::default();
    for _ in 0..8 {
        runs.run(false, &[("main", "t:1 t:2 t:3 t:4"), ("worker", "w:1 w:2")]);
        runs.run(true, &[("main", "t:1 t:2 t:3"), ("worker", "w:1 w:2")]);
    }
    runs.reach("t:2", Cause::AsyncWait, "time.sleep").raised(3);
    let found = conclude(&runs);
    assert_eq!(
        (found.locations[0].line.line, found.locations[0].how, found.kind),
        (2, DivergenceKind::Order, Cause::AsyncWait)
    );
    assert_eq!((found.locations[1].line.line, found.locations[1].how), (3, DivergenceKind::Control));
    assert_eq!(found.locations[0].chance, 1.0, "nothing was measured");
}

#[test]
fn two_kinds_of_failure_have_two_starts() {
    let mut runs = RecordedTraces::default();
    for at in 0..30 {
        let (way, failed) = [("t:2 t:3 t:5 t:6", false), ("t:2 t:8", true), ("t:2 t:3 t:5 t:9", true)][at % 3];
        runs.run(failed, &[("main", &format!("t:1 {way}"))]);
        let run = runs.runs.last_mut().unwrap();
        (run.kind, run.raised) =
            (way.to_owned(), failed.then(|| ("a.src".to_owned(), if way.ends_with('8') { 8 } else { 9 })));
    }
    let found = conclude(&runs);
    let mut lines: Vec<(u32, u32)> = found.locations.iter().map(|one| (one.line.line, one.failing)).collect();
    lines.sort_unstable();
    assert_eq!(lines, [(2, 10), (5, 10)]);
    assert_eq!(found.points.len(), 2);
}

#[test]
fn identical_runs_yield_only_the_failing_line() {
    let mut runs = RecordedTraces::default();
    for _ in 0..6 {
        runs.run(false, &[("main", "t:1 t:2")]).run(true, &[("main", "t:1 t:2")]);
    }
    let found = conclude(runs.raised(2));
    assert_eq!((found.points.len(), found.kind), (0, Cause::Unknown));
    let [only] = &found.locations[..] else { panic!("{:?}", found.locations) };
    assert_eq!((only.line.line, only.chance), (2, 1.0), "no more than that it fails there");
}

#[test]
fn a_single_thread_is_in_no_race() {
    let conclusion = |others: &[(&str, &str)]| {
        let mut runs = RecordedTraces::default();
        for at in 0..20 {
            let threads = [&[("main", "t:1 t:2 t:3")][..], others].concat();
            runs.run(at % 7 == 0, &threads);
        }
        runs.reach("t:1", Cause::Race, "concurrent.futures.ThreadPoolExecutor").reach("t:2", Cause::Time, "time.time");
        let found = conclude(runs.raised(3));
        (found.kind, found.locations[0].line.line)
    };
    assert_eq!(conclusion(&[]), (Cause::Time, 2), "a pool without threads");
    assert_eq!(conclusion(&[("worker", "w:7 w:8 w:9")]), (Cause::Race, 1));
}

#[test]
fn values_drawn_while_loading_precede_everything() {
    let mut runs = RecordedTraces::default();
    for at in 0..20 {
        let bucket = at * 13 % 20;
        let failed = bucket < 8;
        let way = if failed { "t:2 t:3" } else { "t:2 t:4" };
        runs.run(
            failed,
            &[("main", &format!("t:1 {way}")), ("loading", &format!("m:1 m:2 m:3 BUCKET={bucket} m:4 m:5"))],
        );
    }
    let (line, how, sentence) = first(runs.raised(3));
    assert_eq!((line, how), (3, DivergenceKind::Value));
    assert!(sentence.starts_with("BUCKET ≤ 7"), "{sentence}");
}

#[test]
fn varying_work_shares_of_threads_are_a_race() {
    let mut runs = RecordedTraces::default();
    for at in 0..16_usize {
        let turns = |times: usize| "w:1 w:2 ".repeat(1 + times);
        let (one, other) = (turns(at), turns(15 - at));
        runs.run(at % 3 == 0, &[("main", "t:1 t:2 t:3"), ("one", &one), ("other", &other)]);
    }
    runs.reach("t:2", Cause::AsyncWait, "threading.Thread.join").raised(3);
    let found = conclude(&runs);
    assert_eq!((found.locations[0].how, found.kind), (DivergenceKind::Order, Cause::Race));
    assert_eq!(found.locations[0].line.function, "w");
}

#[test]
fn calls_of_the_failing_line_precede_its_failure() {
    let mut runs = RecordedTraces::default();
    for _ in 0..6 {
        runs.run(false, &[("main", "f:1 t:5 c:1 c:2 c:9 t:6 f:2")]);
        runs.run(true, &[("main", "f:1 t:5 c:1 c:3 c:9 f:2")]);
    }
    assert_eq!(first(runs.raised(5)).0, 1, "the branch in the call");
    let mut runs = RecordedTraces::default();
    for _ in 0..6 {
        runs.run(false, &[("main", "f:1 t:5 c:1 c:2 c:9 t:6 f:2")]);
        runs.run(true, &[("main", "f:1 t:5 c:1 c:2 c:9 f:2")]);
    }
    runs.reach("c:2", Cause::AsyncWait, "time.sleep").raised(5);
    assert_eq!((first(&runs).0, first(&runs).1), (2, DivergenceKind::Order), "the way out of it is no branch");
}

#[test]
fn two_causes_of_one_failure_are_both_reported() {
    let mut runs = RecordedTraces::default();
    for at in 0..60_u32 {
        let (turn, window) = (at * 7 % 5, at * 11 % 6);
        let failed = turn == 0 || window == 5;
        let end = if failed { "" } else { "t:4" };
        runs.run(failed, &[("main", &format!("t:1 turn={turn} t:2 window={window} t:3 {end}"))]);
    }
    let found = conclude(runs.raised(3));
    let lines: Vec<u32> = found.locations.iter().map(|one| one.line.line).collect();
    assert!(lines.contains(&1) && lines.contains(&2), "{:?}", found.locations);
    assert!(found.locations[1].sentence.contains("other failing runs"), "{:?}", found.locations);
}

#[test]
fn a_value_passed_to_a_task_is_located_before_the_task() {
    let mut runs = RecordedTraces::default();
    for at in 0..20 {
        let (path, failed) = if at % 3 == 0 { ("'/b'", true) } else { ("'/a'", false) };
        let parent = format!("c:1 c:2 c:3 c:4 c:5 c:6 c:7 path={path} c:8 {}", if failed { "" } else { "c:9" });
        runs.run(failed, &[("main", &parent), ("task fetch", &format!("f:20 path={path} f:21 f:22"))]);
    }
    runs.reach("c:7", Cause::Race, "asyncio.create_task").raised(8);
    assert_eq!(first(&runs).0, 7);
}

#[test]
fn a_list_shared_by_several_threads_is_a_race() {
    let mut runs = RecordedTraces::default();
    for at in 0..12 {
        let end = if at % 3 == 0 { "" } else { "t:4" };
        runs.run(
            at % 3 == 0,
            &[
                ("main", &format!("t:1 done=[] t:2 t:3 {end}")),
                ("one", "w:1 name='a' w:2 done=['a',_…_9_items] w:1"),
                ("other", "w:1 name='b' w:2 done=['b',_…_9_items] w:1"),
            ],
        );
    }
    runs.reach("t:2", Cause::AsyncWait, "threading.Thread.join").raised(3);
    let found = conclude(&runs);
    assert_eq!((found.locations[0].line.function.as_str(), found.locations[0].line.line), ("w", 2));
    assert_eq!((found.locations[0].how, found.kind), (DivergenceKind::Order, Cause::Race));
}

#[test]
fn work_before_and_after_other_threads_is_ordered_around_them() {
    let mut runs = RecordedTraces::default();
    for at in 0..20 {
        let (drawn, result) = (at * 7 % 20, at % 5);
        let failed = result == 0;
        let main = format!("t:1 n={drawn} t:2 t:3 sum={result} t:4 {}", if failed { "" } else { "t:5" });
        runs.run(failed, &[("main", &main), ("worker", &format!("w:11 w:12 x={} w:13", result * 2))]);
    }
    runs.reach("t:2", Cause::Race, "threading.Thread.start").raised(4);
    assert_eq!(first(&runs).0, 12, "the sum is made of what the worker did");
    let mut runs = RecordedTraces::default();
    for at in 0..20 {
        let drawn = at * 7 % 20;
        let main = format!("t:1 n={drawn} t:2 t:3 t:4 {}", if drawn < 6 { "" } else { "t:5" });
        runs.run(drawn < 6, &[("main", &main), ("worker", &format!("w:11 w:12 x={} w:13", drawn * 2))]);
    }
    runs.reach("t:2", Cause::Race, "threading.Thread.start").raised(4);
    assert_eq!(first(&runs).0, 1, "the worker works with what was drawn before");
}
