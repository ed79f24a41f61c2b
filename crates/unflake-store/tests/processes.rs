//! Tests with several processes, some of which are killed. The child processes run this program
//! again, marked by an environment variable.

mod common;

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{TestLocation, attempted, batch, facts, failing};
use unflake_store::{RunId, Store};

const HOME: &str = "UNFLAKE_STORE_TEST_HOME";
const ATTEMPTS: &str = "UNFLAKE_STORE_TEST_ATTEMPTS";
const BATCH: u32 = 20;

/// Entry point of the child processes, not a test. They print only what they have recorded.
#[test]
fn another_process() {
    let (Ok(location), Ok(attempts)) = (std::env::var(HOME), std::env::var(ATTEMPTS)) else { return };
    let mut store = Store::open(common::location(&location)).unwrap();
    let run = store.begin(&facts()).unwrap();
    println!("\nshown {run} 0");
    for first in (0..attempts.parse().unwrap()).step_by(BATCH as usize) {
        let mut events = batch(first, BATCH - 1);
        events.extend(attempted([failing("tests/test_cart.py::test_sum", first, &format!("{first}").repeat(500))]));
        store.record(run, &events).unwrap();
        println!("shown {run} {}", first + BATCH);
    }
}

fn spawn(location: &TestLocation, attempts: u32) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "another_process", "--nocapture"])
        .env(HOME, location.text())
        .env(ATTEMPTS, attempts.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The lines that a process prints until it exits: its run, and the number of recorded attempts.
fn shown(child: &mut Child) -> impl Iterator<Item = (RunId, usize)> + use<> {
    BufReader::new(child.stdout.take().unwrap()).split(b'\n').filter_map(|line| {
        let line = String::from_utf8(line.ok()?).ok()?;
        let (run, count) = line.strip_prefix("shown ")?.split_once(' ')?;
        Some((RunId(run.parse().ok()?), count.parse().ok()?))
    })
}

/// Checks what only a file can violate; a server checks itself.
fn check_integrity(location: &TestLocation) {
    let TestLocation::Files(dir) = location else { return };
    let dir = dir.path();
    let connection = rusqlite::Connection::open(dir.join(unflake_store::FILE)).unwrap();
    let word: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(word, "ok");
    let stray: Option<i64> =
        connection.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0)).unwrap();
    assert_eq!(stray, Some(0));
}

/// Kills a recording process at some moment after up to `most` lines of output, and checks that
/// everything it had printed is stored.
fn kill(location: &TestLocation, most: u64) -> usize {
    let mut child = spawn(location, u32::MAX);
    let mut output = shown(&mut child);
    let random = RandomState::new().hash_one(0);
    let seen = output.by_ref().take((random % (most + 1)) as usize).last();
    thread::sleep(Duration::from_micros((random >> 32) % 8_000));
    child.kill().unwrap();
    child.wait().unwrap();
    // The last lines may still be in the pipe, and the very last one may be incomplete.
    let shown = output.last().or(seen);

    let store = location.open();
    let Some((run, count)) = shown else { return 0 };
    let kept = store.attempts_in(run).unwrap();
    assert!(kept.len() >= count, "{} attempts are there, and {count} had been shown", kept.len());
    assert_eq!(kept.len() % BATCH as usize, 0, "a batch is kept whole or not at all");
    assert_eq!(store.runs(1_000).unwrap().iter().find(|kept| kept.id == run).unwrap().attempts, kept.len() as u64);
    drop(store);
    check_integrity(location);
    count
}

fn a_kill_during_creation_loses_no_recorded_attempt(location: &TestLocation) {
    for _ in 0..15 {
        kill(&location.another(), 2);
    }
}

fn repeated_kills_lose_no_recorded_attempt(location: &TestLocation) {
    let shown: usize = (0..25).map(|_| kill(location, 30)).sum();
    assert!(shown > 0);
}

fn concurrent_processes_record_independently(location: &TestLocation) {
    let mut children: Vec<Child> = (0..3).map(|_| spawn(location, 2_000)).collect();
    let shown: Vec<_> = children.iter_mut().map(shown).map(|shown| thread::spawn(|| shown.last())).collect();
    let runs: Vec<RunId> = shown
        .into_iter()
        .map(|shown| {
            let (run, count) = shown.join().unwrap().expect("it has shown something");
            assert_eq!(count, 2_000);
            run
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let store = location.open();
    for run in runs {
        assert_eq!(store.attempts_in(run).unwrap().len(), 2_000);
    }
    assert_eq!(store.runs(9).unwrap().len(), 3);
    drop(store);
    check_integrity(location);
}

fn many_processes_can_create_a_history_at_once(location: &TestLocation) {
    for _ in 0..10 {
        let location = location.another();
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let mut store = location.open();
                    let run = store.begin(&facts()).unwrap();
                    store.record(run, &batch(0, 10)).unwrap();
                });
            }
        });
        let store = location.open();
        assert_eq!(store.runs(99).unwrap().iter().map(|run| run.attempts).sum::<u64>(), 80);
    }
}

with_files_and_server! {
    a_kill_during_creation_loses_no_recorded_attempt,
    repeated_kills_lose_no_recorded_attempt,
    concurrent_processes_record_independently,
    many_processes_can_create_a_history_at_once,
}
