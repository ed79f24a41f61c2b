//! What an experiment found, as one page that needs nothing but itself.

use std::io::{self, Write};

use unflake_model::FactorTrial;

use crate::html::markup::Html;
use crate::terminal::factors::{ExperimentReport, capital, chance, interval, rest};
use crate::text::format;
use crate::text::sanitize::one_line;

const HEAD: &str = "<meta charset=\"utf-8\"/>\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"/>\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
    <meta name=\"referrer\" content=\"no-referrer\"/>\
    <meta name=\"color-scheme\" content=\"light dark\"/>";
/// Of the drawing: the width of a box plot, the height of a row, where the box is in it.
const PLOT: f64 = 320.0;
const MARGIN: f64 = 6.0;
const ROW: f64 = 18.0;

/// Writes the page.
pub fn factors_page(told: &ExperimentReport, out: &mut dyn Write) -> io::Result<()> {
    let Some((finding, whole)) = told.influences().next() else { return Ok(()) };
    let test = one_line(finding.test.as_str()).into_owned();
    let mut html = Html::default();
    html.fixed("<!DOCTYPE html>\n").inside("html lang=\"en\"", |html| {
        html.inside("head", |html| {
            html.fixed(HEAD).put("title", &format!("What makes {test} fail"));
            html.fixed("\n<style>\n").fixed(include_str!("base.css")).fixed(include_str!("factors.css"));
            html.fixed("</style>\n");
        });
        html.fixed("\n").inside("body", |html| {
            html.inside("main", |html| {
                html.inside("header", |html| {
                    html.put("p class=\"kicker\"", "unflake factors");
                    html.inside("h1", |html| {
                        html.text("What makes ").put("code", &test).text(" fail");
                    });
                    for (finding, _) in told.influences() {
                        html.put("p class=\"lead\"", &format!("{}.", capital(&one_line(&finding.sentence))));
                    }
                    if let Some(rest) = rest(told) {
                        html.put("p class=\"soft\"", &rest);
                    }
                });
                facts(html, told, whole.runs);
                html.inside("section", |html| {
                    html.put("h2", "All that was tried");
                    let how = "Each world differs from the baseline in what it is named after. The boxes show how long its runs took: \
                               the middle half, the median, and every run as a dot, hollow where it passed and filled where it failed.";
                    html.put("p", how);
                    plan(html, &whole.plan);
                });
                if !whole.untried.is_empty() {
                    html.inside("section", |html| {
                        html.put("h2", "What was not tried");
                        html.inside("ul", |html| {
                            for untried in &whole.untried {
                                html.inside("li", |html| {
                                    html.put("code", &one_line(&untried.name)).text(": ").text(&one_line(&untried.why));
                                });
                            }
                        });
                    });
                }
                html.put("footer", "Written by unflake. This page loads nothing and runs no script.");
            });
        });
    });
    html.fixed("\n");
    out.write_all(html.finish().as_bytes())
}

fn facts(html: &mut Html, told: &ExperimentReport, runs: u32) {
    html.inside("dl class=\"facts\"", |html| {
        for (finding, influence) in told.influences().filter(|(_, influence)| influence.kind != "none") {
            fact(html, "Factor", &influence.kind.replace('+', " and "));
            if let Some(threshold) = &influence.threshold {
                fact(html, "Threshold", &threshold.words);
            }
            let (there, usual) = (&influence.rate, &influence.baseline);
            let rates = format!(
                "{} of {} runs failed there ({}), {} of {} at the baseline ({})",
                there.seen,
                there.of,
                interval(there),
                usual.seen,
                usual.of,
                interval(usual)
            );
            fact(html, "Failure rate", &rates);
            fact(html, "By chance alone", &chance(influence.chance));
            code(html, "See it yourself", finding.repeat.as_deref());
        }
        code(html, "Fails most with", told.fails_by);
        code(html, "Fails least with", told.passes_by);
        fact(html, "Runs", &format!("{runs}, in {}", format::duration(told.seconds)));
    });
}

fn fact(html: &mut Html, name: &'static str, text: &str) {
    html.put("dt", name).put("dd", &one_line(text));
}

fn code(html: &mut Html, name: &'static str, command: Option<&str>) {
    if let Some(command) = command {
        html.put("dt", name).inside("dd", |html| {
            html.put("code", &one_line(command));
        });
    }
}

fn plan(html: &mut Html, plan: &[FactorTrial]) {
    let times = || plan.iter().flat_map(|tried| tried.seconds.iter().map(|(seconds, _)| *seconds));
    let longest = times().filter(|seconds| seconds.is_finite()).fold(1e-6, f64::max);
    html.inside("table class=\"plan\"", |html| {
        html.inside("thead", |html| {
            html.inside("tr", |html| {
                let names = ["World", "Failed", "95 %", "Entropy", "Range", "FP", "Chance"];
                names.into_iter().for_each(|name| _ = html.put("th", name));
                layers(plan).for_each(|name| _ = html.put("th", &format!("{name}: entropy, range")));
                html.put("th", &format!("Time, up to {}", format::duration(longest)));
            });
        });
        html.inside("tbody", |html| {
            for tried in plan {
                let marked = tried.chance.is_some_and(|chance| chance < 0.01);
                let row = if marked { "tr class=\"start\"" } else { "tr" };
                html.inside(row, |html| {
                    html.inside("td", |html| {
                        html.put("code", &one_line(&tried.name));
                    });
                    html.put("td", &format!("{} of {}", tried.rate.seen, tried.rate.of));
                    html.put("td", &interval(&tried.rate));
                    html.put("td", &format!("{:.2}", tried.entropy));
                    html.put("td", &tried.range.to_string());
                    html.put("td", &format!("{:.0} %", tried.false_positives));
                    html.put("td", &tried.chance.map_or("–".to_owned(), chance));
                    for name in layers(plan) {
                        let told = tried.layers.iter().find(|one| one.layer.word() == name);
                        html.put(
                            "td",
                            &told.map_or("–".to_owned(), |one| format!("{:.2}, {}", one.entropy, one.range)),
                        );
                    }
                    html.inside("td", |html| plot(html, tried, longest));
                });
            }
        });
    });
}

/// The layers at which runs were looked at.
fn layers(plan: &[FactorTrial]) -> impl Iterator<Item = &'static str> {
    plan.first().into_iter().flat_map(|tried| tried.layers.iter().map(|one| one.layer.word()))
}

/// A box plot of how long the runs took, from 0 to `longest`.
fn plot(html: &mut Html, tried: &FactorTrial, longest: f64) {
    let mut times: Vec<f64> = tried.seconds.iter().map(|(seconds, _)| *seconds).filter(|one| one.is_finite()).collect();
    times.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (times.first().copied(), times.last().copied()) else { return };
    let x = |seconds: f64| format!("{:.1}", MARGIN + (PLOT - 2.0 * MARGIN) * (seconds / longest).clamp(0.0, 1.0));
    let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
    let (low, middle, high) = (at(0.25), at(0.5), at(0.75));
    let words = format!(
        "{}: from {} to {}, median {}",
        one_line(&tried.name),
        format::duration(least),
        format::duration(most),
        format::duration(middle)
    );
    let size = format!("0 0 {PLOT} {ROW}");
    html.inside_with("svg class=\"box\" role=\"img\"", &[("viewBox", &size), ("aria-label", &words)], |html| {
        let (half, top, bottom) = (ROW / 2.0, 3.0, ROW - 3.0);
        html.void("line", &[("x1", &x(least)), ("x2", &x(most)), ("y1", &half), ("y2", &half)]);
        let wide =
            format!("{:.1}", (x(high).parse::<f64>().unwrap_or(0.0) - x(low).parse::<f64>().unwrap_or(0.0)).max(1.0));
        html.void("rect", &[("x", &x(low)), ("y", &top), ("width", &wide), ("height", &(bottom - top))]);
        html.void("line class=\"median\"", &[("x1", &x(middle)), ("x2", &x(middle)), ("y1", &top), ("y2", &bottom)]);
        for (seconds, failed) in &tried.seconds {
            let dot = if *failed { "circle class=\"failed\"" } else { "circle class=\"passed\"" };
            html.void(dot, &[("cx", &x(*seconds)), ("cy", &half), ("r", &2.5)]);
        }
    });
}
