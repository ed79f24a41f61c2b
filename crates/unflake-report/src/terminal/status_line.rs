//! The status line: how far, how fast, how long still, and what is running.

use crate::terminal::progress::State;
use crate::terminal::writer::Tone;
use crate::text::format;
use crate::text::sanitize::{keep_end, keep_start, width};
use crate::{TerminalStyle, one_line};

/// From here on a running test is named together with its time.
const LONG_SECONDS: f64 = 5.0;
/// Rates before this are noise.
const SETTLED_SECONDS: f64 = 1.0;
/// Less room than this is not worth a shortened id.
const LEAST_ID: usize = 12;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    #[default]
    Waiting,
    /// The command, as the user gave it.
    Starting(String),
    Collecting,
    Running,
    /// Once more after the suite: so many of so many.
    Again {
        done: usize,
        of: usize,
    },
    /// Failing tests, and those that passed later, in fresh environments: so many so far. How many there will be
    /// depends on what happens in them.
    Fresh {
        done: usize,
    },
    /// Tests beside copies of themselves: so many attempts.
    Stress {
        done: usize,
    },
    /// One test, to be looked at.
    Looking,
    /// Tests run twice, in other orders, or in search of a cause: so many attempts.
    Searching {
        what: &'static str,
        done: usize,
    },
    Over,
}

/// The status line of a terminal. Never reaches its last column, where some terminals break the line.
pub(crate) fn line(state: &State, now: f64, look: &TerminalStyle) -> String {
    let frames: &[&str] =
        if look.unicode { &["⠋", "⠙", "⠸", "⠴", "⠦", "⠇"] } else { &["|", "/", "-", "\\"] };
    let frame = frames[(now * 10.0) as usize % frames.len()];
    let room = look.width.max(20) - 1;
    let separator = look.sign(" · ");
    let running = longest(state, now);
    let since = match running {
        Some((_, seconds)) if seconds >= LONG_SECONDS => format!(" {}", format::rough_duration(seconds)),
        _ => String::new(),
    };
    // A test that takes long is what people look for; otherwise its name comes last.
    let reserved = if since.is_empty() { 0 } else { width(separator) + LEAST_ID + since.len() };
    let mut text = String::new();
    for fact in facts(state, now, look) {
        let joint = if text.is_empty() { "" } else { separator };
        // What comes first matters most. Half a fact is none.
        if 2 + width(&text) + width(joint) + width(&fact) + reserved > room {
            break;
        }
        text = text + joint + &fact;
    }
    let used = 2 + width(&text) + width(separator) + since.len();
    if let Some((test, _)) = running
        && used + LEAST_ID <= room
    {
        text = format!("{text}{separator}{}{since}", keep_end(&test, room - used, look.sign("…")));
    }
    format!("{} {text}", look.paint(Tone::Faint, frame))
}

/// The line of a log when another share of the tests is done, or nothing was said for long.
pub(crate) fn log_line(state: &State, now: f64, look: &TerminalStyle) -> String {
    let mut facts = facts(state, now, look);
    if let Some((test, seconds)) = longest(state, now).filter(|(_, seconds)| *seconds >= LONG_SECONDS) {
        facts.push(format!("{test} running for {}", format::rough_duration(seconds)));
    }
    facts.join(look.sign(" · "))
}

/// The line of a log when the run enters another phase.
pub(crate) fn phase_line(state: &State, look: &TerminalStyle) -> String {
    match &state.phase {
        Phase::Running => format!("running {}", format::count(state.total, "test")),
        Phase::Again { of, .. } => format!("running {} again", format::count(*of, "failing test")),
        Phase::Fresh { .. } => "running failing tests in fresh environments".to_owned(),
        Phase::Stress { .. } => format!("running {} under stress", format::count(state.total, "test")),
        Phase::Looking => "running one test".to_owned(),
        Phase::Searching { what, .. } => (*what).to_owned(),
        _ => facts(state, 0.0, look).concat(),
    }
}

fn facts(state: &State, now: f64, look: &TerminalStyle) -> Vec<String> {
    let mut facts = match &state.phase {
        Phase::Waiting | Phase::Over => Vec::new(),
        Phase::Starting(command) => {
            vec![format!("starting {}", keep_start(&one_line(command), look.width.clamp(30, 80) - 15, look.sign("…")))]
        }
        Phase::Collecting => vec!["collecting tests".to_owned()],
        Phase::Running => vec![format!("{}/{}", state.done, state.total)],
        Phase::Again { done, of } => vec![format!("running failures again {done}/{of}")],
        Phase::Fresh { done } => vec![format!("fresh environments: {done} done")],
        Phase::Stress { done } => vec![format!("under stress: {done} attempts")],
        Phase::Looking => vec!["running one test".to_owned()],
        Phase::Searching { what, done } => vec![format!("{what}: {done} attempts")],
    };
    let mut tell = |number: usize, word: &str| facts.extend((number > 0).then(|| format!("{number} {word}")));
    tell(state.failing.len(), "failing");
    tell(state.flaky.len(), "flaky");
    facts.extend(if state.phase == Phase::Running { speed(state, now) } else { Vec::new() });
    facts
}

/// `61/s` and `8 s left`, once there is enough to tell by.
fn speed(state: &State, now: f64) -> Vec<String> {
    let elapsed = now - state.first_start.unwrap_or(now);
    if elapsed < SETTLED_SECONDS || state.done == 0 {
        return Vec::new();
    }
    let rate = state.done as f64 / elapsed;
    let mut told = Vec::new();
    if rate >= 1.0 {
        told.push(format!("{rate:.0}/s"));
    }
    if state.done < state.total && state.left == 0 {
        told.push(format!("{} left", format::rough_duration((state.total - state.done) as f64 / rate)));
    }
    told
}

/// The test that has been running longest, and for how long.
fn longest(state: &State, now: f64) -> Option<(String, f64)> {
    let (test, since) = state.running.values().min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some((one_line(test.as_str()).into_owned(), now - since))
}
