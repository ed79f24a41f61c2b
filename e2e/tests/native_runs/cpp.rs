//! GoogleTest and CTest.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use e2e::{Story, unflake};
use insta::assert_snapshot;
use nix::sys::signal::Signal;
use quick_xml::events::Event;
use quick_xml::{Reader, XmlVersion};

use crate::{as_lines, elements, kept, outcomes, repeat, text, told, write};

// -- GoogleTest ------------------------------------------------------------------------------------------------------------

const SHOP_TEST: &str = include_str!("shop_test.cc");

/// The program, compiled once with these options.
fn compiled(options: &[&str]) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    (SHOP_TEST, options).hash(&mut hasher);
    let place = kept().join(format!("shop_test-{:016x}", hasher.finish()));
    let program = place.join("shop_test");
    if !program.is_file() {
        write(&place.join("shop_test.cc"), SHOP_TEST);
        let mut compiler = Command::new("g++");
        compiler.args(["-std=c++14", "-g", "shop_test.cc", "-lgtest", "-lpthread", "-o", "making"]).args(options);
        let output = compiler.current_dir(&place).output().unwrap_or_else(|error| {
            panic!("g++ cannot be started ({error}): `python3 e2e/setup.py` installs it");
        });
        assert!(output.status.success(), "{}", text(&output));
        fs::rename(place.join("making"), &program).unwrap();
    }
    program
}

/// A project with the program in it.
fn shop() -> Story {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    with_program(PROGRAM.get_or_init(|| compiled(&[])))
}

fn with_program(program: &Path) -> Story {
    let story = Story::new();
    std::os::unix::fs::symlink(program, story.project().join("shop_test")).unwrap();
    story
}

fn filtered(filter: &str) -> String {
    format!("./shop_test --gtest_filter={filter}")
}

/// What GoogleTest itself writes of every test.
fn outcomes_of_googletest(story: &Story, words: &str) -> BTreeMap<String, String> {
    let output = story.command("sh").args(["-c", &format!("{words} --gtest_output=json:own.json")]).output().unwrap();
    let report = fs::read(story.project().join("own.json")).unwrap_or_else(|_| panic!("{}", text(&output)));
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
fn googletest_and_unflake_agree_test_for_test() {
    for (filter, more) in [
        ("'-Flaky*:LastFlaky*:Crash*:Hang*:Memory*:Flood*:SetUpFails*:TearDownFails*'", ""),
        ("'Plain.*-*Fails:*NoText'", " --gtest_also_run_disabled_tests"),
        ("'Some/*:Named/*a:Sized/0.*'", " --gtest_shuffle"),
    ] {
        let story = shop();
        let words = filtered(filter) + more;
        let expected = outcomes_of_googletest(&story, &words);
        let unquoted = words.replace('\'', "");
        let ran = story.run("--immediate 0 --at-end 0 --fresh 0", &unquoted).exits(1);
        assert_eq!(as_lines(&outcomes(&ran)), as_lines(&expected), "{words}");
    }
}

#[test]
fn shards_of_googletest_are_the_same_shards() {
    let mut all = 0;
    for index in ["0", "1"] {
        let story = shop();
        let words = filtered("Basket*:Even*:Some*:Plain.Passes:Plain.*Is*:Last.*");
        let run = |program: &str| format!("GTEST_TOTAL_SHARDS=2 GTEST_SHARD_INDEX={index} {program}");
        let mut expected = outcomes_of_googletest(
            &story,
            &run(&words.replace("--gtest_filter=", "--gtest_filter=\"").replace("Last.*", "Last.*\"")),
        );
        expected.retain(|_, outcome| outcome != "skipped");
        let call = story.running("", &words).env("GTEST_TOTAL_SHARDS", "2").env("GTEST_SHARD_INDEX", index);
        let mut found = outcomes(&call.end());
        found.retain(|_, outcome| outcome != "skipped");
        assert_eq!(as_lines(&found), as_lines(&expected));
        all += found.len();
    }
    assert_eq!(all, 8);
}

#[test]
fn a_run_of_googletest_is_told_in_words_and_shown_again() {
    let story = shop();
    let ran = story.run("", &filtered("Plain*:Basket*:Some*:Named*:Sized*:*DeathTest.Dies")).exits(1);
    assert_snapshot!(story.plain(&ran.stdout), @r#"
      16 tests · 6 real failures · 2 skipped · [TIME]

    ✗ REAL   shop_test Plain.Fails
             failed 3 of 3 times, in a new process too
               shop_test.cc:23  Failure
               │ Expected equality of these values:
               │   2
               │   3
               │ two cost three
               it printed to stdout:
               │ two, please
             see it yourself  ./shop_test --gtest_filter=Plain.Fails

    ✗ REAL   shop_test Plain.Throws
             failed 3 of 3 times, in a new process too
               exception
               │ C++ exception with description "no change" thrown in the test body.
             see it yourself  ./shop_test --gtest_filter=Plain.Throws

    ✗ REAL   shop_test Plain.SaysWhatIsNoText
             failed 3 of 3 times, in a new process too
               shop_test.cc:30  Failure
               │ Failed
               │ \xff
               it printed to stdout:
               │ \xff\xfe
             see it yourself  ./shop_test --gtest_filter=Plain.SaysWhatIsNoText

    ✗ REAL   shop_test Sized/1.IsOne
             failed 3 of 3 times, in a new process too
               shop_test.cc:55  Failure
               │ Expected equality of these values:
               │   sizeof(TypeParam)
               │     Which is: 4
               │   1u
               │     Which is: 1
             see it yourself  ./shop_test --gtest_filter=Sized/1.IsOne

    ✗ REAL   shop_test Some/Even.IsEven/2
             failed 3 of 3 times, in a new process too
               shop_test.cc:45  Failure
               │ Expected equality of these values:
               │   GetParam() % 2
               │     Which is: 1
               │   0
             see it yourself  ./shop_test --gtest_filter=Some/Even.IsEven/2

    ✗ REAL   shop_test Named/Word.IsShort/long
             failed 3 of 3 times, in a new process too
               shop_test.cc:48  Failure
               │ Expected: (strlen(GetParam())) < (4u), actual: 4 vs 4
             see it yourself  ./shop_test --gtest_filter=Named/Word.IsShort/long

    exit 1: 6 real failures
    "#);
    repeat(&ran, || story.command("sh"));
}

#[test]
fn the_rest_goes_on_after_a_crash_and_after_a_hang() {
    let story = shop();
    let options = "--timeout 1 --immediate 0 --at-end 0 --fresh 0 --junit report.xml";
    let ran = story.run(options, &filtered("Crash*:Hang*:Last.*")).exits(1);
    assert_snapshot!(as_lines(&outcomes(&ran)), @r#"
    shop_test Crash.After: passed
    shop_test Crash.Before: passed
    shop_test Crash.Dies: crashed
    shop_test Crash.Leaves: crashed
    shop_test Hang.After: passed
    shop_test Hang.Before: passed
    shop_test Hang.Hangs: timed-out
    shop_test Last.Passes: passed
    "#);
    let counts = elements(&story.project().join("report.xml"));
    assert_eq!((counts["testcase"], counts.values().sum::<usize>()), (8, 11), "{counts:?}");
    assert_eq!(ran.finding("shop_test Crash.Dies")["sentence"], "crashed (killed by SIGSEGV) the one time it ran");
}

#[test]
fn what_a_sanitizer_finds_is_told() {
    let story = with_program(&compiled(&["-fsanitize=address"]));
    let ran = story.run("", &filtered("Memory*")).exits(1);
    assert_eq!(ran.findings(), ["shop_test Memory.IsReadAfterItsEnd real"]);
    assert!(told(&ran).contains(": AddressSanitizer: heap-use-after-free"), "{}", told(&ran));
    assert_eq!(outcomes(&ran)["shop_test Memory.After"], "passed");
    repeat(&ran, || story.command("sh"));
}

#[test]
fn failures_outside_of_tests_are_never_green() {
    let filter = |filter: &str| told(&shop().run("", &filtered(filter)).exits(1));
    assert_snapshot!(filter("SetUpFails.*"), @"shop_test SetUpFails.Two real: shared-tear-down: Failed | no shelf");
    assert_snapshot!(filter("SetUpFails.*:Last.*"), @"shop_test Last.Passes real: shared-tear-down: Failed | no shelf");
    assert_snapshot!(filter("TearDownFails.*"), @"shop_test TearDownFails.Two real: shared-tear-down: Failed | the shelf is dirty");
    assert_snapshot!(filter("TearDownFails.*:Last.*"), @"shop_test Last.Passes real: shared-tear-down: Failed | the shelf is dirty");
    let world = |what: &str| told(&shop().running("", &filtered("Basket*:Last.*")).env("SHOP", what).end().exits(1));
    assert_snapshot!(world("set-up"), @"shop_test Last.Passes real: shared-tear-down: Failed | the world is not there");
    assert_snapshot!(world("tear-down"), @"shop_test Last.Passes real: shared-tear-down: Failed | the world is dirty");
    assert_snapshot!(world("dies"), @"shop_test Last.Passes real: shared-tear-down: after its last test: killed by SIGABRT");
    assert_snapshot!(world("exit-1"), @"shop_test Last.Passes real: shared-tear-down: no test failed, but the program left with exit code 1: a tear-down, or a failure outside of tests");
    assert_snapshot!(world("exit-3"), @"shop_test Last.Passes real: shared-tear-down: after its last test: the process left with exit code 3");
}

#[test]
fn a_failure_outside_of_tests_is_not_hidden_by_a_flaky_test() {
    for flaky in ["Flaky.*", "LastFlaky.*"] {
        let ran = shop().run("", &filtered(&format!("TearDownFails.*:{flaky}"))).exits(1);
        assert!(told(&ran).contains("the shelf is dirty"), "{}", told(&ran));
    }
    let ran = shop().run("", &filtered("Flaky.*:Last.*")).exits(0);
    assert!(ran.findings()[0].starts_with("shop_test Flaky.FailsTheFirstTime flaky-"), "{:?}", ran.findings());
}

#[test]
fn state_in_a_process_is_told_from_chance() {
    let story = shop();
    let ran = story.run("", &filtered("State.*")).exits(0);
    assert_eq!(ran.findings(), ["shop_test State.HasSoldNothing flaky-state-dependent"]);
    repeat(&ran, || story.command("sh"));
}

#[test]
fn a_flood_of_output_needs_no_more_memory() {
    let story = shop();
    // Everything below has at most this many kibibytes each; the flood has a hundred mebibytes.
    let line = format!("ulimit -d 50000; exec \"$0\" run --json ../found.json -- {}", filtered("Flood.*"));
    let output = story.command("sh").args(["-c", &line]).arg(unflake()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let found: serde_json::Value =
        serde_json::from_slice(&fs::read(story.place().join("found.json")).unwrap()).unwrap();
    let findings = found["findings"].as_array().unwrap();
    assert_eq!((findings.len(), findings[0]["kind"].as_str()), (1, Some("real")));
    assert_eq!(found["attempts"][0]["failure"]["message"], "Failed\nat the end of the flood");
    assert!(output.stdout.len() < 100_000, "{}", output.stdout.len());
}

#[test]
fn ctrl_c_in_a_googletest_program_leaves_nothing() {
    let story = shop();
    let running = story.running("", &filtered("Hang.*")).start();
    running.wait_for("here");
    running.signal(Signal::SIGINT);
    let ran = running.end().exits(130);
    assert!(ran.stdout.contains("stopped by you: 1 of 3 tests had run"), "{}", ran.stdout);
    assert_eq!(story.remembered(), ["shop_test Hang.Before passed"]);
}

// -- CTest -----------------------------------------------------------------------------------------------------------------

const TESTS: &str = include_str!("tests.cmake");

fn configured() -> Story {
    let story = shop().with("CMakeLists.txt", TESTS);
    let output = story.command("cmake").args(["-S", ".", "-B", "build", "-G", "Ninja"]).output();
    let output = output.unwrap_or_else(|error| panic!("cmake: {error}; `python3 e2e/setup.py` installs it"));
    assert!(output.status.success(), "{}", text(&output));
    story
}

#[test]
fn ctest_and_unflake_agree_and_what_failed_is_shown_again() {
    let story = configured();
    let words = "ctest --test-dir build -E waits|first_time";
    let ran = story.run("", words).exits(1);
    story
        .command("sh")
        .args(["-c", &format!("{} --output-junit own.xml", words.replace("waits|first_time", "'waits|first_time'"))])
        .output()
        .unwrap();
    let mut reader = Reader::from_file(story.project().join("build/own.xml")).unwrap();
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
    let mut found = outcomes(&ran);
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
    // It says "not run" of what it could not start.
    expected.insert("is_missing".to_owned(), "failed".to_owned());
    assert_eq!(as_lines(&found), as_lines(&expected));
    repeat(&ran, || story.command("sh"));
}

#[test]
fn a_run_of_ctest_is_told_in_words() {
    let story = configured();
    let ran = story.run("", "ctest --test-dir build -R ^(fails|passes|googletest)").exits(1);
    assert_snapshot!(story.plain(&ran.stdout), @"
      4 tests · 2 real failures · 1 flaky · [TIME]

    ✗ REAL   fails
             failed 3 of 3 times, in a new process too
               Failed
               │ left with exit code 3: two, please
               it printed to stdout:
               │ two, please
             see it yourself  ctest --test-dir build --output-on-failure -R '^fails$'

    ✗ REAL   googletest
             failed 3 of 3 times, in a new process too
               shop_test.cc:23  Failure
               │ Expected equality of these values:
               │   2
               │   3
               │ two cost three
               it printed to stdout:
               │ two, please
             see it yourself  ctest --test-dir build --output-on-failure -R '^googletest$'

    ≈ FLAKY  fails_the_first_time
             passed when run again at once, in a new process
             see it yourself  ctest --test-dir build --output-on-failure -R '^fails_the_first_time$'

    exit 1: 2 real failures
    ");
    let history = story.unflake(["history", "googletest"]).end().exits(0).stdout;
    assert!(history.contains("googletest") && history.contains("failed"), "{history}");
}

#[test]
fn ctrl_c_in_a_run_of_ctest_leaves_nothing() {
    let story = configured();
    let running = story.running("", "ctest --test-dir build -R passes|waits").start();
    running.wait_for("here");
    running.signal(Signal::SIGINT);
    let ran = running.end().exits(130);
    assert!(ran.stdout.contains("stopped by you: 1 of 2 tests had run"), "{}", ran.stdout);
}
