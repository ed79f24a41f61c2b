//! Random sessions: whatever is shared, restored or repeated, each session has the results that it
//! has alone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use unflake_model::Event;

use crate::NamedTest;
use crate::project::EngineProject;

pub(crate) const TESTS: &[NamedTest] = &[
    ("random_sessions_have_the_results_that_they_have_alone", cells_only),
    ("random_sessions_that_write_files_do_too", with_files),
    ("every_session_ends_when_its_parent_process_is_killed", with_killed_parents),
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

/// The expected attempts of a list of tests in one fresh environment.
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
    let (mut project, requested) = run(seed, names);
    let mut made: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for line in project.attempts() {
        let (session, attempt) = line.split_once(' ').unwrap();
        made.entry(session.parse().unwrap()).or_default().push(attempt.to_owned());
    }
    for (session, (tests, prefix)) in (0..).zip(&requested) {
        let expected = alone(tests);
        let made = made.remove(&session).unwrap_or_default();
        let ends = project.events.iter().filter_map(|one| match one {
            Event::SessionEnded { session: ended, left, .. } if ended.0 == session => Some(left),
            _ => None,
        });
        let [left] = ends.collect::<Vec<_>>()[..] else { panic!("seed {seed}: session {session} did not end once") };
        let rest = expected.get(*prefix..).unwrap_or_default();
        let context = format!("seed {seed}, session {session}: {tests:?} with a prefix of {prefix}: {made:?}");
        if *prefix == 0 {
            // Without a prefix it continues in another environment after a crash.
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
    assert!(!project.path("new.txt").exists());
    project.close();
}

/// Runs three batches of random sessions.
fn run(seed: u64, names: &[&'static str]) -> (EngineProject, Vec<(Vec<&'static str>, usize)>) {
    let mut random = SeededNumbers(seed);
    let mut project = EngineProject::scripted(tests(), 1 + random.below(4));
    let mut requested: Vec<(Vec<&str>, usize)> = Vec::new();
    for _ in 0..3 {
        let from = requested.len();
        for _ in 0..1 + random.below(9) {
            let length = 1 + random.below(4);
            let session: Vec<&str> = (0..length).map(|_| names[random.below(names.len())]).collect();
            requested.push((session, random.below(length + 1)));
        }
        let text = |(tests, prefix): &(Vec<&str>, usize)| {
            let bar = if *prefix > 0 { " | " } else { " " };
            tests[..*prefix].join(" ") + bar + &tests[*prefix..].join(" ")
        };
        let texts: Vec<String> = requested[from..].iter().map(text).collect();
        project.run(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    }
    (project, requested)
}

fn with_killed_parents() {
    for seed in 9..=10 {
        let (mut project, requested) = run(seed, &["set", "need", "plain", "orphan", "crash"]);
        let ends = project.ends();
        let numbers: BTreeSet<&str> = ends.iter().filter_map(|end| end.split(' ').next()).collect();
        assert_eq!((ends.len(), numbers.len()), (requested.len(), requested.len()), "seed {seed}: {ends:?}");
        project.close();
    }
}

/// Reproducible pseudo-random numbers.
struct SeededNumbers(u64);

impl SeededNumbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }
}
