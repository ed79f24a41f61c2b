//! `unflake nio` and `unflake order`: searches for tests that depend on what ran before them.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use unflake_engine::Launch;
use unflake_model::{Detail, Finding, Isolation, NioKind, NioMode, Purpose, TestId};
use unflake_report as report;
use unflake_runners::{Capabilities, InProcessIsolation};
use unflake_store::{Store, StoredAttempt};
use unflake_techniques::{NioConfig, NioDetection, OrderConfig, OrderDetection, ScreenIn, Technique};

use crate::args::nio::{NioArgs, NioModeArg};
use crate::args::options::groups::OutputArgs;
use crate::args::order::OrderArgs;
use crate::config::settings::{self, Settings};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::{Conclusion, Exit};
use crate::project::comparison::ComparisonBase;
use crate::project::shard::ShardSpec;
use crate::run_loop::Gathered;
use crate::technique_run::{CommandFacts, TechniqueRun, found_nothing, inconclusive};

/// Tests of the history that one name may stand for, and attempts at each.
const LOOKED_UP: usize = 8;
const LATEST: usize = 50;
/// What screening in shared forks can miss.
const SHARED_FORKS: &str = "ran twice in forks that they shared with other tests, whose state may hide a leak (--thorough gives each test a fork)";
/// What comparing state instead of running orders can miss.
const NO_STATE: &str =
    "left no state that unflake compares, so not every other test ran directly after them (--thorough runs all pairs)";
/// The default budget of a search.
const TIME: Duration = Duration::from_secs(600);

pub(crate) fn nio(args: NioArgs, context: &Context) -> Result<Exit, CommandError> {
    let settings = &context.search_settings(args.settings, args.command)?;
    let shard = ShardSpec::new(&args.sharding, args.changed || !args.tests.is_empty(), settings)?;
    let only = match args.changed {
        true => Some(changed_tests(settings, &context.here)?),
        false => (!args.tests.is_empty()).then_some(args.tests),
    };
    if only.as_ref().is_some_and(Vec::is_empty) {
        println!("no test is new or changed against the base");
        return Ok(Exit::Success);
    }
    let mode = match args.mode {
        NioModeArg::IsolatedMethod => NioMode::IsolatedMethod,
        NioModeArg::IsolatedClass => NioMode::IsolatedClass,
        NioModeArg::EntireSuite => NioMode::EntireSuite,
    };
    let isolation = settings.runner().in_process_isolation();
    let screen = match isolation {
        _ if args.thorough || settings.fresh_by.value == Isolation::Process => None,
        Some(_) => Some(ScreenIn::InProcess),
        None => Some(ScreenIn::SharedForks),
    };
    let seconds = settings::time(args.time.as_deref(), TIME)?;
    let mut nio = NioDetection::new(NioConfig {
        mode,
        only,
        class_of,
        fresh_by: settings.fresh_by.value,
        screen,
        jobs: settings.jobs.value,
        state: !args.no_state && settings.runner().can(|runner| runner.state),
        seconds,
    });
    let facts = CommandFacts::search("nio");
    let able = |runner: &Capabilities| runner.repeat_in_process;
    let search =
        Search { facts, able, output: &args.output, seconds, by_change: args.changed, shard, settings, context };
    search.run(&mut nio, |nio| nio.unmatched_names(), |nio| notes_of(nio, isolation))
}

/// Tests that were not searched, or not thoroughly.
fn notes_of(nio: &NioDetection, isolation: Option<InProcessIsolation>) -> Vec<String> {
    let untried = "could not run twice in one process";
    let notes = [
        count(nio.untried().len(), untried),
        failing_in_parallel(&nio.only_in_parallel()),
        count(nio.screened_only(), isolation.map_or(SHARED_FORKS, |isolation| isolation.limits)),
    ];
    notes.into_iter().flatten().collect()
}

fn count(number: usize, what: &str) -> Option<String> {
    match number {
        0 => None,
        1 => Some(format!("1 test {what}")),
        tests => Some(format!("{tests} tests {what}")),
    }
}

/// The note on tests that failed only while copies of the project ran at the same time.
fn failing_in_parallel(tests: &[TestId]) -> Option<String> {
    let what = "failed only while another copy of the project ran: it may share a port or a file with its copies";
    let named: Vec<_> = tests.iter().take(3).map(|test| report::one_line(test.as_str())).collect();
    count(tests.len(), what).map(|note| format!("{note} ({})", named.join(", ")))
}

pub(crate) fn order(args: OrderArgs, context: &Context) -> Result<Exit, CommandError> {
    let settings = &context.search_settings(args.settings, args.command)?;
    let seed = match args.seed {
        Some(seed) => seed,
        // Six digits: short enough to be typed again.
        None => {
            let drawn = getrandom::u64().map_err(|error| io::Error::other(error.to_string()));
            drawn.map_err(CommandError::internal("draw a seed"))? % 1_000_000
        }
    };
    let seconds = settings::time(args.time.as_deref(), TIME)?;
    let mut order = OrderDetection::new(OrderConfig {
        failed_after: failed_after(settings, &args.tests)?,
        only: (!args.tests.is_empty()).then_some(args.tests),
        seconds,
        patience: f64::INFINITY,
        doubts: false,
        random: args.random,
        seed,
        thorough: args.thorough,
        own_order: !settings.runner().can(|runner| runner.any_order),
        state: !args.no_state && settings.runner().can(|runner| runner.state),
        fresh_by: settings.fresh_by.value,
    });
    let facts = CommandFacts { seed: Some(seed), ..CommandFacts::search("order") };
    let able = Capabilities::shares_processes;
    let (output, by_change, shard) = (&args.output, false, None);
    let search = Search { facts, able, output, seconds, by_change, shard, settings, context };
    search.run(
        &mut order,
        |order| order.unmatched_names(),
        |order| {
            let notes = [failing_in_parallel(&order.only_in_parallel()), count(order.without_state(), NO_STATE)];
            notes.into_iter().flatten().collect()
        },
    )
}

/// By test, where it last failed in a suite: the tests that had run in its process before. For the
/// tests that these names, or parts of them, stand for.
pub(crate) fn failed_after(
    settings: &Settings,
    names: &[String],
) -> Result<BTreeMap<TestId, Vec<TestId>>, CommandError> {
    let mut after = BTreeMap::new();
    let Some(store) = Store::find(&settings.store.value)? else { return Ok(after) };
    for name in names {
        for test in store.find_tests(name)?.into_iter().take(LOOKED_UP) {
            let is_it = |one: &&StoredAttempt| {
                one.attempt.purpose == Purpose::Suite && one.attempt.outcome.is_failure() && one.attempt.run == 0
            };
            let attempts = store.attempts_of(&test, LATEST)?;
            let Some(StoredAttempt { run, attempt, .. }) = attempts.iter().find(is_it) else { continue };
            let mut before: Vec<(u32, TestId)> = store
                .attempts_in(*run)?
                .into_iter()
                .filter(|one| one.purpose == Purpose::Suite && one.environment == attempt.environment)
                .filter(|one| one.position < attempt.position && one.run == 0)
                .map(|one| (one.position, one.test))
                .collect();
            before.sort();
            after.insert(test, before.into_iter().map(|(_, test)| test).collect());
        }
    }
    Ok(after)
}

/// A search that is about to start.
struct Search<'a> {
    facts: CommandFacts,
    /// What the runner must be able to do.
    able: fn(&Capabilities) -> bool,
    output: &'a OutputArgs,
    seconds: f64,
    /// Whether tests were chosen by what changed. Then a name may match no test.
    by_change: bool,
    shard: Option<ShardSpec>,
    settings: &'a Settings,
    context: &'a Context,
}

impl Search<'_> {
    /// `unmatched`: names that match no test. `notes`: what the technique reports in addition
    /// to its findings.
    fn run<T: Technique>(
        &self,
        technique: &mut T,
        unmatched: impl Fn(&T) -> Vec<String>,
        notes: impl Fn(&T) -> Vec<String>,
    ) -> Result<Exit, CommandError> {
        let time = settings::engine_limit(self.seconds);
        let launch = Launch { suite: false, time, ..self.context.search_launch(self.settings) };
        if !self.settings.runner().can(self.able) {
            let able = unflake_runners::names_with(self.able, "and");
            let name = self.facts.name;
            let what = format!("unflake {name} supports {able} only");
            let hint = match self.settings.runner().can(|runner| runner.side_by_side) {
                true => "`unflake stress` finds tests that fail at the same time as others in one process",
                false => "`unflake stress` runs tests of any runner again and again",
            };
            return Err(CommandError::usage(what).hint(hint));
        }
        let run = TechniqueRun {
            budget: Some(self.seconds),
            shard: self.shard.clone(),
            ..TechniqueRun::with_files(self.context, self.settings, launch, self.output)?
        };
        let mut done = run.run(technique)?;
        let unmatched = if done.record.listed { unmatched(technique) } else { Vec::new() };
        if let Some(name) = unmatched.first().filter(|_| !self.by_change) {
            return Err(CommandError::unknown_test(name, done.record.test_names()));
        }
        let is_empty = done.record.searched.as_ref().is_some_and(|searched| searched.sessions == 0);
        let conclusion = match self.by_change && is_empty && !unmatched.is_empty() {
            true => Exit::Success
                .because("no test is in a changed file; `unflake affected` lists the tests that the change can affect"),
            false => conclude(&done.record, self.facts.name),
        };
        done.finish(&conclusion);
        done.record.notes.extend(notes(technique));
        let quiet = self.output.quiet;
        done.report(&self.facts, &conclusion, |run, style, out| report::order_and_nio(run, style, quiet, out))
    }
}

fn conclude(record: &Gathered, name: &str) -> Conclusion {
    if let Some(conclusion) = inconclusive(record, "interrupted; the findings until then are complete") {
        return conclusion;
    }
    match record.findings.iter().filter(|finding| depends(finding)).count() {
        0 if record.findings.iter().any(is_possible) => {
            Exit::Success.because("possible findings only: budget exhausted before they were repeated (--for)")
        }
        0 if name == "nio" => found_nothing(record, "non-idempotent test"),
        0 => found_nothing(record, "order-dependent test"),
        1 => Exit::RealFailures.because("1 flaky test"),
        tests => Exit::RealFailures.because(format!("{tests} flaky tests")),
    }
}

/// Whether a finding fails the search. Tests that always fail do not.
fn depends(finding: &Finding) -> bool {
    match &finding.detail {
        Detail::Nio(nio) => nio.kind != NioKind::Broken,
        Detail::Order(_) => !is_possible(finding),
        Detail::Verdict(verdict) => verdict.kind.is_flaky(),
        Detail::Intersect(_)
        | Detail::State(_)
        | Detail::Divergence(_)
        | Detail::Layer(_)
        | Detail::Factor(_)
        | Detail::Filter(_) => false,
    }
}

/// Whether a failure was seen once and the budget was exhausted before it could be repeated.
fn is_possible(finding: &Finding) -> bool {
    matches!(&finding.detail, Detail::Order(order) if order.culprits.is_empty())
}

/// The class or file of a test: the part of its name before the last `::`, or before `#`.
pub(crate) fn class_of(test: &str) -> &str {
    let name = &test[..test.find('[').unwrap_or(test.len())];
    name.rsplit_once("::").or_else(|| name.split_once('#')).map_or(name, |(class, _)| class)
}

/// Names, or parts of names, of the tests that are new or changed against the base.
fn changed_tests(settings: &Settings, here: &Path) -> Result<Vec<String>, CommandError> {
    let Some(compare) = ComparisonBase::new(settings, here)? else {
        return Err(CommandError::usage("--changed: this is not a git repository").hint("name the tests instead"));
    };
    let repository = compare.repository().map_err(CommandError::usage)?;
    let with_option = |error: unflake_git::GitError| CommandError::usage(format!("--changed: {error}"));
    let base = repository.base(settings.base.value.as_deref(), &[]).map_err(with_option)?;
    let changes = repository.changes(&base, &unflake_runners::global_inputs(), &[], &[]).map_err(with_option)?;
    let below = here.canonicalize().ok().and_then(|here| Some(here.strip_prefix(&changes.root).ok()?.to_owned()));
    let mut names = Vec::new();
    for change in &changes.files {
        let path = Path::new(&change.path);
        let path = below.as_ref().and_then(|below| path.strip_prefix(below).ok()).unwrap_or(path).display();
        match &change.functions {
            Some(functions)
                if functions.bodies.is_empty()
                    && functions.after.iter().chain(&functions.names).all(|name| is_test(name)) =>
            {
                names.extend(functions.after.iter().map(|name| format!("{path}::{}", name.replace('.', "::"))));
            }
            _ => names.push(format!("{path}::")),
        }
    }
    Ok(names)
}

/// Whether a function is a test by its name. A changed helper may affect any test of its file.
fn is_test(name: &str) -> bool {
    name.rsplit('.').next().is_some_and(|name| name.starts_with("test"))
}
