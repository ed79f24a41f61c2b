use unflake_model::{Death, EnvironmentId, Failure, Outcome, Phase, Test, Timestamp, VerdictKind};

use super::*;

/// A world in which each test has its outcomes written down in the order in which it is tried; the last one repeats.
struct World {
    ladder: Ladder,
    outcomes: Vec<(TestId, Vec<Outcome>)>,
    /// Where every process begins with the first outcome: how often each test was tried in each.
    tried: Option<HashMap<(TestId, EnvironmentId), usize>>,
    asked: Vec<String>,
    next_environment: u32,
}

use Outcome::{Crashed, Error, Failed, Passed, Skipped, TimedOut};

impl World {
    fn new(rungs: Rungs, outcomes: &[(&str, &[Outcome])]) -> Self {
        let mut ladder = Ladder::new(rungs, NeverExcuse::default());
        let outcomes: Vec<_> = outcomes.iter().map(|(test, all)| (TestId::from(*test), all.to_vec())).collect();
        let test =
            |(id, _): &(TestId, Vec<Outcome>)| Test { id: id.clone(), file: None, line: None, command: Vec::new() };
        ladder.hear(&Event::TestsListed { tests: outcomes.iter().map(test).collect(), deselected: 0, isolated: false });
        Self { ladder, outcomes, tried: None, asked: Vec::new(), next_environment: 1 }
    }

    /// The same in every process, whatever happened in others.
    fn in_every_process(rungs: Rungs, outcomes: &[(&str, &[Outcome])]) -> Self {
        Self { tried: Some(HashMap::new()), ..Self::new(rungs, outcomes) }
    }

    fn outcome(&mut self, test: &TestId, environment: EnvironmentId) -> Outcome {
        let all = &mut self.outcomes.iter_mut().find(|(id, _)| id == test).unwrap().1;
        if let Some(tried) = &mut self.tried {
            let times = tried.entry((test.clone(), environment)).or_default();
            *times += 1;
            return all[(*times - 1).min(all.len() - 1)];
        }
        if all.len() > 1 { all.remove(0) } else { all[0] }
    }

    /// Plays one round of sessions. False when the ladder asks for none.
    fn round(&mut self) -> bool {
        let sessions = self.ladder.ask();
        for session in &sessions {
            let tests: Vec<&str> = session.tests.iter().map(TestId::as_str).collect();
            self.asked.push(format!("{} {} +{}", session.purpose.word(), tests.join(" "), session.again));
            let environment = match session.place {
                Placement::Live => EnvironmentId(0),
                Placement::Fresh(_) => EnvironmentId(self.next_environment),
            };
            self.next_environment += 1;
            let mut position = 0;
            for test in &session.tests {
                for run in 0..=session.again {
                    let outcome = self.outcome(test, environment);
                    self.ladder.hear(&Event::AttemptEnded(attempt(session, test, environment, position, run, outcome)));
                    position += 1;
                    if !outcome.is_failure() {
                        break;
                    }
                }
            }
            self.ladder.hear(&Event::SessionEnded { session: session.id, left: Vec::new(), why: None });
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
            let verdict = finding.verdict().unwrap().clone();
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
        origin: if session.place == Placement::Live { Isolation::Process } else { Isolation::Fork },
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
    check(
        &[Failed, Passed],
        &["suite a t +1", "fresh t +1"],
        "t flaky-independent immediate: passed when run again at once",
    );
}

#[test]
fn a_pass_at_the_end_is_bursty() {
    check(
        &[Failed, Failed, Passed],
        &["suite a t +1", "at-end t +0", "fresh t +2"],
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
    world.ladder.hear(&Event::AttemptEnded(first));
    world.ladder.hear(&Event::AttemptEnded(attempt(&session, &"t".into(), EnvironmentId(0), 1, 1, Passed)));
    let finding = world.ladder.findings().remove(0);
    assert_eq!(finding.verdict().unwrap().kind, VerdictKind::Real);
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
    world.ladder.hear(&Event::AttemptEnded(first));
    world.ladder.hear(&Event::AttemptEnded(attempt(&session, &"t".into(), EnvironmentId(0), 1, 1, Passed)));
    assert_eq!(world.ladder.findings()[0].verdict().unwrap().kind, VerdictKind::Real);
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
    world.ladder.hear(&Event::SessionEnded { session: session.id, left, why });
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
    world.ladder.hear(&Event::AttemptEnded(attempt(&session, &"t".into(), EnvironmentId(0), 7, 0, TimedOut)));
    world.ladder.hear(&Event::AttemptEnded(attempt(&session, &"t".into(), EnvironmentId(2), 0, 1, Passed)));
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

// -- Confirming a pass ------------------------------------------------------------------------------------------------

const FIRST_TIME: &str = "(4 of 4), and passes when run again there: look at what is done at first use only";

fn only(world: &World) -> Finding {
    let mut findings = world.ladder.findings();
    assert_eq!(findings.len(), 1);
    findings.remove(0)
}

#[test]
fn a_test_that_fails_first_and_then_passes_in_every_process_is_real() {
    let world = World::in_every_process(Rungs::default(), &[("a", &[Passed]), ("t", &[Failed, Passed])]).play();
    assert_eq!(world.asked, ["suite a t +1", "fresh t +1", "fresh t +1", "fresh t +1"]);
    assert_eq!(world.found(), [format!("t real immediate: fails the first time in every process {FIRST_TIME}")]);
    let finding = only(&world);
    let evidence = &finding.verdict().unwrap().evidence;
    assert_eq!((evidence.attempts, evidence.failed, evidence.confirmed), (8, 4, Some(false)));
    assert_eq!(finding.replay, ["t".into()], "alone it fails too");
}

#[test]
fn a_test_that_passes_only_at_the_end_in_every_process_is_real() {
    let world = World::in_every_process(Rungs::default(), &[("t", &[Error, Error, Passed])]).play();
    assert_eq!(world.asked, ["suite t +1", "at-end t +0", "fresh t +2", "fresh t +2", "fresh t +2"]);
    assert_eq!(world.found(), [format!("t real at-end: fails the first time in every process {FIRST_TIME}")]);

    let rungs = Rungs { immediate: 0, ..Rungs::default() };
    let world = World::in_every_process(rungs, &[("t", &[Failed, Passed])]).play();
    assert_eq!(world.asked, ["suite t +0", "at-end t +0", "fresh t +1", "fresh t +1", "fresh t +1"]);
    assert_eq!(world.found(), [format!("t real at-end: fails the first time in every process {FIRST_TIME}")]);
}

/// Whatever a test does, if it does the same in every process and fails first, every plain run is red.
#[test]
fn what_is_the_same_in_every_process_and_fails_first_is_never_excused() {
    for immediate in 0..4 {
        for at_end in 0..4 {
            for pattern in 0..64 {
                let later = (0..6).map(|bit| if pattern >> bit & 1 == 0 { Failed } else { Passed });
                let outcomes: Vec<Outcome> = [Failed].into_iter().chain(later).collect();
                let rungs = Rungs { immediate, at_end, ..Rungs::default() };
                let world = World::in_every_process(rungs, &[("t", &outcomes)]).play();
                assert_eq!(
                    only(&world).verdict().unwrap().kind,
                    VerdictKind::Real,
                    "{immediate} {at_end} {outcomes:?}"
                );
            }
        }
    }
}

#[test]
fn the_first_process_that_goes_another_way_confirms_the_pass() {
    let again = ["suite a t +1", "fresh t +1", "fresh t +1", "fresh t +1"];
    let passed = "t flaky-independent immediate: passed when run again at once";
    check(&[Failed, Passed, Passed], &again[..2], passed);
    check(&[Failed, Passed, Failed, Passed, Passed], &again[..3], passed);
    check(&[Failed, Passed, Failed, Passed, Failed, Passed, Passed], &again, passed);
    check(
        &[Failed, Passed, Failed],
        &again[..2],
        "t flaky-independent immediate: passed when run again at once, but not in a fresh environment",
    );
    check(
        &[Failed, Passed, Failed, Passed, Failed],
        &again[..3],
        "t flaky-independent immediate: passed when run again at once, but not in a fresh environment",
    );
    let world = World::new(Rungs::default(), &[("t", &[Failed, Passed])]).play();
    let evidence = only(&world).verdict().unwrap().evidence.clone();
    assert_eq!((evidence.attempts, evidence.failed, evidence.confirmed), (3, 1, Some(true)));
    assert_eq!(evidence.fresh, Some(Isolation::Fork));
}

#[test]
fn a_pass_at_the_end_is_confirmed_by_as_many_attempts_as_it_took() {
    check(
        &[Failed, Failed, Passed, Failed],
        &["suite a t +1", "at-end t +0", "fresh t +2"],
        "t flaky-bursty at-end: passed when run again after the whole suite, in the same process, but not in a fresh environment",
    );
}

#[test]
fn all_passes_are_confirmed_side_by_side_and_beside_the_other_fresh_attempts() {
    let always = &[Failed][..];
    let tests =
        [("once", &[Failed, Passed][..]), ("real", always), ("twice", &[Failed, Passed, Failed, Passed, Passed])];
    let mut world = World::new(Rungs::default(), &tests);
    let mut rounds = Vec::new();
    while world.round() {
        rounds.push(world.asked.join(", "));
        world.asked.clear();
    }
    let rest = ["fresh real +0, fresh once +1, fresh twice +1", "fresh twice +1"];
    assert_eq!(rounds, [&["suite once real twice +1", "at-end real +0"], &rest[..]].concat());
}

#[test]
fn a_pass_in_a_process_without_a_failure_needs_no_confirmation() {
    for (outcome, sentence) in [
        (TimedOut, "timed out, and passed when run again at once, in a new process because the first had to be ended"),
        (Failed, "passed when run again at once, in a new process"),
    ] {
        let mut world = World::new(Rungs::default(), &[("t", &[Passed])]);
        let session = world.ladder.ask().remove(0);
        world.ladder.hear(&Event::AttemptEnded(attempt(&session, &"t".into(), EnvironmentId(0), 0, 0, outcome)));
        world.ladder.hear(&Event::AttemptEnded(attempt(&session, &"t".into(), EnvironmentId(1), 0, 1, Passed)));
        world.ladder.hear(&Event::SessionEnded { session: session.id, left: Vec::new(), why: None });
        assert!(world.ladder.ask().is_empty());
        assert_eq!(world.found(), [format!("t flaky-independent immediate: {sentence}")]);
        assert_eq!(only(&world).verdict().unwrap().evidence.confirmed, Some(true));
    }
}

#[test]
fn a_pass_in_the_second_process_after_a_failure_in_it_needs_one() {
    let mut world = World::new(Rungs { immediate: 2, ..Rungs::default() }, &[("t", &[Passed])]);
    let session = world.ladder.ask().remove(0);
    for (environment, run, outcome) in [(0, 0, TimedOut), (1, 1, Failed), (1, 2, Passed)] {
        let attempt = attempt(&session, &"t".into(), EnvironmentId(environment), 0, run, outcome);
        world.ladder.hear(&Event::AttemptEnded(attempt));
    }
    assert_eq!(world.ladder.ask()[0].again, 1);
}

#[test]
fn a_confirmation_that_runs_out_of_time_and_then_passes_in_another_process_confirms() {
    let mut world = World::new(Rungs::default(), &[("t", &[Failed, Passed])]);
    world.round();
    let session = world.ladder.ask().remove(0);
    world.ladder.hear(&Event::AttemptEnded(attempt(&session, &"t".into(), EnvironmentId(7), 0, 0, TimedOut)));
    world.ladder.hear(&Event::AttemptEnded(attempt(&session, &"t".into(), EnvironmentId(8), 0, 1, Passed)));
    world.ladder.hear(&Event::SessionEnded { session: session.id, left: Vec::new(), why: None });
    assert!(world.ladder.ask().is_empty());
    assert_eq!(only(&world).verdict().unwrap().evidence.confirmed, Some(true));
}

#[test]
fn a_crash_while_a_pass_is_confirmed_is_never_excused() {
    check(
        &[Failed, Passed, Crashed(Death::Signal(11)), Passed],
        &["suite a t +1", "fresh t +1"],
        "t real immediate: failed at first, and went wrong 2 of 4 times; a crash is never excused by a later pass",
    );
}

#[test]
fn what_is_never_excused_needs_no_confirmation_and_is_shown_by_the_whole_command() {
    let world = World::new(Rungs::default(), &[("t", &[Crashed(Death::Signal(11)), Passed])]).play();
    assert_eq!(world.asked, ["suite t +1"]);
    let finding = only(&world);
    assert_eq!(finding.verdict().unwrap().evidence.confirmed, None);
    assert!(finding.replay.is_empty(), "alone it may pass");
    let world = World::new(Rungs::default(), &[("t", &[Crashed(Death::Signal(11))])]).play();
    assert_eq!(only(&world).replay, ["t".into()]);
}

const MAY_STILL: &str = "; it may still fail the first time in every process: ";

#[test]
fn without_fresh_environments_nothing_is_confirmed_and_that_is_said() {
    let rungs = Rungs { fresh: 0, ..Rungs::default() };
    let world = World::in_every_process(rungs, &[("t", &[Failed, Passed])]).play();
    assert_eq!(world.asked, ["suite t +1"]);
    let why = "fresh environments are not wanted";
    assert_eq!(
        world.found(),
        [format!("t flaky-independent immediate: passed when run again at once{MAY_STILL}{why}")]
    );
    let evidence = only(&world).verdict().unwrap().evidence.clone();
    assert_eq!((evidence.confirmed, evidence.not_rerun.as_deref()), (None, Some(why)));
}

#[test]
fn passes_are_confirmed_however_many_tests_fail() {
    let names: Vec<String> = (0..10).map(|number| format!("t{number}")).collect();
    let mut outcomes: Vec<(&str, &[Outcome])> = names.iter().map(|name| (name.as_str(), &[Failed][..])).collect();
    outcomes.push(("first", &[Failed, Passed]));
    let world = World::in_every_process(Rungs::default(), &outcomes).play();
    assert_eq!(world.asked[1..], ["fresh first +1", "fresh first +1", "fresh first +1"]);
    let found = world.found();
    assert!(found[0].ends_with("11 of 11 tests fail: too many to be chance, so they were not run again later"));
    assert_eq!(found[10], format!("first real immediate: fails the first time in every process {FIRST_TIME}"));
}

#[test]
fn a_run_cut_short_says_that_a_pass_was_not_confirmed() {
    let mut world = World::in_every_process(Rungs::default(), &[("t", &[Failed, Passed])]);
    let why = "the run ended before it could be run in a fresh environment";
    let expected = format!("t flaky-independent immediate: passed when run again at once{MAY_STILL}{why}");
    world.round();
    assert_eq!(world.found()[0], expected);
    world.round();
    assert_eq!(world.found()[0], expected);
    // In the middle of a confirmation: a failure alone says nothing yet.
    let session = world.ladder.ask().remove(0);
    world.ladder.hear(&Event::AttemptEnded(attempt(&session, &"t".into(), EnvironmentId(7), 0, 0, Failed)));
    assert_eq!(world.found()[0], expected);
}

#[test]
fn a_confirmation_that_could_not_be_made_is_told_and_not_asked_for_again() {
    let mut world = World::new(Rungs::default(), &[("t", &[Failed, Passed])]);
    world.round();
    let session = world.ladder.ask().remove(0);
    let (left, why) = (session.tests, Some("the runner did not list it again".to_owned()));
    world.ladder.hear(&Event::SessionEnded { session: session.id, left, why });
    assert!(world.ladder.ask().is_empty());
    let why = "it could not be run in a fresh environment: the runner did not list it again";
    assert_eq!(
        world.found(),
        [format!("t flaky-independent immediate: passed when run again at once{MAY_STILL}{why}")]
    );
}

#[test]
fn a_confirmation_without_an_attempt_confirms_nothing() {
    let mut world = World::new(Rungs::default(), &[("t", &[Failed, Passed])]);
    world.round();
    let session = world.ladder.ask().remove(0);
    assert!(world.ladder.ask().is_empty(), "one that has no end yet is not asked for once more");
    world.ladder.hear(&Event::SessionEnded { session: session.id, left: Vec::new(), why: None });
    assert_eq!(only(&world).verdict().unwrap().evidence.confirmed, None);
    assert!(world.found()[0].ends_with("it was not run in a fresh environment"), "{:?}", world.found());
}

#[test]
fn a_skip_confirms_nothing() {
    let why = "it was skipped in a fresh environment";
    check(
        &[Failed, Passed, Skipped],
        &["suite a t +1", "fresh t +1"],
        &format!("t flaky-independent immediate: passed when run again at once{MAY_STILL}{why}"),
    );
}
