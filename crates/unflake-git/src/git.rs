//! Runs the git command line, read-only and independent of the user's configuration and of the
//! environment variables of a hook.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use crate::GitError;

/// Each of these settings could hide a change, run a program of the user, or use the network.
const SETTINGS: [&str; 17] = [
    "core.quotePath=false",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.ignoreStat=false",
    "core.trustctime=true",
    "core.checkStat=default",
    "core.fileMode=true",
    "core.symlinks=true",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "color.ui=false",
    "diff.renames=true",
    "diff.ignoreSubmodules=none",
    "status.showUntrackedFiles=all",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// Variables that hooks and tools set for their own git commands.
const REMOVED_VARIABLES: [&str; 26] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_DEFAULT_HASH",
    "GIT_DIFF_OPTS",
    "GIT_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_GLOB_PATHSPECS",
    "GIT_GRAFT_FILE",
    "GIT_ICASE_PATHSPECS",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INDEX_VERSION",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_LITERAL_PATHSPECS",
    "GIT_NAMESPACE",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REDIRECT_STDERR",
    "GIT_REDIRECT_STDOUT",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// The maximum length of an error message of git that is passed on.
const MAX_ERROR: usize = 400;

#[derive(Clone, Debug)]
pub(crate) struct Git {
    program: OsString,
    directory: PathBuf,
    /// Whether missing objects may be fetched.
    network: bool,
}

pub(crate) struct GitOutput {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) error: String,
}

impl Git {
    pub(crate) fn at(directory: &Path) -> Git {
        Git { program: "git".into(), directory: directory.to_owned(), network: false }
    }

    pub(crate) fn with_network(&self) -> Git {
        Git { network: true, ..self.clone() }
    }

    #[cfg(test)]
    pub(crate) fn with_program(self, program: &str) -> Git {
        Git { program: program.into(), ..self }
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The output of a git command, which must succeed.
    pub(crate) fn output<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, GitError> {
        self.output_with_input(args, Vec::new())
    }

    /// The same, with standard input.
    pub(crate) fn output_with_input<S: AsRef<OsStr>>(&self, args: &[S], input: Vec<u8>) -> Result<Vec<u8>, GitError> {
        let output = self.run(args, input)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let message = if output.error.is_empty() { output.status.to_string() } else { output.error };
        Err(GitError::Git { command: subcommand(args), message })
    }

    /// One line of output, without its line ending.
    pub(crate) fn line<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, GitError> {
        let mut output = self.output(args)?;
        if output.last() == Some(&b'\n') {
            output.pop();
        }
        Ok(output)
    }

    /// One line of output, or None if the command fails.
    pub(crate) fn optional_line<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Option<String>, GitError> {
        let output = self.run(args, Vec::new())?;
        let line = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
        Ok((output.status.success() && !line.is_empty()).then_some(line))
    }

    /// The output and exit status of a git command.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: &[S], input: Vec<u8>) -> Result<GitOutput, GitError> {
        let mut command = Command::new(&self.program);
        command.arg("--no-pager").arg("--literal-pathspecs").arg("-C").arg(&self.directory);
        SETTINGS.iter().for_each(|setting| {
            command.args(["-c", setting]);
        });
        REMOVED_VARIABLES.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_NO_REPLACE_OBJECTS", "1").env("GIT_TERMINAL_PROMPT", "0");
        command.env("LC_ALL", "C").env("LANGUAGE", "C");
        if !self.network {
            // Newer versions understand the first variable, older ones fail because of the second.
            command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "");
        }
        #[cfg(test)]
        command.env("HOME", "/nonexistent").env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |error: io::Error| GitError::NoGit(error.to_string());
        let mut child = command.spawn().map_err(failed)?;
        let stdin = child.stdin.take();
        // git may exit before it has read everything; its status reports that.
        let writer = thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&input)));
        let output = child.wait_with_output().map_err(failed)?;
        let _ = writer.join();
        Ok(GitOutput { status: output.status, stdout: output.stdout, error: error_line(&output.stderr) })
    }
}

/// The relevant lines of an error message, joined to one line.
fn error_line(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines = text.lines().filter(|line| !line.starts_with("hint:") && !line.starts_with("warning:"));
    let args = lines.map(|line| line.trim_start_matches("fatal: ").trim_start_matches("error: ").trim());
    let joined = args.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    joined.chars().map(|one| if one.is_control() { ' ' } else { one }).take(MAX_ERROR).collect()
}

fn subcommand<S: AsRef<OsStr>>(args: &[S]) -> String {
    args.first().map(|word| word.as_ref().to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_git_is_reported() {
        let git = Git::at(Path::new(".")).with_program("no-such-git");
        let error = git.output(&["version"]).unwrap_err();
        assert!(matches!(error, GitError::NoGit(_)), "{error:?}");
        assert!(error.to_string().starts_with("git cannot be started ("), "{error}");
    }

    #[test]
    fn error_messages_are_one_short_line() {
        let long = format!("warning: no\nfatal: bad \x1b[31mthing\nhint: try\n\n{}", "x".repeat(1000));
        let output = error_line(long.as_bytes());
        assert!(output.starts_with("bad  [31mthing; xxx") && output.len() == MAX_ERROR, "{output}");
    }
}
