//! The plain runner's command that reproduces a finding, ready to be pasted into a shell.

use unflake_report::quote;
use unflake_runners::ReplayedSession;

/// The command for a session of the runner that reported this name; the user's own without one.
pub(crate) fn of(session: &ReplayedSession<'_>, runner: Option<&str>) -> String {
    match runner.and_then(unflake_runners::reported_as) {
        Some(runner) => in_shell(&runner.reproduce(session)),
        None => in_shell(session.command),
    }
}

/// Quotes words for a shell.
pub(crate) fn in_shell(words: &[String]) -> String {
    words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[track_caller]
    fn check(test: &str, expected: &str) {
        let command = ["pytest".to_owned()];
        let here = Path::new("/p");
        let session = ReplayedSession { command: &command, tests: &[test], alone: None, root: Some(here), here };
        assert_eq!(of(&session, Some("pytest 8.3.4")), expected);
    }

    #[test]
    fn odd_names_are_quoted_for_a_shell() {
        check("t.py::a[x y]", "pytest 't.py::a[x y]'");
        check("t.py::a[it's]", "pytest 't.py::a[it'\\''s]'");
        check("t.py::a[1\n2]", "pytest \"$(printf 't.py::a[1\\n2]')\"");
        check("a[\x1b'%\\\u{202e}é]", "pytest \"$(printf 'a[\\033'\\''%%\\\\\\342\\200\\256é]')\"");
        check("t.py::a[$(rm -r x)]", "pytest 't.py::a[$(rm -r x)]'");
    }

    #[test]
    fn a_driven_test_has_its_own_command() {
        let command = ["tool", "all"].map(str::to_owned);
        let alone = ["tool", "one"].map(str::to_owned);
        let session = |tests| ReplayedSession {
            command: &command,
            tests,
            alone: Some(&alone),
            root: None,
            here: Path::new("/p"),
        };
        assert_eq!(of(&session(&["a"]), Some("cargo test")), "tool one");
        assert_eq!(of(&session(&["a", "b"]), Some("cargo test")), "tool all");
        assert_eq!(of(&session(&["a"]), None), "tool all");
    }
}
