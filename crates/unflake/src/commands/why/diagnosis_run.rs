//! The runs behind one diagnosis: untraced ones for most techniques, a traced one for the line.

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Zoned;
use unflake_engine::{Launch, SharedBuilds};
use unflake_model::{
    Confidence, Detail, Factor, FactorEffect, FactorKind, Failure, Finding, Isolation, NioMode, Shows, SourceLine,
    TestId, World,
};
use unflake_report::diagnosis_rank;
use unflake_runners::Capabilities;
use unflake_techniques::{
    CombinedScreen, DelayIntervention, DelayInterventionConfig, Diagnosis, DiagnosisConfig, DiagnosisStep,
    ExperimentConfig, Intervention, InterventionConfig, NioConfig, OrderConfig, PassingWorld, StepCost,
    WaitIntervention, WaitInterventionConfig,
};
use unflake_worlds::is_seed;

use crate::commands::factors::experiment_plan::{self, Plan};
use crate::commands::factors::repro_commands::add_commands;
use crate::commands::order_and_nio::{class_of, failed_after};
use crate::commands::why::candidates::KnownTest;
use crate::commands::why::evidence::{
    SEED_OF_FORKS, compared_schedules, compared_seeds, compared_seeds_of_forks, compared_worlds, effect_of_tracing,
    failures_alone, is_factor, is_forced_delay, is_proven_seed, is_sure, outcomes, passing_world, ways_to_fail,
    worlds_that_fail,
};
use crate::config::settings::{self, Settings};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::{Conclusion, Exit};
use crate::interrupt::was_interrupted;
use crate::launch::launch;
use crate::run_loop::Gathered;
use crate::shell_command;
use crate::technique_run::{TechniqueRun, inconclusive};

/// Random orders that are tried after every other test ran before the test.
const RANDOM_ORDERS: u32 = 10;
/// Traced runs to compare, and at most as long as few fail or few pass.
const TRACED: u32 = 50;
const MOST_TRACED: u32 = 2000;
/// Traced runs where only the lines that wait are asked for.
const FEW_TRACED: u32 = 10;
/// Traced runs where a schedule makes the test fail, and the schedules to compare with it.
const SCHEDULED: u32 = 20;
/// Below this failure rate a test rarely fails while it is traced.
const RARE: f64 = 0.12;
/// Runs of an experiment at most.
const MAX_RUNS: u32 = 1000;
/// How many printed commands are run, how often one that claims to fail every time, and how long it
/// may take.
const CHECKED: usize = 4;
const CHECKS: u32 = 3;
const SLOW: Duration = Duration::from_secs(30);
/// How many times as many runs of a single delayed thread may take place at once.
const SLEEPING: usize = 3;
/// Delays where tests run at the same time. A test that changes a lot needs few of them, or it is always last.
const DELAYS: [&str; 4] = ["20ms/2@1", "20ms/12@2", "20ms/4@3", "20ms/12@4"];
const INTERRUPTED: &str = "interrupted; the findings until then are complete";
/// With fewer seconds left no further run is started.
const SHORTEST: f64 = 2.0;
/// How much of the time that is left goes to traces: interventions need some, too. Less for a test
/// that passes alone and fails in another world: its traces mostly say which lines wait.
const SHARE_OF_TRACES: f64 = 0.6;
const SMALL_SHARE_OF_TRACES: f64 = 0.25;
/// Steps that were cut short are tried again where so much of the budget is left.
const SHARE_OF_SECOND_TRY: f64 = 0.1;
/// How much of the time that is left then goes to waits: values may need some, too.
const SHARE_OF_WAITS: f64 = 0.7;
/// Traced runs that list where threads can be delayed, and how much of the time goes to them and then to delays.
pub(super) const LISTED: u32 = 3;
const SHARE_OF_LIST: f64 = 0.5;
const SHARE_OF_LINE: f64 = 0.3;
const SHARE_OF_DELAYS: f64 = 0.7;

/// The test to diagnose.
pub(crate) struct DiagnosisRequest<'a> {
    /// Its name, or a part of it that no other test has.
    pub(crate) test: String,
    pub(crate) seconds: f64,
    pub(crate) quiet: bool,
    pub(crate) settings: &'a Settings,
    pub(crate) context: &'a Context,
    /// What its runs build and list once.
    pub(crate) builds: Option<SharedBuilds>,
}

pub(crate) struct DiagnosisResult {
    /// Its findings are sorted, the best diagnosis first.
    pub(crate) record: Gathered,
    pub(crate) conclusion: Conclusion,
    pub(crate) costs: Vec<StepCost>,
    /// Steps for which the budget was too small. None are named where a root cause is proven.
    pub(crate) untried: Vec<DiagnosisStep>,
    /// The steps that the budget ended. None are named where a root cause is proven or likely.
    pub(crate) cut_short: Vec<DiagnosisStep>,
    /// Failures and runs of the test alone.
    pub(crate) alone: (u32, u32),
    /// Failures and runs of the test, however it ran.
    pub(crate) ever: (u32, u32),
    /// How it failed, the most frequent first.
    pub(crate) ways: Vec<(Failure, u32)>,
}

/// What the steps of a diagnosis have taken, and what is left of them.
struct Spent {
    costs: Vec<StepCost>,
    untried: Vec<DiagnosisStep>,
    cut_short: Vec<DiagnosisStep>,
}

impl Spent {
    fn is_next(&self, step: DiagnosisStep) -> bool {
        self.untried.first() == Some(&step)
    }
}

impl DiagnosisRequest<'_> {
    pub(crate) fn run(&self) -> Result<DiagnosisResult, CommandError> {
        let began = Instant::now();
        let left = || self.seconds - began.elapsed().as_secs_f64();
        let known = KnownTest::look_up(self.settings, &self.test)?;
        let (mut record, first) = self.untraced(&known, None, left())?;
        let mut spent = Spent { costs: first.costs(), untried: first.steps_left(), cut_short: first.cut_short() };
        let mut conclusion = inconclusive(&record, INTERRUPTED);
        let can_go_on = || conclusion.is_none() && !was_interrupted() && left() > SHORTEST;
        let is_explained = |record: &Gathered| record.findings.iter().any(is_sure);
        if can_go_on() && first.matching.len() == 1 {
            spent.costs.extend(self.line_of_schedule(&first.matching[0], left() * SHARE_OF_LINE, &mut record));
        }
        if can_go_on() && spent.is_next(DiagnosisStep::Divergence) {
            self.at_lines(&first, &left, &can_go_on, &mut spent, &mut record)?;
        }
        let is_proven =
            |record: &Gathered| record.findings.iter().any(|found| found.confidence() == Some(Confidence::Proven));
        let mut is_second = false;
        let had_proof = is_proven(&record);
        while can_go_on() && !is_explained(&record) {
            if spent.untried.is_empty() {
                // What is left of the budget belongs to the steps whose part of it was too small.
                let worth = left() > SHARE_OF_SECOND_TRY * self.seconds;
                if is_second || !worth || spent.cut_short.is_empty() {
                    break;
                }
                is_second = true;
                spent.untried = std::mem::take(&mut spent.cut_short);
                spent.untried.dedup();
            }
            if spent.is_next(DiagnosisStep::Divergence) {
                spent.untried.remove(0);
                continue;
            }
            let (later, again) = self.untraced(&known, Some(spent.untried.clone()), left())?;
            spent.costs.extend(again.costs());
            record.absorb(later);
            spent.untried = again.steps_left();
            spent.cut_short.extend(again.cut_short());
        }
        let worth = left() > SHARE_OF_SECOND_TRY * self.seconds;
        if can_go_on() && worth && !is_proven(&record) && spent.cut_short.contains(&DiagnosisStep::Seeds) {
            // Failures that traces met by chance name a line. Only a seed that fails every time proves it.
            let (later, again) = self.untraced(&known, Some(vec![DiagnosisStep::Seeds]), left())?;
            spent.costs.extend(again.costs());
            record.absorb(later);
        }
        // Neither a seed nor a world names a line.
        let can_compare = !compared_worlds(&record).is_empty() || !self.compared_seeds(&record).is_empty();
        if can_go_on() && !had_proof && can_compare {
            self.at_lines(&first, &left, &can_go_on, &mut spent, &mut record)?;
        }
        if is_explained(&record) {
            spent.untried.clear();
            spent.cut_short.clear();
        }
        if was_interrupted() && conclusion.is_none() {
            conclusion = Some(Exit::Interrupted.because(INTERRUPTED));
        }
        record.findings.sort_by_key(diagnosis_rank);
        check_commands(&mut record, &self.context.here);
        record.findings.sort_by_key(diagnosis_rank);
        let conclusion = conclusion.take().unwrap_or_else(|| conclude(&record, first.matching.first()));
        let ever = first.matching.first().map_or((0, 0), |test| outcomes(&record.attempts, test));
        let ways = first.matching.first().map_or(Vec::new(), |test| ways_to_fail(&record.attempts, test));
        let Spent { costs, untried, mut cut_short } = spent;
        cut_short.dedup();
        Ok(DiagnosisResult { record, conclusion, costs, untried, cut_short, alone: first.alone(), ever, ways })
    }

    /// What needs traces: single delays, the line where failing runs leave passing ones, and
    /// interventions there.
    fn at_lines(
        &self,
        first: &Diagnosis,
        left: &dyn Fn() -> f64,
        can_go_on: &dyn Fn() -> bool,
        spent: &mut Spent,
        record: &mut Gathered,
    ) -> Result<(), CommandError> {
        let test = &first.matching[0];
        let mut explained = VecDeque::from(compared_worlds(record));
        if explained.is_empty() {
            spent.costs.extend(self.forced_delays(test, first.alone(), left(), record)?);
        }
        if record.findings.iter().any(is_forced_delay) {
            spent.untried.clear();
        }
        if !can_go_on() || !spent.is_next(DiagnosisStep::Divergence) {
            return Ok(());
        }
        spent.untried.remove(0);
        let passing = first.passing_speed().map(|speed| passing_world(speed, record, test, first.alone()));
        let passing = passing.filter(|world| !world.failures.is_empty());
        let is_compared = !explained.is_empty();
        let worlds = explained.pop_front().unwrap_or_else(|| compared_schedules(record));
        // A seed that fails every time shows where, which the few failures without it do not.
        let is_rare = f64::from(first.alone().0) < RARE * f64::from(first.alone().1);
        let worlds = if worlds.is_empty() && is_rare { self.compared_seeds(record) } else { worlds };
        let is_relied_on = record.findings.iter().any(|finding| finding.technique() == "divergence");
        let fails_elsewhere = first.alone().0 == 0 && worlds_that_fail(record).next().is_some();
        let is_listing = is_relied_on || fails_elsewhere || passing.is_some();
        let before = outcomes(&record.attempts, test);
        let never_failed = before.0 == 0;
        let share = if is_listing || never_failed { SMALL_SHARE_OF_TRACES } else { SHARE_OF_TRACES };
        let runs = match () {
            () if !worlds.is_empty() => SCHEDULED..=SCHEDULED,
            () if is_relied_on => FEW_TRACED..=FEW_TRACED,
            () => TRACED..=MOST_TRACED,
        };
        let is_as_it_is = worlds.is_empty();
        let (cost, waits, _) = self.traced(test, runs.clone(), worlds, left() * share, record);
        spent.costs.extend(cost);
        while let Some(worlds) = explained.pop_front().filter(|_| can_go_on()) {
            if record.findings.iter().any(|finding| finding.technique() == "divergence") {
                break;
            }
            spent.costs.extend(self.traced(test, runs.clone(), worlds, left() * share, record).0);
        }
        let ever = outcomes(&record.attempts, test);
        let traced = (ever.0 - before.0, ever.1 - before.1);
        record.notes.extend(effect_of_tracing(first.alone(), traced).filter(|_| is_as_it_is));
        if is_compared {
            return Ok(());
        }
        let is_proven = |record: &Gathered| {
            record
                .findings
                .iter()
                .any(|finding| finding.confidence() == Some(Confidence::Proven) && !is_factor(finding))
        };
        // A value that differs after a wait often only shows that the wait was too short.
        let waits_first = !waits.is_empty() && !record.findings.iter().any(is_proven_seed);
        if can_go_on() && waits_first {
            spent.costs.extend(self.forced_waits(test, waits, passing, left() * SHARE_OF_WAITS, record)?);
        }
        if can_go_on() && !is_proven(record) {
            spent.costs.extend(self.forced(left(), record)?);
        }
        Ok(())
    }

    /// Everything that needs no traces. `steps`: None for those that the first outcomes suggest.
    fn untraced(
        &self,
        known: &KnownTest,
        steps: Option<Vec<DiagnosisStep>>,
        seconds: f64,
    ) -> Result<(Gathered, Diagnosis), CommandError> {
        let settings = self.settings;
        let launch = Launch { suite: false, time: settings::engine_limit(seconds), ..self.launch() };
        let Plan { baseline, singles, mixes, untried } =
            experiment_plan::plan(&self.plan_context(), &[], &settings.runner());
        let fresh_by = settings.fresh_by.value;
        let repeats = settings.runner().can(|runner| runner.repeat_in_process);
        let shares_processes = settings.runner().can(Capabilities::shares_processes);
        let compares_state = settings.runner().can(|runner| runner.state);
        let idempotence = NioConfig {
            mode: NioMode::IsolatedMethod,
            only: None,
            class_of,
            fresh_by,
            // A screening pays for many tests only.
            screen: None,
            jobs: settings.jobs.value,
            state: compares_state,
            seconds,
        };
        let order = OrderConfig {
            failed_after: failed_after(settings, std::slice::from_ref(&self.test))?,
            only: None,
            seconds,
            patience: f64::INFINITY,
            doubts: true,
            random: RANDOM_ORDERS,
            seed: 1,
            thorough: false,
            own_order: !settings.runner().can(|runner| runner.any_order),
            state: compares_state,
            fresh_by,
        };
        let factors = ExperimentConfig {
            names: Vec::new(),
            together: false,
            baseline: baseline.clone(),
            plan: singles,
            mixes,
            untried,
            combined: CombinedScreen::Never,
            max_runs: MAX_RUNS,
            seconds,
            fresh_by,
            known: Vec::new(),
            layers: Vec::new(),
        };
        let seeds = FactorKind::all().into_iter().filter(is_seed);
        let seeds = seeds.filter(|kind| baseline.iter().any(|factor| factor.kind() == *kind));
        let can_trace = settings.runner().can(|runner| runner.trace) && settings.results.value.is_none();
        // Agents inside of a runner name them, traced programs do not.
        let names_delays = launch.driver.is_none();
        let mut diagnosis = Diagnosis::new(DiagnosisConfig {
            test: self.test.clone(),
            verdict: known.verdict,
            steps,
            fresh_by,
            seconds,
            idempotence: repeats.then_some(idempotence),
            order: shares_processes.then_some(order),
            factors: Some(factors),
            slow_starts: settings.runner().can(|runner| runner.slow_starts),
            side_by_side: settings.runner().can(|runner| runner.side_by_side),
            seeds: if unflake_worlds::can_seed() { seeds.collect() } else { Vec::new() },
            seed_of_forks: FactorKind::named(SEED_OF_FORKS).filter(|_| names_delays && fresh_by == Isolation::Fork),
            speed: FactorKind::named("speed").filter(|_| unflake_worlds::can_seed()),
            schedules: FactorKind::all().into_iter().find(|kind| kind.at_lines).filter(|_| can_trace),
            delays: if unflake_worlds::can_seed() { delays() } else { Vec::new() },
            names_delays,
            can_trace,
            can_compare_worlds: can_trace && names_delays,
        });
        let run = TechniqueRun {
            budget: Some(seconds),
            ..TechniqueRun::new(self.context, settings, launch, self.context.progress(self.quiet))
        };
        let mut done = run.run(&mut diagnosis)?;
        if done.record.listed && done.record.problems.is_empty() && diagnosis.matching.len() != 1 {
            let matching: Vec<&str> = diagnosis.matching.iter().map(|test| test.as_str()).collect();
            return Err(CommandError::not_one_test(&self.test, &matching, done.record.test_names()));
        }
        // Other findings name the world of each command themselves.
        let is_plain = |finding: &&mut Finding| finding.replays.iter().all(|replay| replay.under == World::default());
        for finding in done.record.findings.iter_mut().filter(is_plain) {
            add_commands(std::slice::from_mut(finding), &baseline);
        }
        let code = if done.record.findings.is_empty() { Exit::Success } else { Exit::RealFailures };
        done.finish(&code.because(""));
        Ok((done.record, diagnosis))
    }

    /// A launch that reuses what earlier ones have built.
    fn launch(&self) -> Launch {
        Launch { builds: self.builds.clone(), ..self.context.search_launch(self.settings) }
    }

    /// Worlds of seeds with which a test fails and passes. Empty: no seed is proven.
    fn compared_seeds(&self, record: &Gathered) -> Vec<World> {
        let is_driven = launch(self.settings).driver.is_some();
        if is_driven { compared_seeds(record) } else { compared_seeds_of_forks(record) }
    }

    fn plan_context(&self) -> unflake_model::PlanContext {
        experiment_plan::context(&Zoned::now(), &self.settings.command.value)
    }

    /// Proves the located line by forcing its value, where the runner can. None: there is nothing to
    /// force.
    fn forced(&self, seconds: f64, record: &mut Gathered) -> Result<Option<StepCost>, CommandError> {
        let at = record.findings.iter().position(|finding| finding.technique() == "divergence");
        let kind = FactorKind::all().into_iter().find(|kind| kind.forces_values);
        let launch = Launch { suite: false, time: settings::engine_limit(seconds), ..self.launch() };
        let (Some(at), Some(kind), None) = (at, kind, &launch.driver) else { return Ok(None) };
        let seeds = record.findings.iter().find_map(|finding| match &finding.detail {
            Detail::Factor(influence) if influence.setting.iter().all(|factor| is_seed(&factor.kind())) => {
                Some((influence.worst.clone(), influence.best.clone()))
            }
            _ => None,
        });
        let located = record.findings[at].clone();
        let of_test = record.attempts.iter().filter(|attempt| attempt.test == located.test);
        let mut failures: Vec<String> =
            of_test.filter_map(|attempt| Some(attempt.failure.as_ref()?.kind.clone())).collect();
        failures.sort();
        failures.dedup();
        let fresh_by = self.settings.fresh_by.value;
        let mut intervention =
            Intervention::new(InterventionConfig { located, kind, seeds, failures, fresh_by, seconds });
        let progress = self.context.progress(self.quiet);
        let run =
            TechniqueRun { budget: Some(seconds), ..TechniqueRun::new(self.context, self.settings, launch, progress) };
        let mut done = run.run(&mut intervention)?;
        done.finish(&Exit::Success.because(""));
        let (executions, seconds) = (done.record.attempts.len() as u32, done.record.totals.seconds);
        if !done.record.findings.is_empty() {
            record.findings.remove(at);
        }
        record.absorb(done.record);
        Ok((executions > 0).then_some(StepCost { step: DiagnosisStep::Intervention, executions, seconds }))
    }

    /// Proves the line that waits too long or too short, by forcing how long it waits.
    fn forced_waits(
        &self,
        test: &TestId,
        waits: Vec<SourceLine>,
        passing: Option<PassingWorld>,
        seconds: f64,
        record: &mut Gathered,
    ) -> Result<Option<StepCost>, CommandError> {
        let kind = FactorKind::all().into_iter().find(|kind| kind.forces_values);
        let launch = Launch { suite: false, time: settings::engine_limit(seconds), ..self.launch() };
        let (Some(kind), None) = (kind, &launch.driver) else { return Ok(None) };
        let at = record.findings.iter().position(|finding| finding.technique() == "divergence");
        let mut intervention = WaitIntervention::new(WaitInterventionConfig {
            test: test.clone(),
            waits,
            kind,
            failures: failures_alone(&record.attempts, test),
            disturbed: self.disturbed(record),
            passing,
            fresh_by: self.settings.fresh_by.value,
            seconds,
        });
        let progress = self.context.progress(self.quiet);
        let run =
            TechniqueRun { budget: Some(seconds), ..TechniqueRun::new(self.context, self.settings, launch, progress) };
        let mut done = run.run(&mut intervention)?;
        done.finish(&Exit::Success.because(""));
        let (executions, seconds) = (done.record.attempts.len() as u32, done.record.totals.seconds);
        if let (Some(at), true) = (at, done.record.findings.iter().any(is_sure)) {
            record.findings.remove(at);
        }
        record.absorb(done.record);
        Ok((executions > 0).then_some(StepCost { step: DiagnosisStep::Intervention, executions, seconds }))
    }

    /// Proves the line at which it matters that a thread is late, by delaying it there. Only where agents do not
    /// name what seeded schedules delay.
    fn forced_delays(
        &self,
        test: &TestId,
        alone: (u32, u32),
        seconds: f64,
        record: &mut Gathered,
    ) -> Result<Vec<StepCost>, CommandError> {
        let launch = self.launch();
        let kind = FactorKind::all().into_iter().find(|kind| kind.at_lines);
        let seeds_decide = record.findings.iter().any(is_proven_seed);
        let always_fails = alone.0 > 0 && alone.0 == alone.1;
        let (Some(kind), false) = (kind, seeds_decide || always_fails) else { return Ok(Vec::new()) };
        // Agents inside of a runner name threads in another way than traces do.
        let names_threads = launch.driver.is_some();
        let began = Instant::now();
        let (cost, waits, points) = self.traced(test, LISTED..=LISTED, Vec::new(), seconds * SHARE_OF_LIST, record);
        let mut costs: Vec<StepCost> = cost.into_iter().collect();
        let seconds = (seconds - began.elapsed().as_secs_f64()) * SHARE_OF_DELAYS;
        if points.is_empty() || seconds < SHORTEST || was_interrupted() {
            return Ok(costs);
        }
        // Delayed threads sleep.
        let starts_slowly = self.settings.runner().can(|runner| runner.slow_starts);
        let jobs = launch.jobs * if names_threads && !starts_slowly { SLEEPING } else { 1 };
        let launch = Launch { suite: false, jobs, time: settings::engine_limit(seconds), ..launch };
        let failures = failures_alone(&record.attempts, test);
        let config = DelayInterventionConfig {
            test: test.clone(),
            points,
            waits,
            kind,
            failures,
            alone,
            names_threads,
            fresh_by: if names_threads { Isolation::Process } else { self.settings.fresh_by.value },
            seconds,
        };
        let mut intervention = DelayIntervention::new(config);
        let progress = self.context.progress(self.quiet);
        let run =
            TechniqueRun { budget: Some(seconds), ..TechniqueRun::new(self.context, self.settings, launch, progress) };
        let mut done = run.run(&mut intervention)?;
        done.finish(&Exit::Success.because(""));
        let (executions, seconds) = (done.record.attempts.len() as u32, done.record.totals.seconds);
        if !done.record.findings.is_empty() {
            // A line that was only compared says less about the same.
            record.findings.retain(|finding| finding.technique() != "divergence");
        }
        record.absorb(done.record);
        costs.extend((executions > 0).then_some(StepCost { step: DiagnosisStep::Intervention, executions, seconds }));
        Ok(costs)
    }

    /// Worlds that disturb the timing of a process: those that made the test fail, then those in which
    /// others use the machine, then the rest.
    fn disturbed(&self, record: &Gathered) -> Vec<Vec<Factor>> {
        let disturbs = |factor: &Factor| {
            let kind = factor.kind();
            kind.timing && !kind.at_lines && matches!(kind.effect, FactorEffect::Process(_))
        };
        let mut planned = experiment_plan::plan(&self.plan_context(), &[], &self.settings.runner()).singles;
        planned.sort_by_key(|factors| !factors.iter().all(|factor| factor.kind().exclusive));
        let mut all: Vec<Vec<Factor>> = Vec::new();
        for factors in worlds_that_fail(record).chain(planned).filter(|factors| factors.iter().all(disturbs)) {
            if !all.contains(&factors) {
                all.push(factors);
            }
        }
        all
    }
}

fn delays() -> Vec<Factor> {
    let kind = FactorKind::named("delays");
    DELAYS.iter().filter_map(|setting| kind?.set(setting).ok()).collect()
}

/// Runs the first printed commands; those that claim a failure, several times. One that does not
/// show what it claims is marked as failing sometimes. A proof whose command never fails is none.
fn check_commands(record: &mut Gathered, here: &Path) {
    let mut left = CHECKED;
    let mut notes = Vec::new();
    for finding in &mut record.findings {
        let mut never_fails = false;
        for (at, printed) in finding.reproduce.iter_mut().enumerate() {
            if left == 0 {
                break;
            }
            left -= 1;
            let (fails, times) = match printed.shows {
                Shows::Fails | Shows::AlwaysFails => (true, CHECKS),
                Shows::Passes => (false, 1),
                Shows::SometimesFails => continue,
            };
            let mut shown = 0;
            for run in 1..=times {
                match shell_command::fails(&printed.command, here, SLOW) {
                    Some(failed) if failed != fails => printed.shows = Shows::SometimesFails,
                    Some(_) => shown += 1,
                    // Unknown: it takes too long, or the user does not want to wait.
                    None => {
                        record.notes.extend(notes);
                        return;
                    }
                }
                // It shows it sometimes.
                if 0 < shown && shown < run {
                    break;
                }
            }
            if fails && shown == times {
                printed.shows = Shows::AlwaysFails;
            }
            never_fails |= at == 0 && fails && shown == 0;
        }
        if never_fails && lower(finding) {
            notes.push(format!("possible only: the printed command passed {CHECKS} of {CHECKS} times"));
        }
    }
    record.notes.extend(notes);
}

/// Makes a proof of a world or a line possible. False: it is another kind of finding.
fn lower(finding: &mut Finding) -> bool {
    match &mut finding.detail {
        Detail::Factor(influence) => influence.confidence = Confidence::Possible,
        Detail::Divergence(found) => {
            found.proof = None;
            found.locations.iter_mut().for_each(|location| location.chance = 1.0);
        }
        _ => return false,
    }
    finding.sentence = finding.sentence.replace("(proven:", "(possible:");
    true
}

/// Other tests may fail in the searched orders: they say nothing about this one.
fn conclude(record: &Gathered, test: Option<&TestId>) -> Conclusion {
    let has_failed = record.attempts.iter().any(|attempt| Some(&attempt.test) == test && attempt.outcome.is_failure());
    match record.findings.first().and_then(Finding::confidence) {
        Some(confidence) => Exit::RealFailures.because(format!("root cause found ({})", confidence.word())),
        None if !has_failed && record.budget_exhausted => {
            Exit::Success.because("budget exhausted; the test never failed (--for)")
        }
        None if !has_failed => Exit::Success.because("the test never failed"),
        None => Exit::RealFailures.because("root cause not found"),
    }
}
