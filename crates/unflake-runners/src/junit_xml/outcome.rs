//! Test results from reports: finds the entry of a test, and checks that exit code and report
//! agree.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use regex_lite::Regex;
use unflake_protocol::{Failure, Outcome, Phase};

use crate::driver::test_result::{TestResult, failed};
use crate::junit_xml::report::{self, JunitError, JunitEvent, JunitReport, OUTSIDE, Reported};
use crate::process::bounded_text::shortened;
use crate::process::changed_files::FileStamps;
use crate::process::files::relative;
use crate::process::spec::{ExitKind, ProcessEnd};

/// The total size of the reports of one run.
const LARGEST: u64 = 256 << 20;
/// How much of a command's output is quoted.
const QUOTED: usize = 4000;

/// Why there is no report to read.
pub(crate) enum NoReport {
    NoneWritten,
    Bad(String),
}

pub(crate) fn read_written(before: &FileStamps) -> Result<JunitReport, NoReport> {
    let written = before.written_since();
    if written.is_empty() {
        return Err(NoReport::NoneWritten);
    }
    let mut all = JunitReport::default();
    let mut size = 0;
    for path in written {
        let bad = |why: String| NoReport::Bad(format!("`{}` cannot be read: {why}", path.display()));
        size += fs::metadata(&path).map(|file| file.len()).unwrap_or(0);
        if size > LARGEST {
            return Err(bad(format!("reports of more than {} MiB are too much", LARGEST >> 20)));
        }
        let bytes = fs::read(&path).map_err(|error| bad(error.to_string()))?;
        let report = report::read(&bytes).map_err(bad)?;
        all.tests.extend(report.tests);
        all.rerun += report.rerun;
    }
    Ok(all)
}

pub(crate) fn no_report(why: &NoReport, before: &FileStamps, results: &str, end: &ProcessEnd) -> String {
    let left = how_it_left(end.exit);
    match why {
        NoReport::Bad(why) => format!("{why}. The command {left}{}", quoted(end)),
        NoReport::NoneWritten => {
            let older = if before.had_any() { "; the existing one is older than this run" } else { "" };
            format!("no report was written to `{results}`{older}. The command {left}{}", quoted(end))
        }
    }
}

pub(crate) fn how_it_left(exit: ExitKind) -> String {
    match exit {
        ExitKind::Exit(code) => format!("exited with code {code}"),
        ExitKind::Signal(_) | ExitKind::TimedOut => {
            let died = TestResult::crashed(exit, 0.0, None, "").failure;
            died.map_or("died".to_owned(), |failure| format!("was {}", failure.message))
        }
    }
}

fn printed(end: &ProcessEnd) -> String {
    [end.stdout.trim_end(), end.stderr.trim_end()].join("\n").trim().to_owned()
}

pub(crate) fn quoted(end: &ProcessEnd) -> String {
    match shortened(&printed(end), QUOTED) {
        nothing if nothing.is_empty() => " and printed nothing".to_owned(),
        text => format!(" and printed:\n{text}"),
    }
}

/// Messages for the user about the first run.
pub(crate) fn remarks(report: &JunitReport, end: &ProcessEnd) -> Vec<String> {
    let mut notes = Vec::new();
    let bad = report.tests.iter().filter(|test| matches!(test.result, JunitEvent::Failed(_))).count();
    if bad > 0 && end.exit == ExitKind::Exit(0) {
        notes.push(format!("the command exited with code 0, although its report has {bad} failed tests"));
    }
    if report.rerun > 0 {
        notes
            .push(format!("the runner reran tests itself: its report has {} failures that passed later", report.rerun));
    }
    notes
}

/// One test of the first report.
#[derive(Clone)]
pub(crate) struct ReportedTestName {
    pub(crate) suite: String,
    pub(crate) classname: String,
    pub(crate) name: String,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
    /// How many tests of the same name come before it.
    pub(crate) nth: usize,
}

pub(crate) fn known(tests: Vec<Reported>, here: &Path) -> Vec<ReportedTestName> {
    let mut seen: HashMap<(String, String), usize> = HashMap::new();
    let mut known = Vec::new();
    for Reported { suite, classname, name, file, line, .. } in tests {
        let group = group_of(&classname, &suite).to_owned();
        let times = seen.entry((group, name.clone())).or_default();
        *times += 1;
        let nth = *times - 1;
        // Many reports name the file as the class or the suite.
        let named = [&classname, &suite].into_iter().find(|one| !one.is_empty() && here.join(one).is_file()).cloned();
        let file = file.filter(|file| !file.is_empty()).or(named);
        known.push(ReportedTestName { suite, classname, name, file, line, nth });
    }
    known
}

/// The first part of a test's id: its class, or its suite without one.
fn group_of<'a>(classname: &'a str, suite: &'a str) -> &'a str {
    if classname.is_empty() { suite } else { classname }
}

impl ReportedTestName {
    fn group(&self) -> &str {
        group_of(&self.classname, &self.suite)
    }

    pub(crate) fn id(&self) -> String {
        match (self.group(), self.name.as_str()) {
            ("", "") => "(no name)".to_owned(),
            ("", name) => name.to_owned(),
            (group, "") => group.to_owned(),
            (group, name) => format!("{group} {name}"),
        }
    }

    /// Its position in a report.
    fn found_in(&self, tests: &[Reported]) -> Option<usize> {
        let is_it = |test: &Reported| self.name == test.name && self.group() == group_of(&test.classname, &test.suite);
        let same: Vec<usize> = (0..tests.len()).filter(|at| is_it(&tests[*at])).collect();
        self.chosen(&same, tests)
    }

    /// Of several entries with its name the one at the same position; the worst, if there are fewer
    /// than in the first report.
    fn chosen(&self, same: &[usize], tests: &[Reported]) -> Option<usize> {
        let rank = |at: &&usize| match tests[**at].result {
            JunitEvent::Failed(_) => 2,
            JunitEvent::Passed => 1,
            JunitEvent::Skipped(_) => 0,
        };
        same.get(self.nth).or_else(|| same.iter().max_by_key(rank)).copied()
    }

    /// Whether it stands for an error outside of a suite's tests, and this report has none.
    fn is_outside(&self, tests: &[Reported]) -> bool {
        self.name == OUTSIDE && tests.iter().any(|test| test.suite == self.suite)
    }
}

/// The result of each test of the whole command. An error outside of all tests is blamed on the
/// last.
pub(crate) fn judge_whole(tests: &[Reported], end: &ProcessEnd, here: &Path) -> Vec<TestResult> {
    let mut results: Vec<TestResult> = tests.iter().map(|test| judge_reported(test, here)).collect();
    let any = tests.iter().any(|test| matches!(test.result, JunitEvent::Failed(_)));
    let died = !matches!(end.exit, ExitKind::Exit(_));
    if let Some(last) = results.last_mut()
        && (died || end.exit != ExitKind::Exit(0) && !any)
        && last.failure.as_ref().is_none_or(|_| last.outcome == Outcome::Skipped)
    {
        let message = format!("the report has no failed test, but the command {}", how_it_left(end.exit));
        let message = if any { format!("after its last test the command {}", how_it_left(end.exit)) } else { message };
        let failure = Failure { phase: Phase::SharedTearDown, trace: printed(end), ..failed("Failed", &message) };
        let outcome = if died { Outcome::Crashed(end.exit.death()) } else { Outcome::Error };
        *last = TestResult::new(outcome, last.seconds).failed(failure);
    }
    results
}

fn judge_reported(test: &Reported, here: &Path) -> TestResult {
    match &test.result {
        JunitEvent::Passed => TestResult::new(Outcome::Passed, test.seconds),
        JunitEvent::Skipped(reason) => {
            let reason = if reason.message.is_empty() { "skipped" } else { &reason.message };
            TestResult::new(Outcome::Skipped, test.seconds).failed(failed("Skipped", reason))
        }
        JunitEvent::Failed(trouble) => {
            let failure = failure_of(trouble, here);
            let outcome = if failure.phase == Phase::Call { Outcome::Failed } else { Outcome::Error };
            TestResult::new(outcome, test.seconds)
                .failed(failure)
                .with_output(test.stdout.as_str(), test.stderr.as_str())
        }
    }
}

fn failure_of(trouble: &JunitError, here: &Path) -> Failure {
    // Some writers put no more than this here; the reason is in the text.
    let says_nothing = ["", "Failed"].contains(&trouble.message.trim());
    let frame = |line: &&str| !line.is_empty() && !line.starts_with("=== ") && !line.starts_with("--- ");
    let first_line = trouble.text.lines().map(str::trim).find(frame);
    let message = match first_line {
        Some(line) if says_nothing => line,
        _ if says_nothing => "the test failed, and the report has no message",
        _ => trouble.message.trim(),
    };
    let phase = if message.starts_with("failed on setup") {
        Phase::SetUp
    } else if message.starts_with("failed on teardown") {
        Phase::TearDown
    } else {
        Phase::Call
    };
    let kind = if trouble.kind.is_empty() { "Failure" } else { &trouble.kind };
    let (file, line) = place_in(&trouble.text, here).unzip();
    Failure { phase, file, line, trace: trouble.text.clone(), ..failed(kind, message) }
}

/// The first `file:line` in a text whose file belongs to the project.
fn place_in(text: &str, here: &Path) -> Option<(String, u32)> {
    static PLACE: OnceLock<Option<Regex>> = OnceLock::new();
    let place = PLACE.get_or_init(|| Regex::new(r"([\w./@+-]+\.[A-Za-z]\w*):(\d{1,7})\b").ok()).as_ref()?;
    let is_ours = |file: &str| !file.contains("node_modules/") && here.join(file).is_file();
    let mut places = place.captures_iter(text).take(50).filter(|found| is_ours(&found[1]));
    let found = places.next()?;
    let file = found[1].trim_start_matches("./");
    Some((relative(Path::new(file), here), found[2].parse().ok()?))
}

pub(crate) fn died(end: &ProcessEnd) -> TestResult {
    match end.exit {
        ExitKind::TimedOut => TestResult::timed_out(end.seconds, &printed(end)),
        exit => TestResult::crashed(exit, end.seconds, None, &printed(end)),
    }
}

/// The results of the first tests of the report when the whole command has run again.
pub(crate) fn judge_again(
    known: &[ReportedTestName],
    tests: &[Reported],
    end: &ProcessEnd,
    here: &Path,
) -> Vec<TestResult> {
    let all = judge_whole(tests, end, here);
    let mut places: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for (at, test) in tests.iter().enumerate() {
        places.entry((group_of(&test.classname, &test.suite), &test.name)).or_default().push(at);
    }
    let place = |one: &ReportedTestName| one.chosen(places.get(&(one.group(), one.name.as_str()))?, tests);
    let judge = |one: &ReportedTestName| match place(one) {
        Some(at) => all[at].clone(),
        None if one.is_outside(tests) => TestResult::new(Outcome::Passed, 0.0),
        None => not_run("it did not run: it is missing from this report of the same command", end),
    };
    known.iter().map(judge).collect()
}

pub(crate) fn not_run(message: &str, end: &ProcessEnd) -> TestResult {
    let (message, rest) = message.split_once('\n').unwrap_or((message, ""));
    let trace = if rest.is_empty() { printed(end) } else { rest.to_owned() };
    let failure = Failure { phase: Phase::Process, trace, ..failed("NotRun", message) };
    TestResult::new(Outcome::Error, end.seconds).failed(failure)
}

/// The test's own entry decides, unless the exit code contradicts it.
pub(crate) fn judge_alone(one: &ReportedTestName, tests: &[Reported], end: &ProcessEnd, here: &Path) -> TestResult {
    let left = how_it_left(end.exit);
    let any = tests.iter().any(|test| matches!(test.result, JunitEvent::Failed(_)));
    let Some(found) = one.found_in(tests).map(|at| &tests[at]) else {
        if one.is_outside(tests) && (any || end.exit == ExitKind::Exit(0)) {
            return TestResult::new(Outcome::Passed, end.seconds);
        }
        let others = match tests.len() {
            0 => "no test at all".to_owned(),
            1 => "one other test".to_owned(),
            number => format!("{number} other tests"),
        };
        return not_run(&format!("it did not run: the report has {others}, and the command {left}"), end);
    };
    match &found.result {
        JunitEvent::Skipped(reason) if reason.message.is_empty() => not_run(
            &format!("it did not run: the report has it as skipped, without a reason, and the command {left}"),
            end,
        ),
        JunitEvent::Passed if end.exit != ExitKind::Exit(0) && !any => {
            let message = format!("the report has no failed test, but the command {left}");
            let failure = Failure { phase: Phase::Process, trace: printed(end), ..failed("Failed", &message) };
            TestResult::new(Outcome::Error, found.seconds).failed(failure)
        }
        _ => {
            let mut results = judge_reported(found, here);
            if let (JunitEvent::Failed(_), ExitKind::Exit(0), Some(failure)) =
                (&found.result, end.exit, &mut results.failure)
            {
                failure.trace.push_str("\n(the command exited with code 0)");
            }
            results
        }
    }
}

#[cfg(test)]
mod tests;
