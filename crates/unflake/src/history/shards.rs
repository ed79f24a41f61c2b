//! Splits the tests of a suite by what the history knows, and records which ones this run plans.

use std::collections::{BTreeSet, HashMap, HashSet};

use unflake_model::{Test, TestId};
use unflake_store::ShardPlan;
use unflake_techniques::{shard_of_unplanned, shards};

use super::recorder::HistoryRecorder;
use crate::hash;
use crate::project::shard::ShardSpec;

/// Runs of the history that say how long tests take, for each shard.
const EARLIER_RUNS: usize = 5;

/// The tests of this shard. A history that cannot be used is noted, and the tests are split without
/// knowing how long they take.
pub(crate) fn plan(history: &mut HistoryRecorder, spec: &ShardSpec, tests: &[Test]) -> HashSet<TestId> {
    let count = spec.shard.count as usize;
    let group = spec.group.clone().or_else(|| history.clean_commit().map(|commit| format!("commit {commit}")));
    let group = group.unwrap_or_default();
    let split = history.with_store(|store, _| {
        let seconds: HashMap<TestId, f64> = store.seconds_lately(EARLIER_RUNS * count)?.into_iter().collect();
        store.split(&group, spec.shard.count, |previous| shards(tests, &seconds, count, previous))
    });
    let split = split.unwrap_or_else(|| shards(tests, &HashMap::new(), count, None));
    let own = spec.shard.number as usize - 1;
    let shard_of: HashMap<&TestId, usize> =
        split.iter().enumerate().flat_map(|(at, shard)| shard.iter().map(move |test| (test, at))).collect();
    // The first shard that asked may have listed other tests: an older version, another system.
    let is_own =
        |test: &&TestId| shard_of.get(*test).copied().unwrap_or_else(|| shard_of_unplanned(test, count)) == own;
    let mut seen = HashSet::new();
    let planned: Vec<TestId> =
        tests.iter().map(|test| &test.id).filter(is_own).filter(|test| seen.insert(*test)).cloned().collect();
    let shard = ShardPlan {
        number: spec.shard.number,
        count: spec.shard.count,
        group,
        listed: tests.len() as u32,
        listing: listing(tests),
        planned: planned.clone(),
    };
    history.with_store(|store, run| store.record_shard(run, &shard));
    let all = tests.len();
    history.notes.push(format!(
        "shard {} of {}: {} of {all} tests; `unflake history merge` reports on all shards",
        spec.shard.number,
        spec.shard.count,
        planned.len()
    ));
    planned.into_iter().collect()
}

/// A hash of the names, in any order.
fn listing(tests: &[Test]) -> String {
    let names: BTreeSet<&str> = tests.iter().map(|test| test.id.as_str()).collect();
    let text: String = names.into_iter().flat_map(|name| [name, "\0"]).collect();
    hash::hex(text.as_bytes())
}
