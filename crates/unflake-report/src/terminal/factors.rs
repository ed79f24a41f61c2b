//! What an experiment found, for the terminal.

use std::io::{self, Write};

use unflake_model::{AtLayer, Detail, Factor, FactorKind, FactorTrial, Finding, Influence, Rate, UntriedFactor};

use crate::terminal::writer::{TermWriter, Tone};
use crate::text::format;
use crate::text::sanitize::{keep_start, width};
use crate::{TerminalStyle, one_line};

/// What is to be shown of an experiment.
pub struct ExperimentReport<'a> {
    /// All with [`Detail::Factor`]; the first has the plan.
    pub findings: &'a [Finding],
    /// Commands with which it fails most often, and least.
    pub fails_by: Option<&'a str>,
    pub passes_by: Option<&'a str>,
    pub seconds: f64,
    /// Where the full report was written.
    pub page: Option<&'a str>,
}

/// Columns of the name of a world.
const NAME: usize = 44;
const LABEL: usize = 17;
/// So many of what was not tried for one reason are named.
const NAMED: usize = 4;
/// A difference at the baseline that is less likely than this by chance is marked.
const MARKED: f64 = 0.01;

impl<'a> ExperimentReport<'a> {
    pub(crate) fn influences(&self) -> impl Iterator<Item = (&'a Finding, &'a Influence)> {
        self.findings.iter().filter_map(|finding| match &finding.detail {
            Detail::Factor(influence) => Some((finding, &**influence)),
            _ => None,
        })
    }
}

/// Writes the answer and the table. `quiet` leaves out everything but the answer.
pub fn factors(told: &ExperimentReport, look: &TerminalStyle, quiet: bool, out: &mut dyn Write) -> io::Result<()> {
    let Some((first, whole)) = told.influences().next() else { return Ok(()) };
    let page = &mut TermWriter::new(*look, out);
    page.prose(2, Tone::Usual, &one_line(first.test.as_str()))?;
    for (finding, _) in told.influences() {
        page.prose(2, Tone::Bold, &format!("{}.", capital(&one_line(&finding.sentence))))?;
    }
    if let Some(rest) = rest(told) {
        page.prose(2, Tone::Usual, &rest)?;
    }
    if quiet {
        return Ok(());
    }
    page.blank()?;
    table(page, &whole.plan)?;
    page.blank()?;
    for line in untried(&whole.untried) {
        label(page, "not tried", &line)?;
    }
    for (finding, _) in told.influences() {
        if let Some(command) = finding.command() {
            label(page, "see it yourself", &one_line(command))?;
        }
    }
    if let Some(command) = told.fails_by.filter(|_| whole.kind != "none") {
        label(page, "fails most with", &one_line(command))?;
    }
    if let Some(command) = told.passes_by.filter(|_| whole.kind != "none") {
        label(page, "fails least with", &one_line(command))?;
    }
    page.blank()?;
    let mut counts = vec![format::count(whole.runs as usize, "run"), format::duration(told.seconds)];
    counts.extend(told.page.map(|path| format!("full report: {}", one_line(path))));
    let separator = look.sign(" · ").trim_end();
    let last = counts.len() - 1;
    counts[..last].iter_mut().for_each(|count| count.push_str(separator));
    page.words(2, Tone::Usual, counts.iter().map(String::as_str))
}

/// What was tried and made no difference.
pub(crate) fn rest(told: &ExperimentReport) -> Option<String> {
    let (_, whole) = told.influences().next()?;
    let blamed: Vec<FactorKind> =
        told.influences().flat_map(|(_, influence)| influence.setting.iter().map(Factor::kind)).collect();
    let mut others: Vec<FactorKind> = (whole.plan.iter())
        .filter(|tried| tried.rate.of > 0)
        .flat_map(|tried| tried.factors.iter().map(Factor::kind))
        .filter(|kind| !blamed.contains(kind))
        .collect();
    others.sort();
    others.dedup();
    let names: Vec<&str> = others.iter().map(|kind| kind.title()).collect();
    let (last, before) = names.split_last()?;
    let all = if before.is_empty() { (*last).to_owned() } else { format!("{} and {last}", before.join(", ")) };
    Some(match blamed.is_empty() {
        true => format!("Tried were {all}."),
        false => format!("Nothing else matters: {all} made no difference beyond chance."),
    })
}

/// What could not be tried, by the reason.
fn untried(all: &[UntriedFactor]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for UntriedFactor { name, why } in all {
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    let line = |(why, names): (&str, Vec<&str>)| {
        let more = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named = names[..names.len().min(NAMED)].join(", ");
        format!("{}{more}: {}", one_line(&named), one_line(why))
    };
    reasons.into_iter().map(line).collect()
}

fn table(page: &mut TermWriter, plan: &[FactorTrial]) -> io::Result<()> {
    let look = page.style;
    let name = |tried: &FactorTrial| keep_start(&one_line(&tried.name), NAME, look.sign("…")).into_owned();
    let columns = plan.iter().map(|tried| width(&name(tried))).max().unwrap_or(0).max(8);
    let head = format!(
        "  {:<columns$}  {:>9}  {:>10}  {:>7}  {:>5}  {:>6}  {:>8}  {:>8}",
        "world", "failed", "95 %", "entropy", "range", "FP", "chance", "time"
    );
    let layers = plan.first().map_or(&[][..], |tried| &tried.layers);
    let layers: String =
        layers.iter().map(|one| format!("  {:>14}", format!("{} H, range", one.layer.word()))).collect();
    page.line(&[(Tone::Faint, &(head + &layers))])?;
    for tried in plan {
        let name = name(tried);
        let gap = " ".repeat(columns - width(&name));
        let failed = format!("{} of {}", tried.rate.seen, tried.rate.of);
        let chance = tried.chance.map_or("-".to_owned(), chance);
        let text = format!(
            "  {failed:>9}  {:>10}  {:>7.2}  {:>5}  {:>4.0} %  {chance:>8}  {:>8}",
            interval(&tried.rate),
            tried.entropy,
            tried.range,
            tried.false_positives,
            format::duration(median(tried)),
        );
        let text = text + &tried.layers.iter().map(at_layer).collect::<String>();
        let tone = if tried.chance.is_some_and(|chance| chance < MARKED) { Tone::Odd } else { Tone::Usual };
        page.line(&[(Tone::Usual, "  "), (tone, &name), (Tone::Usual, &gap), (Tone::Usual, &text)])?;
    }
    Ok(())
}

fn at_layer(one: &AtLayer) -> String {
    let columns = one.layer.word().len() + 9;
    format!("  {:>1$}", format!("{:.2}, {}", one.entropy, one.range), columns.max(14))
}

pub(crate) fn interval(rate: &Rate) -> String {
    format!("{:.0}-{:.0} %", rate.low * 100.0, rate.high * 100.0)
}

pub(crate) fn chance(chance: f64) -> String {
    if chance < 0.001 { "< 0.001".to_owned() } else { format!("{chance:.3}") }
}

fn median(tried: &FactorTrial) -> f64 {
    let mut times: Vec<f64> = tried.seconds.iter().map(|(seconds, _)| *seconds).collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn label(page: &mut TermWriter, label: &str, text: &str) -> io::Result<()> {
    page.side_by_side(2, (Tone::Faint, &format!("{label:<LABEL$}")), (Tone::Usual, text))
}
