//! Tests of `edges`.

use super::*;
use crate::divergence::recorded_traces::RecordedTraces;

/// Edges that separate all failing from all passing runs, earliest first: line and sentence.
fn perfect(recorded: &RecordedTraces) -> Vec<(u32, String)> {
    let runs = AlignedRuns::new(recorded, &recorded.runs);
    let mut found = edge_candidates(&runs, 0).0;
    found.retain(|one| one.is_perfect(&runs));
    found.sort_by(|one, other| one.when.total_cmp(&other.when).then(one.what.cmp(&other.what)));
    found.iter().map(|one| (runs.traces.line(one.line).line, one.what.clone())).collect()
}

fn first(recorded: &RecordedTraces) -> (u32, String) {
    perfect(recorded).first().cloned().unwrap_or_default()
}

#[test]
fn a_branch_that_only_failing_runs_take_is_found() {
    let mut runs = RecordedTraces::default();
    for _ in 0..3 {
        runs.run(false, &[("main", "t:1 t:2 t:3 t:5")]).run(true, &[("main", "t:1 t:2 t:4 t:5")]);
    }
    assert_eq!(first(&runs), (2, "line 4 follows".into()));
}

#[test]
fn loops_that_vary_regardless_of_the_outcome_are_ignored() {
    let mut runs = RecordedTraces::default();
    for turns in [1, 2, 3, 4, 2, 3] {
        let noise = "t:2 t:3 ".repeat(turns);
        runs.run(false, &[("main", &format!("t:1 {noise} t:2 t:5 t:6 t:9"))]);
        runs.run(true, &[("main", &format!("t:1 {noise} t:2 t:5 t:7 t:9"))]);
    }
    assert_eq!(first(&runs), (5, "line 7 follows".into()));
}

#[test]
fn one_iteration_too_many_is_found() {
    let mut runs = RecordedTraces::default();
    for turns in 0..4 {
        runs.run(false, &[("main", &format!("t:1 {} t:2 t:5", "t:2 t:3 ".repeat(turns)))]);
        runs.run(true, &[("main", &format!("t:1 {} t:2 t:5", "t:2 t:3 ".repeat(turns + 4)))]);
    }
    assert_eq!(first(&runs), (2, "line 3 follows 4 times or more".into()));
}

#[test]
fn several_wrong_branches_are_one_missing_right_branch() {
    let mut runs = RecordedTraces::default();
    for at in 0..6 {
        runs.run(false, &[("main", "t:1 t:2 t:3 t:9")]);
        runs.run(true, &[("main", &format!("t:1 t:2 t:{} t:9", 4 + at % 3))]);
    }
    assert_eq!(first(&runs), (2, "line 3 does not follow".into()));
}

#[test]
fn threads_that_end_early_or_are_missing_are_found() {
    let mut runs = RecordedTraces::default();
    for _ in 0..3 {
        runs.run(false, &[("main", "t:1 t:2 t:3"), ("worker", "w:1 w:2")]);
        runs.run(true, &[("main", "t:1 t:2")]);
    }
    let found = perfect(&runs);
    assert!(found.contains(&(2, "no line follows".into())), "{found:?}");

    let mut cut = RecordedTraces::default();
    for _ in 0..3 {
        cut.run(false, &[("main", "t:1 t:2 t:3")]).run(true, &[("main", "t:1 t:2 …")]);
    }
    assert_eq!(perfect(&cut), [], "behind a cut anything may have come");
}

#[test]
fn a_line_reached_from_various_lines_is_found() {
    let mut runs = RecordedTraces::default();
    for at in 0..6 {
        runs.run(false, &[("main", &format!("t:1 t:{} t:5 t:9", 10 + at))]);
        runs.run(true, &[("main", &format!("t:1 t:{} t:6 t:9", 20 + at))]);
    }
    assert_eq!(first(&runs), (6, "it is reached".into()));
}

/// Two tills with three seats: each asks for every seat and sells those it finds free.
#[test]
fn edges_taken_too_often_by_two_threads_together_are_found() {
    let till = |sold: usize| format!("{}{}s:9", "s:1 s:2 ".repeat(sold), "s:1 ".repeat(3 - sold));
    let mut runs = RecordedTraces::default();
    for at in 0..12 {
        let (passing, failing) = (at % 4, 1 + at % 3);
        runs.run(false, &[("main", &format!("t:1 {} t:2", till(passing))), ("till", &till(3 - passing))]);
        runs.run(true, &[("main", &format!("t:1 {} t:2", till(failing))), ("till", &till(4 - failing))]);
    }
    assert_eq!(first(&runs), (1, "line 2 follows more often across all threads".into()));
}
