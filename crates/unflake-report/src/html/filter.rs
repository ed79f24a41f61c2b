//! HTML page with the precision curves of the assertion filter, without external resources.

use std::io::{self, Write};

use maud::{Markup, display, html};

use crate::TuneReport;
use crate::html::markup::standalone;
use crate::terminal::filter::{ThresholdRow, evidence_sentence};
use crate::text::format;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}\
    svg{width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:currentColor}\
    .axis{stroke:currentColor;stroke-width:1}.grid{stroke:currentColor;opacity:.15}\
    .removed{fill:none;stroke:#b45309;stroke-width:2;stroke-dasharray:6 4}.kept{fill:none;stroke:#2563eb;stroke-width:2}\
    .dot-removed{fill:none;stroke:#b45309;stroke-width:2}.dot-kept{fill:#2563eb}.chosen{stroke:currentColor;stroke-width:1.5}\
    table{border-collapse:collapse}td,th{padding:.1rem 1rem .1rem 0;text-align:right}";

/// Size of the chart, and the margin around it.
const SIZE: (f64, f64) = (640.0, 320.0);
const MARGIN: f64 = 40.0;

/// Writes the page.
pub fn tune_page(tuned: &TuneReport, out: &mut dyn Write) -> io::Result<()> {
    let removed = tuned.removed * 100.0;
    let varying = format::count(tuned.varied as usize, "varying assertion");
    let page = html! {
        h1 { (format!("Threshold {:.2}", tuned.threshold)) }
        p { (format!("It excuses {removed:.0} % of {varying}, and no failure that was labelled true or update.")) }
        p { (format::capital(&evidence_sentence(tuned))) "." }
        @if let Some((threshold, share)) = tuned.balance {
            @let share = share * 100.0;
            p { (format!("Both curves meet at {threshold:.2}: {share:.0} % excused, {share:.0} % of bugs kept.")) }
        }
        (curves(tuned))
        (table(tuned))
    };
    out.write_all(standalone("Threshold of the assertion filter", &[STYLE], page).as_bytes())
}

fn curves(tuned: &TuneReport) -> Markup {
    let (width, height) = SIZE;
    let most = tuned.curve.last().map_or(0.1, |last| last.0).max(tuned.threshold).max(0.1);
    let x = |threshold: f64| MARGIN + threshold / most * (width - 2.0 * MARGIN);
    let y = |share: f64| height - MARGIN - share * (height - 2.0 * MARGIN);
    let points = |share: fn(&ThresholdRow) -> Option<f64>| -> Vec<(f64, f64)> {
        tuned.curve.iter().filter_map(|at| Some((x(at.0), y(share(at)?)))).collect()
    };
    let every = (tuned.curve.len() / 8).max(1);
    let name = "Share of varying assertions excused and of bug-revealing ones kept, by threshold";
    let legend = "dashed, hollow: varying assertions excused · solid, filled: bug-revealing assertions kept";
    html! {
        svg role="img" viewBox=(format!("0 0 {width} {height}")) aria-label=(name) {
            @for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
                (line("grid", [x(0.0), x(most)], [y(share), y(share)]))
                (label(4.0, y(share) + 4.0, &format!("{:.0} %", share * 100.0)))
            }
            (line("axis", [x(0.0), x(most)], [y(0.0), y(0.0)]))
            @for (threshold, ..) in tuned.curve.iter().step_by(every) {
                (label(x(*threshold) - 8.0, height - MARGIN + 16.0, &format!("{threshold:.1}")))
            }
            (curve(&points(|at| at.1), ["removed", "dot-removed"]))
            (curve(&points(|at| at.2), ["kept", "dot-kept"]))
            (line("chosen", [x(tuned.threshold); 2], [y(0.0), y(1.0)]))
            (label(MARGIN, 16.0, legend))
        }
    }
}

fn line(class: &str, [x1, x2]: [f64; 2], [y1, y2]: [f64; 2]) -> Markup {
    html! { line class=(class) x1=(display(x1)) x2=(display(x2)) y1=(display(y1)) y2=(display(y2)) {} }
}

fn curve(points: &[(f64, f64)], [line, dot]: [&str; 2]) -> Markup {
    let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    html! {
        polyline class=(line) points=(path.join(" ")) {}
        @for (x, y) in points { circle class=(dot) cx=(display(x)) cy=(display(y)) r="3" {} }
    }
}

fn label(x: f64, y: f64, text: &str) -> Markup {
    html! { text x=(display(x)) y=(display(y)) { (text) } }
}

fn table(tuned: &TuneReport) -> Markup {
    html! {
        table {
            tr { th { "threshold" } th { "excused" } th { "bugs kept" } }
            @for (threshold, removed, kept) in &tuned.curve {
                tr {
                    td { (format!("{threshold:.1}")) }
                    @for share in [removed, kept] {
                        td { (share.map_or("–".to_owned(), |share| format!("{:.0} %", share * 100.0))) }
                    }
                }
            }
        }
    }
}
