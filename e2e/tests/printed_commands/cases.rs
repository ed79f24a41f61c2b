//! Which technique runs on which specimen.

use std::collections::BTreeMap;
use std::fs;

use e2e::{RunOutput, Sandbox, built, pytest, repository, specimen_paths};
use serde::Deserialize;
use toml::Table;

/// One technique on one specimen.
pub(crate) struct Case {
    pub(crate) name: String,
    /// Part of the default test run.
    pub(crate) is_quick: bool,
    /// Whether there must be a finding with a command.
    pub(crate) prints_commands: bool,
    /// Why unflake does not find the truth yet. Its commands may be wrong then.
    pub(crate) known_gap: Option<String>,
    /// The path of the specimen below `specimens/`.
    path: String,
    build: Vec<Vec<String>>,
    /// The unflake command with its options.
    technique: Vec<String>,
    /// The test command.
    command: Vec<String>,
    /// Environment variables; `{project}` stands for the project directory.
    env: BTreeMap<String, String>,
}

/// Each runner and each technique once.
const QUICK: [&str; 13] = [
    "rerun::python::real_bug",
    "rerun::python::polluted_cache",
    "rerun::python::hang",
    "rerun::rust::real_bug",
    "rerun::rust::leaked_environment_variable::run",
    "rerun::rust::leaked_environment_variable::order",
    "rerun::cpp::real_bug",
    "order::python::brittle::order",
    "order::python::brittle::nio",
    "order::python::two_polluters_together::order",
    "leaked_state::java::kinds_of_state",
    "environment::python::hash_seed::factors",
    "environment::python::environment_variable",
];

/// Runners that no specimen of its own has: name, specimen, technique, test command, and whether it
/// is part of the default test run.
const OTHER_RUNNERS: [(&str, &str, &str, &str, bool); 11] = [
    ("ctest::run", "rerun/cpp/real_bug", "run", "ctest --test-dir build", true),
    ("maven::run", "rerun/java/maven_modules", "run", "mvn -o -B test -pl forms", true),
    ("maven::flaky_run", "rerun/java/maven_modules", "run", "mvn -o -B test -pl thesis", false),
    ("maven::order", "rerun/java/maven_modules", "order --for 0", "mvn -o -B test -pl thesis", true),
    ("maven::nio", "rerun/java/maven_modules", "nio --for 0", "mvn -o -B test -pl idempotence", false),
    (
        "maven::factors",
        "environment/java/leap_day_and_time_zone",
        "factors beganWithTheEpoch --factor time-zone --for 0",
        "mvn -o -B test",
        true,
    ),
    ("gradle::run", "rerun/java/class_path", "run", "gradle --offline test", true),
    ("gradle::nio", "rerun/java/class_path", "nio --for 0", "gradle --offline test", true),
    (
        "class_path::run",
        "rerun/java/class_path",
        "run --classpath-file class-path.txt --test-classes out/test",
        "./build.sh",
        false,
    ),
    (
        "class_path::nio",
        "rerun/java/class_path",
        "nio --for 0 --classpath-file class-path.txt --test-classes out/test",
        "./build.sh",
        false,
    ),
    (
        "class_path::factors",
        "environment/java/leap_day_and_time_zone",
        "factors beganWithTheEpoch --factor time-zone --for 0 --classpath-file class-path.txt --test-classes out/test",
        "./build.sh",
        true,
    ),
];

/// The part of a `specimen.toml` that matters here.
#[derive(Deserialize)]
struct PrintingSpecimen {
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    build: Vec<Vec<String>>,
    scenario: Option<String>,
    run: Option<Table>,
    order: Option<Table>,
    nio: Option<Table>,
    locate: Option<Table>,
    factors: Option<Table>,
    measure: Option<Table>,
    stress: Option<Table>,
    why: Option<Table>,
}

pub(crate) fn all() -> Vec<Case> {
    let specimens = specimen_paths().into_iter().filter(|path| !path.starts_with("change_impact/"));
    let cases: Vec<Case> = specimens.flat_map(|path| cases_of(&path)).chain(other_runners()).collect();
    let is_missing = |name: &&&str| !cases.iter().any(|case| case.name == **name);
    assert_eq!(QUICK.iter().find(is_missing), None, "no case has this name");
    cases
}

fn read(path: &str) -> PrintingSpecimen {
    let file = repository().join("specimens").join(path).join("specimen.toml");
    toml::from_str(&fs::read_to_string(file).unwrap()).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn text(table: &Table, key: &str) -> String {
    table.get(key).and_then(|value| value.as_str()).unwrap_or_default().to_owned()
}

/// A case for each command that the specimen has a table for.
fn cases_of(path: &str) -> Vec<Case> {
    let specimen = read(path);
    if specimen.scenario.is_some() {
        return Vec::new();
    }
    let tables = [
        ("run", &specimen.run),
        ("order", &specimen.order),
        ("nio", &specimen.nio),
        ("locate", &specimen.locate),
        ("factors", &specimen.factors),
        ("measure", &specimen.measure),
        ("stress", &specimen.stress),
        ("why", &specimen.why),
    ];
    let tables: Vec<(&str, &Table)> =
        tables.into_iter().filter_map(|(command, table)| Some((command, table.as_ref()?))).collect();
    let case = |(command, table): &(&str, &Table)| {
        let short = path.replace('/', "::");
        let name = if tables.len() == 1 { short } else { format!("{short}::{command}") };
        Case {
            is_quick: QUICK.contains(&name.as_str()),
            prints_commands: prints_commands(command, table),
            known_gap: table.get("known_gap").map(|_| text(table, "known_gap")),
            name,
            path: path.to_owned(),
            build: specimen.build.clone(),
            technique: technique(command, table).into_iter().chain(specimen.options.iter().cloned()).collect(),
            command: if specimen.args.is_empty() { words("pytest") } else { specimen.args.clone() },
            env: table.get("env").map_or(BTreeMap::new(), |env| env.clone().try_into().expect("a table of texts")),
        }
    };
    tables.iter().filter(|(_, table)| !table.contains_key("interpreters")).map(case).collect()
}

/// The unflake command that makes the findings of this table.
fn technique(command: &str, table: &Table) -> Vec<String> {
    let mut words = vec![command.to_owned()];
    match command {
        "locate" | "why" => words.push(text(table, "test")),
        // Copies that share everything.
        "stress" => words.extend(["--for=1h", "--max-runs=5", "--jobs=4", "--private=none"].map(str::to_owned)),
        "factors" => {
            words.push(text(table, "test"));
            let kinds = text(table, "kind");
            let kinds = if kinds == "none" { "hash-seed" } else { &kinds };
            words.extend(kinds.split('+').map(|kind| format!("--factor={kind}")));
        }
        "order" | "nio" if table.contains_key("one_by_one") => words.extend(quick_findings(table)),
        "measure" => words.push("--runs=5".to_owned()),
        _ => {}
    }
    if !matches!(command, "run" | "why" | "stress") {
        words.push("--for=0".to_owned());
    }
    words
}

/// The tests of the findings that are quick to make.
fn quick_findings(table: &Table) -> Vec<String> {
    let findings = table.get("finding").and_then(|findings| findings.as_array()).into_iter().flatten();
    let findings = findings.filter_map(|finding| finding.as_table());
    findings.filter(|finding| finding.contains_key("quick")).map(|finding| text(finding, "test")).collect()
}

/// Whether there must be a finding with a command. Not where chance decides.
fn prints_commands(command: &str, table: &Table) -> bool {
    match command {
        "run" | "order" | "nio" => table.contains_key("finding") && !table.contains_key("known_gap"),
        "factors" => text(table, "kind") != "none" && !table.contains_key("needs_route"),
        "why" => true,
        _ => false,
    }
}

fn other_runners() -> impl Iterator<Item = Case> {
    let home = std::env::home_dir().expect("the user has a home").join(".m2/repository");
    OTHER_RUNNERS.into_iter().map(move |(name, path, technique, command, is_quick)| Case {
        name: name.to_owned(),
        is_quick,
        prints_commands: true,
        known_gap: None,
        path: path.to_owned(),
        build: read(path).build,
        technique: words(technique),
        command: words(command),
        // The home of the sandbox has no Maven repository.
        env: BTreeMap::from([("REPOSITORY".to_owned(), home.display().to_string())]),
    })
}

impl Case {
    pub(crate) fn sandbox(&self) -> Sandbox {
        Sandbox::copy_of(&built(&self.path, &self.build))
    }

    /// The environment variables of the technique and of the commands that it prints.
    pub(crate) fn variables(&self, sandbox: &Sandbox) -> BTreeMap<String, String> {
        let project = sandbox.project().display().to_string();
        self.env.iter().map(|(name, value)| (name.clone(), value.replace("{project}", &project))).collect()
    }

    /// Runs the technique.
    pub(crate) fn run(&self, sandbox: &Sandbox) -> RunOutput {
        let command = self.command.iter().flat_map(|word| match word.as_str() {
            "pytest" => pytest().map(str::to_owned).to_vec(),
            _ => vec![word.clone()],
        });
        let invocation = sandbox.unflake(&self.technique).json().arg("--").args(command);
        let variables = self.variables(sandbox);
        variables.iter().fold(invocation, |invocation, (name, value)| invocation.env(name, value)).finish()
    }
}
