//! From the overview and the history to what each page shows.

use std::collections::{BTreeMap, HashMap};

use unflake_model::{Day, Detail, Finding, Timestamp};
use unflake_report::pages::{
    Cause, CausePage, Cell, Concern, FailureSeen, Inbox, LookedInto, Matrix, MatrixRow, Pages, Past, Start,
    TestKnowledge, TestPage, Tests,
};
use unflake_store::{FailureRef, SourceId, Store, StoredFinding, TestKey};

use super::causes::{CauseFacts, SeenFailure};
use super::overview::{Overview, start};
use super::runs;
use crate::commands::history::Line;
use crate::commands::quarantine::file::QuarantineFile;
use crate::commands::score;
use crate::error::Trouble;

const CAUSES: usize = 40;
const TESTS: usize = 100;
const COLUMNS: usize = 60;
/// Tests of a cause that its entry in the inbox knows, and its own page.
const FEW: usize = 4;
const MANY: usize = 300;
/// Attempts that a test's page looks at.
const ATTEMPTS: usize = 300;
/// Sources of reports that it looks through for them.
const SOURCES: usize = 1000;

/// What is looked at to draw a page.
pub(crate) struct Sight<'a> {
    pub(crate) overview: &'a Overview,
    pub(crate) store: &'a Store,
    pub(crate) quarantine: &'a QuarantineFile,
    pub(crate) now: Timestamp,
}

impl Sight<'_> {
    pub(crate) fn inbox(&self, page: usize, behind: bool) -> Result<Inbox, Trouble> {
        let (causes, pages) = Pages::cut(&self.overview.causes, page, CAUSES);
        let causes = causes.iter().map(|cause| self.cause(cause, FEW)).collect::<Result<_, _>>()?;
        let mut overall = self.overview.overall();
        overall.behind = behind;
        overall.going_on = runs::going_on(self)?;
        Ok(Inbox { overall, causes, pages })
    }

    pub(crate) fn cause_page(&self, id: &str) -> Result<Option<CausePage>, Trouble> {
        let Some(cause) = self.overview.causes.iter().find(|cause| cause.id == id) else { return Ok(None) };
        let trace = cause.newest.map(|newest| self.store.text(newest.trace)).transpose()?.unwrap_or_default();
        Ok(Some(CausePage { cause: self.cause(cause, MANY)?, trace }))
    }

    fn cause(&self, facts: &CauseFacts, most: usize) -> Result<Cause, Trouble> {
        let said = facts.newest.map(|newest| self.said(newest)).transpose()?;
        let (kind, message, file) = said.unwrap_or_default();
        Ok(Cause {
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
    fn said(&self, failure: FailureRef) -> Result<(String, String, Option<String>), Trouble> {
        let file = failure.file.map(|file| self.store.text(file)).transpose()?;
        Ok((self.store.text(failure.kind)?, self.store.text(failure.message)?, file))
    }

    pub(crate) fn concern(&self, key: TestKey) -> Option<Concern> {
        let standing = self.overview.standing(key)?;
        let score = score::row(key, standing, &self.overview.standings, &self.overview.owners)?;
        let entry = self.quarantine.entries.iter().find(|entry| entry.test.as_str() == score.test);
        let quarantined_until = entry.map(|entry| entry.expires).filter(|last| *last >= Day::of(self.now));
        Some(Concern { key: key.0, score, quarantined_until, starts: self.overview.starts(key) })
    }

    /// The tests with this in their names, in the order of the overview.
    fn matching(&self, query: &str) -> Vec<TestKey> {
        let standings = &self.overview.standings;
        let keys = self.overview.order.iter().map(|at| standings.all[*at].0);
        let has = |key: &TestKey| {
            query.is_empty() || standings.tests.get(key).is_some_and(|kin| kin.test.as_str().contains(query))
        };
        keys.filter(has).collect()
    }

    pub(crate) fn tests(&self, query: &str, page: usize) -> Tests {
        let all = self.matching(query);
        let (shown, pages) = Pages::cut(&all, page, TESTS);
        let tests = shown.iter().filter_map(|key| self.concern(*key)).collect();
        Tests { query: query.to_owned(), tests, pages }
    }

    /// What the tests of one page did in some runs; of these, `columns` counts from the newest.
    pub(crate) fn matrix(&self, query: &str, page: usize, columns: usize) -> Result<Matrix, Trouble> {
        let all = self.matching(query);
        let (shown, pages) = Pages::cut(&all, page, TESTS);
        let standings = &self.overview.standings;
        // A search or an experiment is no column.
        let ran = |run: &usize| self.overview.tallies[*run].executions() > 0;
        let newest_first: Vec<usize> = (0..standings.runs.len()).rev().filter(ran).collect();
        let (runs, columns) = Pages::cut(&newest_first, columns, COLUMNS);
        let places: HashMap<TestKey, usize> = shown.iter().enumerate().map(|(at, key)| (*key, at)).collect();
        let mut cells = vec![vec![Cell::Absent; runs.len()]; shown.len()];
        for (column, run) in runs.iter().rev().enumerate() {
            for part in &standings.parts[*run] {
                self.store.executions_in(*part, &mut |execution| {
                    if let Some(row) = places.get(&standings.today(execution.test)) {
                        let cell = &mut cells[*row][column];
                        *cell = cell.and(match execution.outcome {
                            outcome if outcome.is_failure() => Cell::Failed,
                            outcome if outcome.is_pass() => Cell::Passed,
                            _ => Cell::Skipped,
                        });
                    }
                })?;
            }
        }
        let rows = shown.iter().zip(cells);
        let rows = rows.filter_map(|(key, cells)| Some(MatrixRow { concern: self.concern(*key)?, cells })).collect();
        let runs = runs.iter().rev().map(|run| runs::head(&standings.runs[*run])).collect();
        Ok(Matrix { runs, rows, pages, columns, query: query.to_owned() })
    }

    pub(crate) fn test(&self, key: TestKey) -> Result<Option<TestPage>, Trouble> {
        let standings = &self.overview.standings;
        let key = standings.today(key);
        let (Some(concern), Some(kin)) = (self.concern(key), standings.tests.get(&key)) else { return Ok(None) };
        let mut past: Vec<Past> = Vec::new();
        let ids = self.runs_of_reports();
        let sources = self.store.sources()?;
        for name in standings.names(key).filter_map(|key| standings.tests.get(&key)) {
            for kept in self.store.attempts_of(&name.test, ATTEMPTS)? {
                let run = kept.run.to_string();
                past.push(pasts(&Line::of_ours(kept), Some(run)));
            }
            for told in self.store.reported_in(sources.iter().rev().take(SOURCES), name.key, ATTEMPTS)? {
                let run = ids.get(&told.source.id).cloned();
                past.push(pasts(&Line::of_report(told), run));
            }
        }
        past.sort_by_key(|one| std::cmp::Reverse(one.when));
        past.truncate(ATTEMPTS);
        let seen = self.overview.failures.get(&key).map_or(&[][..], Vec::as_slice);
        let failures = seen.iter().take(FEW * 3).map(|one| self.seen(one)).collect::<Result<_, _>>()?;
        Ok(Some(TestPage {
            concern,
            line: kin.line,
            looked_into: self.looked_into(key),
            findings: self.findings(key)?,
            failures,
            past,
        }))
    }

    fn seen(&self, seen: &SeenFailure) -> Result<FailureSeen, Trouble> {
        let (kind, message, _) = self.said(seen.newest)?;
        Ok(FailureSeen {
            id: seen.cause.clone(),
            fingerprint: seen.fingerprint.clone(),
            kind,
            message,
            trace: self.store.text(seen.newest.trace)?,
            count: seen.count,
            last: seen.last,
        })
    }

    /// The name of the run that a report is a part of.
    fn runs_of_reports(&self) -> BTreeMap<SourceId, String> {
        let standings = &self.overview.standings;
        let runs = standings.parts.iter().zip(&standings.runs);
        runs.flat_map(|(parts, first)| parts.iter().map(|part| (*part, runs::head(first).id))).collect()
    }

    /// Where the test starts to fail, as it was found out last.
    pub(crate) fn located(&self, key: TestKey) -> Option<&StoredFinding> {
        let found = self.overview.found.get(&key)?;
        found.iter().find(|said| matches!(said.finding.detail, Detail::Divergence(_)))
    }

    fn looked_into(&self, key: TestKey) -> Option<LookedInto> {
        let ready = self.overview.ready.get(&key)?;
        let (commit, meaning) = (ready.commit.clone(), ready.report.meaning.clone());
        Some(LookedInto { when: ready.started, commit, meaning })
    }

    /// All that was found out about it, the newest first.
    fn findings(&self, key: TestKey) -> Result<Vec<TestKnowledge>, Trouble> {
        let Some(found) = self.overview.found.get(&key) else { return Ok(Vec::new()) };
        let answers = self.store.answers()?;
        Ok(found
            .iter()
            .map(|said| {
                let id = said.finding.id();
                let answer = answers.iter().find(|answer| answer.finding == id);
                TestKnowledge {
                    technique: said.finding.technique(),
                    sentence: said.finding.sentence.clone(),
                    when: said.started,
                    commit: said.commit.clone(),
                    repeat: said.finding.repeat.clone(),
                    not_useful_since: answer.filter(|answer| !answer.useful).map(|answer| answer.at),
                    start: starts(&said.finding),
                    real: said.finding.is_real(),
                    assertion: match &said.finding.detail {
                        Detail::Filter(filtered) => Some(filtered.assertion.spot.expression.clone()),
                        _ => None,
                    },
                    id: id.0,
                }
            })
            .collect())
    }
}

fn starts(finding: &Finding) -> Option<Start> {
    match &finding.detail {
        Detail::Divergence(divergence) => divergence.locations.first().map(start),
        _ => None,
    }
}

fn pasts(line: &Line, run: Option<String>) -> Past {
    let row = line.row();
    Past {
        when: row.when,
        outcome: row.outcome,
        seconds: row.seconds,
        revision: row.revision.map(str::to_owned),
        place: row.place(),
        run,
        message: row.message.to_owned(),
    }
}
