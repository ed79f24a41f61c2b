//! Tests of copying a history from files to a server, and back.

mod common;

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{TestLocation, attempted, facts, failing, location, passing};
use unflake_model::{
    Assertion, AssertionKey, AssertionOutcome, AssertionSample, Dependencies, Detail, Event, Feedback, Finding,
    Fingerprint, Nio, NioKind, NioMode, Outcome, Repeats, SessionId, Test, TestId, Timestamp, ValueGroup,
};
use unflake_store::{CopyCounts, ReportFacts, ReportedExecution, RunFacts, SourceId, Store, StoreError};

/// Writes rows to every table, `times` times, so that one batch is not enough.
fn fill(store: &mut Store, times: u32) {
    let run = store.begin(&facts()).unwrap();
    let tests = vec![Test { id: "listed".into(), file: Some("a.py".into()), line: Some(3), command: Vec::new() }];
    let sample = AssertionSample {
        assertion: Assertion {
            test: "a".into(),
            spot: AssertionKey { file: "t.py".into(), function: "f".into(), expression: "x == 1".into(), ordinal: 0 },
        },
        body: "b".into(),
        version: String::new(),
        groups: vec![ValueGroup {
            how: AssertionOutcome::Held,
            values: "x = 1".into(),
            failing: Vec::new(),
            times: 10,
        }],
    };
    let nio = Nio {
        kind: NioKind::Nio,
        mode: NioMode::IsolatedMethod,
        evidence: Repeats::default(),
        fresh: None,
        second_failure: None,
    };
    let finding = Finding {
        test: "a".into(),
        detail: Detail::Nio(nio),
        sentence: "?".into(),
        reproduce: Vec::new(),
        replays: Vec::new(),
    };
    let on = Box::new(Dependencies { root: "/p".into(), ..Dependencies::default() });
    store.record(run, &[Event::TestsListed { tests, deselected: 1, isolated: false, seconds: 0.0 }]).unwrap();
    store.record(run, &[Event::Note("a \0 note".into())]).unwrap();
    store.record(run, &[Event::DependenciesRecorded { session: SessionId(0), test: "a".into(), on }]).unwrap();
    for n in 0..times {
        let name = format!("test_{n}");
        store.record(run, &attempted([passing(&name, n), failing("a", n, &format!("trace \0 {n}"))])).unwrap();
    }
    store.keep_samples(run, &[sample]).unwrap();
    store.record_findings(run, &[finding]).unwrap();
    store
        .record_feedback(&Feedback {
            finding: Fingerprint("f".into()),
            useful: false,
            at: Timestamp(3),
            why: Some("no".into()),
        })
        .unwrap();
    let report = ReportFacts {
        key: format!("key {}", store.reports(99).unwrap().len()),
        format: "XML".into(),
        path: "r.xml".into(),
        size: 9,
        started: Timestamp(10),
        imported: Timestamp(11),
        commit: None,
        branch: Some("main".into()),
        ci_run: None,
        ci_attempt: Some(2),
        job: None,
    };
    let report = store.begin_report(&report).unwrap();
    let execution = |n: u32| ReportedExecution {
        test: TestId::new(format!("reported_{n}")),
        file: None,
        line: None,
        again: 0,
        outcome: if n.is_multiple_of(2) { Outcome::Failed } else { Outcome::Passed },
        seconds: 0.5,
        failure: n.is_multiple_of(2).then(|| failing("", 0, "t").failure.unwrap()),
    };
    store.record_report(report.id, 0, &(0..times).map(execution).collect::<Vec<_>>()).unwrap();
    store.record_report(report.id, times.into(), &[execution(1)]).unwrap();
}

/// The results of all queries, as text.
fn snapshot(store: &Store) -> String {
    let mut out = String::new();
    for run in store.runs(99).unwrap() {
        out += &format!(
            "{run:?} {:?} {:?}",
            store.attempts_in(run.id).unwrap(),
            store.other_observations(run.id).unwrap()
        );
    }
    for source in store.sources().unwrap() {
        out += &format!("{source:?}");
        store.executions_in(source.id, &mut |one| out += &format!("{one:?}")).unwrap();
        store.failed_in(source.id, &mut |test, failure| out += &format!("{test:?} {failure:?}")).unwrap();
    }
    out += &format!("{:?} {:?}", store.tests().unwrap(), store.reports(99).unwrap());
    out += &format!("{:?} {:?}", store.samples(&[]).unwrap(), store.dependencies().unwrap());
    out += &format!("{:?} {:?}", store.latest_findings(99).unwrap(), store.feedback().unwrap());
    out
}

/// An empty location of the other kind.
fn other(location: &TestLocation) -> TestLocation {
    match location {
        TestLocation::Files(_) => TestLocation::server(),
        TestLocation::Server(_) | TestLocation::Pooler(_) => TestLocation::files(),
    }
}

fn copies_everything_and_copying_again_adds_nothing(location: &TestLocation) {
    let mut from = location.open();
    fill(&mut from, 700);
    let before = snapshot(&from);
    let target = other(location);
    let mut to = target.open();
    let first = to.copy_from(&from).unwrap();
    assert!(first.new > 3_000 && first.rows == first.new, "{first:?}");
    assert_eq!(snapshot(&from), before, "what is copied stays as it is");
    assert!(snapshot(&to) == before);
    assert_eq!(to.copy_from(&from).unwrap(), CopyCounts { new: 0, ..first });

    fill(&mut from, 3);
    let run = from.runs(1).unwrap()[0].id;
    from.finish(run, Timestamp(99), 1).unwrap();
    let more = to.copy_from(&from).unwrap();
    assert!(more.new > 10 && more.new < 60, "{more:?}");
    assert!(snapshot(&to) == snapshot(&from), "what has changed since comes over too");

    let mut back = location.another().open();
    back.copy_from(&to).unwrap();
    assert!(snapshot(&back) == snapshot(&from));
}

fn a_copied_history_accepts_new_runs(location: &TestLocation) {
    let mut from = location.open();
    fill(&mut from, 3);
    let mut to = other(location).open();
    to.copy_from(&from).unwrap();
    fill(&mut to, 5);
    let run = to.runs(1).unwrap().remove(0);
    assert_eq!(to.attempts_in(run.id).unwrap().len(), 10);
    assert!(to.sources().unwrap().iter().any(|source| source.id == SourceId::Run(run.id)));
}

fn different_histories_are_not_merged(location: &TestLocation) {
    let check = |to: &mut Store, from: &Store| {
        let before = snapshot(to);
        let error = to.copy_from(from).unwrap_err();
        assert!(matches!(error, StoreError::Differs { .. }), "{error:?}");
        assert!(snapshot(to) == before);
    };
    let mut from = location.open();
    fill(&mut from, 3);
    let mut to = other(location).open();
    to.begin(&RunFacts { cwd: "/another".into(), ..facts() }).unwrap();
    check(&mut to, &from);

    let mut to = other(location).open();
    to.copy_from(&from).unwrap();
    fill(&mut to, 1);
    check(&mut to, &from);

    let empty = location.another().open();
    check(&mut to, &empty);
}

const FROM: &str = "UNFLAKE_STORE_TEST_FROM";
const TO: &str = "UNFLAKE_STORE_TEST_TO";

/// Entry point of the child process, not a test.
#[test]
fn another_process() {
    let (Ok(from), Ok(to)) = (std::env::var(FROM), std::env::var(TO)) else { return };
    let from = Store::open(location(&from)).unwrap();
    Store::open(location(&to)).unwrap().copy_from(&from).unwrap();
}

/// A killed copy has copied everything or nothing, and the next one completes it.
fn a_killed_copy_leaves_nothing_and_can_be_repeated(location: &TestLocation) {
    let mut from = location.open();
    fill(&mut from, 500);
    let before = snapshot(&from);
    let target = other(location);
    drop(target.open());
    let mut killed = 0;
    for most in 1..200 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "another_process"])
            .envs([(FROM, location.text()), (TO, target.text())])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let random = RandomState::new().hash_one(most);
        thread::sleep(Duration::from_millis(random % (10 * most)));
        let over = child.try_wait().unwrap().is_some();
        child.kill().unwrap();
        child.wait().unwrap();
        let to = target.open();
        let runs = to.runs(9).unwrap().len();
        assert!(runs == 0 || snapshot(&to) == before, "a part of it is there");
        killed += u32::from(!over && runs == 0);
        if over || runs > 0 {
            break;
        }
    }
    assert!(killed > 0, "none was killed before its end");
    assert!(snapshot(&from) == before);
    target.open().copy_from(&from).unwrap();
    assert!(snapshot(&target.open()) == before);
}

with_files_and_server! {
    a_killed_copy_leaves_nothing_and_can_be_repeated,
    copies_everything_and_copying_again_adds_nothing,
    a_copied_history_accepts_new_runs,
    different_histories_are_not_merged,
}
