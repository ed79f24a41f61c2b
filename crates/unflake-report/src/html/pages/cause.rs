//! Page for one cause: similar failures, the tests that have them, and the first step.

use std::collections::BTreeSet;

use maud::{Markup, display, html};
use serde::Serialize;
use unflake_model::Timestamp;

use super::layout::{PageLayout, bounded, first_line, name, test};
use super::{TestEntry, draw};
use crate::NextAction;
use crate::text::format;

/// Tests of a cause that the inbox names.
const NAMED: usize = 3;
const STRIP: usize = 40;
const LINES: usize = 60;

#[derive(Clone, Debug, Serialize)]
pub struct CauseSummary {
    /// Hash of the failure, plus the test file where the failing file is unknown.
    pub id: String,
    /// Empty where the failures have no message.
    pub kind: String,
    pub message: String,
    pub file: Option<String>,
    pub failures: usize,
    pub seconds_lost: f64,
    pub last: Option<Timestamp>,
    pub test_count: usize,
    /// Worst first; not all of them where they are many.
    pub tests: Vec<TestEntry>,
}

#[derive(Clone, Debug, Serialize)]
pub struct CausePage {
    pub cause: CauseSummary,
    /// Stack trace of one of the failures.
    pub trace: String,
}

impl CauseSummary {
    pub(super) fn what(&self) -> String {
        let message = first_line(&self.message, 240);
        match (self.kind.is_empty(), message.is_empty()) {
            (true, true) => "fails without a message".to_owned(),
            (true, false) => message,
            (false, true) => name(&self.kind),
            (false, false) if message.starts_with(&self.kind) => message,
            (false, false) => format!("{}: {message}", name(&self.kind)),
        }
    }

    pub(super) fn entry(&self, layout: &PageLayout) -> Markup {
        html! {
            div.cost { strong { (format::duration(self.seconds_lost)) } " " span { "lost" } }
            div.cause {
                h2 { (layout.link_or_text(&layout.cause(&self.id), &self.what())) }
                p.soft { (self.facts(layout)) }
                ul.tests {
                    @for entry in self.tests.iter().take(NAMED) {
                        li {
                            (draw::state(entry.score.state)) " " (test(layout, entry)) " "
                            (draw::strip(&entry.score.strip, STRIP))
                        }
                    }
                    @if self.test_count > NAMED {
                        li.soft {
                            (layout.link_or_text(&layout.cause(&self.id), &format!("and {} more", self.test_count - NAMED)))
                        }
                    }
                }
                p.first { (self.first_step()) }
            }
        }
    }

    fn facts(&self, layout: &PageLayout) -> Markup {
        let owners: BTreeSet<&str> =
            self.tests.iter().map(|one| one.score.owner.as_str()).filter(|owner| !owner.is_empty()).collect();
        let owners: Vec<&str> = owners.into_iter().collect();
        html! {
            (format::count(self.failures, "failure")) " in " (format::count(self.test_count, "test"))
            @if let Some(file) = &self.file { " · " code { (name(file)) } }
            @if let Some(last) = self.last { " · last " (layout.ago(last)) }
            @if !owners.is_empty() { " · " (name(&owners.join(" "))) }
            @if let Some(until) = self.tests.iter().filter_map(|one| one.quarantined_until).min() {
                " · in quarantine until " (display(until))
            }
        }
    }

    /// The next step for the worst test, or the diagnosis of another one, which has the same cause.
    fn first_step(&self) -> Markup {
        let steps = || self.tests.iter().filter_map(|one| one.next.as_ref());
        let diagnosed = steps().find(|next| matches!(next, NextAction::Diagnosed { .. }));
        html! {
            @match diagnosed.or(steps().next()) {
                Some(next) => (draw::next_step(next)),
                None => { b { "Next: " } "fix it: it fails in every run" },
            }
        }
    }
}

impl CausePage {
    pub(super) fn title(&self) -> String {
        self.cause.what()
    }

    pub(super) fn draw(&self, layout: &PageLayout) -> Markup {
        let left = self.cause.test_count.saturating_sub(self.cause.tests.len());
        html! {
            p.kicker { "Failures with one cause" }
            h1 { (self.cause.what()) }
            p.soft { (format::duration(self.cause.seconds_lost)) " lost · " (self.cause.facts(layout)) }
            p.first { (self.cause.first_step()) }
            (super::tests::table(layout, &self.cause.tests))
            @if left > 0 { p.soft { "… and " (format::count(left, "test")) " more" } }
            @if !self.trace.trim().is_empty() {
                h2 { "Latest failure" } pre.trace { (bounded(&self.trace, LINES)) }
            }
        }
    }
}
