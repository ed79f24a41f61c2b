//! `unflake trace`: the ordered lines of one run.

use e2e::{Ran, Story, repository};

fn lines_of(ran: &Ran) -> Vec<&str> {
    ran.stdout.lines().filter(|line| line.starts_with("  ") && line.contains(':')).collect()
}

#[test]
fn a_rust_test_with_threads_goes_the_same_way_every_time() {
    let story = Story::new()
        .with("Cargo.toml", "[package]\nname = \"relay\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n")
        .with(
            "src/lib.rs",
            "pub fn pass(from: u32) -> u32 {\n    if from % 2 == 0 {\n        from + 1\n    } else {\n        from + 3\n    }\n}\n",
        )
        .with(
            "tests/relay.rs",
            "use std::sync::mpsc::channel;\n#[test]\nfn runs() {\n    let (give, take) = channel();\n    \
             let runner = std::thread::spawn(move || take.recv().map(relay::pass).unwrap());\n    \
             give.send(relay::pass(2)).unwrap();\n    assert_eq!(runner.join().unwrap(), 6);\n}\n",
        );
    let manifest = std::fs::read(story.project().join("Cargo.toml")).unwrap();
    let first = story.unflake(["trace", "runs", "--", "cargo", "test"]).end().exits(0);
    assert!(first.stdout.contains("relay::relay runs passed"), "{}", first.stdout);
    let steps = lines_of(&first);
    // The main thread of the test takes the branch for even numbers, the other one the branch for odd ones.
    assert!(steps.iter().any(|line| line.contains("src/lib.rs:3 ") && line.ends_with("from + 1")), "{}", first.stdout);
    assert!(steps.iter().any(|line| line.contains("src/lib.rs:5 ") && line.ends_with("from + 3")), "{}", first.stdout);
    for _ in 0..3 {
        let again = story.unflake(["trace", "runs", "--", "cargo", "test"]).end().exits(0);
        assert_eq!(lines_of(&again), steps);
    }
    assert_eq!(std::fs::read(story.project().join("Cargo.toml")).unwrap(), manifest);
    let files = story.unflake(["trace", "--files", "runs", "--", "cargo", "test"]).end().exits(0);
    assert!(files.stdout.contains("src/lib.rs") && files.stdout.contains("tests/relay.rs"), "{}", files.stdout);
}

#[test]
fn a_plain_program_gets_the_flags_and_built_with_them_it_is_traced() {
    let story = Story::copy_of(&repository().join("specimens/cpp-race"));
    let run = |story: &Story, program: &str, arguments: &[&str]| {
        let output = story.command(program).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
    };
    run(&story, "cmake", &["-S", ".", "-B", "build", "-G", "Ninja"]);
    run(&story, "cmake", &["--build", "build"]);
    let told = story.unflake(["trace", "ContainsWhatWasLoaded", "--", "build/catalogue_test"]).end().exits(4);
    let from = told.stderr.find("CXX=clang++").expect("the advice has a command");
    let command = &told.stderr[from..from + told.stderr[from..].find("\nWith gcc").unwrap()];
    run(&story, "sh", &["-c", command]);
    run(&story, "cmake", &["--build", "build-traced"]);
    let ran = story.unflake(["trace", "ContainsWhatWasLoaded", "--", "build-traced/catalogue_test"]).end().exits(0);
    assert!(ran.stdout.contains("Catalogue::load"), "{}", ran.stdout);
}

#[test]
fn the_files_that_a_rust_test_depends_on_are_grouped() {
    let story = Story::new()
        .with("Cargo.toml", "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n")
        .with("data/prices.txt", "3\n")
        .with("src/lib.rs", "pub fn twice(price: u32) -> u32 {\n    price * 2\n}\n")
        .with(
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
    let sells = story.unflake(["trace", "--files", "sells", "--", "cargo", "test"]).end().exits(0);
    assert_eq!(
        sells.stdout,
        "  shop::shop sells passed\n\n  ran:\n    src/lib.rs\n    tests/shop.rs\n  read:\n    data/prices.txt\n"
    );
    let opens = story.unflake(["trace", "--files", "opens", "--", "cargo", "test"]).end().exits(0);
    let sh = opens.stdout.lines().find(|line| line.ends_with("/sh")).expect("a shell was started").trim();
    assert_eq!(
        opens.stdout,
        format!(
            "  shop::shop opens passed\n\n  ran:\n    tests/shop.rs\n  read:\n    data/prices.txt\n  looked at:\n    Cargo.toml\n  \
             looked for, not there:\n    data/missing.txt\n  listed:\n    data\n  started:\n    {sh}\n  \
             not all: started {sh}: what it did is not known\n"
        )
    );
}

#[test]
fn the_files_that_a_cpp_test_depends_on_are_grouped() {
    let story = Story::new()
        .with("data/prices.txt", "3\n")
        .with("data/names.txt", "pear\n")
        .with(
            "CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.16)\nproject(shop CXX)\nset(CMAKE_CXX_STANDARD 17)\nfind_package(GTest REQUIRED)\n\
             add_executable(shop_test shop_test.cpp)\ntarget_link_libraries(shop_test GTest::gtest_main)\n",
        )
        .with(
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
        let output = story.command(program).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
    };
    // How to build it is what unflake says of a program that cannot be traced, such as this one.
    run("cmake", &["-S", ".", "-B", "build", "-G", "Ninja"]);
    run("cmake", &["--build", "build"]);
    let told = story.unflake(["trace", "Reads", "--", "build/shop_test"]).end().exits(4);
    let from = told.stderr.find("CXX=clang++").expect("the advice has a command");
    let command = &told.stderr[from..from + told.stderr[from..].find("\nWith gcc").unwrap()];
    run("sh", &["-c", command]);
    run("cmake", &["--build", "build-traced"]);
    let ran = story.unflake(["trace", "--files", "Reads", "--", "build-traced/shop_test"]).end().exits(0);
    assert!(
        ran.stdout.ends_with(
            "\n\n  ran:\n    shop_test.cpp\n  read:\n    data/names.txt\n    data/prices.txt\n  \
             looked for, not there:\n    data/missing.txt\n"
        ),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_name_that_several_tests_have_is_asked_for_again() {
    let story = Story::copy_of(&repository().join("specimens/rust-real-bug"));
    let ran = story.unflake(["trace", "s", "--", "cargo", "test"]).end().exits(2);
    assert!(ran.stderr.contains("tests have `s` in their names; name one:"), "{}", ran.stderr);
    let ran = story.unflake(["trace", "no such test", "--", "cargo", "test"]).end().exits(2);
    assert!(ran.stderr.contains("no test has `no such test` in its name"), "{}", ran.stderr);
}
