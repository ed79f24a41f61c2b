//! `cargo test` and nextest.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use e2e::{Invocation, Sandbox, repository};
use insta::assert_snapshot;
use nix::sys::signal::Signal;

use super::{as_lines, elements, outcomes, repeat, text, write};

// -- cargo test -----------------------------------------------------------------------------------

const WORKSPACE: [(&str, &str); 11] = [
    ("Cargo.toml", "[workspace]\nresolver = \"2\"\nmembers = [\"shop\", \"till\"]\n"),
    (
        "shop/Cargo.toml",
        "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[features]\nextra = []\n\
         [[test]]\nname = \"own\"\nharness = false\n",
    ),
    (
        "shop/build.rs",
        "fn main() {\n    let place = std::env::var(\"OUT_DIR\").unwrap();\n    std::fs::write(format!(\"{place}/made.txt\"), \
         \"made\").unwrap();\n    println!(\"cargo:rerun-if-changed=build.rs\");\n}\n",
    ),
    (
        "shop/src/lib.rs",
        r#"//! ```
//! assert_eq!(shop::price(2), 2);
//! ```
pub fn price(n: u32) -> u32 {
    n
}

#[cfg(test)]
mod tests {
    use super::price;

    #[test]
    fn one_costs_one() {
        assert_eq!(price(1), 1);
    }

    #[test]
    fn two_cost_three() {
        println!("two, please");
        assert_eq!(price(2), 3);
    }

    #[test]
    #[ignore = "slow"]
    fn slow() {}

    #[test]
    #[ignore]
    fn slow_and_wrong() {
        panic!("too slow");
    }

    #[test]
    #[should_panic(expected = "empty")]
    fn panics_as_it_should() {
        panic!("the shelf is empty");
    }

    #[test]
    #[should_panic]
    fn does_not_panic_as_it_should() {}

    #[test]
    fn returns_an_error() -> Result<(), String> {
        Err("no change".to_owned())
    }

    #[cfg(feature = "extra")]
    #[test]
    fn only_with_extra() {}
}
"#,
    ),
    ("shop/src/main.rs", "fn main() {\n    println!(\"open\");\n}\n\n#[test]\nfn of_the_program() {}\n"),
    (
        "shop/tests/world.rs",
        r#"use std::env;
use std::process::Command;

#[test]
fn the_program_is_there() {
    assert_eq!(Command::new(env!("CARGO_BIN_EXE_shop")).output().unwrap().stdout, b"open\n");
}

#[test]
fn the_directory_is_the_package() {
    let package = env::var("CARGO_MANIFEST_DIR").unwrap();
    assert_eq!(env::current_dir().unwrap(), std::path::Path::new(&package));
    assert_eq!((package.as_str(), env::var("CARGO_PKG_NAME").unwrap().as_str()), (env!("CARGO_MANIFEST_DIR"), "shop"));
}

#[test]
fn the_build_script_has_made_it() {
    let there = env::var("OUT_DIR").unwrap();
    assert_eq!(there, env!("OUT_DIR"));
    assert_eq!(std::fs::read_to_string(there + "/made.txt").unwrap(), "made");
}

#[test]
fn nothing_of_unflake_is_seen() {
    let ours: Vec<String> = env::vars().map(|(name, _)| name).filter(|name| name.starts_with("UNFLAKE")).collect();
    assert!(ours.is_empty() && env::var_os("RUSTDOC").is_none(), "{ours:?}");
}
"#,
    ),
    (
        "shop/tests/own.rs",
        "fn main() {\n    assert!(std::env::current_dir().unwrap().ends_with(\"shop\"));\n    if \
         std::env::var_os(\"OWN_FAILS\").is_some() {\n        println!(\"own: 1 of 3 wrong\");\n        \
         std::process::exit(2);\n    }\n}\n",
    ),
    (
        "till/Cargo.toml",
        "[package]\nname = \"till\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nshop = { path = \"../shop\" }\n",
    ),
    (
        "till/src/lib.rs",
        "pub fn sum(numbers: &[u32]) -> u32 {\n    numbers.iter().map(|n| shop::price(*n)).sum()\n}\n\n#[cfg(test)]\nmod \
         tests {\n    #[test]\n    fn nothing_is_nothing() {\n        assert_eq!(super::sum(&[]), 0);\n    }\n}\n",
    ),
    (
        "till/tests/waits.rs",
        r#"#[test]
#[ignore]
fn for_ever() {
    let child = std::process::Command::new("setsid").args(["sleep", "1000"]).spawn().unwrap();
    std::fs::write(std::env::var("HERE").unwrap(), child.id().to_string()).unwrap();
    std::thread::sleep(std::time::Duration::from_secs(1000));
}

#[test]
#[ignore]
fn fails_the_first_time() {
    let mark = std::env::var("HERE").unwrap();
    let first = std::fs::metadata(&mark).is_err();
    std::fs::write(mark, "1").unwrap();
    assert!(!first);
}
"#,
    ),
    ("till/tests/alone.rs", "#[test]\nfn no_others_run_beside_me() {}\n\n#[test]\nfn nor_beside_me() {}\n"),
];

fn workspace() -> &'static Path {
    static WRITTEN: OnceLock<PathBuf> = OnceLock::new();
    WRITTEN.get_or_init(|| {
        let place = fs::canonicalize(env!("CARGO_TARGET_TMPDIR")).unwrap().join("native/workspace");
        for (name, text) in WORKSPACE {
            write(&place.join(name), text);
        }
        place
    })
}

/// A `PATH` with cargo and rustc, and nextest where requested.
fn rust_path(with_nextest: bool) -> OsString {
    let cargo = Path::new(env!("CARGO")).parent().unwrap();
    let nextest = repository().join(".venvs/cargo/bin");
    let installed = nextest.join("cargo-nextest").is_file();
    assert!(installed || !with_nextest, "cargo-nextest is not installed: run `python3 e2e/setup.py` once");
    let mut path = if with_nextest { vec![nextest] } else { Vec::new() };
    path.extend([cargo, Path::new("/usr/local/bin"), Path::new("/usr/bin"), Path::new("/bin")].map(Path::to_owned));
    std::env::join_paths(path).unwrap()
}

/// `unflake run OPTIONS -- COMMAND` in the workspace, with the history in the sandbox.
fn in_workspace<'a>(sandbox: &'a Sandbox, options: &str, command: &str) -> Invocation<'a> {
    let store = sandbox.project().join(".unflake");
    let options = format!("--store {} {options}", store.display());
    let call = sandbox.run_invocation(&options, command).in_directory(workspace().to_str().unwrap());
    call.env("PATH", rust_path(command.contains("nextest"))).env("CARGO_NET_OFFLINE", "true")
}

/// A program in the workspace, without unflake.
fn plain(sandbox: &Sandbox, program: &str, with_nextest: bool) -> Command {
    let mut command = sandbox.command(program);
    command.current_dir(workspace()).env("PATH", rust_path(with_nextest)).env("CARGO_NET_OFFLINE", "true");
    command
}

/// The outcomes in the output of cargo itself.
fn plain_outcomes(sandbox: &Sandbox, words: &str) -> BTreeMap<String, String> {
    let output = plain(sandbox, "sh", false).args(["-c", &format!("{words} 2>&1")]).output().unwrap();
    let printed = text(&output);
    let mut found = BTreeMap::new();
    let mut target = String::new();
    for line in printed.lines() {
        if let Some(rest) = line.trim().strip_prefix("Running ") {
            let (source, program) = rest.split_once(" (").unwrap();
            let name = program.rsplit('/').next().unwrap().rsplit_once('-').unwrap().0;
            target = match source {
                "unittests src/lib.rs" => name.to_owned(),
                "unittests src/main.rs" => format!("{name}::bin/{name}"),
                "tests/world.rs" | "tests/own.rs" => format!("shop::{name}"),
                _ => format!("till::{name}"),
            };
            if target == "shop::own" {
                found.insert(target.clone(), "passed".to_owned());
            }
        } else if line.contains("Doc-tests") {
            break;
        } else if let Some((name, outcome)) = line.strip_prefix("test ").and_then(|line| line.split_once(" ... ")) {
            let outcome = match outcome {
                "ok" => "passed",
                "FAILED" => "failed",
                _ => "skipped",
            };
            found.insert(format!("{target} {}", name.trim_end_matches(" - should panic")), outcome.to_owned());
        }
    }
    assert!(!found.is_empty(), "{printed}");
    found
}

#[test]
fn outcomes_match_plain_cargo_test() {
    for words in [
        "cargo test --workspace --no-fail-fast",
        "cargo test -p shop --features extra --no-fail-fast -- --test-threads=1",
        "cargo test -p shop --test world",
        "cargo test -p shop --lib cost --no-fail-fast -- --skip three",
        "cargo test -p shop --lib -- --ignored",
        "cargo test -p shop --lib --no-fail-fast -- --include-ignored",
        "cargo test -p till -p shop --bins",
        "cargo test -p shop --lib -- --exact tests::one_costs_one",
    ] {
        let sandbox = Sandbox::new();
        let result = in_workspace(&sandbox, "--immediate 0 --at-end 0 --fresh 0", words).finish();
        let expected = plain_outcomes(&sandbox, words);
        assert_eq!(as_lines(&outcomes(&result)), as_lines(&expected), "{words}");
        assert_eq!(result.code, i32::from(expected.values().any(|outcome| outcome == "failed")), "{words}");
    }
}

#[test]
fn a_cargo_test_run_in_the_terminal_with_repro_commands() {
    let sandbox = Sandbox::new();
    let result = in_workspace(&sandbox, "", "cargo test --workspace -- --include-ignored --skip ever --skip first")
        .finish()
        .expect_exit(1);
    assert_snapshot!(sandbox.redact(&result.stdout), @r#"
    16 tests, 4 real failures, [TIME]

    REAL     shop tests::does_not_panic_as_it_should
             failed 5 of 5 attempts, including 2 new processes with other seeds
               Failed
               │ test did not panic as expected at shop/src/lib.rs:41:8
             reproduce  cargo test -p shop --lib -- --exact tests::does_not_panic_as_it_should --include-ignored

    REAL     shop tests::returns_an_error
             failed 5 of 5 attempts, including 2 new processes with other seeds
               Error
               │ "no change"
               captured stdout:
               │ Error: "no change"
             reproduce  cargo test -p shop --lib -- --exact tests::returns_an_error --include-ignored

    REAL     shop tests::slow_and_wrong
             failed 5 of 5 attempts, including 2 new processes with other seeds
               shop/src/lib.rs:30  panic
               │ too slow
             reproduce  cargo test -p shop --lib -- --exact tests::slow_and_wrong --include-ignored

    REAL     shop tests::two_cost_three
             failed 5 of 5 attempts, including 2 new processes with other seeds
               shop/src/lib.rs:20  panic
               │ assertion `left == right` failed
               │   left: 2
               │  right: 3
               captured stdout:
               │ two, please
             reproduce  cargo test -p shop --lib -- --exact tests::two_cost_three --include-ignored

    note: shop::own has a test harness of its own: it is run as one test
    note: doctests are not run: `cargo test --doc` runs them

    exit 1: 4 real failures
    "#);
    repeat(&result, || plain(&sandbox, "sh", false));
}

#[test]
fn a_program_with_a_custom_harness_is_one_test() {
    let sandbox = Sandbox::new();
    let result =
        in_workspace(&sandbox, "", "cargo test -p shop --test own").env("OWN_FAILS", "1").finish().expect_exit(1);
    assert_eq!(result.findings(), ["shop::own real"]);
    assert_snapshot!(result.remarks(), @"
    note: shop::own has a test harness of its own: it is run as one test
    exit 1: 1 real failure
    ");
    assert_eq!(result.list("attempts")[0]["failure"]["message"], "exited with code 2: own: 1 of 3 wrong");
    repeat(&result, || {
        let mut shell = plain(&sandbox, "sh", false);
        shell.env("OWN_FAILS", "1");
        shell
    });
}

#[test]
fn a_flaky_rust_test_is_excused_and_stored() {
    let sandbox = Sandbox::new();
    let mark = sandbox.project().join("mark");
    let words = "cargo test -p till --test waits -- --ignored first";
    let result = in_workspace(&sandbox, "--junit report.xml", words).env("HERE", mark).finish().expect_exit(0);
    assert_eq!(result.findings(), ["till::waits fails_the_first_time flaky-independent"]);
    let history = sandbox.unflake(["history", "show", "first_time"]).finish().expect_exit(0).stdout;
    assert!(history.contains("till::waits fails_the_first_time"), "{history}");
    assert!(history.contains("failed") && history.contains("passed"), "{history}");
    assert_eq!(sandbox.stored_attempts()[0], "till::waits fails_the_first_time failed");
    let report = workspace().join("report.xml");
    assert_eq!(elements(&report), [("flakyFailure".to_owned(), 1), ("testcase".to_owned(), 1)].into());
    fs::remove_file(report).unwrap();
}

#[test]
fn compiler_errors_are_shown() {
    let manifest = "[package]\nname = \"broken\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let sandbox =
        Sandbox::new().file("Cargo.toml", manifest).file("src/lib.rs", "#[test]\nfn a() { let x: u32 = \"one\"; }\n");
    let result = sandbox
        .run_invocation("", "cargo test")
        .env("PATH", rust_path(false))
        .env("CARGO_NET_OFFLINE", "true")
        .finish();
    let result = result.expect_exit(4);
    let lines: Vec<&str> = result.stdout.lines().map(str::trim).collect();
    for words in ["│ the tests do not build:", "│ error[E0308]: mismatched types", "│  --> src/lib.rs:2:23"] {
        assert!(lines.contains(&words), "{words}\n{}", result.stdout);
    }
    assert_snapshot!(result.remarks().lines().last().unwrap(), @"exit 4: the tests could not run");
}

#[test]
fn arguments_that_change_what_runs_are_refused() {
    let sandbox = Sandbox::new();
    let error = |words: &str| {
        let result = in_workspace(&sandbox, "", words).finish().expect_exit(2);
        let lines = result.stderr.lines().skip_while(|line| !line.starts_with("error: "));
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(error("cargo test --no-run"), @"
    error: --no-run of cargo runs no tests
    hint: leave it out
    ");
    assert_snapshot!(error("cargo test --doc"), @"
    error: unflake does not run doctests
    hint: `cargo test --doc` runs them
    ");
    assert_snapshot!(error("cargo test -- --list"), @"
    error: --list of the test binary is not supported: unflake lists and orders tests itself
    hint: leave it out
    ");
    assert_snapshot!(error("cargo nextest list"), @"
    error: this command of nextest runs no tests
    hint: use `cargo nextest run`
    ");
    assert_snapshot!(error("cargo nextest run --max-fail 1"), @"
    error: --max-fail is not supported: unflake runs every test and reruns failures
    hint: leave it out
    ");
    assert_snapshot!(error("cargo nextest run --retries=2"), @"
    error: --retries is not supported: unflake runs every test and reruns failures
    hint: leave it out; `unflake run --immediate` says how often a failed test runs again at once
    ");
}

#[test]
fn an_unknown_argument_of_cargo_is_reported() {
    let sandbox = Sandbox::new();
    let result = in_workspace(&sandbox, "", "cargo test --no-such-option").finish().expect_exit(4);
    assert!(result.remarks().contains("unexpected argument '--no-such-option'"), "{}", result.remarks());
}

#[test]
fn ctrl_c_in_a_cargo_test_run_leaves_nothing() {
    let sandbox = Sandbox::new();
    let words = "cargo test -p till --test waits -- --ignored ever";
    let running = in_workspace(&sandbox, "", words).env("HERE", sandbox.project().join("here")).start();
    running.wait_for("here");
    running.signal(Signal::SIGINT);
    let result = running.finish().expect_exit(130);
    assert!(result.stdout.contains("interrupted after"), "{}", result.stdout);
}

#[test]
fn a_hanging_rust_test_times_out() {
    let sandbox = Sandbox::new();
    let words = "cargo test -p till --test waits -- --ignored ever";
    let here = sandbox.project().join("here");
    let result =
        in_workspace(&sandbox, "--timeout 3 --immediate 0 --at-end 0 --fresh 0", words).env("HERE", here).finish();
    assert_eq!(result.expect_exit(1).attempts(), ["till::waits for_ever timed-out suite process"]);
}

// -- nextest --------------------------------------------------------------------------------------

#[test]
fn outcomes_match_plain_nextest_and_failures_reproduce() {
    let sandbox = Sandbox::new();
    let words =
        "cargo nextest run --workspace -j 1 --no-fail-fast -E !(binary(own)|test(ever)|test(first)) --run-ignored all";
    let words = words.to_owned() + " --lib --bins --test world";
    let result = in_workspace(&sandbox, "", &words).finish().expect_exit(1);
    let quoted = words.replace("!(binary(own)|test(ever)|test(first))", "'!(binary(own)|test(ever)|test(first))'");
    let printed = text(&plain(&sandbox, "sh", true).args(["-c", &quoted]).output().unwrap());
    let mut expected = BTreeMap::new();
    for line in printed.lines().take_while(|line| !line.contains("Summary [")) {
        let Some((outcome, rest)) = line.trim().split_once(" [") else { continue };
        let name = rest.split_once("] ").unwrap_or_default().1;
        let name = name.rsplit_once(") ").map_or(name, |(_, name)| name).trim();
        let outcome = HashMap::from([("PASS", "passed"), ("FAIL", "failed")]).get(outcome).copied();
        expected.extend(outcome.map(|outcome| (name.to_owned(), outcome.to_owned())));
    }
    assert_eq!(as_lines(&outcomes(&result)), as_lines(&expected), "{printed}");
    repeat(&result, || plain(&sandbox, "sh", true));
}

#[test]
fn a_nextest_filter_selects_tests() {
    let sandbox = Sandbox::new();
    let words = "cargo nextest run -p till -p shop --lib -E test(nothing)|test(/^tests::one/) -j 2";
    let result = in_workspace(&sandbox, "", words).finish().expect_exit(0);
    // nextest does not say whether a filter selects ignored tests.
    let mut found = outcomes(&result);
    found.retain(|_, outcome| outcome != "skipped");
    assert_eq!(as_lines(&found), "shop tests::one_costs_one: passed\ntill tests::nothing_is_nothing: passed");
}

#[test]
fn a_missing_nextest_is_reported() {
    let sandbox = Sandbox::new();
    let call = in_workspace(&sandbox, "", "cargo nextest run").env("PATH", rust_path(false));
    assert_snapshot!(call.finish().expect_exit(4).remarks(), @"
    usage: cargo-nextest is not installed: `cargo install cargo-nextest --locked` installs it
    exit 4: the tests could not run
    ");
}
