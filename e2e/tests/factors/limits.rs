//! Cores, load, memory, open files, delays, turns of threads.

use std::fs;
use std::time::Instant;

use e2e::{Story, python, repository};
use nix::sys::signal::Signal;

use crate::{told, told_by, under};

#[test]
fn cores_are_as_many_as_were_asked_for() {
    let script = "import os; print(os.cpu_count(), len(os.sched_getaffinity(0)))";
    assert_eq!(told("--cores 1", script), "1 1");
    assert_eq!(told("--cores 7", script), "7 7");
    let story = Story::new();
    assert_eq!(told_by(&story, "--cores 1", &["nproc"]).as_deref(), Some("1"));
    // Not only said: the system lets it run on one of them.
    let script =
        "import ctypes; print(open('/proc/self/status').read().split('Cpus_allowed_list:')[1].split()[0].isdigit())";
    assert_eq!(told("--cores 1", script), "True");
}

/// Processes of the story that do nothing but work.
const BUSY: &str = "
import glob
def busy(place=PLACE.encode()):
    found = 0
    for process in glob.glob('/proc/[0-9]*'):
        try:
            if open(process + '/comm').read() == 'unflake-load\\n' and place in open(process + '/environ', 'rb').read(): found += 1
        except OSError: pass
    return found
";

fn busy(story: &Story) -> String {
    BUSY.replace("PLACE", &format!("{:?}", story.place().display().to_string()))
}

#[test]
fn there_is_load_while_the_command_runs_and_none_afterwards() {
    let story = Story::new();
    let ran = under(&story, "--load 3", &format!("{}print(busy())", busy(&story))).end();
    assert_eq!(ran.exits(0).stdout.trim(), "3");
}

#[test]
fn load_takes_time_from_the_command() {
    let script = "import time; began = time.process_time(), time.monotonic()\n\
                  while time.monotonic() - began[1] < 1: pass\n\
                  print(time.process_time() - began[0])";
    let share = |factors: &str| told(factors, script).parse::<f64>().unwrap();
    // On one core, so that what else the machine does counts little.
    let (alone, beside) = (share("--cores 1"), share("--cores 1 --load 6"));
    assert!(beside < 0.6 * alone, "{beside} s of CPU time in a second, and {alone} without load");
}

#[test]
fn however_unflake_ends_nothing_is_left() {
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        let story = Story::new();
        let script = "import os, subprocess, time\n\
                      subprocess.Popen(['sleep', '1000'], start_new_session=True)\n\
                      open('home', 'w').write(os.environ['HOME']); time.sleep(1000)";
        let running = under(&story, "--load 2 --state fresh", script).start();
        let home = running.wait_for("home");
        assert!(fs::exists(&home).unwrap());
        running.signal(signal);
        // The story looks for processes and directories.
        let ran = running.end();
        assert_eq!(ran.code, if signal == Signal::SIGKILL { -9 } else { 143 });
        assert!(!fs::exists(home).unwrap());
    }
}

#[test]
fn limits_are_in_force() {
    let script = "import resource as r; print(r.getrlimit(r.RLIMIT_AS), r.getrlimit(r.RLIMIT_NOFILE))\n\
                  try: bytearray(1 << 30)\n\
                  except MemoryError: print('no memory')\n\
                  try: kept = [open('/dev/null') for _ in range(100)]\n\
                  except OSError as error: print(error.strerror)";
    let expected = "(536870912, 536870912) (50, 50)\nno memory\nToo many open files";
    assert_eq!(told("--memory 512M --open-files 50", script), expected);
}

#[test]
fn delays_are_made_at_sleeps_waits_and_locks() {
    let timed = |factors: &str, script: &str| {
        let script = format!(
            "import threading, time, ctypes\nbegan = time.monotonic()\n{script}\nprint(time.monotonic() - began)"
        );
        told(factors, &script).parse::<f64>().unwrap()
    };
    for script in [
        "for _ in range(40): time.sleep(0)",
        "condition = threading.Condition(); condition.acquire()\nfor _ in range(40): condition.wait(0.0001)",
        // Locks, of which there are many, a hundredth as often: and only where there are threads.
        "import ctypes\nlibrary = ctypes.CDLL(None); lock = ctypes.create_string_buffer(64)\n\
         threading.Thread(target=threading.Event().wait, daemon=True).start()\n\
         for _ in range(4000): library.pthread_mutex_lock(lock); library.pthread_mutex_unlock(lock)",
    ] {
        let (without, with) = (timed("--load 1", script), timed("--delays 20ms/1@7", script));
        // 40 delays of 10 ms on average.
        assert!(with > without + 0.15, "{with} s with delays, {without} s without: {script}");
    }
}

#[test]
fn the_same_seed_delays_the_same_calls() {
    let script = "import time\nfor _ in range(30):\n    began = time.monotonic(); time.sleep(0); print(int(time.monotonic() - began > 0.02), end='')";
    let (one, two) = (told("--delays 400ms/3@5", script), told("--delays 400ms/3@5", script));
    // By length they differ as sleeps do; which calls are delayed by much does not.
    let differ = one.bytes().zip(two.bytes()).filter(|(one, two)| one != two).count();
    assert!(one.contains('1') && one.contains('0') && differ <= 2, "{one}\n{two}");
    assert_ne!(told("--delays 400ms/3@6", script), one);
}

#[test]
fn a_world_without_factors_changes_nothing() {
    let script = "import os, time; print(time.time(), os.cpu_count())";
    let began = Instant::now();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
    let told = told("", script);
    let (time, cores) = told.split_once(' ').unwrap();
    assert!((time.parse::<f64>().unwrap() - now).abs() < 1.0 + began.elapsed().as_secs_f64());
    let all = fs::read_to_string("/proc/stat").unwrap();
    let there = all.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count();
    assert_eq!(cores, there.to_string());
}

#[test]
fn threads_of_python_take_turns_as_often_as_was_asked_for() {
    let thread = "t = threading.Thread(target=int); t.start(); t.join()";
    let said = format!("import sys, threading; {thread}; print(round(sys.getswitchinterval() * 1e6))");
    assert_eq!(told("--switch-interval 20us", &said), "20");
    // In every process, and from then on it is the program's own matter.
    let child = "import subprocess; print(subprocess.check_output([sys.executable, '-c', sys.argv[1]]).decode())";
    let own = format!(
        "import sys, threading; {thread}; sys.setswitchinterval(0.5); {thread}; print(round(sys.getswitchinterval() * 1e6))"
    );
    assert_eq!(told("--switch-interval 20us", &own), "500000");
    let story = Story::new();
    let ran = under(&story, "--switch-interval 20us", &format!("import sys; {child}")).arg(&said).end().exits(0);
    assert_eq!((ran.stdout.trim(), crate::said(&ran)), ("20", vec!["running under switch-interval 20us"]));
    let ran = under(&story, "--switch-interval 20us", "print('alone')").end().exits(0);
    assert_eq!(crate::said(&ran)[1], "switch-interval 20us changed nothing: no Python had a second thread");
}

#[test]
fn threads_of_every_python_take_turns() {
    let script = "import sys, threading; t = threading.Thread(target=int); t.start(); t.join(); print(round(sys.getswitchinterval() * 1e6))";
    let story = Story::new();
    let environments = fs::read_dir(repository().join(".venvs")).into_iter().flatten().flatten();
    let versions = environments.filter(|place| place.file_name().to_string_lossy().starts_with("py3."));
    // Those of the agent's own tests are made after this one has run for the first time.
    let others = versions.map(|place| place.path().join("bin/python")).filter(|python| python.is_file());
    for python in others.chain([python().to_owned()]) {
        let call = story.unflake(["under", "--switch-interval", "20us", "--"]).arg(&python).args(["-c", script]);
        assert_eq!(call.end().exits(0).stdout.trim(), "20", "{}", python.display());
    }
}
