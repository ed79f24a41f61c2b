//! Page for one run: its parameters and its failures.

use maud::{Markup, html};
use serde::Serialize;

use super::layout::{PageLayout, first_line, link, name};
use super::runs::{RunRow, end};
use crate::text::format;

#[derive(Clone, Debug, Serialize)]
pub struct RunPage {
    #[serde(flatten)]
    pub run: RunRow,
    /// Further facts, each with its label.
    pub facts: Vec<(&'static str, String)>,
    /// Real failures first; not all of them where they are many.
    pub failures: Vec<RunFailure>,
    pub failure_count: usize,
    /// Notes of the run.
    pub notes: Vec<String>,
}

/// A test that failed in a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunFailure {
    pub key: i64,
    pub test: String,
    pub failed: u32,
    /// Passing attempts in the same run.
    pub passed: u32,
    pub message: String,
}

impl RunPage {
    pub(super) fn title(&self) -> String {
        format!("Run {}", self.run.head.id)
    }

    pub(super) fn draw(&self, layout: &PageLayout) -> Markup {
        let run = &self.run;
        let dirty = if run.head.dirty { ", with uncommitted changes" } else { "" };
        html! {
            p.kicker { (first_line(&run.head.name(), 120)) }
            h1 { "Run of " (layout.when(run.head.when)) }
            p.lead { (format::sentence(&self.sentence())) }
            @if run.going_on { (self.progress(layout)) }
            dl.facts {
                @if !run.command.is_empty() { dt { "Command" } dd { code { (first_line(&run.command, 400)) } } }
                @if let Some(commit) = &run.head.commit {
                    dt { "Revision" } dd { code { (first_line(commit, 48)) } (dirty) }
                }
                @if run.seconds > 0.0 { dt { "Test time" } dd { (format::duration(run.seconds)) } }
                @for (what, value) in &self.facts { dt { (what) } dd { (first_line(value, 400)) } }
            }
            (self.failure_table(layout))
            @if !self.notes.is_empty() {
                h2 { "Notes" } ul { @for note in &self.notes { li { (first_line(note, 400)) } } }
            }
        }
    }

    fn sentence(&self) -> String {
        let run = &self.run;
        let ran = format::count(run.attempts as usize, "attempt");
        let failed = match (self.failure_count, self.flaked()) {
            (0, _) => "nothing failed".to_owned(),
            (failed, 0) => format!("{} failed", format::count(failed, "test")),
            (failed, flaked) => format!("{} failed, {flaked} of them also passed", format::count(failed, "test")),
        };
        let end = match end(run) {
            end if end.is_empty() => String::new(),
            end => format!("; {end}"),
        };
        let why = if run.excluded { ", because most tests failed in it" } else { "" };
        format!("{ran}: {failed}{end}{why}")
    }

    fn flaked(&self) -> usize {
        self.failures.iter().filter(|failure| failure.passed > 0).count()
    }

    /// The progress bar, and a link that stops the reloading.
    fn progress(&self, layout: &PageLayout) -> Markup {
        let run = &self.run;
        html! {
            p.now {
                @if let Some(listed) = run.listed.filter(|listed| *listed > 0) {
                    @let text = format!("{} of {listed} tests", run.attempts.min(u64::from(listed)));
                    progress max=(listed) value=(run.attempts) { (text) } " " (text)
                }
                @if let Some(seconds) = layout.again_after {
                    " This page loads itself again every " (format::count(seconds as usize, "second")) " until the run ends. "
                    (link(&format!("/run/{}?still=1", run.head.id), "Let it stand still"))
                }
            }
        }
    }

    fn failure_table(&self, layout: &PageLayout) -> Markup {
        if self.failures.is_empty() {
            return Markup::default();
        }
        let more = self.failure_count.saturating_sub(self.failures.len());
        html! {
            h2 { "Failures" }
            div.wide {
                table.list {
                    thead { tr { th { "Outcome" } th { "Test" } th { "Message" } } }
                    tbody { @for failure in &self.failures { tr { (failure.row(layout)) } } }
                }
            }
            @if more > 0 { p.soft { "… and " (format::count(more, "more test")) } }
        }
    }
}

impl RunFailure {
    fn row(&self, layout: &PageLayout) -> Markup {
        html! {
            @if self.passed > 0 {
                td class="flaked when" { "≈ failed " (self.failed) " of " (self.failed + self.passed) }
            } @else {
                td class="failed when" { "✗ failed " (format::count(self.failed as usize, "time")) }
            }
            td.name { (layout.link_or_text(&layout.test(self.key), &name(&self.test))) }
            td.what { (first_line(&self.message, 200)) }
        }
    }
}
