//! Tools between unflake and pytest: task runners that clear the environment or have a virtual
//! environment of their own, and what unflake says where its agent does not get through.

use e2e::{RunOutput, Sandbox, python, repository};

const TESTS: &str = "\
import os

def test_passes():
    assert not [name for name in os.environ if name.startswith('UNFLAKE_')]
    assert 'PYTEST_PLUGINS' not in os.environ

def test_fails():
    assert 1 == 2
";

/// Runs a command with the tools that `e2e/setup.py` has installed.
fn run(sandbox: &Sandbox, command: &str) -> RunOutput {
    let tools = repository().join(".venvs/project-tools");
    assert!(tools.join("complete").is_file(), "{} does not exist. Run `python3 e2e/setup.py` once.", tools.display());
    let mut path = vec![tools.join("bin"), python().parent().unwrap().to_owned()];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    sandbox.run_invocation("", command).env("PATH", std::env::join_paths(path).unwrap()).finish()
}

/// The agent reached pytest, and the tests saw nothing of it.
#[track_caller]
fn check(files: &[(&str, &str)], command: &str) {
    let sandbox = files.iter().fold(Sandbox::with_tests(TESTS), |sandbox, (name, text)| sandbox.file(name, text));
    let result = run(&sandbox, command).expect_exit(1);
    assert_eq!(result.findings(), ["test_it.py::test_fails real"], "{}", result.stdout);
}

/// The directory with pytest: virtual environments of the tools install nothing.
fn packages() -> String {
    let script = "import os, pytest; print(os.path.dirname(os.path.dirname(pytest.__file__)))";
    let output = std::process::Command::new(python()).args(["-c", script]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

// -- tox ------------------------------------------------------------------------------------------

const TOX: &str = "[testenv]\nskip_install = true\nallowlist_externals = pytest\ncommands = pytest {posargs}\n";

#[test]
fn tox_with_few_variables() {
    check(&[("tox.ini", TOX)], "tox -e py");
}

#[test]
fn tox_with_variables_of_one_environment() {
    check(&[("tox.ini", &format!("{TOX}pass_env = A\n[testenv:py]\npass_env = B\n"))], "tox -e py");
}

#[test]
fn tox_with_a_python_path_of_its_own() {
    let tests = format!("{TESTS}\ndef test_path(): assert os.environ['PYTHONPATH'] == {:?}\n", packages());
    let settings = TOX.replace("= pytest {posargs}", "= python -m pytest");
    let settings = format!("{settings}set_env = PYTHONPATH = {}\n", packages());
    check(&[("test_it.py", &tests), ("tox.ini", &settings)], "tox -e py");
}

#[test]
fn tox_configured_in_toml() {
    let settings = "\
[tool.tox.env_run_base]
skip_install = true
allowlist_externals = ['pytest']
commands = [['pytest']]
";
    check(&[("pyproject.toml", settings)], "tox -e py");
}

// -- Tools that keep the environment --------------------------------------------------------------

#[test]
fn nox_with_its_own_virtual_environment() {
    let settings = "import nox\n@nox.session\ndef tests(session):\n    session.run('pytest', external=True)\n";
    check(&[("noxfile.py", settings)], "nox --reuse-venv=yes");
}

#[test]
fn uv_run() {
    let project = "[project]\nname = 'shop'\nversion = '1'\nrequires-python = '>=3.8'\n";
    check(&[("pyproject.toml", project)], "uv run --offline pytest");
}

#[test]
fn poetry_run() {
    let project = "[tool.poetry]\nname = 'shop'\nversion = '1'\npackage-mode = false\n";
    check(&[("pyproject.toml", project)], "poetry run pytest");
}

#[test]
fn pdm_run() {
    let project = "[project]\nname = 'shop'\nversion = '1'\nrequires-python = '>=3.8'\n";
    check(&[("pyproject.toml", project)], "pdm run pytest");
}

#[test]
fn hatch_run() {
    let project = "\
[project]
name = 'shop'
version = '1'
[tool.hatch.envs.default]
skip-install = true
scripts.test = 'pytest'
";
    check(&[("pyproject.toml", project)], "hatch run test");
}

#[test]
fn make() {
    check(&[("Makefile", "test:\n\t@pytest -q\n")], "make test");
}

// -- Where the agent is kept out ------------------------------------------------------------------

/// The reason and the hint of a run whose pytest had no agent.
fn missed(sandbox: &Sandbox, command: &[&str]) -> [String; 2] {
    let result = sandbox.run_invocation("", "").arg("--").args(command).finish().expect_exit(4);
    let error = result.stdout.lines().find_map(|line| line.strip_prefix("ERROR    ")).unwrap_or_default();
    let quoted: Vec<&str> = result.stdout.lines().filter_map(|line| line.trim_start().strip_prefix("│ ")).collect();
    [error.to_owned(), quoted.last().copied().unwrap_or_default().to_owned()]
}

#[test]
fn a_cleared_environment_is_named() {
    let path = format!("PATH={}", python().parent().unwrap().display());
    let sandbox = Sandbox::with_tests("def test_a(): pass\n");
    let why = "pytest ran without unflake's agent: its environment variables were removed on the way";
    assert_eq!(
        missed(&sandbox, &["env", "-i", &path, "pytest", "-q"]),
        [
            format!("{why} (the process exited with code 0)"),
            "Leave out `-i` of `env`, or set PYTHONPATH, PYTEST_PLUGINS and UNFLAKE_* again behind it.".to_owned()
        ]
    );
}

#[test]
fn a_replaced_python_path_is_named() {
    let why = "pytest could not load unflake's agent: PYTHONPATH was replaced on the way to it";
    let why = format!("{why} (the process exited with code 2)");
    let sandbox = Sandbox::with_tests("def test_a(): pass\n").file("Makefile", "test:\n\tPYTHONPATH=src pytest\n");
    let hint = "Keep what it has, in front: Makefile:2: `PYTHONPATH=src pytest`".to_owned();
    assert_eq!(missed(&sandbox, &["make", "test"]), [why, hint]);
}
