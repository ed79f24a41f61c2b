//! A whole JUnit report: its tests in its own order.

use std::ops::ControlFlow;

use unflake_formats::{JunitListener, read_junit, utf8};

use crate::process::bounded_text::{lossless, shortened};

pub(crate) use unflake_formats::{JunitError, JunitEvent, OUTSIDE, Reported};

/// The output of a suite is attached to at most this many of its tests, with this many bytes.
const MOST_GIVEN: usize = 500;
const OF_A_SUITE: usize = 32 << 10;

#[derive(Debug, Default, PartialEq)]
pub(crate) struct JunitReport {
    pub(crate) tests: Vec<Reported>,
    /// How many failures the runner itself excused by a later pass.
    pub(crate) rerun: usize,
}

/// Reads a report, or returns why it cannot be read.
pub(crate) fn read(bytes: &[u8]) -> Result<JunitReport, String> {
    // Tests may print any bytes: those that are no Unicode are spelled out.
    let text = lossless(&utf8(bytes));
    let mut report = JunitReport::default();
    read_junit(text.trim_start_matches('\u{feff}').as_bytes(), &mut report)?;
    Ok(report)
}

impl JunitListener for JunitReport {
    fn case(&mut self, test: Reported) -> ControlFlow<()> {
        self.rerun += test.excused.len();
        self.tests.push(test);
        ControlFlow::Continue(())
    }

    /// The output of a suite goes to its failing tests that have none of their own.
    fn printed(&mut self, first: usize, stdout: &str, stderr: &str) {
        let (stdout, stderr) = (shortened(stdout, OF_A_SUITE), shortened(stderr, OF_A_SUITE));
        let failing = |test: &&mut Reported| matches!(test.result, JunitEvent::Failed(_));
        let has_nothing = |test: &&mut Reported| test.stdout.is_empty() && test.stderr.is_empty();
        for test in self.tests.iter_mut().skip(first).filter(failing).take(MOST_GIVEN).filter(has_nothing) {
            test.stdout.clone_from(&stdout);
            test.stderr.clone_from(&stderr);
        }
    }
}

#[cfg(test)]
mod tests;
