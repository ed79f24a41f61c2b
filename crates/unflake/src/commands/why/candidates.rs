//! The flaky tests of the history that have no diagnosis, and what is known of one.

use std::path::Path;

use unflake_model::{Detail, Factor, FactorEffect, Finding, NioKind, OrderKind, TestId, VerdictKind, World};
use unflake_store::Store;

use crate::config::settings::Settings;
use crate::error::CommandError;
use crate::history::scores;
use crate::history::test_knowledge::KnowledgeBase;

/// The number of latest runs in which flaky tests are looked up beside the scores.
const RUNS: usize = 50;
/// Latest findings in which those about a test are looked up.
const FINDINGS: usize = 10_000;

/// Flaky tests without a diagnosis, the likeliest to fail first.
pub(crate) fn undiagnosed(settings: &Settings, here: &Path) -> Result<Vec<TestId>, CommandError> {
    let store = scores::open(&settings.store.value)?;
    let known = KnowledgeBase::open(&store, &settings.store.value.dir, here, None)?;
    let mut tests: Vec<TestId> = known.flaky(0.0).into_iter().map(|row| TestId::new(row.test)).collect();
    for (test, _, _) in store.flaky_lately(RUNS)? {
        if !tests.contains(&test) {
            tests.push(test);
        }
    }
    let mut open = Vec::new();
    for test in tests {
        if known.of(&test)?.findings.iter().all(|finding| finding.feedback.is_some()) {
            open.push(test);
        }
    }
    Ok(open)
}

/// What the history knows of a test.
#[derive(Default)]
pub(crate) struct KnownTest {
    pub(crate) verdict: Option<VerdictKind>,
    /// Its failure rate, if known.
    pub(crate) rate: Option<f64>,
    /// The tests after which it fails; itself where it fails when it runs again.
    pub(crate) after: Vec<TestId>,
    /// A world in which it fails every time.
    pub(crate) failing: Option<World>,
}

impl KnownTest {
    /// `name`: a test id or a part of it. Nothing is known where several tests have it.
    pub(crate) fn look_up(settings: &Settings, name: &str) -> Result<Self, CommandError> {
        let Some(store) = Store::find(&settings.store.value)? else { return Ok(Self::default()) };
        let [test] = &store.find_tests(name)?[..] else { return Ok(Self::default()) };
        let findings = store.latest_findings(FINDINGS)?;
        let of_test: Vec<&Finding> =
            findings.iter().map(|stored| &stored.finding).filter(|finding| finding.test == *test).collect();
        let scores = scores::compute(&store, None)?;
        let is_test = |key: &unflake_store::TestKey| scores.tests.get(key).is_some_and(|stored| stored.test == *test);
        let standing = scores.all.iter().find(|(key, _)| is_test(key));
        let culprits = |finding: &&Finding| match &finding.detail {
            Detail::Order(order) if order.kind == OrderKind::Victim => order.culprits.first().cloned(),
            Detail::Nio(nio) if nio.kind == NioKind::Nio => Some(vec![test.clone()]),
            _ => None,
        };
        let of_process = |factor: &Factor| matches!(factor.kind().effect, FactorEffect::Process(_));
        let world = |finding: &&Finding| match &finding.detail {
            Detail::Factor(influence) if influence.fails && influence.setting.iter().all(of_process) => {
                Some(World::of(influence.setting.clone()))
            }
            _ => None,
        };
        Ok(Self {
            verdict: of_test.iter().find_map(|finding| Some(finding.verdict()?.kind)),
            rate: standing.map(|(_, standing)| standing.score.probability).filter(|rate| *rate > 0.0),
            after: of_test.iter().find_map(culprits).unwrap_or_default(),
            failing: of_test.iter().find_map(world),
        })
    }
}
