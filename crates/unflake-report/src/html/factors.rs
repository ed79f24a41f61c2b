//! What an experiment found, as one page that needs nothing but itself.

use std::io::{self, Write};

use maud::{Markup, display, html};
use unflake_model::{FactorTrial, Influence};

use crate::html::markup::{footer, standalone};
use crate::terminal::factors::{ExperimentReport, capital, chance, interval, rest};
use crate::text::format;
use crate::text::sanitize::one_line;

/// Of the drawing: the width of a box plot, the height of a row, where the box is in it.
const PLOT: f64 = 320.0;
const MARGIN: f64 = 6.0;
const ROW: f64 = 18.0;

/// Writes the page.
pub fn factors_page(told: &ExperimentReport, out: &mut dyn Write) -> io::Result<()> {
    let Some((finding, whole)) = told.influences().next() else { return Ok(()) };
    let test = one_line(finding.test.as_str());
    let main = html! {
        header {
            p.kicker { "unflake factors" }
            h1 { "What makes " code { (test) } " fail" }
            @for (finding, _) in told.influences() { p.lead { (capital(&one_line(&finding.sentence))) "." } }
            @if let Some(rest) = rest(told) { p.soft { (rest) } }
        }
        (facts(told, whole.runs))
        section {
            h2 { "All that was tried" }
            p {
                "Each world differs from the baseline in what it is named after. The boxes show how long its runs took: "
                "the middle half, the median, and every run as a dot, hollow where it passed and filled where it failed."
            }
            (plan(&whole.plan))
        }
        @if !whole.untried.is_empty() {
            section {
                h2 { "What was not tried" }
                ul {
                    @for untried in &whole.untried {
                        li { code { (one_line(&untried.name)) } ": " (one_line(&untried.why)) }
                    }
                }
            }
        }
        (footer())
    };
    let styles = [include_str!("base.css"), include_str!("factors.css")];
    out.write_all(standalone(&format!("What makes {test} fail"), &styles, main).as_bytes())
}

fn facts(told: &ExperimentReport, runs: u32) -> Markup {
    let rates = |influence: &Influence| {
        let (there, usual) = (&influence.rate, &influence.baseline);
        format!(
            "{} of {} runs failed there ({}), {} of {} at the baseline ({})",
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
            @for (finding, influence) in told.influences().filter(|(_, influence)| influence.kind != "none") {
                (fact("Factor", &influence.kind.replace('+', " and ")))
                @if let Some(threshold) = &influence.threshold { (fact("Threshold", &threshold.words)) }
                (fact("Failure rate", &rates(influence)))
                (fact("By chance alone", &chance(influence.chance)))
                (command("See it yourself", finding.command()))
            }
            (command("Fails most with", told.fails_by))
            (command("Fails least with", told.passes_by))
            (fact("Runs", &format!("{runs}, in {}", format::duration(told.seconds))))
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
    let times = || plan.iter().flat_map(|tried| tried.seconds.iter().map(|(seconds, _)| *seconds));
    let longest = times().filter(|seconds| seconds.is_finite()).fold(1e-6, f64::max);
    html! {
        table.plan {
            thead {
                tr {
                    @for name in ["World", "Failed", "95 %", "Entropy", "Range", "FP", "Chance"] { th { (name) } }
                    @for name in layers(plan) { th { (name) ": entropy, range" } }
                    th { "Time, up to " (format::duration(longest)) }
                }
            }
            tbody {
                @for tried in plan {
                    tr class=[tried.chance.is_some_and(|chance| chance < 0.01).then_some("start")] {
                        td { code { (one_line(&tried.name)) } }
                        td { (tried.rate.seen) " of " (tried.rate.of) }
                        td { (interval(&tried.rate)) }
                        td { (format!("{:.2}", tried.entropy)) }
                        td { (tried.range) }
                        td { (format!("{:.0} %", tried.false_positives)) }
                        td { (tried.chance.map_or("–".to_owned(), chance)) }
                        @for name in layers(plan) {
                            @let layer = tried.layers.iter().find(|one| one.layer.word() == name);
                            td { (layer.map_or("–".to_owned(), |one| format!("{:.2}, {}", one.entropy, one.range))) }
                        }
                        td { (plot(tried, longest)) }
                    }
                }
            }
        }
    }
}

/// The layers at which runs were looked at.
fn layers(plan: &[FactorTrial]) -> impl Iterator<Item = &'static str> {
    plan.first().into_iter().flat_map(|tried| tried.layers.iter().map(|one| one.layer.word()))
}

/// A box plot of how long the runs took, from 0 to `longest`.
fn plot(tried: &FactorTrial, longest: f64) -> Markup {
    let mut times: Vec<f64> = tried.seconds.iter().map(|(seconds, _)| *seconds).filter(|one| one.is_finite()).collect();
    times.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (times.first().copied(), times.last().copied()) else { return Markup::default() };
    let x = |seconds: f64| MARGIN + (PLOT - 2.0 * MARGIN) * (seconds / longest).clamp(0.0, 1.0);
    let number = |value: f64| format!("{value:.1}");
    let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
    let (low, middle, high) = (at(0.25), at(0.5), at(0.75));
    let label = format!(
        "{}: from {} to {}, median {}",
        one_line(&tried.name),
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
            @for (seconds, failed) in &tried.seconds {
                circle class=(if *failed { "failed" } else { "passed" }) cx=(number(x(*seconds))) cy=(display(half)) r="2.5" {}
            }
        }
    }
}
