//! Programs that the preloaded shim cannot reach are reported, and an existing preload is kept.

use std::fs;

use e2e::Sandbox;
use nix::sys::signal::Signal;

use super::{messages, under};

/// A program without any library, which the shim cannot reach.
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

fn with_static_program() -> Sandbox {
    let sandbox = Sandbox::new().file("alone.rs", STATIC);
    let mut rustc = sandbox.command("rustc");
    rustc.args(["--edition", "2024", "-C", "panic=abort", "-C", "relocation-model=static"]);
    rustc.args(["-C", "link-arg=-nostartfiles", "-C", "link-arg=-nostdlib", "-C", "link-arg=-static", "alone.rs"]);
    let output = rustc.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    sandbox
}

#[test]
fn static_programs_are_reported_as_unreached() {
    let sandbox = with_static_program();
    let result = sandbox.unflake(["under", "-q", "--date", "+1d", "--", "./alone"]).finish().expect_exit(0);
    let nothing = "date +1d applied to no process of the command: ./alone is linked statically";
    assert_eq!(messages(&result), [nothing]);
    let result = sandbox
        .unflake(["under", "-q", "--date", "+1d", "--", "sh", "-c", "./alone; ./alone; date"])
        .finish()
        .expect_exit(0);
    assert_eq!(messages(&result), ["date +1d did not apply to every process: ./alone is linked statically"]);
    // Factors without the shim reach every program.
    let result = sandbox.unflake(["under", "-q", "--load", "1", "--", "./alone"]).finish().expect_exit(0);
    assert_eq!(messages(&result), Vec::<&str>::new());
}

#[test]
fn programs_without_the_environment_are_reported_as_unreached() {
    let sandbox = Sandbox::new();
    let script = "import subprocess; subprocess.run(['date', '+%F'], env={})";
    let result = under(&sandbox, "-q --date 2027-01-30", script).finish().expect_exit(0);
    assert_ne!(result.stdout.trim(), "2027-01-30");
    let [line] = messages(&result)[..] else { panic!("{}", result.stderr) };
    let end = "date was started without the environment variables that load the shim";
    assert!(line.starts_with("date 2027-01-30 did not apply to every process: ") && line.ends_with(end), "{line}");
}

#[test]
fn an_existing_preload_is_kept() {
    let sandbox = Sandbox::new();
    let script = "import os; print('libm.so' in open('/proc/self/maps').read(), os.environ['LD_PRELOAD'].endswith(':libm.so.6'))";
    let result = under(&sandbox, "--date +1d", script).env("LD_PRELOAD", "libm.so.6").finish().expect_exit(0);
    assert_eq!(result.stdout.trim(), "True True");
}

/// Rust threads wait with the system call itself, not with a function of the C library.
const PARKS: &str = r#"
use std::sync::{Condvar, Mutex, mpsc};
use std::time::{Duration, Instant, SystemTime};
fn main() {
    let length = Duration::from_secs(650);
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
        assert!(began.elapsed().as_millis() >= 649_000 && day.elapsed().unwrap().as_millis() >= 649_000, "{index}");
    }
}
"#;

#[test]
fn rust_waits_follow_the_clock() {
    let sandbox = Sandbox::new().file("parks.rs", PARKS);
    assert!(sandbox.command("rustc").args(["--edition", "2024", "parks.rs"]).status().unwrap().success());
    // By the real clock each wait would exceed the hang guard.
    sandbox.unflake(["under", "--speed", "1000", "--date", "+1000d", "--", "./parks"]).finish().expect_exit(0);
}

#[test]
fn a_killed_doctor_leaves_nothing() {
    let sandbox = with_few_runtimes();
    let running = sandbox.unflake(["doctor", "--factors"]).env("PATH", sandbox.project().join("bin")).start();
    let begun = || fs::read_dir(sandbox.root().join("tmp")).unwrap().flatten().next().is_some();
    running.wait_until("there are probes", begun);
    running.signal(Signal::SIGKILL);
    running.finish().expect_exit(-9);
}

/// A `PATH` with few language runtimes, because others are slow to start.
fn with_few_runtimes() -> Sandbox {
    let sandbox = Sandbox::new().file("bin/keep", "");
    for name in ["sh", "locale", "python3"] {
        let path = std::env::var_os("PATH").unwrap();
        let found = || std::env::split_paths(&path).map(|place| place.join(name)).find(|path| path.is_file());
        let real = if name == "python3" { Some(e2e::python().to_owned()) } else { found() };
        std::os::unix::fs::symlink(real.unwrap(), sandbox.project().join("bin").join(name)).unwrap();
    }
    sandbox
}

#[test]
fn doctor_tries_every_factor() {
    let sandbox = with_few_runtimes();
    let result =
        sandbox.unflake(["doctor", "--factors"]).env("PATH", sandbox.project().join("bin")).finish().expect_exit(0);
    let rows: Vec<&str> = result.stdout.lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!(rows.len(), 21, "{}", result.stdout);
    let columns: Vec<&str> = rows[0].split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert!(columns.len() == 3 && columns[1].starts_with("CPython 3.") && columns[2] == "Rust", "{columns:?}");
    for (row, expected) in rows[1..].iter().zip([
        "date yes yes",
        "speed yes yes",
        "time-zone yes yes",
        "locale yes n/a",
        "random-seed yes yes",
        "address-seed yes yes",
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
        "hash-seed yes n/a",
        "interpreter yes n/a",
        "switch-interval yes n/a",
    ]) {
        // A machine may have no network, no permission to create one, or no second locale.
        let may_lack =
            ["network off", "network alone", "locale", "time-zone"].iter().any(|name| expected.starts_with(name));
        let row = row.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(row == expected || may_lack && row.contains("n/a"), "{row}, not {expected}\n{}", result.stdout);
    }
    assert!(result.stdout.contains("hash-seed, Rust: it has no such seed"), "{}", result.stdout);
}
