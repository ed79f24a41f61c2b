//! `unflake history import`: takes results that other programs wrote into the history.

pub(crate) mod files;

use std::collections::HashMap;
use std::env;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::UNIX_EPOCH;

use twox_hash::XxHash3_128;
use unflake_formats::{Format, ReportedTest};
use unflake_model::{TestId, Timestamp};
use unflake_report::ImportReport;
use unflake_store::{Report, ReportFacts, ReportedExecution, Store, StoreError};

use crate::args::history::HistoryImportArgs;
use crate::commands::history::import::files::{HashingReader, ReportFile, find};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::history::recorder::now;
use crate::output::console::print;
use crate::project::ci::{self, CiRun};

/// Executions per transaction, fewer where their texts are long. Chunks depend on nothing but the
/// contents of a file, so that an import that was cut short can be resumed, even by another
/// process.
const CHUNK: usize = 20_000;
const CHUNK_TEXT: usize = 16 << 20;
/// The beginning of a file, from which its format and its first timestamp are read.
const HEAD: u64 = 64 << 10;

pub(crate) fn run(args: HistoryImportArgs, context: &Context) -> Result<Exit, CommandError> {
    let from = origin(&args);
    let at = args.at.as_deref().map(parse_time).transpose()?;
    let mut store = Store::open(&context.store(args.store)?)?;
    let mut report = ImportReport::default();
    for file in find(&args.files) {
        let name = file.path.display().to_string();
        match import(&file, &from, at, &mut store, &mut report)? {
            ImportOutcome::Imported | ImportOutcome::NotAReport => {}
            ImportOutcome::Refused(why) => report.refused.push((name, why)),
        }
    }
    if !args.quiet || !report.refused.is_empty() || !report.broken.is_empty() {
        print("print what was imported", |out| report.write(&context.style(), out))?;
    }
    Ok(match (report.refused.is_empty(), report.broken.is_empty()) {
        (false, _) => Exit::Usage,
        (true, false) => Exit::Incomplete,
        (true, true) => Exit::Success,
    })
}

/// What was typed, else what the environment of the CI says.
fn origin(args: &HistoryImportArgs) -> CiRun {
    let detected = ci::detect(&|name| env::var(name).ok());
    CiRun {
        commit: args.revision.clone().or(detected.commit),
        branch: args.branch.clone().or(detected.branch),
        attempt: args.ci_attempt.or(detected.attempt.filter(|_| args.ci_run.is_none())),
        run: args.ci_run.clone().or(detected.run),
        job: args.job.clone().or(detected.job),
    }
}

fn parse_time(text: &str) -> Result<Timestamp, CommandError> {
    let stamp: Result<jiff::Timestamp, _> = text.parse();
    stamp.map(|stamp| Timestamp(stamp.as_microsecond())).map_err(|_| {
        CommandError::usage(format!("--at {text} is no time")).hint("it looks like this: 2026-11-15T14:37:15Z")
    })
}

enum ImportOutcome {
    Imported,
    /// A file that was found in a directory and is something else.
    NotAReport,
    Refused(String),
}

fn import(
    file: &ReportFile,
    from: &CiRun,
    at: Option<Timestamp>,
    store: &mut Store,
    summary: &mut ImportReport,
) -> Result<ImportOutcome, CommandError> {
    let (facts, format, opened) = match examine(&file.path, from, at) {
        Ok(Some(examined)) => examined,
        Ok(None) if file.named => {
            let why = "it is neither JUnit XML nor CTRF, pytest-reportlog or libtest-json";
            return Ok(ImportOutcome::Refused(why.to_owned()));
        }
        Ok(None) => return Ok(ImportOutcome::NotAReport),
        Err(why) => return Ok(ImportOutcome::Refused(why.to_string())),
    };
    let report = store.begin_report(&facts)?;
    if report.ended.is_some() {
        summary.known += 1;
        return Ok(ImportOutcome::Imported);
    }
    let broken = read_report(&report, &facts, format, opened, store, summary)?;
    store.finish_report(report.id, &broken)?;
    summary.files += 1;
    if !broken.is_empty() {
        summary.broken.push((facts.path, broken));
    }
    Ok(ImportOutcome::Imported)
}

/// Reads format, hash and time of a file. None where it is not a report.
fn examine(path: &Path, from: &CiRun, at: Option<Timestamp>) -> io::Result<Option<(ReportFacts, Format, File)>> {
    let meta = path.metadata()?;
    // A pipe or device may have no end.
    if !meta.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut file = File::open(path)?;
    let mut head = Vec::new();
    (&file).take(HEAD).read_to_end(&mut head)?;
    let Some(format) = Format::guess(&head) else { return Ok(None) };
    file.rewind()?;
    let mut hashed = HashingReader::new(&file);
    let size = io::copy(&mut hashed, &mut io::sink())?;
    let when = first_timestamp(format, &head);
    let mut key = hashed.key();
    // A report with a timestamp is identified by its contents. One without may be that of another
    // run with the same results.
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

fn first_timestamp(format: Format, head: &[u8]) -> Option<Timestamp> {
    let mut when = None;
    let _ = unflake_formats::read(format, head, &mut |case| {
        when = case.when;
        if when.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    when
}

/// Stores the executions of a report. Returns why it is incomplete, or an empty text.
fn read_report(
    report: &Report,
    facts: &ReportFacts,
    format: Format,
    file: File,
    store: &mut Store,
    summary: &mut ImportReport,
) -> Result<String, CommandError> {
    let mut importer = ReportImporter {
        store,
        report,
        first: 0,
        chunk: Vec::with_capacity(CHUNK),
        text: 0,
        tests: HashMap::new(),
        failed: None,
    };
    let mut hashed = HashingReader::new(&file);
    let ended = unflake_formats::read(format, &mut hashed, &mut |case| importer.case(case));
    let _ = importer.flush();
    importer.tests.values().for_each(|counts| summary.count(counts.failed, counts.passed));
    if let Some(error) = importer.failed {
        return Err(error.into());
    }
    if ended.is_ok() && io::copy(&mut hashed, &mut io::sink()).is_ok() && !facts.key.starts_with(&hashed.key()) {
        return Ok("it was changed while it was read".to_owned());
    }
    Ok(ended.err().unwrap_or_default())
}

/// Collects the executions of one report and stores them in chunks.
struct ReportImporter<'a> {
    store: &'a mut Store,
    report: &'a Report,
    /// The index of the first execution of the chunk.
    first: u64,
    chunk: Vec<ReportedExecution>,
    text: usize,
    /// By the hash of the id: a report may have millions of tests.
    tests: HashMap<u128, TestCounts>,
    failed: Option<StoreError>,
}

/// What the report contains so far of one test.
#[derive(Default)]
struct TestCounts {
    times: u32,
    failed: bool,
    passed: bool,
}

impl ReportImporter<'_> {
    fn case(&mut self, case: ReportedTest) -> ControlFlow<()> {
        let test = TestId::new(&case.id);
        let file = case.file.map(Into::into);
        let counts = self.tests.entry(XxHash3_128::oneshot(case.id.as_bytes())).or_default();
        // Attempts may come in any order, or each in a file of its own.
        let mut again = case.before.unwrap_or(counts.times);
        for tried in case.attempts {
            let failure = tried.failure;
            counts.failed |= tried.outcome.is_failure();
            counts.passed |= tried.outcome.is_pass();
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
            counts.times = counts.times.saturating_add(1);
        }
        if self.chunk.len() >= CHUNK || self.text >= CHUNK_TEXT { self.flush() } else { ControlFlow::Continue(()) }
    }

    fn flush(&mut self) -> ControlFlow<()> {
        let end = self.first + self.chunk.len() as u64;
        // An earlier import that was cut short has stored these already.
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
