//! Sections of the page: code, values, how the runs diverge, other locations, limitations.

use maud::{Markup, html};
use unflake_model::{Cause, Confidence, Divergence, DivergencePoint, Location, SourceLine};

use crate::LocateReport;
use crate::divergence_text::{self, diverges_where, file_and_line, grouped_digits};
use crate::html::locate::code::{cut, figure, legend};
use crate::html::locate::values;
use crate::terminal::excerpt::{ExcerptLimits, ExcerptScope};
use crate::text::confidence::p_value;
use crate::text::format::{self, capital};

const WHOLE: ExcerptLimits = ExcerptLimits { context: 3, rows: 60, files: 5, all: true };
const BRIEF: ExcerptLimits = ExcerptLimits { context: 2, rows: 24, files: 3, all: false };
/// Longest list whose length tests determine.
const LISTED: usize = 12;

pub(crate) fn body(located: &LocateReport, divergence: &Divergence) -> Markup {
    let (point, others) = divergence_text::divergence_points(divergence);
    let scope = ExcerptScope { divergence, start: divergence.locations.first(), point };
    let excerpts = scope.excerpts(located.sources, WHOLE);
    let marked = excerpts.iter().flat_map(|excerpt| &excerpt.rows).any(|row| row.start || row.executed_by.is_some());
    let valued: Vec<&Location> = divergence.locations.iter().filter(|one| one.value.is_some()).take(LISTED).collect();
    let runs = format::count(divergence.runs as usize, "run");
    html! {
        @if !excerpts.is_empty() {
            (section("Code", html! {
                @if marked { (legend()) }
                @for excerpt in &excerpts { (figure(divergence, excerpt)) }
            }))
        }
        @if let Some(split) = valued.first().and_then(|first| first.value.as_ref()) {
            (section("Values", html! { (values::scale(split)) (values::table(&valued)) }))
        }
        @if let Some(point) = point {
            (section("Where the runs diverge", html! { p { (point_sentence(divergence, point)) } (point_details(point)) }))
        }
        @if !others.is_empty() {
            (section("Other divergence points", html! {
                @for point in others.iter().take(LISTED) { (other_point(located, divergence, point)) }
                @if let Some(more) = more(others.len()) { p { (more) } }
            }))
        }
        @if divergence.locations.len() > 1 {
            (section("Other candidate locations", other_locations(divergence)))
        }
        @if let Some(command) = located.reproduce {
            (section("Reproduce", html! {
                pre.command { code { (cut(command)) } }
                p.soft { "It failed in " (divergence.failed) " of " (runs) " here, so repeat it." }
            }))
        }
        (section("Limits", html! {
            ul {
                @for text in divergence.unknown.iter().take(LISTED) { li { (cut(&capital(&sentence(text)))) } }
                @if let Some(more) = more(divergence.unknown.len()) { li { (more) } }
                li { (caveat(divergence)) }
            }
        }))
    }
}

/// What comparing runs cannot establish.
fn caveat(divergence: &Divergence) -> &'static str {
    match divergence.kind {
        _ if divergence.locations.is_empty() => {
            "Only the project's own code was recorded, not libraries or other processes."
        }
        Cause::Unknown => "This location separates failing from passing runs; why it differs between runs is unknown.",
        _ => {
            "This location separates failing from passing runs. A change there after which the test no longer fails \
             would prove that it is the cause."
        }
    }
}

/// How many runs diverge, where, and what they have in common before.
fn point_sentence(divergence: &Divergence, point: &DivergencePoint) -> Markup {
    html! {
        (point.runs) " of " (divergence.failed) " failing runs diverge " (cut(&diverges_where(point))) ", in "
        strong { (cut(&point.strand)) }
        @match point.common {
            0 => ".",
            1 => ", after 1 line in common with the most similar passing run.",
            n => { ", after " (grouped_digits(n)) " lines in common with the most similar passing run." },
        }
        @if point.failing.is_empty() { " The failing runs end there." }
        @if point.passing.is_empty() { " The passing run ends there." }
    }
}

/// What is known about the runs that diverge at this point.
fn point_details(point: &DivergencePoint) -> Markup {
    let hidden = point.calls.len().saturating_sub(LISTED);
    html! {
        @if !point.calls.is_empty() {
            h3 { "Call stack" }
            ol.calls {
                @if hidden > 0 { li.soft { (hidden) " outer calls" } }
                @for line in &point.calls[hidden..] { li { (at(line)) } }
            }
        }
        @if !point.messages.is_empty() {
            h3 { "Failures of these runs" }
            @for (message, runs) in point.messages.iter().take(LISTED) {
                p.soft { (format::count(*runs as usize, "run")) }
                @match message.trim() {
                    "" => { p { "no message" } },
                    message => { blockquote { (cut(message)) } },
                }
            }
            @if let Some(more) = more(point.messages.len()) { p { (more) } }
        }
        @if !point.elsewhere.is_empty() {
            h3 { "Other threads and tasks that diverge" }
            ul {
                @for (strand, last) in point.elsewhere.iter().take(LISTED) {
                    li {
                        strong { (cut(strand)) } " "
                        @match last {
                            Some(last) => { "after " code { (cut(&file_and_line(last))) } },
                            None => "at once",
                        }
                    }
                }
                @if let Some(more) = more(point.elsewhere.len()) { li { (more) } }
            }
        }
    }
}

fn other_point(located: &LocateReport, divergence: &Divergence, point: &DivergencePoint) -> Markup {
    let scope = ExcerptScope { divergence, start: None, point: Some(point) };
    html! {
        details.other open="open" {
            summary { (point_sentence(divergence, point)) }
            div {
                (point_details(point))
                @for excerpt in &scope.excerpts(located.sources, BRIEF) { (figure(divergence, excerpt)) }
            }
        }
    }
}

fn other_locations(divergence: &Divergence) -> Markup {
    let difference =
        |location: &Location| cut(&format!("{}: {}", divergence_text::kind_text(location.how), location.sentence));
    html! {
        table.plain {
            thead { tr { @for head in ["Place", "What differs", "Confidence"] { th scope="col" { (head) } } } }
            tbody {
                @for location in divergence.locations.iter().skip(1).take(LISTED) {
                    tr {
                        th scope="row" { (at(&location.line)) }
                        td { (difference(location)) }
                        td {
                            (capital(Confidence::of_p_value(location.chance).word())) ", " (p_value(location.chance)) ": "
                            (divergence_text::separated_runs(location, divergence))
                        }
                    }
                }
            }
        }
        @if let Some(more) = more(divergence.locations.len() - 1) { p { (more) } }
    }
}

pub(crate) fn section(title: &str, content: Markup) -> Markup {
    html! { "\n" section { h2 { (title) } (content) } }
}

fn more(all: usize) -> Option<String> {
    (all > LISTED).then(|| format!("… and {} more", all - LISTED))
}

pub(crate) fn at(line: &SourceLine) -> Markup {
    html! { code { (cut(&file_and_line(line))) } " " span.soft { "in " (cut(&line.function)) } }
}

pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim();
    cut(&if text.ends_with(['.', '?', '!']) { text.to_owned() } else { format!("{text}.") })
}
