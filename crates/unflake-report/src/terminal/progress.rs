//! Live progress of a run, driven by its events.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::mem::discriminant;

use unflake_model::{Attempt, EnvironmentId, Event, Observation, Purpose, SessionId, TestId};

use crate::terminal::failure;
use crate::terminal::status_line::{self, Phase};
use crate::terminal::writer::{LONGEST, Page, Tone};
use crate::text::format;
use crate::text::sanitize::{keep_start, width};
use crate::{TerminalStyle, one_line};

/// A terminal is redrawn at most this often.
const REDRAW_SECONDS: f64 = 0.1;
/// A log gets a line after this share of the tests, within these bounds in seconds.
const LOG_SHARE: f64 = 0.1;
const LOG_SECONDS: f64 = 5.0;
const LOG_ANYWAY_SECONDS: f64 = 30.0;

/// State of a running run. Times are seconds since it began.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) phase: Phase,
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

enum Place {
    Nowhere,
    Terminal { drawn: Option<f64>, shown: bool },
    Log { told: f64, share: f64 },
}

/// Live progress of one run.
pub struct Progress {
    look: TerminalStyle,
    state: State,
    place: Place,
}

impl Progress {
    /// One status line, redrawn in place; failures stay above it.
    pub fn terminal(look: TerminalStyle) -> Self {
        Self { look, state: State::default(), place: Place::Terminal { drawn: None, shown: false } }
    }

    /// Lines for a log: failures as they happen, and the progress at intervals.
    pub fn plain(look: TerminalStyle) -> Self {
        Self { look, state: State::default(), place: Place::Log { told: 0.0, share: 0.0 } }
    }

    pub fn silent() -> Self {
        let look = TerminalStyle { colour: false, width: usize::MAX, unicode: false };
        Self { look, state: State::default(), place: Place::Nowhere }
    }

    /// Handles an event. `now` is in seconds since the run began.
    pub fn event(&mut self, now: f64, event: &Event, out: &mut dyn Write) -> io::Result<()> {
        if matches!(self.place, Place::Nowhere) {
            return Ok(());
        }
        let before = discriminant(&self.state.phase);
        match event {
            Event::Began { command } => self.state.phase = Phase::Starting(command.join(" ")),
            Event::Observed(observation) => self.observe(now, observation, out)?,
            Event::Found(_) => {}
            Event::Ended(_) => {
                self.state.phase = Phase::Over;
                return self.clear(out);
            }
        }
        if let Place::Log { told, .. } = &mut self.place
            && before != discriminant(&self.state.phase)
        {
            *told = now;
            let line = status_line::phase_line(&self.state, &self.look);
            Page::new(self.look, out).line(&[(Tone::Usual, "  "), (Tone::Usual, &line)])?;
        }
        // Between the end of a test and the start of the next nothing is running. Drawing then
        // would make the name of the test flicker.
        let between = matches!(event, Event::Observed(Observation::Attempted(_)));
        if between && matches!(self.place, Place::Terminal { .. }) { Ok(()) } else { self.tick(now, out) }
    }

    /// Called at intervals while nothing happens.
    pub fn tick(&mut self, now: f64, out: &mut dyn Write) -> io::Result<()> {
        let state = &self.state;
        match &mut self.place {
            Place::Terminal { drawn, shown } if state.phase != Phase::Over => {
                if drawn.is_none_or(|at| now - at >= REDRAW_SECONDS) {
                    *drawn = Some(now);
                    *shown = true;
                    write!(out, "\r{}\x1b[K", status_line::line(state, now, &self.look))?;
                    out.flush()?;
                }
                Ok(())
            }
            Place::Log { told, share } if state.first_start.is_some() && state.phase != Phase::Over => {
                let reached = state.done as f64 / state.total.max(1) as f64;
                let (waited, gained) = (now - *told, reached - *share);
                if waited >= LOG_ANYWAY_SECONDS || waited >= LOG_SECONDS && gained >= LOG_SHARE {
                    (*told, *share) = (now, reached);
                    let line = status_line::log_line(state, now, &self.look);
                    Page::new(self.look, out).line(&[(Tone::Usual, "  "), (Tone::Usual, &line)])?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Removes the status line. Call it before writing anything else; the next event or tick
    /// restores it.
    pub fn clear(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if let Place::Terminal { drawn, shown: shown @ true } = &mut self.place {
            *shown = false;
            *drawn = None;
            write!(out, "\r\x1b[K")?;
            out.flush()?;
        }
        Ok(())
    }

    fn observe(&mut self, now: f64, observation: &Observation, out: &mut dyn Write) -> io::Result<()> {
        let state = &mut self.state;
        match observation {
            Observation::EnvironmentUp(_) => {
                if matches!(state.phase, Phase::Starting(_)) {
                    state.phase = Phase::Collecting;
                }
            }
            Observation::Listed { tests, .. } => state.total = tests.len(),
            Observation::Problem(problem) => {
                let what = format::problem_in_words(problem.kind);
                match &problem.place {
                    Some(place) => self.permanent(place, what, out)?,
                    None => self.permanent(what, "", out)?,
                }
            }
            Observation::Note(_)
            | Observation::Traced { .. }
            | Observation::Looked { .. }
            | Observation::Compared(_)
            | Observation::Depends { .. }
            | Observation::Under { .. }
            | Observation::Left { .. }
            | Observation::NotRestored { .. } => {}
            Observation::Started { session, purpose, environment, test, .. } => {
                state.purposes.insert(*session, *purpose);
                state.started(now, *purpose, *environment, test);
            }
            Observation::Attempted(attempt) => {
                if state.attempted(attempt) {
                    let text = failure::in_one_line(attempt, &self.look);
                    self.permanent(attempt.test.as_str(), &text, out)?;
                }
            }
            Observation::SessionEnded { session, left, .. } => {
                if state.purposes.get(session).is_none_or(|purpose| *purpose == Purpose::Suite) {
                    state.left += left.len();
                }
            }
        }
        Ok(())
    }

    /// A line that stays, for a failure.
    fn permanent(&mut self, subject: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
        self.clear(out)?;
        let subject = one_line(subject);
        let sign = self.look.sign("✗");
        let room = self.look.width.saturating_sub(width(&subject) + 4).min(LONGEST);
        let mut page = Page::new(self.look, out);
        if room >= 30 || room >= width(text) {
            let text = keep_start(text, room, self.look.sign("…"));
            let gap = if text.is_empty() { "" } else { "  " };
            return page.line(&[
                (Tone::Bad, sign),
                (Tone::Usual, " "),
                (Tone::Usual, &subject),
                (Tone::Usual, gap),
                (Tone::Faint, &text),
            ]);
        }
        page.line(&[(Tone::Bad, sign), (Tone::Usual, " "), (Tone::Usual, &subject)])?;
        let text = keep_start(text, self.look.width.max(30) - 4, self.look.sign("…"));
        page.line(&[(Tone::Usual, "    "), (Tone::Faint, &text)])
    }
}

impl State {
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
            Phase::Running if attempt.run == 0 => self.done = (self.done + 1).min(self.total),
            Phase::Again { done, .. } | Phase::Fresh { done } => *done += usize::from(attempt.run == 0),
            Phase::Stress { done } | Phase::Searching { done, .. } => *done += 1,
            _ => {}
        }
        if attempt.outcome.is_pass() && self.failing.remove(&attempt.test) {
            self.flaky.insert(attempt.test.clone());
        }
        attempt.outcome.is_failure() && !self.flaky.contains(&attempt.test) && self.failing.insert(attempt.test.clone())
    }

    fn enter(&mut self, purpose: Purpose) {
        let of = self.failing.len();
        let searching = |what| Phase::Searching { what, done: 0 };
        let next = match purpose {
            Purpose::Twice => searching("running each test twice"),
            Purpose::Order => searching("trying other orders"),
            Purpose::Search => searching("looking for culprits"),
            Purpose::State => searching("looking for the state that leaks"),
            Purpose::Base => searching("at the base"),
            Purpose::Factor => searching("under other circumstances"),
            _ => return self.enter_ladder(purpose, of),
        };
        if !matches!((&self.phase, &next), (Phase::Searching { what: a, .. }, Phase::Searching { what: b, .. }) if a == b)
        {
            self.phase = next;
        }
    }

    fn enter_ladder(&mut self, purpose: Purpose, of: usize) {
        match (purpose, &self.phase) {
            (Purpose::AtEnd, Phase::Again { .. })
            | (Purpose::Fresh | Purpose::Again, Phase::Fresh { .. })
            | (Purpose::Stress, Phase::Stress { .. }) => {}
            (Purpose::Suite, _) => self.phase = Phase::Running,
            (Purpose::AtEnd, _) => self.phase = Phase::Again { done: 0, of },
            (Purpose::Fresh | Purpose::Again, _) => self.phase = Phase::Fresh { done: 0 },
            (Purpose::Stress, _) => self.phase = Phase::Stress { done: 0 },
            (Purpose::Look, _) => self.phase = Phase::Looking,
            _ => {}
        }
    }
}
