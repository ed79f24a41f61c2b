//! What is known about a flaky test: its score and the findings about it.

use std::io::{self, Write};

use unflake_model::{Detail, Divergence, Feedback, Finding, TestId, Timestamp, TouchedPath};

use crate::divergence_text;
use crate::terminal::writer::{Page, Tone};
use crate::text::format;
use crate::{ScoreRow, TerminalStyle, one_line};

/// A flaky test with everything that comments and issues need.
#[derive(Clone, Debug)]
pub struct FlakyTest {
    pub test: TestId,
    /// None: no run of it counts.
    pub row: Option<ScoreRow>,
    /// Files of the change that the test executes or reads.
    pub touched: Vec<TouchedPath>,
    /// Findings, most informative first; those marked as not useful last.
    pub known: Vec<TestKnowledge>,
    /// The test was rerun and never failed, or always did: when, and the result.
    pub not_reproduced: Option<(Timestamp, String)>,
    /// Message of its last failure; empty if unknown.
    pub failure: String,
}

/// A finding about a test.
#[derive(Clone, Debug)]
pub struct TestKnowledge {
    pub finding: Finding,
    pub when: Timestamp,
    /// The commit of the finding, if known.
    pub commit: Option<String>,
    /// Feedback that it is not useful.
    pub answer: Option<Feedback>,
    /// Path of the full report, relative to the current directory.
    pub page: Option<String>,
}

impl TestKnowledge {
    pub(crate) fn divergence(&self) -> Option<&Divergence> {
        match &self.finding.detail {
            Detail::Divergence(divergence) => Some(divergence),
            _ => None,
        }
    }

    /// Date and commit of the finding: `found on 2026-11-15 at c0ffee12`.
    pub(crate) fn when(&self) -> String {
        let commit = self.commit.as_deref().map(|commit| format!(" at {}", commit.get(..8).unwrap_or(commit)));
        format!("found on {}{}", day(self.when), one_line(&commit.unwrap_or_default()))
    }
}

impl FlakyTest {
    /// The first finding that is actionable.
    pub(crate) fn best(&self) -> Option<&TestKnowledge> {
        self.known.first().filter(|known| known.answer.is_none())
    }
}

pub(crate) fn day(when: Timestamp) -> String {
    unflake_model::Day::of(when).to_string()
}

/// Writes the findings about a test, and how to see them in full. Writes nothing without findings.
pub fn known(test: &FlakyTest, look: &TerminalStyle, out: &mut dyn Write) -> io::Result<()> {
    let page = &mut Page::new(*look, out);
    if !test.known.is_empty() || test.not_reproduced.is_some() {
        page.blank()?;
    }
    for known in &test.known {
        let sentence = divergence_text::told(&known.finding);
        let id = format::short(&known.finding.id()).to_owned();
        if let Some(answer) = &known.answer {
            page.prose(2, Tone::Faint, &format!("{} (finding {id}, {})", format::answered(answer), known.when()))?;
            continue;
        }
        page.prose(2, Tone::Bold, &one_line(&sentence))?;
        page.prose(4, Tone::Faint, &format!("{}{}finding {id}", known.when(), page.look.sign(" · ")))?;
        if let Some(path) = &known.page {
            page.prose(4, Tone::Usual, &format!("{} full report: {}", page.look.sign("→"), one_line(path)))?;
        }
    }
    match &test.not_reproduced {
        Some((when, meaning)) => {
            page.prose(2, Tone::Usual, &format!("looked for on {}: {}", day(*when), one_line(meaning)))
        }
        None => Ok(()),
    }
}
