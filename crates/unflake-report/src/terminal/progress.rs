//! Live progress of a run, driven by its events.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::mem::discriminant;

use unflake_model::{Attempt, EnvironmentId, Event, Problem, ProblemKind, Purpose, SessionId, TestId};

use crate::terminal::failure;
use crate::terminal::status_line::{self, RunPhase};
use crate::terminal::writer::{MAX_COLUMNS, TermWriter, Tone};
use crate::text::format;
use crate::text::sanitize::{keep_start, width};
use crate::{TerminalStyle, one_line};

/// A terminal is redrawn at most this often.
const REDRAW_SECONDS: f64 = 0.1;
/// A log gets a line after this share of the tests, within these bounds in seconds.
const LOG_SHARE: f64 = 0.1;
const LOG_SECONDS: f64 = 5.0;
const LOG_ANYWAY_SECONDS: f64 = 30.0;

/// How many failures stay above the status line of a terminal. It counts the others.
const LIVE_FAILURES: usize = 25;

/// State of a running run. Times are seconds since it began.
#[derive(Default)]
pub(crate) struct ProgressState {
    pub(crate) phase: RunPhase,
    pub(crate) total: usize,
    /// Tests of the suite with a first attempt.
    pub(crate) done: usize,
    /// Tests of the suite that will not be run.
    pub(crate) left: usize,
    /// Tests that failed and have not passed since.
    pub(crate) failing: HashSet<TestId>,
    /// Tests that failed and passed later, whatever followed.
    pub(crate) flaky: HashSet<TestId>,
    pub(crate) first_start: Option<f64>,
    pub(crate) running: HashMap<EnvironmentId, (TestId, f64)>,
    purposes: HashMap<SessionId, Purpose>,
}

enum ProgressOutput {
    Silent,
    Terminal {
        drawn: Option<f64>,
        shown: bool,
        /// Failures so far.
        failures: usize,
    },
    Log {
        written: f64,
        share: f64,
    },
}

/// Live progress of one run.
pub struct Progress {
    style: TerminalStyle,
    state: ProgressState,
    output: ProgressOutput,
}

impl Progress {
    /// One status line, redrawn in place; failures stay above it.
    pub fn terminal(style: TerminalStyle) -> Self {
        let output = ProgressOutput::Terminal { drawn: None, shown: false, failures: 0 };
        Self { style, state: ProgressState::default(), output }
    }

    /// Lines for a log: failures as they happen, and the progress at intervals.
    pub fn plain(style: TerminalStyle) -> Self {
        Self { style, state: ProgressState::default(), output: ProgressOutput::Log { written: 0.0, share: 0.0 } }
    }

    pub fn silent() -> Self {
        let style = TerminalStyle { colour: false, width: usize::MAX, unicode: false, lines: usize::MAX };
        Self { style, state: ProgressState::default(), output: ProgressOutput::Silent }
    }

    /// Handles an event. `now` is in seconds since the run began.
    pub fn event(&mut self, now: f64, event: &Event, out: &mut dyn Write) -> io::Result<()> {
        if matches!(self.output, ProgressOutput::Silent) {
            return Ok(());
        }
        let before = discriminant(&self.state.phase);
        self.observe(now, event, out)?;
        if self.state.phase == RunPhase::Over {
            return Ok(());
        }
        if let ProgressOutput::Log { written, .. } = &mut self.output
            && before != discriminant(&self.state.phase)
        {
            *written = now;
            let line = status_line::phase_line(&self.state, &self.style);
            TermWriter::new(self.style, out).line(&[(Tone::Usual, "  "), (Tone::Usual, &line)])?;
        }
        // Between the end of a test and the start of the next nothing is running. Drawing then
        // would make the name of the test flicker.
        let between = matches!(event, Event::AttemptEnded(_));
        if between && matches!(self.output, ProgressOutput::Terminal { .. }) { Ok(()) } else { self.tick(now, out) }
    }

    /// Called at intervals while nothing happens.
    pub fn tick(&mut self, now: f64, out: &mut dyn Write) -> io::Result<()> {
        let state = &self.state;
        match &mut self.output {
            ProgressOutput::Terminal { drawn, shown, .. } if state.phase != RunPhase::Over => {
                if drawn.is_none_or(|at| now - at >= REDRAW_SECONDS) {
                    *drawn = Some(now);
                    *shown = true;
                    write!(out, "\r{}\x1b[K", status_line::line(state, now, &self.style))?;
                    out.flush()?;
                }
                Ok(())
            }
            ProgressOutput::Log { written, share } if state.first_start.is_some() && state.phase != RunPhase::Over => {
                let reached = state.done as f64 / state.total.max(1) as f64;
                let (waited, gained) = (now - *written, reached - *share);
                if waited >= LOG_ANYWAY_SECONDS || waited >= LOG_SECONDS && gained >= LOG_SHARE {
                    (*written, *share) = (now, reached);
                    let line = status_line::log_line(state, now, &self.style);
                    TermWriter::new(self.style, out).line(&[(Tone::Usual, "  "), (Tone::Usual, &line)])?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Removes the status line. Call it before writing anything else; the next event or tick
    /// restores it.
    pub fn clear(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if let ProgressOutput::Terminal { drawn, shown: shown @ true, .. } = &mut self.output {
            *shown = false;
            *drawn = None;
            write!(out, "\r\x1b[K")?;
            out.flush()?;
        }
        Ok(())
    }

    fn observe(&mut self, now: f64, event: &Event, out: &mut dyn Write) -> io::Result<()> {
        let state = &mut self.state;
        match event {
            Event::RunStarted { command } => state.phase = RunPhase::Starting(command.join(" ")),
            Event::RunEnded(_) => {
                state.phase = RunPhase::Over;
                self.clear(out)?;
            }
            Event::EnvironmentStarted(_) => {
                if matches!(state.phase, RunPhase::Starting(_)) {
                    state.phase = RunPhase::Collecting;
                }
            }
            Event::TestsListed { tests, .. } => state.total = tests.len(),
            // It ends the command with an error, which is printed alone.
            Event::Problem(Problem { kind: ProblemKind::Refused, .. }) => {}
            Event::Problem(problem) => {
                let what = format::problem_text(problem.kind);
                match &problem.place {
                    Some(place) => self.permanent(place, what, out)?,
                    None => self.permanent(what, "", out)?,
                }
            }
            Event::Note(_)
            | Event::FirstPassSpread { .. }
            | Event::FindingMade(_)
            | Event::TraceRecorded { .. }
            | Event::LayersRecorded { .. }
            | Event::ChangesCompared(_)
            | Event::DependenciesRecorded { .. }
            | Event::FilesLeft { .. }
            | Event::EarlierRuns { .. }
            | Event::WorldEntered(_)
            | Event::StateLeaked { .. }
            | Event::ThreadsDelayed { .. }
            | Event::RestoreFailed { .. } => {}
            Event::AttemptStarted { session, purpose, environment, test, .. } => {
                state.purposes.insert(*session, *purpose);
                state.started(now, *purpose, *environment, test);
            }
            Event::AttemptEnded(attempt) => {
                if state.attempted(attempt) {
                    let text = failure::in_one_line(attempt, &self.style);
                    self.failed(attempt.test.as_str(), &text, out)?;
                }
            }
            Event::SessionEnded { session, left, .. } => {
                if state.purposes.get(session).is_none_or(|purpose| *purpose == Purpose::Suite) {
                    state.left += left.len();
                }
            }
        }
        Ok(())
    }

    /// The first failure of a test. Only so many lines of a terminal stay.
    fn failed(&mut self, test: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
        if let ProgressOutput::Terminal { failures, .. } = &mut self.output {
            *failures += 1;
            match *failures - 1 {
                LIVE_FAILURES => return self.permanent("more failures: the report lists them", "", out),
                others if others > LIVE_FAILURES => return Ok(()),
                _ => {}
            }
        }
        self.permanent(test, text, out)
    }

    /// A line that stays, for a failure.
    fn permanent(&mut self, subject: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
        self.clear(out)?;
        let subject = one_line(subject);
        let sign = self.style.sign("✗");
        let room = self.style.width.saturating_sub(width(&subject) + 4).min(MAX_COLUMNS);
        let mut term = TermWriter::new(self.style, out);
        if room >= 30 || room >= width(text) {
            let text = keep_start(text, room, self.style.sign("…"));
            let gap = if text.is_empty() { "" } else { "  " };
            return term.line(&[
                (Tone::Bad, sign),
                (Tone::Usual, " "),
                (Tone::Usual, &subject),
                (Tone::Usual, gap),
                (Tone::Faint, &text),
            ]);
        }
        term.line(&[(Tone::Bad, sign), (Tone::Usual, " "), (Tone::Usual, &subject)])?;
        let text = keep_start(text, self.style.width.max(30) - 4, self.style.sign("…"));
        term.line(&[(Tone::Usual, "    "), (Tone::Faint, &text)])
    }
}

impl ProgressState {
    fn started(&mut self, now: f64, purpose: Purpose, environment: EnvironmentId, test: &TestId) {
        self.first_start.get_or_insert(now);
        self.running.insert(environment, (test.clone(), now));
        self.enter(purpose);
    }

    /// Records an attempt; returns whether it is the first failure of its test.
    fn attempted(&mut self, attempt: &Attempt) -> bool {
        self.running.remove(&attempt.environment);
        self.enter(attempt.purpose);
        match &mut self.phase {
            RunPhase::Running if attempt.run == 0 => self.done = (self.done + 1).min(self.total),
            RunPhase::Again { done, .. } | RunPhase::Fresh { done } => *done += usize::from(attempt.run == 0),
            RunPhase::Stress { done } | RunPhase::Searching { done, .. } => *done += 1,
            _ => {}
        }
        if attempt.outcome.is_pass() && self.failing.remove(&attempt.test) {
            self.flaky.insert(attempt.test.clone());
        }
        attempt.outcome.is_failure() && !self.flaky.contains(&attempt.test) && self.failing.insert(attempt.test.clone())
    }

    fn enter(&mut self, purpose: Purpose) {
        let of = self.failing.len();
        let searching = |what| RunPhase::Searching { what, done: 0 };
        let next = match purpose {
            Purpose::Twice => searching("running each test twice"),
            Purpose::Order => searching("running other orders"),
            Purpose::Search => searching("minimizing orders"),
            Purpose::State => searching("restoring leaked state"),
            Purpose::Base => searching("running at the base"),
            Purpose::Factor => searching("running under other factors"),
            Purpose::Replay => searching("replaying"),
            _ => return self.enter_retry(purpose, of),
        };
        if !matches!((&self.phase, &next), (RunPhase::Searching { what: a, .. }, RunPhase::Searching { what: b, .. }) if a == b)
        {
            self.phase = next;
        }
    }

    fn enter_retry(&mut self, purpose: Purpose, of: usize) {
        match (purpose, &self.phase) {
            (Purpose::AtEnd, RunPhase::Again { .. })
            | (
                Purpose::Fresh | Purpose::OtherSeeds | Purpose::Together | Purpose::WithoutFiles | Purpose::Again,
                RunPhase::Fresh { .. },
            )
            | (Purpose::Stress, RunPhase::Stress { .. }) => {}
            (Purpose::Suite, _) => self.phase = RunPhase::Running,
            (Purpose::AtEnd, _) => self.phase = RunPhase::Again { done: 0, of },
            (Purpose::Fresh | Purpose::OtherSeeds | Purpose::Together | Purpose::WithoutFiles | Purpose::Again, _) => {
                self.phase = RunPhase::Fresh { done: 0 }
            }
            (Purpose::Stress, _) => self.phase = RunPhase::Stress { done: 0 },
            (Purpose::Look, _) => self.phase = RunPhase::Looking,
            _ => {}
        }
    }
}
