//! The tests of a driven command: what listing returns.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;

use unflake_protocol::{ProblemKind, TestNeeds};

use crate::driver::assertion_filter::FiltersAssertions;
use crate::driver::program::Program;

/// The result of listing.
#[derive(Default)]
pub(crate) struct ListedSuite {
    /// Paths of test files are relative to this directory.
    pub(crate) root: PathBuf,
    pub(crate) tests: Vec<TestCase>,
    pub(crate) deselected: u32,
    /// How many tests may run at once, where the user's command limits it.
    pub(crate) at_once: Option<u32>,
    /// How many tests may run at once in each stage, where stages differ.
    pub(crate) stages: Vec<u32>,
    /// Messages for the user.
    pub(crate) notes: Vec<String>,
    /// The assertions of the tests, where the runner reports them and lets some fail.
    pub(crate) assertions: Option<Arc<dyn FiltersAssertions>>,
}

impl ListedSuite {
    /// Starts a stage for the tests that are added from now on.
    pub(crate) fn start_stage(&mut self, at_once: u32) {
        self.stages.push(at_once);
    }

    /// The stage of tests that are added now.
    pub(crate) fn stage(&self) -> usize {
        self.stages.len().saturating_sub(1)
    }

    /// How many tests of a stage may run at once, where the user's command says so.
    pub(crate) fn at_once(&self, stage: usize) -> Option<u32> {
        self.stages.get(stage).copied().or(self.at_once)
    }
}

/// Why the tests cannot be listed.
#[derive(Debug)]
pub(crate) struct ListError {
    pub(crate) kind: ProblemKind,
    pub(crate) place: Option<String>,
    pub(crate) text: String,
}

impl ListError {
    /// The user's command or setup cannot work.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self { kind: ProblemKind::Usage, place: None, text: text.into() }
    }

    /// unflake does not support a part of the command; `hint` is what to do.
    pub(crate) fn refused(why: impl Display, hint: impl Display) -> Self {
        Self { kind: ProblemKind::Refused, place: None, text: format!("{why}\n{hint}") }
    }

    /// The project does not build, or its tests cannot be collected.
    pub(crate) fn collection(text: impl Into<String>) -> Self {
        Self { kind: ProblemKind::Collection, place: None, text: text.into() }
    }

    /// unflake itself failed.
    pub(crate) fn internal(text: impl Into<String>) -> Self {
        Self { kind: ProblemKind::Protocol, place: None, text: text.into() }
    }

    pub(crate) fn cannot_start(program: &str, error: &std::io::Error) -> Self {
        Self::usage(format!("`{program}` cannot be started: {error}"))
    }
}

/// One test.
pub(crate) struct TestCase {
    /// The id that unflake shows and stores.
    pub(crate) id: String,
    /// What its program calls it.
    pub(crate) name: String,
    pub(crate) program: Arc<dyn Program>,
    /// Runs it together with the other tests of its program, where the user's command does so.
    pub(crate) shared: Option<Arc<dyn Program>>,
    /// Runs it after other tests of its program, where its own program runs one test only.
    pub(crate) sequence: Option<Arc<dyn Program>>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
    /// Tests of a stage start when those of the stage before are over.
    pub(crate) stage: usize,
    /// The plain runner's command for this test alone.
    pub(crate) command: Vec<String>,
    /// Why the runner skips it although it lists it.
    pub(crate) skipped: Option<String>,
    /// What it needs for itself.
    pub(crate) needs: TestNeeds,
}

impl TestCase {
    /// A test that no file, shared process or skip reason is known of.
    pub(crate) fn new(id: String, name: String, program: Arc<dyn Program>, command: Vec<String>) -> Self {
        Self {
            id,
            name,
            program,
            shared: None,
            sequence: None,
            file: None,
            line: None,
            stage: 0,
            command,
            skipped: None,
            needs: TestNeeds::default(),
        }
    }
}
