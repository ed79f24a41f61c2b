//! The quarantine page: which tests, who owns them, until when, and whether the entries are still
//! needed.

use maud::{Markup, Render, display, html};
use serde::Serialize;
use unflake_model::{Day, QuarantineMode, Quarantined};

use super::draw;
use super::layout::{PageLayout, first_line, link, name};
use crate::text::format;

#[derive(Clone, Debug, Serialize)]
pub struct QuarantinePage {
    pub today: Day,
    /// Path of the quarantine file.
    pub path: String,
    pub entries: Vec<QuarantineEntry>,
}

#[derive(Clone, Debug, Serialize)]
pub struct QuarantineEntry {
    #[serde(flatten)]
    pub entry: Quarantined,
    /// None where the history does not have the test.
    pub key: Option<i64>,
    /// Recent outcomes of the test, as a sentence.
    pub lately: String,
}

impl QuarantinePage {
    pub(super) fn draw(&self, layout: &PageLayout) -> Markup {
        let expired = self.entries.iter().filter(|one| one.entry.expires < self.today).count();
        let current = self.entries.len() - expired;
        html! {
            h1 { "Quarantine" }
            p.overall {
                @if current == 0 { "Nothing is in quarantine" } @else { (format::count(current, "test")) " in quarantine" }
                @if expired > 0 { "; " (expired) " expired" }
                "."
            }
            p.soft {
                "A test in quarantine still runs. Its recorded failures do not fail a run until the entry expires; "
                "any other failure counts."
            }
            @if !self.entries.is_empty() {
                ul.ledger { @for one in &self.entries { li { (one.draw(layout, self.today)) } } }
            }
            p.soft { "Commit " code { (name(&self.path)) } " to share the quarantine with your team." }
            @if layout.may_write { (form("Quarantine a failure", "", "")) } @else if !layout.is_file() {
                p.soft {
                    @if layout.user.is_some() { "To edit it here you need the role write; or run " } @else {
                        "To edit it here, open the address with the token that unflake printed; or run "
                    }
                    (draw::command("unflake quarantine add TEST --reason WHY --owner WHO")) "."
                }
            }
        }
    }
}

impl QuarantineEntry {
    fn draw(&self, layout: &PageLayout, today: Day) -> Markup {
        let entry = &self.entry;
        let left = entry.expires.since(today);
        let (class, state) = match left {
            ..0 => ("state broken", "◌ expired"),
            0..4 => ("state flaky", "◌ expires soon"),
            _ => ("state", "◌ quarantined"),
        };
        let until = match left {
            ..0 => format!("expired on {}: its failures count again", entry.expires),
            0 => format!("until today ({})", entry.expires),
            left => format!("until {} ({})", entry.expires, format::count(left as usize, "day")),
        };
        let mode = if entry.mode == QuarantineMode::Skip { ", not run" } else { "" };
        html! {
            p.name {
                span class=(class) { (state) } " "
                @match self.key {
                    Some(key) => (layout.link_or_text(&layout.test(key), &name(entry.test.as_str()))),
                    None => { code { (name(entry.test.as_str())) } },
                }
            }
            p {
                (first_line(&entry.reason, 400)) " · " strong { (first_line(&entry.owner, 100)) }
                @if let Some(issue) = &entry.issue { " · " (issue_link(issue)) }
            }
            p.soft { (until) (mode) ", since " (display(entry.added)) " · " (first_line(&self.lately, 200)) }
            @if layout.may_write {
                form action="/quarantine/remove" method="post" {
                    input type="hidden" name="test" value=(entry.test.as_str());
                    button { "Remove" }
                }
            } @else {
                p { (draw::command(&format!("unflake quarantine remove {}", draw::typed(entry.test.as_str())))) }
            }
        }
    }
}

fn issue_link(issue: &str) -> Markup {
    let shown = first_line(issue, 120);
    if issue.starts_with("https://") || issue.starts_with("http://") { link(issue, &shown) } else { shown.render() }
}

/// The form that adds or renews an entry.
pub(super) fn form(title: &str, test: &str, owner: &str) -> Markup {
    html! {
        details.other {
            summary { (title) }
            form.add action="/quarantine/add" method="post" {
                @if test.is_empty() {
                    label {
                        span { "Test, by its full name" }
                        input name="test" required="" maxlength="4000" value="";
                    }
                } @else {
                    input type="hidden" name="test" value=(test);
                }
                label {
                    span { "Reason" } input name="reason" required="" maxlength="1000" value="";
                }
                label { span { "Owner" } input name="owner" required="" maxlength="200" value=(owner); }
                label {
                    span { "Issue (optional)" } input name="issue" maxlength="1000" value="";
                }
                label {
                    span { "Days (at most 30)" }
                    input name="days" type="number" min="1" max="30" value="14";
                }
                button { "Quarantine" }
            }
        }
    }
}
