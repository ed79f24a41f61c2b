//! pytest's command line: which words of a command are options, and the command that repeats a
//! session.

use std::path::Path;

use crate::runner::ReplayedSession;

/// Options of pytest and its common plugins that take their value from the next word.
const TAKES_VALUE: [&str; 22] = [
    "-c",
    "-k",
    "-m",
    "-n",
    "-o",
    "-p",
    "-r",
    "-W",
    "--basetemp",
    "--confcutdir",
    "--cov",
    "--cov-config",
    "--cov-report",
    "--deselect",
    "--ignore",
    "--ignore-glob",
    "--import-mode",
    "--junitxml",
    "--maxfail",
    "--rootdir",
    "--tb",
    "--timeout",
];

/// Programs whose words name tasks: `nox -s pytest` passes no further word to pytest.
const TASK_RUNNERS: [&str; 9] = ["doit", "inv", "invoke", "just", "make", "ninja", "nox", "task", "tox"];

/// The user's command with its paths replaced by the tests; unchanged without tests.
///
/// None for a test that occurs twice, which pytest runs once, and for a command that starts pytest
/// by another program, such as `make test`: which of its words are options is not known.
pub(super) fn reproduce(session: &ReplayedSession<'_>) -> Option<Vec<String>> {
    let &ReplayedSession { command, tests, root, here, .. } = session;
    if tests.is_empty() {
        return Some(command.to_vec());
    }
    let mut words = without_paths(command, here)?;
    let is_repeated = |(at, test): (usize, &&str)| tests[..at].contains(test);
    if tests.iter().enumerate().any(is_repeated) {
        return None;
    }
    if tests.len() > 1 {
        words.extend(one_process_to_the_end(&words));
    }
    words.extend(tests.iter().map(|test| seen_from(test, root, here)));
    Some(words)
}

/// Options that revoke those of the user by which not every test runs, or not in one process.
fn one_process_to_the_end(words: &[String]) -> impl Iterator<Item = String> + use<> {
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.split('=').next().unwrap_or(word)));
    let stops = has(&["-x", "--exitfirst", "--maxfail"]).then_some("--maxfail=0");
    let distributes = has(&["-n", "--numprocesses"]).then_some("--numprocesses=0");
    stops.into_iter().chain(distributes).map(str::to_owned)
}

pub(super) fn is_pytest(word: &str) -> bool {
    matches!(file_name(word), "pytest" | "py.test")
}

fn file_name(word: &str) -> &str {
    Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or(word)
}

/// Whether the command is `python -m unittest`, in any version of Python.
pub(super) fn starts_unittest(command: &[String]) -> bool {
    let is_python = command.first().is_some_and(|word| word.rsplit('/').next().unwrap_or(word).starts_with("python"));
    is_python && command.windows(2).any(|pair| pair == ["-m", "unittest"])
}

/// The command up to pytest and its options, without the paths of files to test.
fn without_paths(command: &[String], here: &Path) -> Option<Vec<String>> {
    let runner = command.iter().position(|word| is_pytest(word))?;
    if command[..runner].iter().any(|word| TASK_RUNNERS.contains(&file_name(word))) {
        return None;
    }
    let mut words = command[..=runner].to_vec();
    let mut rest = command[runner + 1..].iter();
    while let Some(word) = rest.next() {
        if TAKES_VALUE.contains(&word.as_str()) {
            words.push(word.clone());
            words.extend(rest.next().cloned());
        } else if word == "--pyargs" {
            // Its module names are dropped, too: tests are named by path.
        } else if word.starts_with('-') {
            words.push(word.clone());
        } else {
            let path = word.split("::").next().unwrap_or(word);
            let names_tests = here.join(path).exists() || command.iter().any(|word| word == "--pyargs");
            if !names_tests {
                words.push(word.clone());
            }
        }
    }
    Some(words)
}

/// A test id as pytest accepts it when started in `here`.
pub(super) fn seen_from(test: &str, root: Option<&Path>, here: &Path) -> String {
    let Some(root) = root else { return test.to_owned() };
    let common = here.components().zip(root.components()).take_while(|(one, other)| one == other).count();
    let up = "../".repeat(here.components().count() - common);
    let down = root.components().skip(common).map(|part| format!("{}/", part.as_os_str().display()));
    up + &down.collect::<String>() + test
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reproduced(command: &str, tests: &[&str]) -> Option<String> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let command: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let session = ReplayedSession {
            command: &command,
            tests,
            in_listed_order: true,
            at_once: 0,
            alone: None,
            root: Some(here),
            here,
        };
        reproduce(&session).map(|words| words.join(" "))
    }

    #[track_caller]
    fn check(command: &str, tests: &[&str], expected: &str) {
        assert_eq!(reproduced(command, tests).as_deref(), Some(expected));
    }

    #[test]
    fn tests_replace_paths_and_options_stay() {
        check("pytest src/ -q -p no:cacheprovider", &["t.py::a"], "pytest -q -p no:cacheprovider t.py::a");
        check("python -m pytest src -k src", &["t.py::a"], "python -m pytest -k src t.py::a");
        check("uv run pytest", &["t.py::a"], "uv run pytest t.py::a");
        check("pytest src", &[], "pytest src");
    }

    #[test]
    fn every_test_of_an_order_runs_in_one_process() {
        check("pytest -x", &["t.py::a"], "pytest -x t.py::a");
        check("pytest -x", &["t.py::a", "t.py::b"], "pytest -x --maxfail=0 t.py::a t.py::b");
        check("pytest -n 4", &["t.py::a", "t.py::b"], "pytest -n 4 --numprocesses=0 t.py::a t.py::b");
    }

    #[test]
    fn what_pytest_cannot_repeat_has_no_command() {
        assert_eq!(reproduced("pytest", &["t.py::a", "t.py::a"]), None);
        assert_eq!(reproduced("pytest", &["t.py::a", "t.py::b", "t.py::a"]), None);
        assert_eq!(reproduced("make test", &["t.py::a"]), None);
        assert_eq!(reproduced("python -m nox -s pytest", &["t.py::a"]), None);
    }

    #[test]
    fn ids_are_relative_to_where_the_command_runs() {
        let root = Path::new("/p");
        assert_eq!(seen_from("tests/t.py::a", Some(root), Path::new("/p/tests/unit")), "../../tests/t.py::a");
        assert_eq!(seen_from("tests/t.py::a", Some(root), root), "tests/t.py::a");
        assert_eq!(seen_from("tests/t.py::a", Some(Path::new("/p/sub")), root), "sub/tests/t.py::a");
        assert_eq!(seen_from("t.py::a", Some(Path::new("/p/a")), Path::new("/p/b")), "../a/t.py::a");
    }
}
