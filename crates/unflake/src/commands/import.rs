//! `unflake import`: results that other programs wrote, into the history.

use std::collections::HashMap;
use std::env;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::UNIX_EPOCH;

use unflake_formats::{Format, ReportedTest};
use unflake_model::{TestId, Timestamp};
use unflake_report::{ImportReport, TerminalStyle};
use unflake_store::{Report, ReportFacts, ReportedExecution, Store, StoreError, StoreLocation};

use crate::args::ImportArgs;
use crate::ci::{self, Ci};
use crate::error::Trouble;
use crate::exit::Exit;
use crate::history_recorder::now;
use crate::result_files::{Found, Hashed, find};

/// So many executions are one transaction, or fewer where they say much. Where a file is cut depends on nothing but its
/// contents, so that two who read the same file cut it alike.
const CHUNK: usize = 20_000;
const CHUNK_TEXT: usize = 16 << 20;
/// Tests of one file. More are names that mean nothing.
const MOST_TESTS: usize = 1_000_000;
/// By this much of a file its format is known, and when its tests ran.
const HEAD: u64 = 64 << 10;

pub(crate) fn run(args: &ImportArgs, place: &StoreLocation, look: &TerminalStyle) -> Result<Exit, Trouble> {
    let from = origin(args);
    let at = args.at.as_deref().map(moment).transpose()?;
    let mut store = Store::open(place)?;
    let mut told = ImportReport::default();
    for found in find(&args.files) {
        let name = found.path.display().to_string();
        match import(&found, &from, at, &mut store, &mut told)? {
            Outcome::Taken | Outcome::NotMeant => {}
            Outcome::Refused(why) => told.refused.push((name, why)),
        }
    }
    let mut out = io::stdout().lock();
    let written = if args.quiet && told.refused.is_empty() && told.broken.is_empty() {
        Ok(())
    } else {
        told.write(look, &mut out).and_then(|()| out.flush())
    };
    written
        .or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
        .map_err(Trouble::internal("print what was imported"))?;
    Ok(match (told.refused.is_empty(), told.broken.is_empty()) {
        (false, _) => Exit::Usage,
        (true, false) => Exit::Incomplete,
        (true, true) => Exit::Success,
    })
}

/// What was typed, else what the CI says.
fn origin(args: &ImportArgs) -> Ci {
    let said = ci::look(&|name| env::var(name).ok());
    Ci {
        commit: args.revision.clone().or(said.commit),
        branch: args.branch.clone().or(said.branch),
        attempt: args.ci_attempt.or(said.attempt.filter(|_| args.ci_run.is_none())),
        run: args.ci_run.clone().or(said.run),
        job: args.job.clone().or(said.job),
    }
}

fn moment(text: &str) -> Result<Timestamp, Trouble> {
    let stamp: Result<jiff::Timestamp, _> = text.parse();
    stamp
        .map(|stamp| Timestamp(stamp.as_microsecond()))
        .map_err(|_| Trouble::usage(format!("--at {text} is no time")).hint("it looks like this: 2026-11-15T14:37:15Z"))
}

enum Outcome {
    Taken,
    /// A file in a directory that is something else.
    NotMeant,
    Refused(String),
}

fn import(
    found: &Found,
    from: &Ci,
    at: Option<Timestamp>,
    store: &mut Store,
    told: &mut ImportReport,
) -> Result<Outcome, Trouble> {
    let (facts, format, file) = match examine(&found.path, from, at) {
        Ok(Some(examined)) => examined,
        Ok(None) if found.named => {
            let why = "it is neither JUnit XML nor CTRF, pytest-reportlog or libtest-json";
            return Ok(Outcome::Refused(why.to_owned()));
        }
        Ok(None) => return Ok(Outcome::NotMeant),
        Err(why) => return Ok(Outcome::Refused(why.to_string())),
    };
    let report = store.begin_report(&facts)?;
    if report.ended.is_some() {
        told.known += 1;
        return Ok(Outcome::Taken);
    }
    let broken = take_in(&report, &facts, format, file, store, told)?;
    store.finish_report(report.id, &broken)?;
    told.files += 1;
    if !broken.is_empty() {
        told.broken.push((facts.path, broken));
    }
    Ok(Outcome::Taken)
}

/// What is to be known of a file before it is read. None: it is no report.
fn examine(path: &Path, from: &Ci, at: Option<Timestamp>) -> io::Result<Option<(ReportFacts, Format, File)>> {
    let meta = path.metadata()?;
    // Anything else may have no end.
    if !meta.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut file = File::open(path)?;
    let mut head = Vec::new();
    (&file).take(HEAD).read_to_end(&mut head)?;
    let Some(format) = Format::guess(&head) else { return Ok(None) };
    file.rewind()?;
    let mut hashed = Hashed::new(&file);
    let size = io::copy(&mut hashed, &mut io::sink())?;
    let when = first_moment(format, &head);
    let mut key = hashed.key();
    // A report that says when it ran is the same wherever it comes from. One that does not may be that of another run, in
    // which everything went alike.
    if let (None, Some(run)) = (when, &from.run) {
        key += &format!(" {run} {}", from.attempt.unwrap_or(1));
    }
    let changed = meta.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as i64;
    file.rewind()?;
    let facts = ReportFacts {
        key,
        format: format.to_string(),
        path: path.display().to_string(),
        size,
        started: at.or(when).unwrap_or(Timestamp(changed)),
        imported: now(),
        commit: from.commit.clone(),
        branch: from.branch.clone(),
        ci_run: from.run.clone(),
        ci_attempt: from.attempt,
        job: from.job.clone(),
    };
    Ok(Some((facts, format, file)))
}

fn first_moment(format: Format, head: &[u8]) -> Option<Timestamp> {
    let mut when = None;
    let _ = unflake_formats::read(format, head, &mut |case| {
        when = case.when;
        if when.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    when
}

/// Returns why it breaks off, or nothing.
fn take_in(
    report: &Report,
    facts: &ReportFacts,
    format: Format,
    file: File,
    store: &mut Store,
    told: &mut ImportReport,
) -> Result<String, Trouble> {
    let mut taking = Taking {
        store,
        report,
        first: 0,
        chunk: Vec::with_capacity(CHUNK),
        text: 0,
        met: HashMap::new(),
        failed: None,
    };
    let mut hashed = Hashed::new(&file);
    let ended = unflake_formats::read(format, &mut hashed, &mut |case| taking.case(case));
    let _ = taking.flush();
    taking.met.values().for_each(|met| told.count(met.failed, met.passed));
    let too_many = taking.met.len() > MOST_TESTS;
    if let Some(error) = taking.failed {
        return Err(error.into());
    }
    let whole = ended.is_ok() && !too_many;
    if whole && io::copy(&mut hashed, &mut io::sink()).is_ok() && !facts.key.starts_with(&hashed.key()) {
        return Ok("it was changed while it was read".to_owned());
    }
    Ok(match ended {
        _ if too_many => format!("it has more than {MOST_TESTS} tests"),
        Err(why) => why,
        Ok(()) => String::new(),
    })
}

/// A report on its way into the history.
struct Taking<'a> {
    store: &'a mut Store,
    report: &'a Report,
    /// The number of the first execution of the chunk.
    first: u64,
    chunk: Vec<ReportedExecution>,
    text: usize,
    met: HashMap<TestId, Met>,
    failed: Option<StoreError>,
}

/// What the report has said so far of one test.
#[derive(Default)]
struct Met {
    times: u32,
    failed: bool,
    passed: bool,
}

impl Taking<'_> {
    fn case(&mut self, case: ReportedTest) -> ControlFlow<()> {
        let test = TestId::new(&case.id);
        let file = case.file.map(Into::into);
        let met = self.met.entry(test.clone()).or_default();
        // Attempts may stand in any order, or each in a file of its own.
        let mut again = case.before.unwrap_or(met.times);
        for tried in case.attempts {
            let failure = tried.failure;
            met.failed |= tried.outcome.is_failure();
            met.passed |= tried.outcome.is_pass();
            self.text += failure.as_ref().map_or(0, |one| one.message.len() + one.trace.len());
            self.chunk.push(ReportedExecution {
                test: test.clone(),
                file: Option::clone(&file),
                line: case.line,
                again,
                outcome: tried.outcome,
                seconds: tried.seconds,
                failure,
            });
            again = again.saturating_add(1);
            met.times = met.times.saturating_add(1);
        }
        if self.met.len() > MOST_TESTS {
            return ControlFlow::Break(());
        }
        if self.chunk.len() >= CHUNK || self.text >= CHUNK_TEXT { self.flush() } else { ControlFlow::Continue(()) }
    }

    fn flush(&mut self) -> ControlFlow<()> {
        let end = self.first + self.chunk.len() as u64;
        // What an import that was cut short has left is there already.
        if end > self.report.executions
            && let Err(error) = self.store.record_report(self.report.id, self.first, &self.chunk)
        {
            self.failed = Some(error);
            self.chunk.clear();
            return ControlFlow::Break(());
        }
        self.first = end;
        self.text = 0;
        self.chunk.clear();
        ControlFlow::Continue(())
    }
}
