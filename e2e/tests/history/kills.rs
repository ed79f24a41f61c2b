//! Two importers of the same files and a run at the same time, killed at random.

use std::collections::HashMap;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use e2e::{Story, python, server, unflake};
use unflake_store::{SourceId, Store, StoreLocation};

use crate::report;

const REPORTS: u32 = 6;
/// More than one transaction's worth.
const TESTS: usize = 25_000;

/// Where the history is.
enum Home {
    Files(PathBuf),
    Server,
}

impl Home {
    /// As it is typed, by the number of histories that there were before.
    fn text(&self, number: usize) -> String {
        match self {
            Self::Files(dir) => dir.to_str().unwrap().to_owned(),
            Self::Server => server().address_of(&format!("killed_{number}")),
        }
    }

    fn opened(&self, number: usize) -> Option<Store> {
        let place = StoreLocation::parse(&self.text(number), &PathBuf::new(), &|_| None).unwrap();
        Store::find(&place).unwrap()
    }

    /// Makes room for a new history.
    fn clear(&self) {
        if let Self::Files(dir) = self {
            std::fs::remove_dir_all(dir).unwrap();
        }
    }
}

fn begin(story: &Story, store: &str, arguments: &[&str]) -> Child {
    let mut command = story.command(unflake());
    command.env("UNFLAKE_STORE", store);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

fn check(store: &Store) -> (usize, u64) {
    let mut runs = 0;
    let mut imported = 0;
    for source in store.sources().unwrap() {
        let mut times: HashMap<i64, u32> = HashMap::new();
        store.executions_in(source.id, &mut |one| *times.entry(one.test.0).or_default() += 1).unwrap();
        match source.id {
            SourceId::Report(_) => {
                assert!(times.values().all(|times| *times == 1), "a test is there twice");
                imported += times.len() as u64;
            }
            SourceId::Run(run) => {
                let told = store.runs(usize::MAX).unwrap().into_iter().find(|one| one.id == run).unwrap();
                assert_eq!(told.attempts, store.attempts_in(run).unwrap().len() as u64);
                runs += 1;
            }
        }
    }
    (runs, imported)
}

fn kill_at_random(kills: usize, on_server: bool) {
    let story = Story::of("def test_one(): pass\ndef test_two(): pass\n");
    let names: Vec<String> = (0..TESTS).map(|number| format!("test_{number}")).collect();
    let cases: Vec<(&str, bool)> = names.iter().enumerate().map(|(at, name)| (name.as_str(), at % 997 != 0)).collect();
    let mut story = story;
    for day in 0..REPORTS {
        story = story.with(&format!("reports/{day}.xml"), report(day, &cases));
    }
    let forward: Vec<String> = (0..REPORTS).map(|day| format!("reports/{day}.xml")).collect();
    let mut forward: Vec<&str> = forward.iter().map(String::as_str).collect();
    forward.insert(0, "import");
    let mut backward = forward.clone();
    backward[1..].reverse();
    let python = python().to_str().unwrap();
    let run = ["run", "--", python, "-m", "pytest", "-q"];
    let home = if on_server { Home::Server } else { Home::Files(story.project().join(".unflake")) };
    let mut number = 0;
    let (mut killed, mut partly, mut rounds, mut most) = (0, 0, 0, 100);
    // On a slow machine it may take a while until anything is killed in the middle of its work.
    while killed < kills || partly == 0 && killed < 20 * kills {
        rounds += 1;
        let text = home.text(number);
        let mut children =
            [begin(&story, &text, &forward), begin(&story, &text, &backward), begin(&story, &text, &run)];
        for child in &mut children {
            let random = RandomState::new().hash_one(killed);
            thread::sleep(Duration::from_millis(random % most));
            killed += usize::from(child.try_wait().unwrap().is_none());
            child.kill().unwrap();
        }
        children.iter_mut().for_each(|child| assert!(child.wait().is_ok()));
        let Some(store) = home.opened(number) else {
            most *= 2;
            continue;
        };
        let whole = u64::from(REPORTS) * TESTS as u64;
        let imported = check(&store).1;
        partly += usize::from(imported > 0 && imported < whole);
        // How long it takes to come to something depends on the machine.
        if imported == 0 {
            most *= 2;
        }
        if imported == whole {
            most = (most * 2 / 3).max(50);
            // From the beginning, so that there is something to be killed in.
            drop(store);
            home.clear();
            number += 1;
        }
    }
    assert!(partly > 0, "no import was ever killed in the middle");
    let early = clear_what_nobody_keeps(&story);
    println!(
        "{killed} processes killed in {rounds} rounds; {partly} times an import was in the middle, {early} times a run had no \
         keeper yet"
    );
    let text = home.text(number);
    story.unflake(forward.iter().copied()).env("UNFLAKE_STORE", &text).end().exits(0);
    story.running("", &format!("{python} -m pytest -q")).env("UNFLAKE_STORE", &text).end().exits(0);
    let store = home.opened(number).unwrap();
    let (runs, imported) = check(&store);
    assert!(runs > 0);
    assert_eq!(imported, u64::from(REPORTS) * TESTS as u64, "nothing is lost");
    let reports = store.reports(usize::MAX).unwrap();
    assert_eq!(reports.len(), REPORTS as usize, "nothing is there twice");
    assert!(reports.iter().all(|report| report.ended.as_deref() == Some("") && report.executions == TESTS as u64));
    drop(store);
    if let Home::Files(dir) = home {
        let database = rusqlite::Connection::open(dir.join(unflake_store::FILE)).unwrap();
        let word: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(word, "ok");
    }
}

/// A run that is killed before it has a keeper leaves its directory behind, with nothing in it but a socket. Everything else is cleared
/// away by keepers, some of which may still be at it.
fn clear_what_nobody_keeps(story: &Story) -> usize {
    let left = || -> Vec<PathBuf> {
        let entries = fs::read_dir(story.place().join("tmp")).unwrap().flatten();
        entries
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("unflake-"))
            .map(|entry| entry.path())
            .collect()
    };
    let began = Instant::now();
    let bare = |directory: &PathBuf| {
        fs::read_dir(directory)
            .is_ok_and(|mut entries| entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == "s")))
    };
    while !left().iter().all(bare) && began.elapsed() < Duration::from_secs(15) {
        thread::sleep(Duration::from_millis(50));
    }
    let early = left();
    for directory in &early {
        assert!(
            bare(directory),
            "{directory:?} is left: {:?}",
            fs::read_dir(directory).unwrap().flatten().collect::<Vec<_>>()
        );
        // Its keeper may be quicker.
        let _ = fs::remove_dir_all(directory);
    }
    early.len()
}

#[test]
fn importers_and_a_run_that_are_killed_lose_nothing_and_keep_nothing_twice() {
    kill_at_random(12, false);
}

#[test]
fn the_same_on_a_server() {
    kill_at_random(12, true);
}

/// The same at length: minutes.
#[test]
#[ignore = "takes minutes: cargo test -p e2e --test history -- --ignored"]
fn two_hundred_kills() {
    kill_at_random(200, false);
}

#[test]
#[ignore = "takes minutes: cargo test -p e2e --test history -- --ignored"]
fn two_hundred_kills_on_a_server() {
    kill_at_random(200, true);
}
