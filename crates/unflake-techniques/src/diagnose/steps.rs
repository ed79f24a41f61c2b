//! Which technique comes next. Pure: it sees how the test ended alone and what is known of it.

use unflake_model::VerdictKind;

use crate::stats::failure_rate::FailureCount;

const FEW_SEEDS: u32 = 8;
const CHEAP_SEEDS: u32 = 24;
const SEEDS: u32 = 24;
const MOST_SEEDS: u32 = 64;

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
    /// The test in worlds that differ in many factors at once.
    CombinedFactors,
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
            Self::CombinedFactors => "combined factors",
            Self::CompanySchedules => "concurrent schedules",
            Self::Factors => "factors",
            Self::Divergence => "divergence",
            Self::Intervention => "intervention",
        }
    }

    /// How much of the time that is left it may take where other steps follow.
    pub(crate) fn share(self) -> f64 {
        match self {
            Self::Factors => 0.5,
            // Half of it where no world differs.
            Self::CombinedFactors => 0.6,
            Self::Order | Self::Schedules | Self::CompanySchedules => 0.35,
            Self::Speed | Self::Seeds => 0.3,
            Self::Company => 0.2,
            _ => 1.0,
        }
    }
}

/// The steps after the retries, in the order of their expected cost until a proof. `alone`: how the
/// test ended alone, and whether new processes differ where forks do not. `verdict`: that of the
/// latest run. `slow_starts`: whether each run starts a process that takes long to start, so that
/// searches of few runs come first.
pub(crate) fn steps(
    alone: FailureCount,
    differs: bool,
    verdict: Option<VerdictKind>,
    slow_starts: bool,
) -> Vec<DiagnosisStep> {
    use DiagnosisStep::{
        CombinedFactors, Company, CompanySchedules, Divergence, Factors, Idempotence, Order, Schedules, Seeds, Speed,
    };
    match verdict {
        _ if differs || alone.is_mixed() => {}
        Some(VerdictKind::FlakyStateDependent) if slow_starts => {
            return vec![Idempotence, Order, CombinedFactors, Company, Seeds, Speed, Schedules, Factors, Divergence];
        }
        _ if slow_starts && alone.failed > 0 => return vec![CombinedFactors, Order, Speed, Seeds, Factors],
        Some(VerdictKind::FlakySeedDependent | VerdictKind::FlakyIndependent | VerdictKind::FlakyBursty) => {}
        _ if slow_starts => {
            return vec![Idempotence, CombinedFactors, Order, Company, Seeds, Speed, Schedules, Factors, Divergence];
        }
        _ => {}
    }
    match verdict {
        _ if differs => vec![Seeds, Speed, Schedules, Divergence, Factors],
        // Chance decides each time, so other tests have nothing to do with it.
        _ if alone.is_mixed() => vec![Speed, Seeds, Schedules, Divergence, Factors],
        Some(VerdictKind::FlakySeedDependent) => vec![Seeds, Divergence, Idempotence, Order, Company, Factors],
        // Forks share what a process draws, which a few processes show; else it may need other tests.
        _ if alone.failed > 0 => vec![Speed, Order, CombinedFactors, Seeds, Factors],
        Some(VerdictKind::FlakyIndependent | VerdictKind::FlakyBursty) => {
            vec![
                Idempotence,
                Speed,
                CombinedFactors,
                Company,
                Seeds,
                Schedules,
                CompanySchedules,
                Divergence,
                Factors,
                Order,
            ]
        }
        Some(VerdictKind::FlakyStateDependent) => vec![
            Idempotence,
            Order,
            CombinedFactors,
            Company,
            Seeds,
            Speed,
            Schedules,
            CompanySchedules,
            Factors,
            Divergence,
        ],
        _ => vec![
            Idempotence,
            CombinedFactors,
            Order,
            Company,
            Seeds,
            Speed,
            Schedules,
            CompanySchedules,
            Factors,
            Divergence,
        ],
    }
}

/// The same steps where forks can have seeds and schedules, which then cost less than anything that needs
/// new processes. Of a test that varies, speeds tell more where it takes its time, because it may wait.
pub(crate) fn forks_first(mut steps: Vec<DiagnosisStep>, is_short: bool) -> Vec<DiagnosisStep> {
    use DiagnosisStep::{CombinedFactors, Order, Schedules, Speed};
    let dear = |step: &DiagnosisStep| matches!(step, CombinedFactors | Order) || is_short && *step == Speed;
    let (Some(first), Some(at)) = (steps.iter().position(dear), steps.iter().position(|step| *step == Schedules))
    else {
        return steps;
    };
    if first < at && steps[first] != Order {
        let step = steps.remove(at);
        steps.insert(first, step);
    }
    let cheap = |step: &DiagnosisStep| matches!(step, Schedules | Speed);
    let seeds = steps.iter().position(|step| *step == DiagnosisStep::Seeds);
    if let (Some(at), Some(seeds), true) = (steps.iter().position(cheap), seeds, is_short)
        && at < seeds
        && !steps[at..seeds].iter().any(|step| matches!(step, CombinedFactors | Order))
    {
        let step = steps.remove(seeds);
        steps.insert(at, step);
    }
    steps
}

/// The same steps for a runner whose traces name the lines where threads can be delayed: a single long
/// delay finds what worlds and other tests rarely do, and names the line. A schedule is a quicker proof,
/// which is left where the budget ends before; but where each run starts a slow process, searches of many
/// runs come later.
pub(crate) fn delays_early(mut steps: Vec<DiagnosisStep>, slow_starts: bool) -> Vec<DiagnosisStep> {
    use DiagnosisStep::{Company, Divergence, Order, Schedules, Seeds, Speed};
    let Some(at) = steps.iter().position(|step| *step == Divergence) else { return steps };
    let step = steps.remove(at);
    let is_late = |step: &DiagnosisStep| matches!(step, Order | Company | Seeds | Speed | Schedules);
    let place = match slow_starts {
        true => steps.iter().position(is_late),
        false => steps.iter().position(|step| *step == Schedules).map(|at| at + 1),
    };
    steps.insert(place.unwrap_or(at).min(at), step);
    steps
}

/// The same steps for agents that name delays: a few schedules find most races, and single long
/// delays find limits on time, before searches of many worlds.
pub(crate) fn delays_before_factors(mut steps: Vec<DiagnosisStep>) -> Vec<DiagnosisStep> {
    let factors = steps.iter().position(|step| *step == DiagnosisStep::Factors);
    let at = steps.iter().position(|step| *step == DiagnosisStep::Divergence);
    if let (Some(factors), Some(at)) = (factors, at)
        && factors < at
    {
        let step = steps.remove(at);
        steps.insert(factors, step);
    }
    steps
}

/// The same steps of a test that passes alone and takes its time there. It probably waits for a time, so who
/// comes first is asked before what surrounds it, other tests among it.
pub(crate) fn order_of_threads_first(mut steps: Vec<DiagnosisStep>, slow_starts: bool) -> Vec<DiagnosisStep> {
    use DiagnosisStep::{CombinedFactors, Company, Divergence, Order, Schedules, Seeds, Speed};
    let is_search = |step: &DiagnosisStep| matches!(step, CombinedFactors | Order | Company | Seeds | Speed);
    let Some(first) = steps.iter().position(is_search) else { return steps };
    // A line is worth more where each run is dear; else a schedule is found sooner.
    let both = if slow_starts { [Schedules, Divergence] } else { [Divergence, Schedules] };
    for step in both {
        if let Some(at) = steps.iter().position(|one| *one == step)
            && at > first
        {
            let step = steps.remove(at);
            steps.insert(first, step);
        }
    }
    steps
}

/// Seeds to try: of a test that never varied a few, or more where each costs little, else so many that
/// one of them fails in nearly all cases, at the rate with which it failed.
pub(crate) fn most_seeds(alone: FailureCount, differs: bool, is_cheap: bool) -> u32 {
    match alone.is_mixed() {
        false if is_cheap => CHEAP_SEEDS,
        false => FEW_SEEDS,
        // Few of those runs were processes of their own.
        true if differs => SEEDS,
        true => ((3.0 / alone.share()).ceil() as u32).clamp(SEEDS, MOST_SEEDS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DiagnosisStep::{
        CombinedFactors, Company, CompanySchedules, Divergence, Factors, Idempotence, Order, Schedules, Seeds, Speed,
    };

    #[test]
    fn a_test_that_varies_alone_needs_no_other_tests() {
        assert_eq!(steps(FailureCount::new(2, 6), false, None, false), [Speed, Seeds, Schedules, Divergence, Factors]);
    }

    #[test]
    fn what_differs_between_processes_only_may_be_a_seed() {
        assert_eq!(steps(FailureCount::new(1, 9), true, None, false), [Seeds, Speed, Schedules, Divergence, Factors]);
    }

    #[test]
    fn forks_come_before_new_processes() {
        let passes = forks_first(steps(FailureCount::new(0, 6), false, None, false), true);
        assert_eq!(passes[..4], [Idempotence, Schedules, CombinedFactors, Order]);
        let varies = |is_short| forks_first(steps(FailureCount::new(2, 6), false, None, false), is_short);
        assert_eq!(varies(true), [Seeds, Schedules, Speed, Divergence, Factors]);
        assert_eq!(varies(false), [Speed, Seeds, Schedules, Divergence, Factors]);
        let of_state =
            forks_first(steps(FailureCount::new(0, 6), false, Some(VerdictKind::FlakyStateDependent), false), true);
        assert_eq!(of_state[..3], [Idempotence, Order, CombinedFactors]);
    }

    #[test]
    fn delays_at_lines_come_before_what_takes_many_runs() {
        let passes = FailureCount::new(0, 6);
        let quick = delays_early(steps(passes, false, None, false), false);
        let expected = [
            Idempotence,
            CombinedFactors,
            Order,
            Company,
            Seeds,
            Speed,
            Schedules,
            Divergence,
            CompanySchedules,
            Factors,
        ];
        assert_eq!(quick, expected);
        let slow = delays_early(steps(passes, false, None, true), true);
        assert_eq!(slow[..3], [Idempotence, CombinedFactors, Divergence]);
        let varies = |slow_starts| delays_early(steps(FailureCount::new(2, 6), false, None, slow_starts), slow_starts);
        assert_eq!(varies(true), [Divergence, Speed, Seeds, Schedules, Factors]);
        assert_eq!(varies(false), [Speed, Seeds, Schedules, Divergence, Factors]);
        assert_eq!(delays_early(vec![Speed, Seeds], false), [Speed, Seeds]);
    }

    #[test]
    fn a_test_that_takes_its_time_is_delayed_before_others_are_searched() {
        let passes = FailureCount::new(0, 6);
        let quick = order_of_threads_first(delays_early(steps(passes, false, None, false), false), false);
        assert_eq!(quick[..4], [Idempotence, Schedules, Divergence, CombinedFactors]);
        let slow = order_of_threads_first(delays_early(steps(passes, false, None, true), true), true);
        assert_eq!(slow[..4], [Idempotence, Divergence, Schedules, CombinedFactors]);
        assert_eq!(order_of_threads_first(vec![Speed, Factors], false), [Speed, Factors]);
    }

    #[test]
    fn single_delays_come_before_factors() {
        let passes = delays_before_factors(steps(FailureCount::new(0, 6), false, None, false));
        assert_eq!(passes[7..], [CompanySchedules, Divergence, Factors]);
        let varies = delays_before_factors(steps(FailureCount::new(2, 6), false, None, false));
        assert_eq!(varies, [Speed, Seeds, Schedules, Divergence, Factors]);
        assert_eq!(delays_before_factors(vec![Speed, Factors]), [Speed, Factors]);
    }

    #[test]
    fn a_rare_failure_needs_more_seeds() {
        assert_eq!(most_seeds(FailureCount::new(0, 44), false, false), 8);
        assert_eq!(most_seeds(FailureCount::new(3, 6), false, false), 24);
        assert_eq!(most_seeds(FailureCount::new(1, 16), false, false), 48);
        assert_eq!(most_seeds(FailureCount::new(1, 100), false, false), 64);
        assert_eq!(most_seeds(FailureCount::new(1, 41), true, false), 24);
        assert_eq!(most_seeds(FailureCount::new(0, 44), false, true), 24);
    }

    #[test]
    fn a_test_that_passes_alone_is_run_twice_and_after_others_first() {
        let passes = FailureCount::new(0, 6);
        assert_eq!(steps(passes, false, None, false)[..3], [Idempotence, CombinedFactors, Order]);
        let of_state = steps(passes, false, Some(VerdictKind::FlakyStateDependent), false);
        assert_eq!(of_state[..3], [Idempotence, Order, CombinedFactors]);
        assert_eq!(steps(FailureCount::new(0, 6), false, Some(VerdictKind::FlakySeedDependent), false)[0], Seeds);
    }

    #[test]
    fn a_test_that_fails_alone_is_not_run_twice() {
        assert!(!steps(FailureCount::new(6, 6), false, None, false).contains(&Idempotence));
    }

    #[test]
    fn where_processes_start_slowly_many_factors_at_once_come_before_orders() {
        let passes = FailureCount::new(0, 6);
        assert_eq!(steps(passes, false, None, true)[..3], [Idempotence, CombinedFactors, Order]);
        assert_eq!(steps(FailureCount::new(6, 6), false, None, true)[..2], [CombinedFactors, Order]);
        let of_state = steps(passes, false, Some(VerdictKind::FlakyStateDependent), true);
        assert_eq!(of_state[..3], [Idempotence, Order, CombinedFactors]);
        assert!(!steps(FailureCount::new(2, 6), false, None, true).contains(&CombinedFactors));
    }
}
