//! `unflake stress`: runs every test again and again, beside copies of itself, until it fails.

use std::time::Duration;

use unflake_model::Finding;
use unflake_report as report;
use unflake_techniques::{Stress, StressConfig};

use crate::args::stress::StressArgs;
use crate::commands::quarantine::command::Quarantine;
use crate::commands::run::conclude;
use crate::config::settings::{self, SettingSource};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::{Conclusion, Exit};
use crate::launch::launch;
use crate::run_loop::Gathered;
use crate::technique_run::{CommandFacts, TechniqueRun, found_nothing};

/// Environments per core that run at the same time.
const PER_CORE: usize = 4;
/// The default budget.
const TIME: Duration = Duration::from_secs(60);

pub(crate) fn run(args: StressArgs, context: &Context) -> Result<Exit, CommandError> {
    let settings = &context.test_settings(args.settings, args.command)?;
    let quarantine = Quarantine::of(&context.here)?;
    // The user looks for failures: each flaky one counts.
    let gates = |record: &Gathered, finding: &Finding| {
        (finding.is_real() || finding.is_flaky() || finding.is_undecided()) && !quarantine.excuses(record, finding)
    };
    let mut launch = launch(settings);
    if settings.jobs.from == SettingSource::Default {
        launch.jobs *= PER_CORE;
    }
    let jobs = launch.jobs;
    let seconds = settings::time(args.time.as_deref(), TIME)?;
    launch.time = settings::engine_limit(seconds);
    let mut stress = Stress::new(StressConfig {
        seconds,
        times: args.max_runs,
        copies: jobs as u32,
        fresh_by: settings.fresh_by.value,
    });
    let run = TechniqueRun {
        gates: Box::new(gates),
        budget: Some(seconds),
        ..TechniqueRun::with_files(context, settings, launch, &args.output)?
    };
    let mut done = run.run(&mut stress)?;
    done.record.quarantine = quarantine.results(&done.record);
    let conclusion = match conclude(&done.record, gates, " under stress") {
        Conclusion { exit: Exit::Success, .. } if done.record.findings.is_empty() => {
            found_nothing(&done.record, "failure under stress")
        }
        other => other,
    };
    done.finish(&conclusion);
    let attempts = done.record.attempts.len();
    done.record.notes.push(format!("{attempts} attempts, up to {jobs} at once"));
    let can_locate = settings.runner().can(|runner| runner.trace);
    let facts = CommandFacts { name: "stress", flaky_gates: true, can_locate, seed: None };
    done.report(&facts, &conclusion, |run, style, out| report::summary(run, style, args.output.quiet, out))
}
