//! Report files: JSON, JUnit XML and the formats of review platforms, beside the report for people.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use unflake_report::{self as report, TerminalStyle};

use crate::args::ColorChoice;
use crate::args::options::groups::OutputArgs;
use crate::error::CommandError;
use crate::exit::Conclusion;
use crate::output::console;
use crate::run_loop::Gathered;
use crate::technique_run::CommandFacts;

/// The report files of one run, opened before it starts.
#[derive(Default)]
pub(crate) struct ReportFiles {
    files: Vec<(ReportFormat, Box<dyn Write>)>,
    /// Whether standard output is for a program, and the report for people goes to standard error.
    stdout_taken: bool,
    /// Whether the report for people is printed whole.
    full: bool,
}

/// Most lines of a report for people, before the exit code.
const REPORT_LINES: usize = 196;

#[derive(Clone, Copy, PartialEq)]
enum ReportFormat {
    Json,
    Junit,
    Github,
    Markdown,
    Gitlab,
    Sarif,
}

impl ReportFormat {
    fn doing(self) -> &'static str {
        match self {
            Self::Json => "write the JSON file",
            Self::Junit => "write the JUnit file",
            Self::Github => "write the annotations",
            Self::Markdown => "write the Markdown",
            Self::Gitlab => "write the code quality report",
            Self::Sarif => "write the SARIF file",
        }
    }

    fn write(self, run: &report::RunReport<'_>, name: &str, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Json => report::json(run, name, out),
            Self::Junit => report::junit(run, out),
            Self::Github => report::annotations(run, out),
            Self::Markdown => report::markdown(run, out),
            Self::Gitlab => report::code_quality(run, out),
            Self::Sarif => report::sarif(run, env!("CARGO_PKG_VERSION"), out),
        }
    }
}

/// Everything that reports are made of.
pub(crate) struct RunSummary<'a> {
    pub(crate) facts: &'a CommandFacts,
    /// The user's command.
    pub(crate) command: &'a [String],
    pub(crate) record: &'a Gathered,
    pub(crate) conclusion: &'a Conclusion,
}

impl ReportFiles {
    pub(crate) fn open(args: &OutputArgs) -> Result<Self, CommandError> {
        let wanted = [
            (ReportFormat::Json, &args.json),
            (ReportFormat::Junit, &args.junit),
            (ReportFormat::Github, &args.github),
            (ReportFormat::Markdown, &args.markdown),
            (ReportFormat::Gitlab, &args.gitlab),
            (ReportFormat::Sarif, &args.sarif),
        ];
        let mut opened_files = Self { full: args.full, ..Self::default() };
        for (format, path) in wanted {
            let Some(path) = path else { continue };
            let file: Box<dyn Write> = if path.as_os_str() == "-" {
                // GitHub reads annotations from the log that people read.
                opened_files.stdout_taken |= format != ReportFormat::Github;
                Box::new(BufWriter::new(io::stdout()))
            } else {
                // Other steps of a job write into the same summary.
                let append = format == ReportFormat::Markdown;
                let opened = File::options().create(true).write(true).append(append).truncate(!append).open(path);
                Box::new(BufWriter::new(opened.map_err(CommandError::cannot_write(path))?))
            };
            opened_files.files.push((format, file));
        }
        Ok(opened_files)
    }

    /// Writes the files, then has `show` write for people.
    pub(crate) fn write(
        mut self,
        summary: &RunSummary<'_>,
        color: ColorChoice,
        show: impl FnOnce(&report::RunReport<'_>, &TerminalStyle, &mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CommandError> {
        let RunSummary { facts, command, record, conclusion } = summary;
        let run = report::RunReport {
            command,
            runner: record.runner.as_deref(),
            language: record.language.as_deref(),
            seed: facts.seed,
            tests: &record.tests,
            deselected: record.deselected,
            attempts: &record.attempts,
            worlds: &record.worlds,
            findings: &record.findings,
            problems: &record.problems,
            notes: &record.notes,
            left: &record.left,
            left_why: record.left_why.as_deref(),
            quarantine: &record.quarantine,
            feedback: &record.answers,
            totals: &record.totals,
            flaky_gates: facts.flaky_gates,
            can_order: facts.can_order,
            searched: record.searched.as_ref(),
            known: &record.known,
            measured: record.measured.as_ref(),
            exit: report::ExitMeaning { code: conclusion.exit.code(), meaning: &conclusion.meaning },
        };
        for (format, out) in &mut self.files {
            let written = format.write(&run, facts.name, out).and_then(|()| out.flush());
            written.map_err(CommandError::internal(format.doing()))?;
        }
        tracing::info!(code = run.exit.code, reason = run.exit.meaning, "run concluded");
        let (mut out, style): (Box<dyn Write>, _) = if self.stdout_taken {
            (Box::new(BufWriter::new(io::stderr())), console::style(color, &io::stderr()))
        } else {
            (Box::new(BufWriter::new(io::stdout())), console::style(color, &io::stdout()))
        };
        let lines = if self.full { usize::MAX } else { REPORT_LINES };
        let style = TerminalStyle { lines, ..style };
        // A reader that has gone away (`| head`) is no error.
        let _ = show(&run, &style, &mut out).and_then(|()| out.flush());
        Ok(())
    }
}
