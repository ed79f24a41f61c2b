//! The first pass in several processes without pytest-xdist: `unflake run --jobs N`.

use std::collections::BTreeSet;
use std::fs;

use e2e::{RunOutput, Sandbox};
use nix::sys::signal::Signal;
use serde_json::Value;

const VICTIM: &str = "import shop\n\ndef test_sets(): shop.seen.append(1)\n\ndef test_victim(): assert not shop.seen\n";
const CRASH: &str = "import os\n\ndef test_crash(): os.kill(os.getpid(), 11)\n\ndef test_after(): pass\n";
const REAL: &str = "def test_ok(): pass\n\ndef test_real(): assert 0\n";

/// The attempts of the first pass.
fn suite(result: &RunOutput) -> Vec<&Value> {
    result.list("attempts").iter().filter(|attempt| attempt["purpose"] == "suite").collect()
}

fn environments(result: &RunOutput) -> BTreeSet<u64> {
    suite(result).iter().filter_map(|one| one["environment"].as_u64()).collect()
}

fn note(result: &RunOutput) -> Option<&str> {
    result.list("notes").iter().filter_map(Value::as_str).find(|note| note.contains("first pass"))
}

#[test]
fn files_run_in_several_processes_and_reports_have_every_test() {
    let sandbox = Sandbox::new()
        .file("shop.py", "seen = []\n")
        .file("pytest.ini", "[pytest]\npythonpath = .\n")
        .file("test_a.py", VICTIM)
        .file("test_b.py", CRASH)
        .file("test_c.py", REAL);
    let options = "--jobs 2 --immediate 0 --new-processes 1";
    let result = sandbox.run(options, "pytest -p no:xdist --junitxml=own.xml").expect_exit(1);
    let expected =
        ["test_a.py::test_victim flaky-state-dependent", "test_b.py::test_crash real", "test_c.py::test_real real"];
    assert_eq!(result.findings(), expected);
    let attempts = suite(&result);
    assert_eq!(attempts.len(), 6);
    let place = |test: &str| {
        let one = attempts.iter().find(|one| one["test"] == test).unwrap();
        (one["environment"].as_u64().unwrap(), one["position"].as_u64().unwrap())
    };
    // A file stays in one process; what ran before a failure is known.
    assert_eq!(place("test_a.py::test_sets").0, place("test_a.py::test_victim").0);
    assert_eq!(place("test_a.py::test_victim").1, place("test_a.py::test_sets").1 + 1);
    assert_ne!(place("test_a.py::test_sets").0, place("test_b.py::test_crash").0);
    let own = fs::read_to_string(sandbox.project().join("own.xml")).unwrap();
    assert!(own.contains("tests=\"6\"") && own.contains("failures=\"3\""), "{own}");
    assert!(own.contains("the process of this test died"), "{own}");
    let failed_before = fs::read_to_string(sandbox.project().join(".pytest_cache/v/cache/lastfailed")).unwrap();
    assert!(failed_before.contains("test_b.py::test_crash") && failed_before.contains("test_c.py::test_real"));
}

#[test]
fn a_command_that_needs_one_process_has_one_and_the_user_learns_why() {
    let sandbox = Sandbox::new().file("test_a.py", REAL).file("test_b.py", REAL);
    let options = "--jobs 2 --fresh 0 --immediate 0";
    let limited = sandbox.run(options, "pytest -p no:xdist --maxfail=1").expect_exit(1);
    assert_eq!((environments(&limited).len(), suite(&limited).len()), (1, 2));
    let expected = "the first pass ran in one process, not in 2: several processes cannot stop together after --maxfail \
                    failures";
    assert_eq!(note(&limited), Some(expected));
    // unflake itself never changes in how many processes the suite runs.
    let plain = sandbox.run("--fresh 0 --immediate 0", "pytest -p no:xdist").expect_exit(1);
    assert_eq!((environments(&plain).len(), suite(&plain).len(), note(&plain)), (1, 4, None));
}

#[test]
fn ctrl_c_ends_all_processes_and_reports_what_ran() {
    let slow = "import os, time\n\ndef test_first(): pass\n\ndef test_slow():\n    \
                open('pid-' + __name__, 'w').write(str(os.getpid()))\n    time.sleep(600)\n";
    let sandbox = Sandbox::new().file("test_a.py", slow).file("test_b.py", slow);
    let running = sandbox.run_invocation("--jobs 2", "pytest -p no:xdist --junitxml=own.xml").start();
    let pids: Vec<u32> =
        ["pid-test_a", "pid-test_b"].iter().map(|file| running.wait_for(file).parse().unwrap()).collect();
    running.signal(Signal::SIGINT);
    let result = running.finish().expect_exit(130);
    assert!(result.list("attempts").iter().all(|attempt| attempt["outcome"] == "passed"));
    assert!(pids.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists()));
    let own = fs::read_to_string(sandbox.project().join("own.xml")).unwrap();
    assert!(own.contains("failures=\"0\""), "{own}");
}
