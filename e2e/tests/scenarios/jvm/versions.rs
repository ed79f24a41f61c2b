//! Versions of Surefire, JUnit and TestNG: each combination has the outcomes of plain Maven.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::sync::Mutex;

use e2e::Sandbox;
use serde::Deserialize;

use super::{expected, first_outcomes, surefire_outcomes, turn};

const SPECIMEN: &str = "rerun/java/versions";

#[derive(Deserialize)]
struct Versions {
    cells: Vec<VersionCombination>,
}

/// A combination of versions.
#[derive(Deserialize)]
struct VersionCombination {
    surefire: String,
    framework: String,
    version: String,
    /// The directory of its tests, where the version does not decide that.
    sources: Option<String>,
    /// How many tests it has.
    tests: usize,
    #[serde(default)]
    quick: bool,
}

impl VersionCombination {
    fn words(&self) -> Vec<String> {
        let Self { surefire, framework, version, .. } = self;
        let sources = match (framework.as_str(), version.starts_with("3.")) {
            _ if self.sources.is_some() => self.sources.as_deref().unwrap_or_default(),
            ("jupiter" | "testng", _) => framework,
            (_, true) => "junit3",
            _ => "junit4",
        };
        let words = format!("-B test -P{framework} -Dsurefire={surefire} -Djunit={version} -Dtests={sources}");
        words.split(' ').map(str::to_owned).collect()
    }

    /// Surefire 2.22 writes parameter types in braces. All versions report each row of a test of TestNG,
    /// which is one test to unflake, and name methods of plain classes with their class or with `()`.
    fn as_named_by_unflake(&self, plain: BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, BTreeSet<String>> {
        let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (test, outcomes) in plain {
            let test = test.replace('{', "(").replace('}', ")");
            let is_row = self.framework == "testng";
            let name = if is_row { test.split('[').next().unwrap_or_default() } else { &test };
            let (class, method) = name.split_once('#').expect("tests have a class");
            let method = method.strip_prefix(&format!("{class}.")).unwrap_or(method);
            let is_plain = self.sources.as_deref() == Some("plain");
            let method = method.strip_suffix("()").filter(|_| is_plain).unwrap_or(method);
            named.entry(format!("{class}#{method}")).or_default().extend(outcomes);
        }
        let failed = |outcomes: &BTreeSet<String>| outcomes.len() > 1 && outcomes.contains("failed");
        if self.framework == "testng" {
            named
                .values_mut()
                .filter(|outcomes| failed(outcomes))
                .for_each(|outcomes| outcomes.retain(|one| one == "failed"));
        }
        named
    }

    /// What differs from plain Maven.
    fn difference(&self, offline: &[&str]) -> Option<String> {
        let sandbox = Sandbox::specimen(SPECIMEN);
        let printed = sandbox.command("mvn").args(offline).args(self.words()).output().unwrap();
        if !sandbox.project().join("target/surefire-reports").is_dir() {
            return Some(format!("plain Maven ran no tests: {}", String::from_utf8_lossy(&printed.stdout)));
        }
        let plain = surefire_outcomes(&[sandbox.project()]);
        let plain = self.as_named_by_unflake(plain);
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

/// The framework of which all versions are to be tested.
fn wanted_framework() -> Option<String> {
    env::var("UNFLAKE_JAVA_VERSIONS").ok().filter(|which| which != "all")
}

#[test]
fn each_version_has_the_outcomes_of_plain_maven() {
    let (all, framework) = (all_wanted(), wanted_framework());
    let is_wanted = |cell: &VersionCombination| match &framework {
        Some(framework) => cell.framework == *framework,
        None => all || cell.quick,
    };
    let offline: &[&str] = if all || framework.is_some() { &[] } else { &["-o"] };
    let Versions { cells } = expected(SPECIMEN);
    let differences = Mutex::new(Vec::new());
    let cells = Mutex::new(cells.into_iter().filter(is_wanted));
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
