//! Terminal report for `unflake measure`: which tests differ between runs and in what, then the
//! numbers.

use std::collections::HashSet;
use std::io::{self, Write};

use unflake_model::{
    ConfigurationMeasure, Detail, Difference, Finding, Layer, LayerDifference, LayerMeasure, Measurement, Rate,
    SuppressedNoise, TestId, Unit,
};

use crate::terminal::summary;
use crate::terminal::writer::{Keep, MAX_COLUMNS, TermWriter, Tone};
use crate::text::sanitize::{keep_start, wrap};
use crate::text::{configuration_table, format};
use crate::{RunReport, TerminalStyle, one_line};

/// Tests shown, and units shown per layer of a test.
const TESTS: usize = 20;
const UNITS: usize = 3;
/// Tests named that have the cause of another.
const NAMED: usize = 5;
/// Column at which the text next to the name of a layer begins.
const LABEL_COLUMNS: usize = 11;
const PROBLEM_LINES: usize = 24;
/// Columns that the table needs.
const TABLE: usize = 96;
/// Columns for an example of normalized noise.
const EXAMPLE: usize = 60;

/// A test whose runs differ.
pub(crate) struct TestDifferences<'a> {
    pub(crate) test: &'a TestId,
    pub(crate) layers: Vec<&'a LayerDifference>,
    pub(crate) reproduce: Option<&'a str>,
    pub(crate) kind: DifferingKind,
}

/// Outcome class of a differing test: passing tests come first, because no run has shown that they differ.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DifferingKind {
    Green,
    Flaky,
    Failing,
}

impl<'a> TestDifferences<'a> {
    pub(crate) fn all(run: &RunReport<'a>) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for finding @ Finding { test, detail, .. } in run.findings {
            let Detail::Layer(layer) = detail else { continue };
            match all.last_mut() {
                Some(last) if last.test == test => last.layers.push(layer),
                _ => all.push(Self {
                    test,
                    layers: vec![layer],
                    reproduce: finding.command(),
                    kind: DifferingKind::Green,
                }),
            }
        }
        let failed = run.attempts.iter().filter(|attempt| attempt.outcome.is_failure());
        let failed: HashSet<&TestId> = failed.map(|attempt| &attempt.test).collect();
        for one in &mut all {
            let fails = failed.contains(one.test);
            one.kind = match one.layers.iter().any(|layer| layer.kind == Layer::Verdict) {
                true => DifferingKind::Flaky,
                false if fails => DifferingKind::Failing,
                false => DifferingKind::Green,
            };
        }
        all.sort_by_key(|one| (one.kind, one.first_actionable_layer().is_none(), one.first_actionable_layer()));
        all
    }

    /// The layer closest to the verdict with a difference that is not a new value in every run.
    fn first_actionable_layer(&self) -> Option<Layer> {
        self.layers.iter().filter(|layer| layer.is_actionable()).map(|layer| layer.kind).min()
    }

    /// What differs at that layer, where it is in the sources: tests with the same have one cause.
    fn cause(&self) -> Option<(DifferingKind, Layer, Vec<&Unit>)> {
        let first = self.first_actionable_layer()?;
        let layer = self.layers.iter().find(|layer| layer.kind == first)?;
        let units: Vec<&Unit> = layer.units.iter().map(|one| &one.unit).collect();
        units.iter().all(|unit| unit.file.is_some()).then_some((self.kind, first, units))
    }

    pub(crate) fn failures(&self) -> Option<Rate> {
        self.layers.iter().find_map(|layer| layer.failures)
    }
}

/// Writes a measurement. `quiet` leaves out the numbers.
pub fn measure(run: &RunReport, style: &TerminalStyle, quiet: bool, out: &mut dyn Write) -> io::Result<()> {
    let term = &mut TermWriter::new(*style, out);
    let differing = TestDifferences::all(run);
    let (counts, separator) = (counts(run, &differing), style.sign(" · ").trim_end());
    let (last, before) = counts.split_last().expect("the time is always counted");
    let counts: Vec<String> = before.iter().map(|count| format!("{count}{separator}")).chain([last.clone()]).collect();
    term.words(2, Tone::Bold, counts.iter().map(String::as_str))?;
    for problem in run.problems {
        term.blank()?;
        term.head(Tone::Bad, "ERROR", format::problem_text(problem.kind))?;
        term.quote(term.indent() + 2, &problem.text, PROBLEM_LINES, Keep::Ends)?;
    }
    let compares = run.measured.is_some_and(|measured| measured.configurations.len() > 1);
    let groups = if compares { Vec::new() } else { by_cause(&differing) };
    for group in groups.iter().take(TESTS) {
        entry(term, group[0])?;
        others(term, &group[1..])?;
    }
    let more: usize = groups.iter().skip(TESTS).map(Vec::len).sum();
    if more > 0 {
        term.blank()?;
        term.cut(2, &format!("{} more", format::count(more, "test")))?;
    }
    if let Some(measured) = run.measured.filter(|_| !quiet) {
        numbers(term, measured)?;
        noise(term, &measured.hidden)?;
        unseen(term, measured)?;
    }
    if !quiet {
        summary::notes(term, run.notes)?;
    }
    summary::end(term, run, quiet)
}

/// Tests with the same cause together, in the order of the first of them.
fn by_cause<'r, 'a>(differing: &'r [TestDifferences<'a>]) -> Vec<Vec<&'r TestDifferences<'a>>> {
    let mut groups: Vec<Vec<&TestDifferences>> = Vec::new();
    for test in differing {
        let cause = test.cause();
        match groups.iter_mut().find(|group| cause.is_some() && group[0].cause() == cause) {
            Some(group) => group.push(test),
            None => groups.push(vec![test]),
        }
    }
    groups
}

/// Names tests with the cause of the one above.
fn others(term: &mut TermWriter, tests: &[&TestDifferences]) -> io::Result<()> {
    if tests.is_empty() {
        return Ok(());
    }
    let named: Vec<String> = tests.iter().take(NAMED).map(|test| one_line(test.test.as_str()).into_owned()).collect();
    let more = match tests.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let indent = term.indent();
    labelled(term, indent, "also in", &format!("{}{more}", named.join(", ")))
}

/// The summary, in a few numbers.
pub(crate) fn counts(run: &RunReport, differing: &[TestDifferences]) -> Vec<String> {
    let of = |kind| differing.iter().filter(|test| test.kind == kind).count();
    let measured = run.measured.map_or(0, |measured| measured.runs as usize);
    let tests = run.measured.and_then(|measured| measured.layers.iter().map(|layer| layer.tests).max());
    let tests = tests.filter(|tests| *tests > 0).map_or(run.tests.len(), |tests| tests as usize);
    let mut counts = vec![format::count(tests, "test"), format::count(measured, "run")];
    counts.push(match of(DifferingKind::Green) {
        0 if differing.is_empty() && measured > 1 => "no differences".to_owned(),
        0 => "no passing test differs".to_owned(),
        1 => "1 passing test differs".to_owned(),
        tests => format!("{tests} passing tests differ"),
    });
    match of(DifferingKind::Flaky) {
        0 => {}
        1 => counts.push("1 flaky".to_owned()),
        tests => counts.push(format!("{tests} flaky")),
    }
    counts.push(format::duration(run.totals.seconds));
    counts
}

fn entry(term: &mut TermWriter, test: &TestDifferences) -> io::Result<()> {
    term.blank()?;
    let name = one_line(test.test.as_str());
    match test.kind {
        DifferingKind::Green => term.head(Tone::Odd, "VARIES", &name)?,
        DifferingKind::Flaky => term.head(Tone::Bad, "FLAKY", &name)?,
        DifferingKind::Failing => term.head(Tone::Bad, "FAILS", &name)?,
    }
    let indent = term.indent();
    if let Some(rate) = test.failures() {
        term.prose(indent, Tone::Usual, &format!("failed in {} of {} runs ({})", rate.seen, rate.of, interval(&rate)))?;
    }
    for layer in test.layers.iter().filter(|layer| layer.kind != Layer::Verdict) {
        let shown = layer.units.iter().take(UNITS);
        for (at, unit) in shown.enumerate() {
            let texts = difference_text(unit, layer);
            labelled(term, indent, if at == 0 { layer.kind.word() } else { "" }, &texts)?;
        }
        let units: u32 = layer.units.iter().take(UNITS).map(units_of).sum();
        let more = layer.spread.range.saturating_sub(units);
        if more > 0 {
            labelled(term, indent, "", &format!("and {more} more {}", if more == 1 { "unit" } else { "units" }))?;
        }
    }
    Ok(())
}

/// How many units a difference stands for.
fn units_of(difference: &Difference) -> u32 {
    difference.unit.line.zip(difference.last).map_or(1, |(first, last)| last - first + 1)
}

pub(crate) fn difference_text(unit: &Difference, layer: &LayerDifference) -> String {
    let (place, words) = (unit.place(), unit.words(layer.kind, layer.spread.runs));
    if place.is_empty() { words } else { format!("{place}  {words}") }
}

/// A rate with its confidence interval.
pub(crate) fn interval(rate: &Rate) -> String {
    format!("95 % CI {:.0}–{:.0} %", rate.low * 100.0, rate.high * 100.0)
}

fn labelled(term: &mut TermWriter, indent: usize, label: &str, text: &str) -> io::Result<()> {
    let text = keep_start(&one_line(text), MAX_COLUMNS, term.style.sign("…")).into_owned();
    let room = term.style.width.saturating_sub(indent + LABEL_COLUMNS).max(20);
    for (at, line) in wrap(text.split(' ').filter(|word| !word.is_empty()), room).iter().enumerate() {
        let label = if at == 0 { label } else { "" };
        let blanks = " ".repeat(indent);
        let label = format!("{label:<LABEL_COLUMNS$}");
        term.line(&[(Tone::Usual, &blanks), (Tone::Faint, &label), (Tone::Usual, line)])?;
    }
    Ok(())
}

pub(crate) const COLUMNS: [&str; 7] =
    ["layer", "suite entropy", "range", "mean test entropy", "range", "tests differ", "false positives"];

/// A row of the table.
pub(crate) fn row(layer: &LayerMeasure) -> [String; 7] {
    let suite = layer.suite.as_ref();
    let unknown = || "-".to_owned();
    let rate = &layer.false_positives;
    [
        layer.layer.word().to_owned(),
        suite.map_or_else(unknown, |suite| format!("{:.2}", suite.entropy)),
        suite.map_or_else(unknown, |suite| suite.range.to_string()),
        format!("{:.2}", layer.entropy),
        format!("{:.2}", layer.range),
        format!("{} of {}", layer.differing, layer.tests),
        rate.share().map_or_else(unknown, |share| format!("{:.1} % of {}", share * 100.0, rate.of)),
    ]
}

/// Configurations as rows, layers as columns.
fn configurations(term: &mut TermWriter, measured: &Measurement) -> io::Result<()> {
    term.blank()?;
    let layers = configuration_table::layers(measured);
    let run = measured.configurations.iter().filter(|one| one.missing.is_none());
    let heads = ["configuration", "runs"].into_iter().chain(layers.iter().map(|layer| layer.word()));
    let cells = |one: &ConfigurationMeasure| {
        let entropies = layers.iter().map(|layer| configuration_table::entropies(one, *layer));
        [one.name.clone(), one.runs.to_string()].into_iter().chain(entropies).collect()
    };
    let rows: Vec<Vec<String>> = [heads.map(str::to_owned).collect()].into_iter().chain(run.map(cells)).collect();
    let wide: Vec<usize> =
        (0..rows[0].len()).map(|at| rows.iter().map(|row| row[at].len()).max().unwrap_or(0)).collect();
    let is_wide = wide.iter().sum::<usize>() + 3 * wide.len() > term.style.width;
    for (number, row) in rows.iter().enumerate() {
        if is_wide && number > 0 {
            let pairs: Vec<String> =
                rows[0].iter().zip(row).skip(1).map(|(head, cell)| format!("{head} {cell}")).collect();
            term.prose(2, Tone::Usual, &format!("{}: {}", row[0], pairs.join(", ")))?;
        } else if !is_wide {
            let padded = row.iter().zip(&wide).enumerate();
            let cells = padded.map(|(at, (cell, wide))| match at {
                0 => format!("{cell:<wide$}"),
                _ => format!("{cell:>wide$}"),
            });
            let tone = if number == 0 { Tone::Faint } else { Tone::Usual };
            term.line(&[(Tone::Usual, "  "), (tone, &cells.collect::<Vec<_>>().join("   "))])?;
        }
    }
    for one in &measured.configurations {
        if let Some(why) = &one.missing {
            term.prose(2, Tone::Usual, &format!("{}: not run: {}", one.name, one_line(why)))?;
        }
    }
    let highest = f64::from(measured.runs.max(1)).ln();
    let legend = format!(
        "entropy of the suite / mean entropy of its tests: 0 if all runs are equal, {highest:.2} if no two of {} are",
        measured.runs
    );
    term.prose(2, Tone::Faint, &legend)
}

fn numbers(term: &mut TermWriter, measured: &Measurement) -> io::Result<()> {
    if measured.configurations.len() > 1 {
        return configurations(term, measured);
    }
    if measured.layers.is_empty() {
        return Ok(());
    }
    term.blank()?;
    let rows: Vec<[String; 7]> = measured.layers.iter().map(row).collect();
    if term.style.width < TABLE {
        for [layer, suite, range, average, ranges, tests, wrong] in &rows {
            let text = format!(
                "{layer}: suite H {suite}, range {range}; mean per test H {average}, range {ranges}; {tests} tests differ; false positives {wrong}"
            );
            term.prose(2, Tone::Usual, &text)?;
        }
    } else {
        let heads = ["layer", "suite H", "range", "mean H", "range", "tests differ", "false positives"];
        let wide = |at: usize| rows.iter().map(|row| row[at].len()).chain([heads[at].len()]).max().unwrap_or(0);
        let cell = |at: usize, text: &str| match at {
            0 => format!("{text:<0$}", wide(at)),
            _ => format!("{text:>0$}", wide(at)),
        };
        let line = |cells: [&str; 7]| {
            cells.iter().enumerate().map(|(at, text)| cell(at, text)).collect::<Vec<_>>().join("   ")
        };
        term.line(&[(Tone::Usual, "  "), (Tone::Faint, &line(heads))])?;
        for row in &rows {
            term.line(&[(Tone::Usual, "  "), (Tone::Usual, &line(row.each_ref().map(String::as_str)))])?;
        }
    }
    term.prose(2, Tone::Faint, &legend(measured))
}

pub(crate) fn legend(measured: &Measurement) -> String {
    let runs = measured.runs.max(1);
    format!(
        "H: entropy of the runs, 0 if all are equal, {:.2} if no two of {runs} are. range: units that differ between runs. \
         false positives: later runs that differ from the first.",
        f64::from(runs).ln()
    )
}

/// What the noise rules normalized: a hidden difference may be of interest.
fn noise(term: &mut TermWriter, hidden: &[SuppressedNoise]) -> io::Result<()> {
    let (hid, idle): (Vec<&SuppressedNoise>, Vec<&SuppressedNoise>) = hidden.iter().partition(|rule| rule.units > 0);
    if !hid.is_empty() {
        term.blank()?;
        term.prose(2, Tone::Usual, "suppressed as noise (--no-rule NAME counts it):")?;
    }
    for rule in hid {
        term.prose(
            4,
            Tone::Usual,
            &keep_start(&one_line(&noise_rule_text(rule, term.style.sign("…"))), MAX_COLUMNS, term.style.sign("…")),
        )?;
    }
    if !idle.is_empty() {
        let names: Vec<&str> = idle.iter().map(|rule| rule.rule.as_str()).collect();
        term.blank()?;
        term.prose(2, Tone::Faint, &format!("noise rules that suppressed no difference: {}", names.join(", ")))?;
    }
    Ok(())
}

pub(crate) fn noise_rule_text(rule: &SuppressedNoise, ellipsis: &str) -> String {
    let units = format::count(rule.units as usize, "difference");
    let short = |text: &str| keep_start(text, EXAMPLE, ellipsis).into_owned();
    match &rule.example[..] {
        [_, one, other] => format!("{}: {units}, such as {} and {}", rule.rule, short(one), short(other)),
        _ => format!("{}: {units}", rule.rule),
    }
}

fn unseen(term: &mut TermWriter, measured: &Measurement) -> io::Result<()> {
    let texts = missing_layers(measured);
    if !texts.is_empty() {
        term.blank()?;
    }
    texts.iter().try_for_each(|text| {
        term.prose(2, Tone::Usual, &keep_start(&one_line(text), MAX_COLUMNS, term.style.sign("…")))
    })
}

/// Layers without data, and limits of the others.
pub(crate) fn missing_layers(measured: &Measurement) -> Vec<String> {
    let gaps = |layer: Layer| measured.gaps.iter().filter(move |gap| gap.layer == layer);
    let mut texts = Vec::new();
    for layer in &measured.unseen {
        let why = match (layer, gaps(*layer).next()) {
            (_, Some(gap)) => gap.why.clone(),
            (Layer::Interface, None) => "no test showed a page or printed output that the runner passes on".to_owned(),
            (_, None) => "the runner does not record it".to_owned(),
        };
        texts.push(format!("not recorded: {layer}: {why}"));
    }
    for layer in measured.layers.iter().map(|layer| layer.layer) {
        for gap in gaps(layer) {
            let attempts = format::count(gap.attempts as usize, "attempt");
            texts.push(format!("incomplete: {layer}: {} ({attempts})", gap.why));
        }
    }
    texts
}
