//! Tests of `prefilter`.

use unflake_model::{Detail, Finding, Isolation, NioKind, NioMode, Outcome};

use crate::idempotence::nio::{NioConfig, NioDetection};
use crate::idempotence::prefilter::ScreenIn;
use crate::simulation::simulated_suite::{SimulatedSuite, SimulatedTest, named, polluter, victim};
use crate::{Recordings, Technique};

type Found = (Vec<(String, NioKind, Option<Isolation>)>, usize);

fn run_nio(suite: &mut SimulatedSuite, mode: NioMode) -> Found {
    run_in(suite, mode, ScreenIn::InProcess, Isolation::Process)
}

fn run_in_shared_forks(suite: &mut SimulatedSuite) -> Found {
    run_in(suite, NioMode::IsolatedMethod, ScreenIn::SharedForks, Isolation::Fork)
}

fn run_in(suite: &mut SimulatedSuite, mode: NioMode, screen: ScreenIn, fresh_by: Isolation) -> Found {
    let mut nio = NioDetection::new(NioConfig {
        mode,
        only: None,
        class_of: |test| test,
        fresh_by,
        screen: Some(screen),
        jobs: 2,
        state: false,
        seconds: 1e6,
    });
    suite.run(&mut nio);
    let summary = |finding: Finding| match finding.detail {
        Detail::Nio(nio) => (finding.test.to_string(), nio.kind, nio.fresh),
        other => panic!("{other:?}"),
    };
    (nio.findings(Recordings::EMPTY).into_iter().map(summary).collect(), nio.screened_only())
}

/// Pollutes itself.
fn nio(cell: &str) -> SimulatedTest {
    SimulatedTest { writes: polluter(cell).writes, ..victim(&[cell]) }
}

fn in_process(outcome: Outcome) -> SimulatedTest {
    SimulatedTest { in_process_outcome: Some(outcome), ..SimulatedTest::default() }
}

fn found(test: usize) -> (String, NioKind, Option<Isolation>) {
    (named(test).to_string(), NioKind::Nio, Some(Isolation::Process))
}

#[test]
fn suspects_of_few_processes_are_confirmed_in_their_own() {
    let mut suite = SimulatedSuite::new(500, vec![(3, nio("x")), (400, nio("process.y"))]);
    assert_eq!(run_nio(&mut suite, NioMode::IsolatedMethod), (vec![found(3), found(400)], 498));
    // Four with in-process environments; for each suspect one that shows it, and six that repeat
    // it.
    assert_eq!((suite.forks, suite.executions), (4 + 2 * 7, 1000 + 2 * (2 + 3 * 2 + 3)));
}

#[test]
fn failures_in_class_loaders_only_are_no_finding() {
    let special =
        vec![(1, in_process(Outcome::Failed)), (2, in_process(Outcome::Skipped)), (3, in_process(Outcome::TimedOut))];
    let mut suite = SimulatedSuite::new(40, special);
    assert_eq!(run_nio(&mut suite, NioMode::IsolatedMethod), (Vec::new(), 37));
}

#[test]
fn skips_in_class_loaders_hide_nothing() {
    let hidden = SimulatedTest { in_process_outcome: Some(Outcome::Skipped), ..nio("x") };
    let mut suite =
        SimulatedSuite::new(40, vec![(1, hidden), (2, SimulatedTest { skips: true, ..SimulatedTest::default() })]);
    assert_eq!(run_nio(&mut suite, NioMode::IsolatedMethod), (vec![found(1)], 39));
}

#[test]
fn process_wide_state_of_other_tests_can_hide_nio() {
    // It would fail the second time if another test had not left state that prevents it.
    let cured = SimulatedTest {
        fails_if: Some(Box::new(|state| state.get("x") == Some(&1) && !state.contains_key("process.y"))),
        ..nio("x")
    };
    let mut suite = SimulatedSuite::new(3, vec![(0, polluter("process.y")), (1, cured)]);
    assert_eq!(run_nio(&mut suite, NioMode::IsolatedMethod), (Vec::new(), 3));
}

#[test]
fn screening_stops_where_class_loaders_suit_no_test() {
    let mut special: Vec<(usize, SimulatedTest)> = (0..500).map(|at| (at, in_process(Outcome::Error))).collect();
    special[300].1 = SimulatedTest { in_process_outcome: Some(Outcome::Error), ..nio("x") };
    let mut suite = SimulatedSuite::new(500, special);
    assert_eq!(run_nio(&mut suite, NioMode::IsolatedMethod), (vec![found(300)], 0));
    assert_eq!(suite.executions, 2 * 64 + 1000 + 3 * 2 + 3);
}

#[test]
fn other_modes_are_not_screened() {
    let mut suite = SimulatedSuite::new(40, vec![(3, nio("x"))]);
    assert_eq!(run_nio(&mut suite, NioMode::EntireSuite), (vec![found(3)], 0));
}

#[test]
fn shared_forks_cost_one_fork_for_many_tests() {
    let mut suite = SimulatedSuite::new(1000, vec![(500, nio("x"))]);
    let (found, screened) = run_in_shared_forks(&mut suite);
    assert_eq!((found[0].0.as_str(), found[0].1, found.len(), screened), ("t500", NioKind::Nio, 1, 999));
    // Two forks for the first 64 tests, 19 for the others; for the suspect one that shows it, and six
    // that repeat it.
    assert_eq!((suite.executions, suite.forks, suite.batches), (2011, 28, 4));
}

#[test]
fn what_fails_only_beside_others_in_a_shared_fork_is_no_finding() {
    let mut special: Vec<(usize, SimulatedTest)> = vec![(0, polluter("x"))];
    special.extend((100..110).map(|at| (at, victim(&["x"]))));
    let mut suite = SimulatedSuite::new(200, special);
    assert_eq!(run_in_shared_forks(&mut suite).0, []);
}

#[test]
fn few_tests_have_a_fork_each() {
    let mut suite = SimulatedSuite::new(64, vec![(3, nio("x"))]);
    let (found, screened) = run_in_shared_forks(&mut suite);
    assert_eq!((found.len(), screened, suite.forks), (1, 0, 64 + 6));
}

#[test]
fn state_of_other_tests_can_hide_nio_in_a_shared_fork() {
    let cured = SimulatedTest {
        fails_if: Some(Box::new(|state| state.get("x") == Some(&1) && !state.contains_key("y"))),
        ..nio("x")
    };
    let mut suite = SimulatedSuite::new(100, vec![(0, polluter("y")), (2, cured)]);
    assert_eq!(run_in_shared_forks(&mut suite), (Vec::new(), 100));
}
