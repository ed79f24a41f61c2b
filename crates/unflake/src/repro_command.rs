//! The plain runner's command that shows a finding again, ready to be pasted into a shell.

use std::path::Path;

use unflake_model::TestId;
use unflake_report::quote;

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

/// The user's command with its paths replaced by these tests; as it is when there are none. `root` is the directory that
/// names of tests are relative to, `here` the one the command is run in.
pub(crate) fn command_for(command: &[String], tests: &[TestId], root: Option<&Path>, here: &Path) -> String {
    if tests.is_empty() {
        return in_shell(command);
    }
    let mut words = without_paths(command, here);
    let names = tests.iter().map(|test| seen_from(test.as_str(), root, here));
    if tests.windows(2).any(|two| two[0] == two[1]) {
        return one_after_the_other(&words, names);
    }
    words.extend(names);
    in_shell(&words)
}

/// pytest runs a test once however often it is named. So it is started for each, all in one process.
fn one_after_the_other(words: &[String], tests: impl Iterator<Item = String>) -> String {
    let runner = words.iter().position(|word| is_pytest(word)).unwrap_or_default();
    let (before, options) = (&words[..runner], words.get(runner + 1..).unwrap_or_default());
    // `python -m pytest` is begun by a Python already; beside the program `pytest` there is one.
    let (mut python, in_front): (Vec<String>, _) = match before {
        [python @ .., module] if module == "-m" => (python.to_vec(), true),
        before => (before.to_vec(), false),
    };
    if !in_front {
        let beside = Path::new(&words[runner]).parent().map(|directory| directory.join("python"));
        python.push(beside.map_or("python".to_owned(), |path| path.display().to_string()));
    }
    // Texts of JSON are texts of Python.
    let list =
        |items: Vec<String>| items.iter().map(|item| serde_json::Value::from(&**item).to_string()).collect::<Vec<_>>();
    let (options, tests) = (list(options.to_vec()), list(tests.collect()).join(", "));
    let each: String = options.iter().map(|option| format!("{option}, ")).collect();
    let code = format!("import pytest, sys; sys.exit(max([pytest.main([{each}test]) for test in [{tests}]]))");
    python.extend(["-c".to_owned(), code]);
    in_shell(&python)
}

fn is_pytest(word: &str) -> bool {
    let name = Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or(word);
    name == "pytest" || name == "py.test"
}

/// Words as they are typed.
pub(crate) fn in_shell(words: &[String]) -> String {
    words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

/// The command up to its runner and its options, without what names files to be tested.
fn without_paths(command: &[String], here: &Path) -> Vec<String> {
    let Some(runner) = command.iter().position(|word| is_pytest(word)) else {
        // Something that leads to a runner, such as `make test`: its words cannot be told apart.
        return vec!["pytest".to_owned()];
    };
    let mut words = command[..=runner].to_vec();
    let mut rest = command[runner + 1..].iter();
    while let Some(word) = rest.next() {
        if TAKES_VALUE.contains(&word.as_str()) {
            words.push(word.clone());
            words.extend(rest.next().cloned());
        } else if word == "--pyargs" {
            // The names that go with it are dropped, and tests are named by path.
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

/// The name of a test as the runner wants it when started in `here`.
pub(crate) fn seen_from(test: &str, root: Option<&Path>, here: &Path) -> String {
    match root.and_then(|root| here.strip_prefix(root).ok()) {
        Some(below) => "../".repeat(below.components().count()) + test,
        None => test.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &[&str], tests: &[&str], expected: &str) {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        let tests: Vec<TestId> = tests.iter().map(|test| TestId::from(*test)).collect();
        assert_eq!(command_for(&command, &tests, Some(here), here), expected);
    }

    #[test]
    fn paths_give_way_to_the_test_and_options_stay() {
        check(
            &["pytest", "src/", "-q", "-p", "no:cacheprovider"],
            &["t.py::a"],
            "pytest -q -p no:cacheprovider t.py::a",
        );
        check(&["python", "-m", "pytest", "src", "-k", "src"], &["t.py::a"], "python -m pytest -k src t.py::a");
        check(&["uv", "run", "pytest"], &["t.py::a"], "uv run pytest t.py::a");
        check(&["make", "test"], &["t.py::a"], "pytest t.py::a");
    }

    #[test]
    fn without_a_test_it_is_the_users_command() {
        check(&["pytest", "src"], &[], "pytest src");
    }

    #[test]
    fn a_test_that_comes_twice_is_run_twice_in_one_process() {
        let twice = |start: &str, options: &str| {
            let runs = format!("[pytest.main([{options}test]) for test in [\"t.py::a\", \"t.py::a\"]]");
            format!("{start} -c 'import pytest, sys; sys.exit(max({runs}))'")
        };
        check(&["pytest", "-q", "src"], &["t.py::a", "t.py::a"], &twice("python", "\"-q\", "));
        check(&["python3", "-m", "pytest"], &["t.py::a", "t.py::a"], &twice("python3", ""));
        check(&[".venv/bin/pytest"], &["t.py::a", "t.py::a"], &twice(".venv/bin/python", ""));
        check(&["uv", "run", "pytest"], &["t.py::a", "t.py::a"], &twice("uv run python", ""));
    }

    #[test]
    fn odd_names_are_quoted_for_a_shell() {
        check(&["pytest"], &["t.py::a[x y]"], "pytest 't.py::a[x y]'");
        check(&["pytest"], &["t.py::a[it's]"], "pytest 't.py::a[it'\\''s]'");
        check(&["pytest"], &["t.py::a[1\n2]"], "pytest \"$(printf 't.py::a[1\\n2]')\"");
        check(&["pytest"], &["a[\x1b'%\\\u{202e}é]"], "pytest \"$(printf 'a[\\033'\\''%%\\\\\\342\\200\\256é]')\"");
        check(&["pytest"], &["t.py::a[$(rm -r x)]"], "pytest 't.py::a[$(rm -r x)]'");
    }

    #[test]
    fn names_are_relative_to_where_the_command_runs() {
        let root = Path::new("/p");
        assert_eq!(seen_from("tests/t.py::a", Some(root), Path::new("/p/tests/unit")), "../../tests/t.py::a");
        assert_eq!(seen_from("tests/t.py::a", Some(root), root), "tests/t.py::a");
    }
}
