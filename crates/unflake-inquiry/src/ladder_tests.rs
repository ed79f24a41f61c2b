use unflake_model::{Death, Failure, Phase, Test, Timestamp};

use super::*;

/// A world in which each test has its outcomes written down in the order in which it is tried; the last one repeats.
struct World {
    ladder: Ladder,
    outcomes: Vec<(TestId, Vec<Outcome>)>,
    asked: Vec<String>,
    next_environment: u32,
}

use Outcome::{Crashed, Error, Failed, Passed, Skipped, TimedOut};

impl World {
    fn new(rungs: Rungs, outcomes: &[(&str, &[Outcome])]) -> Self {
        let mut ladder = Ladder::new(rungs, NeverExcuse::default());
        let outcomes: Vec<_> = outcomes.iter().map(|(test, all)| (TestId::from(*test), all.to_vec())).collect();
        let test = |(id, _): &(TestId, Vec<Outcome>)| Test { id: id.clone(), file: None, line: None, command: Vec::new() };
        ladder.hear(&Observation::Listed { tests: outcomes.iter().map(test).collect(), deselected: 0 });
        Self { ladder, outcomes, asked: Vec::new(), next_environment: 1 }
    }

    fn outcome(&mut self, test: &TestId) -> Outcome {
        let all = &mut self.outcomes.iter_mut().find(|(id, _)| id == test).unwrap().1;
        if all.len() > 1 { all.remove(0) } else { all[0] }
    }

    /// Plays one round of sessions. False when the ladder asks for none.
    fn round(&mut self) -> bool {
        let sessions = self.ladder.ask();
        for session in &sessions {
            let tests: Vec<&str> = session.tests.iter().map(TestId::as_str).collect();
            self.asked.push(format!("{} {} +{}", session.purpose.word(), tests.join(" "), session.again));
            let environment = match session.place {
                Place::Live => EnvironmentId(0),
                Place::Fresh(_) => EnvironmentId(self.next_environment),
            };
            self.next_environment += 1;
            let mut position = 0;
            for test in &session.tests {
                for run in 0..=session.again {
                    let outcome = self.outcome(test);
                    self.ladder.hear(&Observation::Attempted(attempt(
                        session,
                        test,
                        environment,
                        position,
                        run,
                        outcome,
                    )));
                    position += 1;
                    if !outcome.is_failure() {
                        break;
                    }
                }
            }
            self.ladder.hear(&Observation::SessionEnded { session: session.id, left: Vec::new(), why: None });
        }
        !sessions.is_empty()
    }

    fn play(mut self) -> Self {
        while self.round() {}
        self
    }

    /// What was found, as `test kind rung: sentence`.
    fn found(&self) -> Vec<String> {
        let line = |finding: Finding| {
            let verdict = finding.verdict().clone();
            let kind = serde_json::to_value(verdict.kind).unwrap();
            let rung = verdict.rung.map_or("-".into(), |rung| serde_json::to_value(rung).unwrap());
            let text = |value: serde_json::Value| value.as_str().unwrap().to_owned();
            format!("{} {} {}: {}", finding.test, text(kind), text(rung), finding.sentence)
        };
        self.ladder.findings().into_iter().map(line).collect()
    }
}

fn attempt(
    session: &Session,
    test: &TestId,
    environment: EnvironmentId,
    position: u32,
    run: u32,
    outcome: Outcome,
) -> Attempt {
    Attempt {
        test: test.clone(),
        session: session.id,
        purpose: session.purpose,
        environment,
        origin: if session.place == Place::Live { Origin::Process } else { Origin::Fork },
        position,
        run,
        outcome,
        started: Timestamp(0),
        seconds: 0.1,
        failure: None,
        stdout: String::new(),
        stderr: String::new(),
    }
}

fn check(outcomes: &[Outcome], asked: &[&str], found: &str) {
    let world = World::new(Rungs::default(), &[("a", &[Passed]), ("t", outcomes)]).play();
    assert_eq!(world.asked, asked);
    assert_eq!(world.found(), [found]);
}

#[test]
fn a_suite_that_passes_is_run_once_and_nothing_is_said() {
    let world = World::new(Rungs::default(), &[("a", &[Passed]), ("b", &[Skipped])]).play();
    assert_eq!(world.asked, ["suite a b +1"]);
    assert!(world.found().is_empty());
}

#[test]
fn a_pass_at_once_is_not_bursty() {
    check(&[Failed, Passed], &["suite a t +1"], "t flaky-independent immediate: passed when run again at once");
}

#[test]
fn a_pass_at_the_end_is_bursty() {
    check(
        &[Failed, Failed, Passed],
        &["suite a t +1", "at-end t +0"],
        "t flaky-bursty at-end: passed when run again after the whole suite, in the same process",
    );
}

#[test]
fn a_pass_only_when_fresh_depends_on_state() {
    check(
        &[Failed, Failed, Failed, Passed],
        &["suite a t +1", "at-end t +0", "fresh t +0"],
        "t flaky-state-dependent fresh: passed only in a fresh environment: the test before it leaves something behind",
    );
}

#[test]
fn no_pass_at_all_is_real() {
    check(
        &[Failed],
        &["suite a t +1", "at-end t +0", "fresh t +0"],
        "t real -: failed 4 of 4 times, in a fresh environment too",
    );
    check(
        &[Error],
        &["suite a t +1", "at-end t +0", "fresh t +0"],
        "t real -: had an error in set-up or tear-down 4 of 4 times, in a fresh environment too",
    );
    check(
        &[TimedOut, Failed],
        &["suite a t +1", "at-end t +0", "fresh t +0"],
        "t real -: timed out at first, and went wrong 4 of 4 times, in a fresh environment too",
    );
}

#[test]
fn a_skip_when_run_again_proves_nothing() {
    check(&[Failed, Skipped], &["suite a t +1", "at-end t +0", "fresh t +0"], "t real -: failed 1 of 4 times");
}

#[test]
fn a_crash_is_never_excused() {
    check(
        &[Crashed(Death::Signal(11)), Passed],
        &["suite a t +1"],
        "t real immediate: crashed (killed by SIGSEGV) 1 of 2 times; a crash is never excused by a later pass",
    );
}

#[test]
fn a_report_of_a_sanitizer_is_never_excused() {
    let mut world = World::new(Rungs::default(), &[("t", &[Passed])]);
    let session = world.ladder.ask().remove(0);
    let mut first = attempt(&session, &"t".into(), EnvironmentId(0), 0, 0, Failed);
    first.stderr = "==1==ERROR: AddressSanitizer: heap-use-after-free".to_owned();
    world.ladder.hear(&Observation::Attempted(first));
    world.ladder.hear(&Observation::Attempted(attempt(&session, &"t".into(), EnvironmentId(0), 1, 1, Passed)));
    let finding = world.ladder.findings().remove(0);
    assert_eq!(finding.verdict().kind, VerdictKind::Real);
    assert!(finding.sentence.contains("is never excused by a later pass"), "{}", finding.sentence);
}

#[test]
fn an_error_in_a_tear_down_that_tests_share_is_never_excused() {
    let mut world = World::new(Rungs::default(), &[("t", &[Passed])]);
    let session = world.ladder.ask().remove(0);
    let mut first = attempt(&session, &"t".into(), EnvironmentId(0), 0, 0, Error);
    first.failure = Some(Failure {
        phase: Phase::SharedTearDown,
        kind: "OSError".to_owned(),
        message: "still open".to_owned(),
        trace: String::new(),
        file: None,
        line: None,
    });
    world.ladder.hear(&Observation::Attempted(first));
    world.ladder.hear(&Observation::Attempted(attempt(&session, &"t".into(), EnvironmentId(0), 1, 1, Passed)));
    assert_eq!(world.ladder.findings()[0].verdict().kind, VerdictKind::Real);
}

#[test]
fn every_number_of_attempts_can_be_chosen() {
    let rungs = Rungs { immediate: 2, at_end: 3, fresh: 2, ..Rungs::default() };
    let world = World::new(rungs, &[("t", &[Failed])]).play();
    assert_eq!(world.asked, ["suite t +2", "at-end t +2", "fresh t +0", "fresh t +0"]);
    assert_eq!(world.found(), ["t real -: failed 8 of 8 times, in a fresh environment too"]);

    let none = Rungs { immediate: 0, at_end: 0, fresh: 0, ..Rungs::default() };
    let world = World::new(none, &[("t", &[Failed])]).play();
    assert_eq!(world.asked, ["suite t +0"]);
    assert_eq!(world.found(), ["t real -: failed the one time it ran"]);
}

#[test]
fn fresh_attempts_end_with_the_first_pass() {
    let rungs = Rungs { immediate: 0, at_end: 0, fresh: 5, ..Rungs::default() };
    let world = World::new(rungs, &[("t", &[Failed, Failed, Passed]), ("u", &[Failed, Passed])]).play();
    assert_eq!(world.asked, ["suite t u +0", "fresh t +0", "fresh u +0", "fresh t +0"]);
}

/// `failing` of `tests` fail.
fn suite(tests: usize, failing: usize) -> World {
    let names: Vec<String> = (0..tests).map(|number| format!("t{number}")).collect();
    let outcomes: Vec<(&str, &[Outcome])> = names
        .iter()
        .enumerate()
        .map(|(at, name)| (name.as_str(), if at < failing { &[Failed][..] } else { &[Passed][..] }))
        .collect();
    World::new(Rungs::default(), &outcomes).play()
}

#[test]
fn too_many_failures_are_not_run_again_later() {
    let world = suite(20, 12);
    assert_eq!(world.asked.len(), 1);
    assert_eq!(
        world.found()[0],
        "t0 real -: failed 2 of 2 times; 12 of 20 tests fail: too many to be chance, so they were not run again later"
    );
}

#[test]
fn fewer_than_ten_failures_are_never_too_many() {
    assert_eq!(suite(9, 9).asked.len(), 2 + 9);
    assert_eq!(suite(10, 10).asked.len(), 1);
}

#[test]
fn the_share_decides_from_ten_on() {
    assert_eq!(suite(1001, 10).asked.len(), 2 + 10);
    assert_eq!(suite(1000, 10).asked.len(), 1);
}

#[test]
fn a_run_cut_short_says_what_it_knows_and_that_it_was_cut_short() {
    let mut world = World::new(Rungs::default(), &[("t", &[Failed])]);
    world.round();
    assert_eq!(world.found(), ["t real -: failed 2 of 2 times; the run ended before it could be run again"]);
}

#[test]
fn an_attempt_that_could_not_be_made_is_told() {
    let mut world = World::new(Rungs::default(), &[("t", &[Failed])]);
    world.round();
    world.round();
    let session = world.ladder.ask().remove(0);
    let (left, why) = (session.tests, Some("the runner did not list it again".to_owned()));
    world.ladder.hear(&Observation::SessionEnded { session: session.id, left, why });
    assert!(world.ladder.ask().is_empty());
    assert_eq!(
        world.found(),
        ["t real -: failed 3 of 3 times; could not be run again: the runner did not list it again"]
    );
}

#[test]
fn a_rerun_that_needed_a_new_process_says_so() {
    let mut world = World::new(Rungs::default(), &[("t", &[Passed])]);
    let session = world.ladder.ask().remove(0);
    world.ladder.hear(&Observation::Attempted(attempt(&session, &"t".into(), EnvironmentId(0), 7, 0, TimedOut)));
    world.ladder.hear(&Observation::Attempted(attempt(&session, &"t".into(), EnvironmentId(2), 0, 1, Passed)));
    assert_eq!(
        world.found(),
        [
            "t flaky-independent immediate: timed out, and passed when run again at once, in a new process because the first had to be ended"
        ]
    );
}

#[test]
fn the_first_test_of_all_cannot_have_been_polluted_by_another() {
    let world = World::new(Rungs::default(), &[("t", &[Failed, Failed, Failed, Passed])]).play();
    let expected =
        "passed only in a fresh environment, though no test had run before it: loading the other files may do it";
    assert_eq!(world.found(), [format!("t flaky-state-dependent fresh: {expected}")]);
}
