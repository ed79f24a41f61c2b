//! Imports of the same files and runs at the same time, killed at random moments.

use std::collections::HashMap;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use e2e::{HANG, Sandbox, python, server, unflake};
use unflake_store::{SourceId, Store, StoreLocation};

use super::report;

const REPORTS: u32 = 6;
/// More than fit into one transaction.
const TESTS: usize = 25_000;
const USER: &str = "crowd";
const PASSWORD: &str = "cr0wd-pa55";
/// Tests of the project that the shards run.
const OWN_TESTS: usize = 40;

/// The location of the history.
enum HistoryLocation {
    Files(PathBuf),
    Server,
    /// Over TCP and TLS, as a user with a password.
    Tls,
}

/// Who uses the history at the same time.
#[derive(Clone, Copy, PartialEq)]
enum Crowd {
    /// Two imports and a run.
    Three,
    /// Three imports and the two shards of a run.
    Five,
}

impl HistoryLocation {
    /// The value of `UNFLAKE_STORE` for the n-th history.
    fn text(&self, number: usize) -> String {
        match self {
            Self::Files(dir) => dir.to_str().unwrap().to_owned(),
            Self::Server => server().address_of(&format!("killed_{number}")),
            Self::Tls => {
                let address = server().address_as(USER, PASSWORD, &format!("killed_over_tls_{number}"));
                format!("{address}&sslmode=require")
            }
        }
    }

    fn opened(&self, number: usize) -> Option<Store> {
        let place = StoreLocation::parse(&self.text(number), &PathBuf::new(), &|_| None).unwrap();
        Store::find(&place).unwrap()
    }

    /// Prepares for a new history.
    fn clear(&self) {
        if let Self::Files(dir) = self {
            std::fs::remove_dir_all(dir).unwrap();
        }
    }
}

fn begin(sandbox: &Sandbox, store: &str, arguments: &[&str]) -> Child {
    let mut command = sandbox.command(unflake());
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
                assert!(times.values().all(|times| *times == 1), "a test is stored twice");
                imported += times.len() as u64;
            }
            SourceId::Run(run) => {
                let reported = store.runs(usize::MAX).unwrap().into_iter().find(|one| one.id == run).unwrap();
                assert_eq!(reported.attempts, store.attempts_in(run).unwrap().len() as u64);
                runs += 1;
            }
        }
    }
    (runs, imported)
}

/// Both shards together ran every test once in the suite.
fn check_shards(store: &Store) {
    let runs = store.all_shard_runs().unwrap();
    let latest = |number: u32| runs.iter().rev().find(|one| one.shard.number == number).unwrap();
    let mut ran = Vec::new();
    for one in [latest(1), latest(2)] {
        assert!(one.run.ended.is_some(), "{one:?}");
        let mut suite: Vec<String> =
            store.attempts_in(one.run.id).unwrap().into_iter().map(|attempt| attempt.test.to_string()).collect();
        let mut planned: Vec<String> = one.shard.planned.iter().map(ToString::to_string).collect();
        suite.sort();
        planned.sort();
        assert_eq!(suite, planned);
        ran.extend(suite);
    }
    ran.sort();
    ran.dedup();
    assert_eq!(ran.len(), OWN_TESTS);
}

fn kill_at_random(kills: usize, home: impl FnOnce(&Sandbox) -> HistoryLocation, crowd: Crowd) {
    let tests: String = (0..OWN_TESTS).map(|number| format!("def test_{number}(): pass\n")).collect();
    let sandbox = Sandbox::with_tests(&tests);
    let names: Vec<String> = (0..TESTS).map(|number| format!("test_{number}")).collect();
    let cases: Vec<(&str, bool)> = names.iter().enumerate().map(|(at, name)| (name.as_str(), at % 997 != 0)).collect();
    let mut sandbox = sandbox;
    for day in 0..REPORTS {
        sandbox = sandbox.file(&format!("reports/{day}.xml"), report(day, &cases));
    }
    let forward: Vec<String> = (0..REPORTS).map(|day| format!("reports/{day}.xml")).collect();
    let mut forward: Vec<&str> = forward.iter().map(String::as_str).collect();
    forward.splice(0..0, ["history", "import"]);
    let mut backward = forward.clone();
    backward[2..].reverse();
    let mut from_the_middle = forward.clone();
    from_the_middle[2..].rotate_left(REPORTS as usize / 2);
    let python = python().to_str().unwrap();
    let run = vec!["run", "--", python, "-m", "pytest", "-q"];
    let shard = |which: &'static str| [vec!["run", "--shard", which], run[1..].to_vec()].concat();
    let commands = match crowd {
        Crowd::Three => vec![forward.clone(), backward, run.clone()],
        Crowd::Five => vec![forward.clone(), backward, from_the_middle, shard("1/2"), shard("2/2")],
    };
    let home = home(&sandbox);
    let mut number = 0;
    let (mut killed, mut partly, mut rounds, mut most) = (0, 0, 0, 100);
    // On a slow machine it takes several rounds until a kill hits an import in progress.
    while killed < kills || partly == 0 && killed < 20 * kills {
        rounds += 1;
        let text = home.text(number);
        let mut children: Vec<Child> = commands.iter().map(|command| begin(&sandbox, &text, command)).collect();
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
        // Adapts to how long an import takes on this machine.
        if imported == 0 {
            most *= 2;
        }
        if imported == whole {
            most = (most * 2 / 3).max(50);
            // The next round starts with an empty history, so that there is something to interrupt.
            drop(store);
            home.clear();
            number += 1;
        }
    }
    assert!(partly > 0, "no import was killed in progress");
    let early = remove_unsupervised(&sandbox);
    println!(
        "{killed} processes killed in {rounds} rounds; {partly} times during an import, {early} times before a run had \
         its supervisor"
    );
    let text = home.text(number);
    sandbox.unflake(forward.iter().copied()).env("UNFLAKE_STORE", &text).finish().expect_exit(0);
    sandbox.run_invocation("", &format!("{python} -m pytest -q")).env("UNFLAKE_STORE", &text).finish().expect_exit(0);
    if crowd == Crowd::Five {
        for shard in [shard("1/2"), shard("2/2")] {
            sandbox.unflake(shard).env("UNFLAKE_STORE", &text).finish().expect_exit(0);
        }
    }
    let store = home.opened(number).unwrap();
    if crowd == Crowd::Five {
        check_shards(&store);
    }
    let (runs, imported) = check(&store);
    assert!(runs > 0);
    assert_eq!(imported, u64::from(REPORTS) * TESTS as u64, "nothing is lost");
    let reports = store.reports(usize::MAX).unwrap();
    assert_eq!(reports.len(), REPORTS as usize, "no report is stored twice");
    assert!(reports.iter().all(|report| report.ended.as_deref() == Some("") && report.executions == TESTS as u64));
    drop(store);
    if let HistoryLocation::Files(dir) = home {
        let database = rusqlite::Connection::open(dir.join(unflake_store::FILE)).unwrap();
        let word: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(word, "ok");
    }
}

/// Removes the directories of runs that were killed before their supervisor started, which contain
/// only a socket, and returns how many there were. Supervisors remove everything else, which may
/// take a moment.
fn remove_unsupervised(sandbox: &Sandbox) -> usize {
    let left = || -> Vec<PathBuf> {
        let entries = fs::read_dir(sandbox.root().join("tmp")).unwrap().flatten();
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
    while !left().iter().all(bare) && began.elapsed() < HANG {
        thread::sleep(Duration::from_millis(50));
    }
    let early = left();
    for directory in &early {
        assert!(
            bare(directory),
            "{directory:?} is left: {:?}",
            fs::read_dir(directory).unwrap().flatten().collect::<Vec<_>>()
        );
        // Its supervisor may have removed it meanwhile.
        let _ = fs::remove_dir_all(directory);
    }
    early.len()
}

fn in_files(sandbox: &Sandbox) -> HistoryLocation {
    HistoryLocation::Files(sandbox.project().join(".unflake"))
}

fn on_server(_: &Sandbox) -> HistoryLocation {
    HistoryLocation::Server
}

fn over_tls(_: &Sandbox) -> HistoryLocation {
    server().ask(&format!("CREATE USER {USER} PASSWORD '{PASSWORD}'; GRANT CREATE ON DATABASE postgres TO {USER}"));
    HistoryLocation::Tls
}

#[test]
fn killed_imports_and_runs_lose_and_duplicate_nothing() {
    kill_at_random(12, in_files, Crowd::Three);
}

#[test]
fn killed_imports_and_runs_on_a_server_lose_and_duplicate_nothing() {
    kill_at_random(12, on_server, Crowd::Three);
}

#[test]
#[ignore = "takes minutes"]
fn two_hundred_kills() {
    kill_at_random(200, in_files, Crowd::Three);
}

#[test]
#[ignore = "takes minutes"]
fn two_hundred_kills_on_a_server() {
    kill_at_random(200, on_server, Crowd::Three);
}

#[test]
#[ignore = "takes minutes"]
fn two_hundred_kills_of_importers_and_shards_over_tls() {
    kill_at_random(200, over_tls, Crowd::Five);
}
