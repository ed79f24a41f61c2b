//! Formats of CI platforms: annotations and a job summary for GitHub, code quality for GitLab.
//!
//! Everything that tests wrote is escaped for its destination: a test cannot inject a command, a
//! link or a mention.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;
use unflake_model::{Attempt, Detail, Finding, Fingerprint, TestId};

use crate::attempts_by_test::Cases;
use crate::terminal::quarantine;
use crate::text::format;
use crate::text::markdown::{self, code, inline};
use crate::{RunReport, one_line};

/// GitHub shows this many annotations per level and step, and silently drops the rest.
const ANNOTATIONS: usize = 10;
/// GitHub rejects a summary of more than 1 MiB.
const SUMMARY: usize = 1024 * 1024 - 4096;
/// Bytes quoted of one failure.
const QUOTED: usize = 4000;

/// Importance of a finding for the change under review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// Must be fixed.
    Real,
    Flaky,
    /// In quarantine.
    Apart,
}

/// A finding, prepared for all of these formats.
struct Card<'a> {
    weight: Weight,
    /// Somebody marked it as not useful.
    lowered: bool,
    test: &'a TestId,
    sentence: &'a str,
    repeat: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
    failure: Option<&'a Attempt>,
}

impl Card<'_> {
    /// The first line of the first failure.
    fn said(&self) -> String {
        let failure = self.failure.and_then(|attempt| attempt.failure.as_ref());
        failure.map(|failure| format::first_line(&failure.message, "…").into_owned()).unwrap_or_default()
    }
}

/// The findings to show, real failures first.
fn cards<'a>(run: &RunReport<'a>) -> Vec<Card<'a>> {
    let cases = Cases::of(run);
    let card = |finding: &'a Finding| {
        let weight = match &finding.detail {
            _ if quarantine::is_excused(run.apart, &finding.test) => Weight::Apart,
            Detail::Verdict(_) if finding.is_real() => Weight::Real,
            Detail::Verdict(_) | Detail::Nio(_) | Detail::Order(_) | Detail::Divergence(_) | Detail::Factor(_) => {
                Weight::Flaky
            }
            // These kinds only explain other findings.
            _ => return None,
        };
        let case = cases.get(&finding.test);
        let failure = case.and_then(|case| case.failures().next());
        let place = failure.and_then(|attempt| attempt.failure.as_ref()).filter(|failure| failure.file.is_some());
        let (file, line) = match (place, case) {
            (Some(failure), _) => (failure.file.as_deref(), failure.line),
            (None, Some(case)) => (case.file, case.line),
            (None, None) => (None, None),
        };
        let repeat = finding.repeat.as_deref();
        // Files outside of the project cannot be shown next to a change.
        let file = file.filter(|file| !file.starts_with('/') && !file.starts_with(".."));
        let lowered = run.answer(finding).is_some();
        Some(Card { weight, lowered, test: &finding.test, sentence: &finding.sentence, repeat, file, line, failure })
    };
    let mut cards: Vec<Card> = run.findings.iter().filter_map(card).collect();
    cards.sort_by_key(|card| (card.weight, card.lowered));
    cards
}

/// Writes GitHub workflow commands that annotate the lines of a change.
pub fn annotations(run: &RunReport, out: &mut dyn Write) -> io::Result<()> {
    let cards = cards(run);
    for (weight, command, noun) in [
        (Weight::Real, "error", "real failure"),
        (Weight::Flaky, "warning", "flaky test"),
        (Weight::Apart, "notice", "excused failure"),
    ] {
        let mine: Vec<&Card> = cards.iter().filter(|card| card.weight == weight).collect();
        let shown = if mine.len() > ANNOTATIONS { ANNOTATIONS - 1 } else { mine.len() };
        for card in &mine[..shown] {
            let place = match (card.file, card.line) {
                (Some(file), Some(line)) => format!("file={},line={line},", property(file)),
                (Some(file), None) => format!("file={},", property(file)),
                _ => String::new(),
            };
            let said = card.said();
            let mut message = format!("{} {}", one_line(card.test.as_str()), one_line(card.sentence));
            if !said.is_empty() {
                let _ = write!(message, "\n{said}");
            }
            if let Some(repeat) = card.repeat {
                let _ = write!(message, "\nsee it yourself: {}", one_line(repeat));
            }
            writeln!(out, "::{command} {place}title={}::{}", property(noun), data(&message))?;
        }
        if shown < mine.len() {
            let more = format::count(mine.len() - shown, noun);
            writeln!(out, "::{command} title=more::{}", data(&format!("and {more} more: see the summary")))?;
        }
    }
    Ok(())
}

/// Escapes the message of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(&one_line(text)).replace(':', "%3A").replace(',', "%2C")
}

/// Writes Markdown for a job summary or a comment.
pub fn markdown(run: &RunReport, out: &mut dyn Write) -> io::Result<()> {
    let cards = cards(run);
    let sign = if run.exit.code == 0 { "✅" } else { "❌" };
    let mut text = format!("### {sign} {}\n\n", inline(run.exit.meaning));
    let tests = format::count(run.tests.len(), "test");
    let _ = writeln!(text, "{tests} in {}.\n", format::duration(run.totals.seconds));
    let mut cut = 0;
    for card in &cards {
        let section = section(card);
        if text.len() + section.len() > SUMMARY {
            cut += 1;
        } else {
            text.push_str(&section);
        }
    }
    if cut > 0 {
        let _ = writeln!(text, "\n{} more did not fit here.", format::count(cut, "finding"));
    }
    for note in [run.notes, &quarantine::notes(run.apart)].concat() {
        let line = format!("\n> {}\n", inline(&note));
        if text.len() + line.len() <= SUMMARY {
            text.push_str(&line);
        }
    }
    out.write_all(text.as_bytes())
}

fn section(card: &Card) -> String {
    let label = match card.weight {
        Weight::Real => "❌ REAL",
        Weight::Flaky => "⚠️ FLAKY",
        Weight::Apart => "◌ APART",
    };
    let mut text = format!("**{label}** {}\n\n{}\n", code(card.test.as_str()), inline(card.sentence));
    if let Some(failure) = card.failure.and_then(|attempt| attempt.failure.as_ref()) {
        let place = match (card.file, card.line) {
            (Some(file), Some(line)) => format!("{file}:{line}  "),
            _ => String::new(),
        };
        let said: String = failure.message.chars().take(QUOTED).collect();
        let said = format!("{place}{}\n{}", failure.kind, said.trim());
        // Inside HTML, none of the text is parsed as Markdown.
        let _ = write!(text, "\n<details><summary>what it said</summary>\n{}\n</details>\n", markdown::lines(&said));
    }
    if let Some(repeat) = card.repeat {
        let _ = write!(text, "\nsee it yourself: {}\n", code(repeat));
    }
    text.push('\n');
    text
}

/// One entry of GitLab's code quality report.
#[derive(Serialize)]
struct Issue<'a> {
    description: String,
    check_name: &'static str,
    fingerprint: String,
    severity: &'static str,
    location: Location<'a>,
}

#[derive(Serialize)]
struct Location<'a> {
    path: Cow<'a, str>,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u32,
}

/// Writes GitLab's code quality report, which annotates the lines of a change.
pub fn code_quality(run: &RunReport, out: &mut dyn Write) -> io::Result<()> {
    let cards = cards(run);
    let issue = |card: &Card| -> Option<Issue> {
        let (check_name, severity) = match card.weight {
            Weight::Real => ("unflake.real", "major"),
            Weight::Flaky => ("unflake.flaky", "minor"),
            Weight::Apart => ("unflake.quarantine", "info"),
        };
        let failure = card.failure.and_then(|attempt| attempt.failure.as_ref());
        let of_failure = failure.map_or_else(|| Fingerprint(String::new()), |failure| failure.fingerprint());
        let said = card.said();
        let separator = if said.is_empty() { "" } else { ": " };
        Some(Issue {
            description: format!("{} {}{separator}{said}", one_line(card.test.as_str()), one_line(card.sentence)),
            check_name,
            fingerprint: format!("{check_name}-{}-{of_failure}", card.test),
            severity,
            location: Location {
                path: Cow::Owned(card.file?.to_owned()),
                lines: Lines { begin: card.line.unwrap_or(1) },
            },
        })
    };
    let issues: Vec<Issue> = cards.iter().filter_map(issue).collect();
    serde_json::to_writer_pretty(&mut *out, &issues)?;
    writeln!(out)
}
