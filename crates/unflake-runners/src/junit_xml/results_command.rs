//! Any command that writes JUnit XML, where another command runs a single test.
//!
//! Nothing can be listed without running it: the first run of the whole command is the list, and its results are told when
//! all tests are ordered for the first time. After that a test runs alone, in a process of its own; the first so many of
//! the report, in its order, are run by the whole command once more. No other order is to be had in one process.

use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use nix::fcntl::{Flock, FlockArg};
use unflake_protocol::Outcome;

use crate::driver::orders::Workshop;
use crate::driver::suite::{
    CannotList, Case, End, How, Judged, Listener, Program, Said, Start, Suite, failed, relative,
};
use crate::junit_xml::one_test_command::{Template, regex_of};
use crate::junit_xml::outcome::{
    Known, died, how_it_left, judge_again, judge_alone, judge_whole, known, no_report, not_run, quoted, read_written,
    remarks,
};
use crate::process::changed_files::{Before, is_pattern};
use crate::process::child::{self, Limits};

const OUTPUT: usize = 64 << 10;

/// Where reports are written, and how one test is run.
pub struct ResultsCommand {
    /// A path or a pattern.
    pub results: String,
    /// A command with places to be filled in.
    pub one_test: String,
}

pub(crate) fn list(reports: &ResultsCommand, command: &[String], workshop: &Workshop<'_>) -> Result<Suite, CannotList> {
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
            crowd: None,
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
    let followed = child::follow(&start, workshop.world, &limits, &mut listener, |_| {});
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

    /// The first run of the whole command was made to list its tests. What a report does not say of a test cannot be filled in.
    fn known(&self, cases: &[&Case]) -> Option<Vec<Judged>> {
        if cases.len() == self.known.len() && !self.is_told.swap(true, Ordering::Relaxed) {
            return Some(self.first.clone());
        }
        let [one] = cases else { return None };
        let place = self.words(self.known(one), "").err()?;
        let why = format!("it cannot be run alone: the report does not say its {place}, and {{{place}}} asks for it");
        Some(vec![Judged::new(Outcome::Error, 0.0).failed(failed("NotRun", &why))])
    }

    fn start(&self, cases: &[&Case], _jobs: u32) -> Result<Start, String> {
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
