//! Terminal output for the quarantine: its entries, and which are no longer needed.

use std::io::{self, Write};

use unflake_model::{Attempt, Day, QuarantineMode, QuarantineResult, QuarantineStanding, Quarantined, TestId};

use crate::attempts_by_test::AttemptsByTest;
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
        0 => "no test in quarantine".to_owned(),
        _ => format!("{} in quarantine", format::count(holding, "test")),
    };
    if over > 0 {
        headline.push_str(&format!(", {} expired", format::count(over, "entry")));
    }
    term.prose(0, Tone::Bold, &headline)?;
    for (entry, attempts) in entries {
        term.blank()?;
        let left = entry.expires.since(today);
        let (tone, label) = if left < 0 { (Tone::Bad, "EXPIRED") } else { (Tone::Odd, "EXCUSED") };
        term.head(tone, label, &one_line(entry.test.as_str()))?;
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
        ..0 => format!("expired on {}: fix it, renew it with `unflake quarantine add`, or remove it", entry.expires),
        0 => format!("expires today, {}", entry.expires),
        _ => format!("expires on {}, in {}", entry.expires, format::count(left as usize, "day")),
    }
}

pub fn recent_outcomes(attempts: &[Attempt]) -> String {
    let last = &attempts[..attempts.len().min(RECENT)];
    let failed = last.iter().filter(|attempt| attempt.outcome.is_failure()).count();
    match (last.len(), failed) {
        (0, _) => "no attempt in the history".to_owned(),
        (tried, 0) => format!("passed its last {tried} attempts; the entry may be obsolete"),
        (tried, failed) => format!("failed {failed} of its last {}", format::count(tried, "attempt")),
    }
}

/// Excused failures of a run; listed after the failures that need action.
pub(crate) fn excused(term: &mut TermWriter, results: &[QuarantineResult], cases: &AttemptsByTest) -> io::Result<()> {
    for one in results.iter().filter(|one| one.standing == QuarantineStanding::Excused) {
        term.blank()?;
        term.head(Tone::Odd, "EXCUSED", &one_line(one.entry.test.as_str()))?;
        let until = format!("fails as expected, excused until {}: {}", one.entry.expires, reason_and_owner(&one.entry));
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
                Some(format!("the quarantine of {test} expired on {}: its failures count", one.entry.expires))
            }
            QuarantineStanding::FailedOtherwise => Some(format!("{test} is in quarantine for another failure")),
            QuarantineStanding::Unknown => Some(format!("{test} is in quarantine, but there is no such test")),
            QuarantineStanding::LeftOut => {
                Some(format!("{test} was skipped: {} (until {})", reason_and_owner(&one.entry), one.entry.expires))
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
