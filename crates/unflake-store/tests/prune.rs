//! Tests of removing old results, on files and on a server.

mod common;

use common::{TestLocation, attempted, facts, failing, passing};
use unflake_model::{Attempt, Event, Outcome, Timestamp};
use unflake_store::{PruneCounts, ReportFacts, ReportedExecution, Retention, RunFacts, RunId, Source, SourceId, Store};

const DAY: i64 = 24 * 3600 * 1_000_000;
const NOW: i64 = 1_700_000_000_000_000;

fn days_ago(days: i64) -> Timestamp {
    Timestamp(NOW - days * DAY)
}

/// A run with a failure, two outputs, and a text that every run has.
fn run(store: &mut Store, days: i64) -> RunId {
    let run = store.begin(&RunFacts { started: days_ago(days), ..facts() }).unwrap();
    let at = |attempt: Attempt| Attempt { started: days_ago(days), ..attempt };
    let printed = Attempt { stdout: format!("printed {days} days ago"), ..passing("test_b", 1) };
    let same = Attempt { stderr: "the same every day".into(), ..passing("test_c", 2) };
    let failed = failing("test_a", 0, &format!("line {days}"));
    store.record(run, &attempted([at(failed), at(printed), at(same)])).unwrap();
    store.finish(run, days_ago(days), 1).unwrap();
    run
}

fn report(store: &mut Store, days: i64) {
    let facts = ReportFacts {
        key: format!("{days}"),
        format: "junit".into(),
        path: "a.xml".into(),
        size: 1,
        started: days_ago(days),
        imported: days_ago(days),
        commit: None,
        branch: None,
        ci_run: None,
        ci_attempt: None,
        job: None,
    };
    let report = store.begin_report(&facts).unwrap();
    let failure = failing("test_a", 0, &format!("report {days}")).failure;
    let execution = ReportedExecution {
        test: "test_a".into(),
        file: None,
        line: None,
        again: 0,
        outcome: Outcome::Failed,
        seconds: 1.0,
        failure,
    };
    store
        .record_report(
            report.id,
            0,
            &[execution.clone(), ReportedExecution { failure: None, outcome: Outcome::Passed, ..execution }],
        )
        .unwrap();
    store.finish_report(report.id, "").unwrap();
}

fn runs_before(days: i64) -> Retention {
    Retention { runs_before: Some(days_ago(days)), output_before: None }
}

fn old_runs_and_reports_go_with_their_texts(location: &TestLocation) {
    let mut store = location.open();
    let old = run(&mut store, 100);
    let new = run(&mut store, 10);
    report(&mut store, 90);
    report(&mut store, 9);
    let kept = store.attempts_in(new).unwrap();
    let planned = store.prune(&runs_before(30), true).unwrap();
    assert_eq!(store.attempts_in(old).unwrap().len(), 3, "a dry run changes nothing");

    let removed = store.prune(&runs_before(30), false).unwrap();

    assert_eq!(removed, planned);
    // Two traces and one output; what both runs printed stays.
    assert_eq!(removed, PruneCounts { runs: 1, reports: 1, attempts: 3, outputs: 0, texts: 3 });
    assert_eq!(store.attempts_in(new).unwrap(), kept);
    assert_eq!(store.runs(9).unwrap().iter().map(|run| run.id).collect::<Vec<_>>(), [new]);
    assert_eq!(store.reports(9).unwrap().len(), 1);
    assert_eq!(store.tests().unwrap().len(), 3, "names stay");
    assert_eq!(store.prune(&runs_before(30), false).unwrap(), PruneCounts::default());
    // The history goes on, with the same store.
    let next = run(&mut store, 1);
    assert_eq!(store.attempts_in(next).unwrap().len(), 3);
    store.compact().unwrap();
    assert_eq!(location.open().attempts_in(next).unwrap().len(), 3);
}

fn runs_that_something_refers_to_stay_without_attempts(location: &TestLocation) {
    let mut store = location.open();
    let old = run(&mut store, 100);
    let on = unflake_model::Dependencies::default();
    let recorded =
        Event::DependenciesRecorded { session: unflake_model::SessionId(0), test: "test_a".into(), on: Box::new(on) };
    store.record(old, &[recorded]).unwrap();
    let removed = store.prune(&runs_before(30), false).unwrap();
    assert_eq!((removed.runs, removed.attempts), (1, 3));
    assert_eq!(store.dependencies().unwrap().len(), 1);
    assert_eq!(store.runs(9).unwrap()[0].attempts, 0);
    assert_eq!(store.sources().unwrap(), []);
}

fn runs_without_an_end_stay_for_a_week(location: &TestLocation) {
    let mut store = location.open();
    let running = store.begin(&RunFacts { started: days_ago(3), ..facts() }).unwrap();
    let killed = store.begin(&RunFacts { started: days_ago(13), ..facts() }).unwrap();
    store.prune(&runs_before(2), false).unwrap();
    let runs: Vec<RunId> = store.runs(9).unwrap().iter().map(|run| run.id).collect();
    assert_eq!(runs, [running], "{killed} was killed long ago");
}

fn output_goes_and_failures_stay(location: &TestLocation) {
    let mut store = location.open();
    let old = run(&mut store, 100);
    let new = run(&mut store, 10);
    let before = store.attempts_in(old).unwrap();
    let retention = Retention { runs_before: None, output_before: Some(days_ago(30)) };
    let removed = store.prune(&retention, false).unwrap();
    assert_eq!(removed, PruneCounts { outputs: 2, texts: 1, ..PruneCounts::default() });
    let silent = |attempt: Attempt| Attempt { stdout: String::new(), stderr: String::new(), ..attempt };
    assert_eq!(store.attempts_in(old).unwrap(), before.into_iter().map(silent).collect::<Vec<_>>());
    assert!(store.attempts_in(new).unwrap().iter().any(|attempt| !attempt.stdout.is_empty()));
}

/// A run with megabytes that hardly compress; each seed gives others.
fn fill(store: &mut Store, seed: u32) {
    let run = store.begin(&RunFacts { started: days_ago(100), ..facts() }).unwrap();
    let letter = |n: u32| char::from(b'a' + ((n ^ seed).wrapping_mul(2_654_435_761) >> 27) as u8 % 26);
    let text = |number: u32| (number * 20_000..(number + 1) * 20_000).map(letter).collect::<String>();
    let many = (0..200).map(|number| failing("test_a", number, &text(number)));
    store.record(run, &attempted(many)).unwrap();
    store.finish(run, days_ago(100), 1).unwrap();
}

fn the_space_of_removed_rows_is_used_again(location: &TestLocation) {
    let mut store = location.open();
    fill(&mut store, 1 << 20);
    let before = store.size().unwrap();
    store.prune(&runs_before(1), false).unwrap();
    store.compact().unwrap();
    let empty = store.size().unwrap();
    if let TestLocation::Files(_) = location {
        assert!(empty < before / 2, "{before} bytes, then {empty}");
    }
    fill(&mut store, 1 << 21);
    let after = store.size().unwrap();
    assert!(after < before + before / 2, "{before} bytes, then {empty}, then {after}");
}

fn every_execution_is_exported(location: &TestLocation) {
    let mut store = location.open();
    run(&mut store, 10);
    report(&mut store, 9);
    let mut rows = Vec::new();
    for source in store.sources().unwrap() {
        let mut each = |row: &unflake_store::ExportedExecution| {
            let from_report = matches!(source.id, SourceId::Report(_));
            rows.push((from_report, row.purpose.clone(), row.outcome, row.message.clone()));
            Ok(())
        };
        store.export_of(&source, &mut each).unwrap().unwrap();
    }
    let row = |report: bool, outcome, message: &str| {
        (report, if report { String::new() } else { "suite".into() }, outcome, message.to_owned())
    };
    let expected = [
        row(false, Outcome::Failed, "assert 1 == 2"),
        row(false, Outcome::Passed, ""),
        row(false, Outcome::Passed, ""),
        row(true, Outcome::Failed, "assert 1 == 2"),
        row(true, Outcome::Passed, ""),
    ];
    assert_eq!(rows, expected);
    let source: Source = store.sources().unwrap().remove(0);
    let failed = store.export_of(&source, &mut |_| Err(std::io::ErrorKind::BrokenPipe.into())).unwrap();
    assert_eq!(failed.unwrap_err().kind(), std::io::ErrorKind::BrokenPipe);
}

with_files_and_server! {
    old_runs_and_reports_go_with_their_texts,
    runs_that_something_refers_to_stay_without_attempts,
    runs_without_an_end_stay_for_a_week,
    output_goes_and_failures_stay,
    the_space_of_removed_rows_is_used_again,
    every_execution_is_exported,
}
