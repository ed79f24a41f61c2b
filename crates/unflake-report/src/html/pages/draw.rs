//! Elements that several pages share: state, recent runs, durations, commands.

use maud::{Markup, display, html};
use unflake_model::Outcome;

use super::layout::first_line;
use super::{PageLayout, PastAttempt, TestEntry};
use crate::terminal::score::percent;
use crate::text::format;
use crate::{NextAction, RecentOutcome, ScoreSince, ScoreState, quote};

/// Size of the scatter plot, and the margins for its labels.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 140.0;
const EDGE: f64 = 8.0;
/// Longer names do not go into a command line.
const TYPED: usize = 1000;

/// Draws `≈ FLAKY`.
pub(super) fn state(state: ScoreState) -> Markup {
    let (class, sign, word) = match state {
        ScoreState::Sound => ("state sound", "✓", "sound"),
        ScoreState::Flaky => ("state flaky", "≈", "flaky"),
        ScoreState::Bursty => ("state flaky", "≈", "flaky in bursts"),
        ScoreState::Broken => ("state broken", "✗", "broken"),
    };
    html! { span class=(class) { b aria-hidden="true" { (sign) } " " (word) } }
}

/// Draws the probability of the next failure, with its interval as a tooltip.
pub(super) fn chance(entry: &TestEntry) -> Markup {
    let score = &entry.score;
    let bounds =
        format!("{} to {}, from {}", percent(score.low), percent(score.high), format::count(score.runs, "run"));
    html! {
        @if score.state == ScoreState::Broken { "always" } @else {
            span title=(bounds) { (percent(score.probability)) }
        }
    }
}

/// Draws `Cause: …` with the command that reproduces it, or `Next: …` with the command that finds
/// the cause.
pub(super) fn next_step(next: &NextAction) -> Markup {
    html! {
        @match next {
            NextAction::Diagnosed { sentence, reproduce } => {
                b { "Cause: " } (first_line(sentence, 400))
                @if let Some(line) = reproduce { " · reproduce: " (command(&first_line(line, TYPED))) }
            },
            NextAction::Command { command: line, purpose } => {
                b { "Next: " } (command(&first_line(line, TYPED))) " (" (purpose) ")"
            },
        }
    }
}

/// Draws the recent runs, newest on the right.
pub(super) fn strip(strip: &[RecentOutcome], most: usize) -> Markup {
    let strip = &strip[strip.len().saturating_sub(most)..];
    if strip.is_empty() {
        return Markup::default();
    }
    let count = |wanted: RecentOutcome| strip.iter().filter(|one| **one == wanted).count();
    let label = format!(
        "the last {}: {} passed, {} flaked, {} failed",
        format::count(strip.len(), "run"),
        count(RecentOutcome::Passed),
        count(RecentOutcome::Flaked),
        count(RecentOutcome::Failed)
    );
    html! {
        span.signs role="img" aria-label=(label) title=(label) {
            @for same in strip.chunk_by(|one, other| one == other) {
                @match same[0] {
                    RecentOutcome::Passed => { i { ("·".repeat(same.len())) } },
                    RecentOutcome::Flaked => { i.flaked { ("≈".repeat(same.len())) } },
                    RecentOutcome::Failed => { i.failed { ("✗".repeat(same.len())) } },
                }
            }
        }
    }
}

/// Draws the duration of each attempt, oldest on the left, with a line where the behaviour of the
/// test changed.
pub(super) fn scatter(layout: &PageLayout, past: &[PastAttempt], since: Option<&ScoreSince>) -> Markup {
    let mut points: Vec<&PastAttempt> =
        past.iter().filter(|one| one.seconds.is_finite() && one.seconds > 0.0).collect();
    points.sort_by_key(|one| one.when);
    let [first, _, .., last] = points[..] else { return Markup::default() };
    let longest = points.iter().map(|one| one.seconds).fold(1e-4, f64::max);
    let mut sorted: Vec<f64> = points.iter().map(|one| one.seconds).collect();
    sorted.sort_by(f64::total_cmp);
    let median = sorted[sorted.len() / 2];
    let y = |seconds: f64| EDGE + (HEIGHT - 2.0 * EDGE) * (1.0 - seconds / longest);
    let step = (WIDTH - 2.0 * EDGE) / (points.len() - 1) as f64;
    let label = format!(
        "How long it took: {} attempts from {} to {}, median {}, longest {}",
        points.len(),
        layout.when(first.when),
        layout.when(last.when),
        format::duration(median),
        format::duration(longest)
    );
    let changed = since.and_then(|since| points.iter().position(|one| one.when >= since.when)).filter(|at| *at > 0);
    let changed = changed.map(|at| number(EDGE + step * (at as f64 - 0.5)));
    let shown_change = since.filter(|since| since.when > first.when && since.when <= last.when);
    html! {
        figure.scatter {
            svg role="img" viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) aria-label=(label) {
                line x1="0" x2=(display(WIDTH)) y1=(number(y(median))) y2=(number(y(median))) {}
                @if let Some(x) = changed { line.change x1=(x) x2=(x) y1="0" y2=(display(HEIGHT)) {} }
                @for (at, one) in points.iter().enumerate() {
                    (dot(one.outcome, EDGE + step * at as f64, y(one.seconds)))
                }
            }
            figcaption {
                span { (layout.when(first.when)) }
                span { "up to " (format::duration(longest)) ", median " (format::duration(median)) }
                span { (layout.when(last.when)) }
                @if let Some(since) = shown_change { span.change { "┊ " (since.sentence(layout.zone)) } }
            }
        }
    }
}

fn number(value: f64) -> String {
    format!("{value:.1}")
}

/// A ring for a pass, a cross for a failure, a dash for anything else.
fn dot(outcome: Outcome, x: f64, y: f64) -> Markup {
    let half = 3.5;
    let (left, right, top, bottom) = (number(x - half), number(x + half), number(y - half), number(y + half));
    html! {
        @if outcome.is_pass() {
            circle.passed cx=(number(x)) cy=(number(y)) r="2.5" {}
        } @else if outcome.is_failure() {
            path.failed d=(format!("M{left} {top}L{right} {bottom}M{right} {top}L{left} {bottom}")) {}
        } @else {
            path.other d=(format!("M{left} {0}L{right} {0}", number(y))) {}
        }
    }
}

/// The test name as typed into a shell; a placeholder for an unreasonably long one.
pub(super) fn typed(test: &str) -> String {
    if test.len() > TYPED { "TEST".to_owned() } else { quote(test) }
}

/// A command to copy.
pub(super) fn command(text: &str) -> Markup {
    html! { code class="do" { (text) } }
}
