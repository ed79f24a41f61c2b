//! Page for one cause: similar failures, the tests that have them, and the first step.

use serde::Serialize;
use unflake_model::Timestamp;

use super::layout::{PageLayout, bounded, first_line, name, test};
use super::{TestEntry, draw};
use crate::ScoreState;
use crate::html::markup::Html;
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
            (true, true) => "fails, and says nothing of why".to_owned(),
            (true, false) => message,
            (false, true) => name(&self.kind),
            (false, false) if message.starts_with(&self.kind) => message,
            (false, false) => format!("{}: {message}", name(&self.kind)),
        }
    }

    pub(super) fn entry(&self, html: &mut Html, frame: &PageLayout) {
        html.inside("div class=\"cost\"", |html| {
            html.put("strong", &format::duration(self.seconds_lost));
            html.text(" ").put("span", "lost");
        });
        html.inside("div class=\"cause\"", |html| {
            html.inside("h2", |html| frame.lead(html, &frame.cause(&self.id), &self.what()));
            html.inside("p class=\"soft\"", |html| self.facts(html, frame));
            html.inside("ul class=\"tests\"", |html| {
                for concern in self.tests.iter().take(NAMED) {
                    html.inside("li", |html| {
                        draw::state(html, concern.score.state);
                        html.text(" ");
                        test(html, frame, concern);
                        html.text(" ");
                        draw::strip(html, &concern.score.strip, STRIP);
                    });
                }
                if self.test_count > NAMED {
                    html.inside("li class=\"soft\"", |html| {
                        frame.lead(html, &frame.cause(&self.id), &format!("and {} more", self.test_count - NAMED));
                    });
                }
            });
            html.inside("p class=\"first\"", |html| self.first(html));
        });
    }

    fn facts(&self, html: &mut Html, frame: &PageLayout) {
        html.text(&format!(
            "{} in {}",
            format::count(self.failures, "failure"),
            format::count(self.test_count, "test")
        ));
        if let Some(file) = &self.file {
            html.text(" · ").put("code", &name(file));
        }
        if let Some(last) = self.last {
            html.text(&format!(" · last {}", frame.ago(last)));
        }
        let owners: std::collections::BTreeSet<&str> =
            self.tests.iter().map(|one| one.score.owner.as_str()).filter(|owner| !owner.is_empty()).collect();
        if !owners.is_empty() {
            html.text(" · ").text(&name(&owners.into_iter().collect::<Vec<_>>().join(" ")));
        }
        let until = self.tests.iter().filter_map(|one| one.quarantined_until).min();
        if let Some(until) = until {
            html.text(&format!(" · in quarantine until {until}"));
        }
    }

    /// The recommended first step, depending on what is known.
    fn first(&self, html: &mut Html) {
        let Some(worst) = self.tests.first() else { return };
        let typed = draw::typed(&worst.score.test);
        html.put("b", "First: ");
        if let Some(start) = self.tests.iter().find_map(|one| one.starts.as_ref()) {
            html.text("look at ").put("code", &start.place());
            html.text(&format!(", where it {}: ", start.verb().trim_end_matches(" at")));
            html.text(&first_line(&start.sentence, 200));
            return;
        }
        match worst.score.state {
            ScoreState::Broken => {
                html.text("mend it: this is no flakiness. ");
                draw::command(html, &format!("unflake history {typed}"));
                html.text(" says since when.");
            }
            _ if self.test_count > 2 => {
                html.text("look at what these tests share; then let one of them be looked into: ");
                draw::command(html, &format!("unflake locate {typed}"));
            }
            ScoreState::Bursty => {
                html.text("it fails in bursts, so something around it changes: ");
                draw::command(html, &format!("unflake factors {typed}"));
            }
            _ => {
                html.text("find where it starts: ");
                draw::command(html, &format!("unflake locate {typed}"));
            }
        }
    }
}

impl CausePage {
    pub(super) fn title(&self) -> String {
        self.cause.what()
    }

    pub(super) fn draw(&self, html: &mut Html, frame: &PageLayout) {
        html.put("p class=\"kicker\"", "Failures that look alike").put("h1", &self.cause.what());
        html.inside("p class=\"soft\"", |html| {
            html.text(&format!("{} lost · ", format::duration(self.cause.seconds_lost)));
            self.cause.facts(html, frame);
        });
        html.inside("p class=\"first\"", |html| self.cause.first(html));
        super::tests::table(html, frame, &self.cause.tests);
        if self.cause.test_count > self.cause.tests.len() {
            let left = self.cause.test_count - self.cause.tests.len();
            html.put("p class=\"soft\"", &format!("… and {} more", format::count(left, "test")));
        }
        if !self.trace.trim().is_empty() {
            html.put("h2", "What one of them said").put("pre class=\"said\"", &bounded(&self.trace, LINES));
        }
    }
}
