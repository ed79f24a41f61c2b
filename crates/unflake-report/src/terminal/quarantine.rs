//! Terminal output for the quarantine: its entries, and which are no longer needed.

use std::io::{self, Write};

use unflake_model::{Attempt, Day, QuarantineMode, QuarantineResult, QuarantineStanding, Quarantined, TestId};

use crate::attempts_by_test::TestCases;
use crate::terminal::failure;
use crate::terminal::writer::{TermWriter, Tone};
use crate::text::format;
use crate::{TerminalStyle, one_line};

/// Recent attempts considered.
const RECENT: usize = 20;

/// Writes every entry with the recent attempts of its test, newest first.
pub fn quarantine(
    entries: &[(Quarantined, Vec<Attempt>)],
    today: Day,
    style: &TerminalStyle,
    out: &mut dyn Write,
) -> io::Result<()> {
    let term = &mut TermWriter::new(*style, out);
    let holding = entries.iter().filter(|(entry, _)| entry.expires >= today).count();
    let over = entries.len() - holding;
    let mut headline = match holding {
        0 => "nothing is in quarantine".to_owned(),
        _ => format!("{} in quarantine", format::count(holding, "test")),
    };
    if over > 0 {
        headline.push_str(&format!(
            "; {} over and {} for nothing",
            format::count(over, "entry"),
            if over == 1 { "counts" } else { "count" }
        ));
    }
    term.prose(2, Tone::Bold, &headline)?;
    for (entry, attempts) in entries {
        term.blank()?;
        let left = entry.expires.since(today);
        let (tone, label) = if left < 0 { (Tone::Bad, "OVER") } else { (Tone::Odd, "APART") };
        term.head(tone, "◌", label, &one_line(entry.test.as_str()))?;
        term.prose(term.indent(), Tone::Usual, &reason_and_owner(entry))?;
        term.prose(term.indent(), Tone::Usual, &deadline(entry, left))?;
        term.prose(term.indent(), Tone::Faint, &recent_outcomes(attempts))?;
    }
    Ok(())
}

/// The owner and the issue of an entry.
fn reason_and_owner(entry: &Quarantined) -> String {
    let issue = entry.issue.as_ref().map(|issue| format!(", {}", one_line(issue))).unwrap_or_default();
    let left_out = if entry.mode == QuarantineMode::Skip { "; it is not run" } else { "" };
    format!("{} ({}{issue}){left_out}", one_line(&entry.reason), one_line(&entry.owner))
}

fn deadline(entry: &Quarantined, left: i64) -> String {
    match left {
        ..0 => format!("was over on {}: mend it, renew it with `unflake quarantine add`, or remove it", entry.expires),
        0 => format!("holds until today, {}", entry.expires),
        _ => format!("holds until {}, {} more", entry.expires, format::count(left as usize, "day")),
    }
}

pub fn recent_outcomes(attempts: &[Attempt]) -> String {
    let last = &attempts[..attempts.len().min(RECENT)];
    let failed = last.iter().filter(|attempt| attempt.outcome.is_failure()).count();
    match (last.len(), failed) {
        (0, _) => "the history has no attempt at it".to_owned(),
        (tried, 0) => format!("passed in its last {tried} attempts: it may not need this any more"),
        (tried, failed) => format!("failed in {failed} of its last {}", format::count(tried, "attempt")),
    }
}

/// Excused failures of a run; listed after the failures that need action.
pub(crate) fn excused(term: &mut TermWriter, results: &[QuarantineResult], cases: &TestCases) -> io::Result<()> {
    for one in results.iter().filter(|one| one.standing == QuarantineStanding::Excused) {
        term.blank()?;
        term.head(Tone::Odd, "◌", "APART", &one_line(one.entry.test.as_str()))?;
        let until =
            format!("fails as foretold, and is excused until {}: {}", one.entry.expires, reason_and_owner(&one.entry));
        term.prose(term.indent(), Tone::Usual, &until)?;
        if let Some(first) = cases.get(&one.entry.test).and_then(|case| case.failures().next()) {
            failure::show(term, first, "")?;
        }
    }
    Ok(())
}

/// Notes about entries, such as expired or unnecessary ones.
pub(crate) fn notes(results: &[QuarantineResult]) -> Vec<String> {
    let note = |one: &QuarantineResult| {
        let test = one_line(one.entry.test.as_str()).into_owned();
        match one.standing {
            QuarantineStanding::Expired => {
                Some(format!("the quarantine of {test} was over on {}: it counts again", one.entry.expires))
            }
            QuarantineStanding::FailedOtherwise => {
                Some(format!("{test} is in quarantine, but for another failure than it has now"))
            }
            QuarantineStanding::Unknown => Some(format!("{test} is in quarantine, and no test here has that name")),
            QuarantineStanding::LeftOut => {
                Some(format!("{test} was left out: {} (until {})", reason_and_owner(&one.entry), one.entry.expires))
            }
            QuarantineStanding::Excused | QuarantineStanding::Passed | QuarantineStanding::NotRun => None,
        }
    };
    results.iter().filter_map(note).collect()
}

/// Why a test does not count, in one line.
pub(crate) fn reason(one: &QuarantineResult) -> String {
    format!("in quarantine until {}: {}", one.entry.expires, reason_and_owner(&one.entry))
}

/// Whether a failure of this test is excused.
pub(crate) fn is_excused(results: &[QuarantineResult], test: &TestId) -> bool {
    results.iter().any(|one| one.entry.test == *test && one.standing == QuarantineStanding::Excused)
}
