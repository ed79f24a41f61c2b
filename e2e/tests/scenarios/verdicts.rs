//! Verdicts: no false green, no false real failure, no hang.

use e2e::{RunOutput, Sandbox, python};
use serde_json::Value;

fn project(file: &str) -> Sandbox {
    Sandbox::new().file("test_it.py", file)
}

// -- No hang --------------------------------------------------------------------------------------

/// `fork` of the C library runs no hooks of Python, so the child keeps every descriptor.
#[test]
fn a_child_that_keeps_the_connection_open_does_not_hang_the_run() {
    let sandbox = project(
        "import ctypes, os, time\n\
         def test_dies():\n    \
             if ctypes.CDLL(None).fork() == 0:\n        \
                 os.setsid()\n        \
                 time.sleep(1000)\n        \
                 os._exit(0)\n    \
             os._exit(3)\n",
    );
    let result = sandbox.run("--timeout 300", "pytest").expect_exit(1);
    assert_eq!(result.findings(), ["test_it.py::test_dies real"]);
    assert!(result.attempts().iter().all(|attempt| attempt.contains("crashed")), "{:?}", result.attempts());
}

#[test]
fn a_child_process_that_outlives_a_crash_does_not_delay_the_run() {
    let sandbox = project(
        "import multiprocessing, os, signal, time\n\
         def test_dies():\n    \
             multiprocessing.get_context('fork').Process(target=time.sleep, args=(1000,)).start()\n    \
             os.kill(os.getpid(), signal.SIGSEGV)\n",
    );
    let result = sandbox.run("--timeout 300", "pytest").expect_exit(1);
    assert!(result.attempts().iter().all(|attempt| attempt.contains("crashed")), "{:?}", result.attempts());
}

/// Alone its file cannot be collected: another file registers what it needs when it is imported.
#[test]
fn a_file_that_is_only_collected_with_others_does_not_loop() {
    let sandbox = Sandbox::new()
        .file("app/__init__.py", "")
        .file("app/reg.py", "R = []\n")
        .file("app/plug.py", "from app.reg import R\nR.append(lambda: 2)\n")
        .file("app/cfg.py", "from app.reg import R\nV = R[0]()\n")
        .file("test_0.py", "import app.plug\ndef test_0(): pass\n")
        .file("test_a.py", "import app.cfg\ndef test_a(): assert app.cfg.V == 1\n")
        .file("test_zz.py", "def test_zz(): pass\n");
    let result = sandbox.run("", "python -m pytest").expect_exit(1);
    assert_eq!(result.findings(), ["test_a.py::test_a not-decided"]);
    assert_eq!(result.list("attempts").len(), 3 + 3, "one more of each rung");
}

// -- No false green -------------------------------------------------------------------------------

/// The signal that asks for its stack wakes it up.
#[test]
fn an_attempt_past_its_limit_cannot_pass() {
    let sandbox = project("import ctypes\ndef test_waits(): ctypes.CDLL(None).pause()\n");
    let result = sandbox.run("--timeout 1 --immediate 0 --at-end 0", "pytest").expect_exit(1);
    assert!(result.attempts().iter().all(|attempt| attempt.contains("timed-out")), "{:?}", result.attempts());
}

#[test]
fn a_message_that_cannot_be_read_is_an_internal_error() {
    let sandbox = project(
        "import os, stat\n\
         def test_writes_to_the_connection():\n    \
             for name in os.listdir('/proc/self/fd'):\n        \
                 try:\n            \
                     if int(name) > 100 and stat.S_ISSOCK(os.fstat(int(name)).st_mode):\n                \
                         os.write(int(name), b'{\"event\":\"do')\n        \
                 except OSError:\n            \
                     pass\n    \
             assert False\n",
    );
    let result = sandbox.run("", "pytest").expect_exit(70);
    assert!(result.stdout.contains("a message of the agent in environment 0 cannot be read"), "{}", result.stdout);
}

#[test]
fn an_item_with_an_impossible_line_is_listed_like_others() {
    let tests: String = (0..250).map(|number| format!("def test_{number}(): pass\n")).collect();
    let conftest = "import pytest\n\
         class Far(pytest.Item):\n    \
             def runtest(self): assert False\n    \
             def reportinfo(self): return self.path, 2**40, 'far'\n\
         class File(pytest.File):\n    \
             def collect(self): yield Far.from_parent(self, name='far')\n\
         def pytest_collect_file(file_path, parent):\n    \
             if file_path.suffix == '.far': return File.from_parent(parent, path=file_path)\n";
    let sandbox = project(&tests).file("conftest.py", conftest).file("a.far", "");
    let result = sandbox.run("", "pytest").expect_exit(1);
    assert_eq!(result.findings(), ["a.far::far real"]);
}

// -- Files that outlive a process -----------------------------------------------------------------

const FIXED_FILE: &str = "import pathlib\n\
     def test_appends():\n    \
         with open('left.txt', 'a') as file: file.write('x')\n    \
         assert pathlib.Path('left.txt').read_text() == 'x'\n\
     def test_logs():\n    \
         with open('log.txt', 'a') as file: file.write('x')\n    \
         assert 1 == 2\n";

fn verdict(result: &RunOutput, test: &str) -> String {
    let is_verdict = |one: &&Value| one["technique"] == "verdict" && one["test"] == format!("test_it.py::{test}");
    let found = result.list("findings").iter().find(is_verdict).map(|one| one["kind"].as_str());
    found.flatten().unwrap_or("none").to_owned()
}

/// Its first run passed; from then on it fails in every process.
#[test]
fn a_file_that_a_test_left_behind_is_named() {
    let sandbox = project(FIXED_FILE).file(".gitignore", "*.txt\n.unflake\n");
    sandbox.commit("first");
    sandbox.run("", "pytest").expect_exit(1);
    let result = sandbox.run("", "pytest").expect_exit(1);
    assert_eq!(
        ["test_appends", "test_logs"].map(|test| verdict(&result, test)),
        ["flaky-state-dependent", "real"],
        "{}",
        result.stdout
    );
    assert!(result.stdout.contains("left.txt, which an earlier run of it left behind"), "{}", result.stdout);
    assert!(result.stdout.contains("unflake under --without="), "{}", result.stdout);
}

/// It might be an expected result that the test writes where it is missing.
#[test]
fn a_file_that_may_belong_to_the_project_decides_nothing() {
    let sandbox = project(FIXED_FILE);
    sandbox.run("", "pytest").expect_exit(1);
    let result = sandbox.run("", "pytest").expect_exit(1);
    assert_eq!(result.findings(), ["test_it.py::test_appends not-decided", "test_it.py::test_logs real"]);
    let tracked = project(FIXED_FILE).file("left.txt", "x");
    tracked.commit("first");
    assert_eq!(verdict(&tracked.run("", "pytest").expect_exit(1), "test_appends"), "real");
}

/// Something outside of the code decides: an earlier run passed with the same files.
#[test]
fn a_pass_at_the_same_tree_is_remembered() {
    let sandbox = project("import os\ndef test_token(): assert os.environ.get('TOKEN') == 'valid'\n")
        .file(".gitignore", ".unflake\n*.json\n__pycache__\n");
    sandbox.commit("first");
    sandbox.run("", "env TOKEN=valid pytest -p no:cacheprovider").expect_exit(0);
    let result = sandbox.run("--granularity off", "env TOKEN=expired pytest -p no:cacheprovider").expect_exit(1);
    assert_eq!(verdict(&result, "test_token"), "not-decided", "{}", result.stdout);
    assert!(result.stdout.contains("it passed with the same files on 20"), "{}", result.stdout);
    let result =
        sandbox.file("README", "changed").run("--granularity off", "env TOKEN=expired pytest -p no:cacheprovider");
    assert_eq!(verdict(&result.expect_exit(1), "test_token"), "real");
}

#[test]
fn a_failing_test_that_was_flaky_before_says_so() {
    let fails_once = "import os\ndef test_it():\n    found = os.path.exists('../flag')\n    \
                      open('../flag', 'w').close()\n    assert found\n";
    let sandbox = project(fails_once);
    assert_eq!(verdict(&sandbox.run("", "pytest").expect_exit(0), "test_it"), "flaky-independent");
    let result = sandbox.file("test_it.py", "def test_it(): assert 0\n").run("", "pytest").expect_exit(1);
    assert_eq!(verdict(&result, "test_it"), "real");
    assert!(result.stdout.contains("it was flaky on 20"), "{}", result.stdout);
}

/// After a crash the rest of the suite is in a new process, so a pass there says something about state.
#[test]
fn a_pass_after_a_crash_of_the_suite_is_no_burst() {
    let tests = "import os\nSTATE = []\ndef test_a(): STATE.append(1)\ndef test_b(): assert not STATE\n\
                 def test_c(): os._exit(3)\n";
    let result = project(tests).run("", "pytest").expect_exit(1);
    assert_eq!(verdict(&result, "test_b"), "flaky-state-dependent", "{}", result.stdout);
}

#[test]
fn nio_does_not_call_it_broken() {
    let sandbox = project(&FIXED_FILE.replace("'left.txt'", "'../left.txt'"));
    let result = sandbox.unflake(["nio", "test_appends"]).json().args(["--", "pytest"]).finish().expect_exit(1);
    assert_eq!(result.findings()[0], "test_it.py::test_appends nio");
    assert!(result.stdout.contains("left.txt"), "{}", result.stdout);
    assert!(!sandbox.root().join("left.txt").exists(), "files outside of the project are restored, too");
}

#[test]
fn a_seed_dependent_failure_names_a_seed_that_fails_every_time() {
    // Fails with every fourth hash seed, and with that of the suite.
    let sandbox = Sandbox::with_tests("def test_a(): assert hash('x') % 4 != FAILS");
    let hash = sandbox.command(python()).args(["-c", "print(hash('x') % 4)"]).env("PYTHONHASHSEED", "1").output();
    let hash = String::from_utf8(hash.unwrap().stdout).unwrap();
    let sandbox = sandbox.file("test_it.py", format!("def test_a(): assert hash('x') % 4 != {}", hash.trim()));
    let pytest = [python().to_str().unwrap(), "-m", "pytest", "-p", "no:cacheprovider"];
    let run = sandbox
        .unflake(["run", "--new-processes", "8"])
        .json()
        .arg("--")
        .args(pytest)
        .env("PYTHONHASHSEED", "1")
        .finish()
        .expect_exit(0);
    let finding = &run.list("findings")[0];
    assert_eq!(finding["kind"], "flaky-seed-dependent", "{finding}");
    let (sentence, reproduce) = (finding["sentence"].as_str().unwrap(), &finding["reproduce"]);
    assert!(sentence.contains("; fails with seed ") && sentence.ends_with(": the hash seed decides"), "{sentence}");
    assert_eq!((reproduce.as_array().unwrap().len(), &reproduce[0]["shows"]), (1, &"always-fails".into()), "{finding}");
    let command = reproduce[0]["command"].as_str().unwrap();
    let options = command.strip_prefix("unflake under ").and_then(|rest| rest.split_once(" -- ")).unwrap().0;
    for _ in 0..3 {
        sandbox.unflake(["under", options, "--"]).args(pytest).arg("test_it.py::test_a").finish().expect_exit(1);
    }
}
