//! Which technique comes next. Pure: it sees how the test ended alone and what is known of it.

use unflake_model::VerdictKind;

use crate::stats::failure_rate::FailureCount;

/// A technique within a diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagnosisStep {
    /// The test alone, a few times.
    Retries,
    /// The test twice in one process.
    Idempotence,
    /// The test after other tests, and the state they leak.
    Order,
    /// The test at the same time as other tests of its program.
    Company,
    /// The test in new processes with chosen seeds.
    Seeds,
    /// The test where clocks run faster and slower.
    Speed,
    /// The test with threads and tasks in other orders.
    Schedules,
    /// The test beside other tests of its program, with threads in other orders.
    CompanySchedules,
    /// The test in worlds that differ in one factor.
    Factors,
    /// Traces of failing and passing runs. A run of its own, because tracing starts with the runner.
    Divergence,
    /// Values forced at located lines.
    Intervention,
}

impl DiagnosisStep {
    /// How reports name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Retries => "retries",
            Self::Idempotence => "idempotence",
            Self::Order => "order",
            Self::Company => "concurrency",
            Self::Seeds => "seeds",
            Self::Speed => "clock speed",
            Self::Schedules => "schedules",
            Self::CompanySchedules => "concurrent schedules",
            Self::Factors => "factors",
            Self::Divergence => "divergence",
            Self::Intervention => "intervention",
        }
    }

    /// How much of the time that is left it may take where other steps follow.
    pub(crate) fn share(self) -> f64 {
        match self {
            Self::Order | Self::Factors | Self::Schedules | Self::CompanySchedules => 0.4,
            Self::Speed | Self::Seeds | Self::Company => 0.5,
            _ => 1.0,
        }
    }
}

/// The steps after the retries, in the order of their expected cost until a proof. `alone`: how the
/// test ended alone. `verdict`: that of the latest run.
pub(crate) fn steps(alone: FailureCount, verdict: Option<VerdictKind>) -> Vec<DiagnosisStep> {
    use DiagnosisStep::{Company, CompanySchedules, Divergence, Factors, Idempotence, Order, Schedules, Seeds, Speed};
    match verdict {
        // Chance decides each time, so other tests have nothing to do with it.
        _ if alone.is_mixed() => vec![Speed, Seeds, Schedules, Divergence, Factors],
        Some(VerdictKind::FlakySeedDependent) => vec![Seeds, Divergence, Idempotence, Order, Company, Factors],
        // Forks share what a process draws, which a few processes show; else it may need other tests.
        _ if alone.failed > 0 => vec![Speed, Seeds, Order, Factors],
        Some(VerdictKind::FlakyIndependent | VerdictKind::FlakyBursty) => {
            vec![Idempotence, Speed, Company, Seeds, Schedules, CompanySchedules, Divergence, Factors, Order]
        }
        _ => vec![Idempotence, Order, Company, Seeds, Speed, Schedules, CompanySchedules, Factors, Divergence],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DiagnosisStep::{Company, CompanySchedules, Divergence, Factors, Idempotence, Order, Schedules, Seeds, Speed};

    #[test]
    fn a_test_that_varies_alone_needs_no_other_tests() {
        assert_eq!(steps(FailureCount::new(2, 6), None), [Speed, Seeds, Schedules, Divergence, Factors]);
    }

    #[test]
    fn a_test_that_passes_alone_is_run_twice_and_after_others_first() {
        let all = [Idempotence, Order, Company, Seeds, Speed, Schedules, CompanySchedules, Factors, Divergence];
        assert_eq!(steps(FailureCount::new(0, 6), None), all);
        assert_eq!(steps(FailureCount::new(0, 6), Some(VerdictKind::FlakyStateDependent)), all);
        assert_eq!(steps(FailureCount::new(0, 6), Some(VerdictKind::FlakySeedDependent))[0], Seeds);
    }

    #[test]
    fn a_test_that_fails_alone_is_not_run_twice() {
        assert!(!steps(FailureCount::new(6, 6), None).contains(&Idempotence));
    }
}
