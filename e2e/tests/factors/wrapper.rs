//! `unflake under` as a command among commands: input, output, exit codes, signals, words.

use std::io::Write;
use std::process::Stdio;

use e2e::{Story, unflake};
use nix::sys::signal::Signal;

use crate::{said, under};

#[test]
fn the_exit_code_is_that_of_the_command() {
    let story = Story::new();
    let run = |script: &str| story.unflake(["under", "--date", "+1d", "--", "sh", "-c", script]).end().code;
    assert_eq!(run("exit 7"), 7);
    assert_eq!(run("exit 0"), 0);
    assert_eq!(run("kill -9 $$"), 137);
    let ran = story.unflake(["under", "--", "./not-there"]).end().exits(4);
    assert_eq!(said(&ran)[1], "could not start ./not-there: No such file or directory (os error 2)");
}

#[test]
fn it_says_in_one_line_under_what_it_runs_unless_it_is_to_be_quiet() {
    let story = Story::new();
    let ran = story.unflake(["under", "--date", "2027-01-30", "--load", "1", "--", "true"]).end().exits(0);
    assert_eq!(ran.stderr, "unflake: running under date 2027-01-30, load 1\n");
    let ran = story.unflake(["under", "-q", "--date", "2027-01-30", "--", "true"]).end().exits(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
}

#[test]
fn what_cannot_be_set_is_refused_in_words() {
    let story = Story::new();
    let refused = |words: &[&str]| {
        let ran = story.unflake(["under"]).args(words).args(["--", "touch", "ran"]).end().exits(2);
        assert!(!story.project().join("ran").exists());
        ran.stderr
    };
    let order = refused(&["--order", "7"]);
    assert_eq!(
        order,
        "unflake: cannot set order to 7: only a run of tests has an order, and a command is run as it is\n"
    );
    assert!(refused(&["--beside", "4"]).contains("only a run of tests has copies"));
    assert!(refused(&["--locale", "xx_XX"]).contains("it is not installed; there are C"));
    assert!(refused(&["--time-zone", "Mars/Base"]).contains("there is no such time zone"));
    assert!(refused(&["--interpreter", "python9"]).contains("there is no such program"));
    assert!(refused(&["--date", "2027-02-29"]).contains("`2027-02-29` is no setting of date: it is `2027-01-30`"));
    story.unflake(["under", "--date", "+1d"]).end().exits(2);
}

#[test]
fn of_two_settings_the_later_holds() {
    let ran = under(
        &Story::new(),
        "--cores 5 --cores 3 --network off --network slow:1ms",
        "import os; print(os.cpu_count())",
    )
    .end();
    assert_eq!(said(&ran), ["running under cores 3, network slow:1ms"]);
    assert_eq!(ran.exits(0).stdout.trim(), "3");
}

#[test]
fn input_and_output_are_passed_through() {
    let story = Story::new();
    let mut command = story.command(unflake());
    command.args(["under", "-q", "--date", "+1d", "--load", "1", "--", "sh", "-c", "cat; echo said >&2"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"a\0b\xff\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"a\0b\xff\n"[..], &b"said\n"[..]));
}

#[test]
fn a_signal_is_passed_on_and_the_command_decides() {
    for (signal, name) in [(Signal::SIGTERM, "SIGTERM"), (Signal::SIGINT, "SIGINT"), (Signal::SIGUSR1, "SIGUSR1")] {
        let story = Story::new();
        let script = format!(
            "import os, signal, sys, time\n\
             heard = []\n\
             signal.signal(signal.{name}, lambda *_: heard.append(1))\n\
             open('up', 'w').write('up')\n\
             while not heard: time.sleep(0.01)\n\
             time.sleep(0.2); sys.exit(40 + len(heard))"
        );
        let running = under(&story, "--load 1 --date +1d", &script).start();
        running.wait_for("up");
        running.signal(signal);
        assert_eq!(running.end().code, 41, "{name}");
    }
}

/// Types Ctrl-C at a terminal in which `unflake under` runs a script that counts how often it hears of it.
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
    let story = Story::new().with("typist.py", TYPES).with("counts.py", counts);
    let mut command = story.command(e2e::python());
    command.arg("typist.py").arg(unflake()).args(["under", "--date", "+1d", "--load", "1", "--"]);
    let output = command.arg(e2e::python()).arg("counts.py").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "41\n", "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_the_command_leaves_running_is_ended() {
    let script = "import subprocess; subprocess.Popen(['sleep', '1000'], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)";
    // The story looks for it.
    under(&Story::new(), "--date +1d", script).end().exits(0);
}
