//! The nouns that drivers share: tests, the programs that run them, and what a program says of a test.

use std::collections::BTreeMap;
use std::env;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use unflake_protocol::{Death, Failed, NotRestored, Outcome, Phase, Probe, ProblemKind};
use unflake_worlds::SpawnSpec;

use crate::process::child::Limits;
use crate::process::prestarted::Early;

/// How much of a file is looked at together.
const PIECE: usize = 64 << 10;

/// What listing came to.
#[derive(Default)]
pub(crate) struct Suite {
    /// Files are named relative to this.
    pub(crate) root: PathBuf,
    pub(crate) cases: Vec<Case>,
    pub(crate) deselected: u32,
    /// How many tests may run at once, where the user's command says so.
    pub(crate) at_once: Option<u32>,
    /// Things a person should know.
    pub(crate) notes: Vec<String>,
}

/// Why there is nothing to run.
#[derive(Debug)]
pub(crate) struct CannotList {
    pub(crate) kind: ProblemKind,
    pub(crate) place: Option<String>,
    pub(crate) text: String,
}

impl CannotList {
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self { kind: ProblemKind::Usage, place: None, text: text.into() }
    }

    pub(crate) fn collection(text: impl Into<String>) -> Self {
        Self { kind: ProblemKind::Collection, place: None, text: text.into() }
    }
}

/// What the project's processes are to see differently from us: values to set, or to remove.
pub(crate) type World = BTreeMap<String, Option<String>>;

/// One test.
pub(crate) struct Case {
    /// What it is called everywhere outside its program.
    pub(crate) id: String,
    /// What its program calls it.
    pub(crate) name: String,
    pub(crate) program: Arc<dyn Program>,
    /// What runs it beside the other tests of its program, where that is how the user runs them.
    pub(crate) crowd: Option<Arc<dyn Program>>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
    /// The plain runner's command for it alone.
    pub(crate) command: Vec<String>,
    /// Why the runner would not run it, though it lists it.
    pub(crate) skipped: Option<String>,
}

/// Something that can be started to run tests.
pub(crate) trait Program: Send + Sync {
    /// Whether one process runs several tests. Otherwise each has its own.
    fn is_shared(&self) -> bool {
        false
    }

    /// Whether tests begin and end in the order in which they were asked for.
    fn is_ordered(&self) -> bool {
        true
    }

    /// Whether a process that is to run the tests of these numbers can run another after them. Numbers are in the order of
    /// the program.
    fn may_follow(&self, _numbers: &[u32], _next: u32) -> bool {
        true
    }

    /// How these ended, where that is known without starting anything.
    fn known(&self, _cases: &[&Case]) -> Option<Vec<Judged>> {
        None
    }

    /// The process that runs these tests in this order, or why it cannot be had. `jobs`: how many may run at once in it.
    fn start(&self, cases: &[&Case], jobs: u32) -> Result<Start, String>;

    /// The same for a process that tells what some of the tests leave behind, where there can be one.
    fn start_probing(&self, cases: &[&Case], _probing: &Probing<'_>) -> Result<Start, String> {
        self.start(cases, 1)
    }

    /// Whether tests can have in-process environment of their own.
    fn can_isolate_in_process(&self) -> bool {
        false
    }

    /// The same for a process in which each test has one, with those right after it that are the same test.
    fn start_in_process(&self, cases: &[&Case]) -> Result<Start, String> {
        self.start(cases, 1)
    }

    /// Whether sense can be made of the files that a process uses.
    fn knows_files(&self) -> bool {
        false
    }

    /// Has a process write down in a directory which files it uses. Whether it will.
    fn see_files(&self, _start: &mut Start, _directory: &Path, _world: &World) -> bool {
        false
    }

    /// The file that tells what the tests of such a process depended on, after so many others in it.
    fn depended(&self, _directory: &Path, _after: usize) -> Option<String> {
        None
    }

    /// Whether of two tests that share a process as much is known as if they did not.
    fn belong_together(&self, _one: &Case, _other: &Case) -> bool {
        true
    }

    /// Somebody to follow that process.
    fn listener(&self, cases: &[&Case]) -> Box<dyn Listener>;
}

/// What is to be told of state, and the world and the limits in which to find it out.
pub(crate) struct Probing<'a> {
    pub(crate) probe: &'a Probe,
    pub(crate) world: &'a World,
    pub(crate) limits: &'a Limits,
}

/// How to start a process.
#[derive(Clone, Default)]
pub(crate) struct Start {
    pub(crate) words: Vec<String>,
    pub(crate) directory: Option<PathBuf>,
    /// Values to set, or to remove.
    pub(crate) variables: BTreeMap<String, Option<String>>,
    /// Whether both outputs go where they came, one after the other, as in a terminal.
    pub(crate) merged: bool,
    /// A time limit that comes with it. The stricter one holds.
    pub(crate) limit: Option<Duration>,
    /// One that was started before its time, to be used where it is still there.
    pub(crate) early: Option<Early>,
    /// The way into another world.
    pub(crate) door: Option<SpawnSpec>,
}

/// Follows one process, and says what happens to the tests it was started for.
pub(crate) trait Listener {
    /// The process is about to be started.
    fn begin(&mut self) -> Vec<Said> {
        Vec::new()
    }

    /// One line of its standard output, without its end.
    fn line(&mut self, _line: &[u8]) -> Vec<Said> {
        Vec::new()
    }

    /// When the test that runs now was begun; for a time limit.
    fn since(&self) -> Option<Instant>;

    /// It has ended.
    fn end(&mut self, end: &End) -> Vec<Said>;
}

/// Tests are named by their place among those that the process was started for.
pub(crate) enum Said {
    Start(usize),
    Done(usize, Judged),
    /// What differs from how it was is written in this file.
    Changed(String),
    /// Cells were put back, but for these.
    Restored(Vec<NotRestored>),
}

/// How a process ended, and what it said.
pub(crate) struct End {
    pub(crate) how: How,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) seconds: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Exit(i32),
    Signal(i32),
    /// Killed by us.
    TimedOut,
}

impl How {
    pub(crate) fn death(self) -> Death {
        match self {
            Self::Exit(code) => Death::Exit(code),
            Self::Signal(number) => Death::Signal(number),
            Self::TimedOut => Death::Unknown,
        }
    }
}

/// How a test ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Judged {
    pub(crate) outcome: Outcome,
    pub(crate) seconds: f64,
    pub(crate) failure: Option<Failed>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// A file that tells what it looked like.
    pub(crate) layers: Option<String>,
}

impl Judged {
    pub(crate) fn new(outcome: Outcome, seconds: f64) -> Self {
        Self { outcome, seconds, failure: None, stdout: String::new(), stderr: String::new(), layers: None }
    }

    pub(crate) fn failed(self, failure: Failed) -> Self {
        Self { failure: Some(failure), ..self }
    }

    pub(crate) fn said(self, stdout: impl Into<String>, stderr: impl Into<String>) -> Self {
        Self { stdout: stdout.into(), stderr: stderr.into(), ..self }
    }

    /// The process died in the test, or after it. `said` is what it left, for whoever looks for the cause.
    pub(crate) fn crashed(how: How, seconds: f64, message: Option<String>, said: &str) -> Self {
        let words = match how {
            How::Exit(code) => format!("the process left with exit code {code}"),
            How::Signal(number) => format!("killed by {}", signal_name(number)),
            How::TimedOut => "the process had to be ended".to_owned(),
        };
        let message = message.unwrap_or(words);
        let failure = Failed { phase: Phase::Process, trace: said.to_owned(), ..failed("Crashed", &message) };
        Self::new(Outcome::Crashed(how.death()), seconds).failed(failure)
    }

    pub(crate) fn timed_out(seconds: f64, said: &str) -> Self {
        let message = format!("no end after {seconds:.1} s");
        let failure = Failed { phase: Phase::Process, trace: said.to_owned(), ..failed("TimedOut", &message) };
        Self::new(Outcome::TimedOut, seconds).failed(failure)
    }
}

fn signal_name(number: i32) -> String {
    nix::sys::signal::Signal::try_from(number)
        .map_or_else(|_| format!("signal {number}"), |signal| signal.as_str().to_owned())
}

/// A failure in the test itself that is known by one sentence.
pub(crate) fn failed(kind: &str, message: &str) -> Failed {
    Failed {
        phase: Phase::Call,
        kind: kind.to_owned(),
        message: message.to_owned(),
        trace: String::new(),
        file: None,
        line: None,
    }
}

/// The listener of a process that has one test to itself: all is known at the end.
pub(crate) struct Alone<J: Fn(&End) -> Judged> {
    pub(crate) judge: J,
    begun: Option<Instant>,
}

impl<J: Fn(&End) -> Judged> Alone<J> {
    pub(crate) fn new(judge: J) -> Self {
        Self { judge, begun: None }
    }
}

impl<J: Fn(&End) -> Judged> Listener for Alone<J> {
    fn begin(&mut self) -> Vec<Said> {
        self.begun = Some(Instant::now());
        vec![Said::Start(0)]
    }

    fn since(&self) -> Option<Instant> {
        self.begun
    }

    fn end(&mut self, end: &End) -> Vec<Said> {
        let judged = match end.how {
            How::TimedOut => {
                let said = [end.stdout.trim_end(), end.stderr.trim_end()].join("\n");
                Judged::timed_out(end.seconds, said.trim()).said(end.stdout.as_str(), end.stderr.as_str())
            }
            _ => (self.judge)(end),
        };
        vec![Said::Done(0, judged)]
    }
}

/// Changes what a process will see of the environment: values to set, or to remove.
pub(crate) fn set(command: &mut Command, variables: &BTreeMap<String, Option<String>>) {
    for (name, value) in variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

/// Where a program is, as a shell would find it.
pub(crate) fn found(program: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| path.is_file();
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(is_program);
    }
    env::split_paths(&env::var_os("PATH")?).map(|directory| directory.join(program)).find(is_program)
}

/// `path` as seen from `root`, where it is below.
pub(crate) fn relative(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

/// Whether a file has one of these somewhere. It is read in pieces: programs can be large, and what is looked for is mostly
/// near the beginning.
pub(crate) fn file_has(path: &Path, any: &[&[u8]]) -> bool {
    let Ok(mut file) = std::fs::File::open(path) else { return false };
    let overlap = any.iter().map(|one| one.len()).max().unwrap_or(0).saturating_sub(1);
    let mut window = vec![0; overlap + PIECE];
    let mut kept = 0;
    loop {
        let filled = match file.read(&mut window[kept..]) {
            Ok(0) | Err(_) => return false,
            Ok(count) => kept + count,
        };
        if any.iter().any(|one| has(&window[..filled], one)) {
            return true;
        }
        kept = filled.min(overlap);
        window.copy_within(filled - kept..filled, 0);
    }
}

fn has(text: &[u8], part: &[u8]) -> bool {
    use std::io::BufRead;
    let Some((first, others)) = part.split_first() else { return true };
    let mut rest = text;
    // The fastest search for a byte that the standard library has.
    while rest.skip_until(*first).is_ok_and(|passed| passed > 0) {
        if rest.starts_with(others) {
            return text[..text.len() - rest.len()].last() == Some(first);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_across_pieces() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("f");
        for before in [0, PIECE - 3, PIECE, 2 * PIECE - 1, 2 * PIECE + 5] {
            let mut bytes = vec![b'x'; before];
            bytes.extend(b"needle");
            std::fs::write(&path, bytes).unwrap();
            assert!(file_has(&path, &[b"absent", b"needle"]), "{before}");
        }
        assert!(has(b"an needle", b"needle") && has(b"x", b"x") && has(b"", b""));
        assert!(!has(b"needl", b"needle") && !has(b"", b"x") && !has(b"y", b"x"));
        assert!(!file_has(&path, &[b"noodle"]));
    }
}
