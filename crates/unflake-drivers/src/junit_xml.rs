//! Reads JUnit XML as runners write it: a format without a standard, in dialects. Any bytes are read without a panic, and
//! in bounds: nothing is expanded but the five entities that XML has by itself.

use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};

use crate::capture::{lossless, shortened};

/// Elements within elements.
const DEEPEST: usize = 64;
/// What a suite printed is given to so many of its tests, in so many bytes.
const MOST_GIVEN: usize = 500;
const OF_A_SUITE: usize = 32 << 10;

/// One report: its tests in its own order.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Report {
    pub(crate) tests: Vec<Reported>,
    /// How many passed only because the runner itself ran them again.
    pub(crate) rerun: usize,
}

/// What a report says of one test.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reported {
    pub(crate) suite: String,
    pub(crate) classname: String,
    pub(crate) name: String,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
    pub(crate) seconds: f64,
    pub(crate) result: Told,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Told {
    #[default]
    Passed,
    /// With the reason, where it is told.
    Skipped(String),
    Failed(Trouble),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Trouble {
    pub(crate) kind: String,
    pub(crate) message: String,
    pub(crate) text: String,
}

/// What a suite reports of itself when it went wrong outside of its tests.
pub(crate) const OUTSIDE: &str = "(outside of its tests)";

/// A suite that has begun and not ended.
#[derive(Default)]
struct Suite {
    name: String,
    file: Option<String>,
    /// Its first test among all.
    first: usize,
    trouble: Option<Trouble>,
    stdout: String,
    stderr: String,
}

enum Open {
    Suite,
    Test,
    /// `<failure>` or `<error>`, of a test or of a suite.
    Trouble(Trouble),
    Skipped(String),
    Stdout,
    Stderr,
    Other,
}

#[derive(Default)]
struct Reading {
    report: Report,
    open: Vec<Open>,
    suites: Vec<Suite>,
    test: Option<Reported>,
    /// Text of the element that is read, where it is wanted.
    text: String,
    has_root: bool,
}

/// Reads a report, or says why it is none.
pub(crate) fn read(bytes: &[u8]) -> Result<Report, String> {
    // Bytes that are no Unicode are spelled out: a test may print anything.
    let text = lossless(bytes);
    let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}'));
    let mut reading = Reading::default();
    loop {
        let event = reader.read_event().map_err(|error| format!("it is no XML: {error}"))?;
        match event {
            Event::Start(start) => reading.begin(&start)?,
            Event::Empty(start) => {
                reading.begin(&start)?;
                reading.end();
            }
            Event::End(_) => reading.end(),
            Event::Text(text) => reading.text.push_str(&lossless(&text)),
            Event::CData(text) => reading.text.push_str(&lossless(&text)),
            Event::GeneralRef(reference) => reading.text.push_str(&meaning_of(&reference)),
            Event::Eof => break,
            // Whatever a document type declares is not used.
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
    if !reading.open.is_empty() {
        return Err("it ends in the middle".to_owned());
    }
    if !reading.has_root {
        return Err("it has neither `testsuites` nor `testsuite`".to_owned());
    }
    Ok(reading.report)
}

impl Reading {
    fn begin(&mut self, start: &BytesStart<'_>) -> Result<(), String> {
        if self.open.len() >= DEEPEST {
            return Err(format!("it has more than {DEEPEST} elements within each other"));
        }
        let open = match start.local_name().as_ref() {
            b"testsuites" => {
                self.has_root = true;
                Open::Other
            }
            b"testsuite" => {
                self.has_root = true;
                let name = attribute(start, "name").unwrap_or_default();
                let file = attribute(start, "file").or_else(|| attribute(start, "filepath"));
                self.suites.push(Suite { name, file, first: self.report.tests.len(), ..Suite::default() });
                Open::Suite
            }
            b"testcase" if self.test.is_none() => {
                self.test = Some(self.test_of(start));
                Open::Test
            }
            b"failure" | b"error" if matches!(self.open.last(), Some(Open::Test | Open::Suite)) => {
                Open::Trouble(Trouble {
                    kind: attribute(start, "type").unwrap_or_default(),
                    message: attribute(start, "message").unwrap_or_default(),
                    text: String::new(),
                })
            }
            b"skipped" if matches!(self.open.last(), Some(Open::Test)) => {
                Open::Skipped(attribute(start, "message").unwrap_or_default())
            }
            b"flakyFailure" | b"flakyError" if matches!(self.open.last(), Some(Open::Test)) => {
                self.report.rerun += 1;
                Open::Other
            }
            b"system-out" if matches!(self.open.last(), Some(Open::Test | Open::Suite)) => Open::Stdout,
            b"system-err" if matches!(self.open.last(), Some(Open::Test | Open::Suite)) => Open::Stderr,
            _ => Open::Other,
        };
        self.open.push(open);
        self.text.clear();
        Ok(())
    }

    fn test_of(&self, start: &BytesStart<'_>) -> Reported {
        let suite = self.suites.last();
        let of_suite = || suite.and_then(|suite| suite.file.clone());
        let number = |name: &str| attribute(start, name).and_then(|text| text.trim().parse().ok());
        let time = attribute(start, "time").and_then(|text| text.replace(',', "").trim().parse().ok());
        let is = |name: &str, words: &[&str]| {
            attribute(start, name).is_some_and(|word| words.contains(&word.to_lowercase().as_str()))
        };
        let not_run = is("status", &["notrun", "disabled", "skipped"]) || is("result", &["suppressed", "skipped"]);
        Reported {
            suite: suite.map(|suite| suite.name.clone()).unwrap_or_default(),
            classname: attribute(start, "classname").unwrap_or_default(),
            name: attribute(start, "name").unwrap_or_default(),
            file: attribute(start, "file").or_else(|| attribute(start, "filepath")).or_else(of_suite),
            line: number("line").or_else(|| number("lineno")),
            seconds: time.filter(|seconds: &f64| (0.0..1e9).contains(seconds)).unwrap_or(0.0),
            result: if not_run { Told::Skipped(String::new()) } else { Told::Passed },
            ..Reported::default()
        }
    }

    fn end(&mut self) {
        let text = std::mem::take(&mut self.text);
        match self.open.pop() {
            Some(Open::Trouble(trouble)) => {
                let trouble = Trouble { text: text.trim_matches('\n').trim_end().to_owned(), ..trouble };
                match (&mut self.test, self.suites.last_mut()) {
                    (Some(test), _) => test.went_wrong(trouble),
                    (None, Some(suite)) => suite.trouble = suite.trouble.take().or(Some(trouble)),
                    (None, None) => {}
                }
            }
            Some(Open::Skipped(message)) => {
                let reason = if message.trim().is_empty() { text.trim() } else { message.trim() };
                if let Some(test) = self.test.as_mut().filter(|test| !matches!(test.result, Told::Failed(_))) {
                    test.result = Told::Skipped(reason.to_owned());
                }
            }
            Some(Open::Stdout) => self.printed(&text, ""),
            Some(Open::Stderr) => self.printed("", &text),
            Some(Open::Test) => self.report.tests.extend(self.test.take()),
            Some(Open::Suite) => self.end_of_suite(),
            Some(Open::Other) | None => {}
        }
    }

    fn printed(&mut self, stdout: &str, stderr: &str) {
        let (out, err) = match (&mut self.test, self.suites.last_mut()) {
            (Some(test), _) => (&mut test.stdout, &mut test.stderr),
            (None, Some(suite)) => (&mut suite.stdout, &mut suite.stderr),
            (None, None) => return,
        };
        out.push_str(stdout.trim_start_matches('\n'));
        err.push_str(stderr.trim_start_matches('\n'));
    }

    /// What a suite prints is given to its failing tests that have nothing of their own. What it suffers is a test of its
    /// own, unless one of its tests has failed: then it is the same trouble told once more.
    fn end_of_suite(&mut self) {
        let Some(suite) = self.suites.pop() else { return };
        let failing = |test: &&mut Reported| matches!(test.result, Told::Failed(_));
        let mut failing = self.report.tests.iter_mut().skip(suite.first).filter(failing).peekable();
        let any = failing.peek().is_some();
        let has_nothing = |test: &&mut Reported| test.stdout.is_empty() && test.stderr.is_empty();
        let (stdout, stderr) = (shortened(&suite.stdout, OF_A_SUITE), shortened(&suite.stderr, OF_A_SUITE));
        for test in failing.take(MOST_GIVEN).filter(has_nothing) {
            test.stdout.clone_from(&stdout);
            test.stderr.clone_from(&stderr);
        }
        if let Some(trouble) = suite.trouble.filter(|_| !any) {
            self.report.tests.push(Reported {
                suite: suite.name,
                name: OUTSIDE.to_owned(),
                file: suite.file,
                result: Told::Failed(trouble),
                stdout,
                stderr,
                ..Reported::default()
            });
        }
    }
}

impl Reported {
    /// Of several troubles the first is told, with the texts of all.
    fn went_wrong(&mut self, trouble: Trouble) {
        match &mut self.result {
            Told::Failed(first) => {
                for more in [trouble.message, trouble.text].iter().filter(|more| !more.is_empty()) {
                    first.text.push('\n');
                    first.text.push_str(more);
                }
            }
            result => *result = Told::Failed(trouble),
        }
    }
}

/// The value of an attribute. What cannot be understood in it stays as it is written.
fn attribute(start: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = start.attributes().with_checks(false).flatten().find(|one| one.key.as_ref() == name.as_bytes())?;
    Some(match found.unescape_value() {
        Ok(value) => value.into_owned(),
        Err(_) => lossless(&found.value),
    })
}

/// A reference in a text. One that nobody has explained stays as it is written.
fn meaning_of(reference: &BytesRef<'_>) -> String {
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        return character.to_string();
    }
    let name = lossless(reference);
    match name.as_str() {
        "lt" => "<".to_owned(),
        "gt" => ">".to_owned(),
        "amp" => "&".to_owned(),
        "quot" => "\"".to_owned(),
        "apos" => "'".to_owned(),
        _ => format!("&{name};"),
    }
}

#[cfg(test)]
#[path = "junit_xml_tests.rs"]
mod tests;
