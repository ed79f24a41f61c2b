//! Table of the attempts of a test, newest first (`unflake history show TEST`).

use std::io::{self, Write};

use jiff::tz::TimeZone;
use unflake_model::{Isolation, Outcome, Purpose, TestId, Timestamp};

use crate::terminal::writer::{MAX_COLUMNS, TermWriter, Tone};
use crate::text::format;
use crate::text::sanitize::{keep_start, width};
use crate::{ScoreRow, TerminalStyle, one_line};

/// One attempt from the history.
#[derive(Clone, Debug)]
pub struct HistoryRow<'a> {
    pub when: Timestamp,
    pub outcome: Outcome,
    pub seconds: f64,
    /// Short revision that it ran at, marked by the caller where the tree was dirty.
    pub revision: Option<&'a str>,
    pub purpose: Purpose,
    pub origin: Isolation,
    /// Number of earlier attempts in its environment.
    pub position: u32,
    /// 0 for the first run in its session.
    pub run: u32,
    /// Source of an imported attempt; then purpose, origin and position are meaningless.
    pub imported_from: Option<&'a str>,
    /// Empty without a message.
    pub message: &'a str,
}

impl HistoryRow<'_> {
    /// The circumstances of the attempt that matter to a flaky test.
    pub fn circumstances(&self) -> String {
        if let Some(imported_from) = self.imported_from {
            let again = if self.run > 0 { ", retry" } else { "" };
            return format!("{}{again}", one_line(imported_from));
        }
        let after = match self.position {
            0 => ", first".to_owned(),
            1 => ", after 1 test".to_owned(),
            others => format!(", after {others} tests"),
        };
        match (self.purpose, self.run) {
            (Purpose::Suite, 0) => format!("suite{after}"),
            (Purpose::Suite, _) => "immediate retry".to_owned(),
            (Purpose::AtEnd, _) => "retry after the suite".to_owned(),
            (Purpose::Again, _) => format!("its process repeated{after}"),
            (Purpose::Stress, _) => "under stress".to_owned(),
            (Purpose::Look, _) => "traced, alone".to_owned(),
            (Purpose::Twice, _) if self.origin == Isolation::InProcess => "in-process environment".to_owned(),
            (Purpose::Twice, 0) => "first of two".to_owned(),
            (Purpose::Twice, _) => "second of two".to_owned(),
            (Purpose::Order | Purpose::Search, _) => format!("another order{after}"),
            (Purpose::State, _) => format!("state search{after}"),
            (Purpose::Base, _) => "at the base".to_owned(),
            (Purpose::Factor, _) => "under other factors".to_owned(),
            (Purpose::WithoutFiles, _) => "new process, without files that it left".to_owned(),
            (Purpose::Together, _) => format!("new process with other seeds, isolated in it{after}"),
            (Purpose::OtherSeeds, _) => "new process with other seeds".to_owned(),
            (Purpose::Replay, _) => format!("replay{after}"),
            (Purpose::Fresh, 0) => format!("fresh {}", self.origin.word()),
            (Purpose::Fresh, _) => format!("retry in the fresh {}", self.origin.word()),
        }
    }
}

/// Writes the attempts of a test as a table, newest first, in time zone `zone`, below the score of
/// the test.
pub fn attempts_table(
    test: &TestId,
    score: Option<&ScoreRow>,
    rows: &[HistoryRow],
    zone: &TimeZone,
    style: &TerminalStyle,
    out: &mut dyn Write,
) -> io::Result<()> {
    let term = &mut TermWriter::new(*style, out);
    term.line(&[(Tone::Usual, "  "), (Tone::Bold, &one_line(test.as_str()))])?;
    if rows.is_empty() {
        return term.prose(2, Tone::Usual, "no attempts");
    }
    match score {
        Some(score) => score.body(2, zone, term)?,
        None => {
            let failed = rows.iter().filter(|row| row.outcome.is_failure()).count();
            term.prose(2, Tone::Usual, &format!("failed {failed} of {}", format::count(rows.len(), "attempt")))?;
        }
    }
    term.blank()?;

    let mut newest_first: Vec<&HistoryRow> = rows.iter().collect();
    newest_first.sort_by_key(|row| std::cmp::Reverse(row.when));
    let cells: Vec<[String; 5]> = newest_first.iter().map(|row| cells(row, zone, style)).collect();
    let heads = ["when", "outcome", "took", "revision", "where"].map(str::to_owned);
    let widths: [usize; 5] =
        std::array::from_fn(|column| cells.iter().chain([&heads]).map(|row| width(&row[column])).max().unwrap_or(0));
    if 2 + widths.iter().sum::<usize>() + 2 * (widths.len() - 1) > term.style.width {
        return newest_first.iter().zip(&cells).try_for_each(|(row, cells)| stacked(term, row, cells));
    }
    term.line(&[(Tone::Faint, &aligned(&heads, &widths))])?;
    for (row, cells) in newest_first.iter().zip(&cells) {
        let line = aligned(cells, &widths);
        let message = format::first_line(row.message, style.sign("…"));
        let room = term.style.width.saturating_sub(width(&line) + 2).min(MAX_COLUMNS);
        if room >= 30 || room >= width(&message) {
            let message = keep_start(&message, room, style.sign("…"));
            term.line(&[(tone(row), &line), (Tone::Usual, "  "), (Tone::Usual, &message)])?;
        } else {
            term.line(&[(tone(row), &line)])?;
            message_below(term, &message)?;
        }
    }
    Ok(())
}

/// A row where the table is wider than the terminal.
fn stacked(
    term: &mut TermWriter,
    row: &HistoryRow,
    [when, outcome, took, revision, circumstances]: &[String; 5],
) -> io::Result<()> {
    term.line(&[(Tone::Usual, "  "), (tone(row), outcome), (Tone::Usual, "  "), (Tone::Usual, when)])?;
    let rest = [took, revision, circumstances].map(String::as_str);
    let rest: Vec<&str> = rest.into_iter().filter(|part| !part.is_empty()).collect();
    term.prose(6, Tone::Faint, &rest.join(", "))?;
    message_below(term, &format::first_line(row.message, term.style.sign("…")))
}

fn message_below(term: &mut TermWriter, text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let text = keep_start(text, term.style.width - 6, term.style.sign("…"));
    term.line(&[(Tone::Usual, "      "), (Tone::Faint, &text)])
}

fn tone(row: &HistoryRow) -> Tone {
    if row.outcome.is_failure() { Tone::Bad } else { Tone::Usual }
}

fn cells(row: &HistoryRow, zone: &TimeZone, style: &TerminalStyle) -> [String; 5] {
    let when = match jiff::Timestamp::from_microsecond(row.when.0) {
        Ok(when) => when.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => "unknown".to_owned(),
    };
    let sign = match row.outcome {
        outcome if outcome.is_failure() => style.sign("✗"),
        outcome if outcome.is_pass() => style.sign("✓"),
        _ => "-",
    };
    let outcome = format!("{sign} {}", row.outcome.word().replace('-', " "));
    let revision = row.revision.map(|revision| one_line(revision).into_owned()).unwrap_or_default();
    [when, outcome, format::duration(row.seconds), revision, row.circumstances()]
}

/// Pads the cells to the widths of their columns. Durations are right-aligned.
fn aligned(cells: &[String; 5], widths: &[usize; 5]) -> String {
    let mut line = String::from("  ");
    for (column, (cell, &columns)) in cells.iter().zip(widths).enumerate() {
        let gap = " ".repeat(columns - width(cell));
        line.push_str(if column == 0 { "" } else { "  " });
        line.push_str(&if column == 2 { gap.clone() + cell } else { cell.clone() + &gap });
    }
    line
}
