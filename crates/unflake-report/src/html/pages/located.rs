//! The divergence page of a test, drawn from the stored finding.

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
    frame: &PageLayout,
) -> Option<String> {
    let divergence = located.divergence()?;
    let title = format!("Where {} starts to fail", name(located.finding.test.as_str()));
    Some(page(frame, title, "/tests", |html| {
        contents(html, located, divergence);
        let at = commit.map(|commit| format!(" at {}", first_line(commit.get(..8).unwrap_or(commit), 12)));
        let found = format!("Found on {}{}.", frame.when(when), at.unwrap_or_default());
        html.put("p class=\"soft\"", &format!("{found} The lines are those of the files as they are now."));
    }))
}
