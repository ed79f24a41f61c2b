//! A difference between runs that may separate failing from passing ones.

use std::sync::Arc;

use unflake_model::{DivergenceKind, LineId, Location, ValueSplit};

use crate::divergence::aligned_runs::AlignedRuns;

#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) how: DivergenceKind,
    /// Index of the thread it is in.
    pub(crate) thread: usize,
    pub(crate) line: LineId,
    /// Target line of a control-flow edge; `None` also at the end of the thread.
    pub(crate) to: Option<LineId>,
    /// By run: whether the candidate predicts a failure.
    pub(crate) predicts: Vec<bool>,
    /// By run: the position of the thread at that moment.
    pub(crate) at: Vec<Option<f64>>,
    /// Median relative time in the failing runs (`AlignedRuns::relative_time`).
    pub(crate) when: f64,
    /// P-value, corrected for everything that was examined.
    pub(crate) p_value: f64,
    /// What is true in failing runs; the sentence continues with how often.
    pub(crate) what: String,
    pub(crate) value: Option<ValueSplit>,
    /// By run: the value; empty for a control-flow edge.
    pub(crate) shown: Vec<Option<Arc<str>>>,
}

impl Candidate {
    /// Median relative time over the failing runs that it predicts.
    pub(crate) fn moment(runs: &AlignedRuns<'_>, thread: usize, predicts: &[bool], at: &[Option<f64>]) -> Option<f64> {
        let predicted = (0..predicts.len()).filter(|run| predicts[*run] && runs.all[*run].failed);
        let mut moments: Vec<f64> =
            predicted.filter_map(|run| Some(runs.relative_time(run, thread, at[run]?))).collect();
        moments.sort_by(f64::total_cmp);
        moments.get(moments.len() / 2).copied()
    }

    /// Corrects the p-value for the number of comparisons.
    pub(crate) fn correct(&mut self, comparisons: usize) {
        self.p_value = (self.p_value * comparisons as f64).min(1.0);
    }

    /// Number of failing and of passing runs for which it predicts a failure.
    pub(crate) fn predicted(&self, runs: &AlignedRuns<'_>) -> (usize, usize) {
        let count = |failed| {
            runs.all.iter().zip(&self.predicts).filter(|(run, predicts)| run.failed == failed && **predicts).count()
        };
        (count(true), count(false))
    }

    pub(crate) fn is_perfect(&self, runs: &AlignedRuns<'_>) -> bool {
        self.predicted(runs) == (runs.failed(), 0)
    }

    /// Whether it predicts most failures with few false alarms.
    pub(crate) fn is_good(&self, runs: &AlignedRuns<'_>) -> bool {
        let (failing, passing) = self.predicted(runs);
        let failed = runs.failed();
        failing * 5 >= failed * 4 && passing * 10 <= runs.all.len() - failed
    }

    /// Whether it predicts some failures with hardly any false alarm.
    pub(crate) fn is_partial(&self, runs: &AlignedRuns<'_>) -> bool {
        let (failing, passing) = self.predicted(runs);
        failing > 2 && passing * 20 <= runs.all.len() - runs.failed()
    }

    pub(crate) fn location(&self, runs: &AlignedRuns<'_>) -> Location {
        let (failing, passing) = self.predicted(runs);
        let (failed, passed) = (runs.failed(), runs.all.len() - runs.failed());
        Location {
            line: runs.traces.line(self.line),
            how: self.how,
            failing: failing as u32,
            passing: passing as u32,
            chance: self.p_value.min(1.0),
            sentence: format!("{} {}", self.what, often(failing, failed, passing, passed)),
            value: self.value.clone(),
            rejected: false,
        }
    }
}

/// `in all 11 failing runs, never in 39 passing ones`.
pub(crate) fn often(failing: usize, failed: usize, passing: usize, passed: usize) -> String {
    let in_failing = match (failing, failed) {
        (1, 1) => "in the one failing run".to_owned(),
        (all, failed) if all == failed => format!("in all {failed} failing runs"),
        _ => format!("in {failing} of {failed} failing runs"),
    };
    let in_passing = match (passing, passed) {
        (0, 1) => "not in the passing one".to_owned(),
        (0, _) => format!("never in {passed} passing ones"),
        (all, passed) if all == passed => format!("and in all {passed} passing ones"),
        _ => format!("and in {passing} of {passed} passing ones"),
    };
    format!("{in_failing}, {in_passing}")
}
