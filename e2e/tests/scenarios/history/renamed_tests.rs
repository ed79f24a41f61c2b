//! Renamed tests keep their history where the rename is certain.

use e2e::{Sandbox, python};

const FLAKY: &str = "import os\n\ndef NAME():\n    count = int(open('n').read()) + 1\n    open('n', 'w').write(str(count))\n    assert count % 3 != 0, 'every third time'\n";

fn sandbox() -> Sandbox {
    Sandbox::new().file("n", "0").file("test_old.py", FLAKY.replace("NAME", "test_before"))
}

fn run(sandbox: &Sandbox, times: usize) {
    let pytest = format!("{} -m pytest -p no:cacheprovider", python().to_str().unwrap());
    for _ in 0..times {
        let code = sandbox.run_invocation("--immediate 1 --at-end 0 --fresh 0", &pytest).finish().code;
        assert!(matches!(code, 0 | 1), "{code}");
    }
}

fn printed(sandbox: &Sandbox, arguments: &[&str]) -> String {
    sandbox.unflake(arguments).finish().expect_exit(0).stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_renamed_and_moved_test_keeps_its_history() {
    let sandbox = sandbox();
    run(&sandbox, 4);
    std::fs::remove_file(sandbox.project().join("test_old.py")).unwrap();
    let moved = format!("# moved\n\ndef test_another_one():\n    pass\n\n\n{}", FLAKY.replace("NAME", "test_after"));
    let sandbox = sandbox.file("sub/test_new.py", moved);
    run(&sandbox, 3);

    let score = printed(&sandbox, &["history", "score", "--all"]);
    assert!(score.contains("sub/test_new.py::test_after"), "{score}");
    assert!(score.contains("of 7 runs"), "{score}");
    let join = "includes the runs of test_old.py::test_before, its former name";
    assert!(score.contains(join), "{score}");
    assert_eq!(score.matches("test_before").count(), 1, "the old test is not listed separately: {score}");

    let history = printed(&sandbox, &["history", "show", "test_after"]);
    assert!(history.contains(join), "{history}");
    let old = printed(&sandbox, &["history", "show", "test_before"]);
    assert!(old.contains("it was gone when sub/test_new.py::test_after came with the same code"), "{old}");

    // The old test comes back, so they are two tests.
    let sandbox = sandbox.file("test_old.py", FLAKY.replace("NAME", "test_before"));
    run(&sandbox, 1);
    let score = printed(&sandbox, &["history", "score", "--all"]);
    assert!(!score.contains("with the runs of") && score.contains("test_old.py::test_before"), "{score}");
}

#[test]
fn copies_and_ambiguous_renames_are_not_joined() {
    let sandbox = sandbox();
    run(&sandbox, 1);
    // A copy, run alone while the original still exists.
    let sandbox = sandbox.file("test_new.py", FLAKY.replace("NAME", "test_after"));
    let pytest = format!("{} -m pytest -p no:cacheprovider test_new.py", python().to_str().unwrap());
    sandbox.run("", &pytest);
    assert!(!printed(&sandbox, &["history", "score", "--all"]).contains("with the runs of"));

    let two = format!("{}\n{}", FLAKY.replace("NAME", "test_one"), FLAKY.replace("NAME", "test_two"));
    std::fs::remove_file(sandbox.project().join("test_old.py")).unwrap();
    std::fs::remove_file(sandbox.project().join("test_new.py")).unwrap();
    let sandbox = sandbox.file("test_two.py", two);
    run(&sandbox, 1);
    assert!(!printed(&sandbox, &["history", "score", "--all"]).contains("with the runs of"));
}
