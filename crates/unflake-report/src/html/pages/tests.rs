//! List of all tests, or of those that match a search.

use maud::{Markup, display, html};
use serde::Serialize;

use super::layout::{PageLayout, pages, query_encoded, test};
use super::{Pagination, TestEntry, draw};
use crate::ScoreState;
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
    pub(super) fn draw(&self, layout: &PageLayout) -> Markup {
        let what = if self.query.is_empty() { "" } else { " with a matching name" };
        html! {
            h1 { "Tests" }
            form.find action="/tests" method="get" role="search" {
                label {
                    span { "Part of a name" }
                    input type="search" name="q" maxlength="1000" value=(self.query);
                }
                button { "Find" }
            }
            p.soft {
                (format::count(self.pages.total, "test")) (what) ", by time lost, then by name."
            }
            (table(layout, &self.tests))
            (pages(layout, &self.pages, "/tests", &format!("q={}&", query_encoded(&self.query)), "test"))
        }
    }
}

/// One row per test.
pub(super) fn table(layout: &PageLayout, tests: &[TestEntry]) -> Markup {
    if tests.is_empty() {
        return Markup::default();
    }
    html! {
        div.wide {
            table.list {
                thead {
                    tr {
                        th { "State" } th { "Test" }
                        @for head in ["Next failure", "Failed", "Runs", "Lost"] { th.number { (head) } }
                        th { "Last runs" }
                    }
                }
                tbody { @for entry in tests { (row(layout, entry)) } }
            }
        }
    }
}

fn row(layout: &PageLayout, entry: &TestEntry) -> Markup {
    let score = &entry.score;
    // Runs in which it was broken count only while it still is.
    let broken = if score.state == ScoreState::Broken { score.broken } else { 0 };
    html! {
        tr {
            td { (draw::state(score.state)) }
            td.name {
                (test(layout, entry))
                @if let Some(until) = entry.quarantined_until { span.tag { "quarantine until " (display(until)) } }
            }
            td.number { (draw::chance(entry)) }
            td.number { (score.failures + broken) }
            td.number { (score.runs + broken) }
            td.number { @if score.seconds_lost >= 0.05 { (format::duration(score.seconds_lost)) } }
            td { (draw::strip(&score.strip, STRIP)) }
        }
    }
}
