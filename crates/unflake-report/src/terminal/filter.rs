//! Output of the assertion filter: failures excused in a run, assertions that vary without a
//! change, and the recommended threshold.

use std::io::{self, Write};

use unflake_model::{Assertion, Detail, FilterKind, Filtered, Finding, TestId};

use crate::terminal::summary::{end, notes};
use crate::terminal::writer::{TermWriter, Tone};
use crate::text::format;
use crate::{RunReport, TerminalStyle, one_line, quote};

/// Distinct values shown per assertion.
const SHOWN: usize = 4;

/// An assertion that varies without a change.
#[derive(Clone, Debug)]
pub struct VaryingAssertion {
    pub assertion: Assertion,
    pub score: f64,
    /// Runs of the version on which it varied most.
    pub runs: u32,
    pub failed: u32,
    pub versions: usize,
    /// The observed values with their counts, most frequent first.
    pub saw: Vec<(String, u32)>,
    pub in_filter: bool,
}

/// Result of `unflake filter learn`.
pub struct LearnedFilter<'a> {
    pub runs: u32,
    pub assertions: usize,
    pub varying: &'a [VaryingAssertion],
    /// The file that it was written to.
    pub file: Option<&'a str>,
    pub expires: Option<String>,
}

/// All known assertions, ranked.
pub struct AssertionRanks<'a> {
    pub assertions: usize,
    pub varying: &'a [VaryingAssertion],
    /// Location and name of what varied, with the largest score.
    pub objects: &'a [((String, String), f64)],
    pub tests: &'a [(&'a TestId, f64)],
}

/// A threshold, the share of varying assertions that it excuses, and the share of bug-revealing
/// ones that it keeps.
pub type ThresholdRow = (f64, Option<f64>, Option<f64>);

/// A recommended threshold with its evidence.
pub struct TuneReport {
    pub threshold: f64,
    pub removed: f64,
    pub kept: f64,
    pub balance: Option<(f64, f64)>,
    pub curve: Vec<ThresholdRow>,
    pub bugs: u32,
    pub updates: u32,
    pub flaky: u32,
    pub varied: u32,
    /// Labels of assertions that were never observed.
    pub unknown: u32,
    pub may_lose: f64,
}

pub(crate) fn filter_detail(finding: &Finding) -> Option<&Filtered> {
    match &finding.detail {
        Detail::Filter(filtered) => Some(filtered),
        _ => None,
    }
}

/// How many failures were excused.
pub(crate) fn excused_count(run: &RunReport) -> usize {
    run.findings
        .iter()
        .filter(|finding| filter_detail(finding).is_some_and(|one| one.kind == FilterKind::Flaky))
        .count()
}

/// Lists the excused failures of a run. Never omitted: nothing else shows these failures.
pub(crate) fn show_excused(term: &mut TermWriter, run: &RunReport) -> io::Result<()> {
    let of_kind =
        |finding: &&Finding| filter_detail(finding).is_some_and(|filtered| filtered.kind == FilterKind::Flaky);
    let mut first = true;
    for finding in run.findings.iter().filter(of_kind) {
        let Some(filtered) = filter_detail(finding) else { continue };
        if std::mem::replace(&mut first, false) {
            term.blank()?;
        }
        term.head(Tone::Odd, "EXCUSED", &one_line(finding.test.as_str()))?;
        let indent = term.indent();
        term.prose(indent, Tone::Usual, &one_line(&finding.sentence))?;
        let place = format!("{}:{}", filtered.assertion.spot.file, filtered.line);
        term.prose(indent, Tone::Faint, &one_line(&place))?;
    }
    Ok(())
}

/// Findings about assertions that failed in a test and count.
fn counted_findings<'a>(run: &RunReport<'a>, test: &TestId) -> impl Iterator<Item = (FilterKind, &'a str)> {
    let of_test = run.findings.iter().filter(|finding| finding.test == *test);
    let known = of_test.filter_map(|finding| Some((filter_detail(finding)?.kind, finding.sentence.as_str())));
    known.filter(|(kind, _)| *kind != FilterKind::Flaky)
}

pub(crate) fn filter_sentences<'a>(run: &RunReport<'a>, test: &TestId) -> impl Iterator<Item = &'a str> {
    counted_findings(run, test).filter(|(kind, _)| *kind != FilterKind::Unknown).map(|(_, sentence)| sentence)
}

/// The most urgent kind of finding about a test.
pub(crate) fn most_urgent_kind(run: &RunReport, test: &TestId) -> FilterKind {
    counted_findings(run, test).map(|(kind, _)| kind).min().unwrap_or(FilterKind::Unknown)
}

/// Writes the result of `unflake filter learn`.
pub fn filter_learned(
    run: &RunReport,
    learned: &LearnedFilter,
    style: &TerminalStyle,
    quiet: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let term = &mut TermWriter::new(*style, out);
    let counts = [
        format::count(run.tests.len(), "test"),
        format::count(learned.runs as usize, "run"),
        format::count(learned.assertions, "assertion"),
        format::duration(run.totals.seconds),
    ];
    term.prose(0, Tone::Bold, &counts.join(", "))?;
    for problem in run.problems {
        term.head(Tone::Bad, "ERROR", &one_line(format::problem_text(problem.kind)))?;
        term.prose(term.indent(), Tone::Usual, &one_line(&problem.text))?;
    }
    let (in_filter, others): (Vec<&VaryingAssertion>, Vec<&VaryingAssertion>) =
        learned.varying.iter().partition(|one| one.in_filter);
    for one in &in_filter {
        term.blank()?;
        show_varying(term, one)?;
    }
    if let (Some(file), false) = (learned.file, in_filter.is_empty()) {
        term.blank()?;
        let until = learned.expires.as_ref().map(|date| format!(" until {date}")).unwrap_or_default();
        let what = format::count(in_filter.len(), "assertion");
        term.prose(0, Tone::Usual, &format!("{what} in {}{until}: review and commit the file", one_line(file)))?;
        term.labelled(0, "next", "unflake run --filter", "excuses their failures and lists each")?;
    }
    if !quiet && !others.is_empty() {
        term.blank()?;
        let what = format!(
            "{} saw different values but never both passed and failed: not in the filter",
            format::count(others.len(), "more assertion")
        );
        term.prose(2, Tone::Faint, &what)?;
    }
    if !quiet {
        notes(term, run.notes)?;
    }
    end(term, run, quiet)
}

fn show_varying(term: &mut TermWriter, one: &VaryingAssertion) -> io::Result<()> {
    term.head(Tone::Odd, "VARIES", &one_line(one.assertion.test.as_str()))?;
    let indent = term.indent();
    let how = format!("score {:.2}, failed {} of {} runs", one.score, one.failed, one.runs);
    term.side_by_side(indent, (Tone::Usual, &one_line(&one.assertion.spot.expression)), (Tone::Faint, &how))?;
    let values = |text: &str| one_line(&text.lines().collect::<Vec<_>>().join(", ")).into_owned();
    let mut saw: Vec<String> =
        one.saw.iter().take(SHOWN).map(|(text, times)| format!("{} ({times})", values(text))).collect();
    if one.saw.len() > SHOWN {
        saw.push(format!("{} more", one.saw.len() - SHOWN));
    }
    term.prose(indent, Tone::Usual, &format!("saw {}", saw.join("; ")))
}

/// Writes how the known assertions vary.
pub fn filter_ranks(ranks: &AssertionRanks, style: &TerminalStyle, out: &mut dyn Write) -> io::Result<()> {
    let term = &mut TermWriter::new(*style, out);
    if ranks.assertions == 0 {
        term.prose(0, Tone::Usual, "no assertion samples yet")?;
        return term.labelled(0, "next", "unflake filter learn", "samples them");
    }
    let what = format!("{} sampled, {} vary", format::count(ranks.assertions, "assertion"), ranks.varying.len());
    term.prose(2, Tone::Bold, &what)?;
    for one in ranks.varying {
        term.blank()?;
        show_varying(term, one)?;
        let standing = match (one.in_filter, one.failed) {
            (true, _) => "in the filter",
            (false, 0) => "never failed: not in the filter",
            (false, _) => "not in the filter",
        };
        let over = format::count(one.versions, "version");
        term.prose(term.indent(), Tone::Faint, &format!("{standing}; sampled on {over}"))?;
    }
    let rank = |term: &mut TermWriter, title: &str, rows: Vec<(String, f64)>| -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        term.blank()?;
        term.prose(2, Tone::Bold, title)?;
        rows.iter().try_for_each(|(name, score)| term.prose(2, Tone::Usual, &format!("{score:.2}  {name}")))
    };
    let objects = ranks
        .objects
        .iter()
        .map(|((object, place), score)| (format!("{} ({})", one_line(object), one_line(place)), *score));
    rank(term, "compared values", objects.collect())?;
    rank(term, "tests", ranks.tests.iter().map(|(test, score)| (quote(test.as_str()), *score)).collect())
}

/// Writes the recommended threshold and its evidence.
pub fn tune_report(tuned: &TuneReport, style: &TerminalStyle, out: &mut dyn Write) -> io::Result<()> {
    let term = &mut TermWriter::new(*style, out);
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let head = format!("threshold {:.2}", tuned.threshold);
    term.prose(2, Tone::Bold, &head)?;
    let (removed, varied) = (percent(tuned.removed), tuned.varied);
    let what =
        format!("excuses {removed} of {varied} varying assertions, and none whose failure is labelled true or update");
    term.prose(2, Tone::Usual, &what)?;
    term.prose(2, Tone::Usual, &evidence_sentence(tuned))?;
    if let Some((threshold, share)) = tuned.balance {
        let what = format!("curves cross at {threshold:.2}: {} excused, as many kept", percent(share));
        term.prose(2, Tone::Faint, &what)?;
    }
    if tuned.unknown > 0 {
        let what = format!("{} of assertions without samples", format::count(tuned.unknown as usize, "label"));
        term.prose(2, Tone::Faint, &format!("{what}: never excused"))?;
    }
    term.labelled(0, "next", "unflake filter tune --write", "writes it into the filter")
}

/// The size of the evidence, as a sentence.
pub(crate) fn evidence_sentence(tuned: &TuneReport) -> String {
    let may_lose = tuned.may_lose * 100.0;
    let lost = match tuned.bugs {
        0 => "no bug is labelled, so the loss is unknown".to_owned(),
        _ => format!("up to {may_lose:.0} % of bugs may be lost (95 % confidence)"),
    };
    format!("evidence: {} failures labelled true, {} update, {} flaky; {lost}", tuned.bugs, tuned.updates, tuned.flaky)
}
