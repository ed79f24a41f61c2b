//! Completion in shells, and manual pages.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use e2e::{Sandbox, unflake};

const TESTS: &str = "def test_alpha():\n    pass\ndef test_beta():\n    pass\n";

/// A project whose history knows two tests.
fn with_history() -> Sandbox {
    let sandbox = Sandbox::with_tests(TESTS);
    sandbox.run("", "pytest").expect_exit(0);
    sandbox
}

/// What an interactive bash makes of `typed` and a tab.
fn completed_by_bash(sandbox: &Sandbox, typed: &str) -> String {
    let pty = nix::pty::openpty(None, None).unwrap();
    let mut shell = sandbox.command("bash");
    let path = path_with_unflake(&shell);
    let terminal = |fd: &OwnedFd| Stdio::from(fd.try_clone().unwrap());
    shell.stdin(terminal(&pty.slave)).stdout(terminal(&pty.slave)).stderr(terminal(&pty.slave));
    shell.args(["--norc", "--noprofile", "-i"]).env("PATH", path).env("PS1", "").env("TERM", "dumb");
    let mut running = shell.spawn().unwrap();
    drop((shell, pty.slave));
    let mut terminal = fs::File::from(pty.master);
    // Ctrl-A and `echo` print the completed line instead of running it.
    write!(terminal, "source <(unflake completions bash)\n{typed}\t\x01echo completed: \nexit\n").unwrap();
    let mut shown = Vec::new();
    // Reading fails when the shell has closed the terminal.
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = terminal.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..count]);
    }
    running.wait().unwrap();
    let shown = String::from_utf8_lossy(&shown).replace('\r', "");
    let line = shown.lines().rev().find_map(|line| line.strip_prefix("completed: "));
    line.unwrap_or_else(|| panic!("bash printed no line:\n{shown}")).trim_end().to_owned()
}

/// The search path of the command, with the directory of unflake before it.
fn path_with_unflake(command: &Command) -> String {
    let path = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, path)| path).unwrap();
    format!("{}:{}", unflake().parent().unwrap().display(), path.to_str().unwrap())
}

#[test]
fn bash_completes_commands_options_and_tests() {
    let sandbox = with_history();
    for (typed, completed) in [
        ("unflake loc", "unflake locate"),
        ("unflake history sc", "unflake history score"),
        ("unflake run --flaky", "unflake run --flaky-result"),
        ("unflake locate test_it.py::test_a", "unflake locate test_it.py::test_alpha"),
        ("unflake order beta", "unflake order test_it.py::test_beta"),
        ("unflake run --json test_i", "unflake run --json test_it.py"),
    ] {
        assert_eq!(completed_by_bash(&sandbox, typed), completed, "{typed}");
    }
}

#[test]
fn completion_creates_no_files() {
    let sandbox = with_history();
    let files = || {
        let entries = fs::read_dir(sandbox.project().join(".unflake")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = files();
    let found = sandbox.unflake(["complete", "2", "--", "unflake", "locate", "alp"]).finish().expect_exit(0).stdout;
    assert_eq!(found.trim_end(), "test_it.py::test_alpha");
    assert_eq!(files(), before);
    let empty = Sandbox::new();
    let none = empty.unflake(["complete", "2", "--", "unflake", "locate", "alp"]).finish().expect_exit(0).stdout;
    assert_eq!(none, "");
    assert!(!empty.project().join(".unflake").exists());
}

#[test]
fn hidden_commands_are_not_completed() {
    let sandbox = Sandbox::new();
    let found = sandbox.unflake(["complete", "1", "--", "unflake", ""]).finish().expect_exit(0).stdout;
    let words: Vec<&str> = found.lines().filter_map(|line| line.split('\t').next()).collect();
    assert!(words.contains(&"run"), "{words:?}");
    assert!(["keep", "drive", "tell", "complete"].iter().all(|hidden| !words.contains(hidden)), "{words:?}");
}

/// Shells that are not installed are left out; bash always is.
#[test]
fn shells_accept_the_completion_scripts() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = sandbox.unflake(["completions", shell]).finish().expect_exit(0).stdout;
        fs::write(sandbox.project().join(shell), script).unwrap();
        match sandbox.command(shell).args(["-n", shell]).status() {
            Ok(status) => assert!(status.success(), "{shell}"),
            Err(error) => assert_ne!(shell, "bash", "{error}"),
        }
    }
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let sandbox = Sandbox::new();
    let page = sandbox.unflake(["man"]).finish().expect_exit(0).stdout;
    assert!(page.contains(".TH unflake 1"), "{page}");
    sandbox.unflake(["man", "pages"]).finish().expect_exit(0);
    let pages = sandbox.project().join("pages");
    for name in ["unflake", "unflake-run", "unflake-history-score", "unflake-report-comment"] {
        let page = fs::read_to_string(pages.join(format!("{name}.1"))).unwrap();
        assert!(page.contains(&format!(".SH NAME\n{}", name.replace('-', "\\-"))), "{page}");
    }
    assert!(!pages.join("unflake-keep.1").exists());
}
