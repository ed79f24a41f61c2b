//! Elements that several pages share: state, recent runs, durations, commands.

use unflake_model::Outcome;

use super::{PageLayout, PastAttempt, TestEntry};
use crate::html::markup::Html;
use crate::terminal::score::percent;
use crate::text::format;
use crate::{RecentOutcome, ScoreSince, ScoreState, quote};

/// Size of the scatter plot, and the margins for its labels.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 140.0;
const EDGE: f64 = 8.0;
/// Longer names do not go into a command line.
const TYPED: usize = 1000;

/// Draws `≈ FLAKY`.
pub(super) fn state(html: &mut Html, state: ScoreState) {
    let (class, sign, word) = match state {
        ScoreState::Sound => ("span class=\"state sound\"", "✓", "sound"),
        ScoreState::Flaky => ("span class=\"state flaky\"", "≈", "flaky"),
        ScoreState::Bursty => ("span class=\"state flaky\"", "≈", "flaky in bursts"),
        ScoreState::Broken => ("span class=\"state broken\"", "✗", "broken"),
    };
    html.inside(class, |html| {
        html.put("b aria-hidden=\"true\"", sign).text(" ").text(word);
    });
}

/// Draws the probability of the next failure, with its interval as a tooltip.
pub(super) fn chance(html: &mut Html, concern: &TestEntry) {
    let score = &concern.score;
    if score.state == ScoreState::Broken {
        html.text("always");
        return;
    }
    let bounds =
        format!("{} to {}, from {}", percent(score.low), percent(score.high), format::count(score.runs, "run"));
    html.inside_with("span", &[("title", &bounds)], |html| _ = html.text(&percent(score.probability)));
}

/// Draws the recent runs, newest on the right.
pub(super) fn strip(html: &mut Html, strip: &[RecentOutcome], most: usize) {
    let strip = &strip[strip.len().saturating_sub(most)..];
    if strip.is_empty() {
        return;
    }
    let count = |wanted: RecentOutcome| strip.iter().filter(|one| **one == wanted).count();
    let said = format!(
        "the last {}: {} passed, {} flaked, {} failed",
        format::count(strip.len(), "run"),
        count(RecentOutcome::Passed),
        count(RecentOutcome::Flaked),
        count(RecentOutcome::Failed)
    );
    html.inside_with("span class=\"signs\" role=\"img\"", &[("aria-label", &said), ("title", &said)], |html| {
        for same in strip.chunk_by(|one, other| one == other) {
            let (tag, sign) = match same[0] {
                RecentOutcome::Passed => ("i", "·"),
                RecentOutcome::Flaked => ("i class=\"flaked\"", "≈"),
                RecentOutcome::Failed => ("i class=\"failed\"", "✗"),
            };
            html.put(tag, &sign.repeat(same.len()));
        }
    });
}

/// Draws the duration of each attempt, oldest on the left, with a line where the behaviour of the
/// test changed.
pub(super) fn scatter(html: &mut Html, frame: &PageLayout, past: &[PastAttempt], since: Option<&ScoreSince>) {
    let mut points: Vec<&PastAttempt> =
        past.iter().filter(|one| one.seconds.is_finite() && one.seconds > 0.0).collect();
    points.sort_by_key(|one| one.when);
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
    if points.len() < 3 {
        return;
    }
    let longest = points.iter().map(|one| one.seconds).fold(1e-4, f64::max);
    let mut sorted: Vec<f64> = points.iter().map(|one| one.seconds).collect();
    sorted.sort_by(f64::total_cmp);
    let median = sorted[sorted.len() / 2];
    let y = |seconds: f64| EDGE + (HEIGHT - 2.0 * EDGE) * (1.0 - seconds / longest);
    let step = (WIDTH - 2.0 * EDGE) / (points.len() - 1) as f64;
    let said = format!(
        "How long it took: {} attempts from {} to {}, median {}, longest {}",
        points.len(),
        frame.when(first.when),
        frame.when(last.when),
        format::duration(median),
        format::duration(longest)
    );
    html.inside("figure class=\"scatter\"", |html| {
        let size = format!("0 0 {WIDTH} {HEIGHT}");
        html.inside_with("svg role=\"img\"", &[("viewBox", &size), ("aria-label", &said)], |html| {
            let middle = format!("{:.1}", y(median));
            html.void("line", &[("x1", &0), ("x2", &WIDTH), ("y1", &middle), ("y2", &middle)]);
            let changed = since.and_then(|since| points.iter().position(|one| one.when >= since.when));
            if let Some(at) = changed.filter(|at| *at > 0) {
                let x = format!("{:.1}", EDGE + step * (at as f64 - 0.5));
                html.void("line class=\"change\"", &[("x1", &x), ("x2", &x), ("y1", &0), ("y2", &HEIGHT)]);
            }
            for (at, one) in points.iter().enumerate() {
                let (x, y) = (EDGE + step * at as f64, y(one.seconds));
                dot(html, one.outcome, x, y);
            }
        });
        html.inside("figcaption", |html| {
            html.put("span", &frame.when(first.when));
            let middle = format!("up to {}, median {}", format::duration(longest), format::duration(median));
            html.put("span", &middle).put("span", &frame.when(last.when));
            if let Some(since) = since.filter(|since| since.when > first.when && since.when <= last.when) {
                html.put("span class=\"change\"", &format!("┊ {}", since.sentence(frame.zone)));
            }
        });
    });
}

/// A ring for a pass, a cross for a failure, a dash for anything else.
fn dot(html: &mut Html, outcome: Outcome, x: f64, y: f64) {
    let number = |value: f64| format!("{value:.1}");
    if outcome.is_pass() {
        html.void("circle class=\"passed\"", &[("cx", &number(x)), ("cy", &number(y)), ("r", &2.5)]);
        return;
    }
    let half = 3.5;
    let path = if outcome.is_failure() {
        let (left, right, top, bottom) = (number(x - half), number(x + half), number(y - half), number(y + half));
        format!("M{left} {top}L{right} {bottom}M{right} {top}L{left} {bottom}")
    } else {
        format!("M{0} {2}L{1} {2}", number(x - half), number(x + half), number(y))
    };
    let tag = if outcome.is_failure() { "path class=\"failed\"" } else { "path class=\"other\"" };
    html.void(tag, &[("d", &path)]);
}

/// The test name as typed into a shell; a placeholder for an unreasonably long one.
pub(super) fn typed(test: &str) -> String {
    if test.len() > TYPED { "TEST".to_owned() } else { quote(test) }
}

/// A command to copy.
pub(super) fn command(html: &mut Html, text: &str) {
    html.put("code class=\"do\"", text);
}
