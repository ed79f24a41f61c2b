//! HTML page for `unflake measure`: how the runs of each test differ.

use std::io::{self, Write};

use maud::{Markup, html};
use unflake_model::{Layer, LayerDifference, Measurement};

use crate::RunReport;
use crate::html::locate::code::cut;
use crate::html::locate::sections::section;
use crate::html::markup::{footer, standalone};
use crate::terminal::measure::{
    COLUMNS, DifferingKind, TestDifferences, counts, difference_text, interval, legend, missing_layers,
    noise_rule_text, row,
};
use crate::text::format;

/// Longest lists whose length tests determine.
const TESTS: usize = 500;
const UNITS: usize = 20;

/// Writes the page.
pub fn measure_page(run: &RunReport, out: &mut dyn Write) -> io::Result<()> {
    let Some(measured) = run.measured else { return Ok(()) };
    let differing = TestDifferences::all(run);
    let noise = measured.hidden.iter().filter(|rule| rule.units > 0).map(|rule| noise_rule_text(rule, "…"));
    let unknown = missing_layers(measured).into_iter().chain(run.notes.iter().cloned());
    let main = html! {
        header {
            p.kicker { "unflake measure" }
            h1 { "How much runs differ" }
            p.lead { (counts(run, &differing).join(" · ")) }
        }
        (section("Layers", table(measured)))
        @for test in differing.iter().take(TESTS) { (test_section(test)) }
        @if differing.len() > TESTS {
            p { (format::count(differing.len() - TESTS, "test")) " more are in the JSON file." }
        }
        (list("Suppressed noise", noise.collect()))
        (list("Limits", unknown.collect()))
        (footer())
    };
    out.write_all(standalone("How much runs differ", &[include_str!("base.css")], main).as_bytes())
}

fn table(measured: &Measurement) -> Markup {
    html! {
        table.plain {
            thead { tr { @for head in COLUMNS { th scope="col" { (head) } } } }
            tbody {
                @for layer in &measured.layers {
                    tr { @for cell in row(layer) { td { (cut(&cell)) } } }
                }
            }
        }
        p.soft { (legend(measured)) }
    }
}

fn test_section(test: &TestDifferences) -> Markup {
    let outcome = match (test.kind, test.failures()) {
        (_, Some(rate)) => format!("Failed in {} of {} runs ({}).", rate.seen, rate.of, interval(&rate)),
        (DifferingKind::Failing, None) => "Fails in every run, in different ways.".to_owned(),
        _ => "Passes in every run.".to_owned(),
    };
    html! {
        section {
            h2 { code { (cut(test.test.as_str())) } }
            p { (outcome) }
            @for layer in test.layers.iter().filter(|layer| layer.kind != Layer::Verdict) { (layer_list(layer)) }
            @if let Some(command) = test.reproduce { pre.command { code { (cut(command)) } } }
        }
    }
}

fn layer_list(layer: &LayerDifference) -> Markup {
    let spread = &layer.spread;
    let groups: Vec<String> = spread.groups.iter().map(u32::to_string).collect();
    let runs = format::count(spread.runs as usize, "run");
    html! {
        h3 { (layer.kind.word()) }
        p.soft {
            (format!("H {:.2}, range {}, {runs} in groups of {}", spread.entropy, spread.range, groups.join(", ")))
        }
        ul {
            @for unit in layer.units.iter().take(UNITS) { li { (cut(&difference_text(unit, layer))) } }
            @if layer.units.len() > UNITS { li.soft { (layer.units.len() - UNITS) " more" } }
        }
    }
}

fn list(title: &str, texts: Vec<String>) -> Markup {
    if texts.is_empty() {
        return Markup::default();
    }
    section(title, html! { ul { @for text in &texts { li { (cut(text)) } } } })
}
