//! What failed, what it said, and whether anything is new.

mod common;

use common::{Home, attempted, facts, failing, passing};
use unflake_model::{Attempt, Failure, Feedback, Fingerprint, Outcome, Phase, Purpose, Timestamp};
use unflake_store::{Imported, ReportFacts, SourceId, Store};

fn report(store: &mut Store, key: &str, started: i64, executions: &[Imported]) -> SourceId {
    let facts = ReportFacts {
        key: key.into(),
        format: "XML".into(),
        path: "report.xml".into(),
        size: 1,
        started: Timestamp(started),
        imported: Timestamp(started),
        commit: None,
        branch: None,
        ci_run: None,
        ci_attempt: None,
        job: None,
    };
    let begun = store.begin_report(&facts).unwrap();
    store.record_report(begun.id, 0, executions).unwrap();
    store.finish_report(begun.id, "").unwrap();
    SourceId::Report(begun.id)
}

fn execution(test: &str, outcome: Outcome, message: &str) -> Imported {
    let failure = Failure {
        phase: Phase::Call,
        kind: "Error".into(),
        message: message.into(),
        trace: "here".into(),
        file: None,
        line: None,
    };
    let failure = (outcome != Outcome::Passed).then_some(failure);
    Imported { test: test.into(), file: None, line: None, again: 0, outcome, seconds: 0.5, failure }
}

/// `test phase kind message file` of each failure.
fn told(store: &Store, source: SourceId) -> Vec<String> {
    let mut found = Vec::new();
    store.failed_in(source, &mut |test, failure| found.push((test, failure))).unwrap();
    let text = |key| store.text(key).unwrap();
    let name = |key| store.tests().unwrap().into_iter().find(|kin| kin.key == key).unwrap().test;
    found
        .into_iter()
        .map(|(test, one)| {
            let phase = one.phase.map_or("?", Phase::word);
            let file = one.file.map_or("?".to_owned(), text);
            format!("{} {phase} {} {} {file}", name(test), text(one.kind), text(one.message))
        })
        .collect()
}

fn failures_are_told_with_what_they_said_and_skips_are_none(home: &Home) {
    let mut store = home.open();
    let run = store.begin(&facts()).unwrap();
    let skipped = Attempt { outcome: Outcome::Skipped, ..failing("c", 2, "") };
    let on_purpose = Attempt { purpose: Purpose::Order, ..failing("a", 3, "") };
    store.record(run, &attempted([failing("a", 0, "trace"), passing("b", 1), skipped, on_purpose])).unwrap();
    assert_eq!(told(&store, SourceId::Run(run)), ["a call AssertionError assert 1 == 2 tests/test_cart.py"]);

    let executions = [
        execution("b", Outcome::Skipped, "later"),
        execution("b", Outcome::Failed, "no"),
        execution("a", Outcome::Passed, ""),
        execution("a", Outcome::Error, "oh"),
    ];
    let source = report(&mut store, "one", 10, &executions);
    assert_eq!(told(&store, source), ["b ? Error no ?", "a ? Error oh ?"]);
}

fn the_pulse_beats_when_something_comes_in(home: &Home) {
    let mut store = home.open();
    let mut last = store.pulse().unwrap();
    let mut beats = |store: &Store| {
        let now = store.pulse().unwrap();
        std::mem::replace(&mut last, now.clone()) != now
    };
    assert!(!beats(&store));
    let run = store.begin(&facts()).unwrap();
    assert!(beats(&store));
    store.record(run, &attempted([passing("a", 0)])).unwrap();
    assert!(beats(&store));
    store.finish(run, Timestamp(9), 0).unwrap();
    assert!(beats(&store));
    report(&mut store, "one", 10, &[execution("a", Outcome::Passed, "")]);
    assert!(beats(&store));
    let answer = Feedback { finding: Fingerprint("f".into()), useful: false, at: Timestamp(1), why: None };
    store.answer(&answer).unwrap();
    assert!(beats(&store));
    assert!(!beats(&store));
}

fn reports_are_looked_through_until_enough_is_found(home: &Home) {
    let mut store = home.open();
    for day in 0..5 {
        report(&mut store, &day.to_string(), day, &[execution("a", Outcome::Failed, &format!("on {day}"))]);
    }
    let key = store.key_of(&"a".into()).unwrap().unwrap();
    let sources = store.sources().unwrap();
    let newest_first = store.reported_in(sources.iter().rev(), key, 2).unwrap();
    let messages: Vec<&str> = newest_first.iter().map(|past| past.message.as_str()).collect();
    assert_eq!(messages, ["on 4", "on 3"]);
    assert_eq!(store.reported_of(key).unwrap().len(), 5);
    assert_eq!(store.key_of(&"b".into()).unwrap(), None);
}

fn a_run_is_heard_of_when_it_began_and_with_each_attempt(home: &Home) {
    let mut store = home.open();
    let run = store.begin(&facts()).unwrap();
    let heard = |store: &Store| store.heard(&store.run(run).unwrap().unwrap()).unwrap();
    assert_eq!(heard(&store), facts().started);
    store.record(run, &attempted([passing("a", 0), passing("b", 5)])).unwrap();
    assert_eq!(heard(&store), passing("b", 5).started);
}

with_files_and_server! {
    failures_are_told_with_what_they_said_and_skips_are_none,
    the_pulse_beats_when_something_comes_in,
    reports_are_looked_through_until_enough_is_found,
    a_run_is_heard_of_when_it_began_and_with_each_attempt,
}
