//! Findings of an experiment, as a self-contained page.

use std::io::{self, Write};

use maud::{Markup, display, html};
use unflake_model::{FactorTrial, Influence};

use crate::html::markup::{footer, standalone};
use crate::terminal::factors::{ExperimentReport, by_reason, capital, interval, rest, time};
use crate::text::confidence::p_value;
use crate::text::format;
use crate::text::sanitize::one_line;

/// The width of a box plot, its margin, and the height of a row.
const PLOT: f64 = 320.0;
const MARGIN: f64 = 6.0;
const ROW: f64 = 18.0;

/// Writes the page.
pub fn factors_page(report: &ExperimentReport, out: &mut dyn Write) -> io::Result<()> {
    let Some((finding, whole)) = report.influences().next() else { return Ok(()) };
    let test = one_line(finding.test.as_str());
    let main = html! {
        header {
            p.kicker { "unflake factors" }
            h1 { "What makes " code { (test) } " fail" }
            @for (finding, _) in report.influences() { p.lead { (capital(&one_line(&finding.sentence))) "." } }
            @if let Some(rest) = rest(report) { p.soft { (rest) } }
        }
        (facts(report, whole.runs))
        section {
            h2 { "Worlds" }
            p {
                "Each row sets the named factors; everything else is as at the baseline. Box plots show the duration of "
                "its runs. Each dot is a run, filled if it failed."
            }
            (plan(&whole.plan))
        }
        @if !whole.untried.is_empty() {
            section {
                h2 { "Not tried" }
                ul {
                    @for (why, names) in by_reason(&whole.untried) {
                        li {
                            @for (at, name) in names.iter().enumerate() {
                                @if at > 0 { ", " }
                                code { (one_line(name)) }
                            }
                            ": " (one_line(why))
                        }
                    }
                }
            }
        }
        (footer())
    };
    let styles = [include_str!("base.css"), include_str!("factors.css")];
    out.write_all(standalone(&format!("What makes {test} fail"), &styles, main).as_bytes())
}

fn facts(report: &ExperimentReport, runs: u32) -> Markup {
    let rates = |influence: &Influence| {
        let (there, usual) = (&influence.rate, &influence.baseline);
        format!(
            "{} of {} runs (95 % CI {}), {} of {} at the baseline (95 % CI {})",
            there.seen,
            there.of,
            interval(there),
            usual.seen,
            usual.of,
            interval(usual)
        )
    };
    html! {
        dl.facts {
            @for (finding, influence) in report.influences().filter(|(_, influence)| influence.kind != "none") {
                (fact("Factor", &influence.kind.replace('+', " and ")))
                @if let Some(threshold) = &influence.threshold { (fact("Threshold", &threshold.words)) }
                (fact("Failure rate", &rates(influence)))
                (fact("Confidence", influence.confidence.word()))
                (fact("p-value", &p_value(influence.p_value)))
                (command("Reproduce", finding.command()))
            }
            (command("Fails most with", report.fails_by))
            (command("Fails least with", report.passes_by))
            (fact("Runs", &format!("{runs}, in {}", time(report))))
        }
    }
}

fn fact(name: &str, text: &str) -> Markup {
    html! { dt { (name) } dd { (one_line(text)) } }
}

fn command(name: &str, command: Option<&str>) -> Markup {
    html! { @if let Some(command) = command { dt { (name) } dd { code { (one_line(command)) } } } }
}

fn plan(plan: &[FactorTrial]) -> Markup {
    let times = || plan.iter().flat_map(|trial| trial.seconds.iter().map(|(seconds, _)| *seconds));
    let longest = times().filter(|seconds| seconds.is_finite()).fold(1e-6, f64::max);
    html! {
        table.plan {
            thead {
                tr {
                    @for name in ["World", "Failed", "95 % CI", "Entropy", "Range", "FP", "p"] { th { (name) } }
                    @for name in layers(plan) { th { (name) ": entropy, range" } }
                    th { "Time, up to " (format::duration(longest)) }
                }
            }
            tbody {
                @for trial in plan {
                    tr class=[trial.p_value.is_some_and(|p_value| p_value < 0.01).then_some("start")] {
                        td { code { (one_line(&trial.name)) } }
                        td { (trial.rate.seen) " of " (trial.rate.of) }
                        td { (interval(&trial.rate)) }
                        td { (format!("{:.2}", trial.entropy)) }
                        td { (trial.range) }
                        td { (format!("{:.0} %", trial.false_positives)) }
                        td { (trial.p_value.map_or("–".to_owned(), p_value)) }
                        @for name in layers(plan) {
                            @let layer = trial.layers.iter().find(|one| one.layer.word() == name);
                            td { (layer.map_or("–".to_owned(), |one| format!("{:.2}, {}", one.entropy, one.range))) }
                        }
                        td { (plot(trial, longest)) }
                    }
                }
            }
        }
    }
}

/// The layers at which runs were compared.
fn layers(plan: &[FactorTrial]) -> impl Iterator<Item = &'static str> {
    plan.first().into_iter().flat_map(|trial| trial.layers.iter().map(|one| one.layer.word()))
}

/// A box plot of the durations, from 0 to `longest`.
fn plot(trial: &FactorTrial, longest: f64) -> Markup {
    let mut times: Vec<f64> = trial.seconds.iter().map(|(seconds, _)| *seconds).filter(|one| one.is_finite()).collect();
    times.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (times.first().copied(), times.last().copied()) else { return Markup::default() };
    let x = |seconds: f64| MARGIN + (PLOT - 2.0 * MARGIN) * (seconds / longest).clamp(0.0, 1.0);
    let number = |value: f64| format!("{value:.1}");
    let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
    let (low, middle, high) = (at(0.25), at(0.5), at(0.75));
    let label = format!(
        "{}: from {} to {}, median {}",
        one_line(&trial.name),
        format::duration(least),
        format::duration(most),
        format::duration(middle)
    );
    let (half, top, bottom) = (ROW / 2.0, 3.0, ROW - 3.0);
    html! {
        svg class="box" role="img" viewBox=(format!("0 0 {PLOT} {ROW}")) aria-label=(label) {
            line x1=(number(x(least))) x2=(number(x(most))) y1=(display(half)) y2=(display(half)) {}
            rect x=(number(x(low))) y=(display(top)) width=(number((x(high) - x(low)).max(1.0)))
                height=(display(bottom - top)) {}
            line.median x1=(number(x(middle))) x2=(number(x(middle))) y1=(display(top)) y2=(display(bottom)) {}
            @for (seconds, failed) in &trial.seconds {
                circle class=(if *failed { "failed" } else { "passed" }) cx=(number(x(*seconds))) cy=(display(half)) r="2.5" {}
            }
        }
    }
}
