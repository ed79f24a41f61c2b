//! What is known of flaky tests, put together from the history.

use std::collections::HashMap;
use std::path::Path;

use unflake_model::{Detail, Feedback, Finding, NioKind, TestId};
use unflake_report::{FlakyTest, ScoreRow, TestKnowledge};
use unflake_store::{ReadyReport, Store, StoredFinding, TestKey};
use unflake_techniques::TestStanding;

use crate::commands::locate::command::shown;
use crate::commands::prepare::page_for;
use crate::commands::score;
use crate::config::project;
use crate::error::Trouble;
use crate::owners::Owners;
use crate::test_scores::{self, Standings};

/// Of how many attempts the last failure is looked for.
const LOOKED_AT: usize = 200;

/// Everything that is known.
pub(crate) struct Book<'a> {
    pub(crate) store: &'a Store,
    place: &'a Path,
    here: &'a Path,
    standings: Standings,
    pub(crate) owners: Owners,
    said: HashMap<TestId, Vec<StoredFinding>>,
    ready: HashMap<TestId, ReadyReport>,
    answers: Vec<Feedback>,
}

impl<'a> Book<'a> {
    /// `place`: where the history is; `main`: as for `unflake score`.
    pub(crate) fn open(store: &'a Store, place: &'a Path, here: &'a Path, main: Option<&str>) -> Result<Self, Trouble> {
        let mut said: HashMap<TestId, Vec<StoredFinding>> = HashMap::new();
        for one in store.latest_findings(usize::MAX)? {
            said.entry(one.finding.test.clone()).or_default().push(one);
        }
        Ok(Self {
            store,
            place,
            here,
            standings: test_scores::look(store, main)?,
            owners: Owners::find(&project::find(here)),
            said,
            ready: store.prepared(None)?.into_iter().map(|ready| (ready.test.clone(), ready)).collect(),
            answers: store.answers()?,
        })
    }

    /// The flaky tests, the likeliest to fail first.
    pub(crate) fn flaky(&self, at_least: f64) -> Vec<ScoreRow> {
        let mut rows: Vec<ScoreRow> = (self.standings.all.iter())
            .filter(|(_, standing)| standing.score.is_flaky() && standing.score.probability >= at_least)
            .filter_map(|(key, standing)| score::row(*key, standing, &self.standings, &self.owners))
            .collect();
        rows.sort_by(|one, other| {
            other.probability.total_cmp(&one.probability).then_with(|| one.test.cmp(&other.test))
        });
        rows
    }

    pub(crate) fn key(&self, test: &TestId) -> Option<TestKey> {
        self.standings.tests.values().find(|kin| kin.test == *test).map(|kin| kin.key)
    }

    /// The earlier names of a test.
    pub(crate) fn formerly(&self, test: &TestId) -> Vec<(Option<TestKey>, TestId)> {
        let names = self.key(test).map(|key| self.standings.formerly(key)).unwrap_or_default();
        names.into_iter().map(TestId::new).map(|test| (self.key(&test), test)).collect()
    }

    /// What a test is called today, if it is called otherwise.
    pub(crate) fn name_today(&self, test: &TestId) -> Option<String> {
        let key = self.key(test)?;
        let (today, _) = self.standings.formerly.iter().find(|(_, old)| old.contains(&key))?;
        Some(self.standings.tests.get(today)?.test.to_string())
    }

    fn standing(&self, test: &TestId) -> Option<&(TestKey, TestStanding)> {
        let key = self.key(test)?;
        self.standings.all.iter().find(|(one, _)| *one == key)
    }

    /// All that is known of one test.
    pub(crate) fn of(&self, test: &TestId) -> Result<FlakyTest, Trouble> {
        let row =
            self.standing(test).and_then(|(key, standing)| score::row(*key, standing, &self.standings, &self.owners));
        let known = self.known(test);
        // What was found before it could not be seen again is still what is known.
        let ready = self.ready.get(test).filter(|ready| ready.report.finding.is_none());
        let not_reproduced = ready.map(|ready| (ready.started, ready.report.meaning.clone()));
        Ok(FlakyTest {
            test: test.clone(),
            row,
            touched: Vec::new(),
            known,
            not_reproduced,
            failure: self.failure(test)?,
        })
    }

    /// What was found last by each technique, the most telling first; what people found of no use last.
    fn known(&self, test: &TestId) -> Vec<TestKnowledge> {
        let mut known: Vec<TestKnowledge> = Vec::new();
        for said in self.said.get(test).into_iter().flatten().filter(|said| explains(&said.finding)) {
            if known.iter().any(|known| known.finding.technique() == said.finding.technique()) {
                continue;
            }
            let id = said.finding.id();
            let answer = self.answers.iter().find(|answer| answer.finding == id && !answer.useful).cloned();
            let page = page_for(self.place, test);
            let page = (said.finding.technique() == "divergence" && page.is_file()).then(|| shown(&page, self.here));
            known.push(TestKnowledge {
                finding: said.finding.clone(),
                when: said.started,
                commit: said.commit.clone(),
                answer,
                page,
            });
        }
        known.sort_by_key(|known| (known.answer.is_some(), rank(&known.finding)));
        known
    }

    /// The tests that have the same cause as this finding, the likeliest to fail first; without its own.
    pub(crate) fn others_with(&self, finding: &Finding) -> Vec<TestId> {
        let cause = finding.cause();
        let mut tests: Vec<(TestId, f64)> = (self.said.keys())
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

    /// What the test said when it last failed, here or elsewhere.
    fn failure(&self, test: &TestId) -> Result<String, Trouble> {
        let ours = self.store.attempts_of(test, LOOKED_AT)?.into_iter().find_map(|kept| kept.attempt.failure);
        if let Some(failure) = ours {
            let said = failure.message.starts_with(&failure.kind);
            return Ok(if said { failure.message } else { format!("{}\n{}", failure.kind, failure.message) });
        }
        let reported = self.key(test).map(|key| self.store.reported_of(key)).transpose()?.unwrap_or_default();
        let failed = reported.into_iter().filter(|past| past.execution.outcome.is_failure());
        Ok(failed.max_by_key(|past| past.source.started).map(|past| past.message).unwrap_or_default())
    }
}

/// Whether it says why a test is flaky, and not only that it is.
fn explains(finding: &Finding) -> bool {
    match &finding.detail {
        Detail::Divergence(_) | Detail::State(_) => true,
        Detail::Order(order) => !order.culprits.is_empty(),
        Detail::Nio(nio) => nio.kind != NioKind::Broken,
        Detail::Factor(influence) => influence.kind != "none",
        Detail::Verdict(_) | Detail::Intersect(_) | Detail::Layer(_) | Detail::Filter(_) => false,
    }
}

/// What names a line or another test says more than what names a circumstance.
fn rank(finding: &Finding) -> u32 {
    match &finding.detail {
        Detail::State(_) => 0,
        Detail::Order(_) => 1,
        Detail::Divergence(divergence) if !divergence.locations.is_empty() => 2,
        Detail::Nio(_) => 3,
        Detail::Factor(_) => 4,
        _ => 5,
    }
}
