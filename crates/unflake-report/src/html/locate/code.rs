//! Source excerpts in HTML: each marked line has a sign, a word, a colour and an explanation.

use maud::{Markup, html};
use unflake_model::Divergence;

use crate::divergence_text;
use crate::terminal::excerpt::{Excerpt, ExcerptLine, ExecutedBy, LineNote};

/// Characters shown of one line.
const LONGEST: usize = 400;
/// Columns for one value next to the code.
const VALUE: usize = 40;

/// The marks: sign, name and meaning.
const LEGEND: [(&str, &str, &str); 4] = [
    ("▸", "start", "most likely location of the root cause"),
    ("=", "both", "failing and passing runs"),
    ("✗", "failing", "failing runs, after the divergence"),
    ("✓", "passing", "passing runs, after the divergence"),
];

pub(crate) fn legend() -> Markup {
    html! {
        ul.legend aria-label="What the marks mean" {
            @for (sign, word, meaning) in LEGEND {
                li { span.sign aria-hidden="true" { (sign) } span { strong { (word) } ": " (meaning) } }
            }
        }
    }
}

pub(crate) fn figure(divergence: &Divergence, excerpt: &Excerpt) -> Markup {
    let marks: Vec<Option<usize>> = excerpt.rows.iter().map(mark).collect();
    let explain = |at: usize| at == 0 && marks[0].is_some() || at > 0 && marks[at - 1] != marks[at];
    html! {
        figure {
            figcaption { strong { (cut(excerpt.file)) } span.soft { (cut(excerpt.function)) } }
            table.code {
                thead.hidden { tr { @for head in ["Executed by", "Line", "Source"] { th scope="col" { (head) } } } }
                tbody {
                    @for (at, line) in excerpt.rows.iter().enumerate() {
                        @if line.gap {
                            tr.gap { td colspan="3" { span aria-hidden="true" { "⋮" } span.hidden { "lines left out" } } }
                        }
                        (row(divergence, line, marks[at], explain(at) || !line.notes.is_empty()))
                    }
                }
            }
        }
    }
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

fn row(divergence: &Divergence, row: &ExcerptLine, mark: Option<usize>, explain: bool) -> Markup {
    let class = mark.map_or("unmarked", |mark| LEGEND[mark].1);
    let sign = mark.map(|mark| {
        html! { span.sign aria-hidden="true" { (LEGEND[mark].0) } span.word { (LEGEND[mark].1) } }
    });
    let values = |split: &_| divergence_text::value_ranges(split, VALUE, " · ", "…");
    let notes: Vec<String> = row.notes.iter().map(|note| note.text(divergence.failed, &values)).collect();
    html! {
        tr class=(class) {
            td.mark {
                @match sign {
                    None => {},
                    Some(sign) if !explain => (sign),
                    Some(sign) => {
                        details name="mark" { summary { (sign) } p.bubble { (explanation(divergence, row)) } }
                    },
                }
            }
            th scope="row" class="number" { (row.number) }
            td.line {
                div {
                    @match &row.text {
                        Some(text) => { code { (cut(text)) } },
                        None => { span.soft { "source not available" } },
                    }
                    @if !notes.is_empty() { span.note { (notes.join("; ")) } }
                }
            }
        }
    }
}

/// Explains the mark of a line in full.
fn explanation(divergence: &Divergence, row: &ExcerptLine) -> String {
    let mut sentences: Vec<&str> = Vec::new();
    if row.start {
        sentences.push("Most likely location of the root cause.");
    }
    sentences.extend(row.executed_by.map(|executed_by| match executed_by {
        ExecutedBy::Both => "Failing and passing runs execute this line.",
        ExecutedBy::Failing => {
            "After the divergence, the compared failing run executes this line and the most similar passing run does \
             not."
        }
        ExecutedBy::Passing => {
            "After the divergence, the compared passing run executes this line and the failing run does not."
        }
    }));
    for note in &row.notes {
        sentences.push(match note {
            LineNote::Value(_) => "Its value is next to it.",
            LineNote::Order => "All runs execute the same lines; which thread or task comes first differs.",
            LineNote::Diverges { failing_end: true, .. } => "Failing runs record nothing after it.",
            LineNote::Diverges { passing_end: true, .. } => "Passing runs record nothing after it.",
            LineNote::Diverges { .. } => "Failing and passing runs diverge after this line.",
            LineNote::Failing { .. } => "First line of failing runs after the divergence.",
            LineNote::Passing => "First line of passing runs after the divergence.",
            LineNote::FailureShown => "This is the line that raised the failure.",
        });
    }
    if divergence.points.len() > 1 && row.executed_by.is_some() {
        sentences.push("Other failing runs diverge elsewhere, see below.");
    }
    sentences.join(" ")
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
