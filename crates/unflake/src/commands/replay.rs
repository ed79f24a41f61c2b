//! `unflake replay`: runs the named tests in the given order in one session of the runner.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use unflake_engine::Launch;
use unflake_model::{Attempt, Outcome, Purpose, TestId, World};
use unflake_report as report;
use unflake_techniques::SingleSession;

use crate::args::replay::ReplayArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::{Conclusion, Exit};
use crate::launch::launch;
use crate::run_loop::Gathered;
use crate::technique_run::{CommandFacts, TechniqueRun, inconclusive};

pub(crate) fn run(args: ReplayArgs, context: &Context) -> Result<Exit, CommandError> {
    let settings = &context.test_settings(args.settings, args.command)?;
    let names = match &args.order {
        Some(file) => read_order(file)?,
        None => args.tests,
    };
    let launch = Launch { suite: false, ..launch(settings) };
    let at_once = args.at_once.unwrap_or(1);
    if at_once > 1 && !settings.runner().can(|runner| runner.side_by_side) {
        let what = "--at-once: this runner runs the tests of a process one after the other";
        return Err(CommandError::usage(what).hint("`unflake stress` runs several processes at the same time"));
    }
    // A session that keeps the order runs its tests one after the other.
    let purpose = if at_once > 1 { Purpose::Stress } else { Purpose::Replay };
    let mut session = SingleSession::new(names.clone(), purpose, settings.fresh_by.value).at_once(at_once);
    if !args.under.is_empty() {
        session = session.under(World { factors: args.under, ..World::default() });
    }
    let mut done = TechniqueRun::with_files(context, settings, launch, &args.output)?.run(&mut session)?;
    let not_found = names.iter().zip(&session.matching).find(|(_, matching)| matching.len() != 1);
    if let Some((name, matching)) = not_found.filter(|_| done.record.listed) {
        let matching: Vec<&str> = matching.iter().map(|test| test.as_str()).collect();
        return Err(CommandError::not_one_test(name, &matching, done.record.test_names()));
    }
    let last = session.matching.last().and_then(|matching| matching.first());
    let conclusion = conclude(&done.record, names.len(), last);
    done.finish(&conclusion);
    done.record.notes.extend(separate_processes(&done.record.attempts));
    let quiet = args.output.quiet;
    done.report(&CommandFacts { name: "replay", ..CommandFacts::default() }, &conclusion, |run, style, out| {
        report::replay(run, style, quiet, out)
    })
}

/// The tests in a file, one per line.
fn read_order(file: &Path) -> Result<Vec<String>, CommandError> {
    let unusable = |why: String| CommandError::usage(format!("--order: {}: {why}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| unusable(error.to_string()))?;
    let names: Vec<String> = text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect();
    if names.is_empty() { Err(unusable("it names no test".to_owned())) } else { Ok(names) }
}

/// The last test decides. It counts only if every test before it has run.
fn conclude(record: &Gathered, tests: usize, last: Option<&TestId>) -> Conclusion {
    if let Some(conclusion) = inconclusive(record, "interrupted") {
        return conclusion;
    }
    let of_last = |attempt: &&Attempt| Some(&attempt.test) == last;
    let last = record.attempts.iter().rfind(of_last).filter(|_| record.attempts.len() == tests);
    match last.map(|last| last.outcome) {
        Some(outcome) if outcome.is_failure() => Exit::RealFailures.because("the last test failed"),
        Some(Outcome::Skipped) => Exit::Runner.because("the last test was skipped"),
        Some(_) => Exit::Success.because("the last test passed"),
        None => {
            let why = record.left_why.as_deref().unwrap_or("the runner ended early");
            Exit::Runner.because(format!("{} of {tests} tests ran: {why}", record.attempts.len()))
        }
    }
}

/// A note where the runner could not run all tests in one process.
fn separate_processes(attempts: &[Attempt]) -> Option<String> {
    let processes: BTreeSet<_> = attempts.iter().map(|attempt| attempt.environment).collect();
    (processes.len() > 1).then(|| format!("the tests ran in {} processes, one after the other", processes.len()))
}
