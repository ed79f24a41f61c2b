//! Formats one failing attempt, in full for the summary and in one line.

use std::io;

use unflake_model::{Attempt, Failure, Outcome, Phase};

use crate::terminal::writer::{Keep, MAX_COLUMNS, TermWriter, Tone};
use crate::text::format;
use crate::text::sanitize::keep_start;
use crate::{TerminalStyle, one_line};

const MESSAGE_LINES: usize = 20;
const STACK_LINES: usize = 20;
const OUTPUT_LINES: usize = 10;

/// Shows where and how an attempt failed, and the end of its output. Does not repeat
/// `shown_before`.
pub(crate) fn show(term: &mut TermWriter, attempt: &Attempt, shown_before: &str) -> io::Result<()> {
    let indent = term.indent() + 2;
    let failure = attempt.failure.as_ref();
    let location = failure.and_then(location).unwrap_or_default();
    let kind = match attempt.outcome {
        Outcome::Crashed(death) if shown_before.contains(&death.to_string()) => String::new(),
        _ => kind_text(attempt),
    };
    term.side_by_side(indent, (Tone::Bold, &location), (Tone::Usual, &kind))?;
    if let Some(failure) = failure {
        let message = failure.message.trim();
        // The lines above already contain the signal that killed the process.
        if !matches!(attempt.outcome, Outcome::Crashed(death) if death.to_string() == message) {
            term.quote(indent, message, MESSAGE_LINES, Keep::Ends)?;
        }
        // After a timeout, or without a message, the stack trace is the only evidence.
        if failure.phase == Phase::Process || message.is_empty() {
            term.quote(indent, &failure.trace, STACK_LINES, Keep::Ends)?;
        }
    }
    for (name, text) in [("stdout", &attempt.stdout), ("stderr", &attempt.stderr)] {
        if !text.trim().is_empty() {
            term.prose(indent, Tone::Faint, &format!("captured {name}:"))?;
            term.quote(indent, text, OUTPUT_LINES, Keep::End)?;
        }
    }
    Ok(())
}

/// Lists other kinds of failure. Messages are not compared: they differ between attempts by an
/// address or a time.
pub(crate) fn show_other_kinds<'a>(
    term: &mut TermWriter,
    mut failures: impl Iterator<Item = &'a Attempt>,
) -> io::Result<()> {
    let kind_of = |attempt: &'a Attempt| {
        (attempt.outcome.word(), attempt.failure.as_ref().map_or("", |failure| failure.kind.as_str()))
    };
    let mut shown: Vec<_> = failures.next().map(kind_of).into_iter().collect();
    for attempt in failures {
        if !shown.contains(&kind_of(attempt)) {
            shown.push(kind_of(attempt));
            let text = format!("another attempt: {}", in_one_line(attempt, &term.style));
            let indent = term.indent() + 2;
            let room = term.style.width.saturating_sub(indent).min(MAX_COLUMNS);
            let text = keep_start(&text, room, term.style.sign("…"));
            term.line(&[(Tone::Usual, &" ".repeat(indent)), (Tone::Usual, &text)])?;
        }
    }
    Ok(())
}

/// `AssertionError: 9.89 ≠ 9.90`, safe to print, in one line of any length.
pub(crate) fn in_one_line(attempt: &Attempt, style: &TerminalStyle) -> String {
    let kind = kind_text(attempt);
    let message = attempt.failure.as_ref().map_or("", |failure| failure.message.trim());
    let message = format::first_line(message, style.sign("…"));
    match (kind.is_empty(), message.is_empty() || kind.contains(&*message)) {
        (true, _) => message.into_owned(),
        (false, true) => kind,
        (false, false) => format!("{kind}: {message}"),
    }
}

fn location(failure: &Failure) -> Option<String> {
    let file = one_line(failure.file.as_deref()?);
    Some(match failure.line {
        Some(line) => format!("{file}:{line}"),
        None => file.into_owned(),
    })
}

/// The kind of the failure. Empty where the message already contains it.
fn kind_text(attempt: &Attempt) -> String {
    let (kind, phase) = match &attempt.failure {
        Some(failure) if names_kind(&failure.message, &failure.kind) => ("", failure.phase),
        Some(failure) => (failure.kind.as_str(), failure.phase),
        None => ("", Phase::Call),
    };
    let phase = match phase {
        Phase::SetUp => "in set-up",
        Phase::TearDown => "in tear-down",
        Phase::SharedTearDown => "in a shared tear-down",
        Phase::Call | Phase::Process => "",
    };
    match attempt.outcome {
        Outcome::Crashed(death) => format!("crashed, {death}"),
        Outcome::TimedOut => format!("timed out after {}", format::duration(attempt.seconds)),
        _ => [&*one_line(kind), phase].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" "),
    }
}

/// Whether a message begins with the name of its kind, possibly qualified: `shop.mail.GaveUp: …`.
fn names_kind(message: &str, kind: &str) -> bool {
    let first = message.trim_start();
    let name = first.split([':', ' ', '\n']).next().unwrap_or(first);
    first.starts_with(kind) || name.strip_suffix(kind).is_some_and(|path| path.ends_with('.'))
}
