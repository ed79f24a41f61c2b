//! A supervisor that is killed or stopped: its runner does not run on unobserved, and nothing that
//! follows from it is taken for the result of a test.

use e2e::Sandbox;

/// Tests that find the supervisor above the process that runs them.
fn project(tests: &str) -> Sandbox {
    let helper = "import os, signal, subprocess, time\n\
        def above(signal, name):\n    \
            command = open(f'/proc/{os.getppid()}/cmdline').read().split('\\0')\n    \
            if 'supervise' in command and not os.path.exists(name):\n        \
                open(name, 'w').close()\n        \
                os.kill(os.getppid(), signal)\n        \
                return True\n";
    Sandbox::new().file("helper.py", helper).file("test_it.py", format!("from helper import *\n{tests}"))
}

const KILLED_ONCE: &str = "def test_a(): open('log', 'a').write('a')\n\
     def test_b():\n    if above(signal.SIGKILL, 'killed'): time.sleep(1000)\n\
     def test_c(): open('log', 'a').write('c')\n";

#[test]
fn a_runner_whose_supervisor_was_killed_is_replaced_once() {
    let sandbox = project(KILLED_ONCE);
    let result = sandbox.run("", "python -m pytest").expect_exit(0);
    assert_eq!(
        result.attempts(),
        [
            "test_it.py::test_a passed suite process",
            "test_it.py::test_b passed suite process",
            "test_it.py::test_c passed suite process",
        ]
    );
    assert!(result.remarks().contains("the supervisor of the runner was killed"), "{}", result.remarks());
    assert_eq!(std::fs::read_to_string(sandbox.project().join("log")).unwrap(), "ac", "no test runs twice");
}

#[test]
fn the_second_supervisor_that_is_killed_is_an_internal_error() {
    let sandbox = project(
        "def test_a():\n    if above(signal.SIGKILL, 'one'): time.sleep(1000)\n\
         def test_b():\n    if above(signal.SIGKILL, 'two'): time.sleep(1000)\n\
         def test_c(): assert 0\n",
    );
    let result = sandbox.run("", "python -m pytest").expect_exit(70);
    assert_eq!(result.findings(), [""; 0]);
    assert!(result.remarks().contains("the supervisor of the runner was killed again"), "{}", result.remarks());
}

#[test]
fn a_supervisor_killed_during_collection_is_replaced() {
    let sandbox = project("if above(signal.SIGKILL, 'killed'): time.sleep(1000)\ndef test_a(): assert 0\n");
    let result = sandbox.run("", "python -m pytest").expect_exit(1);
    assert_eq!(result.findings(), ["test_it.py::test_a real"]);
}

#[test]
fn processes_that_a_killed_supervisor_had_adopted_end() {
    let sandbox = project(
        "def test_a():\n    \
             subprocess.Popen(['setsid', 'sh', '-c', 'env -i sleep 1000 & exit'])\n    \
             time.sleep(0.2)\n    \
             if above(signal.SIGKILL, 'killed'): time.sleep(1000)\n",
    );
    sandbox.run("", "python -m pytest").expect_exit(0);
}

/// The fork server of a search is replaced, too; what ran below it is not concluded from. The mark is
/// written by another program: what pytest itself writes there is restored after each session.
#[test]
fn a_search_whose_supervisor_was_killed_continues() {
    let sandbox = Sandbox::with_tests(
        "import os, signal, time\n\
         def test_a(): pass\n\
         def test_b():\n    \
             if not os.path.exists('/tmp/' + os.environ['MARK']):\n        \
                 os.system('touch /tmp/' + os.environ['MARK'])\n        \
                 supervisor = open(f'/proc/{os.getppid()}/stat').read().rsplit(')')[1].split()[1]\n        \
                 os.kill(int(supervisor), signal.SIGKILL)\n        \
                 time.sleep(1000)\n",
    );
    let mark = format!("{}-mark", sandbox.root().file_name().unwrap().to_str().unwrap());
    let invocation = sandbox.unflake(["nio"]).json().args(["--", "python", "-m", "pytest"]).env("MARK", &mark);
    let result = invocation.finish();
    std::fs::remove_file(format!("/tmp/{mark}")).expect("the supervisor was killed");
    let result = result.expect_exit(0);
    assert_eq!(result.findings(), [""; 0]);
}

#[test]
fn a_stopped_supervisor_does_not_delay_the_end() {
    let sandbox = project("def test_a(): above(signal.SIGSTOP, 'stopped')\ndef test_b(): assert 0\n");
    let result = sandbox.run("", "python -m pytest").expect_exit(1);
    assert_eq!(result.findings(), ["test_it.py::test_b real"]);
}

#[test]
fn a_test_that_stops_its_supervisor_can_be_killed() {
    let sandbox = project("def test_a():\n    above(signal.SIGSTOP, 'stopped')\n    time.sleep(1000)\n");
    let result = sandbox.run("--timeout 1", "python -m pytest").expect_exit(1);
    assert_eq!(result.findings(), ["test_it.py::test_a real"]);
    assert!(result.attempts().iter().all(|attempt| attempt.contains("timed-out")), "{:?}", result.attempts());
}
