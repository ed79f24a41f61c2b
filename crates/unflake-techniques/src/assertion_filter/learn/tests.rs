//! Tests of `learn`.

use unflake_model::{AssertionKey, Outcome};

use super::*;
use crate::simulation::{attempt, listed};

const TEST: &str = "t.py::test_a";

fn spot(expression: &str) -> AssertionKey {
    AssertionKey {
        file: "t.py".to_owned(),
        function: "test_a".to_owned(),
        expression: expression.to_owned(),
        ordinal: 0,
    }
}

fn config(runs: u32, at_once: usize, tests: &[&str]) -> RepeatedRunsConfig {
    let tests = tests.iter().map(|test| (*test).to_owned()).collect();
    RepeatedRunsConfig { tests, runs, fresh_by: Isolation::Process, at_once }
}

/// One test with two assertions. The first fails in every other run, and the second is reached only
/// if the first passes or may fail.
#[derive(Default)]
struct ScriptedTest {
    runs: u32,
    may_fail: Vec<Assertion>,
}

struct Learned {
    samples: Vec<AssertionSample>,
    runs: u32,
    unmatched: Vec<String>,
    places: Vec<Placement>,
    most_at_once: usize,
}

fn learn(config: RepeatedRunsConfig) -> Learned {
    let (mut test, mut places, mut most_at_once) = (ScriptedTest::default(), Vec::new(), 0);
    let (mut runs, mut learning) = (RepeatedRuns::new(config), AssertionLearning::default());
    runs.observe(&listed(&[TEST, "t.py::test_b"], false), Recordings::EMPTY);
    let site = |expression: &str| AssertionSite { spot: spot(expression), line: 1, body: "b1".to_owned() };
    assert!(learning.start(&[], &[site("first"), site("second")], &HashMap::new()).is_empty());
    loop {
        let sessions = runs.next_sessions(Recordings::EMPTY);
        if sessions.is_empty() {
            let unmatched = runs.unmatched_names().to_vec();
            return Learned { samples: learning.samples(), runs: test.runs, unmatched, places, most_at_once };
        }
        test.may_fail = learning.changed_assertions().unwrap_or(test.may_fail);
        most_at_once = most_at_once.max(sessions.len());
        for session in sessions {
            places.push(session.place);
            for id in &session.tests {
                let records = if id.as_str() == TEST { test.run() } else { Vec::new() };
                learning.judge(&attempt(&session, id, Outcome::Passed), Some(records));
            }
        }
    }
}

impl ScriptedTest {
    fn run(&mut self) -> Vec<AssertionRecord> {
        let record = |expression: &str, how: AssertionOutcome, values: &str| {
            let failing = if how.is_failure() { vec![values.to_owned()] } else { Vec::new() };
            AssertionRecord { spot: spot(expression), line: 1, how, values: values.to_owned(), failing }
        };
        self.runs += 1;
        let may_fail = self.may_fail.iter().any(|assertion| assertion.spot.expression == "first");
        let (how, values) = match self.runs % 2 {
            1 => (AssertionOutcome::Held, "x = 1"),
            _ if may_fail => (AssertionOutcome::Filtered, "x = 2"),
            _ => (AssertionOutcome::Failed, "x = 2"),
        };
        let mut records = vec![record("first", how, values)];
        if how != AssertionOutcome::Failed {
            records.push(record("second", AssertionOutcome::Held, "y = 1"));
        }
        records
    }
}

#[test]
fn runs_are_sequential_and_the_first_uses_the_users_process() {
    let learned = learn(config(10, 1, &[]));
    assert_eq!((learned.runs, learned.most_at_once, learned.places.len()), (10, 1, 10));
    assert_eq!(learned.places[0], Placement::Live);
    assert!(learned.places[1..].iter().all(|place| *place == Placement::Fresh(Isolation::Process)));
    assert_eq!(learn(config(10, 4, &[])).most_at_once, 4);
}

#[test]
fn assertions_after_a_varying_one_are_sampled_equally_often() {
    let samples = learn(config(10, 1, &[])).samples;
    let of = |expression: &str| samples.iter().find(|sample| sample.assertion.spot.expression == expression).unwrap();
    let times: Vec<(AssertionOutcome, u32)> = of("first").groups.iter().map(|group| (group.how, group.times)).collect();
    // Tolerated or not, it failed.
    assert_eq!(times, [(AssertionOutcome::Held, 5), (AssertionOutcome::Failed, 5)]);
    // Only the second run ended before it.
    assert_eq!(of("second").groups.iter().map(|group| group.times).sum::<u32>(), 9);
    assert_eq!(of("second").body, "b1");
}

#[test]
fn names_select_tests() {
    let learned = learn(config(3, 1, &["test_b", "nowhere"]));
    assert_eq!((learned.samples.len(), learned.runs, learned.unmatched), (0, 0, vec!["nowhere".to_owned()]));
}
