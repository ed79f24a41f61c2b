//! However a run is ended, what is known is told and kept, and nothing is left behind. That no process and no directory is
//! left is checked after every story (see `Running::end`).

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use e2e::Story;
use nix::sys::signal::Signal;

/// Against hanging only: unflake gives a runner five seconds after Ctrl-C.
const PROMPT: Duration = Duration::from_secs(30);

/// A test that passes, one that fails, and one that writes its process id to `here` and then does `waiting`.
fn story(waiting: &str) -> Story {
    Story::of(&format!(
        "import os, signal, subprocess, sys, time\n\
         def test_a(): pass\n\
         def test_b(): assert 1 == 2\n\
         def test_c():\n    open('here', 'w').write(str(os.getpid()))\n    {waiting}\n\
         def test_d(): pass\n"
    ))
}

const WAITS: &str = "time.sleep(1000)";
const DEAF: &str = "signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN); \
                    open('deaf', 'w').write('yes'); time.sleep(1000)";
const HAS_DAEMONS: &str = "subprocess.Popen(['setsid', 'sh', '-c', 'setsid sleep 1000 & echo yes > daemons; sleep 1000']); \
                           time.sleep(1000)";
const WITH_REST: [&str; 3] = ["test_it.py::test_a passed", "test_it.py::test_b failed", "test_it.py::test_b failed"];

#[test]
fn ctrl_c_ends_a_run_with_what_is_known() {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let story = story(WAITS);
        let running = story.running("", "pytest").start();
        running.wait_for("here");
        running.signal(signal);
        let ran = running.end().exits(130);
        assert!(ran.stdout.contains("stopped by you: 2 of 4 tests had run"), "{signal}: {}", ran.stdout);
        assert_eq!(ran.findings(), ["test_it.py::test_b real"], "{signal}");
        let sentence = ran.finding("test_it.py::test_b")["sentence"].as_str().unwrap();
        assert_eq!(sentence, "failed 2 of 2 times; the run ended before it could be run again", "{signal}");
        assert_eq!(story.remembered(), WITH_REST, "{signal}");
        assert_eq!(story.history()[0].ended.unwrap().1, 130);
    }
}

#[test]
fn a_test_that_is_deaf_to_ctrl_c_is_ended_all_the_same() {
    let story = story(DEAF);
    let running = story.running("", "pytest").start();
    running.wait_for("deaf");
    let asked = Instant::now();
    running.signal(Signal::SIGINT);
    running.end().exits(130);
    assert!(asked.elapsed() < PROMPT);
    assert_eq!(story.remembered(), WITH_REST);
}

#[test]
fn a_second_ctrl_c_ends_a_run_at_once() {
    let story = story(DEAF);
    let running = story.running("", "pytest").start();
    running.wait_for("deaf");
    running.signal(Signal::SIGINT);
    // Two signals at the same moment are one.
    thread::sleep(Duration::from_millis(300));
    running.signal(Signal::SIGINT);
    running.end().exits(130);
    assert_eq!(story.remembered(), WITH_REST);
}

#[test]
fn ctrl_c_ends_grandchildren_in_sessions_of_their_own_too() {
    let story = story(HAS_DAEMONS);
    let running = story.running("", "pytest").start();
    running.wait_for("daemons");
    running.signal(Signal::SIGINT);
    running.end().exits(130);
}

#[test]
fn ctrl_c_is_heard_while_tests_are_collected() {
    let story = Story::of("import time\nopen('here', 'w').write('yes')\ntime.sleep(1000)\n");
    let running = story.running("", "pytest").start();
    running.wait_for("here");
    running.signal(Signal::SIGINT);
    let ran = running.end().exits(130);
    assert!(ran.stdout.contains("stopped by you: no tests had been found yet"), "{}", ran.stdout);
}

#[test]
fn ctrl_c_is_heard_while_fresh_environments_run() {
    let story = Story::of(
        "import os, time\n\
         def test_b():\n\
         \x20   if 'seen' in os.environ: raise ValueError\n\
         \x20   os.environ['seen'] = '1'\n\
         \x20   if os.path.exists('first'):\n        open('here', 'w').write('yes')\n        time.sleep(1000)\n\
         \x20   open('first', 'w')\n    assert 0\n",
    );
    let running = story.running("", "pytest").start();
    running.wait_for("here");
    running.signal(Signal::SIGINT);
    let ran = running.end().exits(130);
    assert_eq!(ran.list("attempts").len(), 3, "the suite, at once and at the end");
}

#[test]
fn when_unflake_is_killed_everything_below_it_ends_and_all_that_was_seen_is_kept() {
    let story = story(HAS_DAEMONS);
    let running = story.running("", "pytest").start();
    running.wait_for("daemons");
    running.wait_until("everything has been observed", || story.remembered() == WITH_REST);
    running.signal(Signal::SIGKILL);
    let ran = running.end().exits(-9);
    assert!(ran.json.is_none());
    assert_eq!(story.remembered(), WITH_REST);
    assert_eq!(story.history()[0].ended, None);
    let told = story.unflake(["history"]).end().exits(0).stdout;
    assert!(told.contains("3 attempts  did not end"), "{told}");
}

/// What it does before it has a keeper is over in a moment; here it waits for ever to read a file of its own.
#[test]
fn what_a_run_leaves_that_is_killed_before_it_has_a_keeper_the_next_one_removes() {
    let story = Story::of("def test_a(): pass\n");
    story.run("", "pytest").exits(0);
    let agents = fs::read_dir(story.place().join("home/cache/unflake")).unwrap().flatten().map(|entry| entry.path());
    let agent = agents.map(|kit| kit.join("site-packages/unflake_agent/__init__.py")).find(|path| path.is_file());
    let agent = agent.expect("the agent is laid out there");
    fs::remove_file(&agent).unwrap();
    nix::unistd::mkfifo(&agent, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let directories = || fs::read_dir(story.place().join("tmp")).unwrap().flatten().map(|entry| entry.path());
    let left = || directories().find(|directory| directory.join("s").exists());

    let running = story.running("", "pytest").start();
    running.wait_until("it has opened its socket", || left().is_some());
    running.signal(Signal::SIGKILL);
    running.end_beside_others().exits(-9);
    let left = left().expect("nobody has removed it");
    // As if that had been a while ago.
    assert!(Command::new("touch").args(["-d", "10 minutes ago"]).arg(&left).status().unwrap().success());
    fs::remove_file(agent).unwrap();
    story.run("", "pytest").exits(0);
    assert!(!left.exists());
}

#[test]
fn two_runs_of_a_project_at_the_same_time_both_know_everything() {
    let story = Story::of_specimen("polluted-cache");
    let call = |name: &str| story.unflake(["run", "--json", name, "--", "python", "-m", "pytest"]).start();
    let (one, other) = (call("one.json"), call("other.json"));
    // Each sees what the other leaves while it still runs; so the check for leftovers is made only once.
    let (one, other) = thread::scope(|scope| {
        let one = scope.spawn(|| one.end_beside_others());
        let other = other.end_beside_others();
        (one.join().unwrap(), other)
    });
    one.exits(0);
    other.exits(0);
    let runs = story.history();
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[0].attempts, runs[1].attempts);
    assert!(runs.iter().all(|run| run.ended.is_some_and(|(_, code)| code == 0)));
    story.run("", "python -m pytest").exits(0);
}

#[test]
fn a_daemon_that_a_test_leaves_behind_is_ended_with_the_run() {
    let story = Story::of(
        "import subprocess\n\
         def test_a():\n    subprocess.Popen(['setsid', 'sleep', '1000'])\n\
         def test_b():\n    subprocess.Popen(['sleep', '1000'], stdout=subprocess.DEVNULL)\n    assert 0\n",
    );
    story.run("", "pytest").exits(1);
}

#[test]
fn a_runner_that_is_killed_in_a_test_is_a_crash_and_the_rest_goes_on() {
    let story = story(WAITS);
    let running = story.running("--immediate 0 --at-end 0 --fresh 0", "pytest").start();
    let runner = running.wait_for("here").parse().unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(runner), Signal::SIGKILL).unwrap();
    let ran = running.end().exits(1);
    assert_eq!(ran.findings(), ["test_it.py::test_b real", "test_it.py::test_c real"]);
    assert_eq!(ran.finding("test_it.py::test_c")["sentence"], "crashed (killed by SIGKILL) the one time it ran");
    let outcomes: Vec<_> = ran.attempts();
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
