//! Values in failing and passing runs: a table, and a scale where all are numbers.

use maud::{Markup, PreEscaped, html};
use unflake_model::{Location, ValueSplit};

use crate::divergence_text::file_and_line;
use crate::html::locate::code::{cut, cut_to};

/// Values shown per variable for failing and for passing runs.
const EXAMPLES: usize = 12;
/// Characters shown of one value.
const LONGEST: usize = 120;
/// Narrowest visible bar, in per cent of the scale.
const NARROWEST: f64 = 0.8;

pub(crate) fn table(locations: &[&Location]) -> Markup {
    html! {
        table.plain {
            thead { tr { @for head in ["Value", "In failing runs", "In passing runs"] { th scope="col" { (head) } } } }
            tbody {
                @for (location, split) in locations.iter().filter_map(|one| Some((one, one.value.as_ref()?))) {
                    tr {
                        th scope="row" {
                            code { (cut(&split.name)) } (PreEscaped("<br/>"))
                            span.soft { (cut(&file_and_line(&location.line))) }
                        }
                        td { (examples(&split.failing)) }
                        td { (examples(&split.passing)) }
                    }
                }
            }
        }
    }
}

fn examples(values: &[String]) -> Markup {
    html! {
        @if values.is_empty() {
            span.soft { "none" }
        } @else {
            ul.values {
                @for value in values.iter().take(EXAMPLES) { li { code { (cut_to(value, LONGEST)) } } }
                @if values.len() > EXAMPLES { li.soft { "and " (values.len() - EXAMPLES) " more" } }
            }
        }
    }
}

/// From and to; equal for a single number.
type Span = (f64, f64);

/// Draws failing and passing values on one scale. Draws nothing unless all are numbers.
pub(crate) fn scale(split: &ValueSplit) -> Markup {
    let spans = |values: &[String]| values.iter().map(|value| span(value)).collect::<Option<Vec<Span>>>();
    let Some((failing, passing)) = spans(&split.failing).zip(spans(&split.passing)) else { return Markup::default() };
    let all = || failing.iter().chain(&passing);
    let low = all().map(|span| span.0).fold(f64::INFINITY, f64::min);
    let high = all().map(|span| span.1).fold(f64::NEG_INFINITY, f64::max);
    if failing.is_empty() || passing.is_empty() || !(high - low).is_normal() {
        return Markup::default();
    }
    let bars = |class: &str, spans: &[Span]| {
        let bars = spans.iter().map(|(from, to)| bar(*from, *to, low, high));
        html! {
            @for (x, width) in bars {
                rect y="15%" height="70%" x=(format!("{x:.2}%")) width=(format!("{width:.2}%")) class=(class) {}
            }
        }
    };
    html! {
        div.strip {
            @for (word, class, spans, texts) in
                [("failing", "fail", &failing, &split.failing), ("passing", "pass", &passing, &split.passing)]
            {
                span aria-hidden="true" { (word) }
                svg role="img" aria-label=(cut(&format!("{word} runs: {}", texts.join(", ")))) { (bars(class, spans)) }
            }
            span.ends aria-hidden="true" { span { (number(low)) } span { (number(high)) } }
        }
    }
}

fn number(number: f64) -> String {
    let usual = number == 0.0 || (1e-4..1e12).contains(&number.abs());
    if usual { number.to_string() } else { format!("{number:e}") }
}

/// Start and width of a bar, in per cent.
fn bar(from: f64, to: f64, low: f64, high: f64) -> (f64, f64) {
    let at = |value: f64| (value - low) / (high - low) * 100.0;
    let width = (at(to) - at(from)).max(NARROWEST);
    (at(from).min(100.0 - width), width)
}

/// Parses `0.93` or `0.93 – 0.99`.
fn span(text: &str) -> Option<Span> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    match text.split_once('–') {
        Some((from, to)) => number(from).zip(number(to)).filter(|(from, to)| from <= to),
        None => number(text).map(|number| (number, number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_only_numbers_and_ranges() {
        let read = ["0.93 – 0.99", "-3–-1", "7", " 1e3 ", "1 – x", "2 – 1", "inf", "'7'", ""].map(span);
        let expected = [Some((0.93, 0.99)), Some((-3.0, -1.0)), Some((7.0, 7.0)), Some((1000.0, 1000.0))];
        assert_eq!(read[..4], expected);
        assert_eq!(read[4..], [None; 5]);
    }

    #[test]
    fn bars_stay_inside_the_scale_and_are_visible() {
        assert_eq!(bar(0.0, 5.0, 0.0, 10.0), (0.0, 50.0));
        assert_eq!(bar(10.0, 10.0, 0.0, 10.0), (100.0 - NARROWEST, NARROWEST));
    }
}
