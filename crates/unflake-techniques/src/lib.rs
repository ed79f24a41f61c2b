//! The techniques, one file each: pure conversations that ask for sessions, hear what happened, ask again, and end
//! with findings.
//!
//! Deliberately absent: processes, files, clocks, SQL, drawing. So their tests are literals.

mod assertion_filter;
mod change_impact;
mod divergence;
mod environment;
mod idempotence;
mod leaked_state;
mod order;
mod quarantine;
mod rerun;
mod score;
mod search;
#[cfg(test)]
mod simulation;
mod stats;
mod stress;
mod variance;

use std::collections::HashMap;

use unflake_model::{Assertion, AssertionSite, Event, Finding, Session};

pub use assertion_filter::apply::{Filter, FilterEntry, FilterRule};
pub use assertion_filter::assertion_matching::{AssertionSource, LearnedAssertion};
pub use assertion_filter::flakiness::{Flakiness, ScoredRun as SeenOnVersion, accumulate, of_objects, of_tests};
pub use assertion_filter::learn::{FilterLearn, FilterLearnConfig, ReadAssertions};
pub use assertion_filter::tune::{FailureLabel, ScoredFailure, ThresholdAdvice, ThresholdPoint, advise};
pub use change_impact::dependency_learning::DependencyLearning;
pub use change_impact::intersect::{can_affect, met};
pub use change_impact::unaffected::AtBase;
pub use divergence::locate::{Locate, LocateConfig, LocateCounts};
pub use environment::experiment::{Experiment, ExperimentConfig};
pub use idempotence::nio::{Nio, NioConfig};
pub use order::search::{Order, OrderConfig};
pub use quarantine::standing;
pub use rerun::ladder::{Ladder, Rungs};
pub use rerun::never_excuse::{BadPattern, NeverExcuse};
pub use rerun::single_run::SingleRun;
pub use score::estimate::{FlakySince, RateChange, Score, ScoredRun, TestHealth, score};
pub use score::timeline::{TestStanding, Timeline, TimelineSource};
pub use search::coverage::Coverage;
pub use stress::{Stress, StressConfig};
pub use variance::compare::{differences, spread, suite_spread};
pub use variance::entropy::{entropy, false_positives, groups, inconsistent, wilson};
pub use variance::measure::{Measure, MeasureConfig};

/// A technique in the middle of its conversation.
pub trait Technique {
    /// Told everything that is observed, in the order in which it happened.
    fn hear(&mut self, event: &Event);

    /// What to run next. Called when every session asked for before has ended; nothing to run means the end.
    fn ask(&mut self) -> Vec<Session>;

    /// Told, where assertions can be let fail, all that there are, and hashes of the files that tests are in. Answers which may fail.
    fn let_fail(&mut self, _sites: &[AssertionSite], _sources: &HashMap<String, String>) -> Vec<Assertion> {
        Vec::new()
    }

    /// Asked before sessions run: what may fail from now on, where that has changed.
    fn may_fail_now(&mut self) -> Option<Vec<Assertion>> {
        None
    }

    /// What is to be kept, heard and shown in the place of what was observed, where an inquiry knows better how an attempt ended.
    fn instead(&mut self, _observed: &[Event]) -> Option<Vec<Event>> {
        None
    }

    /// What a person should know beside the findings.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// What can be said now. At any moment, so that a run that is cut short can still say what it knows.
    fn findings(&self) -> Vec<Finding>;
}
