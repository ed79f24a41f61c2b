//! Histories with known causes.

use std::path::Path;

use unflake_model::{
    Attempt, Cause, Detail, Divergence, DivergenceKind, EnvironmentId, Event, Failure, Finding, Fingerprint, Isolation,
    Location, OrderDependence, OrderKind, Outcome, Phase, Purpose, Repeats, SessionId, SourceLine, TestId, Timestamp,
};
use unflake_report::NextAction;
use unflake_store::{ReportFacts, ReportedExecution, RunFacts, RunId, Store, TestRename};

use crate::commands::quarantine::file::QuarantineFile;
use crate::commands::serve::overview::Overview;
use crate::commands::serve::views::ViewBuilder;

/// What a test fails with on a day, if it does.
type End<'a> = &'a dyn Fn(u32) -> Option<&'static str>;

/// One report a day, of tests that end as `ends` says: what they fail with, or nothing.
fn history(days: u32, ends: &[(&str, End)]) -> Store {
    let mut store = Store::in_memory().unwrap();
    for day in 0..days {
        let facts = ReportFacts {
            key: day.to_string(),
            format: "XML".to_owned(),
            path: String::new(),
            size: 1,
            started: Timestamp(i64::from(day) * 86_400_000_000),
            imported: Timestamp(0),
            commit: Some(format!("{day:040x}")),
            branch: None,
            ci_run: None,
            ci_attempt: None,
            job: None,
        };
        let executions: Vec<ReportedExecution> = ends.iter().map(|(test, end)| execution(test, end(day))).collect();
        let report = store.begin_report(&facts).unwrap().id;
        store.record_report(report, 0, &executions).unwrap();
        store.finish_report(report, "").unwrap();
    }
    store
}

fn execution(test: &str, says: Option<&str>) -> ReportedExecution {
    let failure = says.map(|message| Failure {
        phase: Phase::Call,
        kind: "Error".to_owned(),
        message: message.to_owned(),
        trace: format!("trace of {message}"),
        file: None,
        line: None,
    });
    let file = test.split("::").next().unwrap();
    let outcome = if failure.is_some() { Outcome::Failed } else { Outcome::Passed };
    ReportedExecution {
        test: test.into(),
        file: Some(file.into()),
        line: Some(1),
        again: 0,
        outcome,
        seconds: 2.0,
        failure,
    }
}

fn every(days: u32, day: u32, says: &'static str) -> Option<&'static str> {
    (day % days == days - 1).then_some(says)
}

/// Each cause: its failures, the seconds it cost, and its tests.
fn causes(store: &Store) -> Vec<(usize, f64, Vec<String>)> {
    let overview = Overview::of(store, Path::new("/nowhere")).unwrap();
    let name = |key| overview.scores.tests.get(key).unwrap().test.to_string();
    let causes = overview.causes.iter();
    causes.map(|cause| (cause.failures, cause.seconds_lost, cause.tests.iter().map(name).collect())).collect()
}

#[test]
fn equal_failures_in_one_file_are_one_cause() {
    let store = history(
        40,
        &[
            ("a.py::one", &|day| every(4, day, "no answer after 17 ms")),
            ("a.py::two", &|day| every(5, day, "no answer after 23 ms")),
            ("b.py::three", &|day| every(8, day, "no answer after 5 ms")),
            ("a.py::sound", &|_| None),
        ],
    );
    let expected =
        [(18, 36.0, vec!["a.py::one".to_owned(), "a.py::two".to_owned()]), (5, 10.0, vec!["b.py::three".to_owned()])];
    assert_eq!(causes(&store), expected);
}

#[test]
fn the_cost_of_a_test_is_divided_among_its_causes() {
    let store = history(
        40,
        &[
            ("a.py::one", &|day| if day % 8 == 7 { Some("dry") } else { every(4, day, "wet") }),
            ("a.py::two", &|_| None),
        ],
    );
    let one = vec!["a.py::one".to_owned()];
    assert_eq!(causes(&store), [(5, 10.0, one.clone()), (5, 10.0, one)]);
}

#[test]
fn failures_before_a_rate_change_are_ignored() {
    let store = history(
        120,
        &[("a.py::one", &|day| match day {
            20..60 => Some("was broken"),
            80.. => every(4, day, "is flaky"),
            _ => None,
        })],
    );
    let found = causes(&store);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].0, found[0].1), (10, 20.0), "the time in which it was broken is not counted");
}

#[test]
fn failures_of_a_bad_day_are_ignored() {
    let ends: Vec<(String, u32)> = (0..20).map(|test| (format!("a.py::t{test}"), test)).collect();
    let fails = |test: u32| {
        move |day: u32| match day {
            30 => Some("the network is down"),
            _ if test == 0 => every(5, day, "no answer"),
            _ => None,
        }
    };
    let fails: Vec<_> = ends.iter().map(|(name, test)| (name.as_str(), fails(*test))).collect();
    let ends: Vec<(&str, End)> = fails.iter().map(|(name, end)| (*name, end as End)).collect();
    let found = causes(&history(40, &ends));
    assert_eq!(found.iter().map(|cause| cause.0).collect::<Vec<_>>(), [8]);
}

fn facts() -> RunFacts {
    RunFacts {
        command: Vec::new(),
        cwd: String::new(),
        started: Timestamp(1),
        revision: Default::default(),
        host: Default::default(),
        version: String::new(),
    }
}

fn begin(store: &mut Store) -> RunId {
    store.begin(&facts()).unwrap()
}

fn divergence(test: &str) -> Finding {
    let line = SourceLine { file: "shop/mail.py".into(), line: 18, function: "send".into() };
    let location = Location {
        line,
        how: DivergenceKind::Value,
        failing: 9,
        passing: 0,
        chance: 0.001,
        sentence: "jitter is large".to_owned(),
        value: None,
        rejected: false,
    };
    let divergence = Divergence {
        kind: Cause::Randomness,
        because: String::new(),
        locations: vec![location],
        shows: None,
        runs: 20,
        failed: 9,
        timed_out: 0,
        points: Vec::new(),
        unknown: Vec::new(),
        proof: None,
    };
    Finding {
        test: TestId::new(test),
        detail: Detail::Divergence(divergence),
        sentence: "starts at shop/mail.py:18".to_owned(),
        reproduce: Vec::new(),
        replays: Vec::new(),
    }
}

#[test]
fn tests_located_at_one_line_share_a_cause_unless_marked_not_useful() {
    let mut store = history(
        40,
        &[("a.py::one", &|day| every(4, day, "no answer")), ("b.py::two", &|day| every(5, day, "gave up"))],
    );
    assert_eq!(causes(&store).len(), 2);
    let run = begin(&mut store);
    store.record_findings(run, &[divergence("a.py::one"), divergence("b.py::two")]).unwrap();
    assert_eq!(causes(&store), [(18, 36.0, vec!["a.py::one".to_owned(), "b.py::two".to_owned()])]);

    let overview = Overview::of(&store, Path::new("/nowhere")).unwrap();
    let quarantine = QuarantineFile::default();
    let views = ViewBuilder { overview: &overview, store: &store, quarantine: &quarantine, now: Timestamp(0) };
    let inbox = views.inbox(1, false).unwrap();
    let Some(NextAction::Diagnosed { sentence, .. }) = &inbox.causes[0].tests[0].next else { panic!("{inbox:?}") };
    assert_eq!(sentence, "starts at shop/mail.py:18 (likely, p = 0.001, 20 runs): jitter is large");

    let finding: Fingerprint = divergence("a.py::one").id();
    store.record_feedback(&unflake_model::Feedback { finding, useful: false, at: Timestamp(2), why: None }).unwrap();
    assert_eq!(causes(&store).len(), 2);
}

fn order(test: &str, polluter: &str) -> Finding {
    let dependence = OrderDependence {
        kind: OrderKind::Victim,
        culprits: vec![vec![polluter.into()]],
        cleaners: Vec::new(),
        order: Vec::new(),
        evidence: Repeats { seen: 5, tried: 5, alone_passed: 5, alone_tried: 5 },
        failure: None,
        unfinished: None,
    };
    Finding {
        test: test.into(),
        detail: Detail::Order(dependence),
        sentence: format!("fails after {polluter}"),
        reproduce: Vec::new(),
        replays: Vec::new(),
    }
}

#[test]
fn a_proven_polluter_is_one_cause_and_replaces_the_advice() {
    let says = |day: u32| ["dry", "wet", "cold"][day as usize / 4 % 3];
    let mut store =
        history(40, &[("a.py::one", &|day| every(4, day, says(day))), ("b.py::two", &|day| every(5, day, "gave up"))]);
    assert_eq!(causes(&store).len(), 4);
    let run = begin(&mut store);
    store.record_findings(run, &[order("a.py::one", "p.py::leaks"), order("b.py::two", "p.py::leaks")]).unwrap();
    assert_eq!(causes(&store), [(18, 36.0, vec!["a.py::one".to_owned(), "b.py::two".to_owned()])]);

    let overview = Overview::of(&store, Path::new("/nowhere")).unwrap();
    let quarantine = QuarantineFile::default();
    let views = ViewBuilder { overview: &overview, store: &store, quarantine: &quarantine, now: Timestamp(0) };
    let inbox = views.inbox(1, false).unwrap();
    let Some(NextAction::Diagnosed { sentence, .. }) = &inbox.causes[0].tests[0].next else { panic!("{inbox:?}") };
    assert_eq!(sentence, "fails after p.py::leaks (proven)");
}

/// A recorded run in which one test fails at this line with this message, and another one passes.
fn record(store: &mut Store, day: i64, failure: Option<(u32, &str)>) {
    let started = Timestamp(day * 86_400_000_000);
    let attempt = |test: &str, failure: Option<(u32, &str)>| Attempt {
        test: test.into(),
        session: SessionId(0),
        purpose: Purpose::Suite,
        environment: EnvironmentId(0),
        origin: Isolation::Process,
        world: None,
        position: 0,
        run: 0,
        outcome: if failure.is_some() { Outcome::Failed } else { Outcome::Passed },
        started,
        seconds: 2.0,
        load: None,
        failure: failure.map(|(line, message)| Failure {
            phase: Phase::Call,
            kind: "Error".to_owned(),
            message: message.to_owned(),
            trace: String::new(),
            file: Some("shop/mail.py".to_owned()),
            line: Some(line),
        }),
        stdout: String::new(),
        stderr: String::new(),
    };
    let run = store.begin(&RunFacts { started, ..facts() }).unwrap();
    let attempts = [attempt("a.py::one", failure), attempt("a.py::sound", None)];
    store.record(run, &attempts.map(Event::AttemptEnded)).unwrap();
}

#[test]
fn failures_of_a_test_at_one_line_are_one_cause_whatever_they_say() {
    let mut store = Store::in_memory().unwrap();
    for day in 0..40 {
        let failure = match day % 8 {
            1 => Some((18, "got tea")),
            3 => Some((18, "got milk")),
            5 => Some((30, "got lost")),
            _ => None,
        };
        record(&mut store, day, failure);
    }
    let failures: Vec<usize> = causes(&store).iter().map(|cause| cause.0).collect();
    assert_eq!(failures, [10, 5]);
}

#[test]
fn a_renamed_test_keeps_its_history() {
    let mut store = history(
        40,
        &[("a.py::old", &|day| every(4, day, "no answer")), ("a.py::new", &|day| every(5, day, "no answer"))],
    );
    let run = begin(&mut store);
    let (old, new): (TestId, TestId) = ("a.py::old".into(), "a.py::new".into());
    let renamed = TestRename { old: old.clone(), new: new.clone(), is_over: false };
    store.keep_bodies(run, &[], &[], &[renamed]).unwrap();
    // On two days it failed under both names.
    assert_eq!(causes(&store), [(18, 36.0, vec!["a.py::new".to_owned()])]);

    let overview = Overview::of(&store, Path::new("/nowhere")).unwrap();
    let quarantine = QuarantineFile::default();
    let views = ViewBuilder { overview: &overview, store: &store, quarantine: &quarantine, now: Timestamp(0) };
    let key = store.key_of(&old).unwrap().unwrap();
    let page = views.test(key).unwrap().expect("the old name leads to the new one");
    assert_eq!((page.concern.score.test.as_str(), page.past.len()), ("a.py::new", 80));
    assert_eq!(page.concern.score.formerly, ["a.py::old"]);
    let matrix = views.matrix("", 1, 1).unwrap();
    assert_eq!(matrix.rows.len(), 1);
    let run = crate::commands::serve::runs::page(&views, "ci-4").unwrap().unwrap();
    assert_eq!(run.failures.iter().map(|one| one.test.as_str()).collect::<Vec<_>>(), ["a.py::new"]);
}
