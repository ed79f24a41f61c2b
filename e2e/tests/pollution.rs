//! Specimens of tests that pollute, through `unflake nio` and `unflake order`, against what their `specimen.toml` says must be found:
//! who does it to whom, by which state, whether that is proven; and the plain runner shows it again by the command that is told.
//!
//! `UNFLAKE_SPECIMENS=leak UNFLAKE_SPECIMEN_RUNS=20 cargo test -p e2e --test pollution -- --nocapture` runs each twenty times.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use e2e::{Examined, Story, built, in_every_run, python, specimens};
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
    #[serde(default)]
    build: Vec<Vec<String>>,
    tests: usize,
    order: Option<Search>,
    nio: Option<Search>,
    #[serde(skip)]
    built: OnceLock<PathBuf>,
}

/// All that one of the searches must find.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    #[serde(default)]
    finding: Vec<Expected>,
    /// In what way unflake does not find it yet.
    falls_short: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    test: String,
    /// That of the search where absent.
    technique: Option<String>,
    kind: String,
    #[serde(default)]
    culprits: Vec<BTreeSet<String>>,
    #[serde(default)]
    cleaners: BTreeSet<String>,
    /// `proven`, `suspected`, or `any`, where it is left to chance. Absent: nothing may be said of state.
    state: Option<String>,
    /// Absent: they have no names that are the same in every run.
    cells: Option<BTreeSet<String>>,
    /// What the command that is told shows, where that does not follow from the kind; `unknown`: nobody tries.
    repeat: Option<String>,
}

fn pytest() -> Vec<String> {
    vec!["pytest".to_owned()]
}

/// One search in one specimen.
struct Case<'a> {
    specimen: &'a Specimen,
    command: &'static str,
    search: &'a Search,
}

#[test]
fn what_tests_do_to_each_other_is_found_in_every_run() {
    let read = |(name, text): (String, String)| {
        let specimen: Specimen = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(name, specimen.name);
        specimen
    };
    let specimens: Vec<Specimen> = specimens(|name| name.starts_with("leak-")).into_iter().map(read).collect();
    let cases: Vec<Case> = specimens.iter().flat_map(Specimen::cases).collect();
    let name = |case: &Case| format!("{} {}", case.specimen.name, case.command);
    in_every_run(&cases, name, |case| match (examine(case), &case.search.falls_short) {
        (wrong, None) => Examined { wrong, short: Vec::new() },
        (short, Some(why)) if !short.is_empty() => {
            Examined { wrong: Vec::new(), short: [vec![format!("falls short: {why}")], short].concat() }
        }
        _ => Examined::default(),
    });
}

impl Specimen {
    fn cases(&self) -> impl Iterator<Item = Case<'_>> {
        let searches = [("order", &self.order), ("nio", &self.nio)].into_iter();
        searches.filter_map(|(command, search)| Some(Case { specimen: self, command, search: search.as_ref()? }))
    }
}

/// Searches a specimen once and says in what way it is not as expected.
fn examine(case: &Case) -> Vec<String> {
    let Case { specimen, command, search } = case;
    let story = Story::copy_of(specimen.built.get_or_init(|| built(&specimen.name, &specimen.build)));
    let before = contents(&story.project());
    let runner = [python().to_str().unwrap(), "-m", "pytest"];
    let words = specimen.args.iter().flat_map(|word| match word.as_str() {
        "pytest" => runner.to_vec(),
        other => vec![other],
    });
    let found = story.place().join("found.json");
    let call = story.unflake([command, "--json"]).arg(found).args(&specimen.options).arg("--").args(words);
    let ran = call.end();
    let mut differences = Vec::new();
    let mut check = |what: &str, found: String, expected: String| {
        if found != expected {
            differences.push(format!("{what}: {found} instead of {expected}"));
        }
    };
    // What fails always is no matter of a search.
    let exit = i32::from(search.finding.iter().any(|finding| finding.kind != "broken"));
    check("exit", ran.code.to_string(), exit.to_string());
    check("tests", ran.list("tests").len().to_string(), specimen.tests.to_string());
    let findings = ran.list("findings");
    let told = findings.iter().filter_map(|finding| in_brief(finding, search));
    check("findings", brief(told), brief(search.finding.iter().flat_map(|finding| finding.in_brief(command))));
    check("files", brief(changes(&before, &contents(&story.project())).into_iter()), "{}".to_owned());
    for expected in search.finding.iter().filter(|expected| expected.repeat.as_deref() != Some("unknown")) {
        let told = findings.iter().filter(|finding| finding["test"] == expected.test.as_str());
        let commands: BTreeSet<&str> = told.filter_map(|finding| finding["repeat"].as_str()).collect();
        for repeat in commands {
            let (shown, wanted) = (shown_by(&story, repeat, &expected.test), expected.shown(command));
            check(repeat, shown, wanted.to_owned());
        }
    }
    differences
}

/// What comes of the test when somebody pastes the command into a shell.
fn shown_by(story: &Story, repeat: &str, test: &str) -> String {
    // Against hanging only.
    let ran = story.command("timeout").args(["100", "sh", "-c", repeat]).output().expect("there is a shell");
    let said = String::from_utf8_lossy(&ran.stdout);
    let fails = said.lines().any(|line| {
        let name = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR "));
        name.is_some_and(|name| name == test || name.starts_with(&format!("{test} - ")))
    });
    match (ran.status.code(), fails) {
        (Some(1), true) => "it fails".to_owned(),
        (Some(0), false) => "it passes".to_owned(),
        (Some(129..), _) => "the runner dies".to_owned(),
        (code, _) => format!("exit {code:?}, and it {}", if fails { "fails" } else { "does not fail" }),
    }
}

impl Expected {
    /// A line for each finding that it stands for.
    fn in_brief(&self, command: &str) -> Vec<String> {
        let Self { test, kind, cleaners, .. } = self;
        let technique = self.technique.as_deref().unwrap_or(command);
        let culprits: BTreeSet<&BTreeSet<String>> = self.culprits.iter().collect();
        let mut lines = vec![format!("{test} {technique} {kind}, culprits {culprits:?}, cleaners {cleaners:?}")];
        if let Some(state) = self.state.as_ref().filter(|state| *state != "any") {
            lines.push(format!("{test} {state} {:?}", self.cells));
        }
        lines
    }

    /// What the told command shows: the smallest order in which a victim fails, or a brittle test passes.
    fn shown(&self, command: &str) -> &str {
        let by_kind = if (command, self.kind.as_str()) == ("order", "brittle") { "it passes" } else { "it fails" };
        self.repeat.as_deref().unwrap_or(by_kind)
    }
}

/// A line such as the expectation gives, or none where it does not matter.
fn in_brief(finding: &Value, search: &Search) -> Option<String> {
    let expected = search.finding.iter().find(|expected| finding["test"] == expected.test.as_str());
    let word = |name: &str| finding[name].as_str().unwrap_or("none");
    let names = |list: &Value| -> BTreeSet<String> {
        list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let [test, technique, kind] = ["test", "technique", "kind"].map(word);
    if technique == "state" {
        let paths = finding["cells"].as_array().into_iter().flatten().map(|cell| cell["path"].as_str().unwrap());
        let have_names = expected.is_none_or(|expected| expected.cells.is_some());
        let cells: Option<BTreeSet<&str>> = have_names.then(|| paths.collect());
        let matters = expected.is_none_or(|expected| expected.state.as_deref() != Some("any"));
        return matters.then(|| format!("{test} {kind} {cells:?}"));
    }
    let culprits: BTreeSet<BTreeSet<String>> =
        finding["culprits"].as_array().into_iter().flatten().map(&names).collect();
    Some(format!("{test} {technique} {kind}, culprits {culprits:?}, cleaners {:?}", names(&finding["cleaners"])))
}

fn brief(lines: impl Iterator<Item = String>) -> String {
    format!("{:?}", lines.collect::<BTreeSet<_>>())
}

/// The files of a project, without what runners and unflake keep there.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for path in fs::read_dir(directory).unwrap().flatten().map(|entry| entry.path()) {
        let is_kept = [".unflake", ".pytest_cache", "__pycache__"].iter().any(|name| path.ends_with(name));
        match () {
            () if is_kept => {}
            () if path.is_dir() => found.extend(contents(&path)),
            () => _ = found.insert(path.clone(), fs::read(&path).unwrap()),
        }
    }
    found
}

fn changes(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
    let paths: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    let changed = paths.into_iter().filter(|path| before.get(*path) != after.get(*path));
    changed.filter_map(|path| path.file_name()).map(|name| format!("{} is changed", name.display())).collect()
}
