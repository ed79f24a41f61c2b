//! `unflake under` as a wrapper: input, output, exit codes, signals, messages.

use std::io::Write;
use std::process::Stdio;

use e2e::{Sandbox, unflake};
use nix::sys::signal::Signal;

use super::{messages, under};

#[test]
fn the_exit_code_of_the_command_is_returned() {
    let sandbox = Sandbox::new();
    let run = |script: &str| sandbox.unflake(["under", "--date", "+1d", "--", "sh", "-c", script]).finish().code;
    assert_eq!(run("exit 7"), 7);
    assert_eq!(run("exit 0"), 0);
    assert_eq!(run("kill -9 $$"), 137);
    let result = sandbox.unflake(["under", "--", "./not-there"]).finish().expect_exit(4);
    let error = "error: cannot start ./not-there: No such file or directory (os error 2)";
    assert!(result.stderr.contains(error), "{}", result.stderr);
}

#[test]
fn one_line_names_the_factors_unless_quiet() {
    let sandbox = Sandbox::new();
    let result =
        sandbox.unflake(["under", "--date", "2027-01-30", "--load", "1", "--", "true"]).finish().expect_exit(0);
    assert_eq!(result.stderr, "unflake: running under date 2027-01-30, load 1\n");
    let result = sandbox.unflake(["under", "-q", "--date", "2027-01-30", "--", "true"]).finish().expect_exit(0);
    assert_eq!((result.stdout.as_str(), result.stderr.as_str()), ("", ""));
}

#[test]
fn the_world_of_a_recorded_attempt_is_taken_from_the_history() {
    let sandbox = Sandbox::with_tests("import time\ndef test_year():\n    assert time.localtime().tm_year < 2031\n");
    let factors = sandbox.unflake(["factors", "--factor", "date", "test_year"]).json();
    let result = factors.args(["--", "python", "-m", "pytest"]).finish();
    let worlds = result.list("worlds").to_vec();
    let has_date = |world: &&serde_json::Value| world["options"].to_string().contains("--date=");
    let world = worlds.iter().find(has_date).expect("one world has another date");
    let id = world["id"].as_str().unwrap();
    assert!(result.list("attempts").iter().any(|attempt| attempt["world"] == id));

    let show = |options: &[&str]| {
        let date = sandbox.unflake(["under"]).args(options.iter().copied()).args(["--", "date", "+%F"]).finish();
        let date = date.expect_exit(0);
        (date.stdout, date.stderr)
    };
    let options: Vec<&str> =
        world["options"].as_array().unwrap().iter().map(|option| option.as_str().unwrap()).collect();
    let (by_id, by_options) = (show(&["--world", id]), show(&options));
    assert_eq!(by_id, by_options);
    assert!(by_id.1.contains("running under date "), "{}", by_id.1);

    let unknown = sandbox.unflake(["under", "--world", "0123456789", "--", "true"]).finish().expect_exit(2);
    assert!(unknown.stderr.contains("error: the history has no world 0123456789"), "{}", unknown.stderr);
}

#[test]
fn what_a_private_command_writes_is_gone() {
    let sandbox = Sandbox::new().file("kept", "old");
    let script = "echo new > kept; rm -rf ~/made; mkdir ~/made; cat kept; cat /proc/net/dev | wc -l";
    let result = sandbox.unflake(["under", "--private", "--", "sh", "-c", script]).finish().expect_exit(0);
    assert_eq!(result.stdout, "new\n3\n");
    assert_eq!(result.stderr, "unflake: running under no factors, private: all\n");
    assert_eq!(std::fs::read_to_string(sandbox.project().join("kept")).unwrap(), "old");
}

#[test]
fn unsupported_settings_are_rejected() {
    let sandbox = Sandbox::new();
    let refused = |words: &[&str]| {
        let result = sandbox.unflake(["under"]).args(words).args(["--", "touch", "ran"]).finish().expect_exit(2);
        assert!(!sandbox.project().join("ran").exists());
        result.stderr
    };
    assert!(refused(&["--order", "7"]).contains("unexpected argument '--order'"));
    assert!(refused(&["--beside", "4"]).contains("unexpected argument '--beside'"));
    assert!(refused(&["--locale", "xx_XX"]).contains("it is not installed; installed are C"));
    assert!(
        refused(&["--time-zone", "Mars/Base"])
            .contains("error: cannot set time-zone=Mars/Base: this machine has no such time zone")
    );
    assert!(refused(&["--interpreter", "python9"]).contains("there is no such program"));
    assert!(refused(&["--date", "2027-02-29"]).contains("`2027-02-29` is not a setting of date; use `2027-01-30`"));
    sandbox.unflake(["under", "--date", "+1d"]).finish().expect_exit(2);
}

#[test]
fn the_last_setting_of_a_factor_wins() {
    let result = under(
        &Sandbox::new(),
        "--cores 5 --cores 3 --network off --network slow:1ms",
        "import os; print(os.cpu_count())",
    )
    .finish();
    assert_eq!(messages(&result), ["running under cores 3, network slow:1ms"]);
    assert_eq!(result.expect_exit(0).stdout.trim(), "3");
}

#[test]
fn input_and_output_are_passed_through() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(unflake());
    command.args(["under", "-q", "--date", "+1d", "--load", "1", "--", "sh", "-c", "cat; echo printed >&2"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"a\0b\xff\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"a\0b\xff\n"[..], &b"printed\n"[..]));
}

#[test]
fn signals_are_forwarded_to_the_command() {
    for (signal, name) in [(Signal::SIGTERM, "SIGTERM"), (Signal::SIGINT, "SIGINT"), (Signal::SIGUSR1, "SIGUSR1")] {
        let sandbox = Sandbox::new();
        let script = format!(
            "import os, signal, sys, time\n\
             heard = []\n\
             signal.signal(signal.{name}, lambda *_: heard.append(1))\n\
             open('up', 'w').write('up')\n\
             while not heard: time.sleep(0.01)\n\
             time.sleep(0.2); sys.exit(40 + len(heard))"
        );
        let running = under(&sandbox, "--load 1 --date +1d", &script).start();
        running.wait_for("up");
        running.signal(signal);
        assert_eq!(running.finish().code, 41, "{name}");
    }
}

/// Types Ctrl-C in a terminal where `unflake under` runs a script that counts the signals.
const TYPES: &str = "
import os, pty, sys, time
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[1], sys.argv[1:])
for _ in range(6000):
    if os.path.exists('up'): break
    time.sleep(0.01)
os.write(terminal, b'\\x03')
while True:
    try:
        if not os.read(terminal, 1000): break
    except OSError: break
print(os.WEXITSTATUS(os.waitpid(child, 0)[1]))
";

#[test]
fn ctrl_c_reaches_the_command_once() {
    let counts = "import signal, sys, time\n\
                  heard = []\n\
                  signal.signal(signal.SIGINT, lambda *_: heard.append(1))\n\
                  open('up', 'w').close()\n\
                  while not heard: time.sleep(0.01)\n\
                  time.sleep(0.3); sys.exit(40 + len(heard))";
    let sandbox = Sandbox::new().file("typist.py", TYPES).file("counts.py", counts);
    let mut command = sandbox.command(e2e::python());
    command.arg("typist.py").arg(unflake()).args(["under", "--date", "+1d", "--load", "1", "--"]);
    let output = command.arg(e2e::python()).arg("counts.py").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "41\n", "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn processes_that_the_command_leaves_are_ended() {
    let script = "import subprocess; subprocess.Popen(['sleep', '1000'], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)";
    // The sandbox checks for leftover processes.
    under(&Sandbox::new(), "--date +1d", script).finish().expect_exit(0);
}
