//! `unflake run` with pytest: plugins, options, reports, repro commands.

use std::fs;

use e2e::{RunOutput, Sandbox, flaky, shop};
use insta::assert_snapshot;
use quick_xml::Reader;
use quick_xml::events::Event;

fn read(sandbox: &Sandbox, name: &str) -> String {
    fs::read_to_string(sandbox.project().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn reported(sandbox: &Sandbox, result: &RunOutput) -> String {
    sandbox.redact(&result.stdout)
}

// -- Plugins and reports --------------------------------------------------------------------------

#[test]
fn reports_of_pytest_are_written_once_for_the_whole_suite() {
    let sandbox = shop().with_plugins().file("tests/test_other.py", "def test_four(): pass\n");
    let command = "pytest --junitxml=own.xml --cov=shop --cov-report=xml:coverage.xml --cov-report=term";
    let result = sandbox.run("--fresh 2 --runner-output", command).expect_exit(1);
    assert_eq!(result.list("attempts").len(), 4 + 6);
    let own = read(&sandbox, "own.xml");
    for test in ["test_one", "test_two", "test_three", "test_four"] {
        assert!(own.contains(&format!("name=\"{test}\"")), "{test} is missing in {own}");
    }
    assert!(read(&sandbox, "coverage.xml").contains("line-rate=\"0.75\""), "{}", read(&sandbox, "coverage.xml"));
    assert!(sandbox.project().join(".coverage").exists());
    assert!(result.stdout.contains("75%"), "the output of pytest is shown: {}", result.stdout);
    let others: Vec<_> = fs::read_dir(sandbox.project())
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter(|name| name.starts_with(".coverage."))
        .collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn a_pytest_failure_without_a_failing_test_counts() {
    let sandbox = shop().with_plugins().file("tests/test_shop.py", "import shop\ndef test_a(): pass\n");
    let result = sandbox.run("", "python -m pytest --cov=shop --cov-fail-under=100").expect_exit(4);
    assert_snapshot!(sandbox.redact(&result.remarks()), @"exit 4: no real failure, but the runner itself exited with code 1 (--runner-output shows its output)");
}

#[test]
fn a_flaky_suite_with_coverage_passes() {
    let sandbox = flaky().with_plugins();
    let result = sandbox.run("", "pytest --cov=. --cov-fail-under=50").expect_exit(0);
    assert_eq!(result.findings(), ["test_it.py::test_flaky flaky-independent"]);
}

// -- Stops ----------------------------------------------------------------------------------------

#[test]
fn maxfail_is_honored_and_the_rest_listed() {
    let sandbox = shop();
    let result = sandbox.run("", "pytest -x").expect_exit(1);
    assert_eq!(result.findings(), ["tests/test_shop.py::test_two real"]);
    assert_eq!(result.list("left"), ["tests/test_shop.py::test_three"]);
    assert_snapshot!(reported(&sandbox, &result), @"
    3 tests, 1 real failure, 1 not run, [TIME]

    REAL     tests/test_shop.py::test_two
             failed 6 of 6 attempts, including a new process with other seeds
               tests/test_shop.py:3  AssertionError
               │ assert 2 == 3
               │  +  where 2 = price(2)
             reproduce  pytest -x tests/test_shop.py::test_two

    note: not a git repository, so failures are not compared with your change

    1 test not run: stopping after 1 failures
      tests/test_shop.py::test_three

    exit 1: 1 real failure
    ");
    let sandbox = shop();
    assert!(sandbox.run("", "pytest --maxfail=2").expect_exit(1).list("left").is_empty());
}

#[test]
fn pytest_exit_makes_a_run_incomplete() {
    let sandbox = Sandbox::with_tests(
        "import pytest\ndef test_a(): pass\ndef test_b(): pytest.exit('enough')\ndef test_c(): pass\n",
    );
    let result = sandbox.run("", "pytest");
    assert_snapshot!(reported(&sandbox, &result), @"
    3 tests, 1 passed, 2 not run, [TIME]

    2 tests not run: enough
      test_it.py::test_b
      test_it.py::test_c

    exit 3: 2 planned tests did not run
    ");
}

// -- After the last test --------------------------------------------------------------------------

fn by_sh(sandbox: &Sandbox, line: &str) -> RunOutput {
    sandbox.run_invocation("", "").args(["--", "sh", "-c", line]).finish()
}

#[test]
fn a_command_continues_after_its_runner_once() {
    let sandbox = Sandbox::with_tests("def test_a(): assert 0\n");
    by_sh(&sandbox, "pytest; sleep 0.3; echo once >> after").expect_exit(1);
    assert_eq!(read(&sandbox, "after"), "once\n", "fresh environments do not repeat it");
    let sandbox = Sandbox::with_tests("def test_a(): pass\n");
    let result = by_sh(&sandbox, "pytest; sleep 0.3; exit 3").expect_exit(4);
    assert_snapshot!(result.remarks(), @"exit 4: no real failure, but the runner itself exited with code 3 (--runner-output shows its output)");
}

#[test]
fn a_command_with_two_runners_is_rejected() {
    let sandbox = Sandbox::with_tests("def test_a(): pass\n").file("test_other.py", "def test_b(): assert 0\n");
    let result = by_sh(&sandbox, "pytest test_it.py; pytest test_other.py").expect_exit(4);
    assert_snapshot!(result.remarks(), @"
    usage: the command starts a runner more than once; unflake supports one at a time
    exit 4: no real failure, but the runner reported an error
    ");
}

#[test]
fn a_runner_that_crashes_or_hangs_at_exit_fails_the_run() {
    let ending = |what: &str| {
        let hook = format!("import os, time\ndef pytest_unconfigure(): {what}\n");
        Sandbox::with_tests("def test_a(): pass\n")
            .file("conftest.py", hook)
            .run("--timeout 2", "pytest")
            .expect_exit(4)
            .remarks()
    };
    assert_snapshot!(ending("os.abort()"), @"exit 4: no real failure, but the runner itself was killed by SIGABRT (--runner-output shows its output)");
    assert_snapshot!(ending("time.sleep(1000)"), @"
    internal: the runner did not exit in time after its last test and was killed
    exit 4: no real failure, but the runner reported an error
    ");
}

// -- Directories and repro commands ---------------------------------------------------------------

#[test]
fn pyargs_selects_tests_by_package() {
    let sandbox = Sandbox::new().file("pkg/__init__.py", "").file("pkg/test_in.py", "def test_a(): assert 0\n");
    let result = sandbox.run("", "python -m pytest --pyargs pkg").expect_exit(1);
    assert_eq!(result.findings(), ["pkg/test_in.py::test_a real"]);
    assert!(
        result.finding("pkg/test_in.py::test_a")["reproduce"][0]["command"]
            .as_str()
            .unwrap()
            .contains("pytest pkg/test_in.py::test_a")
    );
}

/// Runs the repro command of each finding and expects it to fail.
fn repeat(sandbox: &Sandbox, result: &RunOutput, directory: &str) {
    assert!(!result.list("findings").is_empty());
    for finding in result.list("findings") {
        let repeat = finding["reproduce"][0]["command"].as_str().unwrap();
        let mut shell = sandbox.command("sh");
        let output = shell.args(["-c", repeat]).current_dir(sandbox.project().join(directory)).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{repeat}\n{printed}");
        let name = finding["test"].as_str().unwrap().split("::").nth(1).unwrap();
        assert!(printed.contains(name.split('[').next().unwrap()), "{repeat}\n{printed}");
    }
}

#[test]
fn repro_commands_work_in_every_directory() {
    let sandbox = shop().file("pytest.ini", "[pytest]\npythonpath = .\n");
    for directory in ["", "tests"] {
        let result =
            sandbox.run_invocation("", "pytest -q -p no:cacheprovider").in_directory(directory).finish().expect_exit(1);
        assert_eq!(result.findings(), ["tests/test_shop.py::test_two real"]);
        repeat(&sandbox, &result, directory);
    }
    assert_eq!(sandbox.history().len(), 2, "there is one history, in the root of the project");
}

#[test]
fn repro_commands_work_for_odd_names_and_leaked_state() {
    for specimen in ["odd_names", "unescaped_names", "polluted_cache", "session_fixture_mutated"] {
        let sandbox = Sandbox::specimen(&format!("rerun/python/{specimen}"));
        let result = sandbox.run("", "python -m pytest");
        repeat(&sandbox, &result, "");
    }
}

#[test]
fn the_command_comes_from_the_settings_or_is_guessed() {
    let sandbox = shop().file("pytest.ini", "[pytest]\npythonpath = .\n");
    let result = sandbox.run("", "").expect_exit(1);
    assert_eq!(result.list("runner_command"), ["pytest"]);
    let sandbox =
        sandbox.file("unflake.toml", "command = ['python', '-m', 'pytest', '-k', 'one']\nflaky-result = 'fail'\n");
    let result = sandbox.run_invocation("", "").in_directory("tests").finish().expect_exit(0);
    assert_eq!(result.json()["deselected"], 2);
}

// -- Fresh environments ---------------------------------------------------------------------------

#[test]
fn threads_make_fresh_environments_new_processes() {
    let threads =
        "import threading\nthreading.Thread(target=threading.Event().wait, name='ticker', daemon=True).start()\n";
    let sandbox = Sandbox::specimen("rerun/python/polluted_cache").file("conftest.py", threads);
    let result = sandbox.run("", "python -m pytest").expect_exit(0);
    let [finding] = result.list("findings") else { panic!("{:?}", result.findings()) };
    assert_eq!(finding["kind"], "flaky-state-dependent");
    assert_eq!(finding["evidence"]["fresh"], "process");
    assert_snapshot!(result.remarks(), @"
    note: fresh environments are new processes, which takes longer: threads are alive: ticker
    exit 0: no real failure, 1 flaky
    ");
}

#[test]
fn a_fork_that_hangs_does_not_hang_the_run() {
    let hangs = "import os, time\nos.register_at_fork(after_in_child=lambda: time.sleep(1000))\n";
    let sandbox = Sandbox::with_tests("def test_a(): assert 0\n").file("conftest.py", hangs);
    let result = sandbox.run("--timeout 2", "pytest").expect_exit(1);
    assert_eq!(result.findings(), ["test_it.py::test_a real"]);
}

// -- Reports for machines -------------------------------------------------------------------------

#[test]
fn two_readers_of_junit_agree_with_the_json() {
    let sandbox = flaky()
        .file("test_more.py", "import pytest\ndef test_bad(): assert 0\n@pytest.mark.skip\ndef test_no(): pass\n");
    let result = sandbox.run("--junit report.xml", "pytest").expect_exit(1);
    let expected = "tests 4 failures 1 errors 0 skipped 1 flaky 1";

    let mut reader = Reader::from_file(sandbox.project().join("report.xml")).unwrap();
    let (mut buffer, mut counts) = (Vec::new(), [0; 5]);
    loop {
        match reader.read_event_into(&mut buffer).unwrap() {
            Event::Start(start) | Event::Empty(start) => {
                let names = [&b"testcase"[..], b"failure", b"error", b"skipped", b"flakyFailure"];
                if let Some(at) = names.iter().position(|name| start.name().as_ref() == *name) {
                    counts[at] += 1;
                }
            }
            Event::Eof => break,
            _ => {}
        }
        buffer.clear();
    }
    let [tests, failures, errors, skipped, flaky] = counts;
    assert_eq!(format!("tests {tests} failures {failures} errors {errors} skipped {skipped} flaky {flaky}"), expected);

    let script = "import junitparser as j\n\
                  x = j.JUnitXml.fromfile('report.xml')\n\
                  x = x if isinstance(x, j.JUnitXml) else [x]\n\
                  flaky = sum(len(list(c._elem.iter('flakyFailure'))) for s in x for c in s)\n\
                  print('tests', sum(s.tests for s in x), 'failures', sum(s.failures for s in x), 'errors',\n\
                  \x20     sum(s.errors for s in x), 'skipped', sum(s.skipped for s in x), 'flaky', flaky)";
    let output = sandbox.command("python").args(["-c", script]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), expected, "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(result.list("tests").len(), 4);
    assert_eq!(result.findings(), ["test_it.py::test_flaky flaky-independent", "test_more.py::test_bad real"]);
}

#[test]
fn json_on_standard_output_is_nothing_but_json() {
    let sandbox = shop().file("pytest.ini", "[pytest]\npythonpath = .\n");
    let result = sandbox.unflake(["run", "--json", "-", "--", "pytest", "-s"]).finish().expect_exit(1);
    let document: serde_json::Value = serde_json::from_str(&result.stdout).unwrap();
    assert_eq!(document["findings"][0]["kind"], "real");
    assert!(result.stderr.contains("REAL"), "text goes to standard error: {}", result.stderr);
}

#[test]
fn the_revision_is_stored() {
    let sandbox = shop().file(".gitignore", "__pycache__\n.pytest_cache\n");
    sandbox.commit("one");
    sandbox.run("", "python -m pytest").expect_exit(1);
    let revision = sandbox.history()[0].facts.revision.clone();
    assert_eq!(revision.commit.unwrap(), sandbox.git(&["rev-parse", "HEAD"]));
    assert_eq!(revision.tree.unwrap(), sandbox.git(&["rev-parse", "HEAD^{tree}"]));
    assert_eq!(revision.dirty, Some(false), "git ignores the history");
    fs::write(sandbox.project().join("shop.py"), "price = abs\n").unwrap();
    sandbox.run("", "python -m pytest").expect_exit(1);
    assert_eq!(sandbox.history()[0].facts.revision.dirty, Some(true));
    let history = sandbox.unflake(["history", "show", "test_two"]).finish().expect_exit(0).stdout;
    assert!(history.contains(&format!("{}+", &sandbox.git(&["rev-parse", "HEAD"])[..8])), "{history}");
}

// -- Without a terminal ---------------------------------------------------------------------------

/// Runs a line in a shell, in which `$0` is unflake.
fn by_shell(sandbox: &Sandbox, line: &str) -> String {
    let output = sandbox.command("sh").args(["-c", line]).arg(e2e::unflake()).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn standard_input_is_not_needed() {
    let sandbox = Sandbox::with_tests("def test_a(): pass\n");
    assert!(by_shell(&sandbox, "\"$0\" run --quiet -- pytest <&- && echo well").ends_with("well\n"));
    let sandbox = Sandbox::with_tests("def test_a(): assert open(0).read() == ''\n");
    assert!(by_shell(&sandbox, "yes | \"$0\" run --quiet -- pytest -s && echo well").ends_with("well\n"));
}

#[test]
fn a_closed_standard_output_is_no_error() {
    let sandbox = shop();
    let line = "{ \"$0\" run --quiet -- python -m pytest; echo $? > code; } | true; cat code";
    assert_eq!(by_shell(&sandbox, line), "1\n");
}
