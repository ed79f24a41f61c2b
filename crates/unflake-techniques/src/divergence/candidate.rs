//! Something that may tell failing runs from passing ones.

use std::sync::Arc;

use unflake_model::{DivergenceKind, LineId, Location, ValueSplit};

use crate::divergence::aligned_runs::Runs;

#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) how: DivergenceKind,
    /// The strand it is in.
    pub(crate) key: usize,
    pub(crate) line: LineId,
    /// Of a step, the line that it leads to; None also where it leads to the end.
    pub(crate) to: Option<LineId>,
    /// By run: whether it is taken for a failing one.
    pub(crate) says: Vec<bool>,
    /// By run, how far its strand was then.
    pub(crate) at: Vec<Option<f64>>,
    /// When it was, in the middle of the failing runs (`Runs::when`).
    pub(crate) when: f64,
    /// How likely it is by chance, with everything counted that was looked at.
    pub(crate) chance: f64,
    /// What is so in failing runs, to be followed by how often.
    pub(crate) what: String,
    pub(crate) value: Option<ValueSplit>,
    /// By run, what the value was; empty for a step.
    pub(crate) shown: Vec<Option<Arc<str>>>,
}

impl Candidate {
    /// The moment of it, from the failing runs that it tells apart.
    pub(crate) fn moment(runs: &Runs<'_>, key: usize, says: &[bool], at: &[Option<f64>]) -> Option<f64> {
        let told = (0..says.len()).filter(|run| says[*run] && runs.all[*run].failed);
        let mut moments: Vec<f64> = told.filter_map(|run| Some(runs.when(run, key, at[run]?))).collect();
        moments.sort_by(f64::total_cmp);
        moments.get(moments.len() / 2).copied()
    }

    /// How many failing runs it tells apart, and how many passing ones it takes for failing.
    pub(crate) fn told(&self, runs: &Runs<'_>) -> (usize, usize) {
        let count =
            |failed| runs.all.iter().zip(&self.says).filter(|(run, says)| run.failed == failed && **says).count();
        (count(true), count(false))
    }

    pub(crate) fn is_perfect(&self, runs: &Runs<'_>) -> bool {
        self.told(runs) == (runs.failed(), 0)
    }

    /// Whether it tells most failing runs apart and takes few others for them.
    pub(crate) fn is_good(&self, runs: &Runs<'_>) -> bool {
        let (failing, passing) = self.told(runs);
        let failed = runs.failed();
        failing * 5 >= failed * 4 && passing * 10 <= runs.all.len() - failed
    }

    /// Whether it tells at least some failing runs apart, and takes hardly any other for them.
    pub(crate) fn is_partial(&self, runs: &Runs<'_>) -> bool {
        let (failing, passing) = self.told(runs);
        failing > 2 && passing * 20 <= runs.all.len() - runs.failed()
    }

    pub(crate) fn location(&self, runs: &Runs<'_>) -> Location {
        let (failing, passing) = self.told(runs);
        let (failed, passed) = (runs.failed(), runs.all.len() - runs.failed());
        Location {
            line: runs.traces.line(self.line),
            how: self.how,
            failing: failing as u32,
            passing: passing as u32,
            chance: self.chance.min(1.0),
            sentence: format!("{} {}", self.what, often(failing, failed, passing, passed)),
            value: self.value.clone(),
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
