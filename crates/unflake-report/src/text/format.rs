//! Numbers, durations and sentences as text.

use std::borrow::Cow;

use unflake_model::{Day, Feedback, Fingerprint, ProblemKind};

use crate::one_line;
use crate::text::sanitize;

/// `0.04 s`, `14.2 s`, `2 min 5 s`, `1 h 2 min`.
pub(crate) fn duration(seconds: f64) -> String {
    let seconds = if seconds.is_finite() { seconds.max(0.0) } else { 0.0 };
    match seconds {
        s if s < 0.1 => format!("{s:.2} s"),
        s if s < 59.95 => format!("{s:.1} s"),
        s => rough_duration(s),
    }
}

/// Without fractions, for a test still running: `8 s`, `2 min 5 s`.
pub(crate) fn rough_duration(seconds: f64) -> String {
    // The cast saturates: a negative or too large float becomes the nearest integer, NaN becomes 0.
    let seconds = seconds.round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, 0) => format!("{m} min"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

/// An age in one unit: `8 s`, `5 min`, `2 h`, `3 days`.
pub fn age(seconds: f64) -> String {
    match seconds.max(0.0) as u64 {
        s if s < 60 => format!("{s} s"),
        s if s < 3600 => format!("{} min", s / 60),
        s if s < 2 * 86_400 => format!("{} h", s / 3600),
        s => format!("{} days", s / 86_400),
    }
}

/// That a user marked it as not useful, and when.
pub(crate) fn feedback_text(feedback: &Feedback) -> String {
    let why = feedback.why.as_deref().map(|why| format!(": {}", one_line(why))).unwrap_or_default();
    format!("marked as not useful on {}{why}", Day::of(feedback.at))
}

/// The prefix of a finding id that people type.
pub(crate) fn short(id: &Fingerprint) -> &str {
    id.0.get(..8).unwrap_or(&id.0)
}

/// `1 test`, `909 tests`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    match noun.strip_suffix("ry") {
        _ if number == 1 => format!("1 {noun}"),
        Some(stem) => format!("{number} {stem}ries"),
        None => format!("{number} {noun}s"),
    }
}

/// With a capital letter, unless it begins with a path or a name, and a full stop.
pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim_end_matches('.');
    let is_name = text.split(' ').next().is_some_and(|word| word.contains(['/', '.', ':', '_']));
    if is_name { format!("{text}.") } else { format!("{}.", capital(text)) }
}

pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Why tests were not run. Follows the name of the file, where there is one.
pub(crate) fn problem_text(kind: ProblemKind) -> &'static str {
    match kind {
        ProblemKind::Collection => "could not be loaded, so none of its tests ran",
        ProblemKind::Usage => "the runner did not accept its command line or its configuration",
        ProblemKind::Refused => "unflake does not support this command",
        ProblemKind::Start => "the tests could not be listed",
        ProblemKind::Internal => "internal error of the runner or of unflake's agent in it",
        ProblemKind::Protocol => "unflake lost results of tests",
    }
}

/// The first non-empty line, safe to print, with an ellipsis where more follows.
pub(crate) fn first_line<'a>(text: &'a str, ellipsis: &str) -> Cow<'a, str> {
    let text = text.trim();
    match text.split_once('\n') {
        None => sanitize::one_line(text),
        Some((first, _)) => Cow::Owned(format!("{} {ellipsis}", sanitize::one_line(first.trim_end()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_are_plural_except_for_one() {
        assert_eq!([count(1, "entry"), count(2, "entry"), count(0, "run")], ["1 entry", "2 entries", "0 runs"]);
    }

    #[test]
    fn durations_in_suitable_units() {
        let texts: Vec<String> =
            [0.0, 0.044, 1.06, 14.21, 59.97, 125.0, 3725.0, f64::NAN, -1.0, f64::INFINITY].map(duration).to_vec();
        let expected =
            ["0.00 s", "0.04 s", "1.1 s", "14.2 s", "1 min", "2 min 5 s", "1 h 2 min", "0.00 s", "0.00 s", "0.00 s"];
        assert_eq!(texts, expected);
    }

    #[test]
    fn an_age_has_one_unit() {
        assert_eq!([7.2, 125.0, 7300.0, 300_000.0].map(age), ["7 s", "2 min", "2 h", "3 days"]);
    }

    #[test]
    fn a_first_line_ends_in_an_ellipsis_if_more_follows() {
        assert_eq!(first_line("\nassert 1\n +  where 1", "…"), "assert 1 …");
        assert_eq!(first_line("assert 1\n", "…"), "assert 1");
    }
}
