//! The matrix: one row per test, one column per run.

use serde::Serialize;

use super::layout::{PageLayout, first_line, link, name, pages, query_encoded};
use super::{Pagination, RunHead, TestEntry};
use crate::html::markup::Html;
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
    pub(super) fn draw(&self, html: &mut Html, frame: &PageLayout) {
        html.put("h1", "Tests by runs");
        let legend = "· passed   ≈ failed and passed in the same run   ✗ failed   – skipped   blank: not run. The newest run is at the right.";
        html.put("p class=\"soft legend-line\"", legend);
        if self.rows.is_empty() || self.runs.is_empty() {
            html.put("p", "Nothing is known yet.");
            return;
        }
        self.times(html);
        html.inside("div class=\"wide\"", |html| {
            html.inside("table class=\"list matrix\"", |html| {
                html.inside("thead", |html| _ = html.inside("tr", |html| self.heads(html, frame)));
                html.inside("tbody", |html| {
                    for row in &self.rows {
                        html.inside("tr", |html| {
                            html.inside("th scope=\"row\"", |html| row.name(html, frame));
                            row.cells.iter().for_each(|cell| cell.draw(html));
                        });
                    }
                });
            });
        });
        let query = format!("q={}&runs={}&", query_encoded(&self.query), self.columns.page);
        pages(html, frame, &self.pages, "/matrix", &query, "test");
    }

    fn heads(&self, html: &mut Html, frame: &PageLayout) {
        html.put("th", "Test");
        for run in &self.runs {
            html.inside("th class=\"run\"", |html| {
                let said = format!("{} {}", frame.when(run.when), first_line(&run.name(), 80));
                html.inside_with(
                    "a",
                    &[("href", &frame.run(&run.id)), ("title", &said), ("aria-label", &said)],
                    |html| {
                        html.text("│");
                    },
                );
            });
        }
    }

    /// Links to older and newer runs.
    fn times(&self, html: &mut Html) {
        let Pagination { page, of, total } = self.columns;
        html.inside("p class=\"pages\"", |html| {
            let at =
                |runs: usize| format!("/matrix?q={}&page={}&runs={runs}", query_encoded(&self.query), self.pages.page);
            if page < of {
                link(html, &at(page + 1), "← older runs");
            }
            html.text(&format!(" {} of {} ", self.runs.len(), format::count(total, "run")));
            if page > 1 {
                link(html, &at(page - 1), "newer runs →");
            }
        });
    }
}

impl MatrixRow {
    /// The end of the name, which is the specific part; a fixed width leaves room for the runs.
    fn name(&self, html: &mut Html, frame: &PageLayout) {
        let name = name(&self.concern.score.test);
        let address = frame.test(self.concern.key);
        html.inside_with("a class=\"test\"", &[("href", &address), ("title", &name)], |html| {
            html.text(&keep_end(&name, NAME, "…"));
        });
    }
}

impl MatrixCell {
    fn draw(self, html: &mut Html) {
        let tag = match self {
            Self::Failed => "td class=\"failed\"",
            Self::Flaked => "td class=\"flaked\"",
            _ => "td",
        };
        html.put(tag, self.sign());
    }
}
