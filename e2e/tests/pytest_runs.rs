//! What people do with pytest, and with unflake around it.

use std::fs;

use e2e::{Ran, Story};
use insta::assert_snapshot;
use quick_xml::Reader;
use quick_xml::events::Event;

const SHOP: &str = "def price(n):\n    if n > 10:\n        return n - 1\n    return n\n";
const TESTS: &str = "\
from shop import price
def test_one(): assert price(1) == 1
def test_two(): assert price(2) == 3
def test_three(): assert price(3) == 3
";

fn shop() -> Story {
    Story::new().with("shop.py", SHOP).with("tests/test_shop.py", TESTS).with("conftest.py", "")
}

/// A test that fails the first time it is run in a project, and another that always passes.
fn flaky() -> Story {
    Story::of(
        "import os\n\
         def test_flaky():\n    first = not os.path.exists('mark')\n    open('mark', 'w')\n    assert not first\n\
         def test_sound(): pass\n",
    )
}

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
    assert_snapshot!(ran.remarks(), @r"
    note: -n 2 is not used: the first pass keeps one process and your order; unflake runs fresh environments in parallel with --jobs
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
    let story = Story::new().with("shop.py", SHOP).with("test_it.py", "import shop\ndef test_a(): pass\n");
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
    assert_snapshot!(told(&story, &ran), @r"
      3 tests · 1 real failure · 1 not run · [TIME]

    ✗ REAL   tests/test_shop.py::test_two
             failed 4 of 4 times, in a fresh environment too
               tests/test_shop.py:3  AssertionError
               │ assert 2 == 3
               │  +  where 2 = price(2)
             see it yourself  pytest -x tests/test_shop.py::test_two

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
    assert_snapshot!(told(&story, &ran), @r"
      3 tests · 1 real failure · 1 not run · [TIME]

    ✗ REAL   test_it.py::test_b
             failed 3 of 3 times, in a fresh environment too
               Exit
               │ enough
             see it yourself  pytest test_it.py::test_b

      1 test not run: enough
        test_it.py::test_c

    exit 1: one real failure
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

// -- What people read ---------------------------------------------------------------------------------------------------

#[test]
fn a_run_is_told_in_words() {
    let story = Story::of_specimen("polluted-cache").with("tests/test_more.py", "def test_bad():\n    assert 1 == 2\n");
    let ran = story.run("", "python -m pytest").exits(1);
    assert_snapshot!(told(&story, &ran), @r"
      6 tests · 1 real failure · 1 flaky · [TIME]

    ✗ REAL   tests/test_more.py::test_bad
             failed 4 of 4 times, in a fresh environment too
               tests/test_more.py:2  AssertionError
               │ assert 1 == 2
             see it yourself  python -m pytest tests/test_more.py::test_bad

    ≈ FLAKY  tests/test_compatibility.py::test_new_client_and_old_server
             passed only in a fresh environment: the test before it leaves something behind
             see it yourself  python -m pytest

    exit 1: one real failure
    ");
}

#[test]
fn a_narrow_terminal_has_room_for_everything() {
    let story = shop();
    let ran = story.running("", "python -m pytest").env("COLUMNS", "40").end().exits(1);
    assert_snapshot!(told(&story, &ran), @r"
      3 tests · 1 real failure ·
      [TIME]

    ✗ REAL   tests/test_shop.py::test_two
      failed 4 of 4 times, in a fresh
      environment too
        tests/test_shop.py:3  AssertionError
        │ assert 2 == 3
        │  +  where 2 = price(2)
      see it yourself
        python -m pytest tests/test_shop.py::test_two

    exit 1: one real failure
    ");
}

#[test]
fn quiet_says_only_what_has_to_be_acted_upon() {
    let story = flaky();
    let ran = story.run("--quiet", "pytest").exits(0);
    assert_snapshot!(told(&story, &ran), @"  2 tests · 1 flaky · [TIME]");
    assert_eq!(ran.stderr, "");
    let story = shop();
    let ran = story.run("--quiet", "python -m pytest").exits(1);
    assert!(ran.stdout.contains("REAL") && ran.stderr.is_empty());
}

#[test]
fn colour_is_used_only_where_it_is_wanted() {
    let story = shop();
    let coloured = |option: &str, variable: &str| {
        let call = story.running(option, "python -m pytest").env(variable, "1");
        call.end().exits(1).stdout.contains("\x1b[")
    };
    assert!(!coloured("", "SOMETHING"), "nobody sees colours in a file");
    assert!(coloured("--color always", "SOMETHING"));
    assert!(coloured("--color always", "NO_COLOR"), "what is typed comes first");
    assert!(!coloured("--color never", "SOMETHING"));
}

#[test]
fn history_lists_runs_and_attempts() {
    let story = flaky();
    story.run("", "pytest").exits(0);
    let clean = |text: &str| {
        let when = regex_lite::Regex::new(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?").unwrap();
        when.replace_all(&story.plain(text), "[WHEN]").into_owned()
    };
    let ran = story.unflake(["history"]).end().exits(0);
    assert_snapshot!(clean(&ran.stdout), @"  [WHEN]        3 attempts  exit 0       pytest");
    let ran = story.unflake(["history", "flaky"]).end().exits(0);
    assert_snapshot!(clean(&ran.stdout), @r"
    test_it.py::test_flaky
    failed 1 of 2 times

    when                 outcome     took  revision  where
    [WHEN]  ✓ passed  [TIME]            again at once
    [WHEN]  ✗ failed  [TIME]            suite, as the first  assert not True
    ");
    let ran = story.unflake(["history", "nothing-like-it"]).end().exits(2);
    assert_snapshot!(clean(&ran.stderr), @r"
    unflake: no test in the history has `nothing-like-it` in its name
      → `unflake history` lists the runs that are known
    ");
    let empty = Story::new();
    let ran = empty.unflake(["history"]).end().exits(2);
    assert_snapshot!(empty.plain(&ran.stderr), @r"
    unflake: there is no history in [PLACE]/project/.unflake
      → `unflake run -- pytest` begins one
    ");
}

#[test]
fn settings_say_what_holds_and_where_it_comes_from() {
    let story = shop().with("pyproject.toml", "[tool.unflake]\nimmediate = 3\njobs = 7\n");
    let call = story.unflake(["settings", "--fresh-by", "process", "--jobs", "2"]).env("UNFLAKE_AT_END", "5");
    assert_snapshot!(told(&story, &call.end().exits(0)), @r#"
    command       ["pytest"]
                    guessed: this looks like a pytest project
    immediate     3
                    [PLACE]/project/pyproject.toml
    at-end        5
                    variable UNFLAKE_AT_END
    fresh         1
                    default
    fresh-by      process
                    command line
    too-many      1
                    default
    flaky-result  pass
                    default
    never-excuse  ["WARNING: ThreadSanitizer: ", "ERROR: (Address|Leak|Memory|HWAddress)Sanitizer: ", "SUMMARY: UndefinedBehaviorSanitizer: ", "WARNING: DATA RACE", "Fatal Python error: "]
                    default
    jobs          2
                    command line
    timeout       900s
                    default
    output-limit  65536
                    default
    store         [PLACE]/project/.unflake
                    default
    "#);
}

#[test]
fn doctor_says_what_is_here() {
    let story = shop();
    let clean = |text: &str| {
        let cores = regex_lite::Regex::new(r"\d+ cores").unwrap();
        cores.replace_all(&story.plain(text), "[N] cores").into_owned()
    };
    let ran = story.unflake(["doctor", "--", "python", "-m", "pytest"]).end().exits(0);
    assert_snapshot!(clean(&ran.stdout), @r"
    ✓ machine   Linux, [N] cores; whatever tests leave running is ended afterwards
    – git       git version [VERSION], but this is no repository: attempts are kept without revision
    ✓ history   none yet; it will be kept in [PLACE]/project/.unflake
    ✓ command   python -m pytest (command line)
    ✓ runner    pytest [VERSION] on CPython [VERSION], agent inside
    ✓ tests     3 collected
    ✓ fresh     by fork of a collected process: milliseconds each
    ");
    assert_eq!(story.unflake(["doctor", "--", "true"]).end().code, 4);
    assert_eq!(story.unflake(["doctor", "--", "pytest", "-k", "nothing"]).end().code, 5);
    assert!(!story.project().join(".unflake").exists(), "looking changes nothing");
}

#[test]
fn the_demo_shows_every_verdict_and_leaves_nothing() {
    // A Python whose virtual environments need no network: they hold the pytest that is here.
    let pytest = format!("#!/bin/sh\nexec {} -m pytest \"$@\"\n", e2e::python().display());
    let make = "mkdir -p .venv/bin && cp \"$(dirname \"$0\")/pytest\" .venv/bin/ && ln -s /bin/true .venv/bin/python";
    let story = Story::new().with("python", format!("#!/bin/sh\n{make}\n")).with("pytest", pytest);
    for name in ["python", "pytest"] {
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(story.project().join(name), executable).unwrap();
    }
    let ran = story.unflake(["demo", "--python"]).arg(story.project().join("python")).end().exits(0);
    for word in
        ["REAL", "passed when run again at once", "after the whole suite", "only in a fresh environment", "exit 1"]
    {
        assert!(ran.stdout.contains(word), "{word} is missing:\n{}", ran.stdout);
    }
    let ran = story.unflake(["demo", "--python", "/no/such/python"]).end().exits(4);
    assert_snapshot!(story.plain(&ran.stderr), @r"
    unflake: `/no/such/python` could not be started: No such file or directory (os error 2)
      → the demo needs Python 3.8 or later with venv; name another one with --python
    ");
}

#[test]
fn completions_are_scripts_that_a_shell_accepts() {
    let story = Story::new();
    let script = story.unflake(["completions", "bash"]).end().exits(0).stdout;
    assert!(!script.contains("unflake__keep"), "what is hidden is not offered");
    fs::write(story.project().join("completions"), script).unwrap();
    assert!(story.command("bash").args(["-n", "completions"]).status().unwrap().success());
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        assert!(story.unflake(["completions", shell]).end().exits(0).stdout.contains("unflake"));
    }
}

#[test]
fn help_says_what_there_is() {
    let story = Story::new();
    let help = |arguments: &[&str]| told(&story, &story.unflake(arguments).env("COLUMNS", "100").end().exits(0));
    assert_snapshot!(help(&["--help"]), @r"
    Says which test failures are real and which are flaky, and how it knows.

    Point it at the test command you already use: `unflake run -- pytest tests/`. Nothing is added to
    your project and nothing has to be installed beside your packages.

    Usage: unflake [OPTIONS] <COMMAND>

    Commands:
      run          Run the suite and say of every failure whether it is real or flaky
      history      List what is known of a test: every attempt in every run, newest first
      doctor       Check what is here: runner, agent, forking, git, history; what will work and what
                   will not
      settings     Print the settings that hold, and where each comes from
      demo         Show unflake on a small sample project, with nothing to set up
      completions  Print a completion script for a shell

    Options:
          --color <WHEN>
              Use colour: auto, always or never. NO_COLOR is honoured

              [possible values: auto, always, never]

      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    New here? `unflake demo` shows it on a small project of its own, with nothing to set up.
    ");
    assert_snapshot!(help(&["run", "-h"]), @r"
    Run the suite and say of every failure whether it is real or flaky

    Usage: unflake run [OPTIONS] [-- <COMMAND>...]

    Arguments:
      [COMMAND]...  Your own test command, after `--`. Where it is left out, it is taken from the
                    settings or guessed

    Options:
          --color <WHEN>   Use colour: auto, always or never. NO_COLOR is honoured [possible values:
                           auto, always, never]
      -q, --quiet          Say only what has to be acted upon
          --json <FILE>    Write everything found as JSON to FILE (`-`: standard output)
          --junit <FILE>   Write a JUnit report to FILE, every attempt included
          --runner-output  Show at the end what the runner itself printed
      -h, --help           Print help

    Reruns:
          --immediate <N>          Attempts right after a failure, in the same process [default: 1]
          --at-end <N>             Attempts after the whole suite, in the same process [default: 1]
          --fresh <N>              Attempts in fresh environments, one each [default: 1]
          --fresh-by <HOW>         What a fresh environment is: `fork` of a process that has collected
                                   the tests and run none, or a new `process` [default: fork]
          --too-many <PER CENT>    From this share of failing tests on, in per cent, only the immediate
                                   attempts are made. Never with fewer than ten failing tests [default:
                                   1]
          --flaky-result <RESULT>  Whether flaky tests `pass` or `fail` the run [default: pass]
          --never-excuse <REGEX>   A regular expression; a failure that says or prints it is never
                                   excused by a later pass. Can be given several times; takes the place
                                   of the defaults (sanitizers and race detectors). Crashes are never
                                   excused

    Limits:
      -j, --jobs <N>          Fresh environments at the same time [default: number of cores]
          --timeout <TIME>    Time limit of one attempt: `90`, `2m`, `1h`, or `0` for none [default:
                              15m]
          --output-limit <N>  Characters of one text (what a test prints, a trace) to keep [default:
                              65536]
          --store <DIR>       Directory for the history of the project [default: .unflake in the
                              project]

    Exit codes: 0 passed or only flaky tests failed, 1 real failures, 2 wrong usage, 3 not all tests
    ran, 4 the runner could not run, 5 no tests, 70 unflake's own trouble, 130 stopped by you.
    ");
    assert_snapshot!(help(&["--version"]), @"unflake [VERSION]");
}
