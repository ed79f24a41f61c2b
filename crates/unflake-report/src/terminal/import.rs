//! Summary of an import of result files.

use std::io::{self, Write};

use crate::terminal::writer::{TermWriter, Tone};
use crate::text::format;
use crate::{TerminalStyle, one_line};

/// Counts of what was imported.
#[derive(Clone, Debug, Default)]
pub struct ImportReport {
    /// Files read now, and files imported before.
    pub files: usize,
    pub known: usize,
    pub results: u64,
    pub failed: u64,
    /// Tests that failed and passed when their runner retried them.
    pub flaky: u64,
    pub skipped: u64,
    /// Files that are not reports or cannot be read, with the reason.
    pub refused: Vec<(String, String)>,
    /// Files read up to an error, with the error.
    pub broken: Vec<(String, String)>,
}

impl ImportReport {
    /// Counts one test of a report; the arguments say whether any attempt failed, or passed.
    pub fn count(&mut self, failed: bool, passed: bool) {
        self.results += 1;
        self.failed += u64::from(failed && !passed);
        self.flaky += u64::from(failed && passed);
        self.skipped += u64::from(!failed && !passed);
    }

    pub fn write(&self, style: &TerminalStyle, out: &mut dyn Write) -> io::Result<()> {
        let term = &mut TermWriter::new(*style, out);
        let mut parts = vec![format!("{} read", format::count(self.files, "report"))];
        if self.files > 0 {
            parts.push(format::count(self.results as usize, "result"));
            parts.push(format!("{} failed", self.failed));
            parts.push(format!("{} flaky", self.flaky));
            parts.push(format!("{} skipped", self.skipped));
        }
        if self.known > 0 {
            parts.push(format!("{} already imported", format::count(self.known, "report")));
        }
        term.prose(0, Tone::Bold, &parts.join(", "))?;
        for (path, why) in &self.broken {
            term.head(Tone::Odd, "PARTIAL", &one_line(path))?;
            term.prose(term.indent(), Tone::Usual, &format!("{}; earlier results are imported", one_line(why)))?;
        }
        for (path, why) in &self.refused {
            term.head(Tone::Bad, "FAILED", &one_line(path))?;
            term.prose(term.indent(), Tone::Usual, &one_line(why))?;
        }
        Ok(())
    }
}
