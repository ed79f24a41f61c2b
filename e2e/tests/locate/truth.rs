//! What is true of a specimen that fails by chance, and how an answer is judged by it.

use std::fs;
use std::path::Path;

use e2e::repository;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Specimen {
    pub(crate) name: String,
    #[serde(rename = "description")]
    _description: String,
    #[serde(rename = "flaw")]
    _flaw: String,
    #[serde(rename = "source")]
    _source: String,
    #[serde(default = "pytest")]
    pub(crate) args: Vec<String>,
    #[serde(default)]
    pub(crate) options: Vec<String>,
    #[serde(default)]
    pub(crate) build: Vec<Vec<String>>,
    pub(crate) tests: usize,
    pub(crate) locate: Truth,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Truth {
    pub(crate) test: String,
    pub(crate) category: String,
    #[serde(default)]
    pub(crate) also: Vec<Also>,
    /// The true cause, in a sentence.
    pub(crate) cause: String,
    /// Why copies of one process all come to the same outcome; absent where they do not.
    pub(crate) fresh: Option<String>,
    /// Among those that are run unless others are asked for.
    #[serde(default)]
    pub(crate) quick: bool,
    pub(crate) falls_short: Option<String>,
    pub(crate) share: Share,
    /// Where it starts, and a fix would go.
    pub(crate) exact: Vec<True>,
    /// The same, of another cause that fails the test independently.
    #[serde(default)]
    pub(crate) second: Vec<True>,
    /// What has to do with it, while a fix would go elsewhere.
    #[serde(default)]
    pub(crate) relevant: Vec<True>,
    /// What differs from run to run and does not matter.
    #[serde(default)]
    pub(crate) herring: Vec<True>,
}

/// Another category that may be named.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Also {
    pub(crate) category: String,
    pub(crate) because: String,
}

/// How often it failed in the plain runner, in processes of its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Share {
    pub(crate) failed: u32,
    pub(crate) of: u32,
}

/// A line, and what stands there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct True {
    /// `file:line`, relative to the specimen.
    pub(crate) at: String,
    pub(crate) text: String,
}

fn pytest() -> Vec<String> {
    vec!["pytest".to_owned()]
}

/// All of them, in alphabetical order.
pub(crate) fn specimens() -> Vec<Specimen> {
    let entries = fs::read_dir(repository().join("specimens")).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("locate-")).collect();
    names.sort();
    let read = |name: &String| {
        let text = fs::read_to_string(repository().join("specimens").join(name).join("specimen.toml")).unwrap();
        let specimen: Specimen = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(*name, specimen.name);
        specimen
    };
    names.iter().map(read).collect()
}

impl Truth {
    pub(crate) fn lines(&self) -> impl Iterator<Item = &True> {
        [&self.exact, &self.second, &self.relevant, &self.herring].into_iter().flatten()
    }

    /// In what way a finding is not what is true.
    pub(crate) fn differences(&self, finding: &Value) -> Vec<String> {
        let mut differences = Vec::new();
        let places = places(finding);
        match places.first() {
            None => differences.push("no line is named".to_owned()),
            // That may be true, and is no answer.
            Some(first) if only_shows(finding) => {
                differences.push(format!("nothing differs before {first}, where it fails"))
            }
            Some(first) => match self.judge(first) {
                "exact" | "relevant" => {}
                verdict => differences.push(format!("{first} is {verdict}: {}", self.cause)),
            },
        }
        if !self.second.is_empty() && !places.iter().any(|place| named(&self.second, place)) {
            differences.push("the second cause is not told".to_owned());
        }
        let kind = finding["kind"].as_str().unwrap_or_default();
        if kind != self.category && self.also.iter().all(|also| also.category != kind) {
            differences.push(format!("the cause is told to be {kind} instead of {}", self.category));
        }
        differences
    }

    /// The words of the paper, but for what leads astray.
    fn judge(&self, place: &str) -> &'static str {
        let verdicts = [
            (&self.exact, "exact"),
            (&self.second, "exact"),
            (&self.relevant, "relevant"),
            (&self.herring, "a red herring"),
        ];
        verdicts.into_iter().find(|(lines, _)| named(lines, place)).map_or("not true", |(_, verdict)| verdict)
    }
}

impl True {
    /// What stands at this line of the specimen now.
    pub(crate) fn there(&self, specimen: &Path) -> Option<String> {
        let (file, line) = self.at.rsplit_once(':')?;
        let text = fs::read_to_string(specimen.join(file)).ok()?;
        Some(text.lines().nth(line.parse::<usize>().ok()?.checked_sub(1)?)?.trim().to_owned())
    }
}

fn named(lines: &[True], place: &str) -> bool {
    lines.iter().any(|line| line.at == place)
}

/// The lines that a finding names, likeliest first.
fn places(finding: &Value) -> Vec<String> {
    let told = |location: &Value| Some(format!("{}:{}", location["file"].as_str()?, location["line"]));
    finding["locations"].as_array().into_iter().flatten().filter_map(told).collect()
}

/// Whether no more is said than where it fails, and that nothing differs before.
fn only_shows(finding: &Value) -> bool {
    let (first, shows) = (&finding["locations"][0], &finding["shows"]);
    first["chance"].as_f64() >= Some(1.0) && first["file"] == shows["file"] && first["line"] == shows["line"]
}
