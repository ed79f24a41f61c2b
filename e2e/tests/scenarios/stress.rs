//! `unflake stress`, and the time budget of searches.

use e2e::{RunOutput, Sandbox};

/// Fails when two copies run at the same time: they write the same file.
const CONTESTED: &str = r#"
#[test]
fn always() {}

#[test]
fn has_the_file_to_itself() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("taken");
    let mine = format!("{}", std::process::id());
    std::fs::write(&path, &mine).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), mine, "another process wrote there");
}
"#;

fn contested() -> Sandbox {
    Sandbox::new()
        .file("Cargo.toml", "[package]\nname = \"contested\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n")
        .file("src/lib.rs", "")
        .file("tests/files.rs", CONTESTED)
}

fn stress(sandbox: &Sandbox, options: &'static str, command: &'static str) -> RunOutput {
    let words = |text: &'static str| text.split(' ');
    sandbox.unflake(["stress"]).json().args(words(options)).arg("--").args(words(command)).finish()
}

#[test]
fn a_test_that_fails_in_parallel_with_copies_is_found() {
    let sandbox = contested();
    let plain = sandbox.run("", "cargo test").expect_exit(0);
    assert!(plain.list("findings").is_empty());

    let result = stress(&sandbox, "--for 1h --max-runs 40 --jobs 4 --private none", "cargo test").expect_exit(1);
    let findings = result.list("findings");
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0]["test"], "contested::files has_the_file_to_itself");
    let sentence = findings[0]["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("fails when two run at once: ") && sentence.contains("project files"), "{sentence}");
    let times = |test: &str| result.list("attempts").iter().filter(|attempt| attempt["test"] == test).count();
    // A failure beside other tests is examined, which runs these again.
    assert!(times("contested::files always") >= 40);
    assert_eq!(result.json()["exit"]["meaning"].as_str().unwrap().split(' ').next_back(), Some("stress"));
}

#[test]
fn stress_works_with_pytest() {
    let sandbox = Sandbox::with_tests(
        "import os, time\n\
         def test_alone():\n    open('taken', 'w').write(str(os.getpid()))\n    time.sleep(0.1)\n    \
         assert open('taken').read() == str(os.getpid())\n\
         def test_always():\n    pass\n",
    );
    let result = stress(&sandbox, "--for 1h --max-runs 8 --jobs 4 --private none", "python -m pytest").expect_exit(1);
    let failing: Vec<_> = result.list("findings").iter().map(|finding| finding["test"].as_str().unwrap()).collect();
    assert_eq!(failing, ["test_it.py::test_alone"]);
}

/// Copies use one file in the working directory, the home and the temporary directory, remove and create
/// one directory, and listen on one port.
const SHARING: &str = r#"
import os, shutil, socket, time

def claim(path):
    with open(path, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(0.05)
    with open(path) as file:
        assert file.read() == str(os.getpid())
    os.remove(path)

def test_project():
    claim("claimed")

def test_home():
    claim(os.path.expanduser("~/unflake-claimed"))

def test_temp():
    claim("/tmp/unflake-claimed")

def test_directory():
    shutil.rmtree("fixed")
    os.mkdir("fixed")
    time.sleep(0.05)
    os.mkdir("fixed/a")
    assert os.listdir("fixed") == ["a"]

def test_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 18765))
        server.listen()
        time.sleep(0.05)
        socket.create_connection(("127.0.0.1", 18765)).close()
"#;

#[test]
fn copies_do_not_meet_in_private_worlds() {
    let sandbox = Sandbox::with_tests(SHARING).file("fixed/here", "");
    let run = || stress(&sandbox, "--for 1h --max-runs 9 --jobs 4", "python -m pytest");
    let result = run().expect_exit(0);
    assert_eq!(result.list("findings"), [] as [serde_json::Value; 0]);
    let is_private = |world: &serde_json::Value| world["options"].as_array().unwrap().contains(&"--private=all".into());
    assert!(result.list("worlds").iter().all(is_private));
    assert!(sandbox.project().join("fixed/here").exists(), "what they do there is their own");
    assert!(!std::path::Path::new("/tmp/unflake-claimed").exists());
}

#[test]
fn rust_copies_do_not_meet_in_private_worlds() {
    let result = stress(&contested(), "--for 1h --max-runs 12 --jobs 4", "cargo test").expect_exit(0);
    assert!(result.list("findings").is_empty());
}

#[test]
fn a_stress_run_without_findings_succeeds_at_its_time_limit() {
    let sandbox = Sandbox::with_tests("def test_always():\n    pass\n");
    let result = stress(&sandbox, "--for 3s --jobs 1", "python -m pytest").expect_exit(0);
    assert!(!result.list("attempts").is_empty() && result.list("findings").is_empty());
}

#[test]
fn a_search_ends_at_its_budget_without_conclusions_from_partial_sessions() {
    let sandbox =
        Sandbox::with_tests("import time\ndef test_ever():\n    time.sleep(6000)\ndef test_at_once():\n    pass\n");
    for search in ["order", "nio", "stress"] {
        let result = sandbox
            .unflake([search, "--for", "3"])
            .json()
            .args(["--", "python", "-m", "pytest"])
            .finish()
            .expect_exit(0);
        assert_eq!(result.list("findings"), [] as [serde_json::Value; 0]);
        assert!(result.list("attempts").iter().all(|attempt| attempt["test"] == "test_it.py::test_at_once"));
    }
}

#[test]
fn a_budget_ends_a_collection_that_hangs() {
    let sandbox = Sandbox::with_tests("import time\ntime.sleep(6000)\n");
    for search in ["nio", "stress"] {
        let run = sandbox.unflake([search, "--for", "1", "--", "python", "-m", "pytest"]);
        let result = run.finish().expect_exit(3);
        let meaning = "exit 3: nothing was searched: the budget ended before the tests were listed";
        assert!(result.stdout.contains(meaning), "{search}: {}", result.stdout);
    }
}

#[test]
fn a_collection_that_takes_the_whole_budget_leaves_nothing_to_conclude() {
    let sandbox = Sandbox::with_tests("import time\ntime.sleep(1.2)\ndef test_a():\n    pass\n");
    for search in ["nio", "factors test_a"] {
        let run = sandbox.unflake(search.split(' ')).args(["--for", "1", "--", "python", "-m", "pytest"]);
        run.finish().expect_exit(3);
    }
}

/// Each would take hours if it waited for what runs at the end of its budget.
#[test]
fn no_command_waits_for_what_runs_at_the_end_of_its_budget() {
    let sandbox = Sandbox::with_tests(
        "import atexit, os, signal, time\n\
         signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
         atexit.register(time.sleep, 6000)\n\
         if os.path.exists('slow'): time.sleep(6000)\n\
         def test_ever():\n    open('slow', 'w').close()\n    time.sleep(6000)\n",
    );
    for command in ["locate test_ever", "factors test_ever", "measure"] {
        let _ = std::fs::remove_file(sandbox.project().join("slow"));
        let run = sandbox.unflake(command.split(' ')).args(["--for", "1", "--", "python", "-m", "pytest"]);
        run.finish().expect_exit(3);
    }
}

// -- Different tests in one process ---------------------------------------------------------------

const RACE: &str = "stress/rust/log_level";

/// Stresses the specimen whose tests race, and checks what is found.
fn find_race() {
    let sandbox = Sandbox::specimen(RACE);
    let result = stress(&sandbox, "--for 20", "cargo test").expect_exit(1);
    let findings = result.list("findings");
    let mut named = 0;
    let race = ["written_at_the_level_debug", "not_written_at_the_level_error"];
    for finding in findings {
        let (test, sentence) = (finding["test"].as_str().unwrap(), finding["sentence"].as_str().unwrap());
        let this = race.iter().position(|name| test.contains(name)).unwrap_or_else(|| panic!("{finding}"));
        assert_eq!(finding["kind"], "flaky-independent");
        // The other of the two fails seldom: within the budget its companion may not be confirmed.
        let Some(beside) = finding["evidence"]["beside"][0].as_str() else { continue };
        named += 1;
        assert!(beside.contains(race[1 - this]), "{finding}");
        assert!(sentence.starts_with("fails when it runs at the same time as logger"), "{sentence}");
        let command = finding["reproduce"][0]["command"].as_str().unwrap();
        assert!(command.starts_with("cargo test") && command.ends_with("--test-threads=2"), "{command}");
    }
    assert!(named > 0, "{findings:?}");
}

#[test]
fn tests_that_race_in_one_process_are_found_and_named() {
    find_race();
}

#[test]
#[ignore = "takes minutes"]
fn tests_that_race_in_one_process_are_found_in_20_of_20_runs() {
    (0..20).for_each(|_| find_race());
}

#[test]
fn a_program_that_runs_its_tests_one_after_the_other_has_no_race() {
    let sandbox = Sandbox::specimen(RACE);
    let words = ["--for", "1h", "--max-runs", "40", "--", "cargo", "test", "--", "--test-threads=1"];
    let result = sandbox.unflake(["stress"]).json().args(words).finish().expect_exit(0);
    let meaning = result.json()["exit"]["meaning"].as_str().unwrap().to_owned();
    assert!(meaning.starts_with("no failure in 200 runs of 5 tests found"), "{meaning}");
}
