//! Tests of failures, their texts, and change detection.

mod common;

use common::{TestLocation, attempted, facts, failing, passing};
use unflake_model::{Attempt, Failure, Feedback, Fingerprint, Outcome, Phase, Purpose, Timestamp};
use unflake_store::{ReportFacts, ReportedExecution, SourceId, Store};

fn report(store: &mut Store, key: &str, started: i64, executions: &[ReportedExecution]) -> SourceId {
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

fn execution(test: &str, outcome: Outcome, message: &str) -> ReportedExecution {
    let failure = Failure {
        phase: Phase::Call,
        kind: "Error".into(),
        message: message.into(),
        trace: "here".into(),
        file: None,
        line: None,
    };
    let failure = (outcome != Outcome::Passed).then_some(failure);
    ReportedExecution { test: test.into(), file: None, line: None, again: 0, outcome, seconds: 0.5, failure }
}

/// `test phase kind message file` of each failure.
fn failures_in(store: &Store, source: SourceId) -> Vec<String> {
    let mut found = Vec::new();
    store.failed_in(source, &mut |test, failure| found.push((test, failure))).unwrap();
    let text = |key| store.text(key).unwrap();
    let name = |key| store.tests().unwrap().into_iter().find(|test| test.key == key).unwrap().test;
    found
        .into_iter()
        .map(|(test, one)| {
            let phase = one.phase.map_or("?", Phase::word);
            let file = one.file.map_or("?".to_owned(), text);
            format!("{} {phase} {} {} {file}", name(test), text(one.kind), text(one.message))
        })
        .collect()
}

fn failures_have_their_texts_and_skips_are_no_failures(location: &TestLocation) {
    let mut store = location.open();
    let run = store.begin(&facts()).unwrap();
    let skipped = Attempt { outcome: Outcome::Skipped, ..failing("c", 2, "") };
    let on_purpose = Attempt { purpose: Purpose::Order, ..failing("a", 3, "") };
    store.record(run, &attempted([failing("a", 0, "trace"), passing("b", 1), skipped, on_purpose])).unwrap();
    assert_eq!(failures_in(&store, SourceId::Run(run)), ["a call AssertionError assert 1 == 2 tests/test_cart.py"]);

    let executions = [
        execution("b", Outcome::Skipped, "later"),
        execution("b", Outcome::Failed, "no"),
        execution("a", Outcome::Passed, ""),
        execution("a", Outcome::Error, "oh"),
    ];
    let source = report(&mut store, "one", 10, &executions);
    assert_eq!(failures_in(&store, source), ["b ? Error no ?", "a ? Error oh ?"]);
}

fn the_change_counter_changes_with_every_addition(location: &TestLocation) {
    let mut store = location.open();
    let mut last = store.change_counter().unwrap();
    let mut beats = |store: &Store| {
        let now = store.change_counter().unwrap();
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
    store.record_feedback(&answer).unwrap();
    assert!(beats(&store));
    assert!(!beats(&store));
}

fn reports_are_read_until_enough_is_found(location: &TestLocation) {
    let mut store = location.open();
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

fn the_last_activity_is_the_start_or_the_latest_attempt(location: &TestLocation) {
    let mut store = location.open();
    let run = store.begin(&facts()).unwrap();
    let last_activity = |store: &Store| store.last_activity(&store.run(run).unwrap().unwrap()).unwrap();
    assert_eq!(last_activity(&store), facts().started);
    store.record(run, &attempted([passing("a", 0), passing("b", 5)])).unwrap();
    assert_eq!(last_activity(&store), passing("b", 5).started);
}

with_files_and_server! {
    failures_have_their_texts_and_skips_are_no_failures,
    the_change_counter_changes_with_every_addition,
    reports_are_read_until_enough_is_found,
    the_last_activity_is_the_start_or_the_latest_attempt,
}
