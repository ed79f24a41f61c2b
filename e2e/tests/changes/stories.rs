//! Longer stories of a change and a failure.

use e2e::Story;
use serde_json::Value;

use crate::{git, write};

const TESTS: &str = "
import os
import shop

def test_first():
    assert True

def test_total():
    assert shop.total([1, 2]) == 3
    assert os.environ.get('WORLD') != 'bad'
";

/// A repository with two modules, a test of one of them, and a commit.
fn repository() -> Story {
    let story = Story::new()
        .with("shop.py", "def total(prices):\n    return sum(prices)\n")
        .with("mail.py", "def send():\n    return 'sent'\n")
        .with("tests/test_mail.py", "import mail\n\ndef test_send():\n    assert mail.send() == 'sent'\n")
        .with("tests/test_shop.py", TESTS)
        .with(".gitignore", "__pycache__/\n.pytest_cache/\n");
    git(&story, &["init", "-q"]);
    git(&story, &["add", "-A"]);
    git(&story, &["commit", "-qm", "base"]);
    story
}

const PYTEST: &str = "python -m pytest -q -p no:cacheprovider";

fn finding<'a>(ran: &'a e2e::Ran, technique: &str, test: &str) -> &'a Value {
    let found = ran
        .list("findings")
        .iter()
        .find(|one| one["technique"] == technique && one["test"].as_str().is_some_and(|name| name.ends_with(test)));
    found.unwrap_or_else(|| panic!("no {technique} of {test}\n{}", ran.stdout))
}

#[test]
fn what_the_change_touches_comes_first_and_the_rest_is_excused() {
    let story = repository();
    story.run("", PYTEST).exits(0);
    write(&story.project(), "mail.py", "def send():\n    return 'sent!'\n");
    let ran = story.running("", PYTEST).env("WORLD", "bad").end().exits(1);
    assert_eq!(finding(&ran, "verdict", "test_send")["kind"], "real");
    assert_eq!(finding(&ran, "intersect", "test_send")["touched"][0]["path"], "mail.py");
    let total = finding(&ran, "verdict", "test_total");
    assert_eq!((&total["kind"], &total["rung"]), (&"unaffected-by-change".into(), &"intersect".into()));
    insta::assert_snapshot!(story.plain(&ran.stdout).replace(&revision(&story), "[REVISION]"));
}

/// The first letters of the commit that is checked out.
fn revision(story: &Story) -> String {
    let output = story.command("git").args(["rev-parse", "HEAD"]).output().unwrap();
    String::from_utf8_lossy(&output.stdout)[..10].to_owned()
}

#[test]
fn touched_failures_are_shown_before_others() {
    let story = repository()
        .with("tests/test_a.py", "import os\n\ndef test_a():\n    assert os.environ.get('WORLD') != 'bad'\n");
    write(&story.project(), "mail.py", "def send():\n    return 'sent!'\n");
    let ran = story.running("--base HEAD", PYTEST).env("WORLD", "bad").end().exits(1);
    let at = |name: &str| ran.stdout.find(name).unwrap_or_else(|| panic!("{name}\n{}", ran.stdout));
    assert!(at("REAL   tests/test_mail.py::test_send") < at("REAL   tests/test_shop.py::test_total"), "{}", ran.stdout);
}

#[test]
fn a_setter_that_changed_keeps_a_brittle_test_from_being_excused() {
    let story = Story::new()
        .with("state.py", "READY = []\n")
        .with("setter.py", "import state\n\ndef prepare():\n    state.READY.append(1)\n")
        .with("tests/test_a.py", "import setter\n\ndef test_prepare():\n    setter.prepare()\n")
        .with("tests/test_b.py", "import state\n\ndef test_ready():\n    assert state.READY\n")
        .with(".gitignore", "__pycache__/\n");
    git(&story, &["init", "-q"]);
    git(&story, &["add", "-A"]);
    git(&story, &["commit", "-qm", "base"]);
    story.run("", PYTEST).exits(0);
    write(&story.project(), "setter.py", "def prepare():\n    pass\n");
    let ran = story.run("", PYTEST).exits(1);
    assert_eq!(finding(&ran, "verdict", "test_ready")["kind"], "real", "the change broke it through another test");
}

/// Fails so often, whatever the files are, and then passes for ever.
const TIRED: &str = "
import os

def test_tired():
    place = os.environ['COUNT']
    count = int(open(place).read()) if os.path.exists(place) else 0
    with open(place, 'w') as file:
        file.write(str(count + 1))
    assert count >= 4
";

#[test]
fn the_base_is_asked_and_nothing_of_it_stays_behind() {
    let story = repository().with("tests/test_tired.py", TIRED);
    git(&story, &["add", "-A"]);
    git(&story, &["commit", "-qm", "tired"]);
    write(&story.project(), "mail.py", "def send():\n    return 'sent' + ''\n");
    let count = story.place().join("count");
    let ran = story.running("--verify-base", PYTEST).env("COUNT", &count).end().exits(0);
    let verdict = finding(&ran, "verdict", "test_tired");
    assert_eq!(verdict["kind"], "unaffected-by-change", "{verdict:#}");
    assert_eq!(finding(&ran, "intersect", "test_tired")["base_passed"], true);
    let output = story.command("git").args(["worktree", "list"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 1);
    assert_eq!(std::fs::read_dir(story.place().join("tmp")).unwrap().count(), 0);
}

#[test]
fn what_fails_at_the_base_too_is_said_to_and_stays_real() {
    let story = repository();
    write(&story.project(), "mail.py", "def send():\n    return 'sent' + ''\n");
    let ran = story.running("--verify-base", PYTEST).env("WORLD", "bad").end().exits(1);
    let intersect = finding(&ran, "intersect", "test_total");
    assert_eq!((&intersect["kind"], &intersect["base_passed"]), (&"unaffected".into(), &false.into()));
    assert!(intersect["sentence"].as_str().unwrap().contains("fails at the base too (3 of 3 times)"), "{intersect:#}");
}

#[test]
fn a_project_that_is_used_from_the_working_tree_even_there_is_not_taken_for_the_base() {
    let story = repository();
    write(&story.project(), "mail.py", "def send():\n    return 'sent' + ''\n");
    let ran = story
        .running("--verify-base", "pytest -q -p no:cacheprovider")
        .env("WORLD", "bad")
        .env("PYTHONPATH", story.project())
        .end()
        .exits(1);
    let intersect = finding(&ran, "intersect", "test_total");
    assert_eq!(intersect["base_passed"], Value::Null, "{intersect:#}");
    assert!(intersect["sentence"].as_str().unwrap().contains("of your working tree"), "{intersect:#}");
}

#[test]
fn outside_of_a_repository_the_rung_is_skipped_with_a_word() {
    let story = Story::of("def test_it():\n    assert False\n");
    let ran = story.run("", PYTEST).exits(1);
    assert!(ran.stdout.contains("this is not a git repository"), "{}", ran.stdout);
    assert!(ran.list("findings").iter().all(|one| one["technique"] == "verdict"));
    story.run("--base HEAD", PYTEST).exits(2);
}

#[test]
fn a_base_that_is_no_commit_is_refused_before_anything_runs() {
    let ran = repository().run("--base no-such-thing", PYTEST).exits(2);
    assert!(ran.stderr.contains("\"no-such-thing\" is not a commit of this repository"), "{}", ran.stderr);
}

#[test]
fn affected_lists_what_a_change_can_affect() {
    let story = repository();
    let words = |options: &str| -> Vec<String> {
        let line = format!("affected {options} -- {PYTEST}");
        line.split_whitespace().map(str::to_owned).collect()
    };
    let unknown = story.unflake(words("--base HEAD")).end().exits(0);
    assert_eq!(unknown.stdout.lines().count(), 3, "of what nothing is known can be affected\n{}", unknown.stdout);
    let nothing = story.unflake(words("--learn --base HEAD")).end().exits(0);
    assert_eq!(nothing.stdout, "", "{}", nothing.stderr);
    write(&story.project(), "mail.py", "def send():\n    return 'sent!'\n");
    let one = story.unflake(words("")).end().exits(0);
    assert_eq!(one.stdout, "tests/test_mail.py::test_send\n", "{}", one.stderr);
    assert!(one.stderr.contains("1 of 3 tests can be affected"), "{}", one.stderr);
    git(&story, &["commit", "-qam", "a change"]);
    write(&story.project(), "tests/test_new.py", "def test_new():\n    pass\n");
    let two = story.unflake(words("--base HEAD --why")).end().exits(0);
    assert!(
        two.stdout.contains("tests/test_mail.py::test_send\tmail.py is run by it"),
        "since it was learned\n{}",
        two.stdout
    );
    assert!(two.stdout.contains("tests/test_new.py::test_new\tnothing is known"), "{}", two.stdout);
}
