//! `unflake run`: runs the suite, reruns failures, and classifies each as real or flaky.

use std::collections::BTreeSet;
use std::io::{self, Write};

use unflake_engine::Launch;
use unflake_model::{
    Death, Detail, Factor, FactorKind, Finding, Isolation, ProblemKind, QuarantineStanding, TestId, World,
};
use unflake_report as report;
use unflake_runners::Capabilities;
use unflake_store::Store;
use unflake_techniques::{AssertionFilter, AssertionPolicy, Ladder, NeverExcuse, Rungs};

use crate::args::run::RunArgs;
use crate::commands::filter::command;
use crate::commands::quarantine::command::Quarantine;
use crate::config::settings::{FlakyResult, SettingSource, Settings};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::{Conclusion, Exit};
use crate::failing_seed::SeedSearch;
use crate::launch::{launch, private_files};
use crate::project::affected_tests::AffectedTests;
use crate::project::comparison::ComparisonBase;
use crate::project::shard::ShardSpec;
use crate::run_loop::Gathered;
use crate::technique_run::{CommandFacts, TechniqueRun, lost_results, no_tests, out_of_time};

/// Seeds drawn for new processes.
const SEEDS: usize = 10;
const LARGEST_SEED: u64 = 9999;
/// Runs of the history that say how long tests take.
const EARLIER_RUNS: usize = 5;

pub(crate) fn run(args: RunArgs, context: &Context) -> Result<Exit, CommandError> {
    let settings = &context.test_settings(args.settings, args.command)?;
    let here = &context.here;
    // Without being asked, unflake does not change in how many processes the suite runs.
    let spread = settings.jobs.from != SettingSource::Default && settings.jobs.value > 1;
    let mut launch = Launch { private: private_files(settings, &context.here), spread, ..launch(settings) };
    let compares = settings.granularity.value.is_some();
    let compare = if compares { ComparisonBase::new(settings, here)? } else { None };
    let no_repository = compares && compare.is_none();
    let flaky_gates = settings.flaky_result.value == FlakyResult::Fail;
    let quarantine = Quarantine::of(here)?;
    let gates = |record: &Gathered, finding: &Finding| {
        (finding.is_real() || finding.is_undecided() || flaky_gates && finding.is_flaky())
            && !quarantine.excuses(record, finding)
    };
    let never = NeverExcuse::new(&settings.never_excuse.value)?;
    let unaffected = if args.affected { unaffected_tests(settings, context)? } else { BTreeSet::new() };
    let left_out = quarantine.left_out().into_iter().chain(unaffected.iter().cloned()).collect();
    let mut ladder = Ladder::new(rungs(settings, compare.is_some()), never).leaving_out(left_out);
    if spread {
        let store = Store::find(&settings.store.value)?;
        let seconds = store.map_or(Ok(Vec::new()), |store| store.seconds_lately(EARLIER_RUNS))?;
        ladder = ladder.knowing(seconds.into_iter().collect());
    }
    let mut filter = match &args.filter {
        Some(file) => {
            launch = command::watching(launch);
            let path = command::path_of(file.as_deref(), here);
            Some(command::filter(&path, &args.filtering, &settings.store.value)?)
        }
        None => None,
    };
    let run = TechniqueRun {
        compare,
        gates: Box::new(gates),
        shard: ShardSpec::new(&args.sharding, false, settings)?,
        seeds: if settings.fresh.value > 0 { SeedSearch::new() } else { None },
        ..TechniqueRun::with_files(context, settings, launch, &args.output)?
    };
    let policy = filter.as_mut().map(|filter| filter as &mut dyn AssertionPolicy);
    let mut done = run.run_under(&mut ladder, policy)?;
    done.record.quarantine = quarantine.results(&done.record);
    let conclusion = conclude(&done.record, gates, " (--flaky-result fail)");
    done.finish(&conclusion);
    let notes = &mut done.record.notes;
    notes.extend(filter.iter().flat_map(AssertionFilter::notes));
    if args.affected {
        let all = done.record.tests.len();
        let excluded = done.record.tests.iter().filter(|test| unaffected.contains(&test.id)).count();
        notes.push(format!("{excluded} of {all} tests did not run, because your change cannot affect them"));
    }
    // Dependencies of isolated tests are unknown in a repository, too.
    if no_repository && !done.record.isolated && done.record.findings.iter().any(Finding::is_real) {
        let note = "not a git repository, so failures are not compared with your change";
        notes.push(note.to_owned());
    }
    let can_order = settings.runner().can(Capabilities::shares_processes);
    let facts = CommandFacts { name: "run", flaky_gates, can_order, seed: None };
    let runner_output = done.record.closed.as_ref().filter(|_| args.runner_output).map(|closed| closed.output.clone());
    done.report(&facts, &conclusion, |run, style, out| {
        write_runner_output(runner_output.as_deref(), out)?;
        report::summary(run, style, args.output.quiet, out)
    })
}

/// The tests that the change cannot affect, by dependencies that earlier runs recorded.
fn unaffected_tests(settings: &Settings, context: &Context) -> Result<BTreeSet<TestId>, CommandError> {
    let (repository, changes) = ComparisonBase::changes(settings, &context.here)?;
    let known = Store::find(&settings.store.value)?.map_or(Ok(Vec::new()), |store| store.dependencies())?;
    let ids: Vec<TestId> = known.iter().map(|one| one.test.clone()).collect();
    let granularity = settings.granularity.value.unwrap_or_default();
    let mut tests = AffectedTests::new(&repository, &changes, granularity, known);
    Ok(ids.into_iter().filter(|test| tests.why(test).is_none()).collect())
}

fn rungs(settings: &Settings, compares: bool) -> Rungs {
    Rungs {
        immediate: settings.immediate.value,
        at_end: settings.at_end.value,
        fresh: settings.fresh.value,
        fresh_by: settings.fresh_by.value,
        new_processes: settings.new_processes.value,
        too_many: settings.too_many.value,
        intersect: settings.granularity.value.filter(|_| compares),
        seeds: if unflake_worlds::can_seed() { seeded_worlds() } else { Vec::new() },
        together: settings.runner().in_process_isolation().is_some() && settings.fresh_by.value != Isolation::Process,
        whole_processes: settings.runner().can(|runner| runner.lists_by_running),
        hides: FactorKind::named(unflake_worlds::HIDES_FILES),
        verify_base: settings.verify_base.value,
    }
}

/// Worlds of new processes. Their seeds differ from run to run, so that no test fails by the same
/// few, and are small numbers, because commands name them. The system draws their address layouts: a
/// seed moves neither the program and its libraries nor the stack as far.
fn seeded_worlds() -> Vec<World> {
    let mut seeds: Vec<u64> = Vec::new();
    while seeds.len() < SEEDS
        && let Ok(number) = getrandom::u32()
    {
        let seed = u64::from(number) % LARGEST_SEED + 1;
        if !seeds.contains(&seed) {
            seeds.push(seed);
        }
    }
    let factors: Vec<Factor> = unflake_worlds::drawn_addresses().into_iter().collect();
    seeds.into_iter().map(|seed| World { seed: Some(seed), ..World::of(factors.clone()) }).collect()
}

/// Real failures come before everything but an interruption; flaky ones after everything that kept
/// tests from running. `flaky_counts` says why flaky failures count where they do.
pub(crate) fn conclude(
    record: &Gathered,
    gates: impl Fn(&Gathered, &Finding) -> bool,
    flaky_counts: &str,
) -> Conclusion {
    let gating = || record.findings.iter().filter(|finding| gates(record, finding));
    let count = |is: fn(&Finding) -> bool| gating().filter(|finding| is(finding)).count();
    let (real, undecided, gating) = (count(Finding::is_real), count(Finding::is_undecided), gating().count());
    let failures = |count: usize, kind: &str| match count {
        1 => format!("1 {kind} failure"),
        _ => format!("{count} {kind} failures"),
    };
    if record.totals.interrupted {
        return Exit::Interrupted.because("interrupted");
    }
    if let Some(lost) = lost_results(record) {
        return lost;
    }
    if real > 0 {
        return Exit::RealFailures.because(failures(real, "real"));
    }
    if undecided > 0 {
        return Exit::RealFailures.because(failures(undecided, "undecided"));
    }
    if let Some(unlisted) = out_of_time(record) {
        return unlisted;
    }
    if !record.problems.is_empty() {
        let unloaded = record.problems.iter().any(|problem| problem.kind == ProblemKind::Collection);
        let what = match (record.listed, unloaded) {
            (false, _) => "the tests could not run",
            (true, true) => "some tests could not be loaded",
            (true, false) => "no real failure, but the runner reported an error",
        };
        return Exit::Runner.because(what);
    }
    if !record.listed {
        return Exit::Runner.because("the tests could not run");
    }
    if let Some(none) = no_tests(record) {
        return none;
    }
    if gating > 0 {
        return Exit::RealFailures.because(failures(gating, "flaky") + flaky_counts);
    }
    if !record.left.is_empty() {
        return Exit::Incomplete.because(format!("{} planned tests did not run", record.left.len()));
    }
    // The runner received the result that no test failed. Where it fails all the same, something other than a
    // test did.
    if let Some(end) = record.closed.as_ref().and_then(|closed| closed.end).filter(|end| *end != Death::Exit(0)) {
        let how = match end {
            Death::Exit(code) => format!("exited with code {code}"),
            Death::Signal(_) => format!("was {end}"),
            Death::Unknown => "ended in an unknown way".to_owned(),
        };
        let what = format!("no real failure, but the runner itself {how} (--runner-output shows its output)");
        return Exit::Runner.because(what);
    }
    let flaky = record.findings.iter().filter(|finding| finding.is_flaky()).count();
    let filtered = record.findings.iter().filter(|finding| matches!(finding.detail, Detail::Filter(_))).count();
    let only_flaky = || format!("no real failure, {flaky} flaky");
    let excused = record.quarantine.iter().filter(|one| one.standing == QuarantineStanding::Excused).count();
    let meaning = match excused {
        0 if flaky > 0 => only_flaky(),
        0 if filtered == 1 => "1 failure excused by the filter, all else passed".to_owned(),
        0 if filtered > 1 => format!("{filtered} failures excused by the filter, all else passed"),
        0 => "all tests passed".to_owned(),
        1 => "no failure but 1 in quarantine".to_owned(),
        _ => format!("no failure but {excused} in quarantine"),
    };
    Exit::Success.because(meaning)
}

fn write_runner_output(output: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
    output.map_or(Ok(()), |text| writeln!(out, "{}\n", report::plain(text.trim_end())))
}
