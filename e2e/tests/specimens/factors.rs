//! Specimens that fail under one condition of their environment: `unflake factors` must blame that
//! factor and no other, and its repro command must reproduce the failure.
//!
//! The test `…::all_factors` tries every factor and takes minutes; by default a few factors are
//! tried on a few specimens.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use e2e::{Pasted, PrintedCommand, python, repository};
use libtest_mimic::Trial;
use serde::Deserialize;

use crate::{Differences, Specimen, in_runs};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectedFactor {
    test: String,
    kind: String,
    sentence_contains: String,
    hours: Option<String>,
    #[serde(default)]
    threshold: BTreeMap<String, String>,
    /// Part of the default test run.
    #[serde(default)]
    quick: bool,
    /// Needs a default route.
    #[serde(default)]
    needs_route: bool,
    /// Environment variables; `{project}` stands for the project directory.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// The specimen runs with `python`, and another interpreter is in `PATH`.
    #[serde(default)]
    interpreters: bool,
}

/// Enough to tell the right factor from others.
const FEW: [&str; 5] = ["date", "time-zone", "hash-seed", "listing", "cores"];

/// A statistical test may be wrong in one of twenty runs.
const REQUIRED: fn(usize) -> usize = |runs| (runs * 19).div_ceil(20);

pub(crate) fn trials(specimen: &Arc<Specimen>, name: &str) -> Vec<Trial> {
    let trial = |name: String, only: &'static [&'static str]| {
        let specimen = Arc::clone(specimen);
        Trial::test(name, move || in_runs(None, REQUIRED, || checked(&specimen, only)))
    };
    let all = trial(format!("{name}::all_factors"), &[]).with_ignored_flag(true);
    let few = expected(specimen).quick.then(|| trial(name.to_owned(), &FEW));
    few.into_iter().chain([all]).collect()
}

fn expected(specimen: &Specimen) -> &ExpectedFactor {
    specimen.factors.as_ref().expect("it has this table")
}

fn checked(specimen: &Specimen, only: &[&str]) -> Differences {
    static LOAD: Mutex<()> = Mutex::new(());
    // Load and delays would affect another experiment.
    let _alone = only.is_empty().then(|| LOAD.lock().unwrap_or_else(PoisonError::into_inner));
    if let Some(missing) = missing(expected(specimen)) {
        eprintln!("{} is not checked: {missing}", specimen.path);
        return Vec::new();
    }
    examine(specimen, only)
}

/// What this machine lacks for the experiment.
fn missing(expected: &ExpectedFactor) -> Option<&'static str> {
    let routes = fs::read_to_string("/proc/net/route").unwrap_or_default();
    let is_default = |line: &str| line.split_whitespace().nth(1) == Some("00000000");
    match () {
        () if expected.needs_route && !routes.lines().any(is_default) => Some("there is no network"),
        () if expected.interpreters && other_python().is_none() => Some("there is no other interpreter"),
        () => None,
    }
}

/// An interpreter without the module that the specimen needs.
fn other_python() -> Option<String> {
    let venvs = repository().join(".venvs");
    ["py3.13-pytest9.0.1", "py3.12-pytest8.0.2"]
        .into_iter()
        .map(|name| venvs.join(name).join("bin/python"))
        .find(|path| path.is_file())
        .map(|path| path.display().to_string())
}

/// Runs one experiment.
fn examine(specimen: &Specimen, only: &[&str]) -> Differences {
    let expected = expected(specimen);
    let sandbox = specimen.sandbox();
    let project = sandbox.project();
    let mut invocation = sandbox.unflake(["factors", &expected.test, "--for", "0"]).json();
    invocation = only.iter().fold(invocation, |invocation, factor| invocation.args(["--factor", factor])).arg("--");
    for (name, value) in &expected.env {
        invocation = invocation.env(name, value.replace("{project}", &project.display().to_string()));
    }
    let mut runner = python().display().to_string();
    if expected.interpreters {
        let programs = sandbox.root().join("programs");
        fs::create_dir_all(&programs).unwrap();
        for (name, program) in [("python", runner.clone()), ("python3.13", other_python().unwrap())] {
            script(&programs.join(name), &program);
        }
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
        invocation = invocation.env("PATH", path);
        runner = "python".to_owned();
    }
    let result = invocation.args([&runner, "-m", "pytest", "-p", "no:cacheprovider"]).finish();
    let mut differences = Vec::new();
    let mut check = |what: &str, is_so: bool, found: String| {
        if !is_so {
            differences.push(format!("{what}: {found}"));
        }
    };
    let findings = result.list("findings");
    let kinds: Vec<&str> = findings.iter().filter_map(|finding| finding["kind"].as_str()).collect();
    check("kinds", kinds == [expected.kind.as_str()], format!("{kinds:?} {}", result.stdout));
    let Some(finding) = findings.first() else { return differences };
    let sentence = finding["sentence"].as_str().unwrap_or_default();
    check("sentence", sentence.contains(&expected.sentence_contains), sentence.to_owned());
    check("hours", sentence.contains(expected.hours.as_deref().unwrap_or_default()), sentence.to_owned());
    for (field, value) in &expected.threshold {
        let found = &finding["threshold"][field];
        check(field, found == value.as_str(), found.to_string());
    }
    let exit = i32::from(expected.kind != "none");
    check("exit", result.code == exit, result.code.to_string());
    // What these do depends on timing, or on programs that are in the `PATH` of the experiment only.
    if !["load", "delays", "interpreter", "switch-interval"].contains(&expected.kind.as_str()) {
        let value = |value: &String| value.replace("{project}", &project.display().to_string());
        let variables = expected.env.iter().map(|(name, text)| (name.clone(), value(text))).collect();
        for command in PrintedCommand::all_of(finding) {
            if let Pasted::Wrong(what) = command.paste(&sandbox, &variables) {
                check(&command.to_string(), false, what);
            }
        }
    }
    differences
}

fn script(path: &Path, program: &str) {
    fs::write(path, format!("#!/bin/sh\nexec '{program}' \"$@\"\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
