//! The status line: progress, rate, remaining time, and the running test.

use crate::terminal::progress::ProgressState;
use crate::terminal::writer::Tone;
use crate::text::format;
use crate::text::sanitize::{keep_end, keep_start, width};
use crate::{TerminalStyle, one_line};

/// A test that has run this long is shown with its time.
const LONG_SECONDS: f64 = 5.0;
/// Before this the rate is noise.
const SETTLED_SECONDS: f64 = 1.0;
/// Least columns for a shortened id.
const LEAST_ID: usize = 12;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum RunPhase {
    #[default]
    Waiting,
    /// The command as the user typed it.
    Starting(String),
    Collecting,
    Running,
    /// Retries after the suite: done and total.
    Again {
        done: usize,
        of: usize,
    },
    /// Attempts so far at failing tests, and at those that passed later, in new environments. The
    /// total depends on the outcomes.
    Fresh {
        done: usize,
    },
    /// Attempts so far at tests next to copies of themselves.
    Stress {
        done: usize,
    },
    /// Analysing a single test.
    Looking,
    /// Attempts so far in a search: repeated, reordered or subsets of tests.
    Searching {
        what: &'static str,
        done: usize,
    },
    Over,
}

/// The status line of a terminal. Never reaches the last column, where some terminals wrap.
pub(crate) fn line(state: &ProgressState, now: f64, style: &TerminalStyle) -> String {
    let frames: &[&str] =
        if style.unicode { &["⠋", "⠙", "⠸", "⠴", "⠦", "⠇"] } else { &["|", "/", "-", "\\"] };
    let frame = frames[(now * 10.0) as usize % frames.len()];
    let room = style.width.max(20) - 1;
    let separator = style.sign(" · ");
    let running = longest(state, now);
    let since = match running {
        Some((_, seconds)) if seconds >= LONG_SECONDS => format!(" {}", format::rough_duration(seconds)),
        _ => String::new(),
    };
    // A slow test is what people look for; otherwise the name comes last.
    let reserved = if since.is_empty() { 0 } else { width(separator) + LEAST_ID + since.len() };
    let mut text = String::new();
    for fact in facts(state, now, style) {
        let joint = if text.is_empty() { "" } else { separator };
        // Facts are in order of importance; one that does not fit is omitted as a whole.
        if 2 + width(&text) + width(joint) + width(&fact) + reserved > room {
            break;
        }
        text = text + joint + &fact;
    }
    let used = 2 + width(&text) + width(separator) + since.len();
    if let Some((test, _)) = running
        && used + LEAST_ID <= room
    {
        text = format!("{text}{separator}{}{since}", keep_end(&test, room - used, style.sign("…")));
    }
    format!("{} {text}", style.paint(Tone::Faint, frame))
}

/// The log line at an interval of progress or time.
pub(crate) fn log_line(state: &ProgressState, now: f64, style: &TerminalStyle) -> String {
    let mut facts = facts(state, now, style);
    if let Some((test, seconds)) = longest(state, now).filter(|(_, seconds)| *seconds >= LONG_SECONDS) {
        facts.push(format!("{test} running for {}", format::rough_duration(seconds)));
    }
    facts.join(style.sign(" · "))
}

/// The log line at the start of a phase.
pub(crate) fn phase_line(state: &ProgressState, style: &TerminalStyle) -> String {
    match &state.phase {
        RunPhase::Running => format!("running {}", format::count(state.total, "test")),
        RunPhase::Again { of, .. } => format!("retrying {}", format::count(*of, "failing test")),
        RunPhase::Fresh { .. } => "retrying failing tests in fresh environments".to_owned(),
        RunPhase::Stress { .. } => format!("running {} under stress", format::count(state.total, "test")),
        RunPhase::Looking => "tracing the test".to_owned(),
        RunPhase::Searching { what, .. } => (*what).to_owned(),
        _ => facts(state, 0.0, style).concat(),
    }
}

fn facts(state: &ProgressState, now: f64, style: &TerminalStyle) -> Vec<String> {
    let mut facts = match &state.phase {
        RunPhase::Waiting | RunPhase::Over => Vec::new(),
        RunPhase::Starting(command) => {
            vec![format!(
                "starting {}",
                keep_start(&one_line(command), style.width.clamp(30, 80) - 15, style.sign("…"))
            )]
        }
        RunPhase::Collecting => vec!["collecting tests".to_owned()],
        RunPhase::Running => vec![format!("{}/{}", state.done, state.total)],
        RunPhase::Again { done, of } => vec![format!("retries {done}/{of}")],
        RunPhase::Fresh { done } => vec![format!("retries in fresh environments: {done}")],
        RunPhase::Stress { done } => vec![format!("stress: {done} runs")],
        RunPhase::Looking => vec!["tracing the test".to_owned()],
        RunPhase::Searching { what, done } => vec![format!("{what}: {done} runs")],
    };
    let mut push = |number: usize, word: &str| facts.extend((number > 0).then(|| format!("{number} {word}")));
    push(state.failing.len(), "failing");
    push(state.flaky.len(), "flaky");
    facts.extend(if state.phase == RunPhase::Running { speed(state, now) } else { Vec::new() });
    facts
}

/// `61/s` and `8 s left`, once there is enough data.
fn speed(state: &ProgressState, now: f64) -> Vec<String> {
    let elapsed = now - state.first_start.unwrap_or(now);
    if elapsed < SETTLED_SECONDS || state.done == 0 {
        return Vec::new();
    }
    let rate = state.done as f64 / elapsed;
    let mut facts = Vec::new();
    if rate >= 1.0 {
        facts.push(format!("{rate:.0}/s"));
    }
    if state.done < state.total && state.left == 0 {
        facts.push(format!("{} left", format::rough_duration((state.total - state.done) as f64 / rate)));
    }
    facts
}

/// The test that has been running longest, and its time.
fn longest(state: &ProgressState, now: f64) -> Option<(String, f64)> {
    let (test, since) = state.running.values().min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some((one_line(test.as_str()).into_owned(), now - since))
}
