//! GoogleTest programs: several tests in one process, in the order of the program.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde::Deserialize;

use crate::cpp::gtest_flags::{GtestFlags, SHARDS, our_variables};
use crate::cpp::gtest_output::GtestListener;
use crate::cpp::{self, traced_build};
use crate::driver::list_context::ListContext;
use crate::driver::program::{OutputListener, Program};
use crate::driver::suite::{ListError, ListedSuite, TestCase};
use crate::process::bounded_text::BoundedText;
use crate::process::files::{file_contains, find_program};
use crate::process::spec::{ProcessSpec, apply_env};
use crate::runner::{AgentEntry, Capabilities, Driver, Profile, ReplayedSession, Runner, Texts};

/// One argument may have 128 KiB; longer filters go into a file.
const LONGEST_FILTER: usize = 60_000;
const OUTPUT: usize = 64 << 10;
const FILTER: &str = "--gtest_filter=";
const REPEAT: &str = "--gtest_repeat=";
const WITHOUT_SHARDS: [&str; 3] = ["env", "-u", SHARDS[0]];

/// A GoogleTest program that the user's command starts directly.
pub(crate) struct GoogleTest;

static PROFILE: Profile = Profile {
    name: "GoogleTest",
    capabilities: Capabilities {
        fork: true,
        trace: true,
        own_order: true,
        repeat_in_process: true,
        ..Capabilities::NONE
    },
    texts: Texts { starts_by: Some("a GoogleTest program"), ..Texts::NONE },
    ..cpp::PROFILE
};

impl Runner for GoogleTest {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn entry(&self) -> AgentEntry {
        AgentEntry::Driven(Driver { list })
    }

    fn recognizes(&self, command: &[String]) -> bool {
        let program = command.first().and_then(|program| find_program(program));
        program.is_some_and(|path| file_contains(&path, &[b"gtest_list_tests", b"libgtest.so"]))
    }

    fn reproduce(&self, session: &ReplayedSession<'_>) -> Option<Vec<String>> {
        reproduce(session)
    }
}

/// The command for one test, for several in the order of the program, or for repetitions of one.
fn reproduce(session: &ReplayedSession<'_>) -> Option<Vec<String>> {
    let (Some(alone), [first, _, ..]) = (session.alone, session.tests) else { return session.default_command() };
    if session.at_once > 1 {
        return None;
    }
    let filter = alone.iter().rposition(|word| word.starts_with(FILTER))?;
    let mut words = alone.to_vec();
    if session.tests.iter().all(|test| test == first) {
        words.push(format!("{REPEAT}{}", session.tests.len()));
        return Some(words);
    }
    let (program, _) = first.split_once(' ')?;
    let name_in_program = |id: &&str| id.strip_prefix(program)?.strip_prefix(' ').map(str::to_owned);
    let names = session.tests.iter().map(name_in_program).collect::<Option<Vec<_>>>()?;
    words[filter] = format!("{FILTER}{}", names.join(":"));
    session.in_listed_order.then_some(words)
}

fn list(context: &ListContext<'_>) -> Result<ListedSuite, ListError> {
    let command = context.command;
    // Ids, listing and printed commands are those of the user's program.
    let path = match context.tracing {
        Some(recorder) => {
            let traced = traced_build::program(Path::new(&command[0]), &recorder.runtime, context.env_changes)?;
            traced.to_string_lossy().into_owned()
        }
        None => command[0].clone(),
    };
    let mut suite = ListedSuite { root: context.here.clone(), ..ListedSuite::default() };
    let flags = GtestFlags::read(&command[1..], &context.here, |name| std::env::var(name).ok());
    let GtestFlags { arguments, filter, shuffle, runs_disabled, shard, notes } = flags?;
    suite.notes = notes;
    let output = listing_of(&command[0], &arguments, filter.as_ref(), context)?;
    let locations = output.locations;
    let is_disabled = |name: &str| name.split(['.', '/']).any(|part| part.starts_with("DISABLED_")) && !runs_disabled;
    let program = GtestProgram {
        path: command[0].clone(),
        arguments,
        run_dir: context.run_dir.to_owned(),
        filter,
        chosen: output.names.iter().filter(|name| !is_disabled(name)).cloned().collect(),
        shuffle: None,
    };
    let plain = program.clone();
    let program = GtestProgram { path, ..program };
    let shuffled = shuffle.map(|_| -> Arc<dyn Program> { Arc::new(GtestProgram { shuffle, ..program.clone() }) });
    let program = Arc::new(program);
    let name_of_program = Path::new(&command[0]).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut runnable = 0;
    for name in output.names {
        let disabled = is_disabled(&name);
        if !disabled {
            runnable += 1;
            if shard.is_some_and(|shard| !shard.has(runnable - 1)) {
                suite.deselected += 1;
                continue;
            }
        }
        let (file, line) = locations.get(&name).cloned().unzip();
        suite.tests.push(TestCase {
            id: format!("{name_of_program} {name}"),
            program: program.clone(),
            shared: shuffled.clone(),
            sequence: None,
            file,
            line,
            stage: 0,
            command: shard
                .map(|_| WITHOUT_SHARDS)
                .into_iter()
                .flatten()
                .map(str::to_owned)
                .chain(plain.words(&[&name], 1))
                .collect(),
            skipped: disabled.then(|| "disabled".to_owned()),
            needs: unflake_protocol::TestNeeds::default(),
            name,
        });
    }
    Ok(suite)
}

struct GtestListing {
    names: Vec<String>,
    locations: HashMap<String, (String, u32)>,
}

fn listing_of(
    program: &str,
    arguments: &[String],
    filter: Option<&String>,
    context: &ListContext<'_>,
) -> Result<GtestListing, ListError> {
    let json = context.run_dir.join("gtest-list.json");
    let mut command = Command::new(program);
    command
        .args(arguments)
        .args(filter)
        .arg("--gtest_list_tests")
        .arg(format!("--gtest_output=json:{}", json.display()));
    apply_env(&mut command, context.env_changes);
    for name in our_variables() {
        command.env_remove(name);
    }
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| ListError::cannot_start(program, &error))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let mut output_text = BoundedText::new(OUTPUT);
        output_text.add(&output.stdout);
        output_text.add(&output.stderr);
        let what = format!("`{program}` does not list its tests ({}):\n{}", output.status, output_text.text().trim());
        return Err(ListError::collection(what));
    }
    let locations = std::fs::read(&json).ok().and_then(|text| serde_json::from_slice(&text).ok()).map(locations_in);
    let _ = std::fs::remove_file(json);
    Ok(GtestListing { names: names_in(&text), locations: locations.unwrap_or_default() })
}

/// Names from the indented list that `--gtest_list_tests` prints.
fn names_in(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut suite = None;
    for line in text.lines() {
        let name = line.split("  # ").next().unwrap_or(line).trim_end();
        if let Some(test) = name.strip_prefix("  ") {
            names.extend(suite.map(|suite| format!("{suite}{test}")));
        } else {
            // Programs may print other lines before the list.
            suite = Some(name).filter(|name| name.ends_with('.') && !name.contains(' '));
        }
    }
    names
}

#[derive(Deserialize)]
struct GtestJson {
    #[serde(default)]
    testsuites: Vec<JsonSuite>,
}

#[derive(Deserialize)]
struct JsonSuite {
    name: String,
    #[serde(default)]
    testsuite: Vec<JsonTest>,
}

#[derive(Deserialize)]
struct JsonTest {
    name: String,
    file: Option<String>,
    line: Option<u32>,
}

fn locations_in(json: GtestJson) -> HashMap<String, (String, u32)> {
    let mut locations = HashMap::new();
    for suite in json.testsuites {
        for test in suite.testsuite {
            if let (Some(file), Some(line)) = (test.file, test.line) {
                locations.insert(format!("{}.{}", suite.name, test.name), (file, line));
            }
        }
    }
    locations
}

/// A program whose tests share a process.
#[derive(Clone)]
struct GtestProgram {
    path: String,
    arguments: Vec<String>,
    run_dir: std::path::PathBuf,
    /// The user's own filter, and the tests that it selects.
    filter: Option<String>,
    chosen: Vec<String>,
    /// The seed of a shuffled order, where it runs in one.
    shuffle: Option<u32>,
}

impl GtestProgram {
    fn words(&self, names: &[&str], repeat: usize) -> Vec<String> {
        let mut words = vec![self.path.clone()];
        words.extend(self.arguments.iter().cloned());
        words.push(format!("{FILTER}{}", names.join(":")));
        if repeat > 1 {
            words.push(format!("{REPEAT}{repeat}"));
        }
        words
    }

    /// A program can read its own filter, so it stays as the user gave it where all selected tests
    /// run.
    fn with_own_filter(&self, names: &[&str], mut words: Vec<String>) -> Vec<String> {
        if names == self.chosen {
            let at = words.iter().position(|word| word.starts_with(FILTER)).unwrap_or(0);
            words.splice(at..=at, self.filter.clone());
        }
        words
    }
}

impl Program for GtestProgram {
    fn is_shared(&self) -> bool {
        true
    }

    fn is_ordered(&self) -> bool {
        self.shuffle.is_none()
    }

    /// Equal rounds are a repetition. Any other order than the program's own is not possible in one
    /// process.
    fn start(&self, tests: &[&TestCase], _jobs: u32) -> Result<ProcessSpec, String> {
        let names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
        let period = names.iter().skip(1).position(|name| *name == names[0]).map_or(names.len(), |at| at + 1);
        let words = self.words(&names[..period], names.len().div_ceil(period));
        let mut words = self.with_own_filter(&names[..period], words);
        let filter = words.iter().position(|word| word.starts_with(FILTER)).unwrap_or(0);
        if words[filter].len() > LONGEST_FILTER {
            let unique = format!("gtest-{}-{:?}", std::process::id(), std::thread::current().id());
            let path = self.run_dir.join(unique.replace(['(', ')'], ""));
            std::fs::write(&path, &words[filter]).map_err(|error| error.to_string())?;
            words[filter] = format!("--gtest_flagfile={}", path.display());
        }
        if let Some(seed) = self.shuffle {
            words.extend(["--gtest_shuffle".to_owned(), format!("--gtest_random_seed={seed}")]);
        }
        words.push("--gtest_color=no".to_owned());
        let variables = our_variables().map(|name| (name, None)).collect();
        Ok(ProcessSpec { words, variables, merged: true, ..ProcessSpec::default() })
    }

    fn listener(&self, tests: &[&TestCase]) -> Box<dyn OutputListener> {
        let names = tests.iter().map(|test| test.name.clone()).collect();
        Box::new(GtestListener::new(names, self.is_ordered()))
    }

    fn may_follow(&self, numbers: &[u32], next: u32) -> bool {
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return true };
        match numbers.iter().skip(1).position(|number| number == first) {
            Some(before_second_round) => next == numbers[numbers.len() % (before_second_round + 1)],
            None => next > *last || next == *first,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_and_repetitions_are_one_command() {
        let command = ["./it".to_owned()];
        let alone = ["./it", "--flag", "--gtest_filter=A.A"].map(str::to_owned);
        let reproduced = |tests: &[&str], in_listed_order| {
            let (alone, here) = (Some(&alone[..]), Path::new("/"));
            let session =
                ReplayedSession { command: &command, tests, in_listed_order, at_once: 0, alone, root: None, here };
            reproduce(&session).map(|words| words.join(" "))
        };
        assert_eq!(reproduced(&["it A.A"], true).as_deref(), Some("./it --flag --gtest_filter=A.A"));
        assert_eq!(reproduced(&["it A.A", "it B/C.D"], true).as_deref(), Some("./it --flag --gtest_filter=A.A:B/C.D"));
        assert_eq!(reproduced(&["it A.A", "it B/C.D"], false), None);
        let twice = reproduced(&["it A.A", "it A.A"], false);
        assert_eq!(twice.as_deref(), Some("./it --flag --gtest_filter=A.A --gtest_repeat=2"));
    }

    #[test]
    fn names_are_read_from_the_list() {
        let text = "Running main() from gtest_main.cc\nA.\n  Ok\n  DISABLED_No\nTy/0.  # TypeParam = int\n  S\nX/P.\n  V/0  # \
                    GetParam() = 1\n";
        assert_eq!(names_in(text), ["A.Ok", "A.DISABLED_No", "Ty/0.S", "X/P.V/0"]);
    }

    #[test]
    fn the_users_filter_stays_where_everything_it_chooses_is_run() {
        let chosen = ["A.A", "A.B"].map(str::to_owned).to_vec();
        let filter = Some("--gtest_filter=A.*".to_owned());
        let mut program = GtestProgram {
            path: "./it".to_owned(),
            arguments: Vec::new(),
            run_dir: "/".into(),
            filter,
            chosen,
            shuffle: None,
        };
        let words =
            |program: &GtestProgram, names: &[&str]| program.with_own_filter(names, program.words(names, 2)).join(" ");
        assert_eq!(words(&program, &["A.A", "A.B"]), "./it --gtest_filter=A.* --gtest_repeat=2");
        assert_eq!(words(&program, &["A.B"]), "./it --gtest_filter=A.B --gtest_repeat=2");
        program.filter = None;
        assert_eq!(words(&program, &["A.A", "A.B"]), "./it --gtest_repeat=2");
    }
}
