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

/// The user's command with its paths replaced by the tests; unchanged without tests.
pub(super) fn reproduce(session: &ReplayedSession<'_>) -> Vec<String> {
    let &ReplayedSession { command, tests, root, here, .. } = session;
    if tests.is_empty() {
        return command.to_vec();
    }
    let mut words = without_paths(command, here);
    let names = tests.iter().map(|test| seen_from(test, root, here));
    if tests.windows(2).any(|two| two[0] == two[1]) {
        return one_after_the_other(&words, names);
    }
    words.extend(names);
    words
}

/// pytest runs a test once however often it is named. So this calls it for each test, in one process.
fn one_after_the_other(words: &[String], tests: impl Iterator<Item = String>) -> Vec<String> {
    let runner = words.iter().position(|word| is_pytest(word)).unwrap_or_default();
    let (before, options) = (&words[..runner], words.get(runner + 1..).unwrap_or_default());
    // `python -m pytest` names its interpreter; beside the program `pytest` there is one.
    let (mut python, in_front): (Vec<String>, _) = match before {
        [python @ .., module] if module == "-m" => (python.to_vec(), true),
        before => (before.to_vec(), false),
    };
    if !in_front {
        let beside = Path::new(&words[runner]).parent().map(|directory| directory.join("python"));
        python.push(beside.map_or("python".to_owned(), |path| path.display().to_string()));
    }
    // A string literal of JSON is one of Python.
    let list =
        |items: Vec<String>| items.iter().map(|item| serde_json::Value::from(&**item).to_string()).collect::<Vec<_>>();
    let (options, tests) = (list(options.to_vec()), list(tests.collect()).join(", "));
    let each: String = options.iter().map(|option| format!("{option}, ")).collect();
    let code = format!("import pytest, sys; sys.exit(max([pytest.main([{each}test]) for test in [{tests}]]))");
    python.extend(["-c".to_owned(), code]);
    python
}

pub(super) fn is_pytest(word: &str) -> bool {
    let name = Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or(word);
    name == "pytest" || name == "py.test"
}

/// The command up to pytest and its options, without the paths of files to test.
fn without_paths(command: &[String], here: &Path) -> Vec<String> {
    let Some(runner) = command.iter().position(|word| is_pytest(word)) else {
        // `make test` and the like: which of its words are options is not known.
        return vec!["pytest".to_owned()];
    };
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
    words
}

/// A test id as pytest accepts it when started in `here`.
pub(super) fn seen_from(test: &str, root: Option<&Path>, here: &Path) -> String {
    match root.and_then(|root| here.strip_prefix(root).ok()) {
        Some(below) => "../".repeat(below.components().count()) + test,
        None => test.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &[&str], tests: &[&str], expected: &[&str]) {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        let session = ReplayedSession { command: &command, tests, alone: None, root: Some(here), here };
        assert_eq!(reproduce(&session), expected);
    }

    #[test]
    fn tests_replace_paths_and_options_stay() {
        check(
            &["pytest", "src/", "-q", "-p", "no:cacheprovider"],
            &["t.py::a"],
            &["pytest", "-q", "-p", "no:cacheprovider", "t.py::a"],
        );
        let expected = ["python", "-m", "pytest", "-k", "src", "t.py::a"];
        check(&["python", "-m", "pytest", "src", "-k", "src"], &["t.py::a"], &expected);
        check(&["uv", "run", "pytest"], &["t.py::a"], &["uv", "run", "pytest", "t.py::a"]);
        check(&["make", "test"], &["t.py::a"], &["pytest", "t.py::a"]);
    }

    #[test]
    fn without_tests_the_command_is_unchanged() {
        check(&["pytest", "src"], &[], &["pytest", "src"]);
    }

    #[test]
    fn a_repeated_test_runs_twice_in_one_process() {
        let twice = |start: &[&'static str], command: &[&str], options: &str| {
            let runs = format!("[pytest.main([{options}test]) for test in [\"t.py::a\", \"t.py::a\"]]");
            let code = format!("import pytest, sys; sys.exit(max({runs}))");
            check(command, &["t.py::a", "t.py::a"], &[start, &["-c", &code]].concat());
        };
        twice(&["python"], &["pytest", "-q", "src"], "\"-q\", ");
        twice(&["python3"], &["python3", "-m", "pytest"], "");
        twice(&[".venv/bin/python"], &[".venv/bin/pytest"], "");
        twice(&["uv", "run", "python"], &["uv", "run", "pytest"], "");
    }

    #[test]
    fn ids_are_relative_to_where_the_command_runs() {
        let root = Path::new("/p");
        assert_eq!(seen_from("tests/t.py::a", Some(root), Path::new("/p/tests/unit")), "../../tests/t.py::a");
        assert_eq!(seen_from("tests/t.py::a", Some(root), root), "tests/t.py::a");
    }
}
