//! Schedules: races fail under a seed, and fail or pass every time when an order is forced.

use std::fs;

use e2e::{Sandbox, repository};
use serde::Deserialize;

/// A specimen, with its table `[schedule]`.
#[derive(Deserialize)]
struct ScheduleSpecimen {
    #[serde(default = "pytest")]
    args: Vec<String>,
    schedule: ExpectedSchedule,
}

#[derive(Deserialize)]
struct ExpectedSchedule {
    /// The test with the race, and the same one without it.
    race: String,
    fixed: String,
    /// Schedules under which the race fails: a seed at least once in five runs, others always.
    fails: Vec<String>,
    /// Schedules under which it always passes.
    #[serde(default)]
    passes: Vec<String>,
}

fn pytest() -> Vec<String> {
    ["python", "-m", "pytest"].map(str::to_owned).into()
}

/// Whether a test passes under a schedule.
fn passes(sandbox: &Sandbox, schedule: &str, test: &str, args: &[String]) -> bool {
    let under = format!("schedule={schedule}");
    let result = sandbox.unflake(["replay", test, "-q", "--under", &under, "--"]).args(args).finish();
    assert!(result.code <= 1, "exit {}: {}{}", result.code, result.stdout, result.stderr);
    result.code == 0
}

fn read(path: &str) -> ScheduleSpecimen {
    let text = fs::read_to_string(repository().join("specimens").join(path).join("specimen.toml")).unwrap();
    toml::from_str(&text).unwrap()
}

fn check(path: &str) {
    let specimen = read(path);
    check_in(&Sandbox::specimen(path), &specimen.schedule, &specimen.args);
}

fn check_in(sandbox: &Sandbox, expected: &ExpectedSchedule, args: &[String]) {
    let race = |schedule: &str| passes(sandbox, schedule, &expected.race, args);
    for fails in &expected.fails {
        match fails.parse::<u64>() {
            Ok(_) => assert!((0..5).any(|_| !race(fails)), "passed five times under {fails}"),
            Err(_) => assert!((0..3).all(|_| !race(fails)), "passed under {fails}"),
        }
        assert!(passes(sandbox, fails, &expected.fixed, args), "the fixed test fails under {fails}");
    }
    for schedule in &expected.passes {
        assert!((0..3).all(|_| race(schedule)), "failed under {schedule}");
    }
}

#[test]
fn python_threads_that_update_one_value() {
    check("schedule/python/lost_update");
}

#[test]
fn python_threads_that_check_and_act() {
    check("schedule/python/lazy_connection");
}

#[test]
fn python_tasks_that_wait() {
    check("schedule/python/late_answer");
}

#[test]
fn rust_threads() {
    check("schedule/rust/lazy_config");
}

#[test]
fn rust_threads_that_are_not_waited_for() {
    check("schedule/rust/short_wait");
}

#[test]
fn java_threads() {
    check("schedule/java/lazy_rates");
}

#[test]
fn cpp_threads() {
    let path = "schedule/cpp/lazy_catalogue";
    let specimen = read(path);
    let sandbox = Sandbox::specimen(path);
    let shell = |command: &str| {
        let built = sandbox.command("sh").args(["-c", command]).output().unwrap();
        assert!(built.status.success(), "{command}\n{}", String::from_utf8_lossy(&built.stderr));
    };
    shell("cmake -S . -B build -G Ninja && cmake --build build");
    // unflake repeats the build of the plain program with the compiler's instrumentation.
    let fails = |seed: u32| !passes(&sandbox, &seed.to_string(), &specimen.schedule.race, &specimen.args);
    assert!((1..=12).any(fails), "passed under twelve schedules");
    assert!(passes(&sandbox, "off", &specimen.schedule.race, &specimen.args), "failed without a delay");
    let point = &specimen.schedule.fails[1];
    assert!(!passes(&sandbox, point, &specimen.schedule.race, &specimen.args), "passed under {point}");
    // Of a program without a build of CMake, it says how to build one that can be traced.
    shell("mkdir plain && cp build/catalogue_test plain/");
    let advice = sandbox.unflake(["trace", &specimen.schedule.race, "--", "plain/catalogue_test"]).finish();
    let from = advice.stderr.find("CXX=clang++").expect("it says how to build");
    let to = advice.stderr[from..].find("\nWith gcc").expect("it says how to build with gcc");
    shell(&advice.stderr[from..from + to]);
    shell("cmake --build build-traced");
    let traced: Vec<String> = specimen.args.iter().map(|word| word.replace("build/", "build-traced/")).collect();
    check_in(&sandbox, &specimen.schedule, &traced);
}

/// The same without unflake's agent.
#[test]
fn any_command_runs_under_a_schedule() {
    let path = "schedule/python/lazy_connection";
    let ScheduleSpecimen { args, schedule } = read(path);
    let sandbox = Sandbox::specimen(path);
    let code = |setting: &str| {
        let under = sandbox.unflake(["under", "-q", "--schedule", setting, "--"]).args(&args);
        under.arg(&schedule.race).finish().code
    };
    assert_eq!((code(&schedule.fails[1]), code(&schedule.passes[0])), (1, 0));
}

#[test]
fn what_is_no_schedule_is_rejected() {
    let sandbox = Sandbox::new();
    let result = sandbox.unflake(["under", "--schedule", "7:0", "--", "true"]).finish().expect_exit(2);
    assert!(result.stderr.contains("`7:0` is not a setting of schedule; use a seed"), "{}", result.stderr);
}
