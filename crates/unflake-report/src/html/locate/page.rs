//! HTML page that shows where a flaky test starts to fail.
//!
//! It loads no resources and runs no script. Everything shown by colour is also shown by a sign and
//! a word.

use std::io::{self, Write};

use maud::{Markup, html};
use unflake_model::{Divergence, Location};

use crate::LocateReport;
use crate::divergence_text::{self, file_and_line};
use crate::html::locate::code::cut;
use crate::html::locate::sections::{at, body, sentence};
use crate::html::markup::{footer, standalone};
use crate::text::confidence::confidence;
use crate::text::format::{self, capital};

/// Writes the page.
pub fn locate_page(located: &LocateReport, out: &mut dyn Write) -> io::Result<()> {
    let Some(divergence) = located.divergence() else { return Ok(()) };
    let title = format!("Where {} starts to fail", cut(located.finding.test.as_str()));
    let main = html! { (contents(located, divergence)) (footer()) };
    out.write_all(standalone(&title, &[include_str!("../base.css")], main).as_bytes())
}

/// The content below the title.
pub(crate) fn contents(located: &LocateReport, divergence: &Divergence) -> Markup {
    html! {
        header {
            p.kicker { "unflake locate" }
            h1 { "Where " code { (cut(located.finding.test.as_str())) } " starts to fail" }
            p.lead {
                @match divergence.locations.first() {
                    Some(start) => {
                        "Root cause (" (confidence(located.finding).unwrap_or_default()) "): "
                        code { (cut(&file_and_line(&start.line))) } ", " (sentence(&start.sentence))
                    },
                    None => {
                        "Root cause not found: "
                        (sentence(&divergence_text::no_location_reason(divergence)))
                    },
                }
            }
        }
        (facts(located, divergence))
        (body(located, divergence))
    }
}

/// The most important facts, as a short list.
fn facts(located: &LocateReport, divergence: &Divergence) -> Markup {
    let start = divergence.locations.first();
    let message = divergence_text::divergence_points(divergence).0.and_then(|point| point.messages.first());
    let message = message.map(|(message, _)| message.trim()).filter(|message| !message.is_empty());
    html! {
        dl.facts {
            @if let Some(start) = start { dt { "Location" } dd { (at(&start.line)) } }
            @if let Some(shows) = &divergence.shows {
                dt { "Failure" }
                dd { (at(shows)) @if let Some(message) = message { blockquote { (cut(message)) } } }
            }
            dt { "Kind" }
            dd {
                strong { (capital(divergence_text::cause_name(divergence.kind))) }
                @if !divergence.because.trim().is_empty() { ", because " (sentence(&divergence.because)) }
            }
            dt { "Fix" } dd { (divergence_text::advice(divergence).replace('`', "")) }
            @if let Some(start) = start {
                dt { "Confidence" }
                dd { (capital(&confidence(located.finding).unwrap_or_default())) ". It separates " (separated(start, divergence)) "." }
            }
            dt { "Runs" } dd { (runs(located, divergence)) }
        }
    }
}

fn runs(located: &LocateReport, divergence: &Divergence) -> String {
    let passed = divergence.runs.saturating_sub(divergence.failed);
    let all = format::count(divergence.runs as usize, "run");
    let excluded = match divergence.timed_out {
        0 => String::new(),
        runs => {
            format!(" {runs} more timed out and are not compared: where they stop depends on the time limit only.")
        }
    };
    // A report drawn from the store has no duration.
    let time =
        if located.seconds > 0.0 { format!(", in {}", format::duration(located.seconds)) } else { String::new() };
    format!("{all}: {} failed, {passed} passed{time}.{excluded}", divergence.failed)
}

fn separated(location: &Location, divergence: &Divergence) -> String {
    let passed = divergence.runs.saturating_sub(divergence.failed);
    match location.passing {
        0 => format!("{} of {} failing runs from all {passed} passing ones", location.failing, divergence.failed),
        taken => format!(
            "{} of {} failing runs from passing ones; {taken} of {passed} passing runs have it too",
            location.failing, divergence.failed
        ),
    }
}
