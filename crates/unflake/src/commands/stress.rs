//! `unflake stress`: runs tests repeatedly, in parallel with copies of them, until they fail.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use unflake_model::{Finding, TestId};
use unflake_report as report;
use unflake_runners::Capabilities;
use unflake_store::{Store, StoreLocation};
use unflake_techniques::{Stress, StressConfig};

use crate::args::stress::StressArgs;
use crate::commands::quarantine::command::Quarantine;
use crate::commands::run::conclude;
use crate::config::settings::{self, SettingSource};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::{Conclusion, Exit};
use crate::failing_seed::SeedSearch;
use crate::launch::private;
use crate::run_loop::Gathered;
use crate::technique_run::{CommandFacts, TechniqueRun, found_nothing};

/// Environments per core that run at the same time.
const PER_CORE: usize = 4;
/// Runs of the history that say which tests are likely to fail.
const EARLIER_RUNS: usize = 50;
/// The default budget.
const TIME: Duration = Duration::from_secs(60);

pub(crate) fn run(args: StressArgs, context: &Context) -> Result<Exit, CommandError> {
    let settings = &context.search_settings(args.settings, args.command)?;
    let quarantine = Quarantine::of(&context.here)?;
    // The user looks for failures: each flaky one counts.
    let gates = |record: &Gathered, finding: &Finding| {
        (finding.is_real() || finding.is_flaky() || finding.is_undecided()) && !quarantine.excuses(record, finding)
    };
    let mut launch = context.search_launch(settings);
    if settings.jobs.from == SettingSource::Default {
        launch.jobs *= PER_CORE;
    }
    launch.private = private(settings, &context.here);
    let seed = getrandom::u64().unwrap_or_default();
    launch.session_seeds = Some(seed);
    let jobs = if launch.remote.is_some() { settings.jobs.value } else { launch.jobs };
    let seconds = settings::time(args.time.as_deref(), TIME)?;
    launch.time = settings::engine_limit(seconds);
    let side_by_side = settings.runner().can(|runner| runner.side_by_side);
    let mut stress = Stress::new(StressConfig {
        seconds,
        times: args.max_runs,
        copies: jobs as u32,
        fresh_by: settings.fresh_by.value,
        threads: if side_by_side { jobs as u32 } else { 1 },
        earlier: earlier(&settings.store.value)?,
        seed,
    });
    let run = TechniqueRun {
        gates: Box::new(gates),
        budget: Some(seconds),
        seeds: SeedSearch::new(),
        ..TechniqueRun::with_files(context, settings, launch, &args.output)?
    };
    let mut done = run.run(&mut stress)?;
    done.record.quarantine = quarantine.results(&done.record);
    let conclusion = match conclude(&done.record, gates, " under stress") {
        Conclusion { exit: Exit::Success, .. } if done.record.findings.is_empty() => {
            let tests: HashSet<_> = done.record.attempts.iter().map(|attempt| &attempt.test).collect();
            let runs = done.record.attempts.len();
            found_nothing(&done.record, &format!("failure in {runs} runs of {} tests", tests.len()))
        }
        other => other,
    };
    done.finish(&conclusion);
    let attempts = done.record.attempts.len();
    let outside: Vec<&str> = stress.needing_outside().map(TestId::as_str).collect();
    if let [first, more @ ..] = &outside[..] {
        let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        let what = "fails in private worlds and passes outside, so not stressed (--private none includes it)";
        done.record.notes.push(format!("{what}: {first}{more}"));
    }
    done.record.notes.push(format!("{attempts} attempts, up to {jobs} at once"));
    let can_order = settings.runner().can(Capabilities::shares_processes);
    let facts = CommandFacts { name: "stress", flaky_gates: true, can_order, seed: None };
    done.report(&facts, &conclusion, |run, style, out| report::summary(run, style, args.output.quiet, out))
}

/// Failures and runs of tests that both passed and failed in the latest runs.
fn earlier(store: &StoreLocation) -> Result<HashMap<TestId, (u32, u32)>, CommandError> {
    let flaky = Store::find(store)?.map_or(Ok(Vec::new()), |store| store.flaky_lately(EARLIER_RUNS))?;
    Ok(flaky.into_iter().map(|(test, passed, failed)| (test, (failed, passed + failed))).collect())
}
