//! Tests of `locate`.

use unflake_model::{Failure, Replay, Timestamp};

use super::*;
use crate::divergence::recorded_traces::RecordedTraces;
use crate::simulation::{attempt, failure, listed};

fn config() -> LocateConfig {
    LocateConfig {
        test: "retry".into(),
        runs: 50,
        most: 200,
        fresh_by: Isolation::Fork,
        seconds: 1e6,
        jobs: 2,
        worlds: Vec::new(),
        schedule: None,
    }
}

/// Drives the technique with a simulated test: the nth run (from 0) of an isolation kind ends as
/// `simulate` predicts, along the given trace.
struct LocateRun {
    locate: Locate,
    traces: RecordedTraces,
    /// Per batch: number of forks and of new processes.
    batches: Vec<(usize, usize)>,
}

fn locate(config: LocateConfig, isolated: bool, simulate: impl Fn(Isolation, u32) -> (Outcome, String)) -> LocateRun {
    let mut traces = RecordedTraces::default();
    let mut locate = Locate::new(config);
    locate.observe(&listed(&["mail::test_retry", "mail::test_send"], isolated), Recordings::EMPTY);
    let (mut batches, mut clock, mut times) = (Vec::new(), 0, [0, 0]);
    loop {
        let sessions = locate.next_sessions(Recordings { traces: &traces, ..Recordings::EMPTY });
        if sessions.is_empty() {
            return LocateRun { locate, traces, batches };
        }
        let copies =
            sessions.iter().filter(|one| one.place == unflake_model::Placement::Fresh(Isolation::Fork)).count();
        batches.push((copies, sessions.len() - copies));
        for session in sessions {
            let unflake_model::Placement::Fresh(origin) = session.place else { panic!("{:?}", session.place) };
            let time = &mut times[usize::from(origin == Isolation::Process)];
            let (outcome, way) = simulate(origin, *time);
            *time += 1;
            let environment = EnvironmentId(if isolated { 0 } else { session.id.0 });
            let test = session.tests[0].clone();
            if !way.is_empty() {
                traces.run(outcome.is_failure(), &[("main", &way)]);
                let traced = Event::TraceRecorded { test: test.clone(), environment, directory: "gone".into() };
                locate.observe(&traced, Recordings { traces: &traces, ..Recordings::EMPTY });
            }
            clock += 1_000_000;
            let failure = outcome.is_failure().then(|| Failure {
                message: "no answer".into(),
                file: Some("a.src".into()),
                line: Some(9),
                ..failure("AssertionError")
            });
            let started = Timestamp(clock);
            let attempt = Attempt { environment, started, seconds: 1.0, failure, ..attempt(&session, &test, outcome) };
            locate.observe(&Event::AttemptEnded(attempt), Recordings { traces: &traces, ..Recordings::EMPTY });
        }
    }
}

impl LocateRun {
    fn findings(&self) -> Vec<Finding> {
        self.locate.findings(Recordings { traces: &self.traces, ..Recordings::EMPTY })
    }
}

/// Passes or fails by a drawn number; `share` of ten runs fail.
fn drawn(run: u32, share: u32) -> (Outcome, String) {
    let number = (run * 7 + 3) % 10;
    let (outcome, end) = if number < share { (Outcome::Failed, "t:9") } else { (Outcome::Passed, "t:8") };
    (outcome, format!("t:1 t:2 n={number} t:3 {end}"))
}

#[test]
fn it_stops_when_the_answer_is_stable() {
    let run = locate(config(), false, |_, run| drawn(run, 5));
    assert_eq!(run.batches, [(10, 0), (10, 0), (10, 0)]);
    let found = &run.findings()[0];
    assert!(found.sentence.starts_with("starts at a.src:2: n ≤ 4 in all "), "{}", found.sentence);
    assert_eq!(found.replays, [Replay::sometimes_fails(vec!["mail::test_retry".into()])]);
}

#[test]
fn it_goes_on_until_enough_runs_have_failed() {
    let rare = |every: u32| move |_, run: u32| if run % every == 30 { drawn(1, 1) } else { drawn(2 + run % 8, 1) };
    // The fifth failure is run 171, and runs come in tens.
    let run = locate(config(), true, rare(35));
    assert_eq!((run.locate.counts().passed, run.locate.counts().failed), (175, 5));
    assert!(run.findings()[0].sentence.starts_with("starts at a.src:2"), "{}", run.findings()[0].sentence);
    let once = locate(config(), true, rare(300));
    assert_eq!((once.locate.counts().passed, once.locate.counts().failed), (199, 1));
    let never = locate(config(), true, |_, _| (Outcome::Passed, "t:1 t:2".into()));
    assert_eq!(never.locate.counts(), LocateCounts { passed: 200, ..LocateCounts::default() });
    assert!(never.findings().is_empty());
}

#[test]
fn forks_that_end_alike_are_joined_by_new_processes() {
    let by_process = |origin, run| match origin {
        Isolation::Fork => (Outcome::Passed, "t:1 t:2 t:8".to_owned()),
        _ => drawn(run, 4),
    };
    let run = locate(config(), false, by_process);
    assert_eq!(run.batches[..2], [(10, 0), (5, 5)]);
    assert!(run.batches[2..].iter().all(|(copies, _)| *copies == 0), "{:?}", run.batches);
    let found = run.findings();
    let Detail::Divergence(found) = &found[0].detail else { panic!() };
    assert_eq!(found.locations[0].line.line, 2, "{found:?}");
    assert!(found.runs < run.traces.runs.len() as u32, "copies are left out: {}", found.runs);
}

#[test]
fn differences_between_forks_and_processes_alone_are_not_enough() {
    let at_first_alike = |origin, run| match origin {
        Isolation::Fork => (Outcome::Passed, "t:1 t:2 t:8".to_owned()),
        Isolation::Process if run < 12 => (Outcome::Failed, format!("t:1 t:2 n={} t:3 t:9", run % 4)),
        _ => drawn(run, 4),
    };
    let run = locate(config(), false, at_first_alike);
    assert_eq!(run.batches[..3], [(10, 0), (5, 5), (0, 10)]);
    let found = run.findings();
    let Detail::Divergence(found) = &found[0].detail else { panic!() };
    assert_eq!((found.locations[0].line.line, &found.unknown), (2, &Vec::new()), "{found:?}");

    let always = |origin, _| match origin {
        Isolation::Fork => (Outcome::Passed, "t:1 t:2 t:8".to_owned()),
        _ => (Outcome::Failed, "t:1 t:2 t:9".to_owned()),
    };
    let run = locate(config(), false, always);
    assert_eq!(run.batches.iter().map(|(_, processes)| processes).sum::<usize>(), 50);
    let found = run.findings();
    let Detail::Divergence(found) = &found[0].detail else { panic!() };
    assert_eq!(found.unknown.len(), 1, "{found:?}");
}

#[test]
fn an_isolated_runner_always_gets_new_processes() {
    let run = locate(config(), true, |_, run| drawn(run, 5));
    assert!(run.batches.iter().all(|(copies, _)| *copies == 0), "{:?}", run.batches);
}

#[test]
fn timeouts_and_untraced_runs_are_excluded() {
    let run = locate(config(), true, |_, run| match run % 5 {
        0 => (Outcome::TimedOut, "t:1 t:2".to_owned()),
        1 => (Outcome::Passed, String::new()),
        _ => drawn(run, 5),
    });
    let found = run.findings();
    let Detail::Divergence(found) = &found[0].detail else { panic!() };
    let counts = run.locate.counts();
    assert_eq!((found.timed_out, found.runs), (counts.timed_out, counts.passed + counts.failed - counts.untraced));
    assert!(counts.timed_out > 0 && counts.untraced > 0);
}

#[test]
fn the_budget_ends_it() {
    let run = locate(LocateConfig { seconds: 5.0, ..config() }, true, |_, _| (Outcome::Passed, "t:1".into()));
    assert_eq!(run.batches, [(0, 10)]);
}

#[test]
fn skipped_tests_and_ambiguous_names_are_not_run_further() {
    let skipped = locate(config(), true, |_, _| (Outcome::Skipped, String::new()));
    assert_eq!((skipped.batches, skipped.locate.counts().skipped), (vec![(0, 10)], 10));
    let several = locate(LocateConfig { test: "mail".into(), ..config() }, true, |_, _| panic!("not run"));
    assert_eq!((several.batches.len(), several.locate.matching.len()), (0, 2));
}

#[test]
fn a_crash_counts_as_a_failure() {
    let run = locate(config(), true, |_, run| match drawn(run, 3) {
        (Outcome::Failed, way) => (Outcome::Crashed(unflake_model::Death::Signal(11)), way),
        other => other,
    });
    assert!(run.locate.counts().failed > 0 && !run.findings().is_empty());
}

#[test]
fn waits_are_known_where_the_budget_ends_before_the_next_batch() {
    let mut traces = RecordedTraces::default();
    let mut locate = Locate::new(config());
    locate.observe(&listed(&["mail::test_retry"], false), Recordings::EMPTY);
    let sessions = locate.next_sessions(Recordings::EMPTY);
    let (session, test) = (&sessions[0], &sessions[0].tests[0]);
    traces.run(false, &[("main", "t:1 t:2")]).reach("t:1", unflake_model::Cause::AsyncWait, "time.sleep");
    let environment = EnvironmentId(session.id.0);
    let recordings = || Recordings { traces: &traces, ..Recordings::EMPTY };
    let traced = Event::TraceRecorded { test: test.clone(), environment, directory: "gone".into() };
    locate.observe(&traced, recordings());
    let attempt = Attempt { environment, ..attempt(session, test, Outcome::Passed) };
    locate.observe(&Event::AttemptEnded(attempt), recordings());
    assert_eq!(locate.waits.len(), 1);
}
