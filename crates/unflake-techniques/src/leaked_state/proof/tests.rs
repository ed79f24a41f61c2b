//! Tests of `proof`.

use super::*;
use crate::search::rng::SeededRng;
use crate::simulation::failure;
use crate::simulation::simulated_suite::{
    SharedState, SimulatedSuite, SimulatedTest, brittle, named, polluter, victim,
};

/// Conclusion on the last test of a suite after all others.
fn prove(suite: &mut SimulatedSuite, expected: ExpectedChange) -> StateConclusion {
    let mut after = suite.order.clone();
    let test = after.pop().expect("there are tests");
    let found = suite.search(async move |scheduler| prove_leak(&scheduler, &after, &test, &expected, &[]).await);
    found.expect("the state can be inspected")
}

fn paths(conclusion: &StateConclusion) -> Vec<&str> {
    conclusion.leak.cells.iter().map(|cell| cell.path.as_str()).collect()
}

fn sentence(conclusion: &StateConclusion) -> String {
    conclusion.sentence(&named(1))
}

/// Writes many cells of which few matter.
fn writes(cells: Vec<String>) -> SimulatedTest {
    SimulatedTest {
        writes: Some(Box::new(move |state| cells.iter().for_each(|cell| _ = state.insert(cell.clone(), 1)))),
        ..SimulatedTest::default()
    }
}

#[test]
fn the_one_relevant_cell_is_proven_with_its_source_line() {
    let cells = (0..100).map(|at| format!("c{at}")).collect();
    let mut suite = SimulatedSuite::new(2, vec![(0, writes(cells)), (1, victim(&["c42"]))]);
    let found = prove(&mut suite, ExpectedChange::Passes);
    assert_eq!((found.leak.kind, paths(&found)), (LeakKind::Proven, vec!["c42"]));
    assert_eq!(found.leak.cells[0].written.as_ref().map(|at| at.line), Some(7));
    assert_eq!(
        sentence(&found),
        "t0 leaves c42 behind (written at c42.py:7); restoring it: passes 3 of 3, keeping it: fails 3 of 3, keeping only it: fails 3 of 3"
    );
    assert!(suite.forks < 60, "{}", suite.forks);
}

#[test]
fn cells_that_matter_together_are_reported_together() {
    // It passes only if neither cell is set.
    let fails = |state: &SharedState| state.contains_key("c3") || state.contains_key("c17");
    let cells = (0..20).map(|at| format!("c{at}")).collect();
    let either = SimulatedTest { fails_if: Some(Box::new(fails)), ..SimulatedTest::default() };
    let found = prove(&mut SimulatedSuite::new(2, vec![(0, writes(cells)), (1, either)]), ExpectedChange::Passes);
    assert_eq!((found.leak.kind, paths(&found)), (LeakKind::Proven, vec!["c17", "c3"]));
    assert!(sentence(&found).contains("leaves c17 and c3 behind"), "{}", sentence(&found));
}

#[test]
fn several_polluters_are_named_together() {
    let special = vec![(0, polluter("a")), (1, polluter("b")), (2, victim(&["a", "b"]))];
    let found = prove(&mut SimulatedSuite::new(3, special), ExpectedChange::Passes);
    assert_eq!(found.leak.after, [named(0), named(1)]);
    assert_eq!(
        found.sentence(&named(2)),
        "t0 and t1 leave a and b behind (written at a.py:7); restoring them: passes 3 of 3, keeping them: fails 3 of 3, \
         keeping only them: fails 3 of 3"
    );
}

#[test]
fn a_brittle_test_needs_all_the_cells_that_are_named() {
    // Either missing cell makes it fail, so restoring one proves only that this one is necessary.
    let fails = |state: &SharedState| !state.contains_key("user") || !state.contains_key("token");
    let needs = SimulatedTest { fails_if: Some(Box::new(fails)), ..SimulatedTest::default() };
    let cells = ["a", "token", "b", "user", "c"].map(str::to_owned).to_vec();
    let mut suite = SimulatedSuite::new(2, vec![(0, writes(cells)), (1, needs)]);
    let found = prove(&mut suite, ExpectedChange::Fails(Outcome::Failed, Some(failure("AssertionError"))));
    let mut named = paths(&found);
    named.sort_unstable();
    assert_eq!((found.leak.kind, named), (LeakKind::Proven, vec!["token", "user"]));
    assert!(sentence(&found).ends_with("keeping only them: passes 3 of 3"), "{}", sentence(&found));
}

#[test]
fn what_shared_set_up_made_is_restored_only_where_nothing_else_helps() {
    for (relevant, expected) in [("b", vec!["b"]), ("s", vec!["s"])] {
        let cells = ["a", "b", "s"].map(str::to_owned).to_vec();
        let mut suite = SimulatedSuite::new(2, vec![(0, writes(cells)), (1, victim(&[relevant]))]);
        suite.made_by_set_up.insert("s".to_owned());
        let found = prove(&mut suite, ExpectedChange::Passes);
        assert_eq!((found.leak.kind, paths(&found)), (LeakKind::Proven, expected));
    }
    // Without what the set-up made, the test fails in another way.
    let fails = |state: &SharedState| !state.contains_key("s") || state.contains_key("b");
    let shares = SimulatedTest { fails_if: Some(Box::new(fails)), ..SimulatedTest::default() };
    let cells = ["b", "s"].map(str::to_owned).to_vec();
    let mut suite = SimulatedSuite::new(2, vec![(0, writes(cells)), (1, shares)]);
    suite.made_by_set_up.insert("s".to_owned());
    let found = prove(&mut suite, ExpectedChange::Passes);
    assert_eq!((found.leak.kind, paths(&found)), (LeakKind::Proven, vec!["b"]));
}

#[test]
fn what_the_instrument_itself_restores_is_tried_where_that_changes_the_outcome() {
    for (relevant, expected) in [("c", vec!["c"]), ("b", vec!["b"])] {
        let cells = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        let mut suite = SimulatedSuite::new(2, vec![(0, writes(cells)), (1, victim(&[relevant]))]);
        suite.presets.extend(["c", "d"].map(str::to_owned));
        let found = prove(&mut suite, ExpectedChange::Passes);
        assert_eq!((found.leak.kind, paths(&found)), (LeakKind::Proven, expected));
        assert!(sentence(&found).ends_with("keeping only it: fails 3 of 3"), "{}", sentence(&found));
    }
}

#[test]
fn a_preset_cell_shows_the_parts_that_have_another_value_without_it() {
    let part = |name: &str, after: &str| Cell { path: name.into(), after: Some(after.into()), ..Cell::default() };
    let cell = |inside: Vec<Cell>| Cell { path: "class K".into(), preset: true, inside, ..Cell::default() };
    let early = vec![cell(vec![part("K.mode", "1"), part("K.name", "x")])];
    let late = [cell(vec![part("K.mode", "2"), part("K.name", "x")])];
    let both = with_both_values(early, &late);
    assert_eq!((both[0].before.as_deref(), both[0].after.as_deref()), (Some("K.mode = 1"), Some("K.mode = 2")));
    assert_eq!(both[0].inside.len(), 1);
    assert_eq!(with_both_values(both, &[]), []);
}

#[test]
fn a_brittle_test_fails_again_when_its_state_is_removed() {
    let mut suite =
        SimulatedSuite::new(2, vec![(0, writes(vec!["a".to_owned(), "b".to_owned()])), (1, brittle(&["b"]))]);
    let alone = Some(failure("AssertionError"));
    let conclusion = prove(&mut suite, ExpectedChange::Fails(Outcome::Failed, alone));
    assert_eq!((conclusion.leak.kind, paths(&conclusion)), (LeakKind::Proven, vec!["b"]));
    assert!(sentence(&conclusion).contains("restoring it: fails 3 of 3"), "{}", sentence(&conclusion));
    // Another failure than the one alone proves nothing.
    let other = Some(failure("KeyError"));
    let mut suite = SimulatedSuite::new(2, vec![(0, polluter("b")), (1, brittle(&["b"]))]);
    assert_eq!(prove(&mut suite, ExpectedChange::Fails(Outcome::Failed, other)).leak.kind, LeakKind::Possible);
}

#[test]
fn unrestorable_state_is_only_possible() {
    for known_before in [true, false] {
        let cells = vec!["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let mut suite = SimulatedSuite::new(2, vec![(0, writes(cells)), (1, victim(&["b"]))]);
        suite.unrestorable.insert("b".to_owned(), known_before);
        let found = prove(&mut suite, ExpectedChange::Passes);
        assert_eq!((found.leak.kind, paths(&found)), (LeakKind::Possible, vec!["b"]));
        assert_eq!(found.leak.cells[0].fixed.as_deref(), Some("it is bolted down"));
        assert_eq!(
            sentence(&found),
            "t0 leaves b behind; not proven: it cannot be restored, and restoring the other 2 does not change the outcome"
        );
    }
}

#[test]
fn unrestorable_but_irrelevant_state_does_not_prevent_a_proof() {
    let mut suite =
        SimulatedSuite::new(2, vec![(0, writes(vec!["a".to_owned(), "b".to_owned()])), (1, victim(&["b"]))]);
    suite.unrestorable.insert("a".to_owned(), false);
    let found = prove(&mut suite, ExpectedChange::Passes);
    assert_eq!((found.leak.kind, paths(&found)), (LeakKind::Proven, vec!["b"]));
}

#[test]
fn state_restored_without_effect_is_not_blamed() {
    // It fails for a reason that is not visible.
    let mut suite = SimulatedSuite::new(
        2,
        vec![(0, polluter("a")), (1, SimulatedTest { fails_if: Some(Box::new(|_| true)), ..SimulatedTest::default() })],
    );
    let found = prove(&mut suite, ExpectedChange::Passes);
    assert_eq!((found.leak.kind, paths(&found)), (LeakKind::Possible, vec![]));
    assert_eq!(sentence(&found), "leaked state not found: restoring a does not change the outcome");
}

#[test]
fn a_test_that_tolerates_the_state_proves_nothing() {
    let found = prove(&mut SimulatedSuite::new(2, vec![(0, polluter("a"))]), ExpectedChange::Passes);
    assert_eq!(found.leak.kind, LeakKind::Possible);
    assert!(sentence(&found).ends_with("not proven: the outcome differs in a fork of the process"));
}

#[test]
fn random_failures_prove_nothing() {
    for seed in 0..20 {
        let noisy = SimulatedTest { random_percent: 50, ..SimulatedTest::default() };
        let mut suite = SimulatedSuite::new(2, vec![(0, polluter("a")), (1, noisy)]);
        suite.rng = SeededRng(seed);
        assert_eq!(prove(&mut suite, ExpectedChange::Passes).leak.kind, LeakKind::Possible, "seed {seed}");
    }
}

/// In random suites, proven cells change the outcome and no subset does.
#[test]
fn proofs_are_true_and_minimal() {
    for seed in 0..100 {
        let mut rng = SeededRng(seed);
        let n = 1 + rng.below(80);
        let cells: Vec<String> = (0..n).map(|at| format!("c{at}")).collect();
        let mut relevant = cells.clone();
        rng.shuffle(&mut relevant);
        relevant.truncate(1 + rng.below(4));
        let needed = relevant.clone();
        let fails = move |state: &SharedState| needed.iter().any(|cell| state.contains_key(cell));
        let it = SimulatedTest { fails_if: Some(Box::new(fails)), ..SimulatedTest::default() };
        let found = prove(&mut SimulatedSuite::new(2, vec![(0, writes(cells)), (1, it)]), ExpectedChange::Passes);
        relevant.sort();
        let mut proven = paths(&found);
        proven.sort_unstable();
        assert_eq!(
            (found.leak.kind, proven),
            (LeakKind::Proven, relevant.iter().map(String::as_str).collect()),
            "seed {seed}"
        );
    }
}

#[test]
fn a_short_budget_is_no_reason_to_doubt_what_was_seen() {
    let mut possible = 0;
    for step in 1..120 {
        let cells = (0..20).map(|at| format!("c{at}")).collect();
        let mut suite = SimulatedSuite::new(2, vec![(0, writes(cells)), (1, victim(&["c7"]))]);
        let (after, test) = (vec![named(0)], named(1));
        let found = suite.search_for(f64::from(step) * 1e-3, async move |scheduler| {
            prove_leak(&scheduler, &after, &test, &ExpectedChange::Passes, &[]).await
        });
        let Some(found) = found else { continue };
        let text = sentence(&found);
        for wrong in ["only sometimes", "not again", "does not change", "in a fork", "was another"] {
            assert!(!text.contains(wrong), "{step}: {text}");
        }
        possible += u32::from(found.leak.kind == LeakKind::Possible);
    }
    assert!(possible > 10, "{possible}");
}
