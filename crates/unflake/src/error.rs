//! The error that ends a command: what failed, what to do about it, and the exit code.

use std::io::{self, Write};
use std::path::Path;

use clap::builder::Styles;
use clap::builder::styling::Style;
use unflake_engine::StartError;
use unflake_model::{Problem, ProblemKind};
use unflake_report::{one_line, plain};
use unflake_store::StoreError;
use unflake_techniques::BadPattern;

use crate::args::ColorChoice;
use crate::config::settings::SettingError;
use crate::exit::Exit;
use crate::output::console;
use crate::suggest;

/// The number of matching tests that an error names.
const NAMED: usize = 10;

#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct CommandError {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    /// What the user can do next.
    pub(crate) hint: Option<String>,
}

impl CommandError {
    fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hint: None }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(crate) fn runner(message: impl Into<String>) -> Self {
        Self::new(Exit::Runner, message)
    }

    /// A problem that ends a command without a report.
    pub(crate) fn problem(problem: &Problem) -> Self {
        let text = plain(&problem.text);
        match problem.kind {
            ProblemKind::Refused => match text.rsplit_once('\n') {
                Some((why, hint)) => Self::usage(why).hint(hint),
                None => Self::usage(text),
            },
            ProblemKind::Protocol => Self::new(Exit::Internal, format!("unflake lost results of tests: {text}"))
                .hint("run it again; `-vv` logs what unflake did before"),
            _ => Self::runner(text),
        }
    }

    /// For `map_err`: `doing` completes the sentence "could not …".
    pub(crate) fn internal(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| {
            let message = format!("could not {doing}: {error}");
            Self::new(Exit::Internal, message).hint("`-vv` logs what unflake did before")
        }
    }

    /// For `map_err`: a file that the user named.
    pub(crate) fn cannot_write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| {
            Self::usage(format!("{} cannot be written: {error}", path.display()))
                .hint("check that its directory exists and that you may write there")
        }
    }

    /// A value of an option that is not one of those that exist.
    pub(crate) fn unknown_value(option: &str, value: &str, known: &[&str]) -> Self {
        let hint = suggest::did_you_mean(value, known.iter().copied());
        Self::usage(format!("{option}: there is no `{value}`"))
            .hint(hint.unwrap_or_else(|| format!("choose from {}", known.join(", "))))
    }

    /// A name that matches none of the known tests.
    pub(crate) fn unknown_test<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let hint = suggest::did_you_mean_test(name, known);
        Self::usage(format!("no test has `{}` in its name", one_line(name)))
            .hint(hint.unwrap_or_else(|| "give the name of a test, or a part of it".to_owned()))
    }

    /// A name that has to match exactly one of the known tests.
    pub(crate) fn not_one_test<'a>(name: &str, matching: &[&str], known: impl IntoIterator<Item = &'a str>) -> Self {
        if matching.is_empty() {
            return Self::unknown_test(name, known);
        }
        let mut message = format!("{} tests have `{}` in their names:", matching.len(), one_line(name));
        for test in matching.iter().take(NAMED) {
            message.push_str(&format!("\n    {}", one_line(test)));
        }
        if let more @ 1.. = matching.len().saturating_sub(NAMED) {
            message.push_str(&format!("\n    … and {more} more"));
        }
        Self::usage(message).hint("name one of them")
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Prints it to standard error as `error: …`, then `hint: …`.
    pub(crate) fn print(&self, color: ColorChoice) {
        let styles = Styles::styled();
        print("error", styles.get_error(), &self.message, self.hint.as_deref(), color);
    }
}

/// Prints a warning to standard error, and what to do about it.
pub(crate) fn warn(message: &str, hint: Option<&str>, color: ColorChoice) {
    let yellow = clap::builder::styling::AnsiColor::Yellow.on_default().bold();
    print("warning", &yellow, message, hint, color);
}

fn print(label: &str, style: &Style, message: &str, hint: Option<&str>, color: ColorChoice) {
    let mut out = io::stderr().lock();
    let styles = Styles::styled();
    let plain = Style::new();
    let colored = console::style(color, &out).colour;
    let (style, valid) = if colored { (style, styles.get_valid()) } else { (&plain, &plain) };
    let _ = writeln!(out, "{style}{label}:{style:#} {message}");
    if let Some(hint) = hint {
        let _ = writeln!(out, "{valid}hint:{valid:#} {hint}");
    }
}

impl From<SettingError> for CommandError {
    fn from(error: SettingError) -> Self {
        let hint = error.hint.unwrap_or_else(|| "`unflake run --help` explains the settings".to_owned());
        Self::usage(error.message).hint(hint)
    }
}

impl From<BadPattern> for CommandError {
    fn from(error: BadPattern) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        let hint = error.hint();
        Self { hint: hint.map(str::to_owned), ..Self::new(Exit::Internal, error.to_string()) }
    }
}

impl From<StartError> for CommandError {
    fn from(error: StartError) -> Self {
        Self::new(Exit::Internal, error.to_string())
    }
}
