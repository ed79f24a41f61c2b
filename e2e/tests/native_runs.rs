//! What people do with `cargo test`, nextest, GoogleTest and CTest, and with unflake around them.
//!
//! What has to be compiled is compiled once for all stories and kept between runs as long as it stays the same.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use e2e::{Call, Ran, Story, repository, unflake};
use insta::assert_snapshot;
use nix::sys::signal::Signal;
use quick_xml::Reader;
use quick_xml::events::Event;

// -- What all of them use --------------------------------------------------------------------------------------------------

/// A place for what is built, which stays.
fn kept() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("native")
}

/// Writes a file only where it is not as it should be: what is newer than its sources is not built again.
fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|there| there == text) {
        return;
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The first outcome of every test.
fn outcomes(ran: &Ran) -> BTreeMap<String, String> {
    let mut first = BTreeMap::new();
    for attempt in ran.list("attempts") {
        let outcome = attempt["outcome"].as_str().unwrap_or("crashed").to_owned();
        first.entry(attempt["test"].as_str().unwrap().to_owned()).or_insert(outcome);
    }
    first
}

fn as_lines(outcomes: &BTreeMap<String, String>) -> String {
    outcomes.iter().map(|(test, outcome)| format!("{test}: {outcome}")).collect::<Vec<_>>().join("\n")
}

fn text(output: &Output) -> String {
    [&output.stdout[..], &output.stderr[..]].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

/// Runs what each finding says shows it again, and expects it to fail, and to speak of the test.
fn repeat(ran: &Ran, shell: impl Fn() -> Command) {
    assert!(!ran.list("findings").is_empty());
    for finding in ran.list("findings") {
        let repeat = finding["repeat"].as_str().unwrap();
        let output = shell().args(["-c", repeat]).output().unwrap();
        let said = text(&output);
        assert!(!output.status.success(), "{repeat}\n{said}");
        let name = finding["test"].as_str().unwrap().rsplit([' ', ':']).next().unwrap();
        assert!(said.contains(name), "{repeat}\n{said}");
    }
}

// -- cargo test ------------------------------------------------------------------------------------------------------------

const WORKSPACE: [(&str, &str); 11] = [
    ("Cargo.toml", "[workspace]\nresolver = \"2\"\nmembers = [\"shop\", \"till\"]\n"),
    (
        "shop/Cargo.toml",
        "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[features]\nextra = []\n\
         [[test]]\nname = \"own\"\nharness = false\n",
    ),
    (
        "shop/build.rs",
        "fn main() {\n    let place = std::env::var(\"OUT_DIR\").unwrap();\n    std::fs::write(format!(\"{place}/made.txt\"), \
         \"made\").unwrap();\n    println!(\"cargo:rerun-if-changed=build.rs\");\n}\n",
    ),
    (
        "shop/src/lib.rs",
        r#"//! ```
//! assert_eq!(shop::price(2), 2);
//! ```
pub fn price(n: u32) -> u32 {
    n
}

#[cfg(test)]
mod tests {
    use super::price;

    #[test]
    fn one_costs_one() {
        assert_eq!(price(1), 1);
    }

    #[test]
    fn two_cost_three() {
        println!("two, please");
        assert_eq!(price(2), 3);
    }

    #[test]
    #[ignore = "slow"]
    fn slow() {}

    #[test]
    #[ignore]
    fn slow_and_wrong() {
        panic!("too slow");
    }

    #[test]
    #[should_panic(expected = "empty")]
    fn panics_as_it_should() {
        panic!("the shelf is empty");
    }

    #[test]
    #[should_panic]
    fn does_not_panic_as_it_should() {}

    #[test]
    fn returns_an_error() -> Result<(), String> {
        Err("no change".to_owned())
    }

    #[cfg(feature = "extra")]
    #[test]
    fn only_with_extra() {}
}
"#,
    ),
    ("shop/src/main.rs", "fn main() {\n    println!(\"open\");\n}\n\n#[test]\nfn of_the_program() {}\n"),
    (
        "shop/tests/world.rs",
        r#"use std::env;
use std::process::Command;

#[test]
fn the_program_is_there() {
    assert_eq!(Command::new(env!("CARGO_BIN_EXE_shop")).output().unwrap().stdout, b"open\n");
}

#[test]
fn the_directory_is_the_package() {
    let package = env::var("CARGO_MANIFEST_DIR").unwrap();
    assert_eq!(env::current_dir().unwrap(), std::path::Path::new(&package));
    assert_eq!((package.as_str(), env::var("CARGO_PKG_NAME").unwrap().as_str()), (env!("CARGO_MANIFEST_DIR"), "shop"));
}

#[test]
fn the_build_script_has_made_it() {
    let there = env::var("OUT_DIR").unwrap();
    assert_eq!(there, env!("OUT_DIR"));
    assert_eq!(std::fs::read_to_string(there + "/made.txt").unwrap(), "made");
}

#[test]
fn nothing_of_unflake_is_seen() {
    let ours: Vec<String> = env::vars().map(|(name, _)| name).filter(|name| name.starts_with("UNFLAKE")).collect();
    assert!(ours.is_empty() && env::var_os("RUSTDOC").is_none(), "{ours:?}");
}
"#,
    ),
    (
        "shop/tests/own.rs",
        "fn main() {\n    assert!(std::env::current_dir().unwrap().ends_with(\"shop\"));\n    if \
         std::env::var_os(\"OWN_FAILS\").is_some() {\n        println!(\"own: 1 of 3 wrong\");\n        \
         std::process::exit(2);\n    }\n}\n",
    ),
    (
        "till/Cargo.toml",
        "[package]\nname = \"till\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nshop = { path = \"../shop\" }\n",
    ),
    (
        "till/src/lib.rs",
        "pub fn sum(numbers: &[u32]) -> u32 {\n    numbers.iter().map(|n| shop::price(*n)).sum()\n}\n\n#[cfg(test)]\nmod \
         tests {\n    #[test]\n    fn nothing_is_nothing() {\n        assert_eq!(super::sum(&[]), 0);\n    }\n}\n",
    ),
    (
        "till/tests/waits.rs",
        r#"#[test]
#[ignore]
fn for_ever() {
    let child = std::process::Command::new("setsid").args(["sleep", "1000"]).spawn().unwrap();
    std::fs::write(std::env::var("HERE").unwrap(), child.id().to_string()).unwrap();
    std::thread::sleep(std::time::Duration::from_secs(1000));
}

#[test]
#[ignore]
fn fails_the_first_time() {
    let mark = std::env::var("HERE").unwrap();
    let first = std::fs::metadata(&mark).is_err();
    std::fs::write(mark, "1").unwrap();
    assert!(!first);
}
"#,
    ),
    ("till/tests/alone.rs", "#[test]\nfn no_others_run_beside_me() {}\n\n#[test]\nfn nor_beside_me() {}\n"),
];

fn workspace() -> &'static Path {
    static WRITTEN: OnceLock<PathBuf> = OnceLock::new();
    WRITTEN.get_or_init(|| {
        let place = fs::canonicalize(env!("CARGO_TARGET_TMPDIR")).unwrap().join("native/workspace");
        for (name, text) in WORKSPACE {
            write(&place.join(name), text);
        }
        place
    })
}

/// Where cargo, its compiler and, where it is wanted, nextest are.
fn rust_path(with_nextest: bool) -> OsString {
    let cargo = Path::new(env!("CARGO")).parent().unwrap();
    let nextest = repository().join(".venvs/cargo/bin");
    let is_there = nextest.join("cargo-nextest").is_file();
    assert!(is_there || !with_nextest, "cargo-nextest is not there: run `python3 e2e/setup.py` once");
    let mut path = if with_nextest { vec![nextest] } else { Vec::new() };
    path.extend([cargo, Path::new("/usr/local/bin"), Path::new("/usr/bin"), Path::new("/bin")].map(Path::to_owned));
    std::env::join_paths(path).unwrap()
}

/// `unflake run OPTIONS -- COMMAND` in the workspace, with a history beside the story's project.
fn in_workspace<'a>(story: &'a Story, options: &str, command: &str) -> Call<'a> {
    let store = story.project().join(".unflake");
    let options = format!("--store {} {options}", store.display());
    let call = story.running(&options, command).within(workspace().to_str().unwrap());
    call.env("PATH", rust_path(command.contains("nextest"))).env("CARGO_NET_OFFLINE", "true")
}

/// A program of the user's own in the workspace, without unflake.
fn plain(story: &Story, program: &str, with_nextest: bool) -> Command {
    let mut command = story.command(program);
    command.current_dir(workspace()).env("PATH", rust_path(with_nextest)).env("CARGO_NET_OFFLINE", "true");
    command
}

/// What cargo itself says of every test.
fn plain_outcomes(story: &Story, words: &str) -> BTreeMap<String, String> {
    let output = plain(story, "sh", false).args(["-c", &format!("{words} 2>&1")]).output().unwrap();
    let said = text(&output);
    let mut found = BTreeMap::new();
    let mut target = String::new();
    for line in said.lines() {
        if let Some(rest) = line.trim().strip_prefix("Running ") {
            let (source, program) = rest.split_once(" (").unwrap();
            let name = program.rsplit('/').next().unwrap().rsplit_once('-').unwrap().0;
            target = match source {
                "unittests src/lib.rs" => name.to_owned(),
                "unittests src/main.rs" => format!("{name}::bin/{name}"),
                "tests/world.rs" | "tests/own.rs" => format!("shop::{name}"),
                _ => format!("till::{name}"),
            };
            if target == "shop::own" {
                found.insert(target.clone(), "passed".to_owned());
            }
        } else if line.contains("Doc-tests") {
            break;
        } else if let Some((name, outcome)) = line.strip_prefix("test ").and_then(|line| line.split_once(" ... ")) {
            let outcome = match outcome {
                "ok" => "passed",
                "FAILED" => "failed",
                _ => "skipped",
            };
            found.insert(format!("{target} {}", name.trim_end_matches(" - should panic")), outcome.to_owned());
        }
    }
    assert!(!found.is_empty(), "{said}");
    found
}

#[test]
fn cargo_test_and_unflake_agree_test_for_test() {
    for words in [
        "cargo test --workspace --no-fail-fast",
        "cargo test -p shop --features extra --no-fail-fast -- --test-threads=1",
        "cargo test -p shop --test world",
        "cargo test -p shop --lib cost --no-fail-fast -- --skip three",
        "cargo test -p shop --lib -- --ignored",
        "cargo test -p shop --lib --no-fail-fast -- --include-ignored",
        "cargo test -p till -p shop --bins",
        "cargo test -p shop --lib -- --exact tests::one_costs_one",
    ] {
        let story = Story::new();
        let ran = in_workspace(&story, "--immediate 0 --at-end 0 --fresh 0", words).end();
        let expected = plain_outcomes(&story, words);
        assert_eq!(as_lines(&outcomes(&ran)), as_lines(&expected), "{words}");
        assert_eq!(ran.code, i32::from(expected.values().any(|outcome| outcome == "failed")), "{words}");
    }
}

#[test]
fn a_run_of_cargo_test_is_told_in_words_and_shown_again() {
    let story = Story::new();
    let ran =
        in_workspace(&story, "", "cargo test --workspace -- --include-ignored --skip ever --skip first").end().exits(1);
    assert_snapshot!(story.plain(&ran.stdout), @r#"
      16 tests · 4 real failures · [TIME]

    ✗ REAL   shop tests::does_not_panic_as_it_should
             failed 3 of 3 times, in a new process too
               Failed
               │ test did not panic as expected at shop/src/lib.rs:41:8
             see it yourself  cargo test -p shop --lib -- --exact tests::does_not_panic_as_it_should

    ✗ REAL   shop tests::returns_an_error
             failed 3 of 3 times, in a new process too
               Error
               │ "no change"
               it printed to stderr:
               │ Error: "no change"
             see it yourself  cargo test -p shop --lib -- --exact tests::returns_an_error

    ✗ REAL   shop tests::slow_and_wrong
             failed 3 of 3 times, in a new process too
               shop/src/lib.rs:30  panic
               │ too slow
             see it yourself  cargo test -p shop --lib -- --exact tests::slow_and_wrong --include-ignored

    ✗ REAL   shop tests::two_cost_three
             failed 3 of 3 times, in a new process too
               shop/src/lib.rs:20  panic
               │ assertion `left == right` failed
               │   left: 2
               │  right: 3
               it printed to stdout:
               │ two, please
             see it yourself  cargo test -p shop --lib -- --exact tests::two_cost_three

      note: shop::own has a test harness of its own: it is run as one test
      note: doctests are not run: `cargo test --doc` runs them

    exit 1: 4 real failures
    "#);
    repeat(&ran, || plain(&story, "sh", false));
}

#[test]
fn a_program_with_a_harness_of_its_own_is_one_test() {
    let story = Story::new();
    let ran = in_workspace(&story, "", "cargo test -p shop --test own").env("OWN_FAILS", "1").end().exits(1);
    assert_eq!(ran.findings(), ["shop::own real"]);
    assert_snapshot!(ran.remarks(), @r#"
    note: shop::own has a test harness of its own: it is run as one test
    exit 1: one real failure
    "#);
    assert_eq!(ran.list("attempts")[0]["failure"]["message"], "left with exit code 2: own: 1 of 3 wrong");
    repeat(&ran, || {
        let mut shell = plain(&story, "sh", false);
        shell.env("OWN_FAILS", "1");
        shell
    });
}

#[test]
fn a_flaky_rust_test_is_excused_and_remembered() {
    let story = Story::new();
    let mark = story.project().join("mark");
    let words = "cargo test -p till --test waits -- --ignored first";
    let ran = in_workspace(&story, "--junit report.xml", words).env("HERE", mark).end().exits(0);
    assert_eq!(ran.findings(), ["till::waits fails_the_first_time flaky-independent"]);
    let history = story.unflake(["history", "first_time"]).end().exits(0).stdout;
    assert!(history.contains("till::waits fails_the_first_time"), "{history}");
    assert!(history.contains("failed") && history.contains("passed"), "{history}");
    assert_eq!(story.remembered()[0], "till::waits fails_the_first_time failed");
    let report = workspace().join("report.xml");
    assert_eq!(elements(&report), [("flakyFailure".to_owned(), 1), ("testcase".to_owned(), 1)].into());
    fs::remove_file(report).unwrap();
}

/// How often each element of a report occurs that says how a test ended.
fn elements(report: &Path) -> BTreeMap<String, usize> {
    let mut reader = Reader::from_file(report).unwrap();
    let (mut buffer, mut counts) = (Vec::new(), BTreeMap::new());
    loop {
        match reader.read_event_into(&mut buffer).unwrap() {
            Event::Start(start) | Event::Empty(start) => {
                let name = String::from_utf8(start.name().as_ref().to_vec()).unwrap();
                if !["test", "sys", "prop", "stack"].iter().any(|other| name.starts_with(other)) || name == "testcase" {
                    *counts.entry(name).or_default() += 1;
                }
            }
            Event::Eof => return counts,
            _ => {}
        }
        buffer.clear();
    }
}

#[test]
fn what_does_not_compile_is_told_in_the_compilers_words() {
    let manifest = "[package]\nname = \"broken\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let story =
        Story::new().with("Cargo.toml", manifest).with("src/lib.rs", "#[test]\nfn a() { let x: u32 = \"one\"; }\n");
    let ran = story.running("", "cargo test").env("PATH", rust_path(false)).env("CARGO_NET_OFFLINE", "true").end();
    let ran = ran.exits(4);
    let lines: Vec<&str> = ran.stdout.lines().map(str::trim).collect();
    for words in ["│ the tests do not build:", "│ error[E0308]: mismatched types", "│  --> src/lib.rs:2:23"] {
        assert!(lines.contains(&words), "{words}\n{}", ran.stdout);
    }
    assert_snapshot!(ran.remarks().lines().last().unwrap(), @"exit 4: the tests could not be run");
}

#[test]
fn words_that_run_nothing_are_refused() {
    let story = Story::new();
    let remarks = |words: &str| in_workspace(&story, "", words).end().exits(4).remarks();
    assert_snapshot!(remarks("cargo test --no-run"), @r#"
    usage: --no-run of cargo runs no tests
    exit 4: the tests could not be run
    "#);
    assert_snapshot!(remarks("cargo test --doc"), @r#"
    usage: unflake does not run doctests; `cargo test --doc` does
    exit 4: the tests could not be run
    "#);
    assert_snapshot!(remarks("cargo test -- --list"), @r#"
    usage: --list of the test binary is not for unflake: it lists and orders tests itself
    exit 4: the tests could not be run
    "#);
    assert!(remarks("cargo test --no-such-option").contains("unexpected argument '--no-such-option'"));
}

#[test]
fn ctrl_c_in_a_run_of_cargo_test_leaves_nothing() {
    let story = Story::new();
    let words = "cargo test -p till --test waits -- --ignored ever";
    let running = in_workspace(&story, "", words).env("HERE", story.project().join("here")).start();
    running.wait_for("here");
    running.signal(Signal::SIGINT);
    let ran = running.end().exits(130);
    assert!(ran.stdout.contains("stopped by you"), "{}", ran.stdout);
}

#[test]
fn a_rust_test_that_hangs_is_ended() {
    let story = Story::new();
    let words = "cargo test -p till --test waits -- --ignored ever";
    let here = story.project().join("here");
    let ran = in_workspace(&story, "--timeout 1 --immediate 0 --at-end 0 --fresh 0", words).env("HERE", here).end();
    assert_eq!(ran.exits(1).attempts(), ["till::waits for_ever timed-out suite process"]);
}

// -- nextest ---------------------------------------------------------------------------------------------------------------

#[test]
fn nextest_and_unflake_agree_and_what_failed_is_shown_again() {
    let story = Story::new();
    let words = "cargo nextest run --workspace -j 1 --no-fail-fast -E not(binary(own)|test(ever)|test(first)) --run-ignored all";
    let words = words.to_owned() + " --lib --bins --test world";
    let ran = in_workspace(&story, "", &words).end().exits(1);
    let quoted = words.replace("not(binary(own)|test(ever)|test(first))", "'not(binary(own)|test(ever)|test(first))'");
    let said = text(&plain(&story, "sh", true).args(["-c", &quoted]).output().unwrap());
    let mut expected = BTreeMap::new();
    for line in said.lines().take_while(|line| !line.contains("Summary [")) {
        let Some((outcome, rest)) = line.trim().split_once(" [") else { continue };
        let name = rest.split_once("] ").unwrap_or_default().1;
        let name = name.rsplit_once(") ").map_or(name, |(_, name)| name).trim();
        let outcome = HashMap::from([("PASS", "passed"), ("FAIL", "failed")]).get(outcome).copied();
        expected.extend(outcome.map(|outcome| (name.to_owned(), outcome.to_owned())));
    }
    assert_eq!(as_lines(&outcomes(&ran)), as_lines(&expected), "{said}");
    repeat(&ran, || plain(&story, "sh", true));
}

#[test]
fn a_filter_of_nextest_chooses() {
    let story = Story::new();
    let words = "cargo nextest run -p till -p shop --lib -E test(nothing)|test(/^tests::one/) -j 2";
    let ran = in_workspace(&story, "", words).end().exits(0);
    // Of ignored tests nextest does not say whether they would be chosen.
    let mut found = outcomes(&ran);
    found.retain(|_, outcome| outcome != "skipped");
    assert_eq!(as_lines(&found), "shop tests::one_costs_one: passed\ntill tests::nothing_is_nothing: passed");
}

#[test]
fn nextest_is_missed_in_clear_words() {
    let story = Story::new();
    let call = in_workspace(&story, "", "cargo nextest run").env("PATH", rust_path(false));
    assert_snapshot!(call.end().exits(4).remarks(), @r#"
    usage: cargo-nextest is not installed: `cargo install cargo-nextest --locked` installs it
    exit 4: the tests could not be run
    "#);
}

// -- GoogleTest ------------------------------------------------------------------------------------------------------------

const SHOP_TEST: &str = r#"#include <gtest/gtest.h>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <unistd.h>

static int sold = 0;
static bool asked(const char* what) {
    const char* wanted = getenv("SHOP");
    return wanted && strstr(wanted, what);
}

static bool first_time() {
    bool first = access("mark", F_OK) != 0;
    fclose(fopen("mark", "w"));
    return first;
}
TEST(Flaky, FailsTheFirstTime) { EXPECT_FALSE(first_time()); }

TEST(Plain, Passes) { EXPECT_EQ(1, 1); }
TEST(Plain, Fails) {
    std::cout << "two, please" << std::endl;
    EXPECT_EQ(2, 3) << "two cost three";
}
TEST(Plain, IsSkipped) { GTEST_SKIP() << "no till here"; }
TEST(Plain, DISABLED_IsDisabled) { FAIL(); }
TEST(Plain, Throws) { throw std::runtime_error("no change"); }
TEST(Plain, SaysWhatIsNoText) {
    std::cout << "\xff\xfe\n";
    FAIL() << "\xff";
}

class Basket : public testing::Test {
protected:
    static void SetUpTestSuite() { shared = 7; }
    void SetUp() override { own = shared; }
    static int shared;
    int own = 0;
};
int Basket::shared = 0;
TEST_F(Basket, IsSetUp) { EXPECT_EQ(own, 7); }
TEST_F(Basket, IsSetUpAgain) { EXPECT_EQ(own, 7); }

class Even : public testing::TestWithParam<int> {};
TEST_P(Even, IsEven) { EXPECT_EQ(GetParam() % 2, 0); }
INSTANTIATE_TEST_SUITE_P(Some, Even, testing::Values(2, 4, 7));
class Word : public testing::TestWithParam<const char*> {};
TEST_P(Word, IsShort) { EXPECT_LT(strlen(GetParam()), 4u); }
INSTANTIATE_TEST_SUITE_P(Named, Word, testing::Values("a", "long"),
                         [](const testing::TestParamInfo<const char*>& info) { return std::string(info.param); });

template <typename T> class Sized : public testing::Test {};
using Types = testing::Types<char, int>;
TYPED_TEST_SUITE(Sized, Types);
TYPED_TEST(Sized, IsOne) { EXPECT_EQ(sizeof(TypeParam), 1u); }

TEST(CashDeathTest, Dies) { EXPECT_DEATH({ std::cerr << "out of cash\n"; abort(); }, "out of cash"); }
TEST(CashDeathTest, LivesOn) { EXPECT_DEATH({}, "out of cash"); }

TEST(Crash, Before) {}
TEST(Crash, Dies) { *static_cast<volatile int*>(nullptr) = 1; }
TEST(Crash, Leaves) { _exit(0); }
TEST(Crash, After) {}

TEST(Hang, Before) {}
TEST(Hang, Hangs) {
    if (system("setsid sleep 1000 & echo yes > here")) FAIL();
    for (;;) sleep(1);
}
TEST(Hang, After) {}

TEST(Memory, Before) {}
TEST(Memory, IsReadAfterItsEnd) {
    volatile char* piece = new char[8];
    delete[] piece;
    EXPECT_EQ(piece[0], piece[0]);
}
TEST(Memory, After) {}

TEST(State, Sells) { sold++; }
TEST(State, HasSoldNothing) { EXPECT_EQ(sold, 0); }

TEST(Flood, Floods) {
    std::string line(1023, 'x');
    line += '\n';
    for (int i = 0; i < 100 * 1024; i++) fwrite(line.data(), 1, line.size(), stdout);
    FAIL() << "at the end of the flood";
}
TEST(Flood, After) {}

class SetUpFails : public testing::Test {
protected:
    static void SetUpTestSuite() { FAIL() << "no shelf"; }
};
TEST_F(SetUpFails, One) {}
TEST_F(SetUpFails, Two) {}
class TearDownFails : public testing::Test {
protected:
    static void TearDownTestSuite() { FAIL() << "the shelf is dirty"; }
};
TEST_F(TearDownFails, One) {}
TEST_F(TearDownFails, Two) {}

TEST(Last, Passes) {}
TEST(LastFlaky, FailsTheFirstTime) { EXPECT_FALSE(first_time()); }

class World : public testing::Environment {
    void SetUp() override {
        if (asked("set-up")) FAIL() << "the world is not there";
    }
    void TearDown() override {
        if (asked("tear-down")) ADD_FAILURE() << "the world is dirty";
        if (asked("dies")) abort();
    }
};

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    testing::AddGlobalTestEnvironment(new World);
    int code = RUN_ALL_TESTS();
    if (testing::GTEST_FLAG(list_tests)) return code;
    return asked("exit-1") ? 1 : asked("exit-3") ? 3 : code;
}
"#;

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

/// Of every finding, what its test told when it failed for the first time.
fn told(ran: &Ran) -> String {
    let told = |finding: &serde_json::Value| {
        let failing =
            |attempt: &&serde_json::Value| attempt["test"] == finding["test"] && !attempt["failure"].is_null();
        let failure = &ran.list("attempts").iter().find(failing).unwrap()["failure"];
        let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().replace('\n', " | ");
        let place = (word(&failure["phase"]), word(&failure["message"]));
        format!("{} {}: {}: {}", word(&finding["test"]), word(&finding["kind"]), place.0, place.1)
    };
    ran.list("findings").iter().map(told).collect::<Vec<_>>().join("\n")
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

const TESTS: &str = r#"cmake_minimum_required(VERSION 3.19)
project(shop NONE)
enable_testing()
add_test(NAME passes COMMAND sh -c "exit 0")
add_test(NAME fails COMMAND sh -c "echo two, please; exit 3")
add_test(NAME will_fail COMMAND sh -c "exit 1")
add_test(NAME will_fail_and_does_not COMMAND sh -c "exit 0")
add_test(NAME will_fail_and_crashes COMMAND sh -c "kill -SEGV $$")
add_test(NAME will_fail_and_is_slow COMMAND sleep 60)
set_tests_properties(will_fail will_fail_and_does_not will_fail_and_crashes will_fail_and_is_slow PROPERTIES WILL_FAIL TRUE)
add_test(NAME skips COMMAND sh -c "exit 77")
set_tests_properties(skips PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME says_skip COMMAND sh -c "echo no till; exit 1")
set_tests_properties(says_skip PROPERTIES SKIP_REGULAR_EXPRESSION "no till")
add_test(NAME says_well COMMAND sh -c "echo all is well; exit 5")
add_test(NAME says_well_and_crashes COMMAND sh -c "echo all is well; kill -SEGV $$")
add_test(NAME says_nothing COMMAND sh -c "exit 0")
set_tests_properties(says_well says_well_and_crashes says_nothing PROPERTIES PASS_REGULAR_EXPRESSION "all is well")
add_test(NAME says_warning COMMAND sh -c "echo WARNING: shelf")
set_tests_properties(says_warning PROPERTIES FAIL_REGULAR_EXPRESSION "WARNING;ERROR")
add_test(NAME too_slow COMMAND sleep 60)
set_tests_properties(too_slow will_fail_and_is_slow PROPERTIES TIMEOUT 1)
add_test(NAME has_environment COMMAND sh -c "test \"$SHOP\" = 'open till eight'")
set_tests_properties(has_environment PROPERTIES ENVIRONMENT "SHOP=open till eight;OTHER=1")
add_test(NAME is_disabled COMMAND sh -c "exit 1")
set_tests_properties(is_disabled PROPERTIES DISABLED TRUE)
add_test(NAME opens COMMAND sh -c "echo open > shop.state")
add_test(NAME closes COMMAND sh -c "rm shop.state")
add_test(NAME sells COMMAND sh -c "test -f shop.state")
add_test(NAME sells_wrongly COMMAND sh -c "test -f shop.state && echo sold && exit 1")
set_tests_properties(opens PROPERTIES FIXTURES_SETUP Shop)
set_tests_properties(closes PROPERTIES FIXTURES_CLEANUP Shop)
set_tests_properties(sells sells_wrongly PROPERTIES FIXTURES_REQUIRED Shop)
add_test(NAME is_missing COMMAND ${CMAKE_BINARY_DIR}/no_such_program)
add_test(NAME crashes COMMAND sh -c "kill -SEGV $$")
add_test(NAME "has (odd) [name]+" COMMAND sh -c "exit 1")
add_test(NAME is_in_its_directory COMMAND sh -c "test -f CMakeCache.txt")
add_test(NAME googletest COMMAND ${CMAKE_SOURCE_DIR}/shop_test --gtest_filter=Plain.Fails)
add_test(NAME waits COMMAND sh -c "setsid sleep 1000 & echo yes > ../here; sleep 1000")
add_test(NAME fails_the_first_time COMMAND sh -c "test -f mark || { touch mark; exit 1; }")
"#;

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
                let value =
                    |name: &str| start.try_get_attribute(name).unwrap().unwrap().unescape_value().unwrap().into_owned();
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
    assert_snapshot!(story.plain(&ran.stdout), @r#"
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
    "#);
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
