//! The lines at which each thread of a test can be delayed, from the trace of one run.

use std::collections::{HashMap, HashSet};

use unflake_model::{Cause, LineId, NondeterministicCall, SourceLine, Traces};

use crate::divergence::aligned_runs::{LOADING, TracedRun};

/// Lines of one thread that are searched, and points of all threads that are named.
const LINES: usize = 20_000;
const MOST: usize = 400;
/// Parts of the names of functions that wait for a time, whatever else they wait for.
const TIMED: [&str; 3] = ["sleep", "wait_for", "timeout"];

/// A line that a thread executes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayPoint {
    pub line: SourceLine,
    /// The key of the thread.
    pub thread: String,
    /// How often it does so.
    pub times: u32,
    /// Whether the line reads a clock, and whether it surely waits for a time: a join may have no limit.
    pub reads_clock: bool,
    pub sleeps: bool,
}

/// Of a passing run, if there is one: it comes to its end. By thread, in the order of execution.
pub(crate) fn delay_points(traces: &dyn Traces, all: &[TracedRun]) -> Vec<DelayPoint> {
    let Some(run) = all.iter().find(|run| !run.failed).or(all.first()) else { return Vec::new() };
    let lines_with = |is_it: &dyn Fn(&NondeterministicCall) -> bool| -> HashSet<LineId> {
        traces.reaches().iter().filter(|reach| is_it(reach)).map(|reach| reach.line).collect()
    };
    let clocks = lines_with(&|reach| reach.cause == Cause::Time);
    let has_limit = |what: &str| TIMED.iter().any(|word| what.contains(word));
    let sleeps = lines_with(&|reach| reach.cause == Cause::AsyncWait && has_limit(&reach.what));
    let mut points: Vec<DelayPoint> = Vec::new();
    for (at, thread) in traces.strands(run.trace).iter().enumerate() {
        // Threads of other processes are not delayed, nor is the one that loads the tests.
        if thread.key.starts_with('/') || thread.name == LOADING {
            continue;
        }
        let mut seen: HashMap<LineId, usize> = HashMap::new();
        for line in traces.lines((run.trace, at), 0, LINES) {
            let known = *seen.entry(line).or_insert(points.len());
            if known == points.len() {
                points.push(DelayPoint {
                    line: traces.line(line),
                    thread: thread.key.clone(),
                    times: 0,
                    reads_clock: clocks.contains(&line),
                    sleeps: sleeps.contains(&line),
                });
            }
            points[known].times += 1;
        }
    }
    points.truncate(MOST);
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::divergence::recorded_traces::RecordedTraces;

    #[test]
    fn each_line_counts_once_for_each_thread_of_a_passing_run() {
        let mut traces = RecordedTraces::default();
        traces.run(true, &[("main", "t:1 t:9")]);
        traces.run(false, &[("main", "t:1 t:2 t:1 t:3"), ("main.0", "t:2"), ("?pool", "t:4"), ("/a: main", "t:5")]);
        let points = delay_points(&traces, &traces.runs);
        let points: Vec<_> = points.iter().map(|point| (&*point.thread, point.line.line, point.times)).collect();
        assert_eq!(points, [("main", 1, 2), ("main", 2, 1), ("main", 3, 1), ("main.0", 2, 1), ("?pool", 4, 1)]);
    }
}
