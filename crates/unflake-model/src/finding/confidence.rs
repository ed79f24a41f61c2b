//! How far the evidence behind a finding goes. The three words are used in every output.

use serde::{Deserialize, Serialize};

use crate::{Detail, Divergence, Finding, LeakKind, Nio, NioKind, OrderDependence, Repeats};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// An intervention showed it: the outcome follows in every controlled run.
    Proven,
    /// p < 0.01.
    Likely,
    Possible,
}

impl Confidence {
    /// Below this p-value a difference is likely no coincidence.
    const SIGNIFICANT: f64 = 0.01;

    pub fn of_p_value(chance: f64) -> Self {
        if chance < Self::SIGNIFICANT { Self::Likely } else { Self::Possible }
    }

    /// As JSON spells it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Likely => "likely",
            Self::Possible => "possible",
        }
    }
}

impl Finding {
    /// None: it is a verdict or a measurement, which carries its counts, or names no cause.
    pub fn confidence(&self) -> Option<Confidence> {
        match &self.detail {
            Detail::Nio(nio) => of_nio(nio),
            Detail::Order(order) => Some(of_order(order)),
            Detail::State(leak) => Some(match leak.kind {
                LeakKind::Proven => Confidence::Proven,
                LeakKind::Possible => Confidence::Possible,
            }),
            Detail::Divergence(divergence) => of_divergence(divergence),
            Detail::Factor(influence) => (influence.kind != "none").then_some(influence.confidence),
            // The search names a companion only with p < 0.01.
            Detail::Verdict(verdict) => (!verdict.evidence.beside.is_empty()).then_some(Confidence::Likely),
            Detail::Intersect(_) | Detail::Layer(_) | Detail::Filter(_) => None,
        }
    }
}

fn of_nio(nio: &Nio) -> Option<Confidence> {
    match nio.kind {
        NioKind::Nio | NioKind::Brittle if is_controlled(&nio.evidence) => Some(Confidence::Proven),
        NioKind::Nio | NioKind::Brittle => Some(Confidence::Possible),
        NioKind::NonDeterministic | NioKind::Broken => None,
    }
}

/// The search names culprits only with p < 0.01.
fn of_order(order: &OrderDependence) -> Confidence {
    match () {
        () if order.culprits.is_empty() => Confidence::Possible,
        () if is_controlled(&order.evidence) => Confidence::Proven,
        () => Confidence::Likely,
    }
}

/// Seen in every one of several trials, and compared with trials of the test alone.
fn is_controlled(evidence: &Repeats) -> bool {
    evidence.tried > 1 && evidence.seen == evidence.tried && evidence.alone_tried > 1
}

/// A p-value takes runs for independent. Two that fail in one busy moment have much in common.
const LEAST_RUNS: u32 = 3;

fn of_divergence(divergence: &Divergence) -> Option<Confidence> {
    divergence.locations.first().map(|start| match divergence.proof {
        Some(_) => Confidence::Proven,
        None if start.rejected || divergence.has_few_runs() => Confidence::Possible,
        None => Confidence::of_p_value(start.chance),
    })
}

impl Divergence {
    /// Whether too few runs of either outcome were compared for more than a possibility.
    pub fn has_few_runs(&self) -> bool {
        let explained = self.locations.first().map_or(0, |start| start.failing);
        explained.min(self.runs.saturating_sub(self.failed)) < LEAST_RUNS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cause, DivergenceKind, Leak, Location, NioMode, OrderKind, SourceLine};

    fn confidence(detail: Detail) -> Option<Confidence> {
        Finding { test: "t".into(), detail, sentence: String::new(), reproduce: Vec::new(), replays: Vec::new() }
            .confidence()
    }

    fn repeats(seen: u32, tried: u32, alone_tried: u32) -> Repeats {
        Repeats { seen, tried, alone_passed: alone_tried, alone_tried }
    }

    #[test]
    fn repeated_controlled_runs_prove_an_order() {
        let order = |culprits: &[&str], evidence| {
            confidence(Detail::Order(OrderDependence {
                kind: OrderKind::Victim,
                culprits: culprits.iter().map(|test| vec![(*test).into()]).collect(),
                cleaners: Vec::new(),
                order: Vec::new(),
                evidence,
                failure: None,
                unfinished: None,
            }))
        };
        assert_eq!(order(&["a"], repeats(5, 5, 5)), Some(Confidence::Proven));
        assert_eq!(order(&["a"], repeats(14, 25, 20)), Some(Confidence::Likely));
        assert_eq!(order(&[], repeats(1, 1, 1)), Some(Confidence::Possible));
    }

    #[test]
    fn an_unrepeated_second_run_is_possible() {
        let nio = |kind, evidence| {
            let mode = NioMode::IsolatedMethod;
            confidence(Detail::Nio(Nio { kind, mode, evidence, fresh: None, second_failure: None }))
        };
        assert_eq!(nio(NioKind::Nio, repeats(4, 4, 3)), Some(Confidence::Proven));
        assert_eq!(nio(NioKind::Nio, repeats(1, 1, 0)), Some(Confidence::Possible));
        assert_eq!(nio(NioKind::Broken, repeats(4, 4, 3)), None);
    }

    #[test]
    fn restored_state_proves_a_leak() {
        let leak = |kind| {
            confidence(Detail::State(Leak {
                kind,
                after: Vec::new(),
                cells: Vec::new(),
                unknown: Vec::new(),
                evidence: None,
            }))
        };
        assert_eq!(leak(LeakKind::Proven), Some(Confidence::Proven));
        assert_eq!(leak(LeakKind::Possible), Some(Confidence::Possible));
    }

    #[test]
    fn few_runs_of_either_outcome_make_nothing_likely() {
        let located = |runs, failed| {
            let line = SourceLine { file: "a.py".into(), line: 1, function: "f".into() };
            let start = Location {
                line,
                how: DivergenceKind::Control,
                failing: failed,
                passing: 0,
                chance: 0.001,
                sentence: String::new(),
                value: None,
                rejected: false,
            };
            confidence(Detail::Divergence(Divergence {
                kind: Cause::Race,
                because: String::new(),
                locations: vec![start],
                shows: None,
                runs,
                failed,
                timed_out: 0,
                points: Vec::new(),
                unknown: Vec::new(),
                proof: None,
            }))
        };
        assert_eq!(located(204, 2), Some(Confidence::Possible));
        assert_eq!(located(204, 202), Some(Confidence::Possible));
        assert_eq!(located(204, 3), Some(Confidence::Likely));
    }
}
