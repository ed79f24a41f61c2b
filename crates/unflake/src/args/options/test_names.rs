//! Completion of test names from the history.

use std::env;
use std::ffi::OsStr;

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use unflake_store::test_names_in;

use crate::args::ColorChoice;
use crate::args::options::setting_options::StoreOption;
use crate::context::Context;
use crate::machines::Machines;

/// Further names do not help anybody to choose.
const MOST: usize = 1000;

/// For arguments that name a test.
pub(crate) fn test_names() -> ArgValueCompleter {
    ArgValueCompleter::new(candidates)
}

/// Names that begin with `typed`, or else contain it. None where the history cannot be read: a
/// completion never reports an error.
fn candidates(typed: &OsStr) -> Vec<CompletionCandidate> {
    let (Some(typed), Ok(here)) = (typed.to_str(), env::current_dir()) else { return Vec::new() };
    let context = Context { here, color: ColorChoice::Never, machines: Machines::default() };
    let Ok(location) = context.store(StoreOption::default()) else { return Vec::new() };
    test_names_in(&location, typed, MOST).unwrap_or_default().into_iter().map(CompletionCandidate::new).collect()
}
