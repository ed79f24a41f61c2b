//! The overview that pages are drawn from, kept until the history grows. Whoever asks waits a moment for a new one, and gets the old one
//! where that takes longer.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use unflake_store::{ChangeCounter, Store, StoreLocation};

use super::overview::Overview;
use crate::error::Trouble;
use crate::test_scores;

/// So long a page waits for what is new.
const PATIENCE: Duration = Duration::from_millis(80);
/// Of its time the reader rests so many parts for each that it works: a run that goes on adds something all the time.
const REST: u32 = 4;

/// Connections that are kept for the next who asks.
const IDLE: usize = 4;

pub(crate) struct Desk {
    place: StoreLocation,
    here: PathBuf,
    state: Mutex<State>,
    asked: Condvar,
    answered: Condvar,
    /// Connections that nobody uses at the moment.
    idle: Mutex<Vec<Store>>,
}

struct State {
    overview: Arc<Overview>,
    /// Counts those who asked, and up to whom the overview is new enough.
    asked: u64,
    answered: u64,
    /// The history has grown since.
    behind: bool,
    /// It is being read, and took long the last time: nobody waits for that.
    long: bool,
    ending: bool,
}

impl Desk {
    /// With the first overview, for which one has to wait.
    pub(crate) fn open(place: &StoreLocation, here: &Path) -> Result<Self, Trouble> {
        let store = test_scores::open(place)?;
        let overview = Arc::new(Overview::of(&store, here)?);
        Ok(Self {
            place: place.clone(),
            here: here.to_owned(),
            state: Mutex::new(State { overview, asked: 0, answered: 0, behind: false, long: false, ending: false }),
            asked: Condvar::new(),
            answered: Condvar::new(),
            idle: Mutex::new(vec![store]),
        })
    }

    /// The newest overview, and whether the history is known to have grown since.
    pub(crate) fn overview(&self) -> (Arc<Overview>, bool) {
        let mut state = self.lock();
        state.asked += 1;
        let ticket = state.asked;
        self.asked.notify_one();
        let (state, _) = self
            .answered
            .wait_timeout_while(state, PATIENCE, |state| state.answered < ticket && !state.long && !state.ending)
            .expect("nothing panics under this lock");
        (state.overview.clone(), state.behind)
    }

    /// A connection for as long as `work` takes.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Store) -> Result<T, Trouble>) -> Result<T, Trouble> {
        let idle = self.idle.lock().expect("nothing panics under this lock").pop();
        let mut store = match idle {
            Some(store) => store,
            None => test_scores::open(&self.place)?,
        };
        let done = work(&mut store)?;
        let mut idle = self.idle.lock().expect("nothing panics under this lock");
        if idle.len() < IDLE {
            idle.push(store);
        }
        Ok(done)
    }

    /// Reads what is new whenever somebody asks, until the end.
    pub(crate) fn read(&self) {
        let mut store = None;
        let mut rests_until = Instant::now();
        let mut took = Duration::ZERO;
        loop {
            let state = self.lock();
            let state = self
                .asked
                .wait_while(state, |state| state.answered == state.asked && !state.ending)
                .expect("nothing panics under this lock");
            if state.ending {
                return;
            }
            let (ticket, known) = (state.asked, state.overview.pulse.clone());
            drop(state);
            // A history that cannot be read at the moment leaves the old overview; whatever asks it directly says why.
            let grown = self.pulse(&mut store).is_some_and(|pulse| pulse != known);
            let begun = Instant::now();
            let new = store.as_ref().filter(|_| grown && begun >= rests_until);
            self.say(grown, new.is_some() && took > PATIENCE);
            let new = new.and_then(|store| Overview::of(store, &self.here).ok());
            if new.is_some() {
                took = begun.elapsed();
                rests_until = Instant::now() + took * REST;
            }
            let mut state = self.lock();
            state.long = false;
            state.behind = grown && new.is_none();
            if let Some(new) = new {
                state.overview = Arc::new(new);
            }
            state.answered = ticket;
            self.answered.notify_all();
        }
    }

    fn say(&self, behind: bool, long: bool) {
        let mut state = self.lock();
        (state.behind, state.long) = (behind, long);
        self.answered.notify_all();
    }

    fn pulse(&self, store: &mut Option<Store>) -> Option<ChangeCounter> {
        if store.is_none() {
            *store = test_scores::open(&self.place).ok();
        }
        let pulse = store.as_ref()?.change_counter().ok();
        if pulse.is_none() {
            // A server may be back next time.
            *store = None;
        }
        pulse
    }

    pub(crate) fn end(&self) {
        self.lock().ending = true;
        self.asked.notify_all();
        self.answered.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics under this lock")
    }
}

/// Lets somebody read for the desk while `work` goes on.
pub(crate) fn while_reading(desk: &Desk, work: impl FnOnce()) {
    thread::scope(|scope| {
        scope.spawn(|| desk.read());
        work();
        desk.end();
    });
}
