//! `unflake trace`: the lines that one run of a test goes through, in their order.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use unflake_engine::{Engine, Tracing};
use unflake_observe::trace::{Attempt, Depends, Lines, Process, Project, Thread};
use unflake_report::{self as report, TraceListing, TraceStep};
use unflake_techniques::SingleRun;

use crate::args::{TraceArgs, When};
use crate::commands::run::command::{launch, stop_on_signals};
use crate::config::settings::Settings;
use crate::console;
use crate::error::Trouble;
use crate::exit::Exit;
use crate::history_recorder::Memory;
use crate::recorders::Recorders;
use crate::run_loop::RunLoop;
use crate::sources::Sources;

/// More steps of one thread are counted and not shown.
const MOST_STEPS: usize = 100_000;
/// So many tests that match are named.
const NAMED: usize = 10;

/// What the trace of an attempt says, read while it is there.
#[derive(Default)]
struct Traced {
    threads: Vec<TraceListing>,
    /// The files that it depends on, and why there may be more.
    depends: Depends,
}

/// Reads traces as they are recorded.
pub(crate) struct TraceReader {
    root: PathBuf,
    traces: Vec<Traced>,
}

impl TraceReader {
    pub(crate) fn read(&mut self, directory: &Path) {
        self.traces.push(read(directory, &self.root));
    }
}

pub(crate) fn run(args: &TraceArgs, settings: &Settings, here: &Path, colour: When) -> Result<Exit, Trouble> {
    let command = &settings.command.value;
    let mut launch = launch(settings);
    if settings.results.value.is_some() {
        let what = "what a runner only writes results of cannot be traced: use pytest, Maven, cargo test, cargo nextest or GoogleTest";
        return Err(Trouble::usage(what));
    }
    launch.traced = Some(Tracing::Lines);
    let mut memory = Memory::begin(&settings.store, command, here)?;
    let exec = Engine::new(launch)?;
    stop_on_signals(&exec)?;
    let mut once = SingleRun::new(&args.test);
    let reader = TraceReader { root: here.to_owned(), traces: Vec::new() };
    let recorders = Recorders::of_trace_reader(reader);
    let run_loop = RunLoop::new(&mut once, &mut memory, console::progress(colour, false), here);
    let gathered = run_loop.with_recorders(recorders).run(exec, command, |_, _| false);
    if let Some(problem) = gathered.problems.first() {
        return Err(Trouble::runner(report::plain(&problem.text)));
    }
    if gathered.totals.interrupted {
        return Ok(Exit::Interrupted);
    }
    if once.matching.len() != 1 {
        return Err(not_one(&args.test, &once.matching.iter().map(|test| test.as_str()).collect::<Vec<_>>()));
    }
    memory.finish(0);
    let traced = gathered.recorders.trace_reader.as_ref().and_then(|reader| reader.traces.first());
    let (Some(attempt), Some(traced)) = (gathered.attempts.first(), traced) else {
        let what = "the test left no trace: its process did not run any code that was built for tracing";
        return Err(Trouble::runner(what).hint("`unflake doctor` says what is needed"));
    };
    let look = console::look(colour, &io::stdout());
    let mut out = io::BufWriter::new(io::stdout().lock());
    let outcome = attempt.outcome.word();
    // A reader that has gone away (`| head`) is no trouble.
    let _ = writeln!(out, "  {} {outcome}\n", report::one_line(attempt.test.as_str()))
        .and_then(|()| match args.files {
            true => write_files(traced, &mut out),
            false => report::trace(&traced.threads, &look, &mut out),
        })
        .and_then(|()| out.flush());
    Ok(if attempt.outcome.is_failure() { Exit::RealFailures } else { Exit::Success })
}

pub(crate) fn not_one(wanted: &str, matching: &[&str]) -> Trouble {
    if matching.is_empty() {
        let hint = "a part of its name is enough, if no other test has it";
        return Trouble::usage(format!("no test has `{wanted}` in its name")).hint(hint);
    }
    let mut what = format!("{} tests have `{wanted}` in their names; name one:", matching.len());
    for name in matching.iter().take(NAMED) {
        what.push_str(&format!("\n    {}", report::one_line(name)));
    }
    Trouble::usage(what)
}

fn write_files(traced: &Traced, out: &mut dyn Write) -> io::Result<()> {
    let depends = &traced.depends;
    let groups = [
        ("ran", &depends.executed),
        ("read", &depends.read),
        ("looked at", &depends.seen),
        ("looked for, not there", &depends.missed),
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
        writeln!(out, "  not all: {}", report::one_line(gap))?;
    }
    Ok(())
}

/// Reads the trace of an attempt. What cannot be read is told in the threads themselves.
fn read(directory: &Path, root: &Path) -> Traced {
    let project = Project::new(root);
    let attempt = match Attempt::open(directory) {
        Ok(attempt) => attempt,
        Err(error) => return Traced { threads: vec![gap(error.to_string())], ..Traced::default() },
    };
    let sources = Sources::new(root);
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
    Traced { threads, depends }
}

fn gap(why: String) -> TraceListing {
    TraceListing { name: "what could not be read".to_owned(), steps: Vec::new(), gaps: vec![why] }
}

fn of_thread(process: &Process, thread: &Thread, lines: &Lines, sources: &Sources<'_>) -> TraceListing {
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

fn process_gaps(thread: &Thread) -> Vec<String> {
    let truncated = thread.head.truncated.as_ref();
    truncated
        .map(|truncated| format!("truncated here: {} more events were not kept", truncated.dropped))
        .into_iter()
        .collect()
}
