//! What people read in the terminal: the summary of a run, and other commands.

use std::fs;

use e2e::{RunOutput, Sandbox, flaky, shop};
use insta::assert_snapshot;

fn reported(sandbox: &Sandbox, result: &RunOutput) -> String {
    sandbox.redact(&result.stdout)
}

#[test]
fn a_run_in_the_terminal() {
    let sandbox = Sandbox::specimen("rerun/python/polluted_cache")
        .file("tests/test_more.py", "def test_bad():\n    assert 1 == 2\n");
    let result = sandbox.run("--new-processes 8", "python -m pytest").expect_exit(1);
    assert_snapshot!(reported(&sandbox, &result), @"
    6 tests, 1 real failure, 1 flaky, [TIME]

    REAL     tests/test_more.py::test_bad
             failed 20 of 20 attempts, including 8 new processes with other seeds
               tests/test_more.py:2  AssertionError
               │ assert 1 == 2
             reproduce  python -m pytest tests/test_more.py::test_bad

    FLAKY    tests/test_compatibility.py::test_new_client_and_old_server
             order-dependent: 3 of 10 attempts failed, passed only in a fresh environment; 1 test ran before it
             reproduce  python -m pytest  (fails sometimes)
             next       unflake why tests/test_compatibility.py::test_new_client_and_old_server  (find the root cause)

    note: not a git repository, so failures are not compared with your change

    exit 1: 1 real failure
    ");
}

#[test]
fn a_narrow_terminal_wraps_text() {
    let sandbox = shop();
    let run = sandbox.run_invocation("--new-processes 8", "python -m pytest").env("COLUMNS", "40");
    let result = run.finish().expect_exit(1);
    assert_snapshot!(reported(&sandbox, &result), @"
    3 tests, 1 real failure, [TIME]

    REAL     tests/test_shop.py::test_two
      failed 20 of 20 attempts, including 8
      new processes with other seeds
        tests/test_shop.py:3  AssertionError
        │ assert 2 == 3
        │  +  where 2 = price(2)
      reproduce
        python -m pytest tests/test_shop.py::test_two

    note: not a git repository, so failures
    are not compared with your change

    exit 1: 1 real failure
    ");
}

#[test]
fn quiet_prints_only_actionable_results() {
    let sandbox = flaky();
    let result = sandbox.run("--quiet", "pytest").expect_exit(0);
    assert_snapshot!(reported(&sandbox, &result), @"2 tests, 1 flaky, [TIME]");
    assert_eq!(result.stderr, "");
    let sandbox = shop();
    let result = sandbox.run("--quiet", "python -m pytest").expect_exit(1);
    assert!(result.stdout.contains("REAL") && result.stderr.is_empty());
}

#[test]
fn color_follows_the_option_and_no_color() {
    let sandbox = shop();
    let colored = |option: &str, variable: &str| {
        let call = sandbox.run_invocation(option, "python -m pytest").env(variable, "1");
        call.finish().expect_exit(1).stdout.contains("\x1b[")
    };
    assert!(!colored("", "SOMETHING"), "a file gets no colors");
    assert!(colored("--color always", "SOMETHING"));
    assert!(colored("--color always", "NO_COLOR"), "the option takes precedence");
    assert!(!colored("--color never", "SOMETHING"));
}

#[test]
fn history_lists_runs_and_attempts() {
    let sandbox = flaky();
    sandbox.run("", "pytest").expect_exit(0);
    // How long an attempt takes decides on a line about lost time and on the width of a column.
    let rules = [
        (r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", "[WHEN]"),
        (r"(?m)^.* lost in failures and retries\n", ""),
        (r" +\[TIME\]", "  [TIME]"),
        (r"outcome +took", "outcome  took"),
    ];
    let clean = |text: &str| {
        rules.iter().fold(sandbox.redact(text), |text, (pattern, with)| {
            regex_lite::Regex::new(pattern).unwrap().replace_all(&text, *with).into_owned()
        })
    };
    let result = sandbox.unflake(["history", "show"]).finish().expect_exit(0);
    assert_snapshot!(clean(&result.stdout), @"  [WHEN]        4 attempts  exit 0       pytest");
    let result = sandbox.unflake(["history", "show", "flaky"]).finish().expect_exit(0);
    assert_snapshot!(clean(&result.stdout), @"
    test_it.py::test_flaky
    failed 1 of 1 run; next run 1.7 % to 55 %
    ≈

    when                 outcome  took  revision  where
    [WHEN]  ✓ passed  [TIME]            fresh fork
    [WHEN]  ✓ passed  [TIME]            immediate retry
    [WHEN]  ✗ failed  [TIME]            suite, first     assert not True
    next       unflake why test_it.py::test_flaky  (find the root cause)
    ");
    let result = sandbox.unflake(["history", "show", "nothing-like-it"]).finish().expect_exit(2);
    assert_snapshot!(clean(&result.stderr), @r"
    error: no test has `nothing-like-it` in its name
    hint: give the name of a test, or a part of it
    ");
    let empty = Sandbox::new();
    let result = empty.unflake(["history", "show"]).finish().expect_exit(2);
    assert_snapshot!(empty.redact(&result.stderr), @"
    error: there is no history in [PLACE]/project/.unflake
    hint: `unflake run -- pytest` begins one, `unflake history import REPORT…` takes in the results of your CI
    ");
}

#[test]
fn config_prints_values_and_sources() {
    let sandbox = shop().file("pyproject.toml", "[tool.unflake]\nimmediate = 3\njobs = 7\n");
    let call = sandbox.unflake(["config"]).env("UNFLAKE_AT_END", "5").env("UNFLAKE_FRSH", "2");
    let result = call.finish().expect_exit(0);
    // The width of a column depends on the path of the project.
    let columns = regex_lite::Regex::new("  +").unwrap();
    assert_snapshot!(columns.replace_all(&reported(&sandbox, &result), "  "), @r#"
    command  ["pytest"]  guessed: this looks like a pytest project
    immediate  3  [PLACE]/project/pyproject.toml
    at-end  5  variable UNFLAKE_AT_END
    fresh  1  default
    fresh-by  fork  default
    new-processes  8  default
    too-many  1  default
    flaky-result  pass  default
    never-excuse  ["WARNING: ThreadSanitizer: ", "ERROR: (Address|Leak|Memory|HWAddress)Sanitizer: ", "SUMMARY: UndefinedBehaviorSanitizer: ", "WARNING: DATA RACE", "Fatal Python error: ", "(UnraisableException|UnhandledThreadException)Warning: "]
      default
    base  (merge base)  default
    granularity  file  default
    verify-base  needed  default
    jobs  7  [PLACE]/project/pyproject.toml
    timeout  900s  default
    output-limit  65536  default
    private  all  default
    private-keep  (none)  default
    engine  local  default
    engine-directory  (below the cache directory)  default
    engine-options  (none)  default
    engine-inputs  (none)  default
    engine-shared  (none)  default
    engine-node-directory  (below /var/tmp)  default
    engine-wrapper  (none)  default
    engine-wait  300s  default
    results  (none)  default
    one-test  (none)  default
    classpath-file  (none)  default
    test-classes  (none)  default
    store  [PLACE]/project/.unflake  default
    "#);
    assert_snapshot!(result.stderr, @"
    warning: UNFLAKE_FRSH is not a setting of unflake
    hint: did you mean `UNFLAKE_FRESH`?
    ");
    let json = sandbox.unflake(["config", "--json", "-"]).finish().expect_exit(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let jobs = json["settings"].as_array().unwrap().iter().find(|setting| setting["name"] == "jobs").unwrap();
    assert_eq!(jobs["value"], "7");
    assert!(jobs["source"].as_str().unwrap().ends_with("pyproject.toml"));
}

#[test]
fn a_settings_file_is_created_once() {
    let sandbox = shop();
    sandbox.unflake(["config", "--init"]).finish().expect_exit(0);
    let path = sandbox.project().join("unflake.toml");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("\n# fresh = 1\n"), "{text}");
    let refused = sandbox.unflake(["config", "--init"]).finish().expect_exit(2);
    assert!(refused.stderr.contains("unflake.toml already has settings\nhint: edit it"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn doctor_lists_the_environment() {
    let sandbox = shop();
    let clean = |text: &str| {
        let cores = regex_lite::Regex::new(r"\d+ cores").unwrap();
        // The tracing mechanism depends on the Python version.
        let traces = regex_lite::Regex::new(r"traces    lines by .*").unwrap();
        // What can be private depends on the system.
        let private = regex_lite::Regex::new(r". private   .*").unwrap();
        let text = private.replace_all(text, "✓ private   [PARTS]");
        let text = cores.replace_all(&sandbox.redact(&text), "[N] cores").into_owned();
        traces.replace_all(&text, "traces    lines by [WAY]").into_owned()
    };
    let result = sandbox.unflake(["doctor", "--", "python", "-m", "pytest"]).finish().expect_exit(0);
    assert_snapshot!(clean(&result.stdout), @r"
    ✓ machine   Linux, [N] cores; processes that tests leave running are ended
    ✓ private   [PARTS]
    – git       git version [VERSION], not a repository: attempts are recorded without a revision
    ✓ history   none yet; the first run creates it in [PLACE]/project/.unflake
    ✓ command   python -m pytest (command line)
    ✓ runner    pytest [VERSION] on CPython [VERSION], agent injected
    ✓ traces    lines by [WAY]
    ✓ tests     3 collected
    ✓ isolation forks of a collected process, milliseconds each
    ");
    assert_eq!(sandbox.unflake(["doctor", "--", "true"]).finish().code, 4);
    assert_eq!(sandbox.unflake(["doctor", "--", "pytest", "-k", "nothing"]).finish().code, 5);
    assert!(!sandbox.project().join(".unflake").exists(), "doctor writes nothing");
}

#[test]
fn the_demo_shows_every_verdict() {
    // A fake Python whose virtual environments contain the pytest of the tests, so that no network
    // is needed.
    let pytest = format!("#!/bin/sh\nexec {} -m pytest \"$@\"\n", e2e::python().display());
    let make = "mkdir -p .venv/bin && cp \"$(dirname \"$0\")/pytest\" .venv/bin/ && ln -s /bin/true .venv/bin/python";
    let sandbox = Sandbox::new().file("python", format!("#!/bin/sh\n{make}\n")).file("pytest", pytest);
    for name in ["python", "pytest"] {
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(sandbox.project().join(name), executable).unwrap();
    }
    let result = sandbox.unflake(["demo", "--python"]).arg(sandbox.project().join("python")).finish().expect_exit(0);
    for word in
        ["REAL", "passed in an immediate retry", "at the end of the suite", "only in a fresh environment", "exit 1"]
    {
        assert!(result.stdout.contains(word), "{word} is missing:\n{}", result.stdout);
    }
    let result = sandbox.unflake(["demo", "--python", "/no/such/python"]).finish().expect_exit(4);
    assert_snapshot!(sandbox.redact(&result.stderr), @r"
    error: `/no/such/python` could not be started: No such file or directory (os error 2)
    hint: the demo needs Python 3.8 or later with venv; name another one with --python
    ");
}

#[test]
fn help_lists_commands_in_groups() {
    let sandbox = Sandbox::new();
    let help = sandbox.unflake(["-h"]).finish().expect_exit(0).stdout;
    assert_snapshot!(help, @"
    Find flaky tests and their root causes

    Usage: unflake [OPTIONS] <COMMAND>

    Everyday    run          Run the tests, classify each failure as real or flaky
                why          Find the root cause of a flaky test, by all techniques
                affected     List the tests that your change can affect
    Techniques  nio          Find non-idempotent tests and the state they leak
                order        Find order-dependent tests, polluters and leaked state
                locate       Find the line where failing runs leave the passing ones
                factors      Find what makes a test fail: date, seed, load, …
                measure      Measure how much runs differ, of passing tests too
                stress       Run tests repeatedly, in parallel with copies of them
                filter       Find assertions that vary without a change
    History     history      Show, import, score and copy test results
                quarantine   Quarantine known failures, with owner and expiry date
                serve        Show the history as web pages, here or for a team
                token        Create, list and revoke tokens for `unflake serve`
                report       Write reports: HTML, a review comment, an issue
    Tools       under        Run a command under another date, seed, load, …
                replay       Run the named tests in this order, in one session
                trace        Print the lines that one run of a test executes
                doctor       Check the installation, the project and its command
                config       Print the effective configuration and its sources
                demo         Show unflake on a sample project
                completions  Print a completion script for bash, zsh or fish
                man          Print or write manual pages

    `unflake COMMAND -h` lists the options of a command, `--help` explains them.
    ");
    let long = sandbox.unflake(["--help"]).finish().expect_exit(0).stdout;
    assert!(long.contains("70  internal error") && long.contains("unflake demo\n"), "{long}");
    assert_eq!(sandbox.unflake([] as [&str; 0]).finish().expect_exit(2).stderr, help);
}

#[test]
fn mistakes_in_the_command_line_get_a_hint() {
    let sandbox = shop();
    let printed = |words: &[&str]| {
        let stderr = sandbox.unflake(words).finish().expect_exit(2).stderr;
        stderr.replace(" --new-processes 1", "") // The sandbox adds it.
    };
    let mistakes: [&[&str]; 9] = [
        &["rnu"],
        &["score"],
        &["run", "--frehs", "2"],
        &["run", "pytest", "tests/"],
        &["pytest", "-q"],
        &["order", "pytest", "tests/"],
        &["locate", "test_two", "python", "-m", "pytest"],
        &["run", "--json"],
        &["measure", "test_tow", "--quiet", "--", "pytest"],
    ];
    let all: String =
        mistakes.iter().map(|words| format!("$ unflake {}\n{}", words.join(" "), printed(words))).collect();
    assert_snapshot!(all, @"
    $ unflake rnu
    error: unrecognized subcommand 'rnu'
    hint: did you mean `run`?
    $ unflake score
    error: unrecognized subcommand 'score'
    hint: did you mean `history score`?
    $ unflake run --frehs 2
    error: unexpected argument '--frehs' found
    hint: did you mean `--fresh`?
    $ unflake run pytest tests/
    error: unexpected argument 'pytest' found
    hint: give your test command after two dashes: `unflake run -- pytest tests/`
    $ unflake pytest -q
    error: unrecognized subcommand 'pytest'
    hint: give your test command after two dashes: `unflake run -- pytest -q`
    $ unflake order pytest tests/
    error: `pytest tests/` is a test command and not the name of a test
    hint: give your test command after two dashes: `unflake order -- pytest tests/`
    $ unflake locate test_two python -m pytest
    error: unexpected argument 'python' found
    hint: give your test command after two dashes: `unflake locate test_two -- python -m pytest`
    $ unflake run --json
    error: a value is required for '--json <FILE>' but none was supplied
    hint: `unflake run -h` lists what it takes
    $ unflake measure test_tow --quiet -- pytest
    error: no test has `test_tow` in its name
    hint: did you mean `tests/test_shop.py::test_two`?
    ");
}

#[test]
fn help_fits_the_width_of_the_terminal() {
    let sandbox = Sandbox::new();
    for width in [60, 100] {
        let help = sandbox.unflake(["run", "-h"]).env("COLUMNS", width.to_string()).finish().expect_exit(0).stdout;
        let longest = help.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest <= width, "a line of {longest} characters in a terminal of {width}: {help}");
    }
}

#[test]
fn version_is_printed() {
    let sandbox = Sandbox::new();
    let version = sandbox.unflake(["--version"]).finish().expect_exit(0).stdout;
    assert_eq!(sandbox.redact(&version), "unflake [VERSION]");
}
