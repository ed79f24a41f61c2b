//! `unflake why --is-fixed`: whether a test still fails, with a bound on its failure rate.

use unflake_engine::Launch;
use unflake_model::Searched;
use unflake_report as report;
use unflake_techniques::{FixCheck, FixCheckConfig};

use crate::args::options::groups::OutputArgs;
use crate::commands::why::candidates::KnownTest;
use crate::config::settings::{self, Settings};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::{Conclusion, Exit};
use crate::launch::launch;
use crate::run_loop::Gathered;
use crate::technique_run::{CommandFacts, TechniqueRun, inconclusive};

/// The rate to exclude where none is known, and the bounds of one that the history suggests.
const RATE: f64 = 0.1;
const RATES: (f64, f64) = (0.01, 0.5);

pub(crate) fn run(
    test: String,
    rate: Option<f64>,
    seconds: f64,
    settings: &Settings,
    context: &Context,
    output: &OutputArgs,
) -> Result<Exit, CommandError> {
    if rate.is_some_and(|rate| !(rate > 0.0 && rate < 1.0)) {
        return Err(CommandError::usage("--rate: give a share between 0 and 1").hint("`--rate 0.05`"));
    }
    let known = KnownTest::look_up(settings, &test)?;
    let rate = rate.unwrap_or_else(|| known.rate.unwrap_or(RATE).clamp(RATES.0, RATES.1));
    let mut check = FixCheck::new(FixCheckConfig {
        test: test.clone(),
        rate,
        after: known.after,
        failing: known.failing,
        can_seed: unflake_worlds::can_seed(),
        fresh_by: settings.fresh_by.value,
        seconds,
    });
    let launch = Launch { suite: false, time: settings::engine_limit(seconds), ..launch(settings) };
    let run = TechniqueRun { budget: Some(seconds), ..TechniqueRun::with_files(context, settings, launch, output)? };
    let mut done = run.run(&mut check)?;
    if done.record.listed && done.record.problems.is_empty() && check.matching.len() != 1 {
        let matching: Vec<&str> = check.matching.iter().map(|test| test.as_str()).collect();
        return Err(CommandError::not_one_test(&test, &matching, done.record.test_names()));
    }
    let conclusion = conclude(&done.record, &check, rate);
    done.finish(&conclusion);
    let facts = CommandFacts::search("why");
    done.report(&facts, &conclusion, |run, style, out| match run.problems.is_empty() && !run.tests.is_empty() {
        true => writeln!(out, "{}", report::one_line(&conclusion.meaning)),
        false => report::order_and_nio(run, style, output.quiet, out),
    })
}

fn conclude(record: &Gathered, check: &FixCheck, rate: f64) -> Conclusion {
    if let Some(conclusion) = inconclusive(record, "interrupted before the runs were enough") {
        return conclusion;
    }
    let (passed, failed) = check.counts();
    let worlds = record.worlds.len().max(1);
    let runs = format!("{} runs in {worlds} worlds", passed + failed);
    let excluded = percent(check.excluded_rate());
    match failed {
        0 if passed == 0 => Exit::Incomplete.because("nothing is known: the test did not run, or was skipped"),
        0 if check.is_excluded() => {
            let what = format!("fixed: passed {passed} of {runs}; it fails in less than {excluded} of runs (95 %)");
            Exit::Success.because(what)
        }
        0 => {
            let cut = record.searched.as_ref().and_then(|Searched { budget, .. }| *budget).is_some();
            let why = if cut { "budget exhausted: " } else { "" };
            let what = format!("{why}passed {passed} of {runs}, too few to exclude a rate of {}", percent(rate));
            Exit::Incomplete.because(what)
        }
        _ => Exit::RealFailures.because(format!("not fixed: failed {failed} of {runs}")),
    }
}

fn percent(rate: f64) -> String {
    match 100.0 * rate {
        percent if percent < 9.95 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}
