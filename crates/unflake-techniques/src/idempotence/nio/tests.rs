//! Tests of `nio`.

use unflake_model::{Detail, EnvironmentId, LeakKind, Nio as NioDetail};

use super::*;
use crate::search::scheduler::AttemptSummary;
use crate::simulation::simulated_suite::{
    SharedState, SimulatedSuite, SimulatedTest, brittle, named, polluter, victim,
};

fn config() -> NioConfig {
    NioConfig {
        mode: NioMode::IsolatedMethod,
        only: None,
        class_of: |test| test,
        fresh_by: Isolation::Fork,
        screen: None,
        jobs: 2,
        state: false,
        seconds: 1e6,
    }
}

fn run_nio(suite: &mut SimulatedSuite, config: NioConfig) -> Vec<Finding> {
    let mut nio = NioDetection::new(config);
    suite.run(&mut nio);
    nio.findings(Recordings::EMPTY)
}

fn nio_detail(finding: &Finding) -> &NioDetail {
    match &finding.detail {
        Detail::Nio(detail) => detail,
        other => panic!("{other:?}"),
    }
}

/// Pollutes itself.
fn nio(cell: &str) -> SimulatedTest {
    SimulatedTest { writes: polluter(cell).writes, ..victim(&[cell]) }
}

/// Sets its own state up too late.
fn needs_itself(cell: &str) -> SimulatedTest {
    SimulatedTest { writes: polluter(cell).writes, ..brittle(&[cell]) }
}

fn broken() -> SimulatedTest {
    SimulatedTest { fails_if: Some(Box::new(|_| true)), ..SimulatedTest::default() }
}

#[test]
fn every_kind_is_classified() {
    let special = vec![
        (1, nio("x")),
        (2, needs_itself("y")),
        (3, broken()),
        (4, SimulatedTest { random_percent: 50, ..SimulatedTest::default() }),
        (5, SimulatedTest { skips: true, ..SimulatedTest::default() }),
        (6, SimulatedTest { crashes: true, ..SimulatedTest::default() }),
    ];
    let findings = run_nio(&mut SimulatedSuite::new(9, special), config());
    let found: Vec<(&str, NioKind, &str)> = findings
        .iter()
        .map(|finding| (finding.test.as_str(), nio_detail(finding).kind, finding.sentence.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            (
                "t1",
                NioKind::Nio,
                "passes, then fails in a second run in the same process (4 of 4 runs); passes alone (3 of 3 runs)"
            ),
            ("t2", NioKind::Brittle, "fails, then passes in a second run in the same process (4 of 4 runs)"),
            ("t3", NioKind::Broken, "always fails (4 double runs, 6 alone)"),
            ("t4", NioKind::NonDeterministic, "random: 7 of 11 runs did not pass"),
            ("t6", NioKind::Broken, "always fails (4 double runs, 6 alone)"),
        ]
    );
    assert!(nio_detail(&findings[0]).second_failure.is_some());
    assert_eq!(findings[0].replays[0].tests, [named(1), named(1)]);
}

#[test]
fn random_failures_are_never_classified_as_nio_or_brittle() {
    let mut found = 0;
    for percent in [10, 30, 50, 70, 90] {
        let special =
            (0..40).map(|at| (at, SimulatedTest { random_percent: percent, ..SimulatedTest::default() })).collect();
        for finding in run_nio(&mut SimulatedSuite::new(40, special), config()) {
            found += 1;
            let kind = nio_detail(&finding).kind;
            assert!(kind != NioKind::Nio && kind != NioKind::Brittle, "{percent} %: {}", finding.sentence);
        }
    }
    assert!(found > 100, "{found}");
}

#[test]
fn a_test_costs_one_fork_unless_it_is_suspected() {
    let mut suite = SimulatedSuite::new(1000, vec![(500, nio("x"))]);
    assert_eq!(run_nio(&mut suite, config()).len(), 1);
    assert_eq!((suite.executions, suite.forks), (2000 + 3 * 2 + 3, 1000 + 6));
}

#[test]
fn a_broken_test_costs_the_tests_before_it_once_more() {
    let mut suite = SimulatedSuite::new(1000, vec![(499, broken())]);
    assert_eq!(run_nio(&mut suite, config()).len(), 1);
    // Twice in a row three times and alone three times; sequentially four and six times; in the suite.
    assert_eq!(suite.executions, 2000 + (3 * 2 + 3) + (4 * 2 + 6) + 500);
}

#[test]
fn a_test_that_passed_in_the_suite_is_brittle_and_not_broken() {
    let mut suite = SimulatedSuite::new(2, vec![(0, polluter("x")), (1, brittle(&["x"]))]);
    let mut technique = NioDetection::new(config());
    technique.progress.borrow_mut().passed_in_suite.insert(named(1));
    suite.run(&mut technique);
    assert_eq!(nio_detail(&technique.findings(Recordings::EMPTY)[0]).kind, NioKind::Brittle);
    assert_eq!(technique.findings(Recordings::EMPTY)[0].sentence, "fails alone (4 of 4 runs), passes in the suite");
}

#[test]
fn groups_share_an_environment_and_suspicions_are_repeated_alone() {
    for mode in [NioMode::IsolatedClass, NioMode::EntireSuite] {
        // t2 fails in company because of t0, both times; t1 pollutes itself.
        let special = vec![(0, polluter("x")), (1, nio("y")), (2, victim(&["x"]))];
        let class_of = |test: &str| if test == "t3" { "b" } else { "a" };
        let mut suite = SimulatedSuite::new(4, special);
        let findings = run_nio(&mut suite, NioConfig { mode, class_of, ..config() });
        assert_eq!(findings[0].test, named(1));
        assert_eq!((nio_detail(&findings[0]).kind, nio_detail(&findings[0]).mode), (NioKind::Nio, mode));
        assert_eq!(findings[0].replays[0].tests, [named(1), named(1)]);
        assert_eq!(findings.len(), 1, "{findings:#?}");
    }
}

#[test]
fn behaviour_alone_outweighs_behaviour_in_company() {
    // In company it fails both times because of t0; alone it passes and then fails by itself.
    let both = SimulatedTest { writes: polluter("x").writes, ..victim(&["x"]) };
    let special = vec![(0, polluter("x")), (1, both)];
    let findings = run_nio(&mut SimulatedSuite::new(2, special), NioConfig { mode: NioMode::EntireSuite, ..config() });
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].test.as_str(), nio_detail(&findings[0]).kind), ("t1", NioKind::Nio));
    assert_eq!(nio_detail(&findings[0]).evidence.tried, 3);
}

#[test]
fn a_crashed_process_shows_no_second_run() {
    let attempt = |environment, outcome| AttemptSummary {
        test: named(0),
        environment: EnvironmentId(environment),
        origin: Isolation::Fork,
        outcome,
        failure: None,
        seconds: 0.0,
        index: 0,
    };
    let check = |attempts: Vec<AttemptSummary>, expected| assert_eq!(last_two(&attempts), expected);
    let (passed, died) = (Outcome::Passed, Outcome::TimedOut);
    check(vec![attempt(1, passed), attempt(1, died)], Some((passed, died)));
    check(vec![attempt(1, died), attempt(2, passed)], Some((died, died)));
    check(vec![attempt(1, passed), attempt(2, passed)], None);
    check(vec![attempt(1, died)], Some((died, died)));
    check(Vec::new(), None);
}

#[test]
fn one_deviation_alone_makes_it_non_deterministic() {
    let mut suspect = NioSuspect::new(&named(0), (Outcome::Passed, Outcome::Failed), vec![named(0), named(0)]);
    suspect.alone = vec![Outcome::Passed; 3];
    assert_eq!(suspect.kind(&NioProgress::default()), Some(NioKind::Nio));
    suspect.alone[1] = Outcome::Failed;
    assert_eq!(suspect.kind(&NioProgress::default()), Some(NioKind::NonDeterministic));
}

#[test]
fn only_requested_tests_are_run() {
    let mut technique = NioDetection::new(NioConfig { only: Some(vec!["t1".to_owned(), "x".to_owned()]), ..config() });
    let mut suite = SimulatedSuite::new(30, Vec::new());
    suite.run(&mut technique);
    assert_eq!((suite.executions, technique.unmatched_names()), (2, vec!["x".to_owned()]));
}

#[test]
fn nio_that_needs_other_tests_is_reported_with_them() {
    let counts = |state: &mut SharedState| *state.entry("n".to_owned()).or_default() += 1;
    let full = |state: &SharedState| state.get("n").is_some_and(|n| *n >= 3);
    let counting = || SimulatedTest { writes: Some(Box::new(counts)), ..SimulatedTest::default() };
    let special = vec![(0, counting()), (1, SimulatedTest { fails_if: Some(Box::new(full)), ..counting() })];
    let config = NioConfig { mode: NioMode::EntireSuite, ..config() };
    let findings = run_nio(&mut SimulatedSuite::new(2, special), config);
    assert_eq!(findings.len(), 1);
    assert_eq!(nio_detail(&findings[0]).kind, NioKind::Nio);
    assert_eq!(findings[0].replays[0].tests, [named(0), named(0), named(1), named(1)]);
    assert_eq!(
        findings[0].sentence,
        "passes, then fails in a second run after 1 other test (4 of 4 runs), not after itself alone; passes alone (3 of 3 runs)"
    );
}

#[test]
fn isolated_runners_leave_tests_untried() {
    let mut technique = NioDetection::new(config());
    let mut suite =
        SimulatedSuite::new(3, vec![(1, nio("x")), (2, SimulatedTest { skips: true, ..SimulatedTest::default() })]);
    suite.isolated = true;
    suite.run(&mut technique);
    assert!(technique.findings(Recordings::EMPTY).is_empty());
    assert_eq!(technique.untried(), [named(0), named(1)]);
}

#[test]
fn an_interrupted_run_reports_unconfirmed_findings() {
    let mut technique = NioDetection::new(config());
    let mut suite = SimulatedSuite::new(3, vec![(1, nio("x"))]);
    suite.list(&mut technique);
    suite.batch(&mut technique);
    assert_eq!(
        technique.findings(Recordings::EMPTY)[0].sentence,
        "passes, then fails in a second run in the same process (1 of 1 runs); not confirmed: the search ended before"
    );
}

#[test]
fn the_state_leaked_by_the_first_run_is_proven() {
    let mut suite = SimulatedSuite::new(3, vec![(1, nio("shop.cache"))]);
    let findings = run_nio(&mut suite, NioConfig { state: true, ..config() });
    let [_, state] = &findings[..] else { panic!("{findings:#?}") };
    let Detail::State(leak) = &state.detail else { panic!("{state:#?}") };
    assert_eq!((leak.kind, leak.cells[0].path.as_str()), (LeakKind::Proven, "shop.cache"));
    assert_eq!(
        state.sentence,
        "its own first run leaves shop.cache behind (written at shop.cache.py:7); restoring it: passes 3 of 3, keeping it: fails 3 of 3, \
         keeping only it: fails 3 of 3"
    );
}

/// The tear-down of a class complains that not all of its tests have run.
#[test]
fn failing_shared_tear_down_is_not_nio() {
    use Outcome::{Failed, Passed};
    let mut suspect = NioSuspect::new(&named(1), (Passed, Failed), vec![named(1), named(1)]);
    suspect.twice.extend([(Passed, Failed); 3]);
    suspect.alone = vec![Failed; 3];
    let mut progress = NioProgress { over: true, ..NioProgress::default() };
    let classified = |suspect: &NioSuspect, progress: &NioProgress| {
        (suspect.kind(progress).unwrap(), suspect.findings(progress).remove(0).sentence)
    };
    let reason = "the failure is in a tear-down after the last test of its class or file";
    let (kind, sentence) = classified(&suspect, &progress);
    assert_eq!(
        (kind, sentence),
        (NioKind::Broken, format!("fails whenever it runs last (4 runs after itself, 3 alone); {reason}"))
    );
    progress.passed_in_suite.insert(named(1));
    let (kind, sentence) = classified(&suspect, &progress);
    assert_eq!(
        (kind, sentence),
        (NioKind::Brittle, format!("fails alone (3 of 3 runs), passes in the suite; {reason}"))
    );
    suspect.alone.push(Passed);
    assert_eq!(suspect.kind(&progress), Some(NioKind::NonDeterministic));
}

#[test]
fn what_outlives_a_process_is_not_broken() {
    let has_run = std::cell::Cell::new(false);
    let leaves_a_file =
        SimulatedTest { fails_if: Some(Box::new(move |_| has_run.replace(true))), ..SimulatedTest::default() };
    let findings = run_nio(&mut SimulatedSuite::new(3, vec![(1, leaves_a_file)]), config());
    assert_eq!(nio_detail(&findings[0]).kind, NioKind::NonDeterministic);
    assert!(
        findings[0].sentence.starts_with("passed once, then failed in all 10 later runs"),
        "{}",
        findings[0].sentence
    );
}
