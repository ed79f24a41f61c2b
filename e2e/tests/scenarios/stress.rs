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
fn a_test_that_fails_beside_its_copies_is_found() {
    let sandbox = contested();
    let plain = sandbox.run("", "cargo test").expect_exit(0);
    assert!(plain.list("findings").is_empty());

    let result = stress(&sandbox, "--for 1h --max-runs 40 --jobs 4", "cargo test").expect_exit(1);
    let findings = result.list("findings");
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0]["test"], "contested::files has_the_file_to_itself");
    let times = |test: &str| result.list("attempts").iter().filter(|attempt| attempt["test"] == test).count();
    assert_eq!(times("contested::files always"), 40);
    assert!(times("contested::files has_the_file_to_itself") < 40);
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
    let result = stress(&sandbox, "--for 1h --max-runs 8 --jobs 4", "python -m pytest").expect_exit(1);
    let failing: Vec<_> = result.list("findings").iter().map(|finding| finding["test"].as_str().unwrap()).collect();
    assert_eq!(failing, ["test_it.py::test_alone"]);
}

#[test]
fn a_stress_run_without_findings_succeeds_at_its_time_limit() {
    let result = stress(&contested(), "--for 1s --jobs 1", "cargo test always").expect_exit(0);
    assert!(!result.list("attempts").is_empty() && result.list("findings").is_empty());
}

#[test]
fn a_search_ends_at_its_budget_without_conclusions_from_partial_sessions() {
    let sandbox =
        Sandbox::with_tests("import time\ndef test_ever():\n    time.sleep(6000)\ndef test_at_once():\n    pass\n");
    for search in ["order", "nio", "stress"] {
        let result = sandbox
            .unflake([search, "--for", "1"])
            .json()
            .args(["--", "python", "-m", "pytest"])
            .finish()
            .expect_exit(0);
        assert_eq!(result.list("findings"), [] as [serde_json::Value; 0]);
        assert!(result.list("attempts").iter().all(|attempt| attempt["test"] == "test_it.py::test_at_once"));
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
