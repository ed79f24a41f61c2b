//! Shards of a suite: each test runs in exactly one, and one report covers all of them.

use std::fs;

use e2e::{RunOutput, Sandbox, python, server};

/// Four files; the first test takes longer than all others together.
fn project() -> Sandbox {
    let mut sandbox = Sandbox::new();
    for file in ["a", "b", "c", "d"] {
        let slow = if file == "a" { "    import time; time.sleep(0.4)\n" } else { "" };
        let text = format!("def test_one():\n{slow}    pass\n\ndef test_two(): pass\n");
        sandbox = sandbox.file(&format!("test_{file}.py"), text);
    }
    sandbox
}

/// The same with a test that fails once, and one that always fails.
fn failing_project() -> Sandbox {
    let text = "import pathlib

def test_flaky():
    mark = pathlib.Path(__file__).with_name('mark')
    first = not mark.exists()
    mark.touch()
    assert not first

def test_broken(): assert 1 == 2
";
    project().file("test_e.py", text)
}

const TESTS: [&str; 8] = [
    "test_a.py::test_one",
    "test_a.py::test_two",
    "test_b.py::test_one",
    "test_b.py::test_two",
    "test_c.py::test_one",
    "test_c.py::test_two",
    "test_d.py::test_one",
    "test_d.py::test_two",
];

fn pytest() -> String {
    format!("{} -m pytest -p no:cacheprovider", python().to_str().unwrap())
}

fn shard(sandbox: &Sandbox, options: &str) -> RunOutput {
    sandbox.run_invocation(options, &pytest()).finish()
}

/// The tests that ran in a suite.
fn suite(output: &RunOutput) -> Vec<String> {
    let of_suite =
        output.list("attempts").iter().filter(|attempt| attempt["purpose"] == "suite" && attempt["run"] == 0);
    of_suite.map(|attempt| attempt["test"].as_str().unwrap().to_owned()).collect()
}

fn sorted(mut tests: Vec<String>) -> Vec<String> {
    tests.sort();
    tests
}

#[test]
fn shards_split_by_time_and_stay_the_same_until_all_have_run() {
    let sandbox = project();
    let store = server().address();
    shard(&sandbox, &format!("--store {store}")).expect_exit(0);
    let run = |number: u32| {
        let options = format!("--shard {number}/3 --shard-group nightly --store {store}");
        suite(&shard(&sandbox, &options).expect_exit(0))
    };
    let shares = [run(1), run(2), run(3)];
    assert_eq!(sorted(shares.concat()), TESTS, "each test once: {shares:?}");
    assert!(shares.iter().any(|share| share == &TESTS[..1]), "the longest test runs alone: {shares:?}");
    // A shard that runs again runs the same tests, though the history has changed meanwhile.
    assert_eq!(run(2), shares[1]);

    let merged = sandbox.unflake(["history", "merge", "--store", &store]).finish().expect_exit(0).stdout;
    assert!(merged.starts_with("3 shards: 8 tests planned, 8 executed; they took "), "{merged}");
    assert!(merged.contains("shard 2 ran 2 times: the latest run counts"), "{merged}");
    assert!(merged.contains("all shards passed"), "{merged}");
}

#[test]
fn one_report_covers_the_histories_of_all_shards() {
    let sandbox = failing_project();
    let exits: Vec<i32> = (1..=3)
        .map(|number| shard(&sandbox, &format!("--shard {number}/3 --shard-group x --store of-{number}")).code)
        .collect();
    assert_eq!(exits.iter().filter(|code| **code == 1).count(), 1, "one shard has the real failure: {exits:?}");
    let report = sandbox.root().join("merged.json");
    let merge = |from: &[&str]| {
        let options = ["--store", "all", "--json", report.to_str().unwrap()];
        sandbox.unflake(["history", "merge"].iter().chain(from).copied().chain(options)).finish()
    };
    let some = merge(&["of-1", "of-3"]).stdout;
    assert!(some.starts_with("2 of 3 shards: 10 tests planned, "), "{some}");
    for _ in 0..2 {
        let all = merge(&["of-1", "of-2", "of-3"]).expect_exit(1).stdout;
        assert!(all.starts_with("3 shards: 10 tests planned, 10 executed; "), "{all}");
        assert!(all.contains("10 tests, 1 real failure, 1 flaky"), "{all}");
        assert!(all.contains("1 real failure, in shard "), "{all}");
        let json: serde_json::Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
        let kinds: Vec<_> =
            json["findings"].as_array().unwrap().iter().map(|one| one["test"].as_str().unwrap()).collect();
        assert_eq!(kinds.len(), 2, "{kinds:?}");
        assert!(kinds.contains(&"test_e.py::test_broken") && kinds.contains(&"test_e.py::test_flaky"), "{kinds:?}");
    }
}

#[test]
fn missing_shards_and_tests_are_reported() {
    let sandbox = project();
    shard(&sandbox, "--shard 1/2 --shard-group x").expect_exit(0);
    let merged = sandbox.unflake(["history", "merge"]).finish().expect_exit(3).stdout;
    assert!(merged.starts_with("1 of 2 shards: 8 tests planned, 4 executed"), "{merged}");
    assert!(merged.contains("no results of shard 2 of 2"), "{merged}");
    // A shard that stops before its end.
    let sandbox = project().file(
        "conftest.py",
        "def pytest_runtest_setup(item):\n    if item.name == 'test_two': item.session.shouldstop = 'enough'\n",
    );
    for number in [1, 2] {
        shard(&sandbox, &format!("--shard {number}/2 --shard-group x"));
    }
    let merged = sandbox.unflake(["history", "merge"]).finish().expect_exit(3).stdout;
    assert!(merged.contains("planned tests did not run"), "{merged}");
}

#[test]
fn a_shard_without_tests_passes() {
    let sandbox = project();
    let output = shard(&sandbox, "--shard 50/50").expect_exit(0);
    assert!(output.stdout.contains("more shards than tests"), "{}", output.stdout);
    let output = shard(&sandbox, "--shard 3/2").expect_exit(2);
    assert!(output.stderr.contains("the second of eight shards"), "{}", output.stderr);
    let options = ["run", "--shard", "1/2", "--results", "r.xml", "--one-test", "false {name}", "--", "make"];
    let output = sandbox.unflake(options).finish().expect_exit(2);
    assert!(output.stderr.contains("lists its tests only by running all of them"), "{}", output.stderr);
    let nothing = Sandbox::new().unflake(["history", "merge"]).finish().expect_exit(2);
    assert!(nothing.stderr.contains("--shard 1/2"), "{}", nothing.stderr);
}

#[test]
fn searches_run_in_shards_too() {
    let leaky = "seen = []\n\ndef test_leaks():\n    seen.append(1)\n    assert seen == [1]\n";
    let sandbox = project().file("test_e.py", leaky);
    let mut codes = Vec::new();
    for number in ["1/2", "2/2"] {
        let arguments = ["nio", "--shard", number, "--shard-group", "x", "--no-state", "--"];
        let command = pytest();
        codes.push(sandbox.unflake(arguments.into_iter().chain(command.split(' '))).finish().code);
    }
    codes.sort_unstable();
    assert_eq!(codes, [0, 1]);
    let merged = sandbox.unflake(["history", "merge"]).finish().expect_exit(1).stdout;
    assert!(merged.starts_with("2 shards: 9 tests planned, 9 executed"), "{merged}");
    assert!(merged.contains("test_e.py::test_leaks") && merged.contains("1 finding, in shard "), "{merged}");

    let mut executed = 0;
    for number in ["1/2", "2/2"] {
        let arguments = ["measure", "--shard", number, "--shard-group", "y", "--runs", "2", "--layer", "verdict", "--"];
        let command = pytest();
        let output = sandbox.unflake(arguments.into_iter().chain(command.split(' '))).finish().expect_exit(0).stdout;
        executed += output.split_whitespace().next().and_then(|count| count.parse::<u32>().ok()).unwrap_or_default();
    }
    assert_eq!(executed, 9, "both shards together measure all tests");
    let merged = sandbox.unflake(["history", "merge", "--shard-group", "y"]).finish().expect_exit(0).stdout;
    assert!(merged.starts_with("2 shards: 9 tests planned, 9 executed"), "{merged}");

    let named = ["nio", "test_leaks", "--shard", "1/2", "--", "pytest"];
    let refused = sandbox.unflake(named).finish().expect_exit(2);
    assert!(refused.stderr.contains("--shard splits the whole suite"), "{}", refused.stderr);
}
