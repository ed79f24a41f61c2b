//! Where a flaky test starts to fail, as one page that needs nothing but itself.

use std::io::{self, Write};

use crate::Located;
use crate::divergence::{self, Confidence, place};
use crate::html::Html;

/// Writes the page.
pub fn locate_page(located: &Located, out: &mut dyn Write) -> io::Result<()> {
    let Some(divergence) = located.divergence() else { return Ok(()) };
    let mut html = Html::default();
    html.fixed("<!DOCTYPE html>\n").inside("html lang=\"en\"", |html| {
        html.inside("head", |html| {
            html.void("meta charset=\"utf-8\"", &[]).put("title", located.finding.test.as_str());
        });
        html.inside("body", |html| {
            html.put("h1", located.finding.test.as_str());
            match divergence.locations.first() {
                Some(start) => html.inside("p", |html| {
                    html.text("It ").text(Confidence::of(start.chance).starts_at()).text(" ");
                    html.put("code", &place(&start.line)).text(": ").text(&start.sentence);
                }),
                None => html.put("p", &divergence::nowhere(divergence)),
            };
        });
    });
    out.write_all(html.finish().as_bytes())
}
