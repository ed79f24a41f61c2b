//! Tests that get another name keep their history, where it is certain that they are the same.

use e2e::{Story, python};

const FLAKY: &str = "import os\n\ndef NAME():\n    count = int(open('n').read()) + 1\n    open('n', 'w').write(str(count))\n    assert count % 3 != 0, 'every third time'\n";

fn story() -> Story {
    Story::new().with("n", "0").with("test_old.py", FLAKY.replace("NAME", "test_before"))
}

fn run(story: &Story, times: usize) {
    let pytest = format!("{} -m pytest -p no:cacheprovider", python().to_str().unwrap());
    for _ in 0..times {
        let code = story.running("--immediate 1 --at-end 0 --fresh 0", &pytest).end().code;
        assert!(matches!(code, 0 | 1), "{code}");
    }
}

fn said(story: &Story, arguments: &[&str]) -> String {
    story.unflake(arguments).end().exits(0).stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_test_that_is_renamed_and_moved_keeps_its_history() {
    let story = story();
    run(&story, 4);
    std::fs::remove_file(story.project().join("test_old.py")).unwrap();
    let moved = format!("# moved\n\ndef test_another_one():\n    pass\n\n\n{}", FLAKY.replace("NAME", "test_after"));
    let story = story.with("sub/test_new.py", moved);
    run(&story, 3);

    let score = said(&story, &["score", "--all"]);
    assert!(score.contains("sub/test_new.py::test_after"), "{score}");
    assert!(score.contains("of 7 runs"), "{score}");
    let join = "with the runs of test_old.py::test_before, which was gone when this came with the same code";
    assert!(score.contains(join), "{score}");
    assert_eq!(score.matches("test_before").count(), 1, "it is not listed by itself: {score}");

    let history = said(&story, &["history", "test_after"]);
    assert!(history.contains(join), "{history}");
    let old = said(&story, &["history", "test_before"]);
    assert!(old.contains("it was gone when sub/test_new.py::test_after came with the same code"), "{old}");

    // It comes back: they are two after all.
    let story = story.with("test_old.py", FLAKY.replace("NAME", "test_before"));
    run(&story, 1);
    let score = said(&story, &["score", "--all"]);
    assert!(!score.contains("with the runs of") && score.contains("test_old.py::test_before"), "{score}");
}

#[test]
fn a_copy_or_one_of_two_is_not_taken_for_another() {
    let story = story();
    run(&story, 1);
    // A copy, of which only the file of the copy is run; the first one is still there.
    let story = story.with("test_new.py", FLAKY.replace("NAME", "test_after"));
    let pytest = format!("{} -m pytest -p no:cacheprovider test_new.py", python().to_str().unwrap());
    story.run("", &pytest);
    assert!(!said(&story, &["score", "--all"]).contains("with the runs of"));

    let two = format!("{}\n{}", FLAKY.replace("NAME", "test_one"), FLAKY.replace("NAME", "test_two"));
    std::fs::remove_file(story.project().join("test_old.py")).unwrap();
    std::fs::remove_file(story.project().join("test_new.py")).unwrap();
    let story = story.with("test_two.py", two);
    run(&story, 1);
    assert!(!said(&story, &["score", "--all"]).contains("with the runs of"));
}
