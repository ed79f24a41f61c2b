//! How every test stands: from the history to scores.

use std::collections::{HashMap, HashSet};

use unflake_model::{Detail, FilterKind, Finding, Outcome};
use unflake_report::Strip;
use unflake_store::{Execution, Source, SourceId, Store, StoreLocation, StoredTest, TestKey};
use unflake_techniques::{TestStanding, Timeline, TimelineSource};

use crate::error::Trouble;
use crate::history_recorder::elsewhere;

/// Branches on which a failure is nobody's work in progress.
const MAIN: [&str; 5] = ["main", "master", "trunk", "develop", "default"];

/// The history in this place, where there is one.
pub(crate) fn open(place: &StoreLocation) -> Result<Store, Trouble> {
    let mut found = Store::find(place)?;
    if found.is_none() && !place.is_server() {
        found = elsewhere(&place.dir).map_or(Ok(None), Store::find)?;
    }
    found.ok_or_else(|| {
        Trouble::usage(format!("there is no history in {place}"))
            .hint("`unflake run -- pytest` begins one, `unflake import REPORT…` takes in the results of your CI")
    })
}

/// Every run that is known, and how every test stands after them.
pub(crate) struct Standings {
    pub(crate) tests: HashMap<TestKey, StoredTest>,
    /// The tests that are called otherwise today, with what they are called.
    today: HashMap<TestKey, TestKey>,
    /// The tests that are the same under an earlier name.
    pub(crate) formerly: HashMap<TestKey, Vec<TestKey>>,
    /// By the number that the ledger has for each: the sources of it, the oldest first.
    pub(crate) runs: Vec<Source>,
    /// All sources of each.
    pub(crate) parts: Vec<Vec<SourceId>>,
    pub(crate) bad_days: HashSet<u32>,
    /// With the key of the test.
    pub(crate) all: Vec<(TestKey, TestStanding)>,
}

impl Standings {
    /// The test under the name that it has today.
    pub(crate) fn today(&self, key: TestKey) -> TestKey {
        self.today.get(&key).copied().unwrap_or(key)
    }

    /// All keys that a test had, today's first.
    pub(crate) fn names(&self, key: TestKey) -> impl Iterator<Item = TestKey> {
        [key].into_iter().chain(self.formerly.get(&key).into_iter().flatten().copied())
    }

    /// What a test was called before, the oldest first.
    pub(crate) fn formerly(&self, key: TestKey) -> Vec<String> {
        let keys = self.formerly.get(&key).into_iter().flatten();
        keys.filter_map(|key| self.tests.get(key)).map(|kin| kin.test.to_string()).collect()
    }
}

/// `main`: the branch on which failures count, beside those that are usually called so.
pub(crate) fn look(store: &Store, main: Option<&str>) -> Result<Standings, Trouble> {
    look_at(store, main, &mut |_, _| {})
}

/// The same, with every execution shown on the way, and the number of its run.
pub(crate) fn look_at(
    store: &Store,
    main: Option<&str>,
    each: &mut dyn FnMut(u32, &Execution),
) -> Result<Standings, Trouble> {
    let tests: HashMap<TestKey, StoredTest> = store.tests()?.into_iter().map(|kin| (kin.key, kin)).collect();
    let today = store.current_names()?;
    let mut ledger = Timeline::default();
    let mut numbers = Numbers::default();
    for source in store.sources()? {
        let told = numbers.of(&source, main);
        ledger.begin(told);
        // Keys are counted from 1, and there are as many as tests.
        store.executions_in(source.id, &mut |mut one| {
            one.test = today.get(&one.test).copied().unwrap_or(one.test);
            each(told.run, &one);
            if let Ok(test) = usize::try_from(one.test.0) {
                ledger.add(test, one.again > 0, one.outcome, one.seconds);
            }
        })?;
        for test in let_go(store, source.id)? {
            let test = today.get(&test).copied().unwrap_or(test);
            ledger.add(test.0 as usize, false, Outcome::Failed, 0.0);
        }
    }
    let bad_days = ledger.bad_days();
    let all =
        ledger.standings(&bad_days).into_iter().map(|standing| (TestKey(standing.test as i64), standing)).collect();
    let mut formerly: HashMap<TestKey, Vec<TestKey>> = HashMap::new();
    today.iter().for_each(|(old, new)| formerly.entry(*new).or_default().push(*old));
    formerly.values_mut().for_each(|old| old.sort());
    Ok(Standings { tests, today, formerly, runs: numbers.runs, parts: numbers.parts, bad_days, all })
}

/// The tests that passed in a run of ours only because a filter let an assertion of theirs fail: they were flaky.
fn let_go(store: &Store, source: SourceId) -> Result<Vec<TestKey>, Trouble> {
    let SourceId::Run(run) = source else { return Ok(Vec::new()) };
    let is_let_go = |finding: &Finding| matches!(&finding.detail, Detail::Filter(one) if one.kind == FilterKind::Flaky);
    let said = store.findings_in(run)?.into_iter().filter(|(_, finding)| is_let_go(finding));
    Ok(said.map(|(test, _)| test).filter(|test| test.0 > 0).collect())
}

/// Numbers for what is the same.
#[derive(Default)]
struct Numbers {
    runs: Vec<Source>,
    parts: Vec<Vec<SourceId>>,
    known_runs: HashMap<(String, u32), u32>,
    codes: HashMap<String, u32>,
    jobs: HashMap<String, u32>,
}

impl Numbers {
    fn of(&mut self, source: &Source, main: Option<&str>) -> TimelineSource {
        let new = self.runs.len() as u32;
        let run = match &source.ci_run {
            Some(run) => *self.known_runs.entry((run.clone(), source.ci_attempt.unwrap_or(1))).or_insert(new),
            None => new,
        };
        if run == new {
            self.runs.push(source.clone());
            self.parts.push(Vec::new());
        }
        self.parts[run as usize].push(source.id);
        let code = source.commit.clone().filter(|_| !source.dirty).map(|commit| numbered(&mut self.codes, commit));
        let is_main = |branch: &str| main.map_or(MAIN.contains(&branch), |main| main == branch);
        let ours = if matches!(source.id, SourceId::Run(_)) { "here" } else { "" };
        TimelineSource {
            run,
            code,
            job: numbered(&mut self.jobs, source.job.clone().unwrap_or(ours.to_owned())),
            in_progress: source.dirty || source.branch.as_deref().is_some_and(|branch| !is_main(branch)),
        }
    }
}

fn numbered(numbers: &mut HashMap<String, u32>, name: String) -> u32 {
    let next = numbers.len() as u32;
    *numbers.entry(name).or_insert(next)
}

/// The last runs of a test that failed at times, each as a sign.
pub(crate) fn strip(standing: &TestStanding, last: usize) -> Vec<Strip> {
    let from = standing.strip.len().saturating_sub(last);
    standing.strip[from..]
        .iter()
        .map(|(_, seen)| match seen {
            unflake_techniques::ScoredRun::Passed => Strip::Passed,
            unflake_techniques::ScoredRun::Flaked => Strip::Flaked,
            unflake_techniques::ScoredRun::Failed => Strip::Failed,
        })
        .collect()
}
