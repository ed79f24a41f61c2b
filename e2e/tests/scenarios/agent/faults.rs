//! Errors inside the agent: never the failure of a test. A function of the agent raises, and a suite
//! that passes stays green or the run ends with an internal error, also where the project would
//! catch the exception, or a thread or another process would lose it.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Mutex;
use std::thread;

use e2e::{RunOutput, Sandbox};

const FAULTS: &str = include_str!("faults.py");
const SHOP: &str = "import threading\n\
     def price(n): return n * 2\n\
     def price_or_none(n):\n    \
         try: return price(n)\n    \
         except Exception: return None\n\
     def prices():\n    \
         found = []\n    \
         thread = threading.Thread(target=lambda: found.append(price(3)))\n    \
         thread.start()\n    \
         thread.join()\n    \
         return found\n";
const TESTS: &str = "import os, shop, subprocess, threading, unittest, pytest\n\
     def test_a(tmp_path):\n    \
         (tmp_path / 'file').write_text('text')\n    \
         assert (tmp_path / 'file').read_text() == 'text'\n\
     def test_b(monkeypatch):\n    \
         monkeypatch.setenv('NAME', 'value')\n    \
         assert [n * n for n in range(5)] == [0, 1, 4, 9, 16]\n\
     def test_c():\n    \
         thread = threading.Thread(target=subprocess.run, args=(['true'],))\n    \
         thread.start()\n    \
         thread.join()\n\
     def test_caught(): assert shop.price_or_none(2) == 4\n\
     def test_in_a_thread(): assert shop.prices() == [6]\n\
     def test_in_a_child():\n    \
         child = os.fork()\n    \
         if not child: os._exit(shop.price(4) - 8)\n    \
         assert os.waitpid(child, 0)[1] == 0\n\
     def test_caught_assertions(capsys):\n    \
         is_caught = False\n    \
         try:\n        \
             print('text')\n        \
             assert capsys.readouterr().out == 'text\\n'\n        \
             with pytest.raises(ValueError): int('x')\n        \
             assert subprocess.run(['echo', 'x'], stdout=subprocess.PIPE).stdout == b'x\\n'\n        \
             unittest.TestCase().assertEqual(1, 1)\n    \
         except Exception: is_caught = True\n    \
         if is_caught: os.abort()\n";

const AT_ONCE: usize = 3;
/// Functions of each kind: messages, items, reports, forks, instruments.
const SAMPLE: [(&str, &str); 23] = [
    ("run", "core.items.ItemPool.take"),
    ("run", "core.plugin.Agent._attempt"),
    ("run", "core.plugin.StopLimits.read"),
    ("run", "core.reports.all_passed"),
    ("run", "core.wire.Wire.encode"),
    ("nio", "core.attempts.AttemptPlugin._attempt"),
    ("nio", "core.plugin.Agent._fork"),
    ("nio", "core.forks.Forker.fork"),
    ("nio", "core.forks.Forker.begin_child"),
    ("measure --runs 2", "layers.attempt_layers.AttemptLayers.begin"),
    ("measure --runs 2", "common.project_code.ProjectCode.file"),
    ("measure --runs 2", "core.fork_preparation.NullFile.write"),
    ("measure --runs 2", "core.written_files.WrittenFiles._hook"),
    ("measure --runs 2", "core.written_files.WrittenFiles._record_all"),
    ("measure --runs 2", "assertions.calls.AssertionCalls._site"),
    ("measure --runs 2", "assertions.catchers.Catchers.expect"),
    ("measure --runs 2", "layers.behaviour.CallRecorder.enter"),
    ("measure --runs 2", "layers.behaviour.CallRecorder.leave"),
    ("measure --runs 2", "layers.output.OutputRecorder._is_called_by_test"),
    ("affected --learn --base HEAD", "dependencies.plugin.DependencyPlugin.end"),
    ("affected --learn --base HEAD", "dependencies.facts.FactRecorder._add"),
    ("run -- -n 2", "core.xdist_worker.XdistWorker._start_event"),
    ("trace test_b", "trace.attempt_trace.AttemptTrace.begin"),
];

/// Runs the command while this function of the agent raises. Options of pytest follow after ` -- `.
fn run(command: &str, function: &str) -> (Sandbox, RunOutput) {
    let (command, pytest) = command.split_once(" -- ").unwrap_or((command, "-p no:xdist"));
    let sandbox = Sandbox::new().file("conftest.py", FAULTS).file("shop.py", SHOP).file("test_it.py", TESTS);
    let sandbox = if pytest.starts_with("-n") { sandbox.with_plugins() } else { sandbox };
    if command.starts_with("affected") {
        sandbox.commit("start");
    }
    let words: Vec<&str> = command.split(' ').collect();
    let has_findings = !matches!(words[0], "affected" | "trace");
    let invocation = sandbox.unflake(&words);
    let invocation = if has_findings { invocation.json() } else { invocation };
    let result = invocation.args(["--", "python", "-m", "pytest"]).args(pytest.split(' '));
    let result = result.env("BREAK", function).finish();
    (sandbox, result)
}

fn broken(command: &str, function: &str) -> (Sandbox, Result<String, String>) {
    let (sandbox, result) = run(command, function);
    let findings = result.json.as_ref().map_or(Vec::new(), |_| result.findings());
    let attempts = result.json.as_ref().map_or(Vec::new(), |_| result.attempts());
    let failed = attempts.iter().filter(|one| !one.contains(" passed")).count();
    let is_right = matches!(result.code, 0 | 3 | 4 | 70) && findings.is_empty() && failed == 0;
    let described = format!("{command}, {function}: exit {}, {findings:?}, {attempts:?}", result.code);
    (sandbox, if is_right { Ok(described) } else { Err(format!("{described}\n{}", result.stdout)) })
}

#[track_caller]
fn check(faults: &[(&str, String)]) {
    let (next, wrong) = (Mutex::new(faults.iter()), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let Some((command, function)) = next.lock().unwrap().next() else { return };
            let found = broken(command, function).1.err();
            wrong.lock().unwrap().extend(found);
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), faults.len(), wrong.join("\n"));
}

#[test]
fn an_error_of_the_agent_is_never_the_failure_of_a_test() {
    check(&SAMPLE.map(|(command, function)| (command, function.to_owned())));
}

#[test]
fn lost_results_are_an_internal_error_where_no_report_is_written() {
    for (command, function) in [
        ("affected --learn --base HEAD", "dependencies.plugin.DependencyPlugin.end"),
        ("trace test_b", "trace.attempt_trace.AttemptTrace.end"),
    ] {
        let (_sandbox, result) = run(command, function);
        let result = result.expect_exit(70);
        let text = "error: unflake lost results of tests: unflake's agent in the runner failed\n";
        assert!(result.stderr.contains(text), "{command}: {}", result.stderr);
        assert!(result.stderr.contains("\nhint: run it again"), "{command}: {}", result.stderr);
    }
}

/// Breaks each function of the agent that the command calls.
#[track_caller]
fn check_all(command: &str) {
    let (sandbox, listed) = broken(command, "list");
    listed.unwrap();
    let called = fs::read_to_string(sandbox.project().join("functions")).unwrap();
    let functions: BTreeSet<&str> = called.lines().collect();
    println!("{command}: {} functions of the agent", functions.len());
    check(&functions.into_iter().map(|function| (command, function.to_owned())).collect::<Vec<_>>());
}

#[test]
#[ignore = "takes minutes"]
fn no_error_of_the_agent_in_run_is_the_failure_of_a_test() {
    check_all("run");
}

#[test]
#[ignore = "takes minutes"]
fn no_error_of_the_agent_in_workers_is_the_failure_of_a_test() {
    check_all("run -- -n 2");
}

#[test]
#[ignore = "takes minutes"]
fn no_error_of_the_agent_in_stress_is_the_failure_of_a_test() {
    check_all("stress --for 1h --max-runs 2");
}

#[test]
#[ignore = "takes minutes"]
fn no_error_of_the_agent_in_measure_is_the_failure_of_a_test() {
    check_all("measure --runs 2");
}

#[test]
#[ignore = "takes minutes"]
fn no_error_of_the_agent_in_nio_is_the_failure_of_a_test() {
    check_all("nio");
}

#[test]
#[ignore = "takes minutes"]
fn no_error_of_the_agent_in_affected_is_the_failure_of_a_test() {
    check_all("affected --learn --base HEAD");
}

#[test]
#[ignore = "takes minutes"]
fn no_error_of_the_agent_in_trace_is_the_failure_of_a_test() {
    check_all("trace test_b");
}
