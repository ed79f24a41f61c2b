//! The exit codes of unflake. No other module ends the process.

use std::process::ExitCode;

/// The exit code of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything passed, or only flaky tests failed.
    Success = 0,
    /// At least one real failure, or a flaky one with `--flaky-result fail`.
    RealFailures = 1,
    /// The command line or the configuration of unflake is wrong.
    Usage = 2,
    /// Planned tests did not run, and none of those that ran is a real failure.
    Incomplete = 3,
    /// The runner could not start, could not load its tests, or failed for a reason other than a
    /// test.
    Runner = 4,
    /// No tests, or nothing to report.
    NoTests = 5,
    /// Internal error of unflake.
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

    /// What the code means in general. Commands may say it more precisely.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::RealFailures => "at least one real failure",
            Self::Usage => "the command line or the settings are wrong",
            Self::Incomplete => "not all planned tests ran, and none that ran is a real failure",
            Self::Runner => "the runner could not start or load its tests",
            Self::NoTests => "no tests found",
            Self::Internal => "internal error",
            Self::Interrupted => "interrupted",
        }
    }

    pub(crate) fn because(self, meaning: impl Into<String>) -> Conclusion {
        Conclusion { exit: self, meaning: meaning.into() }
    }
}

/// The exit code of a run and the reason that reports give for it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Conclusion {
    pub(crate) exit: Exit,
    pub(crate) meaning: String,
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
    fn the_readme_documents_every_exit_code() {
        let readme = include_str!("../../../README.md");
        for exit in Exit::ALL {
            let row = format!("| {} |", exit.code());
            assert!(readme.contains(&row), "README.md has no row `{row}` for {exit:?}");
        }
    }
}
