//! Files of results, as other programs write them, read into cases: what a report says of one test.
//!
//! Any bytes are read without a panic, in bounded memory, and with nothing expanded or fetched. A file that breaks off, or
//! becomes something else, is read up to there.
//!
//! Deliberately absent: files, a clock, the environment, history, and any opinion of what the results mean.

mod bounded_text;
mod ctrf;
mod detect;
mod json_lines;
mod junit;
mod libtest_json;
mod pytest_reportlog;
mod test_id;
mod timestamp;

use std::io::{BufReader, Read};
use std::ops::ControlFlow;

use unflake_model::{Failure, Outcome, Timestamp};

pub use bounded_text::lossless;
pub use detect::Format;
pub use junit::reader::{JunitError, JunitEvent, Listener, OUTSIDE, Reported, read as read_junit};

/// What a report says of one test.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportedTest {
    /// As its runner would spell it, as far as a report lets one know.
    pub id: String,
    pub file: Option<String>,
    /// Counted from 1.
    pub line: Option<u32>,
    /// When it ran, or the suite that it is in.
    pub when: Option<Timestamp>,
    /// How many attempts at it came before in this run, where the report says so. None: those that stand before it.
    pub before: Option<u32>,
    /// At least one; more where the runner itself ran it again.
    pub attempts: Vec<ReportedAttempt>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ReportedAttempt {
    pub outcome: Outcome,
    pub seconds: f64,
    pub failure: Option<Failure>,
}

/// Takes cases as they are read, and says whether to go on.
pub type TestSink<'a> = dyn FnMut(ReportedTest) -> ControlFlow<()> + 'a;

/// Reads results of that format, or says why they break off. What stands before the break has been told by then.
pub fn read(format: Format, source: impl Read, sink: &mut TestSink) -> Result<(), String> {
    let source = BufReader::with_capacity(256 << 10, source);
    match format {
        Format::JUnit => junit::attempts::read(source, sink),
        Format::Ctrf => ctrf::read(source, sink),
        Format::ReportLog => pytest_reportlog::read(source, sink),
        Format::LibtestJson => libtest_json::read(source, sink),
    }
}
