//! Specimens of leaked state and order dependence: `unflake order` and `unflake nio` must name
//! victim, polluter and state as `[order]` and `[nio]` expect, the commands that they print must
//! show what they claim, and no file of the project may change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use e2e::{Pasted, PrintedCommand};
use libtest_mimic::Trial;
use serde::Deserialize;
use serde_json::Value;

use crate::{Differences, Specimen, in_every_run, set_text};

/// Everything that one of the searches must find.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectedSearch {
    #[serde(default)]
    finding: Vec<ExpectedDependence>,
    /// Why unflake does not find this yet.
    known_gap: Option<String>,
    /// Search for each test of a finding alone, in a test of its own: the whole search would take
    /// long.
    #[serde(default)]
    one_by_one: bool,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedDependence {
    test: String,
    /// That of the search where absent.
    technique: Option<String>,
    kind: String,
    #[serde(default)]
    culprits: Vec<BTreeSet<String>>,
    #[serde(default)]
    cleaners: BTreeSet<String>,
    /// `proven`, `possible`, or `any` where it is random. Absent: there must be no finding about
    /// state.
    state: Option<String>,
    /// Absent: their names differ from run to run.
    cells: Option<BTreeSet<String>>,
    /// The lines that wrote the cells, `file:line`. Absent: they are not checked.
    written: Option<BTreeSet<String>>,
    /// With `one_by_one`: part of the default test run.
    #[serde(default)]
    quick: bool,
}

type Table = fn(&Specimen) -> Option<&ExpectedSearch>;

/// The tests of one search in one specimen.
pub(crate) fn trials(specimen: &Arc<Specimen>, command: &'static str, name: &str, table: Table) -> Vec<Trial> {
    let search = table(specimen).expect("it has this table");
    if !search.one_by_one {
        let (specimen, gap) = (Arc::clone(specimen), search.known_gap.clone());
        let examine = move || {
            let expected = &table(&specimen).expect("it has this table").finding;
            in_every_run(gap.as_deref(), || examine(&specimen, command, &[], expected))
        };
        return vec![Trial::test(name, examine)];
    }
    let trial = |expected: &ExpectedDependence| {
        let (specimen, expected) = (Arc::clone(specimen), [expected.clone()]);
        let short = expected[0].test.rsplit(['#', ':']).next().expect("a name").to_owned();
        let (ignored, test) = (!expected[0].quick, expected[0].test.clone());
        let examine = move || in_every_run(None, || examine(&specimen, command, &[&test], &expected));
        Trial::test(format!("{name}::{short}"), examine).with_ignored_flag(ignored)
    };
    search.finding.iter().map(trial).collect()
}

/// Searches a specimen once.
fn examine(specimen: &Specimen, command: &str, tests: &[&str], expected: &[ExpectedDependence]) -> Differences {
    let sandbox = specimen.sandbox();
    let before = contents(&sandbox.project());
    let search = sandbox.unflake([command]).args(tests).args(["--for", "0"]).json().args(&specimen.options);
    let result = search.arg("--").args(specimen.command()).finish();
    let mut differences = Vec::new();
    let mut check = |what: &str, found: String, expected: String| {
        if found != expected {
            differences.push(format!("{what}: {found} instead of {expected}"));
        }
    };
    // A broken test does not make the search fail.
    let exit = i32::from(expected.iter().any(|finding| finding.kind != "broken"));
    check("exit", result.code.to_string(), exit.to_string());
    check("tests", result.list("tests").len().to_string(), specimen.tests.to_string());
    let findings = result.list("findings");
    let found = findings.iter().filter_map(|finding| found_dependence(finding, expected));
    let found = found.chain(findings.iter().filter_map(|finding| found_writes(finding, expected)));
    check("findings", set_text(found), set_text(expected.iter().flat_map(|finding| finding.summaries(command))));
    check("files", set_text(changes(&before, &contents(&sandbox.project())).into_iter()), "{}".to_owned());
    for command in findings.iter().flat_map(PrintedCommand::all_of) {
        if let Pasted::Wrong(what) = command.paste(&sandbox, &BTreeMap::new()) {
            differences.push(format!("{command}\n{what}"));
        }
    }
    differences
}

impl ExpectedDependence {
    /// One line for each finding that is expected.
    fn summaries(&self, command: &str) -> Vec<String> {
        let Self { test, kind, cleaners, .. } = self;
        let technique = self.technique.as_deref().unwrap_or(command);
        let culprits: BTreeSet<&BTreeSet<String>> = self.culprits.iter().collect();
        let mut lines = vec![format!("{test} {technique} {kind}, culprits {culprits:?}, cleaners {cleaners:?}")];
        if let Some(state) = self.state.as_ref().filter(|state| *state != "any") {
            lines.push(format!("{test} {state} {:?}", self.cells));
            lines.extend(self.written.as_ref().map(|written| format!("{test} written at {written:?}")));
        }
        lines
    }
}

/// The summary of a finding, as `ExpectedDependence::summaries` writes it. None where it does not
/// matter.
fn found_dependence(finding: &Value, expected: &[ExpectedDependence]) -> Option<String> {
    let expected = expected.iter().find(|expected| finding["test"] == expected.test.as_str());
    let word = |name: &str| finding[name].as_str().unwrap_or("none");
    let names = |list: &Value| -> BTreeSet<String> {
        list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let [test, technique, kind] = ["test", "technique", "kind"].map(word);
    if technique == "state" {
        let paths = finding["cells"].as_array().into_iter().flatten().map(|cell| cell["path"].as_str().unwrap());
        // Its number depends on what else is open.
        let paths = paths.map(|path| if path.starts_with("descriptor ") { "descriptor N" } else { path });
        let have_names = expected.is_none_or(|expected| expected.cells.is_some());
        let cells: Option<BTreeSet<&str>> = have_names.then(|| paths.collect());
        let matters = expected.is_none_or(|expected| expected.state.as_deref() != Some("any"));
        return matters.then(|| format!("{test} {kind} {cells:?}"));
    }
    let culprits: BTreeSet<BTreeSet<String>> =
        finding["culprits"].as_array().into_iter().flatten().map(&names).collect();
    Some(format!("{test} {technique} {kind}, culprits {culprits:?}, cleaners {:?}", names(&finding["cleaners"])))
}

/// The lines that wrote the cells of a finding, as `ExpectedDependence::summaries` writes them.
fn found_writes(finding: &Value, expected: &[ExpectedDependence]) -> Option<String> {
    let test = finding["test"].as_str()?;
    expected.iter().find(|expected| expected.test == test && expected.written.is_some())?;
    let sites = finding["cells"].as_array()?.iter().map(|cell| &cell["written"]);
    let line = |site: &Value| Some(format!("{}:{}", site["file"].as_str()?, site["line"].as_u64()?));
    Some(format!("{test} written at {:?}", sites.filter_map(line).collect::<BTreeSet<String>>()))
}

/// The files of a project, without the caches of runners, build output and unflake's own directory.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for path in fs::read_dir(directory).unwrap().flatten().map(|entry| entry.path()) {
        let skipped = [".unflake", ".pytest_cache", "__pycache__", "target", "Cargo.lock"];
        match () {
            () if skipped.iter().any(|name| path.ends_with(name)) => {}
            () if path.is_dir() => found.extend(contents(&path)),
            () => _ = found.insert(path.clone(), fs::read(&path).unwrap()),
        }
    }
    found
}

fn changes(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
    let paths: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    let changed = paths.into_iter().filter(|path| before.get(*path) != after.get(*path));
    changed.filter_map(|path| path.file_name()).map(|name| format!("{} has changed", name.display())).collect()
}
