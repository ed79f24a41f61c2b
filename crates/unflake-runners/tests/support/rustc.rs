//! The part of the unflake binary that cargo starts instead of rustc, and commands for the
//! benchmark: `lay-out CACHE` prints the directory of the runtime, `read ATTEMPT CACHE` symbolises
//! an attempt and counts its events, `own ATTEMPT CACHE ROOT OWN` records the project's own places
//! for later attempts.

use std::env::{args_os, var_os};
use std::error::Error;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use unflake_observe::trace::{Project, Symboliser, TraceRuntime, TracedAttempt};
use unflake_runners::traced_builds::{RUSTC, RUSTC_INNER, rustc_wrapper};

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(runtime) = var_os(RUSTC) {
        let inner = var_os(RUSTC_INNER);
        let mut command = rustc_wrapper(args_os().skip(1), Path::new(&runtime), inner.as_deref())?;
        return Err(command.exec().into());
    }
    let words: Vec<PathBuf> = args_os().skip(1).map(PathBuf::from).collect();
    match &words[..] {
        [word, cache] if word.as_os_str() == "lay-out" => {
            println!("{}", TraceRuntime::lay_out(cache)?.directory().display());
        }
        [word, attempt, cache] if word.as_os_str() == "read" => {
            let attempt = TracedAttempt::open(attempt)?;
            Symboliser::new(cache).symbolise(&attempt)?;
            let mut events = 0;
            for (_, thread) in attempt.threads() {
                events += thread.places()?.count();
            }
            println!("{events}");
        }
        [word, attempt, cache, root, own] if word.as_os_str() == "own" => {
            Symboliser::new(cache).own(&TracedAttempt::open(attempt)?, &Project::new(root), own)?;
        }
        _ => return Err(format!("{} is not set", RUSTC).into()),
    }
    Ok(())
}
