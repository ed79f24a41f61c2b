//! The quarantine page: which tests, who owns them, until when, and whether the entries are still
//! needed.

use serde::Serialize;
use unflake_model::{Day, QuarantineMode, Quarantined};

use super::draw;
use super::layout::{PageLayout, first_line, link, name};
use crate::html::markup::Html;
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
    pub(super) fn draw(&self, html: &mut Html, frame: &PageLayout) {
        html.put("h1", "Quarantine");
        let over = self.entries.iter().filter(|one| one.entry.expires < self.today).count();
        html.inside("p class=\"overall\"", |html| {
            html.text(&match self.entries.len() - over {
                0 => "Nothing is in quarantine".to_owned(),
                holding => format!("{} in quarantine", format::count(holding, "test")),
            });
            if over > 0 {
                html.text(&format!("; {over} over and without effect"));
            }
            html.text(".");
        });
        let rules = "A test in quarantine still runs. Only the failures that are named are excused, until the last day, and any other failure counts.";
        html.put("p class=\"soft\"", rules);
        if !self.entries.is_empty() {
            html.inside("ul class=\"ledger\"", |html| {
                for one in &self.entries {
                    html.inside("li", |html| one.draw(html, frame, self.today));
                }
            });
        }
        html.inside("p class=\"soft\"", |html| {
            html.text("Kept in ").put("code", &name(&self.path)).text(": commit it, so that it holds for everybody.");
        });
        if frame.may_write {
            form(html, "Set a failure apart for a while", "", "");
        } else if !frame.is_file() {
            html.inside("p class=\"soft\"", |html| {
                html.text(
                    "To change it here, open the address that unflake printed, which has a token in it; or type ",
                );
                html.put("code class=\"do\"", "unflake quarantine add TEST --reason WHY --owner WHO").text(".");
            });
        }
    }
}

impl QuarantineEntry {
    fn draw(&self, html: &mut Html, frame: &PageLayout, today: Day) {
        let entry = &self.entry;
        let left = entry.expires.since(today);
        html.inside("p class=\"name\"", |html| {
            match left {
                left if left < 0 => html.put("span class=\"state broken\"", "◌ over"),
                left if left < 4 => html.put("span class=\"state flaky\"", "◌ soon over"),
                _ => html.put("span class=\"state\"", "◌ set apart"),
            };
            html.text(" ");
            match self.key {
                Some(key) => frame.lead(html, &frame.test(key), &name(entry.test.as_str())),
                None => _ = html.put("code", &name(entry.test.as_str())),
            }
        });
        html.inside("p", |html| {
            html.text(&first_line(&entry.reason, 400)).text(" · ").put("strong", &first_line(&entry.owner, 100));
            if let Some(issue) = &entry.issue {
                html.text(" · ");
                let shown = first_line(issue, 120);
                if issue.starts_with("https://") || issue.starts_with("http://") {
                    link(html, issue, &shown);
                } else {
                    html.text(&shown);
                }
            }
        });
        html.inside("p class=\"soft\"", |html| {
            let until = match left {
                left if left < 0 => format!("was over on {}: it counts again", entry.expires),
                0 => format!("until today ({})", entry.expires),
                left => format!("until {} ({})", entry.expires, format::count(left as usize, "day")),
            };
            let mode = if entry.mode == QuarantineMode::Skip { ", not run" } else { "" };
            html.text(&format!("{until}{mode}, since {} · {}", entry.added, first_line(&self.lately, 200)));
        });
        if frame.may_write {
            html.inside("form action=\"/quarantine/remove\" method=\"post\"", |html| {
                html.void("input type=\"hidden\" name=\"test\"", &[("value", &entry.test)]);
                html.put("button", "Let it count again");
            });
        } else {
            let typed = format!("unflake quarantine remove {}", draw::typed(entry.test.as_str()));
            html.inside("p", |html| _ = html.put("code class=\"do\"", &typed));
        }
    }
}

/// The form that adds or renews an entry.
pub(super) fn form(html: &mut Html, what: &str, test: &str, owner: &str) {
    html.inside("details class=\"other\"", |html| {
        html.put("summary", what);
        html.inside("form class=\"add\" action=\"/quarantine/add\" method=\"post\"", |html| {
            if test.is_empty() {
                field(
                    html,
                    "Test, as unflake run names it",
                    "input name=\"test\" required=\"\" maxlength=\"4000\"",
                    "",
                );
            } else {
                html.void("input type=\"hidden\" name=\"test\"", &[("value", &test)]);
            }
            field(html, "Why nobody mends it now", "input name=\"reason\" required=\"\" maxlength=\"1000\"", "");
            field(html, "Who will", "input name=\"owner\" required=\"\" maxlength=\"200\"", owner);
            field(html, "Where it is written up (may be left out)", "input name=\"issue\" maxlength=\"1000\"", "");
            field(
                html,
                "For how many days, 30 at most",
                "input name=\"days\" type=\"number\" min=\"1\" max=\"30\"",
                "14",
            );
            html.put("button", "Set apart");
        });
    });
}

fn field(html: &mut Html, label: &str, input: &'static str, value: &str) {
    html.inside("label", |html| {
        html.put("span", label).void(input, &[("value", &value)]);
    });
}
