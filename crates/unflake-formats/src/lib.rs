//! Reads test results that other programs wrote: JUnit XML, CTRF, pytest-reportlog, libtest JSON.
//!
//! Guarantees: any input is read without a panic and in bounded memory; no entity is expanded and
//! nothing is fetched. A truncated or invalid file is read up to the error.
//!
//! Deliberately absent: file access, the clock, the environment, the history, and any
//! interpretation of the results.

mod bounded_text;
mod ctrf;
mod detect;
mod json_lines;
mod junit;
mod libtest_json;
mod pytest_reportlog;
mod test_id;
mod timestamp;
mod utf16;

use std::io::{BufReader, Read};
use std::ops::ControlFlow;

use unflake_model::{Failure, Outcome, Timestamp};

pub use bounded_text::lossless;
pub use detect::Format;
pub use junit::reader::{JunitError, JunitEvent, JunitListener, OUTSIDE, Reported, read as read_junit};
pub use utf16::utf8;

/// What a report contains about one test.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportedTest {
    /// The id that the runner uses, as far as the report allows to derive it.
    pub id: String,
    pub file: Option<String>,
    /// Counted from 1.
    pub line: Option<u32>,
    /// When the test ran, or its suite.
    pub when: Option<Timestamp>,
    /// How many attempts preceded these in the run, where the report has it. None: count those
    /// listed before it in the report.
    pub before: Option<u32>,
    /// At least one; more where the runner itself reran the test.
    pub attempts: Vec<ReportedAttempt>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ReportedAttempt {
    pub outcome: Outcome,
    pub seconds: f64,
    pub failure: Option<Failure>,
}

/// Receives tests as they are read, and decides whether to continue.
pub type TestSink<'a> = dyn FnMut(ReportedTest) -> ControlFlow<()> + 'a;

/// Reads results in the given format, or returns why they are invalid. The sink has received
/// everything before an error.
pub fn read(format: Format, source: impl Read, sink: &mut TestSink) -> Result<(), String> {
    let source = utf16::decoded(BufReader::with_capacity(256 << 10, source)).map_err(|error| error.to_string())?;
    match format {
        Format::JUnit => junit::attempts::read(source, sink),
        Format::Ctrf => ctrf::read(source, sink),
        Format::ReportLog => pytest_reportlog::read(source, sink),
        Format::LibtestJson => libtest_json::read(source, sink),
    }
}
