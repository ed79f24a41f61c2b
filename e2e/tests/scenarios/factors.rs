//! `unflake factors`: interrupted experiments and invalid requests. What it must blame is in the
//! specimens of `specimens/environment`.

use e2e::{Sandbox, python};
use nix::sys::signal::Signal;

#[test]
fn an_interrupted_experiment_resumes() {
    let sandbox = Sandbox::specimen("environment/python/date");
    let command = [python().to_str().unwrap(), "-m", "pytest", "-p", "no:cacheprovider"];
    let asked = ["factors", "voucher", "--factor", "date", "--factor", "hash-seed", "--"];
    sandbox.commit("first");
    let running = sandbox.unflake(asked).args(command).start();
    let attempts = || sandbox.history().first().map_or(0, |run| run.attempts);
    running.wait_until("a few runs are made", || attempts() >= 8);
    running.signal(Signal::SIGINT);
    let stopped = running.finish().expect_exit(130);
    assert!(stopped.stdout.contains("--resume"), "{}", stopped.stdout);
    let before = attempts();
    sandbox.write("other.py", "");
    sandbox.git(&["add", "other.py"]);
    sandbox.git(&["commit", "-q", "-m", "second"]);
    let refused =
        sandbox.unflake(["factors", "voucher", "--resume"]).args(&asked[2..]).args(command).finish().expect_exit(2);
    assert!(refused.stderr.contains("the code has changed"), "{}", refused.stderr);
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let again = sandbox.unflake(["factors", "voucher", "--resume"]).json().args(&asked[2..]);
    let result = again.args(command).finish().expect_exit(1);
    let finding = &result.list("findings")[0];
    assert_eq!(finding["kind"], "date");
    let made = result.list("attempts").len() as u64;
    assert_eq!(finding["runs"].as_u64().unwrap(), before + made);
}

#[test]
fn unknown_factors_and_experiments_are_rejected() {
    let sandbox = Sandbox::with_tests("def test_a(): pass");
    let result = sandbox.unflake(["factors", "test_a", "--factor", "weather", "--", "pytest"]).finish().expect_exit(2);
    assert!(
        result.stderr.contains("--factor: there is no `weather`\nhint: choose from date, speed,"),
        "{}",
        result.stderr
    );
    let result = sandbox.unflake(["factors", "test_a", "--resume", "--", "pytest"]).finish().expect_exit(2);
    assert!(
        result.stderr.contains("there is no interrupted experiment with `test_a` and this command"),
        "{}",
        result.stderr
    );
}

#[test]
fn a_test_whose_id_changes_is_named() {
    let sandbox = Sandbox::with_tests(
        "import time, pytest\n\
         def test_a(): pass\n\
         @pytest.mark.parametrize('now', [str(time.time_ns())])\n\
         def test_b(now): pass",
    );
    let asked = ["factors", "--together", "--factor", "hash-seed", "--"];
    let result =
        sandbox.unflake(asked).arg(python()).args(["-m", "pytest", "-p", "no:cacheprovider"]).finish().expect_exit(4);
    let printed = &result.stdout;
    assert!(
        printed.contains("the baseline could not be run: the runner did not list test_it.py::test_b["),
        "{printed}"
    );
    assert!(printed.contains("again; deselect it if its name changes in every run"), "{printed}");
}

#[test]
fn the_seed_of_an_experiment_is_the_seed_of_under() {
    let sandbox = Sandbox::with_tests(
        "import os, random\n\
         def test_a(): assert random.random() + os.urandom(1)[0] / 256 < 1\n\
         def test_b(): pass",
    );
    let pytest = [python().to_str().unwrap(), "-m", "pytest", "-p", "no:cacheprovider"];
    let asked = ["factors", "test_a", "--factor", "random-seed", "--for", "0"];
    let result = sandbox.unflake(asked).json().arg("--").args(pytest).finish().expect_exit(1);
    let finding = &result.list("findings")[0];
    assert_eq!((&finding["kind"], &finding["confidence"]), (&"random-seed".into(), &"proven".into()), "{finding}");
    for trial in finding["plan"].as_array().unwrap() {
        let Some(seed) = trial["name"].as_str().unwrap().strip_prefix("random-seed=") else { continue };
        let seeds = ["under", "-q", "--hash-seed", "0", "--random-seed", seed, "--"];
        let code = sandbox.unflake(seeds).args(pytest).arg("test_it.py::test_a").finish().code;
        assert_eq!(code == 1, trial["rate"]["seen"] != 0, "{trial}");
    }
}
