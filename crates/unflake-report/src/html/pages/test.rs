//! Page for one test: its state, the evidence for it, and its history.

use serde::Serialize;
use unflake_model::{Outcome, Timestamp};

use super::layout::{PageLayout, bounded, first_line, full_name, link, name};
use super::{FailureStart, TestEntry, draw};
use crate::ScoreState;
use crate::html::markup::Html;
use crate::text::format;

const STRIP: usize = 60;
const LINES: usize = 40;
/// Attempts shown in the list.
const LISTED: usize = 100;

#[derive(Clone, Debug, Serialize)]
pub struct TestPage {
    #[serde(flatten)]
    pub concern: TestEntry,
    pub line: Option<u32>,
    /// Result of the last `locate`, where it was stored.
    pub looked_into: Option<LocateResult>,
    /// Findings about it, newest first.
    pub findings: Vec<FindingEntry>,
    /// Its failures, most frequent first.
    pub failures: Vec<FailureGroup>,
    /// Newest first.
    pub past: Vec<PastAttempt>,
}

/// A stored search for the line where a test starts to fail.
#[derive(Clone, Debug, Serialize)]
pub struct LocateResult {
    pub when: Timestamp,
    pub commit: Option<String>,
    /// The result as a sentence: `passed in all 200 runs: nothing to compare`.
    pub meaning: String,
}

/// A stored finding about a test.
#[derive(Clone, Debug, Serialize)]
pub struct FindingEntry {
    pub id: String,
    pub technique: &'static str,
    pub sentence: String,
    pub when: Timestamp,
    pub commit: Option<String>,
    pub repeat: Option<String>,
    /// When somebody marked it as not useful.
    pub not_useful_since: Option<Timestamp>,
    /// The located line, for a finding of `locate`.
    pub start: Option<FailureStart>,
    /// A real failure, which cannot be marked as not useful.
    pub real: bool,
    /// The failed assertion, where known: it can be labelled.
    pub assertion: Option<String>,
}

/// Similar failures of one test.
#[derive(Clone, Debug, Serialize)]
pub struct FailureGroup {
    /// Id of the cause that it counts to.
    pub id: String,
    pub fingerprint: String,
    pub kind: String,
    pub message: String,
    pub trace: String,
    pub count: usize,
    pub last: Timestamp,
}

/// One attempt, recorded or imported.
#[derive(Clone, Debug, Serialize)]
pub struct PastAttempt {
    pub when: Timestamp,
    pub outcome: Outcome,
    pub seconds: f64,
    pub revision: Option<String>,
    /// The circumstances of the attempt, as text.
    pub place: String,
    pub run: Option<String>,
    pub message: String,
}

impl TestPage {
    pub(super) fn title(&self) -> String {
        name(&self.concern.score.test)
    }

    pub(super) fn draw(&self, html: &mut Html, frame: &PageLayout) {
        let score = &self.concern.score;
        html.inside("p class=\"kicker\"", |html| draw::state(html, score.state));
        html.inside("h1 class=\"long\"", |html| _ = html.put("code", &full_name(&score.test)));
        html.put("p class=\"lead\"", &format::sentence(&score.sentence()));
        draw::strip(html, &score.strip, STRIP);
        self.facts(html, frame);
        if !self.findings.is_empty() {
            html.put("h2", "What was found out").inside("ul class=\"plain-list\"", |html| {
                // Findings that somebody marked as not useful come last.
                let (last, first): (Vec<_>, Vec<_>) =
                    self.findings.iter().partition(|one| one.not_useful_since.is_some());
                for one in first.into_iter().chain(last) {
                    html.inside("li class=\"finding\"", |html| one.draw(html, frame, self.concern.key));
                }
            });
        }
        self.next(html, frame);
        if !self.failures.is_empty() {
            html.put("h2", "How it fails");
            for failure in &self.failures {
                failure.draw(html, frame);
            }
        }
        if self.past.len() > 2 {
            html.put("h2", "How long it takes");
            draw::scatter(html, frame, &self.past, self.concern.score.since.as_ref());
        }
        html.put("h2", "What it did");
        history(html, frame, &self.past);
    }

    fn facts(&self, html: &mut Html, frame: &PageLayout) {
        let score = &self.concern.score;
        html.inside("dl class=\"facts\"", |html| {
            if let Some(since) = &score.since {
                html.put("dt", "Last change").put("dd", &format::sentence(&since.sentence(frame.zone)));
            }
            if let Some(looked) = &self.looked_into {
                let at = looked.commit.as_deref().map(|commit| format!(" at {}", commit.get(..8).unwrap_or(commit)));
                let when = format!("{}{}", frame.when(looked.when), at.unwrap_or_default());
                let said = format!("{} ({when})", first_line(&looked.meaning, 300));
                html.put("dt", "Looked into").put("dd", &said);
            }
            if score.seconds_lost >= 0.05 {
                let lost = format!("{} in failing and running again", format::duration(score.seconds_lost));
                html.put("dt", "Lost").put("dd", &lost);
            }
            if let Some(file) = &score.file {
                let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
                html.put("dt", "File").inside("dd", |html| _ = html.put("code", &name(&format!("{file}{line}"))));
            }
            if !score.formerly.is_empty() {
                let names: Vec<String> = score.formerly.iter().map(|one| name(one)).collect();
                html.put("dt", "Formerly").inside("dd", |html| _ = html.put("code", &names.join(", ")));
            }
            if !score.owner.is_empty() {
                html.put("dt", "Owner").put("dd", &name(&score.owner));
            }
            if let Some(until) = self.concern.quarantined_until {
                html.put("dt", "Quarantine").put("dd", &format!("until {until}"));
            }
        });
    }

    /// Recommended next steps.
    fn next(&self, html: &mut Html, frame: &PageLayout) {
        let score = &self.concern.score;
        let typed = draw::typed(&score.test);
        let commands: &[&str] = match score.state {
            ScoreState::Sound => &[],
            ScoreState::Broken => &["history"],
            _ if self.concern.starts.is_some() => &["order", "factors"],
            _ => &["locate", "order", "factors"],
        };
        if commands.is_empty() {
            return;
        }
        html.put("h2", "What to do").inside("ul class=\"plain-list\"", |html| {
            for command in commands {
                let what = match *command {
                    "locate" => "says where in the code failing runs part from passing ones",
                    "order" => "says whether tests before it are to blame",
                    "factors" => "says which circumstances make it fail",
                    _ => "says in which runs it began to fail",
                };
                html.inside("li", |html| {
                    draw::command(html, &format!("unflake {command} {typed}"));
                    html.text(" ").text(what);
                });
            }
        });
        if frame.may_write && self.concern.quarantined_until.is_none() {
            super::quarantine::form(html, "Set its failure apart for a while", &score.test, &score.owner);
        }
    }
}

impl FindingEntry {
    /// The command that made the finding.
    fn command(&self) -> &'static str {
        match self.technique {
            "divergence" => "locate",
            "factor" => "factors",
            "layer" => "measure",
            "nio" => "nio",
            "order" | "state" => "order",
            "filter" => "filter",
            _ => "run",
        }
    }

    fn draw(&self, html: &mut Html, frame: &PageLayout, key: i64) {
        match &self.start {
            Some(start) => html.inside("p", |html| {
                html.text(&format!("It {} ", start.verb())).put("code", &start.place()).text(": ");
                html.text(&first_line(&start.sentence, 600)).text(".");
            }),
            None => html.put("p", &format::sentence(&first_line(&self.sentence, 600))),
        };
        html.inside("p class=\"soft\"", |html| {
            html.text(&format!("unflake {}, {}", self.command(), frame.when(self.when)));
            if let Some(commit) = &self.commit {
                html.text(" at ").put("code", &first_line(commit.get(..8).unwrap_or(commit), 12));
            }
            if self.start.is_some() && !frame.is_file() {
                html.text(" · ");
                link(html, &format!("/located/{key}"), "the code, line by line");
            }
            if let Some(since) = self.not_useful_since {
                html.text(&format!(" · somebody said on {} that this is not useful", frame.when(since)));
            }
        });
        if let Some(repeat) = &self.repeat {
            html.inside("p", |html| {
                html.text("see it yourself: ");
                draw::command(html, &first_line(repeat, 1000));
            });
        }
        if let Some(assertion) = self.assertion.as_ref().filter(|_| frame.may_write) {
            html.inside("form action=\"/mark\" method=\"post\"", |html| {
                html.text("What was it? ").void("input type=\"hidden\" name=\"test\"", &[("value", &key)]);
                html.void("input type=\"hidden\" name=\"assertion\"", &[("value", assertion)]);
                html.put("button name=\"label\" value=\"true\"", "A bug").text(" ");
                html.put("button name=\"label\" value=\"update\"", "The test is behind a change").text(" ");
                html.put("button name=\"label\" value=\"flaky\"", "Flaky");
            });
        }
        if frame.may_write && !self.real {
            let (value, said) = match self.not_useful_since {
                None => ("no", "This is not useful"),
                Some(_) => ("yes", "It is useful after all"),
            };
            html.inside("form action=\"/answer\" method=\"post\"", |html| {
                html.void("input type=\"hidden\" name=\"finding\"", &[("value", &self.id)]);
                html.void("input type=\"hidden\" name=\"useful\"", &[("value", &value)]).put("button", said);
            });
        }
    }
}

impl FailureGroup {
    fn draw(&self, html: &mut Html, frame: &PageLayout) {
        html.inside("details class=\"other\"", |html| {
            html.inside("summary", |html| {
                let said = first_line(&self.message, 240);
                let said = if said.starts_with(&self.kind) { said } else { format!("{} {said}", name(&self.kind)) };
                html.put("code", said.trim());
                let times = format::count(self.count, "time");
                html.put("span class=\"soft\"", &format!(" {times}, last {}", frame.ago(self.last)));
            });
            html.inside("div", |html| {
                html.inside("p class=\"soft\"", |html| {
                    html.text("fingerprint ").put("code", &self.fingerprint).text(" · ");
                    frame.lead(html, &frame.cause(&self.id), "all tests that fail like this");
                });
                let trace = if self.trace.trim().is_empty() { &self.message } else { &self.trace };
                html.put("pre class=\"said\"", &bounded(trace, LINES));
            });
        });
    }
}

fn history(html: &mut Html, frame: &PageLayout, past: &[PastAttempt]) {
    if past.is_empty() {
        html.put("p", "No attempt at it is known.");
        return;
    }
    html.inside("div class=\"wide\"", |html| {
        html.inside("table class=\"list\"", |html| {
            html.fixed("<thead><tr><th>When</th><th>Outcome</th><th class=\"number\">Took</th><th>Revision</th><th>Where</th><th>What it said</th></tr></thead>");
            html.inside("tbody", |html| {
                for one in past.iter().take(LISTED) {
                    html.inside("tr", |html| one.row(html, frame));
                }
            });
        });
    });
    if past.len() > LISTED {
        let more = format::count(past.len() - LISTED, "attempt");
        html.put("p class=\"soft\"", &format!("… and {more} before"));
    }
}

impl PastAttempt {
    fn row(&self, html: &mut Html, frame: &PageLayout) {
        html.inside("td class=\"when\"", |html| match &self.run {
            Some(run) => frame.lead(html, &frame.run(run), &frame.exactly(self.when)),
            None => _ = html.text(&frame.exactly(self.when)),
        });
        html.inside("td", |html| outcome(html, self.outcome));
        html.put("td class=\"number\"", &format::duration(self.seconds));
        let revision = self.revision.as_deref().unwrap_or("");
        html.inside("td", |html| _ = html.put("code", &first_line(revision, 12)));
        html.put("td class=\"where\"", &first_line(&self.place, 60))
            .put("td class=\"what\"", &first_line(&self.message, 160));
    }
}

/// Draws `✗ failed`.
pub(super) fn outcome(html: &mut Html, outcome: Outcome) {
    let (tag, sign) = match outcome {
        outcome if outcome.is_failure() => ("span class=\"state broken\"", "✗"),
        outcome if outcome.is_pass() => ("span class=\"state sound\"", "✓"),
        _ => ("span class=\"state\"", "–"),
    };
    html.put(tag, &format!("{sign} {}", outcome.word().replace('-', " ")));
}
