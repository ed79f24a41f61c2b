//! What people do with pytest, and with unflake around it.

use std::fs;

use e2e::{Ran, Story, flaky, shop};
use insta::assert_snapshot;
use quick_xml::Reader;
use quick_xml::events::Event;

fn read(story: &Story, name: &str) -> String {
    fs::read_to_string(story.project().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn told(story: &Story, ran: &Ran) -> String {
    story.plain(&ran.stdout)
}

// -- Plugins and reports of the user's own --------------------------------------------------------------------------------

#[test]
fn workers_of_xdist_are_not_used_and_that_is_said() {
    let story = shop();
    let ran = story.run("", "pytest -n 2").exits(1);
    assert_eq!(ran.findings(), ["tests/test_shop.py::test_two real"]);
    assert_snapshot!(ran.remarks(), @"
    note: -n 2 is not used: the first pass keeps one process and your order; unflake runs fresh environments in parallel with --jobs
    note: whether a change can have caused the failures was not looked at: this is not a git repository
    exit 1: one real failure
    ");
}

#[test]
fn reports_of_the_runner_are_written_once_and_by_the_whole_suite() {
    let story = shop().with("tests/test_other.py", "def test_four(): pass\n");
    let command = "pytest --junitxml=own.xml --cov=shop --cov-report=xml:coverage.xml --cov-report=term";
    let ran = story.run("--fresh 2 --runner-output", command).exits(1);
    assert_eq!(ran.list("attempts").len(), 4 + 4);
    let own = read(&story, "own.xml");
    for test in ["test_one", "test_two", "test_three", "test_four"] {
        assert!(own.contains(&format!("name=\"{test}\"")), "{test} is missing in {own}");
    }
    assert!(read(&story, "coverage.xml").contains("line-rate=\"0.75\""), "{}", read(&story, "coverage.xml"));
    assert!(story.project().join(".coverage").exists());
    assert!(ran.stdout.contains("75%"), "what the runner prints can be seen: {}", ran.stdout);
    let others: Vec<_> = fs::read_dir(story.project())
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter(|name| name.starts_with(".coverage."))
        .collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn a_runner_that_fails_for_another_reason_than_a_test_is_heard() {
    let story = shop().with("tests/test_shop.py", "import shop\ndef test_a(): pass\n");
    let ran = story.run("", "python -m pytest --cov=shop --cov-fail-under=100").exits(4);
    assert_snapshot!(story.plain(&ran.remarks()), @"exit 4: no test failed for real, but the runner itself left with exit code 1; --runner-output shows what it said");
}

#[test]
fn a_flaky_suite_with_coverage_passes() {
    let story = flaky();
    let ran = story.run("", "pytest --cov=. --cov-fail-under=50").exits(0);
    assert_eq!(ran.findings(), ["test_it.py::test_flaky flaky-independent"]);
}

// -- Stops -------------------------------------------------------------------------------------------------------------

#[test]
fn a_limit_of_failures_holds_and_what_was_left_is_told() {
    let story = shop();
    let ran = story.run("", "pytest -x").exits(1);
    assert_eq!(ran.findings(), ["tests/test_shop.py::test_two real"]);
    assert_eq!(ran.list("left"), ["tests/test_shop.py::test_three"]);
    assert_snapshot!(told(&story, &ran), @"
      3 tests · 1 real failure · 1 not run · [TIME]

    ✗ REAL   tests/test_shop.py::test_two
             failed 4 of 4 times, in a fresh environment too
               tests/test_shop.py:3  AssertionError
               │ assert 2 == 3
               │  +  where 2 = price(2)
             see it yourself  pytest -x tests/test_shop.py::test_two

      note: whether a change can have caused the failures was not looked at: this is not a git repository

      1 test not run: stopping after 1 failures
        tests/test_shop.py::test_three

    exit 1: one real failure
    ");
    let story = shop();
    assert!(story.run("", "pytest --maxfail=2").exits(1).list("left").is_empty());
}

#[test]
fn a_suite_that_ends_itself_is_incomplete() {
    let story =
        Story::of("import pytest\ndef test_a(): pass\ndef test_b(): pytest.exit('enough')\ndef test_c(): pass\n");
    let ran = story.run("", "pytest");
    assert_snapshot!(told(&story, &ran), @"
      3 tests · 1 passed · 2 not run · [TIME]

      2 tests not run: enough
        test_it.py::test_b
        test_it.py::test_c

    exit 3: 2 tests did not run
    ");
}

// -- What comes after the last test ----------------------------------------------------------------------------------------

fn by_sh(story: &Story, line: &str) -> Ran {
    story.running("", "").args(["--", "sh", "-c", line]).end()
}

#[test]
fn a_command_may_go_on_after_its_runner_and_does_so_once() {
    let story = Story::of("def test_a(): assert 0\n");
    by_sh(&story, "pytest; sleep 1; echo once >> after").exits(1);
    assert_eq!(read(&story, "after"), "once\n", "helpers do not do it again");
    let story = Story::of("def test_a(): pass\n");
    let ran = by_sh(&story, "pytest; sleep 1; exit 3").exits(4);
    assert_snapshot!(ran.remarks(), @"exit 4: no test failed for real, but the runner itself left with exit code 3; --runner-output shows what it said");
}

#[test]
fn a_command_with_two_runners_is_refused_and_never_green() {
    let story = Story::of("def test_a(): pass\n").with("test_other.py", "def test_b(): assert 0\n");
    let ran = by_sh(&story, "pytest test_it.py; pytest test_other.py").exits(4);
    assert_snapshot!(ran.remarks(), @r"
    usage: the command starts a runner more than once; unflake looks at one at a time
    exit 4: no test failed for real, but the runner did not run as it should
    ");
}

#[test]
fn a_runner_that_dies_or_hangs_at_its_end_is_not_taken_for_success() {
    let ending = |what: &str| {
        let hook = format!("import os, time\ndef pytest_unconfigure(): {what}\n");
        Story::of("def test_a(): pass\n").with("conftest.py", hook).run("--timeout 2", "pytest").exits(4).remarks()
    };
    assert_snapshot!(ending("os.abort()"), @"exit 4: no test failed for real, but the runner itself was killed by SIGABRT; --runner-output shows what it said");
    assert_snapshot!(ending("time.sleep(1000)"), @r"
    internal: the runner did not end after its last test within the time limit, and was ended
    exit 4: no test failed for real, but the runner did not run as it should
    ");
}

// -- Places ------------------------------------------------------------------------------------------------------------

#[test]
fn tests_can_be_named_as_a_package() {
    let story = Story::new().with("pkg/__init__.py", "").with("pkg/test_in.py", "def test_a(): assert 0\n");
    let ran = story.run("", "python -m pytest --pyargs pkg").exits(1);
    assert_eq!(ran.findings(), ["pkg/test_in.py::test_a real"]);
    assert!(
        ran.finding("pkg/test_in.py::test_a")["repeat"].as_str().unwrap().contains("pytest pkg/test_in.py::test_a")
    );
}

/// Runs what each finding says shows it again, and expects it to fail.
fn repeat(story: &Story, ran: &Ran, directory: &str) {
    assert!(!ran.list("findings").is_empty());
    for finding in ran.list("findings") {
        let repeat = finding["repeat"].as_str().unwrap();
        let mut shell = story.command("sh");
        let output = shell.args(["-c", repeat]).current_dir(story.project().join(directory)).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{repeat}\n{said}");
        let name = finding["test"].as_str().unwrap().split("::").nth(1).unwrap();
        assert!(said.contains(name.split('[').next().unwrap()), "{repeat}\n{said}");
    }
}

#[test]
fn the_command_that_shows_it_again_does_so_wherever_unflake_was_run() {
    let story = shop().with("pytest.ini", "[pytest]\npythonpath = .\n");
    for directory in ["", "tests"] {
        let ran = story.running("", "pytest -q -p no:cacheprovider").within(directory).end().exits(1);
        assert_eq!(ran.findings(), ["tests/test_shop.py::test_two real"]);
        repeat(&story, &ran, directory);
    }
    assert_eq!(story.history().len(), 2, "the history is one, at the top of the project");
}

#[test]
fn commands_that_show_it_again_hold_for_odd_names_and_for_state() {
    for specimen in ["odd-names", "unescaped-names", "polluted-cache", "session-fixture-mutated"] {
        let story = Story::of_specimen(specimen);
        let ran = story.run("", "python -m pytest");
        repeat(&story, &ran, "");
    }
}

#[test]
fn without_a_command_the_one_in_the_settings_or_a_guess_is_taken() {
    let story = shop().with("pytest.ini", "[pytest]\npythonpath = .\n");
    let ran = story.run("", "").exits(1);
    assert_eq!(ran.list("runner_command"), ["pytest"]);
    let story =
        story.with("unflake.toml", "command = ['python', '-m', 'pytest', '-k', 'one']\nflaky-result = 'fail'\n");
    let ran = story.running("", "").within("tests").end().exits(0);
    assert_eq!(ran.json()["deselected"], 2);
}

// -- Fresh environments ------------------------------------------------------------------------------------------------

#[test]
fn threads_make_fresh_environments_new_processes() {
    let threads =
        "import threading\nthreading.Thread(target=threading.Event().wait, name='ticker', daemon=True).start()\n";
    let story = Story::of_specimen("polluted-cache").with("conftest.py", threads);
    let ran = story.run("", "python -m pytest").exits(0);
    let [finding] = ran.list("findings") else { panic!("{:?}", ran.findings()) };
    assert_eq!(finding["kind"], "flaky-state-dependent");
    assert_eq!(finding["evidence"]["fresh"], "process");
    assert_snapshot!(ran.remarks(), @r"
    note: fresh environments are new processes, which takes longer: threads are alive: ticker
    exit 0: only one flaky test failed
    ");
}

#[test]
fn a_copy_that_hangs_while_it_is_made_does_not_hang_the_run() {
    let hangs = "import os, time\nos.register_at_fork(after_in_child=lambda: time.sleep(1000))\n";
    let story = Story::of("def test_a(): assert 0\n").with("conftest.py", hangs);
    let ran = story.run("--timeout 2", "pytest").exits(1);
    assert_eq!(ran.findings(), ["test_it.py::test_a real"]);
}

// -- What machines read -------------------------------------------------------------------------------------------------

#[test]
fn two_readers_of_junit_agree_with_the_json() {
    let story = flaky()
        .with("test_more.py", "import pytest\ndef test_bad(): assert 0\n@pytest.mark.skip\ndef test_no(): pass\n");
    let ran = story.run("--junit report.xml", "pytest").exits(1);
    let expected = "tests 4 failures 1 errors 0 skipped 1 flaky 1";

    let mut reader = Reader::from_file(story.project().join("report.xml")).unwrap();
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
    let output = story.command("python").args(["-c", script]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), expected, "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(ran.list("tests").len(), 4);
    assert_eq!(ran.findings(), ["test_it.py::test_flaky flaky-independent", "test_more.py::test_bad real"]);
}

#[test]
fn json_on_standard_output_is_nothing_but_json() {
    let story = shop().with("pytest.ini", "[pytest]\npythonpath = .\n");
    let ran = story.unflake(["run", "--json", "-", "--", "pytest", "-s"]).end().exits(1);
    let document: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["findings"][0]["kind"], "real");
    assert!(ran.stderr.contains("REAL"), "people read the other stream: {}", ran.stderr);
}

#[test]
fn the_revision_of_the_code_is_kept() {
    let story = shop().with(".gitignore", "__pycache__\n.pytest_cache\n");
    let git = |arguments: &[&str]| {
        let who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"];
        let output = story.command("git").args(who).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "one"]);
    story.run("", "python -m pytest").exits(1);
    let revision = story.history()[0].facts.revision.clone();
    assert_eq!(revision.commit.unwrap(), git(&["rev-parse", "HEAD"]));
    assert_eq!(revision.tree.unwrap(), git(&["rev-parse", "HEAD^{tree}"]));
    assert_eq!(revision.dirty, Some(false), "the history itself is nothing that git sees");
    fs::write(story.project().join("shop.py"), "price = abs\n").unwrap();
    story.run("", "python -m pytest").exits(1);
    assert_eq!(story.history()[0].facts.revision.dirty, Some(true));
    let history = story.unflake(["history", "test_two"]).end().exits(0).stdout;
    assert!(history.contains(&format!("{}+", &git(&["rev-parse", "HEAD"])[..8])), "{history}");
}

// -- Where nobody sits at a terminal ----------------------------------------------------------------------------------------

/// Runs `unflake` by this line of a shell, in which it is `$0`.
fn by_shell(story: &Story, line: &str) -> String {
    let output = story.command("sh").args(["-c", line]).arg(e2e::unflake()).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn standard_input_is_not_needed() {
    let story = Story::of("def test_a(): pass\n");
    assert!(by_shell(&story, "\"$0\" run --quiet -- pytest <&- && echo well").ends_with("well\n"));
    let story = Story::of("def test_a(): assert open(0).read() == ''\n");
    assert!(by_shell(&story, "yes | \"$0\" run --quiet -- pytest -s && echo well").ends_with("well\n"));
}

#[test]
fn a_reader_that_goes_away_is_no_trouble() {
    let story = shop();
    let line = "{ \"$0\" run --quiet -- python -m pytest; echo $? > code; } | true; cat code";
    assert_eq!(by_shell(&story, line), "1\n");
}
