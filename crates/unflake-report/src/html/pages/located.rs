//! The divergence page of a test, drawn from the stored finding.

use maud::html;
use unflake_model::Timestamp;

use super::layout::{PageLayout, first_line, name, page};
use crate::LocateReport;
use crate::html::locate::page::contents;

/// Draws what was found at `when`, in the files of `commit`. None where the finding has no
/// divergence.
pub fn located_page(
    located: &LocateReport,
    when: Timestamp,
    commit: Option<&str>,
    layout: &PageLayout,
) -> Option<String> {
    let divergence = located.divergence()?;
    let title = format!("Where {} starts to fail", name(located.finding.test.as_str()));
    let content = html! {
        (contents(located, divergence))
        p.soft {
            "Found on " (layout.when(when))
            @if let Some(commit) = commit { " at " (first_line(commit.get(..8).unwrap_or(commit), 12)) }
            ". Lines are shown from the current files."
        }
    };
    Some(page(layout, &title, "/tests", content))
}
