//! Everything that the history knows of a flaky test: score, findings, feedback, prepared report,
//! last failure.

use std::collections::HashMap;
use std::path::Path;

use unflake_model::{Feedback, Finding, TestId, VerdictKind};
use unflake_report::{FlakyTest, KnownFinding, ScoreRow, diagnosis_rank, is_diagnosis};
use unflake_store::{ReadyReport, Store, StoredFinding, TestKey};
use unflake_techniques::TestStanding;

use crate::commands::history::score;
use crate::commands::locate::command::shown;
use crate::config::project;
use crate::error::CommandError;
use crate::history::scores::{self, TestScores};
use crate::output::report_path::report_path;
use crate::project::code_owners::CodeOwners;

/// The number of latest attempts in which the last failure is looked up.
const ATTEMPTS: usize = 200;

/// The history, read once for questions about many tests.
pub(crate) struct KnowledgeBase<'a> {
    pub(crate) store: &'a Store,
    directory: &'a Path,
    here: &'a Path,
    scores: TestScores,
    pub(crate) owners: CodeOwners,
    findings: HashMap<TestId, Vec<StoredFinding>>,
    ready: HashMap<TestId, ReadyReport>,
    answers: Vec<Feedback>,
}

impl<'a> KnowledgeBase<'a> {
    /// `directory`: that of the history; `main`: as for `unflake history score`.
    pub(crate) fn open(
        store: &'a Store,
        directory: &'a Path,
        here: &'a Path,
        main: Option<&str>,
    ) -> Result<Self, CommandError> {
        let mut findings: HashMap<TestId, Vec<StoredFinding>> = HashMap::new();
        for stored in store.latest_findings(usize::MAX)? {
            findings.entry(stored.finding.test.clone()).or_default().push(stored);
        }
        Ok(Self {
            store,
            directory,
            here,
            scores: scores::compute(store, main)?,
            owners: CodeOwners::find(&project::find(here)),
            findings,
            ready: store.prepared(None)?.into_iter().map(|ready| (ready.test.clone(), ready)).collect(),
            answers: store.feedback()?,
        })
    }

    /// The flaky tests, the likeliest to fail first.
    pub(crate) fn flaky(&self, at_least: f64) -> Vec<ScoreRow> {
        let mut rows: Vec<ScoreRow> = (self.scores.all.iter())
            .filter(|(_, standing)| standing.score.is_flaky() && standing.score.probability >= at_least)
            .filter_map(|(key, standing)| score::row(*key, standing, &self.scores, &self.owners))
            .collect();
        rows.sort_by(|one, other| {
            other.probability.total_cmp(&one.probability).then_with(|| one.test.cmp(&other.test))
        });
        rows
    }

    pub(crate) fn key(&self, test: &TestId) -> Option<TestKey> {
        self.scores.tests.values().find(|stored| stored.test == *test).map(|stored| stored.key)
    }

    /// The earlier names of a test.
    pub(crate) fn formerly(&self, test: &TestId) -> Vec<(Option<TestKey>, TestId)> {
        let names = self.key(test).map(|key| self.scores.formerly(key)).unwrap_or_default();
        names.into_iter().map(TestId::new).map(|test| (self.key(&test), test)).collect()
    }

    /// The current name of a renamed test.
    pub(crate) fn name_today(&self, test: &TestId) -> Option<String> {
        let key = self.key(test)?;
        let (today, _) = self.scores.formerly.iter().find(|(_, old)| old.contains(&key))?;
        Some(self.scores.tests.get(today)?.test.to_string())
    }

    fn standing(&self, test: &TestId) -> Option<&(TestKey, TestStanding)> {
        let key = self.key(test)?;
        self.scores.all.iter().find(|(one, _)| *one == key)
    }

    /// Everything that is known of one test.
    pub(crate) fn of(&self, test: &TestId) -> Result<FlakyTest, CommandError> {
        let row =
            self.standing(test).and_then(|(key, standing)| score::row(*key, standing, &self.scores, &self.owners));
        let known = self.known(test);
        // A later run that could not reproduce the failure does not invalidate earlier findings.
        let ready = self.ready.get(test).filter(|ready| ready.report.finding.is_none());
        let not_reproduced = ready.map(|ready| (ready.started, ready.report.meaning.clone()));
        Ok(FlakyTest {
            test: test.clone(),
            row,
            touched: Vec::new(),
            findings: known,
            not_reproduced,
            failure: self.failure(test)?,
            verdict: self.verdict(test),
        })
    }

    /// The latest verdict on a test.
    fn verdict(&self, test: &TestId) -> Option<VerdictKind> {
        self.findings.get(test)?.iter().find_map(|stored| Some(stored.finding.verdict()?.kind))
    }

    /// The latest finding of each technique, the most specific first; those marked as not useful
    /// last.
    fn known(&self, test: &TestId) -> Vec<KnownFinding> {
        let mut known: Vec<KnownFinding> = Vec::new();
        for stored in self.findings.get(test).into_iter().flatten().filter(|stored| is_diagnosis(&stored.finding)) {
            if known.iter().any(|known| known.finding.technique() == stored.finding.technique()) {
                continue;
            }
            let id = stored.finding.id();
            let answer = self.answers.iter().find(|answer| answer.finding == id && !answer.useful).cloned();
            let page = report_path(self.directory, test, "");
            let page = (stored.finding.technique() == "divergence" && page.is_file()).then(|| shown(&page, self.here));
            known.push(KnownFinding {
                finding: stored.finding.clone(),
                when: stored.started,
                commit: stored.commit.clone(),
                feedback: answer,
                page,
            });
        }
        known.sort_by_key(|known| (known.feedback.is_some(), diagnosis_rank(&known.finding)));
        known
    }

    /// The other tests with the same cause as this finding, the likeliest to fail first.
    pub(crate) fn others_with(&self, finding: &Finding) -> Vec<TestId> {
        let cause = finding.cause();
        let mut tests: Vec<(TestId, f64)> = (self.findings.keys())
            .filter(|test| **test != finding.test)
            .filter(|test| self.known(test).first().is_some_and(|known| known.finding.cause() == cause))
            .map(|test| (test.clone(), self.probability(test)))
            .collect();
        tests.sort_by(|(one, score), (other, than)| than.total_cmp(score).then_with(|| one.cmp(other)));
        tests.into_iter().map(|(test, _)| test).collect()
    }

    fn probability(&self, test: &TestId) -> f64 {
        self.standing(test).map_or(0.0, |(_, standing)| standing.score.probability)
    }

    /// The text of the last failure, of a run of unflake or else of an imported report.
    fn failure(&self, test: &TestId) -> Result<String, CommandError> {
        let ours = self.store.attempts_of(test, ATTEMPTS)?.into_iter().find_map(|kept| kept.attempt.failure);
        if let Some(failure) = ours {
            let has_kind = failure.message.starts_with(&failure.kind);
            return Ok(if has_kind { failure.message } else { format!("{}\n{}", failure.kind, failure.message) });
        }
        let reported = self.key(test).map(|key| self.store.reported_of(key)).transpose()?.unwrap_or_default();
        let failed = reported.into_iter().filter(|past| past.execution.outcome.is_failure());
        Ok(failed.max_by_key(|past| past.source.started).map(|past| past.message).unwrap_or_default())
    }
}
