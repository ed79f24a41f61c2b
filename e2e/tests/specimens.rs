//! Every specimen through the real binary, against what its `specimen.toml` says must be found.
//!
//! `UNFLAKE_SPECIMEN_RUNS=20 cargo test -p e2e --test specimens -- --nocapture` runs each twenty times;
//! `UNFLAKE_SPECIMENS=rust` chooses those whose names have that in them.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};
use std::thread;

use e2e::{Ran, Story, python, repository, unflake};
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
    #[serde(default = "pytest")]
    args: Vec<String>,
    #[serde(default)]
    options: Vec<String>,
    /// Commands that make it ready to be run.
    #[serde(default)]
    build: Vec<Vec<String>>,
    exit: i32,
    tests: usize,
    #[serde(default)]
    finding: Vec<Expected>,
    rate: Option<Rate>,
    #[serde(skip)]
    built: OnceLock<PathBuf>,
}

/// Of a test that is left to chance: how often it fails.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rate {
    test: String,
    #[serde(rename = "alone")]
    _alone: f64,
    #[serde(rename = "loaded")]
    _loaded: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    test: String,
    technique: String,
    kind: String,
    rung: Option<String>,
    outcome: String,
    death: Option<String>,
    message_contains: Option<String>,
    #[serde(default)]
    not_rerun: bool,
}

fn pytest() -> Vec<String> {
    vec!["pytest".to_owned()]
}

#[test]
fn every_specimen_gives_its_finding_in_every_run() {
    let runs = std::env::var("UNFLAKE_SPECIMEN_RUNS").map_or(1, |runs| runs.parse().expect("a number of runs"));
    let specimens = specimens();
    assert!(!specimens.is_empty());
    // Each specimen in turn, and then all of them again, so that they meet different neighbours.
    let todo: Mutex<Vec<usize>> = Mutex::new((0..runs).flat_map(|_| 0..specimens.len()).rev().collect());
    let results: Mutex<Vec<Vec<Vec<String>>>> = Mutex::new(vec![Vec::new(); specimens.len()]);
    let cores = thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let Some(at) = todo.lock().unwrap().pop() else { return };
                    let differences = examine(&specimens[at]);
                    results.lock().unwrap()[at].push(differences);
                }
            });
        }
    });
    let results = results.into_inner().unwrap();
    let mut table = String::new();
    for (specimen, results) in specimens.iter().zip(&results) {
        let good = results.iter().filter(|differences| differences.is_empty()).count();
        table += &format!("{:<30}{good:>4} of {runs}\n", specimen.name);
        let different: BTreeSet<&String> = results.iter().flatten().collect();
        table.extend(different.iter().map(|difference| format!("    {difference}\n")));
    }
    println!("{table}");
    assert!(results.iter().flatten().all(Vec::is_empty), "not every specimen was found as expected:\n{table}");
}

fn specimens() -> Vec<Specimen> {
    let mut specimens = Vec::new();
    for entry in fs::read_dir(repository().join("specimens")).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        let path = entry.path().join("specimen.toml");
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let specimen: Specimen = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(entry.file_name(), specimen.name.as_str());
        specimens.push(specimen);
    }
    specimens.sort_by(|a, b| a.name.cmp(&b.name));
    let wanted = std::env::var("UNFLAKE_SPECIMENS").unwrap_or_default();
    specimens.retain(|specimen: &Specimen| specimen.name.contains(&wanted));
    specimens
}

/// Runs a specimen once and says in what way it is not as expected.
fn examine(specimen: &Specimen) -> Vec<String> {
    let story = Story::copy_of(specimen.built.get_or_init(|| built(specimen)));
    let runner = [python().to_str().unwrap(), "-m", "pytest"];
    let command = specimen.args.iter().flat_map(|word| match word.as_str() {
        "pytest" => runner.to_vec(),
        other => vec![other],
    });
    let ran = story.running("", "").args(&specimen.options).arg("--").args(command).end();
    let mut differences = Vec::new();
    let mut check = |what: &str, found: String, expected: String| {
        if found != expected {
            differences.push(format!("{what}: {found} instead of {expected}"));
        }
    };
    if let Some(rate) = &specimen.rate {
        // Nobody knows how often it fails this time; but no other test does.
        let others = ran.list("findings").iter().filter(|finding| finding["test"] != rate.test.as_str());
        check("tests", ran.list("tests").len().to_string(), specimen.tests.to_string());
        check("findings", brief(others.map(found)), "{}".to_owned());
        return differences;
    }
    check("exit", format!("{} ({})", ran.code, meaning(&ran)), format!("{} ({})", specimen.exit, meaning(&ran)));
    check("tests", ran.list("tests").len().to_string(), specimen.tests.to_string());
    check("attempts in the history", story.remembered().len().to_string(), ran.list("attempts").len().to_string());
    check("findings", brief(ran.list("findings").iter().map(found)), brief(specimen.finding.iter().map(expected)));
    for expected in &specimen.finding {
        let first = ran.list("attempts").iter().find(|attempt| attempt["test"] == expected.test.as_str());
        let Some(first) = first else { continue };
        let outcome = first["outcome"].as_str().unwrap_or("crashed");
        let message = first["failure"]["message"].as_str().unwrap_or_default();
        check(&expected.test, outcome.to_owned(), expected.outcome.clone());
        if let Some(death) = &expected.death {
            let told = if message.starts_with(death) { death } else { message };
            check(&expected.test, told.to_owned(), death.clone());
        }
        if let Some(part) = &expected.message_contains
            && !message.contains(part)
        {
            check(&expected.test, message.to_owned(), format!("something with {part:?}"));
        }
    }
    differences
}

/// The specimen, ready to be run. What has to be built is built once, and kept as long as its sources stay the same.
fn built(specimen: &Specimen) -> PathBuf {
    let source = repository().join("specimens").join(&specimen.name);
    if specimen.build.is_empty() {
        return source;
    }
    let mut hasher = DefaultHasher::new();
    hash_files(&source, &mut hasher);
    let kept = unflake().parent().and_then(Path::parent).expect("it is in a target directory").join("specimens");
    let place = kept.join(format!("{}-{:016x}", specimen.name, hasher.finish()));
    if place.join("build/.complete").is_file() {
        return place;
    }
    let _ = fs::remove_dir_all(&place);
    copy(&source, &place);
    for command in &specimen.build {
        let built = Command::new(&command[0]).args(&command[1..]).current_dir(&place).output();
        let built = built.unwrap_or_else(|error| panic!("{}: {error}; `python3 e2e/setup.py` installs it", command[0]));
        let said = [built.stdout, built.stderr].concat();
        assert!(built.status.success(), "{} does not build:\n{}", specimen.name, String::from_utf8_lossy(&said));
    }
    fs::write(place.join("build/.complete"), "").unwrap();
    place
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(directory).unwrap().flatten().map(|entry| entry.path()).collect();
    entries.retain(|path| !path.ends_with("build") && !path.ends_with("target"));
    entries.sort();
    entries.into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn hash_files(directory: &Path, hasher: &mut DefaultHasher) {
    for path in files(directory) {
        (path.strip_prefix(directory).unwrap(), fs::read(&path).unwrap()).hash(hasher);
    }
}

fn copy(from: &Path, to: &Path) {
    for path in files(from) {
        let there = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(there.parent().unwrap()).unwrap();
        fs::copy(&path, there).unwrap();
    }
}

fn meaning(ran: &Ran) -> String {
    ran.json()["exit"]["meaning"].as_str().unwrap_or_default().to_owned()
}

fn brief(findings: impl Iterator<Item = String>) -> String {
    format!("{:?}", findings.collect::<BTreeSet<_>>())
}

fn found(finding: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    let rerun = if finding["evidence"]["not_rerun"].is_null() { "" } else { " not-rerun" };
    let [test, technique, kind, rung] = ["test", "technique", "kind", "rung"].map(|name| word(&finding[name]));
    format!("{test} {technique} {kind} {rung}{rerun}")
}

fn expected(finding: &Expected) -> String {
    let Expected { test, technique, kind, .. } = finding;
    let rung = finding.rung.as_deref().unwrap_or("none");
    let rerun = if finding.not_rerun { " not-rerun" } else { "" };
    format!("{test} {technique} {kind} {rung}{rerun}")
}
