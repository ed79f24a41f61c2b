//! What is known of a flaky test: how it stands, and what was found of it.

use std::io::{self, Write};

use unflake_model::{Detail, Divergence, Feedback, Finding, TestId, Timestamp, TouchedPath};

use crate::divergence_text;
use crate::terminal::writer::{Page, Tone};
use crate::text::format;
use crate::{ScoreRow, TerminalStyle, one_line};

/// A flaky test, to be told of in a text.
#[derive(Clone, Debug)]
pub struct FlakyTest {
    pub test: TestId,
    /// None: no run of it counts.
    pub row: Option<ScoreRow>,
    /// The files that a change touches and that it runs or reads.
    pub touched: Vec<TouchedPath>,
    /// What was found, the most telling first; what people found of no use last.
    pub known: Vec<TestKnowledge>,
    /// It was looked for and did not fail, or always did: when, and what its runs came to.
    pub not_reproduced: Option<(Timestamp, String)>,
    /// What it said when it last failed; empty where nobody knows.
    pub failure: String,
}

/// Something that was found of it.
#[derive(Clone, Debug)]
pub struct TestKnowledge {
    pub finding: Finding,
    pub when: Timestamp,
    /// The commit it was found at, where that is known.
    pub commit: Option<String>,
    /// Somebody said that it is of no use.
    pub answer: Option<Feedback>,
    /// The full report, as a path from here.
    pub page: Option<String>,
}

impl TestKnowledge {
    pub(crate) fn divergence(&self) -> Option<&Divergence> {
        match &self.finding.detail {
            Detail::Divergence(divergence) => Some(divergence),
            _ => None,
        }
    }

    /// When it was found, and of what: `found on 2026-11-15 at c0ffee12`.
    pub(crate) fn when(&self) -> String {
        let commit = self.commit.as_deref().map(|commit| format!(" at {}", commit.get(..8).unwrap_or(commit)));
        format!("found on {}{}", day(self.when), one_line(&commit.unwrap_or_default()))
    }
}

impl FlakyTest {
    /// What somebody can act upon.
    pub(crate) fn best(&self) -> Option<&TestKnowledge> {
        self.known.first().filter(|known| known.answer.is_none())
    }
}

pub(crate) fn day(when: Timestamp) -> String {
    unflake_model::Day::of(when).to_string()
}

/// Writes what was found of a test, and how to see it in full. Nothing where nothing was found.
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
