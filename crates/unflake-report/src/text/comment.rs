//! The review comment on a change that touches code of flaky tests.

use std::fmt::Write as _;
use std::io::{self, Write};

use jiff::tz::TimeZone;

use crate::divergence_text;
use crate::next_step::next_command;
use crate::terminal::score::percent;
use crate::test_summary;
use crate::text::format;
use crate::text::markdown::{code, html_text, inline};
use crate::{FlakyTest, KnownFinding};

/// The first line of the comment, by which CI finds it to replace it.
pub const COMMENT: &str = "<!-- unflake:comment -->";
/// Tests shown; GitHub accepts 65,536 characters.
const MAX_TESTS: usize = 20;
const MAX_BYTES: usize = 60_000;
/// Files named per test that it shares with the change.
const FILES: usize = 5;

/// Writes the comment. Writes nothing without tests.
pub fn comment(tests: &[FlakyTest], base: &str, out: &mut dyn Write) -> io::Result<()> {
    if tests.is_empty() {
        return Ok(());
    }
    let noun = if tests.len() == 1 { "flaky test runs" } else { "flaky tests run" };
    let mut text = format!("{COMMENT}\n### ≈ {} {noun} through code that this change touches\n\n", tests.len());
    text.push_str(
        "They also fail without any change. If one fails here, `unflake run` classifies the failure as real or flaky. \
         What is known:\n",
    );
    let mut shown = 0;
    for test in tests.iter().take(MAX_TESTS) {
        let section = section(test);
        if text.len() + section.len() > MAX_BYTES {
            break;
        }
        text.push_str(&section);
        shown += 1;
    }
    if shown < tests.len() {
        let _ = write!(text, "\nand {} more: `unflake history score` lists them.\n", tests.len() - shown);
    }
    let _ = write!(text, "\n<sub>against {}</sub>\n", inline(base));
    out.write_all(text.as_bytes())
}

fn section(test: &FlakyTest) -> String {
    let score = test.row.as_ref().map(|row| format!("{} ", percent(row.probability))).unwrap_or_default();
    let mut text = format!("\n#### {score}{}\n\n", code(test.test.as_str()));
    if let Some(row) = &test.row {
        let _ = writeln!(text, "- {}", inline(&row.sentence()));
        if let Some(since) = &row.since {
            let _ = writeln!(text, "- {} (in UTC)", inline(&since.sentence(&TimeZone::UTC)));
        }
    }
    let touched: Vec<String> = (test.touched.iter().take(FILES))
        .map(|touch| {
            let functions: Vec<String> = touch.functions.iter().take(FILES).map(|name| code(name)).collect();
            let of = if functions.is_empty() { String::new() } else { format!(" ({})", functions.join(", ")) };
            format!("{}{of} {}", code(&touch.path), inline(&touch.how))
        })
        .collect();
    if !touched.is_empty() {
        let more = match test.touched.len().saturating_sub(FILES) {
            0 => String::new(),
            more => format!(", and {} more", format::count(more, "file")),
        };
        let _ = writeln!(text, "- changed code: {}{more}", touched.join(", "));
    }
    match test.best() {
        Some(known) => cause(&mut text, known),
        None => nothing_known(&mut text, test),
    }
    if let Some(row) = test.row.as_ref().filter(|row| !row.owner.is_empty()) {
        let _ = writeln!(text, "- owner: {}", code(&row.owner));
    }
    for known in test.findings.iter().skip(usize::from(test.best().is_some())) {
        other_finding(&mut text, known);
    }
    text
}

fn cause(text: &mut String, known: &KnownFinding) {
    let finding = &known.finding;
    let _ = writeln!(
        text,
        "- **it {}** ({})",
        inline(&divergence_text::finding_sentence(finding)),
        inline(&known.date_and_commit())
    );
    if let Some(divergence) = known.divergence() {
        let _ = writeln!(text, "- kind: {}", divergence_text::cause_name(divergence.kind));
        let _ = writeln!(text, "- fix: {}", divergence_text::advice(divergence));
    }
    if let Some(command) = finding.command() {
        let _ = writeln!(text, "- reproduce: {}", code(command));
    }
    if let Some(page) = &known.page {
        let _ = writeln!(text, "- full report: {}", code(page));
    }
    let id = format::short(&finding.id()).to_owned();
    let _ = writeln!(text, "- not useful? `unflake report feedback {id} not-useful`");
}

fn nothing_known(text: &mut String, test: &FlakyTest) {
    if let Some((when, meaning)) = &test.not_reproduced {
        let _ = writeln!(text, "- not reproduced on {}: {}", test_summary::day(*when), inline(meaning));
        return;
    }
    if let Some(next) = next_command(&test.symptoms()) {
        let _ = writeln!(text, "- cause unknown, next: {} ({})", code(&next.command), next.purpose);
    }
}

/// Findings after the useful one.
fn other_finding(text: &mut String, known: &KnownFinding) {
    let sentence = inline(&divergence_text::finding_sentence(&known.finding));
    match &known.feedback {
        Some(feedback) => {
            let label = html_text(&format::feedback_text(feedback));
            let _ = write!(text, "\n<details><summary>{label}</summary>\n\nit {sentence}\n\n</details>\n");
        }
        None => {
            let _ = writeln!(text, "- also: {sentence} ({})", inline(&known.date_and_commit()));
        }
    }
}
