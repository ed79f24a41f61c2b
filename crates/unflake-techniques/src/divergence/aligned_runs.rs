//! Traced runs of one test, aligned: which thread of one run corresponds to which thread of
//! another, and the relative time of events.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use unflake_model::{Attempt, Cause, Isolation, LineId, ThreadTrace, TraceId, Traces};

/// Name of the pseudo-thread that loads the tests, before the first one begins.
const LOADING: &str = "loading";
/// Prefix of task names.
const TASK: &str = "task ";

/// A thread that starts others does so within this many lines.
const LOOKED_AT: usize = 100_000;

/// A completed run with a trace.
#[derive(Clone, Debug)]
pub(crate) struct Run {
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

impl Run {
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

/// Runs with their threads aligned.
pub(crate) struct Runs<'a> {
    pub(crate) traces: &'a dyn Traces,
    pub(crate) all: &'a [Run],
    /// Threads in the order in which they begin.
    pub(crate) keys: Vec<Key>,
    /// By run and thread: position at which it first starts another thread.
    starts: RefCell<HashMap<(usize, usize), Option<f64>>>,
}

/// A thread, matched across runs.
pub(crate) struct Key {
    pub(crate) name: String,
    /// Index of the thread in each run's trace; `None` where the run lacks it.
    pub(crate) at: Vec<Option<usize>>,
}

impl Key {
    pub(crate) fn is_loading(&self) -> bool {
        self.name == LOADING
    }

    pub(crate) fn is_task(&self) -> bool {
        self.name.starts_with(TASK)
    }
}

impl<'a> Runs<'a> {
    pub(crate) fn new(traces: &'a dyn Traces, all: &'a [Run]) -> Self {
        let mut found: HashMap<&str, usize> = HashMap::new();
        let mut keys: Vec<(u64, Key)> = Vec::new();
        for (at, run) in all.iter().enumerate() {
            for (place, strand) in traces.strands(run.trace).iter().enumerate() {
                let key = *found.entry(&strand.key).or_insert_with(|| {
                    let began = if strand.name == LOADING { 0 } else { strand.began + 1 };
                    keys.push((began, Key { name: strand.name.clone(), at: vec![None; all.len()] }));
                    keys.len() - 1
                });
                keys[key].1.at[at] = Some(place);
            }
        }
        keys.sort_by_key(|(began, _)| *began);
        let keys = keys.into_iter().map(|(_, key)| key).collect();
        Self { traces, all, keys, starts: RefCell::default() }
    }

    pub(crate) fn failed(&self) -> usize {
        self.all.iter().filter(|run| run.failed).count()
    }

    pub(crate) fn strand(&self, run: usize, key: usize) -> Option<&ThreadTrace> {
        Some(&self.traces.strands(self.all[run].trace)[self.keys[key].at[run]?])
    }

    /// How the archive addresses the thread of a run.
    pub(crate) fn id(&self, run: usize, key: usize) -> Option<(TraceId, usize)> {
        Some((self.all[run].trace, self.keys[key].at[run]?))
    }

    /// Length of the prefix that all runs share in a thread.
    pub(crate) fn shared(&self, key: usize) -> u64 {
        let mut ids = (0..self.all.len()).filter_map(|run| self.id(run, key));
        let Some(first) = ids.next() else { return 0 };
        let whole = self.traces.strands(first.0)[first.1].events;
        ids.map(|other| self.traces.common(first, other)).min().unwrap_or(whole)
    }

    /// Relative time at which a thread reached a position; larger is later. Traces carry no order
    /// between threads, so this is an estimate. Loading precedes everything. A thread's work before
    /// it starts others precedes theirs; its work afterwards follows theirs, because it mostly
    /// waits for them. Otherwise each thread progresses evenly until the end of the run.
    pub(crate) fn when(&self, run: usize, key: usize, position: f64) -> f64 {
        let Some(strand) = self.strand(run, key) else { return f64::MAX };
        let share = position / strand.events.max(1) as f64;
        if self.keys[key].is_loading() {
            return share;
        }
        let (others, steps) = (self.keys.len() as f64, key as f64);
        match self.starts_others(run, key) {
            Some(start) if position <= start => others + steps + share,
            Some(_) => 4.0 * others - steps + share,
            None => {
                let strands = self.traces.strands(self.all[run].trace);
                let latest = strands.iter().map(|strand| strand.began).max().unwrap_or_default() as f64;
                let whole = (self.all[run].seconds * 1e9).max(latest * 1.1).max(1.0);
                let began = strand.began as f64 / whole;
                2.0 * others + began + share * (1.0 - began)
            }
        }
    }

    /// Position at which a thread first starts others, as far as its lines say. The first of
    /// several threads is known to.
    fn starts_others(&self, run: usize, key: usize) -> Option<f64> {
        let known = self.starts.borrow().get(&(run, key)).copied();
        known.unwrap_or_else(|| {
            let starters: HashSet<LineId> = self
                .traces
                .reaches()
                .iter()
                .filter(|reach| reach.cause == Cause::Race)
                .map(|reach| reach.line)
                .collect();
            let later = ((key + 1)..self.keys.len()).any(|other| self.id(run, other).is_some());
            let lines = self.id(run, key).filter(|_| later && !starters.is_empty());
            let lines = lines.map_or(Vec::new(), |id| self.traces.lines(id, 0, LOOKED_AT));
            let at = lines.iter().position(|line| starters.contains(line)).map(|at| at as f64 + 1.0);
            let first = (0..key).all(|other| self.keys[other].is_loading());
            let start = at.or_else(|| (later && first && !self.traces.reaches().is_empty()).then_some(0.0));
            self.starts.borrow_mut().insert((run, key), start);
            start
        })
    }
}
