//! What people read: the summary in every width and mood, and the commands beside `run`.

use std::fs;

use e2e::{Ran, Story, flaky, shop};
use insta::assert_snapshot;

fn told(story: &Story, ran: &Ran) -> String {
    story.plain(&ran.stdout)
}

#[test]
fn a_run_is_told_in_words() {
    let story = Story::of_specimen("polluted-cache").with("tests/test_more.py", "def test_bad():\n    assert 1 == 2\n");
    let ran = story.run("", "python -m pytest").exits(1);
    assert_snapshot!(told(&story, &ran), @"
      6 tests · 1 real failure · 1 flaky · [TIME]

    ✗ REAL   tests/test_more.py::test_bad
             failed 4 of 4 times, in a fresh environment too
               tests/test_more.py:2  AssertionError
               │ assert 1 == 2
             see it yourself  python -m pytest tests/test_more.py::test_bad

    ≈ FLAKY  tests/test_compatibility.py::test_new_client_and_old_server
             passed only in a fresh environment: the test before it leaves something behind
             see it yourself  python -m pytest
             → unflake order tests/test_compatibility.py::test_new_client_and_old_server  names the test that does it

      note: whether a change can have caused the failures was not looked at: this is not a git repository

    exit 1: one real failure
    ");
}

#[test]
fn a_narrow_terminal_has_room_for_everything() {
    let story = shop();
    let ran = story.running("", "python -m pytest").env("COLUMNS", "40").end().exits(1);
    assert_snapshot!(told(&story, &ran), @"
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

      note: whether a change can have caused
      the failures was not looked at: this
      is not a git repository

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
    assert_snapshot!(clean(&ran.stdout), @"  [WHEN]        4 attempts  exit 0       pytest");
    let ran = story.unflake(["history", "flaky"]).end().exits(0);
    assert_snapshot!(clean(&ran.stdout), @"
    test_it.py::test_flaky
    failed 1 of 1 run; next time 1.7 % to 55 %
    ≈

    when                 outcome     took  revision  where
    [WHEN]  ✓ passed  [TIME]            fresh fork
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
    assert_snapshot!(empty.plain(&ran.stderr), @"
    unflake: there is no history in [PLACE]/project/.unflake
      → `unflake run -- pytest` begins one, `unflake import REPORT…` takes in the results of your CI
    ");
}

#[test]
fn settings_say_what_holds_and_where_it_comes_from() {
    let story = shop().with("pyproject.toml", "[tool.unflake]\nimmediate = 3\njobs = 7\n");
    let call = story.unflake(["settings", "--fresh-by", "process", "--jobs", "2"]).env("UNFLAKE_AT_END", "5");
    assert_snapshot!(told(&story, &call.end().exits(0)), @r#"
    command         ["pytest"]
                      guessed: this looks like a pytest project
    immediate       3
                      [PLACE]/project/pyproject.toml
    at-end          5
                      variable UNFLAKE_AT_END
    fresh           1
                      default
    fresh-by        process
                      command line
    too-many        1
                      default
    flaky-result    pass
                      default
    never-excuse    ["WARNING: ThreadSanitizer: ", "ERROR: (Address|Leak|Memory|HWAddress)Sanitizer: ", "SUMMARY: UndefinedBehaviorSanitizer: ", "WARNING: DATA RACE", "Fatal Python error: ", "(UnraisableException|UnhandledThreadException)Warning: "]
                      default
    base
                      default
    granularity     file
                      default
    verify-base     needed
                      default
    jobs            2
                      command line
    timeout         900s
                      default
    output-limit    65536
                      default
    results
                      default
    one-test
                      default
    classpath-file
                      default
    test-classes    []
                      default
    store           [PLACE]/project/.unflake
                      default
    "#);
}

#[test]
fn doctor_says_what_is_here() {
    let story = shop();
    let clean = |text: &str| {
        let cores = regex_lite::Regex::new(r"\d+ cores").unwrap();
        // Which way it is depends on the Python that is here.
        let traces = regex_lite::Regex::new(r"traces    lines by .*").unwrap();
        let text = cores.replace_all(&story.plain(text), "[N] cores").into_owned();
        traces.replace_all(&text, "traces    lines by [WAY]").into_owned()
    };
    let ran = story.unflake(["doctor", "--", "python", "-m", "pytest"]).end().exits(0);
    assert_snapshot!(clean(&ran.stdout), @r"
    ✓ machine   Linux, [N] cores; whatever tests leave running is ended afterwards
    – git       git version [VERSION], but this is no repository: attempts are kept without revision
    ✓ history   none yet; it will be kept in [PLACE]/project/.unflake
    ✓ command   python -m pytest (command line)
    ✓ runner    pytest [VERSION] on CPython [VERSION], agent inside
    ✓ traces    lines by [WAY]
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
    assert_snapshot!(help(&["--help"]), @"
    Says which test failures are real and which are flaky, and how it knows.

    Point it at the test command you already use: `unflake run -- pytest tests/`, `unflake run -- cargo
    test`, `unflake run -- ctest`. Nothing is added to your project and nothing has to be installed
    beside your packages.

    Usage: unflake [OPTIONS] <COMMAND>

    Commands:
      run          Run the suite and say of every failure whether it is real or flaky
      history      List what is known of a test: every attempt in every run, newest first
      quarantine   Set known failures apart for a while, each with an owner and a last day: list, add,
                   remove
      import       Take in results that other programs wrote: JUnit XML and more, from your CI
      score        List the flaky tests by how likely they are to fail in their next run, and since when
      serve        Show the history as pages for a browser on this machine: what to look at, tests,
                   runs, the quarantine
      report       Write the same pages into one file
      store        Copy the history to a server that a team shares, or back
      nio          Find tests that pass once and fail when they are run again in the same process, and
                   the state behind it
      order        Find tests that depend on which tests ran before them, name those, and the state
                   behind it
      locate       Run a flaky test many times and say where in the code its failing runs part from the
                   passing ones
      prepare      Locate every flaky test that has no report yet, the worst first, so that reports are
                   ready before anyone asks
      answer       Say of a finding that it was of no use, so that such findings come last; or take that
                   back
      comment      Write the text of a comment on a change that touches code a flaky test runs through
      issue        Write the text of an issue about the cause of a flaky test
      factors      Run a test under other circumstances, one after the other, and say which of them make
                   it fail
      measure      Run tests many times and say how far the runs differ: in verdicts, values, lines,
                   behaviour and what a person sees
      filter       Learn which assertions vary although nothing changed, and let them fail: by a file
                   that you review
      affected     List the tests that your change can affect, one a line, for your runner
      trace        Print the lines that one run of a test goes through, in their order
      under        Run any command under chosen factors: another date, a slow network, busy cores, and
                   more
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
    assert_snapshot!(help(&["run", "-h"]), @r#"
    Run the suite and say of every failure whether it is real or flaky

    Usage: unflake run [OPTIONS] [-- <COMMAND>...]

    Arguments:
      [COMMAND]...  Your own test command, after `--`. Where it is left out, it is taken from the
                    settings or guessed

    Options:
      -q, --quiet          Say only what has to be acted upon
          --json <FILE>    Write everything found as JSON to FILE (`-`: standard output)
          --junit <FILE>   Write a JUnit report to FILE, every attempt included
          --color <WHEN>   Use colour: auto, always or never. NO_COLOR is honoured [possible values:
                           auto, always, never]
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

    Your change:
          --base <REV>            The revision that your change is compared with [default: where this
                                  parted from the default branch, or the last commit at which the
                                  failing tests passed]
          --granularity <HOW>     How finely to look whether your change can have caused a failure: by
                                  `file`, by `function`, or `off` [default: file]
          --verify-base[=<WHEN>]  Run tests that your change does not touch at the base too, in a
                                  temporary working tree: `yes`, `no`, or only where it is `needed` to
                                  tell what a known pass there is worth [default: needed]

    Limits:
      -j, --jobs <N>          Fresh environments at the same time [default: number of cores]
          --timeout <TIME>    Time limit of one attempt: `90`, `2m`, `1h`, or `0` for none [default:
                              15m]
          --output-limit <N>  Characters of one text (what a test prints, a trace) to keep [default:
                              65536]
          --store <PLACE>     Where the history of the project is: a directory, or a server that a team
                              shares, as `postgres://USER@HOST/DATABASE` [default: .unflake in the
                              project]

    Other runners:
          --results <FILE>         Where your command writes its results as JUnit XML: a path, or a
                                   pattern such as `build/**/*.xml`. For runners that unflake does not
                                   know; goes with --one-test
          --one-test <COMMAND>     The command that runs a single test, with {name}, {name_regex},
                                   {classname}, {suite}, {file} or {id} in it, and {results} for a
                                   report of its own. Split into words as a shell would; none is started
          --classpath-file <FILE>  A file with the class path of your Java tests, one entry a line or
                                   joined by colons, for any build tool: your command compiles, and
                                   unflake runs the tests itself. A line that begins with `-` is an
                                   option of the JVM. Goes with --test-classes
          --test-classes <DIR>     A directory of compiled Java tests: all tests in it are run. Can be
                                   given several times

    Filter:
          --filter[=<FILE>]    Let assertions fail that are known to vary without a change: those in
                               unflake-filter.toml, or in FILE. Each that failed is listed
          --threshold <SCORE>  Let only assertions fail whose score is beyond this [default: as the file
                               says, or 0]
          --rule <RULE>        `strict`: a failure must be like one that was seen without a change, and
                               not come every time now. `published`: any may come, as in the
                               dissertation that the filter is from [default: as the file says, or
                               strict]

    Stress:
          --stress      Run every test again and again beside copies of itself, more at once than there
                        are cores, until it fails or the time is over. A test that failed is left alone,
                        the others go on
          --for <TIME>  How long to go on with --stress: `90`, `2m`, `1h` [default: 1m]
          --times <N>   How often to run each test with --stress at most

    Where people review changes:
          --annotations <FILE>   Write what was found as annotations for GitHub to FILE (`-`: standard
                                 output, where GitHub reads them)
          --markdown <FILE>      Add what was found, as Markdown, to the end of FILE: the summary of a
                                 job ("$GITHUB_STEP_SUMMARY"), or the text of a comment
          --code-quality <FILE>  Write what was found as a code quality report for GitLab to FILE

    Exit codes: 0 passed or only flaky tests failed, 1 real failures, 2 wrong usage, 3 not all tests
    ran, 4 the runner could not run, 5 no tests, 70 unflake's own trouble, 130 stopped by you.
    "#);
    assert_snapshot!(help(&["--version"]), @"unflake [VERSION]");
}
