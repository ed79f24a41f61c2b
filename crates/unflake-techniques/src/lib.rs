//! The techniques: pure state machines that request sessions, observe what happens, and conclude
//! findings. One folder per technique; [`Technique`] is their common interface.
//!
//! - `rerun`, `change_impact`: verdicts, is a failure real or flaky?
//! - `order`, `idempotence`, `leaked_state`: tests that depend on other tests or on themselves
//! - `divergence`: where a flaky test starts to fail
//! - `environment`: which condition makes a test fail
//! - `intervention`: proves what they found by forcing it
//! - `diagnose`: why a test is flaky, by all of these
//! - `variance`, `assertion_filter`: how runs of unchanged code differ, and tolerating it
//! - `stress`, `score`, `quarantine`: provoking, ranking and excusing failures
//! - `shards`: splits a suite for machines that run at once
//! - `search`, `stats`, `finding`: what several techniques share; `simulation`: test doubles
//!
//! Deliberately absent: processes, files, clocks, SQL, drawing. So their tests are literals.

mod assertion_filter;
mod change_impact;
mod diagnose;
mod divergence;
mod environment;
mod finding;
mod idempotence;
mod intervention;
mod leaked_state;
mod order;
mod quarantine;
mod rerun;
mod score;
mod search;
mod shards;
#[cfg(test)]
mod simulation;
mod stats;
mod stress;
mod technique;
mod variance;

pub use assertion_filter::apply::{AssertionFilter, FilterEntry, FilterRule};
pub use assertion_filter::assertion_matching::{AssertionSource, LearnedAssertion};
pub use assertion_filter::flakiness::{Flakiness, VersionSample, accumulate, object_scores, test_scores};
pub use assertion_filter::learn::{AssertionLearning, RepeatedRuns, RepeatedRunsConfig};
pub use assertion_filter::policy::AssertionPolicy;
pub use assertion_filter::tune::{FailureLabel, ScoredFailure, ThresholdAdvice, ThresholdPoint, advise};
pub use change_impact::dependency_learning::DependencyLearning;
pub use change_impact::intersect::{can_affect, touched_paths};
pub use change_impact::unaffected::AtBase;
pub use diagnose::diagnosis::{Diagnosis, DiagnosisConfig, StepCost};
pub use diagnose::fix_check::{FixCheck, FixCheckConfig};
pub use diagnose::steps::DiagnosisStep;
pub use divergence::delay_points::DelayPoint;
pub use divergence::locate::{Locate, LocateConfig, LocateCounts};
pub use environment::experiment::{CombinedScreen, Experiment, ExperimentConfig};
pub use idempotence::nio::{NioConfig, NioDetection};
pub use idempotence::prefilter::ScreenIn;
pub use intervention::delayed_line::is_single_delay;
pub use intervention::forced_delay::{DelayIntervention, DelayInterventionConfig};
pub use intervention::forced_value::{Intervention, InterventionConfig};
pub use intervention::forced_wait::{PassingWorld, WaitIntervention, WaitInterventionConfig};
pub use order::search::{OrderConfig, OrderDetection};
pub use quarantine::quarantine_standing;
pub use rerun::ladder::{Ladder, Rungs};
pub use rerun::never_excuse::{BadPattern, NeverExcuse};
pub use rerun::single_session::SingleSession;
pub use score::estimate::{FlakySince, RateChange, Score, ScoredRun, TestHealth, score};
pub use score::timeline::{TestStanding, Timeline, TimelineSource};
pub use shards::{shard_of_unplanned, shards};
pub use stats::failure_rate::rate_difference;
pub use stress::{Stress, StressConfig};
pub use technique::{Recordings, Technique};
pub use variance::configurations::{CONFIGURATIONS, ConfigurationParts};
pub use variance::measure::{Measure, MeasureConfig};
