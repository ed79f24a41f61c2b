//! Tests of body hashes and renames.

mod common;

use common::{TestLocation, attempted, facts, passing};
use unflake_store::{TestKey, TestRename};

fn renamed(old: &str, new: &str, is_over: bool) -> TestRename {
    TestRename { old: old.into(), new: new.into(), is_over }
}

fn the_latest_bodies_and_renames_count(location: &TestLocation) {
    let mut store = location.open();
    let run = store.begin(&facts()).unwrap();
    store.record(run, &attempted(["a", "b", "c", "d"].map(|test| passing(test, 0)))).unwrap();
    store
        .keep_bodies(run, &[("a.py".into(), "x".into())], &[("a".into(), "1".into()), ("b".into(), "2".into())], &[])
        .unwrap();
    store
        .keep_bodies(
            run,
            &[("a.py".into(), "y".into())],
            &[("a".into(), "3".into())],
            &[renamed("a", "b", false), renamed("b", "c", false)],
        )
        .unwrap();
    assert_eq!(store.test_files().unwrap(), [("a.py".to_owned(), "y".to_owned())].into());
    let bodies = store.bodies().unwrap();
    assert_eq!((bodies.len(), &*bodies[&"a".into()], &*bodies[&"b".into()]), (2, "3", "2"));
    assert_eq!(store.renames().unwrap(), [renamed("a", "b", false), renamed("b", "c", false)]);

    let keys: Vec<TestKey> = store.tests().unwrap().iter().map(|test| test.key).collect();
    let today = store.current_names().unwrap();
    assert_eq!((today.len(), today[&keys[0]], today[&keys[1]]), (2, keys[2], keys[2]), "from name to name");

    store.keep_bodies(run, &[], &[], &[renamed("b", "c", true)]).unwrap();
    let today = store.current_names().unwrap();
    assert_eq!((today.len(), today[&keys[0]]), (1, keys[1]));
    store.keep_bodies(run, &[], &[], &[renamed("b", "a", false)]).unwrap();
    store.current_names().unwrap().values().for_each(|key| assert!(keys.contains(key), "round and round ends"));
}

with_files_and_server! {
    the_latest_bodies_and_renames_count,
}
