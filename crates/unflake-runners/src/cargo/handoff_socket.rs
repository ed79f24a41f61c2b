//! The socket on which cargo's *runner* reports test programs, each with its arguments, directory
//! and variables.
//!
//! The runner is a program of unflake. It connects and writes the number of its words (eight
//! bytes), its directory, the words and its variables, each with a zero byte at its end. It does
//! not wait for an answer, so cargo goes on at once.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, Permissions};
use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::{iter, thread};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{AccessFlags, access};

use crate::cargo::cargo_test::values_of;
use crate::cargo::{shims, traced_build};
use crate::driver::list_context::ListContext;
use crate::driver::suite::ListError;
use crate::process::spec::{EnvChanges, apply_env};

const TARGET: &str = env!("UNFLAKE_TARGET");
/// The runner, if there is one for this machine. unflake can do the same, but starts more slowly.
const RUNNER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hand-over"));
/// Variables of the build that no test must see.
const OF_BUILDS: [&str; 8] = [
    shims::HAND_OVER,
    shims::RUSTDOC,
    "RUSTDOC",
    "RUSTC_WORKSPACE_WRAPPER",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_BUILD_DIR",
    traced_build::RUSTC,
    traced_build::RUSTC_INNER,
];

/// A program that cargo would have started.
#[derive(Debug, PartialEq)]
pub(crate) struct HandedOffProgram {
    /// Empty if it was rustdoc, which would have run doctests.
    pub(crate) words: Vec<String>,
    pub(crate) directory: PathBuf,
    pub(crate) variables: BTreeMap<String, String>,
}

impl HandedOffProgram {
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.join(self.words.first().map_or("", String::as_str))
    }

    pub(crate) fn arguments(&self) -> &[String] {
        self.words.get(1..).unwrap_or_default()
    }

    pub(crate) fn is_of_doctests(&self) -> bool {
        self.words.is_empty()
    }

    /// The environment variables that cargo changed.
    pub(crate) fn differing(&self, context: &ListContext<'_>) -> EnvChanges {
        let ours = |name: &str| OF_BUILDS.contains(&name) || context.env_changes.contains_key(name);
        let is_new = |(name, value): &(&String, &String)| {
            !ours(name) && env::var_os(name).is_none_or(|there| there.to_string_lossy() != value.as_str())
        };
        self.variables.iter().filter(is_new).map(|(name, value)| (name.clone(), Some(value.clone()))).collect()
    }

    /// None: the message is incomplete.
    fn read(message: &[u8]) -> Option<Self> {
        let (count, rest) = message.split_first_chunk()?;
        let mut texts = rest.strip_suffix(b"\0")?.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        let directory = PathBuf::from(texts.next()?.into_owned());
        let count = u64::from_ne_bytes(*count) as usize;
        let words: Vec<String> = texts.by_ref().take(count).map(Into::into).collect();
        let variables = texts.filter_map(|text| text.split_once('=').map(|(name, value)| (name.into(), value.into())));
        (words.len() == count).then(|| Self { words, directory, variables: variables.collect() })
    }
}

pub(crate) struct HandoffSocket {
    socket_dir: PathBuf,
    listener: UnixListener,
    /// The words before those of a test program.
    runner: Vec<String>,
}

impl HandoffSocket {
    pub(crate) fn open(context: &ListContext<'_>) -> Result<Self, ListError> {
        let socket_dir = context.run_dir.join(format!("hand-over-{}", std::process::id()));
        let cannot = |error: io::Error| ListError::usage(format!("{}: {error}", socket_dir.display()));
        fs::create_dir_all(&socket_dir).map_err(cannot)?;
        let listener = UnixListener::bind(socket_dir.join("s")).map_err(cannot)?;
        let runner = match lay_out(&socket_dir) {
            Some(runner) => vec![runner.to_string_lossy().into_owned()],
            None => vec![shims::myself().to_string_lossy().into_owned(), shims::WORD.to_owned()],
        };
        Ok(Self { socket_dir, listener, runner })
    }

    /// Options that make cargo start the runner in place of test programs.
    pub(crate) fn options(&self, words: &[String]) -> Vec<String> {
        let mut targets = vec![TARGET.to_owned()];
        targets.extend(values_of(words, "--target"));
        let runner = serde_json::to_string(&self.runner).unwrap_or_default();
        targets.iter().flat_map(|target| ["--config".to_owned(), format!("target.{target}.runner={runner}")]).collect()
    }

    /// The environment in which the runner finds this socket.
    pub(crate) fn prepare(&self, command: &mut Command, context: &ListContext<'_>) {
        apply_env(command, context.env_changes);
        command.env(shims::HAND_OVER, self.socket_dir.join("s"));
        command.env(shims::RUSTDOC, env::var_os("RUSTDOC").unwrap_or_default()).env("RUSTDOC", shims::myself());
    }

    /// Runs `cargo` and does `work` with each program as soon as it is reported, in as many threads
    /// as there are cores. Returns the results in the order of the reports.
    pub(crate) fn serve<T, A: Send>(
        &self,
        cargo: impl FnOnce() -> T,
        work: impl Fn(HandedOffProgram) -> A + Sync,
    ) -> Result<(T, Vec<A>), ListError> {
        let (ended, running) = io::pipe().map_err(|error| ListError::usage(error.to_string()))?;
        let order = Mutex::new(0..);
        let next = || {
            let mut order = order.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            Some((order.next(), self.next(&ended)?))
        };
        let serve = || iter::from_fn(next).map(|(at, invocation)| (at, work(invocation))).collect::<Vec<_>>();
        let workers = thread::available_parallelism().map_or(1, usize::from);
        let (answer, mut done) = thread::scope(|scope| {
            let workers: Vec<_> = (0..workers).map(|_| scope.spawn(serve)).collect();
            let answer = cargo();
            drop(running);
            let join = |worker: thread::ScopedJoinHandle<'_, _>| {
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            (answer, workers.into_iter().flat_map(join).collect::<Vec<_>>())
        });
        done.sort_by_key(|(at, _)| *at);
        Ok((answer, done.into_iter().map(|(_, done)| done).collect()))
    }

    /// Waits for a program. None: cargo has ended and every program has been taken.
    fn next(&self, ended: &PipeReader) -> Option<HandedOffProgram> {
        loop {
            let mut waiting = [&self.listener.as_fd(), &ended.as_fd()].map(|end| PollFd::new(*end, PollFlags::POLLIN));
            match poll(&mut waiting, PollTimeout::NONE) {
                Err(nix::errno::Errno::EINTR) => continue,
                Err(_) => return None,
                Ok(_) => {}
            }
            // Programs that were reported before the end come first.
            if !waiting[0].any()? {
                return None;
            }
            let mut message = Vec::new();
            let received = self.listener.accept().and_then(|(mut stream, _)| stream.read_to_end(&mut message));
            if let Some(invocation) = received.ok().and_then(|_| HandedOffProgram::read(&message)) {
                return Some(invocation);
            }
        }
    }
}

impl Drop for HandoffSocket {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.socket_dir);
    }
}

/// None: there is no runner for this machine, or programs in this directory cannot be started.
fn lay_out(socket_dir: &Path) -> Option<PathBuf> {
    let path = socket_dir.join("runner");
    fs::write(&path, RUNNER).and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o700))).ok()?;
    (!RUNNER.is_empty() && access(&path, AccessFlags::X_OK).is_ok()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::RunnerOptions;

    fn with_socket(check: impl FnOnce(&HandoffSocket)) {
        let run_dir = tempfile::tempdir().unwrap();
        let (options, env_changes) = (RunnerOptions::default(), EnvChanges::new());
        let context = ListContext::for_test(run_dir.path(), &[], &options, &env_changes);
        let handoff = HandoffSocket::open(&context).ok().unwrap();
        check(&handoff);
    }

    /// Starts the runner as cargo does, with these words after its own.
    fn start(handoff: &HandoffSocket, words: &[&str]) -> Command {
        let mut command = Command::new(&handoff.runner[0]);
        command.args(&handoff.runner[1..]).args(words).current_dir("/");
        command.env_clear().env("A", "b=c").env("EMPTY", "").env(shims::HAND_OVER, handoff.socket_dir.join("s"));
        command
    }

    #[test]
    fn invocations_are_reported_in_order() {
        with_socket(|handoff| {
            let long = "x".repeat(100_000);
            let given: Vec<[&str; 4]> = (0..50).map(|_| ["/bin/false", "", "a b\n", &long]).collect();
            let start_all = || {
                given.iter().enumerate().all(|(at, words)| {
                    let number = at.to_string();
                    start(handoff, words).arg(number).status().unwrap().success()
                })
            };
            let (succeeded, invocation) = handoff.serve(start_all, |invocation| invocation).unwrap();
            assert!(succeeded);
            assert_eq!(invocation.len(), given.len());
            for (at, invocation) in invocation.iter().enumerate() {
                assert_eq!(invocation.words[..4], given[at]);
                assert_eq!(invocation.words[4], at.to_string());
                assert_eq!(
                    (invocation.directory.as_path(), invocation.variables["A"].as_str()),
                    (Path::new("/"), "b=c")
                );
                assert_eq!(invocation.variables["EMPTY"], "");
                assert_eq!(invocation.variables.len(), 3);
            }
        });
    }

    #[test]
    fn a_program_that_lists_its_tests_runs() {
        with_socket(|handoff| {
            let list = || {
                start(handoff, &["/bin/sh", "-c", "echo $0 $A ${UNFLAKE_HAND_OVER-gone}", "--list"]).output().unwrap()
            };
            let (output, invocation) = handoff.serve(list, |invocation| invocation.words.len()).unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), "--list b=c gone\n");
            assert_eq!(invocation, [4]);
        });
    }

    #[test]
    fn a_missing_socket_is_a_failure() {
        with_socket(|handoff| {
            fs::remove_file(handoff.socket_dir.join("s")).unwrap();
            assert_eq!(start(handoff, &["/bin/true"]).status().unwrap().code(), Some(1));
        });
    }

    #[test]
    fn an_incomplete_message_is_ignored() {
        let message = [&2u64.to_ne_bytes()[..], b"/\0/bin/true\0x\0A=b\0"].concat();
        assert_eq!(HandedOffProgram::read(&message).unwrap().words, ["/bin/true", "x"]);
        assert_eq!(HandedOffProgram::read(&message[..message.len() - 6]), None);
        assert_eq!(HandedOffProgram::read(&message[..5]), None);
    }
}
