//! Test doubles for techniques.
//!
//! A test of a new technique starts from [`SimulatedSuite`](simulated_suite::SimulatedSuite): tests
//! that read and write shared state, and an engine that runs sessions of them. A technique that
//! depends on a script of outcomes rather than on state is driven by hand, with [`listed`],
//! [`attempt`] and [`ended`].

pub(crate) mod simulated_suite;

use unflake_model::{
    Attempt, EnvironmentId, Event, Failure, Isolation, Outcome, Phase, Placement, Session, Test, TestId, Timestamp,
};

/// A listed test without a file.
pub(crate) fn test(id: &str) -> Test {
    Test { id: id.into(), file: None, line: None, command: Vec::new() }
}

pub(crate) fn listed(ids: &[&str], isolated: bool) -> Event {
    Event::TestsListed { tests: ids.iter().map(|id| test(id)).collect(), deselected: 0, isolated, seconds: 0.0 }
}

/// An attempt in the environment of its session. It has no failure and takes no time.
pub(crate) fn attempt(session: &Session, test: &TestId, outcome: Outcome) -> Attempt {
    Attempt {
        test: test.clone(),
        session: session.id,
        purpose: session.purpose,
        environment: EnvironmentId(session.id.0),
        origin: match session.place {
            Placement::Fresh(isolation) => isolation,
            Placement::Live => Isolation::Fork,
        },
        world: None,
        position: 0,
        run: 0,
        outcome,
        started: Timestamp(0),
        seconds: 0.0,
        load: None,
        failure: None,
        stdout: String::new(),
        stderr: String::new(),
    }
}

pub(crate) fn ended(session: &Session) -> Event {
    Event::SessionEnded { session: session.id, left: Vec::new(), why: None }
}

pub(crate) fn failure(kind: &str) -> Failure {
    Failure {
        phase: Phase::Call,
        kind: kind.to_owned(),
        message: String::new(),
        trace: String::new(),
        file: None,
        line: None,
    }
}
