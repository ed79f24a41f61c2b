//! List of all runs, recorded and imported.

use maud::{Markup, html};
use serde::Serialize;
use unflake_model::Timestamp;

use super::Pagination;
use super::layout::{PageLayout, first_line, pages};
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
    pub excluded: bool,
}

impl RunHead {
    /// A short name.
    pub(super) fn name(&self) -> String {
        let ours = self.id.parse::<i64>().is_ok();
        let run = match &self.ci_run {
            Some(run) => format!("CI {run}"),
            None if ours => "local".to_owned(),
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
    pub(super) fn draw(&self, layout: &PageLayout) -> Markup {
        html! {
            h1 { "Runs" }
            @if self.runs.is_empty() { p { "No runs recorded yet." } } @else {
                p.soft {
                    "Attempts counts every execution. Passes and failures count the suite and its reruns, not searches "
                    "and experiments, which make tests fail on purpose."
                }
                (table(layout, &self.runs))
                (pages(layout, &self.pages, "/runs", "", "run"))
            }
        }
    }
}

pub(super) fn table(layout: &PageLayout, runs: &[RunRow]) -> Markup {
    html! {
        div.wide {
            table.list {
                thead {
                    tr {
                        th { "When" } th { "Source" } th { "Revision" }
                        @for head in ["Attempts", "Passes", "Failures", "Test time"] { th.number { (head) } }
                        th { "Result" } th { "Command" }
                    }
                }
                tbody { @for run in runs { (row(layout, run)) } }
            }
        }
    }
}

fn row(layout: &PageLayout, run: &RunRow) -> Markup {
    html! {
        tr {
            td.when { (layout.link_or_text(&layout.run(&run.head.id), &layout.exactly(run.head.when))) }
            td class="where" { (first_line(&run.head.name(), 40)) }
            td { code { (first_line(&run.head.revision(), 12)) } }
            td.number { (run.attempts) }
            td.number { (run.passed) }
            td class=(if run.failed > 0 { "number failed" } else { "number" }) { (run.failed) }
            td.number { (format::duration(run.seconds)) }
            td { (end(run)) }
            td.what { (first_line(&run.command, 80)) }
        }
    }
}

/// How the run ended, in one or two words.
pub(super) fn end(run: &RunRow) -> String {
    match run.exit {
        _ if run.excluded => "excluded".to_owned(),
        _ if run.going_on => "in progress".to_owned(),
        Some(code) => format!("exit {code}"),
        None if run.head.id.parse::<i64>().is_ok() => "did not end".to_owned(),
        None => String::new(),
    }
}
