//! The lines of a test that wait, from the trace of one run: candidates for an intervention.

use std::collections::HashSet;

use unflake_model::{Cause, LineId, SourceLine, Traces};

use crate::divergence::aligned_runs::{AlignedRuns, TracedRun};

/// Lines that are searched, and lines that are named.
const LINES_BACK: u64 = 20_000;
const MOST: usize = 12;

/// Of a failing run, if there is one. Those of the thread that fails come first, the last one before
/// the failure first: what they wait for is what the test looks at next.
pub(crate) fn wait_lines(traces: &dyn Traces, all: &[TracedRun]) -> Vec<SourceLine> {
    let Some(run) = all.iter().position(|run| run.failed).or_else(|| (!all.is_empty()).then_some(0)) else {
        return Vec::new();
    };
    let runs = AlignedRuns::new(traces, &all[run..=run]);
    let waits = traces.reaches().iter().filter(|reach| reach.cause == Cause::AsyncWait);
    let waits: HashSet<LineId> = waits.map(|reach| reach.line).collect();
    let Some((main, end)) = runs.raised_at(0) else { return Vec::new() };
    let others = (0..runs.threads.len()).filter(|thread| *thread != main && !runs.threads[*thread].is_loading());
    let ends = others.filter_map(|thread| Some((thread, runs.thread_trace(0, thread)?.events)));
    let mut found: Vec<SourceLine> = Vec::new();
    for (thread, end) in std::iter::once((main, end + 1)).chain(ends) {
        let Some(id) = runs.id(0, thread) else { continue };
        let from = end.saturating_sub(LINES_BACK);
        let lines = traces.lines(id, from, (end - from) as usize);
        for line in lines.iter().rev().filter(|line| waits.contains(line)) {
            let line = traces.line(*line);
            if !found.contains(&line) {
                found.push(line);
            }
        }
    }
    found.truncate(MOST);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::divergence::recorded_traces::RecordedTraces;

    #[test]
    fn the_last_wait_before_the_failure_comes_first_and_other_threads_last() {
        let mut traces = RecordedTraces::default();
        traces.run(false, &[("main", "t:1 t:2 t:3 t:4 t:9")]);
        traces.run(true, &[("main", "t:1 t:2 t:3 t:2 t:4 t:5 t:6"), ("worker", "w:7 w:8 w:7")]).raised(5);
        for place in ["t:2", "t:4", "t:6", "w:7"] {
            traces.reach(place, Cause::AsyncWait, "time.sleep");
        }
        traces.reach("t:3", Cause::Time, "time.time");
        let lines: Vec<u32> = wait_lines(&traces, &traces.runs).iter().map(|line| line.line).collect();
        assert_eq!(lines, [4, 2, 7]);
    }

    #[test]
    fn a_passing_run_will_do() {
        let mut traces = RecordedTraces::default();
        traces.run(false, &[("main", "t:1 t:2")]).reach("t:1", Cause::AsyncWait, "time.sleep");
        assert_eq!(wait_lines(&traces, &traces.runs).len(), 1);
        assert_eq!(wait_lines(&traces, &[]), []);
    }
}
