//! Whatever is wrong with what unflake is given, it says so in words that help, leaves with the right code, and loses
//! nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use e2e::{Mount, Ran, Story, python};
use insta::assert_snapshot;

const PASSES: &str = "def test_a(): pass\n";
const FAILS: &str = "def test_a(): pass\ndef test_b(): assert 1 == 2\n";

/// What a person reads at the end, or instead.
fn told(story: &Story, ran: &Ran) -> String {
    story.plain(if ran.stdout.is_empty() { &ran.stderr } else { &ran.stdout })
}

// -- Commands that cannot be run ------------------------------------------------------------------------------------

#[test]
fn a_file_of_tests_that_is_not_there() {
    let story = Story::of(PASSES);
    let ran = story.run("", "pytest nosuch.py").exits(4);
    assert_snapshot!(told(&story, &ran), @r"
      no tests were run · 1 problem · [TIME]

    ✗ ERROR  the runner did not accept its command line or its configuration
               │ file or directory not found: nosuch.py

    exit 4: the tests could not be run
    ");
}

#[test]
fn an_empty_directory_and_no_command() {
    let story = Story::new();
    let ran = story.run("", "").exits(2);
    assert_snapshot!(told(&story, &ran), @"
    unflake: there is no test command, and none can be guessed from the files here
      → give it after two dashes: `unflake run -- pytest tests/`, `unflake run -- cargo test`
    ");
}

#[test]
fn a_project_without_tests() {
    let story = Story::of("x = 1\n");
    let ran = story.run("", "pytest").exits(5);
    assert_snapshot!(told(&story, &ran), @r"
      no tests were found · [TIME]

    exit 5: no tests were found
    ");
}

#[test]
fn a_conftest_with_a_syntax_error() {
    let story = Story::of(PASSES).with("conftest.py", "def broken(:\n");
    let ran = story.run("", "pytest").exits(4);
    assert_snapshot!(told(&story, &ran), @r"
      no tests were run · 1 problem · [TIME]

    ✗ ERROR  the runner did not accept its command line or its configuration
               │ SyntaxError: invalid syntax (conftest.py, line 1) (from [PLACE]/project/conftest.py)

    exit 4: the tests could not be run
    ");
}

#[test]
fn a_conftest_that_raises() {
    let story = Story::of(PASSES).with("conftest.py", "raise RuntimeError('no database')\n");
    let ran = story.run("", "pytest").exits(4);
    assert_snapshot!(told(&story, &ran), @r"
      no tests were run · 1 problem · [TIME]

    ✗ ERROR  the runner did not accept its command line or its configuration
               │ RuntimeError: no database (from [PLACE]/project/conftest.py)

    exit 4: the tests could not be run
    ");
}

#[test]
fn an_option_that_pytest_does_not_know() {
    let story = Story::of(PASSES);
    let ran = story.run("", "pytest --no-such-option").exits(4);
    assert_snapshot!(told(&story, &ran), @r"
      no tests were run · 1 problem · [TIME]

    ✗ ERROR  the runner ended before it had listed its tests (the process left with exit code 4)
               │ ERROR: usage: pytest [options] [file_or_dir] [file_or_dir] [...]
               │ pytest: error: unrecognized arguments: --no-such-option
               │   inifile: None
               │   rootdir: [PLACE]/project

    exit 4: the tests could not be run
    ");
}

#[test]
fn an_interpreter_that_is_not_there() {
    let story = Story::of(PASSES);
    let ran = story.run("", "/no/such/python -m pytest").exits(4);
    assert_snapshot!(told(&story, &ran), @"
      no tests were run · 1 problem · [TIME]

    ✗ ERROR  `/no/such/python` could not be started: No such file or directory (os error 2)

    exit 4: the tests could not be run
    ");
}

#[test]
fn programs_that_are_no_runner() {
    let story = Story::of(PASSES);
    assert_snapshot!(told(&story, &story.run("", "true").exits(4)), @"
      no tests were run · 1 problem · [TIME]

    ✗ ERROR  no test runner showed itself in the command before it ended (the process left with exit code 0)
               │ It has to lead to pytest, 6 or later; `env -i`, and `-E` or `-I` of Python, keep unflake out.
               │ Or it has to be `cargo test`, `cargo nextest run`, `ctest` or a GoogleTest program itself.
               │ For other runners, `--results` and `--one-test` tell unflake how to use them.

    exit 4: the tests could not be run
    ");
    assert_snapshot!(told(&story, &story.run("", "sleep 0.1").exits(4)), @"
      no tests were run · 1 problem · [TIME]

    ✗ ERROR  no test runner showed itself in the command before it ended (the process left with exit code 0)
               │ It has to lead to pytest, 6 or later; `env -i`, and `-E` or `-I` of Python, keep unflake out.
               │ Or it has to be `cargo test`, `cargo nextest run`, `ctest` or a GoogleTest program itself.
               │ For other runners, `--results` and `--one-test` tell unflake how to use them.

    exit 4: the tests could not be run
    ");
    let ran = story.running("", "").args(["--", "sh", "-c", "echo wrong door >&2; exit 3"]).end().exits(4);
    assert_snapshot!(told(&story, &ran), @"
      no tests were run · 1 problem · [TIME]

    ✗ ERROR  no test runner showed itself in the command before it ended (the process left with exit code 3)
               │ wrong door
               │ It has to lead to pytest, 6 or later; `env -i`, and `-E` or `-I` of Python, keep unflake out.
               │ Or it has to be `cargo test`, `cargo nextest run`, `ctest` or a GoogleTest program itself.
               │ For other runners, `--results` and `--one-test` tell unflake how to use them.

    exit 4: the tests could not be run
    ");
}

#[test]
fn a_python_without_pytest() {
    let story = Story::of(PASSES);
    // Isolated from its site-packages, the same Python has none.
    let ran = story.run("", &format!("{} -S -m pytest", python().display())).exits(4);
    assert_snapshot!(told(&story, &ran), @"
      no tests were run · 1 problem · [TIME]

    ✗ ERROR  no test runner showed itself in the command before it ended (the process left with exit code 1)
               │ [PYTHON]: No module named pytest
               │ It has to lead to pytest, 6 or later; `env -i`, and `-E` or `-I` of Python, keep unflake out.
               │ Or it has to be `cargo test`, `cargo nextest run`, `ctest` or a GoogleTest program itself.
               │ For other runners, `--results` and `--one-test` tell unflake how to use them.

    exit 4: the tests could not be run
    ");
}

#[test]
fn a_file_of_tests_that_cannot_be_loaded() {
    let story = Story::of(PASSES).with("test_broken.py", "raise RuntimeError('no prices')\n");
    let ran = story.run("", "pytest -p no:cacheprovider").exits(4);
    assert_snapshot!(told(&story, &ran), @r"
      no tests were run · 1 problem · [TIME]

    ✗ ERROR  test_broken.py
             could not be loaded, so none of its tests were run
               │ test_broken.py:1: in <module>
               │     raise RuntimeError('no prices')
               │ E   RuntimeError: no prices

    exit 4: the tests could not be run
    ");
    let ran = story.run("", "pytest --continue-on-collection-errors").exits(4);
    assert_eq!(ran.attempts(), ["test_it.py::test_a passed suite process"], "what can be loaded is run all the same");
}

// -- Settings ---------------------------------------------------------------------------------------------------------

#[test]
fn settings_that_cannot_be_read() {
    let story = Story::of(PASSES).with("unflake.toml", "immediate = = 2\n");
    assert_snapshot!(told(&story, &story.run("", "pytest").exits(2)), @r"
    unflake: [PLACE]/project/unflake.toml cannot be read: TOML parse error at line 1, column 13
      |
    1 | immediate = = 2
      |             ^
    extra `=`, expected nothing

      → `unflake settings` prints what holds and where it comes from
    ");
}

#[test]
fn a_setting_that_does_not_exist() {
    let story = Story::of(PASSES).with("unflake.toml", "imediate = 2\n");
    assert_snapshot!(told(&story, &story.run("", "pytest").exits(2)), @"
    unflake: [PLACE]/project/unflake.toml: there is no setting `imediate`. There are: command, immediate, at-end, fresh, fresh-by, too-many, flaky-result, never-excuse, base, granularity, verify-base, jobs, timeout, output-limit, results, one-test, classpath-file, test-classes, store
      → `unflake settings` prints what holds and where it comes from
    ");
}

#[test]
fn values_that_cannot_hold() {
    let story = Story::of(PASSES).with("unflake.toml", "immediate = [1]\n");
    assert_snapshot!(told(&story, &story.run("", "pytest").exits(2)), @r"
    unflake: immediate: [PLACE]/project/unflake.toml has a value of type array; a text or a number is wanted
      → `unflake settings` prints what holds and where it comes from
    ");
    let story = Story::of(PASSES).with("unflake.toml", "command = 'pytest'\n");
    assert_snapshot!(told(&story, &story.run("", "").exits(2)), @r"
    unflake: command: [PLACE]/project/unflake.toml must have a list of texts here
      → `unflake settings` prints what holds and where it comes from
    ");
    let story = Story::of(PASSES);
    assert_snapshot!(told(&story, &story.run("--immediate=-1", "pytest").exits(2)), @r"
    unflake: immediate: `-1` (command line) is not a whole number from 0 on
      → `unflake settings` prints what holds and where it comes from
    ");
    assert_snapshot!(told(&story, &story.run("--timeout=soon", "pytest").exits(2)), @r"
    unflake: timeout: `soon` (command line) is not a time such as `90`, `1.5s`, `2m` or `1h`, or `0` for none
      → `unflake settings` prints what holds and where it comes from
    ");
    assert_snapshot!(told(&story, &story.run("--too-many=101", "pytest").exits(2)), @r"
    unflake: too-many: `101` (command line) is not a number from 0 to 100
      → `unflake settings` prints what holds and where it comes from
    ");
    assert_snapshot!(told(&story, &story.run("--jobs=0", "pytest").exits(2)), @r"
    unflake: jobs: `0` (command line) is not a whole number from 1 on
      → `unflake settings` prints what holds and where it comes from
    ");
    assert_snapshot!(told(&story, &story.run("--never-excuse=(", "pytest").exits(2)), @r"
    unflake: never-excuse: `(` is not a regular expression: found open group without closing ')'
      → `unflake settings` prints what holds and where it comes from
    ");
    let ran = story.running("", "pytest").env("UNFLAKE_FLAKY_RESULT", "maybe").end().exits(2);
    assert_snapshot!(told(&story, &ran), @r"
    unflake: flaky-result: `maybe` (variable UNFLAKE_FLAKY_RESULT) is not `pass` or `fail`
      → `unflake settings` prints what holds and where it comes from
    ");
}

#[test]
fn a_report_where_there_is_no_directory() {
    let story = Story::of("open('ran', 'w').write('yes')\n");
    let ran = story.unflake(["run", "--json", "no/such/dir/a.json", "--", "pytest"]).end().exits(2);
    assert_snapshot!(told(&story, &ran), @"unflake: no/such/dir/a.json cannot be written: No such file or directory (os error 2)");
    let ran = story.unflake(["run", "--junit", "no/such/dir/a.xml", "--", "pytest"]).end().exits(2);
    assert_snapshot!(told(&story, &ran), @"unflake: no/such/dir/a.xml cannot be written: No such file or directory (os error 2)");
    assert!(!story.project().join("ran").exists(), "told before anything ran");
}

// -- Histories --------------------------------------------------------------------------------------------------------

#[test]
fn a_history_of_a_newer_unflake_is_left_as_it_is() {
    let story = Story::of(FAILS);
    story.run("", "pytest").exits(1);
    let file = story.project().join(".unflake/history.db");
    let database = rusqlite::Connection::open(&file).unwrap();
    database.pragma_update(None, "user_version", 99).unwrap();
    drop(database);
    let before = fs::read(&file).unwrap();
    let ran = story.run("", "pytest").exits(70);
    let version = regex_lite::Regex::new(r"up to \d+").unwrap();
    let told = version.replace(&told(&story, &ran), "up to [VERSION]").into_owned();
    assert_snapshot!(told, @"unflake: the history in [PLACE]/project/.unflake/history.db was written by a newer unflake and was left as it is. Its tables have version 99, and this unflake knows them up to [VERSION]. Use the newer unflake, or move the file away to begin a new history.");
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn a_history_that_is_damaged_is_left_as_it_is() {
    let story = Story::of(FAILS).with(".unflake/history.db", "this is no database, and longer than a header is");
    let ran = story.run("", "pytest").exits(70);
    assert_snapshot!(told(&story, &ran), @"unflake: the history in [PLACE]/project/.unflake/history.db cannot be read and was left as it is. It is damaged or no database at all: file is not a database. Move the file away, with those beside it whose names begin the same, to begin a new history.");
    assert!(fs::read_to_string(story.project().join(".unflake/history.db")).unwrap().starts_with("this is no"));
    let ran = story.unflake(["history"]).end().exits(70);
    assert_snapshot!(told(&story, &ran), @"unflake: the history in [PLACE]/project/.unflake/history.db cannot be read and was left as it is. It is damaged or no database at all: file is not a database. Move the file away, with those beside it whose names begin the same, to begin a new history.");
}

#[test]
fn a_project_that_cannot_be_written_has_its_history_elsewhere() {
    let story = Story::of(FAILS);
    let project = story.project();
    // Permissions do not hold root back; a mount does.
    let mount = Mount::read_only(&project);
    fs::set_permissions(&project, fs::Permissions::from_mode(0o555)).ok();
    let ran = story.run("", "pytest").exits(1);
    assert_eq!(ran.findings(), ["test_it.py::test_b real"]);
    assert_snapshot!(story.plain(&ran.remarks()), @"
    note: the project directory cannot be written, so its history is kept in [PLACE]/home/state/unflake/[HASH]/history.db
    note: whether a change can have caused the failures was not looked at: this is not a git repository
    exit 1: one real failure
    ");
    let ran = story.unflake(["history", "test_b"]).end().exits(0);
    assert!(ran.stdout.contains("failed"), "the history is found again: {}", ran.stdout);
    drop(mount);
    fs::set_permissions(&project, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(!project.join(".unflake").exists());
}

#[test]
fn a_full_disk_costs_the_history_and_nothing_else() {
    let story = Story::of(
        "import pytest\n\
         @pytest.mark.parametrize('n', range(400))\n\
         def test_long(n):\n    print(str(n) * 2000)\n    assert n % 100\n",
    );
    let store = story.project().join("store");
    fs::create_dir(&store).unwrap();
    let Some(_mount) = Mount::tmpfs(&store, "size=200k") else {
        return eprintln!("not tried: nothing can be mounted here");
    };
    let ran = story.run("--store store --at-end 0 --fresh 0", "pytest").exits(1);
    assert_eq!(ran.list("attempts").len(), 404, "all is told");
    assert_eq!(ran.findings().len(), 4);
    assert_snapshot!(story.plain(&regular(&ran.remarks())), @"
    note: the history in store/history.db cannot grow. The disk is full or a quota is used up. Make room and try again: everything recorded before is safe.
    note: [N] attempts of this run are not in the history; what is said here is complete
    note: whether a change can have caused the failures was not looked at: this is not a git repository
    exit 1: 4 real failures
    ");
}

/// How many attempts fit on a disk is no matter of ours.
fn regular(text: &str) -> String {
    regex_lite::Regex::new(r"\d+ attempts").unwrap().replace_all(text, "[N] attempts").into_owned()
}

// -- Tests that say too much, or in no known tongue ---------------------------------------------------------------------

#[test]
fn a_message_of_a_hundred_megabytes() {
    let story = Story::of("def test_loud():\n    raise ValueError('begin' + 'x' * 100_000_000 + 'end')\n");
    let ran = story.run("--immediate 0 --at-end 0 --fresh 0", "pytest").exits(1);
    assert_eq!(ran.findings(), ["test_it.py::test_loud real"]);
    let message = ran.list("attempts")[0]["failure"]["message"].as_str().unwrap();
    assert!(message.contains("begin") && message.ends_with("end"), "both ends are kept");
    assert!(message.len() < 70_000 && ran.stdout.len() < 20_000, "{} and {}", message.len(), ran.stdout.len());
}

#[test]
fn a_flood_of_output_captured_and_not() {
    let story = Story::of(
        "def test_flood():\n    for _ in range(500):\n        print('y' * 100_000)\n    print('done')\n    assert 0\n",
    );
    let ran = story.run("--immediate 0 --at-end 0 --fresh 0", "pytest").exits(1);
    let stdout = ran.list("attempts")[0]["stdout"].as_str().unwrap();
    assert!(stdout.len() < 70_000 && stdout.trim_end().ends_with("done"), "{}", stdout.len());
    let loud = Story::of("def test_flood():\n    for _ in range(3000):\n        print('y' * 100_000)\n    assert 0\n");
    let ran = loud.run("--immediate 0 --at-end 0 --fresh 0 --runner-output", "pytest -s").exits(1);
    assert_eq!(ran.findings(), ["test_it.py::test_flood real"]);
    assert!(ran.stdout.len() < 500_000 && ran.stdout.contains("bytes left out"), "{}", ran.stdout.len());
}

#[test]
fn output_that_is_no_text() {
    let tests = "import os\ndef test_bytes():\n    os.write(1, b'caf\\xe9 \\xff\\x00\\x1b[31m ok\\n')\n    assert 0, '\\udcff'\n";
    for command in ["pytest", "pytest -s"] {
        let story = Story::of(tests);
        let ran = story.run("--junit report.xml --runner-output", command).exits(1);
        assert_eq!(ran.findings(), ["test_it.py::test_bytes real"], "{command}");
        assert!(!ran.stdout.contains('\x1b'), "an escape of a test reaches the terminal with {command}");
        assert!(fs::read_to_string(story.project().join("report.xml")).unwrap().contains("test_bytes"));
    }
}

#[test]
fn names_with_line_breaks_in_them() {
    let story = Story::of(
        "import pytest\n\
         @pytest.mark.parametrize('x', [1], ids=['two\\nlines'])\n\
         def test_name(x): assert 0\n",
    )
    .with("pytest.ini", "[pytest]\ndisable_test_id_escaping_and_forfeit_all_rights_to_community_support = true\n");
    let ran = story.run("--junit report.xml", "pytest").exits(1);
    assert_eq!(ran.findings(), ["test_it.py::test_name[two\nlines] real"]);
    assert_snapshot!(told(&story, &ran), @r#"
      1 test · 1 real failure · [TIME]

    ✗ REAL   test_it.py::test_name[two\nlines]
             failed 4 of 4 times, in a fresh environment too
               test_it.py:3  AssertionError
               │ assert 0
             see it yourself  pytest "$(printf 'test_it.py::test_name[two\nlines]')"

      note: whether a change can have caused the failures was not looked at: this is not a git repository

    exit 1: one real failure
    "#);
}
