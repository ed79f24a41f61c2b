//! Why pytest ran without the agent: what lost the variables that load it, and the line to change.

use std::fs;
use std::path::Path;

use regex_lite::Regex;
use unflake_protocol::MissedAgent;

/// The variables that load the agent.
const VARIABLES: &str = "PYTHONPATH, PYTEST_PLUGINS and UNFLAKE_*";

/// Files in which projects write down how pytest starts.
const TASK_FILES: [&str; 12] = [
    "tox.ini",
    "tox.toml",
    "setup.cfg",
    "pyproject.toml",
    "noxfile.py",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    "Justfile",
    "Taskfile.yml",
    "package.json",
];

/// None: the output is not that of pytest.
pub(super) fn explain(command: &[String], output: &str, project: &Path) -> Option<MissedAgent> {
    if output.contains("No module named 'unflake_agent'") {
        let why = "pytest could not load unflake's agent: PYTHONPATH was replaced on the way to it".to_owned();
        return Some(MissedAgent { why, hint: keep_path(command, project) });
    }
    if let Some(version) = old_version(output) {
        let why = format!("pytest {version} is too old for unflake");
        return Some(MissedAgent { why, hint: "Install pytest 6 or later.".to_owned() });
    }
    shows_session(output).then(|| {
        let why = "pytest ran without unflake's agent: its environment variables were removed on the way".to_owned();
        MissedAgent { why, hint: keep_variables(command, project) }
    })
}

fn shows_session(output: &str) -> bool {
    let summary = r"(?m)^[ =]*(no tests ran|\d+ [a-z]+(, \d+ [a-z]+)*) in \d+\.\d\ds\b[ =()\d:]*$";
    output.contains("= test session starts =") || Regex::new(summary).is_ok_and(|summary| summary.is_match(output))
}

/// The version in pytest's header, where that is older than 6.
fn old_version(output: &str) -> Option<&str> {
    let header = Regex::new(r"(?m)^platform .*\bpytest-(([0-5])\.[0-9.]*[0-9])").ok()?;
    Some(header.captures(output)?.get(1)?.as_str())
}

fn keep_path(command: &[String], project: &Path) -> String {
    if let Some(option) = ignoring_option(command) {
        return format!("Leave out `{option}` of Python, which ignores PYTHONPATH.");
    }
    match line_with("PYTHONPATH", command, project) {
        Some(line) => format!("Keep what it has, in front: {line}"),
        None => "Keep what it has where you set it: `PYTHONPATH=$PYTHONPATH:src`.".to_owned(),
    }
}

/// `-E` or `-I`, given to Python.
fn ignoring_option(command: &[String]) -> Option<&str> {
    let options = command.iter().skip_while(|word| !is_program(word, "python")).skip(1);
    options.take_while(|word| word.starts_with('-') && *word != "-m").map(String::as_str).find(|word| {
        let letters = word.trim_start_matches('-');
        !word.starts_with("--") && letters.contains(['E', 'I'])
    })
}

fn keep_variables(command: &[String], project: &Path) -> String {
    let has = |name: &str| command.iter().any(|word| is_program(word, name));
    let clears = |word: &String| ["-", "-i", "--ignore-environment"].contains(&word.as_str());
    if has("env") && command.iter().any(clears) {
        return format!("Leave out `-i` of `env`, or set {VARIABLES} again behind it.");
    }
    if has("sudo") || has("doas") {
        return "Start unflake itself as that user: `sudo unflake run -- pytest`.".to_owned();
    }
    if ["docker", "podman", "docker-compose"].iter().any(|name| has(name)) {
        return "unflake cannot reach into a container: start it inside, as `unflake run -- pytest`.".to_owned();
    }
    let tox = [
        ("tox.ini", "[testenv]", "pass_env = PYTHONPATH, PYTEST_PLUGINS, UNFLAKE_*"),
        ("setup.cfg", "[testenv]", "pass_env = PYTHONPATH, PYTEST_PLUGINS, UNFLAKE_*"),
        ("tox.toml", "[env_run_base]", r#"pass_env = ["PYTHONPATH", "PYTEST_PLUGINS", "UNFLAKE_*"]"#),
        ("pyproject.toml", "[tool.tox.env_run_base]", r#"pass_env = ["PYTHONPATH", "PYTEST_PLUGINS", "UNFLAKE_*"]"#),
    ];
    let file = tox.iter().find(|(file, ..)| project.join(file).is_file());
    if let (true, Some((file, section, line))) = (has("tox"), file) {
        return format!("tox 4 passes them on. For older versions add to {file}, {section}: `{line}`.");
    }
    match line_with("env -i", command, project) {
        Some(line) => format!("Leave out `-i` of `env`, which removes them: {line}"),
        None => format!("Pass {VARIABLES} on to pytest."),
    }
}

/// Whether a word is the path of this program, possibly with a version: `/usr/bin/python3.12`.
fn is_program(word: &str, name: &str) -> bool {
    let file = word.rsplit('/').next().unwrap_or(word);
    file.strip_prefix(name).is_some_and(|version| version.chars().all(|one| one.is_ascii_digit() || one == '.'))
}

/// The first line with this text in a task file or a script of the command, with its place.
fn line_with(text: &str, command: &[String], project: &Path) -> Option<String> {
    let files = TASK_FILES.into_iter().chain(command.iter().map(String::as_str));
    for file in files.filter(|file| project.join(file).is_file()) {
        let Ok(content) = fs::read_to_string(project.join(file)) else { continue };
        let mut lines = content.lines().zip(1..);
        if let Some((line, number)) = lines.find(|(line, _)| line.contains(text) && !line.trim_start().starts_with('#'))
        {
            return Some(format!("{file}:{number}: `{}`", line.trim()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "=== test session starts ===\nplatform linux -- Python 3.11.7, pytest-9.2.0\n";

    #[track_caller]
    fn check(command: &str, output: &str, files: &[(&str, &str)], expected: &str) {
        let project = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(project.path().join(name), text).unwrap();
        }
        let command: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let missed = explain(&command, output, project.path());
        assert_eq!(missed.map(|missed| missed.hint).unwrap_or_default(), expected);
    }

    #[test]
    fn lost_variables_have_a_line_to_change() {
        check("env -i pytest", SESSION, &[], &format!("Leave out `-i` of `env`, or set {VARIABLES} again behind it."));
        check("make test", "3 passed in 0.01s\n", &[], &format!("Pass {VARIABLES} on to pytest."));
        let makefile = [("Makefile", "test:\n\tenv -i PATH=$(PATH) pytest\n")];
        let expected = "Leave out `-i` of `env`, which removes them: Makefile:2: `env -i PATH=$(PATH) pytest`";
        check("make test", SESSION, &makefile, expected);
        let toml = [("tox.toml", "")];
        let line = r#"`pass_env = ["PYTHONPATH", "PYTEST_PLUGINS", "UNFLAKE_*"]`"#;
        let expected = format!("tox 4 passes them on. For older versions add to tox.toml, [env_run_base]: {line}.");
        check("tox -e py", SESSION, &toml, &expected);
    }

    #[test]
    fn a_replaced_path_has_a_line_to_change() {
        let failed = "ImportError: Error importing plugin \"unflake_agent\": No module named 'unflake_agent'";
        let script = [("test.sh", "# PYTHONPATH\nPYTHONPATH=src pytest\n")];
        check("sh test.sh", failed, &script, "Keep what it has, in front: test.sh:2: `PYTHONPATH=src pytest`");
        let expected = "Leave out `-I` of Python, which ignores PYTHONPATH.";
        check("/usr/bin/python3.12 -I -m pytest", failed, &[], expected);
        let expected = "Keep what it has where you set it: `PYTHONPATH=$PYTHONPATH:src`.";
        check("python -m pytest -I", failed, &[], expected);
    }

    #[test]
    fn other_output_is_not_taken_for_a_session() {
        for output in ["", "3 files passed", "test result: ok. 3 passed; 0 failed; finished in 0.00s"] {
            check("make", output, &[], "");
        }
    }

    #[test]
    fn an_old_version_is_named() {
        let output = "platform linux -- Python 3.7.1, pytest-5.4.3, py-1.9.0\n";
        check("pytest", output, &[], "Install pytest 6 or later.");
    }
}
