//! Several processes, and processes that are killed. The others are this program again, with a variable that says so.

mod common;

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{Home, attempted, batch, facts, failing, place};
use unflake_store::{RunId, Store};

const HOME: &str = "UNFLAKE_STORE_TEST_HOME";
const ATTEMPTS: &str = "UNFLAKE_STORE_TEST_ATTEMPTS";
const BATCH: u32 = 20;

/// Not a test of its own: what the other processes do. They record, and say so only afterwards.
#[test]
fn another_process() {
    let (Ok(home), Ok(attempts)) = (std::env::var(HOME), std::env::var(ATTEMPTS)) else { return };
    let mut store = Store::open(place(&home)).unwrap();
    let run = store.begin(&facts()).unwrap();
    println!("\nshown {run} 0");
    for first in (0..attempts.parse().unwrap()).step_by(BATCH as usize) {
        let mut events = batch(first, BATCH - 1);
        events.extend(attempted([failing("tests/test_cart.py::test_sum", first, &format!("{first}").repeat(500))]));
        store.record(run, &events).unwrap();
        println!("shown {run} {}", first + BATCH);
    }
}

fn spawn(home: &Home, attempts: u32) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "another_process", "--nocapture"])
        .env(HOME, home.text())
        .env(ATTEMPTS, attempts.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What a process shows, line by line until it is gone: its run, and how many of its attempts are recorded.
fn shown(child: &mut Child) -> impl Iterator<Item = (RunId, usize)> + use<> {
    BufReader::new(child.stdout.take().unwrap()).split(b'\n').filter_map(|line| {
        let line = String::from_utf8(line.ok()?).ok()?;
        let (run, count) = line.strip_prefix("shown ")?.split_once(' ')?;
        Some((RunId(run.parse().ok()?), count.parse().ok()?))
    })
}

/// What a file could be otherwise. A server sees to it by itself.
fn check_integrity(home: &Home) {
    let Home::Files(dir) = home else { return };
    let dir = dir.path();
    let connection = rusqlite::Connection::open(dir.join(unflake_store::FILE)).unwrap();
    let word: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(word, "ok");
    let stray: Option<i64> =
        connection.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0)).unwrap();
    assert_eq!(stray, Some(0));
}

/// Kills a process that records, at some moment after it has shown something up to `most` times, and looks whether all
/// that it had shown is there.
fn kill(home: &Home, most: u64) -> usize {
    let mut child = spawn(home, u32::MAX);
    let mut output = shown(&mut child);
    let random = RandomState::new().hash_one(0);
    let seen = output.by_ref().take((random % (most + 1)) as usize).last();
    thread::sleep(Duration::from_micros((random >> 32) % 8_000));
    child.kill().unwrap();
    child.wait().unwrap();
    // The last lines may still be in the pipe, and the very last one cut short.
    let shown = output.last().or(seen);

    let store = home.open();
    let Some((run, count)) = shown else { return 0 };
    let kept = store.attempts_in(run).unwrap();
    assert!(kept.len() >= count, "{} attempts are there, and {count} had been shown", kept.len());
    assert_eq!(kept.len() % BATCH as usize, 0, "a batch is kept whole or not at all");
    assert_eq!(store.runs(1_000).unwrap().iter().find(|kept| kept.id == run).unwrap().attempts, kept.len() as u64);
    drop(store);
    check_integrity(home);
    count
}

fn a_kill_in_the_first_moments_of_a_history_loses_nothing_that_was_shown(home: &Home) {
    for _ in 0..15 {
        kill(&home.another(), 2);
    }
}

fn kill_after_kill_loses_nothing_that_was_shown(home: &Home) {
    let shown: usize = (0..25).map(|_| kill(home, 30)).sum();
    assert!(shown > 0);
}

fn processes_that_record_at_once_do_each_other_no_harm(home: &Home) {
    let mut children: Vec<Child> = (0..3).map(|_| spawn(home, 2_000)).collect();
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
    let store = home.open();
    for run in runs {
        assert_eq!(store.attempts_in(run).unwrap().len(), 2_000);
    }
    assert_eq!(store.runs(9).unwrap().len(), 3);
    drop(store);
    check_integrity(home);
}

fn a_history_can_be_opened_for_the_first_time_by_many_at_once(home: &Home) {
    for _ in 0..10 {
        let home = home.another();
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let mut store = home.open();
                    let run = store.begin(&facts()).unwrap();
                    store.record(run, &batch(0, 10)).unwrap();
                });
            }
        });
        let store = home.open();
        assert_eq!(store.runs(99).unwrap().iter().map(|run| run.attempts).sum::<u64>(), 80);
    }
}

with_files_and_server! {
    a_kill_in_the_first_moments_of_a_history_loses_nothing_that_was_shown,
    kill_after_kill_loses_nothing_that_was_shown,
    processes_that_record_at_once_do_each_other_no_harm,
    a_history_can_be_opened_for_the_first_time_by_many_at_once,
}
