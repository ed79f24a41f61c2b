//! Programs that run tests, and listeners that turn their output into test results.

use std::path::Path;
use std::time::Instant;

use unflake_protocol::{NotRestored, ProbeOrder};

use crate::driver::suite::TestCase;
use crate::driver::test_result::TestResult;
use crate::process::child::ChildLimits;
use crate::process::spec::{EnvChanges, ExitKind, ProcessEnd, ProcessSpec};

/// A program that can be started to run tests.
pub(crate) trait Program: Send + Sync {
    /// Whether one process runs several tests. Otherwise each test has its own process.
    fn is_shared(&self) -> bool {
        false
    }

    /// Whether tests start and end in the requested order.
    fn is_ordered(&self) -> bool {
        true
    }

    /// Whether one process uses all jobs of an order, so that no other may run at the same time.
    fn uses_all_jobs(&self) -> bool {
        !self.is_ordered()
    }

    /// Whether a process that runs the tests with these numbers can run `next` after them. Numbers
    /// are positions in the suite.
    fn may_follow(&self, _numbers: &[u32], _next: u32) -> bool {
        true
    }

    /// Results that are known without starting a process.
    fn known(&self, _tests: &[&TestCase]) -> Option<Vec<TestResult>> {
        None
    }

    /// The process that runs these tests in this order. `jobs`: how many may run at once in it.
    fn start(&self, tests: &[&TestCase], jobs: u32) -> Result<ProcessSpec, String>;

    /// The process that also reports what the first tests leave behind, where the runner can.
    fn start_probing(&self, tests: &[&TestCase], _context: &ProbeContext<'_>) -> Result<ProcessSpec, String> {
        self.start(tests, 1)
    }

    /// Whether each test can have its own environment inside one process.
    fn can_isolate_in_process(&self) -> bool {
        false
    }

    /// The process that isolates each run of consecutive equal tests from the others.
    fn start_in_process(&self, tests: &[&TestCase]) -> Result<ProcessSpec, String> {
        self.start(tests, 1)
    }

    /// Whether the files that a process uses can be mapped to sources.
    fn maps_files(&self) -> bool {
        false
    }

    /// Makes a process record the files that it uses. Returns whether it will.
    fn record_files(&self, _spec: &mut ProcessSpec, _directory: &Path, _env_changes: &EnvChanges) -> bool {
        false
    }

    /// The dependency report of such a process, for a test that ran after `after` others in it.
    fn dependency_report(&self, _directory: &Path, _after: usize) -> Option<String> {
        None
    }

    /// Whether dependencies stay as precise when these two tests share a process.
    fn may_share_dependencies(&self, _one: &TestCase, _other: &TestCase) -> bool {
        true
    }

    /// Reads the output of the process that runs these tests.
    fn listener(&self, tests: &[&TestCase]) -> Box<dyn OutputListener>;
}

/// Which state to report, and the environment and limits of a run that prepares the report.
pub(crate) struct ProbeContext<'a> {
    pub(crate) probe: &'a ProbeOrder,
    pub(crate) env_changes: &'a EnvChanges,
    pub(crate) limits: &'a ChildLimits,
}

/// Follows one process and reports what happens to its tests.
pub(crate) trait OutputListener {
    /// The process is about to start.
    fn begin(&mut self) -> Vec<ProgramEvent> {
        Vec::new()
    }

    /// One line of its standard output, without the line end.
    fn line(&mut self, _line: &[u8]) -> Vec<ProgramEvent> {
        Vec::new()
    }

    /// When the running test started; the time limit counts from here.
    fn since(&self) -> Option<Instant>;

    /// The process has ended.
    fn end(&mut self, end: &ProcessEnd) -> Vec<ProgramEvent>;
}

/// What happened in a process. Tests are positions in the list that the process was started for.
pub(crate) enum ProgramEvent {
    Started(usize),
    Done(usize, TestResult),
    /// The path of a file with the state that differs.
    Changed(String),
    /// State cells were restored, except for these.
    Restored(Vec<NotRestored>),
    /// The agent in the process failed; its tests have no results.
    AgentFailed(String),
}

/// The listener of a process with one test: the result follows from how the process ended.
pub(crate) struct SingleTestListener<J: Fn(&ProcessEnd) -> TestResult> {
    judge: J,
    started: Option<Instant>,
}

impl<J: Fn(&ProcessEnd) -> TestResult> SingleTestListener<J> {
    pub(crate) fn new(judge: J) -> Self {
        Self { judge, started: None }
    }
}

impl<J: Fn(&ProcessEnd) -> TestResult> OutputListener for SingleTestListener<J> {
    fn begin(&mut self) -> Vec<ProgramEvent> {
        self.started = Some(Instant::now());
        vec![ProgramEvent::Started(0)]
    }

    fn since(&self) -> Option<Instant> {
        self.started
    }

    fn end(&mut self, end: &ProcessEnd) -> Vec<ProgramEvent> {
        let result = match end.exit {
            ExitKind::TimedOut => {
                TestResult::timed_out(end.seconds, &end.output()).with_output(end.stdout.as_str(), end.stderr.as_str())
            }
            _ => (self.judge)(end),
        };
        vec![ProgramEvent::Done(0, result)]
    }
}
