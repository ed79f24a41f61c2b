//! Source excerpts in HTML: each marked line has a sign, a word, a colour and an explanation.

use unflake_model::Divergence;

use crate::divergence_text;
use crate::html::markup::Html;
use crate::terminal::excerpt::{Excerpt, ExcerptLine, ExecutedBy, LineNote};

/// Characters shown of one line.
const LONGEST: usize = 400;
/// Columns for one value next to the code.
const VALUE: usize = 40;

/// The marks: sign, name and meaning.
const LEGEND: [(&str, &str, &str); 4] = [
    ("▸", "start", "it starts here"),
    ("=", "both", "failing and passing runs go through it"),
    ("✗", "failing", "the way failing runs take where they part"),
    ("✓", "passing", "the way passing runs take there"),
];

pub(crate) fn legend(html: &mut Html) {
    html.inside("ul class=\"legend\" aria-label=\"What the marks mean\"", |html| {
        for (sign, word, meaning) in LEGEND {
            html.inside("li", |html| {
                html.put("span class=\"sign\" aria-hidden=\"true\"", sign);
                html.inside("span", |html| {
                    html.put("strong", word).text(": ").text(meaning);
                });
            });
        }
    });
}

pub(crate) fn figure(html: &mut Html, divergence: &Divergence, excerpt: &Excerpt) {
    html.inside("figure", |html| {
        html.inside("figcaption", |html| {
            html.put("strong", &cut(excerpt.file)).put("span class=\"soft\"", &cut(excerpt.function));
        });
        html.inside("table class=\"code\"", |html| {
            html.inside("thead class=\"hidden\"", |html| {
                html.inside("tr", |html| {
                    ["Who goes through it", "Line", "Source"].iter().for_each(|head| {
                        html.put("th scope=\"col\"", head);
                    });
                });
            });
            html.inside("tbody", |html| {
                let mut before = None;
                for line in &excerpt.rows {
                    if line.gap {
                        html.inside("tr class=\"gap\"", |html| {
                            html.inside("td colspan=\"3\"", |html| {
                                html.put("span aria-hidden=\"true\"", "⋮")
                                    .put("span class=\"hidden\"", "lines left out");
                            });
                        });
                    }
                    let mark = mark(line);
                    row(html, divergence, line, mark, before != mark || !line.notes.is_empty());
                    before = mark;
                }
            });
        });
    });
}

/// Index of the mark in the legend.
fn mark(row: &ExcerptLine) -> Option<usize> {
    match row.executed_by {
        _ if row.start => Some(0),
        Some(ExecutedBy::Both) => Some(1),
        Some(ExecutedBy::Failing) => Some(2),
        Some(ExecutedBy::Passing) => Some(3),
        None => None,
    }
}

fn row(html: &mut Html, divergence: &Divergence, row: &ExcerptLine, mark: Option<usize>, explain: bool) {
    let class = mark.map_or("unmarked", |mark| LEGEND[mark].1);
    html.inside_with("tr", &[("class", &class)], |html| {
        html.inside("td class=\"mark\"", |html| {
            let Some(mark) = mark else { return };
            let shown = |html: &mut Html| {
                html.put("span class=\"sign\" aria-hidden=\"true\"", LEGEND[mark].0);
                html.put("span class=\"word\"", LEGEND[mark].1);
            };
            if !explain {
                return shown(html);
            }
            html.inside("details name=\"mark\"", |html| {
                html.inside("summary", shown).put("p class=\"bubble\"", &explanation(divergence, row));
            });
        });
        html.put("th scope=\"row\" class=\"number\"", &row.number.to_string());
        html.inside("td class=\"line\"", |html| {
            html.inside("div", |html| {
                match &row.text {
                    Some(text) => html.put("code", &cut(text)),
                    None => html.put("span class=\"soft\"", "the source is not there"),
                };
                let values = |split: &_| divergence_text::value_ranges(split, VALUE, " · ", "…");
                let notes: Vec<String> = row.notes.iter().map(|note| note.text(divergence.failed, &values)).collect();
                if !notes.is_empty() {
                    html.put("span class=\"note\"", &notes.join("; "));
                }
            });
        });
    });
}

/// Explains the mark of a line in full.
fn explanation(divergence: &Divergence, row: &ExcerptLine) -> String {
    let mut told: Vec<&str> = Vec::new();
    if row.start {
        told.push("Of the places that tell failing runs from passing ones, this is the likeliest start.");
    }
    told.extend(row.executed_by.map(|executed_by| match executed_by {
        ExecutedBy::Both => "Failing and passing runs go through this line.",
        ExecutedBy::Failing => {
            "From where they part, the failing run that was compared goes through this line, and the passing run that is \
             most like it does not, as far as both were followed."
        }
        ExecutedBy::Passing => {
            "From where they part, the passing run that was compared goes through this line, and the failing one does \
             not, as far as both were followed."
        }
    }));
    for note in &row.notes {
        told.push(match note {
            LineNote::Value(_) => "What the value was is beside it.",
            LineNote::Order => "The same lines run in all of them; which thread or task comes first differs.",
            LineNote::Diverges { failing_end: true, .. } => "Failing runs record nothing after it.",
            LineNote::Diverges { passing_end: true, .. } => "Passing runs record nothing after it.",
            LineNote::Diverges { .. } => "Up to here both went the same way; the next line is another.",
            LineNote::Failing { .. } => "It is the first line of the failing runs' own way.",
            LineNote::Passing => "It is the first line of the passing runs' own way.",
            LineNote::FailureShown => "This is the line that raised the failure.",
        });
    }
    if divergence.partings.len() > 1 && row.executed_by.is_some() {
        told.push("Other failing runs part elsewhere; they are told further down.");
    }
    told.join(" ")
}

/// The beginning of a text of any length, with the number of characters left out.
pub(crate) fn cut(text: &str) -> String {
    cut_to(text, LONGEST)
}

pub(crate) fn cut_to(text: &str, characters: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(characters) else { return text.to_owned() };
    format!(
        "{} … ({} more characters)",
        &text[..end],
        divergence_text::grouped_digits(text[end..].chars().count() as u64)
    )
}
