//! All pages in one file: the inbox, its causes and tests, and the runs.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::layout::{Links, PageLayout, link, page};
use super::{CausePage, Inbox, RunPage, RunRow, TestPage};
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
    pub fn html(&self, layout: &PageLayout) -> String {
        let links = Links::File(self.anchors());
        let layout = &PageLayout { links, may_write: false, again_after: None, ..layout.clone() };
        let runs: Vec<RunRow> = self.runs.iter().map(|run| run.run.clone()).collect();
        let content = html! {
            section #inbox { (self.inbox.draw(layout)) }
            @for cause in &self.causes { (part("cause", &cause.cause.id, cause.draw(layout))) }
            @for test in &self.concerned { (part("test", &test.concern.key.to_string(), test.draw(layout))) }
            section.part #runs {
                h1 { "Runs" }
                (super::runs::table(layout, &runs))
                @if self.run_count > runs.len() {
                    p.soft { "… and " (format::count(self.run_count - runs.len(), "run")) " earlier" }
                }
            }
            @for run in self.runs.iter().filter(|run| run.failure_count > 0) {
                (part("run", &run.run.head.id, run.draw(layout)))
            }
        };
        page(layout, "Flaky tests", "", content)
    }

    /// The anchors that links may point to.
    fn anchors(&self) -> BTreeSet<String> {
        let causes = self.causes.iter().map(|one| format!("#cause-{}", one.cause.id));
        let tests = self.concerned.iter().map(|one| format!("#test-{}", one.concern.key));
        let runs = self.runs.iter().filter(|run| run.failure_count > 0);
        causes.chain(tests).chain(runs.map(|one| format!("#run-{}", one.run.head.id))).collect()
    }
}

/// A section with an anchor.
fn part(what: &str, id: &str, content: Markup) -> Markup {
    html! {
        section.part id={ (what) "-" (id) } { p.up { (link("#inbox", "↑ to the inbox")) } (content) }
    }
}
