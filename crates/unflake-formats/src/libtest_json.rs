//! Reads the JSON events of Rust's libtest, from libtest itself and from nextest.

use std::io::BufRead;

use serde_json::Value;
use unflake_model::{Failure, Outcome, Phase};

use crate::bounded_text;
use crate::json_lines::{self, seconds, text_field};
use crate::test_id::without_stress_suffix;
use crate::{ReportedAttempt, ReportedTest, TestSink};

pub(crate) fn read(source: impl BufRead, sink: &mut TestSink) -> Result<(), String> {
    json_lines::for_each_object(source, |event| {
        if text_field(&event, "type") != "test" {
            return true;
        }
        let outcome = match text_field(&event, "event") {
            "ok" => Outcome::Passed,
            "failed" => Outcome::Failed,
            "timeout" => Outcome::TimedOut,
            "ignored" => Outcome::Skipped,
            // `started`, and events that later versions may add.
            _ => return true,
        };
        let (id, before) = id(text_field(&event, "name"));
        let mut attempts = vec![unknown_failure(); before];
        let failure = failure(outcome, &event);
        attempts.push(ReportedAttempt { outcome, seconds: seconds(&event, "exec_time"), failure });
        sink(ReportedTest { id: bounded_text::name(id), file: None, line: None, when: None, before: None, attempts })
            .is_continue()
    })
}

/// nextest writes `shop::it$cart::sums`, with `#3` appended for the third attempt: then two
/// failures came before. Unit tests of the crate `shop` are in `shop::shop`.
fn id(name: &str) -> (String, usize) {
    let (name, before) = match name.rsplit_once('#').map(|(name, number)| (name, number.parse::<usize>())) {
        Some((name, Ok(number @ 2..=1000))) => (name, number - 1),
        _ => (name, 0),
    };
    let Some((program, test)) = name.split_once('$') else { return (name.to_owned(), before) };
    let program = without_stress_suffix(program);
    let program = match program.split_once("::") {
        Some((package, library)) if package.replace('-', "_") == library => package,
        _ => program,
    };
    (format!("{program} {test}"), before)
}

/// A failed attempt without details.
pub(crate) fn unknown_failure() -> ReportedAttempt {
    let failure = Failure {
        phase: Phase::Call,
        kind: String::new(),
        message: "it was rerun; the report does not say how it failed".to_owned(),
        trace: String::new(),
        file: None,
        line: None,
    };
    ReportedAttempt { outcome: Outcome::Failed, seconds: 0.0, failure: Some(failure) }
}

fn failure(outcome: Outcome, event: &Value) -> Option<Failure> {
    if outcome == Outcome::Passed {
        return None;
    }
    let output = text_field(event, "stdout");
    // libtest prints a panic as two lines: the location, then the message.
    let message = match text_field(event, "message") {
        "" => panic_message(output).unwrap_or_default(),
        message => message.to_owned(),
    };
    Some(Failure {
        phase: Phase::Call,
        kind: if output.contains("panicked at") { "panic".to_owned() } else { String::new() },
        message: bounded_text::message(&message),
        trace: bounded_text::trace(output),
        file: None,
        line: None,
    })
}

/// The message of a panic.
pub(crate) fn panic_message(output: &str) -> Option<String> {
    let mut lines = output.lines().skip_while(|line| !line.contains("panicked at"));
    let (location, message) = (lines.next()?, lines.next().unwrap_or_default());
    Some(if message.trim().is_empty() { location.trim().to_owned() } else { message.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nextest_names_become_ids() {
        assert_eq!(id("shop::it$cart::sums#2"), ("shop::it cart::sums".to_owned(), 1));
        assert_eq!(id("my-shop::my_shop$cart::sums"), ("my-shop cart::sums".to_owned(), 0));
        assert_eq!(id("cart::sums#x"), ("cart::sums#x".to_owned(), 0));
    }
}
