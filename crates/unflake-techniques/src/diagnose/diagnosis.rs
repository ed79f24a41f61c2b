//! Runs techniques on one test, one after the other, until one proves a root cause.
//!
//! Everything here runs in one engine: the tests are listed once, whatever is tried. Sessions are
//! numbered anew, because each technique numbers its own.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use unflake_model::{
    Confidence, Coverage, Detail, Event, Factor, FactorKind, Finding, Isolation, NioKind, Session, SessionId, TestId,
    VerdictKind,
};

use crate::diagnose::company_schedule_trial::CompanyScheduleTrial;
use crate::diagnose::company_trial::CompanyTrial;
use crate::diagnose::retries::Retries;
use crate::diagnose::schedule_trial::ScheduleTrial;
use crate::diagnose::seed_trial::SeedTrial;
use crate::diagnose::speed_trial::{PassingSpeed, PlainRuns, SpeedTrial};
use crate::diagnose::steps::{DiagnosisStep, delays_before_factors, delays_early, forks_first, most_seeds, steps};
use crate::environment::experiment::{CombinedScreen, Experiment, ExperimentConfig};
use crate::idempotence::nio::{NioConfig, NioDetection};
use crate::intervention::delayed_line::is_single_delay;
use crate::order::search::{OrderConfig, OrderDetection};
use crate::search::budget::Budget;
use crate::search::select::select_one;
use crate::stats::failure_rate::FailureCount;
use crate::{Recordings, Technique};

/// A test that disturbs itself is often disturbed by others through the same state. The search for
/// them may take so many times what was spent until then, and at least so many seconds.
const OTHERS_SHARE: f64 = 2.0;
const OTHERS_SECONDS: f64 = 10.0;
/// A run that takes less than this is short.
const SHORT: f64 = 0.2;
/// How much of its time the search of orders takes where no order changes anything.
const PATIENCE: f64 = 0.4;
/// A step that took this part of its time has hardly ended by itself.
const ALL: f64 = 0.95;

pub struct DiagnosisConfig {
    /// A test id, or a part of it that no other test has.
    pub test: String,
    /// The verdict of the latest run on the test.
    pub verdict: Option<VerdictKind>,
    /// The steps to try. None: those that its outcomes alone suggest.
    pub steps: Option<Vec<DiagnosisStep>>,
    pub fresh_by: Isolation,
    pub seconds: f64,
    /// How to search. Tests and budget are replaced. None: the runner cannot.
    pub idempotence: Option<NioConfig>,
    pub order: Option<OrderConfig>,
    pub factors: Option<ExperimentConfig>,
    /// Whether each run starts a process that takes long to start.
    pub slow_starts: bool,
    /// Whether a process of the runner can run several tests at the same time.
    pub side_by_side: bool,
    /// The factors that are seeds. Empty: none can be set.
    pub seeds: Vec<FactorKind>,
    /// The one of them that forks can have, too. None: there are no forks.
    pub seed_of_forks: Option<FactorKind>,
    /// The factor that changes how fast clocks run. None: it cannot be set.
    pub speed: Option<FactorKind>,
    /// The factor that delays threads and tasks. None: it cannot be set.
    pub schedules: Option<FactorKind>,
    /// Whether the agent says where it delayed them.
    pub names_delays: bool,
    /// Whether lines of its tests can be recorded.
    pub can_trace: bool,
    /// Whether they can be recorded in two worlds at little cost, to see where they differ.
    pub can_compare_worlds: bool,
}

/// What one step took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepCost {
    pub step: DiagnosisStep,
    pub executions: u32,
    pub seconds: f64,
}

pub struct Diagnosis {
    config: DiagnosisConfig,
    /// Tests with the requested id, or else tests that contain it.
    pub matching: Vec<TestId>,
    listed: Option<Event>,
    budget: Budget,
    left: VecDeque<DiagnosisStep>,
    running: Option<RunningStep>,
    findings: Vec<Finding>,
    alone: PlainRuns,
    /// Outcomes after other tests and twice that depend on neither.
    unexplained: FailureCount,
    /// Whether it varies from process to process and not within one.
    differs_by_process: Rc<Cell<bool>>,
    passing: PassingSpeed,
    costs: Vec<StepCost>,
    /// Steps whose part of the budget was too small.
    cut_short: Vec<DiagnosisStep>,
    /// Steps that were started again, with another part of the budget, because what they found was not
    /// confirmed.
    prolonged: Vec<DiagnosisStep>,
    /// What the latest of them found before.
    unconfirmed: Vec<Finding>,
    sessions: u32,
    /// The test disturbs itself, and may be disturbed by others.
    is_self_polluting: bool,
}

struct RunningStep {
    technique: Box<dyn Technique>,
    /// The number of sessions before it.
    offset: u32,
    cost: StepCost,
    /// Failures and runs of the test.
    count: FailureCount,
    /// The seconds that were left for it and all others, and how many of them it may take.
    left: f64,
    seconds: f64,
    /// When its first attempt started and its last one ended, in microseconds.
    time: Option<(i64, i64)>,
}

impl RunningStep {
    fn cost(&self) -> StepCost {
        let seconds = self.time.map_or(0.0, |(first, last)| (last - first) as f64 / 1e6);
        StepCost { seconds, ..self.cost }
    }
}

impl Diagnosis {
    pub fn new(config: DiagnosisConfig) -> Self {
        Self {
            budget: Budget::new(config.seconds),
            config,
            matching: Vec::new(),
            listed: None,
            left: VecDeque::new(),
            running: None,
            findings: Vec::new(),
            alone: PlainRuns::default(),
            unexplained: FailureCount::default(),
            differs_by_process: Rc::default(),
            passing: PassingSpeed::default(),
            costs: Vec::new(),
            cut_short: Vec::new(),
            prolonged: Vec::new(),
            unconfirmed: Vec::new(),
            sessions: 0,
            is_self_polluting: false,
        }
    }

    /// The steps that are left, beginning with one that needs a run of its own.
    pub fn steps_left(&self) -> Vec<DiagnosisStep> {
        if self.costs.is_empty() && self.config.steps.is_none() && !self.matching.is_empty() {
            // The retries did not end.
            return self.next_steps(self.alone.count, self.differs_by_process.get(), self.config.verdict);
        }
        self.left.iter().copied().collect()
    }

    fn next_steps(&self, count: FailureCount, differs: bool, verdict: Option<VerdictKind>) -> Vec<DiagnosisStep> {
        let steps = steps(count, differs, verdict, self.config.slow_starts);
        // Agents set schedules in forks.
        let is_short = self.alone.seconds.is_some_and(|seconds| seconds < SHORT);
        let steps = if self.config.names_delays { forks_first(steps, is_short) } else { steps };
        // Agents that name delays find the line without a single long one.
        match self.config.can_trace && self.config.schedules.is_some() {
            true if self.config.names_delays => delays_before_factors(steps),
            true => delays_early(steps, self.config.slow_starts),
            false => steps,
        }
    }

    /// What each step took, in the order in which they ran. The last one may have been cut short.
    pub fn costs(&self) -> Vec<StepCost> {
        let running = self.running.iter().map(RunningStep::cost);
        self.costs.iter().copied().chain(running).collect()
    }

    /// The steps that found nothing in their part of the budget, and the one that ran when all of it
    /// had ended.
    pub fn cut_short(&self) -> Vec<DiagnosisStep> {
        let running = self.running.iter().map(|running| running.cost.step);
        self.cut_short.iter().copied().chain(running).collect()
    }

    /// The seconds that a step may take.
    fn seconds_for(&self, step: DiagnosisStep) -> f64 {
        // A long search leaves time for the steps after it.
        let share = if self.left.is_empty() { 1.0 } else { step.share() };
        let most = match self.is_self_polluting {
            true => (self.costs.iter().map(|cost| cost.seconds).sum::<f64>() * OTHERS_SHARE).max(OTHERS_SECONDS),
            false => f64::INFINITY,
        };
        (self.budget.seconds_left() * share).min(most)
    }

    /// Whether seeds of a test that has not failed are tried for a while only: others have their turn.
    fn has_few_seeds(&self) -> bool {
        self.config.steps.is_none() && (self.alone.count + self.unexplained).failed == 0
    }

    /// Forks where agents set what a trial changes in them; both sides of it share the rest. Programs
    /// must be started anew.
    fn fresh_by_forks(&self) -> Isolation {
        if self.config.names_delays { self.config.fresh_by } else { Isolation::Process }
    }

    /// Failures and runs of the test alone.
    pub fn alone(&self) -> (u32, u32) {
        (self.alone.count.failed, self.alone.count.runs)
    }

    /// A speed of clocks at which the few runs of the test passed.
    pub fn passing_speed(&self) -> Option<Factor> {
        self.passing.borrow().clone()
    }

    fn start(&mut self, tests: &Event) {
        if let Event::TestsListed { tests: listed, deselected, isolated, seconds } = tests {
            self.budget = Budget::new(self.config.seconds - seconds);
            self.matching = select_one(listed, &self.config.test);
            // Every step has what is left of the budget, so the time of the listing counts once.
            let (tests, deselected, isolated) = (listed.clone(), *deselected, *isolated);
            self.listed = Some(Event::TestsListed { tests, deselected, isolated, seconds: 0.0 });
        }
        let given = self.config.steps.clone();
        self.left = given.unwrap_or_else(|| vec![DiagnosisStep::Retries]).into();
    }

    /// The technique of a step. None: it cannot run here.
    fn technique(&mut self, step: DiagnosisStep, test: &TestId, seconds: f64) -> Option<Box<dyn Technique>> {
        let names = vec![test.as_str().to_owned()];
        Some(match step {
            DiagnosisStep::Retries => {
                let retries = Retries::new(test.clone(), self.config.fresh_by, seconds);
                self.differs_by_process = retries.differs_by_process();
                Box::new(retries)
            }
            DiagnosisStep::Idempotence => {
                let config = self.config.idempotence.clone()?;
                Box::new(NioDetection::new(NioConfig { only: Some(names), seconds, ..config }))
            }
            DiagnosisStep::Order => {
                let config = self.config.order.clone()?;
                Box::new(OrderDetection::new(OrderConfig {
                    only: Some(names),
                    seconds,
                    patience: seconds * PATIENCE,
                    ..config
                }))
            }
            DiagnosisStep::Factors => {
                let config = self.config.factors.clone()?;
                Box::new(Experiment::new(ExperimentConfig { names, seconds, ..config }))
            }
            DiagnosisStep::CombinedFactors => {
                let (config, combined) = (self.config.factors.clone()?, CombinedScreen::Only);
                Box::new(Experiment::new(ExperimentConfig { names, seconds, combined, ..config }))
            }
            DiagnosisStep::Company if !self.config.side_by_side => return None,
            DiagnosisStep::Company => Box::new(CompanyTrial::new(test.clone(), seconds)),
            DiagnosisStep::Seeds if self.config.seeds.is_empty() => return None,
            DiagnosisStep::Seeds => {
                let is_short = self.alone.seconds.is_some_and(|seconds| seconds < SHORT);
                // Programs start in no time, runners in a language do not.
                let is_cheap = is_short && !self.config.names_delays && !self.config.slow_starts;
                let most = most_seeds(self.alone.count + self.unexplained, self.differs_by_process.get(), is_cheap);
                let in_forks = self.config.seed_of_forks.filter(|_| !self.differs_by_process.get());
                let trial = SeedTrial::new(test.clone(), self.config.seeds.clone(), in_forks, most, seconds);
                Box::new(if self.has_few_seeds() { trial.with_few_forks() } else { trial })
            }
            DiagnosisStep::Speed => {
                let (kind, alone) = (self.config.speed?, self.alone.clone());
                let trial = SpeedTrial::new(test.clone(), kind, alone, self.config.fresh_by, seconds);
                self.passing = trial.passing();
                Box::new(trial)
            }
            DiagnosisStep::Schedules => {
                let (kind, names_delays) = (self.config.schedules?, self.config.names_delays);
                Box::new(ScheduleTrial::new(test.clone(), kind, names_delays, self.fresh_by_forks(), seconds))
            }
            DiagnosisStep::CompanySchedules if !self.config.side_by_side => return None,
            DiagnosisStep::CompanySchedules => {
                Box::new(CompanyScheduleTrial::new(test.clone(), self.config.schedules?, seconds))
            }
            DiagnosisStep::Divergence | DiagnosisStep::Intervention => return None,
        })
    }

    /// Starts the next step that can run here. False: there is none, or it needs a run of its own.
    fn start_next(&mut self, recordings: Recordings<'_>) -> bool {
        let [test] = &self.matching[..] else { return false };
        let test = test.clone();
        while let Some(step) = self.left.front().copied() {
            if self.budget.is_exhausted() || step == DiagnosisStep::Divergence && self.config.can_trace {
                return false;
            }
            self.left.pop_front();
            let (left, seconds) = (self.budget.seconds_left(), self.seconds_for(step));
            if let Some(mut technique) = self.technique(step, &test, seconds) {
                if let Some(listed) = &self.listed {
                    technique.observe(listed, recordings);
                }
                let cost = StepCost { step, executions: 0, seconds: 0.0 };
                self.running = Some(RunningStep {
                    technique,
                    offset: self.sessions,
                    cost,
                    count: FailureCount::default(),
                    left,
                    seconds,
                    time: None,
                });
                return true;
            }
        }
        false
    }

    fn finish(&mut self, done: RunningStep, recordings: Recordings<'_>) {
        let [test] = &self.matching[..] else { return };
        let about = |finding: &Finding| finding.test == *test && is_informative(finding);
        let mut found: Vec<Finding> = done.technique.findings(recordings).into_iter().filter(about).collect();
        if found.is_empty() && self.prolonged.contains(&done.cost.step) {
            // What it saw before it was started again.
            found = std::mem::take(&mut self.unconfirmed);
        }
        self.costs.push(done.cost());
        let has_ended = done.technique.coverage().is_none_or(|coverage| coverage.complete);
        let took_all = done.left - self.budget.seconds_left() >= done.seconds * ALL;
        let is_partial = done.cost.step == DiagnosisStep::Seeds
            && self.config.seed_of_forks.is_some()
            && !self.differs_by_process.get()
            && self.has_few_seeds();
        let is_sure = found.iter().any(|finding| finding.confidence().is_some_and(|sure| sure < Confidence::Possible));
        let is_cut = !is_sure && (took_all || !has_ended || is_partial) && done.cost.step != DiagnosisStep::Retries;
        // A failure in other worlds of a test that passes alone is worth another part of the time.
        let has_hint = !found.is_empty() || done.cost.step == DiagnosisStep::CombinedFactors && done.count.is_mixed();
        if is_cut && has_hint && !self.prolonged.contains(&done.cost.step) && !self.budget.is_exhausted() {
            // It was about to find something: nothing else is as likely to.
            self.prolonged.push(done.cost.step);
            self.unconfirmed = found;
            self.left.push_front(done.cost.step);
            return;
        }
        if is_cut {
            self.cut_short.push(done.cost.step);
        }
        if done.cost.step == DiagnosisStep::Retries {
            self.left = self.next_steps(self.alone.count, self.differs_by_process.get(), self.config.verdict).into();
        }
        // Neither a second run nor another order explains these failures, so chance may decide.
        let searched = matches!(done.cost.step, DiagnosisStep::Idempotence | DiagnosisStep::Order);
        if searched && done.count.is_mixed() && found.is_empty() && self.config.steps.is_none() {
            self.unexplained = self.unexplained + done.count;
            self.left = self.next_steps(done.count, false, None).into();
        }
        let is_proven = found.iter().any(|finding| finding.confidence() == Some(Confidence::Proven));
        match done.cost.step {
            // Which line draws the number, or waits too short, is still to be found.
            DiagnosisStep::Speed if !found.is_empty() && self.alone.count.failed > 0 => {
                self.left = [DiagnosisStep::Divergence].into();
            }
            DiagnosisStep::Speed if self.alone.count.failed > 0 && self.passing_speed().is_some() => {
                // Whether a wait decides is cheap to see at that speed, so traces come before schedules.
                let is_late = |step: &DiagnosisStep| matches!(step, DiagnosisStep::Schedules | DiagnosisStep::Factors);
                self.left.make_contiguous().sort_by_key(is_late);
            }
            // Neither a seed nor a world names a line.
            DiagnosisStep::Schedules if is_proven && !found.iter().any(is_single_delay) => {
                self.left = [DiagnosisStep::Divergence].into();
            }
            DiagnosisStep::Seeds if is_proven => self.left = [DiagnosisStep::Divergence].into(),
            DiagnosisStep::Idempotence if is_proven && found.iter().any(leaves_own_state) => {
                self.is_self_polluting = true;
                self.left.retain(|step| *step == DiagnosisStep::Order);
            }
            DiagnosisStep::CombinedFactors | DiagnosisStep::Factors if is_proven && found.iter().all(is_timing) => {
                self.left = [DiagnosisStep::Divergence].into();
            }
            DiagnosisStep::CombinedFactors | DiagnosisStep::Factors if is_proven && self.config.can_compare_worlds => {
                self.left = [DiagnosisStep::Divergence].into();
            }
            _ if is_proven => self.left.clear(),
            // Alone it passes, so neither worlds nor lines of it alone can tell more.
            DiagnosisStep::Company if !found.is_empty() => self.left.clear(),
            _ => {}
        }
        self.findings.extend(found);
    }
}

/// Whether the factors of a finding only change how long things take.
fn is_timing(finding: &Finding) -> bool {
    match &finding.detail {
        Detail::Factor(influence) => influence.setting.iter().all(|factor| factor.kind().timing),
        _ => false,
    }
}

/// Whether the test disturbs its own next run.
fn leaves_own_state(finding: &Finding) -> bool {
    matches!(&finding.detail, Detail::State(leak) if leak.after.iter().all(|test| *test == finding.test))
}

/// Whether a finding says more than the outcomes do.
fn is_informative(finding: &Finding) -> bool {
    match &finding.detail {
        Detail::Factor(influence) => influence.kind != "none",
        Detail::Nio(nio) => matches!(nio.kind, NioKind::Nio | NioKind::Brittle),
        Detail::Verdict(verdict) => !verdict.evidence.beside.is_empty(),
        _ => true,
    }
}

/// The event with the number that the session has in its technique.
fn renumbered(event: &Event, offset: u32) -> Event {
    let mut event = event.clone();
    match &mut event {
        Event::AttemptEnded(attempt) => attempt.session.0 -= offset,
        Event::AttemptStarted { session, .. }
        | Event::DependenciesRecorded { session, .. }
        | Event::StateLeaked { session, .. }
        | Event::ThreadsDelayed { session, .. }
        | Event::RestoreFailed { session, .. }
        | Event::SessionEnded { session, .. } => session.0 -= offset,
        _ => {}
    }
    event
}

impl Technique for Diagnosis {
    fn observe(&mut self, event: &Event, recordings: Recordings<'_>) {
        if let Event::TestsListed { .. } = event {
            return self.start(event);
        }
        let Some(running) = &mut self.running else { return };
        if let Event::AttemptEnded(attempt) = event {
            self.budget.observe(attempt);
            running.cost.executions += 1;
            let (began, ended) = (attempt.started.0, attempt.started.0 + (attempt.seconds * 1e6) as i64);
            let (first, last) = running.time.unwrap_or((began, ended));
            running.time = Some((first.min(began), last.max(ended)));
            let failed = attempt.outcome.is_failure();
            if self.matching.contains(&attempt.test) && (failed || attempt.outcome.is_pass()) {
                running.count = running.count + FailureCount::new(u32::from(failed), 1);
            }
            if running.cost.step == DiagnosisStep::Retries && (failed || attempt.outcome.is_pass()) {
                self.alone.count = self.alone.count + FailureCount::new(u32::from(failed), 1);
                self.alone.failures.extend(attempt.failure.clone().filter(|_| failed));
                let shortest = self.alone.seconds.map_or(attempt.seconds, |seconds| seconds.min(attempt.seconds));
                self.alone.seconds = Some(shortest);
            }
        }
        running.technique.observe(&renumbered(event, running.offset), recordings);
    }

    fn next_sessions(&mut self, recordings: Recordings<'_>) -> Vec<Session> {
        loop {
            let Some(mut running) = self.running.take() else {
                match self.start_next(recordings) {
                    true => continue,
                    false => return Vec::new(),
                }
            };
            let mut sessions = running.technique.next_sessions(recordings);
            if sessions.is_empty() {
                self.finish(running, recordings);
                continue;
            }
            for session in &mut sessions {
                session.id = SessionId(session.id.0 + running.offset);
                self.sessions = self.sessions.max(session.id.0);
            }
            self.running = Some(running);
            return sessions;
        }
    }

    /// Those of a step that is still running too.
    fn findings(&self, recordings: Recordings<'_>) -> Vec<Finding> {
        let running = self.running.as_ref().map(|running| running.technique.findings(recordings));
        let running = running.into_iter().flatten().filter(|finding| self.matching.contains(&finding.test));
        self.findings.iter().cloned().chain(running.filter(is_informative)).collect()
    }

    fn coverage(&self) -> Option<Coverage> {
        let tests = self.matching.len() as u32;
        let complete = self.running.is_none() && !self.budget.is_exhausted();
        Some(Coverage { tests, tried: tests.min(self.costs.len() as u32), left_out: 0, pairs: None, complete })
    }
}

#[cfg(test)]
mod tests;
