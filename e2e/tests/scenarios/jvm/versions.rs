//! Versions of Surefire and JUnit: each combination has the outcomes of plain Maven.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::sync::Mutex;

use e2e::Sandbox;
use serde::Deserialize;

use super::{expected, first_outcomes, surefire_outcomes, turn};

const SPECIMEN: &str = "rerun/java/versions";

#[derive(Deserialize)]
struct Versions {
    cells: Vec<Cell>,
}

/// A combination of versions.
#[derive(Deserialize)]
struct Cell {
    surefire: String,
    framework: String,
    version: String,
    /// How many tests it has.
    tests: usize,
    #[serde(default)]
    quick: bool,
}

impl Cell {
    fn words(&self) -> Vec<String> {
        let Self { surefire, framework, version, .. } = self;
        let sources = match (framework.as_str(), version.starts_with("3.")) {
            ("jupiter", _) => "jupiter",
            (_, true) => "junit3",
            _ => "junit4",
        };
        let words = format!("-B test -P{framework} -Dsurefire={surefire} -Djunit={version} -Dtests={sources}");
        words.split(' ').map(str::to_owned).collect()
    }

    /// What differs from plain Maven.
    fn difference(&self, offline: &[&str]) -> Option<String> {
        let sandbox = Sandbox::specimen(SPECIMEN);
        let printed = sandbox.command("mvn").args(offline).args(self.words()).output().unwrap();
        if !sandbox.project().join("target/surefire-reports").is_dir() {
            return Some(format!("plain Maven ran no tests: {}", String::from_utf8_lossy(&printed.stdout)));
        }
        let plain = surefire_outcomes(&[sandbox.project()]);
        // Surefire 2.22 writes parameter types in braces.
        let named = |test: String| test.replace('{', "(").replace('}', ")");
        let plain: BTreeMap<String, BTreeSet<String>> =
            plain.into_iter().map(|(test, outcomes)| (named(test), outcomes)).collect();
        let result = sandbox.unflake(["run", "--fresh", "0"]).json().args(["--", "mvn"]).args(offline);
        let result = result.args(self.words()).finish();
        if result.list("tests").len() != self.tests {
            return Some(format!(
                "{} instead of {} tests: {}",
                result.list("tests").len(),
                self.tests,
                result.remarks()
            ));
        }
        let found = first_outcomes(&result);
        (found != plain).then(|| format!("unflake {found:?}\n  Maven {plain:?}\n{}", result.remarks()))
    }
}

/// Whether everything is to be tested, and not only what is quick.
pub(super) fn all_wanted() -> bool {
    env::var("UNFLAKE_JAVA_VERSIONS").is_ok_and(|which| which == "all")
}

#[test]
fn each_version_has_the_outcomes_of_plain_maven() {
    let all = all_wanted();
    let offline: &[&str] = if all { &[] } else { &["-o"] };
    let Versions { cells } = expected(SPECIMEN);
    let differences = Mutex::new(Vec::new());
    let cells = Mutex::new(cells.into_iter().filter(|cell| all || cell.quick));
    let next = || cells.lock().unwrap().next();
    let work = || {
        while let Some(cell) = next() {
            let _turn = turn();
            let difference = cell.difference(offline);
            println!(
                "{} with {}: {}",
                cell.surefire,
                cell.version,
                if difference.is_some() { "differs" } else { "same" }
            );
            let name = || format!("Surefire {} with {} {}", cell.surefire, cell.framework, cell.version);
            differences.lock().unwrap().extend(difference.map(|text| format!("{}: {text}", name())));
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let differences = differences.into_inner().unwrap();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
