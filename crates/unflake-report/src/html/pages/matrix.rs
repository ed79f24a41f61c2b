//! The matrix: one row per test, one column per run.

use maud::{Markup, html};
use serde::Serialize;

use super::layout::{PageLayout, first_line, link, name, pages, query_encoded};
use super::{Pagination, RunHead, TestEntry};
use crate::text::format;
use crate::text::sanitize::keep_end;

/// Columns for a test name.
const NAME: usize = 50;

#[derive(Clone, Debug, Serialize)]
pub struct Matrix {
    /// Oldest first.
    pub runs: Vec<RunHead>,
    pub rows: Vec<MatrixRow>,
    pub pages: Pagination,
    /// Which runs are shown; pages count from 1, newest first.
    pub columns: Pagination,
    pub query: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct MatrixRow {
    #[serde(flatten)]
    pub concern: TestEntry,
    /// One per run.
    pub cells: Vec<MatrixCell>,
}

/// Outcome of a test in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatrixCell {
    /// The test did not run.
    #[default]
    Absent,
    Skipped,
    Passed,
    /// Passed and failed in the same run.
    Flaked,
    Failed,
}

impl MatrixCell {
    fn sign(self) -> &'static str {
        match self {
            Self::Absent => " ",
            Self::Skipped => "–",
            Self::Passed => "·",
            Self::Flaked => "≈",
            Self::Failed => "✗",
        }
    }

    /// Combines the outcomes of two attempts in one run.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Absent | Self::Skipped, one) | (one, Self::Absent | Self::Skipped) => one,
            (one, other) if one == other => one,
            _ => Self::Flaked,
        }
    }
}

impl Matrix {
    pub(super) fn draw(&self, layout: &PageLayout) -> Markup {
        let query = format!("q={}&runs={}&", query_encoded(&self.query), self.columns.page);
        html! {
            h1 { "Tests by runs" }
            p class="soft legend-line" {
                "· passed   ≈ failed and passed in the same run   ✗ failed   – skipped   blank: not run. "
                "The newest run is at the right."
            }
            @if self.rows.is_empty() || self.runs.is_empty() { p { "No runs recorded yet." } } @else {
                (self.run_links())
                div.wide {
                    table class="list matrix" {
                        thead { tr { th { "Test" } @for run in &self.runs { th.run { (head(layout, run)) } } } }
                        tbody {
                            @for row in &self.rows {
                                tr { th scope="row" { (row.name(layout)) } @for cell in &row.cells { (cell.draw()) } }
                            }
                        }
                    }
                }
                (pages(layout, &self.pages, "/matrix", &query, "test"))
            }
        }
    }

    /// Links to older and newer runs.
    fn run_links(&self) -> Markup {
        let Pagination { page, of, total } = self.columns;
        let address =
            |runs: usize| format!("/matrix?q={}&page={}&runs={runs}", query_encoded(&self.query), self.pages.page);
        html! {
            p.pages {
                @if page < of { (link(&address(page + 1), "← older runs")) }
                " " (self.runs.len()) " of " (format::count(total, "run")) " "
                @if page > 1 { (link(&address(page - 1), "newer runs →")) }
            }
        }
    }
}

fn head(layout: &PageLayout, run: &RunHead) -> Markup {
    let label = format!("{} {}", layout.when(run.when), first_line(&run.name(), 80));
    html! { a href=(layout.run(&run.id)) title=(label) aria-label=(label) { "│" } }
}

impl MatrixRow {
    /// The end of the name, which is the specific part; a fixed width leaves room for the runs.
    fn name(&self, layout: &PageLayout) -> Markup {
        let name = name(&self.concern.score.test);
        html! { a.test href=(layout.test(self.concern.key)) title=(name) { (keep_end(&name, NAME, "…")) } }
    }
}

impl MatrixCell {
    fn draw(self) -> Markup {
        match self {
            Self::Failed => html! { td.failed { (self.sign()) } },
            Self::Flaked => html! { td.flaked { (self.sign()) } },
            _ => html! { td { (self.sign()) } },
        }
    }
}
