//! Commands in worlds of one's choosing, through the real binary: each factor is shown to hold by a program that was started
//! under it, and after each nothing is left behind. What is only as fast as the machine is compared with itself.

mod clock;
mod experiments;
mod limits;
mod places;
mod reach;
mod wrapper;

use e2e::{Call, Ran, Story, python};

/// `unflake under FACTORS -- python -c SCRIPT`, the factors split at spaces.
pub(crate) fn under<'a>(story: &'a Story, factors: &str, script: &str) -> Call<'a> {
    story.unflake(["under"]).args(factors.split_whitespace()).arg("--").arg(python()).args(["-c", script])
}

/// What the script prints, which must end well.
#[track_caller]
pub(crate) fn told(factors: &str, script: &str) -> String {
    under(&Story::new(), factors, script).end().exits(0).stdout.trim().to_owned()
}

/// What another program prints under these factors. None: it is not installed.
pub(crate) fn told_by(story: &Story, factors: &str, command: &[&str]) -> Option<String> {
    let there = |place: std::path::PathBuf| place.join(command[0]).is_file();
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(there) {
        eprintln!("{} is not installed", command[0]);
        return None;
    }
    let call = story.unflake(["under"]).args(factors.split_whitespace()).arg("--").args(command);
    Some(call.end().exits(0).stdout.trim().to_owned())
}

/// The lines that unflake itself has written.
pub(crate) fn said(ran: &Ran) -> Vec<&str> {
    ran.stderr.lines().filter_map(|line| line.strip_prefix("unflake: ")).collect()
}
