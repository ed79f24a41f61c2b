//! The output of a panicking Rust test.

use unflake_protocol::{Failure, Phase};

use crate::driver::test_result::failed;

/// The failure in the output: the panic of the test's own thread, else the last panic, else an
/// error that the test returned.
pub(crate) fn failure(test: &str, stdout: &str, stderr: &str) -> Failure {
    let mut failure = match panic_of(test, stderr) {
        Some(panic) => panic,
        None => match stderr.lines().find_map(|line| line.strip_prefix("Error: ")) {
            Some(error) => failed("Error", error),
            None => failed("Failed", ""),
        },
    };
    // The harness prints a note where it expected a panic.
    let expected =
        |line: &&str| line.starts_with("note: test did not panic") || line.starts_with("note: panic did not");
    if let Some(note) = stdout.lines().find(expected) {
        let mut message = note.trim_start_matches("note: ").to_owned();
        let rest = stdout.lines().skip_while(|line| *line != note).skip(1);
        for line in rest.take_while(|line| line.starts_with(' ')) {
            message.push('\n');
            message.push_str(line);
        }
        failure.message = message;
    }
    if failure.message.is_empty() {
        failure.message = "the test failed without a message".to_owned();
    }
    failure.trace = stderr.trim().to_owned();
    failure
}

/// The output without panics and the harness's notes on them.
pub(crate) fn without_panics(stderr: &str) -> String {
    let mut kept = String::new();
    let (mut in_panic, mut in_note) = (false, false);
    for line in stderr.split_inclusive('\n') {
        in_note = line.starts_with("note: test did not panic")
            || line.starts_with("note: panic did not")
            || in_note && line.starts_with(' ');
        if in_note {
            continue;
        }
        if heading(line.trim_end()).is_some() {
            in_panic = true;
        } else if in_panic && line.starts_with("note: ") {
            in_panic = false;
        } else if !in_panic {
            kept.push_str(line);
        }
    }
    kept
}

fn panic_of(test: &str, stderr: &str) -> Option<Failure> {
    let lines: Vec<&str> = stderr.lines().collect();
    let panics = || lines.iter().enumerate().filter(|(_, line)| heading(line).is_some());
    let own = panics().find(|(_, line)| heading(line).is_some_and(|(thread, _)| thread == test));
    let (at, line) = own.or_else(|| panics().next_back())?;
    let (_, place) = heading(line)?;
    let mut parts = place.rsplitn(3, ':');
    let (_column, number, file) = (parts.next(), parts.next(), parts.next());
    let is_end = |line: &&str| *line != "stack backtrace:" && !line.starts_with("note: run with `RUST_BACKTRACE");
    let is_message = |line: &&str| is_end(line) && heading(line).is_none();
    let message: Vec<&str> = lines[at + 1..].iter().copied().take_while(is_message).collect();
    Some(Failure {
        phase: Phase::Call,
        kind: "panic".to_owned(),
        message: message.join("\n").trim().to_owned(),
        trace: String::new(),
        file: file.map(str::to_owned),
        line: number.and_then(|number| number.parse().ok()),
    })
}

/// `thread 'name' (4711) panicked at src/lib.rs:5:53:` → the thread and the place. The number is
/// there since Rust 1.91.
fn heading(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("thread '")?;
    let (thread, rest) = rest.split_once('\'')?;
    let (_, place) = rest.split_once(" panicked at ")?;
    Some((thread, place.strip_suffix(':')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_panic_of_the_tests_own_thread_counts() {
        let stderr = "\nthread '<unnamed>' (12) panicked at src/a.rs:1:2:\nin thread\nnote: run with `RUST_BACKTRACE=1` \
                      environment variable to display a backtrace\n\nthread 'tests::x' (11) panicked at src/b.rs:7:8:\n\
                      assertion `left == right` failed: they\ndiffer\n  left: 1\n right: 2\n";
        let failure = failure("tests::x", "", stderr);
        assert_eq!(failure.message, "assertion `left == right` failed: they\ndiffer\n  left: 1\n right: 2");
        assert_eq!((failure.file.as_deref(), failure.line), (Some("src/b.rs"), Some(7)));
    }

    #[test]
    fn another_threads_panic_is_better_than_none() {
        assert_eq!(failure("x", "", "thread 'worker' panicked at src/a.rs:1:2:\nno\n").message, "no");
    }

    #[test]
    fn a_returned_error_and_a_panic_that_did_not_come() {
        assert_eq!(failure("x", "", "Error: \"oops\"\n").message, "\"oops\"");
        let stdout = "---- x stdout ----\nnote: panic did not contain expected string\n      panic message: \"y\"\n \
                      expected substring: \"x\"\n\nfailures:\n";
        let message = failure("x", stdout, "thread 'x' panicked at src/lib.rs:6:49:\ny\n").message;
        assert_eq!(
            message,
            "panic did not contain expected string\n      panic message: \"y\"\n expected substring: \"x\""
        );
    }

    #[test]
    fn what_comes_before_and_after_a_panic_is_kept() {
        let stderr = "a\nthread 'x' panicked at src/lib.rs:6:49:\ny\nnote: run with `RUST_BACKTRACE=1` …\nb\n";
        assert_eq!(without_panics(stderr), "a\nb\n");
        let note = "a\nnote: panic did not contain expected string\n      panic message: \"y\"\nb\n";
        assert_eq!(without_panics(note), "a\nb\n");
    }

    #[test]
    fn a_failure_without_output_has_a_message() {
        assert_eq!(failure("x", "", "").message, "the test failed without a message");
    }
}
