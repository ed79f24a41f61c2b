//! `unflake run`: the suite, the ladder, and what they came to.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{env, thread};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use unflake_engine::{Engine, Launch};
use unflake_model::{Death, Detail, Finding, ProblemKind, QuarantineStanding};
use unflake_report as report;
use unflake_techniques::{
    AssertionFilter, AssertionPolicy, Ladder, NeverExcuse, Rungs, Stress, StressConfig, Technique,
};

use crate::args::{RunArgs, When};
use crate::commands::filter::command;
use crate::commands::quarantine::command::Quarantine;
use crate::commands::run::change_set::Compare;
use crate::config::settings::{self, FlakyResult, Settings, Source};
use crate::console;
use crate::error::Trouble;
use crate::exit::Exit;
use crate::history_recorder::Memory;
use crate::report_files::{Found, Outputs};
use crate::run_loop::{Gathered, RunLoop};

/// Under stress, so many environments go at once for each core.
const CROWD: usize = 4;
/// How long stress lasts.
const STRESS: Duration = Duration::from_secs(60);

pub(crate) fn run(args: RunArgs, settings: &Settings, here: &Path, colour: When) -> Result<Exit, Trouble> {
    let command = &settings.command.value;
    let outputs = Outputs::open(&args.output)?;
    let wanted = settings.granularity.value.is_some() && !args.stress;
    let compare = if wanted { Compare::new(settings, here)? } else { None };
    let no_repository = wanted && compare.is_none();
    let mut memory = Memory::begin(&settings.store, command, here)?;
    let mut launch = launch(settings);
    // Whoever looks for failures wants to know of each.
    let flaky_gates = settings.flaky_result.value == FlakyResult::Fail || args.stress;
    let quarantine = Quarantine::of(here)?;
    let gates = |gathered: &Gathered, finding: &Finding| {
        (finding.is_real() || flaky_gates && finding.is_flaky()) && !quarantine.excuses(gathered, finding)
    };
    let mut technique: Box<dyn Technique> = if args.stress {
        if settings.jobs.from == Source::Default {
            launch.jobs *= CROWD;
        }
        Box::new(Stress::new(pressure(&args, settings, launch.jobs)?))
    } else {
        let never = NeverExcuse::new(&settings.never_excuse.value)?;
        Box::new(Ladder::new(rungs(settings, compare.is_some()), never).leaving_out(quarantine.left_out()))
    };
    let mut filter = None;
    if let Some(file) = &args.filter {
        launch = command::watching(launch);
        let path = command::place(file.as_deref(), here);
        filter = Some(command::filter(&path, &args.filtering, &settings.store.value)?);
    }
    let crowd = launch.jobs;
    let exec = Engine::new(launch)?;
    stop_on_signals(&exec)?;
    let progress = console::progress(colour, args.output.quiet);
    let run_loop = RunLoop::new(technique.as_mut(), &mut memory, progress, here)
        .with_assertions(filter.as_mut().map(|filter| filter as &mut dyn AssertionPolicy))
        .with_comparison(compare);
    let mut gathered = run_loop.run(exec, command, gates);
    gathered.apart = quarantine.set_apart(&gathered);
    let (exit, meaning) = judge(&gathered, gates, args.stress);
    memory.finish(exit.code());
    gathered.notes.append(&mut memory.notes);
    gathered.notes.extend(filter.iter().flat_map(AssertionFilter::notes));
    // What such tests depend on is not told yet, in a repository or not.
    if no_repository && !gathered.isolated && gathered.findings.iter().any(Finding::is_real) {
        let note = "whether a change can have caused the failures was not looked at: this is not a git repository";
        gathered.notes.push(note.to_owned());
    }
    if args.stress {
        gathered.notes.push(format!("{} attempts were made, up to {crowd} at once", gathered.attempts.len()));
    }
    let found = Found {
        name: "run",
        command,
        gathered: &gathered,
        flaky_gates,
        can_locate: can_locate(settings),
        seed: None,
        exit,
        meaning: &meaning,
    };
    outputs.write(&found, colour, |run, look, out| {
        write_runner_output(&gathered, args.runner_output, out)?;
        report::summary(run, look, args.output.quiet, out)
    })?;
    Ok(exit)
}

/// Whether the way of tests through the code can be recorded. What CTest starts may be any command.
fn can_locate(settings: &Settings) -> bool {
    let program = settings.command.value.first().and_then(|word| Path::new(word).file_name());
    settings.results.value.is_none() && program.is_none_or(|name| name != "ctest")
}

/// How long, how often and how many at once.
fn pressure(args: &RunArgs, settings: &Settings, jobs: usize) -> Result<StressConfig, Trouble> {
    Ok(StressConfig {
        seconds: settings::time(args.stress_for.as_deref(), STRESS)?,
        times: args.times,
        copies: jobs as u32,
        fresh_by: settings.fresh_by.value,
    })
}

pub(crate) fn launch(settings: &Settings) -> Launch {
    let myself = env::current_exe().map(|path| path.to_string_lossy().into_owned()).unwrap_or("unflake".to_owned());
    Launch {
        command: settings.command.value.clone(),
        keeper: vec![myself.clone(), "keep".to_owned()],
        driver: driver(settings, myself),
        cache: cache(),
        suite: true,
        time: None,
        traced: None,
        layers: Vec::new(),
        filter: false,
        depends: None,
        directory: None,
        jobs: settings.jobs.value,
        timeout: settings.timeout.value,
        output_limit: settings.output_limit.value,
    }
}

/// The words that go before the command where it is driven.
fn driver(settings: &Settings, myself: String) -> Option<Vec<String>> {
    let mut words = vec![myself, "drive".to_owned()];
    if let (Some(results), Some(one_test)) = (&settings.results.value, &settings.one_test.value) {
        // In one word each: they may begin with a dash.
        words.extend([format!("--results={results}"), format!("--one-test={one_test}")]);
    } else if let Some(file) = &settings.classpath_file.value {
        words.push(format!("--classpath-file={file}"));
        words.extend(settings.test_classes.value.iter().map(|directory| format!("--test-classes={directory}")));
    } else if !unflake_runners::drives(&settings.command.value) {
        return None;
    }
    words.push("--".to_owned());
    Some(words)
}

/// Where files may stay from run to run.
pub(crate) fn cache() -> Option<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").filter(|cache| !cache.is_empty()).map(PathBuf::from);
    cache.or_else(|| env::home_dir().map(|home| home.join(".cache"))).map(|cache| cache.join("unflake"))
}

fn rungs(settings: &Settings, compare: bool) -> Rungs {
    Rungs {
        immediate: settings.immediate.value,
        at_end: settings.at_end.value,
        fresh: settings.fresh.value,
        fresh_by: settings.fresh_by.value,
        too_many: settings.too_many.value,
        intersect: settings.granularity.value.filter(|_| compare),
        verify_base: settings.verify_base.value,
    }
}

/// Whether somebody has asked unflake to stop.
static STOPPED: AtomicBool = AtomicBool::new(false);

pub(crate) fn was_stopped() -> bool {
    STOPPED.load(Ordering::SeqCst)
}

/// From now on, and if it was before.
pub(crate) fn stop_on_signals(exec: &Engine) -> Result<(), Trouble> {
    let interrupter = exec.interrupter();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(Trouble::internal("listen to signals"))?;
    thread::spawn(move || {
        for _ in signals.forever() {
            STOPPED.store(true, Ordering::SeqCst);
            interrupter.interrupt();
        }
    });
    if was_stopped() {
        exec.interrupter().interrupt();
    }
    Ok(())
}

/// What the run comes to, and why in words.
fn judge(gathered: &Gathered, gates: impl Fn(&Gathered, &Finding) -> bool, stress: bool) -> (Exit, String) {
    let gating = || gathered.findings.iter().filter(|finding| gates(gathered, finding));
    let (real, gating) = (gating().filter(|finding| finding.is_real()).count(), gating().count());
    let failures = |count: usize, kind: &str| match count {
        1 => format!("one {kind} failure"),
        _ => format!("{count} {kind} failures"),
    };
    if gathered.totals.interrupted {
        return (Exit::Interrupted, "you stopped the run".to_owned());
    }
    if real > 0 {
        return (Exit::RealFailures, failures(real, "real"));
    }
    if !gathered.problems.is_empty() {
        let unloaded = gathered.problems.iter().any(|problem| problem.kind == ProblemKind::Collection);
        let what = match (gathered.listed, unloaded) {
            (false, _) => "the tests could not be run",
            (true, true) => "some tests could not be loaded",
            (true, false) => "no test failed for real, but the runner did not run as it should",
        };
        return (Exit::Runner, what.to_owned());
    }
    if !gathered.listed {
        return (Exit::Runner, "the tests could not be run".to_owned());
    }
    if gathered.tests.is_empty() {
        return (Exit::NoTests, "no tests were found".to_owned());
    }
    if gating > 0 {
        let why = if stress { " under stress" } else { ", and --flaky-result is fail" };
        return (Exit::RealFailures, failures(gating, "flaky") + why);
    }
    if !gathered.left.is_empty() {
        return (Exit::Incomplete, format!("{} tests did not run", gathered.left.len()));
    }
    // It has been told that no test failed. If it fails all the same, something else did.
    if let Some(end) = gathered.closed.as_ref().and_then(|closed| closed.end).filter(|end| *end != Death::Exit(0)) {
        let how = match end {
            Death::Exit(code) => format!("left with exit code {code}"),
            Death::Signal(_) => format!("was {end}"),
            Death::Unknown => "ended without a word".to_owned(),
        };
        let what = format!("no test failed for real, but the runner itself {how}; --runner-output shows what it said");
        return (Exit::Runner, what);
    }
    let flaky = gathered.findings.iter().filter(|finding| finding.is_flaky()).count();
    let let_go = gathered.findings.iter().filter(|finding| matches!(finding.detail, Detail::Filter(_))).count();
    let only_flaky = || format!("only {} failed", if flaky == 1 { "one flaky test" } else { "flaky tests" });
    let excused = gathered.apart.iter().filter(|one| one.standing == QuarantineStanding::Excused).count();
    let meaning = match excused {
        0 if flaky > 0 => only_flaky(),
        0 if let_go == 1 => "everything else passed; one failure was let go".to_owned(),
        0 if let_go > 1 => format!("everything else passed; {let_go} failures were let go"),
        0 => "everything passed".to_owned(),
        1 => "only one failure that is in quarantine".to_owned(),
        _ => format!("only {excused} failures that are in quarantine"),
    };
    (Exit::Success, meaning)
}

fn write_runner_output(gathered: &Gathered, wanted: bool, out: &mut dyn Write) -> io::Result<()> {
    match &gathered.closed {
        Some(closed) if wanted => writeln!(out, "{}\n", report::plain(closed.output.trim_end())),
        _ => Ok(()),
    }
}
