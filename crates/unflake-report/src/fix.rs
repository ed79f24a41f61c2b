//! The suggested fix for a finding.

use unflake_model::{Confidence, Detail, Finding, Leak, Shows};

use crate::divergence_text;

/// What to do about a finding. None: there is no suggestion.
pub(crate) fn fix(finding: &Finding) -> Option<String> {
    match &finding.detail {
        Detail::State(leak) if finding.confidence() == Some(Confidence::Proven) => Some(of_leak(finding, leak)),
        Detail::Factor(influence)
            if influence.setting.iter().any(|factor| factor.kind().at_lines)
                && finding.replays.iter().any(|replay| replay.at_once > 1) =>
        {
            Some("give each test its own state, or let a lock keep the two from running at the same time".to_owned())
        }
        Detail::Factor(influence) if influence.setting.iter().any(|factor| factor.kind().at_lines) => {
            Some("wait there for what the test needs (a lock, a join, a condition), not for a time".to_owned())
        }
        Detail::Divergence(divergence) => Some(divergence_text::advice(divergence).replace('`', "")),
        _ => None,
    }
}

fn of_leak(finding: &Finding, leak: &Leak) -> String {
    let cells = match &leak.cells[..] {
        [one] => one.path.clone(),
        [first, rest @ ..] => format!("{} and {} more", first.path, rest.len()),
        [] => "it".to_owned(),
    };
    if leak.cells.iter().any(|cell| cell.preset) {
        return format!("let {cells} compute its values when they are used, or initialize it before the tests");
    }
    // The test needs the state where it passes with it.
    if finding.reproduce.last().is_some_and(|one| one.shows == Shows::Passes) {
        return format!("set {cells} in a fixture of this test");
    }
    match &leak.after[..] {
        [polluter] if *polluter == finding.test => format!("reset {cells} in its tear-down"),
        [polluter] => format!("reset {cells} in a fixture or in the tear-down of {polluter}"),
        _ => format!("reset {cells} in a fixture or in the tear-down of the test that writes it"),
    }
}
