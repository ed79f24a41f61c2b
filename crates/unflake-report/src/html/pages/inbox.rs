//! The inbox: what costs the most time, and what to do about it.

use maud::{Markup, html};
use serde::Serialize;

use super::cause::CauseSummary;
use super::layout::{PageLayout, pages};
use super::{HistoryTotals, Pagination, RunRow, draw};
use crate::text::format;

#[derive(Clone, Debug, Serialize)]
pub struct Inbox {
    pub overall: HistoryTotals,
    pub causes: Vec<CauseSummary>,
    pub pages: Pagination,
}

impl Inbox {
    pub(super) fn draw(&self, layout: &PageLayout) -> Markup {
        let shown = self.causes.len();
        html! {
            h1 { "Inbox" }
            (self.overall.draw(layout))
            @if self.causes.is_empty() { (self.nothing()) } @else {
                p.soft {
                    "Failures with the same message and place, at the same line of a test, or with the same diagnosis "
                    "count as one cause. The cause that lost most time in failing attempts and reruns comes first."
                }
                ol.causes { @for cause in &self.causes { li { (cause.entry(layout)) } } }
                @if layout.is_file() && self.pages.total > shown {
                    p.soft {
                        "… and " (format::count(self.pages.total - shown, "more cause")) ": unflake serve shows all of them"
                    }
                }
                (pages(layout, &self.pages, "/", "", "cause"))
            }
        }
    }

    fn nothing(&self) -> Markup {
        html! {
            p.lead {
                @if self.overall.runs == 0 { "No runs recorded yet." } @else {
                    "No flaky or broken tests."
                }
            }
            p {
                (draw::command("unflake run -- COMMAND")) " records your tests, "
                (draw::command("unflake history import REPORT…")) " imports results of your CI."
            }
        }
    }
}

impl HistoryTotals {
    fn draw(&self, layout: &PageLayout) -> Markup {
        html! {
            p.overall {
                (format::count(self.tests, "test")) " · " (format::count(self.runs, "run")) " · "
                strong { (self.flaky) " flaky" } " · " strong { (self.broken) " broken" }
                @if self.seconds_lost >= 0.1 { " · " (format::duration(self.seconds_lost)) " lost" }
                @if let Some(since) = self.since { " · since " (layout.when(since)) }
            }
            @if self.excluded_runs > 0 {
                p.soft {
                    (format::count(self.excluded_runs, "run"))
                    " excluded: most tests failed in them, so no single test is the cause."
                }
            }
            @if let Some(run) = &self.going_on {
                p.now { "Run in progress: " (layout.link_or_text(&layout.run(&run.head.id), &so_far(run))) }
            }
            @if self.behind {
                p.now { "New results are being read; reload this page in a moment." }
            }
        }
    }
}

fn so_far(run: &RunRow) -> String {
    let planned = run.listed.map(|listed| format!(" of {listed}")).unwrap_or_default();
    format!("{}{planned} attempts so far", run.attempts)
}
