//! `unflake run` and everything that reads the history agree on every test.

use proptest::prelude::*;
use unflake_model::{
    Attempt, EnvironmentId, Event, Isolation, Outcome, Placement, Session, SessionId, Test, TestId, Timestamp,
    VerdictKind,
};
use unflake_store::{Host, Revision, RunFacts};
use unflake_techniques::{Ladder, NeverExcuse, Recordings, Rungs, ScoredRun, Technique};

use super::*;

/// How a test behaves. Numbers are seeds.
#[derive(Clone, Copy, Debug)]
enum SimulatedBehaviour {
    Passes,
    Fails,
    /// Each attempt is drawn anew.
    Random(u64),
    /// Drawn once per process.
    PerProcess(u64),
    /// The first attempt in every process fails.
    FailsFirst,
    /// It fails after other tests, in any process.
    FailsAfterOthers,
    /// It fails in the suite, then never again.
    FailsOnce,
}

use SimulatedBehaviour::{Fails, FailsAfterOthers, FailsFirst, FailsOnce, Passes, PerProcess, Random};

fn behaviour() -> impl Strategy<Value = SimulatedBehaviour> {
    prop_oneof![
        Just(Passes),
        Just(Fails),
        any::<u64>().prop_map(Random),
        any::<u64>().prop_map(PerProcess),
        Just(FailsFirst),
        Just(FailsAfterOthers),
        Just(FailsOnce),
    ]
}

/// Whether a coin shows heads.
fn coin(seed: u64, toss: u64) -> bool {
    let mixed = (seed ^ toss.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed ^ (mixed >> 31)).count_ones().is_multiple_of(2)
}

/// Runs the ladder on simulated tests, and records everything in the history as `unflake run` does.
/// Returns the verdicts.
fn run(
    store: &mut Store,
    number: u64,
    tests: &[SimulatedBehaviour],
    until: Option<usize>,
) -> Vec<(String, VerdictKind)> {
    let facts = RunFacts {
        command: vec!["test".to_owned()],
        cwd: "/p".to_owned(),
        started: Timestamp(number as i64 * 1_000_000),
        revision: Revision::default(),
        host: Host::default(),
        version: "0".to_owned(),
    };
    let id = store.begin(&facts).unwrap();
    let commit = Some(format!("{number:040}"));
    let revision = Revision { tree: commit.clone(), commit, dirty: Some(false), changed: Vec::new() };
    store.revision(id, &revision).unwrap();
    let mut ladder = Ladder::new(Rungs::default(), NeverExcuse::default());
    let test = |at: usize| Test {
        id: TestId::from(format!("test_{at}").as_str()),
        file: None,
        line: None,
        command: Vec::new(),
    };
    let listed = Event::TestsListed {
        tests: (0..tests.len()).map(test).collect(),
        deselected: 0,
        isolated: false,
        seconds: 0.0,
    };
    let mut observe = |ladder: &mut Ladder, event: Event| {
        store.record(id, std::slice::from_ref(&event)).unwrap();
        ladder.observe(&event, Recordings::EMPTY);
    };
    observe(&mut ladder, listed);
    let (mut tosses, mut batches) = (number << 32, 0);
    let mut positions: HashMap<EnvironmentId, u32> = HashMap::new();
    loop {
        let sessions = ladder.next_sessions(Recordings::EMPTY);
        batches += 1;
        if sessions.is_empty() || until.is_some_and(|until| batches > until) {
            break;
        }
        for session in &sessions {
            let environment = match session.place {
                Placement::Live => EnvironmentId(0),
                Placement::Fresh(_) => EnvironmentId(session.id.0 + 1),
            };
            for test in &session.tests {
                let at: usize = test.as_str()[5..].parse().unwrap();
                for again in 0..=session.again {
                    let position = positions.entry(environment).or_default();
                    tosses += 1;
                    let is_first = session.id == SessionId(0) && again == 0;
                    let fails = match tests[at] {
                        Passes => false,
                        Fails => true,
                        Random(seed) => coin(seed, tosses),
                        PerProcess(seed) => coin(seed, number << 32 | u64::from(environment.0)),
                        FailsFirst => again == 0,
                        FailsAfterOthers => *position > again,
                        FailsOnce => is_first,
                    };
                    let attempt = Attempt {
                        test: test.clone(),
                        session: session.id,
                        purpose: session.purpose,
                        environment,
                        origin: Isolation::Process,
                        world: None,
                        position: *position,
                        run: again,
                        outcome: if fails { Outcome::Failed } else { Outcome::Passed },
                        started: Timestamp(number as i64 * 1_000_000),
                        seconds: 0.01,
                        load: None,
                        failure: None,
                        stdout: String::new(),
                        stderr: String::new(),
                    };
                    *position += 1;
                    observe(&mut ladder, Event::AttemptEnded(attempt));
                    if !fails {
                        break;
                    }
                }
            }
            let Session { id, .. } = session;
            observe(&mut ladder, Event::SessionEnded { session: *id, left: Vec::new(), why: None });
        }
    }
    let findings = ladder.findings(Recordings::EMPTY);
    store.record_findings(id, &findings).unwrap();
    store.finish(id, Timestamp(number as i64 * 1_000_000 + 1), 0).unwrap();
    findings.iter().filter_map(|one| Some((one.test.to_string(), one.verdict()?.kind))).collect()
}

/// What the history says of each test in its last run.
fn last_in_history(store: &Store) -> HashMap<String, ScoredRun> {
    let scores = compute(store, None).unwrap();
    let last = scores.runs.len() as u32 - 1;
    let of_test = |(key, standing): &(TestKey, TestStanding)| {
        let scored = standing.strip.iter().find(|(run, _)| *run == last).map_or(ScoredRun::Passed, |(_, one)| *one);
        (scores.tests.get(key).unwrap().test.to_string(), scored)
    };
    scores.all.iter().map(of_test).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_history_agrees_with_the_run(
        runs in prop::collection::vec((prop::collection::vec(behaviour(), 4), prop::option::of(1..6_usize)), 1..5),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(directory.path()).unwrap();
        for (number, (tests, until)) in runs.iter().enumerate() {
            let verdicts: HashMap<String, VerdictKind> =
                run(&mut store, number as u64 + 1, tests, *until).into_iter().collect();
            for (test, scored) in last_in_history(&store) {
                let expected = match verdicts.get(&test) {
                    None => ScoredRun::Passed,
                    Some(kind) if kind.is_flaky() => ScoredRun::Flaked,
                    // A crash is real though a rerun passed.
                    Some(VerdictKind::Real) if scored == ScoredRun::Real => ScoredRun::Real,
                    Some(_) => ScoredRun::Failed,
                };
                prop_assert_eq!(scored, expected, "{} {:?} in run {}", test, verdicts.get(&test), number + 1);
            }
        }
    }
}
