//! The inbox: what costs the most time, and what to do about it.

use serde::Serialize;

use super::cause::CauseSummary;
use super::layout::{PageLayout, pages};
use super::{HistoryTotals, Pagination, draw};
use crate::html::markup::Html;
use crate::text::format;

#[derive(Clone, Debug, Serialize)]
pub struct Inbox {
    pub overall: HistoryTotals,
    pub causes: Vec<CauseSummary>,
    pub pages: Pagination,
}

impl Inbox {
    pub(super) fn draw(&self, html: &mut Html, frame: &PageLayout) {
        html.put("h1", "What to look at");
        self.overall.draw(html, frame);
        if self.causes.is_empty() {
            self.nothing(html);
            return;
        }
        let how = "Failures that say the same in the same place, or are found to start at the same line, are taken for one cause. What cost most time in failing and running again comes first.";
        html.put("p class=\"soft\"", how);
        html.inside("ol class=\"causes\"", |html| {
            for cause in &self.causes {
                html.inside("li", |html| cause.entry(html, frame));
            }
        });
        let shown = self.causes.len();
        if frame.is_file() && self.pages.total > shown {
            let left = format::count(self.pages.total - shown, "more cause");
            html.put("p class=\"soft\"", &format!("… and {left}: unflake serve shows all of them"));
        }
        pages(html, frame, &self.pages, "/", "", "cause");
    }

    fn nothing(&self, html: &mut Html) {
        html.inside("p class=\"lead\"", |html| {
            html.text(match (self.overall.runs, self.overall.tests) {
                (0, _) => "Nothing is known yet.",
                _ => "Nothing has to be looked at: no test is flaky or broken by what is known.",
            });
        });
        html.inside("p", |html| {
            html.text("What adds to this: ");
            draw::command(html, "unflake run -- COMMAND");
            html.text(" runs your tests, ");
            draw::command(html, "unflake import REPORT…");
            html.text(" takes in results of your CI.");
        });
    }
}

impl HistoryTotals {
    fn draw(&self, html: &mut Html, frame: &PageLayout) {
        html.inside("p class=\"overall\"", |html| {
            html.text(&format!("{} · {} · ", format::count(self.tests, "test"), format::count(self.runs, "run")));
            html.put("strong", &format!("{} flaky", self.flaky)).text(" · ");
            html.put("strong", &format!("{} broken", self.broken));
            if self.seconds_lost >= 0.1 {
                html.text(&format!(" · {} lost", format::duration(self.seconds_lost)));
            }
            if let Some(since) = self.since {
                html.text(&format!(" · since {}", frame.when(since)));
            }
        });
        if self.set_apart > 0 {
            let runs = format::count(self.set_apart, "run");
            html.put(
                "p class=\"soft\"",
                &format!("{runs} set apart: most tests failed there, which no test can be blamed for."),
            );
        }
        if let Some(run) = &self.going_on {
            html.inside("p class=\"now\"", |html| {
                html.text("A run is going on: ");
                let known = run.listed.map(|listed| format!(" of {listed}")).unwrap_or_default();
                frame.lead(html, &frame.run(&run.head.id), &format!("{}{known} attempts so far", run.attempts));
            });
        }
        if self.behind {
            html.put("p class=\"now\"", "The history has grown. It is being read; load this page again in a moment.");
        }
    }
}
