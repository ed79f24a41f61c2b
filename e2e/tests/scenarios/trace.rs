//! `unflake trace`: the ordered lines of one run.

use e2e::{RunOutput, Sandbox};

fn lines_of(result: &RunOutput) -> Vec<&str> {
    result.stdout.lines().filter(|line| line.starts_with("  ") && line.contains(':')).collect()
}

#[test]
fn traces_of_a_threaded_rust_test_are_equal() {
    let sandbox = Sandbox::new()
        .file("Cargo.toml", "[package]\nname = \"relay\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n")
        .file(
            "src/lib.rs",
            "pub fn pass(from: u32) -> u32 {\n    if from % 2 == 0 {\n        from + 1\n    } else {\n        from + 3\n    }\n}\n",
        )
        .file(
            "tests/relay.rs",
            "use std::sync::mpsc::channel;\n#[test]\nfn runs() {\n    let (give, take) = channel();\n    \
             let runner = std::thread::spawn(move || take.recv().map(relay::pass).unwrap());\n    \
             give.send(relay::pass(2)).unwrap();\n    assert_eq!(runner.join().unwrap(), 6);\n}\n",
        );
    let manifest = std::fs::read(sandbox.project().join("Cargo.toml")).unwrap();
    let first = sandbox.unflake(["trace", "runs", "--", "cargo", "test"]).finish().expect_exit(0);
    assert!(first.stdout.contains("relay::relay runs passed"), "{}", first.stdout);
    let steps = lines_of(&first);
    // The test thread takes the branch for even numbers, the other thread the branch for odd ones.
    assert!(steps.iter().any(|line| line.contains("src/lib.rs:3 ") && line.ends_with("from + 1")), "{}", first.stdout);
    assert!(steps.iter().any(|line| line.contains("src/lib.rs:5 ") && line.ends_with("from + 3")), "{}", first.stdout);
    for _ in 0..3 {
        let again = sandbox.unflake(["trace", "runs", "--", "cargo", "test"]).finish().expect_exit(0);
        assert_eq!(lines_of(&again), steps);
    }
    assert_eq!(std::fs::read(sandbox.project().join("Cargo.toml")).unwrap(), manifest);
    let files = sandbox.unflake(["trace", "--files", "runs", "--", "cargo", "test"]).finish().expect_exit(0);
    assert!(files.stdout.contains("src/lib.rs") && files.stdout.contains("tests/relay.rs"), "{}", files.stdout);
}

#[test]
fn a_program_built_with_the_suggested_flags_is_traced() {
    let sandbox = Sandbox::specimen("rerun/cpp/race");
    let run = |sandbox: &Sandbox, program: &str, arguments: &[&str]| {
        let output = sandbox.command(program).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
    };
    run(&sandbox, "cmake", &["-S", ".", "-B", "build", "-G", "Ninja"]);
    run(&sandbox, "cmake", &["--build", "build"]);
    // Without the cache of CMake the build cannot be repeated.
    run(&sandbox, "rm", &["build/CMakeCache.txt"]);
    let reported =
        sandbox.unflake(["trace", "ContainsWhatWasLoaded", "--", "build/catalogue_test"]).finish().expect_exit(4);
    let from = reported.stderr.find("CXX=clang++").expect("the suggestion has a command");
    let command = &reported.stderr[from..from + reported.stderr[from..].find("\nWith gcc").unwrap()];
    run(&sandbox, "sh", &["-c", command]);
    run(&sandbox, "cmake", &["--build", "build-traced"]);
    let result = sandbox
        .unflake(["trace", "ContainsWhatWasLoaded", "--", "build-traced/catalogue_test"])
        .finish()
        .expect_exit(0);
    assert!(result.stdout.contains("Catalogue::load"), "{}", result.stdout);
}

#[test]
fn the_files_of_a_rust_test_are_grouped_by_use() {
    let sandbox = Sandbox::new()
        .file("Cargo.toml", "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n")
        .file("data/prices.txt", "3\n")
        .file("src/lib.rs", "pub fn twice(price: u32) -> u32 {\n    price * 2\n}\n")
        .file(
            "tests/shop.rs",
            r#"#[test]
fn sells() {
    let price: u32 = std::fs::read_to_string("data/prices.txt").unwrap().trim().parse().unwrap();
    assert_eq!(shop::twice(price), 6);
}

#[test]
fn opens() {
    assert!(std::fs::read("data/prices.txt").is_ok());
    assert!(std::fs::read("data/missing.txt").is_err());
    assert_eq!(std::fs::read_dir("data").unwrap().count(), 1);
    assert!(std::path::Path::new("Cargo.toml").exists());
    assert!(std::process::Command::new("sh").args(["-c", ":"]).status().unwrap().success());
}
"#,
        );
    let sells = sandbox.unflake(["trace", "--files", "sells", "--", "cargo", "test"]).finish().expect_exit(0);
    assert_eq!(
        sells.stdout,
        "  shop::shop sells passed\n\n  ran:\n    src/lib.rs\n    tests/shop.rs\n  read:\n    data/prices.txt\n"
    );
    let opens = sandbox.unflake(["trace", "--files", "opens", "--", "cargo", "test"]).finish().expect_exit(0);
    let sh = opens.stdout.lines().find(|line| line.ends_with("/sh")).expect("a shell was started").trim();
    assert_eq!(
        opens.stdout,
        format!(
            "  shop::shop opens passed\n\n  ran:\n    tests/shop.rs\n  read:\n    data/prices.txt\n  stat:\n    Cargo.toml\n  \
             missing:\n    data/missing.txt\n  listed:\n    data\n  started:\n    {sh}\n  \
             incomplete: started {sh}: its effects are unknown\n"
        )
    );
}

#[test]
fn the_files_of_a_cpp_test_are_grouped_by_use() {
    let sandbox = Sandbox::new()
        .file("data/prices.txt", "3\n")
        .file("data/names.txt", "pear\n")
        .file(
            "CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.16)\nproject(shop CXX)\nset(CMAKE_CXX_STANDARD 17)\nfind_package(GTest REQUIRED)\n\
             add_executable(shop_test shop_test.cpp)\ntarget_link_libraries(shop_test GTest::gtest_main)\n",
        )
        .file(
            "shop_test.cpp",
            r#"#include <gtest/gtest.h>
#include <cstdio>
#include <fstream>
TEST(Shop, Reads) {
  int price = 0;
  std::ifstream("data/prices.txt") >> price;
  EXPECT_EQ(price, 3);
  std::FILE* names = std::fopen("data/names.txt", "r");
  ASSERT_NE(names, nullptr);
  std::fclose(names);
  EXPECT_FALSE(std::ifstream("data/missing.txt").is_open());
}
"#,
        );
    let run = |program: &str, arguments: &[&str]| {
        let output = sandbox.command(program).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
    };
    // unflake suggests how to build a program that cannot be traced, such as this one.
    run("cmake", &["-S", ".", "-B", "build", "-G", "Ninja"]);
    run("cmake", &["--build", "build"]);
    run("rm", &["build/CMakeCache.txt"]);
    let reported = sandbox.unflake(["trace", "Reads", "--", "build/shop_test"]).finish().expect_exit(4);
    let from = reported.stderr.find("CXX=clang++").expect("the suggestion has a command");
    let command = &reported.stderr[from..from + reported.stderr[from..].find("\nWith gcc").unwrap()];
    run("sh", &["-c", command]);
    run("cmake", &["--build", "build-traced"]);
    let result = sandbox.unflake(["trace", "--files", "Reads", "--", "build-traced/shop_test"]).finish().expect_exit(0);
    assert!(
        result.stdout.ends_with(
            "\n\n  ran:\n    shop_test.cpp\n  read:\n    data/names.txt\n    data/prices.txt\n  \
             missing:\n    data/missing.txt\n"
        ),
        "{}",
        result.stdout
    );
}

#[test]
fn ambiguous_and_unknown_names_are_rejected() {
    let sandbox = Sandbox::specimen("rerun/rust/real_bug");
    let result = sandbox.unflake(["trace", "s", "--", "cargo", "test"]).finish().expect_exit(2);
    assert!(result.stderr.contains("tests have `s` in their names:"), "{}", result.stderr);
    let result = sandbox.unflake(["trace", "no such test", "--", "cargo", "test"]).finish().expect_exit(2);
    assert!(result.stderr.contains("no test has `no such test` in its name"), "{}", result.stderr);
}
