//! HTML page for `unflake measure`: how the runs of each test differ.

use std::io::{self, Write};

use unflake_model::{Layer, LayerDifference, Measurement};

use crate::RunReport;
use crate::html::locate::code::cut;
use crate::html::locate::page::HEAD;
use crate::html::locate::sections::section;
use crate::html::markup::Html;
use crate::terminal::measure::{
    COLUMNS, DifferingKind, DifferingTest, counts, difference_text, interval, legend, missing_layers, noise_rule_text,
    row,
};
use crate::text::format;

/// Longest lists whose length tests determine.
const TESTS: usize = 500;
const UNITS: usize = 20;

/// Writes the page.
pub fn measure_page(run: &RunReport, out: &mut dyn Write) -> io::Result<()> {
    let Some(measured) = run.measured else { return Ok(()) };
    let differing = DifferingTest::all(run);
    let mut html = Html::default();
    html.fixed("<!DOCTYPE html>\n").inside("html lang=\"en\"", |html| {
        html.inside("head", |html| {
            html.fixed(HEAD).put("title", "How far the runs differ");
            html.fixed("\n<style>\n").fixed(include_str!("base.css")).fixed("</style>\n");
        });
        html.fixed("\n").inside("body", |html| {
            html.inside("main", |html| {
                html.inside("header", |html| {
                    html.put("p class=\"kicker\"", "unflake measure").put("h1", "How far the runs differ");
                    html.put("p class=\"lead\"", &counts(run, &differing).join(" · "));
                });
                section(html, "Layer by layer", |html| table(html, measured));
                differing.iter().take(TESTS).for_each(|test| of_test(html, test));
                if differing.len() > TESTS {
                    html.put(
                        "p",
                        &format!("{} more are in the JSON document.", format::count(differing.len() - TESTS, "test")),
                    );
                }
                list(
                    html,
                    "What rules hid",
                    measured.hidden.iter().filter(|rule| rule.units > 0).map(|rule| noise_rule_text(rule, "…")),
                );
                list(html, "What is not known", missing_layers(measured).into_iter().chain(run.notes.iter().cloned()));
                html.put("footer", "Written by unflake. This page loads nothing and runs no script.");
            });
        });
    });
    html.fixed("\n");
    out.write_all(html.finish().as_bytes())
}

fn table(html: &mut Html, measured: &Measurement) {
    html.inside("table class=\"plain\"", |html| {
        html.inside("thead", |html| {
            html.inside("tr", |html| many(html, "th scope=\"col\"", COLUMNS.iter()));
        });
        html.inside("tbody", |html| {
            for layer in &measured.layers {
                html.inside("tr", |html| many(html, "td", row(layer).iter()));
            }
        });
    });
    html.put("p class=\"soft\"", &legend(measured));
}

fn of_test(html: &mut Html, test: &DifferingTest) {
    html.inside("section", |html| {
        html.inside("h2", |html| {
            html.put("code", &cut(test.test.as_str()));
        });
        let what = match (test.kind, test.failures()) {
            (_, Some(rate)) => format!("Failed in {} of {} runs ({}).", rate.seen, rate.of, interval(&rate)),
            (DifferingKind::Failing, None) => "Fails in every run, and not always in the same way.".to_owned(),
            _ => "Passes in every run.".to_owned(),
        };
        html.put("p", &what);
        test.layers.iter().filter(|layer| layer.kind != Layer::Verdict).for_each(|layer| of_layer(html, layer));
        if let Some(command) = test.repeat {
            html.inside("pre class=\"command\"", |html| many(html, "code", [command].iter()));
        }
    });
}

fn of_layer(html: &mut Html, layer: &LayerDifference) {
    let spread = &layer.spread;
    let groups: Vec<String> = spread.groups.iter().map(u32::to_string).collect();
    html.put("h3", layer.kind.word());
    let runs = format!(
        "H {:.2}, range {}, {} in groups of {}",
        spread.entropy,
        spread.range,
        format::count(spread.runs as usize, "run"),
        groups.join(", ")
    );
    html.put("p class=\"soft\"", &runs);
    html.inside("ul", |html| {
        many(html, "li", layer.units.iter().take(UNITS).map(|unit| difference_text(unit, layer)));
        let more = layer.units.len().saturating_sub(UNITS);
        if more > 0 {
            html.put("li class=\"soft\"", &format!("{more} more"));
        }
    });
}

fn list(html: &mut Html, title: &'static str, told: impl Iterator<Item = String>) {
    let told: Vec<String> = told.collect();
    if !told.is_empty() {
        section(html, title, |html| {
            html.inside("ul", |html| many(html, "li", told.iter()));
        });
    }
}

/// One element per text.
fn many(html: &mut Html, tag: &'static str, texts: impl Iterator<Item = impl AsRef<str>>) {
    for text in texts {
        html.put(tag, &cut(text.as_ref()));
    }
}
