//! Tests of `common_prefix`.

use super::*;
use crate::divergence::recorded_traces::RecordedTraces;

fn numbers(lines: &[SourceLine]) -> Vec<u32> {
    lines.iter().map(|line| line.line).collect()
}

fn points(recorded: &RecordedTraces) -> Vec<DivergencePoint> {
    divergence_points(&AlignedRuns::new(recorded, &recorded.runs))
}

/// Listings 1 to 3 of the paper: the test calls a function that draws 0 or 1.
#[test]
fn the_example_of_the_paper_diverges_at_its_branch() {
    let mut runs = RecordedTraces::default();
    runs.run(false, &[("main", "test:109 draw:7 draw:8 draw:9 draw:10 test:111")]);
    runs.run(true, &[("main", "test:109 draw:7 draw:8 draw:9 draw:12")]);
    let found = points(&runs);
    assert_eq!(found.len(), 1);
    let point = &found[0];
    assert_eq!(numbers(&point.before), [109, 7, 8, 9]);
    assert_eq!(point.last.as_ref().unwrap().line, 9);
    assert_eq!(numbers(&point.passing), [10]);
    assert_eq!(numbers(&point.failing), [12]);
    assert_eq!(numbers(&point.calls), [109]);
    assert_eq!((point.runs, point.common), (1, 4));
    assert_eq!(point.messages, [("it failed".to_owned(), 1)]);
}

#[test]
fn failing_runs_are_grouped_by_divergence_from_the_nearest_passing_run() {
    let mut runs = RecordedTraces::default();
    runs.run(false, &[("main", "t:1 t:2 t:9")]);
    runs.run(false, &[("main", "t:1 t:3 t:4 t:9")]);
    runs.run(true, &[("main", "t:1 t:3 t:5")]);
    runs.run(true, &[("main", "t:1 t:3 t:5")]);
    runs.run(true, &[("main", "t:1 t:2 t:8")]);
    let found = points(&runs);
    let summary: Vec<_> = found.iter().map(|point| (point.runs, numbers(&point.before), point.common)).collect();
    assert_eq!(summary, [(2, vec![1, 3], 2), (1, vec![1, 2], 2)]);
    assert_eq!(numbers(&found[0].passing), [4, 9]);
    assert_eq!(numbers(&found[0].failing), [5]);
}

#[test]
fn lines_that_both_sides_reach_are_left_out() {
    let mut runs = RecordedTraces::default();
    runs.run(false, &[("main", "t:1 t:2 t:3 t:7 t:8")]);
    runs.run(true, &[("main", "t:1 t:4 t:5 t:7 t:9")]);
    let found = points(&runs);
    assert_eq!((numbers(&found[0].passing), numbers(&found[0].failing)), (vec![2, 3], vec![4, 5]));
}

#[test]
fn nothing_is_concluded_beyond_a_truncated_trace() {
    let mut runs = RecordedTraces::default();
    runs.run(false, &[("main", "t:1 t:2 …")]);
    runs.run(true, &[("main", "t:1 t:2 t:3")]);
    assert_eq!(points(&runs), []);
    runs.run(true, &[("main", "t:1 t:5 …")]);
    assert_eq!(points(&runs).len(), 1);
}

#[test]
fn the_earliest_diverging_thread_wins_and_the_others_are_kept() {
    let mut runs = RecordedTraces::default();
    runs.run(false, &[("main", "t:1 t:2 t:3 t:4"), ("worker", "w:1 w:2 w:3 w:4 w:5 w:6")]);
    runs.run(true, &[("main", "t:1 t:2 t:3 t:9"), ("worker", "w:1 w:7 w:3 w:4 w:5 w:6")]);
    let found = points(&runs);
    assert_eq!(found[0].strand, "worker");
    assert_eq!(found[0].elsewhere.len(), 1);
    assert_eq!(found[0].elsewhere[0].0, "main");
    assert_eq!(found[0].elsewhere[0].1.as_ref().unwrap().line, 3);
}

#[test]
fn identical_traces_have_no_divergence_point() {
    let mut runs = RecordedTraces::default();
    runs.run(false, &[("main", "t:1 t:2")]).run(true, &[("main", "t:1 t:2")]);
    assert_eq!(points(&runs), []);
}
