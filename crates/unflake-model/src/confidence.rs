//! How far the evidence behind a finding goes. The three words are used in every output.

use serde::{Deserialize, Serialize};

use crate::{Detail, Divergence, Finding, Influence, LeakKind, Nio, NioKind, OrderDependence, Rate, Repeats};

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
                LeakKind::Suspected => Confidence::Possible,
            }),
            Detail::Divergence(divergence) => of_divergence(divergence),
            Detail::Factor(influence) => of_influence(influence),
            Detail::Verdict(_) | Detail::Intersect(_) | Detail::Layer(_) | Detail::Filter(_) => None,
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

fn of_divergence(divergence: &Divergence) -> Option<Confidence> {
    divergence.locations.first().map(|start| Confidence::of_p_value(start.chance))
}

/// Setting a factor is an intervention: it proves the cause where it decides every run.
fn of_influence(influence: &Influence) -> Option<Confidence> {
    let always = |rate: &Rate| rate.of > 0 && rate.seen == rate.of;
    let never = |rate: &Rate| rate.of > 0 && rate.seen == 0;
    let (rate, baseline) = (&influence.rate, &influence.baseline);
    let decides = always(rate) && never(baseline) || never(rate) && always(baseline);
    match Confidence::of_p_value(influence.chance) {
        _ if influence.kind == "none" => None,
        Confidence::Likely if decides => Some(Confidence::Proven),
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Leak, NioMode, OrderKind};

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
        assert_eq!(leak(LeakKind::Suspected), Some(Confidence::Possible));
    }

    #[test]
    fn a_factor_that_decides_every_run_is_proven() {
        let rate = |seen, of| Rate { seen, of, low: 0.0, high: 1.0 };
        let factor = |kind: &str, under: (u32, u32), baseline: (u32, u32), chance| {
            confidence(Detail::Factor(Box::new(Influence {
                kind: kind.into(),
                setting: Vec::new(),
                fails: true,
                threshold: None,
                rate: rate(under.0, under.1),
                baseline: rate(baseline.0, baseline.1),
                chance,
                plan: Vec::new(),
                untried: Vec::new(),
                worst: Vec::new(),
                best: Vec::new(),
                runs: 0,
            })))
        };
        assert_eq!(factor("date", (10, 10), (0, 10), 0.001), Some(Confidence::Proven));
        assert_eq!(factor("load", (7, 10), (0, 10), 0.004), Some(Confidence::Likely));
        assert_eq!(factor("date", (3, 3), (0, 3), 0.05), Some(Confidence::Possible));
        assert_eq!(factor("none", (0, 0), (0, 10), 1.0), None);
    }
}
