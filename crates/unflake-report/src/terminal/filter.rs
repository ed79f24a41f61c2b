//! Output of the assertion filter: failures excused in a run, assertions that vary without a
//! change, and the recommended threshold.

use std::io::{self, Write};

use unflake_model::{Assertion, Detail, FilterKind, Filtered, Finding, TestId};

use crate::terminal::summary::{end, notes};
use crate::terminal::writer::{Page, Tone};
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
pub type AssertionRank = (f64, Option<f64>, Option<f64>);

/// A recommended threshold with its evidence.
pub struct TuneReport {
    pub threshold: f64,
    pub removed: f64,
    pub kept: f64,
    pub balance: Option<(f64, f64)>,
    pub curve: Vec<AssertionRank>,
    pub bugs: u32,
    pub updates: u32,
    pub flaky: u32,
    pub varied: u32,
    /// Labels of assertions that were never observed.
    pub unknown: u32,
    pub may_lose: f64,
}

pub(crate) fn of(finding: &Finding) -> Option<&Filtered> {
    match &finding.detail {
        Detail::Filter(filtered) => Some(filtered),
        _ => None,
    }
}

/// How many failures were excused.
pub(crate) fn let_go_in(run: &RunReport) -> usize {
    run.findings.iter().filter(|finding| of(finding).is_some_and(|one| one.kind == FilterKind::Flaky)).count()
}

/// Lists the excused failures of a run. Never omitted: nothing else shows these failures.
pub(crate) fn let_go(page: &mut Page, run: &RunReport) -> io::Result<()> {
    let of_kind = |finding: &&Finding| of(finding).is_some_and(|filtered| filtered.kind == FilterKind::Flaky);
    let mut first = true;
    for finding in run.findings.iter().filter(of_kind) {
        let Some(filtered) = of(finding) else { continue };
        if std::mem::replace(&mut first, false) {
            page.blank()?;
        }
        page.head(Tone::Odd, "≈", "LET GO", &one_line(finding.test.as_str()))?;
        let indent = page.indent();
        page.prose(indent, Tone::Usual, &one_line(&finding.sentence))?;
        let place = format!("{}:{}", filtered.assertion.spot.file, filtered.line);
        page.prose(indent, Tone::Faint, &one_line(&place))?;
    }
    Ok(())
}

/// Findings about assertions that failed in a test and count.
fn counting<'a>(run: &RunReport<'a>, test: &TestId) -> impl Iterator<Item = (FilterKind, &'a str)> {
    let of_test = run.findings.iter().filter(|finding| finding.test == *test);
    let known = of_test.filter_map(|finding| Some((of(finding)?.kind, finding.sentence.as_str())));
    known.filter(|(kind, _)| *kind != FilterKind::Flaky)
}

pub(crate) fn known_of<'a>(run: &RunReport<'a>, test: &TestId) -> impl Iterator<Item = &'a str> {
    counting(run, test).filter(|(kind, _)| *kind != FilterKind::Unknown).map(|(_, sentence)| sentence)
}

/// The most urgent kind of finding about a test.
pub(crate) fn first_of(run: &RunReport, test: &TestId) -> FilterKind {
    counting(run, test).map(|(kind, _)| kind).min().unwrap_or(FilterKind::Unknown)
}

/// Writes the result of `unflake filter learn`.
pub fn filter_learned(
    run: &RunReport,
    learned: &LearnedFilter,
    look: &TerminalStyle,
    quiet: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let page = &mut Page::new(*look, out);
    let separator = look.sign(" · ").trim_end();
    let counts = [
        format::count(run.tests.len(), "test"),
        format::count(learned.runs as usize, "run"),
        format::count(learned.assertions, "assertion"),
        format::duration(run.totals.seconds),
    ];
    let last = counts.len() - 1;
    let counts: Vec<String> =
        counts.into_iter().enumerate().map(|(at, count)| if at < last { count + separator } else { count }).collect();
    page.words(2, Tone::Bold, counts.iter().map(String::as_str))?;
    for problem in run.problems {
        page.head(Tone::Bad, "✗", "ERROR", &one_line(format::problem_in_words(problem.kind)))?;
        page.prose(page.indent(), Tone::Usual, &one_line(&problem.text))?;
    }
    let (in_filter, others): (Vec<&VaryingAssertion>, Vec<&VaryingAssertion>) =
        learned.varying.iter().partition(|one| one.in_filter);
    for one in &in_filter {
        page.blank()?;
        varies(page, one)?;
    }
    if let (Some(file), false) = (learned.file, in_filter.is_empty()) {
        page.blank()?;
        let until = learned.expires.as_ref().map(|date| format!(" until {date}")).unwrap_or_default();
        let what = format::count(in_filter.len(), "assertion");
        page.prose(
            2,
            Tone::Usual,
            &format!("{what} in {}{until}: review it and keep it with your code", one_line(file)),
        )?;
        page.prose(
            2,
            Tone::Usual,
            &format!("{} unflake run --filter   lets them fail, and lists each that did", look.sign("→")),
        )?;
    }
    if !quiet && !others.is_empty() {
        page.blank()?;
        let what = format!(
            "{} saw different values but never both held and failed: not let fail, nothing to do",
            format::count(others.len(), "more assertion")
        );
        page.prose(2, Tone::Faint, &what)?;
    }
    if !quiet {
        notes(page, run.notes)?;
    }
    end(page, run, quiet)
}

fn varies(page: &mut Page, one: &VaryingAssertion) -> io::Result<()> {
    page.head(Tone::Odd, "≈", "VARIES", &one_line(one.assertion.test.as_str()))?;
    let indent = page.indent();
    let how = format!("score {:.2} · failed {} of {}", one.score, one.failed, one.runs);
    let how = how.replace(" · ", page.look.sign(" · "));
    page.beside(indent, (Tone::Usual, &one_line(&one.assertion.spot.expression)), (Tone::Faint, &how))?;
    let values = |text: &str| one_line(&text.lines().collect::<Vec<_>>().join(", ")).into_owned();
    let mut saw: Vec<String> =
        one.saw.iter().take(SHOWN).map(|(text, times)| format!("{} ({times})", values(text))).collect();
    if one.saw.len() > SHOWN {
        saw.push(format!("{} more", one.saw.len() - SHOWN));
    }
    page.prose(indent, Tone::Usual, &format!("saw {}", saw.join("; ")))
}

/// Writes how the known assertions vary.
pub fn filter_ranks(ranks: &AssertionRanks, look: &TerminalStyle, out: &mut dyn Write) -> io::Result<()> {
    let page = &mut Page::new(*look, out);
    if ranks.assertions == 0 {
        page.prose(2, Tone::Usual, "nothing is known of assertions yet")?;
        return page.prose(2, Tone::Usual, &format!("{} unflake filter learn   looks at them", look.sign("→")));
    }
    let what = format!("{} looked at, {} vary", format::count(ranks.assertions, "assertion"), ranks.varying.len());
    page.prose(2, Tone::Bold, &what)?;
    for one in ranks.varying {
        page.blank()?;
        varies(page, one)?;
        let standing = match (one.in_filter, one.failed) {
            (true, _) => "in the filter",
            (false, 0) => "always held: not let fail",
            (false, _) => "not in the filter",
        };
        let over = format::count(one.versions, "version");
        page.prose(page.indent(), Tone::Faint, &format!("{standing}; looked at on {over}"))?;
    }
    let rank = |page: &mut Page, title: &str, rows: Vec<(String, f64)>| -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        page.blank()?;
        page.prose(2, Tone::Bold, title)?;
        rows.iter().try_for_each(|(name, score)| page.prose(2, Tone::Usual, &format!("{score:.2}  {name}")))
    };
    let objects = ranks
        .objects
        .iter()
        .map(|((object, place), score)| (format!("{} ({})", one_line(object), one_line(place)), *score));
    rank(page, "what they look at", objects.collect())?;
    rank(page, "their tests", ranks.tests.iter().map(|(test, score)| (quote(test.as_str()), *score)).collect())
}

/// Writes the recommended threshold and its evidence.
pub fn tuned(tuned: &TuneReport, look: &TerminalStyle, out: &mut dyn Write) -> io::Result<()> {
    let page = &mut Page::new(*look, out);
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let head = format!("threshold {:.2}", tuned.threshold);
    page.prose(2, Tone::Bold, &head)?;
    let (removed, varied) = (percent(tuned.removed), tuned.varied);
    let what =
        format!("lets {removed} of {varied} varying assertions fail, and none whose failure was marked true or update");
    page.prose(2, Tone::Usual, &what)?;
    page.prose(2, Tone::Usual, &rests_on(tuned))?;
    if let Some((threshold, share)) = tuned.balance {
        let what = format!("both curves meet at {threshold:.2}: {} taken out, as many kept", percent(share));
        page.prose(2, Tone::Faint, &what)?;
    }
    if tuned.unknown > 0 {
        let what =
            format!("{} of assertions that were never looked at", format::count(tuned.unknown as usize, "label"));
        page.prose(2, Tone::Faint, &format!("{what}: nothing lets them fail"))?;
    }
    page.prose(2, Tone::Usual, &format!("{} unflake filter tune --write   puts it into the filter", look.sign("→")))
}

/// The size of the evidence, as a sentence.
pub(crate) fn rests_on(tuned: &TuneReport) -> String {
    let may_lose = tuned.may_lose * 100.0;
    let lost = match tuned.bugs {
        0 => "no bug is marked, so nothing is known of how many would be lost".to_owned(),
        _ => format!("up to {may_lose:.0} % of bugs may be lost all the same (95 % confidence)"),
    };
    format!("it rests on {} failures marked true, {} update, {} flaky: {lost}", tuned.bugs, tuned.updates, tuned.flaky)
}
