//! Terminal output for the quarantine: its entries, and which are no longer needed.

use std::io::{self, Write};

use unflake_model::{Attempt, Day, QuarantineMode, QuarantineResult, QuarantineStanding, Quarantined, TestId};

use crate::attempts_by_test::Cases;
use crate::terminal::failure;
use crate::terminal::writer::{Page, Tone};
use crate::text::format;
use crate::{TerminalStyle, one_line};

/// Recent attempts considered.
const LATELY: usize = 20;

/// Writes every entry with the recent attempts of its test, newest first.
pub fn quarantine(
    entries: &[(Quarantined, Vec<Attempt>)],
    today: Day,
    look: &TerminalStyle,
    out: &mut dyn Write,
) -> io::Result<()> {
    let page = &mut Page::new(*look, out);
    let holding = entries.iter().filter(|(entry, _)| entry.expires >= today).count();
    let over = entries.len() - holding;
    let mut said = match holding {
        0 => "nothing is in quarantine".to_owned(),
        _ => format!("{} in quarantine", format::count(holding, "test")),
    };
    if over > 0 {
        said.push_str(&format!(
            "; {} over and {} for nothing",
            format::count(over, "entry"),
            if over == 1 { "counts" } else { "count" }
        ));
    }
    page.prose(2, Tone::Bold, &said)?;
    for (entry, attempts) in entries {
        page.blank()?;
        let left = entry.expires.since(today);
        let (tone, label) = if left < 0 { (Tone::Bad, "OVER") } else { (Tone::Odd, "APART") };
        page.head(tone, "◌", label, &one_line(entry.test.as_str()))?;
        page.prose(page.indent(), Tone::Usual, &agreement(entry))?;
        page.prose(page.indent(), Tone::Usual, &deadline(entry, left))?;
        page.prose(page.indent(), Tone::Faint, &lately(attempts))?;
    }
    Ok(())
}

/// The owner and the issue of an entry.
fn agreement(entry: &Quarantined) -> String {
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

pub fn lately(attempts: &[Attempt]) -> String {
    let last = &attempts[..attempts.len().min(LATELY)];
    let failed = last.iter().filter(|attempt| attempt.outcome.is_failure()).count();
    match (last.len(), failed) {
        (0, _) => "the history has no attempt at it".to_owned(),
        (tried, 0) => format!("passed in its last {tried} attempts: it may not need this any more"),
        (tried, failed) => format!("failed in {failed} of its last {}", format::count(tried, "attempt")),
    }
}

/// Excused failures of a run; listed after the failures that need action.
pub(crate) fn excused(page: &mut Page, apart: &[QuarantineResult], cases: &Cases) -> io::Result<()> {
    for one in apart.iter().filter(|one| one.standing == QuarantineStanding::Excused) {
        page.blank()?;
        page.head(Tone::Odd, "◌", "APART", &one_line(one.entry.test.as_str()))?;
        let until = format!("fails as foretold, and is excused until {}: {}", one.entry.expires, agreement(&one.entry));
        page.prose(page.indent(), Tone::Usual, &until)?;
        if let Some(first) = cases.get(&one.entry.test).and_then(|case| case.failures().next()) {
            failure::show(page, first, "")?;
        }
    }
    Ok(())
}

/// Notes about entries, such as expired or unnecessary ones.
pub(crate) fn notes(apart: &[QuarantineResult]) -> Vec<String> {
    let say = |one: &QuarantineResult| {
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
                Some(format!("{test} was left out: {} (until {})", agreement(&one.entry), one.entry.expires))
            }
            QuarantineStanding::Excused | QuarantineStanding::Passed | QuarantineStanding::NotRun => None,
        }
    };
    apart.iter().filter_map(say).collect()
}

/// Why a test does not count, in one line.
pub(crate) fn why(one: &QuarantineResult) -> String {
    format!("in quarantine until {}: {}", one.entry.expires, agreement(&one.entry))
}

/// Whether a failure of this test is excused.
pub(crate) fn is_excused(apart: &[QuarantineResult], test: &TestId) -> bool {
    apart.iter().any(|one| one.entry.test == *test && one.standing == QuarantineStanding::Excused)
}
