//! `unflake history merge`: takes over the results of shards, and reports on all of them as if one
//! run had made them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::env;

use unflake_model::{Event, Purpose, Test, TestId, Totals};
use unflake_report as report;
use unflake_store::{ShardRun, Store, StoreLocation};

use crate::args::history::HistoryMergeArgs;
use crate::commands::quarantine::command::Quarantine;
use crate::config::project;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::{Conclusion, Exit};
use crate::output::report_files::{ReportFiles, RunSummary};
use crate::run_loop::Gathered;
use crate::technique_run::CommandFacts;

pub(crate) fn run(args: HistoryMergeArgs, context: &Context) -> Result<Exit, CommandError> {
    let files = ReportFiles::open(&args.output)?;
    let to = context.store(args.store)?;
    let mut store = Store::open(&to)?;
    for from in &args.from {
        take_over(from, &to, &mut store, context)?;
    }
    let mut all = store.shard_runs(args.shard_group.as_deref())?;
    // Runs that were taken over come in any order.
    all.sort_by_key(|one| (one.run.facts.started, one.run.id));
    let Some(latest) = all.last() else {
        let what = match &args.shard_group {
            Some(group) => format!("no shard of `{group}` is in {to}"),
            None => format!("no run in {to} was a shard of a suite"),
        };
        let example = unflake_runners::examples().next().unwrap_or_default();
        return Err(
            CommandError::usage(what).hint(format!("`unflake run --shard 1/2 -- {example}` runs one of two shards"))
        );
    };
    let mut suite = ShardedSuite::new(latest.clone(), all);
    let mut record = suite.record(&store)?;
    record.quarantine = Quarantine::of(&context.here)?.results(&record);
    let conclusion = suite.conclusion(&record);
    let headline = suite.headline();
    let is_rerun = record.attempts.iter().any(|attempt| attempt.purpose == Purpose::Suite);
    let facts = CommandFacts { name: "history merge", flaky_gates: false, can_order: true, seed: None };
    let command = suite.latest.run.facts.command.clone();
    let summary = RunSummary { facts: &facts, command: &command, record: &record, conclusion: &conclusion };
    let quiet = args.output.quiet;
    files.write(&summary, context.color, |run, style, out| {
        writeln!(out, "{headline}")?;
        if is_rerun { report::summary(run, style, quiet, out) } else { report::order_and_nio(run, style, quiet, out) }
    })?;
    Ok(conclusion.exit)
}

/// Takes over all runs of shards that the other history has.
fn take_over(from: &str, to: &StoreLocation, store: &mut Store, context: &Context) -> Result<(), CommandError> {
    let beside = project::find(&context.here).join(".unflake");
    // The error does not repeat the address: it may contain a password.
    let location = StoreLocation::parse(from, &beside, &|name| env::var(name).ok())
        .map_err(|why| CommandError::usage(format!("the address FROM cannot be used: {why}")))?;
    if location == *to {
        return Ok(());
    }
    let Some(source) = Store::find(&location)? else {
        return Err(CommandError::usage(format!("there is no history in {location}"))
            .hint("name the .unflake directory of each shard, or the address of a server"));
    };
    let shards = source.all_shard_runs()?;
    if shards.is_empty() {
        return Err(CommandError::usage(format!("no run in {location} was a shard of a suite"))
            .hint("`unflake history copy` copies a whole history"));
    }
    for shard in &shards {
        store.take_over(&source, shard)?;
    }
    Ok(())
}

/// The shards of one suite, each with its latest run.
struct ShardedSuite {
    latest: ShardRun,
    shards: BTreeMap<u32, ShardRun>,
    /// What does not fit together.
    notes: Vec<String>,
    planned: usize,
    executed: usize,
    /// Tests that their shard was told not to run.
    left_out: usize,
    /// Tests that no shard has run, as far as they are known by name, and why.
    left: Vec<TestId>,
    /// The numbers of shards without a run.
    missing: Vec<u32>,
}

impl ShardedSuite {
    fn new(latest: ShardRun, all: Vec<ShardRun>) -> Self {
        let count = latest.shard.count;
        let mut notes = Vec::new();
        let mut shards: BTreeMap<u32, ShardRun> = BTreeMap::new();
        let mut repeated: BTreeMap<u32, usize> = BTreeMap::new();
        let total = all.len();
        // Without a group, only runs of the same tests belong together.
        let belongs = |one: &ShardRun| {
            one.shard.count == count && (!one.shard.group.is_empty() || one.shard.listing == latest.shard.listing)
        };
        let of_suite: Vec<ShardRun> = all.into_iter().filter(belongs).collect();
        if of_suite.len() < total && !latest.shard.group.is_empty() {
            notes.push(format!("{} runs of other splits than into {count} do not count", total - of_suite.len()));
        }
        for one in of_suite {
            *repeated.entry(one.shard.number).or_default() += 1;
            shards.insert(one.shard.number, one);
        }
        for (number, runs) in repeated.into_iter().filter(|(_, runs)| *runs > 1) {
            notes.push(format!("shard {number} ran {runs} times: the latest run counts"));
        }
        let missing = (1..=count).filter(|number| !shards.contains_key(number)).collect();
        Self { latest, shards, notes, planned: 0, executed: 0, left_out: 0, left: Vec::new(), missing }
    }

    /// What one run of the whole suite would have gathered.
    fn record(&mut self, store: &Store) -> Result<Gathered, CommandError> {
        let stored: BTreeMap<TestId, Test> = store
            .tests()?
            .into_iter()
            .map(|stored| {
                let file = stored.file.map(Into::into);
                (stored.test.clone(), Test { id: stored.test, file, line: stored.line, command: Vec::new() })
            })
            .collect();
        let mut record = Gathered::default();
        let (mut runner, mut language) = (None, None);
        let mut planned: BTreeSet<TestId> = BTreeSet::new();
        let mut twice = 0;
        let mut longest: f64 = 0.0;
        for (number, one) in &self.shards {
            let mut part = Gathered::default();
            let mut cut_short: HashSet<TestId> = HashSet::new();
            part.attempts = store.attempts_in(one.run.id)?;
            part.worlds = store.worlds_in(one.run.id)?.into_values().collect();
            part.findings = store.findings_in(one.run.id)?.into_iter().map(|(_, finding)| finding).collect();
            for event in store.other_observations(one.run.id)? {
                match event {
                    Event::EnvironmentStarted(environment) => {
                        runner.get_or_insert(environment.runner);
                        language.get_or_insert(environment.language);
                    }
                    Event::Problem(problem) => part.problems.push(problem),
                    Event::Note(note) => part.notes.push(note),
                    Event::SessionEnded { left, .. } => cut_short.extend(left),
                    _ => {}
                }
            }
            let executed: HashSet<&TestId> = part.attempts.iter().map(|attempt| &attempt.test).collect();
            let is_rerun = part.attempts.iter().any(|attempt| attempt.purpose == Purpose::Suite);
            // A suite that ended as planned ran all but what it was told to leave out.
            let is_whole = |exit: u8| [Exit::Success, Exit::RealFailures].iter().any(|whole| whole.code() == exit);
            let is_whole = is_rerun && one.run.ended.is_some_and(|(_, exit)| is_whole(exit));
            for test in one.shard.planned.iter().filter(|test| !executed.contains(test)) {
                match is_whole && !cut_short.contains(test) {
                    true => self.left_out += 1,
                    false => self.left.push(test.clone()),
                }
            }
            self.executed += one.shard.planned.iter().filter(|test| executed.contains(test)).count();
            self.planned += one.shard.planned.len();
            twice += one.shard.planned.iter().filter(|test| !planned.insert((*test).clone())).count();
            match one.run.ended {
                Some((ended, _)) => longest = longest.max((ended.0 - one.run.facts.started.0) as f64 / 1e6),
                None => self.notes.push(format!("shard {number} has not ended: it runs, or was killed")),
            }
            record.deselected = one.run.listed.map_or(record.deselected, |(_, deselected)| deselected);
            record.absorb(part);
        }
        if twice > 0 {
            self.notes.push(format!("{twice} tests ran in several shards: these did not have the same history"));
        }
        let listings: BTreeSet<(&str, u32)> =
            self.shards.values().map(|one| (one.shard.listing.as_str(), one.shard.listed)).collect();
        match listings.first() {
            Some((_, listed)) if listings.len() == 1 => {
                let unplanned = (*listed as usize).saturating_sub(planned.len());
                if self.missing.is_empty() && unplanned > 0 {
                    let why = "these did not have the same history";
                    self.notes.push(format!("{unplanned} of {listed} tests are in no shard: {why}"));
                }
                self.planned = (*listed as usize).max(self.planned);
            }
            _ => self.notes.push("the shards did not list the same tests".to_owned()),
        }
        (record.runner, record.language, record.listed) = (runner, language, true);
        record.tests = planned.iter().filter_map(|test| stored.get(test).cloned()).collect();
        record.left = self.left.clone();
        record.notes.extend(self.notes.iter().cloned());
        record.totals = Totals { seconds: longest, ..record.totals };
        Ok(record)
    }

    fn unexecuted(&self) -> usize {
        self.planned.saturating_sub(self.executed + self.left_out)
    }

    fn headline(&self) -> String {
        let Self { planned, executed, .. } = self;
        let left_out = match self.left_out {
            0 => String::new(),
            left_out => format!(", {left_out} left out (quarantine, --affected)"),
        };
        let count = self.latest.shard.count;
        let reported = self.shards.len();
        let shards = if reported == count as usize {
            format!("{count} shards")
        } else {
            format!("{reported} of {count} shards")
        };
        let seconds = self.shards.values().filter_map(|one| {
            let (ended, _) = one.run.ended?;
            Some((ended.0 - one.run.facts.started.0) as f64 / 1e6)
        });
        let (shortest, longest) =
            seconds.fold((f64::INFINITY, 0.0_f64), |(low, high), one| (low.min(one), high.max(one)));
        let times = match shortest.is_finite() {
            true if reported == 1 => format!("; it took {longest:.1} s"),
            true => format!("; they took {shortest:.1} s to {longest:.1} s"),
            false => String::new(),
        };
        format!("{shards}: {planned} tests planned, {executed} executed{left_out}{times}")
    }

    /// The worst of the shards decides; then whether all of them are here.
    fn conclusion(&self, record: &Gathered) -> Conclusion {
        let exits: Vec<(u32, u8)> =
            self.shards.iter().filter_map(|(number, one)| Some((*number, one.run.ended?.1))).collect();
        let with = |code: u8| {
            exits.iter().filter(|(_, exit)| *exit == code).map(|(number, _)| number.to_string()).collect::<Vec<_>>()
        };
        let severe = [Exit::Interrupted, Exit::Internal, Exit::Usage, Exit::RealFailures, Exit::Runner];
        for exit in severe {
            let shards = with(exit.code());
            if !shards.is_empty() {
                let which = if shards.len() == 1 { "shard" } else { "shards" };
                let real = record.findings.iter().filter(|finding| finding.is_real()).count();
                let what = match (exit, real) {
                    (Exit::RealFailures, 1) => "1 real failure".to_owned(),
                    (Exit::RealFailures, real) if real > 1 => format!("{real} real failures"),
                    (Exit::RealFailures, _) if record.findings.len() == 1 => "1 finding".to_owned(),
                    (Exit::RealFailures, _) => format!("{} findings", record.findings.len()),
                    _ => exit.meaning().to_owned(),
                };
                return exit.because(format!("{what}, in {which} {}", shards.join(", ")));
            }
        }
        if !self.missing.is_empty() {
            let missing: Vec<String> = self.missing.iter().map(u32::to_string).collect();
            let which = if missing.len() == 1 { "shard" } else { "shards" };
            let count = self.latest.shard.count;
            return Exit::Incomplete.because(format!("no results of {which} {} of {count}", missing.join(", ")));
        }
        if self.unexecuted() > 0 {
            return Exit::Incomplete.because(format!("{} planned tests did not run", self.unexecuted()));
        }
        if exits.len() < self.shards.len() {
            return Exit::Incomplete.because("a shard has not ended");
        }
        let incomplete = with(Exit::Incomplete.code());
        if !incomplete.is_empty() {
            return Exit::Incomplete.because(format!(
                "{} (shard {})",
                Exit::Incomplete.meaning(),
                incomplete.join(", ")
            ));
        }
        if self.planned == 0 {
            return Exit::NoTests.because("no tests found");
        }
        let flaky = record.findings.iter().filter(|finding| finding.is_flaky()).count();
        match flaky {
            0 => Exit::Success.because("all shards passed"),
            flaky => Exit::Success.because(format!("no real failure, {flaky} flaky")),
        }
    }
}
