//! The nouns that two other rooms of unflake exchange.
//!
//! Deliberately absent: input and output, clocks, processes, SQL, command-line parsing, and any knowledge of a
//! particular test runner or language.

mod attempt;
mod change;
mod finding;
mod observation;
mod outcome;
mod session;
mod test;

pub use attempt::{Attempt, Failure, Phase, Timestamp};
pub use change::{Base, Change, ChangeKind, ChangedFunctions, Changes, Chosen};
pub use finding::{Detail, Evidence, Finding, Rung, Verdict, VerdictKind};
pub use observation::{Environment, Event, Observation, Problem, ProblemKind, Totals};
pub use outcome::{Death, Outcome};
pub use session::{EnvironmentId, Origin, Place, Purpose, Session, SessionId};
pub use test::{Test, TestId};
