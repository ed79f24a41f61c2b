//! Hostile tests: each does something to its process that a runner does not expect. The first pass
//! has the outcomes of plain pytest, and where that does not survive, the test is reported to have
//! crashed or timed out and the others run.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;

use e2e::{RunOutput, Sandbox, python};

const GENERATOR: &str = include_str!("hostile_tests.py");

/// Logs outcomes without a descriptor or a function that a test could take away.
const OUTCOME_LOG: &str = "import os\n\
     _open, _write, _close, _flags = os.open, os.write, os.close, os.O_WRONLY | os.O_APPEND | os.O_CREAT\n\
     _path, _getpid, _pid = os.path.abspath('outcomes'), os.getpid, os.getpid()\n\
     class Log:\n    \
         def pytest_runtest_logreport(self, report):\n        \
             if _getpid() != _pid: return\n        \
             file = _open(_path, _flags, 0o600)\n        \
             _write(file, ('%s %s\\n' % (report.nodeid, report.outcome)).encode())\n        \
             _close(file)\n\
     def pytest_configure(config): config.pluginmanager.register(Log())\n";

/// One of each kind: exceptions, texts, descriptors, modules, limits, processes, deaths.
const SAMPLE: [&str; 17] = [
    "system_exit_0",
    "base_exception",
    "huge_message",
    "json_output",
    "closes_low_descriptors",
    "patches_exit",
    "patches_listdir",
    "removes_agent",
    "changes_to_deleted_directory",
    "lowers_file_limit",
    "forks_and_child_fails",
    "blocks_signals",
    "exits_with_0",
    "executes",
    "stops_itself",
    "file_size_limit",
    "hangs_in_c",
];

fn generated(name: &str) -> Sandbox {
    let sandbox = Sandbox::new().file("hostile_tests.py", GENERATOR);
    let mut generator = sandbox.command(python());
    let status = generator.args(["hostile_tests.py", "test_it.py", name]).status().unwrap();
    assert!(status.success(), "{name}");
    sandbox
}

/// All tests, with whether plain pytest survives them.
fn all_tests() -> Vec<(String, bool)> {
    let sandbox = Sandbox::new().file("hostile_tests.py", GENERATOR);
    let output = sandbox.command(python()).args(["hostile_tests.py", "--list"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let parse = |line: &str| line.split_once(' ').map(|(kind, name)| (name.to_owned(), kind == "survived"));
    text.lines().filter_map(parse).collect()
}

/// Whether each test fails in plain pytest, and whether pytest itself comes to its end.
fn plain_failures(name: &str) -> (BTreeMap<String, bool>, bool) {
    let sandbox = generated(name).file("conftest.py", OUTCOME_LOG);
    let mut pytest = sandbox.command("timeout");
    pytest.args(["--signal=KILL", "60"]).arg(python()).args(["-m", "pytest", "test_it.py"]);
    // Processes that tests leave keep pipes open.
    let status = pytest.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    let log = fs::read_to_string(sandbox.project().join("outcomes")).unwrap_or_default();
    let mut failures = BTreeMap::new();
    for (test, outcome) in log.lines().filter_map(|line| line.rsplit_once(' ')) {
        *failures.entry(test.to_owned()).or_default() |= outcome == "failed";
    }
    // A test may break what pytest does at its end: its exit code is not about tests then.
    let of_tests = i32::from(failures.values().any(|fails| *fails));
    (failures, status.code() == Some(of_tests))
}

/// Whether each test fails in the first pass of unflake.
fn first_failures(result: &RunOutput) -> BTreeMap<String, bool> {
    let of_suite = result.list("attempts").iter().filter(|one| one["purpose"] == "suite" && one["run"] == 0);
    let is_failure =
        |outcome: &serde_json::Value| !matches!(outcome.as_str(), Some("passed" | "skipped" | "expected-failure"));
    of_suite.map(|one| (one["test"].as_str().unwrap().to_owned(), is_failure(&one["outcome"]))).collect()
}

/// What is wrong about a run of this test.
fn check(name: &str, survives: bool, options: &str) -> Result<(), String> {
    let sandbox = generated(name);
    let result = sandbox.run(&format!("--timeout 5 {options}"), "python -m pytest test_it.py");
    let described =
        || format!("{name}: exit {}, {:?}\n{}\n{}", result.code, result.findings(), result.stdout, result.stderr);
    if result.json.is_none() {
        return Err(format!("{name}: exit {}\n{}\n{}", result.code, result.stdout, result.stderr));
    }
    let first = first_failures(&result);
    let hostile = format!("test_it.py::test_{name}");
    let (expected, comes_to_its_end) = match survives {
        true => plain_failures(name),
        false => (BTreeMap::from([(hostile.clone(), true), ("test_it.py::test_after".into(), false)]), true),
    };
    let fails = expected.get(&hostile).copied();
    let is_right = match comes_to_its_end {
        true if fails == Some(true) => first == expected && result.code == 1,
        // State that makes the next test fail is not a real failure.
        true if expected.values().any(|fails| *fails) => first == expected && matches!(result.code, 0 | 1),
        true => first == expected && result.code == 0,
        // The test breaks pytest itself, so that the rest runs in another process.
        false => first.contains_key(&hostile) && matches!(result.code, 1 | 4),
    };
    match is_right {
        true => Ok(()),
        false => Err(format!("expected {expected:?}, not {first:?}: {}", described())),
    }
}

fn check_all(tests: &[(String, bool)], options: &str) {
    let is_wrong =
        |(name, survives): &(String, bool)| check(name, *survives, options).err().inspect(|why| println!("{why}"));
    let wrong: Vec<String> = tests.iter().filter_map(is_wrong).collect();
    assert!(wrong.is_empty(), "{} of {} tests are reported wrongly", wrong.len(), tests.len());
}

#[test]
fn some_hostile_tests_are_reported_correctly() {
    let sample: Vec<(String, bool)> =
        all_tests().into_iter().filter(|(name, _)| SAMPLE.contains(&name.as_str())).collect();
    assert_eq!(sample.len(), SAMPLE.len());
    check_all(&sample, "");
}

#[test]
#[ignore = "takes half an hour"]
fn all_hostile_tests_are_reported_correctly() {
    check_all(&all_tests(), "--immediate 0 --at-end 0 --fresh 0");
}
