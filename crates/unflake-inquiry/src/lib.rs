//! The techniques, one file each: pure conversations that ask for sessions, hear what happened, ask again, and end
//! with findings.
//!
//! Deliberately absent: processes, files, clocks, SQL, drawing. So their tests are literals.

mod after;
mod beta;
mod book;
mod candidate;
mod case;
mod cause;
mod chance;
mod chosen;
mod confirmation;
mod coverage;
mod culprit;
mod desk;
mod divergence;
mod doubled;
mod edges;
mod entropy;
mod excuse;
mod experiment;
mod experiment_bench;
mod experiment_edge;
mod experiment_words;
mod features;
mod filter;
mod filter_learn;
mod filter_words;
mod flakiness;
mod intersect;
#[cfg(test)]
mod jedit;
mod ladder;
mod leak;
mod learn;
mod ledger;
mod loading;
mod locate;
mod measure;
mod nio;
mod once;
mod order;
mod order_words;
mod pairs;
mod parting;
mod quarantine;
mod raised;
#[cfg(test)]
mod recorded;
mod runs;
mod same_assertion;
mod score;
mod seen;
mod segments;
mod sieve;
mod significance;
mod smallest;
mod split;
mod spread;
mod stress;
mod together;
mod tune;
mod unaffected;
mod unseen;
mod values;
#[cfg(test)]
mod world;

use std::collections::HashMap;

use unflake_model::{Assertion, Finding, Observation, Session, Site};

pub use coverage::Coverage;
pub use entropy::{entropy, false_positives, groups, inconsistent, wilson};
pub use excuse::{BadPattern, NeverExcuse};
pub use experiment::{Experiment, Experimenting};
pub use filter::{Entry, Filter, Rule};
pub use filter_learn::{FilterLearn, FilterLearning, ReadAssertions};
pub use flakiness::{Flakiness, Seen as SeenOnVersion, accumulate, of_objects, of_tests};
pub use intersect::{can_affect, met};
pub use ladder::{Ladder, Rungs};
pub use learn::Learn;
pub use ledger::{Ledger, LedgerSource, Standing};
pub use locate::{Counts, Locate, Locating};
pub use measure::{Measure, Measuring};
pub use nio::{Doubling, Nio};
pub use once::Once;
pub use order::{Order, Ordering};
pub use quarantine::standing;
pub use same_assertion::{Code, Learned};
pub use score::{Change, Score, Seen, Since, State, score};
pub use spread::{differences, spread, suite_spread};
pub use stress::{Pressure, Stress};
pub use tune::{Advice, Label, Point, Scored, advise};
pub use unaffected::AtBase;

/// A technique in the middle of its conversation.
pub trait Inquiry {
    /// Told everything that is observed, in the order in which it happened.
    fn hear(&mut self, observation: &Observation);

    /// What to run next. Called when every session asked for before has ended; nothing to run means the end.
    fn ask(&mut self) -> Vec<Session>;

    /// Told, where assertions can be let fail, all that there are, and hashes of the files that tests are in. Answers which may fail.
    fn let_fail(&mut self, _sites: &[Site], _sources: &HashMap<String, String>) -> Vec<Assertion> {
        Vec::new()
    }

    /// Asked before sessions run: what may fail from now on, where that has changed.
    fn may_fail_now(&mut self) -> Option<Vec<Assertion>> {
        None
    }

    /// What is to be kept, heard and shown in the place of what was observed, where an inquiry knows better how an attempt ended.
    fn instead(&mut self, _observed: &[Observation]) -> Option<Vec<Observation>> {
        None
    }

    /// What a person should know beside the findings.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// What can be said now. At any moment, so that a run that is cut short can still say what it knows.
    fn findings(&self) -> Vec<Finding>;
}
