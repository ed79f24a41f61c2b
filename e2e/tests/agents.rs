//! What unflake does with agents, whatever they do. The command is the scripted agent in `agents/fake`, so each story says
//! exactly what came over the wire.

use e2e::{Ran, Story, fake_agent};
use insta::assert_snapshot;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

fn story(script: Value) -> Story {
    Story::new().with("script.json", script.to_string())
}

fn command() -> String {
    format!("python {} script.json", fake_agent().display())
}

/// Runs a script.
fn follow(script: Value) -> (Story, Ran) {
    let story = story(script);
    let ran = story.run("", &command());
    (story, ran)
}

/// Runs a whole agent with these tests, and the outcomes they have one after the other.
fn serve(options: &str, tests: Value) -> Ran {
    serve_with(options, json!({ "tests": tests }))
}

fn serve_with(options: &str, script: Value) -> Ran {
    story(json!([{ "serve": script }])).run(options, &command())
}

// -- The ladder -------------------------------------------------------------------------------------------------------

#[test]
fn where_a_test_first_passes_says_what_kind_of_flaky_it_is() {
    let tests = json!({
        "at once": ["failed", "passed"],
        "at the end": ["failed", "failed", "passed"],
        "fresh": ["failed"],
        "sound": "passed",
    });
    // A copy starts with the first outcomes again: what fails there fails for good.
    let fresh = json!({ "at once": "passed", "at the end": "passed" });
    let ran = serve_with("--jobs 1", json!({ "tests": tests, "fresh": fresh })).exits(1);
    assert_eq!(ran.findings(), ["at once flaky-independent", "at the end flaky-bursty", "fresh real"]);
    assert_eq!(
        ran.attempts(),
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
        let ran = serve(&format!("--fresh-by {fresh_by}"), tests.clone()).exits(1);
        assert_eq!(ran.findings(), ["at once real", "at the end real"]);
        for (test, attempts) in [("at once", 2 + 3 * 2), ("at the end", 3 + 3 * 3)] {
            let finding = ran.finding(test);
            assert_eq!(finding["evidence"]["attempts"], attempts);
            assert_eq!(finding["evidence"]["confirmed"], false);
            let sentence = finding["sentence"].as_str().unwrap();
            assert!(sentence.starts_with("fails the first time in every process (4 of 4)"), "{sentence}");
        }
    }
    let ran = serve("--fresh 0", tests).exits(0);
    assert_eq!(ran.findings(), ["at once flaky-independent", "at the end flaky-bursty"]);
    let sentence = "passed when run again at once; it may still fail the first time in every process: \
                    fresh environments are not wanted";
    assert_eq!(ran.finding("at once")["sentence"], sentence);
}

#[test]
fn a_pass_is_confirmed_however_many_tests_fail() {
    let tests: Value = (0..12).map(|n| (format!("t{n:02}"), json!(["failed", "passed"]))).collect();
    let ran = serve("", tests.clone()).exits(1);
    assert_eq!(ran.list("attempts").len(), 12 * 2 + 12 * 3 * 2);
    assert!(ran.findings().iter().all(|finding| finding.ends_with(" real")), "{:?}", ran.findings());
    let fresh: Value = (0..12).map(|n| (format!("t{n:02}"), json!("passed"))).collect();
    let ran = serve_with("", json!({ "tests": tests, "fresh": fresh })).exits(0);
    assert_eq!(ran.list("attempts").len(), 12 * 2 + 12);
}

#[test]
fn a_later_attempt_at_the_end_counts_like_the_first() {
    let tests = json!({ "a": ["error", "error", "error", "passed"] });
    let ran = serve_with("--at-end 2", json!({ "tests": tests, "fresh": { "a": "passed" } })).exits(0);
    assert_eq!(ran.findings(), ["a flaky-bursty"]);
}

#[test]
fn a_test_that_passes_only_in_a_fresh_environment_depends_on_state() {
    // The one process fails until the end of the suite; the next one, of the same script, finds the mark and passes.
    let mark = |outcome: &str| json!({ "serve": { "tests": { "polluter": "passed", "victim": outcome } } }).to_string();
    let choose = format!(
        "[ -e mark ] && echo '[{}]' > s.json || echo '[{}]' > s.json; touch mark; exec python {} s.json",
        mark("passed"),
        mark("failed"),
        fake_agent().display()
    );
    for fresh_by in ["fork", "process"] {
        let story = Story::new();
        let ran = story.running(&format!("--fresh-by {fresh_by}"), "").args(["--", "sh", "-c", &choose]).end().exits(0);
        assert_eq!(ran.findings(), ["victim flaky-state-dependent"]);
        assert_eq!(ran.attempts().last().unwrap(), &format!("victim passed fresh {fresh_by}"));
        assert_eq!(ran.finding("victim")["evidence"]["fresh"], fresh_by);
        let sentence = "passed only in a fresh environment: the test before it leaves something behind";
        assert_eq!(ran.finding("victim")["sentence"], sentence);
    }
}

#[test]
fn attempts_are_made_as_often_as_wanted_and_no_oftener() {
    let always = json!({ "a": "failed" });
    let count = |options: &str| serve(options, always.clone()).exits(1).list("attempts").len();
    assert_eq!(count(""), 4);
    assert_eq!(count("--immediate 0 --at-end 0 --fresh 0"), 1);
    assert_eq!(count("--immediate 5 --at-end 0 --fresh 0"), 6);
    assert_eq!(count("--immediate 0 --at-end 3 --fresh 0"), 4);
    assert_eq!(count("--immediate 0 --at-end 0 --fresh 4"), 5);
    assert_eq!(count("--immediate 2 --at-end 3 --fresh 4 --fresh-by process"), 10);
}

#[test]
fn the_third_attempt_at_once_is_told_as_such() {
    let tests = json!({ "a": ["failed", "failed", "failed", "passed"] });
    let ran = serve_with("--immediate 3", json!({ "tests": tests, "fresh": { "a": "passed" } })).exits(0);
    assert_eq!(ran.finding("a")["sentence"], "passed when run again at once, the third time");
}

#[test]
fn too_many_failures_are_not_run_again_later() {
    let many = |failing: usize, all: usize| -> Value {
        (0..all).map(|n| (format!("t{n:02}"), json!(if n < failing { "failed" } else { "passed" }))).collect()
    };
    let ran = serve("", many(10, 40)).exits(1);
    assert_eq!(ran.list("attempts").len(), 50, "at once only");
    let why = &ran.finding("t00")["evidence"]["not_rerun"];
    assert_eq!(why, "10 of 40 tests fail: too many to be chance, so they were not run again later");
    assert_eq!(serve("", many(9, 40)).exits(1).list("attempts").len(), 40 + 9 * 3, "never below ten");
    assert_eq!(serve("--too-many 50", many(10, 40)).exits(1).list("attempts").len(), 40 + 10 * 3);
}

#[test]
fn flaky_tests_fail_the_run_where_that_is_wanted() {
    let tests = json!({ "a": ["failed", "passed"], "b": "passed" });
    let script = json!({ "tests": tests, "fresh": { "a": "passed" } });
    let ran = serve_with("", script.clone()).exits(0);
    assert_snapshot!(ran.remarks(), @"exit 0: only one flaky test failed");
    let ran = serve_with("--flaky-result fail", script).exits(1);
    assert_eq!(ran.findings(), ["a flaky-independent"]);
    assert_snapshot!(ran.remarks(), @"exit 1: one flaky failure, and --flaky-result is fail");
}

#[test]
fn a_failure_that_is_never_to_be_excused_stays_real() {
    let tests = json!({ "a": ["failed", "passed"] });
    let race = json!({ "tests": tests, "fresh": { "a": "passed" }, "stdout": "WARNING: DATA RACE\nWrite at 0x0" });
    let ran = serve_with("", race.clone()).exits(1);
    assert_eq!(ran.findings(), ["a real"]);
    assert_eq!(
        ran.finding("a")["sentence"],
        "failed 1 of 2 times; a failure that matches `WARNING: DATA RACE` is never excused by a later pass"
    );
    let ran = serve_with("--never-excuse deadlock", race).exits(0);
    assert_eq!(ran.findings(), ["a flaky-independent"], "the user's own patterns take the place of ours");
    let ran = serve_with("--never-excuse attempt.1", json!({ "tests": tests })).exits(1);
    assert_eq!(ran.findings(), ["a real"], "what it says counts as well as what it prints");
}

#[test]
fn every_outcome_is_told_and_only_failures_are_run_again() {
    let outcomes = ["passed", "failed", "error", "skipped", "expected-failure", "unexpected-pass"];
    let tests: Value = outcomes.iter().map(|outcome| ((*outcome).to_owned(), json!(outcome))).collect();
    let ran = serve("--at-end 0 --fresh 0", tests).exits(1);
    assert_eq!(ran.findings(), ["error real", "failed real"]);
    assert_eq!(ran.list("attempts").len(), 8);
}

// -- Deaths -----------------------------------------------------------------------------------------------------------

#[test]
fn a_crash_is_real_whatever_comes_later_and_the_rest_goes_on() {
    // The process that takes over begins with the first outcomes again.
    let ran = serve("--immediate 0", json!({ "a": "passed", "b": "crash", "c": "passed" })).exits(1);
    assert_eq!(ran.findings(), ["b real"]);
    assert_eq!(
        ran.attempts(),
        [
            "a passed suite process",
            "b crashed suite process",
            "c passed suite fork",
            "b crashed at-end fork",
            "b crashed fresh fork",
        ]
    );
    assert_eq!(ran.finding("b")["sentence"], "crashed (killed by SIGSEGV) 3 of 3 times, in a fresh environment too");
}

#[test]
fn leaving_the_process_in_a_test_is_a_crash_with_an_exit_code() {
    let ran = serve("--immediate 0 --at-end 0", json!({ "a": "exit", "b": "passed" })).exits(1);
    assert_eq!(
        ran.finding("a")["sentence"],
        "crashed (the process left with exit code 3) 2 of 2 times, in a fresh environment too"
    );
    assert_eq!(ran.list("attempts")[0]["outcome"], json!({ "crashed": { "exit": 3 } }));
}

#[test]
fn a_test_without_end_runs_out_of_time() {
    let ran = serve("--timeout 0.3 --at-end 0", json!({ "a": "hang", "b": "passed" })).exits(1);
    assert_eq!(ran.findings(), ["a real"]);
    assert_eq!(ran.finding("a")["sentence"], "timed out 3 of 3 times, in a fresh environment too");
}

#[test]
fn a_connection_that_closes_in_a_test_is_a_crash() {
    let story = story(json!([
        { "hello": {} },
        { "send": { "event": "listed", "tests": [{ "n": 0, "id": "a" }] } },
        { "send": { "event": "ready", "tests": 1, "deselected": 0 } },
        { "expect": "run" },
        { "send": { "event": "start", "n": 0, "run": 0 } },
        { "close": true },
    ]));
    let ran = story.run("--immediate 0 --at-end 0 --fresh 0", &command()).exits(1);
    assert_eq!(ran.finding("a")["sentence"], "crashed (the process left with exit code 0) the one time it ran");
    assert_snapshot!(story.plain(&ran.remarks()), @"
    note: whether a change can have caused the failures was not looked at: this is not a git repository
    exit 1: one real failure
    ");
}

#[test]
fn environments_that_keep_dying_are_given_up() {
    // One that only waits for `run` is deaf to `end` too, and is not waited for.
    let (story, ran) = follow(json!([
        { "hello": {} },
        { "send": { "event": "listed", "tests": [{ "n": 0, "id": "a" }, { "n": 1, "id": "b" }] } },
        { "send": { "event": "ready", "tests": 2, "deselected": 0, "unforkable": "it is a story" } },
        { "expect": "run" },
        { "exit": 7 },
    ]));
    let ran = ran.exits(3);
    assert!(ran.attempts().is_empty());
    assert_snapshot!(story.plain(&ran.remarks()), @r"
    note: fresh environments are new processes, which takes longer: it is a story
    left: the runner could not be started again for it
    exit 3: 2 tests did not run
    ");
}

#[test]
fn an_agent_that_does_not_run_what_it_is_told_to_is_not_waited_for() {
    // It says that it has run the test again, and never began it.
    let story = story(json!([
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
    let ran = story.run("--fresh 0", &command()).exits(1);
    assert_eq!(ran.findings(), ["a real"]);
    assert_snapshot!(story.plain(&ran.remarks()), @"
    note: whether a change can have caused the failures was not looked at: this is not a git repository
    exit 1: one real failure
    ");
}

// -- Speech that is not understood --------------------------------------------------------------------------------------

#[test]
fn another_version_of_the_protocol_is_refused_in_words() {
    let (story, ran) = follow(json!([{ "hello": { "protocol": 99 } }, { "hang": true }]));
    assert_snapshot!(story.plain(&ran.exits(4).remarks()), @r"
    internal: the agent speaks version 99 of the protocol and this unflake version 1
    exit 4: the tests could not be run
    ");
}

#[test]
fn lines_that_are_no_messages_are_noted_and_passed_over() {
    let long = format!("{{\"event\":\"note\",\"text\":\"{}\"}}\n", "x".repeat(5 << 20));
    let (story, ran) = follow(json!([
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
    let ran = ran.exits(0);
    assert_eq!(ran.attempts(), ["a passed suite process"]);
    assert_snapshot!(story.plain(&ran.remarks()), @r#"
    note: environment 0 sent not a message of the protocol (expected ident at line 1 column 2): not json; it is ignored
    note: environment 0 sent not a message of the protocol (unknown variant `dance`, expected one of `hello`, `note`, `problem`, `listed`, `ready`, `start`, `done`, `stopped`, `idle`, `forked`, `unforkable`, `remembered`, `changed`, `restored`, `written`, `sites`, `filtering`, `reaped`, `bye` at line 1 column 16): {"event":"dance"}; it is ignored
    note: environment 0 sent not a message of the protocol (EOF while parsing a value at line 2 column 0): ; it is ignored
    note: environment 0 sent a message longer than 4 MiB; it is ignored
    exit 0: everything passed
    "#);
}

#[test]
fn a_connection_that_begins_with_something_else_is_not_listened_to() {
    let (story, ran) = follow(json!([{ "send_raw": "GET / HTTP/1.1\r\n\r\n" }, { "expect": "end" }, { "exit": 9 }]));
    assert_snapshot!(story.plain(&ran.exits(4).remarks()), @"
    start: no test runner showed itself in the command before it ended (the process left with exit code 9)
    It has to lead to pytest, 6 or later; `env -i`, and `-E` or `-I` of Python, keep unflake out.
    Or it has to be `cargo test`, `cargo nextest run`, `ctest` or a GoogleTest program itself.
    For other runners, `--results` and `--one-test` tell unflake how to use them.
    exit 4: the tests could not be run
    ");
}

// -- Before there are tests ---------------------------------------------------------------------------------------------

#[test]
fn an_agent_that_dies_before_it_lists_is_told_with_what_it_printed() {
    let (story, ran) = follow(json!([{ "hello": {} }, { "print_error": "out of cheese" }, { "signal": 6 }]));
    assert_snapshot!(story.plain(&ran.exits(4).remarks()), @r"
    start: the runner ended before it had listed its tests (killed by SIGABRT)
    out of cheese
    exit 4: the tests could not be run
    ");
}

#[test]
fn an_agent_that_never_lists_can_be_stopped() {
    let story = story(json!([{ "hello": {} }, { "send_raw": "" }, { "hang": "deaf" }]));
    let running = story.running("", &command()).start();
    std::thread::sleep(std::time::Duration::from_millis(500));
    running.signal(Signal::SIGINT);
    std::thread::sleep(std::time::Duration::from_millis(200));
    running.signal(Signal::SIGINT);
    running.end().exits(130);
}

#[test]
fn a_problem_before_the_tests_is_the_answer() {
    let (story, ran) = follow(json!([
        { "hello": {} },
        { "send": { "event": "problem", "kind": "collection", "place": "t.txt", "text": "cannot be read" } },
        { "exit": 2 },
    ]));
    assert_snapshot!(story.plain(&ran.exits(4).remarks()), @r"
    collection: cannot be read
    exit 4: the tests could not be run
    ");
}

#[test]
fn an_agent_without_tests_has_no_tests() {
    let ran = serve_with("", json!({ "tests": {}, "deselected": 2 })).exits(5);
    assert_eq!(ran.json()["deselected"], 2);
}

// -- Stops, copies and jobs ---------------------------------------------------------------------------------------------

#[test]
fn a_runner_that_stops_by_itself_leaves_tests_and_says_why() {
    let ran = serve("", json!({ "a": "stop", "b": "passed", "c": "passed" })).exits(3);
    assert_eq!(ran.list("left"), ["b", "c"]);
    assert_snapshot!(ran.remarks(), @r"
    left: the script says so
    exit 3: 2 tests did not run
    ");
}

#[test]
fn where_copies_are_unsafe_new_processes_take_their_place() {
    let script = json!({ "tests": { "a": "failed" }, "unforkable": "a thread is running" });
    let ran = serve_with("", script).exits(1);
    assert_eq!(ran.attempts().last().unwrap(), "a failed fresh process");
    assert_eq!(ran.finding("a")["evidence"]["fresh"], "process");
    assert_eq!(ran.finding("a")["sentence"], "failed 4 of 4 times, in a new process too");
    assert_snapshot!(ran.remarks(), @"
    note: fresh environments are new processes, which takes longer: a thread is running
    note: whether a change can have caused the failures was not looked at: this is not a git repository
    exit 1: one real failure
    ");
}

#[test]
fn what_a_copy_leaves_running_ends_with_it() {
    serve("--immediate 0 --at-end 0 --fresh 2", json!({ "a": ["failed", "pgroup"], "b": "pgroup" })).exits(1);
}

#[test]
fn an_agent_that_forgets_to_say_goodbye_is_forgiven() {
    serve_with("", json!({ "tests": { "a": "passed" }, "bye": false })).exits(0);
}

#[test]
fn fresh_environments_run_side_by_side_as_many_as_wanted() {
    let most_at_once = |jobs: u32| {
        let script = json!({ "tests": { "a": "failed", "b": "failed", "c": "failed" }, "seconds": 0.3 });
        let ran = serve_with(&format!("--immediate 0 --at-end 0 --jobs {jobs}"), script).exits(1);
        let spans: Vec<(i64, i64)> = ran
            .list("attempts")
            .iter()
            .filter(|attempt| attempt["purpose"] == "fresh")
            .map(|attempt| (attempt["started"].as_i64().unwrap(), attempt["seconds"].as_f64().unwrap()))
            .map(|(started, seconds)| (started, started + (seconds * 1e6) as i64))
            .collect();
        assert_eq!(spans.len(), 3);
        let at = |moment: i64| spans.iter().filter(|(start, end)| (*start..*end).contains(&moment)).count();
        spans.iter().map(|(start, _)| at(*start)).max().unwrap()
    };
    assert_eq!(most_at_once(1), 1);
    assert_eq!(most_at_once(3), 3);
}
