//! Every conversation of the ladder ends, whatever agents report: outcomes that contradict each other,
//! tests that cannot be loaded alone, sessions that end early, dependencies at random.

use std::collections::BTreeMap;
use std::path::PathBuf;

use proptest::prelude::*;
use unflake_model::{Base, BaseChoice, ChangeKind, Changes, FileChange, LeftFile, Outcome};

use super::*;
use crate::simulation::{attempt, ended, failure, listed};

const TESTS: [&str; 4] = ["a", "b", "c", "d"];

/// Answers from a list of numbers, which begins again at its end.
struct RandomAgent {
    numbers: Vec<u8>,
    at: usize,
}

impl RandomAgent {
    fn below(&mut self, limit: u8) -> u8 {
        self.at += 1;
        self.numbers[self.at % self.numbers.len()] % limit
    }

    fn is_one_in(&mut self, count: u8) -> bool {
        self.below(count) == 0
    }

    fn outcome(&mut self) -> Outcome {
        [Outcome::Failed, Outcome::Failed, Outcome::Passed, Outcome::Skipped][usize::from(self.below(4))]
    }

    fn dependencies(&mut self) -> Dependencies {
        let unknown = if self.is_one_in(5) { vec!["it is unknown".to_owned()] } else { Vec::new() };
        let name = format!("{}.py", TESTS[usize::from(self.below(4))]);
        Dependencies { root: PathBuf::from("/p"), executed: [(name, None)].into(), unknown, ..Dependencies::default() }
    }

    fn comparison(&mut self) -> Result<Comparison, String> {
        if self.is_one_in(8) {
            return Err("git is missing".to_owned());
        }
        let files = vec![FileChange { path: "a.py".to_owned(), kind: ChangeKind::Modified, functions: None }];
        let changes = Changes {
            base: Base { revision: "0".repeat(40), chosen: BaseChoice::Head },
            head: None,
            root: PathBuf::from("/p"),
            files,
            ignored: Vec::new(),
            caches: Default::default(),
            new_directories: Default::default(),
            for_all: Vec::new(),
            for_directory: Vec::new(),
            by_function: Vec::new(),
            descriptive: Default::default(),
            for_installation: Default::default(),
            ignore_case: false,
            unknown: Vec::new(),
        };
        let mut passed = BTreeMap::new();
        for test in TESTS {
            let before = (0..self.below(3)).map(|_| TestId::from(TESTS[usize::from(self.below(4))])).collect();
            if self.is_one_in(2) {
                passed.insert(test.into(), before);
            }
        }
        Ok(Comparison { changes, passed })
    }

    /// What the ladder observes of a session.
    fn events(&mut self, session: &Session) -> Vec<Event> {
        let mut events = Vec::new();
        let environment = EnvironmentId(u32::from(self.below(6)));
        for (position, test) in session.tests.iter().enumerate() {
            if self.is_one_in(4) {
                continue;
            }
            if self.is_one_in(2) {
                let on = Box::new(self.dependencies());
                events.push(Event::DependenciesRecorded { session: session.id, test: test.clone(), on });
            }
            for run in 0..=session.again {
                let outcome = self.outcome();
                let kind = if self.is_one_in(6) { "ImportError" } else { "AssertionError" };
                events.push(Event::AttemptEnded(Attempt {
                    environment,
                    position: position as u32,
                    run,
                    failure: outcome.is_failure().then(|| failure(kind)),
                    ..attempt(session, test, outcome)
                }));
            }
            if self.is_one_in(3) {
                let left = |count: u8| LeftFile { path: format!("f{count}"), is_leftover: count > 0 };
                let files = (0..self.below(4)).map(left).collect();
                events.push(Event::FilesLeft { test: test.clone(), files });
            }
        }
        let why = match self.below(4) {
            0 => Some("it cannot be loaded alone".to_owned()),
            1 => Some(WORLD_NOT_REACHED.to_owned()),
            _ => None,
        };
        match self.below(4) {
            0 => {}
            1 => events.push(ended(session)),
            _ => events.push(Event::SessionEnded { session: session.id, left: session.tests.clone(), why }),
        }
        events
    }
}

fn rungs() -> impl Strategy<Value = Rungs> {
    let at_base = prop_oneof![Just(AtBase::Needed), Just(AtBase::Always), Just(AtBase::Never)];
    (0..3_u32, 0..3_u32, 0..4_u32, 0..9_usize, at_base, any::<bool>()).prop_map(
        |(immediate, at_end, fresh, new_processes, verify_base, is_seeded)| Rungs {
            immediate,
            at_end,
            fresh,
            new_processes,
            verify_base,
            intersect: Some(Granularity::File),
            seeds: if is_seeded { vec![World { seed: Some(1), ..World::default() }] } else { Vec::new() },
            ..Rungs::default()
        },
    )
}

proptest! {
    #[test]
    fn every_conversation_ends(
        rungs in rungs(),
        isolated: bool,
        numbers in prop::collection::vec(any::<u8>(), 1..200),
    ) {
        let fewest = 8 + rungs.fresh as usize + rungs.new_processes * 2;
        let mut agent = RandomAgent { numbers, at: 0 };
        let mut ladder = Ladder::new(rungs, NeverExcuse::default());
        ladder.observe(&listed(&TESTS, isolated), Recordings::EMPTY);
        let mut batches = 0;
        loop {
            let sessions = ladder.next_sessions(Recordings::EMPTY);
            if sessions.is_empty() {
                break;
            }
            batches += 1;
            prop_assert!(batches < fewest + 10, "still asking after {batches} batches");
            for session in &sessions {
                for event in agent.events(session) {
                    ladder.observe(&event, Recordings::EMPTY);
                }
            }
            if ladder.compared.is_none() && agent.is_one_in(2) {
                let compared = Box::new(agent.comparison());
                ladder.observe(&Event::ChangesCompared(compared), Recordings::EMPTY);
            }
        }
        prop_assert!(ladder.next_sessions(Recordings::EMPTY).is_empty());
        ladder.findings(Recordings::EMPTY);
    }
}
