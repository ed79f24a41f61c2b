//! Runners that are known only by their JUnit reports (`--results`, `--one-test`): Go, vitest,
//! Perl's `prove`, and a shell script that misbehaves.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use e2e::{RunOutput, Sandbox, repository};

/// The directory in which `e2e/setup.py` has installed a runner.
fn installed(name: &str) -> PathBuf {
    let place = repository().join(".venvs").join(name);
    assert!(place.join("complete").is_file(), "{} does not exist. Run `python3 e2e/setup.py` once.", place.display());
    place
}

/// `unflake run` with arguments as they are: commands for one test contain spaces.
fn run(sandbox: &Sandbox, results: &str, one_test: &str, command: &[&str], variables: &[(&str, String)]) -> RunOutput {
    let options =
        sandbox.run_invocation("", "").args(["--results", results, "--one-test", one_test, "--"]).args(command);
    variables.iter().fold(options, |call, (name, value)| call.env(name, value)).finish()
}

/// `PATH` with another directory in front.
fn path_with(directory: PathBuf) -> String {
    let mut path = vec![directory];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    std::env::join_paths(path).unwrap().into_string().unwrap()
}

/// Each attempt of one test as `outcome purpose`.
fn attempts_of(result: &RunOutput, test: &str) -> Vec<String> {
    let of_it = result
        .attempts()
        .into_iter()
        .filter_map(|reported| reported.strip_prefix(test).map(|rest| rest.trim().to_owned()));
    of_it.map(|reported| reported.rsplit_once(' ').map(|(first, _)| first.to_owned()).unwrap_or(reported)).collect()
}

/// Checks that the first pass has all tests in one environment, in order, and later attempts in
/// others.
fn one_process_for_all(result: &RunOutput, tests: usize) {
    let first: Vec<_> = result.list("attempts").iter().filter(|attempt| attempt["purpose"] == "suite").collect();
    assert_eq!(first.len(), tests);
    assert!(first.iter().all(|attempt| attempt["environment"] == first[0]["environment"]));
    let positions: Vec<_> = first.iter().map(|attempt| attempt["position"].as_u64().unwrap()).collect();
    assert_eq!(positions, (0..tests as u64).collect::<Vec<_>>());
    let later = result.list("attempts").iter().filter(|attempt| attempt["purpose"] != "suite");
    assert!(later.into_iter().all(|attempt| attempt["environment"] != first[0]["environment"]));
}

#[test]
fn go_tests_run_by_their_reports() {
    let tools = installed("go");
    let sandbox = Sandbox::new().file("go.mod", "module example.com/shop\n\ngo 1.21\n").file(
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
    let result = run(&sandbox, "report.xml", one_test, &command, &variables).expect_exit(1);
    assert_eq!(
        result.findings(),
        ["example.com/shop/price TestFlaky flaky-independent", "example.com/shop/price TestPrice real"]
    );
    one_process_for_all(&result, 3);
    let real = result.finding("example.com/shop/price TestPrice");
    assert_eq!(
        real["reproduce"][0]["command"],
        "gotestsum --junitfile report.xml -- -count=1 -run '^TestPrice$' example.com/shop/price",
        "{real}"
    );
}

#[test]
fn vitest_tests_run_by_their_reports() {
    let sandbox = Sandbox::new().file("package.json", r#"{"name": "shop", "type": "module"}"#).file(
        "shop.test.js",
        "import { describe, expect, it } from 'vitest'\nimport { existsSync, writeFileSync } from 'node:fs'\n\n\
         describe('shop (new)', () => {\n\
         \x20 it('is sound', () => {})\n\
         \x20 it('has a price', () => { expect(1 + 1).toBe(3) })\n\
         \x20 it('is flaky', () => {\n\
         \x20   const first = !existsSync('mark')\n    writeFileSync('mark', '')\n    expect(first).toBe(false)\n  })\n\
         \x20 it.skip('is skipped', () => {})\n})\n",
    );
    symlink(installed("vitest").join("node_modules"), sandbox.project().join("node_modules")).unwrap();
    let one_test = "npx vitest run --reporter=junit --outputFile={results} {file} -t '^{name_regex}$'";
    let command = ["npx", "vitest", "run", "--reporter=junit", "--outputFile=report.xml"];
    let result = run(&sandbox, "report.xml", one_test, &command, &[]).expect_exit(1);
    assert_eq!(
        result.findings(),
        ["shop.test.js shop (new) > has a price real", "shop.test.js shop (new) > is flaky flaky-independent"]
    );
    one_process_for_all(&result, 4);
    let real = result.finding("shop.test.js shop (new) > has a price");
    let alone = r"'^shop \(new\) (> )?has a price$'";
    let plain = "npx vitest run --reporter=junit --outputFile=report.xml shop.test.js -t";
    assert_eq!(real["reproduce"][0]["command"], format!("{plain} {alone}"));
    // The report lists deselected tests as skipped, which must not count as attempts.
    assert!(
        attempts_of(&result, "shop.test.js shop (new) > has a price")
            .iter()
            .all(|reported| reported.starts_with("failed"))
    );
}

#[test]
fn perl_tests_run_by_their_reports() {
    let flaky = "use Test::More tests => 1;\nmy $later = -e 'mark';\nopen my $f, '>', 'mark'; close $f;\nok($later, 'later');\n";
    let sandbox = Sandbox::new()
        .file("t/flaky.t", flaky)
        .file("t/shop.t", "use Test::More tests => 2;\nok(1, 'sound');\nis(1 + 1, 3, 'price');\n")
        .file("t/sound.t", "use Test::More tests => 1;\nok(1, 'fine');\n")
        .file(
            "unflake.toml",
            r#"
command = ["sh", "-c", "prove --formatter TAP::Formatter::JUnit t > report.xml"]
results = "report.xml"
one-test = """sh -c 'prove --formatter TAP::Formatter::JUnit "t/${1%_t}.t" > "$2"' sh {suite} {results}"""
"#,
        );
    let result = sandbox.run("", "").expect_exit(1);
    assert_eq!(result.findings(), ["flaky_t 1 - later flaky-independent", "shop_t 2 - price real"]);
    one_process_for_all(&result, 4);
}

/// A small runner: `./runner` runs the tests `a` to `c` and writes a report, `./runner b` runs one.
/// A file `fail-b` makes that test fail.
const RUNNER: &str = r#"#!/bin/sh
echo "ran $*" >> log
code=0
{ echo "<testsuite name='s'>"; for test in ${1:-a b c}; do
  if [ -e "fail-$test" ]; then code=1; echo "<testcase name='$test'><failure message='no'/></testcase>"
  else echo "<testcase name='$test'/>"; fi
done; echo "</testsuite>"; } > out/report.xml
exit $code
"#;

fn shell(runner: &str) -> Sandbox {
    Sandbox::new().file("runner", runner).file("out/keep", "")
}

fn run_shell(sandbox: &Sandbox, one_test: &str) -> RunOutput {
    run(sandbox, "out/**/*.xml", one_test, &["sh", "./runner"], &[])
}

#[test]
fn the_first_pass_runs_the_command_once() {
    let sandbox = shell(RUNNER);
    let result = run_shell(&sandbox, "sh ./runner {name}").expect_exit(0);
    assert_eq!(result.attempts(), ["s a passed suite process", "s b passed suite process", "s c passed suite process"]);
    assert_eq!(std::fs::read_to_string(sandbox.project().join("log")).unwrap(), "ran \n");
}

#[test]
fn a_failure_is_retried_with_the_suite_and_alone() {
    let sandbox = shell(RUNNER).file("fail-b", "");
    let result = run_shell(&sandbox, "sh ./runner {name}").expect_exit(1);
    assert_eq!(result.findings(), ["s b real"]);
    let log = std::fs::read_to_string(sandbox.project().join("log")).unwrap();
    assert!(log.starts_with("ran \nran \nran b\n"), "{log}");
    assert_eq!(result.finding("s b")["reproduce"][0]["command"], "sh ./runner b");
}

#[test]
fn a_test_that_passes_only_alone_is_state_dependent() {
    let sandbox = shell(&RUNNER.replace(r#"[ -e "fail-$test" ]"#, r#"[ "$test$#" = c0 ]"#));
    let result = run_shell(&sandbox, "sh ./runner {name}").expect_exit(0);
    assert_eq!(result.findings(), ["s c flaky-state-dependent"]);
}

/// `c` passes in the first pass and fails when the whole command runs again for `b`.
#[test]
fn a_test_that_fails_in_the_rerun_only_is_flaky() {
    let fails_later = r#"[ "$test" = b -o "$test$#$(wc -l < log)" = c02 ]"#;
    let sandbox = shell(&RUNNER.replace(r#"[ -e "fail-$test" ]"#, fails_later));
    let result = run_shell(&sandbox, "sh ./runner {name}").expect_exit(1);
    assert_eq!(result.findings(), ["s b real", "s c flaky-independent"]);
    assert_eq!(
        result.finding("s c")["sentence"],
        "random: 1 of 2 attempts failed, passed in the suite and failed when the tests of its process ran again"
    );
    let scores = sandbox.unflake(["history", "score"]).finish().expect_exit(0).stdout;
    assert!(scores.contains("1 flaky, 1 broken") && scores.contains("BROKEN   s b"), "{scores}");
}

/// Alone it passes, so that the run is green; the plain command is red every second time.
#[test]
fn a_rerun_that_only_another_test_fails_is_reported() {
    let fails = r#"[ "$test$(wc -l < log)" = b1 -o "$test$#$(wc -l < log)" = c02 ]"#;
    let sandbox = shell(&RUNNER.replace(r#"[ -e "fail-$test" ]"#, fails));
    let call = |options: &str| {
        let _ = std::fs::remove_file(sandbox.project().join("log"));
        let words = ["--results", "out/**/*.xml", "--one-test", "sh ./runner {name}", "--", "sh", "./runner"];
        sandbox.run_invocation(options, "").args(words).finish()
    };
    let result = call("").expect_exit(0);
    assert_eq!(result.findings(), ["s b flaky-independent", "s c flaky-independent"]);
    call("--flaky-result fail").expect_exit(1);
}

#[test]
fn a_test_missing_from_the_report_has_not_passed() {
    let sandbox = shell(RUNNER).file("fail-c", "");
    let result = run_shell(&sandbox, "sh ./runner x{name}").expect_exit(1);
    assert_eq!(result.findings(), ["s c real"]);
    assert!(result.stdout.contains("it did not run: the report has one other test"), "{}", result.stdout);
    // The same without a new report: the old one does not count.
    let result = run_shell(&sandbox, "true {name}").expect_exit(1);
    assert_eq!(result.findings(), ["s c real"]);
    assert!(result.stdout.contains("the existing one is older than this run"), "{}", result.stdout);
}

#[test]
fn a_command_that_writes_no_report_is_an_error() {
    let old = "<testsuite><testcase name='old'/></testsuite>";
    let sandbox = shell("echo compiling; echo no such thing >&2; exit 3\n").file("out/old.xml", old);
    let result = run_shell(&sandbox, "sh ./runner {name}").expect_exit(4);
    let remarks = result.remarks();
    for words in
        ["no report was written to `out/**/*.xml`; the existing one is older", "exited with code 3", "no such thing"]
    {
        assert!(remarks.contains(words), "{remarks}");
    }
    assert_eq!(std::fs::read_to_string(sandbox.project().join("out/old.xml")).unwrap(), old);
}

#[test]
fn an_unexplained_exit_code_fails_the_run() {
    let sandbox = shell(&RUNNER.replace("exit $code", "echo leaking >&2; exit 9"));
    let result = run_shell(&sandbox, "sh ./runner {name}").expect_exit(1);
    let words = "the report has no failed test, but the command exited with code 9";
    assert!(result.stdout.contains(words), "{}", result.stdout);
    assert_eq!(result.findings(), ["s c real"]);
}

#[test]
fn a_single_test_that_hangs_times_out() {
    let sandbox = shell(&RUNNER.replace("code=0", "code=0; [ \"$1\" = b ] && sleep 600")).file("fail-b", "");
    let result =
        run(&sandbox, "out/report.xml", "sh ./runner {name}", &["sh", "./runner"], &[("UNFLAKE_TIMEOUT", "1".into())]);
    assert_eq!(result.findings(), ["s b real"]);
    assert!(attempts_of(&result, "s b").contains(&"timed-out fresh".to_owned()), "{:?}", result.attempts());
}

#[test]
fn inconsistent_settings_are_rejected_before_anything_runs() {
    let sandbox = shell(RUNNER);
    let reported = |words: &[&str]| {
        sandbox.unflake(["run"]).args(words).args(["--", "sh", "./runner"]).finish().expect_exit(2).stderr
    };
    assert!(reported(&["--results", "a.xml"]).contains(" needs one-test, "));
    assert!(reported(&["--results", "a.xml", "--one-test", "run {nmae}"]).contains("there is no {nmae}"));
    assert!(reported(&["--results", "a.xml", "--one-test", "run '{name}"]).contains("a ' is not closed"));
    assert!(!sandbox.project().join("log").exists());
}
