//! Specimens that fail under one condition of the world, through `unflake factors`, against what their `specimen.toml` says must be
//! blamed, and nothing else; and the command that is told shows it again.
//!
//! By default the quick ones, with a few factors; `UNFLAKE_SPECIMENS=factor-` runs all with all factors, `UNFLAKE_SPECIMEN_RUNS=20` each twenty times. One at a time: load is felt by all.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use e2e::{Story, python, repository, specimens};
use nix::sys::signal::Signal;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Specimen {
    name: String,
    #[serde(rename = "description")]
    _description: String,
    #[serde(rename = "flaw")]
    _flaw: String,
    #[serde(rename = "source")]
    _source: String,
    #[serde(rename = "tests")]
    _tests: usize,
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Whether it is run by `python`, and there is another.
    #[serde(default)]
    interpreters: bool,
    factors: Expected,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    test: String,
    kind: String,
    /// What its sentence has in it.
    words: String,
    hours: Option<String>,
    #[serde(default)]
    threshold: BTreeMap<String, String>,
    /// Part of every run of the suite.
    #[serde(default)]
    quick: bool,
    /// Time decides, so a busy machine decides too.
    #[serde(default)]
    needs_quiet: bool,
    /// There has to be a way to the outside.
    #[serde(default)]
    needs_route: bool,
}

/// Enough to tell the right one from others.
const FEW: [&str; 5] = ["date", "time-zone", "hash-seed", "listing", "cores"];

#[test]
fn the_right_factor_is_blamed_and_no_other() {
    let all = std::env::var("UNFLAKE_SPECIMENS").is_ok();
    let runs = std::env::var("UNFLAKE_SPECIMEN_RUNS").map_or(1, |runs| runs.parse().expect("a number of runs"));
    let read = |(name, text): (String, String)| {
        let specimen: Specimen = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(name, specimen.name);
        specimen
    };
    let specimens = specimens(|name| name.starts_with("factor-")).into_iter().map(read);
    let wanted: Vec<Specimen> = specimens.filter(|one| all || one.factors.quick).collect();
    let mut good: BTreeMap<&str, u32> = BTreeMap::new();
    let mut wrong = Vec::new();
    for _ in 0..runs {
        for specimen in &wanted {
            if let Some(why) = specimen.cannot_be_told() {
                eprintln!("{} is left out: {why}", specimen.name);
                continue;
            }
            let found = examine(specimen, if all { &[] } else { &FEW });
            *good.entry(&specimen.name).or_default() += u32::from(found.is_empty());
            found.iter().for_each(|difference| eprintln!("{}: {difference}", specimen.name));
            wrong.extend(found.into_iter().map(|difference| format!("{}: {difference}", specimen.name)));
        }
    }
    for (name, good) in good {
        println!("{name:<34}{good:>4} of {runs}");
        assert!(good * 20 >= runs * 19, "{name} must be right 19 times out of 20:\n{}", wrong.join("\n"));
    }
}

impl Specimen {
    /// Why its answer would say nothing here.
    fn cannot_be_told(&self) -> Option<&'static str> {
        let routes = fs::read_to_string("/proc/net/route").unwrap_or_default();
        let is_default = |line: &str| line.split_whitespace().nth(1) == Some("00000000");
        match () {
            () if self.factors.needs_quiet && others_work() => Some("this machine is busy"),
            () if self.factors.needs_route && !routes.lines().any(is_default) => Some("there is no network"),
            () if self.interpreters && other_python().is_none() => Some("there is no other interpreter"),
            () => None,
        }
    }
}

/// Whether more than a fourth of the machine is at work now. Its load average would say what the last experiment did.
fn others_work() -> bool {
    let ticks = || -> (u64, u64) {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let spent = stat.lines().next().unwrap_or_default().split_whitespace().skip(1).take(8);
        let spent: Vec<u64> = spent.filter_map(|word| word.parse().ok()).collect();
        (spent.iter().skip(3).take(2).sum(), spent.iter().sum())
    };
    let (idle, all) = ticks();
    std::thread::sleep(Duration::from_secs(1));
    let (idle_then, all_then) = ticks();
    (idle_then - idle) * 4 < (all_then - all) * 3
}

/// An interpreter that does not have what the specimen needs.
fn other_python() -> Option<String> {
    let venvs = repository().join(".venvs");
    ["py3.13-pytest9.0.1", "py3.12-pytest8.3.4"]
        .into_iter()
        .map(|name| venvs.join(name).join("bin/python"))
        .find(|path| path.is_file())
        .map(|path| path.display().to_string())
}

/// Makes one experiment and says in what way it is not as expected.
fn examine(specimen: &Specimen, only: &[&str]) -> Vec<String> {
    let Specimen { name, factors: expected, env, .. } = specimen;
    let story = Story::of_specimen(name);
    let project = story.project();
    let found = story.place().join("found.json");
    let mut call = story.unflake(["factors", &expected.test, "--json"]).arg(&found);
    call = only.iter().fold(call, |call, factor| call.args(["--factor", factor])).arg("--");
    for (name, value) in env {
        call = call.env(name, value.replace("{project}", &project.display().to_string()));
    }
    let mut runner = python().display().to_string();
    if specimen.interpreters {
        let usual = story.place().join("programs");
        fs::create_dir_all(&usual).unwrap();
        for (name, program) in [("python", runner.clone()), ("python3.13", other_python().unwrap())] {
            script(&usual.join(name), &program);
        }
        call = call.env("PATH", format!("{}:{}", usual.display(), std::env::var("PATH").unwrap_or_default()));
        runner = "python".to_owned();
    }
    let ran = call.args([&runner, "-m", "pytest", "-p", "no:cacheprovider"]).end();
    let mut differences = Vec::new();
    let mut check = |what: &str, holds: bool, found: String| {
        if !holds {
            differences.push(format!("{what}: {found}"));
        }
    };
    let findings = ran.list("findings");
    let kinds: Vec<&str> = findings.iter().filter_map(|finding| finding["kind"].as_str()).collect();
    check("kinds", kinds == [expected.kind.as_str()], format!("{kinds:?} {}", ran.stdout));
    let Some(finding) = findings.first() else { return differences };
    let sentence = finding["sentence"].as_str().unwrap_or_default();
    check("words", sentence.contains(&expected.words), sentence.to_owned());
    check("hours", sentence.contains(expected.hours.as_deref().unwrap_or_default()), sentence.to_owned());
    for (field, value) in &expected.threshold {
        let told = &finding["threshold"][field];
        check(field, told == value.as_str(), told.to_string());
    }
    let exit = i32::from(expected.kind != "none");
    check("exit", ran.code == exit, ran.code.to_string());
    if let Some(why) = shows_otherwise(&story, finding, env) {
        check("see it yourself", false, why);
    }
    differences
}

/// What the command that is told does that it should not: it is to fail, where the finding says so.
fn shows_otherwise(story: &Story, finding: &Value, env: &BTreeMap<String, String>) -> Option<String> {
    let kind = finding["kind"].as_str()?;
    // Time decides some. Seeds are tried until one fails, even where it was one that passes that made the difference.
    let passes = finding["fails"] == false && kind != "random-seed";
    if ["none", "load", "delays", "order", "interpreter", "switch-interval"].contains(&kind) || passes {
        return None;
    }
    let command = finding["repeat"].as_str()?.replacen("unflake", &e2e::unflake().display().to_string(), 1);
    let mut shell = story.command("sh");
    for (name, value) in env {
        shell.env(name, value.replace("{project}", &story.project().display().to_string()));
    }
    let shown = shell.args(["-c", &command]).output().expect("there is a shell");
    let said = String::from_utf8_lossy(&shown.stdout);
    // A loop ends well in any case.
    let fails = if command.starts_with("for ") { said.contains("1 failed") } else { shown.status.code() == Some(1) };
    (!fails).then(|| format!("{command}: {said}"))
}

fn script(path: &Path, program: &str) {
    fs::write(path, format!("#!/bin/sh\nexec '{program}' \"$@\"\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn an_experiment_that_is_stopped_goes_on() {
    let story = Story::of_specimen("factor-date");
    let command = [python().to_str().unwrap(), "-m", "pytest", "-p", "no:cacheprovider"];
    let asked = ["factors", "voucher", "--factor", "date", "--factor", "hash-seed", "--"];
    let git = |words: &str| {
        let who = ["-c", "user.name=Ann", "-c", "user.email=ann@acme.test"];
        assert!(story.command("git").args(who).args(words.split(' ')).output().unwrap().status.success(), "{words}");
    };
    ["init -q", "add -A", "commit -q -m first"].into_iter().for_each(git);
    let running = story.unflake(asked).args(command).start();
    let attempts = || story.history().first().map_or(0, |run| run.attempts);
    running.wait_until("a few runs are made", || attempts() >= 8);
    running.signal(Signal::SIGINT);
    let stopped = running.end().exits(130);
    assert!(stopped.stdout.contains("--resume"), "{}", stopped.stdout);
    let before = attempts();
    let found = story.place().join("found.json");
    fs::write(story.project().join("other.py"), "").unwrap();
    ["add other.py", "commit -q -m second"].into_iter().for_each(git);
    let refused = story.unflake(["factors", "voucher", "--resume"]).args(&asked[2..]).args(command).end().exits(2);
    assert!(refused.stderr.contains("the code has changed"), "{}", refused.stderr);
    git("reset -q --hard HEAD~1");
    let again = story.unflake(["factors", "voucher", "--resume", "--json"]).arg(found).args(&asked[2..]);
    let ran = again.args(command).end().exits(1);
    let finding = &ran.list("findings")[0];
    assert_eq!(finding["kind"], "date");
    let made = ran.list("attempts").len() as u64;
    assert_eq!(finding["runs"].as_u64().unwrap(), before + made);
}

#[test]
fn what_cannot_be_asked_is_said() {
    let story = Story::of("def test_a(): pass");
    let ran = story.unflake(["factors", "test_a", "--factor", "weather", "--", "pytest"]).end().exits(2);
    assert!(ran.stderr.contains("`weather` is no factor; there are date, speed,"), "{}", ran.stderr);
    let ran = story.unflake(["factors", "test_a", "--resume", "--", "pytest"]).end().exits(2);
    assert!(ran.stderr.contains("no experiment with `test_a` and this command was stopped"), "{}", ran.stderr);
}

#[test]
fn of_many_tests_the_one_whose_name_changes_is_named() {
    let story = Story::of(
        "import time, pytest\n\
         def test_a(): pass\n\
         @pytest.mark.parametrize('now', [str(time.time_ns())])\n\
         def test_b(now): pass",
    );
    let asked = ["factors", "--together", "--factor", "hash-seed", "--"];
    let ran = story.unflake(asked).arg(python()).args(["-m", "pytest", "-p", "no:cacheprovider"]).end().exits(4);
    let said = &ran.stdout;
    assert!(said.contains("not even the baseline could be run: the runner did not list test_it.py::test_b["), "{said}");
    assert!(said.contains("again: leave it out, if its name is another each time"), "{said}");
}
