//! The events of a run while it is in progress: `/run/ID/events`.

use std::sync::Arc;

use serde::Serialize;
use unflake_model::{Outcome, Purpose, TestId, Timestamp};
use unflake_store::{Run, RunId};
use unflake_web::{EventSource, Feed, Request, ServerEvent};

use super::routes::Routes;
use super::runs;
use crate::error::CommandError;
use crate::history::recorder;

/// Attempts that are read at a time.
const MOST: usize = 500;

/// One reader of the events of a run.
struct Listener {
    routes: Arc<Routes>,
    request: Request,
    run: RunId,
    /// The latest attempt that was sent.
    after: i64,
    progress: Option<RunProgress>,
}

#[derive(Serialize)]
struct LiveAttemptData<'a> {
    key: i64,
    test: &'a TestId,
    purpose: Purpose,
    again: u32,
    outcome: Outcome,
    started: Timestamp,
    seconds: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
struct RunProgress {
    attempts: u64,
    listed: Option<u32>,
}

#[derive(Serialize)]
struct Ended {
    /// None: it was killed.
    exit: Option<u8>,
}

/// The attempts of a run, from those after `Last-Event-ID` on, until it ends.
pub(super) fn events(routes: &Arc<Routes>, request: &Request, run: RunId) -> EventSource {
    let after = request.header("last-event-id").and_then(|id| id.parse().ok()).unwrap_or(0);
    let mut listener = Listener { routes: routes.clone(), request: request.clone(), run, after, progress: None };
    Box::new(move || match listener.next() {
        Ok(feed) => feed,
        Err(error) => Feed::Last(vec![event("error", None, &error.message)]),
    })
}

impl Listener {
    fn next(&mut self) -> Result<Feed, CommandError> {
        // A token may have been revoked meanwhile.
        if self.routes.caller(&self.request)?.is_err() {
            return Ok(Feed::Last(vec![event("error", None, &"access ended")]));
        }
        let (attempts, run, is_live) = self.routes.cache.with(|store| {
            let run = store.run(self.run)?;
            let is_live = run.as_ref().map_or(Ok(false), |run| runs::is_live(store, run, recorder::now()))?;
            // Read after the end of the run, so that none is missed.
            Ok((store.attempts_after(self.run, self.after, MOST)?, run, is_live))
        })?;
        let mut events = Vec::new();
        for attempt in &attempts {
            self.after = attempt.id;
            let data = LiveAttemptData {
                key: attempt.key.0,
                test: &attempt.test,
                purpose: attempt.purpose,
                again: attempt.again,
                outcome: attempt.outcome,
                started: attempt.started,
                seconds: attempt.seconds,
            };
            events.push(event("attempt", Some(attempt.id), &data));
        }
        let progress = run.as_ref().map(progress);
        if progress != self.progress {
            events.extend(progress.map(|progress| event("progress", None, &progress)));
            self.progress = progress;
        }
        if attempts.len() == MOST || is_live {
            return Ok(Feed::More(events));
        }
        let exit = run.and_then(|run| run.ended).map(|(_, exit)| exit);
        events.push(event("end", None, &Ended { exit }));
        Ok(Feed::Last(events))
    }
}

fn progress(run: &Run) -> RunProgress {
    RunProgress { attempts: run.attempts, listed: run.listed.map(|(listed, _)| listed) }
}

fn event(name: &'static str, id: Option<i64>, data: &impl Serialize) -> ServerEvent {
    let data = serde_json::to_string(data).expect("names are text, and nothing fails inside");
    ServerEvent { name, id, data }
}
