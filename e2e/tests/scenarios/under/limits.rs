//! Cores, load, memory, open files, delays, switch interval.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use e2e::{Sandbox, python, repository};
use nix::sys::signal::Signal;

use super::{stdout_of_program, stdout_under, under};

#[test]
fn the_number_of_cores_is_as_requested() {
    let script = "import os; print(os.cpu_count(), len(os.sched_getaffinity(0)))";
    assert_eq!(stdout_under("--cores 1", script), "1 1");
    assert_eq!(stdout_under("--cores 7", script), "7 7");
    let sandbox = Sandbox::new();
    assert_eq!(stdout_of_program(&sandbox, "--cores 1", &["nproc"]).as_deref(), Some("1"));
    // The kernel allows one core only.
    let script =
        "import ctypes; print(open('/proc/self/status').read().split('Cpus_allowed_list:')[1].split()[0].isdigit())";
    assert_eq!(stdout_under("--cores 1", script), "True");
}

/// Lists the load processes of this sandbox.
const BUSY: &str = "
import glob
def busy(place=PLACE.encode()):
    found = []
    for process in glob.glob('/proc/[0-9]*'):
        try:
            if open(process + '/comm').read() == 'unflake-load\\n' and place in open(process + '/environ', 'rb').read(): found.append(process)
        except OSError: pass
    return found
";

fn busy(sandbox: &Sandbox) -> String {
    BUSY.replace("PLACE", &format!("{:?}", sandbox.root().display().to_string()))
}

#[test]
fn load_lasts_as_long_as_the_command() {
    let sandbox = Sandbox::new();
    let result = under(&sandbox, "--load 3", &format!("{}print(len(busy()))", busy(&sandbox))).finish();
    assert_eq!(result.expect_exit(0).stdout.trim(), "3");
}

#[test]
fn load_takes_cpu_time_from_the_command() {
    let sandbox = Sandbox::new();
    // Waits until every load process has used 50 ms of CPU time on the core of the command.
    let script = "import os\n\
                  ticks = lambda process: int(open(process + '/stat').read().rsplit(')')[1].split()[11])\n\
                  allowed = lambda process: open(process + '/status').read().split('Cpus_allowed_list:')[1].split()[0]\n\
                  found = busy()\n\
                  while min(map(ticks, found)) < os.sysconf('SC_CLK_TCK') * 0.05: pass\n\
                  print(len(found), {allowed(one) for one in found} == {allowed('/proc/self')})";
    let result = under(&sandbox, "--cores 1 --load 6", &format!("{}{script}", busy(&sandbox))).finish();
    assert_eq!(result.expect_exit(0).stdout.trim(), "6 True");
}

#[test]
fn load_and_state_are_removed_however_unflake_ends() {
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        let sandbox = Sandbox::new();
        let script = "import os, subprocess, time\n\
                      subprocess.Popen(['sleep', '1000'], start_new_session=True)\n\
                      open('home', 'w').write(os.environ['HOME']); time.sleep(1000)";
        let running = under(&sandbox, "--load 2 --state fresh", script).start();
        let home = running.wait_for("home");
        assert!(fs::exists(&home).unwrap());
        running.signal(signal);
        // The sandbox checks for leftover processes and directories.
        let result = running.finish();
        assert_eq!(result.code, if signal == Signal::SIGKILL { -9 } else { 143 });
        assert!(!fs::exists(home).unwrap());
    }
}

#[test]
fn memory_and_file_limits_are_enforced() {
    let script = "import resource as r; print(r.getrlimit(r.RLIMIT_AS), r.getrlimit(r.RLIMIT_NOFILE))\n\
                  try: bytearray(1 << 30)\n\
                  except MemoryError: print('no memory')\n\
                  try: kept = [open('/dev/null') for _ in range(100)]\n\
                  except OSError as error: print(error.strerror)";
    let expected = "(536870912, 536870912) (50, 50)\nno memory\nToo many open files";
    assert_eq!(stdout_under("--memory 512M --open-files 50", script), expected);
}

#[test]
fn delays_apply_to_sleeps_waits_and_locks() {
    let timed = |factors: &str, script: &str| {
        let script = format!(
            "import threading, time, ctypes\nbegan = time.monotonic()\n{script}\nprint(time.monotonic() - began)"
        );
        stdout_under(factors, &script).parse::<f64>().unwrap()
    };
    for script in [
        "for _ in range(40): time.sleep(0)",
        "condition = threading.Condition(); condition.acquire()\nfor _ in range(40): condition.wait(0.0001)",
        // Locks are delayed a hundredth as often, and only in programs with threads.
        "import ctypes\nlibrary = ctypes.CDLL(None); lock = ctypes.create_string_buffer(64)\n\
         threading.Thread(target=threading.Event().wait, daemon=True).start()\n\
         for _ in range(4000): library.pthread_mutex_lock(lock); library.pthread_mutex_unlock(lock)",
    ] {
        // 40 delays of 10 ms on average. Without delays the scripts take a few milliseconds.
        let took = timed("--delays 20ms/1@7", script);
        assert!(took >= 0.15, "{took} s with delays: {script}");
    }
}

#[test]
fn the_same_seed_delays_the_same_calls() {
    let script = "import time\nfor _ in range(20):\n    began = time.monotonic(); time.sleep(0); print(time.monotonic() - began)";
    let measured = |seed: u32| -> Vec<f64> {
        let lines = stdout_under(&format!("--delays 400ms/3@{seed}"), script);
        lines.lines().map(|line| line.parse().unwrap()).collect()
    };
    // Other load only lengthens calls, so the shortest of several runs is close to the delay
    // itself.
    let long_delays = |seed: u32| -> Vec<bool> {
        let runs = [measured(seed), measured(seed), measured(seed)];
        let shortest = (0..20).map(|call| runs.iter().map(|run| run[call]).fold(f64::INFINITY, f64::min));
        shortest.map(|took| took > 0.05).collect()
    };
    let (one, two) = (long_delays(5), long_delays(5));
    let differ = one.iter().zip(&two).filter(|(one, two)| one != two).count();
    assert!(one.contains(&true) && one.contains(&false) && differ <= 1, "{one:?}\n{two:?}");
    assert_ne!(long_delays(6), one);
}

#[test]
fn no_factors_change_nothing() {
    let script = "import os, time; print(time.time(), os.cpu_count())";
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    let before = now();
    let stdout = stdout_under("", script);
    let (time, cores) = stdout.split_once(' ').unwrap();
    assert!((before..now()).contains(&time.parse().unwrap()), "{time}");
    let all = fs::read_to_string("/proc/stat").unwrap();
    let there = all.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count();
    assert_eq!(cores, there.to_string());
}

#[test]
fn the_switch_interval_of_python_is_as_requested() {
    let thread = "t = threading.Thread(target=int); t.start(); t.join()";
    let printed = format!("import sys, threading; {thread}; print(round(sys.getswitchinterval() * 1e6))");
    assert_eq!(stdout_under("--switch-interval 20us", &printed), "20");
    // It applies once to every process; the program may change it.
    let child = "import subprocess; print(subprocess.check_output([sys.executable, '-c', sys.argv[1]]).decode())";
    let own = format!(
        "import sys, threading; {thread}; sys.setswitchinterval(0.5); {thread}; print(round(sys.getswitchinterval() * 1e6))"
    );
    assert_eq!(stdout_under("--switch-interval 20us", &own), "500000");
    let sandbox = Sandbox::new();
    let result = under(&sandbox, "--switch-interval 20us", &format!("import sys; {child}"))
        .arg(&printed)
        .finish()
        .expect_exit(0);
    assert_eq!((result.stdout.trim(), super::messages(&result)), ("20", vec!["running under switch-interval 20us"]));
    let result = under(&sandbox, "--switch-interval 20us", "print('alone')").finish().expect_exit(0);
    assert_eq!(
        super::messages(&result)[1],
        "switch-interval 20us changed nothing: no Python process had a second thread"
    );
}

#[test]
fn the_switch_interval_works_on_every_python() {
    let script = "import sys, threading; t = threading.Thread(target=int); t.start(); t.join(); print(round(sys.getswitchinterval() * 1e6))";
    let sandbox = Sandbox::new();
    let environments = fs::read_dir(repository().join(".venvs")).into_iter().flatten().flatten();
    let versions = environments.filter(|place| place.file_name().to_string_lossy().starts_with("py3."));
    // The environments of the pytest agent may not exist yet.
    let others = versions.map(|place| place.path().join("bin/python")).filter(|python| python.is_file());
    for python in others.chain([python().to_owned()]) {
        let call = sandbox.unflake(["under", "--switch-interval", "20us", "--"]).arg(&python).args(["-c", script]);
        assert_eq!(call.finish().expect_exit(0).stdout.trim(), "20", "{}", python.display());
    }
}
