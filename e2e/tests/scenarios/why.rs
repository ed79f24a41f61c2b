//! `unflake why`: which test it takes, what it says where there is no cause, and whether a fix works.
//! What it must find is in the specimens with a table `[why]`.

use e2e::{RunOutput, Sandbox};

const SHOP: &str = "\
import shop

def test_adds():
    shop.cart.append('tea')

def test_is_empty():
    assert shop.cart == []

def test_healthy():
    pass
";

fn shop() -> Sandbox {
    Sandbox::with_tests(SHOP).file("shop.py", "cart = []\n")
}

fn why(sandbox: &Sandbox, options: &[&str]) -> RunOutput {
    sandbox.unflake(["why"]).json().args(options).args(["--", "python", "-m", "pytest"]).finish()
}

#[test]
fn without_a_test_it_takes_the_worst_undiagnosed_one_and_is_fixed_after_the_fix() {
    let sandbox = shop();
    sandbox.run("", "python -m pytest").expect_exit(0);
    let found = why(&sandbox, &[]).expect_exit(1);
    let first = &found.list("findings")[0];
    assert_eq!((&first["test"], &first["technique"]), (&"test_it.py::test_is_empty".into(), &"state".into()));
    assert_eq!(first["reproduce"][0]["shows"], "always-fails", "{first:#}");
    let nothing_left = sandbox.unflake(["why", "--", "python", "-m", "pytest"]).finish().expect_exit(2);
    assert!(nothing_left.stderr.contains("no flaky test without a diagnosis"), "{}", nothing_left.stderr);

    // The check runs the test after its polluter, where it fails until that is fixed.
    let broken = why(&sandbox, &["is_empty", "--is-fixed", "--rate", "0.5"]).expect_exit(1);
    assert!(broken.remarks().contains("not fixed: failed"), "{}", broken.remarks());
    sandbox.write("test_it.py", SHOP.replace("append('tea')", "count('tea')"));
    let fixed = why(&sandbox, &["is_empty", "--is-fixed", "--rate", "0.5"]).expect_exit(0);
    assert!(fixed.remarks().contains("fixed: passed 5 of 5 runs"), "{}", fixed.remarks());
    assert!(fixed.attempts().iter().any(|attempt| attempt.starts_with("test_it.py::test_adds")));
}

#[test]
fn a_healthy_test_has_no_root_cause() {
    let sandbox = shop();
    let found = why(&sandbox, &["test_healthy", "--for", "5"]).expect_exit(0);
    assert!(found.list("findings").is_empty());
    assert!(found.stdout.contains("Root cause not found: it passed "), "{}", found.stdout);
    assert!(found.stdout.contains(" times alone"), "{}", found.stdout);
    let unknown = sandbox.unflake(["why", "test_helthy", "--", "python", "-m", "pytest"]).finish().expect_exit(2);
    assert!(unknown.stderr.contains("test_healthy"), "{}", unknown.stderr);
}
