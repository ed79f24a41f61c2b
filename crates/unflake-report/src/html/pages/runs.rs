//! List of all runs, recorded and imported.

use serde::Serialize;
use unflake_model::Timestamp;

use super::Pagination;
use super::layout::{PageLayout, first_line, pages};
use crate::html::markup::Html;
use crate::text::format;

#[derive(Clone, Debug, Serialize)]
pub struct RunList {
    /// Newest first.
    pub runs: Vec<RunRow>,
    pub pages: Pagination,
}

/// Identifies a run in the matrix and in lists.
#[derive(Clone, Debug, Serialize)]
pub struct RunHead {
    /// A number for a recorded run, `ci-` and a number for an imported one.
    pub id: String,
    pub when: Timestamp,
    pub commit: Option<String>,
    /// The working tree had uncommitted changes.
    pub dirty: bool,
    pub branch: Option<String>,
    pub ci_run: Option<String>,
    /// The first job of the CI run.
    pub job: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct RunRow {
    #[serde(flatten)]
    pub head: RunHead,
    /// Empty for a CI run.
    pub command: String,
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
    pub attempts: u64,
    /// Duration of all its executions together.
    pub seconds: f64,
    /// How many tests it planned. None: unknown.
    pub listed: Option<u32>,
    /// None for a CI run, and for one that has not ended.
    pub exit: Option<u8>,
    /// It has not ended, and recorded something a moment ago.
    pub going_on: bool,
    /// Most tests failed, so it counts against no test.
    pub set_apart: bool,
}

impl RunHead {
    /// A short name.
    pub(super) fn name(&self) -> String {
        let ours = self.id.parse::<i64>().is_ok();
        let run = match &self.ci_run {
            Some(run) => format!("CI {run}"),
            None if ours => "here".to_owned(),
            None => "report".to_owned(),
        };
        [Some(run), self.branch.clone()].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    pub(super) fn revision(&self) -> String {
        let commit = self.commit.as_deref().unwrap_or("");
        let mark = if self.dirty { "+" } else { "" };
        format!("{}{mark}", commit.get(..8).unwrap_or(commit))
    }
}

impl RunList {
    pub(super) fn draw(&self, html: &mut Html, frame: &PageLayout) {
        html.put("h1", "Runs");
        if self.runs.is_empty() {
            html.put("p", "No run is known yet.");
            return;
        }
        let how = "Attempts are all that were made; passes and failures those of the suite, and of failures that were run again. Searches and experiments make tests fail on purpose.";
        html.put("p class=\"soft\"", how);
        table(html, frame, &self.runs);
        pages(html, frame, &self.pages, "/runs", "", "run");
    }
}

pub(super) fn table(html: &mut Html, frame: &PageLayout, runs: &[RunRow]) {
    html.inside("div class=\"wide\"", |html| {
        html.inside("table class=\"list\"", |html| {
            html.fixed("<thead><tr><th>When</th><th>Whose</th><th>Revision</th><th class=\"number\">Attempts</th><th class=\"number\">Passes</th><th class=\"number\">Failures</th><th class=\"number\">Test time</th><th>End</th><th>Command</th></tr></thead>");
            html.inside("tbody", |html| {
                for run in runs {
                    html.inside("tr", |html| row(html, frame, run));
                }
            });
        });
    });
}

fn row(html: &mut Html, frame: &PageLayout, run: &RunRow) {
    html.inside("td class=\"when\"", |html| frame.lead(html, &frame.run(&run.head.id), &frame.exactly(run.head.when)));
    html.put("td class=\"where\"", &first_line(&run.head.name(), 40));
    html.inside("td", |html| _ = html.put("code", &first_line(&run.head.revision(), 12)));
    html.put("td class=\"number\"", &run.attempts.to_string());
    html.put("td class=\"number\"", &run.passed.to_string());
    let failed = if run.failed > 0 { "td class=\"number failed\"" } else { "td class=\"number\"" };
    html.put(failed, &run.failed.to_string());
    html.put("td class=\"number\"", &format::duration(run.seconds));
    html.put("td", &end(run)).put("td class=\"what\"", &first_line(&run.command, 80));
}

/// How the run ended, in one or two words.
pub(super) fn end(run: &RunRow) -> String {
    match run.exit {
        _ if run.set_apart => "set apart".to_owned(),
        _ if run.going_on => "going on".to_owned(),
        Some(code) => format!("exit {code}"),
        None if run.head.id.parse::<i64>().is_ok() => "did not end".to_owned(),
        None => String::new(),
    }
}
