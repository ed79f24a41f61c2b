//! What unflake found, where people work: reports that are ready before anyone asks, findings that people answer, and texts for
//! comments and issues.

mod answers;
mod prepare;
mod texts;

use std::fmt::Write;

use e2e::{Ran, Story};

const RETRY: &str = "tests/test_shop.py::test_retry";
const QUIET: &str = "tests/test_shop.py::test_quiet";

const MAIL: &str = "\
import random

def jitter():
    return random.random()

def send(limit):
    if jitter() > limit:
        raise TimeoutError('gave up')
    return 'sent'
";

const TESTS: &str = "\
from shop.mail import send

def test_retry():
    assert send(0.6) == 'sent'

def test_quiet():
    pass

def test_sound():
    pass
";

/// A shop in a repository, with thirty days of CI behind it: one test fails now and then, one did so only there, one is sound.
fn shop() -> Story {
    shop_with(TESTS, &[("test_retry", 3), ("test_quiet", 7), ("test_sound", 0)])
}

/// The same with other tests; each has failed on one day of so many.
fn shop_with(tests: &str, failing: &[(&str, u32)]) -> Story {
    let story = Story::new()
        .with("shop/__init__.py", "")
        .with("shop/mail.py", MAIL)
        .with("tests/test_shop.py", tests)
        .with("CODEOWNERS", "* @shop/all\ntests/ @shop/testers\n");
    git(&story, &["init", "-q"]);
    commit(&story, "the shop");
    let reports = story.place().join("reports");
    std::fs::create_dir(&reports).expect("the place can be written");
    for day in 0..30 {
        let mut text = format!(
            r#"<testsuites><testsuite name="pytest" timestamp="2026-{:02}-{:02}T10:00:00Z">"#,
            9 + day / 28,
            1 + day % 28
        );
        for (name, every) in failing {
            let failed = *every > 0 && day % every == every - 1;
            let failure = if failed { r#"<failure message="TimeoutError: gave up">no</failure>"# } else { "" };
            let _ =
                write!(text, r#"<testcase classname="tests.test_shop" name="{name}" time="0.5">{failure}</testcase>"#);
        }
        std::fs::write(reports.join(format!("{day:02}.xml")), text + "</testsuite></testsuites>").expect("written");
    }
    story.unflake(["import", "--quiet"]).arg(reports).end().exits(0);
    story
}

fn git(story: &Story, words: &[&str]) {
    let mut git = story.command("git");
    git.args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main"]).args(words);
    let output = git.output().expect("git is there");
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn commit(story: &Story, message: &str) {
    git(story, &["add", "."]);
    git(story, &["commit", "-qm", message]);
}

/// `unflake COMMAND OPTIONS… -- python -m pytest`, with its JSON.
fn pytest(story: &Story, command: &str, options: &[&str]) -> Ran {
    let found = story.place().join("found.json");
    story.unflake([command, "--json"]).arg(found).args(options).args(["--", "python", "-m", "pytest"]).end()
}
