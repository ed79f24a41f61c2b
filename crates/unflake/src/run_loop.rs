//! The run loop: a technique requests sessions, the engine runs them, and what is observed is
//! stored, passed to the technique and displayed, until the technique requests no more.
//!
//! The loop is closed here and nowhere else. An observation is stored before a technique observes
//! it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use unflake_engine::{Engine, Launch, RunnerExit};
use unflake_model::{
    Attempt, Death, Dependencies, Event, Failure, Feedback, Finding, Measurement, Outcome, Problem, Purpose,
    QuarantineResult, Replay, Reproduction, Searched, Session, Test, TestId, Totals, World, WorldId,
};
use unflake_report::{KnownFinding, Progress};
use unflake_runners::ReplayedSession;
use unflake_techniques::{AssertionPolicy, Technique};

use crate::config::settings::Settings;
use crate::diagnostics;
use crate::failing_seed::SeedSearch;
use crate::history::recorder::HistoryRecorder;
use crate::history::shards;
use crate::project::base_worktree;
use crate::project::comparison::ComparisonBase;
use crate::project::left_files;
use crate::project::shard::ShardSpec;
use crate::project::source_files;
use crate::recorders::Recorders;
use crate::repro_command::{ReproCommands, in_copies};

/// After this many failing attempts only the beginnings of their texts stay in memory, and after
/// many more only the beginnings of their messages. The history has the full texts.
const WHOLE_FAILURES: usize = 300;
const BEGINNING: usize = 2000;
const BEGUN_FAILURES: usize = 3000;
const MESSAGE_BEGINNING: usize = 300;

/// Everything that a run has gathered.
#[derive(Default)]
pub(crate) struct Gathered {
    pub(crate) runner: Option<String>,
    pub(crate) language: Option<String>,
    pub(crate) tests: Vec<Test>,
    pub(crate) deselected: u32,
    /// Tests that were listed and that other shards run.
    pub(crate) of_other_shards: usize,
    pub(crate) attempts: Vec<Attempt>,
    /// The worlds of the attempts.
    pub(crate) worlds: Vec<World>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) notes: Vec<String>,
    pub(crate) left: Vec<TestId>,
    pub(crate) left_why: Option<String>,
    pub(crate) findings: Vec<Finding>,
    /// What the technique has searched.
    pub(crate) searched: Option<Searched>,
    /// Earlier findings about the tests of these findings.
    pub(crate) known: Vec<KnownFinding>,
    pub(crate) measured: Option<Measurement>,
    /// Feedback on findings.
    pub(crate) answers: Vec<Feedback>,
    /// Quarantine entries and their standing.
    pub(crate) quarantine: Vec<QuarantineResult>,
    pub(crate) totals: Totals,
    /// Sessions were cut short because the time budget was exhausted.
    pub(crate) budget_exhausted: bool,
    pub(crate) listed: bool,
    /// Whether tests run in their own processes.
    pub(crate) isolated: bool,
    pub(crate) closed: Option<RunnerExit>,
    /// A hash of what is installed for the language, where that was asked for and is known.
    pub(crate) installed: Option<String>,
    /// The directory that test ids are relative to.
    pub(crate) root: Option<PathBuf>,
    /// The plain runner does not keep the order in which a command names tests.
    reorders: bool,
    /// What was recorded beside the attempts.
    pub(crate) recorders: Recorders,
    failures: usize,
    rerun_seconds: f64,
    suite_ended: Option<f64>,
    /// Number of sessions that were requested.
    pub(crate) sessions: u32,
    /// How many of them, from the first one on, run the whole suite together.
    planned_sessions: u32,
}

impl Gathered {
    /// The names of the tests that were listed.
    pub(crate) fn test_names(&self) -> impl Iterator<Item = &str> {
        self.tests.iter().map(|test| test.id.as_str())
    }

    /// Adds what a later run of the same project gathered. Its sessions and environments get other
    /// numbers.
    pub(crate) fn absorb(&mut self, later: Self) {
        let after = |used: Option<u32>| used.map_or(0, |used| used + 1);
        let session = after(self.attempts.iter().map(|attempt| attempt.session.0).max());
        let environment = after(self.attempts.iter().map(|attempt| attempt.environment.0).max());
        self.attempts.extend(later.attempts.into_iter().map(|mut attempt| {
            attempt.session.0 += session;
            attempt.environment.0 += environment;
            attempt
        }));
        let is_new = |world: &World| !self.worlds.contains(world);
        let worlds: Vec<World> = later.worlds.into_iter().filter(is_new).collect();
        self.worlds.extend(worlds);
        let notes: Vec<String> = later.notes.into_iter().filter(|note| !self.notes.contains(note)).collect();
        self.notes.extend(notes);
        if self.tests.is_empty() {
            (self.tests, self.listed, self.isolated) = (later.tests, later.listed, later.isolated);
            (self.runner, self.language, self.root) = (later.runner, later.language, later.root);
        }
        self.problems.extend(later.problems);
        self.findings.extend(later.findings);
        self.known.extend(later.known);
        self.answers = later.answers;
        self.sessions += later.sessions;
        self.totals.seconds += later.totals.seconds;
        self.totals.interrupted |= later.totals.interrupted;
        self.budget_exhausted |= later.budget_exhausted;
    }

    /// The tests of the suite that failed and never passed.
    fn never_passed(&self) -> Vec<TestId> {
        let of_suite = self.attempts.iter().filter(|attempt| attempt.purpose == Purpose::Suite);
        let failed = of_suite.filter(|attempt| attempt.outcome.is_failure()).map(|attempt| &attempt.test);
        let failed: BTreeSet<&TestId> = failed.collect();
        let passed: BTreeSet<&TestId> =
            self.attempts.iter().filter(|attempt| attempt.outcome.is_pass()).map(|attempt| &attempt.test).collect();
        failed.difference(&passed).map(|test| (*test).clone()).collect()
    }

    /// The plain runner's command for one test, if the agent provided it.
    fn command_of(&self, test: &TestId) -> Option<&[String]> {
        let found = self.tests.iter().find(|one| one.id == *test)?;
        Some(&found.command[..]).filter(|words| !words.is_empty())
    }
}

/// A technique with everything that it needs to run.
pub(crate) struct RunLoop<'a> {
    technique: &'a mut dyn Technique,
    /// The assertion filter, where one is in force.
    assertions: Option<&'a mut dyn AssertionPolicy>,
    recorders: Recorders,
    memory: &'a mut HistoryRecorder,
    progress: Progress,
    /// The directory in which the command runs.
    here: &'a Path,
    /// What to compare with, in a repository.
    compare: Option<ComparisonBase>,
    /// Finds seeds with which flaky tests fail.
    seeds: Option<SeedSearch>,
    shard: Option<ShardSpec>,
    /// The tests of the shard, once they are listed.
    of_shard: Option<HashSet<TestId>>,
    /// The base revision, once it has been determined; empty if there is none.
    base: Option<String>,
    began: Instant,
    /// What the attempt that is about to end wrote.
    written: Option<(TestId, Vec<PathBuf>)>,
    /// What failing attempts wrote, until it is known what is left of it.
    unchecked: Vec<(TestId, Vec<PathBuf>)>,
    gathered: Gathered,
}

impl<'a> RunLoop<'a> {
    pub(crate) fn new(
        technique: &'a mut dyn Technique,
        memory: &'a mut HistoryRecorder,
        progress: Progress,
        here: &'a Path,
    ) -> Self {
        Self {
            technique,
            assertions: None,
            recorders: Recorders::default(),
            memory,
            progress,
            here,
            compare: None,
            seeds: None,
            shard: None,
            of_shard: None,
            base: None,
            began: Instant::now(),
            written: None,
            unchecked: Vec::new(),
            gathered: Gathered::default(),
        }
    }

    /// Runs under an assertion policy.
    pub(crate) fn with_assertions(self, assertions: &'a mut dyn AssertionPolicy) -> Self {
        Self { assertions: Some(assertions), ..self }
    }

    pub(crate) fn with_recorders(self, recorders: Recorders) -> Self {
        Self { recorders, ..self }
    }

    /// Compares with the base when the technique asks for dependencies.
    pub(crate) fn with_comparison(self, compare: Option<ComparisonBase>) -> Self {
        Self { compare, ..self }
    }

    /// Runs one shard of the suite.
    pub(crate) fn with_shard(self, shard: Option<ShardSpec>) -> Self {
        Self { shard, ..self }
    }

    /// Looks for seeds with which flaky tests fail every time.
    pub(crate) fn with_seed_search(self, seeds: Option<SeedSearch>) -> Self {
        Self { seeds, ..self }
    }

    /// Runs the technique to its end. `gates` decides whether a finding makes the run fail.
    pub(crate) fn run(
        mut self,
        mut engine: Engine,
        settings: &Settings,
        gates: impl Fn(&Gathered, &Finding) -> bool,
    ) -> Gathered {
        self.show(&Event::RunStarted { command: settings.command.value.clone() });
        self.gathered.listed = engine.list(&mut |batch| self.observe(batch));
        diagnostics::log_listing(self.gathered.listed, self.now());
        if self.gathered.listed && !self.gathered.tests.is_empty() {
            if engine.launch().filter {
                self.start_assertions(&mut engine);
            }
            while !engine.is_stopped() && self.run_batch(&mut engine) {}
        }
        self.gathered.root = engine.root().map(Path::to_owned);
        self.gathered.reorders = engine.reorders();
        self.gathered.budget_exhausted = engine.is_budget_exhausted();
        self.conclude(settings);
        let after_suite = self.gathered.suite_ended.map_or(0.0, |ended| self.now() - ended);
        let interrupted = engine.was_interrupted();
        let failed = self.gathered.findings.iter().filter(|finding| gates(&self.gathered, finding)).count() as u32;
        self.gathered.closed = Some(engine.close(failed, &mut |batch| self.observe(batch)));
        self.gathered.totals =
            Totals { seconds: self.now(), rerun_seconds: self.gathered.rerun_seconds + after_suite, interrupted };
        let (sessions, seconds) = (self.gathered.sessions, self.gathered.totals.seconds);
        let coverage = self.technique.coverage();
        self.gathered.searched = coverage.map(|coverage| Searched { coverage, sessions, seconds, budget: None });
        let ended = Event::RunEnded(self.gathered.totals.clone());
        self.show(&ended);
        Gathered { recorders: self.recorders, ..self.gathered }
    }

    /// Runs the next batch of sessions. False if there is none.
    fn run_batch(&mut self, engine: &mut Engine) -> bool {
        let sessions = self.next_sessions();
        diagnostics::log_question(&sessions);
        if sessions.is_empty() {
            return false;
        }
        if self.gathered.sessions == 0 {
            let of_suite = sessions.iter().filter(|session| session.purpose == Purpose::Suite).count();
            self.gathered.planned_sessions = of_suite.max(1) as u32;
        }
        self.gathered.sessions += sessions.len() as u32;
        let depending = tests_with_dependencies(&sessions);
        let (at_base, here): (Vec<Session>, _) =
            sessions.into_iter().partition(|session| session.purpose == Purpose::Base);
        let changed = self.assertions.as_mut().and_then(|policy| policy.changed_assertions());
        if let Some(Err(error)) = changed.map(|may_fail| engine.let_fail(&may_fail)) {
            self.gathered.notes.push(format!("the assertion filter could not be updated: {error}"));
        }
        engine.run(here, &mut |batch| self.observe(batch));
        for (test, paths) in std::mem::take(&mut self.unchecked) {
            let files = left_files::left_files(paths, self.here);
            self.observe(&[Event::FilesLeft { test, files }]);
        }
        if !depending.is_empty() && self.base.is_none() {
            self.compare_with_base(&depending);
        }
        if !at_base.is_empty() {
            self.run_at_base(at_base, engine.launch());
        }
        true
    }

    /// The sessions of the technique, and once it needs no more, of the assertion policy.
    fn next_sessions(&mut self) -> Vec<Session> {
        let sessions = self.technique.next_sessions(self.recorders.view());
        match &mut self.assertions {
            Some(policy) if sessions.is_empty() => {
                policy.next_sessions(&self.technique.findings(self.recorders.view()))
            }
            _ => sessions,
        }
    }

    /// Tells the engine which assertions may fail. None may where that is unknown.
    fn start_assertions(&mut self, engine: &mut Engine) {
        let sites = engine.sites(&mut |batch| self.observe(batch));
        let done = sites.and_then(|sites| {
            let tests = &self.gathered.tests;
            let hashes = engine.root().map(|root| source_files::hashes(tests, root)).unwrap_or_default();
            let may_fail = self.assertions.as_mut().map_or(Vec::new(), |policy| policy.start(tests, &sites, &hashes));
            engine.let_fail(&may_fail).map_err(|error| error.to_string())
        });
        if let Err(why) = done {
            self.gathered.notes.push(format!("the assertion filter is off: {why}"));
        }
    }

    /// Collects the findings with the commands that reproduce them, and stores and displays them.
    fn conclude(&mut self, settings: &Settings) {
        for (test, earlier) in self.memory.earlier_runs(&self.gathered.never_passed()) {
            self.observe(&[Event::EarlierRuns { test, earlier }]);
        }
        let mut findings = self.technique.findings(self.recorders.view());
        if let Some(policy) = &self.assertions {
            findings = policy.findings(findings);
        }
        for mut finding in findings {
            finding.reproduce = self.reproductions(&finding, &finding.replays, settings);
            if let Some(mut seeds) = self.seeds.take() {
                let alone = [Replay::sometimes_fails(vec![finding.test.clone()])];
                let plain = self.reproductions(&finding, &alone, settings).remove(0);
                seeds.add_command(&mut finding, &plain.command, self.here);
                self.seeds = Some(seeds);
            }
            if let Some(machines) = machines_of(&self.gathered, |attempt| attempt.test == finding.test) {
                finding.sentence.push_str(&format!("; on {machines}"));
            }
            diagnostics::log_finding(&finding);
            self.gathered.findings.push(finding);
        }
        if let Some(machines) = machines_of(&self.gathered, |_| true) {
            self.gathered.notes.push(format!("sessions ran on {machines}"));
        }
        self.gathered.known =
            self.memory.diagnoses(self.gathered.findings.iter().filter(|one| one.verdict().is_some()));
        self.memory.record_findings(&self.gathered.findings);
        self.gathered.answers = self.memory.answers();
        move_useless_last(&mut self.gathered.findings, &self.gathered.answers);
        for finding in self.gathered.findings.clone() {
            self.show(&Event::FindingMade(Box::new(finding)));
        }
    }

    /// The commands that reproduce a finding.
    fn reproductions(&self, finding: &Finding, replays: &[Replay], settings: &Settings) -> Vec<Reproduction> {
        let gathered = &self.gathered;
        let runner = gathered.runner.as_deref().and_then(unflake_runners::reported_as);
        // The plain runner would wait for such a test without end, or exit as if all had passed.
        let is_hidden = |outcome| matches!(outcome, Outcome::TimedOut | Outcome::Crashed(Death::Exit(0)));
        let mut of_test = gathered.attempts.iter().filter(|attempt| attempt.test == finding.test);
        let plain_shows_failure = !of_test.any(|attempt| is_hidden(attempt.outcome));
        let commands = ReproCommands { settings, runner, plain_shows_failure, reorders: gathered.reorders };
        let reproduction = |replay: &Replay| {
            let tests: Vec<&str> = replay.tests.iter().map(TestId::as_str).collect();
            let place = |test: &TestId| gathered.tests.iter().position(|listed| listed.id == *test);
            let places: Vec<Option<usize>> = match replay.tests.len() {
                2.. => replay.tests.iter().map(place).collect(),
                _ => Vec::new(),
            };
            let session = ReplayedSession {
                command: &settings.command.value,
                tests: &tests,
                in_listed_order: places.windows(2).all(|two| two[0].is_some() && two[0] < two[1]),
                at_once: replay.at_once,
                alone: replay.tests.first().and_then(|test| gathered.command_of(test)),
                root: gathered.root.as_deref(),
                here: self.here,
            };
            let command = commands.under(&replay.under, &session);
            let command = if replay.copies > 1 { in_copies(&command, replay.copies) } else { command };
            Reproduction { command, shows: replay.shows }
        };
        replays.iter().map(reproduction).collect()
    }

    /// Determines what changed, once, when the first dependencies are known.
    fn compare_with_base(&mut self, tests: &[TestId]) {
        let Some(compare) = &self.compare else { return };
        let compared = compare.compare(tests, self.memory);
        self.base = Some(compared.as_ref().map_or(String::new(), |one| one.changes.base.revision.clone()));
        self.observe(&[Event::ChangesCompared(Box::new(compared))]);
    }

    fn run_at_base(&mut self, sessions: Vec<Session>, launch: &Launch) {
        if let (Some(compare), Some(revision)) = (&self.compare, &self.base) {
            let observed = base_worktree::run(compare, revision, launch, sessions);
            self.observe(&observed);
        }
    }

    fn now(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Stores a batch of observations, then passes each to the technique, then displays it.
    fn observe(&mut self, batch: &[Event]) {
        let judged = self.assertions.as_mut().map(|policy| self.recorders.judge(batch, &mut **policy));
        let batch = judged.as_deref().unwrap_or(batch);
        self.memory.record(batch);
        let of_shard = self.without_other_shards(batch);
        let batch = of_shard.as_deref().unwrap_or(batch);
        for event in batch {
            diagnostics::log_event(event);
            self.recorders.record(event);
            if !self.is_of_policy(event) {
                self.technique.observe(event, self.recorders.view());
            }
            self.gather(event);
            self.show(event);
        }
        let now = self.now();
        let _ = self.progress.tick(now, &mut io::stderr());
    }

    /// The events with the tests of this shard only, where they list tests. The history has all.
    fn without_other_shards(&mut self, batch: &[Event]) -> Option<Vec<Event>> {
        let spec = self.shard.as_ref()?;
        if !batch.iter().any(|event| matches!(event, Event::TestsListed { .. })) {
            return None;
        }
        let mut batch = batch.to_vec();
        for event in &mut batch {
            if let Event::TestsListed { tests, .. } = event {
                let own = self.of_shard.get_or_insert_with(|| shards::plan(self.memory, spec, tests));
                let all = tests.len();
                tests.retain(|test| own.contains(&test.id));
                self.gathered.of_other_shards = all - tests.len();
            }
        }
        Some(batch)
    }

    /// Whether it belongs to a session of the assertion policy, which the technique did not
    /// request.
    fn is_of_policy(&self, event: &Event) -> bool {
        let session = match event {
            Event::AttemptStarted { session, .. } | Event::SessionEnded { session, .. } => *session,
            Event::AttemptEnded(attempt) => attempt.session,
            _ => return false,
        };
        self.assertions.as_ref().is_some_and(|policy| policy.owns(session))
    }

    /// A display that fails is no reason to stop.
    fn show(&mut self, event: &Event) {
        let now = self.now();
        let mut out = io::stderr();
        let _ = self.progress.event(now, event, &mut out);
        let _ = out.flush();
    }

    fn gather(&mut self, event: &Event) {
        let now = self.now();
        let gathered = &mut self.gathered;
        match event {
            Event::EnvironmentStarted(environment) => {
                gathered.runner.get_or_insert_with(|| environment.runner.clone());
                gathered.language.get_or_insert_with(|| environment.language.clone());
                if environment.parent.is_none() {
                    gathered.installed = gathered.installed.take().or_else(|| environment.installed.clone());
                }
            }
            Event::TestsListed { tests, deselected, isolated, .. } => {
                gathered.isolated = *isolated;
                gathered.tests = tests.clone();
                gathered.deselected = *deselected;
            }
            Event::Problem(problem) => gathered.problems.push(problem.clone()),
            Event::Note(note) => {
                if !gathered.notes.contains(note) {
                    gathered.notes.push(note.clone());
                }
            }
            Event::WorldEntered(world) => {
                if !gathered.worlds.contains(world) {
                    gathered.worlds.push(world.clone());
                }
            }
            Event::RunStarted { .. }
            | Event::FirstPassSpread { .. }
            | Event::FindingMade(_)
            | Event::RunEnded(_)
            | Event::TraceRecorded { .. }
            | Event::LayersRecorded { .. }
            | Event::AttemptStarted { .. }
            | Event::ChangesCompared(_)
            | Event::FilesLeft { .. }
            | Event::EarlierRuns { .. }
            | Event::StateLeaked { .. }
            | Event::ThreadsDelayed { .. }
            | Event::RestoreFailed { .. } => {}
            Event::DependenciesRecorded { test, on, .. } => self.written = Some((test.clone(), written(on))),
            Event::AttemptEnded(attempt) => {
                if let Some((test, paths)) = self.written.take()
                    && attempt.outcome.is_failure()
                    && attempt.test == test
                {
                    self.unchecked.push((test, paths));
                }
                if attempt.purpose == Purpose::Suite && attempt.run > 0 {
                    gathered.rerun_seconds += attempt.seconds;
                }
                gathered.failures += usize::from(attempt.outcome.is_failure());
                gathered.attempts.push(match gathered.failures {
                    ..=WHOLE_FAILURES if attempt.outcome.is_failure() => attempt.clone(),
                    ..=BEGUN_FAILURES => beginning_of(attempt, BEGINNING),
                    _ => message_beginning_of(attempt),
                });
            }
            Event::SessionEnded { session, left, why } => {
                // Only the suite is a plan; the verdict reports a rerun that could not be made.
                if session.0 < gathered.planned_sessions {
                    gathered.suite_ended = Some(now);
                    gathered.left.extend(left.iter().cloned());
                    gathered.left_why = gathered.left_why.take().or_else(|| why.clone());
                }
            }
        }
    }
}

/// The machines on which attempts ran, where they are not this one: a finding rests on them.
fn machines_of(gathered: &Gathered, counts: impl Fn(&Attempt) -> bool) -> Option<String> {
    let name = |world: &'_ World| Some((world.id(), world.machine.clone()?));
    let names: HashMap<WorldId, String> = gathered.worlds.iter().filter_map(name).collect();
    let attempts = gathered.attempts.iter().filter(|attempt| counts(attempt));
    let machines: BTreeSet<&str> = attempts.filter_map(|attempt| Some(names.get(&attempt.world?)?.as_str())).collect();
    let machines: Vec<&str> = machines.into_iter().collect();
    (!machines.is_empty()).then(|| machines.join(", "))
}

/// Moves findings with negative feedback to the end. Real failures stay in place.
fn move_useless_last(findings: &mut [Finding], answers: &[Feedback]) {
    let useless = |finding: &Finding| {
        let id = finding.id();
        !finding.is_real() && answers.iter().any(|answer| answer.finding == id && !answer.useful)
    };
    if answers.iter().any(|answer| !answer.useful) {
        findings.sort_by_cached_key(useless);
    }
}

/// The paths that an attempt wrote.
fn written(on: &Dependencies) -> Vec<PathBuf> {
    let inside = on.written.iter().map(|path| on.root.join(path));
    inside.chain(on.written_outside.iter().map(PathBuf::from)).collect()
}

/// The tests whose dependencies are requested.
fn tests_with_dependencies(sessions: &[Session]) -> Vec<TestId> {
    let requested = sessions.iter().filter(|session| session.depends.is_some());
    let mut tests: Vec<TestId> = requested.flat_map(|session| session.tests.iter().cloned()).collect();
    tests.sort();
    tests.dedup();
    tests
}

fn message_beginning_of(attempt: &Attempt) -> Attempt {
    let mut short = beginning_of(attempt, MESSAGE_BEGINNING);
    (short.stdout, short.stderr) = Default::default();
    if let Some(failure) = &mut short.failure {
        failure.trace.clear();
    }
    short
}

fn beginning_of(attempt: &Attempt, length: usize) -> Attempt {
    let cut = |text: &str| text.chars().take(length).collect::<String>();
    let failure = attempt.failure.as_ref().map(|failure| Failure {
        message: cut(&failure.message),
        trace: cut(&failure.trace),
        kind: failure.kind.clone(),
        file: failure.file.clone(),
        ..*failure
    });
    let test = attempt.test.clone();
    Attempt { test, failure, stdout: cut(&attempt.stdout), stderr: cut(&attempt.stderr), ..*attempt }
}
