//! Carries out a `run` order: groups its tests into processes, starts them, and reports results.
//!
//! Guarantees that every test of the order gets a result: what a process does not reach runs in
//! another one, and a process that skips a test or does nothing fails it.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use tracing::debug;
use unflake_protocol::{AgentMessage, AttemptResult, Outcome, ProbeOrder, ProblemKind};
use unflake_worlds::SpawnSpec;

use crate::driver::connection::Connection;
use crate::driver::line_layers::LineLayers;
use crate::driver::program::{ProbeContext, Program, ProgramEvent};
use crate::driver::suite::TestCase;
use crate::driver::test_result::{TestResult, failed};
use crate::driver::trace_recorder::TraceRecorder;
use crate::process::bounded_text::shortened;
use crate::process::child::{self, ChildLimits};
use crate::process::spec::{EnvChanges, ExitKind};

pub(crate) struct OrderRunner<'a> {
    pub(crate) tests: &'a [TestCase],
    pub(crate) connection: &'a Connection,
    pub(crate) env_changes: &'a EnvChanges,
    pub(crate) limits: ChildLimits,
    /// How many processes have been started.
    pub(crate) processes: &'a AtomicU32,
    /// The recorder of traces and the directory they go to, where traces are wanted.
    pub(crate) tracing: Option<(&'a TraceRecorder, &'a Path)>,
    /// Whether traces are reported, or only what layers need of them.
    pub(crate) reports_traces: bool,
    /// What to record of each attempt, and the directory it goes to.
    pub(crate) layers: Option<(&'a LineLayers, &'a Path)>,
    pub(crate) environment: u32,
    /// How to start processes in the world of the tests, where that is not the driver's own.
    pub(crate) spawn: Option<&'a SpawnSpec>,
    /// Which state to report.
    pub(crate) probe: Option<&'a ProbeOrder>,
    /// The directory for dependency reports, where they are wanted.
    pub(crate) depends: Option<&'a Path>,
    /// Tests need not share a process.
    pub(crate) apart: bool,
    /// Isolate tests inside a process, where the program can.
    pub(crate) in_process: bool,
    /// Tests start one after the other in this order.
    pub(crate) in_order: bool,
}

/// Tests that run in one process.
struct ProcessBatch {
    program: Arc<dyn Program>,
    numbers: Vec<u32>,
}

/// What has been reported of a test.
#[derive(Clone, Copy, PartialEq)]
enum ReportedProgress {
    Waiting,
    Started,
    Done,
}

impl OrderRunner<'_> {
    /// `jobs`: how many processes may run at once in a stage.
    pub(crate) fn run(&self, numbers: &[u32], again: u32, jobs: impl Fn(usize) -> u32) {
        let mut batches = self.batches(numbers, !self.in_order);
        debug!(tests = numbers.len(), processes = batches.len(), "running an order");
        let stage = |batch: &ProcessBatch| self.tests[batch.numbers[0] as usize].stage;
        while let Some(current) = batches.front().map(stage) {
            let end = batches.iter().position(|batch| stage(batch) != current).unwrap_or(batches.len());
            let later = batches.split_off(end);
            self.run_stage(std::mem::replace(&mut batches, later), again, jobs(current));
        }
    }

    fn run_stage(&self, batches: VecDeque<ProcessBatch>, again: u32, jobs: u32) {
        let (first, mut batches): (VecDeque<_>, VecDeque<_>) =
            batches.into_iter().partition(|batch| batch.program.uses_all_jobs());
        for batch in first {
            let left = self.run_process(&batch.program, &batch.numbers, 0, jobs, |_| {});
            batches.extend(self.batches(&left, false));
        }
        let batches = Mutex::new(batches);
        let next = || batches.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop_front();
        let run = |batch: ProcessBatch| match batch.program.is_shared() {
            true => self.run_shared(batch),
            false => batch.numbers.iter().for_each(|number| self.run_alone(&batch.program, *number, again)),
        };
        let work = || {
            while let Some(batch) = next() {
                if batch.program.is_ordered() {
                    run(batch);
                } else {
                    let left = self.run_process(&batch.program, &batch.numbers, 0, 1, |_| {});
                    self.batches(&left, false).into_iter().for_each(run);
                }
            }
        };
        if jobs <= 1 {
            return work();
        }
        thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(work);
            }
        });
    }

    /// Neighbors of one program share a process where it can run several. `like_suite`: tests share
    /// processes as the user's command has it. Skipped tests are reported.
    fn batches(&self, numbers: &[u32], like_suite: bool) -> VecDeque<ProcessBatch> {
        let mut batches: VecDeque<ProcessBatch> = VecDeque::new();
        let may_share = self.tracing.is_none() || !self.records() && numbers.len() > 1;
        for number in numbers {
            let Some(test) = self.tests.get(*number as usize) else { continue };
            if let Some(reason) = &test.skipped {
                self.skip(*number, reason);
                continue;
            }
            if let Some(shared) = test.shared.as_ref().filter(|_| may_share && like_suite) {
                match batches.iter_mut().find(|batch| Arc::ptr_eq(&batch.program, shared)) {
                    Some(batch) => batch.numbers.push(*number),
                    None => batches.push_back(ProcessBatch { program: shared.clone(), numbers: vec![*number] }),
                }
                continue;
            }
            let program = test.sequence.as_ref().filter(|_| may_share && self.in_order).unwrap_or(&test.program);
            match batches.back_mut() {
                Some(batch) if program.is_shared() && self.may_follow(batch, program, *number) => {
                    batch.numbers.push(*number);
                }
                _ => batches.push_back(ProcessBatch { program: program.clone(), numbers: vec![*number] }),
            }
        }
        // A single test gains nothing from a program that runs several.
        let is_sequence = |batch: &ProcessBatch| {
            let sequence = &self.tests[batch.numbers[0] as usize].sequence;
            sequence.as_ref().is_some_and(|sequence| Arc::ptr_eq(sequence, &batch.program))
        };
        let is_for_several = |batch: &ProcessBatch| !batch.program.is_ordered() || is_sequence(batch);
        for batch in batches.iter_mut().filter(|batch| batch.numbers.len() == 1 && is_for_several(batch)) {
            *batch = self.alone(batch.numbers[0]);
        }
        batches
    }

    fn records(&self) -> bool {
        self.tracing.is_some_and(|(recorder, _)| recorder.records)
    }

    fn alone(&self, number: u32) -> ProcessBatch {
        ProcessBatch { program: self.tests[number as usize].program.clone(), numbers: vec![number] }
    }

    /// Whether a test can run in the process of those before it. The lines of each come from a trace,
    /// which belongs to one test.
    fn may_follow(&self, batch: &ProcessBatch, program: &Arc<dyn Program>, number: u32) -> bool {
        if self.records() && self.layers.is_some_and(|(layers, _)| layers.wants_lines()) {
            return false;
        }
        let together = || {
            let last = batch.numbers.last().map(|last| &self.tests[*last as usize]);
            last.is_none_or(|last| program.may_share_dependencies(last, &self.tests[number as usize]))
        };
        Arc::ptr_eq(&batch.program, program)
            && program.may_follow(&batch.numbers, number)
            && (!self.apart || together())
    }

    fn skip(&self, number: u32, reason: &str) {
        let process = self.processes.fetch_add(1, Ordering::Relaxed);
        self.connection.send(&AgentMessage::Start { n: number, run: 0, process: Some(process), in_process: false });
        let result = TestResult::new(Outcome::Skipped, 0.0).failed(failed("Skipped", reason));
        self.connection.send(&self.done(number, 0, result, None));
    }

    fn run_alone(&self, program: &Arc<dyn Program>, number: u32, again: u32) {
        for run in 0..=again {
            let mut failing = false;
            self.run_process(program, &[number], run, 1, |result| failing = is_failure(result.outcome));
            if !failing {
                return;
            }
        }
    }

    /// The tests that a process did not reach run in another one.
    fn run_shared(&self, batch: ProcessBatch) {
        let mut left = batch.numbers;
        while !left.is_empty() {
            left = self.run_process(&batch.program, &left, 0, 1, |_| {});
        }
    }

    /// Runs these tests in one process. Returns those that it did not reach.
    fn run_process(
        &self,
        program: &Arc<dyn Program>,
        numbers: &[u32],
        run: u32,
        jobs: u32,
        mut on_result: impl FnMut(&TestResult),
    ) -> Vec<u32> {
        let process = self.processes.fetch_add(1, Ordering::Relaxed);
        let tests: Vec<&TestCase> = numbers.iter().map(|number| &self.tests[*number as usize]).collect();
        let in_process = self.in_process && program.can_isolate_in_process();
        let start = |at: usize| AgentMessage::Start { n: numbers[at], run, process: Some(process), in_process };
        // A trace belongs to one test: a process with several has none.
        let trace = self
            .tracing
            .filter(|_| numbers.len() == 1 || !self.records())
            .map(|(recorder, directory)| (recorder, directory.join(format!("trace-{}-{process}", self.environment))));
        let done = |at: usize, mut result: TestResult| {
            let mut traced = trace.as_ref().and_then(|(recorder, directory)| recorder.finish(directory));
            if let Some((layers, directory)) = self.layers {
                let file = directory.join(format!("layers-{}-{process}-{at}", self.environment));
                result.layers = layers.write(file, traced.as_deref().map(Path::new), &result);
                if !self.reports_traces {
                    traced = traced.take().and_then(|directory| {
                        let _ = std::fs::remove_dir_all(directory);
                        None
                    });
                }
            }
            self.done(numbers[at], run, result, traced)
        };
        if let Some(known) = program.known(&tests) {
            for (at, result) in known.into_iter().enumerate() {
                on_result(&result);
                self.connection.send_all(&[start(at), done(at, result)]);
            }
            return Vec::new();
        }
        let mut progress = vec![ReportedProgress::Waiting; numbers.len()];
        let mut agent_failed = false;
        let mut to_event = |event: ProgramEvent| match event {
            ProgramEvent::Started(at) => {
                progress[at] = ReportedProgress::Started;
                start(at)
            }
            ProgramEvent::Done(at, result) => {
                progress[at] = ReportedProgress::Done;
                on_result(&result);
                done(at, result)
            }
            ProgramEvent::Changed(path) => AgentMessage::Changed { path },
            ProgramEvent::Restored(failed) => AgentMessage::Restored { failed },
            ProgramEvent::AgentFailed(text) => {
                agent_failed = true;
                AgentMessage::Problem { kind: ProblemKind::Protocol, place: None, text }
            }
        };
        // Dependencies are known when the process has ended: its events are held back until then.
        let files = self
            .depends
            .filter(|_| program.maps_files())
            .map(|directory| directory.join(format!("files-{}-{process}", self.environment)));
        let (mut held, mut recorded) = (Vec::new(), false);
        let mut report = |events: Vec<ProgramEvent>| match &files {
            Some(_) => held.extend(events.into_iter().map(&mut to_event)),
            None => self.connection.send_all(&events.into_iter().map(&mut to_event).collect::<Vec<_>>()),
        };
        let spec = match self.probe.filter(|probe| numbers.len() > probe.after as usize) {
            Some(probe) => {
                let context = ProbeContext { probe, env_changes: self.env_changes, limits: &self.limits };
                program.start_probing(&tests, &context)
            }
            None if in_process => program.start_in_process(&tests),
            None => program.start(&tests, jobs),
        };
        let mut is_there = true;
        let ended = spec.and_then(|mut spec| {
            is_there = spec.has_program();
            if let Some((recorder, directory)) = &trace {
                spec.variables.extend(recorder.variables(directory));
                let points = self.spawn.and_then(|world| world.setting("delay-at"));
                let delays = recorder.delays(points, &spec);
                spec.variables.extend(delays);
            }
            spec.spawn = self.spawn.cloned();
            if let Some(directory) = &files {
                recorded = program.record_files(&mut spec, directory, self.env_changes);
            }
            let mut listener = program.listener(&tests);
            child::follow(&spec, self.env_changes, &self.limits, listener.as_mut(), &mut report)
                .map_err(|error| error.to_string())
        });
        if let Some(directory) = files {
            self.send_with_dependencies(held, |after| {
                program.dependency_report(&directory, after).filter(|_| recorded)
            });
            let _ = std::fs::remove_dir_all(directory);
        }
        if agent_failed {
            return Vec::new();
        }
        // It is our world that cannot be entered. Without one, and where the program does not exist, it is the
        // project that cannot start it.
        if let Err(error) = &ended
            && is_there
            && self.spawn.is_some()
            && progress.iter().all(|one| *one != ReportedProgress::Done)
        {
            let text = format!("the process of {} could not be started: {error}", tests[0].id);
            self.connection.send(&AgentMessage::Problem { kind: ProblemKind::Protocol, place: None, text });
            return Vec::new();
        }
        if !program.is_ordered() {
            return (0..numbers.len())
                .filter(|at| progress[*at] != ReportedProgress::Done)
                .map(|at| numbers[at])
                .collect();
        }
        // A test before the last finished one that has no result was left out: that is a failure,
        // and so is a process that does nothing for its first test.
        let reached = progress.iter().rposition(|one| *one == ReportedProgress::Done).map_or(1, |at| at + 1);
        for at in (0..reached).filter(|at| progress[*at] != ReportedProgress::Done) {
            if progress[at] == ReportedProgress::Waiting {
                self.connection.send(&start(at));
            }
            let message = match &ended {
                Ok(()) if reached > 1 => "its process skipped it and ran later tests".to_owned(),
                Ok(()) => "its process exited before it started".to_owned(),
                Err(error) => format!("its process could not be started: {error}"),
            };
            let result = TestResult::crashed(ExitKind::Exit(0), 0.0, Some(message), "");
            on_result(&result);
            self.connection.send(&done(at, result));
        }
        numbers[reached..].to_vec()
    }

    /// Tests of one process share a report, except for the first, which has no predecessors.
    fn send_with_dependencies(&self, mut events: Vec<AgentMessage>, report: impl Fn(usize) -> Option<String>) {
        let ends = events.iter_mut().filter_map(|event| match event {
            AgentMessage::Done(result) => Some(&mut result.dependencies),
            _ => None,
        });
        let mut reports = Vec::new();
        for (at, dependencies) in ends.enumerate() {
            if reports.len() <= at.min(1) {
                reports.push(report(at));
            }
            dependencies.clone_from(&reports[at.min(1)]);
        }
        self.connection.send_all(&events);
    }

    fn done(&self, n: u32, run: u32, result: TestResult, trace: Option<String>) -> AgentMessage {
        let short = |text: &str| shortened(text, self.limits.output);
        let failure = result.failure.map(|mut failure| {
            failure.message = short(&failure.message);
            failure.trace = short(&failure.trace);
            failure
        });
        // The output of a passing test is not kept.
        let (stdout, stderr) = match failure {
            Some(_) => (short(&result.stdout), short(&result.stderr)),
            None => Default::default(),
        };
        let TestResult { outcome, seconds, layers, .. } = result;
        AgentMessage::Done(Box::new(AttemptResult {
            trace,
            layers,
            failure,
            stdout,
            stderr,
            ..AttemptResult::new(n, run, outcome, seconds)
        }))
    }
}

fn is_failure(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Failed | Outcome::Error | Outcome::TimedOut | Outcome::Crashed(_))
}
