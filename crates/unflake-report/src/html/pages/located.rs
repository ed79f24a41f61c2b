//! Where a test starts to fail, drawn from what was kept.

use unflake_model::Timestamp;

use super::layout::{Frame, first_line, name, page};
use crate::LocateReport;
use crate::html::locate::page::contents;

/// What was found out at that moment, in files of that commit. None where it is no divergence.
pub fn located_page(located: &LocateReport, when: Timestamp, commit: Option<&str>, frame: &Frame) -> Option<String> {
    let divergence = located.divergence()?;
    let title = format!("Where {} starts to fail", name(located.finding.test.as_str()));
    Some(page(frame, title, "/tests", |html| {
        contents(html, located, divergence);
        let at = commit.map(|commit| format!(" at {}", first_line(commit.get(..8).unwrap_or(commit), 12)));
        let found = format!("Found on {}{}.", frame.when(when), at.unwrap_or_default());
        html.put("p class=\"soft\"", &format!("{found} The lines are those of the files as they are now."));
    }))
}
