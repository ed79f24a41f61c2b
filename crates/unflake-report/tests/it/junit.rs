//! The JUnit XML report.

use insta::assert_snapshot;
use proptest::prelude::*;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use unflake_model::{Death, Outcome, Test, TestId, VerdictKind};

use crate::samples::*;

fn document(sample: &Sample) -> String {
    written(|out| unflake_report::junit(&sample.run(), out))
}

#[derive(Debug, Default)]
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    children: Vec<Element>,
    text: String,
}

impl Element {
    fn open(start: &BytesStart) -> Self {
        let name = String::from_utf8(start.name().as_ref().to_vec()).unwrap();
        let attributes = start
            .attributes()
            .map(|attribute| {
                let attribute = attribute.unwrap();
                let key = String::from_utf8(attribute.key.as_ref().to_vec()).unwrap();
                (key, attribute.normalized_value(XmlVersion::Implicit1_0).unwrap().into_owned())
            })
            .collect();
        Self { name, attributes, ..Self::default() }
    }

    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn number(&self, name: &str) -> usize {
        self.attribute(name).unwrap_or_else(|| panic!("{} without {name}", self.name)).parse().unwrap()
    }

    fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.name == name)
    }
}

fn read(document: &str) -> Element {
    let legal = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(document.chars().all(legal), "a character that XML 1.0 forbids");
    let mut reader = Reader::from_str(document);
    let mut open = vec![Element::default()];
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) => open.push(Element::open(&start)),
            Event::Empty(start) => open.last_mut().unwrap().children.push(Element::open(&start)),
            Event::End(_) => {
                let closed = open.pop().unwrap();
                open.last_mut().unwrap().children.push(closed);
            }
            Event::Text(text) => open.last_mut().unwrap().text.push_str(&text.decode().unwrap()),
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(open.len(), 1, "everything is closed");
    open.remove(0).children.remove(0)
}

/// The rules of Surefire's schema for a test case, plus leading `properties` as pytest and nextest
/// write them.
fn check_case(case: &Element) {
    const ORDER: [&str; 10] = [
        "properties",
        "skipped",
        "error",
        "failure",
        "rerunFailure",
        "rerunError",
        "flakyFailure",
        "flakyError",
        "system-out",
        "system-err",
    ];
    for name in ["name", "classname", "time"] {
        assert!(case.attribute(name).is_some(), "no {name}");
    }
    let count = |name| case.named(name).count();
    for child in &case.children {
        assert!(ORDER.contains(&&*child.name), "what is a {}", child.name);
    }
    for once in ["properties", "skipped", "error", "failure", "system-out", "system-err"] {
        assert!(count(once) <= 1, "{once} twice");
    }
    let reruns = count("rerunFailure") + count("rerunError");
    let flaky = count("flakyFailure") + count("flakyError");
    let failed = count("failure") + count("error");
    assert!(failed + count("skipped") <= 1, "one result");
    assert!(reruns == 0 || flaky == 0, "rerun and flaky together");
    assert!(reruns == 0 || failed == 1, "a rerun of what did not fail");
    assert!(flaky == 0 || count("skipped") == 0);
    // Both kinds of rerun are in chronological order, so they share one rank.
    let rank = |element: &Element| match ORDER.iter().position(|name| *name == element.name).unwrap() {
        at @ 4..=7 => at & !1,
        at => at,
    };
    assert!(case.children.is_sorted_by_key(rank), "out of order: {case:?}");
    for child in &case.children {
        match &*child.name {
            "failure" | "error" => {
                assert!(child.attribute("message").is_some() && child.attribute("type").is_some());
            }
            "rerunFailure" | "rerunError" | "flakyFailure" | "flakyError" => {
                assert!(child.attribute("message").is_some() && child.attribute("type").is_some());
                let names: Vec<&str> = child.children.iter().map(|part| &*part.name).collect();
                assert_eq!(names.first(), Some(&"stackTrace"));
                let allowed = ["stackTrace", "system-out", "system-err"];
                assert!(names.is_sorted_by_key(|name| allowed.iter().position(|known| known == name).unwrap()));
            }
            _ => {}
        }
    }
}

fn check_counts(root: &Element) {
    let mut sums = [0; 4];
    for suite in root.named("testsuite") {
        let with = |name| suite.named("testcase").filter(|case| case.named(name).next().is_some()).count();
        let counted = [suite.named("testcase").count(), with("failure"), with("error"), with("skipped")];
        assert_eq!(["tests", "failures", "errors", "skipped"].map(|name| suite.number(name)), counted);
        sums.iter_mut().zip(counted).for_each(|(sum, counted)| *sum += counted);
    }
    assert_eq!(["tests", "failures", "errors", "skipped"].map(|name| root.number(name)), sums);
}

fn check(sample: &Sample) -> Element {
    let document = document(sample);
    quick_junit::Report::deserialize_from_str(&document).expect("another library reads it");
    let root = read(&document);
    assert_eq!(root.name, "testsuites");
    check_counts(&root);
    root.named("testsuite").flat_map(|suite| suite.named("testcase")).for_each(check_case);
    root
}

/// The result elements of the first test.
fn results(sample: &Sample) -> Vec<String> {
    let root = check(sample);
    let case = &root.children[0].named("testcase").next().unwrap().children;
    let result = |name: &&String| !matches!(&***name, "properties" | "system-out" | "system-err");
    case.iter().map(|child| &child.name).filter(result).cloned().collect()
}

#[test]
fn the_document() {
    let mut sample = mixed();
    sample.problems = vec![collection_error()];
    sample.left = vec!["tests/test_late.py::test_a".into()];
    sample.left_why = Some("the run was stopped".into());
    check(&sample);
    assert_snapshot!(document(&sample));
}

#[test]
fn no_tests() {
    assert_snapshot!(document(&Sample::new(5, "no tests found")));
}

#[test]
fn the_status_of_a_test_determines_its_elements() {
    let failed = || failing("t", "E", "m");
    let error = || unflake_model::Attempt { outcome: Outcome::Error, ..failed() };
    let crashed = || attempt("t", Outcome::Crashed(Death::Signal(11)));
    let passed = || attempt("t", Outcome::Passed);
    let skipped = || attempt("t", Outcome::Skipped);
    let sample = || Sample::new(0, "");
    let flaky = || sample().with("t", [failed(), error(), passed()]);

    assert_eq!(results(&sample().with("t", [passed()])), [""; 0]);
    assert_eq!(results(&flaky()), ["flakyFailure", "flakyError"]);
    assert_eq!(results(&Sample { flaky_gates: true, ..flaky() }), ["failure", "flakyFailure", "flakyError"]);
    assert_eq!(results(&sample().with("t", [failed()])), ["failure"]);
    assert_eq!(results(&sample().with("t", [error(), failed()])), ["error", "rerunFailure"]);
    assert_eq!(results(&sample().with("t", [failed(), skipped()])), ["failure"]);
    assert_eq!(results(&sample().with("t", [skipped()])), ["skipped"]);
    // A crash that no later pass excuses.
    let unexcused = sample().with("t", [crashed(), passed()]).found(finding("t", VerdictKind::Real, None, ""));
    assert_eq!(results(&unexcused), ["failure", "flakyFailure"]);
    // A failure that the change cannot have caused is excused, and is still not a pass.
    let unaffected =
        sample().with("t", [failed(), failed()]).found(finding("t", VerdictKind::UnaffectedByChange, None, ""));
    assert_eq!(results(&unaffected), ["failure", "rerunFailure"]);
    // Listed and never attempted.
    let test = Test { id: TestId::new("t"), file: None, line: None, command: Vec::new() };
    assert_eq!(results(&Sample { tests: vec![test], ..sample() }), ["skipped"]);
}

#[test]
fn ids_are_split_into_class_and_name() {
    let split = |id: &str| {
        let root = check(&Sample::new(0, "").with(id, [attempt(id, Outcome::Passed)]));
        let case = root.children[0].named("testcase").next().unwrap();
        (case.attribute("classname").unwrap().to_owned(), case.attribute("name").unwrap().to_owned())
    };
    assert_eq!(split(RETRY), ("tests/test_mail.py::TestSending".into(), "test_retry".into()));
    assert_eq!(split("tests/t.py::test_a[x::y]"), ("tests/t.py".into(), "test_a[x::y]".into()));
    assert_eq!(split("Suite.Case"), (String::new(), "Suite.Case".into()));
}

proptest! {
    #[test]
    fn any_run_follows_the_schema(sample in any_run()) {
        let root = check(&sample);
        let mut ids: Vec<&str> = sample.tests.iter().map(|test| &test.id).chain(sample.attempts.iter().map(|a| &a.test))
            .chain(&sample.left).chain(sample.findings.iter().map(|f| &f.test)).map(TestId::as_str).collect();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(root.children[0].number("tests"), ids.len());
    }
}
