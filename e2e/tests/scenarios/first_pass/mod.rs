//! The first pass: it runs what the plain command runs, in its order.

mod spread;
mod xdist;

use std::fs;

use e2e::Sandbox;

/// Logs which tests run, in order.
const RUN_LOG: &str =
    "def pytest_runtest_setup(item):\n    open(item.config.rootpath / 'ran', 'a').write(item.name + '\\n')\n";

/// Before each the same tests have failed. `ran` has what ran since.
fn after_a_failing_run() -> Sandbox {
    let tests: String = (0..6).map(|number| format!("def test_{number}(): assert {number} % 3 != 1\n")).collect();
    let sandbox = Sandbox::with_tests(&tests).file("conftest.py", RUN_LOG);
    sandbox.command("python").args(["-m", "pytest", "-q"]).output().unwrap();
    fs::remove_file(sandbox.project().join("ran")).unwrap();
    sandbox
}

#[test]
fn the_first_pass_runs_what_plain_pytest_runs_in_its_order() {
    for options in ["", "-x", "--maxfail=2", "--lf", "--ff", "-k 1or4", "--deselect test_it.py::test_0", "--sw", "--nf"]
    {
        let words = || options.split_whitespace().map(|word| word.replace("1or4", "1 or 4"));
        let ran = |sandbox: &Sandbox| fs::read_to_string(sandbox.project().join("ran")).unwrap_or_default();
        let plain = after_a_failing_run();
        plain.command("python").args(["-m", "pytest"]).args(words()).output().unwrap();
        let sandbox = after_a_failing_run();
        let call = sandbox.run_invocation("--immediate 0 --at-end 0 --fresh 0 -- python -m pytest", "").args(words());
        call.finish().expect_exit(1);
        assert_eq!(ran(&sandbox), ran(&plain), "{options}");
    }
}
