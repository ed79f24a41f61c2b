//! Result of preparing reports in advance: which are ready, which are not, and why.

use std::io::{self, Write};

use serde::Serialize;
use unflake_model::{Finding, TestId};

use crate::divergence_text;
use crate::terminal::score::percent;
use crate::terminal::writer::{TermWriter, Tone};
use crate::text::format;
use crate::{ExitMeaning, TerminalStyle, one_line};

/// Result for one flaky test.
#[derive(Clone, Debug, Serialize)]
pub struct PreparedEntry {
    pub test: TestId,
    /// Probability that its next run fails.
    pub score: f64,
    pub kind: PreparedKind,
    /// The outcome of its runs, or why there were none: `flaky: 11 of 50 runs failed`.
    pub meaning: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<Finding>,
    /// Path of the full report, relative to the current directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PreparedKind {
    /// It failed and passed, and a report is ready.
    Located,
    /// All runs had the same outcome. That is stored too.
    NotReproduced,
    /// The budget was exhausted before all runs. The partial result is stored.
    CutShort,
    /// A report on the same files existed.
    Ready,
    /// Not started: the budget was exhausted, or the user stopped.
    Left,
    /// The search failed.
    Failed,
}

/// Everything that was prepared.
#[derive(Clone, Debug, Serialize)]
pub struct PreparedBatch<'a> {
    pub schema: u32,
    pub command: &'static str,
    pub exit: ExitMeaning<'a>,
    /// Hash of the files that the reports are about.
    pub tree: &'a str,
    /// Lowest score to prepare.
    pub at_least: f64,
    pub seconds: f64,
    /// Most likely to fail first.
    pub tests: &'a [PreparedEntry],
    pub notes: &'a [String],
}

impl PreparedBatch<'_> {
    pub fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        writeln!(out)
    }

    /// `quiet` leaves out reports that existed before.
    pub fn write(&self, style: &TerminalStyle, quiet: bool, out: &mut dyn Write) -> io::Result<()> {
        let term = &mut TermWriter::new(*style, out);
        let flaky = format::count(self.tests.len(), "flaky test");
        let head = format!("{flaky} with a score of at least {}", percent(self.at_least));
        term.prose(2, Tone::Bold, &[head, format::duration(self.seconds)].join(style.sign(" · ")))?;
        for test in self.tests.iter().filter(|test| !quiet || test.kind != PreparedKind::Ready) {
            entry(term, test)?;
        }
        if !self.notes.is_empty() {
            term.blank()?;
        }
        for note in self.notes {
            term.prose(2, Tone::Usual, &format!("note: {}", one_line(note)))?;
        }
        term.blank()?;
        let tone = if self.exit.code == 0 { Tone::Good } else { Tone::Bad };
        term.prose(0, tone, &format!("exit {}: {}", self.exit.code, one_line(self.exit.meaning)))
    }
}

fn entry(term: &mut TermWriter, test: &PreparedEntry) -> io::Result<()> {
    let tone = match test.kind {
        PreparedKind::Located | PreparedKind::Ready => Tone::Good,
        PreparedKind::NotReproduced | PreparedKind::CutShort => Tone::Odd,
        PreparedKind::Left => Tone::Faint,
        PreparedKind::Failed => Tone::Bad,
    };
    term.blank()?;
    term.head(tone, &percent(test.score), &one_line(test.test.as_str()))?;
    let indent = term.indent();
    if let Some(finding) = &test.finding {
        term.prose(indent, Tone::Usual, &one_line(&divergence_text::finding_sentence(finding)))?;
    }
    let aside = match test.kind {
        PreparedKind::Ready => "; already prepared",
        PreparedKind::CutShort => "; budget exhausted, the next run continues",
        _ => "",
    };
    term.prose(indent, Tone::Usual, &format!("{}{aside}", one_line(&test.meaning)))?;
    match &test.page {
        Some(path) => term.labelled(indent, "report", &one_line(path), ""),
        None => Ok(()),
    }
}

/// The totals: `2 located, 1 not reproduced, 3 were ready, 1 left`.
pub fn prepared_totals(tests: &[PreparedEntry]) -> String {
    let parts = [
        (PreparedKind::Located, "located"),
        (PreparedKind::NotReproduced, "not reproduced"),
        (PreparedKind::CutShort, "out of budget"),
        (PreparedKind::Ready, "already prepared"),
        (PreparedKind::Failed, "could not run"),
        (PreparedKind::Left, "not reached"),
    ];
    let texts = parts.into_iter().filter_map(|(kind, words)| {
        let count = tests.iter().filter(|test| test.kind == kind).count();
        (count > 0).then(|| format!("{count} {words}"))
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() { "no test reaches this score".to_owned() } else { texts.join(", ") }
}
