//! What is known about a flaky test: its score and the findings about it.

use std::io::{self, Write};

use unflake_model::{Detail, Divergence, Feedback, Finding, TestId, Timestamp, TouchedPath, VerdictKind};

use crate::divergence_text;
use crate::next_step::{Symptoms, next_command};
use crate::terminal::writer::{TermWriter, Tone};
use crate::text::format;
use crate::{ScoreRow, ScoreState, TerminalStyle, one_line};

/// A flaky test with everything that comments and issues need.
#[derive(Clone, Debug)]
pub struct FlakyTest {
    pub test: TestId,
    /// None: no run of it counts.
    pub row: Option<ScoreRow>,
    /// Files of the change that the test executes or reads.
    pub touched: Vec<TouchedPath>,
    /// Findings, most informative first; those marked as not useful last.
    pub findings: Vec<KnownFinding>,
    /// The test was rerun and never failed, or always did: when, and the result.
    pub not_reproduced: Option<(Timestamp, String)>,
    /// Message of its last failure; empty if unknown.
    pub failure: String,
    /// The verdict of its latest run, if any.
    pub verdict: Option<VerdictKind>,
}

/// A finding about a test.
#[derive(Clone, Debug)]
pub struct KnownFinding {
    pub finding: Finding,
    pub when: Timestamp,
    /// The commit of the finding, if known.
    pub commit: Option<String>,
    /// Feedback that it is not useful.
    pub feedback: Option<Feedback>,
    /// Path of the full report, relative to the current directory.
    pub page: Option<String>,
}

impl KnownFinding {
    pub(crate) fn divergence(&self) -> Option<&Divergence> {
        match &self.finding.detail {
            Detail::Divergence(divergence) => Some(divergence),
            _ => None,
        }
    }

    /// Date and commit of the finding: `found on 2026-11-15 at c0ffee12`.
    pub(crate) fn date_and_commit(&self) -> String {
        let commit = self.commit.as_deref().map(|commit| format!(" at {}", commit.get(..8).unwrap_or(commit)));
        format!("found on {}{}", day(self.when), one_line(&commit.unwrap_or_default()))
    }
}

impl FlakyTest {
    /// The first finding that is actionable.
    pub(crate) fn best(&self) -> Option<&KnownFinding> {
        self.findings.first().filter(|known| known.feedback.is_none())
    }

    pub(crate) fn symptoms(&self) -> Symptoms<'_> {
        Symptoms {
            test: self.test.as_str(),
            verdict: self.verdict,
            state: self.row.as_ref().map(|row| row.state),
            can_order: true,
        }
    }
}

pub(crate) fn day(when: Timestamp) -> String {
    unflake_model::Day::of(when).to_string()
}

/// Writes the findings about a test, or the next step where none explains it.
pub fn known_findings(test: &FlakyTest, style: &TerminalStyle, out: &mut dyn Write) -> io::Result<()> {
    let term = &mut TermWriter::new(*style, out);
    if !test.findings.is_empty() || test.not_reproduced.is_some() {
        term.blank()?;
    }
    for known in &test.findings {
        let sentence = divergence_text::finding_sentence(&known.finding);
        let id = format::short(&known.finding.id()).to_owned();
        if let Some(feedback) = &known.feedback {
            term.prose(
                2,
                Tone::Faint,
                &format!("{} (finding {id}, {})", format::feedback_text(feedback), known.date_and_commit()),
            )?;
            continue;
        }
        term.prose(2, Tone::Bold, &one_line(&sentence))?;
        term.prose(4, Tone::Faint, &format!("{}, finding {id}", known.date_and_commit()))?;
        if let Some(path) = &known.page {
            term.labelled(4, "report", &one_line(path), "")?;
        }
    }
    if let Some((when, meaning)) = &test.not_reproduced {
        term.prose(2, Tone::Usual, &format!("searched on {}: {}", day(*when), one_line(meaning)))?;
    }
    // A test without failures needs no diagnosis, and since when a broken one fails is shown above.
    let is_flaky = |row: &ScoreRow| matches!(row.state, ScoreState::Flaky | ScoreState::Bursty);
    let asks = test.row.as_ref().is_some_and(is_flaky) && test.best().is_none();
    match next_command(&test.symptoms()).filter(|_| asks) {
        Some(next) => term.labelled(2, "next", &one_line(&next.command), next.purpose),
        None => Ok(()),
    }
}
