//! Traces as literals, for the tests of the comparison.

use std::collections::HashMap;

use unflake_model::{
    Cause, Isolation, LineId, NondeterministicCall, ObservedValue, SourceLine, ThreadTrace, TraceId, Traces,
};

use crate::divergence::aligned_runs::TracedRun;

/// Written-down runs: whether each failed, and its threads.
#[derive(Default)]
pub(crate) struct RecordedTraces {
    pub(crate) runs: Vec<TracedRun>,
    traces: Vec<TraceParts>,
    lines: Vec<SourceLine>,
    numbers: HashMap<SourceLine, LineId>,
    reaches: Vec<NondeterministicCall>,
}

type TraceParts = (Vec<ThreadTrace>, Vec<Vec<LineId>>, Vec<Vec<ObservedValue>>);

impl RecordedTraces {
    /// Adds a run. Threads are written as `a:1 a:2 x=5 b:1`: function and line of each step (all in
    /// `a.src`), and values seen after the preceding step. A thread that ends in `…` was truncated.
    pub(crate) fn run(&mut self, failed: bool, threads: &[(&str, &str)]) -> &mut Self {
        let (mut all, mut streams, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (at, (name, text)) in threads.iter().enumerate() {
            let (mut stream, mut seen, mut truncated) = (Vec::new(), Vec::new(), None);
            for word in text.split_whitespace() {
                if word == "…" {
                    truncated = Some("cut".to_owned());
                } else if let Some((name, text)) = word.split_once('=') {
                    let (at, text) = (stream.len() as u64, text.replace('_', " "));
                    let line = *stream.last().expect("a value comes after a line");
                    seen.push(ObservedValue { at, line, name: name.into(), text: text.as_str().into() });
                } else {
                    stream.push(self.id(word));
                }
            }
            let (name, began) = ((*name).to_owned(), at as u64 * 1000);
            all.push(ThreadTrace { key: name.clone(), name, events: stream.len() as u64, began, truncated });
            streams.push(stream);
            values.push(seen);
        }
        let message = if failed { "it failed".to_owned() } else { String::new() };
        self.runs.push(TracedRun {
            trace: TraceId(self.traces.len() as u32),
            failed,
            origin: Isolation::Fork,
            seconds: 1e-5,
            kind: message.clone(),
            message,
            raised: None,
        });
        self.traces.push((all, streams, values));
        self
    }

    /// Sets the raising line of all failing runs.
    pub(crate) fn raised(&mut self, line: u32) -> &mut Self {
        self.runs.iter_mut().filter(|run| run.failed).for_each(|run| run.raised = Some(("a.src".into(), line)));
        self
    }

    pub(crate) fn reach(&mut self, place: &str, cause: Cause, what: &str) -> &mut Self {
        let line = self.id(place);
        self.reaches.push(NondeterministicCall { line, cause, what: what.into() });
        self
    }

    fn id(&mut self, word: &str) -> LineId {
        let (function, line) = word.split_once(':').unwrap_or_else(|| panic!("{word} is no line"));
        let line = line.parse().unwrap_or_else(|_| panic!("{word} has no number"));
        let line = SourceLine { file: "a.src".into(), line, function: function.into() };
        *self.numbers.entry(line.clone()).or_insert_with(|| {
            self.lines.push(line);
            LineId(self.lines.len() as u32 - 1)
        })
    }
}

impl Traces for RecordedTraces {
    fn strands(&self, trace: TraceId) -> &[ThreadTrace] {
        &self.traces[trace.0 as usize].0
    }

    fn common(&self, one: (TraceId, usize), other: (TraceId, usize)) -> u64 {
        let stream = |(trace, thread): (TraceId, usize)| &self.traces[trace.0 as usize].1[thread];
        stream(one).iter().zip(stream(other)).take_while(|(one, other)| one == other).count() as u64
    }

    fn lines(&self, (trace, thread): (TraceId, usize), from: u64, most: usize) -> Vec<LineId> {
        self.traces[trace.0 as usize].1[thread].iter().skip(from as usize).take(most).copied().collect()
    }

    fn line(&self, id: LineId) -> SourceLine {
        self.lines[id.0 as usize].clone()
    }

    fn values(&self, (trace, thread): (TraceId, usize)) -> Vec<ObservedValue> {
        self.traces[trace.0 as usize].2[thread].clone()
    }

    fn reaches(&self) -> &[NondeterministicCall] {
        &self.reaches
    }

    fn gaps(&self) -> &[String] {
        &[]
    }
}
