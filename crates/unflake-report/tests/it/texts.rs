//! Snapshots of comments and issues, and of findings with feedback.

use insta::assert_snapshot;
use proptest::prelude::*;
use unflake_model::{Detail, Feedback, Finding, Reproduction, Rung, Timestamp, TouchedPath, VerdictKind};
use unflake_report::{
    COMMENT, FlakyTest, KnownFinding, RecentOutcome, ScoreRow, ScoreSince, ScoreState, comment, issue, markdown,
    summary,
};

use crate::divergences::drawn;
use crate::samples::{self, Sample, failing, hostile, without_code, written};

const TEST: &str = "tests/test_mail.py::TestSending::test_retry";
/// Noon of 2026-11-15.
const NOON: Timestamp = Timestamp(1_794_744_000_000_000);

fn not_useful(finding: &Finding, why: &str) -> Feedback {
    Feedback { finding: finding.id(), useful: false, at: NOON, why: Some(why.into()) }
}

fn row(test: &str, owner: &str) -> ScoreRow {
    let since = ScoreSince {
        what: "flaky",
        when: NOON,
        commit: Some("c0ffee12345".into()),
        earliest: None,
        latest: None,
        give_or_take: 2,
    };
    ScoreRow {
        test: test.into(),
        file: Some("tests/test_mail.py".into()),
        probability: 0.22,
        low: 0.14,
        high: 0.31,
        runs: 60,
        failures: 12,
        broken: 0,
        state: ScoreState::Flaky,
        since: Some(since),
        owner: owner.into(),
        seconds_lost: 31.0,
        strip: [RecentOutcome::Passed, RecentOutcome::Passed, RecentOutcome::Failed, RecentOutcome::Flaked].repeat(3),
        formerly: Vec::new(),
    }
}

fn flaky(test: &str) -> FlakyTest {
    let finding = Finding {
        test: test.into(),
        reproduce: vec![Reproduction::fails(format!("pytest {test}"))],
        ..drawn().finding
    };
    let touch = TouchedPath {
        path: "mail/backoff.py".into(),
        how: "is run by it".into(),
        via: None,
        functions: vec!["Backoff.delay".into()],
    };
    FlakyTest {
        test: test.into(),
        row: Some(row(test, "@shop/mail")),
        touched: vec![touch],
        findings: vec![KnownFinding {
            finding,
            when: NOON,
            commit: Some("c0ffee12345".into()),
            feedback: None,
            page: Some(".unflake/reports/test_retry-0a1b2c3d.html".into()),
        }],
        not_reproduced: None,
        failure: "GaveUp\nafter 2 s".into(),
        verdict: None,
    }
}

fn flaky_verdict() -> Finding {
    samples::finding(
        samples::RETRY,
        VerdictKind::FlakyIndependent,
        Some(Rung::Immediate),
        "random: 1 of 2 attempts failed, passed in an immediate retry",
    )
}

fn comment_on(tests: &[FlakyTest]) -> String {
    written(|out| comment(tests, "1f0c2a77b1, merge base with origin/main", out))
}

#[test]
fn a_comment_lists_the_findings() {
    let mut unknown = flaky("tests/test_mail.py::test_other");
    unknown.findings.clear();
    let mut tried = flaky("tests/test_mail.py::test_tried");
    tried.findings.clear();
    tried.not_reproduced = Some((NOON, "passed in all 200 runs: nothing to compare".into()));
    let mut useless = flaky("tests/test_mail.py::test_useless");
    useless.findings[0].feedback = Some(not_useful(&useless.findings[0].finding, "that line is @ada's <idea>"));
    assert_snapshot!(comment_on(&[flaky(TEST), unknown, tried, useless]));
    assert_eq!(comment_on(&[]), "");
}

#[test]
fn an_issue_describes_the_cause() {
    let others = ["tests/test_mail.py::test_other", "tests/test_mail.py::test_last"].map(flaky);
    let tests: Vec<FlakyTest> = [flaky(TEST)].into_iter().chain(others).collect();
    assert_snapshot!(written(|out| issue(&tests, Some("@shop/mail-lib"), out)));
    let mut unknown = flaky(TEST);
    unknown.findings.clear();
    assert_snapshot!(written(|out| issue(&[unknown], None, out)));
}

#[test]
fn texts_stay_below_platform_limits() {
    let names: Vec<String> = (0..300).map(|at| format!("tests/t.py::test_{at}[{}]", "x".repeat(30_000))).collect();
    let tests: Vec<FlakyTest> = names.iter().map(|name| flaky(name)).collect();
    let text = comment_on(&tests);
    assert!(text.len() < 65_536, "{}", text.len());
    assert!(text.contains("more: `unflake history score` lists them"), "{}", &text[text.len() - 300..]);
    let mut long = tests;
    long[0].failure = "y".repeat(1 << 20);
    let text = written(|out| issue(&long, None, out));
    assert!(text.len() < 65_536, "{}", text.len());
    assert!(text.lines().next().unwrap().chars().count() < 256);
}

#[test]
fn findings_marked_not_useful_are_shortened_never_hidden() {
    let mut sample = Sample::new(1, "1 real failure")
        .with(samples::TOTAL, [failing(samples::TOTAL, "AssertionError", "no")])
        .with(samples::RETRY, [failing(samples::RETRY, "GaveUp", "no")])
        .found(samples::real(samples::TOTAL))
        .found(flaky_verdict());
    sample.feedback = sample.findings.iter().map(|finding| not_useful(finding, "known for years")).collect();
    let text = sample.summary(&samples::WIDE, false);
    assert!(text.contains("FLAKY    tests/test_mail.py::TestSending::test_retry\n         marked as not useful on 2026-11-15: known for years\n"), "{text}");
    assert!(!text.contains("unflake locate"), "{text}");
    assert_eq!(text.matches("marked as").count(), 1, "a real failure is reported in full\n{text}");
    assert!(text.contains("failed 4 of 4 attempts"), "{text}");
    sample.flaky_gates = true;
    let text = written(|out| summary(&sample.run(), &samples::WIDE, false, out));
    assert!(!text.contains("marked as"), "what fails the run is reported in full\n{text}");
    let text = written(|out| markdown(&sample.run(), out));
    assert!(text.contains("REAL") && text.contains("FLAKY"), "{text}");
}

/// Hostile names and texts.
fn hostile_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("`".to_owned()),
        Just("```".to_owned()),
        Just("|".to_owned()),
        Just("<!-- unflake:comment -->".to_owned()),
        Just("-->".to_owned()),
        Just("@ada".to_owned()),
        Just("#123".to_owned()),
        Just("!45".to_owned()),
        Just("GH-7".to_owned()),
        Just("</pre></details>".to_owned()),
        Just("[a](https://evil.example)".to_owned()),
        Just("<img src=x onerror=alert(1)>".to_owned()),
        Just("\n\n# heading\n".to_owned()),
        Just("\\".to_owned()),
        Just("x".repeat(5000)),
        hostile(),
    ];
    proptest::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}

/// The part of a text in which Markdown, HTML and mentions have a meaning.
fn interpreted(text: &str) -> String {
    let outside = without_code(text);
    // Tags that unflake writes itself.
    ["<details>", "</details>", "<summary>", "</summary>", "<pre>", "</pre>", "<sub>", "</sub>"]
        .iter()
        .fold(outside, |text, tag| text.replace(tag, ""))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn tests_cannot_inject_markup(name in hostile_text(), message in hostile_text(), why in hostile_text(), owner in hostile_text()) {
        let mut test = flaky(&name);
        test.failure = message.clone();
        test.row.as_mut().unwrap().owner = owner;
        if let Detail::Divergence(divergence) = &mut test.findings[0].finding.detail {
            divergence.because = why.clone();
            divergence.unknown = vec![message.clone()];
            divergence.locations[0].sentence = message.clone();
            divergence.locations[0].line.file = name.clone();
        }
        test.findings[0].commit = Some(why.clone());
        let mut useless = test.findings[0].clone();
        useless.feedback = Some(not_useful(&useless.finding, &why));
        test.findings.push(useless);
        test.not_reproduced = Some((NOON, message));
        let comment = comment_on(&[test.clone()]);
        prop_assert!(comment.starts_with(COMMENT));
        prop_assert_eq!(comment.matches("<!--").count(), 1, "{}", comment);
        let whole = written(|out| issue(&[test], None, out));
        prop_assert_eq!(whole.matches("<!--").count(), 1, "{}", whole);
        let (title, body) = whole.split_once("\n\n").unwrap();
        prop_assert!(!title.contains('\n') && title.chars().count() < 256);
        for text in [comment.strip_prefix(COMMENT).unwrap(), body.split_once("-->").unwrap().1] {
            let left = interpreted(text);
            prop_assert!(!left.contains('<'), "a tag\n{}\n\n{}", left, text);
            for mention in ["@ada", "#123", "!45", "GH-7", "](https://", "\n# heading"] {
                prop_assert!(!outside_of_pre(text).contains(mention), "{}\n{}", mention, text);
            }
            let opened = without_code(text).matches("<details>").count();
            prop_assert_eq!(opened, without_code(text).matches("</details>").count(), "{}", text);
        }
    }
}

/// Without code of either kind, in which no platform looks for mentions.
fn outside_of_pre(text: &str) -> String {
    let text = without_code(text);
    let mut left = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("<pre>") {
        left.push_str(before);
        rest = after.split_once("</pre>").map_or("", |(_, after)| after);
    }
    left + rest
}
