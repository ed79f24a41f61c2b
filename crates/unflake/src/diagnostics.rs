//! The log of unflake itself: set up by `-v`, `-vv` and `UNFLAKE_LOG`, and the events of the run
//! loop.
//!
//! Nothing is logged unless the user asks for it. The log goes to standard error; on a terminal it
//! scrolls above the progress line. Texts that come from tests are logged with `?`, which escapes
//! control characters.

use std::env;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use tracing::level_filters::LevelFilter;
use tracing::{debug, debug_span, info, warn};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use unflake_engine::Launch;
use unflake_model::{Detail, Event, Finding, Purpose, Session};

use crate::config::settings::{Setting, Settings};
use crate::error::CommandError;

/// A filter such as `debug` or `unflake_engine=trace`.
pub(crate) const VARIABLE: &str = "UNFLAKE_LOG";

/// The targets of the events below.
const SETTINGS: &str = "unflake::settings";
const ENGINE: &str = "unflake::engine";
const TECHNIQUE: &str = "unflake::technique";

/// How often `-v` was given.
static VERBOSITY: AtomicU8 = AtomicU8::new(0);

/// Sets up the log. `verbose` counts the `-v` options; the variable adds to them.
pub(crate) fn init(verbose: u8) -> Result<(), CommandError> {
    let Some(targets) = targets(verbose)? else { return Ok(()) };
    VERBOSITY.store(verbose, Ordering::Relaxed);
    let terminal = io::stderr().is_terminal();
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(move || LogWriter { terminal })
        .with_timer(SinceStart(Instant::now()));
    tracing_subscriber::registry().with(targets).with(layer).init();
    Ok(())
}

/// The same in a child process: the log goes to the standard error of unflake itself. Where that
/// cannot be opened, there is none.
pub(crate) fn init_in_child(verbose: u8, log: Option<&Path>) {
    let file = log.and_then(|log| File::options().append(true).open(log).ok());
    let (Ok(Some(targets)), Some(file)) = (targets(verbose), file) else { return };
    let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(file).without_time();
    tracing_subscriber::registry().with(targets).with(layer).init();
}

/// The arguments that make a child process write to the log of this one.
pub(crate) fn arguments_of_children() -> Vec<String> {
    let verbose = VERBOSITY.load(Ordering::Relaxed);
    if verbose == 0 && env::var_os(VARIABLE).is_none() {
        return Vec::new();
    }
    let log = format!("--log=/proc/{}/fd/2", std::process::id());
    std::iter::repeat_n("-v".to_owned(), usize::from(verbose)).chain([log]).collect()
}

/// What to log. None: nothing.
fn targets(verbose: u8) -> Result<Option<Targets>, CommandError> {
    let filter = env::var(VARIABLE).unwrap_or_default();
    if verbose == 0 && filter.is_empty() {
        return Ok(None);
    }
    let mut targets: Targets = filter.parse().map_err(|error| {
        CommandError::usage(format!("{VARIABLE}: `{filter}` is not a filter: {error}"))
            .hint("a level such as `debug`, or `CRATE=LEVEL` such as `unflake_engine=trace`, separated by commas")
    })?;
    match verbose {
        0 => {}
        1 => targets = targets.with_target("unflake", LevelFilter::INFO),
        2 => targets = targets.with_target("unflake", LevelFilter::DEBUG),
        _ => targets = targets.with_target("unflake", LevelFilter::TRACE),
    }
    Ok(Some(targets))
}

/// Seconds since the start of unflake.
struct SinceStart(Instant);

impl FormatTime for SinceStart {
    fn format_time(&self, out: &mut Writer<'_>) -> std::fmt::Result {
        write!(out, "{:9.3}s", self.0.elapsed().as_secs_f64())
    }
}

/// Standard error. On a terminal an event takes the place of the progress line, which is drawn
/// again below it.
struct LogWriter {
    terminal: bool,
}

impl Write for LogWriter {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let mut out = io::stderr().lock();
        if self.terminal {
            out.write_all(b"\r\x1b[K")?;
        }
        out.write_all(event)?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn log_settings(project: &Path, settings: &Settings) {
    let Setting { value: command, from } = &settings.command;
    info!(target: SETTINGS, ?project, ?command, %from, "test command");
    for (setting, value, from) in settings.rows().into_iter().skip(1).filter(|(_, _, from)| from != "default") {
        info!(target: SETTINGS, setting, value, from, "setting that is not the default");
    }
}

pub(crate) fn log_launch(launch: &Launch) {
    let how = match launch.driver {
        Some(_) => "by a driver of unflake",
        None => "with an agent inside of the runner",
    };
    let (jobs, timeout, budget) = (launch.jobs, launch.timeout, launch.time);
    info!(target: ENGINE, how, jobs, ?timeout, ?budget, "starting the test command");
    debug!(
        target: ENGINE,
        suite = launch.suite,
        traced = ?launch.traced,
        layers = ?launch.layers,
        filter = launch.filter,
        depends = ?launch.depends,
        "launch"
    );
}

pub(crate) fn log_listing(listed: bool, seconds: f64) {
    info!(target: ENGINE, listed, seconds = %format_args!("{seconds:.3}"), "listing is over");
}

/// The sessions that a technique asks for in one step. None: it has come to its end.
pub(crate) fn log_question(sessions: &[Session]) {
    if sessions.is_empty() {
        info!(target: TECHNIQUE, "the technique asks for no more sessions");
        return;
    }
    let mut purposes: Vec<(Purpose, usize, usize)> = Vec::new();
    for session in sessions {
        match purposes.iter_mut().find(|(purpose, ..)| *purpose == session.purpose) {
            Some((_, count, tests)) => (*count, *tests) = (*count + 1, *tests + session.tests.len()),
            None => purposes.push((session.purpose, 1, session.tests.len())),
        }
    }
    for (purpose, sessions, tests) in purposes {
        info!(target: TECHNIQUE, ?purpose, sessions, tests, why = reason(purpose), "the technique asks for sessions");
    }
    for session in sessions {
        let first: Vec<&str> = session.tests.iter().take(3).map(|test| test.as_str()).collect();
        debug!(
            target: TECHNIQUE,
            session = session.id.0,
            purpose = ?session.purpose,
            place = ?session.place,
            tests = session.tests.len(),
            ?first,
            "session asked for"
        );
    }
}

/// Why sessions of this purpose are run.
fn reason(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Suite => "the user's suite in the runner's order, with immediate reruns of failures",
        Purpose::AtEnd => "rerun failures after the suite, in the same process: does the failure persist",
        Purpose::WithoutFiles => "rerun failures without the files that they left: do those decide",
        Purpose::OtherSeeds => "rerun failures in new processes with other seeds: does a seed decide",
        Purpose::Together => "rerun failures in one new process, isolated from each other: do they persist",
        Purpose::Fresh => "rerun failures in a fresh environment: do they depend on earlier tests",
        Purpose::Again => "repeat what ran in one process in a new one, to reach the same state",
        Purpose::Stress => "run copies of a test at the same time until one fails",
        Purpose::Look => "observe or trace a test while it runs",
        Purpose::Twice => "run a test twice in one process: is it idempotent",
        Purpose::Order => "run tests in another order than the runner's",
        Purpose::Search => "search for the tests that make another one fail or pass",
        Purpose::State => "show or restore the state that tests leave behind",
        Purpose::Base => "run a test at the merge base: did it fail before the change",
        Purpose::Replay => "run the named tests in the given order",
        Purpose::Factor => "run a test in a changed environment: which factor makes it fail",
    }
}

pub(crate) fn log_event(event: &Event) {
    match event {
        Event::EnvironmentStarted(environment) => info!(
            target: ENGINE,
            environment = environment.id.0,
            origin = ?environment.origin,
            parent = environment.parent.map(|parent| parent.0),
            runner = ?environment.runner,
            language = ?environment.language,
            "environment is up"
        ),
        Event::TestsListed { tests, deselected, isolated, seconds } => {
            info!(target: ENGINE, tests = tests.len(), deselected, isolated, seconds, "suite listed");
        }
        Event::Problem(problem) => {
            warn!(target: ENGINE, kind = ?problem.kind, text = ?problem.text, "tests cannot be run")
        }
        Event::Note(note) => info!(
            target: ENGINE,
            ?note, "note"),
        Event::AttemptEnded(attempt) => {
            let (session, environment) = (attempt.session.0, attempt.environment.0);
            let _session = debug_span!(target: ENGINE, "session", id = session, environment).entered();
            let _test = debug_span!(target: ENGINE, "test", name = ?attempt.test.as_str()).entered();
            let failure = attempt.failure.as_ref().map(|failure| failure.kind.as_str());
            let (outcome, run, seconds) = (attempt.outcome.word(), attempt.run, format!("{:.3}", attempt.seconds));
            debug!(target: ENGINE, outcome, %seconds, run, failure, "attempt");
        }
        Event::FilesLeft { test, files } => {
            let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            debug!(target: ENGINE, test = ?test.as_str(), ?paths, "files that it wrote and left");
        }
        Event::EarlierRuns { test, earlier } => {
            debug!(target: ENGINE, test = ?test.as_str(), ?earlier, "earlier runs of a failing test");
        }
        Event::ChangesCompared(compared) => match compared.as_ref() {
            Ok(comparison) => info!(
                target: ENGINE,
                base = comparison.changes.base.revision,
                chosen = %comparison.changes.base.chosen.words(),
                files = comparison.changes.files.len(),
                passed_before = comparison.passed.len(),
                "compared with the base"
            ),
            Err(why) => info!(
                target: ENGINE,
                ?why, "no comparison with the base"),
        },
        Event::SessionEnded { session, left, why } => {
            debug!(target: ENGINE, session = session.0, not_run = left.len(), ?why, "session ended");
        }
        _ => {}
    }
}

pub(crate) fn log_finding(finding: &Finding) {
    let (test, sentence) = (finding.test.as_str(), &finding.sentence);
    match &finding.detail {
        Detail::Verdict(verdict) => info!(
            target: TECHNIQUE,
            ?test,
            verdict = ?verdict.kind,
            rung = ?verdict.rung,
            failed = verdict.evidence.failed,
            attempts = verdict.evidence.attempts,
            ?sentence,
            "verdict"
        ),
        _ => info!(
            target: TECHNIQUE,
            ?test, technique = finding.technique(), ?sentence, "finding"),
    }
}
