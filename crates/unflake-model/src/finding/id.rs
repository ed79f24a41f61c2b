//! The identity of findings and causes.

use crate::fingerprint::hash;
use crate::{Detail, Finding, Fingerprint, TestId};

impl Finding {
    /// Equal for findings of one test with the same technique, kind and place. Feedback refers to it, so it
    /// does not change when lines move or numbers differ.
    pub fn id(&self) -> Fingerprint {
        fingerprint(&[self.test.as_str(), &self.key()])
    }

    /// Equal for findings with the same cause, in any test. A finding without a place has its own cause.
    pub fn cause(&self) -> Fingerprint {
        match self.place() {
            place if place.is_empty() => self.id(),
            _ => fingerprint(&["", &self.key()]),
        }
    }

    fn key(&self) -> String {
        format!("{}\n{}\n{}", self.technique(), self.kind(), self.place())
    }

    /// As JSON spells it.
    pub fn technique(&self) -> &'static str {
        match self.detail {
            Detail::Verdict(_) => "verdict",
            Detail::Intersect(_) => "intersect",
            Detail::Nio(_) => "nio",
            Detail::Order(_) => "order",
            Detail::State(_) => "state",
            Detail::Divergence(_) => "divergence",
            Detail::Layer(_) => "layer",
            Detail::Factor(_) => "factor",
            Detail::Filter(_) => "filter",
        }
    }

    /// As JSON spells it.
    pub fn kind(&self) -> String {
        match &self.detail {
            Detail::Verdict(verdict) => word(&verdict.kind),
            Detail::Intersect(intersect) => word(&intersect.kind),
            Detail::Nio(nio) => word(&nio.kind),
            Detail::Order(order) => word(&order.kind),
            Detail::State(leak) => word(&leak.kind),
            Detail::Divergence(divergence) => divergence.kind.word().to_owned(),
            Detail::Layer(layer) => word(&layer.kind),
            Detail::Factor(influence) => influence.kind.clone(),
            Detail::Filter(filtered) => word(&filtered.kind),
        }
    }

    /// The place, without line numbers. Empty: it names none.
    fn place(&self) -> String {
        match &self.detail {
            Detail::Divergence(divergence) => (divergence.locations.first())
                .map_or(String::new(), |start| format!("{} {}", start.line.file, start.line.function)),
            Detail::Order(order) => order.culprits.first().map_or(String::new(), |culprits| names(culprits)),
            Detail::State(leak) => leak.cells.iter().map(|cell| cell.path.as_str()).collect::<Vec<_>>().join(" "),
            Detail::Filter(filtered) => {
                let spot = &filtered.assertion.spot;
                format!("{} {} {} {}", spot.file, spot.function, spot.expression, spot.ordinal)
            }
            Detail::Verdict(_) | Detail::Intersect(_) | Detail::Nio(_) | Detail::Layer(_) | Detail::Factor(_) => {
                String::new()
            }
        }
    }
}

impl TestId {
    /// A short name for use in file names and addresses.
    pub fn fingerprint(&self) -> Fingerprint {
        fingerprint(&[self.as_str()])
    }
}

fn names(tests: &[TestId]) -> String {
    tests.iter().map(TestId::as_str).collect::<Vec<_>>().join(" ")
}

/// The name of a variant in kebab case, as serde spells it: `FlakyIndependent` is
/// `flaky-independent`.
fn word(variant: &impl std::fmt::Debug) -> String {
    let mut word = String::new();
    for letter in format!("{variant:?}").chars() {
        if letter.is_ascii_uppercase() && !word.is_empty() {
            word.push('-');
        }
        word.push(letter.to_ascii_lowercase());
    }
    word
}

fn fingerprint(parts: &[&str]) -> Fingerprint {
    Fingerprint(format!("{:016x}", hash(parts.join("\n").as_bytes())))
}

#[cfg(test)]
mod tests {
    use crate::{Cause, Detail, Divergence, DivergenceKind, FilterKind, Finding, Location, SourceLine};

    fn found(test: &str, kind: Cause, line: u32, function: &str) -> Finding {
        let line = SourceLine { file: "shop/mail.py".into(), line, function: function.into() };
        let location = Location {
            line,
            how: DivergenceKind::Value,
            failing: 3,
            passing: 0,
            chance: 0.01,
            sentence: "x".into(),
            value: None,
            rejected: false,
        };
        let divergence = Divergence {
            kind,
            because: "it is drawn".into(),
            locations: vec![location],
            shows: None,
            runs: 9,
            failed: 3,
            timed_out: 0,
            points: Vec::new(),
            unknown: Vec::new(),
            proof: None,
        };
        Finding {
            test: test.into(),
            detail: Detail::Divergence(divergence),
            sentence: format!("starts at line {}", 3),
            reproduce: Vec::new(),
            replays: Vec::new(),
        }
    }

    #[test]
    fn a_finding_stays_the_same_when_lines_move() {
        let finding = found("a", Cause::Randomness, 18, "Mail.send");
        assert_eq!(finding.id(), found("a", Cause::Randomness, 20, "Mail.send").id());
        assert_eq!(finding.id().0.len(), 16);
        for other in [
            found("b", Cause::Randomness, 18, "Mail.send"),
            found("a", Cause::Time, 18, "Mail.send"),
            found("a", Cause::Randomness, 18, "Mail.receive"),
        ] {
            assert_ne!(finding.id(), other.id());
        }
    }

    #[test]
    fn tests_may_have_one_cause() {
        let finding = found("a", Cause::Randomness, 18, "Mail.send");
        assert_eq!(finding.cause(), found("b", Cause::Randomness, 19, "Mail.send").cause());
        assert_ne!(finding.cause(), found("b", Cause::Time, 18, "Mail.send").cause());
        // Two causes without a place may be different.
        let nowhere = |test: &str| {
            let mut finding = found(test, Cause::Unknown, 1, "f");
            if let Detail::Divergence(divergence) = &mut finding.detail {
                divergence.locations.clear();
            }
            finding
        };
        assert_ne!(nowhere("a").cause(), nowhere("b").cause());
    }

    #[test]
    fn a_kind_is_spelt_as_in_json() {
        for kind in [FilterKind::NeverLikeThis, FilterKind::Flaky, FilterKind::NotInForce] {
            assert_eq!(serde_json::to_value(kind).unwrap(), super::word(&kind));
        }
    }

    #[test]
    fn a_finding_comes_back_from_json() {
        let finding = found("a", Cause::Randomness, 18, "Mail.send");
        let text = serde_json::to_string(&finding).unwrap();
        assert_eq!(serde_json::from_str::<Finding>(&text).unwrap(), finding);
    }
}
