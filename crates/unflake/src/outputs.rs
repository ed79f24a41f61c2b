//! Where what was found is written: files for machines, and for people the terminal.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use unflake_report::{self as report, Look};

use crate::args::{OutputArgs, When};
use crate::campaign::Gathered;
use crate::console;
use crate::exit::Exit;
use crate::trouble::Trouble;

/// Files to write at the end, opened at the beginning: a path that cannot be written is better known before.
pub(crate) struct Outputs {
    json: Option<Box<dyn Write>>,
    junit: Option<Box<dyn Write>>,
    /// Whether standard output belongs to a machine.
    stdout_taken: bool,
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
        let open = |path: &Option<PathBuf>| -> Result<Option<Box<dyn Write>>, Trouble> {
            match path {
                None => Ok(None),
                Some(path) if path.as_os_str() == "-" => Ok(Some(Box::new(BufWriter::new(io::stdout())))),
                Some(path) => match File::create(path) {
                    Ok(file) => Ok(Some(Box::new(BufWriter::new(file)))),
                    Err(error) => Err(Trouble::usage(format!("{} cannot be written: {error}", path.display()))),
                },
            }
        };
        let is_stdout = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
        Ok(Self {
            json: open(&args.json)?,
            junit: open(&args.junit)?,
            stdout_taken: is_stdout(&args.json) || is_stdout(&args.junit),
        })
    }

    /// Writes the files, and has `show` write for people.
    pub(crate) fn write(
        mut self,
        found: &Found<'_>,
        colour: When,
        show: impl FnOnce(&report::Run<'_>, &Look, &mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Trouble> {
        let gathered = found.gathered;
        let run = report::Run {
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
            apart: &gathered.apart,
            totals: &gathered.totals,
            flaky_gates: found.flaky_gates,
            can_locate: found.can_locate,
            exit: report::Exit { code: found.exit.code(), meaning: found.meaning },
        };
        if let Some(out) = &mut self.json {
            report::json(&run, found.name, out)
                .and_then(|()| out.flush())
                .map_err(Trouble::internal("write the JSON file"))?;
        }
        if let Some(out) = &mut self.junit {
            report::junit(&run, out).and_then(|()| out.flush()).map_err(Trouble::internal("write the JUnit file"))?;
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
