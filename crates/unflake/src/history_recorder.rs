//! The run's place in the project's history. Trouble with it is told, and never ends a run.

use std::collections::HashSet;
use std::env;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use unflake_model::{AssertionSample, Feedback, Finding, Observation, PreparedReport, Test, TestId, Timestamp};
use unflake_store::{
    Host, LearnedDependencies, Revision, RunFacts, RunId, Store, StoreError, StoreLocation, create_hidden_dir,
};

use crate::commands::filter::file;
use crate::commands::filter::tune;
use crate::config::settings::{Setting, Source};
use crate::renames;
use crate::revision;

/// Files of ours in a project: that they changed does not make another version of it.
pub(crate) const OURS: [&str; 2] = [file::NAME, tune::LABELS];

pub(crate) struct Memory {
    store: Option<(Store, RunId)>,
    revision: Option<JoinHandle<Revision>>,
    /// What a person should know about it.
    pub(crate) notes: Vec<String>,
    missed: usize,
    here: PathBuf,
}

impl Memory {
    /// Begins a run. Fails only where a history is there and must not be touched.
    pub(crate) fn begin(place: &Setting<StoreLocation>, command: &[String], here: &Path) -> Result<Self, StoreError> {
        let mut notes = Vec::new();
        let store = match Store::open(&place.value) {
            Ok(store) => {
                // Pages may come to lie there. Where it cannot be made, that is told when one is to be written.
                let _ = if place.value.is_server() { create_hidden_dir(&place.value.dir) } else { Ok(()) };
                Some(store)
            }
            Err(error @ (StoreError::Newer { .. } | StoreError::Corrupt { .. })) => return Err(error),
            Err(error) => {
                let elsewhere = elsewhere(&place.value.dir).filter(|_| place.from == Source::Default);
                match elsewhere.and_then(|elsewhere| Store::open(&elsewhere).ok()) {
                    Some(store) => {
                        let place = store.location_text();
                        notes.push(format!(
                            "the project directory cannot be written, so its history is kept in {place}"
                        ));
                        Some(store)
                    }
                    None => {
                        notes.push(format!("this run is not kept: {error}"));
                        None
                    }
                }
            }
        };
        let revision = Some(revision::look_up(here));
        let mut memory = Self { store: None, revision, notes, missed: 0, here: here.to_owned() };
        if let Some(mut store) = store {
            let facts = RunFacts {
                command: command.to_vec(),
                cwd: here.to_string_lossy().into_owned(),
                started: now(),
                revision: Revision::default(),
                host: host(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            };
            match store.begin(&facts) {
                Ok(run) => memory.store = Some((store, run)),
                Err(error) => memory.notes.push(format!("this run is not kept: {error}")),
            }
        }
        Ok(memory)
    }

    /// When it returns, what was observed is kept, or it is known that it is not.
    pub(crate) fn record(&mut self, observations: &[Observation]) {
        if observations.is_empty() {
            return;
        }
        let attempts = observations.iter().filter(|one| matches!(one, Observation::Attempted(_))).count();
        let Some((store, run)) = &mut self.store else {
            self.missed += attempts;
            return;
        };
        let kept = match listed(observations).filter(|tests| renames::may_know(tests)) {
            Some(tests) => known_names(store).and_then(|before| {
                store.record(*run, observations)?;
                renames::keep(store, *run, tests, &before, &renames::Sources::new(&self.here))
            }),
            None => store.record(*run, observations),
        };
        if let Err(error) = kept {
            self.notes.push(error.to_string());
            self.store = None;
            self.missed += attempts;
        }
    }

    /// The tests that had run before where this one passed with the files of a tree. None: no such pass is known.
    pub(crate) fn passed_at(&self, tree: &str, test: &TestId) -> Option<Vec<TestId>> {
        self.store.as_ref()?.0.passed_at(tree, test).ok()?
    }

    /// What is known of what tests depend on.
    pub(crate) fn dependencies(&self) -> Result<Vec<LearnedDependencies>, StoreError> {
        self.store.as_ref().map_or(Ok(Vec::new()), |(store, _)| store.dependencies())
    }

    /// The commits at which all of these tests passed, the newest first.
    pub(crate) fn commits_passed(&self, tests: &[TestId]) -> Vec<String> {
        let Some((store, _)) = &self.store else { return Vec::new() };
        let mut all = tests.iter().map(|test| store.commits_passed(test).unwrap_or_default());
        let mut common = all.next().unwrap_or_default();
        for commits in all {
            common.retain(|commit| commits.contains(commit));
        }
        common
    }

    /// Keeps what assertions saw. All that is known of them then, or only that where nothing can be kept.
    pub(crate) fn keep_samples(&mut self, samples: &[AssertionSample]) -> Vec<AssertionSample> {
        // What they are samples of has to be known first.
        self.know_revision();
        let Some((store, run)) = &mut self.store else { return samples.to_vec() };
        store.keep_samples(*run, samples).and_then(|()| store.samples(&OURS)).unwrap_or_else(|error| {
            self.notes.push(error.to_string());
            samples.to_vec()
        })
    }

    /// Keeps what was found. What was told before of the same finding is no longer the last word.
    pub(crate) fn say(&mut self, findings: &[Finding]) {
        if let Some((store, run)) = &mut self.store
            && !findings.is_empty()
            && let Err(error) = store.record_findings(*run, findings)
        {
            self.notes.push(error.to_string());
        }
    }

    /// Keeps a report for whoever asks later. Whether it is kept.
    pub(crate) fn prepare(&mut self, test: &TestId, tree: &str, report: &PreparedReport) -> bool {
        let Some((store, run)) = &mut self.store else { return false };
        store.prepare(*run, test, tree, report).map_err(|error| self.notes.push(error.to_string())).is_ok()
    }

    /// What people said of findings.
    pub(crate) fn answers(&self) -> Vec<Feedback> {
        self.store.as_ref().and_then(|(store, _)| store.answers().ok()).unwrap_or_default()
    }

    fn know_revision(&mut self) {
        if let (Some((store, run)), Some(thread)) = (&mut self.store, self.revision.take())
            && let Err(error) = store.revision(*run, &thread.join().unwrap_or_default())
        {
            self.notes.push(error.to_string());
        }
    }

    pub(crate) fn finish(&mut self, exit: u8) {
        self.know_revision();
        if let Some((store, run)) = &mut self.store
            && let Err(error) = store.finish(*run, now(), exit)
        {
            self.notes.push(error.to_string());
        }
        if self.missed > 0 {
            let missed = self.missed;
            self.notes
                .push(format!("{missed} attempts of this run are not in the history; what is said here is complete"));
        }
    }
}

fn listed(observations: &[Observation]) -> Option<&[Test]> {
    observations.iter().find_map(|one| match one {
        Observation::Listed { tests, .. } => Some(tests.as_slice()),
        _ => None,
    })
}

fn known_names(store: &Store) -> Result<HashSet<TestId>, StoreError> {
    Ok(store.tests()?.into_iter().map(|kin| kin.test).collect())
}

/// Where a project that cannot be written has its history.
pub(crate) fn elsewhere(place: &Path) -> Option<PathBuf> {
    let state = env::var_os("XDG_STATE_HOME").filter(|state| !state.is_empty()).map(PathBuf::from);
    let state = state.or_else(|| env::home_dir().map(|home| home.join(".local/state")))?;
    let mut hasher = DefaultHasher::new();
    place.hash(&mut hasher);
    Some(state.join("unflake").join(format!("{:016x}", hasher.finish())))
}

fn host() -> Host {
    Host {
        name: nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        os: env::consts::OS.to_owned(),
        arch: env::consts::ARCH.to_owned(),
        cpus: std::thread::available_parallelism().map_or(0, |cores| cores.get() as u32),
    }
}

pub(crate) fn now() -> Timestamp {
    Timestamp(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as i64)
}
