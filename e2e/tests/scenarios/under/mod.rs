//! `unflake under` and `unflake doctor --factors`: a program that runs under a factor confirms that
//! it is in force, and nothing is left behind. Times are compared with times on the same machine.

mod clock;
mod command;
mod limits;
mod reach;
mod surroundings;

use e2e::{Invocation, RunOutput, Sandbox, python};

/// `unflake under FACTORS -- python -c SCRIPT`, with the factors split at spaces.
pub(super) fn under<'a>(sandbox: &'a Sandbox, factors: &str, script: &str) -> Invocation<'a> {
    sandbox.unflake(["under"]).args(factors.split_whitespace()).arg("--").arg(python()).args(["-c", script])
}

/// The output of a script, which must succeed.
#[track_caller]
pub(super) fn stdout_under(factors: &str, script: &str) -> String {
    under(&Sandbox::new(), factors, script).finish().expect_exit(0).stdout.trim().to_owned()
}

/// The output of another program. None: it is not installed.
pub(super) fn stdout_of_program(sandbox: &Sandbox, factors: &str, command: &[&str]) -> Option<String> {
    let installed = |directory: std::path::PathBuf| directory.join(command[0]).is_file();
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(installed) {
        eprintln!("{} is not installed", command[0]);
        return None;
    }
    let call = sandbox.unflake(["under"]).args(factors.split_whitespace()).arg("--").args(command);
    Some(call.finish().expect_exit(0).stdout.trim().to_owned())
}

/// The lines that unflake itself writes to standard error.
pub(super) fn messages(result: &RunOutput) -> Vec<&str> {
    result.stderr.lines().filter_map(|line| line.strip_prefix("unflake: ")).collect()
}
