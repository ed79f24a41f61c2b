//! Whatever is shared, put back or repeated: each session comes to what it would come to all alone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use unflake_model::Observation;

use crate::Story;
use crate::world::World;

pub(crate) const STORIES: &[Story] = &[
    ("sessions_of_all_sorts_come_to_what_they_come_to_alone", cells_only),
    ("with_files_they_do_too", with_files),
    ("whoever_is_killed_every_session_ends", with_killers),
];

fn cells_only() {
    for seed in 1..=4 {
        check(seed, &["set", "need", "clean", "thread", "crash", "plain"]);
    }
}

fn with_files() {
    for seed in 5..=8 {
        check(seed, &["set", "need", "crash", "plain", "write", "missing"]);
    }
}

fn tests() -> Value {
    json!({
        "set": ["set x 1"], "clean": ["drop x"], "need": ["need x"], "thread": ["thread"], "crash": ["crash"],
        "plain": ["sleep 0.01"], "orphan": ["orphan"], "write": ["write new.txt one"], "missing": ["missing new.txt"],
    })
}

/// How many of a list of tests are begun in one fresh environment, and how each ends.
fn alone(tests: &[&str]) -> Vec<String> {
    let (mut x, mut file) = (false, false);
    let mut outcomes = Vec::new();
    for (position, test) in tests.iter().enumerate() {
        let outcome = match *test {
            "need" if x => "failed",
            "missing" if file => "failed",
            "crash" => "crashed (killed by SIGSEGV)",
            _ => "passed",
        };
        x = (x || *test == "set") && *test != "clean";
        file |= *test == "write";
        outcomes.push(format!("{test} {outcome} {position}"));
        if *test == "crash" {
            break;
        }
    }
    outcomes
}

fn check(seed: u64, names: &[&'static str]) {
    let (mut world, asked) = run(seed, names);
    let mut made: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for line in world.attempts() {
        let (session, attempt) = line.split_once(' ').unwrap();
        made.entry(session.parse().unwrap()).or_default().push(attempt.to_owned());
    }
    for (session, (tests, prefix)) in (0..).zip(&asked) {
        let expected = alone(tests);
        let made = made.remove(&session).unwrap_or_default();
        let ends = world.told.iter().filter_map(|one| match one {
            Observation::SessionEnded { session: ended, left, .. } if ended.0 == session => Some(left),
            _ => None,
        });
        let [left] = ends.collect::<Vec<_>>()[..] else { panic!("seed {seed}: session {session} did not end once") };
        let rest = expected.get(*prefix..).unwrap_or_default();
        let context = format!("seed {seed}, session {session}: {tests:?} with a way of {prefix}: {made:?}");
        if *prefix == 0 {
            // Without a state to keep, it goes on in another environment after a crash.
            assert_eq!(made.len(), tests.len(), "{context}");
            assert_eq!(made[..expected.len()], expected, "{context}");
        } else {
            assert!(made.ends_with(rest), "{context}");
            assert!(made.iter().all(|one| expected.contains(one)), "{context}");
            let unreached = expected[..expected.len().min(*prefix)].iter().any(|one| one.contains("crashed"));
            let unrun = tests.len() - expected.len();
            assert!(if unreached { left.len() >= unrun } else { left.len() == unrun }, "{context} {left:?}");
        }
    }
    assert!(!world.path("new.txt").exists());
    world.close();
}

/// Runs three batches of sessions that are drawn by lot.
fn run(seed: u64, names: &[&'static str]) -> (World, Vec<(Vec<&'static str>, usize)>) {
    let mut chance = Chance(seed);
    let mut world = World::of_cells(tests(), 1 + chance.below(4));
    let mut asked: Vec<(Vec<&str>, usize)> = Vec::new();
    for _ in 0..3 {
        let from = asked.len();
        for _ in 0..1 + chance.below(9) {
            let length = 1 + chance.below(4);
            let session: Vec<&str> = (0..length).map(|_| names[chance.below(names.len())]).collect();
            asked.push((session, chance.below(length + 1)));
        }
        let written = |(tests, prefix): &(Vec<&str>, usize)| {
            let bar = if *prefix > 0 { " | " } else { " " };
            tests[..*prefix].join(" ") + bar + &tests[*prefix..].join(" ")
        };
        let texts: Vec<String> = asked[from..].iter().map(written).collect();
        world.run(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    }
    (world, asked)
}

fn with_killers() {
    for seed in 9..=10 {
        let (mut world, asked) = run(seed, &["set", "need", "plain", "orphan", "crash"]);
        let ends = world.ends();
        let numbers: BTreeSet<&str> = ends.iter().filter_map(|end| end.split(' ').next()).collect();
        assert_eq!((ends.len(), numbers.len()), (asked.len(), asked.len()), "seed {seed}: {ends:?}");
        world.close();
    }
}

/// Numbers that look drawn by lot and are the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }
}
