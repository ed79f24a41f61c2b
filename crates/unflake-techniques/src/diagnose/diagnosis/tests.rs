//! Tests of `diagnosis`, on a simulated suite.

use std::collections::BTreeMap;

use unflake_model::NioMode;

use super::*;
use crate::simulation::simulated_suite::{SimulatedSuite, SimulatedTest, polluter, victim};

fn config(test: &str) -> DiagnosisConfig {
    DiagnosisConfig {
        test: test.to_owned(),
        verdict: None,
        steps: None,
        fresh_by: Isolation::Fork,
        seconds: 1e6,
        idempotence: Some(NioConfig {
            mode: NioMode::IsolatedMethod,
            only: None,
            class_of: |test| test,
            fresh_by: Isolation::Fork,
            screen: None,
            jobs: 1,
            state: true,
            seconds: 1e6,
        }),
        order: Some(OrderConfig {
            own_order: false,
            only: None,
            seconds: 1e6,
            patience: f64::INFINITY,
            doubts: true,
            random: 2,
            seed: 1,
            thorough: false,
            state: true,
            fresh_by: Isolation::Fork,
            failed_after: BTreeMap::new(),
        }),
        factors: None,
        slow_starts: false,
        side_by_side: false,
        delays: Vec::new(),
        seeds: Vec::new(),
        seed_of_forks: None,
        speed: None,
        schedules: None,
        names_delays: false,
        can_trace: true,
        can_compare_worlds: false,
    }
}

fn diagnosed(config: DiagnosisConfig, tests: Vec<(usize, SimulatedTest)>) -> (Diagnosis, Vec<Finding>) {
    let mut diagnosis = Diagnosis::new(config);
    SimulatedSuite::new(12, tests).run(&mut diagnosis);
    let findings = diagnosis.findings(Recordings::EMPTY);
    (diagnosis, findings)
}

fn ran(diagnosis: &Diagnosis) -> Vec<&'static str> {
    diagnosis.costs().iter().map(|cost| cost.step.name()).collect()
}

#[test]
fn a_victim_is_explained_by_its_polluter_and_nothing_else_is_tried() {
    let (diagnosis, found) = diagnosed(config("t9"), vec![(3, polluter("cell")), (9, victim(&["cell"]))]);
    assert_eq!(ran(&diagnosis), ["retries", "idempotence", "order"]);
    assert!(diagnosis.steps_left().is_empty());
    let proven = |finding: &&Finding| finding.confidence() == Some(Confidence::Proven);
    let of_state = found
        .iter()
        .filter(proven)
        .any(|finding| matches!(&finding.detail, Detail::State(leak) if leak.cells[0].path == "cell"));
    assert!(of_state, "{found:?}");
}

#[test]
fn a_test_that_pollutes_itself_may_have_other_polluters() {
    let both = || SimulatedTest { writes: polluter("cell").writes, ..victim(&["cell"]) };
    let (diagnosis, found) = diagnosed(config("t5"), vec![(5, both())]);
    assert_eq!(ran(&diagnosis), ["retries", "idempotence", "order"]);
    assert!(found.iter().any(|finding| matches!(finding.detail, Detail::Nio(_))), "{found:?}");
    let by_other =
        |finding: &Finding| matches!(&finding.detail, Detail::Order(order) if order.culprits == [["t3".into()]]);
    assert!(!found.iter().any(by_other));
    let (_, found) = diagnosed(config("t5"), vec![(3, polluter("cell")), (5, both())]);
    assert!(found.iter().any(by_other), "{found:?}");
}

#[test]
fn chance_is_left_to_traces() {
    let random = SimulatedTest { random_percent: 50, ..SimulatedTest::default() };
    let (diagnosis, found) = diagnosed(config("t5"), vec![(5, random)]);
    assert_eq!((ran(&diagnosis), found.len()), (vec!["retries"], 0));
    assert_eq!(diagnosis.steps_left(), [DiagnosisStep::Divergence, DiagnosisStep::Factors]);
    let (failed, runs) = diagnosis.alone();
    assert!(failed > 0 && failed < runs, "{failed} of {runs}");
}

#[test]
fn failures_in_other_orders_that_nothing_explains_are_left_to_traces() {
    let rare = || SimulatedTest { random_percent: 1, ..SimulatedTest::default() };
    let (diagnosis, found) = diagnosed(config("t5"), vec![(5, rare())]);
    assert_eq!(diagnosis.alone().0, 0);
    assert_eq!((ran(&diagnosis), found.len()), (vec!["retries", "idempotence", "order"], 0));
    assert_eq!(diagnosis.steps_left(), [DiagnosisStep::Divergence, DiagnosisStep::Factors]);
}

#[test]
fn steps_that_end_with_their_part_of_the_budget_are_named() {
    let (complete, _) = diagnosed(config("t5"), Vec::new());
    assert!(complete.cut_short().is_empty(), "{:?}", complete.cut_short());
    let hurried = DiagnosisConfig { seconds: 2.0, ..config("t5") };
    let (hurried, found) = diagnosed(hurried, Vec::new());
    assert!(found.is_empty() && hurried.cut_short().contains(&DiagnosisStep::Order), "{:?}", hurried.cut_short());
}

#[test]
fn steps_of_a_second_run_are_given() {
    let config = DiagnosisConfig { steps: Some(vec![DiagnosisStep::Idempotence]), ..config("t5") };
    let (diagnosis, _) = diagnosed(config, Vec::new());
    assert_eq!(ran(&diagnosis), ["idempotence"]);
    assert_eq!(diagnosis.costs()[0].executions, 2);
}

#[test]
fn an_unknown_test_is_not_run() {
    let (diagnosis, found) = diagnosed(config("nothing"), Vec::new());
    assert_eq!((diagnosis.matching.len(), ran(&diagnosis).len(), found.len()), (0, 0, 0));
}
