//! The loop: an inquiry asks for sessions, exec runs them, and what is observed is kept, shown and heard, until the
//! inquiry has nothing more to ask. Closed here and nowhere else.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use unflake_engine::{Engine, Launch, RunnerExit};
use unflake_model::{
    Attempt, Event, Failure, Feedback, Finding, Measurement, Problem, Purpose, QuarantineResult, Session, Test, TestId,
    Totals,
};
use unflake_report::Progress;
use unflake_runners::ReplayedSession;
use unflake_techniques::Technique;

use crate::diagnostics;
use crate::history::recorder::HistoryRecorder;
use crate::project::base_worktree;
use crate::project::comparison::ComparisonBase;
use crate::project::source_files;
use crate::repro_command;

/// Of more failing attempts than this only the beginnings of their texts stay in memory, and of many more than that only what
/// they said first. The history has them whole.
const WHOLE_FAILURES: usize = 300;
const BEGINNING: usize = 2000;
const BEGUN_FAILURES: usize = 3000;
const FIRST_WORDS: usize = 300;

/// Everything that a campaign has gathered.
#[derive(Default)]
pub(crate) struct Gathered {
    pub(crate) runner: Option<String>,
    pub(crate) language: Option<String>,
    pub(crate) tests: Vec<Test>,
    pub(crate) deselected: u32,
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) notes: Vec<String>,
    pub(crate) left: Vec<TestId>,
    pub(crate) left_why: Option<String>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) measured: Option<Measurement>,
    /// What people said of findings.
    pub(crate) answers: Vec<Feedback>,
    /// What is in quarantine, and what it came to.
    pub(crate) apart: Vec<QuarantineResult>,
    pub(crate) totals: Totals,
    pub(crate) listed: bool,
    /// Whether tests run in processes of their own.
    pub(crate) isolated: bool,
    pub(crate) closed: Option<RunnerExit>,
    /// The directory that names of tests are relative to.
    pub(crate) root: Option<PathBuf>,
    failures: usize,
    rerun_seconds: f64,
    suite_ended: Option<f64>,
}

impl Gathered {
    /// The plain runner's command for one test, where the agent gave it.
    fn command_of(&self, test: &TestId) -> Option<&[String]> {
        let found = self.tests.iter().find(|one| one.id == *test)?;
        Some(&found.command[..]).filter(|words| !words.is_empty())
    }
}

pub(crate) struct Campaign<'a> {
    pub(crate) inquiry: &'a mut dyn Technique,
    pub(crate) memory: &'a mut HistoryRecorder,
    pub(crate) progress: Progress,
    /// Where the command is run.
    pub(crate) here: &'a Path,
    /// What to compare with, where there is a repository.
    pub(crate) compare: Option<ComparisonBase>,
    /// What is done with attempts, and before each with its trace and with what it looked like, whose files are gone when the run is over.
    pub(crate) take: Box<dyn FnMut(&Event) + 'a>,
    pub(crate) began: Instant,
    pub(crate) gathered: Gathered,
    /// The revision of the base, once that has been looked for; empty where there is none.
    pub(crate) base: Option<String>,
}

impl Campaign<'_> {
    /// Runs the whole conversation. `gates` says of a finding whether it makes the run fail.
    pub(crate) fn run(
        mut self,
        mut exec: Engine,
        command: &[String],
        gates: impl Fn(&Gathered, &Finding) -> bool,
    ) -> Gathered {
        self.show(&Event::RunStarted { command: command.to_vec() });
        self.gathered.listed = exec.list(&mut |batch| self.hear(batch));
        diagnostics::log_listing(self.gathered.listed, self.now());
        if self.gathered.listed && !self.gathered.tests.is_empty() {
            if exec.launch().filter {
                self.let_fail(&mut exec);
            }
            while !exec.was_interrupted() && !exec.is_budget_exhausted() {
                let sessions = self.inquiry.ask();
                diagnostics::log_question(&sessions);
                if sessions.is_empty() {
                    break;
                }
                let depending: Vec<TestId> = depending(&sessions);
                let (at_base, here): (Vec<Session>, _) =
                    sessions.into_iter().partition(|session| session.purpose == Purpose::Base);
                if let Some(Err(error)) = self.inquiry.may_fail_now().map(|may_fail| exec.let_fail(&may_fail)) {
                    self.gathered.notes.push(format!("what may fail could not be told: {error}"));
                }
                exec.run(here, &mut |batch| self.hear(batch));
                if !depending.is_empty() && self.base.is_none() {
                    self.look_at_changes(&depending);
                }
                if !at_base.is_empty() {
                    self.run_at_base(at_base, exec.launch());
                }
            }
        }
        self.gathered.root = exec.root().map(Path::to_owned);
        let root = self.gathered.root.clone();
        for mut finding in self.inquiry.findings() {
            let alone = finding.replay.first().and_then(|test| self.gathered.command_of(test));
            let tests: Vec<&str> = finding.replay.iter().map(TestId::as_str).collect();
            let session = ReplayedSession { command, tests: &tests, alone, root: root.as_deref(), here: self.here };
            finding.repeat = Some(repro_command::of(&session, self.gathered.runner.as_deref()));
            diagnostics::log_finding(&finding);
            self.gathered.findings.push(finding);
        }
        // Real failures say so themselves, and nobody can answer that they are of no use.
        let told: Vec<Finding> = self.gathered.findings.iter().filter(|one| !one.is_real()).cloned().collect();
        self.memory.record_findings(&told);
        self.gathered.answers = self.memory.answers();
        lower(&mut self.gathered.findings, &self.gathered.answers);
        for finding in self.gathered.findings.clone() {
            self.show(&Event::FindingMade(Box::new(finding)));
        }
        let now = self.now();
        let after_suite = self.gathered.suite_ended.map_or(0.0, |ended| now - ended);
        let interrupted = exec.was_interrupted();
        let failed = self.gathered.findings.iter().filter(|finding| gates(&self.gathered, finding)).count() as u32;
        self.gathered.closed = Some(exec.close(failed, &mut |batch| self.hear(batch)));
        self.gathered.totals =
            Totals { seconds: self.now(), rerun_seconds: self.gathered.rerun_seconds + after_suite, interrupted };
        let ended = Event::RunEnded(self.gathered.totals.clone());
        self.show(&ended);
        self.gathered
    }

    /// Has the inquiry say which assertions may fail. Where it cannot be asked, none may.
    fn let_fail(&mut self, exec: &mut Engine) {
        let sites = exec.sites(&mut |batch| self.hear(batch));
        let done = sites.and_then(|sites| {
            let sources = exec.root().map(|root| source_files::hashes(&self.gathered.tests, root)).unwrap_or_default();
            let may_fail = self.inquiry.let_fail(&sites, &sources);
            exec.let_fail(&may_fail).map_err(|error| error.to_string())
        });
        if let Err(why) = done {
            self.gathered.notes.push(format!("no assertion was let fail: {why}"));
        }
    }

    /// Once, when the first failing tests have been asked what they depend on.
    fn look_at_changes(&mut self, tests: &[TestId]) {
        let Some(compare) = &self.compare else { return };
        let compared = compare.compare(tests, self.memory);
        self.base = Some(compared.as_ref().map_or(String::new(), |one| one.changes.base.revision.clone()));
        self.hear(&[Event::ChangesCompared(Box::new(compared))]);
    }

    fn run_at_base(&mut self, sessions: Vec<Session>, launch: &Launch) {
        if let (Some(compare), Some(revision)) = (&self.compare, &self.base) {
            let seen = base_worktree::run(compare, revision, launch, sessions);
            self.hear(&seen);
        }
    }

    fn now(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Kept before it is heard, heard before it is shown.
    fn hear(&mut self, batch: &[Event]) {
        let instead = self.inquiry.instead(batch);
        let batch = instead.as_deref().unwrap_or(batch);
        self.memory.record(batch);
        for event in batch {
            diagnostics::log_event(event);
            self.inquiry.hear(event);
            self.gather(event);
            self.show(event);
        }
        let now = self.now();
        let _ = self.progress.tick(now, &mut io::stderr());
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
            }
            Event::TestsListed { tests, deselected, isolated } => {
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
            Event::RunStarted { .. }
            | Event::FindingMade(_)
            | Event::RunEnded(_)
            | Event::AttemptStarted { .. }
            | Event::ChangesCompared(_)
            | Event::DependenciesRecorded { .. }
            | Event::WorldEntered { .. }
            | Event::StateLeaked { .. }
            | Event::RestoreFailed { .. } => {}
            Event::TraceRecorded { .. } | Event::LayersRecorded { .. } => (self.take)(event),
            Event::AttemptEnded(attempt) => {
                (self.take)(event);
                if attempt.purpose == Purpose::Suite && attempt.run > 0 {
                    gathered.rerun_seconds += attempt.seconds;
                }
                gathered.failures += usize::from(attempt.outcome.is_failure());
                gathered.attempts.push(match gathered.failures {
                    ..=WHOLE_FAILURES if attempt.outcome.is_failure() => attempt.clone(),
                    ..=BEGUN_FAILURES => beginning_of(attempt, BEGINNING),
                    _ => first_words_of(attempt),
                });
            }
            Event::SessionEnded { session, left, why } => {
                // Only what the suite left out was planned; a rerun that could not be made is told in its verdict.
                if session.0 == 0 {
                    gathered.suite_ended = Some(now);
                    gathered.left.extend(left.iter().cloned());
                    gathered.left_why = gathered.left_why.take().or_else(|| why.clone());
                }
            }
        }
    }
}

/// What people found of no use comes after everything else. Real failures stay where they are.
fn lower(findings: &mut [Finding], answers: &[Feedback]) {
    let useless = |finding: &Finding| {
        let id = finding.id();
        !finding.is_real() && answers.iter().any(|answer| answer.finding == id && !answer.useful)
    };
    if answers.iter().any(|answer| !answer.useful) {
        findings.sort_by_cached_key(useless);
    }
}

/// The tests of which is wanted to be known what they depend on.
fn depending(sessions: &[Session]) -> Vec<TestId> {
    let wanted = sessions.iter().filter(|session| session.depends.is_some());
    let mut tests: Vec<TestId> = wanted.flat_map(|session| session.tests.iter().cloned()).collect();
    tests.sort();
    tests.dedup();
    tests
}

fn first_words_of(attempt: &Attempt) -> Attempt {
    let mut short = beginning_of(attempt, FIRST_WORDS);
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
