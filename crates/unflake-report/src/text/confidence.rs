//! Confidence of findings with its basis, as text.

use unflake_model::{Detail, Finding};

use crate::text::format;

/// `likely, p < 1e-6, 50 runs`: the confidence of a finding with its basis. None: it has none.
pub(crate) fn confidence(finding: &Finding) -> Option<String> {
    let word = finding.confidence()?.word();
    Some(match &finding.detail {
        Detail::Divergence(divergence) if divergence.proof.is_some() => word.to_owned(),
        Detail::Divergence(divergence) => {
            let start = divergence.locations.first()?;
            if divergence.has_few_runs() {
                let runs = format::count(divergence.runs as usize, "run");
                return Some(format!("{word}, {} of {runs} failed", divergence.failed));
            }
            if start.chance >= 1.0 {
                // Compared where something else differed, too: that is no statistic.
                return Some(format!("{word}, {}", format::count(divergence.runs as usize, "run")));
            }
            format!("{word}, {}, {}", p_value(start.chance), format::count(divergence.runs as usize, "run"))
        }
        Detail::Factor(influence) => format!("{word}, {}", p_value(influence.p_value)),
        _ => word.to_owned(),
    })
}

/// `p < 1e-6`, `p < 0.001`, `p = 0.004`.
pub(crate) fn p_value(chance: f64) -> String {
    match chance {
        chance if chance < 1e-6 => "p < 1e-6".to_owned(),
        chance if chance < 0.001 => "p < 0.001".to_owned(),
        chance if chance < 0.1 => format!("p = {chance:.3}"),
        chance if chance < 1.0 => format!("p = {chance:.2}"),
        _ => "p = 1".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_are_rounded() {
        let texts = [0.0, 2e-6, 0.000_9, 0.004, 0.049, 0.2, 1.0, f64::NAN].map(p_value);
        let expected = ["p < 1e-6", "p < 0.001", "p < 0.001", "p = 0.004", "p = 0.049", "p = 0.20", "p = 1", "p = 1"];
        assert_eq!(texts, expected);
    }
}
