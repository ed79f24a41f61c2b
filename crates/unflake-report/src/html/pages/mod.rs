//! Pages of the test history, as HTML and as JSON. Data in, text out.
//!
//! The HTML loads no resources and runs no script. Everything shown by colour is also shown by a
//! sign and a word. Text of tests is escaped in the HTML, and cut there, never in the JSON.

mod audit;
mod cause;
mod draw;
mod error_page;
mod file;
mod inbox;
mod layout;
mod located;
mod matrix;
#[cfg(test)]
mod page_tests;
mod quarantine;
mod run;
mod runs;
mod sign_in;
mod test;
mod tests;

use maud::Markup;
use serde::Serialize;
use unflake_model::{Day, Timestamp};

use crate::{NextAction, ScoreRow};

pub use audit::{AuditLog, AuditRow};
pub use cause::{CausePage, CauseSummary};
pub use error_page::ErrorPage;
pub use file::SingleFileReport;
pub use inbox::Inbox;
pub use layout::{Links, PageLayout};
pub use located::located_page;
pub use matrix::{Matrix, MatrixCell, MatrixRow};
pub use quarantine::{QuarantineEntry, QuarantinePage};
pub use run::{RunFailure, RunPage};
pub use runs::{RunHead, RunList, RunRow};
pub use sign_in::SignInPage;
pub use test::{FailureGroup, FindingEntry, LocateRecord, PastAttempt, TestPage};
pub use tests::TestList;

/// One page of the history.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "view", rename_all = "kebab-case")]
pub enum View {
    Inbox(Inbox),
    Cause(Box<CausePage>),
    Tests(TestList),
    Test(Box<TestPage>),
    Matrix(Matrix),
    Runs(RunList),
    Run(Box<RunPage>),
    Quarantine(QuarantinePage),
    Audit(AuditLog),
    SignIn(SignInPage),
    Error(ErrorPage),
}

impl View {
    /// The page as a complete HTML document.
    pub fn html(&self, layout: &PageLayout) -> String {
        layout::page(layout, &self.title(), self.place(), self.draw(layout))
    }

    pub fn json(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Document<'a> {
            schema: u32,
            #[serde(flatten)]
            view: &'a View,
        }
        let mut text =
            serde_json::to_vec(&Document { schema: 1, view: self }).expect("names are text, and nothing fails inside");
        text.push(b'\n');
        text
    }

    fn title(&self) -> String {
        match self {
            Self::Inbox(_) => "Inbox".to_owned(),
            Self::Cause(one) => one.title(),
            Self::Tests(_) => "Tests".to_owned(),
            Self::Test(one) => one.title(),
            Self::Matrix(_) => "Tests by runs".to_owned(),
            Self::Runs(_) => "Runs".to_owned(),
            Self::Run(one) => one.title(),
            Self::Quarantine(_) => "Quarantine".to_owned(),
            Self::Audit(_) => "Audit log".to_owned(),
            Self::SignIn(_) => "Sign in".to_owned(),
            Self::Error(one) => one.title(),
        }
    }

    /// The menu entry that the page belongs to.
    fn place(&self) -> &'static str {
        match self {
            Self::Inbox(_) | Self::Cause(_) => "/",
            Self::Tests(_) | Self::Test(_) => "/tests",
            Self::Matrix(_) => "/matrix",
            Self::Runs(_) | Self::Run(_) => "/runs",
            Self::Quarantine(_) => "/quarantine",
            Self::Audit(_) => "/audit",
            Self::SignIn(_) | Self::Error(_) => "",
        }
    }

    fn draw(&self, layout: &PageLayout) -> Markup {
        match self {
            Self::Inbox(one) => one.draw(layout),
            Self::Cause(one) => one.draw(layout),
            Self::Tests(one) => one.draw(layout),
            Self::Test(one) => one.draw(layout),
            Self::Matrix(one) => one.draw(layout),
            Self::Runs(one) => one.draw(layout),
            Self::Run(one) => one.draw(layout),
            Self::Quarantine(one) => one.draw(layout),
            Self::Audit(one) => one.draw(layout),
            Self::SignIn(one) => one.draw(),
            Self::Error(one) => one.draw(),
        }
    }
}

/// Totals over the whole history.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HistoryTotals {
    pub tests: usize,
    pub runs: usize,
    pub flaky: usize,
    pub broken: usize,
    /// Runs in which most tests failed.
    pub excluded_runs: usize,
    pub seconds_lost: f64,
    pub since: Option<Timestamp>,
    /// A run that appears to be in progress.
    pub going_on: Option<Box<RunRow>>,
    /// The history has grown since this was computed; an update is under way.
    pub behind: bool,
}

/// A test as lists show it.
#[derive(Clone, Debug, Serialize)]
pub struct TestEntry {
    pub key: i64,
    #[serde(flatten)]
    pub score: ScoreRow,
    pub quarantined_until: Option<Day>,
    /// None: there is nothing to do.
    pub next: Option<NextAction>,
}

/// A page of a long list. Counted from 1.
#[derive(Clone, Debug, Serialize)]
pub struct Pagination {
    pub page: usize,
    pub of: usize,
    /// Length of the whole list.
    pub total: usize,
}

impl Pagination {
    /// The elements on page `page`, and the position of that page.
    pub fn cut<T>(all: &[T], page: usize, size: usize) -> (&[T], Self) {
        let pages = Self::of(all.len(), page, size);
        let from = ((pages.page - 1) * size).min(all.len());
        (&all[from..(from + size).min(all.len())], pages)
    }

    /// The position of page `page` of a list with `total` elements.
    pub fn of(total: usize, page: usize, size: usize) -> Self {
        let of = total.div_ceil(size).max(1);
        Self { page: page.clamp(1, of), of, total }
    }
}
