//! How unflake reacts to every behaviour of an agent. The command is the scripted agent in
//! `agents/fake`, so each test states exactly what is sent over the wire.

use e2e::{RunOutput, Sandbox, fake_agent};
use insta::assert_snapshot;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

fn scripted(script: Value) -> Sandbox {
    Sandbox::new().file("script.json", script.to_string())
}

fn command() -> String {
    format!("python {} script.json", fake_agent().display())
}

/// Runs a script of messages.
fn follow(script: Value) -> (Sandbox, RunOutput) {
    let sandbox = scripted(script);
    let result = sandbox.run("", &command());
    (sandbox, result)
}

/// Runs a complete agent with these tests; each has a list of successive outcomes.
fn serve(options: &str, tests: Value) -> RunOutput {
    serve_with(options, json!({ "tests": tests }))
}

fn serve_with(options: &str, script: Value) -> RunOutput {
    scripted(json!([{ "serve": script }])).run(&format!("--new-processes 8 {options}"), &command())
}

// -- The ladder -----------------------------------------------------------------------------------

#[test]
fn the_rung_of_the_first_pass_determines_the_verdict() {
    let tests = json!({
        "at once": ["failed", "passed"],
        "at the end": ["failed", "failed", "passed"],
        "fresh": ["failed"],
        "sound": "passed",
    });
    // A fork starts again with the first outcome, so what fails there is real.
    let fresh = json!({ "at once": "passed", "at the end": "passed" });
    let result = serve_with("--jobs 1", json!({ "tests": tests, "fresh": fresh })).expect_exit(1);
    assert_eq!(result.findings(), ["at once flaky-independent", "at the end flaky-bursty", "fresh real"]);
    let other_seeds = ["fresh failed other-seeds fork"; 20];
    let attempts = result.attempts();
    assert_eq!(attempts[12..], other_seeds);
    assert_eq!(
        attempts[..12],
        [
            "at once failed suite process",
            "at once passed suite process",
            "at the end failed suite process",
            "at the end failed suite process",
            "fresh failed suite process",
            "fresh failed suite process",
            "sound passed suite process",
            "at the end passed at-end process",
            "fresh failed at-end process",
            "fresh failed fresh fork",
            "at once passed fresh fork",
            "at the end passed fresh fork",
        ]
    );
}

#[test]
fn a_test_that_fails_the_first_time_in_every_process_is_real() {
    let tests = json!({ "a": "passed", "at once": ["failed", "passed"], "at the end": ["error", "error", "passed"] });
    for fresh_by in ["fork", "process"] {
        let result = serve(&format!("--fresh-by {fresh_by}"), tests.clone()).expect_exit(1);
        assert_eq!(result.findings(), ["at once real", "at the end real"]);
        for (test, attempts) in [("at once", 2 + 3 * 2), ("at the end", 3 + 3 * 3)] {
            let finding = result.finding(test);
            assert_eq!(finding["evidence"]["attempts"], attempts);
            assert_eq!(finding["evidence"]["confirmed"], false);
            let sentence = finding["sentence"].as_str().unwrap();
            assert!(sentence.starts_with("fails the first time in every process (4 of 4)"), "{sentence}");
        }
    }
    let result = serve("--fresh 0", tests).expect_exit(0);
    assert_eq!(result.findings(), ["at once flaky-independent", "at the end flaky-bursty"]);
    let sentence = "random: 1 of 2 attempts failed, passed in an immediate retry; not confirmed in a fresh process: \
                    fresh environments are off (--fresh 0)";
    assert_eq!(result.finding("at once")["sentence"], sentence);
}

#[test]
fn passes_are_confirmed_even_above_the_failure_threshold() {
    let tests: Value = (0..12).map(|n| (format!("t{n:02}"), json!(["failed", "passed"]))).collect();
    let result = serve("", tests.clone()).expect_exit(1);
    assert_eq!(result.list("attempts").len(), 12 * 2 + 12 * 3 * 2);
    assert!(result.findings().iter().all(|finding| finding.ends_with(" real")), "{:?}", result.findings());
    let fresh: Value = (0..12).map(|n| (format!("t{n:02}"), json!("passed"))).collect();
    let result = serve_with("", json!({ "tests": tests, "fresh": fresh })).expect_exit(0);
    assert_eq!(result.list("attempts").len(), 12 * 2 + 12);
}

#[test]
fn any_passing_attempt_after_the_suite_makes_a_test_bursty() {
    let tests = json!({ "a": ["error", "error", "error", "passed"] });
    let result = serve_with("--at-end 2", json!({ "tests": tests, "fresh": { "a": "passed" } })).expect_exit(0);
    assert_eq!(result.findings(), ["a flaky-bursty"]);
}

#[test]
fn a_test_that_passes_only_in_a_fresh_environment_is_state_dependent() {
    // The first process fails until the end of the suite; the next one finds the mark and passes.
    let mark = |outcome: &str| json!({ "serve": { "tests": { "polluter": "passed", "victim": outcome } } }).to_string();
    let choose = format!(
        "[ -e mark ] && echo '[{}]' > s.json || echo '[{}]' > s.json; touch mark; exec python {} s.json",
        mark("passed"),
        mark("failed"),
        fake_agent().display()
    );
    for fresh_by in ["fork", "process"] {
        let sandbox = Sandbox::new();
        let result = sandbox
            .run_invocation(&format!("--fresh-by {fresh_by}"), "")
            .args(["--", "sh", "-c", &choose])
            .finish()
            .expect_exit(0);
        assert_eq!(result.findings(), ["victim flaky-state-dependent"]);
        assert!(result.attempts().contains(&format!("victim passed fresh {fresh_by}")), "{:?}", result.attempts());
        assert_eq!(result.attempts().last().unwrap(), "victim passed other-seeds fork");
        let sentence = result.finding("victim")["sentence"].as_str().unwrap();
        assert!(sentence.starts_with("order-dependent: 3 of "), "{sentence}");
        assert!(sentence.ends_with("; 1 test ran before it"), "{sentence}");
    }
}

#[test]
fn the_number_of_attempts_follows_the_options() {
    let always = json!({ "a": "failed" });
    let count = |options: &str| serve(options, always.clone()).expect_exit(1).list("attempts").len();
    let other_seeds = 20;
    assert_eq!(count(""), 4 + other_seeds);
    assert_eq!(count("--immediate 0 --at-end 0 --fresh 0"), 1);
    assert_eq!(count("--immediate 5 --at-end 0 --fresh 0"), 6);
    assert_eq!(count("--immediate 0 --at-end 3 --fresh 0"), 4);
    assert_eq!(count("--immediate 0 --at-end 0 --fresh 4"), 5 + other_seeds);
    assert_eq!(count("--immediate 2 --at-end 3 --fresh 4 --fresh-by process"), 10 + other_seeds);
}

#[test]
fn the_sentence_names_the_attempt_that_passed() {
    let tests = json!({ "a": ["failed", "failed", "failed", "passed"] });
    let result = serve_with("--immediate 3", json!({ "tests": tests, "fresh": { "a": "passed" } })).expect_exit(0);
    assert_eq!(result.finding("a")["sentence"], "random: 3 of 5 attempts failed, passed in immediate retry 3");
}

#[test]
fn above_the_failure_threshold_each_failure_has_one_new_process() {
    let many = |failing: usize, all: usize| -> Value {
        (0..all).map(|n| (format!("t{n:02}"), json!(if n < failing { "failed" } else { "passed" }))).collect()
    };
    let result = serve("", many(10, 40)).expect_exit(1);
    assert_eq!(result.list("attempts").len(), 40 + 10 * 2, "immediate attempts and one new process");
    let why = &result.finding("t00")["evidence"]["not_rerun"];
    assert_eq!(why, "10 of 40 tests failed, so each ran in one new process only");
    assert_eq!(
        serve("", many(9, 40)).expect_exit(1).list("attempts").len(),
        40 + 9 * (3 + 20),
        "the threshold is at least ten"
    );
    assert_eq!(serve("--too-many 50", many(10, 40)).expect_exit(1).list("attempts").len(), 40 + 10 * (3 + 20));
}

#[test]
fn flaky_result_fail_fails_the_run() {
    let tests = json!({ "a": ["failed", "passed"], "b": "passed" });
    let script = json!({ "tests": tests, "fresh": { "a": "passed" } });
    let result = serve_with("", script.clone()).expect_exit(0);
    assert_snapshot!(result.remarks(), @"exit 0: no real failure, 1 flaky");
    let result = serve_with("--flaky-result fail", script).expect_exit(1);
    assert_eq!(result.findings(), ["a flaky-independent"]);
    assert_snapshot!(result.remarks(), @"exit 1: 1 flaky failure (--flaky-result fail)");
}

#[test]
fn a_failure_that_matches_never_excuse_stays_real() {
    let tests = json!({ "a": ["failed", "passed"] });
    let race = json!({ "tests": tests, "fresh": { "a": "passed" }, "stdout": "WARNING: DATA RACE\nWrite at 0x0" });
    let result = serve_with("", race.clone()).expect_exit(1);
    assert_eq!(result.findings(), ["a real"]);
    assert_eq!(
        result.finding("a")["sentence"],
        "failed 1 of 2 attempts; a failure that matches `WARNING: DATA RACE` is never excused by a later pass"
    );
    let result = serve_with("--never-excuse deadlock", race).expect_exit(0);
    assert_eq!(result.findings(), ["a flaky-independent"], "patterns of the user replace the defaults");
    let result = serve_with("--never-excuse attempt.1", json!({ "tests": tests })).expect_exit(1);
    assert_eq!(result.findings(), ["a real"], "the message counts as well as the output");
}

#[test]
fn only_failures_and_errors_are_retried() {
    let outcomes = ["passed", "failed", "error", "skipped", "expected-failure", "unexpected-pass"];
    let tests: Value = outcomes.iter().map(|outcome| ((*outcome).to_owned(), json!(outcome))).collect();
    let result = serve("--at-end 0 --fresh 0", tests).expect_exit(1);
    assert_eq!(result.findings(), ["error not-decided", "failed not-decided"]);
    assert_eq!(result.list("attempts").len(), 8);
}

// -- Crashes --------------------------------------------------------------------------------------

#[test]
fn a_crash_is_real_and_the_remaining_tests_run() {
    // The process that takes over starts again with the first outcome.
    let result = serve("--immediate 0", json!({ "a": "passed", "b": "crash", "c": "passed" })).expect_exit(1);
    assert_eq!(result.findings(), ["b real"]);
    assert_eq!(
        result.attempts(),
        [
            "a passed suite process",
            "b crashed suite process",
            "c passed suite fork",
            "b crashed at-end fork",
            "b crashed fresh fork",
        ]
    );
    assert_eq!(
        result.finding("b")["sentence"],
        "crashed (killed by SIGSEGV) in 3 of 3 attempts, including a fresh environment"
    );
}

#[test]
fn exiting_the_process_in_a_test_is_a_crash_with_an_exit_code() {
    let result = serve("--immediate 0 --at-end 0", json!({ "a": "exit", "b": "passed" })).expect_exit(1);
    assert_eq!(
        result.finding("a")["sentence"],
        "crashed (the process exited with code 3) in 2 of 2 attempts, including a fresh environment"
    );
    assert_eq!(result.list("attempts")[0]["outcome"], json!({ "crashed": { "exit": 3 } }));
}

#[test]
fn a_hanging_test_times_out() {
    let result = serve("--timeout 2 --at-end 0", json!({ "a": "hang", "b": "passed" })).expect_exit(1);
    assert_eq!(result.findings(), ["a real"]);
    assert_eq!(
        result.finding("a")["sentence"],
        "timed out in 5 of 5 attempts, including a new process with other seeds"
    );
}

#[test]
fn a_connection_that_closes_during_a_test_is_a_crash() {
    let sandbox = scripted(json!([
        { "hello": {} },
        { "send": { "event": "listed", "tests": [{ "n": 0, "id": "a" }] } },
        { "send": { "event": "ready", "tests": 1, "deselected": 0 } },
        { "expect": "run" },
        { "send": { "event": "start", "n": 0, "run": 0 } },
        { "close": true },
    ]));
    let result = sandbox.run("--immediate 0 --at-end 0 --fresh 0", &command()).expect_exit(1);
    assert_eq!(
        result.finding("a")["sentence"],
        "crashed (the process exited with code 0) in its only attempt; fresh environments are off (--fresh 0)"
    );
    assert_snapshot!(sandbox.redact(&result.remarks()), @"
    note: not a git repository, so failures are not compared with your change
    exit 1: 1 real failure
    ");
}

#[test]
fn unflake_gives_up_on_environments_that_keep_dying() {
    // An agent that waits for `run` ignores `end`, and unflake does not wait for it.
    let (sandbox, result) = follow(json!([
        { "hello": {} },
        { "send": { "event": "listed", "tests": [{ "n": 0, "id": "a" }, { "n": 1, "id": "b" }] } },
        { "send": { "event": "ready", "tests": 2, "deselected": 0, "unforkable": "it is a story" } },
        { "expect": "run" },
        { "exit": 7 },
    ]));
    let result = result.expect_exit(3);
    assert!(result.attempts().is_empty());
    assert_snapshot!(sandbox.redact(&result.remarks()), @"
    note: fresh environments are new processes, which takes longer: it is a story
    left: the runner could not be started again for it
    exit 3: 2 planned tests did not run
    ");
}

#[test]
fn an_agent_that_skips_a_requested_test_does_not_block_the_run() {
    // It reports to be idle without having started the requested test.
    let sandbox = scripted(json!([
        { "hello": {} },
        { "send": { "event": "listed", "tests": [{ "n": 0, "id": "a" }] } },
        { "send": { "event": "ready", "tests": 1, "deselected": 0 } },
        { "expect": "run" },
        { "send": { "event": "start", "n": 0, "run": 0 } },
        { "send": { "event": "done", "n": 0, "run": 0, "outcome": "failed", "seconds": 0 } },
        { "send": { "event": "idle" } },
        { "expect": "run" },
        { "send": { "event": "idle" } },
        { "expect": "end" },
        { "send": { "event": "bye" } },
    ]));
    let result = sandbox.run("--fresh 0", &command()).expect_exit(1);
    assert_eq!(result.findings(), ["a not-decided"]);
    assert_snapshot!(sandbox.redact(&result.remarks()), @"exit 1: 1 undecided failure");
}

// -- Invalid messages -----------------------------------------------------------------------------

#[test]
fn another_protocol_version_is_rejected() {
    let (sandbox, result) = follow(json!([{ "hello": { "protocol": 99 } }, { "hang": true }]));
    assert_snapshot!(sandbox.redact(&result.expect_exit(70).remarks()), @r"
    protocol: the agent has version 99 of the protocol, this unflake version 1
    exit 70: internal error: unflake lost results of tests
    ");
}

#[test]
fn a_message_that_cannot_be_read_is_an_internal_error() {
    let long = format!("{{\"event\":\"note\",\"text\":\"{}\"}}\n", "x".repeat(5 << 20));
    let (sandbox, result) = follow(json!([
        { "hello": {} },
        { "send_raw": "not json\n" },
        { "send_raw": "{\"event\":\"dance\"}\n" },
        { "send_raw": "\n" },
        { "send_raw": long },
        { "send": { "event": "listed", "tests": [{ "n": 0, "id": "a" }] } },
        { "send": { "event": "ready", "tests": 1, "deselected": 0 } },
        { "expect": "run" },
        { "send": { "event": "done", "n": 5, "run": 0, "outcome": "failed", "seconds": 0 } },
        { "send": { "event": "start", "n": 5, "run": 0 } },
        { "send": { "event": "reaped", "environment": 77 } },
        { "send": { "event": "forked", "environment": 78, "pid": 1 } },
        { "send": { "event": "start", "n": 0, "run": 0 } },
        { "send": { "event": "done", "n": 0, "run": 0, "outcome": "passed", "seconds": 0, "new": "field" } },
        { "send": { "event": "idle" } },
        { "expect": "end" },
        { "send": { "event": "bye" } },
    ]));
    let result = result.expect_exit(70);
    assert_eq!(result.attempts(), ["a passed suite process"]);
    assert_snapshot!(sandbox.redact(&result.remarks()), @r#"
    protocol: a message of the agent in environment 0 cannot be read: not a message of the protocol (expected ident at line 1 column 2): not json
    protocol: a message of the agent in environment 0 cannot be read: not a message of the protocol (unknown variant `dance`, expected one of `hello`, `note`, `problem`, `listed`, `ready`, `start`, `done`, `stopped`, `idle`, `forked`, `unforkable`, `remembered`, `changed`, `restored`, `written`, `sites`, `filtering`, `reaped`, `exited`, `bye` at line 1 column 16): {"event":"dance"}
    protocol: a message of the agent in environment 0 cannot be read: not a message of the protocol (EOF while parsing a value at line 2 column 0):
    protocol: a message of the agent in environment 0 cannot be read: a message longer than 4 MiB
    exit 70: internal error: unflake lost results of tests
    "#);
}

#[test]
fn a_connection_without_a_hello_is_ignored() {
    let (sandbox, result) =
        follow(json!([{ "send_raw": "GET / HTTP/1.1\r\n\r\n" }, { "expect": "end" }, { "exit": 9 }]));
    assert_snapshot!(sandbox.redact(&result.expect_exit(4).remarks()), @"
    start: the command exited without starting a supported test runner (the process exited with code 9)
    It must start pytest, 6 or later.
    Or it must be `cargo test`, `cargo nextest run`, `ctest` or a GoogleTest program itself.
    For other runners, `--results` and `--one-test` tell unflake how to use them.
    exit 4: the tests could not run
    ");
}

// -- Before the tests are listed ------------------------------------------------------------------

#[test]
fn an_agent_that_dies_before_listing_is_reported_with_its_output() {
    let (sandbox, result) = follow(json!([{ "hello": {} }, { "print_error": "out of cheese" }, { "signal": 6 }]));
    assert_snapshot!(sandbox.redact(&result.expect_exit(4).remarks()), @"
    start: the runner exited before it listed its tests (killed by SIGABRT)
    out of cheese
    exit 4: the tests could not run
    ");
}

#[test]
fn an_agent_that_never_lists_can_be_interrupted() {
    let sandbox = scripted(json!([{ "hello": {} }, { "send_raw": "" }, { "hang": "deaf" }]));
    let line = format!("echo started > started; exec {}", command());
    let running = sandbox.run_invocation("", "").args(["--", "sh", "-c", &line]).start();
    running.wait_for("started");
    running.signal(Signal::SIGINT);
    // Two signals at the same time would be one.
    std::thread::sleep(std::time::Duration::from_millis(200));
    running.signal(Signal::SIGINT);
    running.finish().expect_exit(130);
}

#[test]
fn a_collection_problem_ends_the_run() {
    let (sandbox, result) = follow(json!([
        { "hello": {} },
        { "send": { "event": "problem", "kind": "collection", "place": "t.txt", "text": "cannot be read" } },
        { "exit": 2 },
    ]));
    assert_snapshot!(sandbox.redact(&result.expect_exit(4).remarks()), @"
    collection: cannot be read
    exit 4: the tests could not run
    ");
}

#[test]
fn an_agent_without_tests_exits_with_no_tests() {
    let result = serve_with("", json!({ "tests": {}, "deselected": 2 })).expect_exit(5);
    assert_eq!(result.json()["deselected"], 2);
}

// -- Early stops, forks and jobs ------------------------------------------------------------------

#[test]
fn a_runner_that_stops_early_reports_the_tests_it_left() {
    let result = serve("", json!({ "a": "stop", "b": "passed", "c": "passed" })).expect_exit(3);
    assert_eq!(result.list("left"), ["b", "c"]);
    assert_snapshot!(result.remarks(), @"
    left: the script says so
    exit 3: 2 planned tests did not run
    ");
}

#[test]
fn where_forking_is_unsafe_new_processes_are_used() {
    let script = json!({ "tests": { "a": "failed" }, "unforkable": "a thread is running" });
    let result = serve_with("", script).expect_exit(1);
    assert_eq!(result.attempts().last().unwrap(), "a failed other-seeds process");
    assert_eq!(result.finding("a")["evidence"]["fresh"], "process");
    assert_eq!(
        result.finding("a")["sentence"],
        "failed 24 of 24 attempts, including 10 new processes with other seeds"
    );
    assert_snapshot!(result.remarks(), @"
    note: fresh environments are new processes, which takes longer: a thread is running
    note: not a git repository, so failures are not compared with your change
    exit 1: 1 real failure
    ");
}

#[test]
fn processes_that_a_fork_starts_end_with_it() {
    serve("--immediate 0 --at-end 0 --fresh 2", json!({ "a": ["failed", "pgroup"], "b": "pgroup" })).expect_exit(1);
}

#[test]
fn a_missing_bye_is_tolerated() {
    serve_with("", json!({ "tests": { "a": "passed" }, "bye": false })).expect_exit(0);
}

#[test]
fn jobs_limits_the_number_of_concurrent_environments() {
    let meet = |jobs: u32, tests: u32, within: f64| {
        let script = json!({ "tests": { "a": "failed", "b": "failed", "c": "failed" }, "meet": [tests, within] });
        let result = serve_with(&format!("--immediate 0 --at-end 0 --jobs {jobs}"), script);
        result.attempts().iter().any(|attempt| attempt.starts_with("a passed"))
    };
    assert!(!meet(1, 2, 0.3), "two tests ran at the same time");
    assert!(meet(3, 3, 20.0), "three tests did not run at the same time");
}
