//! Runs the git command line, read-only and independent of the user's configuration and of the
//! environment variables of a hook.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use crate::Error;

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
const FOREIGN: [&str; 26] = [
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
const LONGEST: usize = 400;

#[derive(Clone, Debug)]
pub(crate) struct Git {
    program: OsString,
    directory: PathBuf,
    /// Whether missing objects may be fetched.
    network: bool,
}

pub(crate) struct Answer {
    pub(crate) status: ExitStatus,
    pub(crate) said: Vec<u8>,
    pub(crate) complaint: String,
}

impl Git {
    pub(crate) fn at(directory: &Path) -> Git {
        Git { program: "git".into(), directory: directory.to_owned(), network: false }
    }

    pub(crate) fn with_network(&self) -> Git {
        Git { network: true, ..self.clone() }
    }

    #[cfg(test)]
    pub(crate) fn called(self, program: &str) -> Git {
        Git { program: program.into(), ..self }
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The output of a git command, which must succeed.
    pub(crate) fn ask<S: AsRef<OsStr>>(&self, words: &[S]) -> Result<Vec<u8>, Error> {
        self.ask_with(words, Vec::new())
    }

    /// The same, with standard input.
    pub(crate) fn ask_with<S: AsRef<OsStr>>(&self, words: &[S], input: Vec<u8>) -> Result<Vec<u8>, Error> {
        let answer = self.run(words, input)?;
        if answer.status.success() {
            return Ok(answer.said);
        }
        let said = if answer.complaint.is_empty() { answer.status.to_string() } else { answer.complaint };
        Err(Error::Git { asked: spelled(words), said })
    }

    /// One line of output, without its line ending.
    pub(crate) fn line<S: AsRef<OsStr>>(&self, words: &[S]) -> Result<Vec<u8>, Error> {
        let mut said = self.ask(words)?;
        if said.last() == Some(&b'\n') {
            said.pop();
        }
        Ok(said)
    }

    /// One line of output, or None if the command fails.
    pub(crate) fn perhaps<S: AsRef<OsStr>>(&self, words: &[S]) -> Result<Option<String>, Error> {
        let answer = self.run(words, Vec::new())?;
        let said = String::from_utf8_lossy(&answer.said).trim_end().to_owned();
        Ok((answer.status.success() && !said.is_empty()).then_some(said))
    }

    /// The output and exit status of a git command.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, words: &[S], input: Vec<u8>) -> Result<Answer, Error> {
        let mut command = Command::new(&self.program);
        command.arg("--no-pager").arg("--literal-pathspecs").arg("-C").arg(&self.directory);
        SETTINGS.iter().for_each(|setting| {
            command.args(["-c", setting]);
        });
        FOREIGN.iter().for_each(|name| {
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
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let cannot = |error: io::Error| Error::NoGit(error.to_string());
        let mut child = command.spawn().map_err(cannot)?;
        let stdin = child.stdin.take();
        // git may exit before it has read everything; its status reports that.
        let writer = thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&input)));
        let output = child.wait_with_output().map_err(cannot)?;
        let _ = writer.join();
        Ok(Answer { status: output.status, said: output.stdout, complaint: complaint(&output.stderr) })
    }
}

/// The relevant lines of an error message, joined to one line.
fn complaint(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines = text.lines().filter(|line| !line.starts_with("hint:") && !line.starts_with("warning:"));
    let words = lines.map(|line| line.trim_start_matches("fatal: ").trim_start_matches("error: ").trim());
    let joined = words.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    joined.chars().map(|one| if one.is_control() { ' ' } else { one }).take(LONGEST).collect()
}

fn spelled<S: AsRef<OsStr>>(words: &[S]) -> String {
    words.first().map(|word| word.as_ref().to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_git_it_says_so() {
        let nobody = Git::at(Path::new(".")).called("no-such-git");
        let error = nobody.ask(&["version"]).unwrap_err();
        assert!(matches!(error, Error::NoGit(_)), "{error:?}");
        assert!(error.to_string().starts_with("git cannot be started ("), "{error}");
    }

    #[test]
    fn complaints_are_one_short_line() {
        let long = format!("warning: no\nfatal: bad \x1b[31mthing\nhint: try\n\n{}", "x".repeat(1000));
        let said = complaint(long.as_bytes());
        assert!(said.starts_with("bad  [31mthing; xxx") && said.len() == LONGEST, "{said}");
    }
}
