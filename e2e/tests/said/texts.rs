//! Texts that go where people work.

use e2e::{Ran, Story};

use crate::{MAIL, RETRY, commit, git, pytest, shop};

/// What differs from run to run, by words for it.
fn plain(story: &Story, text: &str) -> String {
    let rules = [
        (r"\d{4}-\d\d-\d\d", "[DAY]"),
        (r"failed \d+ of \d+ runs; next time \S+ % to \S+ %", "failed [SOME] runs; next time [BOUNDS]"),
        (r"#### \S+ %", "#### [SCORE]"),
        (r"`[·≈✗]+`", "`[STRIP]`"),
        (r"in all \d+ failing runs, never in \d+ passing ones", "in all failing runs, never in passing ones"),
        (r"rests on \d+ runs, of which \d+ failed", "rests on [RUNS]"),
        (r"(≥|>|≤) 0\.\d+", "$1 [NUMBER]"),
        (r"(probably starts|may start)", "starts"),
        (r"is (sure|likely|a guess)", "is [SURE]"),
        (r"comes .*\.", "comes [SELDOM]."),
        (r"\b[0-9a-f]{10}\b", "[BASE]"),
        (r"\bat [0-9a-f]{8}\b", "at [COMMIT]"),
    ];
    rules.iter().fold(story.plain(text), |text, (pattern, with)| {
        regex_lite::Regex::new(pattern).unwrap().replace_all(&text, *with).into_owned()
    })
}

fn comment(story: &Story, options: &[&str]) -> Ran {
    story.unflake(["comment"].iter().chain(options)).end()
}

/// A shop whose flaky test has a report, and of whose tests is known what they run through.
fn night_before() -> Story {
    let story = shop();
    pytest(&story, "prepare", &["--at-least", "0.2", "--runs", "30"]).exits(0);
    let story = story.with("README", "a shop\n");
    commit(&story, "something else");
    story.unflake(["affected", "--learn", "--", "python", "-m", "pytest"]).end().exits(0);
    git(&story, &["checkout", "-qb", "change"]);
    story
}

#[test]
fn a_change_that_touches_code_of_a_flaky_test_gets_a_comment() {
    let story = night_before();
    let nothing = comment(&story, &["--to", "comment.md"]).exits(5);
    assert_eq!(std::fs::read_to_string(story.project().join("comment.md")).unwrap(), "");
    assert!(nothing.stderr.contains("there is no comment to make"), "{}", nothing.stderr);
    std::fs::remove_file(story.project().join("comment.md")).unwrap();

    let story = story.with("README", "another shop\n");
    comment(&story, &["--base", "main"]).exits(5);
    let story = story.with("shop/mail.py", format!("{MAIL}\ndef receive():\n    pass\n"));
    commit(&story, "mail can be received");
    let text = comment(&story, &[]).exits(0).stdout;
    assert!(text.starts_with("<!-- unflake:comment -->\n"), "{text}");
    insta::assert_snapshot!(plain(&story, &text));
    let again = comment(&story, &["--to", "comment.md"]).exits(0);
    assert_eq!(
        (again.stdout.as_str(), std::fs::read_to_string(story.project().join("comment.md")).unwrap()),
        ("", text)
    );
}

#[test]
fn what_tests_run_through_has_to_be_known() {
    let story = shop().with("shop/mail.py", format!("{MAIL}\n"));
    let told = comment(&story, &[]).exits(5);
    assert!(told.stderr.contains("what 2 of 2 flaky tests run through is not known"), "{}", told.stderr);
    let elsewhere = Story::new();
    assert!(comment(&elsewhere, &[]).exits(2).stderr.contains("not a git repository"));
}

#[test]
fn a_cause_gets_an_issue() {
    let story = shop();
    let unknown = story.unflake(["issue", "test_quiet"]).end().exits(0).stdout;
    assert!(
        unknown.starts_with("test_quiet is flaky, and why is not known yet\n\n<!-- unflake:issue test "),
        "{unknown}"
    );
    assert!(unknown.contains("TimeoutError: gave up"), "{unknown}");
    let ran = pytest(&story, "prepare", &["--at-least", "0.2", "--runs", "30"]).exits(0);
    assert_eq!(ran.list("tests").len(), 1);
    story.unflake(["issue", "test_retry", "--to", "issue.md"]).end().exits(0);
    let text = std::fs::read_to_string(story.project().join("issue.md")).unwrap();
    insta::assert_snapshot!(plain(&story, &text));
    // The same by the name of what was found.
    let answers = story.unflake(["answer"]).end().exits(0).stdout;
    let line = answers.lines().find(|line| line.contains(RETRY)).unwrap();
    let by_finding = story.unflake(["issue", line.split_whitespace().next().unwrap()]).end().exits(0).stdout;
    assert_eq!(by_finding, text);
    story.unflake(["issue", "no_such_test"]).end().exits(2);
}

#[test]
fn hostile_names_stay_names() {
    let names = "\
import os, pytest

@pytest.mark.parametrize('x', [0], ids=['`|<!-- unflake:comment -->@ada #12 [a](https://evil.example) ' + 'y' * 300])
def test_it(x):
    first = not os.path.exists(os.environ['MARK'])
    open(os.environ['MARK'], 'a').close()
    assert not first
";
    let story = Story::of(names);
    git(&story, &["init", "-q"]);
    commit(&story, "one");
    let mark = story.place().join("mark");
    for _ in 0..5 {
        let _ = std::fs::remove_file(&mark);
        let ran = story.running("", "python -m pytest").env("MARK", &mark).end().exits(0);
        assert_eq!(ran.list("findings")[0]["kind"], "flaky-independent");
    }
    let learn = ["affected", "--learn", "--base", "HEAD", "--", "python", "-m", "pytest"];
    story.unflake(learn).env("MARK", &mark).end().exits(0);
    let story = story.with("test_it.py", format!("{names}\n# changed\n"));
    let texts = [
        comment(&story, &["--base", "HEAD"]).exits(0).stdout,
        story.unflake(["issue", "test_it"]).end().exits(0).stdout,
    ];
    for text in texts {
        assert_eq!(text.matches("<!-- unflake").count(), 1, "{text}");
        assert!(text.contains("@ada"), "{text}");
        for line in text.lines().filter(|line| line.contains("@ada")) {
            // In code, between more backticks than there are in the name.
            assert!(line.contains("`` ") || line.contains("``") || line.starts_with("test_it["), "{line}");
        }
    }
}
