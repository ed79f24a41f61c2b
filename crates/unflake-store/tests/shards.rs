//! Tests of shards: one split for all of them, and results that meet in one history.

mod common;

use common::{TestLocation, attempted, facts, failing, passing};
use unflake_model::{TestId, Timestamp};
use unflake_store::{RunFacts, RunId, ShardPlan, Store};

fn tests(names: &[&str]) -> Vec<TestId> {
    names.iter().map(|name| TestId::new(*name)).collect()
}

fn shard(number: u32, group: &str, planned: &[&str]) -> ShardPlan {
    ShardPlan { number, count: 2, group: group.into(), listed: 3, listing: "hash".into(), planned: tests(planned) }
}

/// A run of a shard that executed what it planned; the first test failed.
fn run(store: &mut Store, shard: &ShardPlan) -> RunId {
    let started = Timestamp(1_700_000_000_000_000 + i64::from(shard.number));
    let run = store.begin(&RunFacts { started, ..facts() }).unwrap();
    store.record_shard(run, shard).unwrap();
    let mut attempts: Vec<_> =
        (0..).zip(&shard.planned).map(|(position, test)| passing(test.as_str(), position)).collect();
    if let Some(first) = attempts.first_mut() {
        *first = failing(first.test.as_str(), 0, "trace");
    }
    store.record(run, &attempted(attempts)).unwrap();
    store.finish(run, Timestamp(started.0 + 5), 1).unwrap();
    run
}

fn all_shards_of_a_group_get_one_split(location: &TestLocation) {
    let (mut one, mut other) = (location.open(), location.open());
    let split = vec![tests(&["a", "c"]), tests(&["b"])];
    let first = one.split("ci 7", 2, |previous| {
        assert_eq!(previous, None);
        split.clone()
    });
    assert_eq!(first.unwrap(), split);
    assert_eq!(other.split("ci 7", 2, |_| unreachable!("it is known")).unwrap(), split);
    // Another group decides anew, and knows the latest split into as many shards.
    let next = vec![tests(&["a"]), tests(&["b", "c"])];
    let made = other.split("ci 8", 2, |previous| {
        assert_eq!(previous, Some(&split[..]));
        next.clone()
    });
    assert_eq!(made.unwrap(), next);
    assert_eq!(one.split("ci 7", 2, |_| unreachable!("it is still known")).unwrap(), split);
    assert_eq!(
        one.split("ci 8", 3, |previous| {
            assert_eq!(previous, None);
            vec![Vec::new(); 3]
        })
        .unwrap()
        .len(),
        3
    );
    // Without a group nothing is fixed.
    assert_eq!(one.split("", 2, |_| split.clone()).unwrap(), split);
    assert_eq!(one.split("", 2, |_| next.clone()).unwrap(), next);
}

fn many_shards_that_ask_at_once_agree(location: &TestLocation) {
    drop(location.open());
    let splits: Vec<_> = std::thread::scope(|scope| {
        let ask = |number: usize| {
            let mut store = location.open();
            store.split("ci 1", 2, |_| vec![tests(&[&format!("of {number}")]), Vec::new()]).unwrap()
        };
        let asking: Vec<_> = (0..8).map(|number| scope.spawn(move || ask(number))).collect();
        asking.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(splits.iter().all(|split| *split == splits[0]), "{splits:?}");
}

fn shards_are_found_by_group(location: &TestLocation) {
    let mut store = location.open();
    assert_eq!(store.shard_runs(None).unwrap(), []);
    let old = run(&mut store, &shard(1, "ci 6", &["a", "b"]));
    let one = run(&mut store, &shard(1, "ci 7", &["a", "c"]));
    let two = run(&mut store, &shard(2, "ci 7", &["b"]));
    let found = |group: Option<&str>| {
        store.shard_runs(group).unwrap().into_iter().map(|shard| shard.run.id).collect::<Vec<_>>()
    };
    assert_eq!(found(None), [one, two]);
    assert_eq!(found(Some("ci 6")), [old]);
    assert_eq!(found(Some("ci 5")), []);
    assert_eq!(store.shard_runs(None).unwrap()[0].shard, shard(1, "ci 7", &["a", "c"]));
}

fn runs_of_other_histories_are_taken_over_once(location: &TestLocation) {
    let mut to = location.open();
    // Rows of both histories have other ids.
    run(&mut to, &shard(1, "ci 6", &["z", "y", "x"]));
    let sources = [("a", 1), ("b", 2)].map(|(name, number)| {
        let source = location.another();
        run(&mut source.open(), &shard(number, "ci 7", &[name, "c"]));
        source
    });
    for _ in 0..2 {
        for source in &sources {
            let from = source.open();
            for shard_run in from.all_shard_runs().unwrap() {
                to.take_over(&from, &shard_run).unwrap();
            }
        }
    }
    let shards = to.shard_runs(Some("ci 7")).unwrap();
    assert_eq!(shards.iter().map(|shard| shard.shard.number).collect::<Vec<_>>(), [1, 2]);
    for (shard, source) in shards.iter().zip(&sources) {
        let from = source.open();
        let original = from.all_shard_runs().unwrap().remove(0);
        assert_eq!(to.attempts_in(shard.run.id).unwrap(), from.attempts_in(original.run.id).unwrap());
        assert_eq!(shard.shard, original.shard);
        assert_eq!((&shard.run.facts, shard.run.ended), (&original.run.facts, original.run.ended));
        assert_eq!(shard.run.attempts, 2);
    }
}

fn pruned_runs_leave_no_shards(location: &TestLocation) {
    let mut store = location.open();
    let old = shard(1, "ci 6", &["a"]);
    store.split("ci 6", 2, |_| vec![tests(&["a"]), tests(&["b"])]).unwrap();
    run(&mut store, &old);
    let retention = unflake_store::Retention { runs_before: Some(Timestamp(i64::MAX)), output_before: None };
    store.prune(&retention, false).unwrap();
    assert_eq!(store.all_shard_runs().unwrap(), []);
    store
        .split("ci 7", 2, |latest| {
            assert!(latest.is_some(), "the latest split stays");
            Vec::new()
        })
        .unwrap();
}

with_files_and_server! {
    all_shards_of_a_group_get_one_split,
    many_shards_that_ask_at_once_agree,
    shards_are_found_by_group,
    runs_of_other_histories_are_taken_over_once,
    pruned_runs_leave_no_shards,
}
