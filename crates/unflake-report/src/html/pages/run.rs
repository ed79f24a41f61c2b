//! Page for one run: its parameters and its failures.

use serde::Serialize;

use super::layout::{PageLayout, first_line, link, name};
use super::runs::{RunRow, end};
use crate::html::markup::Html;
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

    pub(super) fn draw(&self, html: &mut Html, frame: &PageLayout) {
        let run = &self.run;
        html.put("p class=\"kicker\"", &first_line(&run.head.name(), 120));
        html.put("h1", &format!("Run of {}", frame.when(run.head.when)));
        html.put("p class=\"lead\"", &format::sentence(&self.sentence()));
        if run.going_on {
            self.progress(html, frame);
        }
        html.inside("dl class=\"facts\"", |html| {
            if !run.command.is_empty() {
                html.put("dt", "Command").inside("dd", |html| _ = html.put("code", &first_line(&run.command, 400)));
            }
            if run.head.commit.is_some() {
                let dirty = if run.head.dirty { ", with changes that no commit has" } else { "" };
                html.put("dt", "Revision").inside("dd", |html| {
                    html.put("code", &first_line(run.head.commit.as_deref().unwrap_or(""), 48)).text(dirty);
                });
            }
            if run.seconds > 0.0 {
                html.put("dt", "Test time").put("dd", &format::duration(run.seconds));
            }
            for (what, value) in &self.facts {
                html.put("dt", what).put("dd", &first_line(value, 400));
            }
        });
        self.failed(html, frame);
        if !self.notes.is_empty() {
            html.put("h2", "Notes").inside("ul", |html| {
                self.notes.iter().for_each(|note| _ = html.put("li", &first_line(note, 400)));
            });
        }
    }

    fn sentence(&self) -> String {
        let run = &self.run;
        let ran = format::count(run.attempts as usize, "attempt");
        let failed = match (self.failure_count, self.flaked()) {
            (0, _) => "nothing failed".to_owned(),
            (failed, 0) => format!("{} failed", format::count(failed, "test")),
            (failed, flaked) => format!("{} failed, of which {flaked} passed as well", format::count(failed, "test")),
        };
        let end = match end(run) {
            end if end.is_empty() => String::new(),
            end => format!("; {end}"),
        };
        let why = if run.set_apart { ", because most tests failed in it: no test is blamed" } else { "" };
        format!("{ran}: {failed}{end}{why}")
    }

    fn flaked(&self) -> usize {
        self.failures.iter().filter(|failure| failure.passed > 0).count()
    }

    /// The progress bar, and a link that stops the reloading.
    fn progress(&self, html: &mut Html, frame: &PageLayout) {
        let run = &self.run;
        html.inside("p class=\"now\"", |html| {
            if let Some(listed) = run.listed.filter(|listed| *listed > 0) {
                let said = format!("{} of {listed} tests", run.attempts.min(u64::from(listed)));
                html.inside_with("progress", &[("max", &listed), ("value", &run.attempts)], |html| {
                    _ = html.text(&said)
                });
                html.text(" ").text(&said);
            }
            if let Some(seconds) = frame.again_after {
                html.text(&format!(
                    " This page loads itself again every {} until the run ends. ",
                    format::count(seconds as usize, "second")
                ));
                link(html, &format!("/run/{}?still=1", run.head.id), "Let it stand still");
            }
        });
    }

    fn failed(&self, html: &mut Html, frame: &PageLayout) {
        if self.failures.is_empty() {
            return;
        }
        html.put("h2", "What failed").inside("div class=\"wide\"", |html| {
            html.inside("table class=\"list\"", |html| {
                html.fixed("<thead><tr><th>Outcome</th><th>Test</th><th>What it said</th></tr></thead>");
                html.inside("tbody", |html| {
                    for failure in &self.failures {
                        html.inside("tr", |html| failure.row(html, frame));
                    }
                });
            });
        });
        if self.failure_count > self.failures.len() {
            let more = format::count(self.failure_count - self.failures.len(), "more test");
            html.put("p class=\"soft\"", &format!("… and {more}"));
        }
    }
}

impl RunFailure {
    fn row(&self, html: &mut Html, frame: &PageLayout) {
        let (tag, said) = if self.passed > 0 {
            let of = self.failed + self.passed;
            ("td class=\"flaked when\"", format!("≈ failed {} of {of}", self.failed))
        } else {
            ("td class=\"failed when\"", format!("✗ failed {}", format::count(self.failed as usize, "time")))
        };
        html.put(tag, &said)
            .inside("td class=\"name\"", |html| frame.lead(html, &frame.test(self.key), &name(&self.test)));
        html.put("td class=\"what\"", &first_line(&self.message, 200));
    }
}
