//! Findings of an experiment, for the terminal.

use std::io::{self, Write};

use unflake_model::{AtLayer, Detail, Factor, FactorKind, FactorTrial, Finding, Influence, Rate, UntriedFactor};

use crate::terminal::writer::{TermWriter, Tone};
use crate::text::confidence::p_value;
use crate::text::format;
use crate::text::sanitize::{keep_start, width};
use crate::{TerminalStyle, one_line};

pub struct ExperimentReport<'a> {
    /// All with [`Detail::Factor`]; the first has the plan.
    pub findings: &'a [Finding],
    /// Commands with which it fails most and least often.
    pub fails_by: Option<&'a str>,
    pub passes_by: Option<&'a str>,
    pub seconds: f64,
    /// The time budget in seconds. None: unlimited.
    pub budget: Option<f64>,
    /// Where the full report was written.
    pub page: Option<&'a str>,
}

/// Columns of the name of a world.
const NAME: usize = 44;
const LABEL: usize = 17;
/// This many factors that were not tried for one reason are named.
const NAMED: usize = 4;
/// Worlds whose p-value is below this are marked.
const MARKED: f64 = 0.01;

impl<'a> ExperimentReport<'a> {
    pub(crate) fn influences(&self) -> impl Iterator<Item = (&'a Finding, &'a Influence)> {
        self.findings.iter().filter_map(|finding| match &finding.detail {
            Detail::Factor(influence) => Some((finding, &**influence)),
            _ => None,
        })
    }
}

/// Writes the findings and the table of worlds. `quiet`: only the findings.
pub fn factors(report: &ExperimentReport, look: &TerminalStyle, quiet: bool, out: &mut dyn Write) -> io::Result<()> {
    let Some((first, whole)) = report.influences().next() else { return Ok(()) };
    let page = &mut TermWriter::new(*look, out);
    page.prose(2, Tone::Usual, &one_line(first.test.as_str()))?;
    for (finding, _) in report.influences() {
        page.prose(2, Tone::Bold, &format!("{}.", capital(&one_line(&finding.sentence))))?;
    }
    if let Some(rest) = rest(report) {
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
    for (finding, _) in report.influences().filter(|(_, influence)| influence.kind != "none") {
        if let Some(command) = finding.command() {
            label(page, "reproduce", &one_line(command))?;
        }
    }
    if let Some(command) = report.fails_by.filter(|_| whole.kind != "none") {
        label(page, "fails most with", &one_line(command))?;
    }
    if let Some(command) = report.passes_by.filter(|_| whole.kind != "none") {
        label(page, "fails least with", &one_line(command))?;
    }
    page.blank()?;
    let mut counts = vec![format::count(whole.runs as usize, "run"), time(report)];
    counts.extend(report.page.map(|path| format!("full report: {}", one_line(path))));
    let separator = look.sign(" · ").trim_end();
    let last = counts.len() - 1;
    counts[..last].iter_mut().for_each(|count| count.push_str(separator));
    page.words(2, Tone::Usual, counts.iter().map(String::as_str))
}

pub(crate) fn time(report: &ExperimentReport) -> String {
    let used = format::duration(report.seconds);
    report.budget.map_or(used.clone(), |budget| format!("{used} of {}", format::duration(budget)))
}

/// The factors that were tried and are in no finding. Where the baseline fails, their effect is
/// unknown.
pub(crate) fn rest(report: &ExperimentReport) -> Option<String> {
    let (_, whole) = report.influences().next()?;
    let found: Vec<FactorKind> =
        report.influences().flat_map(|(_, influence)| influence.setting.iter().map(Factor::kind)).collect();
    let trials = whole.plan.iter().filter(|trial| trial.rate.of > 0);
    let mut others: Vec<FactorKind> =
        trials.flat_map(|trial| trial.factors.iter().map(Factor::kind)).filter(|kind| !found.contains(kind)).collect();
    others.sort();
    others.dedup();
    let names: Vec<&str> = others.iter().map(|kind| kind.title).collect();
    let (last, before) = names.split_last()?;
    let all = if before.is_empty() { (*last).to_owned() } else { format!("{} and {last}", before.join(", ")) };
    let baseline = whole.plan.iter().find(|trial| trial.name == "baseline").map(|trial| trial.rate);
    Some(match baseline {
        Some(rate) if rate.seen > 0 => format!(
            "The baseline failed {} of {} runs, so whether other factors make it fail cannot be determined: {all}.",
            rate.seen, rate.of
        ),
        _ if found.is_empty() => format!("Tried: {all}."),
        _ => format!("No difference found with {all}."),
    })
}

/// What could not be tried, by reason.
/// The reasons, each with the factors that were not tried for it.
pub(crate) fn by_reason(all: &[UntriedFactor]) -> Vec<(&str, Vec<&str>)> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for UntriedFactor { name, why } in all {
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    reasons
}

fn untried(all: &[UntriedFactor]) -> Vec<String> {
    let line = |(why, names): (&str, Vec<&str>)| {
        let more = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named = names[..names.len().min(NAMED)].join(", ");
        format!("{}{more}: {}", one_line(&named), one_line(why))
    };
    by_reason(all).into_iter().map(line).collect()
}

fn table(page: &mut TermWriter, plan: &[FactorTrial]) -> io::Result<()> {
    let look = page.style;
    let name = |trial: &FactorTrial| keep_start(&one_line(&trial.name), NAME, look.sign("…")).into_owned();
    let columns = plan.iter().map(|trial| width(&name(trial))).max().unwrap_or(0).max(8);
    let head = format!(
        "  {:<columns$}  {:>9}  {:>10}  {:>7}  {:>5}  {:>6}  {:>8}  {:>8}",
        "world", "failed", "95 % CI", "entropy", "range", "FP", "p", "time"
    );
    let layers = plan.first().map_or(&[][..], |trial| &trial.layers);
    let layers: String =
        layers.iter().map(|one| format!("  {:>14}", format!("{} H, range", one.layer.word()))).collect();
    page.line(&[(Tone::Faint, &(head + &layers))])?;
    for trial in plan {
        let name = name(trial);
        let gap = " ".repeat(columns - width(&name));
        let failed = format!("{} of {}", trial.rate.seen, trial.rate.of);
        let text = format!(
            "  {failed:>9}  {:>10}  {:>7.2}  {:>5}  {:>4.0} %  {:>8}  {:>8}",
            interval(&trial.rate),
            trial.entropy,
            trial.range,
            trial.false_positives,
            trial.p_value.map_or("-".to_owned(), p_column),
            format::duration(median(trial)),
        );
        let text = text + &trial.layers.iter().map(at_layer).collect::<String>();
        let tone = if trial.p_value.is_some_and(|p_value| p_value < MARKED) { Tone::Odd } else { Tone::Usual };
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

/// The p-value in a column that is headed `p`.
fn p_column(chance: f64) -> String {
    p_value(chance).trim_start_matches("p ").trim_start_matches("= ").to_owned()
}

fn median(trial: &FactorTrial) -> f64 {
    let mut times: Vec<f64> = trial.seconds.iter().map(|(seconds, _)| *seconds).collect();
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
