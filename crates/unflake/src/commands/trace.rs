//! `unflake trace`: prints the lines that one run of a test executes, in order.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use unflake_engine::{Launch, Tracing};
use unflake_model::{Isolation, Purpose};
use unflake_observe::trace::{Depends, Lines, Process, Project, RecordedThread, TracedAttempt};
use unflake_report::{self as report, TraceListing, TraceStep};
use unflake_techniques::SingleSession;

use crate::args::trace::TraceArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::launch::launch;
use crate::output::console::print;
use crate::project::source_files::SourceFiles;
use crate::recorders::Recorders;
use crate::technique_run::TechniqueRun;

/// Further steps of a thread are counted, not shown.
const MOST_STEPS: usize = 100_000;

/// The trace of an attempt, read before its files are removed.
#[derive(Default)]
struct ParsedTrace {
    threads: Vec<TraceListing>,
    /// The files that the attempt depends on, and gaps in that list.
    depends: Depends,
}

/// Reads traces as they are recorded.
pub(crate) struct TraceReader {
    root: PathBuf,
    traces: Vec<ParsedTrace>,
}

impl TraceReader {
    pub(crate) fn read(&mut self, directory: &Path) {
        self.traces.push(read(directory, &self.root));
    }
}

pub(crate) fn run(args: TraceArgs, context: &Context) -> Result<Exit, CommandError> {
    let settings = &context.test_settings(args.settings, args.command)?;
    if settings.results.value.is_some() {
        let able = unflake_runners::names_with(|runner| runner.trace, "or");
        return Err(CommandError::usage("tests that are known by their result files only cannot be traced")
            .hint(format!("use {able}")));
    }
    let launch = Launch { traced: Some(Tracing::Lines), ..launch(settings) };
    let mut once = SingleSession::new(vec![args.test.clone()], Purpose::Look, Isolation::Fork);
    let reader = TraceReader { root: context.here.clone(), traces: Vec::new() };
    let run = TechniqueRun {
        recorders: Recorders::of_trace_reader(reader),
        ..TechniqueRun::new(context, settings, launch, context.progress(false))
    };
    let mut done = run.run(&mut once)?;
    let record = &done.record;
    if let Some(problem) = record.problems.first() {
        return Err(CommandError::problem(problem));
    }
    if record.totals.interrupted {
        return Ok(Exit::Interrupted);
    }
    if !record.listed {
        let what = "the runner exited before it listed the tests";
        return Err(CommandError::runner(what).hint("run the test command by itself to see why"));
    }
    let matching = once.matching.concat();
    if matching.len() != 1 {
        let matching: Vec<&str> = matching.iter().map(|test| test.as_str()).collect();
        return Err(CommandError::not_one_test(&args.test, &matching, record.test_names()));
    }
    done.finish(&Exit::Success.because("the test was traced"));
    let traced = done.record.recorders.trace_reader.as_ref().and_then(|reader| reader.traces.first());
    let (Some(attempt), Some(traced)) = (done.record.attempts.first(), traced) else {
        let what = "the test left no trace: its process did not run any code that was built for tracing";
        return Err(CommandError::runner(what).hint("`unflake doctor` lists the requirements"));
    };
    print("print the trace", |out| {
        writeln!(out, "  {} {}\n", report::one_line(attempt.test.as_str()), attempt.outcome.word())?;
        match args.files {
            true => write_files(traced, out),
            false => report::trace(&traced.threads, &context.style(), out),
        }
    })?;
    Ok(if attempt.outcome.is_failure() { Exit::RealFailures } else { Exit::Success })
}

fn write_files(traced: &ParsedTrace, out: &mut dyn Write) -> io::Result<()> {
    let depends = &traced.depends;
    let groups = [
        ("ran", &depends.executed),
        ("read", &depends.read),
        ("stat", &depends.seen),
        ("missing", &depends.missed),
        ("listed", &depends.listed),
        ("wrote", &depends.written),
        ("started", &depends.programs),
    ];
    for (what, files) in groups {
        if !files.is_empty() {
            writeln!(out, "  {what}:")?;
        }
        for file in files {
            writeln!(out, "    {}", report::one_line(&file.to_string_lossy()))?;
        }
    }
    for gap in &depends.gaps {
        writeln!(out, "  incomplete: {}", report::one_line(gap))?;
    }
    Ok(())
}

/// Reads the trace of an attempt. What cannot be read becomes a thread that consists of a gap.
fn read(directory: &Path, root: &Path) -> ParsedTrace {
    let project = Project::new(root).tool_homes(unflake_runners::tool_homes());
    let attempt = match TracedAttempt::open(directory) {
        Ok(attempt) => attempt,
        Err(error) => return ParsedTrace { threads: vec![gap(error.to_string())], ..ParsedTrace::default() },
    };
    let sources = SourceFiles::new(root);
    let mut threads: Vec<TraceListing> = attempt.problems.iter().cloned().map(gap).collect();
    for process in &attempt.processes {
        let lines = match process.places() {
            Ok(places) => Lines::new(&places, &project),
            Err(error) => {
                threads.push(gap(error.to_string()));
                continue;
            }
        };
        threads.extend(process.threads.iter().map(|thread| of_thread(process, thread, &lines, &sources)));
    }
    let depends = Depends::of(&attempt, &project);
    ParsedTrace { threads, depends }
}

fn gap(why: String) -> TraceListing {
    TraceListing { name: "what could not be read".to_owned(), steps: Vec::new(), gaps: vec![why] }
}

fn of_thread(process: &Process, thread: &RecordedThread, lines: &Lines, sources: &SourceFiles<'_>) -> TraceListing {
    let process = if process.key.is_empty() { String::new() } else { format!(" of process {}", process.key) };
    let mut trace = TraceListing {
        name: format!("{} ({}){process}", thread.head.name, thread.key),
        gaps: process_gaps(thread),
        ..TraceListing::default()
    };
    let all = match lines.of(thread) {
        Ok(all) => all,
        Err(error) => {
            trace.gaps.push(error.to_string());
            return trace;
        }
    };
    let mut more = 0;
    for line in all {
        match line {
            Ok(_) if trace.steps.len() == MOST_STEPS => more += 1,
            Ok(line) => {
                let file = line.file.to_string_lossy().into_owned();
                let text = sources.line(&file, line.line);
                trace.steps.push(TraceStep { file, line: line.line, function: line.function.to_string(), text });
            }
            Err(error) => {
                trace.gaps.push(error.to_string());
                break;
            }
        }
    }
    if more > 0 {
        trace.gaps.push(format!("{more} more lines are not shown"));
    }
    trace
}

fn process_gaps(thread: &RecordedThread) -> Vec<String> {
    let truncated = thread.head.truncated.as_ref();
    truncated
        .map(|truncated| format!("truncated here: {} more events were not kept", truncated.dropped))
        .into_iter()
        .collect()
}
