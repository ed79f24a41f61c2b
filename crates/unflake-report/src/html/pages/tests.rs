//! List of all tests, or of those that match a search.

use serde::Serialize;

use super::layout::{PageLayout, pages, query_encoded, test};
use super::{Pagination, TestEntry, draw};
use crate::ScoreState;
use crate::html::markup::Html;
use crate::text::format;

const STRIP: usize = 40;

#[derive(Clone, Debug, Serialize)]
pub struct TestList {
    /// The search text; empty for all tests.
    pub query: String,
    pub tests: Vec<TestEntry>,
    pub pages: Pagination,
}

impl TestList {
    pub(super) fn draw(&self, html: &mut Html, frame: &PageLayout) {
        html.put("h1", "Tests");
        html.inside("form class=\"find\" action=\"/tests\" method=\"get\" role=\"search\"", |html| {
            html.inside("label", |html| {
                html.put("span", "Part of a name");
                html.void("input type=\"search\" name=\"q\" maxlength=\"1000\"", &[("value", &self.query)]);
            });
            html.put("button", "Find");
        });
        let what = if self.query.is_empty() { "" } else { " with it in their names" };
        let order = "those that cost most time first, then by name";
        html.put("p class=\"soft\"", &format!("{}{what}, {order}.", format::count(self.pages.total, "test")));
        table(html, frame, &self.tests);
        pages(html, frame, &self.pages, "/tests", &format!("q={}&", query_encoded(&self.query)), "test");
    }
}

/// One row per test.
pub(super) fn table(html: &mut Html, frame: &PageLayout, tests: &[TestEntry]) {
    if tests.is_empty() {
        return;
    }
    html.inside("div class=\"wide\"", |html| {
        html.inside("table class=\"list\"", |html| {
            html.fixed("<thead><tr><th>State</th><th>Test</th><th class=\"number\">Next time</th><th class=\"number\">Failed</th><th class=\"number\">Runs</th><th class=\"number\">Lost</th><th>Last runs</th></tr></thead>");
            html.inside("tbody", |html| {
                for concern in tests {
                    html.inside("tr", |html| row(html, frame, concern));
                }
            });
        });
    });
}

fn row(html: &mut Html, frame: &PageLayout, concern: &TestEntry) {
    let score = &concern.score;
    html.inside("td", |html| draw::state(html, score.state));
    html.inside("td class=\"name\"", |html| {
        test(html, frame, concern);
        if let Some(until) = concern.quarantined_until {
            html.put("span class=\"tag\"", &format!("quarantine until {until}"));
        }
    });
    html.inside("td class=\"number\"", |html| draw::chance(html, concern));
    // Runs in which it was broken count only while it still is.
    let broken = if score.state == ScoreState::Broken { score.broken } else { 0 };
    html.put("td class=\"number\"", &(score.failures + broken).to_string());
    html.put("td class=\"number\"", &(score.runs + broken).to_string());
    let lost = if score.seconds_lost < 0.05 { String::new() } else { format::duration(score.seconds_lost) };
    html.put("td class=\"number\"", &lost);
    html.inside("td", |html| draw::strip(html, &score.strip, STRIP));
}
