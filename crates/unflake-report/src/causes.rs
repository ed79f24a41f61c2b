//! Groups findings by cause: the leaked state that explains several tests, or their polluter.

use std::collections::HashMap;

use unflake_model::{Confidence, Detail, Finding, Fingerprint, TestId};

/// The cause of each finding of a run, in the same order. Findings about the order, the idempotence
/// and the state of one test share it.
pub(crate) fn causes(findings: &[Finding]) -> Vec<Fingerprint> {
    let mut of_test: HashMap<&TestId, (u32, Fingerprint)> = HashMap::new();
    for finding in findings {
        let Some(rank) = rank(finding) else { continue };
        let known = of_test.get(&finding.test).is_some_and(|(known, _)| *known <= rank);
        if !known {
            of_test.insert(&finding.test, (rank, finding.cause()));
        }
    }
    let cause = |finding: &Finding| match (rank(finding), of_test.get(&finding.test)) {
        (Some(_), Some((_, cause))) => cause.clone(),
        _ => finding.cause(),
    };
    findings.iter().map(cause).collect()
}

/// Which finding about a test names its cause: proven state, then the polluter, then the rest.
fn rank(finding: &Finding) -> Option<u32> {
    match &finding.detail {
        Detail::State(_) if finding.confidence() == Some(Confidence::Proven) => Some(0),
        Detail::Order(order) if !order.culprits.is_empty() => Some(1),
        Detail::Order(_) | Detail::Nio(_) => Some(2),
        Detail::State(_) => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unflake_model::{Cell, Leak, LeakKind, OrderDependence, OrderKind, Repeats};

    fn finding(test: &str, detail: Detail) -> Finding {
        Finding { test: test.into(), detail, sentence: String::new(), reproduce: Vec::new(), replays: Vec::new() }
    }

    fn order(test: &str, polluter: &str) -> Finding {
        let evidence = Repeats { seen: 5, tried: 5, alone_passed: 5, alone_tried: 5 };
        finding(
            test,
            Detail::Order(OrderDependence {
                kind: OrderKind::Victim,
                culprits: vec![vec![polluter.into()]],
                cleaners: Vec::new(),
                order: Vec::new(),
                evidence,
                failure: None,
                unfinished: None,
            }),
        )
    }

    fn state(test: &str, kind: LeakKind, path: &str) -> Finding {
        let cell = Cell { path: path.into(), kind: "module global".into(), ..Cell::default() };
        finding(
            test,
            Detail::State(Leak { kind, after: Vec::new(), cells: vec![cell], unknown: Vec::new(), evidence: None }),
        )
    }

    #[test]
    fn victims_of_one_cell_share_a_cause() {
        let all = [
            order("a", "p"),
            state("a", LeakKind::Proven, "shop.cache"),
            order("b", "q"),
            state("b", LeakKind::Proven, "shop.cache"),
            order("c", "p"),
        ];
        let causes = causes(&all);
        assert!(causes[..4].iter().all(|cause| *cause == causes[0]));
        assert_ne!(causes[4], causes[0]);
    }

    #[test]
    fn without_proven_state_the_polluter_is_the_cause() {
        let all = [order("a", "p"), state("a", LeakKind::Possible, "x"), order("b", "p"), order("c", "q")];
        let causes = causes(&all);
        assert_eq!((&causes[0], &causes[0]), (&causes[1], &causes[2]));
        assert_ne!(causes[0], causes[3]);
    }
}
