use unflake_model::{Detail, EnvironmentId, LeakKind, Nio as Twice};

use super::*;
use crate::search::scheduler::Heard;
use crate::simulation::simulated_suite::{Sim, State, World, brittle, named, polluter, victim};

fn doubling() -> NioConfig {
    NioConfig {
        mode: NioMode::IsolatedMethod,
        only: None,
        class_of: |test| test,
        fresh_by: Isolation::Fork,
        in_process: None,
        state: false,
        seconds: 1e6,
    }
}

fn play(world: &mut World, doubling: NioConfig) -> Vec<Finding> {
    let mut nio = Nio::new(doubling);
    world.play(&mut nio);
    nio.findings()
}

fn twice(finding: &Finding) -> &Twice {
    match &finding.detail {
        Detail::Nio(twice) => twice,
        other => panic!("{other:?}"),
    }
}

/// Pollutes itself.
fn nio(cell: &str) -> Sim {
    Sim { writes: polluter(cell).writes, ..victim(&[cell]) }
}

/// Sets its own state up too late.
fn needs_itself(cell: &str) -> Sim {
    Sim { writes: polluter(cell).writes, ..brittle(&[cell]) }
}

fn broken() -> Sim {
    Sim { fails: Some(Box::new(|_| true)), ..Sim::default() }
}

#[test]
fn every_kind_is_classified() {
    let special = vec![
        (1, nio("x")),
        (2, needs_itself("y")),
        (3, broken()),
        (4, Sim { fails_anyway: 50, ..Sim::default() }),
        (5, Sim { skips: true, ..Sim::default() }),
        (6, Sim { dies: true, ..Sim::default() }),
    ];
    let findings = play(&mut World::new(9, special), doubling());
    let told: Vec<(&str, NioKind, &str)> = findings
        .iter()
        .map(|finding| (finding.test.as_str(), twice(finding).kind, finding.sentence.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            (
                "t1",
                NioKind::Nio,
                "passes once and fails when it is run again in the same process (4 of 4); passes alone (3 of 3)"
            ),
            ("t2", NioKind::Brittle, "fails at first and passes when it is run again in the same process (4 of 4)"),
            ("t3", NioKind::Broken, "fails whenever it runs (4 times twice, 6 times alone)"),
            ("t4", NioKind::NonDeterministic, "ends now this way, now that: passed 4 of 11 times"),
            ("t6", NioKind::Broken, "fails whenever it runs (4 times twice, 6 times alone)"),
        ]
    );
    assert!(twice(&findings[0]).second_failure.is_some());
    assert_eq!(findings[0].replay, [named(1), named(1)]);
}

#[test]
fn random_failures_are_never_classified_as_nio_or_brittle() {
    let mut told = 0;
    for percent in [10, 30, 50, 70, 90] {
        let special = (0..40).map(|at| (at, Sim { fails_anyway: percent, ..Sim::default() })).collect();
        for finding in play(&mut World::new(40, special), doubling()) {
            told += 1;
            let kind = twice(&finding).kind;
            assert!(kind != NioKind::Nio && kind != NioKind::Brittle, "{percent} %: {}", finding.sentence);
        }
    }
    assert!(told > 100, "{told}");
}

#[test]
fn a_test_costs_one_fork_unless_it_is_suspected() {
    let mut world = World::new(1000, vec![(500, nio("x"))]);
    assert_eq!(play(&mut world, doubling()).len(), 1);
    assert_eq!((world.executions, world.forks), (2000 + 3 * 2 + 3, 1000 + 6));
}

#[test]
fn a_test_that_passed_in_the_suite_is_brittle_and_not_broken() {
    let mut suite = World::new(2, vec![(0, polluter("x")), (1, brittle(&["x"]))]);
    let mut inquiry = Nio::new(doubling());
    inquiry.book.borrow_mut().passed_in_suite.insert(named(1));
    suite.play(&mut inquiry);
    assert_eq!(twice(&inquiry.findings()[0]).kind, NioKind::Brittle);
    assert_eq!(inquiry.findings()[0].sentence, "fails alone (4 of 4), though it passed in the suite");
}

#[test]
fn groups_share_an_environment_and_suspicions_are_repeated_alone() {
    for mode in [NioMode::IsolatedClass, NioMode::EntireSuite] {
        // t2 fails in company because of t0, both times; t1 pollutes itself.
        let special = vec![(0, polluter("x")), (1, nio("y")), (2, victim(&["x"]))];
        let class_of = |test: &str| if test == "t3" { "b" } else { "a" };
        let mut world = World::new(4, special);
        let findings = play(&mut world, NioConfig { mode, class_of, ..doubling() });
        assert_eq!(findings[0].test, named(1));
        assert_eq!((twice(&findings[0]).kind, twice(&findings[0]).mode), (NioKind::Nio, mode));
        assert_eq!(findings[0].replay, [named(1), named(1)]);
        assert_eq!(findings.len(), 1, "{findings:#?}");
    }
}

#[test]
fn behaviour_alone_outweighs_behaviour_in_company() {
    // In company it fails both times because of t0; alone it passes and then fails by itself.
    let both = Sim { writes: polluter("x").writes, ..victim(&["x"]) };
    let special = vec![(0, polluter("x")), (1, both)];
    let findings = play(&mut World::new(2, special), NioConfig { mode: NioMode::EntireSuite, ..doubling() });
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].test.as_str(), twice(&findings[0]).kind), ("t1", NioKind::Nio));
    assert_eq!(twice(&findings[0]).evidence.tried, 3);
}

#[test]
fn a_crashed_process_shows_no_second_run() {
    let heard = |environment, outcome| Heard {
        test: named(0),
        environment: EnvironmentId(environment),
        origin: Isolation::Fork,
        outcome,
        failure: None,
        seconds: 0.0,
        number: 0,
    };
    let check = |attempts: Vec<Heard>, expected| assert_eq!(last_two(&attempts), expected);
    let (passed, died) = (Outcome::Passed, Outcome::TimedOut);
    check(vec![heard(1, passed), heard(1, died)], Some((passed, died)));
    check(vec![heard(1, died), heard(2, passed)], Some((died, died)));
    check(vec![heard(1, passed), heard(2, passed)], None);
    check(vec![heard(1, died)], Some((died, died)));
    check(Vec::new(), None);
}

#[test]
fn one_deviation_alone_makes_it_non_deterministic() {
    let mut case = Case::new(&named(0), (Outcome::Passed, Outcome::Failed), vec![named(0), named(0)]);
    case.alone = vec![Outcome::Passed; 3];
    assert_eq!(case.kind(&Book::default()), Some(NioKind::Nio));
    case.alone[1] = Outcome::Failed;
    assert_eq!(case.kind(&Book::default()), Some(NioKind::NonDeterministic));
}

#[test]
fn only_requested_tests_are_run() {
    let mut inquiry = Nio::new(NioConfig { only: Some(vec!["t1".to_owned(), "x".to_owned()]), ..doubling() });
    let mut world = World::new(30, Vec::new());
    world.play(&mut inquiry);
    assert_eq!((world.executions, inquiry.nobody()), (2, vec!["x".to_owned()]));
}

#[test]
fn nio_that_needs_other_tests_is_reported_with_them() {
    let counts = |state: &mut State| *state.entry("n".to_owned()).or_default() += 1;
    let full = |state: &State| state.get("n").is_some_and(|n| *n >= 3);
    let counting = || Sim { writes: Some(Box::new(counts)), ..Sim::default() };
    let special = vec![(0, counting()), (1, Sim { fails: Some(Box::new(full)), ..counting() })];
    let doubling = NioConfig { mode: NioMode::EntireSuite, ..doubling() };
    let findings = play(&mut World::new(2, special), doubling);
    assert_eq!(findings.len(), 1);
    assert_eq!(twice(&findings[0]).kind, NioKind::Nio);
    assert_eq!(findings[0].replay, [named(0), named(0), named(1), named(1)]);
    assert_eq!(
        findings[0].sentence,
        "after 1 other test passes once and then fails when it is run again (4 of 4); run twice alone it passes; passes alone (3 of 3)"
    );
}

#[test]
fn isolated_runners_leave_tests_untried() {
    let mut inquiry = Nio::new(doubling());
    let mut world = World::new(3, vec![(1, nio("x")), (2, Sim { skips: true, ..Sim::default() })]);
    world.isolated = true;
    world.play(&mut inquiry);
    assert!(inquiry.findings().is_empty());
    assert_eq!(inquiry.untried(), [named(0), named(1)]);
}

#[test]
fn an_interrupted_run_reports_unconfirmed_findings() {
    let mut inquiry = Nio::new(doubling());
    let mut world = World::new(3, vec![(1, nio("x"))]);
    world.list(&mut inquiry);
    world.batch(&mut inquiry);
    assert_eq!(
        inquiry.findings()[0].sentence,
        "passes once and fails when it is run again in the same process (1 of 1); not confirmed: the run ended before it was repeated"
    );
}

#[test]
fn the_state_leaked_by_the_first_run_is_proven() {
    let mut world = World::new(3, vec![(1, nio("shop.cache"))]);
    let findings = play(&mut world, NioConfig { state: true, ..doubling() });
    let [_, state] = &findings[..] else { panic!("{findings:#?}") };
    let Detail::State(leak) = &state.detail else { panic!("{state:#?}") };
    assert_eq!((leak.kind, leak.cells[0].path.as_str()), (LeakKind::Proven, "shop.cache"));
    assert_eq!(
        state.sentence,
        "fails because its own first run leaves shop.cache behind (written at shop.cache.py:7): with it put back passes (3 of 3), without fails (3 of 3); reset it in a fixture or in its tear-down"
    );
}

/// The tear-down of a class complains that not all of its tests have run.
#[test]
fn failing_shared_tear_down_is_not_nio() {
    use Outcome::{Failed, Passed};
    let mut case = Case::new(&named(1), (Passed, Failed), vec![named(1), named(1)]);
    case.twice.extend([(Passed, Failed); 3]);
    case.alone = vec![Failed; 3];
    let mut book = Book { over: true, ..Book::default() };
    let told = |case: &Case, book: &Book| (case.kind(book).unwrap(), case.findings(book).remove(0).sentence);
    let why = "it is what follows the last test, such as a tear-down of their class, that fails";
    let (kind, sentence) = told(&case, &book);
    assert_eq!(
        (kind, sentence),
        (NioKind::Broken, format!("fails whenever it is the last to run (4 times after itself, 3 times alone); {why}"))
    );
    book.passed_in_suite.insert(named(1));
    let (kind, sentence) = told(&case, &book);
    assert_eq!(
        (kind, sentence),
        (NioKind::Brittle, format!("fails alone (3 of 3), though it passed in the suite; {why}"))
    );
    case.alone.push(Passed);
    assert_eq!(case.kind(&book), Some(NioKind::NonDeterministic));
}
