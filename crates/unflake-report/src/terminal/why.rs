//! Terminal report for `unflake why`: one root cause, its proof, and commands that show it.

use std::io::{self, Write};

use unflake_model::{
    Cause, Cell, Confidence, Detail, Divergence, Failure, Finding, ForcedValue, Influence, Leak, LeakKind, Nio,
    NioKind, OrderDependence, OrderKind, Repeats, RestoreCounts, TestId, Verdict,
};

use crate::divergence_text::{self, finding_sentence};
use crate::fix::fix;
use crate::terminal::excerpt::Sources;
use crate::terminal::writer::{TermWriter, Tone};
use crate::terminal::{locate, summary};
use crate::text::format;
use crate::{RunReport, TerminalStyle, one_line};

/// A diagnosis and what its report needs.
pub struct WhyReport<'a> {
    /// The best one first.
    pub findings: &'a [Finding],
    /// Lines of a project file by its path relative to the root. None where it does not exist.
    pub sources: Sources<'a>,
    /// What was tried, in this order.
    pub steps: &'a [WhyStep],
    /// What was not tried because the budget ended.
    pub untried: &'a [&'static str],
    /// The steps that the budget ended.
    pub cut_short: &'a [&'static str],
    /// How the test failed and how often, the most frequent first.
    pub ways: &'a [(Failure, u32)],
    /// Failures and runs of the test alone.
    pub alone: (u32, u32),
    /// Failures and runs of the test, however it ran.
    pub ever: (u32, u32),
    pub seconds: f64,
    /// Path of the HTML report on the located line.
    pub page: Option<&'a str>,
}

/// A technique that was tried.
#[derive(Clone, Copy, Debug)]
pub struct WhyStep {
    pub name: &'static str,
    pub executions: u32,
}

/// Other findings that are shown, and ways to fail where there is no finding.
const ALSO: usize = 3;
/// Cells that are shown.
const CELLS: usize = 8;
const WAYS: usize = 3;

/// Writes one diagnosis. `quiet` leaves out everything but the root cause and its commands.
pub fn why(report: &WhyReport, style: &TerminalStyle, quiet: bool, out: &mut dyn Write) -> io::Result<()> {
    let term = &mut TermWriter::new(*style, out);
    match report.findings.first().filter(|finding| finding.confidence().is_some()) {
        Some(root) => found(term, report, root, quiet)?,
        None => not_found(term, report)?,
    }
    let exhausted = "(budget exhausted; --for gives more time)";
    if !report.cut_short.is_empty() {
        term.labelled_prose(2, "cut short", &format!("{} {exhausted}", report.cut_short.join(", ")))?;
    }
    if !report.untried.is_empty() {
        term.labelled_prose(2, "not tried", &format!("{} {exhausted}", report.untried.join(", ")))?;
    }
    term.blank()?;
    counts(term, report)
}

/// Writes the diagnoses of several tests, one line of cause and one command each.
pub fn diagnoses(run: &RunReport, style: &TerminalStyle, out: &mut dyn Write) -> io::Result<()> {
    let term = &mut TermWriter::new(*style, out);
    term.prose(0, Tone::Bold, &format!("{}, {}", run.exit.meaning, format::duration(run.totals.seconds)))?;
    let mut shown: Vec<&TestId> = Vec::new();
    for finding in run.findings {
        if shown.contains(&&finding.test) {
            continue;
        }
        shown.push(&finding.test);
        term.blank()?;
        term.line(&[(Tone::Bold, &one_line(finding.test.as_str()))])?;
        term.prose(2, Tone::Usual, &one_line(&headline(finding, run.findings)))?;
        summary::reproduce(term, 2, finding)?;
    }
    Ok(())
}

fn found(term: &mut TermWriter, report: &WhyReport, root: &Finding, quiet: bool) -> io::Result<()> {
    match &root.detail {
        Detail::Divergence(divergence) => {
            locate::headline(term, root, divergence)?;
            match quiet {
                true => term.blank()?,
                false => locate::source(term, divergence, report.sources)?,
            }
        }
        _ => {
            term.prose(0, Tone::Bold, &one_line(&headline(root, report.findings)))?;
            term.blank()?;
        }
    }
    for (label, text) in evidence(root, report.findings) {
        term.labelled_prose(2, label, &one_line(&text))?;
    }
    let others = report.findings.iter().filter(|other| *other != root && !is_part_of(other, root));
    // A factor names no line; where its worlds part, a line does.
    let is_line = |other: &&&Finding| matches!((&root.detail, &other.detail), (Detail::Factor(_), Detail::Divergence(line)) if !line.locations.is_empty());
    let others: Vec<&Finding> = others.take(ALSO).filter(|_| !quiet).collect();
    for other in others.iter().filter(is_line) {
        term.labelled_prose(2, "line", &one_line(&finding_sentence(other)))?;
        if let Detail::Divergence(line) = &other.detail
            && line.kind != Cause::Unknown
        {
            term.labelled_prose(
                2,
                "kind",
                &one_line(&format!("{}: {}", divergence_text::cause_name(line.kind), line.because)),
            )?;
        }
    }
    for (at, other) in others.iter().filter(|other| !is_line(other)).enumerate() {
        term.labelled_prose(2, if at == 0 { "also" } else { "" }, &one_line(&finding_sentence(other)))?;
    }
    let shown = reproduced(root, report.findings);
    summary::reproduce(term, 2, shown)?;
    if shown != root {
        summary::commands(term, 2, "force", root)?;
    }
    match fix(root).filter(|_| !quiet) {
        Some(fix) => term.labelled_prose(2, "fix", &one_line(&fix)),
        None => Ok(()),
    }
}

/// `Root cause (proven): test_warmup leaves shop.cache behind.`
fn headline(root: &Finding, all: &[Finding]) -> String {
    let confidence = root.confidence().map_or("unknown", Confidence::word);
    let cause = match &root.detail {
        Detail::State(leak) => state_cause(root, leak, all),
        Detail::Divergence(_) => finding_sentence(root).into_owned(),
        // The headline has the confidence already.
        _ => root.sentence.strip_prefix("possible: ").unwrap_or(&root.sentence).to_owned(),
    };
    format!("Root cause ({confidence}): {cause}.")
}

fn state_cause(root: &Finding, leak: &Leak, all: &[Finding]) -> String {
    let cells = match &leak.cells[..] {
        [] => "state".to_owned(),
        [one] => one.path.clone(),
        [one, two] => format!("{} and {}", one.path, two.path),
        [one, rest @ ..] => format!("{} and {} more", one.path, rest.len()),
    };
    let by = leak.after.last().map_or("another test", |test| short_name(test));
    match () {
        () if needs_state(root, all) => format!("it needs {cells}, which {by} sets and it does not"),
        () if leak.after.iter().all(|test| *test == root.test) => format!("it leaves {cells} behind for its next run"),
        () => format!("{by} leaves {cells} behind"),
    }
}

/// Whether the test fails without the state.
fn needs_state(root: &Finding, all: &[Finding]) -> bool {
    let is_brittle = |finding: &Finding| {
        finding.test == root.test && matches!(&finding.detail, Detail::Order(order) if order.kind == OrderKind::Brittle)
    };
    all.iter().any(is_brittle)
}

fn is_nio(finding: &Finding) -> bool {
    matches!(&finding.detail, Detail::Nio(nio) if nio.kind == NioKind::Nio)
}

/// The last part of a test's name.
fn short_name(test: &TestId) -> &str {
    let name = test.as_str();
    let end = name.find('[').unwrap_or(name.len());
    let from = name[..end].rfind(['#', ':', ' ']).map_or(0, |at| at + 1);
    &name[from..]
}

/// Whether a finding says less about the same cause.
fn is_part_of(other: &Finding, root: &Finding) -> bool {
    other.test == root.test
        && matches!(root.detail, Detail::State(_) | Detail::Order(_) | Detail::Nio(_))
        && matches!(other.detail, Detail::Order(_) | Detail::Nio(_) | Detail::State(_))
}

/// The finding whose commands show the root cause best: a line has no command of its own, and a seed
/// makes it run every time.
fn reproduced<'a>(root: &'a Finding, all: &'a [Finding]) -> &'a Finding {
    let has_world = |finding: &&Finding| matches!(&finding.detail, Detail::Factor(influence) if influence.confidence == Confidence::Proven);
    match &root.detail {
        Detail::Divergence(Divergence { proof: Some(proof), .. })
            if [ForcedValue::WAIT, ForcedValue::SPEED, ForcedValue::DELAY].contains(&&*proof.name) =>
        {
            root
        }
        Detail::Divergence(_) => all.iter().find(has_world).unwrap_or(root),
        // The order shows it in the plain runner.
        Detail::State(_) if root.reproduce.is_empty() => {
            all.iter().find(|finding| matches!(finding.detail, Detail::Order(_) | Detail::Nio(_))).unwrap_or(root)
        }
        _ => root,
    }
}

/// Labelled lines: who does it, and the proof.
fn evidence(root: &Finding, all: &[Finding]) -> Vec<(&'static str, String)> {
    match &root.detail {
        Detail::State(leak) => of_state(root, leak, all),
        Detail::Order(order) => of_order(order),
        Detail::Nio(nio) => of_nio(nio),
        Detail::Factor(influence) => of_factor(influence),
        Detail::Divergence(divergence) => of_divergence(divergence),
        Detail::Verdict(verdict) => of_company(verdict),
        Detail::Intersect(_) | Detail::Layer(_) | Detail::Filter(_) => Vec::new(),
    }
}

fn of_state(root: &Finding, leak: &Leak, all: &[Finding]) -> Vec<(&'static str, String)> {
    let needs = needs_state(root, all);
    let mut lines = Vec::new();
    // The only cell is what the last polluter writes; of several cells each has its own line.
    let only = match &leak.cells[..] {
        [cell] => cell.written.as_ref(),
        _ => None,
    };
    let others: Vec<&TestId> = leak.after.iter().filter(|test| **test != root.test).collect();
    for (at, test) in others.iter().enumerate() {
        let written = only.filter(|_| at + 1 == others.len());
        let written = written.map(|site| format!(", writes it at {}:{}", site.file, site.line)).unwrap_or_default();
        lines.push((if needs { "setter" } else { "polluter" }, format!("{test}{written}")));
    }
    let with_line = only.is_none() || others.is_empty();
    lines.extend(leak.cells.iter().take(CELLS).map(|cell| ("state", cell_change(cell, with_line))));
    if let Some(hidden) = leak.cells.len().checked_sub(CELLS).filter(|hidden| *hidden > 0) {
        lines.push(("", format!("and {hidden} more (--json has all)")));
    }
    if !others.is_empty() && all.iter().any(|one| one.test == root.test && is_nio(one)) {
        lines.push(("also", "it leaves state behind for its own next run, too".to_owned()));
    }
    if leak.kind == LeakKind::Proven
        && let Some(RestoreCounts { changed, restored, stayed, kept, sufficed, alone }) = leak.evidence
    {
        let (with, without) = if needs { ("passes", "fails") } else { ("fails", "passes") };
        let restored = format!("restored: {without} {changed} of {restored}");
        lines.push(("proof", format!("{restored}; as it was left: {with} {stayed} of {kept}")));
        if alone > 0 {
            lines.push(("", format!("with no other state left: {with} {sufficed} of {alone}")));
        }
    }
    lines
}

fn cell_change(cell: &Cell, with_line: bool) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "absent".to_owned());
    let written = cell.written.as_ref().filter(|_| with_line);
    let written = written.map(|site| format!(", written at {}:{}", site.file, site.line)).unwrap_or_default();
    format!("{}: {} → {}{written}", cell.path, value(&cell.before), value(&cell.after))
}

fn of_order(order: &OrderDependence) -> Vec<(&'static str, String)> {
    let Repeats { seen, tried, alone_passed, alone_tried } = order.evidence;
    let (label, after, alone) = match order.kind {
        OrderKind::Victim => ("polluter", "fails", format!("passes {alone_passed} of {alone_tried}")),
        OrderKind::Brittle => ("setter", "passes", format!("fails {} of {alone_tried}", alone_tried - alone_passed)),
    };
    let culprits = order.culprits.first().into_iter().flatten();
    let mut lines: Vec<(&'static str, String)> = culprits.map(|test| (label, test.to_string())).collect();
    lines.push(("proof", format!("after it: {after} {seen} of {tried}; alone: {alone}")));
    lines
}

fn of_nio(nio: &Nio) -> Vec<(&'static str, String)> {
    let Repeats { seen, tried, alone_passed, alone_tried } = nio.evidence;
    let twice = format!("twice in one process: {seen} of {tried}");
    vec![("proof", format!("{twice}; alone: passes {alone_passed} of {alone_tried}"))]
}

fn of_factor(influence: &Influence) -> Vec<(&'static str, String)> {
    let Influence { rate, baseline, .. } = influence;
    let there = format!("fails {} of {} runs", rate.seen, rate.of);
    vec![("proof", format!("with it: {there}; without it: fails {} of {}", baseline.seen, baseline.of))]
}

fn of_company(verdict: &Verdict) -> Vec<(&'static str, String)> {
    verdict.evidence.beside.iter().map(|test| ("companion", test.to_string())).collect()
}

fn of_divergence(divergence: &Divergence) -> Vec<(&'static str, String)> {
    divergence.proof.iter().map(|proof| ("proof", divergence_text::proof_text(proof))).collect()
}

fn not_found(term: &mut TermWriter, report: &WhyReport) -> io::Result<()> {
    let (failed, runs) = report.alone;
    let outcome = match (failed, runs) {
        (_, 0) => "the test did not run".to_owned(),
        (0, _) if report.ever.0 > 0 => {
            let (failed, ever) = report.ever;
            format!("it passed {runs} of {runs} times alone, and failed {failed} of {ever} times in all")
        }
        (0, _) if !report.untried.is_empty() || !report.cut_short.is_empty() => {
            let all = report.ever.1;
            format!(
                "it passed {runs} of {runs} times alone and never failed in {all} runs, then the budget was exhausted"
            )
        }
        (0, _) => format!("it passed {runs} of {runs} times alone, and nothing made it fail"),
        (failed, runs) => format!("it failed {failed} of {runs} times alone"),
    };
    term.prose(0, Tone::Bold, &format!("Root cause not found: {outcome}."))?;
    let all: u32 = report.ways.iter().map(|(_, times)| times).sum();
    for (at, (failure, times)) in report.ways.iter().take(WAYS).enumerate() {
        let label = if at == 0 { "failure" } else { "" };
        term.labelled_prose(2, label, &format!("{} ({times} of {all} failures)", one_line(&way(failure))))?;
    }
    Ok(())
}

/// `test_a.py:40: AssertionError: assert 3 < 2`
fn way(failure: &Failure) -> String {
    let place = match (&failure.file, failure.line) {
        (Some(file), Some(line)) => format!("{file}:{line}: "),
        _ => String::new(),
    };
    let message = failure.message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let kind = if message.starts_with(&failure.kind) { String::new() } else { format!("{}: ", failure.kind) };
    format!("{place}{kind}{message}")
}

/// `41 executions (retries 6, order 35), 9.0 s, full report: …`
fn counts(term: &mut TermWriter, report: &WhyReport) -> io::Result<()> {
    let executions: u32 = report.steps.iter().map(|step| step.executions).sum();
    let steps: Vec<String> = report.steps.iter().map(|step| format!("{} {}", step.name, step.executions)).collect();
    let mut counts = vec![format!("{} ({})", format::count(executions as usize, "execution"), steps.join(", "))];
    counts.push(format::duration(report.seconds));
    counts.extend(report.findings.first().map(|finding| format!("finding {}", format::short(&finding.id()))));
    counts.extend(report.page.map(|path| format!("full report: {}", one_line(path))));
    term.prose(0, Tone::Usual, &counts.join(", "))
}
