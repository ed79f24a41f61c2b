//! A whole JUnit report, as the driver needs it: its tests in its own order.

use std::ops::ControlFlow;

use unflake_formats::{JunitListener, read_junit};

use crate::process::bounded_text::{lossless, shortened};

pub(crate) use unflake_formats::{JunitError, JunitEvent, OUTSIDE, Reported};

/// What a suite printed is given to so many of its tests, in so many bytes.
const MOST_GIVEN: usize = 500;
const OF_A_SUITE: usize = 32 << 10;

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Report {
    pub(crate) tests: Vec<Reported>,
    /// How many passed only because the runner itself ran them again.
    pub(crate) rerun: usize,
}

/// Reads a report, or says why it is none.
pub(crate) fn read(bytes: &[u8]) -> Result<Report, String> {
    // Bytes that are no Unicode are spelled out: a test may print anything.
    let text = lossless(bytes);
    let mut report = Report::default();
    read_junit(text.trim_start_matches('\u{feff}').as_bytes(), &mut report)?;
    Ok(report)
}

impl JunitListener for Report {
    fn case(&mut self, test: Reported) -> ControlFlow<()> {
        self.rerun += test.excused.len();
        self.tests.push(test);
        ControlFlow::Continue(())
    }

    /// What a suite prints is given to its failing tests that have nothing of their own.
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
