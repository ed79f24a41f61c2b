//! The log of unflake: `-v`, `-vv` and `UNFLAKE_LOG`.

use e2e::Sandbox;

fn project() -> Sandbox {
    Sandbox::new().file("test_it.py", "def test_a(): pass\ndef test_b(): assert 1 == 2\n")
}

#[test]
fn a_log_explains_what_was_done_and_why() {
    let sandbox = project();
    let result = sandbox.run("-vv", "pytest").expect_exit(1);
    for part in [
        "unflake::settings: test command",
        "unflake::engine: suite listed tests=2",
        "why=\"the user's suite in the runner's order, with immediate reruns of failures\"",
        "test{name=\"test_it.py::test_b\"}: unflake::engine: attempt outcome=\"failed\"",
        "why=\"rerun failures in new processes with other seeds: does a seed decide\"",
        "unflake::commands: exit code=1",
    ] {
        assert!(result.stderr.contains(part), "{part} is missing:\n{}", result.stderr);
    }
}

#[test]
fn nothing_is_logged_unless_it_is_asked_for() {
    let stderr = project().run("", "pytest").expect_exit(1).stderr;
    assert!(!stderr.contains("INFO") && !stderr.contains("DEBUG"), "{stderr}");
}

#[test]
fn a_variable_selects_parts_of_the_log() {
    let sandbox = project();
    let filtered = |filter: &str| sandbox.run_invocation("", "pytest").env("UNFLAKE_LOG", filter).finish();
    let engine = filtered("unflake_engine=debug").expect_exit(1).stderr;
    assert!(engine.contains("starting a runner process") && !engine.contains("unflake::settings"), "{engine}");
    let wrong = filtered("unflake=loud").expect_exit(2).stderr;
    assert!(wrong.contains("error: UNFLAKE_LOG: `unflake=loud` is not a filter") && wrong.contains("hint:"), "{wrong}");
}

/// A driver is a process of its own, whose standard error belongs to the test runner.
#[test]
fn drivers_write_to_the_same_log() {
    let script = "#!/bin/sh\necho '<testsuite><testcase classname=\"c\" name=\"t\"/></testsuite>' > results.xml\n";
    let sandbox = Sandbox::new().file("tests.sh", script);
    let result = sandbox.run("-vv --results results.xml --one-test tests.sh={name}", "sh tests.sh").expect_exit(0);
    assert!(result.stderr.contains("unflake_runners::driver::orders: listed"), "{}", result.stderr);
}
