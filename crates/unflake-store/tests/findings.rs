//! Tests of findings, prepared reports and feedback: the latest version counts.

mod common;

use common::{TestLocation, facts};
use unflake_model::{
    Detail, Feedback, Finding, Fingerprint, Nio, NioKind, NioMode, PreparedReport, Repeats, Reproduction, TestId,
    Timestamp,
};
use unflake_store::RunFacts;

fn finding(test: &str, kind: NioKind, sentence: &str) -> Finding {
    let nio =
        Nio { kind, mode: NioMode::IsolatedMethod, evidence: Repeats::default(), fresh: None, second_failure: None };
    Finding {
        test: test.into(),
        detail: Detail::Nio(nio),
        sentence: sentence.into(),
        reproduce: vec![Reproduction::fails("pytest")],
        replays: Vec::new(),
    }
}

fn report(failed: u32, finding: Option<Finding>) -> PreparedReport {
    PreparedReport {
        finding,
        exit: 1,
        meaning: "flaky".into(),
        passed: 3,
        failed,
        timed_out: 0,
        runs: 50,
        most: 200,
        lines_only: false,
        seconds: 1.5,
        cut_short: false,
    }
}

fn the_latest_version_of_each_finding_is_returned(location: &TestLocation) {
    let mut store = location.open();
    let run = store.begin(&facts()).unwrap();
    let later = store.begin(&RunFacts { started: Timestamp(9), ..facts() }).unwrap();
    store.record_findings(run, &[finding("a", NioKind::Nio, "old"), finding("b", NioKind::Nio, "of b")]).unwrap();
    store
        .record_findings(later, &[finding("a", NioKind::Nio, "new"), finding("a", NioKind::Brittle, "other")])
        .unwrap();
    let sentences = |findings: Vec<unflake_store::StoredFinding>| {
        findings.into_iter().map(|one| one.finding.sentence).collect::<Vec<_>>()
    };
    assert_eq!(sentences(store.latest_findings(9).unwrap()), ["other", "new", "of b"]);
    assert_eq!(sentences(store.latest_findings(1).unwrap()), ["other"]);
    let of_a = store.findings_on(&"a".into()).unwrap();
    assert_eq!((of_a[1].run, of_a[1].started, of_a[1].commit.as_deref()), (later, Timestamp(9), Some("c0ffee")));
    assert_eq!(sentences(of_a), ["other", "new"]);
    assert_eq!(store.findings_on(&"c".into()).unwrap(), []);
}

fn prepared_reports_belong_to_a_test_and_a_tree(location: &TestLocation) {
    let mut store = location.open();
    let run = store.begin(&facts()).unwrap();
    let (a, b): (TestId, TestId) = ("a".into(), "b".into());
    store.prepare(run, &a, "tree-1", &report(1, None)).unwrap();
    store.prepare(run, &b, "tree-1", &report(2, Some(finding("b", NioKind::Nio, "x")))).unwrap();
    store.prepare(run, &a, "tree-1", &report(3, None)).unwrap();
    store.prepare(run, &a, "tree-2", &report(4, None)).unwrap();
    let prepared = |tree: Option<&str>| -> Vec<(String, u32)> {
        let ready = store.prepared(tree).unwrap();
        ready.iter().map(|one| (format!("{} {}", one.test, one.tree), one.report.failed)).collect()
    };
    let expected = |name: &str, failed| (name.to_owned(), failed);
    assert_eq!(prepared(Some("tree-1")), [expected("a tree-1", 3), expected("b tree-1", 2)]);
    assert_eq!(prepared(None), [expected("a tree-2", 4), expected("b tree-1", 2)]);
    assert_eq!(prepared(Some("tree-3")), []);
    let ready = store.prepared(Some("tree-1")).unwrap().remove(1);
    assert_eq!((ready.command, ready.host), (facts().command, "host".to_owned()));
    assert_eq!(ready.report, report(2, Some(finding("b", NioKind::Nio, "x"))));
}

fn the_latest_feedback_counts(location: &TestLocation) {
    let mut store = location.open();
    let answer = |finding: &str, useful, at| Feedback {
        finding: Fingerprint(finding.into()),
        useful,
        at: Timestamp(at),
        why: Some("it's a guess".into()),
    };
    for one in [answer("f1", false, 1), answer("f2", false, 2), answer("f1", true, 3)] {
        store.record_feedback(&one).unwrap();
    }
    assert_eq!(store.feedback().unwrap(), [answer("f2", false, 2), answer("f1", true, 3)]);
}

with_files_and_server! {
    the_latest_version_of_each_finding_is_returned,
    prepared_reports_belong_to_a_test_and_a_tree,
    the_latest_feedback_counts,
}
