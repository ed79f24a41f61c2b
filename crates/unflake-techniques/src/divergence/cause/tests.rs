//! Tests of `cause`.

use super::*;
use crate::divergence::recorded_traces::RecordedTraces;

fn start(recorded: &RecordedTraces, line: u32, at: f64) -> Candidate {
    let id = (0..).map(LineId).find(|id| unflake_model::Traces::line(recorded, *id).line == line).unwrap();
    Candidate {
        how: unflake_model::DivergenceKind::Control,
        thread: 0,
        line: id,
        to: None,
        predicts: vec![true; recorded.runs.len()],
        at: vec![Some(at); recorded.runs.len()],
        when: 0.5,
        p_value: 0.0,
        what: String::new(),
        value: None,
        shown: Vec::new(),
    }
}

fn of(recorded: &RecordedTraces, line: u32, at: f64) -> (Cause, String) {
    let why = cause(&AlignedRuns::new(recorded, &recorded.runs), &start(recorded, line, at));
    (why.cause, why.because)
}

#[test]
fn the_blamed_line_is_examined_before_its_predecessors() {
    let mut runs = RecordedTraces::default();
    runs.run(true, &[("main", "t:1 t:2 d:8 d:9 t:3 t:4")]);
    runs.reach("t:1", Cause::Time, "time.time").reach("d:9", Cause::Randomness, "random.random");
    assert_eq!(of(&runs, 1, 1.0), (Cause::Time, "a.src:1 uses time.time".into()));
    let expected = (Cause::Randomness, "a.src:9, just before it, uses random.random".into());
    assert_eq!(of(&runs, 2, 3.75), expected, "the call that the line made");
    assert_eq!(of(&runs, 3, 5.0), expected);
}

#[test]
fn calls_with_changing_results_are_the_likelier_cause() {
    let mut runs = RecordedTraces::default();
    runs.run(true, &[("main", "t:1 t:2")]);
    runs.reach("t:1", Cause::AsyncWait, "time.sleep").reach("t:1", Cause::Time, "time.time");
    assert_eq!(of(&runs, 1, 1.0).0, Cause::Time);
}

#[test]
fn a_call_is_found_however_far_back() {
    let mut runs = RecordedTraces::default();
    let turns = "t:3 t:4 ".repeat(5000);
    runs.run(true, &[("main", &format!("t:1 t:2 {turns}t:5"))]);
    runs.reach("t:1", Cause::Randomness, "random.random");
    let expected = "a.src:1, 10003 steps before it, uses random.random";
    assert_eq!(of(&runs, 5, 10003.0), (Cause::Randomness, expected.into()));
}

#[test]
fn the_thread_structure_is_the_fallback() {
    let mut runs = RecordedTraces::default();
    runs.run(true, &[("main", "t:1 t:2")]);
    assert_eq!(of(&runs, 2, 2.0).0, Cause::Unknown);
    let mut runs = RecordedTraces::default();
    runs.run(true, &[("main", "t:1 t:2 t:3"), ("worker", "w:1 w:2 w:3")]);
    assert_eq!(of(&runs, 2, 2.0).0, Cause::Race);
    let mut runs = RecordedTraces::default();
    runs.run(true, &[("main", "t:1 t:2"), ("task a", "w:1"), ("task b", "w:1")]);
    assert_eq!(of(&runs, 2, 2.0).0, Cause::AsyncWait);
}

#[test]
fn equal_items_in_another_order_mean_an_unordered_collection() {
    let mut runs = RecordedTraces::default();
    runs.run(true, &[("main", "t:1 t:2")]).run(false, &[("main", "t:1 t:2")]);
    runs.reach("t:1", Cause::Time, "time.time");
    let mut shuffled = start(&runs, 2, 2.0);
    shuffled.shown = vec![Some("{'b', 'a'}".into()), Some("{'a', 'b'}".into())];
    let of = |runs: &RecordedTraces, start: &Candidate| cause(&AlignedRuns::new(runs, &runs.runs), start).cause;
    assert_eq!(of(&runs, &shuffled), Cause::UnorderedCollection);
    runs.reach("t:1", Cause::Randomness, "random.shuffle");
    assert_eq!(of(&runs, &shuffled), Cause::Randomness);
    shuffled.shown = vec![Some("{'b', 'a'}".into()), Some("{'a', 'c'}".into())];
    assert_eq!(of(&runs, &shuffled), Cause::Randomness);
}

#[test]
fn results_of_several_threads_arrive_in_completion_order() {
    let strands = [("main", "t:1 t:2 t:3"), ("worker", "w:1 w:2 w:3")];
    let mut runs = RecordedTraces::default();
    runs.run(true, &strands).run(false, &strands);
    runs.reach("t:1", Cause::Race, "ExecutorService.submit");
    let mut shuffled = start(&runs, 2, 2.0);
    shuffled.shown = vec![Some("['b', 'a']".into()), Some("['a', 'b']".into())];
    assert_eq!(cause(&AlignedRuns::new(&runs, &runs.runs), &shuffled).cause, Cause::Race);
    let mut alone = RecordedTraces::default();
    alone.run(true, &strands[..1]).run(false, &strands[..1]).reach("t:1", Cause::Race, "ExecutorService.submit");
    assert_eq!(cause(&AlignedRuns::new(&alone, &alone.runs), &shuffled).cause, Cause::UnorderedCollection);
}

#[test]
fn a_sleep_of_the_failing_thread_says_more_than_a_lock_of_another() {
    let mut runs = RecordedTraces::default();
    runs.run(true, &[("main", "t:1 t:2 t:3"), ("worker", "w:7 w:8 w:9")]).raised(3);
    runs.reach("w:7", Cause::Race, "threading.lock");
    let blamed = |runs: &RecordedTraces| {
        let one = Candidate { thread: 1, ..start(runs, 8, 1.0) };
        cause(&AlignedRuns::new(runs, &runs.runs), &one).cause
    };
    assert_eq!(blamed(&runs), Cause::Race);
    runs.reach("t:2", Cause::AsyncWait, "time.sleep");
    assert_eq!(blamed(&runs), Cause::AsyncWait);
}
