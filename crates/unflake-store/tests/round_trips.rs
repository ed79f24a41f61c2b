//! Round trips of recorded events.

mod common;

use std::cell::RefCell;

use common::{TestLocation, attempted, facts, failing, names, passing};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use unflake_model::{
    Attempt, Death, EnvironmentFacts, EnvironmentId, Event, Failure, Isolation, Outcome, Phase, Privacy, Problem,
    ProblemKind, Purpose, SessionId, Shared, Test, Timestamp, World,
};
use unflake_store::{Revision, Run, RunFacts, RunId, Store};

fn runs_round_trip_with_later_updates(location: &TestLocation) {
    let mut store = location.open();
    let run = store.begin(&RunFacts { revision: Revision::default(), ..facts() }).unwrap();
    let begun = &store.runs(9).unwrap()[0];
    assert_eq!((begun.ended, begun.listed, begun.attempts), (None, None, 0));
    assert_eq!(begun.facts.revision, Revision::default());

    store.revision(run, &facts().revision).unwrap();
    let tests = vec![Test { id: "a".into(), file: Some("a.py".into()), line: Some(3), command: Vec::new() }];
    store.record(run, &[Event::TestsListed { tests, deselected: 4, isolated: false, seconds: 0.0 }]).unwrap();
    store.record(run, &attempted([passing("a", 0), passing("b", 1)])).unwrap();
    store.finish(run, Timestamp(99), 130).unwrap();

    let ended = Run { id: run, facts: facts(), ended: Some((Timestamp(99), 130)), listed: Some((1, 4)), attempts: 2 };
    assert_eq!(store.runs(9).unwrap(), [ended]);
}

fn newest_attempts_come_first(location: &TestLocation) {
    let mut store = location.open();
    let later = store.begin(&facts()).unwrap();
    // Recorded later, like imported results, but started earlier.
    let earlier = store.begin(&RunFacts { started: Timestamp(5), ..facts() }).unwrap();
    store.record(later, &attempted((0..3).map(|n| passing("a", n)))).unwrap();
    store.record(earlier, &attempted([Attempt { started: Timestamp(6), ..passing("a", 9) }, passing("b", 1)])).unwrap();

    assert_eq!(store.runs(9).unwrap().iter().map(|run| run.id).collect::<Vec<_>>(), [later, earlier]);
    assert_eq!(store.runs(1).unwrap().len(), 1);
    let positions = |limit| -> Vec<u32> {
        store.attempts_of(&"a".into(), limit).unwrap().iter().map(|kept| kept.attempt.position).collect()
    };
    assert_eq!(positions(9), [2, 1, 0, 9]);
    assert_eq!(positions(2), [2, 1]);
    assert_eq!(store.attempts_of(&"never heard of".into(), 9).unwrap(), []);
    let kept = store.attempts_of(&"b".into(), 9).unwrap().remove(0);
    assert_eq!((kept.run, kept.revision), (earlier, facts().revision));
}

fn other_observations_round_trip_in_order(location: &TestLocation) {
    let mut store = location.open();
    let run = store.begin(&facts()).unwrap();
    let events = [
        Event::EnvironmentStarted(EnvironmentFacts {
            id: EnvironmentId(1),
            origin: Isolation::Fork,
            parent: Some(EnvironmentId(0)),
            runner: "pytest 8.3.4".into(),
            language: "CPython 3.11.7".into(),
            installed: None,
        }),
        Event::Note("line\nand \0 and \u{1b}[1m".into()),
        Event::Problem(Problem { kind: ProblemKind::Collection, place: Some("a.py".into()), text: "?".into() }),
        Event::SessionEnded { session: SessionId(3), left: vec!["b".into(), "a".into()], why: Some("died".into()) },
        Event::SessionEnded { session: SessionId(4), left: vec![], why: None },
    ];
    store.record(run, &events).unwrap();
    store.record(run, &attempted([passing("a", 0)])).unwrap();
    let other = store.begin(&facts()).unwrap();
    assert_eq!(store.other_observations(run).unwrap(), events);
    assert_eq!(store.other_observations(other).unwrap(), []);
    assert_eq!(store.attempts_in(run).unwrap(), [passing("a", 0)]);
    assert_eq!(store.attempts_in(other).unwrap(), []);
}

fn worlds_are_kept_once_and_found_by_id(location: &TestLocation) {
    let mut store = location.open();
    let run = store.begin(&facts()).unwrap();
    let world = World { seed: Some(7), private: Privacy::all(), shared: Shared::Fork, ..World::default() };
    let attempt = Attempt { world: Some(world.id()), ..passing("a", 0) };
    for _ in 0..2 {
        store.record(run, &[Event::WorldEntered(world.clone())]).unwrap();
    }
    store.record(run, &attempted([attempt.clone()])).unwrap();
    assert_eq!(store.attempts_in(run).unwrap(), [attempt]);
    assert_eq!(store.world(world.id()).unwrap(), Some(world.clone()));
    assert_eq!(store.worlds_in(run).unwrap(), [(world.id(), world)].into());
    assert_eq!(store.world(World::default().id()).unwrap(), None);
}

fn recording_to_an_unknown_run_fails_and_the_store_stays_usable(location: &TestLocation) {
    let mut store = location.open();
    assert!(store.record(RunId(7), &attempted([passing("a", 0)])).is_err());
    assert!(store.finish(RunId(7), Timestamp(0), 0).is_err());
    assert_eq!(names(&store.find_tests("a").unwrap()), [""; 0]);
    let run = store.begin(&facts()).unwrap();
    store.record(run, &attempted([passing("a", 0)])).unwrap();
    assert_eq!(store.attempts_in(run).unwrap().len(), 1);
}

fn tests_are_found_by_partial_names(location: &TestLocation) {
    let mut store = location.open();
    let run = store.begin(&facts()).unwrap();
    let tests = [
        "t.py::test_total",
        "t.py::test_total_of_nothing",
        "u.py::test_total[a b]",
        "u.py::test_é",
        "test_totally",
        "100%_sure",
    ];
    let tests = tests.map(|id| Test { id: id.into(), file: None, line: None, command: Vec::new() }).to_vec();
    store.record(run, &[Event::TestsListed { tests, deselected: 0, isolated: false, seconds: 0.0 }]).unwrap();
    let check = |pattern: &str, expected: &[&str]| {
        assert_eq!(names(&store.find_tests(pattern).unwrap()), expected, "{pattern}");
    };
    check("t.py::test_total", &["t.py::test_total"]);
    check("test_total", &["t.py::test_total", "u.py::test_total[a b]"]);
    check("t.py", &["t.py::test_total", "t.py::test_total_of_nothing"]);
    check("tota", &["t.py::test_total", "t.py::test_total_of_nothing", "test_totally", "u.py::test_total[a b]"]);
    check("test_é", &["u.py::test_é"]);
    check("%", &["100%_sure"]);
    check("nothing like it", &[]);
}

#[test]
fn a_text_is_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let run = store.begin(&facts()).unwrap();
    let trace = "x".repeat(100_000);
    for _ in 0..10 {
        store.record(run, &attempted((0..10).map(|n| failing("a", n, &trace)))).unwrap();
    }
    assert_eq!(store.attempts_of(&"a".into(), 1000).unwrap().len(), 100);
    let path = store.location_text();
    drop(store);
    let bytes = std::fs::metadata(path).unwrap().len();
    assert!(bytes < 300_000, "{bytes} bytes");
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), ".{0,20}", any::<String>(), Just("\0 a\0\n\u{1b}[31m\r\u{feff}".to_owned())]
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        Just(Outcome::Passed),
        Just(Outcome::Failed),
        Just(Outcome::Error),
        Just(Outcome::Skipped),
        Just(Outcome::ExpectedFailure),
        Just(Outcome::UnexpectedPass),
        Just(Outcome::TimedOut),
        Just(Outcome::Crashed(Death::Unknown)),
        any::<i32>().prop_map(|number| Outcome::Crashed(Death::Signal(number))),
        any::<i32>().prop_map(|code| Outcome::Crashed(Death::Exit(code))),
    ]
}

fn failures() -> impl Strategy<Value = Failure> {
    let phases = prop::sample::select(vec![Phase::SetUp, Phase::Call, Phase::TearDown, Phase::Process]);
    let places = (prop::option::of(texts()), any::<Option<u32>>());
    (phases, texts(), texts(), texts(), places).prop_map(|(phase, kind, message, trace, (file, line))| Failure {
        phase,
        kind,
        message,
        trace,
        file,
        line,
    })
}

fn attempts() -> impl Strategy<Value = Attempt> {
    let purposes = prop::sample::select(vec![
        Purpose::Suite,
        Purpose::AtEnd,
        Purpose::Fresh,
        Purpose::OtherSeeds,
        Purpose::Together,
        Purpose::WithoutFiles,
        Purpose::Again,
        Purpose::Stress,
        Purpose::Look,
        Purpose::Twice,
        Purpose::Order,
        Purpose::Search,
        Purpose::State,
        Purpose::Base,
        Purpose::Factor,
    ]);
    let origins = prop::sample::select(vec![Isolation::Process, Isolation::Fork]);
    let numbers = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>(), any::<i64>(), any::<f64>());
    let loads = prop::option::of(0.0..1e6);
    (texts(), purposes, origins, (numbers, loads), outcomes(), prop::option::of(failures()), texts(), texts()).prop_map(
        |(test, purpose, origin, (numbers, load), outcome, failure, stdout, stderr)| {
            let (session, environment, position, run, started, seconds) = numbers;
            Attempt {
                test: test.as_str().into(),
                session: SessionId(session),
                purpose,
                environment: EnvironmentId(environment),
                origin,
                world: None,
                position,
                run,
                outcome,
                started: Timestamp(started),
                seconds,
                load,
                failure,
                stdout,
                stderr,
            }
        },
    )
}

fn attempts_round_trip(location: &TestLocation) {
    let store = RefCell::new(location.open());
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let checked = TestRunner::new(config).run(&prop::collection::vec(attempts(), 1..6), |attempts| {
        let mut store = store.borrow_mut();
        let run = store.begin(&facts()).unwrap();
        store.record(run, &attempted(attempts.clone())).unwrap();
        prop_assert_eq!(&store.attempts_in(run).unwrap(), &attempts);
        for attempt in &attempts {
            let kept = store.attempts_of(&attempt.test, usize::MAX).unwrap();
            prop_assert!(kept.iter().any(|kept| kept.run == run && kept.attempt == *attempt));
        }
        Ok(())
    });
    checked.unwrap();
}

fn nan_durations_are_accepted(location: &TestLocation) {
    let mut store = location.open();
    let run = store.begin(&facts()).unwrap();
    store.record(run, &attempted([Attempt { seconds: f64::NAN, ..passing("a", 0) }])).unwrap();
    assert!(store.attempts_in(run).unwrap()[0].seconds.is_nan());
}

with_files_and_server! {
    runs_round_trip_with_later_updates,
    newest_attempts_come_first,
    other_observations_round_trip_in_order,
    worlds_are_kept_once_and_found_by_id,
    recording_to_an_unknown_run_fails_and_the_store_stays_usable,
    tests_are_found_by_partial_names,
    nan_durations_are_accepted,
    attempts_round_trip,
}
