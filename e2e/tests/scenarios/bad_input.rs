//! Invalid input: unflake reports what is wrong, exits with the right code, and loses nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use e2e::{Mount, RunOutput, Sandbox, python};
use insta::assert_snapshot;

const PASSES: &str = "def test_a(): pass\n";
const FAILS: &str = "def test_a(): pass\ndef test_b(): assert 1 == 2\n";

/// The redacted standard output, or standard error where that is empty.
fn reported(sandbox: &Sandbox, result: &RunOutput) -> String {
    sandbox.redact(if result.stdout.is_empty() { &result.stderr } else { &result.stdout })
}

// -- Commands that cannot be run ------------------------------------------------------------------

#[test]
fn a_test_file_that_does_not_exist() {
    let sandbox = Sandbox::with_tests(PASSES);
    let result = sandbox.run("", "pytest nosuch.py").expect_exit(4);
    assert_snapshot!(reported(&sandbox, &result), @"
    no tests ran, 1 problem, [TIME]

    ERROR    the runner did not accept its command line or its configuration
               │ file or directory not found: nosuch.py

    exit 4: the tests could not run
    ");
}

#[test]
fn an_empty_directory_without_a_command() {
    let sandbox = Sandbox::new();
    let result = sandbox.run("", "").expect_exit(2);
    assert_snapshot!(reported(&sandbox, &result), @"
    error: there is no test command, and none can be guessed from the files here
    hint: give it after two dashes: `unflake run -- pytest tests/`, `unflake run -- cargo test`
    ");
}

#[test]
fn a_runner_that_unflake_does_not_support() {
    let sandbox = Sandbox::new().file("go.mod", "module example.com/shop\n");
    let result = sandbox.run("", "go test ./...").expect_exit(2);
    assert_snapshot!(reported(&sandbox, &result), @"
    error: unflake cannot start single tests of Go
    hint: it can by a JUnit report (`gotestsum --junitfile report.xml`): `unflake run --results report.xml --one-test 'COMMAND {name}' -- …`, see docs/book/other-runners.md
    ");
    let result = sandbox.run("", "python3 -m unittest").expect_exit(2);
    assert_snapshot!(reported(&sandbox, &result), @"
    error: unflake cannot run unittest
    hint: pytest runs tests of unittest, too: `unflake run -- pytest`
    ");
}

#[test]
fn a_project_without_tests() {
    let sandbox = Sandbox::with_tests("x = 1\n");
    let result = sandbox.run("", "pytest").expect_exit(5);
    assert_snapshot!(reported(&sandbox, &result), @"
    no tests found, [TIME]

    exit 5: no tests found
    ");
}

#[test]
fn a_conftest_with_a_syntax_error() {
    let sandbox = Sandbox::with_tests(PASSES).file("conftest.py", "def broken(:\n");
    let result = sandbox.run("", "pytest").expect_exit(4);
    assert_snapshot!(reported(&sandbox, &result), @"
    no tests ran, 1 problem, [TIME]

    ERROR    the runner did not accept its command line or its configuration
               │ SyntaxError: invalid syntax (conftest.py, line 1) (from [PLACE]/project/conftest.py)

    exit 4: the tests could not run
    ");
}

#[test]
fn a_conftest_that_raises() {
    let sandbox = Sandbox::with_tests(PASSES).file("conftest.py", "raise RuntimeError('no database')\n");
    let result = sandbox.run("", "pytest").expect_exit(4);
    assert_snapshot!(reported(&sandbox, &result), @"
    no tests ran, 1 problem, [TIME]

    ERROR    the runner did not accept its command line or its configuration
               │ RuntimeError: no database (from [PLACE]/project/conftest.py)

    exit 4: the tests could not run
    ");
}

#[test]
fn an_unknown_pytest_option() {
    let sandbox = Sandbox::with_tests(PASSES);
    let result = sandbox.run("", "pytest --no-such-option").expect_exit(4);
    assert_snapshot!(reported(&sandbox, &result), @"
    no tests ran, 1 problem, [TIME]

    ERROR    the runner exited before it listed its tests (the process exited with code 4)
               │ ERROR: usage: pytest [options] [file_or_dir] [file_or_dir] [...]
               │ pytest: error: unrecognized arguments: --no-such-option
               │   inifile: None
               │   rootdir: [PLACE]/project

    exit 4: the tests could not run
    ");
}

#[test]
fn an_interpreter_that_does_not_exist() {
    let sandbox = Sandbox::with_tests(PASSES);
    let result = sandbox.run("", "/no/such/python -m pytest").expect_exit(4);
    assert_snapshot!(reported(&sandbox, &result), @"
    no tests ran, 1 problem, [TIME]

    ERROR    `/no/such/python` could not be started: No such file or directory (os error 2)

    exit 4: the tests could not run
    ");
}

#[test]
fn programs_that_start_no_runner() {
    let sandbox = Sandbox::with_tests(PASSES);
    assert_snapshot!(reported(&sandbox, &sandbox.run("", "true").expect_exit(4)), @"
    no tests ran, 1 problem, [TIME]

    ERROR    the command exited without starting a supported test runner (the process exited with code 0)
               │ It must start pytest, 6 or later.
               │ Or it must be `cargo test`, `cargo nextest run`, `ctest` or a GoogleTest program itself.
               │ For other runners, `--results` and `--one-test` tell unflake how to use them.

    exit 4: the tests could not run
    ");
    assert_snapshot!(reported(&sandbox, &sandbox.run("", "sleep 0.1").expect_exit(4)), @"
    no tests ran, 1 problem, [TIME]

    ERROR    the command exited without starting a supported test runner (the process exited with code 0)
               │ It must start pytest, 6 or later.
               │ Or it must be `cargo test`, `cargo nextest run`, `ctest` or a GoogleTest program itself.
               │ For other runners, `--results` and `--one-test` tell unflake how to use them.

    exit 4: the tests could not run
    ");
    let result =
        sandbox.run_invocation("", "").args(["--", "sh", "-c", "echo wrong door >&2; exit 3"]).finish().expect_exit(4);
    assert_snapshot!(reported(&sandbox, &result), @"
    no tests ran, 1 problem, [TIME]

    ERROR    the command exited without starting a supported test runner (the process exited with code 3)
               │ wrong door
               │ It must start pytest, 6 or later.
               │ Or it must be `cargo test`, `cargo nextest run`, `ctest` or a GoogleTest program itself.
               │ For other runners, `--results` and `--one-test` tell unflake how to use them.

    exit 4: the tests could not run
    ");
}

#[test]
fn a_python_without_pytest() {
    let sandbox = Sandbox::with_tests(PASSES);
    // Without site-packages the same Python has no pytest.
    let result = sandbox.run("", &format!("{} -S -m pytest", python().display())).expect_exit(4);
    assert_snapshot!(reported(&sandbox, &result), @"
    no tests ran, 1 problem, [TIME]

    ERROR    the command exited without starting a supported test runner (the process exited with code 1)
               │ [PYTHON]: No module named pytest
               │ It must start pytest, 6 or later.
               │ Or it must be `cargo test`, `cargo nextest run`, `ctest` or a GoogleTest program itself.
               │ For other runners, `--results` and `--one-test` tell unflake how to use them.

    exit 4: the tests could not run
    ");
}

#[test]
fn a_test_file_that_cannot_be_imported() {
    let sandbox = Sandbox::with_tests(PASSES).file("test_broken.py", "raise RuntimeError('no prices')\n");
    let result = sandbox.run("", "pytest -p no:cacheprovider").expect_exit(4);
    assert_snapshot!(reported(&sandbox, &result), @"
    no tests ran, 1 problem, [TIME]

    ERROR    test_broken.py
             could not be loaded, so none of its tests ran
               │ test_broken.py:1: in <module>
               │     raise RuntimeError('no prices')
               │ E   RuntimeError: no prices

    exit 4: the tests could not run
    ");
    let result = sandbox.run("", "pytest --continue-on-collection-errors").expect_exit(4);
    assert_eq!(result.attempts(), ["test_it.py::test_a passed suite process"], "the other files run all the same");
}

// -- Settings -------------------------------------------------------------------------------------

#[test]
fn a_configuration_file_that_cannot_be_parsed() {
    let sandbox = Sandbox::with_tests(PASSES).file("unflake.toml", "immediate = = 2\n");
    assert_snapshot!(reported(&sandbox, &sandbox.run("", "pytest").expect_exit(2)), @r"
    error: [PLACE]/project/unflake.toml cannot be read: TOML parse error at line 1, column 13
      |
    1 | immediate = = 2
      |             ^
    extra `=`, expected nothing
    hint: `unflake run --help` explains the settings
    ");
}

#[test]
fn an_unknown_setting() {
    let sandbox = Sandbox::with_tests(PASSES).file("unflake.toml", "imediate = 2\n");
    assert_snapshot!(reported(&sandbox, &sandbox.run("", "pytest").expect_exit(2)), @"
    error: [PLACE]/project/unflake.toml has an unknown setting `imediate`
    hint: did you mean `immediate`?
    ");
}

#[test]
fn invalid_values_of_settings() {
    let sandbox = Sandbox::with_tests(PASSES).file("unflake.toml", "immediate = [1]\n");
    assert_snapshot!(reported(&sandbox, &sandbox.run("", "pytest").expect_exit(2)), @r"
    error: immediate: [PLACE]/project/unflake.toml has a value of type array; a text or a number is wanted
    hint: `unflake run --help` explains the settings
    ");
    let sandbox = Sandbox::with_tests(PASSES).file("unflake.toml", "command = 'pytest'\n");
    assert_snapshot!(reported(&sandbox, &sandbox.run("", "").expect_exit(2)), @r"
    error: command: [PLACE]/project/unflake.toml must have a list of texts here
    hint: `unflake run --help` explains the settings
    ");
    let sandbox = Sandbox::with_tests(PASSES);
    assert_snapshot!(reported(&sandbox, &sandbox.run("--immediate=-1", "pytest").expect_exit(2)), @r"
    error: immediate: `-1` (command line) is not a whole number from 0 on
    hint: `unflake run --help` explains the settings
    ");
    assert_snapshot!(reported(&sandbox, &sandbox.run("--timeout=soon", "pytest").expect_exit(2)), @r"
    error: timeout: `soon` (command line) is not a time such as `90`, `1.5s`, `2m` or `1h`, or `0` for none
    hint: `unflake run --help` explains the settings
    ");
    assert_snapshot!(reported(&sandbox, &sandbox.run("--fresh-by=frok", "pytest").expect_exit(2)), @r"
    error: fresh-by: `frok` (command line) is not `fork` or `process`
    hint: did you mean `fork`?
    ");
    assert_snapshot!(reported(&sandbox, &sandbox.run("--too-many=101", "pytest").expect_exit(2)), @r"
    error: too-many: `101` (command line) is not a number from 0 to 100
    hint: `unflake run --help` explains the settings
    ");
    assert_snapshot!(reported(&sandbox, &sandbox.run("--jobs=0", "pytest").expect_exit(2)), @r"
    error: jobs: `0` (command line) is not a whole number from 1 on
    hint: `unflake run --help` explains the settings
    ");
    assert_snapshot!(reported(&sandbox, &sandbox.run("--never-excuse=(", "pytest").expect_exit(2)), @r"
    error: never-excuse: `(` is not a regular expression: found open group without closing ')'
    hint: `unflake run --help` explains the settings
    ");
    let result = sandbox.run_invocation("", "pytest").env("UNFLAKE_FLAKY_RESULT", "maybe").finish().expect_exit(2);
    assert_snapshot!(reported(&sandbox, &result), @r"
    error: flaky-result: `maybe` (variable UNFLAKE_FLAKY_RESULT) is not `pass` or `fail`
    hint: `unflake run --help` explains the settings
    ");
}

#[test]
fn a_report_path_without_its_directory() {
    let sandbox = Sandbox::with_tests("open('ran', 'w').write('yes')\n");
    let result = sandbox.unflake(["run", "--json", "no/such/dir/a.json", "--", "pytest"]).finish().expect_exit(2);
    assert_snapshot!(reported(&sandbox, &result), @"
    error: no/such/dir/a.json cannot be written: No such file or directory (os error 2)
    hint: check that its directory exists and that you may write there
    ");
    let result = sandbox.unflake(["run", "--junit", "no/such/dir/a.xml", "--", "pytest"]).finish().expect_exit(2);
    assert_snapshot!(reported(&sandbox, &result), @"
    error: no/such/dir/a.xml cannot be written: No such file or directory (os error 2)
    hint: check that its directory exists and that you may write there
    ");
    assert!(!sandbox.project().join("ran").exists(), "reported before anything runs");
}

// -- Histories ------------------------------------------------------------------------------------

#[test]
fn a_history_of_a_newer_unflake_is_not_modified() {
    let sandbox = Sandbox::with_tests(FAILS);
    sandbox.run("", "pytest").expect_exit(1);
    let file = sandbox.project().join(".unflake/history.db");
    let database = rusqlite::Connection::open(&file).unwrap();
    database.pragma_update(None, "user_version", 99).unwrap();
    drop(database);
    let before = fs::read(&file).unwrap();
    let result = sandbox.run("", "pytest").expect_exit(70);
    let version = regex_lite::Regex::new(r"up to \d+").unwrap();
    let reported = version.replace(&reported(&sandbox, &result), "up to [VERSION]").into_owned();
    assert_snapshot!(reported, @"error: the history in [PLACE]/project/.unflake/history.db was written by a newer unflake and was left as it is. Its tables have version 99, and this unflake knows them up to [VERSION]. Use the newer unflake, or move the file away to begin a new history.");
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn a_damaged_history_is_not_modified() {
    let sandbox =
        Sandbox::with_tests(FAILS).file(".unflake/history.db", "this is no database, and longer than a header is");
    let result = sandbox.run("", "pytest").expect_exit(70);
    assert_snapshot!(reported(&sandbox, &result), @"error: the history in [PLACE]/project/.unflake/history.db cannot be read and was left as it is. It is damaged or no database at all: file is not a database. Move the file and those with the same prefix away to start a new history.");
    assert!(fs::read_to_string(sandbox.project().join(".unflake/history.db")).unwrap().starts_with("this is no"));
    let result = sandbox.unflake(["history", "show"]).finish().expect_exit(70);
    assert_snapshot!(reported(&sandbox, &result), @"error: the history in [PLACE]/project/.unflake/history.db cannot be read and was left as it is. It is damaged or no database at all: file is not a database. Move the file and those with the same prefix away to start a new history.");
}

#[test]
fn a_read_only_project_keeps_its_history_elsewhere() {
    let sandbox = Sandbox::with_tests(FAILS);
    let project = sandbox.project();
    // Root ignores permissions, but not a read-only mount.
    let mount = Mount::read_only(&project);
    fs::set_permissions(&project, fs::Permissions::from_mode(0o555)).ok();
    let result = sandbox.run("", "pytest").expect_exit(1);
    assert_eq!(result.findings(), ["test_it.py::test_b real"]);
    assert_snapshot!(sandbox.redact(&result.remarks()), @"
    note: the project directory cannot be written, so its history is kept in [PLACE]/home/state/unflake/[HASH]/history.db
    note: not a git repository, so failures are not compared with your change
    exit 1: 1 real failure
    ");
    let result = sandbox.unflake(["history", "show", "test_b"]).finish().expect_exit(0);
    assert!(result.stdout.contains("failed"), "the history is found again: {}", result.stdout);
    drop(mount);
    fs::set_permissions(&project, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(!project.join(".unflake").exists());
}

#[test]
fn a_full_disk_costs_only_the_history() {
    let sandbox = Sandbox::with_tests(
        "import pytest\n\
         @pytest.mark.parametrize('n', range(400))\n\
         def test_long(n):\n    print(str(n) * 2000)\n    assert n % 100\n",
    );
    let store = sandbox.project().join("store");
    fs::create_dir(&store).unwrap();
    let Some(_mount) = Mount::tmpfs(&store, "size=400k") else {
        return eprintln!("not checked: this user may not mount");
    };
    let result = sandbox.run("--store store --at-end 0 --fresh 0", "pytest").expect_exit(1);
    assert_eq!(result.list("attempts").len(), 404, "everything is reported");
    assert_eq!(result.findings().len(), 4);
    assert_snapshot!(sandbox.redact(&regular(&result.remarks())), @"
    note: the history in store/history.db cannot grow. The disk is full, or a quota or a limit on file sizes (`ulimit -f`) is used up. Make room and try again: everything recorded before is safe.
    note: [N] attempts of this run are not in the history; this report is complete
    exit 1: 4 undecided failures
    ");
}

/// The number of attempts that fit on the disk varies.
fn regular(text: &str) -> String {
    regex_lite::Regex::new(r"\d+ attempts").unwrap().replace_all(text, "[N] attempts").into_owned()
}

// -- Huge and undecodable output ------------------------------------------------------------------

#[test]
fn a_failure_message_of_100_megabytes() {
    let sandbox = Sandbox::with_tests("def test_loud():\n    raise ValueError('begin' + 'x' * 100_000_000 + 'end')\n");
    let result = sandbox.run("--immediate 0 --at-end 0 --fresh 0", "pytest").expect_exit(1);
    assert_eq!(result.findings(), ["test_it.py::test_loud not-decided"]);
    let message = result.list("attempts")[0]["failure"]["message"].as_str().unwrap();
    assert!(message.contains("begin") && message.ends_with("end"), "both ends are kept");
    assert!(message.len() < 70_000 && result.stdout.len() < 20_000, "{} and {}", message.len(), result.stdout.len());
}

#[test]
fn a_flood_of_captured_and_uncaptured_output() {
    let sandbox = Sandbox::with_tests(
        "def test_flood():\n    for _ in range(500):\n        print('y' * 100_000)\n    print('done')\n    assert 0\n",
    );
    let result = sandbox.run("--immediate 0 --at-end 0 --fresh 0", "pytest").expect_exit(1);
    let stdout = result.list("attempts")[0]["stdout"].as_str().unwrap();
    assert!(stdout.len() < 70_000 && stdout.trim_end().ends_with("done"), "{}", stdout.len());
    let loud = Sandbox::with_tests(
        "def test_flood():\n    for _ in range(3000):\n        print('y' * 100_000)\n    assert 0\n",
    );
    let result = loud.run("--immediate 0 --at-end 0 --fresh 0 --runner-output", "pytest -s").expect_exit(1);
    assert_eq!(result.findings(), ["test_it.py::test_flood not-decided"]);
    assert!(result.stdout.len() < 500_000 && result.stdout.contains("bytes left out"), "{}", result.stdout.len());
}

#[test]
fn output_that_is_not_utf8() {
    let tests = "import os\ndef test_bytes():\n    os.write(1, b'caf\\xe9 \\xff\\x00\\x1b[31m ok\\n')\n    assert 0, '\\udcff'\n";
    for command in ["pytest", "pytest -s"] {
        let sandbox = Sandbox::with_tests(tests);
        let result = sandbox.run("--junit report.xml --runner-output", command).expect_exit(1);
        assert_eq!(result.findings(), ["test_it.py::test_bytes real"], "{command}");
        assert!(!result.stdout.contains('\x1b'), "an escape of a test reaches the terminal with {command}");
        assert!(fs::read_to_string(sandbox.project().join("report.xml")).unwrap().contains("test_bytes"));
    }
}

#[test]
fn test_ids_with_line_breaks() {
    let sandbox = Sandbox::with_tests(
        "import pytest\n\
         @pytest.mark.parametrize('x', [1], ids=['two\\nlines'])\n\
         def test_name(x): assert 0\n",
    )
    .file("pytest.ini", "[pytest]\ndisable_test_id_escaping_and_forfeit_all_rights_to_community_support = true\n");
    let result = sandbox.run("--junit report.xml", "pytest").expect_exit(1);
    assert_eq!(result.findings(), ["test_it.py::test_name[two\nlines] real"]);
    assert_snapshot!(reported(&sandbox, &result), @r#"
    1 test, 1 real failure, [TIME]

    REAL     test_it.py::test_name[two\nlines]
             failed 6 of 6 attempts, including a new process with other seeds
               test_it.py:3  AssertionError
               │ assert 0
             reproduce  pytest "$(printf 'test_it.py::test_name[two\nlines]')"

    note: not a git repository, so failures are not compared with your change

    exit 1: 1 real failure
    "#);
}
