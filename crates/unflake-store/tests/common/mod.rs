//! Shared helpers of the store's tests. Each test file uses some of them.
#![allow(dead_code, unreachable_pub)]

#[path = "../../../../e2e/src/postgres.rs"]
pub(crate) mod postgres;

use std::path::Path;

use unflake_model::{
    Attempt, EnvironmentId, Event, Failure, Isolation, Outcome, Phase, Purpose, SessionId, TestId, Timestamp,
};
use unflake_store::{Host, Revision, RunFacts, Store, StoreLocation};

pub(crate) fn facts() -> RunFacts {
    RunFacts {
        command: vec!["pytest".into(), "tests with blanks/".into()],
        cwd: "/project".into(),
        started: Timestamp(1_700_000_000_000_000),
        revision: Revision {
            commit: Some("c0ffee".into()),
            tree: Some("7ree".into()),
            dirty: Some(false),
            changed: Vec::new(),
        },
        host: Host { name: "host".into(), os: "linux".into(), arch: "x86_64".into(), cpus: 8 },
        version: "0.1.0".into(),
    }
}

pub(crate) fn passing(test: &str, position: u32) -> Attempt {
    Attempt {
        test: test.into(),
        session: SessionId(0),
        purpose: Purpose::Suite,
        environment: EnvironmentId(0),
        origin: Isolation::Process,
        world: None,
        position,
        run: 0,
        outcome: Outcome::Passed,
        started: Timestamp(1_700_000_000_000_000 + i64::from(position) * 1_234),
        seconds: 0.001_234_567 * f64::from(position + 1),
        load: None,
        failure: None,
        stdout: String::new(),
        stderr: String::new(),
    }
}

pub(crate) fn failing(test: &str, position: u32, trace: &str) -> Attempt {
    Attempt {
        outcome: Outcome::Failed,
        failure: Some(Failure {
            phase: Phase::Call,
            kind: "AssertionError".into(),
            message: "assert 1 == 2".into(),
            trace: trace.into(),
            file: Some("tests/test_cart.py".into()),
            line: Some(7),
        }),
        ..passing(test, position)
    }
}

pub(crate) fn attempted(attempts: impl IntoIterator<Item = Attempt>) -> Vec<Event> {
    attempts.into_iter().map(Event::AttemptEnded).collect()
}

/// `count` attempts, each at a different test.
pub(crate) fn batch(first: u32, count: u32) -> Vec<Event> {
    attempted((first..first + count).map(|n| passing(&format!("tests/test_cart.py::TestCart::test_total[{n}]"), n)))
}

pub(crate) fn names(tests: &[TestId]) -> Vec<&str> {
    tests.iter().map(TestId::as_str).collect()
}

/// The location of a test's history: files, a server, or a server behind a pooler.
pub(crate) enum TestLocation {
    Files(tempfile::TempDir),
    Server(String),
    Pooler(String),
}

impl TestLocation {
    pub(crate) fn files() -> Self {
        Self::Files(tempfile::tempdir().unwrap())
    }

    pub(crate) fn server() -> Self {
        Self::Server(postgres::server().address())
    }

    /// A pooler that may give each transaction to another session.
    pub(crate) fn pooler() -> Self {
        Self::Pooler(postgres::pooler().address())
    }

    /// Another empty location of the same kind.
    pub(crate) fn another(&self) -> Self {
        match self {
            Self::Files(_) => Self::files(),
            Self::Server(_) => Self::server(),
            Self::Pooler(_) => Self::pooler(),
        }
    }

    /// As a user would type it.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Files(dir) => dir.path().to_str().unwrap(),
            Self::Server(address) | Self::Pooler(address) => address,
        }
    }

    pub(crate) fn open(&self) -> Store {
        Store::open(location(self.text())).unwrap()
    }
}

pub(crate) fn location(text: &str) -> StoreLocation {
    StoreLocation::parse(text, Path::new("/nowhere"), &|_| None).unwrap()
}

/// Declares tests that run with files, with a server, and with a server behind a pooler.
#[macro_export]
macro_rules! with_files_and_server {
    ($($name:ident),* $(,)?) => {
        mod files {
            $(#[test] fn $name() { super::$name(&$crate::common::TestLocation::files()); })*
        }
        mod server {
            $(#[test] fn $name() { super::$name(&$crate::common::TestLocation::server()); })*
        }
        mod pooler {
            $(#[test] fn $name() { super::$name(&$crate::common::TestLocation::pooler()); })*
        }
    };
}
