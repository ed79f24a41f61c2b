//! HTML page with the precision curves of the assertion filter, without external resources.

use std::io::{self, Write};

use crate::TuneReport;
use crate::html::markup::Html;
use crate::terminal::filter::{ThresholdPoint, evidence_sentence};
use crate::text::format;

const HEAD: &str = "<meta charset=\"utf-8\"/>\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"/>\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
    <meta name=\"color-scheme\" content=\"light dark\"/>";
const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}\
    svg{width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:currentColor}\
    .axis{stroke:currentColor;stroke-width:1}.grid{stroke:currentColor;opacity:.15}\
    .removed{fill:none;stroke:#b45309;stroke-width:2;stroke-dasharray:6 4}.kept{fill:none;stroke:#2563eb;stroke-width:2}\
    .dot-removed{fill:none;stroke:#b45309;stroke-width:2}.dot-kept{fill:#2563eb}.chosen{stroke:currentColor;stroke-width:1.5}\
    table{border-collapse:collapse}td,th{padding:.1rem 1rem .1rem 0;text-align:right}";

/// Size of the chart, and the margin around it.
const SIZE: (f64, f64) = (640.0, 320.0);
const ROOM: f64 = 40.0;

/// Writes the page.
pub fn tune_page(tuned: &TuneReport, out: &mut dyn Write) -> io::Result<()> {
    let mut html = Html::default();
    html.fixed("<!DOCTYPE html>\n").inside("html lang=\"en\"", |html| {
        html.inside("head", |html| {
            html.fixed(HEAD).put("title", "Threshold of the flake filter").inside("style", |html| {
                html.fixed(STYLE);
            });
        });
        html.inside("body", |html| {
            html.put("h1", &format!("Threshold {:.2}", tuned.threshold));
            let removed = tuned.removed * 100.0;
            let what = format::count(tuned.varied as usize, "varying assertion");
            html.put(
                "p",
                &format!("It lets {removed:.0} % of {what} fail, and none whose failure was marked true or update."),
            );
            html.put("p", &format!("{}.", format::capital(&evidence_sentence(tuned))));
            if let Some((threshold, share)) = tuned.balance {
                let share = share * 100.0;
                html.put("p", &format!("Both curves meet at {threshold:.2}: {share:.0} % taken out, as many kept."));
            }
            curves(html, tuned);
            table(html, tuned);
        });
    });
    html.fixed("\n");
    out.write_all(html.finish().as_bytes())
}

fn curves(html: &mut Html, tuned: &TuneReport) {
    let (width, height) = SIZE;
    let most = tuned.curve.last().map_or(0.1, |last| last.0).max(tuned.threshold).max(0.1);
    let x = |threshold: f64| ROOM + threshold / most * (width - 2.0 * ROOM);
    let y = |share: f64| height - ROOM - share * (height - 2.0 * ROOM);
    let view = format!("0 0 {width} {height}");
    let label = "Share of flaky assertions taken out, and of bug-revealing ones kept, by threshold";
    html.inside_with("svg role=\"img\"", &[("viewBox", &view), ("aria-label", &label)], |html| {
        for step in 0..=4 {
            let share = f64::from(step) / 4.0;
            html.void(
                "line class=\"grid\"",
                &[("x1", &x(0.0)), ("x2", &x(most)), ("y1", &y(share)), ("y2", &y(share))],
            );
            written(html, 4.0, y(share) + 4.0, &format!("{:.0} %", share * 100.0));
        }
        html.void("line class=\"axis\"", &[("x1", &x(0.0)), ("x2", &x(most)), ("y1", &y(0.0)), ("y2", &y(0.0))]);
        let every = (tuned.curve.len() / 8).max(1);
        for (threshold, ..) in tuned.curve.iter().step_by(every) {
            written(html, x(*threshold) - 8.0, height - ROOM + 16.0, &format!("{threshold:.1}"));
        }
        let points = |share: fn(&ThresholdPoint) -> Option<f64>| -> Vec<(f64, f64)> {
            tuned.curve.iter().filter_map(|at| Some((x(at.0), y(share(at)?)))).collect()
        };
        curve(html, &points(|at| at.1), ["polyline class=\"removed\"", "circle class=\"dot-removed\""]);
        curve(html, &points(|at| at.2), ["polyline class=\"kept\"", "circle class=\"dot-kept\""]);
        let at = x(tuned.threshold);
        html.void("line class=\"chosen\"", &[("x1", &at), ("x2", &at), ("y1", &y(0.0)), ("y2", &y(1.0))]);
        written(
            html,
            ROOM,
            16.0,
            "dashed, hollow: varying assertions that may fail · solid, filled: bug-revealing ones that count",
        );
    });
}

fn curve(html: &mut Html, points: &[(f64, f64)], [line, dot]: [&'static str; 2]) {
    let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    html.void(line, &[("points", &path.join(" "))]);
    for (x, y) in points {
        html.void(dot, &[("cx", x), ("cy", y), ("r", &3)]);
    }
}

fn written(html: &mut Html, x: f64, y: f64, text: &str) {
    html.inside_with("text", &[("x", &x), ("y", &y)], |html| {
        html.text(text);
    });
}

fn table(html: &mut Html, tuned: &TuneReport) {
    html.inside("table", |html| {
        html.fixed("<tr><th>threshold</th><th>may fail</th><th>bugs kept</th></tr>");
        for (threshold, removed, kept) in &tuned.curve {
            html.inside("tr", |html| {
                html.put("td", &format!("{threshold:.1}"));
                for share in [removed, kept] {
                    html.put("td", &share.map_or("–".to_owned(), |share| format!("{:.0} %", share * 100.0)));
                }
            });
        }
    });
}
