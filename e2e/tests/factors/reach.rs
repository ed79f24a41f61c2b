//! What cannot be reached is said; what is there already stays.

use std::fs;

use e2e::Story;
use nix::sys::signal::Signal;

use crate::{said, under};

/// A program without any library: it asks the system for the time itself, and leaves with 0.
const STATIC: &str = r#"
#![no_std]
#![no_main]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _start() -> ! {
    #[cfg(target_arch = "x86_64")]
    unsafe { core::arch::asm!("syscall", in("rax") 60, in("rdi") 0, options(noreturn)) }
    #[cfg(target_arch = "aarch64")]
    unsafe { core::arch::asm!("svc 0", in("x8") 93, in("x0") 0, options(noreturn)) }
}
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }
"#;

fn with_static_program() -> Story {
    let story = Story::new().with("alone.rs", STATIC);
    let mut rustc = story.command("rustc");
    rustc.args(["--edition", "2024", "-C", "panic=abort", "-C", "relocation-model=static"]);
    rustc.args(["-C", "link-arg=-nostartfiles", "-C", "link-arg=-nostdlib", "-C", "link-arg=-static", "alone.rs"]);
    let output = rustc.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    story
}

#[test]
fn a_static_program_is_not_reached_and_that_is_said() {
    let story = with_static_program();
    let ran = story.unflake(["under", "-q", "--date", "+1d", "--", "./alone"]).end().exits(0);
    let nothing =
        "nothing ran under date +1d: no process of the command could be reached (./alone is linked statically)";
    assert_eq!(said(&ran), [nothing]);
    let ran =
        story.unflake(["under", "-q", "--date", "+1d", "--", "sh", "-c", "./alone; ./alone; date"]).end().exits(0);
    assert_eq!(said(&ran), ["not everything ran under date +1d: ./alone is linked statically"]);
    // What needs no shim holds everywhere.
    let ran = story.unflake(["under", "-q", "--load", "1", "--", "./alone"]).end().exits(0);
    assert_eq!(said(&ran), Vec::<&str>::new());
}

#[test]
fn a_program_without_our_variables_is_not_reached_and_that_is_said() {
    let story = Story::new();
    let script = "import subprocess; subprocess.run(['date', '+%F'], env={})";
    let ran = under(&story, "-q --date 2027-01-30", script).end().exits(0);
    assert_ne!(ran.stdout.trim(), "2027-01-30");
    let [line] = said(&ran)[..] else { panic!("{}", ran.stderr) };
    let end = "date was started without the environment variables that bring the shim in";
    assert!(line.starts_with("not everything ran under date 2027-01-30: ") && line.ends_with(end), "{line}");
}

#[test]
fn what_is_preloaded_already_stays() {
    let story = Story::new();
    let script = "import os; print('libm.so' in open('/proc/self/maps').read(), os.environ['LD_PRELOAD'].endswith(':libm.so.6'))";
    let ran = under(&story, "--date +1d", script).env("LD_PRELOAD", "libm.so.6").end().exits(0);
    assert_eq!(ran.stdout.trim(), "True True");
}

/// Threads of Rust wait by the system call itself, not by a function of the C library.
const PARKS: &str = r#"
use std::sync::{Condvar, Mutex, mpsc};
use std::time::{Duration, Instant, SystemTime};
fn main() {
    let length = Duration::from_secs(5);
    let waits: [&dyn Fn(); 4] = [
        &|| std::thread::sleep(length),
        &|| std::thread::park_timeout(length),
        &|| drop(Condvar::new().wait_timeout(Mutex::new(()).lock().unwrap(), length)),
        &|| {
            let (_sender, receiver) = mpsc::channel::<()>();
            assert!(receiver.recv_timeout(length).is_err());
        },
    ];
    for (index, wait) in waits.iter().enumerate() {
        let (began, day) = (Instant::now(), SystemTime::now());
        wait();
        assert!(began.elapsed().as_millis() >= 4_990 && day.elapsed().unwrap().as_millis() >= 4_990, "{index}");
        assert!(began.elapsed().as_secs() < 60, "{index}: {:?}", began.elapsed());
    }
}
"#;

#[test]
fn a_rust_program_waits_by_the_clock_it_is_given() {
    let story = Story::new().with("parks.rs", PARKS);
    assert!(story.command("rustc").args(["--edition", "2024", "parks.rs"]).status().unwrap().success());
    let began = std::time::Instant::now();
    story.unflake(["under", "--speed", "50", "--date", "+1000d", "--", "./parks"]).end().exits(0);
    assert!(began.elapsed().as_secs() < 10, "{:?} for waits of 20 s", began.elapsed());
}

#[test]
fn a_doctor_who_is_killed_leaves_nothing() {
    let story = with_few_runtimes();
    let running = story.unflake(["doctor", "--factors"]).env("PATH", story.project().join("bin")).start();
    let begun = || fs::read_dir(story.place().join("tmp")).unwrap().flatten().next().is_some();
    running.wait_until("there are probes", begun);
    running.signal(Signal::SIGKILL);
    running.end().exits(-9);
}

/// Without the others of this machine: they are slow to start.
fn with_few_runtimes() -> Story {
    let story = Story::new().with("bin/keep", "");
    for name in ["sh", "locale", "python3"] {
        let path = std::env::var_os("PATH").unwrap();
        let found = || std::env::split_paths(&path).map(|place| place.join(name)).find(|path| path.is_file());
        let real = if name == "python3" { Some(e2e::python().to_owned()) } else { found() };
        std::os::unix::fs::symlink(real.unwrap(), story.project().join("bin").join(name)).unwrap();
    }
    story
}

#[test]
fn the_doctor_tries_every_factor() {
    let story = with_few_runtimes();
    let ran = story.unflake(["doctor", "--factors"]).env("PATH", story.project().join("bin")).end().exits(0);
    let rows: Vec<&str> = ran.stdout.lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!(rows.len(), 22, "{}", ran.stdout);
    let columns: Vec<&str> = rows[0].split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert!(columns.len() == 3 && columns[1].starts_with("CPython 3.") && columns[2] == "Rust", "{columns:?}");
    for (row, expected) in rows[1..].iter().zip([
        "date yes yes",
        "speed yes yes",
        "time-zone yes yes",
        "locale yes not here",
        "hash-seed yes not here",
        "random-seed yes yes",
        "cores yes yes",
        "load yes yes",
        "memory yes yes",
        "open-files yes yes",
        "delays yes yes",
        "network off yes yes",
        "network alone yes yes",
        "network slow yes yes",
        "listing yes yes",
        "variable yes yes",
        "state yes yes",
        "interpreter yes not here",
        "switch-interval yes not here",
        "order not here not here",
        "beside not here not here",
    ]) {
        // A machine may have no network, no right to make one, no second locale.
        let may_lack =
            ["network off", "network alone", "locale", "time-zone"].iter().any(|name| expected.starts_with(name));
        let row = row.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(row == expected || may_lack && row.contains("not here"), "{row}, not {expected}\n{}", ran.stdout);
    }
    assert!(ran.stdout.contains("hash-seed, Rust: it has no such seed"), "{}", ran.stdout);
}
