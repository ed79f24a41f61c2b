//! The issue for one cause: a title, then the cause, the evidence, how to reproduce it and what to
//! do.

use std::fmt::Write as _;
use std::io::{self, Write};

use jiff::tz::TimeZone;

use crate::divergence_text::{self, file_and_line};
use crate::next_step::next_command;
use crate::terminal::score::percent;
use crate::test_summary;
use crate::text::format;
use crate::text::markdown::{code, inline, lines, title};
use crate::{FlakyTest, KnownFinding, RecentOutcome, quote};

/// Bytes quoted of a failure, and tests named that share the cause.
const QUOTED: usize = 4000;
const NAMED: usize = 20;

/// Writes the title, an empty line, and the body. `tests` have the cause; the first is the
/// requested one. `owner` owns the file in which it starts.
pub fn issue(tests: &[FlakyTest], owner: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
    let Some((first, others)) = tests.split_first() else { return Ok(()) };
    let mut text = format!("{}\n\n", title(&heading(first)));
    let best = first.best();
    let cause = best.map(|known| known.finding.cause());
    let mark = match cause {
        Some(cause) => format!("cause {}", format::short(&cause)),
        None => format!("test {}", format::short(&first.test.fingerprint())),
    };
    let _ = writeln!(text, "<!-- unflake:issue {mark} -->");
    what_happened(&mut text, first);
    if !others.is_empty() {
        let _ = write!(text, "\n## Other tests with this cause\n\n");
        for test in others.iter().take(NAMED) {
            let score = test.row.as_ref().map(|row| format!(" ({})", percent(row.probability))).unwrap_or_default();
            let _ = writeln!(text, "- {}{score}", code(test.test.as_str()));
        }
        if others.len() > NAMED {
            let _ = writeln!(text, "- and {} more", others.len() - NAMED);
        }
    }
    match best {
        Some(known) => evidence(&mut text, known),
        None => nothing_known(&mut text, first),
    }
    for known in first.findings.iter().skip(usize::from(best.is_some())) {
        let note = known.feedback.as_ref().map(|feedback| format!("; {}", inline(&format::feedback_text(feedback))));
        let sentence = inline(&divergence_text::finding_sentence(&known.finding));
        let _ =
            write!(text, "\nAlso: it {sentence} ({}{})\n", inline(&known.date_and_commit()), note.unwrap_or_default());
    }
    how_to_reproduce(&mut text, first, best);
    owners(&mut text, first, owner);
    if !first.failure.is_empty() {
        let note: String = first.failure.chars().take(QUOTED).collect();
        let _ = write!(text, "\n<details><summary>message</summary>\n{}\n</details>\n", lines(note.trim()));
    }
    out.write_all(text.as_bytes())
}

/// The title: the short test name and the cause.
fn heading(test: &FlakyTest) -> String {
    let name = test.test.as_str();
    let name = name.rsplit("::").next().filter(|name| !name.is_empty()).unwrap_or(name);
    match test.best() {
        Some(known) => match known.divergence().and_then(|one| Some((one, one.locations.first()?))) {
            Some((divergence, start)) => {
                let cause = divergence_text::cause_name(divergence.kind);
                format!("{name} is flaky: {cause} at {}", file_and_line(&start.line))
            }
            None => format!("{name} is flaky: {}", divergence_text::finding_sentence(&known.finding)),
        },
        None => format!("{name} is flaky: cause unknown"),
    }
}

fn what_happened(text: &mut String, test: &FlakyTest) {
    let _ = write!(text, "\n{}", code(test.test.as_str()));
    match &test.row {
        Some(row) => {
            let _ = writeln!(text, " {}.", inline(&row.sentence()));
            if let Some(since) = &row.since {
                let _ = writeln!(text, "It is {} (in UTC).", inline(&since.sentence(&TimeZone::UTC)));
            }
            let sign = |one: &RecentOutcome| match one {
                RecentOutcome::Passed => '·',
                RecentOutcome::Flaked => '≈',
                RecentOutcome::Failed => '✗',
            };
            if !row.strip.is_empty() {
                let strip: String = row.strip.iter().map(sign).collect();
                let _ =
                    write!(text, "\nLatest runs, the newest last (✗ failed, ≈ failed and passed): {}\n", code(&strip));
            }
        }
        None => text.push_str(" is in no recorded run yet.\n"),
    }
}

fn evidence(text: &mut String, known: &KnownFinding) {
    let _ = write!(text, "\n## Why\n\nIt {}.\n", inline(&divergence_text::finding_sentence(&known.finding)));
    let _ = writeln!(text, "This was {}.", inline(&known.date_and_commit()));
    let Some(divergence) = known.divergence() else { return };
    if let Some(start) = divergence.locations.first() {
        let separated = divergence_text::separated_runs(start, divergence);
        let _ = writeln!(text, "Evidence: {separated}.");
    }
    let because = if divergence.because.is_empty() { "" } else { ", because " };
    let _ = writeln!(
        text,
        "\nKind: {}{because}{}.",
        divergence_text::cause_name(divergence.kind),
        inline(&divergence.because)
    );
    if let Some(shows) = &divergence.shows {
        let _ = writeln!(text, "The failure is raised at {}.", code(&file_and_line(shows)));
    }
    for unknown in &divergence.unknown {
        let _ = writeln!(text, "Limit: {}.", inline(unknown));
    }
    let _ = write!(text, "\n## Fix\n\n{}\n", divergence_text::advice(divergence));
}

fn nothing_known(text: &mut String, test: &FlakyTest) {
    text.push_str("\n## Why\n\n");
    match &test.not_reproduced {
        Some((when, meaning)) => {
            let _ = writeln!(text, "Unknown: not reproduced on {}: {}.", test_summary::day(*when), inline(meaning));
        }
        None if test.findings.is_empty() => text.push_str("Unknown: not diagnosed yet.\n"),
        None => text.push_str("Unknown: the findings so far were marked as not useful.\n"),
    }
}

fn how_to_reproduce(text: &mut String, test: &FlakyTest, best: Option<&KnownFinding>) {
    text.push_str("\n## Reproduce\n\n");
    if let Some(command) = best.and_then(|known| known.finding.command()) {
        let _ = writeln!(text, "- {}", code(command));
    }
    if let Some(next) = next_command(&test.symptoms()).filter(|_| best.is_none()) {
        let _ = writeln!(text, "- {} ({})", code(&next.command), next.purpose);
    }
    let name = quote(test.test.as_str());
    let _ = writeln!(text, "- {} lists its runs", code(&format!("unflake history show {name}")));
    if let Some(page) = best.and_then(|known| known.page.as_deref()) {
        let _ = writeln!(text, "- full report: {}", code(page));
    }
    if let Some(known) = best {
        let id = format::short(&known.finding.id()).to_owned();
        let _ = writeln!(text, "- not useful? `unflake report feedback {id} not-useful`");
    }
}

fn owners(text: &mut String, test: &FlakyTest, of_file: Option<&str>) {
    let of_test = test.row.as_ref().map(|row| row.owner.as_str()).filter(|owner| !owner.is_empty());
    let of_file = of_file.filter(|owner| !owner.is_empty() && Some(*owner) != of_test);
    let names = match (of_test, of_file) {
        (Some(test), Some(file)) => format!("{}; of the file where it starts: {}", code(test), code(file)),
        (Some(owner), None) | (None, Some(owner)) => code(owner),
        (None, None) => return,
    };
    let _ = write!(text, "\nOwner, by CODEOWNERS: {names}\n");
}
