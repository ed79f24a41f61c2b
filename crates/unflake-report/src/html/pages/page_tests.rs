//! Every page with hostile names and texts stays well-formed, bounded and without script.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use unflake_model::{Day, Outcome, QuarantineMode, Quarantined, Reproduction, TestId, Timestamp};

use super::*;
use crate::{NextAction, RecentOutcome, ScoreRow, ScoreSince, ScoreState};

const NOW: Timestamp = Timestamp(1_794_700_800_000_000);
const HOSTILE: [&str; 8] = [
    "<script>alert(1)</script>",
    "\" onmouseover=\"alert(1)",
    "' autofocus onfocus='alert(1)",
    "</title></style></code><img src=x onerror=alert(1)>",
    "--><!--]]><![CDATA[&amp;&lt;",
    "safe\u{202e}exe.tset\u{2066}\u{0}\u{1b}[2J\r\n\t",
    "data:text/html,<b>x</b>",
    "::error file=a::b ##[command]",
];

fn layout(zone: &TimeZone, may_write: bool) -> PageLayout<'_> {
    PageLayout {
        project: "<b>shop",
        zone,
        now: NOW,
        may_write,
        user: None,
        again_after: may_write.then_some(2),
        links: Links::Server,
    }
}

fn concern(test: &str, state: ScoreState) -> TestEntry {
    TestEntry {
        key: 7,
        score: ScoreRow {
            test: test.to_owned(),
            file: Some(format!("tests/{test}")),
            probability: 0.125,
            low: 0.05,
            high: 0.31,
            runs: 48,
            failures: 5,
            broken: 0,
            state,
            since: Some(ScoreSince {
                what: "flaky",
                when: Timestamp(NOW.0 - 86_400_000_000),
                commit: Some(test.to_owned()),
                earliest: None,
                latest: None,
                give_or_take: 2,
            }),
            owner: test.to_owned(),
            seconds_lost: 62.0,
            strip: vec![RecentOutcome::Passed, RecentOutcome::Flaked, RecentOutcome::Passed, RecentOutcome::Failed],
            formerly: vec![test.to_owned()],
        },
        quarantined_until: Some(day("2026-11-20")),
        next: None,
    }
}

fn diagnosed(text: &str) -> NextAction {
    NextAction::Diagnosed { sentence: text.to_owned(), reproduce: Some(text.to_owned()) }
}

fn day(text: &str) -> Day {
    text.parse().expect("a day")
}

fn head(text: &str) -> RunHead {
    RunHead {
        id: "ci-3".to_owned(),
        when: NOW,
        commit: Some(text.to_owned()),
        dirty: true,
        branch: Some(text.to_owned()),
        ci_run: Some(text.to_owned()),
        job: Some(text.to_owned()),
    }
}

fn run(text: &str) -> RunRow {
    RunRow {
        head: head(text),
        command: text.to_owned(),
        passed: 9,
        failed: 2,
        skipped: 1,
        attempts: 12,
        seconds: 3.5,
        listed: Some(20),
        exit: None,
        going_on: true,
        excluded: false,
    }
}

fn cause(text: &str) -> CauseSummary {
    CauseSummary {
        id: "00ff00ff00ff00ff".to_owned(),
        kind: text.to_owned(),
        message: format!("{text}\nsecond line"),
        file: Some(text.to_owned()),
        failures: 5,
        seconds_lost: 62.0,
        last: Some(Timestamp(NOW.0 - 3 * 3600 * 1_000_000)),
        test_count: 1,
        tests: vec![concern(text, ScoreState::Flaky)],
    }
}

fn pages() -> Pagination {
    Pagination { page: 2, of: 3, total: 250 }
}

/// Every page, with `text` in each place with untrusted text.
fn views(text: &str) -> Vec<View> {
    let past = |outcome: Outcome| PastAttempt {
        when: NOW,
        outcome,
        seconds: 0.5,
        revision: Some(text.to_owned()),
        place: text.to_owned(),
        run: Some("ci-3".to_owned()),
        message: text.to_owned(),
    };
    let entry = Quarantined {
        test: TestId::new(text),
        reason: text.to_owned(),
        owner: text.to_owned(),
        issue: Some(text.to_owned()),
        added: day("2026-11-10"),
        expires: day("2026-11-20"),
        mode: QuarantineMode::Run,
        failures: Vec::new(),
    };
    let overall = HistoryTotals {
        going_on: Some(Box::new(run(text))),
        behind: true,
        excluded_runs: 1,
        tests: 3,
        runs: 9,
        ..HistoryTotals::default()
    };
    // The server bounds the length of an address.
    let query: String = text.chars().take(4000).collect();
    vec![
        View::Inbox(Inbox { overall, causes: vec![cause(text)], pages: pages() }),
        View::Cause(Box::new(CausePage { cause: cause(text), trace: text.to_owned() })),
        View::Tests(TestList { query: query.clone(), tests: vec![concern(text, ScoreState::Sound)], pages: pages() }),
        View::Test(Box::new(TestPage {
            concern: TestEntry {
                next: Some(diagnosed(text)),
                quarantined_until: None,
                ..concern(text, ScoreState::Bursty)
            },
            line: Some(3),
            looked_into: Some(LocateRecord { when: NOW, commit: Some(text.to_owned()), meaning: text.to_owned() }),
            findings: vec![FindingEntry {
                id: "1234".to_owned(),
                technique: "order",
                sentence: text.to_owned(),
                when: NOW,
                commit: Some(text.to_owned()),
                reproduce: vec![Reproduction::fails(text)],
                not_useful_since: Some(NOW),
                is_located: true,
                real: false,
                assertion: None,
            }],
            failures: vec![FailureGroup {
                id: "00ff".to_owned(),
                fingerprint: "00ff".to_owned(),
                kind: text.to_owned(),
                message: text.to_owned(),
                trace: text.to_owned(),
                count: 3,
                last: NOW,
            }],
            past: [Outcome::Passed, Outcome::Failed, Outcome::Skipped].map(past).to_vec(),
        })),
        View::Matrix(Matrix {
            runs: vec![head(text)],
            rows: vec![MatrixRow { concern: concern(text, ScoreState::Broken), cells: vec![MatrixCell::Flaked] }],
            pages: pages(),
            columns: pages(),
            query: query.clone(),
        }),
        View::Runs(RunList { runs: vec![run(text)], pages: pages() }),
        View::Run(Box::new(RunPage {
            run: run(text),
            facts: vec![("Directory", text.to_owned())],
            failures: vec![RunFailure {
                key: 7,
                test: text.to_owned(),
                failed: 1,
                passed: 2,
                message: text.to_owned(),
            }],
            failure_count: 4,
            notes: vec![text.to_owned()],
        })),
        View::Quarantine(QuarantinePage {
            today: day("2026-11-15"),
            path: text.to_owned(),
            entries: vec![QuarantineEntry { entry, key: None, lately: text.to_owned() }],
        }),
        View::Audit(AuditLog {
            changes: vec![AuditRow {
                at: NOW,
                who: text.to_owned(),
                action: text.to_owned(),
                what: text.to_owned(),
                detail: text.to_owned(),
            }],
            pages: pages(),
        }),
        View::SignIn(SignInPage { was_wrong: true }),
        View::Error(ErrorPage { what: text.to_owned(), next: Some(text.to_owned()) }),
    ]
}

/// Closes `input`, a void element in HTML, as XML wants it.
fn as_xml(page: &str) -> String {
    let mut parts = page.split("<input ");
    let first = parts.next().expect("a page").to_owned();
    parts.fold(first, |xml, part| {
        let (attributes, rest) = part.split_once('>').expect("a closed tag");
        format!("{xml}<input {attributes}/>{rest}")
    })
}

/// The visible text of a page, after checking that it is well-formed and harmless.
fn read(page: &str) -> String {
    let body = page.strip_prefix("<!DOCTYPE html>").expect("it says what it is");
    let body = as_xml(body);
    let mut reader = Reader::from_str(&body);
    let mut text = String::new();
    loop {
        match reader.read_event().expect("what is opened is closed") {
            Event::Start(tag) | Event::Empty(tag) => {
                harmless(&tag);
                if matches!(tag.name().as_ref(), b"p" | b"h1" | b"h2" | b"li" | b"tr" | b"dt" | b"dd" | b"form") {
                    text.push('\n');
                }
            }
            Event::End(tag) if tag.name().as_ref() == b"style" => text.clear(),
            Event::Text(part) => text.push_str(&part.decode().expect("UTF-8")),
            Event::GeneralRef(name) => text.push_str(&format!("&{};", name.decode().expect("UTF-8"))),
            Event::Eof => return text,
            _ => {}
        }
    }
}

fn harmless(tag: &BytesStart) {
    let name = String::from_utf8_lossy(tag.name().as_ref()).into_owned();
    assert!(!["script", "img", "iframe", "object", "embed", "base", "link"].contains(&name.as_str()), "{name}");
    for attribute in tag.attributes() {
        let attribute = attribute.expect("an attribute");
        let key = String::from_utf8_lossy(attribute.key.as_ref()).into_owned();
        let value = attribute.normalized_value(XmlVersion::Implicit1_0).expect("a value").into_owned();
        assert!(!key.starts_with("on") && key != "style" && key != "autofocus", "{key}");
        if key == "href" || key == "action" {
            assert!(value.starts_with('/') || value.starts_with('#') || value.starts_with("https://"), "{value}");
        }
    }
}

#[test]
fn hostile_names_and_texts_keep_pages_well_formed() {
    let long = "x\u{301}<".repeat(33_000);
    for text in HOSTILE.into_iter().chain([long.as_str(), ""]) {
        for view in views(text) {
            for may_write in [false, true] {
                let page = view.html(&layout(&TimeZone::UTC, may_write));
                // Forms send the whole name, so they contain it; everything else is cut.
                let most = if may_write { 2_000_000 } else { 300_000 };
                assert!(page.len() < most, "{} of {}", page.len(), view.title().len());
                let text = read(&page);
                let bad = |c: char| c.is_control() && c != '\n' || crate::text::sanitize::is_hidden(c);
                assert!(!text.contains(bad), "{text:?}");
            }
            let json: serde_json::Value = serde_json::from_slice(&view.json()).expect("JSON");
            assert_eq!(json["schema"], 1);
            assert!(json["view"].is_string(), "{json}");
        }
    }
}

#[test]
fn only_writers_see_forms() {
    // Everyone may search tests and sign in.
    let for_all = |view: &View| matches!(view, View::Tests(_) | View::SignIn(_));
    for view in views("test_a").into_iter().filter(|view| !for_all(view)) {
        assert!(!view.html(&layout(&TimeZone::UTC, false)).contains("<form"), "{}", view.title());
    }
    let with = views("test_a")
        .iter()
        .filter(|view| !for_all(view) && view.html(&layout(&TimeZone::UTC, true)).contains("post"))
        .count();
    assert_eq!(with, 2, "the page of a test, and the ledger");
}

#[test]
fn quarantine_links_only_to_http_addresses() {
    let page = |issue: &str| {
        let View::Quarantine(mut ledger) = views("x").remove(7) else { unreachable!("it is the ledger") };
        ledger.entries[0].entry.issue = Some(issue.to_owned());
        View::Quarantine(ledger).html(&layout(&TimeZone::UTC, false))
    };
    assert!(page("https://example.org/1").contains("href=\"https://example.org/1\""));
    assert!(!page("vbscript:x").contains("href=\"vbscript"));
    assert!(!page("data:text/html,x").contains("href=\"data"));
}

#[test]
fn a_single_file_links_only_to_its_own_anchors() {
    let found = |wanted: fn(&View) -> bool| views("test_a").into_iter().find(wanted).expect("it is among them");
    let (View::Inbox(inbox), View::Cause(cause), View::Run(run)) = (
        found(|view| matches!(view, View::Inbox(_))),
        found(|view| matches!(view, View::Cause(_))),
        found(|view| matches!(view, View::Run(_))),
    ) else {
        unreachable!("they were found so")
    };
    let all = SingleFileReport { inbox, causes: vec![*cause], concerned: Vec::new(), run_count: 5, runs: vec![*run] };
    let page = all.html(&layout(&TimeZone::UTC, true));
    read(&page);
    let places: BTreeSet<&str> = page.split("id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let led: BTreeSet<&str> = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(!led.is_empty());
    for to in led {
        assert!(to.strip_prefix('#').is_some_and(|to| places.contains(to)), "{to} of {places:?}");
    }
    assert!(page.contains("Content-Security-Policy") && !page.contains("<form"));
}

#[test]
fn the_inbox_shows_the_cause_or_the_next_command() {
    let inbox = |steps: &[Option<NextAction>]| {
        let mut cause = cause("tests/test_a.py");
        let entry = |next: &Option<NextAction>| TestEntry { next: next.clone(), ..cause.tests[0].clone() };
        cause.tests = steps.iter().map(entry).collect();
        let overall = HistoryTotals { tests: 3, runs: 48, flaky: 1, ..HistoryTotals::default() };
        let pages = Pagination { page: 1, of: 1, total: 1 };
        read(&View::Inbox(Inbox { overall, causes: vec![cause], pages }).html(&layout(&TimeZone::UTC, false)))
    };
    let command = Some(NextAction::Command { command: "unflake locate a".to_owned(), purpose: "find the line" });
    let cause = Some(diagnosed("fails after b (proven)"));
    assert!(inbox(std::slice::from_ref(&command)).contains("Next: unflake locate a (find the line)"));
    let both = inbox(&[command, cause]);
    assert!(both.contains("Cause: fails after b (proven)") && !both.contains("locate"), "{both}");
    assert!(inbox(&[None]).contains("Next: fix it: it fails in every run"));
}

#[test]
fn pagination_stays_inside_the_list() {
    let all: Vec<u32> = (0..25).collect();
    let cut = |page| {
        let (part, pages) = Pagination::cut(&all, page, 10);
        (part.first().copied(), part.len(), pages.page, pages.of)
    };
    assert_eq!(cut(1), (Some(0), 10, 1, 3));
    assert_eq!(cut(3), (Some(20), 5, 3, 3));
    assert_eq!(cut(0), (Some(0), 10, 1, 3));
    assert_eq!(cut(99), (Some(20), 5, 3, 3));
    assert_eq!(Pagination::cut(&all[..0], 1, 10).1.of, 1);
}
