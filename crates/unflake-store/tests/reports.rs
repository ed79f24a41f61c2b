//! Tests of imported reports.

mod common;

use common::{TestLocation, attempted, facts, failing, passing};
use unflake_model::{Failure, Outcome, Phase, Timestamp};
use unflake_store::{ReportFacts, ReportedExecution, SourceId, Store};

fn report(key: &str, started: i64) -> ReportFacts {
    ReportFacts {
        key: key.into(),
        format: "XML".into(),
        path: "results/report.xml".into(),
        size: 1234,
        started: Timestamp(started),
        imported: Timestamp(started + 9),
        commit: Some("c0ffee".into()),
        branch: Some("main".into()),
        ci_run: Some("77".into()),
        ci_attempt: Some(2),
        job: Some("linux".into()),
    }
}

fn execution(test: &str, again: u32, outcome: Outcome) -> ReportedExecution {
    let failure = outcome.is_failure().then(|| Failure {
        phase: Phase::Call,
        kind: "Error".into(),
        message: format!("{test} went wrong"),
        trace: "here".into(),
        file: None,
        line: None,
    });
    ReportedExecution {
        test: test.into(),
        file: Some("a.py".into()),
        line: Some(3),
        again,
        outcome,
        seconds: 0.25,
        failure,
    }
}

fn executions_of(store: &Store, test: &str) -> Vec<String> {
    let tests = store.tests().unwrap();
    let stored = tests.iter().find(|stored| stored.test.as_str() == test).unwrap();
    let past = store.reported_of(stored.key).unwrap();
    past.iter()
        .map(|past| format!("{} {} {}", past.source.started.0, past.execution.outcome.word(), past.message))
        .collect()
}

fn reported_executions_round_trip_in_order(location: &TestLocation) {
    let mut store = location.open();
    for (key, started) in [("late", 20), ("early", 10)] {
        let begun = store.begin_report(&report(key, started)).unwrap();
        assert_eq!((begun.executions, &begun.ended), (0, &None));
        store
            .record_report(begun.id, 0, &[execution("a", 0, Outcome::Failed), execution("b", 0, Outcome::Skipped)])
            .unwrap();
        store.record_report(begun.id, 2, &[execution("a", 1, Outcome::Passed)]).unwrap();
        store.finish_report(begun.id, "").unwrap();
    }
    assert_eq!(
        executions_of(&store, "a"),
        ["10 failed a went wrong", "10 passed ", "20 failed a went wrong", "20 passed "]
    );
    assert_eq!(executions_of(&store, "b"), ["10 skipped ", "20 skipped "]);
    let sources = store.sources().unwrap();
    assert_eq!((sources[1].branch.as_deref(), sources[1].ci_attempt), (Some("main"), Some(2)));
    assert_eq!(store.tests().unwrap()[0].file.as_deref(), Some("a.py"));
}

fn reports_are_imported_once_and_resumed_after_interruption(location: &TestLocation) {
    let mut store = location.open();
    let first = store.begin_report(&report("one", 10)).unwrap();
    store
        .record_report(first.id, 0, &[execution("a", 0, Outcome::Passed), execution("b", 0, Outcome::Passed)])
        .unwrap();
    let again = store.begin_report(&report("one", 99)).unwrap();
    assert_eq!((again.id, again.executions, again.ended.as_deref(), again.facts.started.0), (first.id, 2, None, 10));
    store
        .record_report(again.id, 0, &[execution("a", 0, Outcome::Passed), execution("b", 0, Outcome::Passed)])
        .unwrap();
    store.record_report(again.id, 2, &[execution("c", 0, Outcome::Passed)]).unwrap();
    store.finish_report(again.id, "it is truncated").unwrap();
    store.finish_report(again.id, "").unwrap();
    let reports = store.reports(9).unwrap();
    assert_eq!((reports.len(), reports[0].executions), (1, 3));
    assert_eq!(reports[0].ended.as_deref(), Some("it is truncated"), "the first reason stays");
    assert_eq!(executions_of(&store, "a").len(), 1);
    assert_eq!(executions_of(&store, "c").len(), 1);
}

fn own_runs_are_sources(location: &TestLocation) {
    let mut store = location.open();
    let run = store.begin(&facts()).unwrap();
    let mut again = passing("a", 1);
    again.run = 1;
    store.record(run, &attempted([failing("a", 0, "trace"), again, passing("b", 2)])).unwrap();
    let mut seen = Vec::new();
    let source = store.sources().unwrap().remove(0);
    assert_eq!((source.id, source.commit.as_deref()), (SourceId::Run(run), Some("c0ffee")));
    store.executions_in(source.id, &mut |one| seen.push((one.test.0, one.again, one.outcome.word()))).unwrap();
    assert_eq!(seen, [(1, 0, "failed"), (1, 1, "passed"), (2, 0, "passed")]);
}

with_files_and_server! {
    reported_executions_round_trip_in_order,
    reports_are_imported_once_and_resumed_after_interruption,
    own_runs_are_sources,
}
