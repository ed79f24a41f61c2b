//! The first pass in the workers of pytest-xdist, as the user's command asks for it.

use std::collections::BTreeSet;
use std::fs;

use e2e::{RunOutput, Sandbox};
use insta::assert_snapshot;
use nix::sys::signal::Signal;
use serde_json::Value;

const VICTIM: &str = "import shop\n\ndef test_sets(): shop.seen.append(1)\n\ndef test_victim(): assert not shop.seen\n";
const REAL: &str = "def test_ok(): pass\n\ndef test_real(): assert 0\n";

fn two_files() -> Sandbox {
    Sandbox::new()
        .with_plugins()
        .file("shop.py", "seen = []\n")
        .file("pytest.ini", "[pytest]\npythonpath = .\n")
        .file("test_a.py", VICTIM)
        .file("test_b.py", REAL)
}

/// The attempts of the first pass.
fn suite(result: &RunOutput) -> Vec<&Value> {
    result.list("attempts").iter().filter(|attempt| attempt["purpose"] == "suite").collect()
}

fn names(attempts: &[&Value]) -> BTreeSet<String> {
    attempts.iter().filter_map(|attempt| attempt["test"].as_str()).map(str::to_owned).collect()
}

#[test]
fn workers_run_the_suite_and_failures_know_what_ran_before_them() {
    let sandbox = two_files();
    let result = sandbox.run("--fresh-by fork", "pytest -n 2 --dist loadfile --junitxml=own.xml").expect_exit(1);
    assert_eq!(result.findings(), ["test_a.py::test_victim flaky-state-dependent", "test_b.py::test_real real"]);
    let attempts = suite(&result);
    let environments: BTreeSet<u64> = attempts.iter().filter_map(|one| one["environment"].as_u64()).collect();
    assert_eq!(environments.len(), 2, "{attempts:?}");
    let place = |test: &str| {
        let one = attempts.iter().find(|one| one["test"] == test && one["run"] == 0).unwrap();
        (one["environment"].as_u64().unwrap(), one["position"].as_u64().unwrap())
    };
    assert_eq!(place("test_a.py::test_sets").0, place("test_a.py::test_victim").0);
    assert_eq!(place("test_a.py::test_victim").1, 1);
    // Each failure ran again at once, in its worker.
    assert_eq!(attempts.len(), 4 + 2);
    // The runner's own report has every test once.
    let own = fs::read_to_string(sandbox.project().join("own.xml")).unwrap();
    assert!(own.contains("failures=\"2\"") && own.contains("tests=\"4\""), "{own}");
    assert!(result.list("notes").iter().all(|note| !note.as_str().unwrap().contains("-n 2")));
}

#[test]
fn a_crashed_worker_is_an_attempt_and_the_others_go_on() {
    let crash = "import os, pytest\n\n@pytest.mark.parametrize('i', range(6))\ndef test_many(i): pass\n\n\
                 def test_crash(): os.kill(os.getpid(), 11)\n\n\
                 @pytest.mark.parametrize('i', range(6))\ndef test_more(i): pass\n";
    let result = Sandbox::with_tests(crash).with_plugins().run("--fresh 0", "pytest -n 2").expect_exit(1);
    let attempts = suite(&result);
    assert_eq!(names(&attempts).len(), 13);
    let failed: Vec<&&Value> = attempts.iter().filter(|one| one["outcome"] != "passed").collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0]["outcome"]["crashed"]["signal"], 11);
    assert!(failed[0]["failure"]["trace"].as_str().unwrap().contains("in test_crash"), "{failed:?}");
}

#[test]
fn a_test_that_hangs_in_a_worker_times_out() {
    let hang = "import time\n\ndef test_one(): pass\n\ndef test_hang(): time.sleep(600)\n\ndef test_two(): pass\n\n\
                def test_three(): pass\n";
    let result = Sandbox::with_tests(hang).with_plugins().run("--fresh 0 --timeout 2", "pytest -n 2").expect_exit(1);
    let attempts = suite(&result);
    assert_eq!(names(&attempts).len(), 4);
    let hung = attempts.iter().find(|one| one["outcome"] == "timed-out").unwrap();
    assert!(hung["failure"]["trace"].as_str().unwrap().contains("in test_hang"), "{hung}");
}

#[test]
fn groups_of_workers_do_not_change_the_names_of_tests() {
    let groups = "import pytest\n\n@pytest.mark.xdist_group('db')\ndef test_a(): pass\n\n\
                  @pytest.mark.xdist_group('db')\ndef test_b(): assert 0\n";
    let result = Sandbox::with_tests(groups).with_plugins().run("", "pytest -n 2 --dist loadgroup").expect_exit(1);
    assert_eq!(result.findings(), ["test_it.py::test_b real"]);
}

#[test]
fn searches_use_one_process_for_each_session_and_say_so() {
    let sandbox = two_files();
    let command = ["--for", "60", "--no-state", "test_victim", "--", "pytest", "-n", "2"];
    let result = sandbox.unflake(["order"]).json().args(command).finish().expect_exit(1);
    assert_eq!(result.findings(), ["test_a.py::test_victim victim"]);
    assert_snapshot!(result.remarks(), @"
    note: -n 2 is not used: each session has one process here; --jobs says how many run at once
    exit 1: 1 flaky test
    ");
}

#[test]
fn ctrl_c_ends_all_workers() {
    let slow = "import os, time, pytest\n\n@pytest.mark.parametrize('i', range(4))\ndef test_slow(i):\n    \
                open('pid-%d' % i, 'w').write(str(os.getpid()))\n    time.sleep(600)\n";
    let sandbox = Sandbox::with_tests(slow).with_plugins();
    let running = sandbox.run_invocation("", "pytest -n 2").start();
    let first: u32 = running.wait_for("pid-0").parse().unwrap();
    running.signal(Signal::SIGINT);
    running.finish().expect_exit(130);
    assert!(!std::path::Path::new(&format!("/proc/{first}")).exists());
}
