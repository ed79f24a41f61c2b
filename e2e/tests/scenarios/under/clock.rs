//! Date and clock speed.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use e2e::{HANG, Sandbox};

use super::{stdout_of_program, stdout_under, under};

#[test]
fn the_date_applies_to_all_processes() {
    let script = "import datetime, os, subprocess, sys, time\n\
                  print(datetime.datetime.now().strftime('%F %H'), time.strftime('%F'), flush=True)\n\
                  subprocess.run([sys.executable, '-c', 'import datetime; print(datetime.date.today())'])\n\
                  subprocess.run(['date', '+%F'])\n\
                  if os.fork() == 0: print(datetime.date.today(), flush=True); os._exit(0)\n\
                  os.wait()";
    assert_eq!(
        stdout_under("--date 2027-01-30", script),
        "2027-01-30 12 2027-01-30\n2027-01-30\n2027-01-30\n2027-01-30"
    );
}

#[test]
fn a_time_is_local_unless_it_has_an_offset() {
    let script = "import time; print(time.strftime('%F %H:%M %z'), time.strftime('%F %H:%M', time.gmtime()))";
    let at = |factors: &str| stdout_under(factors, script);
    let zone = "--time-zone Asia/Tokyo";
    assert_eq!(at(&format!("--date 2028-02-29T00:30 {zone}")), "2028-02-29 00:30 +0900 2028-02-28 15:30");
    assert_eq!(at(&format!("--date 2028-02-29T23:59:01+01:00 {zone}")), "2028-03-01 07:59 +0900 2028-02-29 22:59");
}

#[test]
fn a_relative_date_is_an_offset_from_now() {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    let before = now();
    let shifted: f64 = stdout_under("--date -2d", "import time; print(time.time())").parse().unwrap();
    let two_days = 172_800.0;
    assert!((before..now()).contains(&(shifted + two_days)), "{shifted} is not two days before {before}");
}

/// Every kind of wait. Deadlines are given by the program's clock; passed to the kernel unchanged
/// they would be over immediately, which the script detects, or years away, which the hang guard
/// detects.
const WAITS: &str = "
import asyncio, queue, select, socket, subprocess, sys, threading, time, multiprocessing
def waits(what, work, length):
    began, day = time.monotonic(), time.time()
    try: work()
    except (queue.Empty, TimeoutError, socket.timeout, subprocess.TimeoutExpired): pass
    for took in (time.monotonic() - began, time.time() - day):
        assert took >= length * 0.95, (what, took)
L = LENGTH
condition = threading.Condition(); condition.acquire()
lock = threading.Lock(); lock.acquire()
pair = socket.socketpair(); pair[0].settimeout(L)
waits('sleep', lambda: time.sleep(L), L)
waits('condition', lambda: condition.wait(L), L)
waits('lock', lambda: lock.acquire(timeout=L), L)
waits('queue', lambda: queue.Queue().get(timeout=L), L)
waits('event', lambda: threading.Event().wait(L), L)
waits('select', lambda: select.select([], [], [], L), L)
waits('poll', lambda: select.poll().poll(L * 1000), L)
waits('epoll', lambda: select.epoll().poll(L), L)
waits('socket', lambda: pair[0].recv(1), L)
waits('asyncio', lambda: asyncio.run(asyncio.sleep(L)), L)
waits('child', lambda: subprocess.run(['sleep', str(L)]), L)
waits('semaphore', lambda: multiprocessing.Semaphore(0).acquire(timeout=L), L)
import signal
signal.signal(signal.SIGALRM, lambda *_: None)
waits('timer', lambda: (signal.setitimer(signal.ITIMER_REAL, L), signal.pause()), L)
print('all')
";

fn waits(length: &str) -> String {
    WAITS.replace("LENGTH", length)
}

#[test]
fn waits_end_with_a_shifted_clock() {
    for date in ["+3650d", "-3650d"] {
        assert_eq!(stdout_under(&format!("--date {date}"), &waits("0.05")), "all");
    }
}

#[test]
fn a_fast_clock_shortens_every_kind_of_wait() {
    // Each wait would exceed the hang guard by the real clock.
    assert!(HANG < Duration::from_secs(650));
    assert_eq!(stdout_under("--speed 1000", &waits("650")), "all");
}

#[test]
fn a_slow_clock_lengthens_every_kind_of_wait() {
    let began = Instant::now();
    assert_eq!(stdout_under("--speed 0.1", &waits("0.02")), "all");
    assert!(began.elapsed() >= Duration::from_millis(13 * 200), "{:?}", began.elapsed());
}

#[test]
fn the_monotonic_clock_ignores_the_date_and_all_processes_share_a_speed() {
    let script = "import time\n\
                  uptime = lambda: float(open('/proc/uptime').read().split()[0])\n\
                  before = uptime(); clock = time.clock_gettime(time.CLOCK_BOOTTIME); after = uptime()\n\
                  print(before - 0.02 <= clock <= after + 0.02 or (before, clock, after))";
    assert_eq!(stdout_under("--date +100d", script), "True");
    let script = "import subprocess, sys, time\n\
                  clocks = 'import time; print(time.monotonic(), time.time())'\n\
                  for _ in range(3):\n    before = time.monotonic(), time.time()\n    \
                  during = subprocess.run([sys.executable, '-c', clocks], capture_output=True, text=True).stdout.split()\n    \
                  after = time.monotonic(), time.time()\n    \
                  assert all(a <= float(d) <= b for a, d, b in zip(before, during, after)), (before, during, after)\n\
                  print('all')";
    for speed in ["--speed 30 --date +1d", "--speed 0.2"] {
        assert_eq!(stdout_under(speed, script), "all");
    }
}

#[test]
fn an_interrupted_sleep_returns_the_remaining_program_time() {
    let script = "import ctypes, signal, threading, time\n\
                  signal.signal(signal.SIGUSR1, lambda *_: None)\n\
                  me = threading.get_ident()\n\
                  threading.Thread(target=lambda: (time.sleep(20), signal.pthread_kill(me, signal.SIGUSR1))).start()\n\
                  began = time.monotonic()\n\
                  left = ctypes.CDLL(None).sleep(100000)\n\
                  took = time.monotonic() - began\n\
                  print(left <= 99990 and left + took >= 99998 or (left, took))";
    assert_eq!(stdout_under("--speed 100", script), "True");
}

#[test]
fn every_wait_function_of_c_follows_the_clock() {
    let sandbox = Sandbox::new().file("waits.c", include_str!("waits.c"));
    let compiled = sandbox.command("cc").args(["-o", "waits", "waits.c", "-lpthread", "-lrt"]).status();
    assert!(compiled.unwrap().success());
    // About 25 waits of 650 s by its own clock; by the real clock the first would exceed the hang
    // guard.
    for factors in ["--date +1000d --speed 1000", "--date -1000d --speed 1000"] {
        let began = Instant::now();
        let result = sandbox.unflake(["under"]).args(factors.split(' ')).args(["--", "./waits"]).finish();
        assert_eq!(result.stdout, "", "{factors}");
        assert_eq!(result.code, 0);
        assert!(began.elapsed() > Duration::from_secs(1), "{factors}: {:?}", began.elapsed());
    }
}

#[test]
fn java_and_node_see_the_date() {
    let parks = "import java.util.concurrent.locks.*;\n\
                 class Parks { public static void main(String[] words) {\n\
                 System.out.println(java.time.LocalDate.now(java.time.ZoneOffset.UTC));\n\
                 LockSupport.parkUntil(System.currentTimeMillis() + 50); LockSupport.parkNanos(50_000_000);\n\
                 System.out.println(\"woken\"); } }";
    let sandbox = Sandbox::new().file("Parks.java", parks);
    if let Some(reported) = stdout_of_program(&sandbox, "--date 2027-01-30", &["java", "Parks.java"]) {
        assert_eq!(reported, "2027-01-30\nwoken");
    }
    let script = "console.log(new Date().toISOString().slice(0, 10)); setTimeout(() => console.log('woken'), 50)";
    if let Some(reported) = stdout_of_program(&sandbox, "--date 2027-01-30", &["node", "-e", script]) {
        assert_eq!(reported, "2027-01-30\nwoken");
    }
}

#[test]
fn file_timestamps_are_not_shifted() {
    // The kernel sets timestamps of files, as the book says.
    let script = "import os, time; open('new', 'w').close(); print(time.time() - os.stat('new').st_mtime > 86000)";
    assert_eq!(under(&Sandbox::new(), "--date +1d", script).finish().expect_exit(0).stdout.trim(), "True");
}
