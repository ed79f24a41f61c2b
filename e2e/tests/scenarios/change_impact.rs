//! Change impact in `unflake run` and `unflake affected`. Every kind of dependency and change is in
//! `specimens/change_impact`.

use e2e::Sandbox;
use serde_json::Value;

const TESTS: &str = "
import os
import shop

def test_first():
    assert True

def test_total():
    assert shop.total([1, 2]) == 3
    assert os.environ.get('WORLD') != 'bad'
";

/// A repository with two modules and their tests, and one commit.
fn repository() -> Sandbox {
    let sandbox = Sandbox::new()
        .file("shop.py", "def total(prices):\n    return sum(prices)\n")
        .file("mail.py", "def send():\n    return 'sent'\n")
        .file("tests/test_mail.py", "import mail\n\ndef test_send():\n    assert mail.send() == 'sent'\n")
        .file("tests/test_shop.py", TESTS)
        .file(".gitignore", "__pycache__/\n.pytest_cache/\n");
    sandbox.commit("base");
    sandbox
}

const PYTEST: &str = "python -m pytest -q -p no:cacheprovider";

fn finding<'a>(result: &'a e2e::RunOutput, technique: &str, test: &str) -> &'a Value {
    let found = result
        .list("findings")
        .iter()
        .find(|one| one["technique"] == technique && one["test"].as_str().is_some_and(|name| name.ends_with(test)));
    found.unwrap_or_else(|| panic!("no {technique} of {test}\n{}", result.stdout))
}

#[test]
fn failures_that_the_change_cannot_affect_are_excused() {
    let sandbox = repository();
    sandbox.run("", PYTEST).expect_exit(0);
    sandbox.write("mail.py", "def send():\n    return 'sent!'\n");
    let result = sandbox.run_invocation("", PYTEST).env("WORLD", "bad").finish().expect_exit(1);
    assert_eq!(finding(&result, "verdict", "test_send")["kind"], "real");
    assert_eq!(finding(&result, "intersect", "test_send")["touched"][0]["path"], "mail.py");
    let total = finding(&result, "verdict", "test_total");
    assert_eq!((&total["kind"], &total["rung"]), (&"unaffected-by-change".into(), &"intersect".into()));
    insta::assert_snapshot!(sandbox.redact(&result.stdout).replace(&revision(&sandbox), "[REVISION]"));
}

/// The abbreviated commit that is checked out.
fn revision(sandbox: &Sandbox) -> String {
    sandbox.git(&["rev-parse", "HEAD"])[..10].to_owned()
}

#[test]
fn failures_that_the_change_touches_come_first() {
    let sandbox = repository()
        .file("tests/test_a.py", "import os\n\ndef test_a():\n    assert os.environ.get('WORLD') != 'bad'\n");
    sandbox.write("mail.py", "def send():\n    return 'sent!'\n");
    let result = sandbox.run_invocation("--base HEAD", PYTEST).env("WORLD", "bad").finish().expect_exit(1);
    let at = |name: &str| result.stdout.find(name).unwrap_or_else(|| panic!("{name}\n{}", result.stdout));
    assert!(
        at("REAL     tests/test_mail.py::test_send") < at("REAL     tests/test_shop.py::test_total"),
        "{}",
        result.stdout
    );
}

#[test]
fn a_changed_state_setter_keeps_a_brittle_test_real() {
    let sandbox = Sandbox::new()
        .file("state.py", "READY = []\n")
        .file("setter.py", "import state\n\ndef prepare():\n    state.READY.append(1)\n")
        .file("tests/test_a.py", "import setter\n\ndef test_prepare():\n    setter.prepare()\n")
        .file("tests/test_b.py", "import state\n\ndef test_ready():\n    assert state.READY\n")
        .file(".gitignore", "__pycache__/\n");
    sandbox.commit("base");
    sandbox.run("", PYTEST).expect_exit(0);
    sandbox.write("setter.py", "def prepare():\n    pass\n");
    let result = sandbox.run("", PYTEST).expect_exit(1);
    assert_eq!(
        finding(&result, "verdict", "test_ready")["kind"],
        "real",
        "the change broke it through its state-setter"
    );
}

/// Fails in the first twenty attempts, whatever the files are, and passes from then on.
const FAILS_TWENTY_TIMES: &str = "
import os

def test_four():
    place = os.environ['COUNT']
    count = int(open(place).read()) if os.path.exists(place) else 0
    with open(place, 'w') as file:
        file.write(str(count + 1))
    if count < 20:
        raise ValueError('too early')
";

#[test]
fn verify_base_runs_the_test_at_the_base_and_cleans_up() {
    let sandbox = repository().file("tests/test_four.py", FAILS_TWENTY_TIMES);
    sandbox.commit("twenty failures");
    sandbox.write("mail.py", "def send():\n    return 'sent' + ''\n");
    let count = sandbox.root().join("count");
    let options = "--verify-base --jobs 1 --new-processes 8";
    let result = sandbox.run_invocation(options, PYTEST).env("COUNT", &count).finish().expect_exit(0);
    let verdict = finding(&result, "verdict", "test_four");
    assert_eq!(verdict["kind"], "unaffected-by-change", "{verdict:#}");
    assert_eq!(finding(&result, "intersect", "test_four")["base_passed"], true);
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(std::fs::read_dir(sandbox.root().join("tmp")).unwrap().count(), 0);
}

#[test]
fn a_failure_at_the_base_stays_real() {
    let sandbox = repository();
    sandbox.write("mail.py", "def send():\n    return 'sent' + ''\n");
    let result = sandbox.run_invocation("--verify-base", PYTEST).env("WORLD", "bad").finish().expect_exit(1);
    let intersect = finding(&result, "intersect", "test_total");
    assert_eq!((&intersect["kind"], &intersect["base_passed"]), (&"unaffected".into(), &false.into()));
    assert!(intersect["sentence"].as_str().unwrap().contains("also fails at the base (3 of 3 runs)"), "{intersect:#}");
}

#[test]
fn a_base_that_imports_the_working_tree_is_not_trusted() {
    let sandbox = repository();
    sandbox.write("mail.py", "def send():\n    return 'sent' + ''\n");
    let result = sandbox
        .run_invocation("--verify-base", "pytest -q -p no:cacheprovider")
        .env("WORLD", "bad")
        .env("PYTHONPATH", sandbox.project())
        .finish()
        .expect_exit(1);
    let intersect = finding(&result, "intersect", "test_total");
    assert_eq!(intersect["base_passed"], Value::Null, "{intersect:#}");
    assert!(intersect["sentence"].as_str().unwrap().contains("of your working tree"), "{intersect:#}");
}

#[test]
fn outside_of_a_repository_change_impact_is_skipped() {
    let sandbox = Sandbox::with_tests("def test_it():\n    assert False\n");
    let result = sandbox.run("", PYTEST).expect_exit(1);
    assert!(result.stdout.contains("not a git repository"), "{}", result.stdout);
    assert!(result.list("findings").iter().all(|one| one["technique"] == "verdict"));
    sandbox.run("--base HEAD", PYTEST).expect_exit(2);
}

#[test]
fn an_unknown_base_is_rejected_before_anything_runs() {
    let result = repository().run("--base no-such-thing", PYTEST).expect_exit(2);
    assert!(result.stderr.contains("\"no-such-thing\" is not a commit of this repository"), "{}", result.stderr);
}

#[test]
fn affected_lists_the_tests_that_a_change_can_affect() {
    let sandbox = repository();
    let words = |options: &str| -> Vec<String> {
        let line = format!("affected {options} -- {PYTEST}");
        line.split_whitespace().map(str::to_owned).collect()
    };
    let unknown = sandbox.unflake(words("--base HEAD")).finish().expect_exit(0);
    assert_eq!(
        unknown.stdout.lines().count(),
        3,
        "tests without known dependencies can be affected\n{}",
        unknown.stdout
    );
    let nothing = sandbox.unflake(words("--learn --base HEAD")).finish().expect_exit(0);
    assert_eq!(nothing.stdout, "", "{}", nothing.stderr);
    sandbox.write("mail.py", "def send():\n    return 'sent!'\n");
    let one = sandbox.unflake(words("")).finish().expect_exit(0);
    assert_eq!(one.stdout, "tests/test_mail.py::test_send\n", "{}", one.stderr);
    assert!(one.stderr.contains("1 of 3 tests can be affected"), "{}", one.stderr);
    sandbox.commit("a change");
    sandbox.write("tests/test_new.py", "def test_new():\n    pass\n");
    let two = sandbox.unflake(words("--base HEAD --why")).finish().expect_exit(0);
    assert!(
        two.stdout.contains("tests/test_mail.py::test_send\tmail.py is run by it"),
        "the committed change counts\n{}",
        two.stdout
    );
    assert!(two.stdout.contains("tests/test_new.py::test_new\tits dependencies are unknown"), "{}", two.stdout);
}

/// The words of `unflake affected`.
fn affected(options: &str, pytest: &str) -> Vec<String> {
    format!("affected {options} -- {pytest}").split_whitespace().map(str::to_owned).collect()
}

/// Reads a file through the C library, past everything that Python reports.
const UNSEEN: &str = "
import ctypes
import os

def test_unseen():
    library = ctypes.CDLL(None)
    text = ctypes.create_string_buffer(1)
    file = library.open(b'data.txt', os.O_RDONLY)
    library.read(file, text, 1)
    library.close(file)
    assert text.raw == b'1'
";

#[test]
fn a_known_pass_excuses_nothing_that_passes_at_the_base_now() {
    let sandbox = repository().file("tests/test_unseen.py", UNSEEN).file("data.txt", "1");
    sandbox.commit("a file that is read unseen");
    sandbox.run("", PYTEST).expect_exit(0);
    sandbox.write("data.txt", "2");
    for options in ["", "--verify-base=yes", "--verify-base=no"] {
        let result = sandbox.run(options, PYTEST).expect_exit(1);
        assert_eq!(finding(&result, "verdict", "test_unseen")["kind"], "real", "{options}\n{}", result.stdout);
    }
    let result = sandbox.run("", PYTEST).expect_exit(1);
    let intersect = finding(&result, "intersect", "test_unseen");
    assert_eq!(intersect["kind"], "unknown", "{intersect:#}");
    assert!(intersect["sentence"].as_str().unwrap().contains("in a way that was not recorded"), "{intersect:#}");
}

#[test]
fn files_of_arguments_count_for_every_test() {
    let sandbox = repository().file("args.txt", "-q\n");
    sandbox.commit("arguments");
    let command = format!("{PYTEST} @args.txt");
    sandbox.run("", &command).expect_exit(0);
    sandbox.unflake(affected("--learn --base HEAD", &command)).finish().expect_exit(0);
    sandbox.write("args.txt", "-q\n-Werror\n");
    let listed = sandbox.unflake(affected("", &command)).finish().expect_exit(0);
    assert_eq!(listed.stdout.lines().count(), 3, "{}", listed.stderr);
    let result = sandbox.run_invocation("", &command).env("WORLD", "bad").finish().expect_exit(1);
    assert_eq!(finding(&result, "intersect", "test_total")["touched"][0]["path"], "args.txt");
}

#[test]
fn a_cache_that_another_test_filled_hides_no_dependency() {
    let cached = "import functools\n\n@functools.lru_cache\ndef load():\n    return open('data.txt').read()\n";
    let test = |name: &str| format!("import cached\n\ndef test_{name}():\n    assert cached.load() == '1'\n");
    let each =
        "import pytest\n\n@pytest.mark.parametrize('n', [1, 2])\ndef test_each(n):\n    assert cached.load() == '1'\n";
    let sandbox = Sandbox::new()
        .file("data.txt", "1")
        .file("cached.py", cached)
        .file("tests/test_a.py", format!("{}\ndef test_other():\n    pass\n\n{each}", test("a")))
        .file("tests/test_b.py", test("b"))
        .file(".gitignore", "__pycache__/\n");
    sandbox.commit("base");
    for granularity in ["file", "function"] {
        let learn = format!("--learn --base HEAD --granularity {granularity}");
        sandbox.unflake(affected(&learn, PYTEST)).finish().expect_exit(0);
        sandbox.write("data.txt", "2");
        let listed = sandbox.unflake(affected(&format!("--granularity {granularity}"), PYTEST)).finish().expect_exit(0);
        let names: Vec<&str> = listed.stdout.lines().filter_map(|id| id.split("::").last()).collect();
        assert_eq!(names, ["test_a", "test_each[1]", "test_each[2]", "test_b"], "{granularity}\n{}", listed.stderr);
        sandbox.write("data.txt", "1");
    }
}

#[test]
fn what_a_failing_run_depends_on_replaces_nothing() {
    let sandbox = repository();
    sandbox.unflake(affected("--learn --base HEAD", PYTEST)).finish().expect_exit(0);
    sandbox.write("mail.py", "def send():\n    return 'sent!'\n");
    sandbox.run_invocation("", PYTEST).env("WORLD", "bad").finish().expect_exit(1);
    sandbox.unflake(affected("--learn --base HEAD", PYTEST)).finish().expect_exit(0);
    sandbox.git(&["checkout", "mail.py"]);
    let listed = sandbox.unflake(affected("--base HEAD", PYTEST)).finish().expect_exit(0);
    assert_eq!(listed.stdout, "", "what a clean tree showed is kept\n{}", listed.stderr);
    let failing = repository();
    failing.unflake(affected("--learn --base HEAD", PYTEST)).env("WORLD", "bad").finish().expect_exit(0);
    let listed = failing.unflake(affected("--base HEAD", PYTEST)).finish().expect_exit(0);
    assert_eq!(listed.stdout, "tests/test_shop.py::test_total\n", "a failure may have kept it from the rest");
}

#[test]
fn requirements_count_for_every_test_where_something_else_is_installed() {
    let project = "[project]\nname = 'shop'\ndependencies = []\n[tool.pytest.ini_options]\naddopts = ''\n";
    let reads = "def test_reads():\n    assert open('requirements.txt').read()\n";
    let sandbox = repository()
        .file("tests/test_reads.py", reads)
        .file("requirements.txt", "mock==1\n")
        .file("pyproject.toml", project);
    sandbox.commit("requirements");
    let installed = sandbox.root().join("site-packages");
    let metadata = installed.join("mock-1.dist-info");
    std::fs::create_dir_all(&metadata).unwrap();
    std::fs::write(metadata.join("RECORD"), "mock.py,sha256=1,1\n").unwrap();
    let list = |options: &str| {
        let run = sandbox.unflake(affected(options, PYTEST)).env("PYTHONPATH", &installed).finish().expect_exit(0);
        run.stdout.lines().map(|id| id.rsplit("::").next().unwrap_or(id).to_owned()).collect::<Vec<_>>()
    };
    let nothing: [&str; 0] = [];
    assert_eq!(list("--learn --base HEAD"), nothing);
    sandbox.write("requirements.txt", "mock==2\n");
    sandbox.write("Makefile", "all:\n");
    sandbox.write("pyproject.toml", project.replace("[]", "['mock==2']"));
    assert_eq!(list("--base HEAD"), ["test_reads"], "the same is installed");
    assert_eq!(list("--base HEAD"), ["test_reads"], "once more");
    std::fs::write(metadata.join("RECORD"), "mock.py,sha256=2,1\n").unwrap();
    assert_eq!(list("--base HEAD").len(), 4, "something else is installed");
    std::fs::write(metadata.join("RECORD"), "mock.py,sha256=1,1\n").unwrap();
    assert_eq!(list("--base HEAD"), ["test_reads"]);
    sandbox.commit("requirements, too");
    assert_eq!(list("--base HEAD"), ["test_reads"], "they have changed since the dependencies were recorded");
    sandbox.write("pyproject.toml", project.replace("addopts = ''", "addopts = '-q'"));
    assert_eq!(list("--base HEAD").len(), 4, "the configuration of pytest");
    sandbox.write("pyproject.toml", project.replace("[]", "['mock==2']"));
    let started = sandbox.unflake(affected("--base HEAD~1", PYTEST)).env("PYTHONPATH", &installed);
    let started = started.env("TOX_ENV_NAME", "py").finish().expect_exit(0);
    assert_eq!(started.stdout.lines().count(), 4, "such a tool may install, and reads more");
}

const ODD_IDS: &str = "
import mail
import pytest

@pytest.mark.parametrize('name', ['a b', \"it's\"])
def test_odd(name):
    assert mail.send()
";

#[test]
fn ids_are_safe_for_shells_and_failures_for_pipes() {
    let sandbox = repository().file("tests/test_odd.py", ODD_IDS);
    sandbox.commit("odd names");
    sandbox.unflake(affected("--learn --base HEAD", PYTEST)).finish().expect_exit(0);
    sandbox.write("mail.py", "def send():\n    return 'sent' + ''\n");
    let null = sandbox.unflake(affected("--null", PYTEST)).finish().expect_exit(0);
    let ids: Vec<&str> = null.stdout.split_terminator('\0').collect();
    assert_eq!(
        ids,
        ["tests/test_mail.py::test_send", "tests/test_odd.py::test_odd[a b]", "tests/test_odd.py::test_odd[it's]"]
    );
    let shell = sandbox.unflake(affected("--format shell", PYTEST)).finish().expect_exit(0);
    assert_eq!(shell.stdout.lines().nth(1), Some("'tests/test_odd.py::test_odd[a b]'"), "{}", shell.stdout);
    sandbox.write("tests/test_mail.py", "import mail_is_not_here\n");
    let broken = sandbox.unflake(affected("", PYTEST)).finish().expect_exit(4);
    assert_eq!(broken.stdout, "unflake-affected-failed\n", "no runner has such a test");
}

#[test]
fn run_affected_runs_what_the_change_can_affect() {
    let sandbox = repository();
    sandbox.unflake(affected("--learn --base HEAD", PYTEST)).finish().expect_exit(0);
    sandbox.write("mail.py", "def send():\n    return 'sent' + ''\n");
    let result = sandbox.run_invocation("--affected", PYTEST).env("WORLD", "bad").finish().expect_exit(0);
    assert!(result.stdout.contains("2 of 3 tests did not run, because your change cannot"), "{}", result.stdout);
    assert_eq!(result.list("attempts").len(), 1, "{}", result.stdout);
}
