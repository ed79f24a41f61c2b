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
fn a_name_that_several_tests_have_is_asked_for_again() {
    let story = Story::copy_of(&repository().join("specimens/rust-real-bug"));
    let ran = story.unflake(["trace", "s", "--", "cargo", "test"]).end().exits(2);
    assert!(ran.stderr.contains("tests have `s` in their names; name one:"), "{}", ran.stderr);
    let ran = story.unflake(["trace", "no such test", "--", "cargo", "test"]).end().exits(2);
    assert!(ran.stderr.contains("no test has `no such test` in its name"), "{}", ran.stderr);
}
