//! Hostile input: every reader stays within its bounds and never panics.

use std::io::{self, Read};
use std::ops::ControlFlow;

use proptest::prelude::*;
use unflake_formats::{Format, read};

const FORMATS: [Format; 4] = [Format::JUnit, Format::Ctrf, Format::ReportLog, Format::LibtestJson];

fn count(format: Format, source: impl Read) -> (usize, Result<(), String>) {
    let mut cases = 0;
    let ended = read(format, source, &mut |case| {
        assert!(!case.attempts.is_empty() && case.id.len() < 2000);
        let longest = |text: &str| text.len() < 5000;
        assert!(
            case.attempts
                .iter()
                .filter_map(|one| one.failure.as_ref())
                .all(|one| longest(&one.message) && longest(&one.trace))
        );
        cases += 1;
        ControlFlow::Continue(())
    });
    (cases, ended)
}

/// One byte repeated practically without end, between `begin` and `end`.
fn long(begin: &'static str, letter: u8, end: &'static str) -> impl Read {
    begin.as_bytes().chain(io::repeat(letter).take(40 << 20)).chain(end.as_bytes())
}

/// Each test as `id outcome`.
fn outcomes(source: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let ended = read(Format::JUnit, source, &mut |case| {
        let attempts: Vec<_> = case.attempts.iter().map(|one| one.outcome.word()).collect();
        found.push(format!("{} {}", case.id, attempts.join(" ")));
        ControlFlow::Continue(())
    });
    assert_eq!(ended, Ok(()));
    found
}

#[test]
fn tests_within_tests_are_tests() {
    let report = "<testsuite><testcase name='a'><testcase name='b'><failure>x</failure></testcase>\
                  <testcase name='c'/></testcase><testcase name='d'/></testsuite>";
    assert_eq!(outcomes(report.as_bytes()), ["b failed", "c passed", "a passed", "d passed"]);
}

#[test]
fn utf_16_is_read() {
    let report = "<?xml version='1.0' encoding='UTF-16'?><testsuite><testcase name='größe 𝄞'/></testsuite>";
    let bytes: Vec<u8> = report.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for bytes in [bytes.clone(), [b"\xff\xfe".to_vec(), bytes].concat(), report.as_bytes().to_vec()] {
        assert_eq!(Format::guess(&bytes), Some(Format::JUnit));
        assert_eq!(outcomes(&bytes), ["größe 𝄞 passed"]);
    }
}

#[test]
fn endless_texts_are_cut() {
    for (begin, end) in [
        ("<testsuite><testcase name='a'><failure>", "</failure></testcase><testcase name='b'/></testsuite>"),
        (
            "<testsuite><testcase name='a'><system-out><![CDATA[",
            "]]></system-out></testcase><testcase name='b'/></testsuite>",
        ),
        ("<testsuite><!--", "--><testcase name='a'/><testcase name='b'/></testsuite>"),
    ] {
        assert_eq!(count(Format::JUnit, long(begin, b'x', end)), (2, Ok(())), "{begin}");
    }
}

#[test]
fn endless_elements_and_lines_are_errors() {
    let (cases, ended) =
        count(Format::JUnit, long("<testsuite><testcase name='a'/><testcase name='", b'x', "'/></testsuite>"));
    assert_eq!(cases, 1);
    assert!(ended.unwrap_err().contains("an element is longer than 1024 KiB"));
    let (cases, ended) = count(Format::JUnit, long("<!DOCTYPE x [", b'<', "]><testsuite/>"));
    assert!(cases == 0 && ended.is_err());
    let line = "{\"type\":\"test\",\"event\":\"ok\",\"name\":\"a\"}\n{\"type\":\"test\",\"event\":\"";
    assert_eq!(
        count(Format::LibtestJson, long(line, b'x', "\"}\n")),
        (1, Err("line 2 is longer than 16 MiB".to_owned()))
    );
    let (cases, ended) = count(
        Format::Ctrf,
        long("{\"results\":{\"tests\":[{\"name\":\"a\",\"status\":\"passed\"},{\"extra\":", b'[', ""),
    );
    assert_eq!(cases, 1);
    assert!(ended.as_ref().is_err_and(|why| why.contains("recursion")), "{ended:?}");
}

#[test]
fn reruns_are_bounded() {
    let text = format!("<testsuite><testcase name='a'>{}</testcase></testsuite>", "<flakyFailure/>".repeat(100_000));
    let mut attempts = 0;
    let ended = read(Format::JUnit, text.as_bytes(), &mut |case| {
        attempts += case.attempts.len();
        ControlFlow::Continue(())
    });
    assert_eq!((attempts, ended), (1001, Ok(())));
}

#[test]
fn the_sink_can_stop_the_reader() {
    let text = format!("<testsuite>{}</testsuite>", "<testcase name='a'/>".repeat(10));
    let mut cases = 0;
    let ended = read(Format::JUnit, text.as_bytes(), &mut |_| {
        cases += 1;
        if cases == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((cases, ended), (3, Ok(())));
}

const PIECES: [&str; 22] = [
    "<testsuites>",
    "</testsuites>",
    "<testsuite name='pytest' timestamp='2026-11-15T14:37:15'>",
    "</testsuite>",
    "<testcase name='a' classname='b.C'>",
    "<testcase name='a' classname='b.C'/>",
    "</testcase>",
    "<failure message='failed on teardown'>",
    "</failure>",
    "<flakyFailure><stackTrace>x</stackTrace></flakyFailure>",
    "<skipped type='pytest.xfail'/>",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "{\"results\":{\"tests\":[",
    "{\"name\":\"a\",\"status\":\"failed\",\"retries\":3,\"flaky\":true},",
    "]}}",
    "{\"$report_type\":\"TestReport\",\"nodeid\":\"a\",\"when\":\"teardown\",\"longrepr\":[1]}\n",
    "{\"$report_type\":\"TestReport\",\"nodeid\":\"a\",\"when\":\"call\",\"outcome\":\"failed\",\"longrepr\":{}}\n",
    "{\"type\":\"test\",\"event\":\"failed\",\"name\":\"a$b#99999999999\"}\n",
    "\u{feff}&amp;&x;",
];

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for format in FORMATS {
            let _ = count(format, &*bytes);
        }
        let _ = Format::guess(&bytes);
    }

    #[test]
    fn pieces_in_any_order_are_read_without_a_panic(
        pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..40)
    ) {
        let text = pieces.concat();
        for format in FORMATS {
            prop_assert!(count(format, text.as_bytes()).0 <= pieces.len());
        }
    }
}
