//! Tests of `polluter_search`.

use unflake_model::{Detail, Finding, Isolation, LeakKind, OrderDependence};

use super::*;
use crate::search::rng::SeededRng;
use crate::simulation::simulated_suite::{
    SharedState, SimulatedSuite, SimulatedTest, Writes, brittle, cleaner, named, polluter, victim,
};
use crate::{OrderConfig, OrderDetection, Recordings, Technique};

pub(crate) fn config() -> OrderConfig {
    OrderConfig {
        own_order: false,
        only: None,
        seconds: 1e6,
        patience: f64::INFINITY,
        doubts: false,
        random: 3,
        seed: 1,
        thorough: true,
        state: false,
        fresh_by: Isolation::Fork,
        failed_after: Default::default(),
    }
}

pub(crate) fn requested(at: usize) -> OrderConfig {
    OrderConfig { only: Some(vec![named(at).to_string()]), thorough: false, ..config() }
}

pub(crate) fn run_order(suite: &mut SimulatedSuite, config: OrderConfig) -> Vec<Finding> {
    let mut order = OrderDetection::new(config);
    suite.run(&mut order);
    order.findings(Recordings::EMPTY)
}

pub(crate) fn dependence(finding: &Finding) -> &OrderDependence {
    match &finding.detail {
        Detail::Order(found) => found,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn names(tests: &[usize]) -> Vec<TestId> {
    tests.iter().map(|at| named(*at)).collect()
}

#[test]
fn all_alternative_polluters_are_named() {
    let special = vec![(1, polluter("x")), (4, polluter("x")), (8, polluter("x")), (6, victim(&["x"]))];
    let findings = run_order(&mut SimulatedSuite::new(10, special), requested(6));
    let mut culprits = dependence(&findings[0]).culprits.clone();
    culprits.sort();
    assert_eq!(culprits, [names(&[1]), names(&[4]), names(&[8])]);
}

#[test]
fn what_ran_before_the_failure_in_its_process_is_tried_first() {
    let executions = |failed_after: Vec<TestId>| {
        let mut suite = SimulatedSuite::new(200, vec![(150, polluter("x")), (100, victim(&["x"]))]);
        let failed_after = [(named(100), failed_after)].into();
        let findings = run_order(&mut suite, OrderConfig { failed_after, ..requested(100) });
        assert_eq!(dependence(&findings[0]).culprits, [names(&[150])]);
        suite.executions
    };
    let (known, unknown) = (executions(names(&[140, 150, 160])), executions(Vec::new()));
    assert!(known * 4 < unknown, "{known} of {unknown}");
}

#[test]
fn polluters_that_are_needed_together_are_found_together() {
    let special =
        || vec![(20, polluter("x")), (90, polluter("y")), (55, polluter("z")), (150, victim(&["x", "y", "z"]))];
    let findings = run_order(&mut SimulatedSuite::new(200, special()), requested(150));
    assert_eq!(dependence(&findings[0]).culprits, [names(&[20, 55, 90])]);
    assert_eq!(findings[0].sentence, "fails after t20, then t55, then t90 (5 of 5 runs), passes alone (5 of 5 runs)");
}

#[test]
fn a_brittle_test_is_reported_with_its_state_setter() {
    let mut suite = SimulatedSuite::new(200, vec![(120, polluter("x")), (160, brittle(&["x"]))]);
    let findings = run_order(&mut suite, requested(160));
    let found = dependence(&findings[0]);
    assert_eq!((found.kind, &found.culprits), (OrderKind::Brittle, &vec![names(&[120])]));
    assert_eq!(findings[0].sentence, "passes after t120 (5 of 5 runs), fails alone (5 of 5 runs)");
    let findings = run_order(&mut SimulatedSuite::new(9, vec![(2, polluter("x")), (5, brittle(&["x"]))]), requested(5));
    assert!(dependence(&findings[0]).cleaners.is_empty());
}

#[test]
fn a_cleaner_is_named_and_hides_nothing() {
    let special = || vec![(5, polluter("x")), (6, cleaner("x")), (30, victim(&["x"]))];
    let findings = run_order(&mut SimulatedSuite::new(60, special()), requested(30));
    let found = dependence(&findings[0]);
    assert_eq!(found.culprits, [names(&[5])]);
    assert_eq!(found.cleaners, names(&[6]));
    assert!(findings[0].sentence.ends_with("; cleaner: t6"), "{}", findings[0].sentence);
}

#[test]
fn a_crashing_test_is_excluded_from_the_search() {
    let crashing = || SimulatedTest { crashes: true, ..SimulatedTest::default() };
    let special = vec![(2, crashing()), (10, polluter("x")), (50, polluter("y")), (90, victim(&["x", "y"]))];
    let findings = run_order(&mut SimulatedSuite::new(100, special), requested(90));
    assert_eq!(dependence(&findings[0]).culprits, [names(&[10, 50])]);
    let special = vec![(2, polluter("x")), (3, crashing()), (4, victim(&["x"]))];
    let findings = run_order(&mut SimulatedSuite::new(8, special), config());
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(dependence(&findings[0]).culprits, [names(&[2])]);
}

#[test]
fn a_noisy_victim_is_reported_with_its_rate() {
    let mut rates = Vec::new();
    for (percent, place) in [(35, 3), (40, 3), (50, 20), (60, 40), (70, 60), (80, 70)] {
        let noisy = SimulatedTest { failure_percent: Some(percent), ..victim(&["x"]) };
        let findings =
            run_order(&mut SimulatedSuite::new(100, vec![(place, polluter("x")), (80, noisy)]), requested(80));
        let found = dependence(&findings[0]);
        assert_eq!(found.culprits, [names(&[place])], "{percent} %");
        assert_eq!(found.evidence.alone_passed, found.evidence.alone_tried);
        rates.push((found.evidence.seen, found.evidence.tried));
    }
    assert!(rates.iter().any(|(seen, tried)| seen < tried), "{rates:?}");
    // A test that seemed necessary once is not reported as a culprit.
    for seed in 0..20 {
        let noisy = SimulatedTest { failure_percent: Some(75), ..victim(&["x"]) };
        let mut suite = SimulatedSuite::new(100, vec![(40, polluter("x")), (80, noisy)]);
        suite.rng = SeededRng(seed);
        let findings = run_order(&mut suite, requested(80));
        assert_eq!(dependence(&findings[0]).culprits, [names(&[40])], "seed {seed}");
    }
}

#[test]
fn random_failures_are_never_reported_as_dependent() {
    for seed in 0..40 {
        let mut suite =
            SimulatedSuite::new(20, vec![(4, SimulatedTest { random_percent: 50, ..SimulatedTest::default() })]);
        (suite.files, suite.rng) = (5, SeededRng(seed));
        for finding in run_order(&mut suite, requested(4)) {
            assert!(finding.verdict().is_some(), "seed {seed}: {}", finding.sentence);
        }
    }
}

#[test]
fn a_file_that_only_has_to_be_loaded_is_found() {
    let load = || -> Writes { Box::new(|state: &mut SharedState| _ = state.insert("x".to_owned(), 1)) };
    // Both for the requested victim and among the tests that fail alone.
    for config in [requested(95), config()] {
        let mut suite = SimulatedSuite::new(100, vec![(95, victim(&["x"]))]);
        suite.files = 50;
        suite.import_effects.insert(17, load());
        let findings = run_order(&mut suite, config);
        assert_eq!(findings.len(), 1, "{findings:#?}");
        let found = dependence(&findings[0]);
        assert_eq!((found.kind, &found.culprits[0]), (OrderKind::Victim, &names(&[34])));
        assert_eq!(found.order, names(&[95, 34]));
        assert_eq!(
            findings[0].sentence,
            "fails when f17 is loaded (3 of 3 runs), passes with its own file only (3 of 3 runs)"
        );
        assert!(suite.processes < 25, "{}", suite.processes);
    }
    let mut suite = SimulatedSuite::new(100, vec![(95, brittle(&["x"]))]);
    suite.files = 50;
    suite.import_effects.insert(17, load());
    let findings = run_order(&mut suite, requested(95));
    assert_eq!(dependence(&findings[0]).kind, OrderKind::Brittle);
}

#[test]
fn the_leaked_state_is_proven_with_the_order() {
    let special = vec![(7, polluter("shop.cache")), (8, polluter("log.level")), (12, victim(&["shop.cache"]))];
    let findings = run_order(&mut SimulatedSuite::new(20, special), OrderConfig { state: true, ..requested(12) });
    let [_, finding] = &findings[..] else { panic!("{findings:#?}") };
    let Detail::State(leak) = &finding.detail else { panic!("{finding:#?}") };
    assert_eq!(leak.kind, LeakKind::Proven);
    assert_eq!(leak.after, names(&[7]));
}

/// Cost of a search in a suite of 1,000 tests. The numbers are in the design notes.
#[test]
fn the_cost_of_a_search_stays_low() {
    type Make = fn(&mut SeededRng) -> (usize, Vec<(usize, SimulatedTest)>);
    let mean = |make: Make| {
        let (mut executions, mut forks, mut batches) = (0, 0, 0);
        for seed in 0..20 {
            let (it, special) = make(&mut SeededRng(seed));
            let mut suite = SimulatedSuite::new(1000, special);
            let findings = run_order(&mut suite, requested(it));
            assert_eq!(findings.len(), 1, "seed {seed}");
            executions += suite.executions;
            forks += suite.forks;
            batches += suite.batches;
        }
        assert!(batches / 20 < 30, "{} batches", batches / 20);
        (executions / 20, forks / 20)
    };
    let one = mean(|rng| (999, vec![(rng.below(999), polluter("x")), (999, victim(&["x"]))]));
    let two = mean(|rng| {
        let (first, second) = (rng.below(500), 500 + rng.below(499));
        (999, vec![(first, polluter("x")), (second, polluter("y")), (999, victim(&["x", "y"]))])
    });
    let setter = mean(|rng| (999, vec![(rng.below(999), polluter("x")), (999, brittle(&["x"]))]));
    assert!(one.0 < 1200 && one.1 < 70, "{one:?}");
    assert!(two.0 < 2600 && two.1 < 170, "{two:?}");
    assert!(setter.0 < 1200 && setter.1 < 70, "{setter:?}");
}
