//! Reads samples written by the real runners; `samples/make.sh` shows how they were made.

use std::ops::ControlFlow;
use std::path::Path;

use unflake_formats::{Format, ReportedTest, read};

fn samples() -> Vec<(String, Vec<u8>)> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    let files = std::fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path());
    let is_sample = |path: &std::path::PathBuf| path.extension().is_some_and(|one| one != "sh" && one != "md");
    let mut samples: Vec<_> = files
        .filter(is_sample)
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
        .collect();
    samples.sort();
    assert!(samples.len() >= 14, "{} samples", samples.len());
    samples
}

fn summary_line(case: &ReportedTest) -> String {
    let attempts: Vec<String> = case.attempts.iter().map(|tried| tried.outcome.word().to_owned()).collect();
    let messages = case.attempts.iter().filter_map(|tried| tried.failure.as_ref());
    let message = messages.map(|failure| failure.message.lines().next().unwrap_or_default()).next().unwrap_or_default();
    let place = case.file.as_deref().unwrap_or("-");
    let time = if case.when.is_some() { "timed" } else { "untimed" };
    format!("{} | {} | {place} | {time} | {message}", case.id, attempts.join(", "))
}

#[test]
fn every_sample_is_read() {
    for (name, bytes) in samples() {
        let format = Format::guess(&bytes).unwrap_or_else(|| panic!("{name} is not recognised"));
        let mut lines = vec![format.to_string()];
        let ended = read(format, &*bytes, &mut |case| {
            lines.push(summary_line(&case));
            ControlFlow::Continue(())
        });
        assert_eq!(ended, Ok(()), "{name}");
        insta::assert_snapshot!(name.as_str(), lines.join("\n"));
    }
}

/// A file truncated at any byte yields a prefix of the same tests.
#[test]
fn a_truncated_sample_yields_a_prefix() {
    for (name, bytes) in samples() {
        let format = Format::guess(&bytes).unwrap();
        let all = |bytes: &[u8]| {
            let mut cases = Vec::new();
            let ended = read(format, bytes, &mut |case| {
                cases.push(summary_line(&case));
                ControlFlow::Continue(())
            });
            (cases, ended)
        };
        let whole = all(&bytes).0;
        let last = bytes.trim_ascii_end().len() - 1;
        for end in (0..last).step_by(1.max(last / 300)) {
            let (cases, ended) = all(&bytes[..end]);
            // A cut after a complete line or event is not an error.
            let by_line = bytes[..end].trim_ascii_end().ends_with(b"}") || bytes[..end].ends_with(b"\n") || end == 0;
            assert!(ended.is_err() || by_line && format != Format::JUnit, "{name} cut at {end} is taken for whole");
            // The last test in pytest's dialect can be the first of two attempts.
            let same = cases.len().saturating_sub(1);
            assert_eq!(cases[..same], whole[..same], "{name} cut at {end}");
        }
    }
}

/// Attempt numbers (`attempt_number`) are kept, in whatever order they come.
#[test]
fn attempt_numbers_are_kept() {
    let report = r#"<testsuite name="pytest">
        <testcase classname="tests.test_cart" name="test_sum" attempt_number="2"/>
        <testcase classname="tests.test_cart" name="test_sum" attempt_number="1"><failure message="no"/></testcase>
        <testcase classname="tests.test_cart" name="test_other" attempt_number="1"/>
        <testcase classname="tests.test_cart" name="test_other" attempt_number="x"/>
    </testsuite>"#;
    let mut cases = Vec::new();
    let ended = read(Format::JUnit, report.as_bytes(), &mut |case: ReportedTest| {
        let attempts: Vec<&str> = case.attempts.iter().map(|tried| tried.outcome.word()).collect();
        cases.push(format!("{} {:?} {}", case.id, case.before, attempts.join(" ")));
        ControlFlow::Continue(())
    });
    assert_eq!(ended, Ok(()));
    let expected = [
        "tests/test_cart.py::test_sum Some(1) passed",
        "tests/test_cart.py::test_sum Some(0) failed",
        // pytest's dialect: the first of two unnumbered attempts looks like a pass.
        "tests/test_cart.py::test_other Some(0) failed",
        "tests/test_cart.py::test_other None passed",
    ];
    assert_eq!(cases, expected);
}
