use unflake_model::{Detail, Finding, Isolation, NioKind, NioMode, Outcome};

use crate::Technique;
use crate::idempotence::nio::{Nio, NioConfig};
use crate::simulation::simulated_suite::{Sim, World, named, polluter, victim};

fn play(world: &mut World, mode: NioMode) -> (Vec<(String, NioKind, Option<Isolation>)>, usize) {
    let mut nio = Nio::new(NioConfig {
        mode,
        only: None,
        class_of: |test| test,
        fresh_by: Isolation::Process,
        in_process: Some(2),
        state: false,
        seconds: 1e6,
    });
    world.play(&mut nio);
    let told = |finding: Finding| match finding.detail {
        Detail::Nio(nio) => (finding.test.to_string(), nio.kind, nio.fresh),
        other => panic!("{other:?}"),
    };
    (nio.findings().into_iter().map(told).collect(), nio.in_process_only())
}

/// Pollutes itself.
fn nio(cell: &str) -> Sim {
    Sim { writes: polluter(cell).writes, ..victim(&[cell]) }
}

fn in_process(outcome: Outcome) -> Sim {
    Sim { in_process: Some(outcome), ..Sim::default() }
}

fn found(test: usize) -> (String, NioKind, Option<Isolation>) {
    (named(test).to_string(), NioKind::Nio, Some(Isolation::Process))
}

#[test]
fn few_processes_find_what_is_then_shown_in_a_process_of_its_own() {
    let mut world = World::new(500, vec![(3, nio("x")), (400, nio("process.y"))]);
    assert_eq!(play(&mut world, NioMode::IsolatedMethod), (vec![found(3), found(400)], 498));
    // Four with in-process environments; for each of the two one that shows it, and six that repeat it.
    assert_eq!((world.forks, world.executions), (4 + 2 * 7, 1000 + 2 * (2 + 3 * 2 + 3)));
}

#[test]
fn what_only_class_loaders_show_is_no_finding() {
    let special =
        vec![(1, in_process(Outcome::Failed)), (2, in_process(Outcome::Skipped)), (3, in_process(Outcome::TimedOut))];
    let mut world = World::new(40, special);
    assert_eq!(play(&mut world, NioMode::IsolatedMethod), (Vec::new(), 37));
}

#[test]
fn what_class_loaders_hide_by_a_skip_is_found() {
    let hidden = Sim { in_process: Some(Outcome::Skipped), ..nio("x") };
    let mut world = World::new(40, vec![(1, hidden), (2, Sim { skips: true, ..Sim::default() })]);
    assert_eq!(play(&mut world, NioMode::IsolatedMethod), (vec![found(1)], 39));
}

#[test]
fn what_another_test_left_outside_of_classes_can_hide_something() {
    // It would fail the second time, if another had not left what cures it.
    let cured = Sim {
        fails: Some(Box::new(|state| state.get("x") == Some(&1) && !state.contains_key("process.y"))),
        ..nio("x")
    };
    let mut world = World::new(3, vec![(0, polluter("process.y")), (1, cured)]);
    assert_eq!(play(&mut world, NioMode::IsolatedMethod), (Vec::new(), 3));
}

#[test]
fn where_class_loaders_suit_nobody_they_are_given_up() {
    let mut special: Vec<(usize, Sim)> = (0..500).map(|at| (at, in_process(Outcome::Error))).collect();
    special[300].1 = Sim { in_process: Some(Outcome::Error), ..nio("x") };
    let mut world = World::new(500, special);
    assert_eq!(play(&mut world, NioMode::IsolatedMethod), (vec![found(300)], 0));
    assert_eq!(world.executions, 2 * 64 + 1000 + 3 * 2 + 3);
}

#[test]
fn in_other_modes_tests_share_processes_anyway() {
    let mut world = World::new(40, vec![(3, nio("x"))]);
    assert_eq!(play(&mut world, NioMode::EntireSuite), (vec![found(3)], 0));
}
