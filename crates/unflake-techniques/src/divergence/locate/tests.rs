use unflake_model::{Failure, Phase, Test, Timestamp};

use super::*;
use crate::divergence::recorded_traces::Recorded;

fn locating() -> LocateConfig {
    LocateConfig { test: "retry".into(), runs: 50, most: 200, fresh_by: Isolation::Fork, seconds: 1e6, jobs: 2 }
}

/// A conversation with a world in which the nth run (from 0) of an origin ends as `world` says, with what it goes through.
struct Story {
    locate: Locate,
    traces: Rc<RefCell<Recorded>>,
    /// Of each batch, how many copies and how many processes.
    batches: Vec<(usize, usize)>,
}

fn play(locating: LocateConfig, isolated: bool, world: impl Fn(Isolation, u32) -> (Outcome, String)) -> Story {
    let traces = Rc::new(RefCell::new(Recorded::default()));
    let mut locate = Locate::new(locating, traces.clone());
    let test = |id: &str| Test { id: id.into(), file: None, line: None, command: Vec::new() };
    let tests = vec![test("mail::test_retry"), test("mail::test_send")];
    locate.hear(&Event::TestsListed { tests, deselected: 0, isolated });
    let (mut batches, mut clock, mut times) = (Vec::new(), 0, [0, 0]);
    loop {
        let sessions = locate.ask();
        if sessions.is_empty() {
            return Story { locate, traces, batches };
        }
        let copies =
            sessions.iter().filter(|one| one.place == unflake_model::Placement::Fresh(Isolation::Fork)).count();
        batches.push((copies, sessions.len() - copies));
        for session in sessions {
            let unflake_model::Placement::Fresh(origin) = session.place else { panic!("{:?}", session.place) };
            let time = &mut times[usize::from(origin == Isolation::Process)];
            let (outcome, way) = world(origin, *time);
            *time += 1;
            let environment = EnvironmentId(if isolated { 0 } else { session.id.0 });
            let test = session.tests[0].clone();
            if !way.is_empty() {
                traces.borrow_mut().run(outcome.is_failure(), &[("main", &way)]);
                locate.hear(&Event::TraceRecorded { test: test.clone(), environment, directory: "gone".into() });
            }
            clock += 1_000_000;
            let failure = outcome.is_failure().then(|| Failure {
                phase: Phase::Call,
                kind: "AssertionError".into(),
                message: "no answer".into(),
                trace: String::new(),
                file: Some("a.src".into()),
                line: Some(9),
            });
            locate.hear(&Event::AttemptEnded(Attempt {
                test,
                session: session.id,
                purpose: session.purpose,
                environment,
                origin,
                position: 0,
                run: 0,
                outcome,
                started: Timestamp(clock),
                seconds: 1.0,
                failure,
                stdout: String::new(),
                stderr: String::new(),
            }));
        }
    }
}

/// Passes or fails by a number that is drawn; `share` of ten runs fail.
fn drawn(run: u32, share: u32) -> (Outcome, String) {
    let number = (run * 7 + 3) % 10;
    let (outcome, end) = if number < share { (Outcome::Failed, "t:9") } else { (Outcome::Passed, "t:8") };
    (outcome, format!("t:1 t:2 n={number} t:3 {end}"))
}

#[test]
fn it_stops_when_the_answer_stays_the_same() {
    let story = play(locating(), false, |_, run| drawn(run, 5));
    assert_eq!(story.batches, [(10, 0), (10, 0)]);
    let found = &story.locate.findings()[0];
    assert!(found.sentence.starts_with("starts at a.src:2: n ≤ 4 in all "), "{}", found.sentence);
    assert_eq!(found.replay, ["mail::test_retry".into()]);
}

#[test]
fn a_rare_failure_is_looked_for_longer_and_compared_at_fifty() {
    let rare = |_, run| if run == 30 { drawn(1, 1) } else { drawn(2 + run % 8, 1) };
    let story = play(locating(), true, rare);
    assert_eq!(story.locate.counts().passed + story.locate.counts().failed, 50);
    let never = play(locating(), true, |_, _| (Outcome::Passed, "t:1 t:2".into()));
    assert_eq!(never.locate.counts(), LocateCounts { passed: 200, ..LocateCounts::default() });
    assert!(never.locate.findings().is_empty());
}

#[test]
fn copies_that_all_end_alike_are_joined_by_processes() {
    let by_process = |origin, run| match origin {
        Isolation::Fork => (Outcome::Passed, "t:1 t:2 t:8".to_owned()),
        _ => drawn(run, 4),
    };
    let story = play(locating(), false, by_process);
    assert_eq!(story.batches[..2], [(10, 0), (5, 5)]);
    assert!(story.batches[2..].iter().all(|(copies, _)| *copies == 0), "{:?}", story.batches);
    let found = story.locate.findings();
    let Detail::Divergence(found) = &found[0].detail else { panic!() };
    assert_eq!(found.locations[0].line.line, 2, "{found:?}");
    assert!(found.runs < story.traces.borrow().runs.len() as u32, "copies are left out: {}", found.runs);
}

#[test]
fn copies_and_processes_that_only_differ_from_each_other_are_not_enough() {
    let at_first_alike = |origin, run| match origin {
        Isolation::Fork => (Outcome::Passed, "t:1 t:2 t:8".to_owned()),
        Isolation::Process if run < 12 => (Outcome::Failed, format!("t:1 t:2 n={} t:3 t:9", run % 4)),
        _ => drawn(run, 4),
    };
    let story = play(locating(), false, at_first_alike);
    assert_eq!(story.batches[..3], [(10, 0), (5, 5), (0, 10)]);
    let found = story.locate.findings();
    let Detail::Divergence(found) = &found[0].detail else { panic!() };
    assert_eq!((found.locations[0].line.line, &found.unknown), (2, &Vec::new()), "{found:?}");

    let always = |origin, _| match origin {
        Isolation::Fork => (Outcome::Passed, "t:1 t:2 t:8".to_owned()),
        _ => (Outcome::Failed, "t:1 t:2 t:9".to_owned()),
    };
    let story = play(locating(), false, always);
    assert_eq!(story.batches.iter().map(|(_, processes)| processes).sum::<usize>(), 50);
    let found = story.locate.findings();
    let Detail::Divergence(found) = &found[0].detail else { panic!() };
    assert_eq!(found.unknown.len(), 1, "{found:?}");
}

#[test]
fn who_runs_in_processes_anyway_is_asked_for_processes() {
    let story = play(locating(), true, |_, run| drawn(run, 5));
    assert!(story.batches.iter().all(|(copies, _)| *copies == 0), "{:?}", story.batches);
}

#[test]
fn runs_that_are_out_of_time_and_such_without_a_trace_are_set_apart() {
    let story = play(locating(), true, |_, run| match run % 5 {
        0 => (Outcome::TimedOut, "t:1 t:2".to_owned()),
        1 => (Outcome::Passed, String::new()),
        _ => drawn(run, 5),
    });
    let found = story.locate.findings();
    let Detail::Divergence(found) = &found[0].detail else { panic!() };
    let counts = story.locate.counts();
    assert_eq!((found.timed_out, found.runs), (counts.timed_out, counts.passed + counts.failed - counts.untraced));
    assert!(counts.timed_out > 0 && counts.untraced > 0);
}

#[test]
fn time_that_is_over_ends_it() {
    let story = play(LocateConfig { seconds: 5.0, ..locating() }, true, |_, _| (Outcome::Passed, "t:1".into()));
    assert_eq!(story.batches, [(0, 10)]);
}

#[test]
fn a_skipped_test_and_a_name_that_several_have_are_not_run_on() {
    let skipped = play(locating(), true, |_, _| (Outcome::Skipped, String::new()));
    assert_eq!((skipped.batches, skipped.locate.counts().skipped), (vec![(0, 10)], 10));
    let several = play(LocateConfig { test: "mail".into(), ..locating() }, true, |_, _| panic!("not run"));
    assert_eq!((several.batches.len(), several.locate.matching.len()), (0, 2));
}

#[test]
fn a_crash_counts_as_a_failure() {
    let story = play(locating(), true, |_, run| match drawn(run, 3) {
        (Outcome::Failed, way) => (Outcome::Crashed(unflake_model::Death::Signal(11)), way),
        other => other,
    });
    assert!(story.locate.counts().failed > 0 && !story.locate.findings().is_empty());
}
