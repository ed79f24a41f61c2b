//! No instrument changes an outcome of a native test: each runs over tests that are hard to observe.
//! The instruments are the traced build, schedules in it, and the preloaded shim with all settings.

use std::collections::BTreeMap;

use e2e::Sandbox;

use super::{text, write};

/// Settings of the shim that no test here depends on, all at once.
const WORLD: [&str; 10] = [
    "--date=2030-01-30",
    "--speed=1.5",
    "--time-zone=Asia/Tokyo",
    "--random-seed=3",
    "--address-seed=5",
    "--listing=reversed",
    "--delays=1ms/3@7",
    "--locale=C.UTF-8",
    "--cores=1",
    "--state=fresh",
];
const CMAKE: &str = "cmake_minimum_required(VERSION 3.16)\nproject(awkward CXX)\nset(CMAKE_CXX_STANDARD 17)\n\
    find_package(GTest REQUIRED)\nfind_package(Threads REQUIRED)\n\
    add_executable(awkward_test tests/awkward_test.cpp)\n\
    target_link_libraries(awkward_test PRIVATE Threads::Threads GTest::gtest_main)\n";
const SCHEDULES: [&str; 2] = ["schedule=7", "schedule=19"];

/// Results of the tests under the command itself and in a world.
fn compare_in_world(sandbox: &Sandbox, command: &[&str], results: fn(&str) -> BTreeMap<String, String>, tests: usize) {
    let plain = sandbox.command(command[0]).args(&command[1..]).output().unwrap();
    let expected = results(&text(&plain));
    assert!(expected.len() == tests && plain.status.success(), "{}", text(&plain));
    let words: Vec<&str> = ["under", "-q"].into_iter().chain(WORLD).chain(["--"]).collect();
    let result = sandbox.unflake(words).args(command).finish();
    let found = results(&format!("{}{}", result.stdout, result.stderr));
    assert_eq!(found, expected, "{}{}", result.stdout, result.stderr);
}

/// Every test passes when its lines are recorded, and under schedules.
fn compare_traced(sandbox: &Sandbox, command: &[&str], tests: usize) {
    let call = sandbox.unflake(["measure", "--runs", "2", "--layer", "code"]).json();
    let result = call.arg("--").args(command).finish().expect_exit(0);
    let attempts = result.list("attempts");
    assert_eq!(attempts.len(), 2 * tests, "{}", result.stdout);
    let failed: Vec<_> = attempts.iter().filter(|one| one["outcome"] != "passed").collect();
    assert!(failed.is_empty(), "{failed:?}");
    let layers = result.json()["measured"]["layers"].as_array().unwrap();
    let code = layers.iter().find(|layer| layer["layer"] == "code");
    assert_eq!(code.map(|code| &code["tests"]), Some(&tests.into()), "{}", result.stdout);
    let mut names: Vec<&str> = attempts.iter().filter_map(|one| one["test"].as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for schedule in SCHEDULES {
        for name in &names {
            let call = sandbox.unflake(["replay", name, "-q", "--under", schedule, "--"]);
            let result = call.args(command).finish();
            assert_eq!(result.code, 0, "{name} under {schedule}\n{}{}", result.stdout, result.stderr);
        }
    }
}

/// Of libtest: `test tests::forks ... ok`.
fn of_libtest(printed: &str) -> BTreeMap<String, String> {
    let line = |line: &str| {
        let (name, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
        Some((name.to_owned(), outcome.to_owned()))
    };
    printed.lines().filter_map(line).collect()
}

/// Of GoogleTest: `[       OK ] Awkward.Forks (3 ms)`.
fn of_googletest(printed: &str) -> BTreeMap<String, String> {
    let line = |line: &str| {
        let (mark, rest) = line.strip_prefix('[')?.split_once("] ")?;
        let outcome = mark.trim();
        let (name, _) = rest.split_once(" (")?;
        (["OK", "FAILED"].contains(&outcome) && name.contains('.')).then(|| (name.to_owned(), outcome.to_owned()))
    };
    printed.lines().filter_map(line).collect()
}

#[test]
fn awkward_rust_tests_have_the_same_outcomes_under_every_instrument() {
    let sandbox = Sandbox::new()
        .file("Cargo.toml", "[package]\nname = \"awkward\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
        .file("src/lib.rs", include_str!("awkward/lib.rs"));
    compare_in_world(&sandbox, &["cargo", "test", "--lib"], of_libtest, 14);
    compare_traced(&sandbox, &["cargo", "test", "--lib"], 14);
}

#[test]
fn awkward_googletest_tests_have_the_same_outcomes_under_every_instrument() {
    let sandbox = Sandbox::new();
    write(&sandbox.project().join("CMakeLists.txt"), CMAKE);
    write(&sandbox.project().join("tests/awkward_test.cpp"), include_str!("awkward/awkward_test.cpp"));
    for words in [&["-S", ".", "-B", "build"][..], &["--build", "build"]] {
        let built = sandbox.command("cmake").args(words).output().expect("e2e/setup.py installs cmake");
        assert!(built.status.success(), "{}", text(&built));
    }
    compare_in_world(&sandbox, &["build/awkward_test"], of_googletest, 15);
    compare_traced(&sandbox, &["build/awkward_test"], 15);
}
