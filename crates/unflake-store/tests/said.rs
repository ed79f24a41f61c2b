//! What was said, what was prepared and what people answered: the last word holds.

mod common;

use common::{Home, facts};
use unflake_model::{
    Detail, Feedback, Finding, Fingerprint, Nio, NioKind, NioMode, PreparedReport, Repeats, TestId, Timestamp,
};
use unflake_store::RunFacts;

fn finding(test: &str, kind: NioKind, sentence: &str) -> Finding {
    let nio =
        Nio { kind, mode: NioMode::IsolatedMethod, evidence: Repeats::default(), fresh: None, second_failure: None };
    Finding {
        test: test.into(),
        detail: Detail::Nio(nio),
        sentence: sentence.into(),
        repeat: Some("pytest".into()),
        replay: Vec::new(),
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

fn of_each_finding_the_last_word_is_told(home: &Home) {
    let mut store = home.open();
    let run = store.begin(&facts()).unwrap();
    let later = store.begin(&RunFacts { started: Timestamp(9), ..facts() }).unwrap();
    store.say(run, &[finding("a", NioKind::Nio, "old"), finding("b", NioKind::Nio, "of b")]).unwrap();
    store.say(later, &[finding("a", NioKind::Nio, "new"), finding("a", NioKind::Brittle, "other")]).unwrap();
    let sentences =
        |said: Vec<unflake_store::Said>| said.into_iter().map(|one| one.finding.sentence).collect::<Vec<_>>();
    assert_eq!(sentences(store.said(9).unwrap()), ["other", "new", "of b"]);
    assert_eq!(sentences(store.said(1).unwrap()), ["other"]);
    let of_a = store.said_of(&"a".into()).unwrap();
    assert_eq!((of_a[1].run, of_a[1].started, of_a[1].commit.as_deref()), (later, Timestamp(9), Some("c0ffee")));
    assert_eq!(sentences(of_a), ["other", "new"]);
    assert_eq!(store.said_of(&"c".into()).unwrap(), []);
}

fn reports_are_of_a_test_and_the_files_it_was_made_with(home: &Home) {
    let mut store = home.open();
    let run = store.begin(&facts()).unwrap();
    let (a, b): (TestId, TestId) = ("a".into(), "b".into());
    store.prepare(run, &a, "tree-1", &report(1, None)).unwrap();
    store.prepare(run, &b, "tree-1", &report(2, Some(finding("b", NioKind::Nio, "x")))).unwrap();
    store.prepare(run, &a, "tree-1", &report(3, None)).unwrap();
    store.prepare(run, &a, "tree-2", &report(4, None)).unwrap();
    let told = |tree: Option<&str>| -> Vec<(String, u32)> {
        let ready = store.prepared(tree).unwrap();
        ready.iter().map(|one| (format!("{} {}", one.test, one.tree), one.report.failed)).collect()
    };
    let told_of = |name: &str, failed| (name.to_owned(), failed);
    assert_eq!(told(Some("tree-1")), [told_of("a tree-1", 3), told_of("b tree-1", 2)]);
    assert_eq!(told(None), [told_of("a tree-2", 4), told_of("b tree-1", 2)]);
    assert_eq!(told(Some("tree-3")), []);
    let ready = store.prepared(Some("tree-1")).unwrap().remove(1);
    assert_eq!((ready.command, ready.host), (facts().command, "host".to_owned()));
    assert_eq!(ready.report, report(2, Some(finding("b", NioKind::Nio, "x"))));
}

fn the_last_answer_holds(home: &Home) {
    let mut store = home.open();
    let answer = |finding: &str, useful, at| Feedback {
        finding: Fingerprint(finding.into()),
        useful,
        at: Timestamp(at),
        why: Some("it's a guess".into()),
    };
    for one in [answer("f1", false, 1), answer("f2", false, 2), answer("f1", true, 3)] {
        store.answer(&one).unwrap();
    }
    assert_eq!(store.answers().unwrap(), [answer("f2", false, 2), answer("f1", true, 3)]);
}

with_files_and_server! {
    of_each_finding_the_last_word_is_told,
    reports_are_of_a_test_and_the_files_it_was_made_with,
    the_last_answer_holds,
}
