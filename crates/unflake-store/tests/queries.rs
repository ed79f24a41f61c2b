//! Tests of queries beyond attempts: passes of a test, and its dependencies.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use common::{TestLocation, attempted, facts, failing, passing};
use unflake_model::{Attempt, Death, Dependencies, EnvironmentId, Event, Outcome, Purpose, SessionId, TestId, World};
use unflake_store::{Revision, RunFacts};

fn at(tree: &str, commit: &str, dirty: bool) -> RunFacts {
    let revision =
        Revision { commit: Some(commit.into()), tree: Some(tree.into()), dirty: Some(dirty), changed: Vec::new() };
    RunFacts { revision, ..facts() }
}

fn tests(names: &[&str]) -> Vec<TestId> {
    names.iter().map(|name| TestId::from(*name)).collect()
}

fn passes_are_found_with_the_tests_before_them(location: &TestLocation) {
    let mut store = location.open();
    let run = store.begin(&at("t1", "c1", false)).unwrap();
    let in_suite = [passing("a", 0), failing("b", 1, ""), failing("b", 2, ""), passing("c", 3)];
    let elsewhere = Attempt { environment: EnvironmentId(9), ..passing("z", 0) };
    store.record(run, &attempted(in_suite.into_iter().chain([elsewhere]))).unwrap();
    assert_eq!(store.passed_at("t1", &"c".into(), run).unwrap(), Some(tests(&["a", "b"])));
    assert_eq!(store.passed_at("t1", &"a".into(), run).unwrap(), Some(Vec::new()));
    assert_eq!(store.passed_at("t1", &"b".into(), run).unwrap(), None, "it only failed");
    assert_eq!(store.passed_at("t2", &"a".into(), run).unwrap(), None);
    assert_eq!(store.passed_at("t1", &"never heard of".into(), run).unwrap(), None);

    let alone = Attempt { environment: EnvironmentId(10), purpose: Purpose::Fresh, ..passing("c", 0) };
    store.record(run, &attempted([alone])).unwrap();
    assert_eq!(store.passed_at("t1", &"c".into(), run).unwrap(), Some(Vec::new()), "alone is worth more");

    let world = World { seed: Some(7), ..World::default() };
    let seeded = |attempt: Attempt| Attempt { world: Some(world.id()), session: SessionId(3), ..attempt };
    let other = store.begin(&at("t3", "c3", false)).unwrap();
    store.record(other, &[Event::WorldEntered(world.clone())]).unwrap();
    store.record(other, &attempted([seeded(passing("a", 0))])).unwrap();
    assert_eq!(store.passed_at("t3", &"a".into(), run).unwrap(), None, "it passed in another world");
    assert_eq!(store.passed_at("t3", &"a".into(), other).unwrap(), Some(Vec::new()));
    let later = store.begin(&at("t3", "c3", false)).unwrap();
    assert_eq!(store.last_pass_at("t3", &"a".into(), later).unwrap(), None);
}

fn tests_that_pass_and_fail_for_one_purpose_are_flaky(location: &TestLocation) {
    let mut store = location.open();
    let run = store.begin(&at("t1", "c1", false)).unwrap();
    let fresh = |attempt: Attempt| Attempt { purpose: Purpose::Fresh, session: SessionId(2), ..attempt };
    // `b` fails only in the suite, so it may depend on other tests; `c` is broken; `d` fails one
    // time in three.
    let suite = [failing("a", 0, ""), passing("a", 1), failing("b", 2, ""), failing("c", 3, ""), failing("c", 4, "")];
    store.record(run, &attempted(suite)).unwrap();
    store
        .record(run, &attempted([fresh(passing("b", 0)), fresh(passing("d", 1)), fresh(failing("d", 2, ""))]))
        .unwrap();
    let next = store.begin(&at("t1", "c1", false)).unwrap();
    store.record(next, &attempted([passing("d", 0), passing("b", 1)])).unwrap();
    let other = Attempt { purpose: Purpose::Look, session: SessionId(3), ..passing("d", 2) };
    let crashed = Outcome::Crashed(Death::Signal(6));
    let third = Attempt { purpose: Purpose::Look, session: SessionId(4), outcome: crashed, ..failing("d", 3, "") };
    let fourth = Attempt { purpose: Purpose::Look, session: SessionId(5), ..passing("d", 4) };
    store.record(next, &attempted([other, third, fourth])).unwrap();
    assert_eq!(store.flaky_lately(50).unwrap(), [("a".into(), 1, 1), ("d".into(), 3, 2)]);
    assert_eq!(store.flaky_lately(1).unwrap(), [("d".into(), 2, 1)]);
}

fn passes_with_uncommitted_changes_or_at_the_base_do_not_count(location: &TestLocation) {
    let mut store = location.open();
    let dirty = store.begin(&at("t1", "c1", true)).unwrap();
    store.record(dirty, &attempted([passing("a", 0)])).unwrap();
    let clean = store.begin(&at("t1", "c1", false)).unwrap();
    let at_base = Attempt { purpose: Purpose::Base, session: SessionId(4), ..passing("a", 0) };
    store.record(clean, &attempted([at_base])).unwrap();
    assert_eq!(store.passed_at("t1", &"a".into(), clean).unwrap(), None);
    assert_eq!(store.commits_passed(&"a".into()).unwrap(), Vec::<String>::new());
    store.record(clean, &attempted([passing("a", 0)])).unwrap();
    assert_eq!(store.commits_passed(&"a".into()).unwrap(), ["c1"]);
}

fn the_newest_dependencies_of_each_test_are_returned(location: &TestLocation) {
    let mut store = location.open();
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let on = |file: &str| Dependencies {
        root: PathBuf::from("/p"),
        executed: BTreeMap::from([(file.to_owned(), None)]),
        searched: BTreeMap::from([(String::new(), set(&["json", "shop"]))]),
        ..Dependencies::default()
    };
    let depends = |test: &str, file: &str| Event::DependenciesRecorded {
        session: SessionId(0),
        test: test.into(),
        on: Box::new(on(file)),
    };
    let old = store.begin(&at("t1", "c1", false)).unwrap();
    store.record(old, &[depends("a", "a.py"), depends("b", "b.py")]).unwrap();
    let new = store.begin(&at("t2", "c2", true)).unwrap();
    store.record(new, &[depends("a", "new.py")]).unwrap();
    let changed = Revision { changed: vec!["new.py".into()], ..at("t2", "c2", true).revision };
    store.revision(new, &changed).unwrap();
    let known = store.dependencies().unwrap();
    assert_eq!(known.iter().map(|one| one.test.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!((&known[0].on, &known[0].revision), (&on("new.py"), &changed));
    assert_eq!((&known[1].on, known[1].revision.commit.as_deref()), (&on("b.py"), Some("c1")));
}

with_files_and_server! {
    passes_are_found_with_the_tests_before_them,
    tests_that_pass_and_fail_for_one_purpose_are_flaky,
    passes_with_uncommitted_changes_or_at_the_base_do_not_count,
    the_newest_dependencies_of_each_test_are_returned,
}
