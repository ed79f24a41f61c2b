//! Streaming reader for JUnit XML in the dialects of its many writers.
//!
//! Guarantees: any input is read without a panic and in bounded memory; no entity is expanded
//! except the five that XML predefines.

use std::io::BufRead;
use std::ops::ControlFlow;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use unflake_model::Timestamp;

use crate::bounded_text::lossless;
use crate::junit::parts::{Attributes, resolve_reference};

/// Deepest nesting of elements.
const MAX_DEPTH: usize = 64;
/// Reruns kept per test.
const MAX_RERUNS: usize = 1000;

/// What a report contains about one test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reported {
    pub suite: String,
    pub classname: String,
    pub name: String,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub seconds: f64,
    /// Number of the attempt, counted from 1, where the report has it (`attempt_number`).
    pub attempt: Option<u32>,
    /// Timestamp of the test, or of its suite.
    pub when: Option<Timestamp>,
    pub result: JunitEvent,
    /// Failures excused by a later pass, as the runner reports them (`flakyFailure`).
    pub excused: Vec<JunitError>,
    /// Further failures of a test that never passed when rerun (`rerunFailure`).
    pub rerun_failures: Vec<JunitError>,
    pub stdout: String,
    pub stderr: String,
    /// It has the attribute `result`, which only GoogleTest writes.
    pub has_result: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub enum JunitEvent {
    #[default]
    Passed,
    /// With the reason where the report has one.
    Skipped(JunitError),
    Failed(JunitError),
}

/// A failure or error. For a skip: its reason, as the message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JunitError {
    pub kind: String,
    pub message: String,
    pub text: String,
    /// `error`, as opposed to `failure`.
    pub is_error: bool,
}

/// Name of the test that stands for a failure of a suite outside of its tests.
pub const OUTSIDE: &str = "(outside of its tests)";

/// Receives the events of the reader.
pub trait JunitListener {
    /// A test is complete.
    fn case(&mut self, test: Reported) -> ControlFlow<()>;

    /// A suite with output of its own is complete. Its tests are those reported since index
    /// `first`.
    fn printed(&mut self, first: usize, stdout: &str, stderr: &str) {
        let _ = (first, stdout, stderr);
    }
}

/// A suite whose end has not been read.
#[derive(Default)]
struct OpenSuite {
    name: String,
    file: Option<String>,
    when: Option<Timestamp>,
    /// Index of its first test among all tests.
    first: usize,
    /// Whether one of its tests failed.
    any_failed: bool,
    failure: Option<JunitError>,
    stdout: String,
    stderr: String,
}

enum OpenElement {
    Suite,
    Test,
    /// `<failure>` or `<error>`, of a test or of a suite.
    Failure(JunitError),
    FlakyFailure(JunitError),
    RerunFailure(JunitError),
    /// Contains the text of the element around it.
    StackTrace,
    Skipped(JunitError),
    Stdout,
    Stderr,
    Other,
}

struct JunitReader<'a> {
    listener: &'a mut dyn JunitListener,
    reported: usize,
    open: Vec<OpenElement>,
    suites: Vec<OpenSuite>,
    /// Tests whose end has not been read. Some writers nest them: steps, subtests.
    tests: Vec<Reported>,
    /// Text of the current element, where it is needed.
    text: String,
    has_root: bool,
}

/// Reads a report, or returns why it is invalid. The listener has received everything before an
/// error.
pub fn read(source: impl BufRead, listener: &mut dyn JunitListener) -> Result<(), String> {
    let mut reader = Reader::from_reader(source);
    let config = reader.config_mut();
    config.allow_dangling_amp = true;
    let mut state = JunitReader {
        listener,
        reported: 0,
        open: Vec::new(),
        suites: Vec::new(),
        tests: Vec::new(),
        text: String::new(),
        has_root: false,
    };
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let event = reader.read_event_into(&mut buffer).map_err(|error| format!("it is not XML: {error}"))?;
        let flow = match event {
            Event::Start(start) => state.begin(&start).map(|()| ControlFlow::Continue(()))?,
            Event::Empty(start) => {
                state.begin(&start)?;
                state.end()
            }
            Event::End(_) => state.end(),
            Event::Text(text) => state.text(&lossless(&text)),
            Event::CData(text) => state.text(&lossless(&text)),
            Event::GeneralRef(reference) => state.text(&resolve_reference(&reference)),
            Event::Eof => break,
            // Declarations of a document type are ignored.
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => ControlFlow::Continue(()),
        };
        if flow.is_break() {
            return Ok(());
        }
    }
    if !state.open.is_empty() {
        return Err("it is truncated".to_owned());
    }
    if !state.has_root {
        return Err("it has neither `testsuites` nor `testsuite`".to_owned());
    }
    Ok(())
}

impl JunitReader<'_> {
    fn begin(&mut self, start: &BytesStart<'_>) -> Result<(), String> {
        if self.open.len() >= MAX_DEPTH {
            return Err(format!("it has more than {MAX_DEPTH} elements within each other"));
        }
        let within = self.open.last();
        let in_test = matches!(within, Some(OpenElement::Test));
        let in_either = matches!(within, Some(OpenElement::Test | OpenElement::Suite));
        let name = start.local_name();
        let open = match name.as_ref() {
            b"testsuites" => {
                self.has_root = true;
                OpenElement::Other
            }
            b"testsuite" => {
                self.has_root = true;
                self.begin_suite(Attributes::of(start));
                OpenElement::Suite
            }
            b"testcase" => {
                self.tests.push(self.test_of(Attributes::of(start)));
                OpenElement::Test
            }
            b"failure" | b"error" if in_either => OpenElement::Failure(failure_of(start, name.as_ref() == b"error")),
            b"flakyFailure" | b"flakyError" if in_test => {
                OpenElement::FlakyFailure(failure_of(start, name.as_ref() == b"flakyError"))
            }
            b"rerunFailure" | b"rerunError" if in_test => {
                OpenElement::RerunFailure(failure_of(start, name.as_ref() == b"rerunError"))
            }
            b"stackTrace" if matches!(within, Some(OpenElement::FlakyFailure(_) | OpenElement::RerunFailure(_))) => {
                OpenElement::StackTrace
            }
            b"skipped" if in_test => OpenElement::Skipped(failure_of(start, false)),
            b"system-out" if in_either => OpenElement::Stdout,
            b"system-err" if in_either => OpenElement::Stderr,
            _ => OpenElement::Other,
        };
        self.open.push(open);
        self.text.clear();
        Ok(())
    }

    fn begin_suite(&mut self, attributes: Attributes) {
        let outer = self.suites.last().and_then(|suite| suite.when);
        self.suites.push(OpenSuite {
            name: attributes.name.unwrap_or_default(),
            file: attributes.file,
            when: attributes.when.or(outer),
            first: self.reported,
            ..OpenSuite::default()
        });
    }

    fn test_of(&self, attributes: Attributes) -> Reported {
        let suite = self.suites.last();
        let skipped = JunitEvent::Skipped(JunitError::default());
        Reported {
            suite: suite.map(|suite| suite.name.clone()).unwrap_or_default(),
            classname: attributes.classname.unwrap_or_default(),
            name: attributes.name.unwrap_or_default(),
            file: attributes.file.or_else(|| suite.and_then(|suite| suite.file.clone())),
            line: attributes.line,
            seconds: attributes.seconds.unwrap_or(0.0),
            attempt: attributes.attempt,
            when: attributes.when.or_else(|| suite.and_then(|suite| suite.when)),
            result: if attributes.not_run { skipped } else { JunitEvent::Passed },
            has_result: attributes.has_result,
            ..Reported::default()
        }
    }

    fn text(&mut self, text: &str) -> ControlFlow<()> {
        if !matches!(self.open.last(), None | Some(OpenElement::Suite | OpenElement::Test | OpenElement::Other)) {
            self.text.push_str(text);
        }
        ControlFlow::Continue(())
    }

    fn end(&mut self) -> ControlFlow<()> {
        let text = std::mem::take(&mut self.text);
        match self.open.pop() {
            Some(OpenElement::Failure(failure)) => {
                let failure = failure.with(&text);
                match (self.tests.last_mut(), self.suites.last_mut()) {
                    (Some(test), _) => test.add_failure(failure),
                    (None, Some(suite)) => suite.failure = suite.failure.take().or(Some(failure)),
                    (None, None) => {}
                }
            }
            Some(OpenElement::FlakyFailure(failure)) => {
                if let Some(test) = self.tests.last_mut().filter(|test| test.excused.len() < MAX_RERUNS) {
                    test.excused.push(failure.with(&text));
                }
            }
            Some(OpenElement::RerunFailure(failure)) => {
                if let Some(test) = self.tests.last_mut().filter(|test| test.rerun_failures.len() < MAX_RERUNS) {
                    test.rerun_failures.push(failure.with(&text));
                }
            }
            Some(OpenElement::StackTrace) => {
                if let Some(OpenElement::FlakyFailure(failure) | OpenElement::RerunFailure(failure)) =
                    self.open.last_mut()
                {
                    *failure = std::mem::take(failure).with(&text);
                }
            }
            Some(OpenElement::Skipped(reason)) => {
                let message = if reason.message.trim().is_empty() { text.trim() } else { reason.message.trim() };
                if let Some(test) = self.tests.last_mut().filter(|test| !matches!(test.result, JunitEvent::Failed(_))) {
                    test.result = JunitEvent::Skipped(JunitError { message: message.to_owned(), ..reason });
                }
            }
            Some(OpenElement::Stdout) => self.printed(&text, ""),
            Some(OpenElement::Stderr) => self.printed("", &text),
            Some(OpenElement::Test) => {
                if let Some(test) = self.tests.pop() {
                    return self.report(test);
                }
            }
            Some(OpenElement::Suite) => return self.end_of_suite(),
            Some(OpenElement::Other) | None => {}
        }
        ControlFlow::Continue(())
    }

    fn report(&mut self, test: Reported) -> ControlFlow<()> {
        if let (JunitEvent::Failed(_), Some(suite)) = (&test.result, self.suites.last_mut()) {
            suite.any_failed = true;
        }
        self.reported += 1;
        self.listener.case(test)
    }

    fn printed(&mut self, stdout: &str, stderr: &str) {
        let (out, err) = match (self.tests.last_mut(), self.suites.last_mut()) {
            (Some(test), _) => (&mut test.stdout, &mut test.stderr),
            (None, Some(suite)) => (&mut suite.stdout, &mut suite.stderr),
            (None, None) => return,
        };
        out.push_str(stdout.trim_start_matches('\n'));
        err.push_str(stderr.trim_start_matches('\n'));
    }

    /// A failure of a suite becomes a test of its own, unless one of its tests failed: then the
    /// suite only repeats that failure.
    fn end_of_suite(&mut self) -> ControlFlow<()> {
        let Some(suite) = self.suites.pop() else { return ControlFlow::Continue(()) };
        if !suite.stdout.is_empty() || !suite.stderr.is_empty() {
            self.listener.printed(suite.first, &suite.stdout, &suite.stderr);
        }
        if let (true, Some(outer)) = (suite.any_failed, self.suites.last_mut()) {
            outer.any_failed = true;
        }
        let Some(failure) = suite.failure.filter(|_| !suite.any_failed) else { return ControlFlow::Continue(()) };
        self.report(Reported {
            suite: suite.name,
            name: OUTSIDE.to_owned(),
            file: suite.file,
            when: suite.when,
            result: JunitEvent::Failed(failure),
            stdout: suite.stdout,
            stderr: suite.stderr,
            ..Reported::default()
        })
    }
}

fn failure_of(start: &BytesStart<'_>, is_error: bool) -> JunitError {
    let Attributes { kind, message, .. } = Attributes::of(start);
    JunitError { kind: kind.unwrap_or_default(), message: message.unwrap_or_default(), text: String::new(), is_error }
}

impl JunitError {
    fn with(mut self, text: &str) -> Self {
        let text = text.trim_matches('\n').trim_end();
        if !text.trim().is_empty() {
            self.text = text.to_owned();
        }
        self
    }
}

impl Reported {
    /// Of several failures the first is kept, with the texts of all.
    fn add_failure(&mut self, failure: JunitError) {
        match &mut self.result {
            JunitEvent::Failed(first) => {
                for more in [failure.message, failure.text].iter().filter(|more| !more.is_empty()) {
                    first.text.push('\n');
                    first.text.push_str(more);
                }
            }
            result => *result = JunitEvent::Failed(failure),
        }
    }
}
