//! One test per specimen: every directory `specimens/<technique>/<language>/<name>/` must give the
//! findings that its `specimen.toml` expects.
//!
//! The test of a specimen is named after its path. Where several commands are expected to find
//! something, each has a test of its own:
//!
//! ```sh
//! cargo test -p e2e --test specimens rerun::python::polluted_cache
//! cargo test -p e2e --test specimens order::python::brittle::nio
//! UNFLAKE_SPECIMEN_RUNS=20 cargo test -p e2e --test specimens divergence -- --include-ignored
//! ```
//!
//! Ignored tests take long; `--include-ignored` runs them too.

mod change_impact;
mod factors;
mod locate;
mod measure;
mod run;
mod search;
mod stress;
mod truth;
mod why;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use e2e::{Sandbox, built, pytest, repository, specimen_paths};
use libtest_mimic::{Arguments, Failed, Trial};
use serde::Deserialize;

/// A `specimen.toml`. Each command that must find something has a table in it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Specimen {
    /// The path below `specimens/`.
    #[serde(skip)]
    path: String,
    name: String,
    #[serde(rename = "description")]
    _description: String,
    #[serde(rename = "flaw")]
    _flaw: String,
    #[serde(rename = "source")]
    _source: String,
    /// The test command. `pytest` stands for the pytest of the test environment.
    #[serde(default = "only_pytest")]
    args: Vec<String>,
    /// Options of the unflake command.
    #[serde(default)]
    options: Vec<String>,
    /// Commands that build the specimen.
    #[serde(default)]
    build: Vec<Vec<String>>,
    /// How many tests are collected.
    tests: usize,
    run: Option<run::ExpectedRun>,
    order: Option<search::ExpectedSearch>,
    nio: Option<search::ExpectedSearch>,
    locate: Option<truth::Truth>,
    factors: Option<factors::ExpectedFactor>,
    measure: Option<measure::ExpectedMeasurement>,
    why: Option<why::ExpectedDiagnosis>,
    stress: Option<stress::ExpectedStress>,
    /// What a scenario expects, where one checks the specimen, too.
    #[serde(rename = "scenario")]
    _scenario: Option<String>,
    #[serde(rename = "schedule")]
    _schedule: Option<toml::Value>,
}

/// A specimen with expectations that only a scenario understands.
#[derive(Deserialize)]
struct CheckedByScenario {
    /// The module of `tests/scenarios` that checks it.
    scenario: Option<String>,
    /// Whether it is checked here, too.
    why: Option<toml::Value>,
}

fn only_pytest() -> Vec<String> {
    vec!["pytest".to_owned()]
}

/// Differences between what was found and what is expected. Empty: as expected.
type Differences = Vec<String>;

fn main() {
    let specimens: Vec<Arc<Specimen>> = specimens().into_iter().map(Arc::new).collect();
    let mut trials = locate::consistency_checks(&specimens);
    trials.extend(specimens.iter().flat_map(trials_of));
    trials.extend(change_impact::trials());
    let mut names = BTreeSet::new();
    for trial in &trials {
        assert!(names.insert(trial.name().to_owned()), "two tests are named {}", trial.name());
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// Every specimen that is checked here, in alphabetical order of the paths.
fn specimens() -> Vec<Specimen> {
    let root = repository().join("specimens");
    specimen_paths().iter().filter_map(|path| read(&root.join(path), path)).collect()
}

fn read(directory: &Path, path: &str) -> Option<Specimen> {
    let text = fs::read_to_string(directory.join("specimen.toml")).unwrap_or_else(|error| panic!("{path}: {error}"));
    let parsed: CheckedByScenario = toml::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
    if let Some(scenario) = parsed.scenario {
        let module = repository().join("e2e/tests/scenarios").join(&scenario);
        assert!(module.with_extension("rs").is_file() || module.is_dir(), "{path}: there is no scenario {scenario}");
        parsed.why?;
    }
    let specimen: Specimen = toml::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert!(path.ends_with(&format!("/{}", specimen.name)), "{path} calls itself {}", specimen.name);
    Some(Specimen { path: path.to_owned(), ..specimen })
}

/// The tests of one specimen: one for each command that has a table.
fn trials_of(specimen: &Arc<Specimen>) -> Vec<Trial> {
    let tables = [
        ("run", specimen.run.is_some()),
        ("order", specimen.order.is_some()),
        ("nio", specimen.nio.is_some()),
        ("locate", specimen.locate.is_some()),
        ("factors", specimen.factors.is_some()),
        ("measure", specimen.measure.is_some()),
        ("why", specimen.why.is_some()),
        ("stress", specimen.stress.is_some()),
    ];
    let commands: Vec<&'static str> = tables.into_iter().filter(|(_, there)| *there).map(|(name, _)| name).collect();
    assert!(!commands.is_empty(), "{} expects nothing", specimen.path);
    let name = |command: &str| {
        let path = specimen.path.replace('/', "::");
        if commands.len() == 1 { path } else { format!("{path}::{command}") }
    };
    commands.iter().flat_map(|command| trials_of_command(specimen, command, &name(command))).collect()
}

fn trials_of_command(specimen: &Arc<Specimen>, command: &'static str, name: &str) -> Vec<Trial> {
    match command {
        "run" => vec![trial(name, specimen, run::examine)],
        "order" => search::trials(specimen, "order", name, |specimen| specimen.order.as_ref()),
        "nio" => search::trials(specimen, "nio", name, |specimen| specimen.nio.as_ref()),
        "locate" => vec![locate::trial(specimen, name)],
        "factors" => factors::trials(specimen, name),
        "why" => vec![why::trial(specimen, name)],
        "stress" => vec![trial(name, specimen, stress::examine)],
        _ => vec![trial(name, specimen, measure::examine)],
    }
}

fn trial(name: &str, specimen: &Arc<Specimen>, examine: impl Fn(&Specimen) -> Differences + Send + 'static) -> Trial {
    let specimen = Arc::clone(specimen);
    Trial::test(name, move || in_every_run(None, || examine(&specimen)))
}

fn in_every_run(known_gap: Option<&str>, examine: impl Fn() -> Differences) -> Result<(), Failed> {
    in_runs(known_gap, |runs| runs, examine)
}

/// Examines as often as `UNFLAKE_SPECIMEN_RUNS` says, and fails unless the required number of runs
/// is as expected. Differences that are due to a known gap are printed only.
fn in_runs(
    known_gap: Option<&str>,
    required: fn(usize) -> usize,
    examine: impl Fn() -> Differences,
) -> Result<(), Failed> {
    let runs = std::env::var("UNFLAKE_SPECIMEN_RUNS").map_or(1, |runs| runs.parse().expect("a number of runs"));
    let (mut good, mut different) = (0, BTreeSet::new());
    for _ in 0..runs {
        let differences = examine();
        good += usize::from(differences.is_empty());
        different.extend(differences);
    }
    if good >= required(runs) {
        return Ok(());
    }
    let list: String = different.iter().map(|difference| format!("\n    {difference}")).collect();
    let summary = format!("as expected in {good} of {runs} runs{list}");
    match known_gap {
        Some(gap) => {
            eprintln!("known gap: {gap}; {summary}");
            Ok(())
        }
        None => Err(summary.into()),
    }
}

impl Specimen {
    /// A sandbox with the specimen, built.
    fn sandbox(&self) -> Sandbox {
        Sandbox::copy_of(&built(&self.path, &self.build))
    }

    /// The test command.
    fn command(&self) -> Vec<String> {
        command_line(&self.args)
    }
}

fn command_line(args: &[String]) -> Vec<String> {
    let words = args.iter().flat_map(|word| match word.as_str() {
        "pytest" => pytest().map(str::to_owned).to_vec(),
        _ => vec![word.clone()],
    });
    words.collect()
}

fn set_text(lines: impl Iterator<Item = String>) -> String {
    format!("{:?}", lines.collect::<BTreeSet<_>>())
}
