//! Runners that unflake knows nothing of but their JUnit reports: Go, vitest, Perl's `prove`, and a shell script that goes
//! wrong in every way.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use e2e::{Ran, Story, repository};

/// What `e2e/setup.py` has installed for a runner.
fn installed(name: &str) -> PathBuf {
    let place = repository().join(".venvs").join(name);
    assert!(place.join("complete").is_file(), "{} is not there. Run `python3 e2e/setup.py` once.", place.display());
    place
}

/// `unflake run` with the words as they are: commands for one test have spaces in them.
fn run(story: &Story, results: &str, one_test: &str, command: &[&str], variables: &[(&str, String)]) -> Ran {
    let options = story.running("", "").args(["--results", results, "--one-test", one_test, "--"]).args(command);
    variables.iter().fold(options, |call, (name, value)| call.env(name, value)).end()
}

/// The path on which programs are found, with another directory in front.
fn path_with(directory: PathBuf) -> String {
    let mut path = vec![directory];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    std::env::join_paths(path).unwrap().into_string().unwrap()
}

/// Each attempt of one test as `outcome purpose`.
fn attempts_of(ran: &Ran, test: &str) -> Vec<String> {
    let of_it =
        ran.attempts().into_iter().filter_map(|told| told.strip_prefix(test).map(|rest| rest.trim().to_owned()));
    of_it.map(|told| told.rsplit_once(' ').map(|(first, _)| first.to_owned()).unwrap_or(told)).collect()
}

/// The first run of the whole command is a process with all tests in it; after that none is told as of that process.
fn one_process_for_all(ran: &Ran, tests: usize) {
    let first: Vec<_> = ran.list("attempts").iter().filter(|attempt| attempt["purpose"] == "suite").collect();
    assert_eq!(first.len(), tests);
    assert!(first.iter().all(|attempt| attempt["environment"] == first[0]["environment"]));
    let positions: Vec<_> = first.iter().map(|attempt| attempt["position"].as_u64().unwrap()).collect();
    assert_eq!(positions, (0..tests as u64).collect::<Vec<_>>());
    let later = ran.list("attempts").iter().filter(|attempt| attempt["purpose"] != "suite");
    assert!(later.into_iter().all(|attempt| attempt["environment"] != first[0]["environment"]));
}

#[test]
fn go() {
    let tools = installed("go");
    let story = Story::new().with("go.mod", "module example.com/shop\n\ngo 1.21\n").with(
        "price/price_test.go",
        "package price\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\n\
         func TestSound(t *testing.T) {}\n\n\
         func TestPrice(t *testing.T) {\n\tif got := 1 + 1; got != 3 {\n\t\tt.Fatalf(\"got %d, want 3\", got)\n\t}\n}\n\n\
         func TestFlaky(t *testing.T) {\n\tif _, err := os.Stat(\"mark\"); err != nil {\n\
         \t\tos.WriteFile(\"mark\", nil, 0o644)\n\t\tt.Error(\"the first time\")\n\t}\n}\n",
    );
    let one_test = "gotestsum --junitfile {results} -- -count=1 -run ^{name_regex}$ {classname}";
    let variables = [
        ("PATH", path_with(tools.join("bin"))),
        ("GOCACHE", tools.join("cache").to_str().unwrap().to_owned()),
        ("GOFLAGS", "-mod=mod".to_owned()),
        ("GOTOOLCHAIN", "local".to_owned()),
    ];
    let command = ["gotestsum", "--junitfile", "report.xml", "--", "-count=1", "./..."];
    let ran = run(&story, "report.xml", one_test, &command, &variables).exits(1);
    assert_eq!(
        ran.findings(),
        ["example.com/shop/price TestFlaky flaky-independent", "example.com/shop/price TestPrice real"]
    );
    one_process_for_all(&ran, 3);
    let real = ran.finding("example.com/shop/price TestPrice");
    assert_eq!(
        real["repeat"], "gotestsum --junitfile report.xml -- -count=1 -run '^TestPrice$' example.com/shop/price",
        "{real}"
    );
}

#[test]
fn vitest() {
    let story = Story::new().with("package.json", r#"{"name": "shop", "type": "module"}"#).with(
        "shop.test.js",
        "import { describe, expect, it } from 'vitest'\nimport { existsSync, writeFileSync } from 'node:fs'\n\n\
         describe('shop (new)', () => {\n\
         \x20 it('is sound', () => {})\n\
         \x20 it('has a price', () => { expect(1 + 1).toBe(3) })\n\
         \x20 it('is flaky', () => {\n\
         \x20   const first = !existsSync('mark')\n    writeFileSync('mark', '')\n    expect(first).toBe(false)\n  })\n\
         \x20 it.skip('is skipped', () => {})\n})\n",
    );
    symlink(installed("vitest").join("node_modules"), story.project().join("node_modules")).unwrap();
    let one_test = "npx vitest run --reporter=junit --outputFile={results} {file} -t '^{name_regex}$'";
    let command = ["npx", "vitest", "run", "--reporter=junit", "--outputFile=report.xml"];
    let ran = run(&story, "report.xml", one_test, &command, &[]).exits(1);
    assert_eq!(
        ran.findings(),
        ["shop.test.js shop (new) > has a price real", "shop.test.js shop (new) > is flaky flaky-independent"]
    );
    one_process_for_all(&ran, 4);
    let real = ran.finding("shop.test.js shop (new) > has a price");
    let alone = r"'^shop \(new\) (> )?has a price$'";
    let plain = "npx vitest run --reporter=junit --outputFile=report.xml shop.test.js -t";
    assert_eq!(real["repeat"], format!("{plain} {alone}"));
    // What the pattern leaves out is in the report all the same, as skipped: it has not been taken for the test.
    assert!(attempts_of(&ran, "shop.test.js shop (new) > has a price").iter().all(|told| told.starts_with("failed")));
}

#[test]
fn prove() {
    installed("perl");
    let flaky = "use Test::More tests => 1;\nmy $later = -e 'mark';\nopen my $f, '>', 'mark'; close $f;\nok($later, 'later');\n";
    let story = Story::new()
        .with("t/flaky.t", flaky)
        .with("t/shop.t", "use Test::More tests => 2;\nok(1, 'sound');\nis(1 + 1, 3, 'price');\n")
        .with("t/sound.t", "use Test::More tests => 1;\nok(1, 'fine');\n")
        .with(
            "unflake.toml",
            r#"
command = ["sh", "-c", "prove --formatter TAP::Formatter::JUnit t > report.xml"]
results = "report.xml"
one-test = """sh -c 'prove --formatter TAP::Formatter::JUnit "t/${1%_t}.t" > "$2"' sh {suite} {results}"""
"#,
        );
    let ran = story.run("", "").exits(1);
    assert_eq!(ran.findings(), ["flaky_t 1 - later flaky-independent", "shop_t 2 - price real"]);
    one_process_for_all(&ran, 4);
}

/// A runner in a few lines: `./runner` runs the tests `a` to `c` and writes a report, `./runner b` only one. A file called
/// `fail-b` makes a test fail, `say` is put into the report.
const RUNNER: &str = r#"#!/bin/sh
echo "ran $*" >> log
code=0
{ echo "<testsuite name='s'>"; for test in ${1:-a b c}; do
  if [ -e "fail-$test" ]; then code=1; echo "<testcase name='$test'><failure message='no'/></testcase>"
  else echo "<testcase name='$test'/>"; fi
done; echo "</testsuite>"; } > out/report.xml
exit $code
"#;

fn shell(runner: &str) -> Story {
    Story::new().with("runner", runner).with("out/keep", "")
}

fn run_shell(story: &Story, one_test: &str) -> Ran {
    run(story, "out/**/*.xml", one_test, &["sh", "./runner"], &[])
}

#[test]
fn the_first_pass_costs_one_run_of_the_command() {
    let story = shell(RUNNER);
    let ran = run_shell(&story, "sh ./runner {name}").exits(0);
    assert_eq!(ran.attempts(), ["s a passed suite process", "s b passed suite process", "s c passed suite process"]);
    assert_eq!(std::fs::read_to_string(story.project().join("log")).unwrap(), "ran \n");
}

#[test]
fn a_failure_runs_again_with_all_and_alone() {
    let story = shell(RUNNER).with("fail-b", "");
    let ran = run_shell(&story, "sh ./runner {name}").exits(1);
    assert_eq!(ran.findings(), ["s b real"]);
    let log = std::fs::read_to_string(story.project().join("log")).unwrap();
    assert!(log.starts_with("ran \nran \nran b\n"), "{log}");
    assert_eq!(ran.finding("s b")["repeat"], "sh ./runner b");
}

#[test]
fn a_test_that_passes_alone_only_is_told_as_such() {
    let story = shell(&RUNNER.replace(r#"[ -e "fail-$test" ]"#, r#"[ "$test$#" = c0 ]"#));
    let ran = run_shell(&story, "sh ./runner {name}").exits(0);
    assert_eq!(ran.findings(), ["s c flaky-state-dependent"]);
}

#[test]
fn a_test_that_did_not_run_has_not_passed() {
    let story = shell(RUNNER).with("fail-c", "");
    let ran = run_shell(&story, "sh ./runner x{name}").exits(1);
    assert_eq!(ran.findings(), ["s c real"]);
    assert!(ran.stdout.contains("it was not run: the report has one other test"), "{}", ran.stdout);
    // Nor where no report is written: the old one is there and says otherwise.
    let ran = run_shell(&story, "true {name}").exits(1);
    assert_eq!(ran.findings(), ["s c real"]);
    assert!(ran.stdout.contains("what is there is older than this run"), "{}", ran.stdout);
}

#[test]
fn a_command_that_writes_no_report_is_told() {
    let old = "<testsuite><testcase name='old'/></testsuite>";
    let story = shell("echo compiling; echo no such thing >&2; exit 3\n").with("out/old.xml", old);
    let ran = run_shell(&story, "sh ./runner {name}").exits(4);
    let remarks = ran.remarks();
    for words in ["no report was written to `out/**/*.xml`; what is there is older", "exit code 3", "no such thing"] {
        assert!(remarks.contains(words), "{remarks}");
    }
    assert_eq!(std::fs::read_to_string(story.project().join("out/old.xml")).unwrap(), old);
}

#[test]
fn an_exit_code_that_no_test_explains_fails_the_run() {
    let story = shell(&RUNNER.replace("exit $code", "echo leaking >&2; exit 9"));
    let ran = run_shell(&story, "sh ./runner {name}").exits(1);
    let words = "no test failed by the report, but the command left with exit code 9";
    assert!(ran.stdout.contains(words), "{}", ran.stdout);
    assert_eq!(ran.findings(), ["s c real"]);
}

#[test]
fn one_test_that_takes_too_long_is_ended() {
    let story = shell(&RUNNER.replace("code=0", "code=0; [ \"$1\" = b ] && sleep 600")).with("fail-b", "");
    let ran =
        run(&story, "out/report.xml", "sh ./runner {name}", &["sh", "./runner"], &[("UNFLAKE_TIMEOUT", "1".into())]);
    assert_eq!(ran.findings(), ["s b real"]);
    assert!(attempts_of(&ran, "s b").contains(&"timed-out fresh".to_owned()), "{:?}", ran.attempts());
}

#[test]
fn settings_that_do_not_fit_are_told_before_anything_runs() {
    let story = shell(RUNNER);
    let told = |words: &[&str]| story.unflake(["run"]).args(words).args(["--", "sh", "./runner"]).end().exits(2).stderr;
    assert!(told(&["--results", "a.xml"]).contains("is of no use without one-test"));
    assert!(told(&["--results", "a.xml", "--one-test", "run {nmae}"]).contains("there is no {nmae}"));
    assert!(told(&["--results", "a.xml", "--one-test", "run '{name}"]).contains("a ' is not closed"));
    assert!(!story.project().join("log").exists());
}
