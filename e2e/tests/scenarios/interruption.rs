//! Interrupted and killed runs: partial results are reported and stored, and nothing is left
//! behind. Every sandbox checks for leftover processes and directories (see
//! `RunningProcess::finish`).

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use e2e::Sandbox;
use nix::sys::signal::Signal;

/// A test that passes, one that fails, and one that writes its process id to `here` and then does
/// `waiting`.
fn waiting_suite(waiting: &str) -> Sandbox {
    Sandbox::with_tests(&format!(
        "import os, signal, subprocess, sys, time\n\
         def test_a(): pass\n\
         def test_b(): assert 1 == 2\n\
         def test_c():\n    open('here', 'w').write(str(os.getpid()))\n    {waiting}\n\
         def test_d(): pass\n"
    ))
}

const WAITS: &str = "time.sleep(1000)";
const IGNORES_SIGNALS: &str = "signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN); \
                    open('ignoring', 'w').write('yes'); time.sleep(1000)";
const HAS_DAEMONS: &str = "subprocess.Popen(['setsid', 'sh', '-c', 'setsid sleep 1000 & echo yes > daemons; sleep 1000']); \
                           time.sleep(1000)";
const FIRST_ATTEMPTS: [&str; 3] =
    ["test_it.py::test_a passed", "test_it.py::test_b failed", "test_it.py::test_b failed"];

#[test]
fn signals_end_a_run_with_partial_results() {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let sandbox = waiting_suite(WAITS);
        let running = sandbox.run_invocation("", "pytest").start();
        running.wait_for("here");
        running.signal(signal);
        let result = running.finish().expect_exit(130);
        assert!(result.stdout.contains("interrupted after 2 of 4 tests"), "{signal}: {}", result.stdout);
        assert_eq!(result.findings(), ["test_it.py::test_b not-decided"], "{signal}");
        let sentence = result.finding("test_it.py::test_b")["sentence"].as_str().unwrap();
        assert_eq!(sentence, "failed 2 of 2 attempts; the run ended before its retries", "{signal}");
        assert_eq!(sandbox.stored_attempts(), FIRST_ATTEMPTS, "{signal}");
        assert_eq!(sandbox.history()[0].ended.unwrap().1, 130);
    }
}

#[test]
fn a_test_that_ignores_ctrl_c_is_killed() {
    let sandbox = waiting_suite(IGNORES_SIGNALS);
    let running = sandbox.run_invocation("", "pytest").start();
    running.wait_for("ignoring");
    running.signal(Signal::SIGINT);
    running.finish().expect_exit(130);
    assert_eq!(sandbox.stored_attempts(), FIRST_ATTEMPTS);
}

#[test]
fn a_second_ctrl_c_ends_a_run_immediately() {
    let sandbox = waiting_suite(IGNORES_SIGNALS);
    let running = sandbox.run_invocation("", "pytest").start();
    running.wait_for("ignoring");
    running.signal(Signal::SIGINT);
    // Two signals at the same time would be one.
    thread::sleep(Duration::from_millis(300));
    running.signal(Signal::SIGINT);
    running.finish().expect_exit(130);
    assert_eq!(sandbox.stored_attempts(), FIRST_ATTEMPTS);
}

#[test]
fn ctrl_c_ends_grandchildren_in_other_sessions() {
    let sandbox = waiting_suite(HAS_DAEMONS);
    let running = sandbox.run_invocation("", "pytest").start();
    running.wait_for("daemons");
    running.signal(Signal::SIGINT);
    running.finish().expect_exit(130);
}

#[test]
fn ctrl_c_works_during_collection() {
    let sandbox = Sandbox::with_tests("import time\nopen('here', 'w').write('yes')\ntime.sleep(1000)\n");
    let running = sandbox.run_invocation("", "pytest").start();
    running.wait_for("here");
    running.signal(Signal::SIGINT);
    let result = running.finish().expect_exit(130);
    assert!(result.stdout.contains("interrupted before any test was found"), "{}", result.stdout);
}

#[test]
fn ctrl_c_works_while_fresh_environments_run() {
    let sandbox = Sandbox::with_tests(
        "import os, time\n\
         def test_b():\n\
         \x20   if 'seen' in os.environ: raise ValueError\n\
         \x20   os.environ['seen'] = '1'\n\
         \x20   if os.path.exists('first'):\n        open('here', 'w').write('yes')\n        time.sleep(1000)\n\
         \x20   open('first', 'w')\n    assert 0\n",
    );
    let running = sandbox.run_invocation("", "pytest").start();
    running.wait_for("here");
    running.signal(Signal::SIGINT);
    let result = running.finish().expect_exit(130);
    assert_eq!(result.list("attempts").len(), 3, "the suite, at once and at the end");
}

#[test]
fn killing_unflake_ends_its_processes_and_keeps_the_history() {
    let sandbox = waiting_suite(HAS_DAEMONS);
    let running = sandbox.run_invocation("", "pytest").start();
    running.wait_for("daemons");
    running.wait_until("all attempts are stored", || sandbox.stored_attempts() == FIRST_ATTEMPTS);
    running.signal(Signal::SIGKILL);
    let result = running.finish().expect_exit(-9);
    assert!(result.json.is_none());
    assert_eq!(sandbox.stored_attempts(), FIRST_ATTEMPTS);
    assert_eq!(sandbox.history()[0].ended, None);
    let reported = sandbox.unflake(["history", "show"]).finish().expect_exit(0).stdout;
    assert!(reported.contains("3 attempts  did not end"), "{reported}");
}

/// The phase before the supervisor starts is short; here unflake blocks in it on reading a FIFO.
#[test]
fn the_next_run_removes_leftovers_of_a_run_killed_at_start() {
    let sandbox = Sandbox::with_tests("def test_a(): pass\n");
    // It spoils its cache, so it does not share that of the other sandboxes.
    let own_cache = sandbox.root().join("cache");
    let run = || sandbox.run_invocation("", "pytest").env("XDG_CACHE_HOME", &own_cache);
    run().finish().expect_exit(0);
    let agents = fs::read_dir(own_cache.join("unflake")).unwrap().flatten().map(|entry| entry.path());
    let agent = agents.map(|kit| kit.join("site-packages/unflake_agent/__init__.py")).find(|path| path.is_file());
    let agent = agent.expect("the agent is unpacked there");
    fs::remove_file(&agent).unwrap();
    nix::unistd::mkfifo(&agent, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let directories = || fs::read_dir(sandbox.root().join("tmp")).unwrap().flatten().map(|entry| entry.path());
    let left = || directories().find(|directory| directory.join("s").exists());

    let running = run().start();
    running.wait_until("the socket is open", || left().is_some());
    running.signal(Signal::SIGKILL);
    running.finish_in_parallel().expect_exit(-9);
    let left = left().expect("it is left");
    // The next run removes old directories only.
    assert!(Command::new("touch").args(["-d", "10 minutes ago"]).arg(&left).status().unwrap().success());
    fs::remove_file(agent).unwrap();
    run().finish().expect_exit(0);
    assert!(!left.exists());
}

#[test]
fn two_concurrent_runs_of_a_project_both_complete() {
    let sandbox = Sandbox::specimen("rerun/python/polluted_cache");
    let call = |name: &str| sandbox.unflake(["run", "--json", name, "--", "python", "-m", "pytest"]).start();
    let (one, other) = (call("one.json"), call("other.json"));
    // Each would take the other for a leftover, so the check runs once, at the end.
    let (one, other) = thread::scope(|scope| {
        let one = scope.spawn(|| one.finish_in_parallel());
        let other = other.finish_in_parallel();
        (one.join().unwrap(), other)
    });
    one.expect_exit(0);
    other.expect_exit(0);
    let runs = sandbox.history();
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[0].attempts, runs[1].attempts);
    assert!(runs.iter().all(|run| run.ended.is_some_and(|(_, code)| code == 0)));
    sandbox.run("", "python -m pytest").expect_exit(0);
}

#[test]
fn daemons_of_tests_end_with_the_run() {
    let sandbox = Sandbox::with_tests(
        "import subprocess\n\
         def test_a():\n    subprocess.Popen(['setsid', 'sleep', '1000'])\n\
         def test_b():\n    subprocess.Popen(['sleep', '1000'], stdout=subprocess.DEVNULL)\n    assert 0\n",
    );
    sandbox.run("", "pytest").expect_exit(1);
}

#[test]
fn a_killed_runner_is_a_crash_and_the_remaining_tests_run() {
    let sandbox = waiting_suite(WAITS);
    let running = sandbox.run_invocation("--immediate 0 --at-end 0 --fresh 0", "pytest").start();
    let runner = running.wait_for("here").parse().unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(runner), Signal::SIGKILL).unwrap();
    let result = running.finish().expect_exit(1);
    assert_eq!(result.findings(), ["test_it.py::test_b not-decided", "test_it.py::test_c real"]);
    assert_eq!(
        result.finding("test_it.py::test_c")["sentence"],
        "crashed (killed by SIGKILL) in its only attempt; fresh environments are off (--fresh 0)"
    );
    let outcomes: Vec<_> = result.attempts();
    assert_eq!(
        outcomes,
        [
            "test_it.py::test_a passed suite process",
            "test_it.py::test_b failed suite process",
            "test_it.py::test_c crashed suite process",
            "test_it.py::test_d passed suite fork",
        ]
    );
}
