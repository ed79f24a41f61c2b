//! Carrying out a `run` order: which processes it takes, and who starts them.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use unflake_protocol::{AttemptResult, Event, Outcome, Probe};
use unflake_worlds::SpawnSpec;

use crate::driver::connection::Wire;
use crate::driver::suite::{Case, How, Judged, Probing, Program, Said, failed};
use crate::driver::tracing::Tracing;
use crate::process::bounded_text::shortened;
use crate::process::child::{self, Limits};

pub(crate) struct Floor<'a> {
    pub(crate) cases: &'a [Case],
    pub(crate) wire: &'a Wire,
    /// What the project's processes are to see differently from us.
    pub(crate) world: &'a BTreeMap<String, Option<String>>,
    pub(crate) limits: Limits,
    /// How many processes have been started.
    pub(crate) processes: &'a AtomicU32,
    /// Where traces are wanted: who sees to them, and the directory they go to.
    pub(crate) tracing: Option<(&'a Tracing, &'a Path)>,
    pub(crate) environment: u32,
    /// The way into the world that tests are to run in, where that is not ours.
    pub(crate) door: Option<&'a SpawnSpec>,
    /// What some of the tests leave behind is to be told.
    pub(crate) probe: Option<&'a Probe>,
    /// Where it is to be told what tests depend on: the directory for that.
    pub(crate) depends: Option<&'a Path>,
    /// Tests need not share a process.
    pub(crate) apart: bool,
    /// Each test is to have a in-process environment of its own, where there can be such.
    pub(crate) in_process: bool,
}

/// Tests that go into one process.
struct Unit {
    program: Arc<dyn Program>,
    numbers: Vec<u32>,
}

impl Floor<'_> {
    pub(crate) fn run(&self, numbers: &[u32], again: u32, jobs: u32) {
        let (crowds, mut units): (VecDeque<Unit>, VecDeque<Unit>) =
            self.units(numbers).into_iter().partition(|unit| !unit.program.is_ordered());
        // A crowd takes all places by itself, and what it does not come to is run one by one.
        for unit in crowds {
            let left = self.follow(&unit.program, &unit.numbers, 0, jobs, |_| {});
            units.extend(left.into_iter().map(|number| self.alone(number)));
        }
        let units = Mutex::new(units);
        let next = || units.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop_front();
        let work = || {
            while let Some(unit) = next() {
                if unit.program.is_shared() {
                    self.run_shared(unit);
                } else {
                    unit.numbers.iter().for_each(|number| self.run_alone(&unit.program, *number, again));
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

    /// Neighbours of one program share a process where it can run several. What is not to be run is told at once.
    fn units(&self, numbers: &[u32]) -> VecDeque<Unit> {
        let mut units: VecDeque<Unit> = VecDeque::new();
        for number in numbers {
            let Some(case) = self.cases.get(*number as usize) else { continue };
            if let Some(why) = &case.skipped {
                self.skip(*number, why);
                continue;
            }
            match (units.back_mut(), &case.crowd) {
                (Some(unit), Some(crowd)) if self.tracing.is_none() && Arc::ptr_eq(&unit.program, crowd) => {
                    unit.numbers.push(*number);
                }
                (_, Some(crowd)) if self.tracing.is_none() => {
                    units.push_back(Unit { program: crowd.clone(), numbers: vec![*number] });
                }
                (Some(unit), _) if case.program.is_shared() && self.may_follow(unit, *number) => {
                    unit.numbers.push(*number);
                }
                _ => units.push_back(self.alone(*number)),
            }
        }
        // One is no crowd.
        for unit in units.iter_mut().filter(|unit| !unit.program.is_ordered() && unit.numbers.len() == 1) {
            *unit = self.alone(unit.numbers[0]);
        }
        units
    }

    fn alone(&self, number: u32) -> Unit {
        Unit { program: self.cases[number as usize].program.clone(), numbers: vec![number] }
    }

    /// Whether a test can go into the process of those before it.
    fn may_follow(&self, unit: &Unit, number: u32) -> bool {
        let program = &self.cases[number as usize].program;
        let together = || {
            let last = unit.numbers.last().map(|last| &self.cases[*last as usize]);
            last.is_none_or(|last| program.belong_together(last, &self.cases[number as usize]))
        };
        Arc::ptr_eq(&unit.program, program) && program.may_follow(&unit.numbers, number) && (!self.apart || together())
    }

    /// Listed, but not to be run.
    fn skip(&self, number: u32, why: &str) {
        let process = self.processes.fetch_add(1, Ordering::Relaxed);
        self.wire.tell(&Event::Start { n: number, run: 0, process: Some(process), in_process: false });
        let judged = Judged::new(Outcome::Skipped, 0.0).failed(failed("Skipped", why));
        self.wire.tell(&self.done(number, 0, judged, None));
    }

    fn run_alone(&self, program: &Arc<dyn Program>, number: u32, again: u32) {
        for run in 0..=again {
            let mut failing = false;
            self.follow(program, &[number], run, 1, |judged| failing = judged.outcome.is_failure());
            if !failing {
                return;
            }
        }
    }

    /// Where the process ends before its tests do, the rest goes on in another.
    fn run_shared(&self, unit: Unit) {
        let mut left = unit.numbers;
        while !left.is_empty() {
            left = self.follow(&unit.program, &left, 0, 1, |_| {});
        }
    }

    /// Runs these tests in one process; those that it did not come to.
    fn follow(
        &self,
        program: &Arc<dyn Program>,
        numbers: &[u32],
        run: u32,
        jobs: u32,
        mut heard: impl FnMut(&Judged),
    ) -> Vec<u32> {
        let process = self.processes.fetch_add(1, Ordering::Relaxed);
        let cases: Vec<&Case> = numbers.iter().map(|number| &self.cases[*number as usize]).collect();
        let in_process = self.in_process && program.can_isolate_in_process();
        let start = |at: usize| Event::Start { n: numbers[at], run, process: Some(process), in_process };
        // The trace of a process that runs several tests is none of theirs.
        let trace = self
            .tracing
            .filter(|_| numbers.len() == 1)
            .map(|(tracing, side)| (tracing, side.join(format!("trace-{}-{process}", self.environment))));
        let done = |at: usize, judged: Judged| {
            let traced = trace.as_ref().and_then(|(tracing, directory)| tracing.finish(directory));
            self.done(numbers[at], run, judged, traced)
        };
        if let Some(known) = program.known(&cases) {
            for (at, judged) in known.into_iter().enumerate() {
                heard(&judged);
                self.wire.tell_all(&[start(at), done(at, judged)]);
            }
            return Vec::new();
        }
        let mut told = vec![Told::Nothing; numbers.len()];
        let mut event = |said: Said| match said {
            Said::Start(at) => {
                told[at] = Told::Start;
                start(at)
            }
            Said::Done(at, judged) => {
                told[at] = Told::Done;
                heard(&judged);
                done(at, judged)
            }
            Said::Changed(path) => Event::Changed { path },
            Said::Restored(failed) => Event::Restored { failed },
        };
        // What tests depended on is known when their process is over, and told with how they ended.
        let files = self
            .depends
            .filter(|_| program.knows_files())
            .map(|side| side.join(format!("files-{}-{process}", self.environment)));
        let (mut held, mut seen) = (Vec::new(), false);
        let mut say = |said: Vec<Said>| match &files {
            Some(_) => held.extend(said.into_iter().map(&mut event)),
            None => self.wire.tell_all(&said.into_iter().map(&mut event).collect::<Vec<_>>()),
        };
        let starting = match self.probe.filter(|probe| numbers.len() > probe.after as usize) {
            Some(probe) => program.start_probing(&cases, &Probing { probe, world: self.world, limits: &self.limits }),
            None if in_process => program.start_in_process(&cases),
            None => program.start(&cases, jobs),
        };
        let ended = starting.and_then(|mut start| {
            if let Some((tracing, directory)) = &trace {
                start.variables.extend(tracing.variables(directory));
            }
            start.door = self.door.cloned();
            if let Some(directory) = &files {
                seen = program.see_files(&mut start, directory, self.world);
            }
            let mut listener = program.listener(&cases);
            let world = self.world;
            child::follow(&start, world, &self.limits, listener.as_mut(), &mut say).map_err(|error| error.to_string())
        });
        if let Some(directory) = files {
            self.tell_with_files(held, |after| program.depended(&directory, after).filter(|_| seen));
            let _ = std::fs::remove_dir_all(directory);
        }
        if !program.is_ordered() {
            return (0..numbers.len()).filter(|at| told[*at] != Told::Done).map(|at| numbers[at]).collect();
        }
        // Nothing is passed over in silence: a process that did nothing for its first test has failed it, and so it has one
        // that it left out.
        let over = told.iter().rposition(|told| *told == Told::Done).map_or(1, |at| at + 1);
        for at in (0..over).filter(|at| told[*at] != Told::Done) {
            if told[at] == Told::Nothing {
                self.wire.tell(&start(at));
            }
            let message = match &ended {
                Ok(()) if over > 1 => "its process did not run it, but others after it".to_owned(),
                Ok(()) => "its process ended before it had begun".to_owned(),
                Err(why) => format!("its process could not be started: {why}"),
            };
            let judged = Judged::crashed(How::Exit(0), 0.0, Some(message), "");
            heard(&judged);
            self.wire.tell(&done(at, judged));
        }
        numbers[over..].to_vec()
    }

    /// All that share a process share what is known of it, but for the first, before which there was nobody.
    fn tell_with_files(&self, mut events: Vec<Event>, depended: impl Fn(usize) -> Option<String>) {
        let ends = events.iter_mut().filter_map(|event| match event {
            Event::Done(done) => Some(&mut done.dependencies),
            _ => None,
        });
        let mut known = Vec::new();
        for (at, dependencies) in ends.enumerate() {
            if known.len() <= at.min(1) {
                known.push(depended(at));
            }
            dependencies.clone_from(&known[at.min(1)]);
        }
        self.wire.tell_all(&events);
    }

    fn done(&self, n: u32, run: u32, judged: Judged, trace: Option<String>) -> Event {
        let short = |text: &str| shortened(text, self.limits.output);
        let failure = judged.failure.map(|mut failure| {
            failure.message = short(&failure.message);
            failure.trace = short(&failure.trace);
            failure
        });
        // What a passing test prints is of no use to anybody.
        let (stdout, stderr) = match failure {
            Some(_) => (short(&judged.stdout), short(&judged.stderr)),
            None => Default::default(),
        };
        let Judged { outcome, seconds, layers, .. } = judged;
        Event::Done(Box::new(AttemptResult {
            trace,
            layers,
            failure,
            stdout,
            stderr,
            ..AttemptResult::new(n, run, outcome, seconds)
        }))
    }
}

/// What has been told of a test.
#[derive(Clone, Copy, PartialEq)]
enum Told {
    Nothing,
    Start,
    Done,
}
