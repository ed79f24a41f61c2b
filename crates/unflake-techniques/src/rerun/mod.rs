//! Verdicts by rerunning: is a failure real or flaky? The ladder of Eloussi (2015), chapter 3.
//!
//! - `ladder` is the technique: rerun at once, at the end of the suite, in fresh environments
//! - `failing_test` contains the attempts at one test, `verdict` what they prove, `sentences` how to
//!   say it
//! - `confirmation` checks whether a pass is valid beyond its process
//! - `other_seeds` asks for new processes: do seeds or addresses decide?
//! - `left_files` hides files that a test wrote: do those outlive its processes?
//! - `first_pass` spreads the suite over processes, where the user asked for several
//! - `never_excuse` lists failures that no later pass excuses
//! - `single_session` runs named tests once, for `unflake replay` and `unflake trace`

pub(crate) mod confirmation;
pub(crate) mod failing_test;
pub(crate) mod first_pass;
pub(crate) mod ladder;
pub(crate) mod ladder_stage;
pub(crate) mod left_files;
pub(crate) mod never_excuse;
pub(crate) mod other_seeds;
pub(crate) mod process_run;
pub(crate) mod sentences;
pub(crate) mod single_session;
pub(crate) mod verdict;
