//! Caches the overview until the history changes.
//!
//! One thread refreshes it. A request waits [`PATIENCE`] for a current overview, and then gets the
//! previous one.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use unflake_store::{ChangeCounter, Store, StoreLocation};

use super::overview::Overview;
use crate::error::CommandError;
use crate::history::scores;

/// How long a request waits for a current overview.
const PATIENCE: Duration = Duration::from_millis(80);
/// After a refresh the thread pauses this many times as long as the refresh took: a run in progress
/// changes the history all the time.
const REST: u32 = 4;

/// The largest number of idle connections that are kept.
const IDLE: usize = 16;

pub(crate) struct OverviewCache {
    location: StoreLocation,
    here: PathBuf,
    state: Mutex<CacheState>,
    requested: Condvar,
    refreshed: Condvar,
    /// Idle connections.
    idle: Mutex<Vec<Store>>,
}

struct CacheState {
    overview: Arc<Overview>,
    /// The number of requests, and the number of those for which the overview is current.
    requests: u64,
    served: u64,
    /// The history has changed since the overview was computed.
    behind: bool,
    /// A refresh is under way and the previous one took long: no request waits for it.
    slow: bool,
    stopping: bool,
}

impl OverviewCache {
    /// Computes the first overview.
    pub(crate) fn open(location: &StoreLocation, here: &Path) -> Result<Self, CommandError> {
        let store = scores::open(location)?;
        let mut other = scores::open(location)?;
        let overview = Arc::new(Overview::of_two(&store, &mut other, here)?);
        Ok(Self {
            location: location.clone(),
            here: here.to_owned(),
            state: Mutex::new(CacheState {
                overview,
                requests: 0,
                served: 0,
                behind: false,
                slow: false,
                stopping: false,
            }),
            requested: Condvar::new(),
            refreshed: Condvar::new(),
            idle: Mutex::new(vec![store, other]),
        })
    }

    /// The newest overview, and whether the history is known to have grown since.
    pub(crate) fn overview(&self) -> (Arc<Overview>, bool) {
        let mut state = self.lock();
        state.requests += 1;
        let ticket = state.requests;
        self.requested.notify_one();
        let (state, _) = self
            .refreshed
            .wait_timeout_while(state, PATIENCE, |state| state.served < ticket && !state.slow && !state.stopping)
            .expect("nothing panics under this lock");
        (state.overview.clone(), state.behind)
    }

    /// Lends a connection to `work`.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Store) -> Result<T, CommandError>) -> Result<T, CommandError> {
        let idle = self.idle.lock().expect("nothing panics under this lock").pop();
        let mut store = match idle {
            Some(store) => store,
            None => scores::open(&self.location)?,
        };
        let done = work(&mut store)?;
        let mut idle = self.idle.lock().expect("nothing panics under this lock");
        if idle.len() < IDLE {
            idle.push(store);
        }
        Ok(done)
    }

    /// Refreshes the overview for every request, until the cache is stopped.
    fn refresh(&self) {
        let mut store = None;
        let mut rests_until = Instant::now();
        let mut took = Duration::ZERO;
        loop {
            let state = self.lock();
            let state = self
                .requested
                .wait_while(state, |state| state.served == state.requests && !state.stopping)
                .expect("nothing panics under this lock");
            if state.stopping {
                return;
            }
            let (ticket, known) = (state.requests, state.overview.pulse.clone());
            drop(state);
            // Where the history cannot be read, the overview stays as it is; a request that reads
            // it directly reports the error.
            let grown = self.pulse(&mut store).is_some_and(|pulse| pulse != known);
            let begun = Instant::now();
            let new = store.as_ref().filter(|_| grown && begun >= rests_until);
            self.mark(grown, new.is_some() && took > PATIENCE);
            let new = new.and_then(|store| Overview::of(store, &self.here).ok());
            if new.is_some() {
                took = begun.elapsed();
                rests_until = Instant::now() + took * REST;
            }
            let mut state = self.lock();
            state.slow = false;
            state.behind = grown && new.is_none();
            if let Some(new) = new {
                state.overview = Arc::new(new);
            }
            state.served = ticket;
            self.refreshed.notify_all();
        }
    }

    fn mark(&self, behind: bool, slow: bool) {
        let mut state = self.lock();
        (state.behind, state.slow) = (behind, slow);
        self.refreshed.notify_all();
    }

    fn pulse(&self, store: &mut Option<Store>) -> Option<ChangeCounter> {
        if store.is_none() {
            *store = scores::open(&self.location).ok();
        }
        let pulse = store.as_ref()?.change_counter().ok();
        if pulse.is_none() {
            // A database server may be back next time.
            *store = None;
        }
        pulse
    }

    fn stop(&self) {
        self.lock().stopping = true;
        self.requested.notify_all();
        self.refreshed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock().expect("nothing panics under this lock")
    }
}

/// Refreshes the cache on another thread while `work` runs.
pub(crate) fn while_refreshing(cache: &OverviewCache, work: impl FnOnce()) {
    thread::scope(|scope| {
        scope.spawn(|| cache.refresh());
        work();
        cache.stop();
    });
}
