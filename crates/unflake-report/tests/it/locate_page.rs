//! The divergence page is well-formed, without script, and complete.

use insta::assert_snapshot;
use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::divergences::*;

const ELEMENTS: [&str; 40] = [
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "main",
    "header",
    "footer",
    "section",
    "figure",
    "figcaption",
    "h1",
    "h2",
    "h3",
    "p",
    "br",
    "span",
    "strong",
    "code",
    "pre",
    "blockquote",
    "div",
    "dl",
    "dt",
    "dd",
    "ul",
    "ol",
    "li",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "caption",
    "details",
    "summary",
    "svg",
    "rect",
];
/// None of them loads or runs anything.
const ATTRIBUTES: [&str; 18] = [
    "lang",
    "charset",
    "http-equiv",
    "content",
    "name",
    "class",
    "scope",
    "colspan",
    "role",
    "aria-label",
    "aria-hidden",
    "open",
    "x",
    "y",
    "width",
    "height",
    "id",
    "aria-labelledby",
];

/// The text of the page, after checking every element.
fn checked(page: &str) -> String {
    fn look_at(element: &BytesStart) -> String {
        let name = String::from_utf8(element.name().as_ref().to_vec()).unwrap();
        assert!(ELEMENTS.contains(&&*name), "unknown element: {name}");
        for attribute in element.attributes() {
            let attribute = attribute.unwrap();
            let key = std::str::from_utf8(attribute.key.as_ref()).unwrap();
            assert!(ATTRIBUTES.contains(&key), "unknown attribute: {key}");
        }
        name
    }
    assert!(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
    let mut reader = Reader::from_str(page);
    let mut open: Vec<String> = Vec::new();
    let mut text = String::new();
    loop {
        match reader.read_event().unwrap_or_else(|why| panic!("{why} at {}", reader.error_position())) {
            Event::Start(element) => open.push(look_at(&element)),
            Event::Empty(element) => drop(look_at(&element)),
            Event::End(_) => drop(open.pop().unwrap()),
            Event::Text(piece) if open.last().is_some_and(|name| name != "style") => {
                text.push_str(&piece.decode().unwrap())
            }
            Event::GeneralRef(name) => text.push_str(match &*name.decode().unwrap() {
                "amp" => "&",
                "lt" => "<",
                "gt" => ">",
                "quot" => "\"",
                "#39" => "'",
                other => panic!("&{other};"),
            }),
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(open, [""; 0], "never closed");
    assert!(text.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()), "a control character in {text:?}");
    text
}

#[test]
fn a_value_that_decides() {
    let page = drawn().page();
    checked(&page);
    let (before, rest) = page.split_once("<style>").unwrap();
    let (style, after) = rest.split_once("</style>").unwrap();
    assert!(!style.contains("url(") && !style.contains("@import") && !style.contains('<'));
    assert!(before.contains("default-src 'none'"));
    let lines = |text: &str| text.replace("</p>", "</p>\n").replace("</tr>", "</tr>\n").replace("</dd>", "</dd>\n");
    assert_snapshot!(lines(&format!("{before}<style>…</style>{after}")));
}

/// Asserts that the page contains all of these, in this order.
#[track_caller]
fn assert_contains(case: &DivergenceSample, expected: &[&str]) {
    let text = checked(&case.page());
    let mut rest = &*text;
    for one in expected {
        let at = rest.find(one).unwrap_or_else(|| panic!("{one:?} is not there, or too early: {text}"));
        rest = &rest[at + one.len()..];
    }
}

#[test]
fn two_divergence_points() {
    assert_contains(
        &two_points(),
        &[
            "Root cause (likely, p = 0.004, 50 runs): shop/queue.py:41",
            "tests/test_queue.py:9 in test_take",
            "Asynchronous wait",
            "Wait for the condition",
            "Likely, p = 0.004, 50 runs",
            "1 of 41 passing runs have it too",
            "6 of 9 failing runs",
            "6 of 9 failing runs diverge after shop/queue.py:41, in main, after 530 lines",
            "5 runs",
            "Empty: the queue is empty",
            "worker after shop/worker.py:14",
            "task poll at once",
            "3 of 9 failing runs diverge at once",
            "cannot join thread",
            "shop/worker.py:12",
            "Possible, p = 0.20: 3 of 9 failing runs, 1 of 41 passing",
            "pytest tests/test_queue.py::test_take",
            "2 of 50 traces are truncated",
        ],
    );
}

#[test]
fn another_order_and_no_source() {
    assert_contains(
        &another_order(),
        &[
            "Root cause (likely, p < 0.001, 30 runs): src/count.rs:7",
            "Race condition",
            "source not available",
            "the order differs from here",
        ],
    );
    assert!(!another_order().page().contains("<svg"));
}

#[test]
fn no_difference_found() {
    let nothing = "Root cause not found: nothing recorded separates the 2 failing runs from the others of 50";
    assert_contains(&unknown(), &[nothing, "tests/test_api.py:30", "Unknown", "the same 212 lines"]);
    let mut unclear = two_points();
    unclear.divergence().locations.clear();
    assert_contains(
        &unclear,
        &["no line separates the 9 failing runs from the others of 50", "6 of 9 diverge after shop/queue.py:41"],
    );
    let mut never = unknown();
    never.divergence().failed = 0;
    assert_contains(&never, &["it passed in all 50 runs"]);
    let mut always = unknown();
    always.divergence().failed = 50;
    assert_contains(&always, &["it failed in all 50 runs"]);
}

#[test]
fn hostile_text() {
    let page = hostile().page();
    let text = checked(&page);
    assert!(!page.contains("<script") && !page.contains('\x1b') && !page.contains('\u{202e}'));
    assert!(text.contains("<script>alert(1)</script>"), "it is shown as what it is");
    assert!(text.contains("(9,604 more characters)"), "a long line of the source is cut");
    assert!(page.len() < 100_000, "{} bytes", page.len());
}

proptest! {
    #[test]
    fn every_page_is_well_formed(case in any_divergence()) {
        checked(&case.page());
    }
}
