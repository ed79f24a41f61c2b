//! How attempts end.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How one attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Passed,
    Failed,
    /// Set-up or tear-down failed, not the test itself.
    Error,
    Skipped,
    ExpectedFailure,
    UnexpectedPass,
    TimedOut,
    /// The process died while the test ran.
    Crashed(Death),
}

/// What is known of how a process died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Death {
    Signal(i32),
    Exit(i32),
    Unknown,
}

impl Outcome {
    /// Whether a person has to investigate it.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Error | Self::TimedOut | Self::Crashed(_))
    }

    /// Whether it proves that a failing test can also pass. A skip proves nothing.
    pub fn is_pass(self) -> bool {
        matches!(self, Self::Passed | Self::ExpectedFailure | Self::UnexpectedPass)
    }

    /// Its name in all outputs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Skipped => "skipped",
            Self::ExpectedFailure => "expected-failure",
            Self::UnexpectedPass => "unexpected-pass",
            Self::TimedOut => "timed-out",
            Self::Crashed(_) => "crashed",
        }
    }
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal(number) => match signal_name(*number) {
                Some(name) => write!(f, "killed by {name}"),
                None => write!(f, "killed by signal {number}"),
            },
            Self::Exit(code) => write!(f, "the process exited with code {code}"),
            Self::Unknown => write!(f, "the process exited without a known cause"),
        }
    }
}

/// Names of the signals that have the same number on Linux and macOS.
fn signal_name(number: i32) -> Option<&'static str> {
    Some(match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_is_neither_a_failure_nor_a_proof() {
        assert!(!Outcome::Skipped.is_failure());
        assert!(!Outcome::Skipped.is_pass());
    }

    #[test]
    fn a_death_is_readable() {
        assert_eq!(Death::Signal(11).to_string(), "killed by SIGSEGV");
        assert_eq!(Death::Signal(44).to_string(), "killed by signal 44");
        assert_eq!(Death::Exit(3).to_string(), "the process exited with code 3");
    }
}
