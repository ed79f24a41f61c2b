//! Any command that writes JUnit XML, with a second command that runs a single test.
//!
//! Tests cannot be listed without running them: the first run of the whole command is the list, and
//! its results answer the first order for all tests. Later a test runs alone in its own process;
//! the first n tests of the report, in its order, run with the whole command again. No other order
//! is possible in one process.

use std::env;
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use nix::fcntl::{Flock, FlockArg};
use unflake_protocol::Outcome;

use crate::driver::list_context::ListContext;
use crate::driver::program::{OutputListener, Program, ProgramEvent};
use crate::driver::suite::{ListError, ListedSuite, TestCase};
use crate::driver::test_result::{TestResult, failed};
use crate::junit_xml::one_test_command::{OneTestCommand, regex_of};
use crate::junit_xml::outcome::{
    ReportedTestName, died, how_it_left, judge_again, judge_alone, judge_whole, known, no_report, not_run, quoted,
    read_written, remarks,
};
use crate::junit_xml::report_only;
use crate::process::changed_files::{FileStamps, is_pattern};
use crate::process::child;
use crate::process::child::ChildLimits;
use crate::process::files::relative;
use crate::process::spec::{ExitKind, ProcessEnd, ProcessSpec};
use crate::runner::{
    AgentEntry, Capabilities, Driver, Profile, ProjectFiles, Runner, RunnerOption, UnsupportedCommand,
};

const OUTPUT: usize = 64 << 10;

/// Any command, with the two settings that tell unflake how to use it.
pub(crate) struct ResultsCommand;

static PROFILE: Profile = Profile {
    name: "JUnit XML",
    language: "any language",
    capabilities: Capabilities { fork: true, lists_by_running: true, ..Capabilities::NONE },
    options: &[
        RunnerOption {
            name: "results",
            meaning: "where your command writes its JUnit XML",
            help: "Where your command writes its results as JUnit XML: a path, or a pattern such as `build/**/*.xml`. \
                   For runners that unflake does not know; goes with --one-test",
            check: |_| Ok(()),
        },
        RunnerOption {
            name: "one-test",
            meaning: "the command that runs a single test",
            help: "The command that runs a single test, with {name}, {name_regex}, {classname}, {suite}, {file} or {id} \
                   in it, and {results} for a report of its own. Split into words as a shell would; none is started",
            check: |template| OneTestCommand::parse(template).map(|_| ()),
        },
    ],
    // Build tools whose runners are known by their reports only.
    files: ProjectFiles {
        global_inputs: &[
            "**/package.json",
            "**/package-lock.json",
            "**/yarn.lock",
            "**/pnpm-lock.yaml",
            "**/go.mod",
            "**/go.sum",
            "**/Gemfile",
            "**/Gemfile.lock",
        ],
        caches: &["node_modules"],
        ..ProjectFiles::NONE
    },
    variables: &["NODE"],
    ..Profile::EMPTY
};

impl Runner for ResultsCommand {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn entry(&self) -> AgentEntry {
        AgentEntry::Driven(Driver { list })
    }

    /// Its settings select it, never its command.
    fn recognizes(&self, _command: &[String]) -> bool {
        false
    }

    fn explain_unsupported(
        &self,
        command: &[String],
        is_supported: &dyn Fn(&[String]) -> bool,
    ) -> Option<UnsupportedCommand> {
        report_only::explain(command, &env::current_dir().unwrap_or_default(), is_supported)
    }
}

fn list(context: &ListContext<'_>) -> Result<ListedSuite, ListError> {
    let (command, results) = (context.command, context.options.one("results"));
    let template = OneTestCommand::parse(context.options.one("one-test"))
        .map_err(|why| ListError::usage(format!("the command for one test cannot be used: {why}")))?;
    let before = FileStamps::now(&context.here.join(results));
    let end = run_whole(command, context)?;
    let report = read_written(&before).map_err(|why| ListError::collection(no_report(&why, &before, results, &end)))?;
    if report.tests.is_empty() && end.exit != ExitKind::Exit(0) {
        let text = format!("the report has no tests, and the command {}{}", how_it_left(end.exit), quoted(&end));
        return Err(ListError::collection(text));
    }
    let mut suite = ListedSuite { root: context.here.clone(), notes: remarks(&report, &end), ..ListedSuite::default() };
    let first = judge_whole(&report.tests, &end, &context.here);
    let known = known(report.tests, &context.here);
    let files = known.iter().filter(|one| one.file.is_none()).count();
    if files > 0 && template.has("file") {
        let what = format!("{files} of {} tests cannot be run alone", known.len());
        suite.notes.push(format!("{what}: the report does not say in which file they are, and {{file}} asks for it"));
    }
    let program = Arc::new(ResultsProgram {
        whole: command.to_vec(),
        template,
        results: results.to_owned(),
        here: context.here.clone(),
        run_dir: context.run_dir.to_owned(),
        known,
        first,
        first_reported: AtomicBool::new(false),
        report_lock: Mutex::new(None),
    });
    for (at, one) in program.known.iter().enumerate() {
        let file = one.file.as_ref().map(|file| relative(&context.here.join(file), &context.here));
        let alone = program.words(one, &plain_results(results)).unwrap_or_default();
        // The program calls a test by its position in the first report.
        let test = TestCase::new(one.id(), at.to_string(), program.clone(), alone);
        suite.tests.push(TestCase { file, line: one.line, ..test });
    }
    Ok(suite)
}

/// The report of one test in a command for the user.
fn plain_results(results: &str) -> String {
    if is_pattern(results) { "report.xml".to_owned() } else { results.to_owned() }
}

/// Passes the output of the command on.
fn run_whole(command: &[String], context: &ListContext<'_>) -> Result<ProcessEnd, ListError> {
    let start = ProcessSpec { words: command.to_vec(), ..ProcessSpec::default() };
    let mut listener = EndRecorder(None);
    let limits = ChildLimits { time: None, output: OUTPUT };
    let followed = child::follow(&start, context.env_changes, &limits, &mut listener, |_| {});
    let why = match (followed, listener.0) {
        (Ok(()), Some(end)) => {
            print!("{}", end.stdout);
            eprint!("{}", end.stderr);
            return Ok(end);
        }
        (Err(error), _) => error.to_string(),
        (Ok(()), None) => "no output".to_owned(),
    };
    Err(ListError::usage(format!("`{}` cannot be started: {why}", command.join(" "))))
}

/// Keeps how a process ended.
struct EndRecorder(Option<ProcessEnd>);

impl OutputListener for EndRecorder {
    fn since(&self) -> Option<Instant> {
        None
    }

    fn end(&mut self, end: &ProcessEnd) -> Vec<ProgramEvent> {
        let (stdout, stderr) = (end.stdout.clone(), end.stderr.clone());
        self.0 = Some(ProcessEnd { exit: end.exit, stdout, stderr, seconds: end.seconds });
        Vec::new()
    }
}

/// The user's command and the one for a single test.
struct ResultsProgram {
    whole: Vec<String>,
    template: OneTestCommand,
    results: String,
    here: PathBuf,
    run_dir: PathBuf,
    known: Vec<ReportedTestName>,
    /// The results of the first run.
    first: Vec<TestResult>,
    first_reported: AtomicBool,
    /// Held by the process that writes the report; passed from the start of a process to its
    /// listener.
    report_lock: Mutex<Option<Flock<File>>>,
}

impl ResultsProgram {
    fn known(&self, test: &TestCase) -> &ReportedTestName {
        // `list` makes names from positions.
        &self.known[test.name.parse::<usize>().unwrap_or(0).min(self.known.len() - 1)]
    }

    fn words(&self, one: &ReportedTestName, results: &str) -> Result<Vec<String>, &'static str> {
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

    /// The report of one test, if its command has a placeholder for it. A thread runs one process
    /// at a time.
    fn results_of_its_own(&self) -> PathBuf {
        let thread = format!("{:?}", std::thread::current().id()).replace(['(', ')'], "");
        self.run_dir.join(format!("report-{}-{thread}.xml", std::process::id()))
    }

    /// Whether no other process writes the report of these tests.
    fn has_its_own(&self, tests: &[&TestCase]) -> bool {
        tests.len() == 1 && self.template.has("results")
    }

    /// Two processes that write the same report must not run at once, not even in forks of the
    /// driver.
    fn lock_report(&self) -> Result<(), String> {
        let file = File::create(self.run_dir.join("report.lock")).map_err(|error| error.to_string())?;
        let report_lock = Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| error.to_string())?;
        *self.report_lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(report_lock);
        Ok(())
    }
}

impl Program for ResultsProgram {
    fn is_shared(&self) -> bool {
        true
    }

    /// Only the whole command runs several tests, in its own order.
    fn may_follow(&self, numbers: &[u32], next: u32) -> bool {
        numbers.first() == Some(&0) && numbers.last().is_some_and(|last| next == last + 1)
    }

    /// The first run listed the tests. A placeholder without a value in the report has no command.
    fn known(&self, tests: &[&TestCase]) -> Option<Vec<TestResult>> {
        if tests.len() == self.known.len() && !self.first_reported.swap(true, Ordering::Relaxed) {
            return Some(self.first.clone());
        }
        let [one] = tests else { return None };
        let place = self.words(self.known(one), "").err()?;
        let why = format!("it cannot be run alone: the report does not say its {place}, and {{{place}}} asks for it");
        Some(vec![TestResult::new(Outcome::Error, 0.0).failed(failed("NotRun", &why))])
    }

    fn start(&self, tests: &[&TestCase], _jobs: u32) -> Result<ProcessSpec, String> {
        let words = match tests {
            [one] => self.words(self.known(one), &self.results_of_its_own().to_string_lossy()).unwrap_or_default(),
            _ => self.whole.clone(),
        };
        if !words.is_empty() && !self.has_its_own(tests) {
            self.lock_report()?;
        }
        Ok(ProcessSpec { words, ..ProcessSpec::default() })
    }

    fn listener(&self, tests: &[&TestCase]) -> Box<dyn OutputListener> {
        let results = if self.has_its_own(tests) { self.results_of_its_own() } else { self.here.join(&self.results) };
        Box::new(ReportListener {
            known: tests.iter().map(|test| self.known(test).clone()).collect(),
            here: self.here.clone(),
            results,
            before: None,
            begun: Instant::now(),
            _report_lock: self.report_lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take(),
        })
    }
}

/// Reads the report of one test or of the whole command.
struct ReportListener {
    known: Vec<ReportedTestName>,
    here: PathBuf,
    results: PathBuf,
    before: Option<FileStamps>,
    begun: Instant,
    _report_lock: Option<Flock<File>>,
}

impl OutputListener for ReportListener {
    fn begin(&mut self) -> Vec<ProgramEvent> {
        self.before = Some(FileStamps::now(&self.results));
        self.begun = Instant::now();
        vec![ProgramEvent::Started(0)]
    }

    /// The time limit is that of a single test.
    fn since(&self) -> Option<Instant> {
        Some(self.begun).filter(|_| self.known.len() == 1)
    }

    fn end(&mut self, end: &ProcessEnd) -> Vec<ProgramEvent> {
        let Some(before) = self.before.take() else { return Vec::new() };
        let results = match (read_written(&before), &self.known[..]) {
            (Ok(report), [one]) if matches!(end.exit, ExitKind::Exit(_)) => {
                vec![judge_alone(one, &report.tests, end, &self.here)]
            }
            (Ok(report), known) if known.len() > 1 => judge_again(known, &report.tests, end, &self.here),
            (Err(why), known) if matches!(end.exit, ExitKind::Exit(_)) => {
                let results = self.results.strip_prefix(&self.here).unwrap_or(&self.results);
                let message = no_report(&why, &before, &results.to_string_lossy(), end);
                known.iter().map(|_| not_run(&message, end)).collect()
            }
            (_, known) => known.iter().map(|_| died(end)).collect(),
        };
        let with_output = |results: TestResult| match results.stdout.is_empty() && results.stderr.is_empty() {
            true => results.with_output(end.stdout.as_str(), end.stderr.as_str()),
            false => results,
        };
        let events = |(at, results)| {
            let start = (at > 0).then_some(ProgramEvent::Started(at));
            start.into_iter().chain([ProgramEvent::Done(at, with_output(results))])
        };
        results.into_iter().enumerate().flat_map(events).collect()
    }
}
