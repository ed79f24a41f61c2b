//! GoogleTest programs: several tests in one process, in the order of the program.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use serde::Deserialize;
use unflake_protocol::{Failed, Outcome, Phase};

use crate::capture::{Capture, lossless};
use crate::driver::Workshop;
use crate::sanitizers;
use crate::suite::{CannotList, Case, End, How, Judged, Listener, Program, Said, Start, Suite, failed, file_has};

/// Flags that would change what is run, or what is said of it.
const OURS: [&str; 13] = [
    "filter",
    "repeat",
    "recreate_environments_when_repeating",
    "shuffle",
    "random_seed",
    "output",
    "color",
    "brief",
    "print_time",
    "break_on_failure",
    "fail_fast",
    "stream_result_to",
    "list_tests",
];
/// An argument may have 128 KiB; longer filters travel in a file.
const LONGEST_FILTER: usize = 60_000;
const OUTPUT: usize = 64 << 10;
/// Variables that share the tests of a program among several machines.
const SHARDS: [&str; 2] = ["GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"];
const WITHOUT_SHARDS: [&str; 3] = ["env", "-u", SHARDS[0]];

/// Whether a program has GoogleTest inside, or is linked with it.
pub(crate) fn is_one(path: &Path) -> bool {
    file_has(path, &[b"gtest_list_tests", b"libgtest.so"])
}

pub(crate) fn list(command: &[String], workshop: &Workshop<'_>) -> Result<Suite, CannotList> {
    if let Some(tracing) = workshop.tracing {
        tracing.check(Path::new(&command[0]))?;
    }
    let mut suite = Suite { root: workshop.here.clone(), ..Suite::default() };
    let (arguments, dropped) = arguments_of(&command[1..]);
    let named = |flag: &str| dropped.iter().any(|word| word.contains(flag));
    for (flag, why) in [
        ("shuffle", "a GoogleTest program is run in its own order"),
        ("repeat", "unflake runs again what failed"),
        ("break_on_failure", "there is no debugger"),
    ] {
        if named(flag) {
            suite.notes.push(format!("--gtest_{flag} is not used: {why}"));
        }
    }
    let filter = dropped.iter().find(|word| flag_of(word) == Some("filter"));
    let output = listing_of(&command[0], &arguments, filter, workshop)?;
    let places = output.places;
    let runs_disabled = command.iter().any(|word| flag_of(word) == Some("also_run_disabled_tests"));
    let is_disabled = |name: &str| name.split(['.', '/']).any(|part| part.starts_with("DISABLED_")) && !runs_disabled;
    let program = Arc::new(GoogleTest {
        path: command[0].clone(),
        arguments,
        side: workshop.side.to_owned(),
        filter: filter.cloned(),
        chosen: output.names.iter().filter(|name| !is_disabled(name)).cloned().collect(),
    });
    let shard = Shard::wanted(|name| std::env::var(name).ok());
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
        let (file, line) = places.get(&name).cloned().unzip();
        suite.cases.push(Case {
            id: format!("{name_of_program} {name}"),
            program: program.clone(),
            file,
            line,
            command: shard
                .map(|_| WITHOUT_SHARDS)
                .into_iter()
                .flatten()
                .map(str::to_owned)
                .chain(program.words(&[&name], 1))
                .collect(),
            skipped: disabled.then(|| "disabled".to_owned()),
            name,
        });
    }
    Ok(suite)
}

/// The part of a program's tests that this machine is to run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shard {
    index: usize,
    of: usize,
}

impl Shard {
    fn wanted(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let [of, index] = SHARDS.map(|name| variable(name).and_then(|number| number.parse().ok()));
        Some(Self { index: index?, of: of? }).filter(|shard| shard.index < shard.of)
    }

    /// Whether it has the test of this number. Tests that would not be run are not counted.
    fn has(self, number: usize) -> bool {
        number % self.of == self.index
    }
}

struct Listed {
    names: Vec<String>,
    places: HashMap<String, (String, u32)>,
}

fn listing_of(
    program: &str,
    arguments: &[String],
    filter: Option<&String>,
    workshop: &Workshop<'_>,
) -> Result<Listed, CannotList> {
    let json = workshop.side.join("gtest-list.json");
    let mut command = Command::new(program);
    command
        .args(arguments)
        .args(filter)
        .arg("--gtest_list_tests")
        .arg(format!("--gtest_output=json:{}", json.display()));
    for (name, value) in workshop.world {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    for name in without_our_variables() {
        command.env_remove(name);
    }
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| CannotList::usage(format!("`{program}` cannot be started: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let mut said = Capture::new(OUTPUT);
        said.add(&output.stdout);
        said.add(&output.stderr);
        let what = format!("`{program}` does not list its tests ({}):\n{}", output.status, said.text().trim());
        return Err(CannotList::collection(what));
    }
    let places = std::fs::read(&json).ok().and_then(|text| serde_json::from_slice(&text).ok()).map(places_in);
    let _ = std::fs::remove_file(json);
    Ok(Listed { names: names_in(&text), places: places.unwrap_or_default() })
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
            // Programs may print words of their own before the list.
            suite = Some(name).filter(|name| name.ends_with('.') && !name.contains(' '));
        }
    }
    names
}

#[derive(Deserialize)]
struct Json {
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

fn places_in(json: Json) -> HashMap<String, (String, u32)> {
    let mut places = HashMap::new();
    for suite in json.testsuites {
        for test in suite.testsuite {
            if let (Some(file), Some(line)) = (test.file, test.line) {
                places.insert(format!("{}.{}", suite.name, test.name), (file, line));
            }
        }
    }
    places
}

/// The name of a GoogleTest flag, without what comes before and after it.
fn flag_of(word: &str) -> Option<&str> {
    let rest = word.strip_prefix("--gtest_").or_else(|| word.strip_prefix("-gtest_"))?;
    rest.split('=').next()
}

/// The user's arguments without those that are ours to give, and those.
fn arguments_of(words: &[String]) -> (Vec<String>, Vec<String>) {
    let ours = |word: &&String| flag_of(word).is_some_and(|flag| OURS.contains(&flag));
    let (ours, theirs): (Vec<&String>, Vec<&String>) = words.iter().partition(ours);
    (theirs.into_iter().cloned().collect(), ours.into_iter().cloned().collect())
}

fn without_our_variables() -> impl Iterator<Item = String> {
    let but_the_filter = OURS.iter().filter(|flag| **flag != "filter");
    but_the_filter.map(|flag| format!("GTEST_{}", flag.to_uppercase())).chain(SHARDS.map(str::to_owned))
}

/// One program, whose tests share a process.
struct GoogleTest {
    path: String,
    arguments: Vec<String>,
    side: std::path::PathBuf,
    /// The user's own, and what it chooses.
    filter: Option<String>,
    chosen: Vec<String>,
}

impl GoogleTest {
    fn words(&self, names: &[&str], repeat: usize) -> Vec<String> {
        let mut words = vec![self.path.clone()];
        words.extend(self.arguments.iter().cloned());
        words.push(format!("--gtest_filter={}", names.join(":")));
        if repeat > 1 {
            words.push(format!("--gtest_repeat={repeat}"));
        }
        words
    }

    /// A program can read its own filter. When everything is run that the user has chosen, it is left as the user gave it.
    fn with_own_filter(&self, names: &[&str], mut words: Vec<String>) -> Vec<String> {
        if names == self.chosen {
            let at = words.iter().position(|word| word.starts_with("--gtest_filter=")).unwrap_or(0);
            words.splice(at..=at, self.filter.clone());
        }
        words
    }
}

impl Program for GoogleTest {
    fn is_shared(&self) -> bool {
        true
    }

    /// The same tests again are a repetition; any other order but its own is not to be had in one process.
    fn start(&self, cases: &[&Case]) -> Result<Start, String> {
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        let period = names.iter().skip(1).position(|name| *name == names[0]).map_or(names.len(), |at| at + 1);
        let words = self.words(&names[..period], names.len().div_ceil(period));
        let mut words = self.with_own_filter(&names[..period], words);
        let filter = words.iter().position(|word| word.starts_with("--gtest_filter=")).unwrap_or(0);
        if words[filter].len() > LONGEST_FILTER {
            let unique = format!("gtest-{}-{:?}", std::process::id(), std::thread::current().id());
            let path = self.side.join(unique.replace(['(', ')'], ""));
            std::fs::write(&path, &words[filter]).map_err(|error| error.to_string())?;
            words[filter] = format!("--gtest_flagfile={}", path.display());
        }
        words.push("--gtest_color=no".to_owned());
        let variables = without_our_variables().map(|name| (name, None)).collect();
        Ok(Start { words, variables, merged: true, ..Start::default() })
    }

    fn listener(&self, cases: &[&Case]) -> Box<dyn Listener> {
        Box::new(Follower {
            names: cases.iter().map(|case| case.name.clone()).collect(),
            next: 0,
            current: None,
            last: None,
            failures: 0,
            since: Instant::now(),
            said: Capture::new(OUTPUT),
            outside: Outside::default(),
        })
    }

    fn may_follow(&self, numbers: &[u32], next: u32) -> bool {
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return true };
        match numbers.iter().skip(1).position(|number| number == first) {
            Some(before_second_round) => next == numbers[numbers.len() % (before_second_round + 1)],
            None => next > *last || next == *first,
        }
    }
}

/// Reads what GoogleTest prints. Tests come in the order in which they were asked for.
struct Follower {
    names: Vec<String>,
    /// Of those, the first that has not begun.
    next: usize,
    current: Option<usize>,
    /// The outcome of the very last test is told when the process has ended: what goes wrong after it is its affair.
    last: Option<(usize, Judged)>,
    failures: usize,
    since: Instant,
    said: Capture,
    outside: Outside,
}

/// Failures that happen while no test runs: in the set-up or tear-down of a suite, or of the whole program.
#[derive(Default)]
struct Outside {
    text: String,
    within: bool,
}

impl Outside {
    fn hear(&mut self, line: &str) {
        self.within = line.ends_with(": Failure") || self.within && !line.starts_with("[");
        if self.within && self.text.len() < OUTPUT {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    /// A test is blamed for them that may have nothing to do with them, so that they are never lost: no pass excuses it.
    fn blame(&self, judged: Judged) -> Judged {
        let outside = Failed { phase: Phase::SharedTearDown, ..failure_in(&self.text) };
        match judged.failure {
            Some(failure) if judged.outcome != Outcome::Skipped => {
                let message = format!("{}\noutside of tests: {}", failure.message, outside.message);
                let trace = format!("{}\n{}", failure.trace, outside.trace);
                Judged { failure: Some(Failed { phase: outside.phase, message, trace, ..failure }), ..judged }
            }
            _ => Judged { outcome: Outcome::Error, ..judged }.failed(outside),
        }
    }
}

impl Follower {
    fn begun(&mut self, at: usize) -> Vec<Said> {
        self.current = Some(at);
        self.next = at + 1;
        self.since = Instant::now();
        self.said = Capture::new(OUTPUT);
        vec![Said::Start(at)]
    }

    fn over(&mut self, at: usize, judged: Judged) -> Vec<Said> {
        self.current = None;
        self.since = Instant::now();
        self.failures += usize::from(judged.outcome == Outcome::Failed);
        if at + 1 == self.names.len() {
            self.last = Some((at, judged));
            return Vec::new();
        }
        vec![Said::Done(at, judged)]
    }

    fn result(&self, at: usize, text: &str) -> Option<Judged> {
        let name = &self.names[at];
        let seconds = self.since.elapsed().as_secs_f64();
        for (mark, outcome) in [
            ("[       OK ] ", Outcome::Passed),
            ("[  FAILED  ] ", Outcome::Failed),
            ("[  SKIPPED ] ", Outcome::Skipped),
        ] {
            let Some(place) = text.find(&format!("{mark}{name}")) else { continue };
            let rest = &text[place + mark.len() + name.len()..];
            // Otherwise it is the beginning of another test's name.
            if !rest.starts_with(" (") && !rest.starts_with(", where ") && !rest.is_empty() {
                continue;
            }
            let before = text[..place].to_owned();
            let said = format!("{}{before}", self.said.text());
            let judged = Judged::new(outcome, seconds);
            return Some(match outcome {
                Outcome::Failed => judged.failed(failure_in(&said)).said(before_failure(&said), ""),
                Outcome::Skipped => judged.failed(failed("Skipped", skip_reason(&said))),
                _ => judged,
            });
        }
        None
    }
}

impl Listener for Follower {
    fn line(&mut self, line: &[u8]) -> Vec<Said> {
        let text = lossless(line);
        let text = text.trim_end_matches('\r');
        if let Some(at) = self.current {
            if let Some(judged) = self.result(at, text) {
                return self.over(at, judged);
            }
        } else if let Some(place) = text.rfind("[ RUN      ] ") {
            let name = &text[place + "[ RUN      ] ".len()..];
            let found = (self.next..self.names.len()).find(|at| self.names[*at] == name);
            if let Some(at) = found {
                self.outside.within = false;
                return self.begun(at);
            }
            self.outside.hear(text);
        } else {
            self.outside.hear(text);
        }
        self.said.add(text.as_bytes());
        self.said.add(b"\n");
        Vec::new()
    }

    fn since(&self) -> Option<Instant> {
        Some(self.since)
    }

    fn end(&mut self, end: &End) -> Vec<Said> {
        let mut told = Vec::new();
        let seconds = self.since.elapsed().as_secs_f64();
        let said = self.said.text();
        let died = |said: &str| match end.how {
            How::TimedOut => Judged::timed_out(seconds, said.trim()),
            how => Judged::crashed(how, seconds, sanitizers::report(said), said.trim()),
        };
        // Where the program leaves with 0, it was no failure but something that looked like one.
        let bad_outside = !self.outside.text.is_empty() && end.how != How::Exit(0);
        let blame = |judged: Judged| if bad_outside { self.outside.blame(judged) } else { judged };
        if let Some(at) = self.current {
            told.push(Said::Done(at, blame(died(&said).said(said, ""))));
        } else if let Some((at, judged)) = self.last.take() {
            let expected = if self.failures > 0 || bad_outside { How::Exit(1) } else { How::Exit(0) };
            let as_expected = end.how == expected && sanitizers::report(&said).is_none();
            let judged = if as_expected { judged } else { ended_badly(judged, end, &said, died(&said)) };
            told.push(Said::Done(at, blame(judged)));
        } else if self.next < self.names.len() {
            // Between two tests: in the set-up of the next one's suite, or in the tear-down of the last one's.
            told.push(Said::Start(self.next));
            told.push(Said::Done(self.next, blame(died(&said).said(said, ""))));
        }
        told
    }
}

/// All tests were over when something went wrong. A failure of the last test stays what it is.
fn ended_badly(judged: Judged, end: &End, said: &str, died: Judged) -> Judged {
    if judged.outcome == Outcome::Failed {
        return judged;
    }
    if end.how == How::Exit(1) && sanitizers::report(said).is_none() {
        let message =
            "no test failed, but the program left with exit code 1: a tear-down, or a failure outside of tests";
        let failure =
            Failed { phase: Phase::SharedTearDown, trace: said.trim().to_owned(), ..failed("Failed", message) };
        return Judged::new(Outcome::Error, judged.seconds).failed(failure).said(said, "");
    }
    let mut died = died.said(said, "");
    if let Some(failure) = &mut died.failure {
        failure.phase = Phase::SharedTearDown;
        failure.message = format!("after its last test: {}", failure.message);
    }
    died
}

/// What a test printed from its first failure on.
pub(crate) fn failure_in(text: &str) -> Failed {
    let text = text.trim_end();
    let lines: Vec<&str> = text.lines().collect();
    let Some(at) = lines.iter().position(|line| line.ends_with(": Failure")) else {
        let message = lines.last().map_or("the test failed and did not say why", |line| line);
        return Failed { trace: text.to_owned(), ..failed("Failure", message) };
    };
    let place = lines[at].strip_suffix(": Failure").unwrap_or_default();
    let (file, line) = match place.rsplit_once(':') {
        Some((file, line)) => (Some(file.to_owned()), line.parse().ok()),
        None => (None, None),
    };
    let is_exception = lines.get(at + 1).is_some_and(|line| line.starts_with("C++ exception"));
    let kind = if is_exception { "exception" } else { "Failure" };
    let message = lines[at + 1..].join("\n");
    Failed { file: line.and(file), line, trace: text.to_owned(), ..failed(kind, message.trim()) }
}

/// What a test printed before it failed for the first time.
pub(crate) fn before_failure(text: &str) -> &str {
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_end().ends_with(": Failure") {
            return &text[..end];
        }
        end += line.len();
    }
    text
}

fn skip_reason(text: &str) -> &str {
    let after = text.split_once(": Skipped\n").map_or("", |(_, reason)| reason);
    match after.trim() {
        "" => "skipped",
        reason => reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_the_list() {
        let text = "Running main() from gtest_main.cc\nA.\n  Ok\n  DISABLED_No\nTy/0.  # TypeParam = int\n  S\nX/P.\n  V/0  # \
                    GetParam() = 1\n";
        assert_eq!(names_in(text), ["A.Ok", "A.DISABLED_No", "Ty/0.S", "X/P.V/0"]);
    }

    fn follow(names: &[&str], lines: &[&str], how: How) -> Vec<String> {
        let mut follower = Follower {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            next: 0,
            current: None,
            last: None,
            failures: 0,
            since: Instant::now(),
            said: Capture::new(1000),
            outside: Outside::default(),
        };
        let mut said: Vec<Said> = lines.iter().flat_map(|line| follower.line(line.as_bytes())).collect();
        said.extend(follower.end(&End { how, stdout: String::new(), stderr: String::new(), seconds: 0.0 }));
        let word = |said: Said| match said {
            Said::Start(at) => format!("start {at}"),
            Said::Done(at, judged) => {
                let message = judged.failure.map(|failure| format!(" {}", failure.message)).unwrap_or_default();
                format!("{at} {:?}{message}", judged.outcome)
            }
        };
        said.into_iter().map(word).collect()
    }

    #[test]
    fn outcomes_are_read_although_tests_print_in_between() {
        let lines = [
            "[ RUN      ] A.Ok",
            "abc[       OK ] A.Ok (0 ms)",
            "[ RUN      ] A.Bad",
            "xyzt.cc:4: Failure",
            "Expected equality of these values:",
            "  1",
            "[       OK ] A.Ok (0 ms)",
            "t.cc:5: Failure",
            "more",
            "[  FAILED  ] A.Bad (0 ms)",
            "[ RUN      ] P/V.X/1",
            "[  SKIPPED ] P/V.X/1, where GetParam() = 7 (0 ms)",
        ];
        let said = follow(&["A.Ok", "A.Bad", "P/V.X/1"], &lines, How::Exit(1));
        let failed =
            "1 Failed Expected equality of these values:\n  1\n[       OK ] A.Ok (0 ms)\nt.cc:5: Failure\nmore";
        assert_eq!(said, ["start 0", "0 Passed", "start 1", failed, "start 2", "2 Skipped skipped"]);
    }

    #[test]
    fn a_death_belongs_to_the_test_that_ran_or_was_about_to() {
        let said = follow(&["A.A", "A.B"], &["[ RUN      ] A.A"], How::Signal(11));
        assert_eq!(said, ["start 0", "0 Crashed killed by SIGSEGV"]);
        let said = follow(&["A.A", "A.B"], &["[ RUN      ] A.A", "[       OK ] A.A (0 ms)"], How::Signal(6));
        assert_eq!(said, ["start 0", "0 Passed", "start 1", "1 Crashed killed by SIGABRT"]);
    }

    #[test]
    fn what_goes_wrong_after_the_last_test_is_not_lost() {
        let lines = ["[ RUN      ] A.A", "[       OK ] A.A (0 ms)"];
        let said = follow(&["A.A"], &lines, How::Signal(11));
        assert_eq!(said, ["start 0", "0 Crashed after its last test: killed by SIGSEGV"]);
        assert!(follow(&["A.A"], &lines, How::Exit(1))[1].starts_with("0 Error no test failed"));
        assert_eq!(follow(&["A.A"], &lines, How::Exit(0)), ["start 0", "0 Passed"]);
    }

    #[test]
    fn failures_outside_of_tests_are_never_lost() {
        let bad = ["[ RUN      ] A.A", "t.cc:1: Failure", "one", "[  FAILED  ] A.A (0 ms)"];
        let outside = ["t.cc:7: Failure", "Failed", "dirty", "[----------] 1 test from A (0 ms total)"];
        let good = ["[ RUN      ] B.B", "[       OK ] B.B (0 ms)"];
        let lines = [&bad[..], &outside, &good].concat();
        let said = follow(&["A.A", "B.B"], &lines, How::Exit(1));
        assert_eq!(said, ["start 0", "0 Failed one", "start 1", "1 Error Failed\ndirty"]);
        let said = follow(&["A.A"], &[&bad[..], &outside].concat(), How::Exit(1));
        assert_eq!(said[1], "0 Failed one\noutside of tests: Failed\ndirty");
        let said = follow(&["A.A", "B.B"], &[&bad[..], &outside, &good[..1]].concat(), How::TimedOut);
        assert!(said[3].starts_with("1 TimedOut") && said[3].ends_with("outside of tests: Failed\ndirty"), "{said:?}");
        let said = follow(&["B.B"], &[&outside[..], &good].concat(), How::Exit(0));
        assert_eq!(said, ["start 0", "0 Passed"], "it only looked like one");
    }

    #[test]
    fn the_users_filter_stays_where_everything_it_chooses_is_run() {
        let chosen = ["A.A", "A.B"].map(str::to_owned).to_vec();
        let filter = Some("--gtest_filter=A.*".to_owned());
        let mut program =
            GoogleTest { path: "./it".to_owned(), arguments: Vec::new(), side: "/".into(), filter, chosen };
        let words =
            |program: &GoogleTest, names: &[&str]| program.with_own_filter(names, program.words(names, 2)).join(" ");
        assert_eq!(words(&program, &["A.A", "A.B"]), "./it --gtest_filter=A.* --gtest_repeat=2");
        assert_eq!(words(&program, &["A.B"]), "./it --gtest_filter=A.B --gtest_repeat=2");
        program.filter = None;
        assert_eq!(words(&program, &["A.A", "A.B"]), "./it --gtest_repeat=2");
    }

    #[test]
    fn shards_count_what_would_run() {
        let variables = |of: &str, index: &str| {
            let values = HashMap::from([(SHARDS[0], of.to_owned()), (SHARDS[1], index.to_owned())]);
            Shard::wanted(|name| values.get(name).cloned())
        };
        let shard = variables("3", "1").unwrap();
        assert_eq!((0..6).filter(|number| shard.has(*number)).collect::<Vec<_>>(), [1, 4]);
        assert_eq!(variables("0", "0"), None);
        assert_eq!(variables("", "1"), None);
    }

    #[test]
    fn repetitions_are_told_apart() {
        let round = ["[ RUN      ] A.A", "[       OK ] A.A (0 ms)", "[ RUN      ] A.B", "[       OK ] A.B (0 ms)"];
        let said = follow(&["A.A", "A.B", "A.A", "A.B"], &[round, round].concat(), How::Exit(0));
        assert_eq!(said.iter().filter(|word| word.starts_with("start")).count(), 4);
        assert_eq!(said.last().unwrap(), "3 Passed");
    }
}
