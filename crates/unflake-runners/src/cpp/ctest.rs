//! CTest: a list of commands, each a test. Those that need what only CTest can give them are run through it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use regex_lite::Regex;
use serde::Deserialize;
use serde_json::Value;
use unflake_protocol::{Failed, Outcome};

use crate::cargo::libtest;
use crate::cpp::gtest_output;
use crate::driver::orders::Workshop;
use crate::driver::suite::{self, Alone, CannotList, Case, End, How, Judged, Listener, Program, Start, Suite, failed};
use crate::process::sanitizers;

/// Properties that change nothing in how a test runs by itself.
const HARMLESS: [&str; 7] =
    ["LABELS", "COST", "MEASUREMENT", "PROCESSORS", "PROCESSOR_AFFINITY", "_BACKTRACE_TRIPLES", "DEPENDS"];
/// Options of CTest about which tests run next to each other, how often, and what is printed.
const ABOUT_RUNNING: [(&str, bool); 18] = [
    ("-V", false),
    ("--verbose", false),
    ("-VV", false),
    ("--extra-verbose", false),
    ("--debug", false),
    ("--output-on-failure", false),
    ("--progress", false),
    ("-Q", false),
    ("--quiet", false),
    ("--stop-on-failure", false),
    ("--output-junit", true),
    ("--output-log", true),
    ("-O", true),
    ("--repeat", true),
    ("--repeat-until-fail", true),
    ("--schedule-random", false),
    ("--timeout", true),
    ("--no-tests", false),
];

#[derive(Deserialize)]
struct Listing {
    tests: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    name: String,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    properties: Vec<Property>,
}

#[derive(Deserialize)]
struct Property {
    name: String,
    value: Value,
}

pub(crate) fn list(command: &[String], workshop: &Workshop<'_>) -> Result<Suite, CannotList> {
    let (choosing, mut at_once) = wishes(&command[1..]);
    let parallel = std::env::var("CTEST_PARALLEL_LEVEL").ok().and_then(|number| number.parse().ok());
    let mut ctest = Command::new(&command[0]);
    ctest.arg("--show-only=json-v1").args(&choosing).stdin(Stdio::null());
    suite::set(&mut ctest, workshop.world);
    let output = ctest.output();
    let output = output.map_err(|error| CannotList::usage(format!("`{}` cannot be started: {error}", command[0])))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(CannotList::usage(format!("ctest does not list its tests:\n{}", said.trim())));
    }
    let listing: Listing = serde_json::from_slice(&output.stdout).map_err(|error| {
        CannotList::usage(format!("what ctest lists is not understood ({error}); unflake needs CTest 3.14 or later"))
    })?;
    let mut suite = Suite { root: workshop.here.clone(), ..Suite::default() };
    let mut alone_wanted = false;
    for listed in listing.tests {
        let serial =
            |one: &Property| ["RUN_SERIAL", "RESOURCE_LOCK", "RESOURCE_GROUPS", "DEPENDS"].contains(&&*one.name);
        alone_wanted |= listed.properties.iter().any(serial);
        let name = listed.name.clone();
        let mut plain = vec![command[0].clone()];
        plain.extend(directory_words(&choosing));
        plain.extend(["--output-on-failure".to_owned(), "-R".to_owned(), format!("^{}$", escaped(&name))]);
        let skipped = listed.flag("DISABLED").then(|| "disabled".to_owned());
        let program = Arc::new(Test::of(listed, &plain));
        suite.cases.push(Case {
            id: name.clone(),
            name,
            program,
            crowd: None,
            file: None,
            line: None,
            command: plain,
            skipped,
        });
    }
    // CTest runs one test at a time unless it is told otherwise, and its users rely on it.
    at_once = at_once.or(parallel).or(Some(1));
    if alone_wanted && at_once != Some(1) {
        at_once = Some(1);
        suite.notes.push("tests run one at a time: some of them lock resources or depend on others".to_owned());
    }
    suite.at_once = at_once;
    Ok(suite)
}

/// The words that choose tests, and how many may run at once.
fn wishes(words: &[String]) -> (Vec<String>, Option<u32>) {
    let mut choosing = Vec::new();
    let mut at_once = None;
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        if matches!(name, "-j" | "--parallel") {
            let follows = rest.next_if(|next| next.parse::<u32>().is_ok());
            let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
            at_once = value.or(follows.map(String::as_str)).and_then(|number| number.parse().ok()).or(Some(cores));
        } else if let Some(number) = word.strip_prefix("-j").and_then(|number| number.parse().ok()) {
            at_once = Some(number);
        } else if let Some((_, takes_value)) = ABOUT_RUNNING.iter().find(|(known, _)| *known == name) {
            if *takes_value && value.is_none() {
                rest.next();
            }
        } else {
            choosing.push(word.clone());
        }
    }
    (choosing, at_once)
}

/// The words that say where the tests are.
fn directory_words(words: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let name = word.split('=').next().unwrap_or(word);
        if ["--test-dir", "-C", "--build-config", "--preset"].contains(&name) {
            kept.push(word.clone());
            if name == word {
                kept.extend(rest.next().cloned());
            }
        }
    }
    kept
}

fn escaped(name: &str) -> String {
    let special = |character: char| r"\^$.[]|()*+?".contains(character);
    name.chars().flat_map(|one| special(one).then_some('\\').into_iter().chain([one])).collect()
}

impl Listed {
    fn property(&self, name: &str) -> Option<&Value> {
        self.properties.iter().find(|one| one.name == name).map(|one| &one.value)
    }

    fn flag(&self, name: &str) -> bool {
        self.property(name).is_some_and(|value| value.as_bool().unwrap_or(false))
    }

    fn texts(&self, name: &str) -> Vec<String> {
        match self.property(name) {
            Some(Value::Array(values)) => values.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect(),
            Some(Value::String(text)) => vec![text.clone()],
            _ => Vec::new(),
        }
    }
}

/// One test of CTest.
struct Test {
    start: Start,
    rules: Option<Arc<Rules>>,
}

/// How CTest reads the end of a test that we start ourselves.
#[derive(Default)]
struct Rules {
    will_fail: bool,
    skip_code: Option<i32>,
    skip: Vec<Regex>,
    pass: Vec<Regex>,
    fail: Vec<Regex>,
}

impl Test {
    fn of(listed: Listed, through_ctest: &[String]) -> Self {
        match Self::direct(&listed) {
            Some(direct) => direct,
            None => {
                Self { start: Start { words: through_ctest.to_vec(), merged: true, ..Start::default() }, rules: None }
            }
        }
    }

    /// None where a property asks for something that CTest itself has to see to.
    fn direct(listed: &Listed) -> Option<Self> {
        if listed.command.is_empty() {
            return None;
        }
        let mut rules = Rules::default();
        let mut start = Start { words: listed.command.clone(), merged: true, ..Start::default() };
        let patterns = |name: &str| listed.texts(name).iter().map(|text| Regex::new(text).ok()).collect::<Option<_>>();
        for property in &listed.properties {
            match property.name.as_str() {
                "WORKING_DIRECTORY" => start.directory = property.value.as_str().map(PathBuf::from),
                "ENVIRONMENT" => start.variables = variables(&listed.texts("ENVIRONMENT")),
                "TIMEOUT" => start.limit = property.value.as_f64().map(Duration::from_secs_f64),
                "WILL_FAIL" => rules.will_fail = listed.flag("WILL_FAIL"),
                "SKIP_RETURN_CODE" => rules.skip_code = property.value.as_i64().map(|code| code as i32),
                "SKIP_REGULAR_EXPRESSION" => rules.skip = patterns("SKIP_REGULAR_EXPRESSION")?,
                "PASS_REGULAR_EXPRESSION" => rules.pass = patterns("PASS_REGULAR_EXPRESSION")?,
                "FAIL_REGULAR_EXPRESSION" => rules.fail = patterns("FAIL_REGULAR_EXPRESSION")?,
                "DISABLED" | "RUN_SERIAL" | "RESOURCE_LOCK" => {}
                other if HARMLESS.contains(&other) => {}
                _ => return None,
            }
        }
        Some(Self { start, rules: Some(Arc::new(rules)) })
    }
}

fn variables(assignments: &[String]) -> BTreeMap<String, Option<String>> {
    let split = |text: &String| text.split_once('=').map(|(name, value)| (name.to_owned(), Some(value.to_owned())));
    assignments.iter().filter_map(split).collect()
}

impl Program for Test {
    fn start(&self, _cases: &[&Case], _jobs: u32) -> Result<Start, String> {
        Ok(self.start.clone())
    }

    fn listener(&self, _cases: &[&Case]) -> Box<dyn Listener> {
        let rules = self.rules.clone();
        Box::new(Alone::new(move |end: &End| match &rules {
            Some(rules) => rules.judge(end),
            None => through_ctest(end),
        }))
    }
}

impl Rules {
    fn judge(&self, end: &End) -> Judged {
        let said = &end.stdout;
        let skips =
            matching(&self.skip, said).is_some() || self.skip_code.is_some_and(|code| end.how == How::Exit(code));
        if skips {
            return Judged::new(Outcome::Skipped, end.seconds).failed(failed("Skipped", "skipped"));
        }
        let crashed = matches!(end.how, How::Signal(_)) || sanitizers::report(said).is_some();
        let found_bad = matching(&self.fail, said);
        let good = match (&self.pass[..], found_bad) {
            (_, Some(_)) => false,
            ([], None) => end.how == How::Exit(0),
            (pass, None) => matching(pass, said).is_some(),
        };
        // CTest turns a failure into a pass, but not a death by a signal.
        let turned = self.will_fail && !matches!(end.how, How::Signal(_));
        if good != self.will_fail && (turned || !crashed) {
            return Judged::new(Outcome::Passed, end.seconds);
        }
        if crashed {
            return Judged::crashed(end.how, end.seconds, sanitizers::report(said), said.trim())
                .said(said.as_str(), "");
        }
        let message = match (found_bad, self.will_fail) {
            (_, true) => Some("it was expected to fail, and did not".to_owned()),
            (Some(pattern), _) => Some(format!("its output matches FAIL_REGULAR_EXPRESSION {pattern}")),
            (None, _) if !self.pass.is_empty() => Some("its output does not match PASS_REGULAR_EXPRESSION".to_owned()),
            _ => None,
        };
        let failure = match message {
            Some(message) => Failed { trace: said.trim().to_owned(), ..failed("Failed", &message) },
            None if said.contains("[ RUN      ]") => {
                let said = own_part(said);
                let judged = Judged::new(Outcome::Failed, end.seconds).failed(gtest_output::failure_in(said));
                return judged.said(gtest_output::before_failure(said), "");
            }
            None => return libtest::judge_program(end),
        };
        Judged::new(Outcome::Failed, end.seconds).failed(failure).said(said.as_str(), "")
    }
}

fn matching<'a>(patterns: &'a [Regex], said: &str) -> Option<&'a str> {
    patterns.iter().find(|pattern| pattern.is_match(said)).map(Regex::as_str)
}

/// What a GoogleTest program printed between the beginning and the end of its one test.
fn own_part(said: &str) -> &str {
    let from = said.find("[ RUN      ]").map_or(0, |at| at + said[at..].find('\n').map_or(0, |end| end + 1));
    let to = said[from..].find("[  FAILED  ]").map_or(said.len(), |at| from + at);
    &said[from..to]
}

/// Of a test that CTest has run for us.
fn through_ctest(end: &End) -> Judged {
    let said = end.stdout.trim();
    match end.how {
        How::Exit(0) if said.contains("***Skipped") => {
            Judged::new(Outcome::Skipped, end.seconds).failed(failed("Skipped", "skipped"))
        }
        How::Exit(0) if said.contains("tests passed") => Judged::new(Outcome::Passed, end.seconds),
        How::Exit(0) => {
            let message = "ctest ran no test of this name".to_owned();
            Judged::crashed(end.how, end.seconds, Some(message), said)
        }
        how if said.contains("***Exception") => {
            Judged::crashed(how, end.seconds, sanitizers::report(said), said).said(said, "")
        }
        _ => {
            let missing = said.lines().find(|line| line.starts_with("Unable to find executable"));
            let message = missing.unwrap_or("ctest says that it failed");
            let failure = Failed { trace: said.to_owned(), ..failed("Failed", message) };
            Judged::new(Outcome::Failed, end.seconds).failed(failure).said(said, "")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(rules: &Rules, how: How, said: &str) -> Outcome {
        rules.judge(&End { how, stdout: said.to_owned(), stderr: String::new(), seconds: 0.0 }).outcome
    }

    #[test]
    fn properties_decide_what_an_end_means() {
        let pattern = |text: &str| vec![Regex::new(text).unwrap()];
        let plain = Rules::default();
        assert_eq!(judged(&plain, How::Exit(0), ""), Outcome::Passed);
        assert_eq!(judged(&plain, How::Exit(3), ""), Outcome::Failed);
        assert_eq!(judged(&plain, How::Signal(11), ""), Outcome::Crashed(How::Signal(11).death()));
        let will_fail = Rules { will_fail: true, ..Rules::default() };
        assert_eq!(judged(&will_fail, How::Exit(3), ""), Outcome::Passed);
        assert_eq!(judged(&will_fail, How::Exit(0), ""), Outcome::Failed);
        assert_eq!(judged(&will_fail, How::Signal(11), ""), Outcome::Crashed(How::Signal(11).death()));
        let pass = Rules { pass: pattern("all good"), ..Rules::default() };
        assert_eq!(judged(&pass, How::Exit(3), "all good"), Outcome::Passed);
        assert_eq!(judged(&pass, How::Exit(0), "hm"), Outcome::Failed);
        let skip = Rules { skip: pattern("\\[  SKIPPED \\]"), skip_code: Some(77), ..Rules::default() };
        assert_eq!(judged(&skip, How::Exit(0), "[  SKIPPED ] A"), Outcome::Skipped);
        assert_eq!(judged(&skip, How::Exit(77), ""), Outcome::Skipped);
        let fail = Rules { fail: pattern("WARNING"), ..Rules::default() };
        assert_eq!(judged(&fail, How::Exit(0), "a WARNING"), Outcome::Failed);
    }

    #[test]
    fn words_that_choose_are_kept() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let (choosing, at_once) = wishes(&words("--test-dir build -j 3 -V -R shop --repeat until-fail:2"));
        assert_eq!((choosing, at_once), (words("--test-dir build -R shop"), Some(3)));
        assert_eq!(wishes(&words("-j8")).1, Some(8));
        assert_eq!(directory_words(&words("--test-dir build -R shop")), words("--test-dir build"));
        assert_eq!(escaped("a.b<int>"), "a\\.b<int>");
    }
}
