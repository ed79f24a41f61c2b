//! A process in which tests run, as the executor sees it.

use std::collections::HashMap;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Instant;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use unflake_model::{Death, Granularity, Isolation, Test, TestId};
use unflake_protocol::{Order, to_line};

use crate::active_session::Process;
use crate::events::Letter;
use crate::fork_tree::prefix::Past;
use crate::runner_output::Output;
use crate::state_probe::Left;
use crate::supervisor::Kept;

pub(crate) struct Environment {
    pub(crate) id: u32,
    pub(crate) role: Role,
    /// What a runner process has of its own; a fork has none.
    pub(crate) root: Option<Root>,
    /// The environment it was forked from.
    pub(crate) parent: Option<u32>,
    pub(crate) connection: Option<(u64, UnixStream)>,
    pub(crate) pid: Option<u32>,
    pub(crate) stack_signal: Option<i32>,
    pub(crate) listing: Rc<Listing>,
    pub(crate) state: State,
    /// When it was asked for.
    pub(crate) since: Instant,
    /// How many attempts it has made, those before it was copied among them.
    pub(crate) attempts: u32,
    /// Which steps of a way to a state it has behind it. Of one that is on no such way: none.
    pub(crate) past: Past,
    /// What these have left behind, once it has been asked.
    pub(crate) left: Option<Rc<Left>>,
    /// Since when an answer about its state is waited for.
    pub(crate) asked: Option<Instant>,
    /// The nursery from which it comes, directly or not.
    pub(crate) nursery: Option<u32>,
    /// The processes that it has started for tests, by its own numbers, with how many attempts were begun in each.
    pub(crate) processes: HashMap<u32, Process>,
    /// How many of its connections have been heard.
    pub(crate) connections: u32,
    /// What came on a later connection than the one that is being heard, in the order in which it came.
    pub(crate) held: Vec<Letter>,
    /// Since when letters are held.
    pub(crate) holding: Option<Instant>,
    /// Whether it has been told that it is up.
    pub(crate) announced: bool,
    /// The tests it has listed so far, while it starts.
    pub(crate) gathering: Vec<Test>,
    /// Since when its connection is gone. Either it has died, or a test closed its descriptor and it will connect again.
    pub(crate) lost: Option<Instant>,
    /// Since when its parent has been asked how it died.
    pub(crate) reaping: Option<Instant>,
    /// How and when it ended, once that is known. What it said last may still be on its way.
    pub(crate) ended: Option<(Death, Instant)>,
}

/// What an environment is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Role {
    /// The user's own command, in which the suite runs first.
    Suite,
    /// Collects tests, runs none, and is forked.
    Nursery,
    /// Runs one session, or takes the place of a suite environment that died.
    Seat,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum State {
    Starting,
    Ready,
    /// Carrying out a `run` order.
    Busy,
    /// Told to end, or about to by itself.
    Ending,
}

pub(crate) struct Root {
    pub(crate) kept: Kept,
    pub(crate) output: Output,
    /// Whether it was told to collect some files only.
    pub(crate) narrowed: bool,
    /// Whether it tells what attempts depend on.
    pub(crate) depends: Option<Granularity>,
}

/// The tests that a runner process collected. Shared by all its forks.
#[derive(Default)]
pub(crate) struct Listing {
    pub(crate) tests: Vec<Test>,
    pub(crate) number_of: HashMap<TestId, u32>,
    pub(crate) deselected: u32,
    pub(crate) unforkable: Option<String>,
    /// Whether tests run in processes of their own, so that an environment that has run some is as good as new.
    pub(crate) isolated: bool,
    /// Test files are named relative to this directory.
    pub(crate) root: String,
}

impl Listing {
    pub(crate) fn new(tests: Vec<Test>, deselected: u32, unforkable: Option<String>, root: String) -> Self {
        let number_of = (0..).zip(&tests).map(|(number, test)| (test.id.clone(), number)).collect();
        Self { tests, number_of, deselected, unforkable, isolated: false, root }
    }

    pub(crate) fn has_all<'a>(&self, tests: impl IntoIterator<Item = &'a TestId>) -> bool {
        tests.into_iter().all(|test| self.number_of.contains_key(test))
    }
}

impl Environment {
    pub(crate) fn origin(&self) -> Isolation {
        if self.parent.is_some() { Isolation::Fork } else { Isolation::Process }
    }

    /// Whether what came on this connection is to be heard now, and not after what came on another.
    pub(crate) fn hears(&self, connection: u64) -> bool {
        self.connection.as_ref().is_some_and(|(heard, _)| *heard == connection)
    }

    /// Whether this is a connection that will be heard later.
    pub(crate) fn awaits(&self, connection: u64) -> bool {
        let is_it =
            |letter: &Letter| matches!(letter, Letter::Connected { connection: held, .. } if *held == connection);
        self.held.iter().any(is_it)
    }

    pub(crate) fn hold(&mut self, letter: Letter) {
        self.holding.get_or_insert_with(Instant::now);
        self.held.push(letter);
    }

    /// Whether a death would not be noticed by what it says.
    pub(crate) fn is_silent(&self) -> bool {
        self.lost.is_some() || self.state == State::Starting && self.connection.is_none()
    }

    pub(crate) fn order(&mut self, order: &Order) -> io::Result<()> {
        match &mut self.connection {
            Some((_, stream)) => stream.write_all(&to_line(order)),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Tells it to leave, if it has not been told.
    pub(crate) fn end(&mut self) {
        if self.state != State::Ending {
            self.state = State::Ending;
            if self.order(&Order::End { failed: None }).is_err() {
                self.kill();
            }
        }
    }

    /// Asks for the stacks of all threads, where the agent offers that.
    pub(crate) fn ask_for_stack(&self) {
        if let (Some(pid), Some(signal)) = (self.pid, self.stack_signal) {
            send_signal(pid, signal);
        }
    }

    /// Ends it with everything it has started.
    pub(crate) fn kill(&mut self) {
        if let Some(root) = &mut self.root {
            root.kept.kill();
        } else if let Some(pid) = self.pid {
            let pid = Pid::from_raw(pid as i32);
            // A child that was killed before it had made its own group has none.
            if killpg(pid, Signal::SIGKILL).is_err() {
                let _ = kill(pid, Signal::SIGKILL);
            }
        }
    }
}

/// nix knows signals by name only, and agents choose real-time signals, which have none.
#[allow(unsafe_code)]
fn send_signal(pid: u32, signal: i32) {
    // SAFETY: kill(2) takes two numbers and touches no memory of ours.
    unsafe { nix::libc::kill(pid as i32, signal) };
}
