//! Tests of assertion samples and their versions.

mod common;

use common::TestLocation;
use unflake_model::{Assertion, AssertionKey, AssertionOutcome, AssertionSample, ValueGroup};
use unflake_store::Revision;

fn sample(values: &str) -> AssertionSample {
    let spot = AssertionKey { file: "t.py".into(), function: "test_a".into(), expression: "x == 1".into(), ordinal: 0 };
    let groups =
        vec![ValueGroup { how: AssertionOutcome::Held, values: values.to_owned(), failing: Vec::new(), times: 10 }];
    AssertionSample {
        assertion: Assertion { test: "t.py::test_a".into(), spot },
        body: "b".into(),
        version: String::new(),
        groups,
    }
}

fn runs_of_the_same_clean_tree_have_one_version(location: &TestLocation) {
    let mut store = location.open();
    let mut learn = |tree: &str, changed: &[&str], values: &str| {
        let run = store.begin(&common::facts()).unwrap();
        let changed: Vec<String> = changed.iter().map(|one| (*one).to_owned()).collect();
        let dirty = Some(!changed.is_empty());
        let revision = Revision { tree: Some(tree.to_owned()), dirty, changed, ..Revision::default() };
        store.revision(run, &revision).unwrap();
        store.keep_samples(run, &[sample(values)]).unwrap();
    };
    learn("aaaa", &[], "x = 1");
    learn("aaaa", &["?? filter.toml"], "x = 2");
    learn("aaaa", &["?? filter.toml", " M t.py"], "x = 3");
    learn("bbbb", &[], "x = 4");
    let samples = store.samples(&["filter.toml"]).unwrap();
    let values: Vec<&str> = samples.iter().map(|sample| sample.groups[0].values.as_str()).collect();
    assert_eq!(values, ["x = 1", "x = 2", "x = 3", "x = 4"]);
    assert_eq!(samples[0].assertion, sample("").assertion);
    let same = |one: usize, other: usize| samples[one].version == samples[other].version;
    assert!(same(0, 1) && !same(0, 2) && !same(0, 3));
}

with_files_and_server! {
    runs_of_the_same_clean_tree_have_one_version,
}
