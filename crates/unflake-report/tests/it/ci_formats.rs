//! Reports for CI platforms.

use insta::assert_snapshot;
use proptest::prelude::*;
use unflake_report::{annotations, code_quality, markdown};

use crate::samples::{self, Sample, failing, hostile, written};

fn sample(message: &str) -> Sample {
    Sample::new(1, "1 real failure")
        .with(samples::TOTAL, [failing(samples::TOTAL, "AssertionError", message)])
        .found(samples::real(samples::TOTAL))
}

#[test]
fn annotations_name_the_failing_line() {
    let text = written(|out| annotations(&sample("assert 3 == 4\n100% wrong").run(), out));
    assert_snapshot!(text, @"::error file=tests/test_cart.py,line=14,title=real failure::tests/test_cart.py::test_total failed 4 of 4 attempts, including a fresh environment%0Aassert 3 == 4 …%0Areproduce: pytest tests/test_cart.py::test_total");
}

#[test]
fn annotations_beyond_the_limit_are_counted() {
    let mut many = Sample::new(1, "30 real failures");
    for at in 0..30 {
        let id = format!("tests/test_cart.py::test_{at}");
        many = many.with(&id, [failing(&id, "AssertionError", "no")]).found(samples::real(&id));
    }
    let text = written(|out| annotations(&many.run(), out));
    assert_eq!(text.lines().count(), 10);
    assert!(text.lines().last().is_some_and(|line| line.contains("21 real failures more in the summary")), "{text}");
}

#[test]
fn a_summary_is_markdown() {
    let text = written(|out| markdown(&sample("assert 3 == 4\n\n  <b>bold</b>").run(), out));
    assert_snapshot!(text, @"
    ### ❌ 1 real failure

    1 test, 14.2 s

    **❌ REAL** `tests/test_cart.py::test_total`

    failed 4 of 4 attempts, including a fresh environment

    <details><summary>failure</summary>
    <pre>tests/test_cart.py:14  AssertionError
    assert 3 == 4
    &nbsp;
      &lt;b&gt;bold&lt;/b&gt;</pre>
    </details>

    reproduce: `pytest tests/test_cart.py::test_total`
    ");
}

#[test]
fn code_quality_for_gitlab() {
    let text = written(|out| code_quality(&sample("assert 3 == 4").run(), out));
    assert_snapshot!(text, @r#"
    [
      {
        "description": "tests/test_cart.py::test_total failed 4 of 4 attempts, including a fresh environment: assert 3 == 4",
        "check_name": "unflake.real",
        "fingerprint": "unflake.real-tests/test_cart.py::test_total-23c181b84b0f6b23",
        "severity": "major",
        "location": {
          "path": "tests/test_cart.py",
          "lines": {
            "begin": 14
          }
        }
      }
    ]
    "#);
}

#[test]
fn a_summary_stays_below_the_limit_of_github() {
    let mut many = Sample::new(1, "3000 real failures");
    for at in 0..3000 {
        let id = format!("tests/test_cart.py::test_{at}");
        many = many.with(&id, [failing(&id, "AssertionError", &"<".repeat(5000))]).found(samples::real(&id));
    }
    let text = written(|out| markdown(&many.run(), out));
    assert!(text.len() <= 1024 * 1024, "{}", text.len());
    assert!(text.contains("findings left out: the summary is full"), "{}", &text[text.len() - 300..]);
}

proptest! {
    #[test]
    fn tests_cannot_inject_commands_or_markup(name in hostile(), message in hostile()) {
        let id = format!("tests/t.py::{name}");
        let sample = Sample::new(1, "1 real failure").with(&id, [failing(&id, "AssertionError", &message)]).found(samples::real(&id));
        let commands = written(|out| annotations(&sample.run(), out));
        prop_assert_eq!(commands.lines().count(), 1, "{}", commands);
        prop_assert!(commands.starts_with("::error "), "{}", commands);
        let text = written(|out| markdown(&sample.run(), out));
        let outside = samples::without_code(&text);
        prop_assert!(!outside.contains("<script") && !outside.contains("<img") && !text.contains("<!--"), "{}", text);
        prop_assert!(!text.lines().any(|line| line.trim_start().starts_with("::")), "{}", text);
        let quality = written(|out| code_quality(&sample.run(), out));
        prop_assert!(serde_json::from_str::<serde_json::Value>(&quality).is_ok());
    }
}
