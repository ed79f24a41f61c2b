//! Records one run in the project's history. A history that cannot be written never ends a run: the
//! notes say what is missing.

use std::collections::{BTreeSet, HashSet};
use std::env;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use unflake_model::{
    AssertionSample, Confidence, Day, EarlierRuns, Event, Feedback, Finding, PreparedReport, Test, TestId, Timestamp,
};
use unflake_report::KnownFinding;
use unflake_store::{
    Host, LearnedDependencies, Revision, RunFacts, RunId, Store, StoreError, StoreLocation, StoredFinding,
    create_hidden_dir,
};

use crate::commands::filter::file;
use crate::commands::filter::tune;
use crate::config::settings::{Setting, SettingSource};
use crate::history::renames;
use crate::project::revision;

/// Files that unflake writes into a project. A change to them does not make another version of the
/// project.
pub(crate) const OUR_FILES: [&str; 2] = [file::NAME, tune::LABELS];

pub(crate) struct HistoryRecorder {
    store: Option<(Store, RunId)>,
    /// Asks git in the background, until the revision is needed.
    revision: Option<JoinHandle<Revision>>,
    /// What git said, once it is known.
    tested: Revision,
    /// The hash of the tested files, once it is known, if all are committed.
    tree: Option<String>,
    /// The commit, under the same conditions.
    commit: Option<String>,
    /// What the user should know about the history of this run.
    pub(crate) notes: Vec<String>,
    /// The tests that the history knew before the listing of this run.
    known: Option<HashSet<TestId>>,
    /// The listed tests, until it is known which of them are renamed.
    listed: Option<Vec<Test>>,
    /// Dependencies of attempts that have not ended.
    depending: Vec<Event>,
    /// Attempts that could not be recorded.
    missed: usize,
    here: PathBuf,
}

impl HistoryRecorder {
    /// Begins a run. Fails only where there is a history that must not be touched: of a newer
    /// version, or corrupt.
    pub(crate) fn begin(
        location: &Setting<StoreLocation>,
        command: &[String],
        here: &Path,
    ) -> Result<Self, StoreError> {
        let mut recorder = Self {
            store: None,
            revision: None,
            tested: Revision::default(),
            tree: None,
            commit: None,
            notes: Vec::new(),
            known: None,
            listed: None,
            depending: Vec::new(),
            missed: 0,
            here: here.to_owned(),
        };
        let store = match Store::open(&location.value) {
            Ok(store) => {
                // For pages that are written there later. Where it cannot be made, writing the page
                // reports it.
                let _ = if location.value.is_server() { create_hidden_dir(&location.value.dir) } else { Ok(()) };
                Some(store)
            }
            Err(error @ (StoreError::Newer { .. } | StoreError::Corrupt { .. } | StoreError::Foreign { .. })) => {
                return Err(error);
            }
            Err(error) => {
                let fallback = fallback(&location.value.dir).filter(|_| location.from == SettingSource::Default);
                let store = fallback.and_then(|fallback| Store::open(&fallback).ok());
                recorder.note(match &store {
                    Some(store) => {
                        let location = store.location_text();
                        format!("the project directory cannot be written, so its history is kept in {location}")
                    }
                    None => format!("this run is not kept: {error}"),
                });
                store
            }
        };
        // Not before the directory of the history has its `.gitignore`: git would call the tree changed.
        recorder.revision = Some(revision::look_up(here));
        if let Some(mut store) = store {
            store.leave_log();
            let facts = RunFacts {
                command: command.to_vec(),
                cwd: here.to_string_lossy().into_owned(),
                started: now(),
                revision: Revision::default(),
                host: host(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            };
            match store.begin(&facts) {
                Ok(run) => {
                    tracing::debug!(store = %store.location_text(), run = %run, "run recorded in the history");
                    recorder.store = Some((store, run));
                }
                Err(error) => recorder.note(format!("this run is not kept: {error}")),
            }
        }
        Ok(recorder)
    }

    fn note(&mut self, note: String) {
        tracing::warn!(note, "history");
        self.notes.push(note);
    }

    /// Stores events. When it returns they are in the history, or counted as missed.
    pub(crate) fn record(&mut self, events: &[Event]) {
        if events.is_empty() {
            return;
        }
        let attempts = events.iter().filter(|one| matches!(one, Event::AttemptEnded(_))).count();
        if let Err(error) = self.try_to_record(events, attempts > 0) {
            self.note(error.to_string());
            self.store = None;
        }
        if self.store.is_none() {
            self.missed += attempts;
        }
    }

    /// The runner waits while its listing is stored, so work on names is done while it collects
    /// tests and while it runs them.
    fn try_to_record(&mut self, events: &[Event], is_running: bool) -> Result<(), StoreError> {
        let Some((store, run)) = &mut self.store else { return Ok(()) };
        if self.known.is_none() {
            self.known = Some(store.tests()?.into_iter().map(|stored| stored.test).collect());
        }
        let (dependencies, others): (Vec<&Event>, Vec<&Event>) =
            events.iter().partition(|one| matches!(one, Event::DependenciesRecorded { .. }));
        if dependencies.is_empty() && self.depending.is_empty() {
            store.record(*run, events)?;
        } else {
            self.depending.extend(dependencies.into_iter().cloned());
            let others: Vec<Event> = others.into_iter().cloned().collect();
            let ended = with_outcomes(&mut self.depending, &others);
            // Whether dependencies may replace others depends on the revision.
            self.store_revision();
            let Some((store, run)) = &mut self.store else { return Ok(()) };
            store.record(*run, &ended)?;
            store.record(*run, &others)?;
        }
        if let Some(tests) = listed(events).filter(|tests| renames::may_know(tests)) {
            self.listed = Some(tests.to_vec());
        }
        if is_running { self.keep_names() } else { Ok(()) }
    }

    /// Stores which of the listed tests are renamed.
    fn keep_names(&mut self) -> Result<(), StoreError> {
        let (Some((store, run)), Some(listed)) = (&mut self.store, self.listed.take()) else { return Ok(()) };
        let known = self.known.take().unwrap_or_default();
        renames::keep(store, *run, &listed, &known, &renames::TestSources::new(&self.here))
    }

    /// The tests that ran before this one where it passed with the files of a tree, in a world like
    /// that of this run. None where no such pass is known.
    pub(crate) fn passed_at(&self, tree: &str, test: &TestId) -> Option<Vec<TestId>> {
        let (store, run) = self.store.as_ref()?;
        store.passed_at(tree, test, *run).ok()?
    }

    /// What earlier runs showed of these tests.
    pub(crate) fn earlier_runs(&mut self, tests: &[TestId]) -> Vec<(TestId, EarlierRuns)> {
        if tests.is_empty() {
            return Vec::new();
        }
        self.store_revision();
        let Some((store, run)) = &self.store else { return Vec::new() };
        let earlier = |test: &TestId| {
            let passed = self.tree.as_deref().map(|tree| store.last_pass_at(tree, test, *run));
            let findings = store.findings_on(test).unwrap_or_default();
            let passed = passed.and_then(|passed| passed.ok().flatten());
            let flaky = || findings.iter().filter(|stored| stored.finding.is_flaky()).map(|stored| stored.started);
            let first = Timestamp(now().0 - (EarlierRuns::DAYS - 1) * 24 * 60 * 60 * 1_000_000);
            let lately = flaky().next().map(|_| store.findings_since(test, first).unwrap_or_default());
            let lately = lately.into_iter().flatten().filter(|(_, finding)| finding.is_flaky());
            let days: BTreeSet<Day> = lately.map(|(started, _)| Day::of(started)).collect();
            let proof = findings.iter().find(|stored| stored.finding.confidence() == Some(Confidence::Proven));
            let proven_by =
                proof.filter(|_| flaky().next().is_some()).map(|stored| stored.finding.technique().to_owned());
            let flaky_days = days.len() as u32;
            (test.clone(), EarlierRuns { passed, flaky: flaky().next(), flaky_days, proven_by })
        };
        tests.iter().map(earlier).filter(|(_, earlier)| !earlier.is_empty()).collect()
    }

    /// The revision that this run tested. Empty where it is unknown.
    pub(crate) fn tested_revision(&self) -> Revision {
        self.tested.clone()
    }

    /// The known dependencies of tests.
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

    /// Stores samples of assertions. Returns all that the history has then, or only these where
    /// they cannot be stored.
    pub(crate) fn keep_samples(&mut self, samples: &[AssertionSample]) -> Vec<AssertionSample> {
        // Samples belong to a revision, which has to be stored first.
        self.store_revision();
        let Some((store, run)) = &mut self.store else { return samples.to_vec() };
        store.keep_samples(*run, samples).and_then(|()| store.samples(&OUR_FILES)).unwrap_or_else(|error| {
            self.note(error.to_string());
            samples.to_vec()
        })
    }

    /// Stores findings. They replace earlier ones with the same id.
    pub(crate) fn record_findings(&mut self, findings: &[Finding]) {
        if let Some((store, run)) = &mut self.store
            && !findings.is_empty()
            && let Err(error) = store.record_findings(*run, findings)
        {
            self.note(error.to_string());
        }
    }

    /// Earlier findings that explain the tests of these findings.
    pub(crate) fn diagnoses<'a>(&self, findings: impl Iterator<Item = &'a Finding>) -> Vec<KnownFinding> {
        let Some((store, _)) = &self.store else { return Vec::new() };
        let answers = self.answers();
        let known = findings.flat_map(|finding| store.findings_on(&finding.test).unwrap_or_default());
        let explaining = known.filter(|stored| unflake_report::is_diagnosis(&stored.finding));
        explaining
            .map(|stored| {
                let id = stored.finding.id();
                let feedback = answers.iter().find(|answer| answer.finding == id && !answer.useful).cloned();
                let StoredFinding { finding, started: when, commit, .. } = stored;
                KnownFinding { finding, when, commit, feedback, page: None }
            })
            .collect()
    }

    /// Stores a report on a test for later. Returns whether it is stored.
    pub(crate) fn keep_report(&mut self, test: &TestId, tree: &str, report: &PreparedReport) -> bool {
        let Some((store, run)) = &mut self.store else { return false };
        store.prepare(*run, test, tree, report).map_err(|error| self.note(error.to_string())).is_ok()
    }

    /// The feedback on findings.
    pub(crate) fn answers(&self) -> Vec<Feedback> {
        self.store.as_ref().and_then(|(store, _)| store.feedback().ok()).unwrap_or_default()
    }

    fn store_revision(&mut self) {
        let (Some((store, run)), Some(thread)) = (&mut self.store, self.revision.take()) else { return };
        let revision = thread.join().unwrap_or_default();
        let stored = store.revision(*run, &revision);
        self.tested = revision.clone();
        let is_clean = revision.dirty == Some(false);
        self.tree = revision.tree.filter(|_| is_clean);
        self.commit = revision.commit.filter(|_| is_clean);
        if let Err(error) = stored {
            self.note(error.to_string());
        }
    }

    /// The tested commit, if there are no other changes.
    pub(crate) fn clean_commit(&mut self) -> Option<String> {
        self.store_revision();
        self.commit.clone()
    }

    /// Runs `work` on the history. None where there is none, or where it fails, which is noted.
    pub(crate) fn with_store<T>(&mut self, work: impl FnOnce(&mut Store, RunId) -> Result<T, StoreError>) -> Option<T> {
        let (store, run) = self.store.as_mut()?;
        let result = work(store, *run);
        result.map_err(|error| self.note(error.to_string())).ok()
    }

    pub(crate) fn finish(&mut self, exit: u8) {
        self.store_revision();
        if let Err(error) = self.keep_names() {
            self.note(error.to_string());
        }
        if let Some((store, run)) = &mut self.store
            && let Err(error) = store.finish(*run, now(), exit)
        {
            self.note(error.to_string());
        }
        if self.missed > 0 {
            let missed = self.missed;
            self.note(format!("{missed} attempts of this run are not in the history; this report is complete"));
        }
    }
}

/// The dependencies of the attempts that end with these events. An attempt that fails may
/// depend on less than one that passes, so its dependencies are incomplete.
fn with_outcomes(depending: &mut Vec<Event>, events: &[Event]) -> Vec<Event> {
    let mut ended = Vec::new();
    for event in events {
        let Event::AttemptEnded(attempt) = event else { continue };
        let of_attempt = |one: &mut Event| matches!(one, Event::DependenciesRecorded { session, test, .. } if *session == attempt.session && *test == attempt.test);
        for mut one in depending.extract_if(.., of_attempt) {
            if let Event::DependenciesRecorded { on, .. } = &mut one
                && attempt.outcome.is_failure()
            {
                on.unknown.push("it failed when its dependencies were recorded".to_owned());
            }
            ended.push(one);
        }
    }
    ended
}

fn listed(events: &[Event]) -> Option<&[Test]> {
    events.iter().find_map(|one| match one {
        Event::TestsListed { tests, .. } => Some(tests.as_slice()),
        _ => None,
    })
}

/// The history of a project whose directory cannot be written: in the state directory of the user.
pub(crate) fn fallback(directory: &Path) -> Option<PathBuf> {
    let state = env::var_os("XDG_STATE_HOME").filter(|state| !state.is_empty()).map(PathBuf::from);
    let state = state.or_else(|| env::home_dir().map(|home| home.join(".local/state")))?;
    let mut hasher = DefaultHasher::new();
    directory.hash(&mut hasher);
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
    Timestamp(jiff::Timestamp::now().as_microsecond())
}

/// How long ago that was, in words.
pub(crate) fn age(then: Timestamp) -> String {
    unflake_report::age(((now().0 - then.0) as f64 / 1e6).max(0.0))
}
