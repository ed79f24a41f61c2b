//! Where what was found is written: files for machines, and for people the terminal.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use unflake_report::{self as report, TerminalStyle};

use crate::args::{OutputArgs, When};
use crate::console;
use crate::error::Trouble;
use crate::exit::Exit;
use crate::run_loop::Gathered;

/// Files to write at the end, opened at the beginning: a path that cannot be written is better known before.
pub(crate) struct Outputs {
    files: Vec<(Shape, Box<dyn Write>)>,
    /// Whether standard output belongs to a machine.
    stdout_taken: bool,
}

/// In which shape machines want to have it.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Json,
    Junit,
    Annotations,
    Markdown,
    CodeQuality,
}

impl Shape {
    fn doing(self) -> &'static str {
        match self {
            Self::Json => "write the JSON file",
            Self::Junit => "write the JUnit file",
            Self::Annotations => "write the annotations",
            Self::Markdown => "write the Markdown",
            Self::CodeQuality => "write the code quality report",
        }
    }

    fn write(self, run: &report::RunReport<'_>, name: &str, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Json => report::json(run, name, out),
            Self::Junit => report::junit(run, out),
            Self::Annotations => report::annotations(run, out),
            Self::Markdown => report::markdown(run, out),
            Self::CodeQuality => report::code_quality(run, out),
        }
    }
}

/// What there is to write.
pub(crate) struct Found<'a> {
    /// The command of unflake, such as `run`.
    pub(crate) name: &'a str,
    /// The user's own.
    pub(crate) command: &'a [String],
    pub(crate) gathered: &'a Gathered,
    pub(crate) flaky_gates: bool,
    pub(crate) can_locate: bool,
    pub(crate) seed: Option<u64>,
    pub(crate) exit: Exit,
    pub(crate) meaning: &'a str,
}

impl Outputs {
    pub(crate) fn open(args: &OutputArgs) -> Result<Self, Trouble> {
        let wanted = [
            (Shape::Json, &args.json),
            (Shape::Junit, &args.junit),
            (Shape::Annotations, &args.annotations),
            (Shape::Markdown, &args.markdown),
            (Shape::CodeQuality, &args.code_quality),
        ];
        let mut outputs = Self { files: Vec::new(), stdout_taken: false };
        for (shape, path) in wanted {
            let Some(path) = path else { continue };
            let file: Box<dyn Write> = if path.as_os_str() == "-" {
                // People may read what annotations stand among.
                outputs.stdout_taken |= shape != Shape::Annotations;
                Box::new(BufWriter::new(io::stdout()))
            } else {
                // What others have written into the summary of a job stays.
                let added = shape == Shape::Markdown;
                let opened = File::options().create(true).write(true).append(added).truncate(!added).open(path);
                Box::new(BufWriter::new(
                    opened.map_err(|error| Trouble::usage(format!("{} cannot be written: {error}", path.display())))?,
                ))
            };
            outputs.files.push((shape, file));
        }
        Ok(outputs)
    }

    /// Writes the files, and has `show` write for people.
    pub(crate) fn write(
        mut self,
        found: &Found<'_>,
        colour: When,
        show: impl FnOnce(&report::RunReport<'_>, &TerminalStyle, &mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Trouble> {
        let gathered = found.gathered;
        let run = report::RunReport {
            command: found.command,
            runner: gathered.runner.as_deref(),
            language: gathered.language.as_deref(),
            seed: found.seed,
            tests: &gathered.tests,
            deselected: gathered.deselected,
            attempts: &gathered.attempts,
            findings: &gathered.findings,
            problems: &gathered.problems,
            notes: &gathered.notes,
            left: &gathered.left,
            left_why: gathered.left_why.as_deref(),
            quarantine: &gathered.apart,
            feedback: &gathered.answers,
            totals: &gathered.totals,
            flaky_gates: found.flaky_gates,
            can_locate: found.can_locate,
            measured: gathered.measured.as_ref(),
            exit: report::Exit { code: found.exit.code(), meaning: found.meaning },
        };
        for (shape, out) in &mut self.files {
            shape.write(&run, found.name, out).and_then(|()| out.flush()).map_err(Trouble::internal(shape.doing()))?;
        }
        let (mut out, look): (Box<dyn Write>, _) = if self.stdout_taken {
            (Box::new(BufWriter::new(io::stderr())), console::look(colour, &io::stderr()))
        } else {
            (Box::new(BufWriter::new(io::stdout())), console::look(colour, &io::stdout()))
        };
        // A reader that has gone away (`| head`) is no trouble.
        let _ = show(&run, &look, &mut out).and_then(|()| out.flush());
        Ok(())
    }
}
