//! Builds the view of each page from the overview and the history.

use std::collections::{BTreeMap, HashMap};

use unflake_model::{Day, Detail, Timestamp};
use unflake_report::pages::{
    CausePage, CauseSummary, FailureGroup, FindingEntry, Inbox, LocateRecord, Matrix, MatrixCell, MatrixRow,
    Pagination, PastAttempt, TestEntry, TestList, TestPage,
};
use unflake_report::{NextAction, NextStep, ScoreRow, Symptoms, finding_sentence, next_step};
use unflake_store::{FailureRef, SourceId, Store, StoredFinding, TestKey};

use super::causes::{CauseFacts, SeenFailure};
use super::overview::{Overview, concerns};
use super::runs;
use crate::commands::history::score;
use crate::commands::history::show::HistoryAttempt;
use crate::commands::quarantine::file::QuarantineFile;
use crate::error::CommandError;

const CAUSES: usize = 40;
const TESTS: usize = 100;
const COLUMNS: usize = 60;
/// The largest number of tests of a cause in its inbox entry, and on its own page.
const FEW: usize = 4;
const MANY: usize = 300;
/// The number of latest attempts on the page of a test.
const ATTEMPTS: usize = 300;
/// The number of latest sources that are searched for them.
const SOURCES: usize = 1000;

/// The data that a page is built from.
pub(crate) struct ViewBuilder<'a> {
    pub(crate) overview: &'a Overview,
    pub(crate) store: &'a Store,
    pub(crate) quarantine: &'a QuarantineFile,
    pub(crate) now: Timestamp,
}

impl ViewBuilder<'_> {
    pub(crate) fn inbox(&self, page: usize, behind: bool) -> Result<Inbox, CommandError> {
        let (causes, pages) = Pagination::cut(&self.overview.causes, page, CAUSES);
        let causes = causes.iter().map(|cause| self.cause(cause, FEW)).collect::<Result<_, _>>()?;
        let mut overall = self.overview.overall();
        overall.behind = behind;
        overall.going_on = runs::in_progress(self)?;
        Ok(Inbox { overall, causes, pages })
    }

    pub(crate) fn cause_page(&self, id: &str) -> Result<Option<CausePage>, CommandError> {
        let Some(cause) = self.overview.causes.iter().find(|cause| cause.id == id) else { return Ok(None) };
        let trace = cause.newest.map(|newest| self.store.text(newest.trace)).transpose()?.unwrap_or_default();
        Ok(Some(CausePage { cause: self.cause(cause, MANY)?, trace }))
    }

    fn cause(&self, facts: &CauseFacts, most: usize) -> Result<CauseSummary, CommandError> {
        let texts = facts.newest.map(|newest| self.texts(newest)).transpose()?;
        let (kind, message, file) = texts.unwrap_or_default();
        Ok(CauseSummary {
            id: facts.id.clone(),
            kind,
            message,
            file,
            failures: facts.failures,
            seconds_lost: facts.seconds_lost,
            last: facts.last,
            test_count: facts.tests.len(),
            tests: facts.tests.iter().take(most).filter_map(|key| self.concern(*key)).collect(),
        })
    }

    /// Kind, message and file.
    fn texts(&self, failure: FailureRef) -> Result<(String, String, Option<String>), CommandError> {
        let file = failure.file.map(|file| self.store.text(file)).transpose()?;
        Ok((self.store.text(failure.kind)?, self.store.text(failure.message)?, file))
    }

    pub(crate) fn concern(&self, key: TestKey) -> Option<TestEntry> {
        let standing = self.overview.standing(key)?;
        let score = score::row(key, standing, &self.overview.scores, &self.overview.owners)?;
        let entry = self.quarantine.entries.iter().find(|entry| entry.test.as_str() == score.test);
        let quarantined_until = entry.map(|entry| entry.expires).filter(|last| *last >= Day::of(self.now));
        let next = self.next(key, &score);
        Some(TestEntry { key: key.0, score, quarantined_until, next })
    }

    /// The diagnosis of a test, or the command that `unflake run` recommends for a flaky or broken one.
    fn next(&self, key: TestKey, score: &ScoreRow) -> Option<NextAction> {
        let verdict = self.overview.useful_findings(key).find_map(|finding| Some(finding.verdict()?.kind));
        let symptoms = Symptoms { test: &score.test, verdict, state: Some(score.state), can_order: true };
        let next = next_step(&symptoms, self.overview.useful_findings(key))?;
        let is_due = self.overview.standing(key).is_some_and(concerns) || matches!(next, NextStep::Diagnosed(_));
        is_due.then(|| NextAction::of(&next))
    }

    /// The tests with this in their names, in the order of the overview.
    fn matching(&self, query: &str) -> Vec<TestKey> {
        let scores = &self.overview.scores;
        let keys = self.overview.order().iter().map(|at| scores.all[*at].0);
        let has = |key: &TestKey| {
            query.is_empty() || scores.tests.get(key).is_some_and(|stored| stored.test.as_str().contains(query))
        };
        keys.filter(has).collect()
    }

    pub(crate) fn tests(&self, query: &str, page: usize) -> TestList {
        let all = self.matching(query);
        let (shown, pages) = Pagination::cut(&all, page, TESTS);
        let tests = shown.iter().filter_map(|key| self.concern(*key)).collect();
        TestList { query: query.to_owned(), tests, pages }
    }

    /// The outcomes of the tests of one page in the runs of one page of columns, counted from the
    /// newest.
    pub(crate) fn matrix(&self, query: &str, page: usize, columns: usize) -> Result<Matrix, CommandError> {
        let all = self.matching(query);
        let (shown, pages) = Pagination::cut(&all, page, TESTS);
        let scores = &self.overview.scores;
        // Searches and experiments are not columns.
        let ran = |run: &usize| self.overview.tallies[*run].executions() > 0;
        let newest_first: Vec<usize> = (0..scores.runs.len()).rev().filter(ran).collect();
        let (runs, columns) = Pagination::cut(&newest_first, columns, COLUMNS);
        let places: HashMap<TestKey, usize> = shown.iter().enumerate().map(|(at, key)| (*key, at)).collect();
        let mut cells = vec![vec![MatrixCell::Absent; runs.len()]; shown.len()];
        for (column, run) in runs.iter().rev().enumerate() {
            for part in &scores.parts[*run] {
                self.store.executions_in(*part, &mut |execution| {
                    if let Some(row) = places.get(&scores.today(execution.test)) {
                        let cell = &mut cells[*row][column];
                        *cell = cell.and(match execution.outcome {
                            outcome if outcome.is_failure() => MatrixCell::Failed,
                            outcome if outcome.is_pass() => MatrixCell::Passed,
                            _ => MatrixCell::Skipped,
                        });
                    }
                })?;
            }
        }
        let rows = shown.iter().zip(cells);
        let rows = rows.filter_map(|(key, cells)| Some(MatrixRow { concern: self.concern(*key)?, cells })).collect();
        let runs = runs.iter().rev().map(|run| runs::head(&scores.runs[*run])).collect();
        Ok(Matrix { runs, rows, pages, columns, query: query.to_owned() })
    }

    pub(crate) fn test(&self, key: TestKey) -> Result<Option<TestPage>, CommandError> {
        let scores = &self.overview.scores;
        let key = scores.today(key);
        let (Some(concern), Some(stored)) = (self.concern(key), scores.tests.get(&key)) else { return Ok(None) };
        let mut past: Vec<PastAttempt> = Vec::new();
        let ids = self.runs_of_reports();
        let sources = self.store.sources()?;
        for name in scores.names(key).filter_map(|key| scores.tests.get(&key)) {
            for kept in self.store.attempts_of(&name.test, ATTEMPTS)? {
                let run = kept.run.to_string();
                past.push(past_of(&HistoryAttempt::of_ours(kept), Some(run)));
            }
            for reported in self.store.reported_in(sources.iter().rev().take(SOURCES), name.key, ATTEMPTS)? {
                let run = ids.get(&reported.source.id).cloned();
                past.push(past_of(&HistoryAttempt::of_report(reported), run));
            }
        }
        past.sort_by_key(|one| std::cmp::Reverse(one.when));
        past.truncate(ATTEMPTS);
        let seen = self.overview.failures.get(&key).map_or(&[][..], Vec::as_slice);
        let failures = seen.iter().take(FEW * 3).map(|one| self.seen(one)).collect::<Result<_, _>>()?;
        Ok(Some(TestPage {
            concern,
            line: stored.line,
            looked_into: self.looked_into(key),
            findings: self.findings(key)?,
            failures,
            past,
        }))
    }

    fn seen(&self, seen: &SeenFailure) -> Result<FailureGroup, CommandError> {
        let (kind, message, _) = self.texts(seen.newest)?;
        Ok(FailureGroup {
            id: seen.cause.clone(),
            fingerprint: seen.fingerprint.clone(),
            kind,
            message,
            trace: self.store.text(seen.newest.trace)?,
            count: seen.count,
            last: seen.last,
        })
    }

    /// The id of the run that each report belongs to.
    fn runs_of_reports(&self) -> BTreeMap<SourceId, String> {
        let scores = &self.overview.scores;
        let runs = scores.parts.iter().zip(&scores.runs);
        runs.flat_map(|(parts, first)| parts.iter().map(|part| (*part, runs::head(first).id))).collect()
    }

    /// The latest finding on where the test starts to fail.
    pub(crate) fn located(&self, key: TestKey) -> Option<&StoredFinding> {
        let found = self.overview.findings.get(&key)?;
        found.iter().find(|stored| matches!(stored.finding.detail, Detail::Divergence(_)))
    }

    fn looked_into(&self, key: TestKey) -> Option<LocateRecord> {
        let ready = self.overview.ready.get(&key)?;
        let (commit, meaning) = (ready.commit.clone(), ready.report.meaning.clone());
        Some(LocateRecord { when: ready.started, commit, meaning })
    }

    /// All findings on a test, the newest first.
    fn findings(&self, key: TestKey) -> Result<Vec<FindingEntry>, CommandError> {
        let Some(found) = self.overview.findings.get(&key) else { return Ok(Vec::new()) };
        let answers = self.store.feedback()?;
        Ok(found
            .iter()
            .map(|stored| {
                let id = stored.finding.id();
                let answer = answers.iter().find(|answer| answer.finding == id);
                FindingEntry {
                    technique: stored.finding.technique(),
                    sentence: finding_sentence(&stored.finding).into_owned(),
                    when: stored.started,
                    commit: stored.commit.clone(),
                    reproduce: stored.finding.reproduce.clone(),
                    not_useful_since: answer.filter(|answer| !answer.useful).map(|answer| answer.at),
                    is_located: matches!(stored.finding.detail, Detail::Divergence(_)),
                    real: stored.finding.is_real(),
                    assertion: match &stored.finding.detail {
                        Detail::Filter(filtered) => Some(filtered.assertion.spot.expression.clone()),
                        _ => None,
                    },
                    id: id.0,
                }
            })
            .collect())
    }
}

fn past_of(attempt: &HistoryAttempt, run: Option<String>) -> PastAttempt {
    let row = attempt.row();
    PastAttempt {
        when: row.when,
        outcome: row.outcome,
        seconds: row.seconds,
        revision: row.revision.map(str::to_owned),
        place: row.circumstances(),
        run,
        message: row.message.to_owned(),
    }
}
