//! Traced runs of one test, aligned: which thread of one run corresponds to which thread of
//! another, and the relative time of events.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use unflake_model::{Attempt, Cause, Isolation, LineId, ThreadTrace, TraceId, Traces};

/// Name of the pseudo-thread that loads the tests, before the first one begins.
pub(crate) const LOADING: &str = "loading";
/// Prefix of task names.
const TASK: &str = "task ";

/// A thread that starts others does so within this many lines.
const LINES_SEARCHED: usize = 100_000;

/// A completed run with a trace.
#[derive(Clone, Debug)]
pub(crate) struct TracedRun {
    pub(crate) trace: TraceId,
    pub(crate) failed: bool,
    pub(crate) origin: Isolation,
    pub(crate) seconds: f64,
    /// First line of the failure message.
    pub(crate) message: String,
    /// Equal for failures of the same kind: where it was raised, and the error type.
    pub(crate) kind: String,
    /// Source location that raised the failure.
    pub(crate) raised: Option<(String, u32)>,
}

impl TracedRun {
    pub(crate) fn new(trace: TraceId, attempt: &Attempt) -> Self {
        let failed = attempt.outcome.is_failure();
        let failure = attempt.failure.as_ref().filter(|_| failed);
        let first_line = failure.map(|failure| failure.message.lines().next().unwrap_or_default().trim().to_owned());
        let raised = failure.and_then(|failure| Some((failure.file.clone()?, failure.line?)));
        let message = match (failure, first_line) {
            (Some(failure), Some(text)) if text.is_empty() => failure.kind.clone(),
            (_, Some(text)) => text,
            (_, None) if failed => attempt.outcome.word().to_owned(),
            _ => String::new(),
        };
        let kind = format!("{raised:?} {}", failure.map_or("", |failure| &failure.kind));
        let (origin, seconds) = (attempt.origin, attempt.seconds);
        Self { trace, failed, origin, seconds, message, kind, raised }
    }
}

/// AlignedRuns with their threads aligned.
pub(crate) struct AlignedRuns<'a> {
    pub(crate) traces: &'a dyn Traces,
    pub(crate) all: &'a [TracedRun],
    /// Threads in the order in which they begin.
    pub(crate) threads: Vec<AlignedThread>,
    /// By run and thread: position at which it first starts another thread.
    starts: RefCell<HashMap<(usize, usize), Option<f64>>>,
}

/// A thread, matched across runs.
pub(crate) struct AlignedThread {
    pub(crate) name: String,
    /// Index of the thread in each run's trace; `None` where the run lacks it.
    pub(crate) at: Vec<Option<usize>>,
}

impl AlignedThread {
    pub(crate) fn is_loading(&self) -> bool {
        self.name == LOADING
    }

    pub(crate) fn is_task(&self) -> bool {
        self.name.starts_with(TASK)
    }
}

impl<'a> AlignedRuns<'a> {
    pub(crate) fn new(traces: &'a dyn Traces, all: &'a [TracedRun]) -> Self {
        let mut found: HashMap<&str, usize> = HashMap::new();
        let mut threads: Vec<(u64, AlignedThread)> = Vec::new();
        for (at, run) in all.iter().enumerate() {
            for (place, trace) in traces.strands(run.trace).iter().enumerate() {
                let thread = *found.entry(&trace.key).or_insert_with(|| {
                    let began = if trace.name == LOADING { 0 } else { trace.began + 1 };
                    threads.push((began, AlignedThread { name: trace.name.clone(), at: vec![None; all.len()] }));
                    threads.len() - 1
                });
                threads[thread].1.at[at] = Some(place);
            }
        }
        threads.sort_by_key(|(began, _)| *began);
        let threads = threads.into_iter().map(|(_, thread)| thread).collect();
        Self { traces, all, threads, starts: RefCell::default() }
    }

    pub(crate) fn failed(&self) -> usize {
        self.all.iter().filter(|run| run.failed).count()
    }

    pub(crate) fn thread_trace(&self, run: usize, thread: usize) -> Option<&ThreadTrace> {
        Some(&self.traces.strands(self.all[run].trace)[self.threads[thread].at[run]?])
    }

    /// How the archive addresses the thread of a run.
    pub(crate) fn id(&self, run: usize, thread: usize) -> Option<(TraceId, usize)> {
        Some((self.all[run].trace, self.threads[thread].at[run]?))
    }

    /// Length of the prefix that all runs share in a thread.
    pub(crate) fn common_prefix(&self, thread: usize) -> u64 {
        let mut ids = (0..self.all.len()).filter_map(|run| self.id(run, thread));
        let Some(first) = ids.next() else { return 0 };
        let whole = self.traces.strands(first.0)[first.1].events;
        ids.map(|other| self.traces.common(first, other)).min().unwrap_or(whole)
    }

    /// Relative time at which a thread reached a position; larger is later. Traces carry no order
    /// between threads, so this is an estimate. Loading precedes everything. A thread's work before
    /// it starts others precedes theirs; its work afterwards follows theirs, because it mostly
    /// waits for them. Otherwise each thread progresses evenly until the end of the run.
    pub(crate) fn relative_time(&self, run: usize, thread: usize, position: f64) -> f64 {
        let Some(trace) = self.thread_trace(run, thread) else { return f64::MAX };
        let share = position / trace.events.max(1) as f64;
        if self.threads[thread].is_loading() {
            return share;
        }
        let (others, steps) = (self.threads.len() as f64, thread as f64);
        match self.starts_others(run, thread) {
            Some(start) if position <= start => others + steps + share,
            Some(_) => 4.0 * others - steps + share,
            None => {
                let all = self.traces.strands(self.all[run].trace);
                let latest = all.iter().map(|other| other.began).max().unwrap_or_default() as f64;
                let whole = (self.all[run].seconds * 1e9).max(latest * 1.1).max(1.0);
                let began = trace.began as f64 / whole;
                2.0 * others + began + share * (1.0 - began)
            }
        }
    }

    /// Position at which a thread first starts others, as far as its lines say. The first of
    /// several threads is known to.
    fn starts_others(&self, run: usize, thread: usize) -> Option<f64> {
        let known = self.starts.borrow().get(&(run, thread)).copied();
        known.unwrap_or_else(|| {
            let starters: HashSet<LineId> = self
                .traces
                .reaches()
                .iter()
                .filter(|reach| reach.cause == Cause::Race)
                .map(|reach| reach.line)
                .collect();
            let later = ((thread + 1)..self.threads.len()).any(|other| self.id(run, other).is_some());
            let lines = self.id(run, thread).filter(|_| later && !starters.is_empty());
            let lines = lines.map_or(Vec::new(), |id| self.traces.lines(id, 0, LINES_SEARCHED));
            let at = lines.iter().position(|line| starters.contains(line)).map(|at| at as f64 + 1.0);
            let first = (0..thread).all(|other| self.threads[other].is_loading());
            let start = at.or_else(|| (later && first && !self.traces.reaches().is_empty()).then_some(0.0));
            self.starts.borrow_mut().insert((run, thread), start);
            start
        })
    }
}
