//! The result of one test, as a driver reports it.

use nix::sys::signal::Signal;
use unflake_protocol::{Failure, Outcome, Phase};

use crate::process::sanitizers;
use crate::process::spec::{ExitKind, ProcessEnd};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TestResult {
    pub(crate) outcome: Outcome,
    pub(crate) seconds: f64,
    pub(crate) failure: Option<Failure>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The file with the layer facts of the attempt.
    pub(crate) layers: Option<String>,
}

impl TestResult {
    pub(crate) fn new(outcome: Outcome, seconds: f64) -> Self {
        Self { outcome, seconds, failure: None, stdout: String::new(), stderr: String::new(), layers: None }
    }

    pub(crate) fn failed(self, failure: Failure) -> Self {
        Self { failure: Some(failure), ..self }
    }

    pub(crate) fn with_output(self, stdout: impl Into<String>, stderr: impl Into<String>) -> Self {
        Self { stdout: stdout.into(), stderr: stderr.into(), ..self }
    }

    /// The process died during the test or after it. `output` becomes the trace of the failure.
    pub(crate) fn crashed(exit: ExitKind, seconds: f64, message: Option<String>, output: &str) -> Self {
        let description = match exit {
            ExitKind::Exit(code) => format!("the process exited with code {code}"),
            ExitKind::Signal(number) => format!("killed by {}", signal_name(number)),
            ExitKind::TimedOut => "the process was killed".to_owned(),
        };
        let message = message.unwrap_or(description);
        let failure = Failure { phase: Phase::Process, trace: output.to_owned(), ..failed("Crashed", &message) };
        Self::new(Outcome::Crashed(exit.death()), seconds).failed(failure)
    }

    pub(crate) fn timed_out(seconds: f64, output: &str) -> Self {
        let message = format!("timed out after {seconds:.1} s");
        let failure = Failure { phase: Phase::Process, trace: output.to_owned(), ..failed("TimedOut", &message) };
        Self::new(Outcome::TimedOut, seconds).failed(failure)
    }

    /// Of a program that is one test as a whole: its exit code and sanitizer reports decide.
    pub(crate) fn of_whole_program(end: &ProcessEnd) -> Self {
        let output = end.output();
        let result = match (end.exit, sanitizers::report(&end.stderr)) {
            (ExitKind::Exit(0), None) => Self::new(Outcome::Passed, end.seconds),
            (ExitKind::Exit(code), None) => {
                let last = output.lines().last().unwrap_or_default();
                let message = format!("exited with code {code}{}{last}", if last.is_empty() { "" } else { ": " });
                let failure = Failure { trace: output, ..failed("Failed", &message) };
                Self::new(Outcome::Failed, end.seconds).failed(failure)
            }
            (exit, report) => Self::crashed(exit, end.seconds, report, &output),
        };
        result.with_output(end.stdout.as_str(), end.stderr.as_str())
    }
}

pub(crate) fn signal_name(number: i32) -> String {
    Signal::try_from(number).map_or_else(|_| format!("signal {number}"), |signal| signal.as_str().to_owned())
}

/// A failure in the test itself that has nothing but a message.
pub(crate) fn failed(kind: &str, message: &str) -> Failure {
    Failure {
        phase: Phase::Call,
        kind: kind.to_owned(),
        message: message.to_owned(),
        trace: String::new(),
        file: None,
        line: None,
    }
}
