//! HTML page that shows where a flaky test starts to fail.
//!
//! It loads no resources and runs no script. Everything shown by colour is also shown by a sign and
//! a word.

use std::io::{self, Write};

use unflake_model::{Divergence, Location};

use crate::LocateReport;
use crate::divergence_text::{self, Confidence, file_and_line};
use crate::html::locate::code::cut;
use crate::html::locate::sections::{at, body, sentence};
use crate::html::markup::Html;
use crate::text::format::{self, capital};

pub(crate) const HEAD: &str = "<meta charset=\"utf-8\"/>\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"/>\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
    <meta name=\"referrer\" content=\"no-referrer\"/>\
    <meta name=\"color-scheme\" content=\"light dark\"/>";

/// Writes the page.
pub fn locate_page(located: &LocateReport, out: &mut dyn Write) -> io::Result<()> {
    let Some(divergence) = located.divergence() else { return Ok(()) };
    let test = cut(located.finding.test.as_str());
    let mut html = Html::default();
    html.fixed("<!DOCTYPE html>\n").inside("html lang=\"en\"", |html| {
        html.inside("head", |html| {
            html.fixed(HEAD).put("title", &format!("Where {test} starts to fail"));
            html.fixed("\n<style>\n").fixed(include_str!("../base.css")).fixed("</style>\n");
        });
        html.fixed("\n").inside("body", |html| {
            html.inside("main", |html| {
                contents(html, located, divergence);
                html.put("footer", "Written by unflake. This page loads nothing and runs no script.");
            });
        });
    });
    html.fixed("\n");
    out.write_all(html.finish().as_bytes())
}

/// The content below the title.
pub(crate) fn contents(html: &mut Html, located: &LocateReport, divergence: &Divergence) {
    html.inside("header", |html| {
        html.put("p class=\"kicker\"", "unflake locate");
        html.inside("h1", |html| {
            html.text("Where ").put("code", &cut(located.finding.test.as_str())).text(" starts to fail");
        });
        lead(html, divergence);
    });
    facts(html, located, divergence);
    body(html, located, divergence);
}

fn lead(html: &mut Html, divergence: &Divergence) {
    html.inside("p class=\"lead\"", |html| {
        match divergence.locations.first() {
            Some(start) => {
                html.text("It ").text(Confidence::of(start.chance).starts_at()).text(" ");
                html.put("code", &cut(&file_and_line(&start.line))).text(": ").text(&sentence(&start.sentence))
            }
            None => html
                .text("Where it starts is not known: ")
                .text(&sentence(&divergence_text::no_location_reason(divergence))),
        };
    });
}

/// The most important facts, as a short list.
fn facts(html: &mut Html, located: &LocateReport, divergence: &Divergence) {
    html.inside("dl class=\"facts\"", |html| {
        if let Some(start) = divergence.locations.first() {
            fact(html, "It starts", |html| at(html, &start.line));
        }
        if let Some(shows) = &divergence.shows {
            fact(html, "It shows", |html| {
                at(html, shows);
                let said =
                    divergence_text::divergence_points(divergence).0.and_then(|parting| parting.messages.first());
                if let Some((message, _)) = said.filter(|(message, _)| !message.trim().is_empty()) {
                    html.put("blockquote", &cut(message.trim()));
                }
            });
        }
        fact(html, "Kind", |html| {
            html.put("strong", &capital(divergence_text::cause_name(divergence.kind)));
            if !divergence.because.trim().is_empty() {
                html.text(", because ").text(&sentence(&divergence.because));
            }
        });
        fact(html, "What people do", |html| {
            html.text(&divergence_text::advice(divergence).replace('`', ""));
        });
        if let Some(start) = divergence.locations.first() {
            fact(html, "How sure", |html| {
                html.put("strong", &capital(Confidence::of(start.chance).label()));
                let odds = divergence_text::odds(start.chance);
                html.text(&format!(", from {}: by chance alone, ", format::count(divergence.runs as usize, "run")));
                html.text(&format!("so clear a difference comes {odds}. It tells {}.", apart(start, divergence)));
            });
        }
        fact(html, "Runs", |html| {
            html.text(&runs(located, divergence));
        });
    });
}

fn fact(html: &mut Html, name: &str, tell: impl FnOnce(&mut Html)) {
    html.put("dt", name).inside("dd", tell);
}

fn runs(located: &LocateReport, divergence: &Divergence) -> String {
    let passed = divergence.runs.saturating_sub(divergence.failed);
    let all = format::count(divergence.runs as usize, "run");
    let set_apart = match divergence.timed_out {
        0 => String::new(),
        runs => {
            format!(" {runs} more timed out and are set apart: where they stop says only when their time was over.")
        }
    };
    // A report drawn from the store has no duration.
    let time =
        if located.seconds > 0.0 { format!(", in {}", format::duration(located.seconds)) } else { String::new() };
    format!("{all}: {} failed, {passed} passed{time}.{set_apart}", divergence.failed)
}

fn apart(location: &Location, divergence: &Divergence) -> String {
    let passed = divergence.runs.saturating_sub(divergence.failed);
    match location.passing {
        0 => format!("{} of {} failing runs from all {passed} passing ones", location.failing, divergence.failed),
        taken => format!(
            "{} of {} failing runs from passing ones, and takes {taken} of {passed} passing runs for failing ones",
            location.failing, divergence.failed
        ),
    }
}
