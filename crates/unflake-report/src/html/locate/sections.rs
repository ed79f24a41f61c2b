//! Sections of the page: code, values, how the runs diverge, other locations, limitations.

use unflake_model::{Cause, Divergence, DivergencePoint, Location, SourceLine};

use crate::LocateReport;
use crate::divergence_text::{self, Confidence, diverges_where, file_and_line, grouped_digits};
use crate::html::locate::code::{cut, figure, legend};
use crate::html::locate::values;
use crate::html::markup::Html;
use crate::terminal::excerpt::{ExcerptLimits, ExcerptScope};
use crate::text::format::{self, capital};

const WHOLE: ExcerptLimits = ExcerptLimits { context: 3, rows: 60, files: 5, all: true };
const BRIEF: ExcerptLimits = ExcerptLimits { context: 2, rows: 24, files: 3, all: false };
/// Longest list whose length tests determine.
const LISTED: usize = 12;

pub(crate) fn body(html: &mut Html, located: &LocateReport, divergence: &Divergence) {
    let (point, others) = divergence_text::divergence_points(divergence);
    let scope = ExcerptScope { divergence, start: divergence.locations.first(), point };
    let excerpts = scope.excerpts(located.sources, WHOLE);
    if !excerpts.is_empty() {
        section(html, "The code", |html| {
            if excerpts.iter().flat_map(|excerpt| &excerpt.rows).any(|row| row.start || row.executed_by.is_some()) {
                legend(html);
            }
            excerpts.iter().for_each(|excerpt| figure(html, divergence, excerpt));
        });
    }
    let valued: Vec<&Location> = divergence.locations.iter().filter(|one| one.value.is_some()).take(LISTED).collect();
    if !valued.is_empty() {
        section(html, "The values", |html| {
            valued[0].value.iter().for_each(|split| values::strip(html, split));
            values::table(html, &valued);
        });
    }
    if let Some(point) = point {
        section(html, "Where they part", |html| {
            html.inside("p", |html| parted(html, divergence, point));
            part(html, point);
        });
    }
    if !others.is_empty() {
        section(html, "Other ways to fail", |html| {
            others.iter().take(LISTED).for_each(|point| other(html, located, divergence, point));
            more(html, "p", others.len());
        });
    }
    if divergence.locations.len() > 1 {
        section(html, "Other places that tell them apart", |html| places(html, divergence));
    }
    if let Some(command) = located.repeat {
        section(html, "See it yourself", |html| {
            html.inside("pre class=\"command\"", |html| {
                html.put("code", &cut(command));
            });
            let often = format!("Once may not be enough: it failed in {} of", divergence.failed);
            html.put("p class=\"soft\"", &format!("{often} {} here.", format::count(divergence.runs as usize, "run")));
        });
    }
    section(html, "What is not known", |html| {
        html.inside("ul", |html| {
            divergence.unknown.iter().take(LISTED).for_each(|text| {
                html.put("li", &cut(&capital(&sentence(text))));
            });
            more(html, "li", divergence.unknown.len());
            html.put("li", caveat(divergence));
        });
    });
}

/// What comparing runs cannot establish.
fn caveat(divergence: &Divergence) -> &'static str {
    match divergence.kind {
        _ if divergence.locations.is_empty() => {
            "Only the project's own code was recorded; what happens outside of it is not seen."
        }
        Cause::Unknown => {
            "The place tells failing runs from passing ones; what makes it do now this, now that, is open."
        }
        _ => {
            "The place tells failing runs from passing ones; that it is the cause is shown only by a change there after \
             which the test no longer fails."
        }
    }
}

/// How many runs diverge, where, and what they have in common before.
fn parted(html: &mut Html, divergence: &Divergence, point: &DivergencePoint) {
    html.text(&format!("{} of {} failing runs part ", point.runs, divergence.failed));
    html.text(&cut(&diverges_where(point))).text(", in ").put("strong", &cut(&point.strand));
    html.text(&match point.common {
        0 => ".".to_owned(),
        1 => ", after 1 line that is the same as in the passing run most like them.".to_owned(),
        n => format!(", after {} lines that are the same as in the passing run most like them.", grouped_digits(n)),
    });
    if point.failing.is_empty() {
        html.text(" The failing runs end there.");
    }
    if point.passing.is_empty() {
        html.text(" The passing run ends there.");
    }
}

/// What is known about the runs that diverge at this point.
fn part(html: &mut Html, point: &DivergencePoint) {
    if !point.calls.is_empty() {
        html.put("h3", "The calls that lead there");
        html.inside("ol class=\"calls\"", |html| {
            let hidden = point.calls.len().saturating_sub(LISTED);
            if hidden > 0 {
                html.put("li class=\"soft\"", &format!("{hidden} further out"));
            }
            for line in &point.calls[hidden..] {
                html.inside("li", |html| at(html, line));
            }
        });
    }
    if !point.messages.is_empty() {
        html.put("h3", "What these runs said when they failed");
        for (message, runs) in point.messages.iter().take(LISTED) {
            html.put("p class=\"soft\"", &format::count(*runs as usize, "run"));
            match message.trim() {
                "" => html.put("p", "nothing"),
                message => html.put("blockquote", &cut(message)),
            };
        }
        more(html, "p", point.messages.len());
    }
    if !point.elsewhere.is_empty() {
        html.put("h3", "Other threads and tasks that part too");
        html.inside("ul", |html| {
            for (strand, last) in point.elsewhere.iter().take(LISTED) {
                html.inside("li", |html| {
                    html.put("strong", &cut(strand)).text(" ");
                    match last {
                        Some(last) => html.text("after ").put("code", &cut(&file_and_line(last))),
                        None => html.text("at once"),
                    };
                });
            }
            more(html, "li", point.elsewhere.len());
        });
    }
}

fn other(html: &mut Html, located: &LocateReport, divergence: &Divergence, point: &DivergencePoint) {
    html.inside("details class=\"other\" open=\"open\"", |html| {
        html.inside("summary", |html| parted(html, divergence, point));
        html.inside("div", |html| {
            part(html, point);
            let scope = ExcerptScope { divergence, start: None, point: Some(point) };
            scope.excerpts(located.sources, BRIEF).iter().for_each(|excerpt| figure(html, divergence, excerpt));
        });
    });
}

fn places(html: &mut Html, divergence: &Divergence) {
    html.inside("table class=\"plain\"", |html| {
        html.inside("thead", |html| {
            html.inside("tr", |html| {
                ["Place", "What differs", "How sure"].iter().for_each(|head| {
                    html.put("th scope=\"col\"", head);
                });
            });
        });
        html.inside("tbody", |html| {
            for location in divergence.locations.iter().skip(1).take(LISTED) {
                html.inside("tr", |html| {
                    html.inside("th scope=\"row\"", |html| at(html, &location.line));
                    html.put(
                        "td",
                        &cut(&format!("{}: {}", divergence_text::kind_text(location.how), location.sentence)),
                    );
                    let sure = Confidence::of(location.chance).label();
                    html.put(
                        "td",
                        &format!("{}: {}", capital(sure), divergence_text::separated_runs(location, divergence)),
                    );
                });
            }
        });
    });
    more(html, "p", divergence.locations.len() - 1);
}

pub(crate) fn section(html: &mut Html, title: &str, fill: impl FnOnce(&mut Html)) {
    html.fixed("\n").inside("section", |html| {
        html.put("h2", title);
        fill(html);
    });
}

fn more(html: &mut Html, tag: &'static str, all: usize) {
    if all > LISTED {
        html.put(tag, &format!("… and {} more", all - LISTED));
    }
}

pub(crate) fn at(html: &mut Html, line: &SourceLine) {
    html.put("code", &cut(&file_and_line(line))).text(" ");
    html.inside("span class=\"soft\"", |html| {
        html.text("in ").text(&cut(&line.function));
    });
}

pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim();
    cut(&if text.ends_with(['.', '?', '!']) { text.to_owned() } else { format!("{text}.") })
}
