//! Tests of `search`.

use unflake_model::{Coverage, EnvironmentId, Outcome, PairCount, Repeats, TestId, VerdictKind};

use super::*;
use crate::order::polluter_search::tests::{config, dependence, names, requested, run_order};
use crate::search::scheduler::AttemptSummary;
use crate::simulation::simulated_suite::{SimulatedSuite, SimulatedTest, brittle, cleaner, named, polluter, victim};
use crate::simulation::test;

#[test]
fn an_adjacent_polluter_is_found_in_a_search_of_the_whole_suite() {
    let mut suite = SimulatedSuite::new(10, vec![(7, polluter("x")), (3, victim(&["x"]))]);
    let findings = run_order(&mut suite, config());
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0].test, named(3));
    let found = dependence(&findings[0]);
    assert_eq!((found.kind, &found.culprits), (OrderKind::Victim, &vec![names(&[7])]));
    assert_eq!(found.order, names(&[7, 3]));
    assert_eq!(found.evidence, Repeats { seen: 5, tried: 5, alone_passed: 5, alone_tried: 5 });
    assert!(found.failure.is_some());
    assert_eq!(
        findings[0].sentence,
        "fails after t7 (5 of 5 runs), passes alone (5 of 5 runs); none of the 8 others does this"
    );
}

#[test]
fn random_failures_are_not_taken_for_order_dependence() {
    for percent in [5, 20, 50, 80, 95] {
        let special =
            vec![(4, SimulatedTest { random_percent: percent, ..SimulatedTest::default() }), (9, polluter("x"))];
        for finding in run_order(&mut SimulatedSuite::new(20, special), config()) {
            let verdict = finding.verdict().unwrap_or_else(|| panic!("{percent} %: {}", finding.sentence));
            assert_eq!(verdict.kind, VerdictKind::FlakyIndependent);
        }
    }
}

#[test]
fn failures_in_parallel_only_are_no_finding() {
    for percent in [20, 50] {
        let special =
            vec![(4, SimulatedTest { parallel_percent: percent, ..SimulatedTest::default() }), (9, polluter("x"))];
        let mut order = OrderDetection::new(config());
        SimulatedSuite::new(20, special).run(&mut order);
        assert_eq!(order.findings(Recordings::EMPTY), vec![], "{percent} %");
        assert_eq!(order.only_in_parallel(), vec![named(4)], "{percent} %");
    }
}

#[test]
fn broken_and_skipped_tests_are_not_order_dependent() {
    let broken = SimulatedTest { fails_if: Some(Box::new(|_| true)), ..SimulatedTest::default() };
    let skipped = SimulatedTest { skips: true, ..SimulatedTest::default() };
    assert!(run_order(&mut SimulatedSuite::new(9, vec![(1, broken), (5, skipped)]), config()).is_empty());
}

#[test]
fn all_pairs_are_covered_and_reported() {
    let mut order = OrderDetection::new(OrderConfig { random: 0, ..config() });
    SimulatedSuite::new(7, Vec::new()).run(&mut order);
    let pairs = Some(PairCount { covered: 42, by_state: 0, of: 42 });
    assert_eq!(order.coverage(), Some(Coverage { tests: 7, tried: 7, left_out: 0, pairs, complete: true }));
}

/// What a search for everything costs in a large suite, with its findings.
fn compared(special: Vec<(usize, SimulatedTest)>, config: OrderConfig) -> (u32, Vec<Finding>, OrderDetection) {
    let mut suite = SimulatedSuite::new(150, special);
    suite.files = 10;
    let mut order = OrderDetection::new(OrderConfig { state: true, random: 2, ..config });
    suite.run(&mut order);
    (suite.executions, order.findings(Recordings::EMPTY), order)
}

#[test]
fn tests_that_leave_no_state_need_no_followers() {
    let quick = || OrderConfig { thorough: false, ..config() };
    let (executions, findings, order) = compared(Vec::new(), quick());
    let (of_all, _, all) = compared(Vec::new(), config());
    assert!(executions * 10 < of_all, "{executions} of {of_all}");
    assert_eq!((findings.len(), order.without_state(), all.without_state()), (0, 150, 0));
    let pairs = order.coverage().unwrap().pairs.unwrap();
    assert_eq!((pairs.covered, pairs.of, pairs.covered - pairs.by_state < 1000), (150 * 149, 150 * 149, true));
    let pairs = all.coverage().unwrap().pairs.unwrap();
    assert_eq!((pairs.covered, pairs.by_state), (150 * 149, 0));
}

#[test]
fn every_test_runs_after_each_that_leaves_state() {
    // The cleaner before the victim in the suite, and after it, hides the polluter in these orders.
    let special = || {
        vec![
            (20, polluter("x")),
            (69, cleaner("x")),
            (70, victim(&["x"])),
            (71, cleaner("x")),
            (40, polluter("y")),
            (39, brittle(&["y"])),
            (100, SimulatedTest { crashes: true, ..SimulatedTest::default() }),
            (101, SimulatedTest { skips: true, ..SimulatedTest::default() }),
        ]
    };
    let (executions, findings, order) = compared(special(), OrderConfig { thorough: false, ..config() });
    let found = |at: usize| {
        let of_test = |one: &&Finding| one.test == named(at) && matches!(one.detail, unflake_model::Detail::Order(_));
        dependence(findings.iter().find(of_test).unwrap()).culprits.clone()
    };
    assert_eq!((found(70), found(39)), (vec![names(&[20])], vec![names(&[40])]));
    let pairs = order.coverage().unwrap().pairs.unwrap();
    assert_eq!((pairs.covered, order.coverage().unwrap().left_out), (pairs.of, 2));
    let (of_all, ..) = compared(special(), config());
    assert!(executions * 3 < of_all, "{executions} of {of_all}");
}

#[test]
fn tests_that_cannot_be_combined_are_left_out_and_reported() {
    let special = vec![
        (1, SimulatedTest { crashes: true, ..SimulatedTest::default() }),
        (4, SimulatedTest { skips: true, ..SimulatedTest::default() }),
    ];
    let mut order = OrderDetection::new(OrderConfig { random: 0, ..config() });
    SimulatedSuite::new(9, special).run(&mut order);
    let pairs = Some(PairCount { covered: 42, by_state: 0, of: 42 });
    assert_eq!(order.coverage(), Some(Coverage { tests: 9, tried: 7, left_out: 2, pairs, complete: true }));
}

#[test]
fn only_tests_of_the_same_process_are_suspected() {
    let mut progress = OrderProgress::new(&[test("a"), test("b"), test("c"), test("v")], false, false);
    progress.alone.insert(3, Outcome::Passed);
    let attempt = |test: &str, environment, outcome| AttemptSummary {
        test: test.into(),
        environment: EnvironmentId(environment),
        origin: Isolation::Fork,
        outcome,
        failure: None,
        seconds: 0.0,
        index: 0,
    };
    let attempts = [
        attempt("a", 1, Outcome::Passed),
        attempt("b", 1, Outcome::TimedOut),
        attempt("c", 2, Outcome::Passed),
        attempt("v", 2, Outcome::Failed),
    ];
    progress.record_order(&attempts);
    let record = progress.suspects.iter().find(|record| record.suspect.test.as_str() == "v").unwrap();
    assert_eq!(record.suspect.before, ["c".into()]);
}

#[test]
fn an_exhausted_budget_is_reported() {
    // 100 × 11 ms alone, then 110 ms per order.
    let mut order = OrderDetection::new(OrderConfig { seconds: 3.0, ..config() });
    let mut suite = SimulatedSuite::new(100, Vec::new());
    suite.files = 10;
    suite.run(&mut order);
    let coverage = order.coverage().unwrap();
    let pairs = coverage.pairs.unwrap();
    assert!(pairs.covered > 0 && pairs.covered < pairs.of && !coverage.complete, "{coverage:?}");
}

#[test]
fn patience_ends_a_search_that_finds_nothing() {
    let forks = |patience: f64| {
        let mut suite = SimulatedSuite::new(100, Vec::new());
        assert!(run_order(&mut suite, OrderConfig { patience, ..requested(40) }).is_empty());
        suite.forks
    };
    assert!(forks(1.0) < forks(f64::INFINITY) / 2, "{} and {}", forks(1.0), forks(f64::INFINITY));
}

#[test]
fn patience_does_not_end_the_search_for_a_polluter() {
    let mut suite = SimulatedSuite::new(100, vec![(10, polluter("x")), (40, victim(&["x"]))]);
    let findings = run_order(&mut suite, OrderConfig { patience: 0.0, ..requested(40) });
    assert_eq!(dependence(&findings[0]).culprits, [names(&[10])]);
}

#[test]
fn a_short_budget_never_turns_order_dependence_into_chance() {
    let mut unfinished = 0;
    for tenths in 1..60 {
        let special = vec![(70, polluter("x")), (80, polluter("y")), (20, victim(&["x", "y"])), (40, brittle(&["x"]))];
        let short = OrderConfig { seconds: f64::from(tenths) / 10.0, ..config() };
        for finding in run_order(&mut SimulatedSuite::new(100, special), short) {
            unfinished += usize::from(dependence(&finding).unfinished.is_some());
        }
    }
    assert!(unfinished > 0);
}

#[test]
fn a_known_polluter_is_guessed_for_the_next_victim() {
    let victims = |n: usize| (100..100 + n).map(|at| (at, victim(&["x"])));
    let cost = |n: usize| {
        let mut suite = SimulatedSuite::new(300, victims(n).chain([(290, polluter("x"))]).collect());
        let findings = run_order(&mut suite, OrderConfig { thorough: false, random: 0, ..config() });
        assert_eq!(findings.len(), n);
        suite.forks
    };
    // Five repetitions with the polluter, five alone, and what shows that it is the same one.
    assert!(cost(24) - cost(1) < 23 * 15, "{} and {}", cost(1), cost(24));
}

#[test]
fn twins_of_one_cause_cost_little_more_than_one() {
    let cost = |n: usize| {
        let victims = (100..100 + n).map(|at| (at, victim(&["x"])));
        let noise = (0..30).map(|at| (at, polluter(&format!("noise{at}"))));
        let pollutes = SimulatedTest {
            writes: Some(Box::new(|state| {
                (0..40).for_each(|at| _ = state.insert(format!("y{at}"), 1));
                state.insert("x".to_owned(), 1);
            })),
            ..SimulatedTest::default()
        };
        let special = victims.chain(noise).chain([(90, pollutes)]).collect();
        let mut suite = SimulatedSuite::new(300, special);
        let only = Some((100..100 + n).map(|at| format!("t{at}")).collect());
        let findings = run_order(&mut suite, OrderConfig { only, thorough: false, state: true, random: 0, ..config() });
        assert_eq!(findings.len(), 2 * n, "{findings:#?}");
        suite.executions
    };
    // Repetitions of the culprit and of the proof, two tests each; no search.
    let (one, nine) = (cost(1), cost(9));
    assert!(nine - one < 8 * 35, "{one} and {nine}");
}

#[test]
fn an_interrupted_run_reports_what_it_knows() {
    let special = || vec![(7, polluter("x")), (50, polluter("y")), (70, victim(&["x", "y"]))];
    let mut order = OrderDetection::new(config());
    let mut suite = SimulatedSuite::new(100, special());
    suite.list(&mut order);
    let mut lengths = Vec::new();
    while suite.batch(&mut order) {
        if let [finding] = &order.findings(Recordings::EMPTY)[..] {
            lengths.push(dependence(finding).order.len());
            let finished = dependence(finding).unfinished.is_none();
            assert!(finished || finding.sentence.contains("budget exhausted before"), "{}", finding.sentence);
        }
    }
    assert_eq!((lengths[0], lengths.last()), (71, Some(&3)));
    assert!(lengths.is_sorted_by(|one, two| one >= two), "{lengths:?}");
}

/// In random suites with simple relations, the result is true and minimal, and nothing else is
/// found.
#[test]
fn only_true_relations_are_found_in_random_suites() {
    for seed in 0..60 {
        let mut rng = SeededRng(seed);
        let n = 3 + rng.below(60);
        let mut places: Vec<usize> = (0..n).collect();
        rng.shuffle(&mut places);
        let together = 1 + rng.below(2);
        let is_brittle = rng.below(3) == 0;
        let cells: Vec<String> = (0..together).map(|at| format!("c{at}")).collect();
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        let mut special: Vec<(usize, SimulatedTest)> =
            cells.iter().enumerate().map(|(at, cell)| (places[at], polluter(cell))).collect();
        let it = places[together];
        special.push((it, if is_brittle { brittle(&cells) } else { victim(&cells) }));
        let findings = run_order(&mut SimulatedSuite::new(n, special), config());
        assert_eq!(findings.len(), 1, "seed {seed}: {findings:#?}");
        let found = dependence(&findings[0]);
        assert_eq!(findings[0].test, named(it));
        let sorted = |list: &[TestId]| {
            let mut list = list.to_vec();
            list.sort();
            list
        };
        if is_brittle {
            assert_eq!(found.kind, OrderKind::Brittle);
            let mut culprits = found.culprits.concat();
            culprits.sort();
            assert_eq!(culprits, sorted(&names(&places[..together])), "seed {seed}");
        } else {
            assert_eq!(sorted(&found.culprits[0]), sorted(&names(&places[..together])), "seed {seed}");
            assert_eq!(found.culprits.len(), 1, "seed {seed}");
        }
    }
}

/// In random suites with many relations, every finding can be reproduced and every polluting pair
/// is found.
#[test]
fn findings_are_true_and_pairs_are_never_missed() {
    let mut found_in_all = 0;
    for seed in 0..60 {
        let mut rng = SeededRng(seed);
        // In larger suites their state is compared.
        let n = if seed < 40 { 5 + rng.below(40) } else { 65 + rng.below(30) };
        let special: Vec<(usize, SimulatedTest)> = (0..n)
            .filter_map(|at| {
                let cell = format!("c{}", rng.below(4));
                Some((
                    at,
                    match rng.below(10) {
                        0 => polluter(&cell),
                        1 => cleaner(&cell),
                        2 => victim(&[&cell]),
                        3 => victim(&[&cell, "c0"]),
                        4 => brittle(&[&cell]),
                        5 => SimulatedTest { writes: polluter(&cell).writes, ..victim(&["c1"]) },
                        6 => SimulatedTest { crashes: true, ..SimulatedTest::default() },
                        7 => SimulatedTest { skips: true, ..SimulatedTest::default() },
                        _ => return None,
                    },
                ))
            })
            .collect();
        let mut suite = SimulatedSuite::new(n, special);
        let findings = run_order(&mut suite, OrderConfig { thorough: false, state: seed >= 40, ..config() });
        let is_order = |one: &Finding| matches!(one.detail, unflake_model::Detail::Order(_));
        let findings: Vec<Finding> = findings.into_iter().filter(is_order).collect();
        for finding in &findings {
            found_in_all += 1;
            let found = dependence(finding);
            let alone = suite.passes(std::slice::from_ref(&finding.test));
            assert_eq!(alone, Some(found.kind == OrderKind::Victim), "seed {seed}: {finding:#?}");
            for culprits in &found.culprits {
                let after = |list: &[TestId]| suite.passes(&[list, std::slice::from_ref(&finding.test)].concat());
                assert_eq!(after(culprits), alone.map(|alone| !alone), "seed {seed}: {}", finding.sentence);
                for at in 0..culprits.len() {
                    let fewer = [&culprits[..at], &culprits[at + 1..]].concat();
                    assert_eq!(after(&fewer), alone, "seed {seed}: {}", finding.sentence);
                }
            }
        }
        for one in 0..n {
            for two in (0..n).filter(|two| *two != one) {
                let (alone, after) = (suite.passes(&names(&[two])), suite.passes(&names(&[one, two])));
                if alone.is_some() && after.is_some() && alone != after {
                    assert!(findings.iter().any(|found| found.test == named(two)), "seed {seed}: {one} before {two}");
                }
            }
        }
    }
    assert!(found_in_all > 100, "{found_in_all}");
}

#[test]
fn suites_without_relations_have_no_findings() {
    for n in [0, 1, 2, 5, 30] {
        let special = (0..n).map(|at| (at, polluter(&format!("c{at}")))).collect();
        assert!(run_order(&mut SimulatedSuite::new(n, special), config()).is_empty());
    }
}

#[test]
fn a_test_that_fails_in_parallel_may_also_be_a_victim() {
    for seed in 0..10 {
        let both = SimulatedTest { parallel_percent: 10, ..victim(&["x"]) };
        let mut suite = SimulatedSuite::new(20, vec![(4, both), (9, polluter("x"))]);
        suite.rng = SeededRng(seed);
        let findings = run_order(&mut suite, config());
        let victims = findings.iter().filter(|finding| matches!(finding.detail, unflake_model::Detail::Order(_)));
        assert_eq!(victims.map(|finding| finding.test.clone()).collect::<Vec<_>>(), [named(4)], "seed {seed}");
    }
}

#[test]
fn a_test_that_fails_where_another_file_is_loaded_is_no_brittle_one() {
    // Ten tests in five files. Loading the last file sets what the victim cannot bear; t2 resets it.
    let special = || vec![(3, victim(&["mode"])), (2, cleaner("mode"))];
    for fresh_by in [Isolation::Fork, Isolation::Process] {
        let mut suite = SimulatedSuite::new(10, special());
        suite.files = 5;
        suite.import_effects.insert(4, Box::new(|state| _ = state.insert("mode".to_owned(), 1)));
        let findings = run_order(&mut suite, OrderConfig { fresh_by, ..config() });
        assert_eq!(findings.len(), 1, "{findings:#?}");
        let found = dependence(&findings[0]);
        assert_eq!(found.kind, OrderKind::Victim);
        assert!([names(&[8]), names(&[9])].contains(&found.culprits[0]), "{fresh_by:?}: {:?}", found.culprits);
        assert!(findings[0].sentence.starts_with("fails when f4 is loaded (3 of 3"), "{}", findings[0].sentence);
    }
}

/// Checks that every session runs its tests in the order of the suite, each once.
struct OnlyInOrder(OrderDetection);

impl Technique for OnlyInOrder {
    fn observe(&mut self, event: &Event, recordings: Recordings<'_>) {
        self.0.observe(event, recordings);
    }

    fn next_sessions(&mut self, recordings: Recordings<'_>) -> Vec<Session> {
        let sessions = self.0.next_sessions(recordings);
        let place = |test: &TestId| test.as_str()[1..].parse::<usize>().unwrap();
        for session in &sessions {
            assert!(session.tests.windows(2).all(|two| place(&two[0]) < place(&two[1])), "{:?}", session.tests);
        }
        sessions
    }

    fn findings(&self, recordings: Recordings<'_>) -> Vec<Finding> {
        self.0.findings(recordings)
    }
}

fn in_own_order(special: Vec<(usize, SimulatedTest)>, config: OrderConfig) -> (Vec<Finding>, Option<Coverage>) {
    let mut order = OnlyInOrder(OrderDetection::new(OrderConfig { own_order: true, ..config }));
    SimulatedSuite::new(12, special).run(&mut order);
    (order.findings(Recordings::EMPTY), order.0.coverage())
}

#[test]
fn a_runner_with_its_own_order_runs_selections_only() {
    let special = || {
        vec![
            (2, polluter("x")),
            (3, cleaner("x")),
            (5, victim(&["x"])),
            (9, brittle(&["y"])),
            (7, polluter("y")),
            (4, victim(&["z"])),
            (8, polluter("z")),
        ]
    };
    // Of t8 and t4 only t4 can come first.
    let expected = [(named(5), names(&[2]), names(&[3])), (named(9), names(&[7]), Vec::new())];
    let summary = |findings: &[Finding]| {
        let mut all: Vec<_> = findings
            .iter()
            .map(|one| (one.test.clone(), dependence(one).culprits[0].clone(), dependence(one).cleaners.clone()))
            .collect();
        all.sort();
        all
    };
    let (findings, coverage) = in_own_order(special(), config());
    assert_eq!(summary(&findings), expected);
    assert_eq!(coverage.unwrap().pairs, Some(PairCount { covered: 66, by_state: 0, of: 66 }));
    for (at, one) in [(5, 0), (9, 1)] {
        assert_eq!(summary(&in_own_order(special(), requested(at)).0), expected[one..=one]);
    }
    assert_eq!(in_own_order(special(), requested(4)).0, []);
}

/// A test that fails by chance: the search for its polluter would take all of a budget.
#[test]
fn a_failure_by_chance_ends_the_search_of_a_requested_test() {
    let executions = |doubts| {
        let special = vec![(40, SimulatedTest { random_percent: 5, ..SimulatedTest::default() })];
        let mut suite = SimulatedSuite::new(60, special);
        let findings = run_order(&mut suite, OrderConfig { doubts, ..requested(40) });
        assert!(findings.iter().all(|finding| finding.technique() != "order"), "{findings:#?}");
        suite.executions
    };
    let (patient, doubting) = (executions(false), executions(true));
    assert!(doubting < patient, "{doubting} of {patient}");
}
