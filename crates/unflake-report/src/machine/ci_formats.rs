//! Formats of CI platforms: annotations and a job summary for GitHub, code quality for GitLab.
//!
//! Everything that tests wrote is escaped for its destination: a test cannot inject a command, a
//! link or a mention.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;
use unflake_model::{Attempt, Detail, Finding, Fingerprint, TestId};

use crate::attempts_by_test::AttemptsByTest;
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
enum Importance {
    /// Must be fixed.
    Real,
    Flaky,
    /// In quarantine.
    Quarantined,
}

/// A finding, prepared for all of these formats.
struct CiFinding<'a> {
    importance: Importance,
    /// It was marked as not useful.
    not_useful: bool,
    test: &'a TestId,
    sentence: &'a str,
    command: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
    failure: Option<&'a Attempt>,
}

impl CiFinding<'_> {
    /// The first line of the first failure.
    fn message(&self) -> String {
        let failure = self.failure.and_then(|attempt| attempt.failure.as_ref());
        failure.map(|failure| format::first_line(&failure.message, "…").into_owned()).unwrap_or_default()
    }
}

/// The findings to show, real failures first.
fn findings<'a>(run: &RunReport<'a>) -> Vec<CiFinding<'a>> {
    let cases = AttemptsByTest::of(run);
    let entry = |finding: &'a Finding| {
        let importance = match &finding.detail {
            _ if quarantine::is_excused(run.quarantine, &finding.test) => Importance::Quarantined,
            Detail::Verdict(_) if finding.is_real() || finding.is_undecided() => Importance::Real,
            Detail::Verdict(_) | Detail::Nio(_) | Detail::Order(_) | Detail::Divergence(_) | Detail::Factor(_) => {
                Importance::Flaky
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
        let command = finding.command();
        // Files outside of the project cannot be shown next to a change.
        let file = file.filter(|file| !file.starts_with('/') && !file.starts_with(".."));
        let not_useful = run.not_useful(finding).is_some();
        Some(CiFinding {
            importance,
            not_useful,
            test: &finding.test,
            sentence: &finding.sentence,
            command,
            file,
            line,
            failure,
        })
    };
    let mut findings: Vec<CiFinding> = run.findings.iter().filter_map(entry).collect();
    findings.sort_by_key(|entry| (entry.importance, entry.not_useful));
    findings
}

/// Writes GitHub workflow commands that annotate the lines of a change.
pub fn annotations(run: &RunReport, out: &mut dyn Write) -> io::Result<()> {
    let findings = findings(run);
    for (importance, command, noun) in [
        (Importance::Real, "error", "real failure"),
        (Importance::Flaky, "warning", "flaky test"),
        (Importance::Quarantined, "notice", "quarantined failure"),
    ] {
        let of_level: Vec<&CiFinding> = findings.iter().filter(|entry| entry.importance == importance).collect();
        let shown = if of_level.len() > ANNOTATIONS { ANNOTATIONS - 1 } else { of_level.len() };
        for entry in &of_level[..shown] {
            let place = match (entry.file, entry.line) {
                (Some(file), Some(line)) => format!("file={},line={line},", property(file)),
                (Some(file), None) => format!("file={},", property(file)),
                _ => String::new(),
            };
            let failure_text = entry.message();
            let mut message = format!("{} {}", one_line(entry.test.as_str()), one_line(entry.sentence));
            if !failure_text.is_empty() {
                let _ = write!(message, "\n{failure_text}");
            }
            if let Some(command) = entry.command {
                let _ = write!(message, "\nreproduce: {}", one_line(command));
            }
            writeln!(out, "::{command} {place}title={}::{}", property(noun), data(&message))?;
        }
        if shown < of_level.len() {
            let more = format::count(of_level.len() - shown, noun);
            writeln!(out, "::{command} title=more::{}", data(&format!("{more} more in the summary")))?;
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
    let findings = findings(run);
    let sign = if run.exit.code == 0 { "✅" } else { "❌" };
    let mut text = format!("### {sign} {}\n\n", inline(run.exit.meaning));
    let tests = format::count(run.tests.len(), "test");
    let _ = writeln!(text, "{tests}, {}\n", format::duration(run.totals.seconds));
    let mut omitted = 0;
    for entry in &findings {
        let section = section(entry);
        if text.len() + section.len() > SUMMARY {
            omitted += 1;
        } else {
            text.push_str(&section);
        }
    }
    if omitted > 0 {
        let _ = writeln!(text, "\n{} left out: the summary is full.", format::count(omitted, "finding"));
    }
    for note in [run.notes, &quarantine::notes(run.quarantine)].concat() {
        let line = format!("\n> {}\n", inline(&note));
        if text.len() + line.len() <= SUMMARY {
            text.push_str(&line);
        }
    }
    out.write_all(text.as_bytes())
}

fn section(entry: &CiFinding) -> String {
    let label = match entry.importance {
        Importance::Real => "❌ REAL",
        Importance::Flaky => "⚠️ FLAKY",
        Importance::Quarantined => "◌ QUARANTINED",
    };
    let mut text = format!("**{label}** {}\n\n{}\n", code(entry.test.as_str()), inline(entry.sentence));
    if let Some(failure) = entry.failure.and_then(|attempt| attempt.failure.as_ref()) {
        let place = match (entry.file, entry.line) {
            (Some(file), Some(line)) => format!("{file}:{line}  "),
            _ => String::new(),
        };
        let failure_text: String = failure.message.chars().take(QUOTED).collect();
        let failure_text = format!("{place}{}\n{}", failure.kind, failure_text.trim());
        // Inside HTML, none of the text is parsed as Markdown.
        let _ = write!(text, "\n<details><summary>failure</summary>\n{}\n</details>\n", markdown::lines(&failure_text));
    }
    if let Some(command) = entry.command {
        let _ = write!(text, "\nreproduce: {}\n", code(command));
    }
    text.push('\n');
    text
}

/// One entry of GitLab's code quality report.
#[derive(Serialize)]
struct GitlabIssue<'a> {
    description: String,
    check_name: &'static str,
    fingerprint: String,
    severity: &'static str,
    location: GitlabLocation<'a>,
}

#[derive(Serialize)]
struct GitlabLocation<'a> {
    path: Cow<'a, str>,
    lines: GitlabLines,
}

#[derive(Serialize)]
struct GitlabLines {
    begin: u32,
}

/// Writes GitLab's code quality report, which annotates the lines of a change.
pub fn code_quality(run: &RunReport, out: &mut dyn Write) -> io::Result<()> {
    let findings = findings(run);
    let issue = |entry: &CiFinding| -> Option<GitlabIssue> {
        let (check_name, severity) = match entry.importance {
            Importance::Real => ("unflake.real", "major"),
            Importance::Flaky => ("unflake.flaky", "minor"),
            Importance::Quarantined => ("unflake.quarantine", "info"),
        };
        let failure = entry.failure.and_then(|attempt| attempt.failure.as_ref());
        let of_failure = failure.map_or_else(|| Fingerprint(String::new()), |failure| failure.fingerprint());
        let failure_text = entry.message();
        let separator = if failure_text.is_empty() { "" } else { ": " };
        Some(GitlabIssue {
            description: format!(
                "{} {}{separator}{failure_text}",
                one_line(entry.test.as_str()),
                one_line(entry.sentence)
            ),
            check_name,
            fingerprint: format!("{check_name}-{}-{of_failure}", entry.test),
            severity,
            location: GitlabLocation {
                path: Cow::Owned(entry.file?.to_owned()),
                lines: GitlabLines { begin: entry.line.unwrap_or(1) },
            },
        })
    };
    let issues: Vec<GitlabIssue> = findings.iter().filter_map(issue).collect();
    serde_json::to_writer_pretty(&mut *out, &issues)?;
    writeln!(out)
}
