//! Private worlds as root, as an ordinary user, in another private world, and where the system forbids
//! namespaces; and what is left of them.

use std::fs;
use std::path::Path;

use e2e::{Invocation, RunOutput, Sandbox, python, repository, unflake};
use nix::sys::signal::Signal;

const SCRIPT: &str = "echo new > kept && rm -rf ~/made && mkdir ~/made && touch $TMPDIR/made && mkdir d && cat kept";
const PYTEST: [&str; 4] = ["--", "python", "-m", "pytest"];

/// Copies use one file in the working directory, the home and the temporary directory.
const SHARING: &str = r#"
import os, tempfile, time, pytest

@pytest.mark.parametrize("place", [".", "~", "temp", "/tmp"])
def test_file(place):
    place = tempfile.gettempdir() if place == "temp" else os.path.expanduser(place)
    path = os.path.join(place, "unflake-claimed")
    with open(path, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(0.05)
    with open(path) as file:
        assert file.read() == str(os.getpid())
    os.remove(path)
"#;

/// The command, or a message that it cannot be had here.
fn possible<'a>(command: Option<Invocation<'a>>, what: &str) -> Option<Invocation<'a>> {
    if command.is_none() {
        eprintln!("skipped: {what}");
    }
    command
}

fn under(sandbox: &Sandbox) -> Invocation<'_> {
    sandbox.unflake(["under", "--private", "--", "sh", "-c", SCRIPT])
}

fn stress(sandbox: &Sandbox) -> Invocation<'_> {
    sandbox.unflake(["stress", "--for", "1h", "--max-runs", "9", "--jobs", "4"]).json().args(PYTEST)
}

#[track_caller]
fn assert_unchanged(sandbox: &Sandbox) {
    assert_eq!(fs::read_to_string(sandbox.project().join("kept")).unwrap(), "old");
    assert!(!sandbox.project().join("d").exists() && !sandbox.root().join("home/made").exists());
    assert!(!sandbox.root().join("tmp/made").exists());
    assert_no_mounts(sandbox);
}

#[track_caller]
fn assert_no_mounts(sandbox: &Sandbox) {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(sandbox.root().to_str().unwrap()), "{mounts}");
}

#[track_caller]
fn assert_all_private(result: &RunOutput) {
    assert_eq!(result.list("findings"), [] as [serde_json::Value; 0]);
    let worlds = result.list("worlds");
    let is_private = |world: &serde_json::Value| world["options"].as_array().unwrap().contains(&"--private=all".into());
    assert!(!worlds.is_empty() && worlds.iter().all(is_private), "{worlds:?}");
}

#[test]
fn a_command_of_an_ordinary_user_is_private() {
    let sandbox = Sandbox::new().file("kept", "old");
    let Some(command) = possible(under(&sandbox).as_ordinary_user(), "no second user") else { return };
    let result = command.finish().expect_exit(0);
    assert_eq!(result.stdout, "new\n");
    assert_eq!(result.stderr, "unflake: running under no factors, private: all\n");
    assert_unchanged(&sandbox);
}

#[test]
fn copies_of_an_ordinary_user_do_not_meet() {
    let sandbox = Sandbox::with_tests(SHARING);
    // The Python of the tests may be in a directory of another user; that of the system has its pytest.
    let packages = python().with_file_name("../lib").read_dir().unwrap().flatten().next().unwrap();
    let words = ["stress", "--for", "1h", "--max-runs", "9", "--jobs", "4"];
    let command = sandbox.unflake(words).json().args(["--", "/usr/bin/python3", "-m", "pytest"]);
    let command = command.env("PYTHONPATH", packages.path().join("site-packages"));
    let is_installed = Path::new("/usr/bin/python3").exists();
    let Some(command) = possible(command.as_ordinary_user().filter(|_| is_installed), "no second user") else { return };
    assert_all_private(&command.finish().expect_exit(0));
    assert_no_mounts(&sandbox);
}

#[test]
fn a_private_command_starts_another_one() {
    let sandbox = Sandbox::new().file("kept", "old");
    let inner = format!("{} under --private -- sh -c '{SCRIPT}' && cat kept", unflake().display());
    let result = sandbox.unflake(["under", "--private", "--", "sh", "-c", &inner]).finish().expect_exit(0);
    assert_eq!(result.stdout, "new\nold");
    assert_unchanged(&sandbox);
}

#[test]
fn copies_do_not_meet_in_a_private_world_in_another_one() {
    let sandbox = Sandbox::with_tests(SHARING);
    let words = ["under", "--private=project,home,network,ipc", "--", unflake().to_str().unwrap(), "stress"];
    let command = sandbox.unflake(words).args(["--for", "1h", "--max-runs", "9", "--jobs", "4"]).json().args(PYTEST);
    assert_all_private(&command.finish().expect_exit(0));
}

/// The temporary directory is a command's own by `TMPDIR`. The rest is shared, and unflake says so.
#[test]
fn without_namespaces_a_command_has_its_own_temporary_directory() {
    let sandbox = Sandbox::new();
    let command = sandbox.unflake(["under", "--private", "--", "sh", "-c", "touch $TMPDIR/made"]);
    let Some(command) = possible(command.without_namespaces(), "no user namespace") else { return };
    let result = command.finish().expect_exit(0);
    let expected = "not private: project files, home directory, temporary directories, ports, shared memory and \
                    message queues, host name (namespaces are not permitted here)\n";
    assert!(result.stderr.ends_with(expected), "{}", result.stderr);
    assert_eq!(fs::read_dir(sandbox.root().join("tmp")).unwrap().count(), 0);

    let named = sandbox.unflake(["under", "--private=network", "--", "true"]).without_namespaces().unwrap();
    let refused = named.finish().expect_exit(2);
    assert!(refused.stderr.contains("cannot make network private"), "{}", refused.stderr);
}

#[test]
fn without_namespaces_copies_share_what_has_no_variable() {
    let sandbox = Sandbox::with_tests(SHARING);
    let Some(command) = possible(stress(&sandbox).without_namespaces(), "no user namespace") else { return };
    let result = command.finish().expect_exit(1);
    assert!(result.stdout.contains("attempts that run at once share project files"), "{}", result.stdout);
    let findings = result.list("findings");
    for finding in findings {
        assert!(finding["sentence"].as_str().unwrap().starts_with("fails when two run at once: "), "{finding}");
        assert!(!finding["test"].as_str().unwrap().contains("temp"), "its directory is its own: {finding}");
    }
    assert!(!findings.is_empty());
}

/// Fails after the other test; two at the same time would meet in a file.
const VICTIM: &str = r#"
import os, time

left = []

def test_polluter():
    left.append(1)

def test_victim():
    with open("claimed", "w") as file:
        file.write(str(os.getpid()))
    time.sleep(0.05)
    with open("claimed") as file:
        assert file.read() == str(os.getpid())
    assert not left
"#;

#[track_caller]
fn assert_state_dependent(result: &RunOutput) {
    let [finding] = result.list("findings") else { panic!("{:?}", result.list("findings")) };
    assert_eq!(finding["kind"], "flaky-state-dependent", "{finding}");
    let is_in_seeded_process = |one: &serde_json::Value| one["purpose"] == "other-seeds";
    assert!(result.list("attempts").iter().filter(|one| is_in_seeded_process(one)).count() > 1);
}

#[test]
fn attempts_that_decide_a_verdict_do_not_meet() {
    let sandbox = Sandbox::with_tests(VICTIM);
    assert_state_dependent(
        &sandbox.unflake(["run", "--new-processes", "8"]).json().args(PYTEST).finish().expect_exit(0),
    );
}

#[test]
fn without_namespaces_attempts_that_decide_a_verdict_do_not_meet() {
    let sandbox = Sandbox::with_tests(VICTIM);
    let command = sandbox.unflake(["run", "--new-processes", "8"]).json().args(PYTEST).without_namespaces();
    let Some(command) = possible(command, "no user namespace") else { return };
    assert_state_dependent(&command.finish().expect_exit(0));
}

/// The process that a test has started.
fn sleeps(sandbox: &Sandbox) -> bool {
    let is_one = |process: &Path| {
        fs::read(process.join("cmdline")).is_ok_and(|text| text == b"sleep\x001234567\0")
            && fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == sandbox.project())
    };
    fs::read_dir("/proc").unwrap().flatten().any(|entry| is_one(&entry.path()))
}

#[test]
fn nothing_is_left_of_a_private_world_that_is_interrupted_or_killed() {
    let script = "touch $TMPDIR/made; exec sleep 1234567";
    for signal in [Signal::SIGINT, Signal::SIGKILL] {
        let sandbox = Sandbox::with_tests("import os\ndef test_it(): os.system('sleep 1234567')\n");
        let commands = [
            sandbox.unflake(["under", "--private", "--", "sh", "-c", script]),
            sandbox.unflake(["stress", "--for", "1h", "--jobs", "2"]).args(PYTEST),
        ];
        for command in commands {
            let running = command.start();
            running.wait_until("the command sleeps", || sleeps(&sandbox));
            running.signal(signal);
            // This fails where a process or a directory of unflake is left.
            running.finish();
            assert_no_mounts(&sandbox);
            assert_eq!(fs::read_dir(sandbox.root().join("tmp")).unwrap().count(), 0);
        }
    }
}

// -- Copies that share a place, in other languages: see also the specimens -------------------------

#[test]
fn java_copies_do_not_meet() {
    let sandbox = Sandbox::specimen("stress/java/shared_places");
    let jars = std::env::home_dir().unwrap().join(".m2/repository");
    let words = "--for 1h --max-runs 4 --jobs 3 --classpath-file class-path.txt --test-classes out -- ./build.sh";
    let command = sandbox.unflake(["stress"]).json().args(words.split(' ')).env("REPOSITORY", jars);
    let result = command.finish().expect_exit(0);
    assert_eq!(result.list("tests").len(), 3);
    assert_all_private(&result);
}

// -- What tests declare that they need for themselves is honoured ----------------------------------

/// Nothing runs beside a copy where the project declares that; copies share all files.
#[track_caller]
fn assert_no_meeting(sandbox: &Sandbox, command: &[&str]) {
    let mut path = vec![python().parent().unwrap().to_owned(), repository().join(".venvs/cargo/bin")];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let words = ["stress", "--for", "1h", "--max-runs", "4", "--jobs", "4", "--private", "none"];
    let invocation = sandbox.unflake(words).json().arg("--").args(command);
    let result = invocation.env("PATH", std::env::join_paths(path).unwrap()).finish().expect_exit(0);
    assert!(result.list("attempts").len() >= 8, "{}", result.stdout);
}

#[test]
fn tests_of_one_xdist_group_do_not_run_side_by_side() {
    let sandbox = Sandbox::with_tests(
        "import os, time, pytest\n\
         @pytest.mark.xdist_group('directory')\n\
         @pytest.mark.parametrize('number', [1, 2])\n\
         def test_it(number):\n    os.mkdir('taken'); time.sleep(0.1); os.rmdir('taken')\n",
    );
    assert_no_meeting(&sandbox, &["python", "-m", "pytest", "-p", "no:xdist", "-W", "ignore"]);
}

#[test]
fn locks_and_serial_tests_of_ctest_do_not_run_side_by_side() {
    let takes =
        |name: &str| format!("add_test(NAME {name} COMMAND sh -c \"mkdir taken && sleep 0.1 && rmdir taken\")\n");
    let tests: String = ["locks", "locks_too", "alone"].map(takes).concat();
    let sandbox = Sandbox::new().file(
        "CMakeLists.txt",
        format!(
            "cmake_minimum_required(VERSION 3.16)\nproject(places NONE)\nenable_testing()\n{tests}\
             set_tests_properties(locks locks_too PROPERTIES RESOURCE_LOCK directory)\n\
             set_tests_properties(alone PROPERTIES RUN_SERIAL TRUE)\n"
        ),
    );
    let configured = sandbox.command("cmake").args(["-S", ".", "-B", "build"]).output().unwrap();
    assert!(configured.status.success());
    assert_no_meeting(&sandbox, &["ctest", "--test-dir", "build"]);
}

#[test]
fn tests_of_one_nextest_group_do_not_run_side_by_side() {
    let test = "#[test]\nfn NAME() {\n    std::fs::create_dir(\"taken\").unwrap();\n    \
                std::thread::sleep(std::time::Duration::from_millis(100));\n    std::fs::remove_dir(\"taken\").unwrap();\n}\n";
    let sandbox = Sandbox::new()
        .file("Cargo.toml", "[package]\nname = \"places\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n")
        .file("src/lib.rs", test.replace("NAME", "takes") + &test.replace("NAME", "takes_too"))
        .file(
            ".config/nextest.toml",
            "[test-groups]\ndirectory = { max-threads = 1 }\n\
             [[profile.default.overrides]]\nfilter = 'test(takes)'\ntest-group = 'directory'\n",
        );
    assert_no_meeting(&sandbox, &["cargo", "nextest", "run"]);
}

const LOCKS: &str = r#"package com.acme;

import java.nio.file.Files;
import java.nio.file.Paths;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;

@ResourceLock("directory")
class LockTest {
    static void take() throws Exception {
        Files.createDirectory(Paths.get("taken"));
        Thread.sleep(100);
        Files.delete(Paths.get("taken"));
    }

    @Test
    void takes() throws Exception {
        take();
    }

    @Test
    void takesToo() throws Exception {
        take();
    }
}
"#;

#[test]
fn tests_with_one_resource_lock_of_junit_do_not_run_side_by_side() {
    let jars = std::env::home_dir().unwrap().join(".m2/repository");
    let versions = ["junit-jupiter-*-5.10.2", "junit-platform-*-1.10.2", "opentest4j-1.3.0", "apiguardian-api-1.1.2"];
    let names = versions.map(|name| format!("-name '{name}.jar'")).join(" -o ");
    let script = format!(
        "#!/bin/sh\nset -e\njars=$(find {} {names})\nmkdir -p out\n\
         javac -nowarn -cp \"$(echo $jars | tr ' ' ':')\" -d out LockTest.java\n\
         printf '%s\\n' out $jars > class-path.txt\n",
        jars.display()
    );
    let sandbox = Sandbox::new().file("LockTest.java", LOCKS).file("build.sh", script);
    let words = "--for 1h --max-runs 4 --jobs 4 --private none --classpath-file class-path.txt --test-classes out";
    let command = sandbox.unflake(["stress"]).json().args(words.split(' ')).args(["--", "sh", "build.sh"]);
    let result = command.finish().expect_exit(0);
    assert_eq!(result.list("attempts").len(), 8);
}
