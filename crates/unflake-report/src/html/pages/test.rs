//! Page for one test: its state, the evidence for it, and its history.

use maud::{Markup, display, html};
use serde::Serialize;
use unflake_model::{Outcome, Reproduction, Timestamp};

use super::layout::{PageLayout, bounded, first_line, full_name, link, name};
use super::{TestEntry, draw};
use crate::text::format;
use crate::{NextAction, ScoreState};

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
    pub looked_into: Option<LocateRecord>,
    /// Findings about it, newest first.
    pub findings: Vec<FindingEntry>,
    /// Its failures, most frequent first.
    pub failures: Vec<FailureGroup>,
    /// Newest first.
    pub past: Vec<PastAttempt>,
}

/// A stored search for the line where a test starts to fail.
#[derive(Clone, Debug, Serialize)]
pub struct LocateRecord {
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
    pub reproduce: Vec<Reproduction>,
    /// When it was marked as not useful.
    pub not_useful_since: Option<Timestamp>,
    /// Whether there is a page with the code, line by line.
    pub is_located: bool,
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

    pub(super) fn draw(&self, layout: &PageLayout) -> Markup {
        let score = &self.concern.score;
        // Findings marked as not useful come last.
        let (last, first): (Vec<_>, Vec<_>) = self.findings.iter().partition(|one| one.not_useful_since.is_some());
        html! {
            p.kicker { (draw::state(score.state)) }
            h1.long { code { (full_name(&score.test)) } }
            p.lead { (format::sentence(&score.sentence())) }
            (draw::strip(&score.strip, STRIP))
            (self.facts(layout))
            @if !self.findings.is_empty() {
                h2 { "Findings" }
                ul.plain-list {
                    @for one in first.into_iter().chain(last) { li.finding { (one.draw(layout, self.concern.key)) } }
                }
            }
            (self.next_steps(layout))
            @if !self.failures.is_empty() {
                h2 { "Failures" }
                @for failure in &self.failures { (failure.draw(layout)) }
            }
            @if self.past.len() > 2 {
                h2 { "Duration" }
                (draw::scatter(layout, &self.past, score.since.as_ref()))
            }
            h2 { "Attempts" }
            (history(layout, &self.past))
        }
    }

    fn facts(&self, layout: &PageLayout) -> Markup {
        let score = &self.concern.score;
        let names: Vec<String> = score.formerly.iter().map(|one| name(one)).collect();
        html! {
            dl.facts {
                @if let Some(since) = &score.since {
                    dt { "Last change" } dd { (format::sentence(&since.sentence(layout.zone))) }
                }
                @if let Some(looked) = &self.looked_into {
                    dt { "Last locate" }
                    dd {
                        (first_line(&looked.meaning, 300)) " (" (layout.when(looked.when))
                        @if let Some(commit) = &looked.commit { " at " (commit.get(..8).unwrap_or(commit)) } ")"
                    }
                }
                @if score.seconds_lost >= 0.05 {
                    dt { "Lost" } dd { (format::duration(score.seconds_lost)) " in failing attempts and reruns" }
                }
                @if let Some(file) = &score.file {
                    @let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
                    dt { "File" } dd { code { (name(&format!("{file}{line}"))) } }
                }
                @if !names.is_empty() { dt { "Formerly" } dd { code { (names.join(", ")) } } }
                @if !score.owner.is_empty() { dt { "Owner" } dd { (name(&score.owner)) } }
                @if let Some(until) = self.concern.quarantined_until {
                    dt { "Quarantine" } dd { "until " (display(until)) }
                }
            }
        }
    }

    fn next_steps(&self, layout: &PageLayout) -> Markup {
        let score = &self.concern.score;
        if score.state == ScoreState::Sound {
            return Markup::default();
        }
        html! {
            // A diagnosis is among the findings.
            @if let Some(next @ NextAction::Command { .. }) = &self.concern.next {
                p.first { (draw::next_step(next)) }
            }
            @if layout.may_write && self.concern.quarantined_until.is_none() {
                (super::quarantine::form("Quarantine its failure", &score.test, &score.owner))
            }
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

    fn draw(&self, layout: &PageLayout, key: i64) -> Markup {
        let assertion = self.assertion.as_ref().filter(|_| layout.may_write);
        html! {
            p {
                (format::sentence(&first_line(&self.sentence, 600)))
            }
            p.soft {
                "unflake " (self.command()) ", " (layout.when(self.when))
                @if let Some(commit) = &self.commit {
                    " at " code { (first_line(commit.get(..8).unwrap_or(commit), 12)) }
                }
                @if self.is_located && !layout.is_file() {
                    " · " (link(&format!("/located/{key}"), "the code, line by line"))
                }
                @if let Some(since) = self.not_useful_since {
                    " · marked as not useful on " (layout.when(since))
                }
            }
            @for one in &self.reproduce {
                p { "reproduce: " (draw::command(&first_line(&one.command, 1000))) }
            }
            @if let Some(assertion) = assertion {
                form action="/mark" method="post" {
                    "What was it? " input type="hidden" name="test" value=(key);
                    input type="hidden" name="assertion" value=(assertion);
                    button name="label" value="true" { "A bug" } " "
                    button name="label" value="update" { "An intended change" } " "
                    button name="label" value="flaky" { "Flaky" }
                }
            }
            @if layout.may_write && !self.real {
                @let useless = self.not_useful_since.is_some();
                form action="/answer" method="post" {
                    input type="hidden" name="finding" value=(self.id);
                    input type="hidden" name="useful" value=(if useless { "yes" } else { "no" });
                    button { (if useless { "Mark as useful" } else { "Mark as not useful" }) }
                }
            }
        }
    }
}

impl FailureGroup {
    fn draw(&self, layout: &PageLayout) -> Markup {
        let message = first_line(&self.message, 240);
        let message = if message.starts_with(&self.kind) { message } else { format!("{} {message}", name(&self.kind)) };
        let trace = if self.trace.trim().is_empty() { &self.message } else { &self.trace };
        html! {
            details.other {
                summary {
                    code { (message.trim()) }
                    span.soft { " " (format::count(self.count, "time")) ", last " (layout.ago(self.last)) }
                }
                div {
                    p.soft {
                        "fingerprint " code { (self.fingerprint) } " · "
                        (layout.link_or_text(&layout.cause(&self.id), "all tests with this cause"))
                    }
                    pre.trace { (bounded(trace, LINES)) }
                }
            }
        }
    }
}

fn history(layout: &PageLayout, past: &[PastAttempt]) -> Markup {
    if past.is_empty() {
        return html! { p { "No attempt is recorded." } };
    }
    html! {
        div.wide {
            table.list {
                thead {
                    tr {
                        th { "When" } th { "Outcome" } th.number { "Took" }
                        @for head in ["Revision", "Where", "Message"] { th { (head) } }
                    }
                }
                tbody { @for one in past.iter().take(LISTED) { (one.row(layout)) } }
            }
        }
        @if past.len() > LISTED { p.soft { "… and " (format::count(past.len() - LISTED, "attempt")) " earlier" } }
    }
}

impl PastAttempt {
    fn row(&self, layout: &PageLayout) -> Markup {
        let when = layout.exactly(self.when);
        html! {
            tr {
                td.when {
                    @match &self.run {
                        Some(run) => (layout.link_or_text(&layout.run(run), &when)),
                        None => (when),
                    }
                }
                td { (outcome(self.outcome)) }
                td.number { (format::duration(self.seconds)) }
                td { code { (first_line(self.revision.as_deref().unwrap_or(""), 12)) } }
                td class="where" { (first_line(&self.place, 60)) }
                td.what { (first_line(&self.message, 160)) }
            }
        }
    }
}

/// Draws `✗ failed`.
fn outcome(outcome: Outcome) -> Markup {
    let (class, sign) = match outcome {
        outcome if outcome.is_failure() => ("state broken", "✗"),
        outcome if outcome.is_pass() => ("state sound", "✓"),
        _ => ("state", "–"),
    };
    html! { span class=(class) { (sign) " " (outcome.word().replace('-', " ")) } }
}
