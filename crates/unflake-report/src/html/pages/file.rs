//! All pages in one file: the inbox, its causes and tests, and the runs.

use std::collections::BTreeSet;

use super::layout::{Links, PageLayout, link, page};
use super::{CausePage, Inbox, RunPage, RunRow, TestPage};
use crate::html::markup::Html;
use crate::text::format;

#[derive(Clone, Debug)]
pub struct SingleFileReport {
    pub inbox: Inbox,
    pub causes: Vec<CausePage>,
    /// The flaky and broken tests; not all of them where they are many.
    pub concerned: Vec<TestPage>,
    pub run_count: usize,
    /// Newest first; not all of them where they are many.
    pub runs: Vec<RunPage>,
}

impl SingleFileReport {
    pub fn html(&self, frame: &PageLayout) -> String {
        let frame =
            &PageLayout { links: Links::File(self.places()), may_write: false, again_after: None, ..frame.clone() };
        page(frame, "Flaky tests".to_owned(), "", |html| {
            html.inside("section id=\"inbox\"", |html| self.inbox.draw(html, frame));
            for cause in &self.causes {
                part(html, "cause", &cause.cause.id, |html| cause.draw(html, frame));
            }
            for test in &self.concerned {
                part(html, "test", &test.concern.key.to_string(), |html| test.draw(html, frame));
            }
            html.inside("section class=\"part\" id=\"runs\"", |html| {
                html.put("h1", "Runs");
                let runs: Vec<RunRow> = self.runs.iter().map(|run| run.run.clone()).collect();
                super::runs::table(html, frame, &runs);
                if self.run_count > runs.len() {
                    let more = format::count(self.run_count - runs.len(), "run");
                    html.put("p class=\"soft\"", &format!("… and {more} before"));
                }
            });
            for run in self.runs.iter().filter(|run| run.failure_count > 0) {
                part(html, "run", &run.run.head.id, |html| run.draw(html, frame));
            }
        })
    }

    /// The anchors that links may point to.
    fn places(&self) -> BTreeSet<String> {
        let causes = self.causes.iter().map(|one| format!("#cause-{}", one.cause.id));
        let tests = self.concerned.iter().map(|one| format!("#test-{}", one.concern.key));
        let runs = self.runs.iter().filter(|run| run.failure_count > 0);
        causes.chain(tests).chain(runs.map(|one| format!("#run-{}", one.run.head.id))).collect()
    }
}

/// A section with an anchor.
fn part(html: &mut Html, what: &str, id: &str, draw: impl FnOnce(&mut Html)) {
    html.inside_with("section class=\"part\"", &[("id", &format!("{what}-{id}"))], |html| {
        html.inside("p class=\"up\"", |html| link(html, "#inbox", "↑ to the inbox"));
        draw(html);
    });
}
