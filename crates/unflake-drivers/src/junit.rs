//! Any command that writes JUnit XML, where another command runs a single test.
//!
//! Nothing can be listed without running it: the first run of the whole command is the list, and its results are told when
//! all tests are ordered for the first time. After that a test runs alone, in a process of its own; the first so many of
//! the report, in its order, are run by the whole command once more. No other order is to be had in one process.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use nix::fcntl::{Flock, FlockArg};
use regex_lite::Regex;
use unflake_protocol::{Failed, Outcome, Phase};

use crate::capture::shortened;
use crate::driver::Workshop;
use crate::junit_xml::{self, OUTSIDE, Report, Reported, Told, Trouble};
use crate::process::{self, Limits};
use crate::suite::{CannotList, Case, End, How, Judged, Listener, Program, Said, Start, Suite, failed, relative};
use crate::template::{Template, regex_of};
use crate::written::{Before, is_pattern};

/// What all reports of one run may have together.
const LARGEST: u64 = 256 << 20;
const OUTPUT: usize = 64 << 10;
/// Of what a command printed, where it is quoted.
const QUOTED: usize = 4000;

/// Where reports are written, and how one test is run.
pub struct Reports {
    /// A path or a pattern.
    pub results: String,
    /// A command with places to be filled in.
    pub one_test: String,
}

pub(crate) fn list(reports: &Reports, command: &[String], workshop: &Workshop<'_>) -> Result<Suite, CannotList> {
    let template = Template::parse(&reports.one_test)
        .map_err(|why| CannotList::usage(format!("the command for one test cannot be used: {why}")))?;
    let before = Before::now(&workshop.here.join(&reports.results));
    let end = run_whole(command, workshop)?;
    let report = read_written(&before)
        .map_err(|why| CannotList::collection(no_report(&why, &before, &reports.results, &end)))?;
    if report.tests.is_empty() && end.how != How::Exit(0) {
        let text = format!("the report has no tests, and the command {}{}", how_it_left(end.how), quoted(&end));
        return Err(CannotList::collection(text));
    }
    let mut suite = Suite { root: workshop.here.clone(), notes: remarks(&report, &end), ..Suite::default() };
    let judged = judge_whole(&report.tests, &end, &workshop.here);
    let known = known(report.tests, &workshop.here);
    let files = known.iter().filter(|one| one.file.is_none()).count();
    if files > 0 && template.has("file") {
        let what = format!("{files} of {} tests cannot be run alone", known.len());
        suite.notes.push(format!("{what}: the report does not say in which file they are, and {{file}} asks for it"));
    }
    let program = Arc::new(Command {
        whole: command.to_vec(),
        template,
        results: reports.results.clone(),
        here: workshop.here.clone(),
        side: workshop.side.to_owned(),
        known,
        first: judged,
        is_told: AtomicBool::new(false),
        turn: Mutex::new(None),
    });
    for (at, one) in program.known.iter().enumerate() {
        suite.cases.push(Case {
            id: one.id(),
            // What its program calls it is its place in the first report.
            name: at.to_string(),
            program: program.clone(),
            file: one.file.as_ref().map(|file| relative(&workshop.here.join(file), &workshop.here)),
            line: one.line,
            command: program.words(one, &plain_results(&reports.results)).unwrap_or_default(),
            skipped: None,
        });
    }
    Ok(suite)
}

/// What stands for a report of its own in a command that a person types.
fn plain_results(results: &str) -> String {
    if is_pattern(results) { "report.xml".to_owned() } else { results.to_owned() }
}

/// What it prints goes where it would have gone.
fn run_whole(command: &[String], workshop: &Workshop<'_>) -> Result<End, CannotList> {
    let start = Start { words: command.to_vec(), ..Start::default() };
    let mut listener = UntilTheEnd(None);
    let limits = Limits { time: None, output: OUTPUT };
    let followed = process::follow(&start, workshop.world, &limits, &mut listener, |_| {});
    let why = match (followed, listener.0) {
        (Ok(()), Some(end)) => {
            print!("{}", end.stdout);
            eprint!("{}", end.stderr);
            return Ok(end);
        }
        (Err(error), _) => error.to_string(),
        (Ok(()), None) => "it ended without a word".to_owned(),
    };
    Err(CannotList::usage(format!("`{}` cannot be started: {why}", command.join(" "))))
}

/// Keeps how a process ended.
struct UntilTheEnd(Option<End>);

impl Listener for UntilTheEnd {
    fn since(&self) -> Option<Instant> {
        None
    }

    fn end(&mut self, end: &End) -> Vec<Said> {
        let (stdout, stderr) = (end.stdout.clone(), end.stderr.clone());
        self.0 = Some(End { how: end.how, stdout, stderr, seconds: end.seconds });
        Vec::new()
    }
}

/// Why there is no report to be read.
enum NoReport {
    NoneWritten,
    Bad(String),
}

fn read_written(before: &Before) -> Result<Report, NoReport> {
    let written = before.written_since();
    if written.is_empty() {
        return Err(NoReport::NoneWritten);
    }
    let mut all = Report::default();
    let mut size = 0;
    for path in written {
        let bad = |why: String| NoReport::Bad(format!("`{}` cannot be read: {why}", path.display()));
        size += fs::metadata(&path).map(|file| file.len()).unwrap_or(0);
        if size > LARGEST {
            return Err(bad(format!("reports of more than {} MiB are too much", LARGEST >> 20)));
        }
        let bytes = fs::read(&path).map_err(|error| bad(error.to_string()))?;
        let report = junit_xml::read(&bytes).map_err(bad)?;
        all.tests.extend(report.tests);
        all.rerun += report.rerun;
    }
    Ok(all)
}

fn no_report(why: &NoReport, before: &Before, results: &str, end: &End) -> String {
    let left = how_it_left(end.how);
    match why {
        NoReport::Bad(why) => format!("{why}. The command {left}{}", quoted(end)),
        NoReport::NoneWritten => {
            let older = if before.had_any() { "; what is there is older than this run" } else { "" };
            format!("no report was written to `{results}`{older}. The command {left}{}", quoted(end))
        }
    }
}

fn how_it_left(how: How) -> String {
    match how {
        How::Exit(code) => format!("left with exit code {code}"),
        How::Signal(_) | How::TimedOut => {
            let died = Judged::crashed(how, 0.0, None, "").failure;
            died.map_or("died".to_owned(), |failure| format!("was {}", failure.message))
        }
    }
}

fn printed(end: &End) -> String {
    [end.stdout.trim_end(), end.stderr.trim_end()].join("\n").trim().to_owned()
}

fn quoted(end: &End) -> String {
    match shortened(&printed(end), QUOTED) {
        nothing if nothing.is_empty() => " and printed nothing".to_owned(),
        text => format!(" and printed:\n{text}"),
    }
}

/// What a person should know of the first run.
fn remarks(report: &Report, end: &End) -> Vec<String> {
    let mut notes = Vec::new();
    let bad = report.tests.iter().filter(|test| matches!(test.result, Told::Failed(_))).count();
    if bad > 0 && end.how == How::Exit(0) {
        notes.push(format!("the command left with exit code 0, although {bad} tests failed by its report"));
    }
    if report.rerun > 0 {
        notes.push(format!(
            "the runner itself ran tests again: its report has {} failures that it excused by a later pass",
            report.rerun
        ));
    }
    notes
}

/// One test, as the first report knows it.
#[derive(Clone)]
struct Known {
    suite: String,
    classname: String,
    name: String,
    file: Option<String>,
    line: Option<u32>,
    /// How many of the same name came before it.
    nth: usize,
}

fn known(tests: Vec<Reported>, here: &Path) -> Vec<Known> {
    let mut seen: HashMap<(String, String), usize> = HashMap::new();
    let mut known = Vec::new();
    for Reported { suite, classname, name, file, line, .. } in tests {
        let group = group_of(&classname, &suite).to_owned();
        let times = seen.entry((group, name.clone())).or_default();
        *times += 1;
        let nth = *times - 1;
        // Many reports name the file as the class, or as the suite.
        let named = [&classname, &suite].into_iter().find(|one| !one.is_empty() && here.join(one).is_file()).cloned();
        let file = file.filter(|file| !file.is_empty()).or(named);
        known.push(Known { suite, classname, name, file, line, nth });
    }
    known
}

/// What goes before the name of a test: its class, or its suite where it has none.
fn group_of<'a>(classname: &'a str, suite: &'a str) -> &'a str {
    if classname.is_empty() { suite } else { classname }
}

impl Known {
    fn group(&self) -> &str {
        group_of(&self.classname, &self.suite)
    }

    fn id(&self) -> String {
        match (self.group(), self.name.as_str()) {
            ("", "") => "(no name)".to_owned(),
            ("", name) => name.to_owned(),
            (group, "") => group.to_owned(),
            (group, name) => format!("{group} {name}"),
        }
    }

    /// Its place in a report.
    fn found_in(&self, tests: &[Reported]) -> Option<usize> {
        let is_it = |test: &Reported| self.name == test.name && self.group() == group_of(&test.classname, &test.suite);
        let same: Vec<usize> = (0..tests.len()).filter(|at| is_it(&tests[*at])).collect();
        self.chosen(&same, tests)
    }

    /// Of several with its name the one in its place; the worst, where there are fewer than in the first report.
    fn chosen(&self, same: &[usize], tests: &[Reported]) -> Option<usize> {
        let rank = |at: &&usize| match tests[**at].result {
            Told::Failed(_) => 2,
            Told::Passed => 1,
            Told::Skipped(_) => 0,
        };
        same.get(self.nth).or_else(|| same.iter().max_by_key(rank)).copied()
    }

    /// Whether it is what went wrong outside of the tests of a suite, and this time nothing did.
    fn is_outside(&self, tests: &[Reported]) -> bool {
        self.name == OUTSIDE && tests.iter().any(|test| test.suite == self.suite)
    }
}

/// How each test of the whole command ended. What goes wrong outside of all tests is the affair of the last.
fn judge_whole(tests: &[Reported], end: &End, here: &Path) -> Vec<Judged> {
    let mut judged: Vec<Judged> = tests.iter().map(|test| judge_reported(test, here)).collect();
    let any = tests.iter().any(|test| matches!(test.result, Told::Failed(_)));
    let died = !matches!(end.how, How::Exit(_));
    if let Some(last) = judged.last_mut()
        && (died || end.how != How::Exit(0) && !any)
        && last.failure.as_ref().is_none_or(|_| last.outcome == Outcome::Skipped)
    {
        let message = format!("no test failed by the report, but the command {}", how_it_left(end.how));
        let message = if any { format!("after its last test the command {}", how_it_left(end.how)) } else { message };
        let failure = Failed { phase: Phase::SharedTearDown, trace: printed(end), ..failed("Failed", &message) };
        let outcome = if died { Outcome::Crashed } else { Outcome::Error };
        let how = died.then_some(end.how);
        *last = Judged { how, ..Judged::new(outcome, last.seconds) }.failed(failure);
    }
    judged
}

fn judge_reported(test: &Reported, here: &Path) -> Judged {
    match &test.result {
        Told::Passed => Judged::new(Outcome::Passed, test.seconds),
        Told::Skipped(reason) => {
            let reason = if reason.is_empty() { "skipped" } else { reason };
            Judged::new(Outcome::Skipped, test.seconds).failed(failed("Skipped", reason))
        }
        Told::Failed(trouble) => {
            let failure = failure_of(trouble, here);
            let outcome = if failure.phase == Phase::Call { Outcome::Failed } else { Outcome::Error };
            Judged::new(outcome, test.seconds).failed(failure).said(test.stdout.as_str(), test.stderr.as_str())
        }
    }
}

fn failure_of(trouble: &Trouble, here: &Path) -> Failed {
    // gotestsum says no more than this; the reason is in the text.
    let says_nothing = ["", "Failed"].contains(&trouble.message.trim());
    let frame = |line: &&str| !line.is_empty() && !line.starts_with("=== ") && !line.starts_with("--- ");
    let first_line = trouble.text.lines().map(str::trim).find(frame);
    let message = match first_line {
        Some(line) if says_nothing => line,
        _ if says_nothing => "the test failed and the report does not say why",
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
    Failed { phase, file, line, trace: trouble.text.clone(), ..failed(kind, message) }
}

/// The first `file:line` of a text whose file is one of the project.
fn place_in(text: &str, here: &Path) -> Option<(String, u32)> {
    static PLACE: OnceLock<Option<Regex>> = OnceLock::new();
    let place = PLACE.get_or_init(|| Regex::new(r"([\w./@+-]+\.[A-Za-z]\w*):(\d{1,7})\b").ok()).as_ref()?;
    let is_ours = |file: &str| !file.contains("node_modules/") && here.join(file).is_file();
    let mut places = place.captures_iter(text).take(50).filter(|found| is_ours(&found[1]));
    let found = places.next()?;
    let file = found[1].trim_start_matches("./");
    Some((relative(Path::new(file), here), found[2].parse().ok()?))
}

/// The user's command, and the one for a single test.
struct Command {
    whole: Vec<String>,
    template: Template,
    results: String,
    here: PathBuf,
    side: PathBuf,
    known: Vec<Known>,
    /// How each ended in the first run.
    first: Vec<Judged>,
    is_told: AtomicBool,
    /// Taken by whoever is about to write the report; handed from the start of a process to its listener.
    turn: Mutex<Option<Flock<File>>>,
}

impl Command {
    fn known(&self, case: &Case) -> &Known {
        // Names are made from places above.
        &self.known[case.name.parse::<usize>().unwrap_or(0).min(self.known.len() - 1)]
    }

    fn words(&self, one: &Known, results: &str) -> Result<Vec<String>, &'static str> {
        self.template.filled(|place| match place {
            "id" => Some(one.id()),
            "name" => Some(one.name.clone()),
            "name_regex" => Some(regex_of(&one.name)),
            "classname" => Some(one.classname.clone()),
            "suite" => Some(one.suite.clone()),
            "file" => one.file.clone(),
            _ => Some(results.to_owned()),
        })
    }

    /// Whether these are all tests, for the first time.
    fn is_first(&self, cases: &[&Case]) -> bool {
        cases.len() == self.known.len() && !self.is_told.load(Ordering::Relaxed)
    }

    /// Where it writes the report of one test, if it asks. A thread follows one process at a time.
    fn results_of_its_own(&self) -> PathBuf {
        let thread = format!("{:?}", std::thread::current().id()).replace(['(', ')'], "");
        self.side.join(format!("report-{}-{thread}.xml", std::process::id()))
    }

    /// Whether the process for these has a report that no other writes.
    fn has_its_own(&self, cases: &[&Case]) -> bool {
        cases.len() == 1 && self.template.has("results")
    }

    /// Two that write the same report must not run at once, in copies of this process neither.
    fn take_turn(&self) -> Result<(), String> {
        let file = File::create(self.side.join("report.lock")).map_err(|error| error.to_string())?;
        let turn = Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| error.to_string())?;
        *self.turn.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(turn);
        Ok(())
    }
}

impl Program for Command {
    fn is_shared(&self) -> bool {
        true
    }

    /// Only the whole command runs several tests, in its own order.
    fn may_follow(&self, numbers: &[u32], next: u32) -> bool {
        numbers.first() == Some(&0) && numbers.last().is_some_and(|last| next == last + 1)
    }

    /// Nothing is started for what can be told at once: the listener has said all at its beginning.
    fn start(&self, cases: &[&Case]) -> Result<Start, String> {
        if self.is_first(cases) {
            return Ok(Start::default());
        }
        let words = match cases {
            [one] => self.words(self.known(one), &self.results_of_its_own().to_string_lossy()).unwrap_or_default(),
            _ => self.whole.clone(),
        };
        if !words.is_empty() && !self.has_its_own(cases) {
            self.take_turn()?;
        }
        Ok(Start { words, ..Start::default() })
    }

    fn listener(&self, cases: &[&Case]) -> Box<dyn Listener> {
        if self.is_first(cases) {
            self.is_told.store(true, Ordering::Relaxed);
            let told = |(at, judged): (usize, &Judged)| [Said::Start(at), Said::Done(at, judged.clone())];
            return Box::new(AtOnce(self.first.iter().enumerate().flat_map(told).collect()));
        }
        if let [one] = cases
            && let Err(place) = self.words(self.known(one), "")
        {
            let asked = format!("the report does not say its {place}, and {{{place}}} asks for it");
            let judged =
                Judged::new(Outcome::Error, 0.0).failed(failed("NotRun", &format!("it cannot be run alone: {asked}")));
            return Box::new(AtOnce(vec![Said::Start(0), Said::Done(0, judged)]));
        }
        let results = if self.has_its_own(cases) { self.results_of_its_own() } else { self.here.join(&self.results) };
        Box::new(Follower {
            known: cases.iter().map(|case| self.known(case).clone()).collect(),
            here: self.here.clone(),
            results,
            before: None,
            begun: Instant::now(),
            _turn: self.turn.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take(),
        })
    }
}

/// Says all it knows before anything is started.
struct AtOnce(Vec<Said>);

impl Listener for AtOnce {
    fn begin(&mut self) -> Vec<Said> {
        std::mem::take(&mut self.0)
    }

    fn since(&self) -> Option<Instant> {
        None
    }

    fn end(&mut self, _end: &End) -> Vec<Said> {
        Vec::new()
    }
}

/// Follows the process of one test or of the whole command, and reads its report.
struct Follower {
    known: Vec<Known>,
    here: PathBuf,
    results: PathBuf,
    before: Option<Before>,
    begun: Instant,
    _turn: Option<Flock<File>>,
}

impl Listener for Follower {
    fn begin(&mut self) -> Vec<Said> {
        self.before = Some(Before::now(&self.results));
        self.begun = Instant::now();
        vec![Said::Start(0)]
    }

    /// The limit is one for single tests.
    fn since(&self) -> Option<Instant> {
        Some(self.begun).filter(|_| self.known.len() == 1)
    }

    fn end(&mut self, end: &End) -> Vec<Said> {
        let Some(before) = self.before.take() else { return Vec::new() };
        let judged = match (read_written(&before), &self.known[..]) {
            (Ok(report), [one]) if matches!(end.how, How::Exit(_)) => {
                vec![judge_alone(one, &report.tests, end, &self.here)]
            }
            (Ok(report), known) if known.len() > 1 => judge_again(known, &report.tests, end, &self.here),
            (Err(why), known) if matches!(end.how, How::Exit(_)) => {
                let results = self.results.strip_prefix(&self.here).unwrap_or(&self.results);
                let message = no_report(&why, &before, &results.to_string_lossy(), end);
                known.iter().map(|_| not_run(&message, end)).collect()
            }
            (_, known) => known.iter().map(|_| died(end)).collect(),
        };
        let with_output = |judged: Judged| match judged.stdout.is_empty() && judged.stderr.is_empty() {
            true => judged.said(end.stdout.as_str(), end.stderr.as_str()),
            false => judged,
        };
        let told = |(at, judged)| {
            let start = (at > 0).then_some(Said::Start(at));
            start.into_iter().chain([Said::Done(at, with_output(judged))])
        };
        judged.into_iter().enumerate().flat_map(told).collect()
    }
}

fn died(end: &End) -> Judged {
    match end.how {
        How::TimedOut => Judged::timed_out(end.seconds, &printed(end)),
        how => Judged::crashed(how, end.seconds, None, &printed(end)),
    }
}

/// The first tests of the report, when the whole command has run once more.
fn judge_again(known: &[Known], tests: &[Reported], end: &End, here: &Path) -> Vec<Judged> {
    let all = judge_whole(tests, end, here);
    let mut places: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for (at, test) in tests.iter().enumerate() {
        places.entry((group_of(&test.classname, &test.suite), &test.name)).or_default().push(at);
    }
    let place = |one: &Known| one.chosen(places.get(&(one.group(), one.name.as_str()))?, tests);
    let judge = |one: &Known| match place(one) {
        Some(at) => all[at].clone(),
        None if one.is_outside(tests) => Judged::new(Outcome::Passed, 0.0),
        None => not_run("it was not run: the report of the same command does not have it this time", end),
    };
    known.iter().map(judge).collect()
}

fn not_run(message: &str, end: &End) -> Judged {
    let (message, rest) = message.split_once('\n').unwrap_or((message, ""));
    let trace = if rest.is_empty() { printed(end) } else { rest.to_owned() };
    let failure = Failed { phase: Phase::Process, trace, ..failed("NotRun", message) };
    Judged::new(Outcome::Error, end.seconds).failed(failure)
}

/// Its own entry in the report decides. The exit code must not say otherwise.
fn judge_alone(one: &Known, tests: &[Reported], end: &End, here: &Path) -> Judged {
    let left = how_it_left(end.how);
    let any = tests.iter().any(|test| matches!(test.result, Told::Failed(_)));
    let Some(found) = one.found_in(tests).map(|at| &tests[at]) else {
        if one.is_outside(tests) && (any || end.how == How::Exit(0)) {
            return Judged::new(Outcome::Passed, end.seconds);
        }
        let others = match tests.len() {
            0 => "no test at all".to_owned(),
            1 => "one other test".to_owned(),
            number => format!("{number} other tests"),
        };
        return not_run(&format!("it was not run: the report has {others}, and the command {left}"), end);
    };
    match &found.result {
        Told::Skipped(reason) if reason.is_empty() => not_run(
            &format!("it was not run: the report has it as skipped, without a reason, and the command {left}"),
            end,
        ),
        Told::Passed if end.how != How::Exit(0) && !any => {
            let message = format!("it passed by its report and no other test failed, but the command {left}");
            let failure = Failed { phase: Phase::Process, trace: printed(end), ..failed("Failed", &message) };
            Judged::new(Outcome::Error, found.seconds).failed(failure)
        }
        _ => {
            let mut judged = judge_reported(found, here);
            if let (Told::Failed(_), How::Exit(0), Some(failure)) = (&found.result, end.how, &mut judged.failure) {
                failure.trace.push_str("\n(the command left with exit code 0 all the same)");
            }
            judged
        }
    }
}

#[cfg(test)]
#[path = "junit_tests.rs"]
mod tests;
