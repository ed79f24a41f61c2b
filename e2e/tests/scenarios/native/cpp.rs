//! GoogleTest and CTest.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use e2e::{RunOutput, Sandbox, unflake};
use insta::assert_snapshot;
use nix::sys::signal::Signal;
use quick_xml::events::Event;
use quick_xml::{Reader, XmlVersion};

use super::{as_lines, build_cache, elements, outcomes, repeat, reported, text, write};

// -- GoogleTest -----------------------------------------------------------------------------------

const SHOP_TEST: &str = include_str!("shop_test.cc");

/// The test program, compiled once with these options.
fn compiled(options: &[&str]) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    (SHOP_TEST, options).hash(&mut hasher);
    let place = build_cache().join(format!("shop_test-{:016x}", hasher.finish()));
    let program = place.join("shop_test");
    if !program.is_file() {
        write(&place.join("shop_test.cc"), SHOP_TEST);
        let mut compiler = Command::new("g++");
        compiler.args(["-std=c++14", "-g", "shop_test.cc", "-lgtest", "-lpthread", "-o", "making"]).args(options);
        let output = compiler.current_dir(&place).output().unwrap_or_else(|error| {
            panic!("g++: {error}; `python3 e2e/setup.py` installs it");
        });
        assert!(output.status.success(), "{}", text(&output));
        fs::rename(place.join("making"), &program).unwrap();
    }
    program
}

/// A project with the test program.
fn shop() -> Sandbox {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    with_program(PROGRAM.get_or_init(|| compiled(&[])))
}

fn with_program(program: &Path) -> Sandbox {
    let sandbox = Sandbox::new();
    std::os::unix::fs::symlink(program, sandbox.project().join("shop_test")).unwrap();
    sandbox
}

fn filtered(filter: &str) -> String {
    format!("./shop_test --gtest_filter={filter}")
}

/// The outcomes in GoogleTest's own report.
fn outcomes_of_googletest(sandbox: &Sandbox, words: &str) -> BTreeMap<String, String> {
    let output = sandbox.command("sh").args(["-c", &format!("{words} --gtest_output=json:own.json")]).output().unwrap();
    let report = fs::read(sandbox.project().join("own.json")).unwrap_or_else(|_| panic!("{}", text(&output)));
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    let mut found = BTreeMap::new();
    for suite in report["testsuites"].as_array().unwrap() {
        for test in suite["testsuite"].as_array().unwrap() {
            let outcome = match test["result"].as_str().unwrap() {
                _ if test.get("failures").is_some() => "failed",
                "COMPLETED" => "passed",
                _ => "skipped",
            };
            let word = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
            found.insert(format!("shop_test {}.{}", word(&suite["name"]), word(&test["name"])), outcome.to_owned());
        }
    }
    found
}

#[test]
fn outcomes_match_plain_googletest() {
    for (filter, more) in [
        ("'-Flaky*:LastFlaky*:Crash*:Hang*:Memory*:Flood*:SetUpFails*:TearDownFails*'", ""),
        ("'Plain.*-*Fails:*NoText'", " --gtest_also_run_disabled_tests"),
        ("'Some/*:Named/*a:Sized/0.*'", " --gtest_shuffle"),
    ] {
        let sandbox = shop();
        let words = filtered(filter) + more;
        let expected = outcomes_of_googletest(&sandbox, &words);
        let unquoted = words.replace('\'', "");
        let result = sandbox.run("--immediate 0 --at-end 0 --fresh 0", &unquoted).expect_exit(1);
        assert_eq!(as_lines(&outcomes(&result)), as_lines(&expected), "{words}");
    }
}

#[test]
fn googletest_sharding_is_honored() {
    let mut all = 0;
    for index in ["0", "1"] {
        let sandbox = shop();
        let words = filtered("Basket*:Even*:Some*:Plain.Passes:Plain.*Is*:Last.*");
        let run = |program: &str| format!("GTEST_TOTAL_SHARDS=2 GTEST_SHARD_INDEX={index} {program}");
        let mut expected = outcomes_of_googletest(
            &sandbox,
            &run(&words.replace("--gtest_filter=", "--gtest_filter=\"").replace("Last.*", "Last.*\"")),
        );
        expected.retain(|_, outcome| outcome != "skipped");
        let call = sandbox.run_invocation("", &words).env("GTEST_TOTAL_SHARDS", "2").env("GTEST_SHARD_INDEX", index);
        let mut found = outcomes(&call.finish());
        found.retain(|_, outcome| outcome != "skipped");
        assert_eq!(as_lines(&found), as_lines(&expected));
        all += found.len();
    }
    assert_eq!(all, 8);
}

/// `HasSoldNothing` fails in the orders in which it comes second.
#[test]
fn a_shuffled_googletest_run_has_the_plain_order() {
    let mut exits = Vec::new();
    for seed in 1..=6 {
        let sandbox = shop();
        let words = format!("{} --gtest_shuffle --gtest_random_seed={seed}", filtered("State.*"));
        let expected = outcomes_of_googletest(&sandbox, &words);
        let result = sandbox.run("--immediate 0 --at-end 0 --fresh 0", &words);
        assert_eq!(as_lines(&outcomes(&result)), as_lines(&expected), "{words}");
        exits.push(result.code);
    }
    assert!(exits.contains(&0) && exits.contains(&1), "{exits:?}");
}

#[track_caller]
fn check_refused(result: RunOutput, option: &str) {
    let result = result.expect_exit(2);
    assert!(result.stderr.contains(&format!("error: {option} is not supported: ")), "{}", result.stderr);
    assert!(result.stderr.contains("\nhint: leave it out"), "{}", result.stderr);
}

#[test]
fn options_that_change_what_runs_are_refused() {
    for (words, name) in [
        (filtered("Last.*") + " --gtest_repeat=2", "--gtest_repeat=2"),
        (filtered("Last.*") + " --gtest_fail_fast", "--gtest_fail_fast"),
        ("ctest --test-dir build --repeat until-pass:3".to_owned(), "--repeat"),
        ("ctest --test-dir build --stop-on-failure".to_owned(), "--stop-on-failure"),
    ] {
        check_refused(shop().run("", &words), name);
    }
    let call = shop().run_invocation("", &filtered("Last.*")).env("GTEST_REPEAT", "2").finish();
    check_refused(call, "--gtest_repeat=2");
}

#[test]
fn a_googletest_run_in_the_terminal_with_repro_commands() {
    let sandbox = shop();
    let result = sandbox.run("", &filtered("Plain*:Basket*:Some*:Named*:Sized*:*DeathTest.Dies")).expect_exit(1);
    assert_snapshot!(sandbox.redact(&result.stdout), @r#"
    16 tests, 6 real failures, 2 skipped, [TIME]

    REAL     shop_test Plain.Fails
             failed 5 of 5 attempts, including 2 new processes with other seeds
               shop_test.cc:23  Failure
               │ Expected equality of these values:
               │   2
               │   3
               │ two cost three
               captured stdout:
               │ two, please
             reproduce  ./shop_test --gtest_filter=Plain.Fails

    REAL     shop_test Plain.Throws
             failed 5 of 5 attempts, including 2 new processes with other seeds
               exception
               │ C++ exception with description "no change" thrown in the test body.
             reproduce  ./shop_test --gtest_filter=Plain.Throws

    REAL     shop_test Plain.SaysWhatIsNoText
             failed 5 of 5 attempts, including 2 new processes with other seeds
               shop_test.cc:30  Failure
               │ Failed
               │ \xff
               captured stdout:
               │ \xff\xfe
             reproduce  ./shop_test --gtest_filter=Plain.SaysWhatIsNoText

    REAL     shop_test Sized/1.IsOne
             failed 5 of 5 attempts, including 2 new processes with other seeds
               shop_test.cc:55  Failure
               │ Expected equality of these values:
               │   sizeof(TypeParam)
               │     Which is: 4
               │   1u
               │     Which is: 1
             reproduce  ./shop_test --gtest_filter=Sized/1.IsOne

    REAL     shop_test Some/Even.IsEven/2
             failed 5 of 5 attempts, including 2 new processes with other seeds
               shop_test.cc:45  Failure
               │ Expected equality of these values:
               │   GetParam() % 2
               │     Which is: 1
               │   0
             reproduce  ./shop_test --gtest_filter=Some/Even.IsEven/2

    REAL     shop_test Named/Word.IsShort/long
             failed 5 of 5 attempts, including 2 new processes with other seeds
               shop_test.cc:48  Failure
               │ Expected: (strlen(GetParam())) < (4u), actual: 4 vs 4
             reproduce  ./shop_test --gtest_filter=Named/Word.IsShort/long

    exit 1: 6 real failures
    "#);
    repeat(&result, || sandbox.command("sh"));
}

#[test]
fn the_remaining_tests_run_after_a_crash_and_a_hang() {
    let sandbox = shop();
    let options = "--timeout 3 --immediate 0 --at-end 0 --fresh 0 --junit report.xml";
    let result = sandbox.run(options, &filtered("Crash*:Hang*:Last.*")).expect_exit(1);
    assert_snapshot!(as_lines(&outcomes(&result)), @r#"
    shop_test Crash.After: passed
    shop_test Crash.Before: passed
    shop_test Crash.Dies: crashed
    shop_test Crash.Leaves: crashed
    shop_test Hang.After: passed
    shop_test Hang.Before: passed
    shop_test Hang.Hangs: timed-out
    shop_test Last.Passes: passed
    "#);
    let counts = elements(&sandbox.project().join("report.xml"));
    assert_eq!((counts["testcase"], counts.values().sum::<usize>()), (8, 11), "{counts:?}");
    assert_eq!(
        result.finding("shop_test Crash.Dies")["sentence"],
        "crashed (killed by SIGSEGV) in its only attempt; fresh environments are off (--fresh 0)"
    );
}

#[test]
fn sanitizer_reports_are_shown() {
    let sandbox = with_program(&compiled(&["-fsanitize=address"]));
    let result = sandbox.run("", &filtered("Memory*")).expect_exit(1);
    assert_eq!(result.findings(), ["shop_test Memory.IsReadAfterItsEnd real"]);
    assert!(reported(&result).contains(": AddressSanitizer: heap-use-after-free"), "{}", reported(&result));
    assert_eq!(outcomes(&result)["shop_test Memory.After"], "passed");
    repeat(&result, || sandbox.command("sh"));
}

#[test]
fn failures_outside_of_tests_fail_the_run() {
    let filter = |filter: &str| reported(&shop().run("", &filtered(filter)).expect_exit(1));
    assert_snapshot!(filter("SetUpFails.*"), @"shop_test SetUpFails.Two real: shared-tear-down: Failed | no shelf");
    assert_snapshot!(filter("SetUpFails.*:Last.*"), @"shop_test Last.Passes real: shared-tear-down: Failed | no shelf");
    assert_snapshot!(filter("TearDownFails.*"), @"shop_test TearDownFails.Two real: shared-tear-down: Failed | the shelf is dirty");
    assert_snapshot!(filter("TearDownFails.*:Last.*"), @"shop_test Last.Passes real: shared-tear-down: Failed | the shelf is dirty");
    let world = |what: &str| {
        reported(&shop().run_invocation("", &filtered("Basket*:Last.*")).env("SHOP", what).finish().expect_exit(1))
    };
    assert_snapshot!(world("set-up"), @"shop_test Last.Passes real: shared-tear-down: Failed | the world is not there");
    assert_snapshot!(world("tear-down"), @"shop_test Last.Passes real: shared-tear-down: Failed | the world is dirty");
    assert_snapshot!(world("dies"), @"shop_test Last.Passes real: shared-tear-down: after its last test: killed by SIGABRT");
    assert_snapshot!(world("exit-1"), @"shop_test Last.Passes real: shared-tear-down: no test failed, but the program exited with code 1: a tear-down, or a failure outside of tests");
    assert_snapshot!(world("exit-3"), @"shop_test Last.Passes real: shared-tear-down: after its last test: the process exited with code 3");
}

#[test]
fn a_flaky_test_does_not_hide_a_failure_outside_of_tests() {
    for flaky in ["Flaky.*", "LastFlaky.*"] {
        let result = shop().run("", &filtered(&format!("TearDownFails.*:{flaky}"))).expect_exit(1);
        assert!(reported(&result).contains("the shelf is dirty"), "{}", reported(&result));
    }
    let result = shop().run("", &filtered("Flaky.*:Last.*")).expect_exit(0);
    assert!(result.findings()[0].starts_with("shop_test Flaky.FailsTheFirstTime flaky-"), "{:?}", result.findings());
}

#[test]
fn state_in_a_process_is_distinguished_from_chance() {
    let sandbox = shop();
    let result = sandbox.run("", &filtered("State.*")).expect_exit(0);
    assert_eq!(result.findings(), ["shop_test State.HasSoldNothing flaky-state-dependent"]);
    repeat(&result, || sandbox.command("sh"));
}

#[test]
fn a_flood_of_output_does_not_grow_memory() {
    let sandbox = shop();
    // Each process may use this many KiB of data; the flood has 100 MiB.
    let line = format!("ulimit -d 50000; exec \"$0\" run --json ../report.json -- {}", filtered("Flood.*"));
    let output = sandbox.command("sh").args(["-c", &line]).arg(unflake()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let found: serde_json::Value =
        serde_json::from_slice(&fs::read(sandbox.root().join("report.json")).unwrap()).unwrap();
    let findings = found["findings"].as_array().unwrap();
    assert_eq!((findings.len(), findings[0]["kind"].as_str()), (1, Some("real")));
    assert_eq!(found["attempts"][0]["failure"]["message"], "Failed\nat the end of the flood");
    assert!(output.stdout.len() < 100_000, "{}", output.stdout.len());
}

#[test]
fn ctrl_c_in_a_googletest_run_leaves_nothing() {
    let sandbox = shop();
    let running = sandbox.run_invocation("", &filtered("Hang.*")).start();
    running.wait_for("here");
    running.signal(Signal::SIGINT);
    let result = running.finish().expect_exit(130);
    assert!(result.stdout.contains("interrupted after 1 of 3 tests"), "{}", result.stdout);
    assert_eq!(sandbox.stored_attempts(), ["shop_test Hang.Before passed"]);
}

// -- CTest ----------------------------------------------------------------------------------------

const TESTS: &str = include_str!("tests.cmake");

fn configured() -> Sandbox {
    let sandbox = shop().file("CMakeLists.txt", TESTS);
    let output = sandbox.command("cmake").args(["-S", ".", "-B", "build", "-G", "Ninja"]).output();
    let output = output.unwrap_or_else(|error| panic!("cmake: {error}; `python3 e2e/setup.py` installs it"));
    assert!(output.status.success(), "{}", text(&output));
    sandbox
}

#[test]
fn outcomes_match_plain_ctest_and_failures_reproduce() {
    let sandbox = configured();
    let words = "ctest --test-dir build -E waits|first_time";
    let result = sandbox.run("", words).expect_exit(1);
    sandbox
        .command("sh")
        .args(["-c", &format!("{} --output-junit own.xml", words.replace("waits|first_time", "'waits|first_time'"))])
        .output()
        .unwrap();
    let mut reader = Reader::from_file(sandbox.project().join("build/own.xml")).unwrap();
    let (mut buffer, mut expected) = (Vec::new(), BTreeMap::new());
    loop {
        match reader.read_event_into(&mut buffer).unwrap() {
            Event::Start(start) if start.name().as_ref() == b"testcase" => {
                let value = |name: &str| {
                    start
                        .try_get_attribute(name)
                        .unwrap()
                        .unwrap()
                        .normalized_value(XmlVersion::Implicit1_0)
                        .unwrap()
                        .into_owned()
                };
                let outcome = match value("status").as_str() {
                    "run" => "passed",
                    "fail" => "failed",
                    _ => "skipped",
                };
                expected.insert(value("name"), outcome.to_owned());
            }
            Event::Eof => break,
            _ => {}
        }
        buffer.clear();
    }
    let mut found = outcomes(&result);
    assert_snapshot!(as_lines(&found), @r#"
    closes: passed
    crashes: crashed
    fails: failed
    googletest: failed
    has (odd) [name]+: failed
    has_environment: passed
    is_disabled: skipped
    is_in_its_directory: passed
    is_missing: failed
    opens: passed
    passes: passed
    says_nothing: failed
    says_skip: skipped
    says_warning: failed
    says_well: passed
    says_well_and_crashes: crashed
    sells: passed
    sells_wrongly: failed
    skips: skipped
    too_slow: timed-out
    will_fail: passed
    will_fail_and_crashes: crashed
    will_fail_and_does_not: failed
    will_fail_and_is_slow: timed-out
    "#);
    for outcome in found.values_mut().filter(|outcome| ["crashed", "timed-out"].contains(&outcome.as_str())) {
        *outcome = "failed".to_owned();
    }
    // CTest reports "not run" for what it could not start.
    expected.insert("is_missing".to_owned(), "failed".to_owned());
    assert_eq!(as_lines(&found), as_lines(&expected));
    repeat(&result, || sandbox.command("sh"));
}

#[test]
fn ctest_schedules_at_random_where_asked() {
    let sandbox = configured();
    let names = |words: &str| {
        let result = sandbox.run("--immediate 0 --at-end 0 --fresh 0", words);
        result.list("attempts").iter().map(|attempt| attempt["test"].to_string()).collect::<Vec<_>>()
    };
    let plain = names("ctest --test-dir build -E waits|slow");
    // By chance alone two of these orders are the same less than once in 10^20 times.
    let shuffled = names("ctest --test-dir build -E waits|slow --schedule-random");
    assert_ne!(plain, shuffled);
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    assert_eq!(sorted(plain), sorted(shuffled));
}

#[test]
fn a_ctest_run_in_the_terminal() {
    let sandbox = configured();
    let result = sandbox.run("", "ctest --test-dir build -R ^(fails|passes|googletest)").expect_exit(1);
    assert_snapshot!(sandbox.redact(&result.stdout), @"
    4 tests, 2 real failures, 1 flaky, [TIME]

    REAL     fails
             failed 5 of 5 attempts, including 2 new processes with other seeds
               Failed
               │ exited with code 3: two, please
               captured stdout:
               │ two, please
             reproduce  ctest --test-dir build --output-on-failure -R '^fails$'

    REAL     googletest
             failed 5 of 5 attempts, including 2 new processes with other seeds
               shop_test.cc:23  Failure
               │ Expected equality of these values:
               │   2
               │   3
               │ two cost three
               captured stdout:
               │ two, please
             reproduce  ctest --test-dir build --output-on-failure -R '^googletest$'

    FLAKY    fails_the_first_time
             random: 1 of 2 attempts failed, passed in an immediate retry in a new process
             reproduce  ctest --test-dir build --output-on-failure -R '^fails_the_first_time$'  (fails sometimes)
             next       unflake why fails_the_first_time  (find the root cause)

    exit 1: 2 real failures
    ");
    let history = sandbox.unflake(["history", "show", "googletest"]).finish().expect_exit(0).stdout;
    assert!(history.contains("googletest") && history.contains("failed"), "{history}");
}

#[test]
fn ctrl_c_in_a_ctest_run_leaves_nothing() {
    let sandbox = configured();
    let running = sandbox.run_invocation("", "ctest --test-dir build -R passes|waits").start();
    running.wait_for("here");
    running.signal(Signal::SIGINT);
    let result = running.finish().expect_exit(130);
    assert!(result.stdout.contains("interrupted after 1 of 2 tests"), "{}", result.stdout);
}
