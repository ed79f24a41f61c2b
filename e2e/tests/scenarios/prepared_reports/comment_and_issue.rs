//! `unflake report comment` and `unflake report issue`: texts for reviews and issue trackers.

use e2e::{RunOutput, Sandbox};

use super::{MAIL, RETRY, pytest, shop};

/// `text` with placeholders for what differs from run to run.
fn redact(sandbox: &Sandbox, text: &str) -> String {
    let rules = [
        (r"\d{4}-\d\d-\d\d", "[DAY]"),
        (r"failed \d+ of \d+ runs; next run \S+ % to \S+ %", "failed [SOME] runs; next run [BOUNDS]"),
        (r"#### \S+ %", "#### [SCORE]"),
        (r"`[·≈✗]+`", "`[STRIP]`"),
        (r"in all \d+ failing runs, never in \d+ passing ones", "in all failing runs, never in passing ones"),
        (r"(proven|likely|possible), p (<|&lt;|=) \S+, \d+ runs", "[CONFIDENCE]"),
        (r"\d+ of \d+ failing runs, \d+ of \d+ passing", "[RUNS]"),
        (r"(≥|>|≤) 0\.\d+", "$1 [NUMBER]"),
        (r"\b[0-9a-f]{10}\b", "[BASE]"),
        (r"\bat [0-9a-f]{8}\b", "at [COMMIT]"),
    ];
    rules.iter().fold(sandbox.redact(text), |text, (pattern, with)| {
        regex_lite::Regex::new(pattern).unwrap().replace_all(&text, *with).into_owned()
    })
}

fn comment(sandbox: &Sandbox, options: &[&str]) -> RunOutput {
    sandbox.unflake(["report", "comment"].iter().chain(options)).finish()
}

/// A shop with a prepared report on its flaky test and learned dependencies, on a branch of its
/// own.
fn prepared_shop() -> Sandbox {
    let sandbox = shop();
    pytest(&sandbox, "locate --all", &["--min-score", "0.2", "--runs", "30"]).expect_exit(0);
    let sandbox = sandbox.file("README", "a shop\n");
    sandbox.commit("something else");
    sandbox.unflake(["affected", "--learn", "--", "python", "-m", "pytest"]).finish().expect_exit(0);
    sandbox.git(&["checkout", "-qb", "change"]);
    sandbox
}

#[test]
fn a_change_that_touches_code_of_a_flaky_test_gets_a_comment() {
    let sandbox = prepared_shop();
    let nothing = comment(&sandbox, &["--to", "comment.md"]).expect_exit(5);
    assert_eq!(std::fs::read_to_string(sandbox.project().join("comment.md")).unwrap(), "");
    assert!(nothing.stderr.contains("there is no comment to make"), "{}", nothing.stderr);
    std::fs::remove_file(sandbox.project().join("comment.md")).unwrap();

    let sandbox = sandbox.file("README", "another shop\n");
    comment(&sandbox, &["--base", "main"]).expect_exit(5);
    let sandbox = sandbox.file("shop/mail.py", format!("{MAIL}\ndef receive():\n    pass\n"));
    sandbox.commit("mail can be received");
    let text = comment(&sandbox, &[]).expect_exit(0).stdout;
    assert!(text.starts_with("<!-- unflake:comment -->\n"), "{text}");
    insta::assert_snapshot!(redact(&sandbox, &text));
    let again = comment(&sandbox, &["--to", "comment.md"]).expect_exit(0);
    assert_eq!(
        (again.stdout.as_str(), std::fs::read_to_string(sandbox.project().join("comment.md")).unwrap()),
        ("", text)
    );
}

#[test]
fn a_comment_needs_learned_dependencies() {
    let sandbox = shop().file("shop/mail.py", format!("{MAIL}\n"));
    let reported = comment(&sandbox, &[]).expect_exit(5);
    assert!(reported.stderr.contains("what 2 of 2 flaky tests run through is not known"), "{}", reported.stderr);
    let elsewhere = Sandbox::new();
    assert!(comment(&elsewhere, &[]).expect_exit(2).stderr.contains("not a git repository"));
}

#[test]
fn an_issue_describes_a_cause() {
    let sandbox = shop();
    let unknown = sandbox.unflake(["report", "issue", "test_quiet"]).finish().expect_exit(0).stdout;
    assert!(unknown.starts_with("test_quiet is flaky: cause unknown\n\n<!-- unflake:issue test "), "{unknown}");
    assert!(unknown.contains("TimeoutError: gave up"), "{unknown}");
    let result = pytest(&sandbox, "locate --all", &["--min-score", "0.2", "--runs", "30"]).expect_exit(0);
    assert_eq!(result.list("tests").len(), 1);
    sandbox.unflake(["report", "issue", "test_retry", "--to", "issue.md"]).finish().expect_exit(0);
    let text = std::fs::read_to_string(sandbox.project().join("issue.md")).unwrap();
    insta::assert_snapshot!(redact(&sandbox, &text));
    // The id of the finding gives the same issue.
    let answers = sandbox.unflake(["report", "feedback"]).finish().expect_exit(0).stdout;
    let line = answers.lines().find(|line| line.contains(RETRY)).unwrap();
    let by_finding =
        sandbox.unflake(["report", "issue", line.split_whitespace().next().unwrap()]).finish().expect_exit(0).stdout;
    assert_eq!(by_finding, text);
    sandbox.unflake(["report", "issue", "no_such_test"]).finish().expect_exit(2);
}

#[test]
fn hostile_test_ids_are_escaped() {
    let names = "\
import os, pytest

@pytest.mark.parametrize('x', [0], ids=['`|<!-- unflake:comment -->@ada #12 [a](https://evil.example) ' + 'y' * 300])
def test_it(x):
    first = not os.path.exists(os.environ['MARK'])
    open(os.environ['MARK'], 'a').close()
    assert not first
";
    let sandbox = Sandbox::with_tests(names);
    sandbox.commit("one");
    let mark = sandbox.root().join("mark");
    for _ in 0..5 {
        let _ = std::fs::remove_file(&mark);
        let result = sandbox.run_invocation("", "python -m pytest").env("MARK", &mark).finish().expect_exit(0);
        assert_eq!(result.list("findings")[0]["kind"], "flaky-independent");
    }
    let learn = ["affected", "--learn", "--base", "HEAD", "--", "python", "-m", "pytest"];
    sandbox.unflake(learn).env("MARK", &mark).finish().expect_exit(0);
    let sandbox = sandbox.file("test_it.py", format!("{names}\n# changed\n"));
    let texts = [
        comment(&sandbox, &["--base", "HEAD"]).expect_exit(0).stdout,
        sandbox.unflake(["report", "issue", "test_it"]).finish().expect_exit(0).stdout,
    ];
    for text in texts {
        assert_eq!(text.matches("<!-- unflake").count(), 1, "{text}");
        assert!(text.contains("@ada"), "{text}");
        for line in text.lines().filter(|line| line.contains("@ada")) {
            // Quoted as code, with more backticks than the name contains.
            assert!(line.contains("`` ") || line.contains("``") || line.starts_with("test_it["), "{line}");
        }
    }
}
