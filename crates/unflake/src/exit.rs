//! How unflake leaves: the one list of its exit codes.

use std::process::ExitCode;

/// Why a command ended as it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything passed, or only flaky tests failed.
    Success = 0,
    /// At least one real failure, or a flaky one with `--flaky-result fail`.
    RealFailures = 1,
    /// The command line or the configuration of unflake is wrong.
    Usage = 2,
    /// Tests that were planned have not run, and none of those that ran failed for real.
    Incomplete = 3,
    /// The runner could not start, could not load its tests, or failed for a reason other than a test.
    Runner = 4,
    /// There was nothing to run, or to say.
    NoTests = 5,
    /// unflake itself could not do its work.
    Internal = 70,
    /// Stopped by Ctrl-C or a signal.
    Interrupted = 130,
}

impl Exit {
    #[cfg(test)]
    pub(crate) const ALL: [Self; 8] = [
        Self::Success,
        Self::RealFailures,
        Self::Usage,
        Self::Incomplete,
        Self::Runner,
        Self::NoTests,
        Self::Internal,
        Self::Interrupted,
    ];

    pub(crate) fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_tells_every_exit_code() {
        let readme = include_str!("../../../README.md");
        for exit in Exit::ALL {
            let row = format!("| {} |", exit.code());
            assert!(readme.contains(&row), "README.md has no row `{row}` for {exit:?}");
        }
    }
}
