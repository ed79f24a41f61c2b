//! The lines at which each thread of a test can be delayed, from the trace of one run.

use std::collections::HashMap;

use unflake_model::{LineId, SourceLine, Traces};

use crate::divergence::aligned_runs::{LOADING, TracedRun};

/// Lines of one thread that are searched, and points of all threads that are named.
const LINES: usize = 20_000;
const MOST: usize = 400;

/// A line that a thread executes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayPoint {
    pub line: SourceLine,
    /// The key of the thread.
    pub thread: String,
    /// How often it does so.
    pub times: u32,
}

/// Of a passing run, if there is one: it comes to its end. By thread, in the order of execution.
pub(crate) fn delay_points(traces: &dyn Traces, all: &[TracedRun]) -> Vec<DelayPoint> {
    let Some(run) = all.iter().find(|run| !run.failed).or(all.first()) else { return Vec::new() };
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
                points.push(DelayPoint { line: traces.line(line), thread: thread.key.clone(), times: 0 });
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
