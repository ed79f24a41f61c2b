//! Splits the tests of a suite into shards that take the same time, for machines that run at once.

use std::collections::{BTreeMap, HashMap, HashSet};

use unflake_model::{Test, TestId};

/// An earlier split is kept as long as its longest shard takes at most this much longer than that of
/// a new split: a test that stays where it was finds its caches there.
const STAYS_WITHIN: f64 = 1.1;

/// Tests that run in one shard: a file, so that shared fixtures are set up once.
struct ShardUnit {
    seconds: f64,
    tests: Vec<TestId>,
}

/// The tests of each shard, in the order of the suite. `seconds`: how long tests took before; a test
/// that never ran counts as much as the others do on average. `previous`: an earlier split into as
/// many shards.
///
/// The result depends on nothing but these, so every machine that knows them gets the same one.
pub fn shards(
    tests: &[Test],
    seconds: &HashMap<TestId, f64>,
    count: usize,
    previous: Option<&[Vec<TestId>]>,
) -> Vec<Vec<TestId>> {
    let weight = weights(tests, seconds);
    let new = balanced(units(tests, &weight, count), count);
    let Some(previous) = previous else { return in_suite_order(tests, &new) };
    let kept = kept(tests, &weight, count, previous);
    let longest = |shards: &[Vec<TestId>]| {
        let load = |shard: &Vec<TestId>| shard.iter().map(|test| weight[test]).sum::<f64>();
        shards.iter().map(load).fold(0.0, f64::max)
    };
    let chosen = if longest(&kept) <= longest(&new) * STAYS_WITHIN { kept } else { new };
    in_suite_order(tests, &chosen)
}

/// The shard of a test that was not listed when the tests were split, from 0. The same on every
/// machine, so that it runs in exactly one shard.
pub fn shard_of_unplanned(test: &TestId, count: usize) -> usize {
    let mut hash = (test.as_str().bytes())
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    // The hash alone differs little between names that differ little.
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53_u64] {
        hash = (hash ^ (hash >> 33)).wrapping_mul(factor);
    }
    ((hash ^ (hash >> 33)) % count.max(1) as u64) as usize
}

fn weights(tests: &[Test], seconds: &HashMap<TestId, f64>) -> HashMap<TestId, f64> {
    let known = || tests.iter().filter_map(|test| seconds.get(&test.id)).copied();
    let usual = known().sum::<f64>() / known().count().max(1) as f64;
    // Tests that take no time at all still cost something to start.
    let least = if usual > 0.0 { usual / 100.0 } else { 1.0 };
    let weight = |test: &Test| seconds.get(&test.id).copied().unwrap_or(usual).max(least);
    tests.iter().map(|test| (test.id.clone(), weight(test))).collect()
}

/// Whole files. A file that is longer than a fair share is taken apart: it would decide alone how
/// long the longest shard takes.
fn units(tests: &[Test], weight: &HashMap<TestId, f64>, count: usize) -> Vec<ShardUnit> {
    let fair = weight.values().sum::<f64>() / count.max(1) as f64;
    let mut files: BTreeMap<Option<&str>, ShardUnit> = BTreeMap::new();
    for test in tests {
        let file = files.entry(test.file.as_deref()).or_insert(ShardUnit { seconds: 0.0, tests: Vec::new() });
        file.seconds += weight[&test.id];
        file.tests.push(test.id.clone());
    }
    let mut units = Vec::new();
    for (name, file) in files {
        if name.is_some() && file.seconds <= fair {
            units.push(file);
        } else {
            units.extend(file.tests.into_iter().map(|test| ShardUnit { seconds: weight[&test], tests: vec![test] }));
        }
    }
    units
}

/// The longest first, each to the shard with the least to do.
fn balanced(mut units: Vec<ShardUnit>, count: usize) -> Vec<Vec<TestId>> {
    units.sort_by(|one, other| other.seconds.total_cmp(&one.seconds).then_with(|| one.tests.cmp(&other.tests)));
    let mut shards = Loads::new(count);
    for unit in units {
        let shard = shards.least();
        shards.add(shard, unit.seconds, unit.tests);
    }
    shards.tests
}

/// An earlier split with the tests of today. New files go to the shard with the least to do, new
/// tests to the other tests of their files.
fn kept(tests: &[Test], weight: &HashMap<TestId, f64>, count: usize, previous: &[Vec<TestId>]) -> Vec<Vec<TestId>> {
    let shard_of: HashMap<&TestId, usize> = previous
        .iter()
        .take(count)
        .enumerate()
        .flat_map(|(at, shard)| shard.iter().map(move |test| (test, at)))
        .collect();
    let mut shard_of_file: HashMap<&str, usize> = HashMap::new();
    let mut shards = Loads::new(count);
    for test in tests {
        if let Some(shard) = shard_of.get(&test.id) {
            shards.add(*shard, weight[&test.id], vec![test.id.clone()]);
            shard_of_file.extend(test.file.as_deref().map(|file| (file, *shard)));
        }
    }
    let mut new: BTreeMap<&str, ShardUnit> = BTreeMap::new();
    for test in tests.iter().filter(|test| !shard_of.contains_key(&test.id)) {
        let file = test.file.as_deref();
        match file.and_then(|file| shard_of_file.get(file)) {
            Some(shard) => shards.add(*shard, weight[&test.id], vec![test.id.clone()]),
            None => {
                let unit = new
                    .entry(file.unwrap_or(test.id.as_str()))
                    .or_insert(ShardUnit { seconds: 0.0, tests: Vec::new() });
                unit.seconds += weight[&test.id];
                unit.tests.push(test.id.clone());
            }
        }
    }
    for unit in new.into_values() {
        let shard = shards.least();
        shards.add(shard, unit.seconds, unit.tests);
    }
    shards.tests
}

struct Loads {
    seconds: Vec<f64>,
    tests: Vec<Vec<TestId>>,
}

impl Loads {
    fn new(count: usize) -> Self {
        let count = count.max(1);
        Self { seconds: vec![0.0; count], tests: vec![Vec::new(); count] }
    }

    fn least(&self) -> usize {
        let by_load = |one: &usize, other: &usize| self.seconds[*one].total_cmp(&self.seconds[*other]);
        (0..self.seconds.len()).min_by(by_load).unwrap_or(0)
    }

    fn add(&mut self, shard: usize, seconds: f64, tests: Vec<TestId>) {
        self.seconds[shard] += seconds;
        self.tests[shard].extend(tests);
    }
}

fn in_suite_order(tests: &[Test], shards: &[Vec<TestId>]) -> Vec<Vec<TestId>> {
    let of_shard = |shard: &Vec<TestId>| {
        let own: HashSet<&TestId> = shard.iter().collect();
        let mut seen = HashSet::new();
        tests.iter().map(|test| &test.id).filter(|test| own.contains(test) && seen.insert(*test)).cloned().collect()
    };
    shards.iter().map(of_shard).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite(ids: &[&str]) -> Vec<Test> {
        let test = |id: &&str| {
            let file = id.split_once("::").map(|(file, _)| file.into());
            Test { id: TestId::new(*id), file, line: None, command: Vec::new() }
        };
        ids.iter().map(test).collect()
    }

    fn times(seconds: &[(&str, f64)]) -> HashMap<TestId, f64> {
        seconds.iter().map(|(id, seconds)| (TestId::new(*id), *seconds)).collect()
    }

    fn named(shards: &[Vec<TestId>]) -> Vec<Vec<&str>> {
        shards.iter().map(|shard| shard.iter().map(TestId::as_str).collect()).collect()
    }

    #[test]
    fn the_longest_files_are_placed_first() {
        let tests = suite(&["a::1", "b::1", "c::1", "d::1", "d::2"]);
        let seconds = times(&[("a::1", 1.0), ("b::1", 5.0), ("c::1", 3.0), ("d::1", 2.0), ("d::2", 1.0)]);
        let split = shards(&tests, &seconds, 2, None);
        assert_eq!(named(&split), [vec!["a::1", "b::1"], vec!["c::1", "d::1", "d::2"]]);
    }

    #[test]
    fn a_file_longer_than_a_fair_share_is_taken_apart() {
        let tests = suite(&["a::1", "a::2", "a::3", "b::1"]);
        let seconds = times(&[("a::1", 4.0), ("a::2", 4.0), ("a::3", 4.0), ("b::1", 4.0)]);
        assert_eq!(named(&shards(&tests, &seconds, 2, None)), [vec!["a::1", "a::3"], vec!["a::2", "b::1"]]);
    }

    #[test]
    fn every_test_is_in_exactly_one_shard_whatever_is_known() {
        let ids: Vec<String> = (0..97).map(|n| format!("file{}::test{n}", n % 13)).collect();
        let tests = suite(&ids.iter().map(String::as_str).collect::<Vec<_>>());
        let some = times(&[("file1::test1", 50.0), ("file2::test2", 0.0), ("gone::test", 9.0)]);
        let old = shards(&tests[..60], &some, 8, None);
        for (seconds, previous) in [(&some, None), (&HashMap::new(), None), (&some, Some(&old[..]))] {
            for count in [1, 2, 8, 200] {
                let split = shards(&tests, seconds, count, previous.filter(|_| count == 8));
                assert_eq!(split.len(), count);
                let mut all: Vec<&TestId> = split.iter().flatten().collect();
                all.sort();
                let mut wanted: Vec<&TestId> = tests.iter().map(|test| &test.id).collect();
                wanted.sort();
                assert_eq!(all, wanted);
            }
        }
    }

    #[test]
    fn a_split_stays_while_it_is_balanced() {
        let tests = suite(&["a::1", "b::1", "c::1", "d::1"]);
        let even = times(&[("a::1", 1.0), ("b::1", 1.0), ("c::1", 1.0), ("d::1", 1.0)]);
        let old: Vec<Vec<TestId>> = vec![vec!["b::1".into(), "d::1".into()], vec!["a::1".into(), "c::1".into()]];
        assert_eq!(shards(&tests, &even, 2, Some(&old)), old);
        let noisy = times(&[("a::1", 1.05), ("b::1", 0.96), ("c::1", 1.02), ("d::1", 1.0)]);
        assert_eq!(shards(&tests, &noisy, 2, Some(&old)), old);
        let slower = times(&[("a::1", 1.0), ("b::1", 1.0), ("c::1", 4.0), ("d::1", 1.0)]);
        assert_ne!(shards(&tests, &slower, 2, Some(&old)), old);
        let grown = suite(&["a::1", "b::1", "c::1", "d::1", "d::2", "e::1"]);
        let split = shards(&grown, &even, 2, Some(&old));
        assert_eq!(named(&split), [vec!["b::1", "d::1", "d::2"], vec!["a::1", "c::1", "e::1"]]);
    }

    #[test]
    fn tests_that_were_not_planned_are_spread() {
        let mut counts = [0; 4];
        (0..400).for_each(|n| counts[shard_of_unplanned(&TestId::new(format!("tests/test_a.py::test[{n}]")), 4)] += 1);
        assert!(counts.iter().all(|count| (60..140).contains(count)), "{counts:?}");
    }
}
